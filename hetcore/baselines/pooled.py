"""Peers of transfer methods: an ordinary learner on the target's rows, or on all, with or without a domain column.

Two linear ones adapt: CORAL gives the source rows the target's covariance (Sun et al. 2016), "augmented" each row its
columns once for all domains and once for its own (Daume 2007).

`TRANSFER_PEERS` makes them by name: `TRANSFER_PEERS["HGB, pooled"]("classification", 0).fit(X, y, sample_domain)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from hetcore.baselines.encoded import TreeTable
from hetcore.baselines.labels import Labels
from hetcore.baselines.scoring import MANY_COLUMNS, catboost_scores, histogram_scores, linear_scores
from hetcore.parameters import Declared, OneOf, Seed, param

__all__ = ["TRANSFER_PEERS", "PooledLearner", "filled"]

LEARNERS = ("linear", "histogram", "catboost")
ROWS = ("target", "all")
ADAPTED = ("", "column", "coral", "augmented")
WIDE_COST = 0.01
"""C of logistic regression on more than a hundred columns."""


class PooledLearner(Declared, BaseEstimator):
    """One learner over several domains; predicts rows of the target."""

    learner: str = param("linear", OneOf(*LEARNERS), "Logistic regression or ridge, histogram boosting, CatBoost.")
    rows: str = param("all", OneOf(*ROWS), "Which rows it learns from.")
    adapted: str = param("", OneOf(*ADAPTED), "Whether the domain is a column, or what a linear learner does to them.")
    random_state: int | None = param(0, Seed(), "Seed.")

    def fit(self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike) -> PooledLearner:
        """Keep the rows; learning waits for `predict`, since columns are scaled over both.

        Parameters
        ----------
        X : (n, d) array-like
            NaN is missing.
        y : (n,) array-like
            Class names, or numbers; all known.
        sample_domain : (n,) array-like of int
            k > 0 for a row of source k, negative for a row of the target.
        """
        self._check_parameters()
        X, y, domain = np.asarray(X, np.float64), np.asarray(y), np.asarray(sample_domain)
        used = domain < 0 if self.rows == "target" else np.ones(len(X), bool)
        self._X, self._y, self._domain = X[used], y[used], domain[used]
        self.classes_ = np.unique(self._y.astype(str)) if y.dtype.kind in "OUS" else np.array([])
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return class names or numbers (m,) of rows of the target."""
        X = np.asarray(X, np.float64)
        # transductive: scores of new rows come with the fit, as for the peers of graphs
        n = len(self._X) + len(X)
        codes = np.searchsorted(self.classes_, self._y.astype(str)) if self.classes_.size else self._y.astype(float)
        labels = Labels(n, self.classes_.size, np.arange(len(self._X)), codes)
        domain = np.concatenate([self._domain, np.full(len(X), -1)])
        scores = self._scores(np.vstack([self._X, X]), domain, labels)[len(self._X) :]
        return self.classes_[scores.argmax(axis=1)].astype(object) if self.classes_.size else scores

    def _scores(self, X: NDArray, domain: NDArray, labels: Labels) -> NDArray[np.float64]:
        if self.learner == "linear":
            # wide tables need a stronger penalty
            return linear_scores(self._columns(X, domain), labels, WIDE_COST if X.shape[1] > MANY_COLUMNS else 1.0)
        category = domain[:, None] + 1 if self.adapted else np.empty((len(X), 0))
        # -1 + 1 is the target's category 0
        table = TreeTable(X.astype(np.float32), np.maximum(category, 0).astype(np.int32))
        learn = histogram_scores if self.learner == "histogram" else catboost_scores
        return learn(table, labels, self.random_state)

    def _columns(self, X: NDArray, domain: NDArray) -> NDArray[np.float64]:
        """Return what a linear learner sees of all rows."""
        known = filled(X)
        if self.adapted == "coral":
            return aligned(known, domain < 0)
        marks = domain[:, None] == np.unique(domain)
        if self.adapted == "augmented":
            return np.hstack([known, *(np.where(mark[:, None], known, 0.0) for mark in marks.T)])
        return np.hstack([known, marks]) if self.adapted else known


def aligned(X: NDArray, own: NDArray) -> NDArray[np.float64]:
    """Return X (n, d) with the rows that are not the target's own (n,) whitened, then given its covariance (CORAL)."""
    moved = X.copy()
    # a covariance needs two rows
    if own.sum() > 1 and (~own).sum() > 1:
        # plus one on the diagonal, as CORAL has it: columns may outnumber rows
        whitened = X[~own] @ _power(np.cov(X[~own].T) + np.eye(X.shape[1]), -0.5)
        moved[~own] = whitened @ _power(np.cov(X[own].T) + np.eye(X.shape[1]), 0.5)
    return moved


def _power(matrix: NDArray, exponent: float) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(np.atleast_2d(matrix))
    # rounding can leave an eigenvalue below 0, which has no root
    return (vectors * np.maximum(values, 1e-9) ** exponent) @ vectors.T


def filled(X: NDArray) -> NDArray[np.float64]:
    """Return X standardised over what is known, 0 where missing."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _maker(learner: str, rows: str, adapted: str = "") -> Callable[[str, int], Any]:
    return lambda task, seed: PooledLearner(learner, rows, adapted, seed)


TRANSFER_PEERS: dict[str, Callable[[str, int], Any]] = {
    "linear, target alone": _maker("linear", "target"),
    "CatBoost, target alone": _maker("catboost", "target"),
    "linear, pooled": _maker("linear", "all"),
    "HGB, pooled": _maker("histogram", "all"),
    "linear, domain column": _maker("linear", "all", "column"),
    "HGB, domain column": _maker("histogram", "all", "column"),
    "linear, CORAL": _maker("linear", "all", "coral"),
    "linear, augmented": _maker("linear", "all", "augmented"),
}
"""A new peer by name, for a task ("classification" or "regression") and a seed."""
