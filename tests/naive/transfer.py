"""Figure 3 of Antunes et al. (2019), MultiSourceTrAdaBoost, with (3) and (4), line by line, weights as plain numbers.

y and h are in {-1, +1}. The page leaves two things open: what a round of epsilon_t = 0 counts (here the alpha of the
least positive number, which outvotes all others), and what is done where epsilon_t >= 1/2 (here the loop ends).
"""

import math

import numpy as np


def alpha_source(n_source, n_rounds):
    """Line 1."""
    return 0.5 * math.log(1.0 + math.sqrt(2.0 * math.log(n_source / n_rounds)))


def weighted_multisource(sources, target, n_rounds, fit, eta=1.0, update="exponential"):
    """Return [(h_t, alpha_t)] for sources [(X, y), ...] and target (X, y); fit(X, y, w) returns h.

    eta = 1 is line 10 of the figure; update is "exponential" or "multiplicative", the left or the right of (3), (4).
    """
    a_s = alpha_source(sum(len(y) for _, y in sources), n_rounds)  # 1
    w_s, w_t = [np.ones(len(y)) for _, y in sources], np.ones(len(target[1]))  # 2
    votes = []
    for _ in range(n_rounds):
        found = []  # 3
        total = sum(w.sum() for w in w_s) + w_t.sum()
        w_s, w_t = [w / total for w in w_s], w_t / total  # 4
        for (X, y), w in zip(sources, w_s):
            h = fit(np.concatenate([X, target[0]]), np.concatenate([y, target[1]]), np.concatenate([w, w_t]))  # 5
            found.append((h, (w_t * (h(target[0]) != target[1])).sum() / w_t.sum()))  # 6, 7
        h, epsilon = min(found, key=lambda each: each[1])  # 8
        if epsilon >= 0.5:
            break
        alpha = 0.5 * math.log((1.0 - epsilon) / max(epsilon, np.finfo(float).tiny))  # 9
        for k, (X, y) in enumerate(sources):  # 10, (3)
            gap = np.abs(h(X) - y)
            powered = np.exp(-eta * a_s * gap) if update == "exponential" else eta * np.exp(-a_s * gap)
            w_s[k] = w_s[k] * powered
        gap = np.abs(h(target[0]) - target[1])  # 10, (4)
        w_t = w_t * (np.exp(eta * alpha * gap) if update == "exponential" else eta * np.exp(alpha * gap))
        votes.append((h, alpha))
    return votes


def score(votes, X):
    """Return sum_t alpha_t h_t(x)."""
    return sum(alpha * h(X) for h, alpha in votes)


def least_error(X, y, w):
    """Return the least share of the weight w (n,) that a stump says wrong of y in {-1, +1} (step 5): all are tried.

    A stump says one sign up to a threshold of a column and the other beyond it; missing values go to either side. Or
    it says the same sign of all rows.
    """
    errors = [w[y > 0].sum(), w[y < 0].sum()]
    for column in X.T:
        gone = np.isnan(column)
        for threshold in np.unique(column[~gone]):
            for missing_left in (False, True):
                left = np.where(gone, missing_left, column <= threshold)
                errors += [w[np.where(left, sign, -sign) != y].sum() for sign in (1, -1)]
    return min(errors) / w.sum()
