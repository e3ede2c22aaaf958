"""The columns of all tables as trees and as smooth learners take them; learned from the training data, used on any.

Trees take a table's encoded columns as they are, NaN where a value or a record is missing; of more than 300 columns 32
principal components too, and of more than 20 million cells only those columns that vary most. Smooth learners take
columns of mean 0 and deviation 1, at most 4 from the mean (words: rows of length 1), 0 where missing, and of a skewed
column its normal scores too, those of its logarithm; kernels 200 components of them where there are more, linear
learners too where there are more than 2,000, or too many for memory. Of numbers, linear learners that see all columns
see them uncut: a sum of prices is one at its far end too; of classes, whose log odds no far value holds back, that
gained nothing (docs/trials.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData, Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import ModelFileError
from hetcore.numerics import fits_double, narrowed
from hetcore.parameters import Flag
from hetcore.projection import Projection, principal
from hetcore.schema import Array, Part, Parts, State, Stored, Value, array, part

__all__ = ["MOST_GRAPHS", "TableColumns", "TableEncoding", "Tables"]

WIDE = 300  # columns from which a table is a wide one
MOST_TREE_CELLS = 20_000_000  # of a wide table, but for 300 columns, which trees see however many rows there are
TREE_COMPONENTS = 32
MOST_SMOOTH_COLUMNS = 200
MOST_GRAPHS = 6  # with columns of their own; the union has those of all
MOST_LINEAR_COLUMNS = 2000
MOST_LINEAR_CELLS = 20_000_000  # 160 MB, what is averaged along graphs among them
MOST_NEIGHBOR_COLUMNS = 60  # of which neighbours' means are taken; of more, those of 32 components
WORDY = 0.8  # share of zeros from which a wide table of no negative number is taken for words


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
    def fitted(
        cls, source: Source, uncut: bool = False, n_jobs: int = 1
    ) -> tuple[TableEncoding, NDArray[np.float32] | None]:
        """Return what a table's columns need, and the table encoded, None where that is done some columns at a time.

        `uncut` says whether linear learners see values as far out as they are.
        """
        encoder = SourceEncoder().fit(source)
        # few columns: all of them, some at a time, and no components
        if len(encoder.feature_names) <= WIDE:
            parts, whole = [], None
            for place, X in encoder.blocks(source):
                plain = Projection.fit(X, n_jobs=n_jobs).with_scores(X, n_jobs)
                parts.append(plain.with_reach(X) if uncut else plain)
                whole = X if place.start == 0 and X.shape[1] == len(encoder.feature_names) else None
            return cls(encoder, Projection.joined(parts), None, None, None), whole
        X = encoder.transform(source)
        words = "text" in source.kinds.values() or _looks_like_words(X)
        plain = Projection.fit(X, words, n_jobs=n_jobs)
        plain = plain.with_reach(X) if uncut else plain
        rows = plain(X, n_jobs)
        # in their own order, those that vary most: ties by their place
        most = max(WIDE, MOST_TREE_CELLS // max(1, len(rows)))
        kept = np.sort(np.argsort(-rows.var(axis=0), kind="stable")[:most])
        components = principal(rows, MOST_SMOOTH_COLUMNS)
        # trees split one column at a time, and see less in components; the first few are enough
        return cls(encoder, plain, components, kept, np.ascontiguousarray(components[:, :TREE_COMPONENTS])), X

    def columns(
        self, source: Source, name: str, X: NDArray[np.float32] | None = None, n_jobs: int = 1
    ) -> tuple[NDArray[np.float32], NDArray, NDArray, NDArray]:
        """Return columns for trees, for linear and for other smooth learners, all scaled; X is the table encoded."""
        X = self.encoder.transform(source, name) if X is None else X
        plain = self.plain(X, n_jobs)
        uncut = self.plain.uncut(X, plain, n_jobs)
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

    def fit_transform(self, data: HetData, uncut: bool = False, n_jobs: int = 1) -> Tables:
        """Learn encoders, scales and components; return the columns of the data. A source of no record has none.

        `uncut` says whether linear learners see values as far out as they are; `n_jobs` threads, with the same bits.
        """
        recorded = {name: source for name, source in data.sources.items() if source.n_rows}
        fitted = {name: TableEncoding.fitted(source, uncut, n_jobs) for name, source in recorded.items()}
        self._tables = {name: each for name, (each, _) in fitted.items()}
        self._joined = self._flat = None
        blocks = self._blocks(data, {name: X for name, (_, X) in fitted.items()}, n_jobs)
        plain, trees = blocks[1], blocks[3]
        self.has_words = any(table.plain.unit_rows for table in self._tables.values())
        joined = _beside(plain)
        # directions that vary little may say much to a linear learner; its columns are averaged along each graph too
        # a directed graph has its two sides beside it
        copies = 1 + min(sum(1 if each.arcs is None else 3 for each in data.graphs.values()), MOST_GRAPHS)
        self.linear_sees_all = joined.shape[1] <= MOST_LINEAR_COLUMNS and copies * joined.size <= MOST_LINEAR_CELLS
        if joined.shape[1] > MOST_SMOOTH_COLUMNS:
            # a single wide table has its components already
            only = next(iter(self._tables.values())).smooth if len(self._tables) == 1 else None
            self._joined = principal(joined, MOST_SMOOTH_COLUMNS) if only is None else only
        # neighbours' means are taken along graphs alone
        if data.graphs and sum(self.widths().values()) > MOST_NEIGHBOR_COLUMNS:
            joined = _beside(trees)
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
        joined, scaled = _beside(trees), narrowed(_beside(plain))
        joined_smooth = scaled if self._joined is None else scaled @ self._joined
        flat = joined
        if self._flat is not None:
            flat = self._flat(joined).astype(np.float32)
            # what no table has is missing, not a point in the middle
            flat[~np.any(list(has.values()), axis=0)] = np.nan
        linear = scaled if self.linear_sees_all else joined_smooth
        if self.linear_sees_all and any(uncut[name] is not plain[name] for name in plain):
            linear = narrowed(_beside(uncut))
        return Tables(has, trees, smooth, joined=joined, joined_smooth=joined_smooth, joined_linear=linear, flat=flat)

    def _blocks(
        self, data: HetData, encoded: dict[str, Any] | None = None, n_jobs: int = 1
    ) -> tuple[dict[str, NDArray], ...]:
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
            kind = np.float64 if fits_double(data.n * d) else np.float32
            if rows.size:
                found = table.columns(data.sources[name], name, encoded.pop(name) if encoded else None, n_jobs)
                if rows.size == data.n and found[3].dtype == kind and (np.diff(rows) > 0).all():
                    # a record of each instance, in their order
                    trees[name], uncut[name], smooth[name], plain[name] = found
                    continue
            plain[name] = np.zeros((data.n, d), kind)
            trees[name] = np.full((data.n, widths[name]), np.nan, np.float32)
            smooth[name] = plain[name] if table.smooth is None else np.zeros((data.n, table.smooth.shape[1]))
            uncut[name] = plain[name]
            if rows.size:
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


def _beside(blocks: dict[str, NDArray]) -> NDArray:
    """Return matrices of as many rows side by side; a single one as it is."""
    return np.hstack(list(blocks.values())) if len(blocks) > 1 else next(iter(blocks.values()))


def _looks_like_words(X: NDArray) -> bool:
    """Return whether a wide table counts words: no negative number, nearly all zeros."""
    # a look at the first thousand rows, for a wide table has many
    some = X[:1000]
    some = some[~np.isnan(some)]
    return bool(some.size) and bool((some >= 0).all()) and float((some == 0).mean()) > WORDY
