"""The columns of all tables as trees and as smooth learners take them; learned from the training data, used on any.

Trees take a table's encoded columns as they are, NaN where a value or a record is missing; of more than 300 columns the
300 that vary most, and 32 principal components of all. Smooth learners take columns of mean 0 and deviation 1, at most
4 from the mean (words: rows of length 1), 0 where missing, and of a skewed column its normal scores too, those of its
logarithm; kernels 200 components of them where there are more, linear learners too where there are more than 2,000, or
too many for memory. Of numbers, linear learners that see all columns see them uncut: a sum of prices is one at its far
end too; of classes, whose log odds no far value holds back, that gained nothing (docs/trials.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hetcore.data import HetData, Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import ModelFileError
from hetcore.numerics import fits_double, narrowed, row_blocks
from hetcore.parameters import Flag
from hetcore.schema import Array, Part, Parts, State, Stored, Value, array, part

__all__ = ["MOST_GRAPHS", "Projection", "TableColumns", "TableEncoding", "Tables"]

MOST_TREE_COLUMNS = 300
TREE_COMPONENTS = 32
MOST_SMOOTH_COLUMNS = 200
MOST_GRAPHS = 6  # with columns of their own; the union has those of all
MOST_LINEAR_COLUMNS = 2000
MOST_LINEAR_CELLS = 20_000_000  # 160 MB, what is averaged along graphs among them
MOST_NEIGHBOR_COLUMNS = 60  # of which neighbours' means are taken; of more, those of 32 components
FARTHEST = 4.0  # deviations
SKEWED = 1.0  # third moment of a column of deviation 1, from which its normal scores stand beside it
FEWEST_VALUES, MOST_ALIKE = 8, 0.2  # distinct values of such a column, and the largest share that one of them may have
KNOTS = 33  # of a column's normal scores
SEEN_FOR_SCORES = 20_000  # rows that tell a column's shape
WORDY = 0.8  # share of zeros from which a wide table of no negative number is taken for words


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
    def fit(cls, X: NDArray, unit_rows: bool = False, most: int | None = None, rank: int = 0) -> Projection:
        """Learn from X (n, d); `rank` components where d is above `most`."""
        parts = row_blocks(X)
        count = np.maximum(sum((~np.isnan(X[some])).sum(axis=0) for some in parts), 1)
        center, factor = np.zeros(X.shape[1]), np.ones(X.shape[1])
        # words: rows of length 1, and 0 stays 0, so that the table stays sparse in meaning
        if not unit_rows:
            center = sum(_known(X[some]).sum(axis=0, dtype=np.float64) for some in parts) / count
            squares = sum((_known(X[some] - center) ** 2).sum(axis=0, dtype=np.float64) for some in parts)
            deviation = np.sqrt(squares / len(X))
            # a constant column gets factor 0 rather than noise divided by noise
            varies = deviation > 1e-9 * np.maximum(np.abs(center), 1e-30)
            factor = np.divide(1.0, deviation, out=np.zeros_like(center), where=varies)
        # outliers would rule a linear fit; a column of two values has none
        plain = cls(center, factor, unit_rows, None, None if unit_rows else np.where(_two_valued(X), np.inf, FARTHEST))
        if most is None or X.shape[1] <= most:
            return plain
        return replace(plain, components=principal(plain(X), rank))

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
        far = [np.abs(_known((X[some] - self.center) * self.factor)).max(axis=0) for some in row_blocks(X) if len(X)]
        return replace(self, reach=np.max(far, axis=0, initial=0.0) if far else np.zeros(self.center.size))

    def uncut(self, X: NDArray, rows: NDArray) -> NDArray:
        """Return the columns (n, d + s) of X (n, d) as linear learners see them, `rows` being what others do."""
        cut = () if self.reach is None or self.limit is None else np.flatnonzero(self.reach > self.limit)
        # most tables have no value so far out, and one array serves all learners
        if not len(cut):
            return rows
        found, far = rows.copy(), _known((X[:, cut] - self.center[cut]) * self.factor[cut])
        found[:, cut] = np.clip(far, -self.reach[cut], self.reach[cut])
        return found

    def with_scores(self, X: NDArray) -> Projection:
        """Return this with the normal scores of the skewed columns of X (n, d), from at most 20,000 of its rows."""
        some = X[:: max(1, len(X) // SEEN_FOR_SCORES)]
        curves = {j: curve for j in np.flatnonzero(self.factor) if (curve := _normal_scores(some[:, j])) is not None}
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

    def __call__(self, X: NDArray) -> NDArray[np.float64]:
        """Return the columns (n, d + s or r) of X (n, d), of very many cells in float32."""
        if fits_double(X.size):
            return self._of(X)
        found = np.empty((len(X), self.width if self.components is None else self.components.shape[1]), np.float32)
        for some in row_blocks(X):
            found[some] = self._of(X[some])
        return found

    def _of(self, X: NDArray) -> NDArray[np.float64]:
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
        if self.n_scores:
            rows = np.hstack([rows, self._scores_of(X)])
        return rows if self.components is None else rows @ self.components

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
            return "The model file lacks the scores of skewed columns: save the model again"
        # between knots that fall nothing could be interpolated
        fits = self.skewed is None or (self.skewed < sizes["d"]).all() and (np.diff(self.knots) >= 0).all()
        return "" if fits else "The skewed columns of the model file are not those of its table: save the model again"


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


def _two_valued(X: NDArray) -> NDArray[np.bool_]:
    """Return which columns (d,) of X (n, d) have at most two values."""
    # NaN only where there is nothing else, and equal to nothing
    low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    parts = (X[some] for some in row_blocks(X))
    return np.all([((part == low) | (part == high) | (part != part)).all(axis=0) for part in parts], axis=0)


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


class Tables(NamedTuple):
    """The columns of some data.

    Attributes
    ----------
    has : dict of str to (n,) bool
        By table, which instances have a record.
    trees, smooth : dict of str to (n, d) array
        By table, its columns for trees (float32, NaN where missing) and for smooth learners (float64, 0 where missing).
    joined : (n, d) float32
        All tables' columns for trees, side by side.
    joined_smooth, joined_linear : (n, r) float64
        The same for smooth learners, and for linear ones.
    flat : (n, c) float32
        What neighbours' means are taken of; NaN where missing.
    """

    has: dict[str, NDArray[np.bool_]]
    trees: dict[str, NDArray[np.float32]]
    smooth: dict[str, NDArray[np.float64]]
    joined: NDArray[np.float32]
    joined_smooth: NDArray[np.float64]
    joined_linear: NDArray[np.float64]
    flat: NDArray[np.float32]

    @property
    def in_any(self) -> NDArray[np.bool_]:
        """Which instances have a record in some table, (n,)."""
        return np.any(list(self.has.values()), axis=0)


@dataclass
class TableEncoding(Stored):
    """What one table's columns need: encoder, scaling, components for smooth learners and trees, columns for trees."""

    _stored = {"wide": Flag()}

    encoder: SourceEncoder = part(SourceEncoder, "d")
    plain: Projection = part(Projection, "d")
    smooth: NDArray[np.float64] | None = array("d s", optional=True)
    kept: NDArray[np.int64] | None = array("r", np.int64, low=0, optional=True)
    components: NDArray[np.float64] | None = array("d c", optional=True)

    @property
    def wide(self) -> bool:
        """Whether it has more columns than trees see."""
        return self.kept is not None

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> TableEncoding:
        wide = values.pop("wide")
        if any((values[name] is not None) != wide for name in ("smooth", "kept", "components")):
            raise ModelFileError("A table's columns in the model file do not fit its encoder: save the model again.")
        return cls(**values)

    def _fault(self, sizes: dict[str, int]) -> str:
        good = not self.plain.projected and (self.kept is None or self.kept.max(initial=0) < sizes["d"])
        return "" if good else "A table's columns in the model file do not fit its encoder"

    @classmethod
    def fit(cls, source: Source) -> TableEncoding:
        """Learn from a table what its columns need."""
        return cls.fitted(source)[0]

    @classmethod
    def fitted(cls, source: Source, uncut: bool = False) -> tuple[TableEncoding, NDArray[np.float32] | None]:
        """Return what a table's columns need, and the table encoded, None where that is done some columns at a time.

        `uncut` says whether linear learners see values as far out as they are.
        """
        encoder = SourceEncoder().fit(source)
        # few columns: all of them, some at a time, and no components
        if len(encoder.feature_names) <= MOST_TREE_COLUMNS:
            parts, whole = [], None
            for place, X in encoder.blocks(source):
                plain = Projection.fit(X).with_scores(X)
                parts.append(plain.with_reach(X) if uncut else plain)
                whole = X if place.start == 0 and X.shape[1] == len(encoder.feature_names) else None
            return cls(encoder, Projection.joined(parts), None, None, None), whole
        X = encoder.transform(source)
        words = "text" in source.kinds.values() or _looks_like_words(X)
        plain = Projection.fit(X, words)
        plain = plain.with_reach(X) if uncut else plain
        rows = plain(X)
        # in their own order, those that vary most: ties by their place
        kept = np.sort(np.argsort(-rows.var(axis=0), kind="stable")[:MOST_TREE_COLUMNS])
        components = principal(rows, MOST_SMOOTH_COLUMNS)
        # trees split one column at a time, and see less in components; the first few are enough
        return cls(encoder, plain, components, kept, np.ascontiguousarray(components[:, :TREE_COMPONENTS])), X

    def columns(
        self, source: Source, name: str, X: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float32], NDArray, NDArray, NDArray]:
        """Return columns for trees, for linear and for other smooth learners, all scaled; X is the table encoded."""
        X = self.encoder.transform(source, name) if X is None else X
        plain = self.plain(X)
        uncut = self.plain.uncut(X, plain)
        if self.kept is None:
            return X, uncut, plain, plain
        trees = np.hstack([X[:, self.kept], (plain @ self.components).astype(np.float32)])
        return trees, uncut, plain @ self.smooth, plain


class TableColumns(Stored):
    """Learn a data set's columns, and give those of any data with these tables."""

    _stored = {
        "_tables": Parts(TableEncoding, at="table {0}", named="list", key="tables"),
        "_joined": Array("w q", optional=True, key="joined"), "_is_joined": Value(Flag(), key="joined"),
        "_flat": Part(Projection, optional=True, key="flat"), "has_words": Flag(),
        "linear_sees_all": Value(Flag(), absent=False),
    }  # fmt: skip

    def fit_transform(self, data: HetData, uncut: bool = False) -> Tables:
        """Learn encoders, scales and components; return the columns of the data. A source of no record has none.

        `uncut` says whether linear learners see values as far out as they are.
        """
        recorded = {name: source for name, source in data.sources.items() if source.n_rows}
        fitted = {name: TableEncoding.fitted(source, uncut) for name, source in recorded.items()}
        self._tables = {name: each for name, (each, _) in fitted.items()}
        self._joined = self._flat = None
        blocks = self._blocks(data, {name: X for name, (_, X) in fitted.items()})
        plain, trees = blocks[1], blocks[3]
        self.has_words = any(table.plain.unit_rows for table in self._tables.values())
        joined = np.hstack(list(plain.values()))
        # directions that vary little may say much to a linear learner; its columns are averaged along each graph too
        copies = 1 + min(len(data.graphs), MOST_GRAPHS)
        self.linear_sees_all = joined.shape[1] <= MOST_LINEAR_COLUMNS and copies * joined.size <= MOST_LINEAR_CELLS
        if joined.shape[1] > MOST_SMOOTH_COLUMNS:
            # a single wide table has its components already
            only = next(iter(self._tables.values())).smooth if len(self._tables) == 1 else None
            self._joined = principal(joined, MOST_SMOOTH_COLUMNS) if only is None else only
        joined = np.hstack(list(trees.values()))
        if joined.shape[1] > MOST_NEIGHBOR_COLUMNS:
            self._flat = Projection.fit(joined, most=MOST_NEIGHBOR_COLUMNS, rank=TREE_COMPONENTS)
        return self._side_by_side(*blocks)

    @classmethod
    def apart(cls, tables: Mapping[str, TableEncoding]) -> TableColumns:
        """Return the columns of tables that no view joins."""
        made = cls()
        made._tables, made._joined, made._flat, made.linear_sees_all = dict(tables), None, None, False
        made.has_words = any(table.plain.unit_rows for table in tables.values())
        return made

    def encoding(self, name: str) -> TableEncoding:
        """Return what a table's columns need."""
        return self._tables[name]

    @property
    def names(self) -> list[str]:
        """The tables."""
        return list(self._tables)

    def widths(self) -> dict[str, int]:
        """Return how many columns trees see of each table."""
        return {
            name: len(t.encoder.feature_names) if t.kept is None else t.kept.size + t.components.shape[1]
            for name, t in self._tables.items()
        }

    def smooth_widths(self) -> dict[str, int]:
        """Return how many columns smooth learners see of each table."""
        return {name: t.plain.width if t.smooth is None else t.smooth.shape[1] for name, t in self._tables.items()}

    @property
    def smooth_width(self) -> int:
        """How many columns of all tables smooth learners see."""
        return self.n_columns if self._joined is None else self._joined.shape[1]

    @property
    def n_columns(self) -> int:
        """How many columns all tables have, normal scores among them."""
        return sum(table.plain.width for table in self._tables.values())

    @property
    def flat_width(self) -> int:
        """Of how many columns neighbours' means are taken."""
        return sum(self.widths().values()) if self._flat is None else self._flat.components.shape[1]

    def transform(self, data: HetData) -> Tables:
        """Return the columns of any data; tables that it lacks are missing."""
        return self._side_by_side(*self._blocks(data))

    def _side_by_side(self, has: dict, plain: dict, uncut: dict, trees: dict, smooth: dict) -> Tables:
        """Return the columns of what `_blocks` gave."""
        joined, scaled = np.hstack(list(trees.values())), narrowed(np.hstack(list(plain.values())))
        joined_smooth = scaled if self._joined is None else scaled @ self._joined
        flat = joined
        if self._flat is not None:
            flat = self._flat(joined).astype(np.float32)
            # what no table has is missing, not a point in the middle
            flat[~np.any(list(has.values()), axis=0)] = np.nan
        linear = scaled if self.linear_sees_all else joined_smooth
        if self.linear_sees_all and any(uncut[name] is not plain[name] for name in plain):
            linear = narrowed(np.hstack(list(uncut.values())))
        return Tables(has, trees, smooth, joined=joined, joined_smooth=joined_smooth, joined_linear=linear, flat=flat)

    def _blocks(self, data: HetData, encoded: dict[str, Any] | None = None) -> tuple[dict[str, NDArray], ...]:
        """Return coverage, scaled columns, uncut ones, those of trees and smooth learners, by table, of all instances.

        `encoded` has tables that were encoded already; they are taken out of it.
        """
        has, plain, uncut, trees, smooth = {}, {}, {}, {}, {}
        widths = self.widths()
        for name, table in self._tables.items():
            # a table that the data lack is missing in all rows
            rows = data.rows(name) if name in data.sources else np.empty(0, np.int64)
            has[name] = np.zeros(data.n, bool)
            has[name][rows] = True
            d = table.plain.width
            plain[name] = np.zeros((data.n, d), np.float64 if fits_double(data.n * d) else np.float32)
            trees[name] = np.full((data.n, widths[name]), np.nan, np.float32)
            smooth[name] = plain[name] if table.smooth is None else np.zeros((data.n, table.smooth.shape[1]))
            uncut[name] = plain[name]
            if rows.size:
                found = table.columns(data.sources[name], name, encoded.pop(name) if encoded else None)
                trees[name][rows], far, smooth[name][rows], plain[name][rows] = found
                if far is not found[3]:
                    uncut[name] = np.zeros_like(plain[name])
                    uncut[name][rows] = far
        return has, plain, uncut, trees, smooth

    def to_state(self) -> State:
        """Return plain values and arrays; those of before there were declarations said of each part whether it is."""
        meta, arrays = super().to_state()
        # an older reader looks for "flat"
        return {"flat": None} | meta, arrays

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> TableColumns:
        if values.pop("_is_joined") != (values["_joined"] is not None):
            raise ModelFileError("The model file lacks the joined columns of its tables: save the model again.")
        made = cls()
        vars(made).update(values)
        return made

    @property
    def _is_joined(self) -> bool:
        return self._joined is not None

    def _fault(self, sizes: dict[str, int]) -> str:
        joined = self._joined is None or len(self._joined) == self.n_columns
        flat = self._flat is None or self._flat.center.size == sum(self.widths().values())
        return "" if self._tables and joined and flat else "The joined columns of the model file are not its tables'"


def _looks_like_words(X: NDArray) -> bool:
    """Return whether a wide table counts words: no negative number, nearly all zeros."""
    # a look at the first thousand rows, for a wide table has many
    some = X[:1000]
    some = some[~np.isnan(some)]
    return bool(some.size) and bool((some >= 0).all()) and float((some == 0).mean()) > WORDY
