"""Columns of a table: what types become, and a guess of each column's kind with the reason.

What types become: booleans, whole and real numbers and text stay. A category or enum becomes its text, a decimal a real
number, a date or date-time the days since 1970, a time the seconds since midnight, a duration seconds, a list of words
a text with spaces. Lists of numbers of one length are an "array" column. Anything else (structs, bytes, objects,
ragged lists) is left out and reported. An empty text and NaN count as missing, as does a number that 32-bit floats
can't hold.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.kinds import ValueFacts, as_text, guess_kinds
from hetcore.data.report import Finding
from hetcore.data.text import counted, listed, quoted, shown
from hetcore.errors import DataError, ParameterError

__all__ = [
    "FLOAT_MAX", "PATTERN", "ColumnFacts", "as_array", "as_column", "as_table", "check_flags", "check_index",
    "clean_columns", "finite", "nameless_index", "other_index", "plain", "several", "unmasked", "whole",
]  # fmt: skip

FLOAT_MAX = float(np.finfo(np.float32).max)
DAY_US = 86_400e6
UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # of a second
COARSE, TINY = 1e-3, 1e-37
PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)
"""A name that polars takes for several columns."""
CATEGORICAL = "CategoricalDtype"
_NO_TABLE = (TypeError, ValueError, NotImplementedError, OverflowError, pl.exceptions.PolarsError)
_CURES = {
    "pandas.period": "give its .dt.to_timestamp()", "pandas.interval": "give it as text, or its middle",
    "Struct": "give each of its fields as a column", "Binary": "decode it to text",
}  # fmt: skip
"""What to do with a column by what its type's name holds, the first that it does."""
_NAMED = "its name stands for several columns: left out; rename it to use it"


def whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    # True is an int in Python, and n_iterations=True a mistake
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def several(value: Any) -> bool:
    """Return whether a value holds several, such as a list: no text, which would be its letters, nor a mapping."""
    single = isinstance(value, str | bytes | Mapping | type) or isinstance(value, np.ndarray) and value.ndim == 0
    return hasattr(value, "__iter__") and not single


def check_flags(**flags: Any) -> None:
    """Raise ParameterError unless each value is True or False: "no" is true to Python."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(f"{name}={shown(value)} is no truth value: give True or False.")


def finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    # NumPy knows no whole number beyond 64 bits
    return abs(value) <= sys.float_info.max if isinstance(value, int) else bool(np.isfinite(value))


def as_table(data: Any) -> Any:
    """Return a table of another library as one of polars, anything else as it is.

    Tables that speak Arrow (pyarrow, DuckDB, narwhals of either) share their memory; a table of pandas is copied once,
    since its values may be written later. An index of pandas that has a name is a column, such as the ids.

    Raises
    ------
    DataError
        If the table can't be one of polars: a column of several types, two columns of one name, a type it has not.
    """
    data = data.to_native() if hasattr(data, "__narwhals_dataframe__") else data
    # a series of pandas is no table: whoever takes one asks for it before
    if isinstance(data, pl.DataFrame) or not _is_foreign(data) or (_is_pandas(data) and not hasattr(data, "columns")):
        return data
    # not pandas: whatever speaks Arrow
    if not _is_pandas(data):
        return _from_arrow(data)
    names = [str(name) for name in data.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"The pandas table has two columns {quoted(twice[0])}: give each a name of its own.")
    # an index with a name is a column; one without is row numbers
    data = _with_categories(_without_repeated_levels(data.copy()))
    named = any(name is not None for name in data.index.names)
    try:
        return pl.from_pandas(data, include_index=named)
    except ImportError:  # no pyarrow: text by Python's objects
        data = data.reset_index() if named else data
        columns = {str(name): as_column(data[name]) for name in data.columns}
        if mixed := [name for name, column in columns.items() if isinstance(column, list)]:
            raise DataError(_unread(mixed[0], "values of several types")) from None
        return pl.DataFrame([column.alias(name) for name, column in columns.items()])
    except _NO_TABLE as error:
        raise DataError(_first_unread([data.index.to_frame(index=False)] * named + [data], error)) from None


def nameless_index(data: Any) -> bool:
    """Return whether a table is one of pandas whose index has no name and is no count of the rows."""
    return _is_pandas(data) and data.index.names == [None] and type(data.index).__name__ != "RangeIndex"


def _without_repeated_levels(data: Any) -> Any:
    """Return a table of pandas without the levels of its index that are columns too, as `set_index(drop=False)` has."""
    for name in set(data.index.names) & set(data.columns):
        if not data.index.get_level_values(name).equals(data.set_index(name).index):
            raise DataError(f"The pandas table has {quoted(str(name))} as index and as another column: drop one.")
        data = data.reset_index(name, drop=True)
    return data


def _first_unread(tables: list[Any], error: Exception) -> str:
    """Return a sentence that names the first column of tables of pandas that polars does not take."""
    for table in tables:
        for name in table.columns:
            try:
                pl.from_pandas(table[name])
            except _NO_TABLE as why:
                if type(table[name].dtype).__name__ == "SparseDtype":
                    return f"Column {quoted(str(name))} of the pandas table is sparse: give its .sparse.to_dense()."
                return _unread(str(name), why)
    return f"The pandas table is no table of polars ({_short(error)}): make each column one type."


def _unread(name: str, why: Any) -> str:
    where = f"Column {quoted(name)} of the pandas table can't be read ({_short(why)})"
    return f"{where}: give it numbers alone, text alone or dates alone."


def _short(why: Any) -> str:
    return " ".join(str(why).split())[:120]


def _with_categories(data: Any) -> Any:
    """Return a table of pandas whose categories are text: polars would take those of numbers for numbers."""
    coded = {name: _as_category(data[name]) for name in data.columns if type(data[name].dtype).__name__ == CATEGORICAL}
    return data.assign(**coded) if coded else data


def _as_category(values: Any) -> Any:
    """Return a column of pandas with its categories as text where they are numbers or ranges, as it is without any."""
    if type(values.dtype).__name__ != CATEGORICAL:
        return values
    # of pandas.cut: polars has no type for them
    if type(values.cat.categories.dtype).__name__ == "IntervalDtype":
        return values.cat.rename_categories([str(each) for each in values.cat.categories])
    if values.cat.categories.dtype.kind not in "iuf":
        return values
    texts = as_text(pl.Series(values.cat.categories.to_numpy())).to_list()
    return values.cat.rename_categories(texts)


def _from_arrow(data: Any) -> pl.DataFrame:
    try:
        table = pl.DataFrame(data)
    except (*_NO_TABLE, pl.exceptions.PanicException) as error:
        what = f"{type(data).__name__} is no table of polars ({_short(error)})"
        raise DataError(f"The {what}: give a polars DataFrame.") from None
    return table


def unmasked(values: Any) -> Any:
    """Return a masked array of NumPy with NaN, or None among objects, where it is masked; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.getmaskarray(values).any():
        return values.data
    if values.dtype.kind in "iufb":
        return values.astype(values.dtype if values.dtype.kind == "f" else np.float64).filled(np.nan)
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def as_column(values: Any) -> Any:
    """Return a column of another library as one of polars or, of mixed types, as a list; anything else as it is."""
    if hasattr(values, "columns"):
        raise DataError(f"A table stands for one column, with {listed(values.columns, 4)}: give one of its columns.")
    values = unmasked(values)
    values = values.to_native() if hasattr(values, "__narwhals_series__") else values
    # an array or an index of categories: as a list, those of numbers would be numbers
    if type(getattr(values, "dtype", None)).__name__ == CATEGORICAL and not hasattr(values, "index"):
        values = sys.modules["pandas"].Series(values)
    if isinstance(values, pl.Series) or not _is_foreign(values):
        return values
    if not _is_pandas(values):
        return pl.Series(values)
    try:
        return pl.from_pandas(_as_category(values))
    # objects of mixed types, or no pyarrow
    except (ImportError, TypeError, ValueError, pl.exceptions.PolarsError):
        objects = [None if missing else value for value, missing in zip(values.tolist(), values.isna())]
    try:
        return pl.Series(str(values.name or ""), objects)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return objects


def check_index(labels: Any, ids: pl.Series, order: str = "data.ids", what: str = "labels", name: str = "y") -> None:
    """Refuse labels of pandas whose index has the ids (n,) in another order: they are taken by place, not by index.

    `order` is what the ids are called, `what` and `name` what else than labels `y` is refused.

    Raises
    ------
    DataError
        If the index is of texts some of which are ids, or of just these ids, and has them in other places.
    """
    # a range is the places themselves, whatever the ids are called
    if not _is_pandas(labels) or type(labels.index).__name__ == "RangeIndex" or len(labels.index) != len(ids):
        return
    index = [str(each) for each in labels.index]
    if index == (own := ids.to_list()):
        return
    if sorted(index) == sorted(own):
        raise DataError(f"The index of the {what} is the ids in another order than {order}: give {name}.loc[{order}].")
    # whole numbers may be places that are ids by accident
    if labels.index.dtype.kind not in "iuf" and not set(index).isdisjoint(own):
        raise DataError(f"The index of the {what} has some of {order}, and others: give {name}.reindex({order}).")


def other_index(given: Any, values: Any) -> tuple[str, str]:
    """Return how the index of the second of two of pandas differs from that of the first, and what mends it.

    Both empty where it does not, where it is of other rows altogether, or counts from 0: then rows are taken by place.
    """
    if not (_is_pandas(given) and _is_pandas(values)) or len(given) != len(values) or given.index.equals(values.index):
        return "", ""
    ours, theirs = given.index.isin(values.index), values.index.isin(given.index)
    if ours.all() and theirs.all():
        counts = type(values.index).__name__ == "RangeIndex" and values.index.start == 0
        return ("", "") if counts else ("in another order", ".loc[{}]")
    # places, of either, are numbers of other rows by accident
    if not theirs.any() or any(np.array_equal(each.index, np.arange(len(each))) for each in (given, values)):
        return "", ""
    return "in part only", ".reindex({})"


def _is_pandas(data: Any) -> bool:
    """Return whether data are a table or a column of pandas."""
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "index")


def _is_foreign(data: Any) -> bool:
    """Tell whether it holds Arrow memory, or is of pandas, which need not be installed."""
    return hasattr(data, "__arrow_c_stream__") or _is_pandas(data)


class ColumnFacts:
    """What is found in a table's columns, taken one block of columns after another.

    Attributes
    ----------
    guess : dict of str to (str, str)
        Each column's guessed kind and why.
    missing : dict of str to int
        Missing cells of each column.
    moments : set of str
        Columns of dates or moments.
    """

    def __init__(self) -> None:
        self.guess: dict[str, tuple[str, str]] = {}
        self.moments: set[str] = set()
        self.missing: dict[str, int] = {}
        self._constant: list[str] = []
        self._unusable: list[Finding] = []
        self._infinite: dict[str, int] = {}
        self._empty: dict[str, int] = {}
        self._coarse: dict[str, _Coarse] = {}
        self._values = ValueFacts()

    def take(self, block: pl.DataFrame) -> pl.DataFrame:
        """Return some columns, all rows of each, with plain types and without infinite values, and note what is so."""
        frame, unusable = _plain_columns(block)
        texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        counts = {name: frame[name].null_count() - block[name].null_count() for name in texts}
        self._empty |= {name: count for name, count in counts.items() if count}
        frame, infinite = _without_infinities(frame)
        categories = [name for name, dtype in block.schema.items() if dtype in (pl.Categorical, pl.Enum)]
        guess, constant = guess_kinds(frame, categories)
        types = block.schema.items()
        dates = {name: block[name] for name, dtype in types if dtype in (pl.Date, pl.Datetime) and name in guess}
        # a date becomes a number, and its reason would speak of that
        guess |= {name: (guess[name][0], _dates_from(days)) for name, days in dates.items() if days.count()}
        self.moments |= dates.keys()
        self.guess |= guess
        self.missing |= dict(zip(frame.columns, frame.null_count().row(0))) if frame.width else {}
        self._constant += constant
        self._unusable += unusable
        self._infinite |= infinite
        self._coarse |= _coarse(frame)
        self._values.take(frame, guess, categories)
        return frame

    def findings(self, n_rows: int) -> list[Finding]:
        """Return what was found in the columns that were taken, of `n_rows` rows.

        Raises
        ------
        DataError
            If none of them can be used.
        """
        if not self.guess:
            reasons = "; ".join(str(finding).rstrip(".") for finding in self._unusable[:3])
            raise DataError(f"None of the columns can be used: {reasons}.")
        found = self._unusable + _infinite_finding(self._infinite) + _empty_finding(self._empty)
        found += _value_findings(self.missing, self._constant, n_rows) + _coarse_finding(self._coarse)
        return found + self._values.findings()


def _dates_from(days: pl.Series) -> str:
    return f"dates from {days.min():%Y-%m-%d} to {days.max():%Y-%m-%d}"


def clean_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with plain types and without infinite values, less what can't be used."""
    return _without_infinities(_plain_columns(frame)[0])[0]


def _plain_columns(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Finding]]:
    columns, findings = {}, []
    for series in frame.iter_columns():
        # polars takes such a name as a pattern, and would read other columns for it
        column, why_not = (None, _NAMED) if PATTERN.fullmatch(series.name) else plain(series)
        if column is None:
            findings.append(Finding("unusable_column", f"column {quoted(series.name)}", 1, why_not))
        else:
            columns[series.name] = column
    return pl.DataFrame(list(columns.values())), findings


def plain(series: pl.Series) -> tuple[pl.Series | None, str]:
    """Return a column as boolean, number, text or numeric array; or None and the sentence that says why not."""
    dtype = series.dtype
    if dtype == pl.Boolean:
        return series, ""
    # a column of nulls has no type yet; the others have no arithmetic in polars or NumPy
    if dtype == pl.Null or dtype == pl.Decimal or dtype in (pl.Int128, pl.UInt128, pl.Float16):
        return series.cast(pl.Float64), ""
    if dtype.is_numeric():
        return series, ""
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = series.cast(pl.String)
        # one file's empty cell is another's null
        return texts.set(empty, None) if (empty := texts == "").any() else texts, ""
    if dtype.is_temporal():
        return _time_number(series), ""
    if dtype in (pl.List, pl.Array):
        return _listed_column(series)
    name = str(dtype)
    found = next((each for each in _CURES if each in name), None)
    cure = f"; {_CURES[found]}" if found else ""
    return None, f"its type {found or name} holds no number, category or text: left out{cure}"


def _time_number(series: pl.Series) -> pl.Series:
    if series.dtype == pl.Date:
        return series.to_physical().cast(pl.Float64)
    if series.dtype == pl.Datetime:
        return series.dt.epoch("us").cast(pl.Float64) / DAY_US
    if series.dtype == pl.Duration:
        # in its own unit: whole milliseconds would be 0 for most of what machines measure
        return series.to_physical().cast(pl.Float64) / UNITS[series.dtype.time_unit]
    return series.to_physical().cast(pl.Float64) / 1e9


def _listed_column(series: pl.Series) -> tuple[pl.Series | None, str]:
    inner = series.dtype.inner
    # NumPy has no arithmetic for them either
    if inner == pl.Decimal or inner in (pl.Int128, pl.UInt128, pl.Float16):
        inner = pl.Float64()
        kind = pl.List(inner) if series.dtype == pl.List else pl.Array(inner, series.dtype.size)
        series = series.cast(kind)
    if series.dtype == pl.Array and inner.is_numeric():
        return series, ""
    if inner in (pl.String, pl.Categorical, pl.Enum):
        lists = series.cast(pl.List(pl.String))
        return lists.list.drop_nulls().list.join(" "), ""
    if series.dtype == pl.List and inner.is_numeric():
        # lists of one length are rows of an array in all but type
        lengths = series.list.len().drop_nulls().unique()
        if len(lengths) == 1 and lengths[0] > 0:
            return series.cast(pl.Array(inner, int(lengths[0]))), ""
        return None, f"its lists have {len(lengths)} different lengths or are empty: left out; give lists of one length"
    return None, f"its type {series.dtype} is nested: left out; unnest it into plain columns"


def as_array(series: pl.Series) -> NDArray[np.float32]:
    """Return a column of number lists as (m, ...), NaN for what is missing or beyond 32-bit floats."""
    values = series.to_numpy().astype(np.float64)
    return np.where(np.abs(values) <= FLOAT_MAX, values, np.nan).astype(np.float32)


def _without_infinities(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the frame without NaN and infinite values, and the count of infinite values by column."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    # One expression for all columns: one for each would take seconds for 10,000.
    bad = dict(zip(floats, frame.select((pl.col(floats).abs() > FLOAT_MAX).sum()).row(0))) if floats else {}
    # polars orders NaN above every number, so NaN counts in `bad` too.
    touched = [name for name in floats if bad[name]]
    usable = [pl.when(pl.col(name).abs() <= FLOAT_MAX).then(pl.col(name)) for name in touched]
    counts = {name: bad[name] - int(frame[name].is_nan().sum()) for name in touched}
    arrays = [frame[name] for name, dtype in frame.schema.items() if dtype == pl.Array]
    counts |= {series.name: int(np.isinf(series.to_numpy()).sum()) for series in arrays}
    return frame.with_columns(usable), {name: count for name, count in counts.items() if count}


def _infinite_finding(counts: dict[str, int]) -> list[Finding]:
    if not counts:
        return []
    total = sum(counts.values())
    where = counted(len(counts), "column")
    message = f"{counted(total, 'value')} infinite or beyond ±{FLOAT_MAX:.1e} in {where}: taken as missing"
    return [Finding("infinite_value", "", total, message, tuple(counts))]


def _empty_finding(counts: dict[str, int]) -> list[Finding]:
    if not counts:
        return []
    total, where = sum(counts.values()), counted(len(counts), "column")
    message = f"{counted(total, 'empty text')} in {where}: taken as missing"
    return [Finding("empty_text", "", total, message, tuple(counts))]


def _value_findings(missing: dict[str, int], constant: list[str], n_rows: int) -> list[Finding]:
    """Report the columns without any value, and those with one value only."""
    empty = [name for name, count in missing.items() if count == n_rows]
    findings = []
    if empty:
        message = f"{counted(len(empty), 'column')} without any value: kept, but nothing can be learned there"
        findings.append(Finding("empty_column", "", len(empty), message, tuple(empty)))
    if constant:
        message = f"{counted(len(constant), 'column')} with one value only: kept, but nothing can be learned there"
        findings.append(Finding("constant_column", "", len(constant), message, tuple(constant)))
    return findings


class _Coarse(NamedTuple):
    """How many numbers of a column fall together, the least of all, and whether all are next to nothing."""

    count: int
    least: Any
    tiny: bool


def _coarse(frame: pl.DataFrame) -> dict[str, _Coarse]:
    """Return columns of numbers that fall together as 32-bit floats.

    Looked at are columns that spread less than a thousandth of their size, or are smaller than any such float.
    """
    wide = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and dtype not in (pl.Float32, pl.Int8)]
    if not wide:
        return {}
    each = pl.col(wide).cast(pl.Float64)
    size, spread = (frame.select(one).row(0) for one in (each.abs().max(), each.max() - each.min()))
    lost = {}
    for name, top, span in zip(wide, size, spread):
        if not top or (span >= top * COARSE and top > TINY):
            continue
        # whole numbers as they are: beyond 2^53 they fall together as 64-bit floats already
        values = frame[name].drop_nulls().unique()
        merged = values.cast(pl.Float64).cast(pl.Float32).n_unique()
        lost[name] = _Coarse(len(values) - merged, frame[name].min(), top <= TINY)
    return {name: each for name, each in lost.items() if each.count}


def _coarse_finding(lost: dict[str, _Coarse]) -> list[Finding]:
    """Report numbers that fall together as 32-bit floats, which methods learn from: seconds since 1970, say."""
    if not lost:
        return []
    total, where = sum(each.count for each in lost.values()), counted(len(lost), "column")
    tiny, far = ([name for name, each in lost.items() if each.tiny == which] for which in (True, False))
    cures = [f"subtract the least value, such as {lost[name].least!r} of {quoted(name)}" for name in far[:1]]
    cures += [f"multiply what is next to nothing by a constant, as the numbers of {quoted(name)}" for name in tiny[:1]]
    message = (
        f"{counted(total, 'value')} in {where} fall together with others as 32-bit numbers, "
        f"which methods learn from: {'; '.join(cures)}"
    )
    return [Finding("coarse_number", "", total, message, tuple(lost))]
