"""The values of one case: those of an instance or typical ones, some of them changed; and what can be changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hetcore.data import HetData, Source
from hetcore.data.columns import FLOAT_MAX
from hetcore.data.kinds import as_numbers
from hetcore.data.text import quoted
from hetcore.errors import DataError

__all__ = ["Player", "Record", "as_written", "players_of", "read_value", "record_of"]

EPOCH, DAY_SECONDS = dt.datetime(1970, 1, 1), 86_400
MOST_COLUMNS = 400
"""Columns of a source that count one by one; one of more, and an array, counts as a whole."""

Record = dict[str, Any]
"""By source, one row: a polars DataFrame, or an array of length 1."""


class Player(NamedTuple):
    """What contributes by itself: a column of a source, or a source as a whole where `column` is empty."""

    source: str
    column: str


def record_of(data: HetData, like: str | None, values: Mapping[str, Mapping[str, Any]]) -> Record:
    """Return the row of a case in each source that it has.

    Parameters
    ----------
    data : HetData
    like : str or None
        The instance; None for a new one, whose values are the medians and most frequent levels of all sources.
    values : mapping of str to mapping of str to value
        By source, the columns that are changed. A source that the instance lacks is filled up with missing values.

    Raises
    ------
    DataError
        If there is no such instance, source or column, a value does not fit, or the case is in no source.
    """
    if like is not None and like not in data.position:
        raise DataError(f"There is no instance {quoted(like)} in the data: choose another.")
    record: Record = {}
    for name, source in data.sources.items():
        row = _typical(source) if like is None else _own(data, name, like)
        # A new table for an instance that has none there, once somebody gives it a value.
        if row is None and values.get(name):
            row = source.frame.clear(1)
        if row is not None:
            record[name] = _changed(source, name, row, values.get(name, {}))
    if not record:
        raise DataError(f"{quoted(like)} is in no table: give it a value, or choose another.")
    return record


def _own(data: HetData, name: str, like: str) -> Any:
    """Return the instance's row in a source, None without one."""
    found = np.flatnonzero(data.rows(name) == data.position[like])
    if not found.size:
        # The first of several records of an instance.
        return None
    source = data.sources[name]
    return source.frame[found[:1]] if source.array is None else source.array[found[:1]]


def _typical(source: Source) -> Any:
    """Return a row of medians and most frequent levels; the first row of an array."""
    if source.array is not None:
        return source.array[:1]
    return pl.DataFrame([_middle(series) for series in source.frame.iter_columns()])


def _middle(series: pl.Series) -> pl.Series:
    """Return the known value in the middle of a column of numbers, the most frequent of another; length 1."""
    known = series.drop_nulls()
    if not len(known):
        return series.clear(1)
    if series.dtype.is_numeric():
        # A value that there is, and not the mean of two: whole numbers stay whole.
        return known.sort()[len(known) // 2 : len(known) // 2 + 1]
    # The order of lists has no middle.
    if series.dtype.is_nested():
        return known[:1]
    return known.mode(maintain_order=True)[:1]


def _changed(source: Source, name: str, row: Any, values: Mapping[str, Any]) -> Any:
    for column, given in values.items():
        if source.frame is None or column not in source.frame.columns:
            raise DataError(f"There is no column {quoted(column)} in {quoted(name)}: choose one of its columns.")
        row = row.with_columns(read_value(source, column, given))
    return row


def read_value(source: Source, column: str, given: Any) -> pl.Series:
    """Return a value as a column of length 1.

    Raises
    ------
    DataError
        If it is no number where numbers are.
    """
    before = source.frame[column]
    if given is None or given == "":
        # An empty field is a missing value.
        return before.clear(1)
    if column in source.moments and isinstance(given, str):
        given = _days(column, given)
    if before.dtype.is_numeric():
        return _number(before, given)
    if before.dtype not in (pl.String, pl.Boolean):
        raise DataError(f"The values of {quoted(column)} are lists of numbers, which can't be changed one by one here.")
    return pl.Series(column, [given if before.dtype == pl.Boolean else str(given)], before.dtype)


def as_written(source: Source, column: str, value: Any) -> str:
    """Return a value as a person writes it, "" for a missing one; a moment is held as days since 1970."""
    if value is None:
        return ""
    if column not in source.moments:
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    try:
        moment = EPOCH + dt.timedelta(seconds=round(value * DAY_SECONDS, 3))
    # Beyond what a calendar holds.
    except OverflowError:
        return f"{value:.6g}"
    return f"{moment:%Y-%m-%d}" if moment.time() == dt.time() else f"{moment:%Y-%m-%d %H:%M:%S}"


def _days(column: str, text: str) -> float:
    """Return the days since 1970 of a moment that a person wrote."""
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise DataError(f"{quoted(text)} is no date that {quoted(column)} can take: write it as 2020-12-31.") from None
    # Its clock as it is, as that of files is read.
    return (moment.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)


def _number(before: pl.Series, given: Any) -> pl.Series:
    number = as_numbers(pl.Series(before.name, [str(given)]))
    # A float32 would take a larger one as infinite.
    if number.null_count() or abs(number[0]) > FLOAT_MAX:
        cure = "write one such as 12.5" if number.null_count() else "give a smaller one"
        raise DataError(f"{quoted(str(given))} is no number that {quoted(before.name)} can take: {cure}.")
    number = number if before.dtype.is_float() else number.round()
    # Small whole types have less room than what people type.
    if number.cast(before.dtype, strict=False).null_count():
        raise DataError(f"{quoted(before.name)} has no room for {quoted(str(given))}: give a number like its others.")
    return number.cast(before.dtype)


def players_of(record: Record) -> list[Player]:
    """Return what contributes to a case: its columns one by one, long sources as a whole."""
    players = []
    for name, row in record.items():
        # Contributions of a thousand pixels one by one would take a thousand variants, and tell nobody anything.
        whole = not isinstance(row, pl.DataFrame) or row.width > MOST_COLUMNS
        players += [Player(name, "")] if whole else [Player(name, column) for column in row.columns]
    return players
