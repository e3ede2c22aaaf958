r"""Ridge regression of several members, each on its own rows, with the penalty that misses left-out rows the least.

Trees follow a line in steps, and a sum of many columns hardly at all. A label forest of HGBM that starts from a line
has only the rest to learn; F_0 of GB, RGB and MGB mixes lines with trees (`hetcore.collective.base_model`).

    z = the columns in deviations from their mean, and normal scores of skewed ones
    b_k <- argmin over the rows of member k of sum w (y - f - z . b)^2 + a n_k |b|^2, output by output
    a   <- of `PENALTIES` that with which rows left out are missed the least

The squared error of member k on the rows that it has not seen is a quadratic form of their Gram matrix, so that no
penalty asks for another pass over the rows. No line is taken that misses them by more than the constant f does.

Reference: Hoerl and Kennard (1970), ridge regression; T. Hastie, R. Tibshirani, J. Friedman, "The Elements of
Statistical Learning", 2009, section 3.4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hetcore.forest import Forest
from hetcore.kernels.threads import run_each
from hetcore.numerics import product, row_blocks
from hetcore.parameters import Interval
from hetcore.projection import Projection
from hetcore.schema import Stored, array, part, value

__all__ = ["LineForest", "LinearModel", "predicted_by_each"]

PENALTIES = np.logspace(-4.0, 2.0, 13)  # a row, where columns have deviation 1
MOST_COLUMNS, COMPONENTS = 400, 200  # of more columns components are taken
BEYOND = 0.2  # of the labels' range, how far beyond it the line goes
ROWS = 8_192  # that one thread works on

Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class LinearModel(Stored):
    """A member's line, or the mean of several members' lines.

    Attributes
    ----------
    columns : (u,) int64
        Those that vary; others would change nothing but the last bit.
    projection : Projection
        From these columns to z (m,).
    slopes : (K (m + 1),) float64
        Output by output; the last one of each is of the constant column.
    ends : (2 K,) float64
        The lowest that the line adds to f, and the highest, by output.
    """

    columns: NDArray[np.int64] = array("d", np.int64, low=0)
    projection: Projection = part(Projection, "d")
    slopes: NDArray[np.float64] = array("c")
    ends: NDArray[np.float64] = array("e")

    @classmethod
    def fit(
        cls,
        X: NDArray,
        missed: NDArray[np.float64],
        seen: Sequence[NDArray[np.int32]],
        weights: NDArray | None = None,
        n_jobs: int = 1,
    ) -> list[LinearModel] | None:
        """Return the line of each member; None if they come no closer to left-out rows than f.

        Parameters
        ----------
        X : (n, d) float32
            NaN is missing.
        missed : (n, K) float64
            y - f.
        seen : sequence of (b,) int32
            Rows of each of the M members; each row is left out by one of them.
        weights : (n,) float64, optional
        n_jobs : int, default=1
        """
        columns = np.flatnonzero(Projection.fit(X, n_jobs=n_jobs).factor)
        if not columns.size:
            return None
        X = _some(X, columns)
        projection = Projection.fit(X, most=MOST_COLUMNS, rank=COMPONENTS, n_jobs=n_jobs)
        # components are of the columns alone
        projection = projection if projection.projected else projection.with_scores(X, n_jobs)
        Z = projection(X, n_jobs)
        weights = np.ones(len(Z)) if weights is None else weights
        left_out = [_moments(Z, missed, weights, np.setdiff1d(np.arange(len(Z)), rows), n_jobs) for rows in seen]
        gram, slope = (sum(parts) for parts in zip(*left_out))
        lines = [_ridge(gram - own, slope - b, rows.size) for (own, b), rows in zip(left_out, seen)]
        # (penalties,) of what all members miss, less what the constant does
        change = sum(
            np.einsum("kpi,ij,kpj->p", line, own, line) - 2.0 * np.einsum("kpi,ik->p", line, b)
            for line, (own, b) in zip(lines, left_out)
        )
        best = int(np.argmin(change))
        if not change[best] < 0:
            return None
        more = BEYOND * np.ptp(missed, axis=0)
        ends = np.concatenate([missed.min(axis=0) - more, missed.max(axis=0) + more])
        return [cls(columns, projection, line[:, best].ravel(), ends) for line in lines]

    @classmethod
    def mean(cls, lines: Sequence[LinearModel]) -> LinearModel:
        """Return the mean of the members' lines."""
        return replace(lines[0], slopes=np.stack([each.slopes for each in lines], axis=1).mean(axis=1))

    @property
    def n_outputs(self) -> int:
        """Outputs K."""
        return self.ends.size // 2

    def times(self, factor: float | NDArray[np.float64]) -> LinearModel:
        """Return a line that adds so many times as much, by output (K,) or alike."""
        factors = np.broadcast_to(factor, self.n_outputs)
        size = self.slopes.size // self.n_outputs
        return replace(self, slopes=self.slopes * np.repeat(factors, size), ends=self.ends * np.tile(factors, 2))

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return what the line adds to f at rows of X (n, d), (n, K)."""
        return predicted_by_each([self], X)[0]

    def _fault(self, sizes: dict[str, int]) -> str:
        projection, K = self.projection, self.n_outputs
        width = projection.components.shape[1] if projection.projected else projection.width
        fits = K > 0 and self.ends.size == 2 * K and K * (width + 1) == self.slopes.size
        fits = fits and (self.ends[:K] <= self.ends[K:]).all() and (np.diff(self.columns) > 0).all()
        return "" if fits else "The line of the model file is not one of its columns"


def predicted_by_each(lines: Sequence[LinearModel], X: NDArray, n_jobs: int = 1) -> NDArray[np.float64]:
    """Return what each of the members' lines adds to f at rows of X (n, d), (M, n, K)."""
    first, K = lines[0], lines[0].n_outputs
    coefficients = np.concatenate([each.slopes.reshape(K, -1) for each in lines]).T
    found = np.empty((len(X), len(lines) * K))
    # some rows at a time: with very many, all of them in deviations are as large as the table again
    for some in row_blocks(X):
        Z = first.projection(_some(X[some], first.columns), n_jobs)
        found[some] = product(Z, coefficients[:-1]) + coefficients[-1]
    found = np.moveaxis(found.reshape(len(X), len(lines), K), 1, 0)
    return np.clip(found, *first.ends.reshape(2, K))


@dataclass(frozen=True)
class LineForest(Stored):
    """A line, trees of what it leaves, and the share of both in the labels."""

    start: LinearModel = part(LinearModel)
    trees: Forest = part(Forest, "d")
    share: float = value(Interval(0, 1, "(]"), make=float)

    def predict(self, X: NDArray, binned: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return what it adds to f at rows of X (n, d), binned (d, n), (n, 1)."""
        return self.start.predict(X) + self.trees.predict(binned)

    def _fault(self, sizes: dict[str, int]) -> str:
        fits = self.trees.n_outputs == self.start.n_outputs == 1 and self.start.columns[-1] < sizes["d"]
        return "" if fits else "The forest of the model file that starts from a line has classes, or other columns"


def _some(X: NDArray, columns: NDArray[np.int64]) -> NDArray:
    # in one order: sums of another one are other in the last bit
    return np.ascontiguousarray(X if columns.size == X.shape[1] else X[:, columns])


def _moments(Z: NDArray, missed: NDArray, weights: NDArray, rows: NDArray, n_jobs: int) -> Moments:
    """Return the weighted Gram matrix (m + 1, m + 1) of some rows with a constant column, and its slopes (m + 1, K)."""

    def of(some: NDArray) -> Moments:
        own = np.column_stack([Z[some], np.ones(some.size)])
        counted = own * weights[some, None]
        return counted.T @ own, counted.T @ missed[some]

    # a member that leaves out no row has moments too, of nothing
    blocks = [rows[first : first + ROWS] for first in range(0, max(rows.size, 1), ROWS)]
    gram, slope = zip(*run_each(of, blocks, n_jobs))
    return sum(gram[1:], gram[0]), sum(slope[1:], slope[0])


def _ridge(gram: NDArray, slope: NDArray, n: int) -> NDArray[np.float64]:
    """Return the coefficients (K, penalties, m + 1) of ridge regression on n rows."""
    values, vectors = np.linalg.eigh(gram)
    turned = (vectors.T @ slope).T[:, None]
    return turned / (np.maximum(values, 0.0) + PENALTIES[:, None] * n) @ vectors.T
