r"""A label forest of numbers that starts from a line: ridge regression of its members, and trees of what it leaves.

Trees follow a line in steps, and a sum of many columns hardly at all; a forest that starts from one has only the rest
to learn. HGBM has it beside those that start from a constant, with a share that left-out rows say.

    z = the columns in deviations from their mean, and normal scores of skewed ones
    b_k <- argmin over the rows of member k of sum w (y - f - z . b)^2 + a n_k |b|^2
    a   <- of `PENALTIES` that with which rows left out are missed the least

The squared error of member k on the rows that it has not seen is a quadratic form of their Gram matrix, so that no
penalty asks for another pass over the rows. No line is taken that misses them by more than the constant f does.

Reference: Hoerl and Kennard (1970), ridge regression; T. Hastie, R. Tibshirani, J. Friedman, "The Elements of
Statistical Learning", 2009, section 3.4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetcore.forest import Forest
from hetcore.kernels.threads import run_each
from hetcore.numerics import product
from hetcore.parameters import Interval
from hetcore.projection import Projection
from hetcore.schema import Stored, array, part, value

__all__ = ["LineForest", "LinearStart"]

PENALTIES = np.logspace(-4.0, 2.0, 13)  # a row, where columns have deviation 1
MOST_COLUMNS, COMPONENTS = 400, 200  # of more columns components are taken
BEYOND = 0.2  # of the labels' range, how far beyond it the line goes
ROWS = 8_192  # that one thread works on

Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class LinearStart(Stored):
    """The mean of the members' lines.

    Attributes
    ----------
    columns : (u,) int64
        Those that vary; others would change nothing but the last bit.
    projection : Projection
        From these columns to z (m,).
    slopes : (m + 1,) float64
        The last one is of the constant column.
    ends : (2,) float64
        Between which what the line adds to f is held.
    """

    columns: NDArray[np.int64] = array("d", np.int64, low=0)
    projection: Projection = part(Projection, "d")
    slopes: NDArray[np.float64] = array("c")
    ends: NDArray[np.float64] = array("e")

    @classmethod
    def fit(
        cls, X: NDArray, missed: NDArray[np.float64], weights: NDArray, seen: Sequence[NDArray[np.int32]], n_jobs: int
    ) -> tuple[LinearStart, NDArray[np.float64]] | None:
        """Return the mean line, and what those of the members add to f at each row, (M, n); None if they are no better.

        Parameters
        ----------
        X : (n, d) float32
            NaN is missing.
        missed : (n,) float64
            y - f.
        weights : (n,) float64
        seen : sequence of (b,) int32
            Rows of each of the M members.
        n_jobs : int
        """
        columns = np.flatnonzero(Projection.fit(X, n_jobs=n_jobs).factor)
        if not columns.size:
            return None
        X = _some(X, columns)
        projection = Projection.fit(X, most=MOST_COLUMNS, rank=COMPONENTS, n_jobs=n_jobs)
        # components are of the columns alone
        projection = projection if projection.projected else projection.with_scores(X, n_jobs)
        Z = projection(X, n_jobs)
        left_out = [_moments(Z, missed, weights, np.setdiff1d(np.arange(len(Z)), rows), n_jobs) for rows in seen]
        gram, slope = (sum(parts) for parts in zip(*left_out))
        lines = [_ridge(gram - own, slope - b, rows.size) for (own, b), rows in zip(left_out, seen)]
        # (penalties,) of what all members miss, less what the constant does
        change = sum(
            np.einsum("pi,ij,pj->p", line, own, line) - 2.0 * line @ b for line, (own, b) in zip(lines, left_out)
        )
        best = int(np.argmin(change))
        if not change[best] < 0:
            return None
        each = np.stack([line[best] for line in lines], axis=1)
        more = BEYOND * np.ptp(missed)
        ends = np.array([missed.min() - more, missed.max() + more])
        return cls(columns, projection, each.mean(axis=1), ends), np.ascontiguousarray(_added(Z, each, ends).T)

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return what the line adds to f at rows of X (n, d), (n, 1)."""
        return _added(self.projection(_some(X, self.columns)), self.slopes[:, None], self.ends)

    def _fault(self, sizes: dict[str, int]) -> str:
        projection = self.projection
        width = projection.components.shape[1] if projection.projected else projection.width
        fits = width + 1 == self.slopes.size and self.ends.size == 2 and self.ends[0] <= self.ends[1]
        fits = fits and (np.diff(self.columns) > 0).all()
        return "" if fits else "The line of the model file is not one of its columns"


@dataclass(frozen=True)
class LineForest(Stored):
    """A line, trees of what it leaves, and the share of both in the labels."""

    start: LinearStart = part(LinearStart)
    trees: Forest = part(Forest, "d")
    share: float = value(Interval(0, 1, "(]"), make=float)

    def predict(self, X: NDArray, binned: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return what it adds to f at rows of X (n, d), binned (d, n), (n, 1)."""
        return self.start.predict(X) + self.trees.predict(binned)

    def _fault(self, sizes: dict[str, int]) -> str:
        fits = self.trees.n_outputs == 1 and self.start.columns[-1] < sizes["d"]
        return "" if fits else "The forest of the model file that starts from a line has classes, or other columns"


def _some(X: NDArray, columns: NDArray[np.int64]) -> NDArray:
    # in one order: sums of another one are other in the last bit
    return np.ascontiguousarray(X if columns.size == X.shape[1] else X[:, columns])


def _added(Z: NDArray, slopes: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what lines (m + 1, M) add to f at rows z (n, m), (n, M)."""
    return np.clip(product(Z, slopes[:-1]) + slopes[-1], *ends)


def _moments(Z: NDArray, missed: NDArray, weights: NDArray, rows: NDArray, n_jobs: int) -> Moments:
    """Return the weighted Gram matrix (m + 1, m + 1) of some rows with a constant column, and its slope (m + 1,)."""

    def of(some: NDArray) -> Moments:
        own = np.column_stack([Z[some], np.ones(some.size)])
        counted = own * weights[some, None]
        return counted.T @ own, counted.T @ missed[some]

    blocks = [rows[first : first + ROWS] for first in range(0, rows.size, ROWS)]
    gram, slope = zip(*run_each(of, blocks, n_jobs))
    return sum(gram[1:], gram[0]), sum(slope[1:], slope[0])


def _ridge(gram: NDArray, slope: NDArray, n: int) -> NDArray[np.float64]:
    """Return the coefficients (penalties, m + 1) of ridge regression on n rows."""
    values, vectors = np.linalg.eigh(gram)
    turned = vectors.T @ slope
    return turned / (np.maximum(values, 0.0) + PENALTIES[:, None] * n) @ vectors.T
