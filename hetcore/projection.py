"""Columns of mean 0 and deviation 1 for smooth learners, normal scores of skewed ones, and components of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hetcore.errors import ModelFileError
from hetcore.kernels.threads import run_each
from hetcore.numerics import cache_blocks, fits_double, row_blocks
from hetcore.parameters import Flag
from hetcore.schema import Array, Stored

__all__ = ["Projection", "principal"]

FARTHEST = 4.0  # deviations
SKEWED = 1.0  # third moment of a column of deviation 1, from which its normal scores stand beside it
FEWEST_VALUES, MOST_ALIKE = 8, 0.2  # distinct values of such a column, and the largest share that one of them may have
KNOTS = 33  # of a column's normal scores
SEEN_FOR_SCORES = 20_000  # rows that tell a column's shape


@dataclass(frozen=True)
class Projection(Stored):
    """Columns of mean 0 and deviation 1, or rows of length 1, and components of them.

    Attributes
    ----------
    center, factor : (d,) float64
        x becomes (x - center) * factor, 0 where missing.
    unit_rows : bool
        Whether rows are then divided by their length.
    components : (d, r) float64 or None
        What they are multiplied with.
    limit : (d,) float64 or None
        Deviations from the mean beyond which a value counts as that far: a learner that is linear in a skewed column
        would say anything of the few rows at its end. Infinite for a column of two values, which has no end; None with
        `unit_rows`, and in files of before there was one.
    reach : (d,) float64 or None
        Largest deviation of the rows learned from, up to which a linear learner sees a value; None for columns that
        are not a table's, and in files of before.
    skewed : (s,) int64 or None
        Columns whose normal scores follow the others.
    knots, scores : (s, q) float64 or None
        Values of each of these columns, rising, and their scores, between which others are interpolated.
    """

    _stored = {
        "center": Array("d"), "factor": Array("d"), "components": Array("d r", optional=True), "unit_rows": Flag(),
        "projected": Flag(), "limit": Array("d", low=0, optional=True, allows="inf"),
        "skewed": Array("s", np.int64, low=0, optional=True), "knots": Array("s q", optional=True),
        "scores": Array("s q", optional=True), "reach": Array("d", low=0, optional=True),
    }  # fmt: skip

    center: NDArray[np.float64]
    factor: NDArray[np.float64]
    unit_rows: bool = False
    components: NDArray[np.float64] | None = None
    limit: NDArray[np.float64] | None = None
    skewed: NDArray[np.int64] | None = None
    knots: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    reach: NDArray[np.float64] | None = None

    @classmethod
    def fit(
        cls, X: NDArray, unit_rows: bool = False, most: int | None = None, rank: int = 0, n_jobs: int = 1
    ) -> Projection:
        """Learn from X (n, d) with some threads; `rank` components where d is above `most`."""
        center, factor, limit = np.zeros(X.shape[1]), np.ones(X.shape[1]), None
        # words: rows of length 1, and 0 stays 0, so that the table stays sparse in meaning
        if not unit_rows:
            parts = cache_blocks(*X.shape)
            counts, sums = zip(*run_each(lambda some: _counted(X[some]), parts, n_jobs))
            center = sum(sums) / np.maximum(sum(counts), 1)
            ends = _ends(X)
            squares, two = zip(*run_each(lambda some: _spread(X[some], center, ends), parts, n_jobs))
            deviation = np.sqrt(sum(squares) / len(X))
            # a constant column gets factor 0 rather than noise divided by noise
            varies = deviation > 1e-9 * np.maximum(np.abs(center), 1e-30)
            factor = np.divide(1.0, deviation, out=np.zeros_like(center), where=varies)
            # outliers would rule a linear fit; a column of two values has none
            limit = np.where(np.all(two, axis=0), np.inf, FARTHEST)
        plain = cls(center, factor, unit_rows, None, limit)
        if most is None or X.shape[1] <= most:
            return plain
        return replace(plain, components=principal(plain(X, n_jobs), rank))

    @classmethod
    def joined(cls, given: Sequence[Projection]) -> Projection:
        """Return the projection of all columns of some that have no components, side by side."""
        center, factor, limit, reach = zip(*((each.center, each.factor, each.limit, each.reach) for each in given))
        reach = None if any(each is None for each in reach) else np.concatenate(reach)
        plain = cls(np.concatenate(center), np.concatenate(factor), limit=np.concatenate(limit), reach=reach)
        firsts = np.cumsum([0, *(part.size for part in center[:-1])])
        found = [(first + each.skewed, each.knots, each.scores) for first, each in zip(firsts, given) if each.n_scores]
        if not found:
            return plain
        skewed, knots, scores = (np.concatenate(parts) for parts in zip(*found))
        return replace(plain, skewed=skewed, knots=knots, scores=scores)

    def with_reach(self, X: NDArray) -> Projection:
        """Return this with how far the rows of X (n, d) reach."""
        if not len(X):
            return replace(self, reach=np.zeros(self.center.size))
        # the farthest value is the least or the greatest, and rounding keeps their order; a column of none is infinite
        ends = (np.where(np.isfinite(end), end, self.center) for end in _ends(X))
        far = [np.abs((end - self.center) * self.factor) for end in ends]
        return replace(self, reach=np.maximum(*far))

    def uncut(self, X: NDArray, rows: NDArray, n_jobs: int = 1) -> NDArray:
        """Return the columns (n, d + s) of X (n, d) as linear learners see them, `rows` being what others do."""
        cut = () if self.reach is None or self.limit is None else np.flatnonzero(self.reach > self.limit)
        # most tables have no value so far out, and one array serves all learners
        if not len(cut):
            return rows
        found, center, factor, reach = np.empty_like(rows), *(of[cut] for of in (self.center, self.factor, self.reach))

        def some_rows(some: slice) -> None:
            far = X[some][:, cut] - center
            far *= factor
            found[some] = rows[some]
            found[some, cut] = np.clip(_known(far), -reach, reach)

        run_each(some_rows, cache_blocks(*rows.shape), n_jobs)
        return found

    def with_scores(self, X: NDArray, n_jobs: int = 1) -> Projection:
        """Return this with the normal scores of the skewed columns of X (n, d), from at most 20,000 of its rows."""
        some = X[:: max(1, len(X) // SEEN_FOR_SCORES)]
        varying = np.flatnonzero(self.factor)
        found = run_each(lambda j: _normal_scores(some[:, j]), varying, n_jobs)
        curves = {j: curve for j, curve in zip(varying, found) if curve is not None}
        if not curves:
            return self
        knots, scores = (np.stack(parts) for parts in zip(*curves.values()))
        return replace(self, skewed=np.array(list(curves), np.int64), knots=knots, scores=scores)

    def of_columns(self, columns: NDArray[np.int64]) -> Projection:
        """Return the projection of some columns (c,) alone, of one that has no scores and no components."""
        limit = None if self.limit is None else self.limit[columns]
        return Projection(self.center[columns], self.factor[columns], limit=limit)

    @property
    def n_scores(self) -> int:
        """How many columns have normal scores too."""
        return 0 if self.skewed is None else self.skewed.size

    @property
    def width(self) -> int:
        """How many columns come out, before there are components."""
        return self.center.size + self.n_scores

    def __call__(self, X: NDArray, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return the columns (n, d + s or r) of X (n, d), of very many cells in float32."""
        kind = np.float64 if fits_double(X.size) else np.float32
        if self.components is not None:
            found = np.empty((len(X), self.components.shape[1]), kind)
            for some in row_blocks(X):
                found[some] = self._scaled(X[some]) @ self.components
            return found
        found = np.empty((len(X), self.width), kind)

        def some_rows(some: slice) -> None:
            found[some] = self._scaled(X[some])

        run_each(some_rows, cache_blocks(*found.shape), n_jobs)
        return found

    def _scaled(self, X: NDArray) -> NDArray[np.float64]:
        rows = X - self.center
        rows *= self.factor
        missing = np.isnan(rows)
        # missing is the mean
        if missing.any():
            rows[missing] = 0.0
        if self.limit is not None:
            # also of new data, whose values may lie far outside
            np.clip(rows, -self.limit, self.limit, out=rows)
        if self.unit_rows:
            rows /= np.maximum(np.sqrt((rows**2).sum(axis=1, keepdims=True)), 1e-12)
        return np.hstack([rows, self._scores_of(X)]) if self.n_scores else rows

    def _scores_of(self, X: NDArray) -> NDArray[np.float64]:
        curves = zip(self.skewed, self.knots, self.scores)
        found = np.stack([np.interp(X[:, j], knots, scores) for j, knots, scores in curves], axis=1)
        # missing is the mean
        return np.nan_to_num(found, copy=False)

    @property
    def projected(self) -> bool:
        """Whether there are components."""
        return self.components is not None

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> Projection:
        if values.pop("projected") != (values["components"] is not None):
            raise ModelFileError("The columns of a view in the model file have no components: save the model again.")
        return cls(**values)

    def _fault(self, sizes: dict[str, int]) -> str:
        if (self.skewed is None) != (self.knots is None) or (self.skewed is None) != (self.scores is None):
            return "The model file lacks the scores of skewed columns"
        # between knots that fall nothing could be interpolated
        fits = self.skewed is None or (self.skewed < sizes["d"]).all() and (np.diff(self.knots) >= 0).all()
        return "" if fits else "The skewed columns of the model file are not those of its table"


def _normal_scores(column: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return values (33,) of a skewed column (n,), rising, and their normal scores, of deviation 1; None for another.

    The score of a value is the normal quantile of its middle rank: a column and its logarithm have the same.
    """
    known = column[~np.isnan(column)].astype(np.float64)
    values, counts = np.unique(known, return_counts=True)
    if values.size < FEWEST_VALUES or counts.max() > MOST_ALIKE * known.size:
        return None
    centered = known - known.mean()
    if abs(np.mean((centered / centered.std()) ** 3)) <= SKEWED:
        return None
    scores = ndtri((np.cumsum(counts) - 0.5 * counts) / known.size)
    picked = np.searchsorted(scores, np.linspace(scores[0], scores[-1], KNOTS)).clip(0, values.size - 1)
    # missing values count as the mean, as in the column itself
    mean, share = np.average(scores, weights=counts), known.size / column.size
    deviation = np.sqrt(share * np.average((scores - mean) ** 2, weights=counts))
    return values[picked], (scores[picked] - mean) / deviation


def _counted(X: NDArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many values of each column (d,) of X (n, d) are known, and their sums."""
    missing = np.isnan(X)
    known = np.where(missing, 0.0, X) if missing.any() else X
    return len(X) - missing.sum(axis=0), known.sum(axis=0, dtype=np.float64)


def _ends(X: NDArray) -> tuple[NDArray, NDArray]:
    """Return the least and the greatest value of each column (d,), NaN where nothing is known, infinite of no row."""
    return np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)


def _spread(
    X: NDArray, center: NDArray, ends: tuple[NDArray, NDArray]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the sums of squares about the center, and which columns (d,) have no value but at their ends."""
    rows = X - center
    at_ends = (X == ends[0]) | (X == ends[1])
    missing = np.isnan(rows)
    if missing.any():
        rows[missing], at_ends[missing] = 0.0, True
    rows *= rows
    return rows.sum(axis=0, dtype=np.float64), at_ends.all(axis=0)


def _known(X: NDArray) -> NDArray:
    return np.where(np.isnan(X), 0.0, X)


def principal(rows: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the leading right singular vectors (d, rank) of rows (n, d), by a randomised range finder.

    References
    ----------
    Halko, Martinsson, Tropp (2011), "Finding structure with randomness", algorithm 4.4 with one power step.
    """
    rank = min(rank, *rows.shape)
    # a fixed seed: columns are the same in every fit on the same data, and recalled as such
    draw = np.random.default_rng(0).normal(size=(rows.shape[0], min(rank + 10, *rows.shape)))
    basis = rows.T @ draw
    # one more pass over the table halves what the first one misses of the leading directions
    basis = rows.T @ (rows @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    vectors = np.linalg.svd(rows @ basis, full_matrices=False)[2]
    return basis @ vectors[:rank].T
