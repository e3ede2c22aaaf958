"""One source: the records of some instances, as a table (polars) or as an array with one row per instance."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import (
    FLOAT_MAX,
    ColumnFacts,
    as_column,
    as_table,
    check_index,
    nameless_index,
    other_index,
    several,
    unmasked,
)  # fmt: skip
from hetcore.data.fingerprint import hash_array, hash_column
from hetcore.data.identity import as_ids, id_findings, is_missing, text_array
from hetcore.data.kinds import check_kind
from hetcore.data.ranges import Ranges, array_ranges, table_ranges
from hetcore.data.reading.total_rows import total_findings
from hetcore.data.report import Finding
from hetcore.data.text import counted, listed, quoted, shown
from hetcore.errors import DataError

__all__ = ["Source"]

ARRAY = "array"


class Source:
    """The records of one source, at most one per instance.

    Rows without an id and rows that repeat an id are dropped (the first of each id is kept) and reported in `findings`,
    so `n_given` rows came in and `n_rows` are used.

    Parameters
    ----------
    ids : polars or pandas Series, numpy array or sequence (m,)
        The instance of each row. Text stays as it is; whole numbers become their decimal text.
    data : polars DataFrame with m rows, another table (pandas, pyarrow, narwhals, ...), or numpy array (m, ...)
        A table without its id column, or numbers of any shape (a matrix, images), of kind "array". A one-dimensional
        array or a polars Series is a table of one column.
    kinds : mapping of str to str, optional
        Kinds to use in place of the guessed: column -> "real", "binary", "nominal", "text" or "array".

    Attributes
    ----------
    ids : ndarray of str (m,)
        The instances of the rows used.
    frame : polars DataFrame or None
        The table, types made plain (see `hetcore.data.columns`); None for an array.
    array : ndarray (m, ...) or None
        The array, NaN for missing; None for a table.
    kinds : dict of str to str
        The kind of each column; an array is one column named "array".
    guess : dict of str to (str, str)
        Each column's guessed kind and why.
    moments : frozenset of str
        Columns that were given as dates or moments: days since 1970 now.
    findings : tuple of Finding
        What was dropped or changed.
    n_given : int
        Rows given.

    Raises
    ------
    DataError
        If there is no column or no row to use, lengths differ, or a kind does not fit its column.
    """

    moments: frozenset[str] = frozenset()

    def __init__(self, ids: Any, data: Any, kinds: Mapping[str, str] | None = None) -> None:
        how, mend = other_index(ids, data)
        if how:
            raise DataError(f"The table has the index of the ids {how}: give {mend.format('ids.index')} of it.")
        texts, findings = as_ids(ids)
        check_index(data, texts, "ids", "table", "table")
        frame, array = _table_or_array(data)
        self.n_given = len(texts)
        _check_rows(self.n_given, len(frame) if array is None else len(array))
        repeated = ~texts.is_first_distinct() & texts.is_not_null()
        findings += id_findings(texts, repeated)
        keep = ~repeated & texts.is_not_null()
        if not keep.all():
            texts = texts.filter(keep)
            # filtered only if needed, for a copy of a large table is no trifle
            frame, array = (None, array[keep.to_numpy()]) if frame is None else (frame.filter(keep), None)
        if len(texts) == 0:
            raise DataError(f"None of the {counted(self.n_given, 'row')} has an id: fill the id column.")
        self.id_series = texts
        self._set_values(frame, array, findings)
        self._set_kinds({} if kinds is None else kinds)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, id_column: str, kinds: Mapping[str, str] | None = None) -> Source:
        """Read a table whose column `id_column` holds the ids.

        Parameters
        ----------
        frame : polars.DataFrame
            Or what polars makes one of, such as a DataFrame of pandas.
        id_column : str
        kinds : mapping of str to str, optional
            Column -> kind, as for `Source`; guessed where not given.

        Raises
        ------
        DataError
            If `frame` is no table, there is no such column, or no other column.
        """
        given, frame = frame, as_table(frame)
        if not isinstance(frame, pl.DataFrame):
            raise DataError(_no_table(frame))
        if not (isinstance(id_column, str) and id_column in frame.columns):
            cure = f"set id_column to one of the columns {listed(frame.columns)}"
            cure += f", or, if the index is the ids, give .rename_axis({id_column!r})" if nameless_index(given) else ""
            raise DataError(f"There is no id column {quoted(id_column)}: {cure}.")
        if frame.width == 1:
            raise DataError(f"There is no column beside the id column {quoted(id_column)}: add at least one column.")
        return cls(frame[id_column], frame.drop(id_column), kinds)

    def _set_values(self, frame: pl.DataFrame | None, array: NDArray | None, findings: list[Finding]) -> None:
        if frame is None:
            self.frame, (self.array, more) = None, _without_infinities(array)
            shape = "x".join(map(str, array.shape[1:]))
            # shape in words, for a person
            self.guess = {ARRAY: (ARRAY, f"an array of {shape} numbers in every row")}
        else:
            facts = ColumnFacts()
            self.array, self.frame = None, facts.take(frame)
            self.moments = frozenset(facts.moments)
            more, self.guess = [*facts.findings(self.n_rows), *total_findings(self.id_series, self.frame)], facts.guess
        self.findings = (*findings, *more)

    def _set_kinds(self, kinds: Mapping[str, str]) -> None:
        self.kinds = {column: kind for column, (kind, _) in self.guess.items()}
        if not isinstance(kinds, Mapping):
            raise DataError(f"kinds={shown(kinds)} names no column: give {{column: kind}}.")
        for column, kind in kinds.items():
            self._require(column)
            # only a kind that is changed is checked: the guess fits by its making
            if not (isinstance(kind, str) and kind == self.kinds[column]):
                self.findings += tuple(self._check_kind(column, kind))
            self.kinds[column] = kind

    def _check_kind(self, column: str, kind: str) -> list[Finding]:
        if self.array is not None:
            raise DataError(f"An array can only be of kind 'array', not {quoted(kind)}: give a table for other kinds.")
        return check_kind(self.column(column), kind)

    @property
    def n_rows(self) -> int:
        """Rows used."""
        return len(self.id_series)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; an array is one column named "array"."""
        return list(self.kinds)

    @property
    def n_columns(self) -> int:
        """Columns of the table, or numbers per row of the array."""
        return self.frame.width if self.array is None else int(np.prod(self.array.shape[1:], dtype=np.int64))

    @property
    def is_loaded(self) -> bool:
        """Whether the table is in memory; if not, its columns are read when they are asked for."""
        return True

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The type of each column of a table; empty for an array."""
        return {} if self.array is not None else self.frame.schema

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return some columns of a table, (m, len(columns)); raises DataError for others."""
        columns = self._named(columns)
        return self.frame.select(columns)

    def column(self, name: str) -> pl.Series:
        """Return a column of a table, (m,); raises DataError where there is none of the name."""
        return self.frame[self._named([name])[0]]

    def _named(self, columns: Any) -> list[str]:
        """Return names of columns of a table; raise DataError for others."""
        if self.array is not None:
            raise DataError("The source is an array, without columns of a name: take its .array.")
        if not several(columns):
            raise DataError(f"columns={shown(columns)} is no list of names: give [name, ...].")
        columns = list(columns)
        for column in columns:
            self._require(column)
        return columns

    def _require(self, column: Any) -> None:
        if not (isinstance(column, str) and column in self.kinds):
            raise DataError(f"There is no column {quoted(column)} among {listed(self.kinds)}: name one of them.")

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Yield a table's columns in their order, some at a time, all rows of each."""
        yield self.frame

    def some_rows(self, rows: NDArray) -> pl.DataFrame:
        """Return some rows of a table, (len(rows), d)."""
        return pl.concat([block[rows] for block in self.blocks()], how="horizontal")

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """The ids of the records, text, (m,)."""
        return text_array(self.id_series)

    @cached_property
    def _missing(self) -> dict[str, int]:
        if self.array is not None:
            return {ARRAY: int(np.isnan(self.array).sum()) if self.array.dtype.kind == "f" else 0}
        return dict(zip(self.frame.columns, self.frame.null_count().row(0)))

    @cached_property
    def ranges(self) -> Ranges:
        """What values the columns have, in short; see `hetcore.data.ranges`."""
        return array_ranges(self.array, ARRAY) if self.frame is None else table_ranges(self.frame, self.kinds)

    @property
    def missing(self) -> dict[str, float]:
        """Share of missing values in [0, 1] by column."""
        cells = max(self.n_rows, 1) * (1 if self.array is None else max(self.n_columns, 1))
        return {column: count / cells for column, count in self._missing.items()}

    @property
    def missing_share(self) -> float:
        """Share of missing values in [0, 1] over all cells."""
        return sum(self.missing.values()) / max(len(self.missing), 1)

    def with_kinds(self, kinds: Mapping[str, str]) -> Source:
        """Return the same records with other column kinds.

        Parameters
        ----------
        kinds : mapping of str to str
            Column -> "real", "binary", "nominal", "text" or "array"; columns not named keep theirs.

        Raises
        ------
        DataError
            If there is no such column, or its values do not allow the kind.
        """
        other = self._copy()
        other._set_kinds({**self.kinds, **kinds} if isinstance(kinds, Mapping) else kinds)
        return other

    def take(self, rows: NDArray) -> Source:
        """Return the records of some row numbers `rows`, (k,), in their order, kinds as they are.

        Raises
        ------
        DataError
            If they are no row numbers.
        """
        rows = _row_numbers(rows, self.n_rows)
        values = self.some_rows(rows) if self.array is None else self.array[rows]
        return self._copy(id_series=self.id_series[rows], values=values)

    def part(self, rows: NDArray[np.int64]) -> Source:
        """Return some records by rising row numbers `rows`, (k,); of a table by path, what reads no others."""
        return self.take(rows)

    def with_values(self, values: pl.DataFrame | NDArray) -> Source:
        """Return the same instances and kinds with other values of the same shape and column names."""
        return self._copy(values=values)

    def _copy(self, id_series: pl.Series | None = None, values: pl.DataFrame | NDArray | None = None) -> Source:
        other = object.__new__(Source)
        other.id_series = self.id_series if id_series is None else id_series
        # shares values, and its findings: nothing was read anew
        values = (self.frame if self.array is None else self.array) if values is None else values
        other.frame, other.array = (values, None) if self.array is None else (None, values)
        other.n_given, other.findings, other.moments = self.n_given, self.findings, self.moments
        # copies, for kinds of one must not change the other's
        other.kinds, other.guess = dict(self.kinds), dict(self.guess)
        return other

    def digest(self) -> str:
        """Return the SHA-256 of ids, kinds and values, in hexadecimal; equal content has equal digests."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        sha = hashlib.sha256(repr(list(self.kinds.items())).encode())
        hash_column(sha, self.id_series)
        for block in self.blocks() if self.array is None else ():
            for series in block.iter_columns():
                hash_column(sha, series)
        if self.array is not None:
            hash_array(sha, self.array)
        return sha.hexdigest()

    def __repr__(self) -> str:
        what = counted(self.n_columns, "column") if self.array is None else f"array of shape {self.array.shape[1:]}"
        return f"Source({counted(self.n_rows, 'row')}, {what}: {listed(map(str, self.columns), 4)})"


def _table_or_array(data: Any) -> tuple[pl.DataFrame | None, NDArray | None]:
    """Return (table, None) or (None, array)."""
    # a series is a table of one column
    data = as_column(data) if getattr(data, "ndim", 2) == 1 else as_table(unmasked(data))
    if isinstance(data, pl.Series):
        data = data.to_frame()
    if isinstance(data, pl.DataFrame):
        if data.width == 0:
            raise DataError("The table has no column: give at least one.")
        return data, None
    if not isinstance(data, np.ndarray):
        raise DataError(_no_table(data))
    if data.dtype.kind in "OUT" or data.ndim == 1:
        return _small_table(data), None
    if data.dtype.kind not in "iufb" or data.ndim == 0 or 0 in data.shape[1:]:
        raise DataError(f"An array of type {data.dtype} and shape {data.shape} is no source: give rows of numbers.")
    # True and False as bytes; an array that its owner may write is copied, since what was read never changes
    values = data.astype(np.uint8) if data.dtype.kind == "b" else data.copy() if data.flags.writeable else data.view()
    values.flags.writeable = False
    return None, values


def _row_numbers(rows: Any, n: int) -> NDArray[np.int64]:
    try:
        numbers = np.asarray(rows)
    # of several lengths
    except ValueError:
        numbers = np.empty((0, 0))
    numbers = numbers.astype(np.int64) if numbers.shape == (0,) else numbers
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or ((numbers < 0) | (numbers >= n)).any():
        raise DataError(f"rows={shown(rows)} must be row numbers in [0, {n - 1}]: give a list or an array of them.")
    return numbers


def _small_table(data: NDArray) -> pl.DataFrame:
    """Return an array of text, or a one-dimensional one, as a table."""
    if data.ndim not in (1, 2):
        raise DataError(f"An array of text has one or two dimensions, not {data.ndim}: give a polars DataFrame.")
    columns = data[None] if data.ndim == 1 else data.T
    try:
        series = [_object_column(f"column {i + 1}", column.tolist()) for i, column in enumerate(columns)]
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split())[:80]
        raise DataError(f"The array mixes types in a column ({reason}): give a polars DataFrame.") from None
    return pl.DataFrame(series)


def _object_column(name: str, values: list[Any]) -> pl.Series:
    """Return a column of Python's objects: whole numbers and others are numbers, None and NaN are missing."""
    values = [None if is_missing(value) else value for value in values]
    numbers = {type(value) for value in values if value is not None} == {int, float}
    return pl.Series(name, values, dtype=pl.Float64 if numbers else None, strict=True)


def _no_table(data: Any) -> str:
    cure = "read it with polars or pandas, or give hetcore.Source(ids, array) for numpy arrays"
    if isinstance(data, pl.LazyFrame):
        cure = "call .collect() first"
    elif hasattr(data, "compute"):
        # of Dask
        cure = "call .compute() first"
    elif isinstance(data, str | os.PathLike):
        cure = "read it with polars, or give the path of a Parquet file to HetData.scan"
    elif type(data).__module__.startswith("scipy"):
        cure = "call .toarray() first, or give it as a graph"
    elif isinstance(data, np.ndarray):
        return "An array does not say whose its rows are: give hetcore.Source(ids, array)."
    return f"The data are of type {type(data).__name__}, not a table or a numpy array: {cure}."


def _check_rows(n_ids: int, n_rows: int) -> None:
    if n_ids != n_rows:
        raise DataError(f"There are {counted(n_ids, 'id')} for {counted(n_rows, 'row')}: give one id for each row.")
    if n_rows == 0:
        raise DataError("There is no row: give at least one record.")


def _without_infinities(array: NDArray) -> tuple[NDArray, list[Finding]]:
    if array.dtype.kind != "f":
        return array, []
    # NaN is not above anything, so it stays; half a float holds no number beyond, and not the bound
    bad = np.isinf(array) if array.dtype.itemsize < 4 else np.abs(array) > FLOAT_MAX
    count = int(bad.sum())
    if count == 0:
        return array, []
    message = f"{counted(count, 'value')} infinite or beyond ±{FLOAT_MAX:.1e}: taken as missing"
    return np.where(bad, np.nan, array).astype(array.dtype), [Finding("infinite_value", "", count, message)]
