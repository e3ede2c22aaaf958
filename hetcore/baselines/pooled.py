"""Peers of transfer methods: an ordinary learner on the target's rows, or on all, with or without a domain column.

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
from hetcore.baselines.scoring import catboost_scores, histogram_scores, linear_scores
from hetcore.errors import ParameterError

__all__ = ["TRANSFER_PEERS", "PooledLearner"]

LEARNERS = ("linear", "histogram", "catboost")
ROWS = ("target", "all")


class PooledLearner(BaseEstimator):
    """One learner over several domains; predicts rows of the target.

    Parameters
    ----------
    learner : {"linear", "histogram", "catboost"}, default="linear"
        Logistic regression or ridge, histogram boosting, CatBoost.
    rows : {"target", "all"}, default="all"
        Which rows it learns from.
    domain_column : bool, default=False
        Whether the domain is a column (a category for trees, a column of 0 and 1 each for linear models).
    random_state : int or None, default=0
        Seed.
    """

    def __init__(
        self,
        learner: str = "linear",
        rows: str = "all",
        domain_column: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.learner, self.rows, self.domain_column, self.random_state = learner, rows, domain_column, random_state

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
        for name, value, known in (("learner", self.learner, LEARNERS), ("rows", self.rows, ROWS)):
            if value not in known:
                raise ParameterError(f"{name}={value!r} is not known: give one of {', '.join(known)}.")
        X, y, domain = np.asarray(X, np.float64), np.asarray(y), np.asarray(sample_domain)
        used = domain < 0 if self.rows == "target" else np.ones(len(X), bool)
        self._X, self._y, self._domain = X[used], y[used], domain[used]
        self.classes_ = np.unique(self._y.astype(str)) if y.dtype.kind in "OUS" else np.array([])
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return class names or numbers (m,) of rows of the target."""
        X = np.asarray(X, np.float64)
        n = len(self._X) + len(X)
        codes = np.searchsorted(self.classes_, self._y.astype(str)) if self.classes_.size else self._y.astype(float)
        labels = Labels(n, self.classes_.size, np.arange(len(self._X)), codes)
        domain = np.concatenate([self._domain, np.full(len(X), -1)])
        scores = self._scores(np.vstack([self._X, X]), domain, labels)[len(self._X) :]
        return self.classes_[scores.argmax(axis=1)].astype(object) if self.classes_.size else scores

    def _scores(self, X: NDArray, domain: NDArray, labels: Labels) -> NDArray[np.float64]:
        if self.learner == "linear":
            shown = [domain[:, None] == np.unique(domain)] if self.domain_column else []
            return linear_scores(np.hstack([_filled(X), *shown]), labels)
        category = domain[:, None] + 1 if self.domain_column else np.empty((len(X), 0))
        table = TreeTable(X.astype(np.float32), np.maximum(category, 0).astype(np.int32))
        learn = histogram_scores if self.learner == "histogram" else catboost_scores
        return learn(table, labels, self.random_state)


def _filled(X: NDArray) -> NDArray[np.float64]:
    """Return X standardised over what is known, 0 where missing."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _maker(learner: str, rows: str, domain_column: bool) -> Callable[[str, int], Any]:
    return lambda task, seed: PooledLearner(learner, rows, domain_column, seed)


TRANSFER_PEERS: dict[str, Callable[[str, int], Any]] = {
    "linear, target alone": _maker("linear", "target", False),
    "linear, pooled": _maker("linear", "all", False),
    "linear, domain column": _maker("linear", "all", True),
    "HGB, target alone": _maker("histogram", "target", False),
    "HGB, pooled": _maker("histogram", "all", False),
    "HGB, domain column": _maker("histogram", "all", True),
    "CatBoost, domain column": _maker("catboost", "all", True),
}
"""A new peer by name, for a task ("classification" or "regression") and a seed."""
