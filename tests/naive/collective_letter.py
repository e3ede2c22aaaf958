"""GB, RGB and MGB as the paper's text has them: Algorithms 1 to 4, slow and obvious, in the target's own unit.

Written from the paper alone. Where it leaves a choice, it is the one that `hetcore.collective.algorithms` names.
Random numbers are drawn by the caller: which labels a round hides, and the order of each sweep.
"""

import numpy as np

DEPTH, FEWEST = 5, 4  # small nodes can be cut in two by any column: ties, which no text breaks


class Tree:
    """A regression tree on float32 columns, whose leaves are medians.

    Split points lie half way between neighbouring values of the table that the whole tree is grown on.
    """

    def __init__(self, A, y, depth=DEPTH, cuts=None):
        self.split, self.value = None, np.median(y)
        cuts = [_middles(np.unique(column)) for column in A.T] if cuts is None else cuts
        best = 1e-6 * ((y - y.mean()) ** 2).sum()  # below it, a gain is rounding
        for column, threshold in [(c, cut) for c in range(A.shape[1] if depth else 0) for cut in cuts[c]]:
            left = A[:, column] <= threshold
            if FEWEST <= left.sum() <= len(y) - FEWEST:
                between = left.sum() * (~left).sum() / len(y) * (y[left].mean() - y[~left].mean()) ** 2
                if between > best * (1 + 1e-9):
                    best, self.split = between, (column, threshold)
        if self.split:
            left = A[:, self.split[0]] <= self.split[1]
            self.left = Tree(A[left], y[left], depth - 1, cuts)
            self.right = Tree(A[~left], y[~left], depth - 1, cuts)

    def __call__(self, a):
        if not self.split:
            return self.value
        return (self.left if a[self.split[0]] <= self.split[1] else self.right)(a)


def _middles(values):
    return values[:-1] / np.float32(2) + values[1:] / np.float32(2)


def median(values):
    """Return the median; zero where there is no known neighbour."""
    return float(np.median(values)) if values else 0.0


def algorithm_1(X, y, known, M, relational=None):
    """Return F_M as a function of a row of columns (GB), or of columns and Rf1 (RGB)."""
    rows = sorted(known)
    A = {i: np.float32([*X[i], *([relational(i)] if relational else [])]) for i in rows}
    F, trees = {i: np.mean([y[j] for j in rows]) for i in rows}, []
    start = np.mean([y[j] for j in rows])
    for _ in range(M):
        trees.append(Tree(np.array([A[i] for i in rows]), np.array([y[i] - F[i] for i in rows])))
        F = {i: F[i] + trees[-1](A[i]) for i in rows}
    return lambda a: start + sum(tree(a) for tree in trees)


def algorithm_2(X, y, near, known, unknown, F, orders, iterations=50):
    """Return the predictions of the unknown by ICA; F takes columns and Rf1."""
    guess = {i: F(np.float32([*X[i], median([y[j] for j in near[i] if j in known])])) for i in unknown}
    for _ in range(iterations):
        before = dict(guess)
        for i in orders(unknown):
            rf1 = median([y[j] if j in known else guess[j] for j in near[i] if j in known or j in guess])
            guess[i] = F(np.float32([*X[i], rf1]))
        if guess == before:
            break
    return guess


def features(i, m, X, near, y_of, residual_of, start, F_before, used, first_rf2):
    """Return A_im = [x_i, Rf_im] as float32; y_of and residual_of know the neighbours that count.

    `start` is what Rf4 is initialised with: the median of the known neighbours' targets.
    """
    counted = [j for j in near[i] if j in y_of]
    rf1 = median([y_of[j] for j in counted])
    if m == 0:
        rf2, rf3, rf4 = (rf1 if first_rf2 == "target" else 0.0), 0.0, start
    else:
        rf2 = median([residual_of[j][m] for j in counted])
        rf3 = median([y_of[j] if m == 1 else residual_of[j][m - 1] for j in counted])
        rf4 = F_before
    values = {"rf1": rf1, "rf2": rf2, "rf3": rf3, "rf4": rf4}
    return np.float32([*X[i], *(values[name] for name in ("rf1", "rf2", "rf3", "rf4") if name in used)])


def algorithm_3(X, y, near, known, M, hidden_sets, orders, used, first_rf2="zero", estimate="first"):
    """Return the trees h_0 .. h_M; `hidden_sets()` returns what the t rounds hide."""
    rows = sorted(known)
    start = {i: median([y[j] for j in near[i] if j in known]) for i in rows}
    y_of, residual_of = {i: y[i] for i in rows}, {i: {} for i in rows}
    direct, guess, h = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0), []
    for m in range(M + 1):
        given = X, near, y_of, residual_of
        A = {i: features(i, m, *given, start[i], guess[i], used, first_rf2) for i in rows}
        target = np.array([residual_of[i][m] if m else y[i] for i in rows])
        h.append(Tree(np.array([A[i] for i in rows]), target))
        direct = {i: direct[i] + h[m](A[i]) for i in rows}
        rounds = []
        for hidden in hidden_sets(rows):
            shown = set(rows) - set(hidden)
            rounds.append(algorithm_4(X, y, near, shown, sorted(hidden), h, orders, used, first_rf2, estimate))
        for i in rows:
            inferred = [found[i] for found in rounds if i in found]
            guess[i] = np.mean(inferred) if inferred else direct[i]  # never hidden: F_m of its own columns
            residual_of[i][m + 1] = y[i] - guess[i]
    return h


def algorithm_4(X, y, near, known, unknown, h, orders, used, first_rf2="zero", estimate="first", iterations=50):
    """Return the sums of stages of the unknown by ICA2."""
    M = len(h) - 1
    start = {i: median([y[j] for j in near[i] if j in known]) for i in [*known, *unknown]}
    y_of, residual_of, F = {i: y[i] for i in known}, {i: {} for i in known}, dict.fromkeys(known, 0.0)
    for m in range(1, M + 1):  # lines 1 to 9
        given = X, near, y_of, residual_of
        A = {i: features(i, m - 1, *given, start[i], F[i], used, first_rf2) for i in known}
        F = {i: F[i] + h[m - 1](A[i]) for i in known}
        for i in known:
            residual_of[i][m] = y[i] - F[i]

    def stages(i, y_of, residual_of):
        found = []
        for m in range(M + 1):
            a = features(i, m, X, near, y_of, residual_of, start[i], sum(found), used, first_rf2)
            found.append(h[m](a))
        return found

    Y = {i: stages(i, y_of, residual_of) for i in unknown}  # lines 12 to 20
    for _ in range(iterations):  # lines 21 to 33
        before = {i: list(Y[i]) for i in unknown}
        for i in orders(unknown):
            shown = {j: (sum(Y[j]) if estimate == "sum" else Y[j][0]) for j in unknown}
            residuals = {j: dict(enumerate(Y[j])) for j in unknown}
            Y[i] = stages(i, y_of | shown, residual_of | residuals)
        if before == Y:
            break
    return {i: sum(Y[i]) for i in unknown}
