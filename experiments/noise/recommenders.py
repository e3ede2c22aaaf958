"""The frame of Table 2's rivals: ratings of users and items, settings and the pass chosen on a tenth of the ratings.

A rival yields what it has learned after each pass (`_passes`) and predicts from it (`_predicted`); the frame divides,
tries the settings, stops and keeps. No library that is kept up has RBM, RCF, RBMF, LLORMA or AutoRec (cornac 3.0,
Surprise 1.1): each is written here from its own paper, in NumPy, AutoRec on PyTorch.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hetcore.metrics import rmse

__all__ = ["Ratings", "Recommender", "ridge"]

VALIDATION = 0.1  # of the ratings


class Ratings(NamedTuple):
    """Ratings of users by row and items by column.

    Attributes
    ----------
    users, items : (n,) int64
    values : (n,) float64
    shape : (int, int)
        Users and items in all.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: NDArray[np.float64]
    shape: tuple[int, int]

    def take(self, rows: NDArray) -> Ratings:
        """Return some of the ratings."""
        return self._replace(users=self.users[rows], items=self.items[rows], values=self.values[rows])

    def matrix(self, values: NDArray | None = None) -> csr_array:
        """Return the ratings, or other values of theirs (n,), as a matrix (users, items)."""
        return csr_array((self.values if values is None else values, (self.users, self.items)), self.shape)


class Recommender:
    """A rival: `settings` to choose from, at most `n_iterations` passes, `patience` of them without a gain.

    Attributes
    ----------
    settings : mapping of str to list
        What is tried, every combination; the first of each is that of a learning curve.
    chosen_ : dict
        The combination of least RMSE on a tenth of the ratings.
    history_ : dict
        "seconds" of the chosen fit, of the wall clock; its passes are `n_iterations_`.
    cpu_seconds_ : float
        The same of the processor.
    """

    settings: Mapping[str, list[Any]] = {}
    n_iterations, patience = 60, 5

    def __init__(self, n_iterations: int | None = None, patience: int | None = None, **settings: list[Any]) -> None:
        self.settings = {**self.settings, **settings}
        self.n_iterations, self.patience = n_iterations or self.n_iterations, patience or self.patience

    def fit(self, X: NDArray, y: NDArray) -> Any:
        """Fit to ratings y (n,) of users and items X (n, 2)."""
        ratings = self._known(X, y)
        # One seed for all rivals, so that each chooses on the same ratings.
        order = np.random.default_rng(0).permutation(len(y))
        kept = np.ones(len(y), bool)
        kept[order[: int(VALIDATION * len(y))]] = False
        given, left = ratings.take(kept), ratings.take(~kept)
        combinations = (dict(zip(self.settings, each)) for each in itertools.product(*self.settings.values()))
        # The chosen fit is kept: one on all ratings would have to stop at a pass that nothing chose.
        fits = [(*self._stopped(given, left, each), each) for each in combinations]
        _, self.learned_, seconds, self.n_iterations_, self.chosen_ = min(fits, key=lambda fit: fit[0])
        self.history_, self.cpu_seconds_ = {"seconds": [seconds[0]]}, seconds[1]
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return ratings (n,) within the range of those known; their mean for a user or an item never seen."""
        rows, seen = self._rows(X)
        return self._within(self._predicted(self.learned_, *rows), seen)

    def curve(self, X: NDArray, y: NDArray, later: NDArray, n: int) -> list[NDArray]:
        """Return predictions of X and of later entries, one array a pass: n passes over all ratings, nothing chosen."""
        ratings, entries = self._known(X, y), np.concatenate([X, later])
        setting = {name: values[0] for name, values in self.settings.items()}
        rows, seen = self._rows(entries)
        # A rival yields for ever; the curve takes n.
        passes = itertools.islice(self._passes(ratings, setting, n), n)
        return [self._within(self._predicted(learned, *rows), seen) for learned in passes]

    def _within(self, fitted: NDArray, seen: NDArray) -> NDArray[np.float64]:
        # No rating lies outside those that there are, and a factor model knows no bounds.
        return np.clip(np.where(seen, fitted, self.mean_), *self.range_)

    def _known(self, X: NDArray, y: NDArray) -> Ratings:
        """Return the ratings by row and column, and keep codes, mean and range."""
        users, items = (np.unique(X[:, column], return_inverse=True) for column in (0, 1))
        self.codes, self.mean_, self.range_ = (users[0], items[0]), float(np.mean(y)), (float(y.min()), float(y.max()))
        return Ratings(users[1], items[1], np.asarray(y, float), (users[0].size, items[0].size))

    def _rows(self, X: NDArray) -> tuple[list[NDArray], NDArray[np.bool_]]:
        """Return rows and columns of entries, and which of them have a known user and a known item."""
        # Clipped, for an unseen one may sort behind the last; it is told by the comparison below.
        at = [np.clip(np.searchsorted(known, X[:, k]), 0, known.size - 1) for k, known in enumerate(self.codes)]
        return at, (self.codes[0][at[0]] == X[:, 0]) & (self.codes[1][at[1]] == X[:, 1])

    def _stopped(
        self, given: Ratings, left: Ratings, setting: Mapping[str, Any]
    ) -> tuple[float, Any, list[float], int]:
        """Return the least validation RMSE, what was learned there, seconds (of wall clock, processor) and passes."""
        # Both: rivals with threads are fast by the clock and dear by the processor.
        clocks = time.perf_counter, time.process_time
        started, best, at, passes = [clock() for clock in clocks], (np.inf, None), 0, 0
        for passes, learned in enumerate(self._passes(given, setting, self.n_iterations), 1):
            error = rmse(left.values, self._predicted(learned, left.users, left.items))
            # Strictly: of equal passes the first, which costs least.
            if error < best[0]:
                best, at = (error, learned), passes
            if passes - at >= self.patience or passes >= self.n_iterations:
                break
        return *best, [clock() - start for clock, start in zip(clocks, started)], passes

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[Any]:
        """Yield what is known after each of n passes; arrays that were yielded are not written again."""
        raise NotImplementedError

    def _predicted(self, learned: Any, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        """Return the ratings of entries by what was learned."""
        raise NotImplementedError


def ridge(weights: csr_array, right: csr_array, factors: NDArray, penalties: NDArray) -> NDArray[np.float64]:
    """Return, for each row of a sparse matrix, the coefficients of a weighted ridge regression on other factors.

    Parameters
    ----------
    weights, right : (n, m) csr_array
        Weight of each entry; weight times value.
    factors : (m, D) float64
    penalties : (n,) float64
        Lambda of each row.

    Returns
    -------
    (n, D) float64
    """
    gram = second_moments(weights, factors[:, :, None] * factors[:, None, :])
    gram += penalties[:, None, None] * np.eye(factors.shape[1])
    return np.linalg.solve(gram, (right @ factors)[..., None])[..., 0]


def second_moments(weights: csr_array, moments: NDArray) -> NDArray[np.float64]:
    """Return, for each row (n,), the weighted sum of the moments (m, D, D) of its entries, (n, D, D)."""
    n, D = weights.shape[0], moments.shape[1]
    return (weights @ moments.reshape(-1, D * D)).reshape(n, D, D)
