"""The transfer blend beside what one would do without it, on the open suite's transfer problems.

    python -m experiments.transfer_suite choosing [seeds]       # or reporting; prints the table of docs/transfer.md

A place is a problem with 20 or 100 labelled rows of the target (drawn by the seed, one of each class at least where
there are few classes); at most 4,000 source rows; all other rows of the target are the test. A tie is a ratio of mean
errors within 1%, or a mean difference within one standard error of the paired differences. "Best" is the peer of least
mean error at the place, known only afterwards.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import hetcore as hc
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder

SIZES, MOST_SOURCE, WIDE = (20, 100), 4000, 100
OURS = "TransferClassifier / TransferRegressor"


class Case(NamedTuple):
    """Training rows, their domains (0 the target's), and test rows of the target."""

    X: NDArray[np.float64]
    y: NDArray
    domain: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray
    task: str

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which training rows are the target's."""
        return self.domain == 0

    def with_domain(self) -> Case:
        """Return the case with a column for each domain."""
        marks = np.eye(self.domain.max() + 1)
        ours = np.repeat(marks[:1], len(self.X_test), axis=0)
        X, X_test = np.column_stack([self.X, marks[self.domain]]), np.column_stack([self.X_test, ours])
        return self._replace(X=X, X_test=X_test)


def case(name: str, n_labels: int, seed: int) -> Case:
    """Return a problem's rows: columns that a domain lacks are missing there."""
    from datasets import suite

    held = suite.load(name)
    names = [held.target, *(each for each in held.tables if each != held.target)]
    stacked = pl.concat([held.tables[each] for each in names], how="diagonal_relaxed")
    source = Source([str(k) for k in range(len(stacked))], stacked)
    X = SourceEncoder().fit(source).transform(source).astype(np.float64)
    y = np.concatenate([held.labels[each] for each in names])
    domain = np.repeat(np.arange(len(names)), [len(held.tables[each]) for each in names])
    rng = np.random.default_rng(seed)
    own, others = rng.permutation(np.flatnonzero(domain == 0)), rng.permutation(np.flatnonzero(domain > 0))
    if held.task == "classification":
        own = _classes_first(own, y)
    train = np.concatenate([own[:n_labels], others[:MOST_SOURCE]])
    return Case(X[train], y[train], domain[train], X[own[n_labels:]], y[own[n_labels:]], held.task)


def _classes_first(rows: NDArray, y: NDArray) -> NDArray:
    """Return the rows with the first of each class in front."""
    _, first = np.unique(y[rows].astype(str), return_index=True)
    return np.concatenate([rows[np.sort(first)], np.delete(rows, first)])


# Peers ----------------------------------------------------------------------------------------------------------------


def standardised(X: NDArray, X_test: NDArray) -> tuple[NDArray, NDArray]:
    """Return both tables by the mean and deviation of the first, missing cells at the mean."""
    centre = np.nan_to_num(np.nanmean(X, axis=0))
    spread = np.nan_to_num(np.nanstd(X, axis=0))
    unit = np.where(spread > 1e-9, spread, 1.0)
    return tuple(np.nan_to_num((each - centre) / unit) for each in (X, X_test))


def linear(c: Case) -> NDArray:
    """Return what logistic (ridge) regression predicts."""
    X, X_test = standardised(c.X, c.X_test)
    cost = 0.01 if X.shape[1] > WIDE else 1.0
    model = Ridge(10.0) if c.task == "regression" else LogisticRegression(C=cost, max_iter=200)
    return model.fit(X, c.y).predict(X_test)


def histogram_trees(c: Case) -> NDArray:
    """Return what scikit-learn's histogram boosting predicts."""
    wide = {"max_features": 0.2} if c.X.shape[1] > WIDE else {}
    if c.task == "regression":
        return HistGradientBoostingRegressor(random_state=0, **wide).fit(c.X, c.y).predict(c.X_test)
    many = {"max_iter": 50, "max_leaf_nodes": 15, "learning_rate": 0.2} if len(set(c.y.tolist())) > 2 else {}
    return HistGradientBoostingClassifier(random_state=0, **wide, **many).fit(c.X, c.y).predict(c.X_test)


def oblivious_trees(c: Case) -> NDArray:
    """Return what CatBoost predicts."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    settings = {"iterations": 200, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    kind = CatBoostRegressor if c.task == "regression" else CatBoostClassifier
    return kind(random_seed=0, **settings).fit(c.X, c.y).predict(c.X_test).ravel()


def alone(predict: Callable[[Case], NDArray]) -> Callable[[Case], NDArray]:
    """Return a peer that sees the target's rows only; a single class is predicted as it is."""

    def on_target(c: Case) -> NDArray:
        y = c.y[c.own]
        if len(set(y.tolist())) == 1:
            return np.repeat(y[:1], len(c.X_test))
        return predict(c._replace(X=c.X[c.own], y=y, domain=c.domain[c.own]))

    return on_target


def aligned(c: Case) -> NDArray:
    """Return linear predictions after CORAL: source rows get the target's covariance (Sun et al. 2016)."""
    X, X_test = standardised(c.X, c.X_test)
    seen = np.concatenate([X[c.own], X_test])
    goal = _power(np.cov(seen.T) + np.eye(X.shape[1]), 0.5)
    moved = X.copy()
    moved[~c.own] = X[~c.own] @ _power(np.cov(X[~c.own].T) + np.eye(X.shape[1]), -0.5) @ goal
    return linear(c._replace(X=moved, X_test=X_test))


def _power(matrix: NDArray, exponent: float) -> NDArray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 1e-9) ** exponent) @ vectors.T


def ours(c: Case) -> NDArray:
    """Return what the blend predicts."""
    model = hc.TransferRegressor() if c.task == "regression" else hc.TransferClassifier()
    return model.fit(c.X, c.y, np.where(c.own, -1, c.domain)).predict(c.X_test)


PEERS: dict[str, Callable[[Case], NDArray]] = {
    "target only, linear": alone(linear),
    "target only, CatBoost": alone(oblivious_trees),
    "pooled, linear": linear,
    "pooled, HGB": histogram_trees,
    "domain column, linear": lambda c: linear(c.with_domain()),
    "domain column, HGB": lambda c: histogram_trees(c.with_domain()),
    "CORAL, linear": aligned,
}


# Verdict --------------------------------------------------------------------------------------------------------------


def error(c: Case, predicted: NDArray) -> float:
    """Return the share of wrong labels, or the root mean squared error."""
    if c.task == "regression":
        return float(np.sqrt(np.mean((predicted.astype(float) - c.y_test.astype(float)) ** 2)))
    return float((predicted != c.y_test).mean())


def compared(mine: NDArray, theirs: NDArray) -> str:
    """Return "win", "tie" or "loss" of errors (seeds,)."""
    gap = mine - theirs
    spread = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    if abs(gap.mean()) <= max(0.01 * theirs.mean(), spread):
        return "tie"
    return "win" if gap.mean() < 0 else "loss"


def place(name: str, n_labels: int, n_seeds: int) -> dict[str, NDArray]:
    """Return the errors (seeds,) of each method."""
    found: dict[str, list[float]] = {method: [] for method in (OURS, *PEERS)}
    for seed in range(n_seeds):
        c = case(name, n_labels, seed)
        for method, predict in {OURS: ours, **PEERS}.items():
            found[method].append(error(c, predict(c)))
    return {method: np.array(errors) for method, errors in found.items()}


def write(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def table(half: str, n_seeds: int) -> None:
    """Print a row for each place, and how often ours wins, ties and loses against each peer and the best."""
    from datasets import suite

    counts = {peer: [0, 0, 0] for peer in (*PEERS, "best")}
    write(f"| place | {OURS} | " + " | ".join(PEERS) + " | best |\n" + "|---" * (len(PEERS) + 3) + "|")
    for problem in suite.problems("transfer", half):
        for n_labels in SIZES:
            found = place(problem.name, n_labels, n_seeds)
            found["best"] = min((found[peer] for peer in PEERS), key=np.mean)
            outcomes = {peer: compared(found[OURS], found[peer]) for peer in counts}
            for peer, each in outcomes.items():
                counts[peer][("win", "tie", "loss").index(each)] += 1
            cells = " | ".join(f"{found[m].mean():.3f}" for m in (OURS, *PEERS))
            write(f"| {problem.name}, {n_labels} | {cells} | {outcomes['best']} |")
    write("| win / tie / loss | | " + " | ".join("/".join(map(str, counts[p])) for p in (*PEERS, "best")) + " |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
