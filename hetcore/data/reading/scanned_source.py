"""A source whose table stays in its Parquet files: columns are read when they are asked for, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import PATTERN, ColumnFacts, clean_columns
from hetcore.data.identity import IdTally, as_ids, converted_finding
from hetcore.data.ranges import Ranges, table_ranges
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.data.reading.total_rows import LOOKED_THROUGH, TotalRows
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.data.spelling import respelled
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import DataError

__all__ = ["ScannedSource"]

BATCH = 1 << 20  # ids that are read at once
BLOCK_BYTES = 1 << 27  # of columns that are read at once, a text counted as 32 bytes


class ScannedSource(Source):
    """The records of one source, in Parquet files.

    As `Source`, but that an id that occurs twice is refused, where its join sees it, and that `frame` reads the whole
    table each time it is asked for. A copy that is pickled has the paths, not the table.

    Parameters
    ----------
    table : ParquetTable
    id_column : str
    ways : tuple of str
        Of spelling ids: see `hetcore.data.spelling`.
    """

    array = None

    def __init__(self, table: ParquetTable, id_column: str, ways: tuple[str, ...] = ()) -> None:
        if not (isinstance(id_column, str) and id_column in table.schema):
            known = listed(table.schema)
            raise DataError(f"There is no id column {quoted(id_column)}: set id_column to one of the columns {known}.")
        if PATTERN.fullmatch(id_column):
            raise DataError(f"The name {quoted(id_column)} of the id column stands for several columns: rename it.")
        # polars gives it a name by its place, which is another in each block
        if "" in table.schema:
            raise DataError("There is a column without a name: write the files with a name for each.")
        if len(table.schema) == 1:
            raise DataError(f"There is no column beside the id column {quoted(id_column)}: add at least one column.")
        if not table.height:
            raise DataError("There is no row: give at least one record.")
        self.table, self.id_column, self.ways = table, id_column, ways
        self.n_given, self._keep = table.height, None
        self.places: slice | NDArray[np.int64] | None = None  # of a part, the table's rows that it has

    def read_ids(self) -> Iterator[pl.Series]:
        """Read the ids, and yield those of some rows at a time, null where missing; note what is so."""
        tally, converted, kept = IdTally(), 0, []
        examples: tuple[str, ...] = ()
        for batch in self._id_batches():
            texts, found = as_ids(batch)
            converted += sum(each.count for each in found)
            examples = (*examples, *(text for each in found for text in each.examples))[:5]
            texts = respelled(texts, self.ways)
            tally.take(texts)
            kept.append(texts.is_not_null())
            yield texts
        keep = pl.concat(kept)
        self._n_rows = int(keep.sum())
        if not self._n_rows:
            raise DataError(f"None of the {counted(self.n_given, 'row')} has an id: fill the id column.")
        # a bit a row, and only where rows go
        self._keep = None if keep.all() else keep
        retyped = [converted_finding(converted, str(self.table.schema[self.id_column]), examples)] if converted else []
        self.findings: tuple[Finding, ...] = (*retyped, *tally.findings())

    def read_columns(self, kinds: Mapping[str, str]) -> None:
        """Read all columns once, some at a time, for their kinds and for what is to be told of them."""
        facts, found = ColumnFacts(), {}
        names = [name for name in self.table.schema if name != self.id_column]
        # a name that stands for several columns is not read: polars would read those
        read = [name for name in names if not PATTERN.fullmatch(name)]
        totals = self._total_rows(read)
        for block in self._raw_blocks(read):
            frame = facts.take(block)
            totals.take(frame)
            found |= table_ranges(frame, {name: facts.guess[name][0] for name in frame.columns})
        facts.take(pl.DataFrame(schema={name: pl.Null for name in names if PATTERN.fullmatch(name)}))
        self.findings += (*facts.findings(self.n_rows), *totals.findings())
        # an attribute of the object stands before the cached property of the class
        self.guess, self.__dict__["_missing"], self._ranges = facts.guess, facts.missing, found
        self.moments = frozenset(facts.moments)
        self._set_kinds(kinds)

    def _total_rows(self, columns: Sequence[str]) -> TotalRows:
        """Return what looks for rows that are no record, which has seen the first rows."""
        used = range(self.n_given) if self._keep is None else self._keep.arg_true()
        first, last = (np.array(some, np.int64) for some in (used[:LOOKED_THROUGH], used[-1:]))
        ids, end = (self._ids_of(self._raw_places([self.id_column], each)[self.id_column]) for each in (first, last))
        head = clean_columns(self._raw_places(columns, first)) if columns else pl.DataFrame()
        # of a single column, where all ids are asked for
        spaced = len(columns) == 1 and " " in end[0] and bool(self.id_series[:-1].str.contains(" ").any())
        return TotalRows(ids, end[0], self.n_rows, head, spaced)

    @property
    def ranges(self) -> Ranges:
        """What values the columns of the whole table have, in short; only those of another kind are read for it."""
        other = [name for name, kind in self.kinds.items() if kind != self.guess[name][0]]
        found = {name: each for name, each in self._ranges.items() if name not in other}
        found |= table_ranges(self.read(other), self.kinds) if other else {}
        return {name: found[name] for name in self.kinds if name in found}

    def file_of(self, row: int) -> str:
        """Return the file in which a row that is used is."""
        return self.table.file_of(row if self._keep is None else int(self._keep.arg_true()[row]))

    def _ids_of(self, batch: pl.Series) -> pl.Series:
        return respelled(as_ids(batch)[0], self.ways)

    def _id_batches(self) -> Iterator[pl.Series]:
        for start in range(0, self.table.height, BATCH):
            yield self.table.read([self.id_column], start, min(start + BATCH, self.table.height))[self.id_column]

    @property
    def n_rows(self) -> int:
        """Rows used."""
        return self._n_rows

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return len(self.kinds)

    @property
    def table_bytes(self) -> int:
        """About how many bytes the whole table would take in memory."""
        return self.n_rows * sum(_bytes_of(self.table.schema[name]) for name in self.kinds)

    @property
    def is_loaded(self) -> bool:
        """False: columns are read when they are asked for."""
        return False

    @property
    def id_series(self) -> pl.Series:
        """The ids of the rows used, read anew."""
        texts = pl.concat([self._ids_of(batch) for batch in self._id_batches()])
        return texts if self._keep is None else texts.filter(self._keep)

    @property
    def frame(self) -> pl.DataFrame:
        """The whole table, read anew."""
        return self.read(self.columns)

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The type of each column, as they are read."""
        few = clean_columns(self.table.read([name for name in self.kinds], 0, 1))
        return {name: few.schema[name] for name in self.kinds}

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return some columns, (m, len(columns)); raises DataError for others."""
        return clean_columns(self._raw(self._named(columns)))

    def column(self, name: str) -> pl.Series:
        """Return a column, (m,); raises DataError where there is none of the name."""
        return self.read([name])[name]

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Yield the columns in their order, some at a time, all rows of each."""
        for block in self._raw_blocks(self.columns):
            yield clean_columns(block)

    def part(self, rows: NDArray[np.int64]) -> ScannedSource:
        """Return some records, by rising row numbers, which are all that it reads; not of a part."""
        other = self._copy()
        # numbers count the rows that are used
        places = rows if self._keep is None else self._keep.arg_true().to_numpy()[rows].astype(np.int64)
        other._n_rows, other._keep = places.size, None
        together = places.size and places[-1] - places[0] + 1 == places.size
        # two numbers travel in place of all
        other.places = slice(int(places[0]), int(places[-1]) + 1) if together else places
        return other

    def _raw(self, columns: Sequence[str]) -> pl.DataFrame:
        if isinstance(self.places, slice):
            return self.table.read(columns, self.places.start, self.places.stop)
        if self.places is not None:
            return self._raw_places(columns, self.places)
        frame = self.table.read(columns)
        return frame if self._keep is None else frame.filter(self._keep)

    def _raw_places(self, columns: Sequence[str], places: NDArray[np.int64]) -> pl.DataFrame:
        """Return some columns of some rows of the table, (len(places), len(columns)), by rising row numbers."""
        parts, first = [self.table.read(columns, 0, 0)], 0
        while first < places.size:
            start = int(places[first])
            stop = int(np.searchsorted(places, start + BATCH))
            some = places[first:stop] - start
            parts.append(self.table.read(columns, start, start + int(some[-1]) + 1)[some])
            first = stop
        return pl.concat(parts, rechunk=True)

    def _raw_blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        some, size = [], 0
        for name in columns:
            width = self.table.height * _bytes_of(self.table.schema[name])
            if some and size + width > BLOCK_BYTES:
                yield self._raw(some)
                some, size = [], 0
            some.append(name)
            size += width
        if some:
            yield self._raw(some)

    def _copy(self, id_series: pl.Series | None = None, values: pl.DataFrame | NDArray | None = None) -> Source:
        if id_series is not None or values is not None:
            ids = self.id_series if id_series is None else id_series
            return super()._copy(ids, self.frame if values is None else values)
        other = object.__new__(ScannedSource)
        vars(other).update(vars(self))
        other.kinds, other.guess, other.moments = dict(self.kinds), dict(self.guess), self.moments
        # of the kinds as they were
        other.__dict__.pop("_digest", None)
        return other

    def __getstate__(self) -> dict[str, Any]:
        # ids are in the files
        return {name: value for name, value in vars(self).items() if name != "ids"}


def _bytes_of(dtype: Any) -> int:
    if isinstance(dtype, pl.Array):
        return max(1, dtype.size or 1) * 8
    return 8 if dtype.is_numeric() or dtype.is_temporal() else 1 if dtype == pl.Boolean else 32
