"""Instance ids: text exactly as given, and their numbers 0..n-1.

Text stays as it is, so "001" is not "1". Whole numbers become their decimal text, other numbers the shortest text that
reads back equal, value by value: 1.0 is "1" whatever stands in the other rows, and a decimal 1.00 too. A moment has no
zeros at the end of its seconds, a date is its day. Numbers held as floats are exact below 2^53 only, and refused from
there. A null, a NaN and the empty text are missing ids.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import as_column
from hetcore.data.report import Finding
from hetcore.data.text import counted, quoted
from hetcore.errors import DataError

__all__ = [
    "IdTally", "as_ids", "check_name", "converted_finding", "decimal_texts", "float_texts", "id_findings", "is_missing",
    "positions", "text_array", "unique_ids",
]  # fmt: skip

EXACT = 2.0**53
"""The least magnitude whose float stands for two whole numbers, itself and the next."""

ODD_IDS = {
    "spaced": r"^\s|\s$",
    "rounded": r"^\d\.\d+E\+\d+$",
    "word": r"(?i)^(?:nan|nat|none|null|<na>|#?n/a)$",
}
"""Patterns of ids that are told of: as text NaN of two tables would be one instance."""


def check_name(noun: str, name: Any) -> None:
    """Refuse a name of a source or graph (the `noun`) that is no text, or empty, with a DataError."""
    if not isinstance(name, str) or not name:
        raise DataError(f"The {noun} name {quoted(name)} must be a text that is not empty: rename it.")


def as_ids(values: Any) -> tuple[pl.Series, list[Finding]]:
    """Read ids as text.

    Parameters
    ----------
    values : polars or pandas Series, numpy array or sequence
        Ids of any scalar type, shape (m,).

    Returns
    -------
    ids : polars Series of String, named "id", with null for a missing id
    findings : list of Finding
        What was converted.

    Raises
    ------
    DataError
        If the values are not one-dimensional or are of a type that is no id (lists, bytes, objects).
    """
    given, converted, type_name = _as_series(values)
    ids = _as_text(given).alias("id")
    # an empty text is no id, as a null is none
    ids = ids.set(ids == "", None) if (ids == "").any() else ids
    if not converted:
        return ids, []
    return ids, [converted_finding(converted, type_name, tuple(ids.drop_nulls().head(5)))]


def converted_finding(count: int, type_name: str, examples: tuple[str, ...]) -> Finding:
    """Report ids of another type that became text."""
    return Finding("id_converted", "", count, f"{counted(count, 'id')} of type {type_name} became text", examples)


def _as_series(values: Any) -> tuple[pl.Series, int, str]:
    """Return the ids as a Series, how many of them are not text, and the name of their type."""
    values = as_column(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufbM" and values.ndim == 1:
        values = pl.Series("id", _in_unit_of_polars(values) if values.dtype.kind == "M" else values)
    if isinstance(values, pl.Series):
        # NaN is how floats say null
        values = values.fill_nan(None) if values.dtype.is_float() else values
        is_text = values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
        return values, 0 if is_text else len(values) - values.null_count(), str(values.dtype)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise DataError(f"Ids must be one-dimensional, not of shape {values.shape}: give one id for each row.")
    # a set has no order, and so no row that is a given id's
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(values, "__len__"):
        raise DataError(
            f"Ids must be a list, an array or a polars Series, not {type(values).__name__}: give one of them."
        )
    values = list(values)
    given = [value for value in values if not is_missing(value)]
    # a list of floats is a column of floats: 1.0 is "1" there as well
    if given and all(type(value) is float for value in given):
        return _as_series(pl.Series("id", values, dtype=pl.Float64))
    others = [value for value in given if not isinstance(value, str)]
    texts = pl.Series("id", [_id_text(value) for value in values], dtype=pl.String)
    return texts, len(others), type(others[0]).__name__ if others else "str"


def _in_unit_of_polars(moments: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Return moments in a unit that polars has; what says no time of day is a date."""
    unit, _ = np.datetime_data(moments.dtype)
    own = "D" if unit in ("Y", "M", "W", "D") else "ms" if unit in ("h", "m", "s", "ms", "generic") else unit
    return moments.astype(f"datetime64[{own}]")


def is_missing(value: Any) -> bool:
    """Tell whether a value of a list is None, NaN, or what pandas writes for them among objects: NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    # the only values that are not themselves: NaN and NaT
    return isinstance(value, float | np.floating | Decimal | np.datetime64) and bool(value != value)


def _id_text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return _checked_text(str(value))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        dtype = pl.Float32 if isinstance(value, np.float32) else pl.Float64
        return float_texts(pl.Series([float(value)], dtype=dtype), "ids")[0]
    if isinstance(value, Decimal) and value.is_finite():
        return decimal_texts(pl.Series([f"{value:f}"]))[0]
    if isinstance(value, np.datetime64):
        return _as_text(_as_series(np.array([value]))[0])[0]
    # as polars writes them, in nanoseconds where pandas has some
    if isinstance(value, dt.date):
        return _without_zeros(pl.Series([str(value)]))[0]
    raise DataError(f"The id {quoted(value)} of type {type(value).__name__} is neither text nor number: make it text.")


def _checked_text(value: str) -> str:
    try:
        # half a surrogate pair can be in a Python text, and in no file
        value.encode()
    except UnicodeEncodeError:
        raise DataError(f"The id {quoted(value)} holds half a surrogate pair, no character: mend it.") from None
    return value


def _as_text(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype.is_float():
        return float_texts(series, "ids")
    unfit = DataError(f"Ids of type {dtype} can't be used: convert the id column to text.")
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object) or dtype == pl.Duration:
        raise unfit
    try:
        texts = series.cast(pl.String)
    # of a type of another library, such as the periods of pandas
    except pl.exceptions.PolarsError:
        raise unfit from None
    if dtype == pl.Decimal:
        return decimal_texts(texts)
    return _without_zeros(texts) if dtype == pl.Datetime else texts


def decimal_texts(texts: pl.Series) -> pl.Series:
    """Return decimals written in full without zeros at the end, and so as floats and whole numbers are."""
    return texts.str.replace(r"(\.\d*?)0+$", "$1").str.replace(r"\.$", "").str.replace(r"^-0$", "0")


def _without_zeros(texts: pl.Series) -> pl.Series:
    """Return moments without zeros at the end: in microseconds or nanoseconds, as pandas has it, it is the same id."""
    return texts.str.replace(r"(\.\d*?)0+($|[+-])", "$1$2").str.replace(r"\.($|[+-])", "$1")


def float_texts(series: pl.Series, noun: str) -> pl.Series:
    """Return floats as the shortest text that reads back equal, whole numbers without a point.

    Parameters
    ----------
    series : polars Series of floats (m,)
        Null where missing.
    noun : str
        What they are, in the plural, for the sentence.

    Raises
    ------
    DataError
        If a magnitude is 2^53 or more: neighbouring whole numbers share a float there, so texts would collide.
    """
    inexact = series.filter((series.abs() >= EXACT).fill_null(False))
    if len(inexact):
        some = f"{len(inexact):,} of the {noun}, such as {inexact[0]:g}, are numbers of 2^53 or more"
        raise DataError(f"{some}, where neighbours are one: give them as text or as whole numbers.")
    whole = (series == series.floor()).fill_null(False)
    return series.cast(pl.Int64, strict=False).cast(pl.String).zip_with(whole, series.cast(pl.String))


class IdTally:
    """Rows without an id, rows that repeat one, ids with a space at an end, rounded or a word, batch by batch.

    Parameters
    ----------
    noun : str
        What a row is called in the message.
    """

    def __init__(self, noun: str = "row") -> None:
        self._noun, self._seen = noun, 0
        self._counts = dict.fromkeys(("missing", "again", *ODD_IDS), 0)
        self._examples: dict[str, list[str]] = {what: [] for what in self._counts}

    def take(self, ids: pl.Series, repeated: pl.Series | None = None) -> None:
        """Count in the next ids (m,), null where missing, and which of their rows (m,) repeat an earlier row's id."""
        rows = [f"row {self._seen + i + 1}" for i in ids.is_null().arg_true().head(5)]
        self._note("missing", ids.null_count(), rows)
        if repeated is not None:
            self._note("again", int(repeated.sum()), ids.filter(repeated).unique(maintain_order=True).head(5).to_list())
        for what, pattern in ODD_IDS.items():
            those = ids.filter(ids.str.contains(pattern).fill_null(False))
            self._note(what, len(those), those.head(5).to_list())
        self._seen += len(ids)

    def _note(self, what: str, count: int, examples: list[str]) -> None:
        self._counts[what] += count
        self._examples[what] = [*self._examples[what], *examples][:5]

    def findings(self) -> list[Finding]:
        """Return what was counted."""
        noun = self._noun
        first = f"with an id that an earlier {noun} has: dropped, the first of each id is kept"
        words = {
            "missing": ("missing_id", noun, "without an id: dropped"),
            "again": ("repeated_id", noun, first),
            "spaced": ("spaced_id", "id", "with a space at the beginning or end: kept as given"),
            "rounded": ("rounded_id", "id", "as a spreadsheet shows long numbers, whose last digits are lost: kept so"),
            "word": ("missing_word", "id", "written as a word for none: kept; leave them empty if they stand for none"),
        }
        return [
            Finding(kind, "", count, f"{counted(count, one)} {message}", tuple(self._examples[what]))
            for what, (kind, one, message) in words.items()
            if (count := self._counts[what])
        ]


def id_findings(ids: pl.Series, repeated: pl.Series, noun: str = "row") -> list[Finding]:
    """Report rows without an id, rows that repeat one, and odd ids: see `IdTally`."""
    tally = IdTally(noun)
    tally.take(ids, repeated)
    return tally.findings()


def unique_ids(*columns: pl.Series) -> pl.Series:
    """Return the distinct ids of several columns, in order of first appearance, without nulls."""
    ids = pl.concat([column.alias("id") for column in columns]) if columns else pl.Series("id", [], dtype=pl.String)
    return ids.filter(ids.is_first_distinct() & ids.is_not_null())


def positions(ids: pl.Series, universe: pl.Series) -> NDArray[np.int64]:
    """Return each id's place in `universe` (distinct ids), -1 for an id that is not there or is null.

    Returns
    -------
    ndarray of int64, (len(ids),)
    """
    # the same ids, as most often: no join
    if len(ids) == len(universe) and (ids == universe).fill_null(False).all():
        return np.arange(len(ids), dtype=np.int64)
    table = pl.DataFrame({"id": universe, "at": np.arange(len(universe), dtype=np.int64)})
    found = pl.DataFrame({"id": ids}).join(table, on="id", how="left", maintain_order="left")
    # a copy, for polars' memory is read-only
    return found["at"].fill_null(-1).to_numpy().copy()


def text_array(ids: pl.Series) -> NDArray[np.object_]:
    """Return ids as a read-only array of str."""
    texts = ids.to_numpy().astype(object)
    texts.flags.writeable = False
    return texts
