"""The target: numbers for regression, or text labels for classification, for some of the instances."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import as_column, as_table, check_index, other_index, several
from hetcore.data.identity import as_ids, decimal_texts, float_texts, id_findings, is_missing
from hetcore.data.kinds import NOTHING_KNOWN, TRUTHS, as_numbers, far_codes
from hetcore.data.report import Finding
from hetcore.data.spelling import respelled
from hetcore.data.text import counted, listed, quoted, shown
from hetcore.errors import DataError, ParameterError

__all__ = [
    "TASKS", "as_labels", "check_no_nan_text", "check_task", "label_name", "placed_labels", "read_target",
    "unlabelled",
]  # fmt: skip

TASKS = ("regression", "classification")
MANY_CLASSES = 1000
"""From which on scores of all classes take gigabytes, however many labels each has."""
UNFIT = (Collection, complex, dt.timedelta)
"""Types of Python, beside text, whose values are no labels: bytes, sets and lists among them."""
MISSING_WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null", "?", "-")
MISSING_WORDS += ("unknown", "not known", "missing", "not available", "undefined", "unlabelled", "unlabeled")
"""What files write for a missing value, in lower case: as labels they are classes, and are said."""


def read_target(
    target: Any, id_column: str, task: str | None, spelling: Sequence[str] = ()
) -> tuple[pl.Series, NDArray, str | None, list[Finding]]:
    """Read a table of labels.

    Parameters
    ----------
    target : table (id, y) or tuple (ids, y)
        A table, of polars or another library, with the column `id_column` (else its first column is the id) and one
        more column.
    id_column : str
        Name of the id column.
    task : "regression", "classification" or None
        None guesses: numbers are a regression, anything else a classification.
    spelling : sequence of str, default=()
        Ways in which ids and classes are made the same, see `hetcore.data.spelling`.

    Returns
    -------
    ids : polars Series of String (m,), distinct
    y : ndarray (m,), float64 with NaN or object with None
    kind : "regression", "classification" or None (no label at all and no type)
    findings : list of Finding

    Raises
    ------
    DataError
        If the table has not two columns or its labels can't be used.
    """
    given, labels = _two_columns(target, id_column)
    ids, findings = as_ids(given)
    ids = respelled(ids, spelling)
    y, kind, more = as_labels(labels, task)
    repeated = _repeated(ids, unlabelled(y))
    keep = (~repeated & ids.is_not_null()).to_numpy()
    # respelled after they were read: numbers as labels are text by then
    if kind == "classification" and spelling:
        y = respelled(pl.Series(y.tolist(), dtype=pl.String), spelling).to_numpy().astype(object)
    findings += id_findings(ids, repeated) + _contradictions(ids, y, repeated)
    return ids.filter(keep), y[keep], kind, findings + more


def _repeated(ids: pl.Series, missing: NDArray[np.bool_]) -> pl.Series:
    """Return which rows repeat an id: all but its first with a label or, where none has one, its first (m,)."""
    rows = pl.DataFrame({"id": ids, "missing": missing, "row": np.arange(len(ids))})
    first = rows.sort("missing", "row").filter(pl.col("id").is_first_distinct())["row"]
    repeated = np.ones(len(ids), bool)
    repeated[first.to_numpy()] = False
    return pl.Series(repeated) & ids.is_not_null()


def _two_columns(target: Any, id_column: str) -> tuple[Any, Any]:
    if isinstance(target, tuple) and len(target) == 2:
        how, mend = other_index(*target)
        if how:
            raise DataError(f"The labels have the index of the ids {how}: give y{mend.format('ids.index')}.")
        check_index(target[1], as_ids(target[0])[0], order="ids")
        target = as_column(target[0]), as_column(target[1])
        for each in target:
            if not (several(each) and hasattr(each, "__len__")):
                raise DataError(f"The target has {shown(each)} for ids or labels: give (ids, y), of one length.")
        if len(target[0]) != len(target[1]):
            raise DataError(f"There are {len(target[0]):,} ids for {len(target[1]):,} labels: give one label per id.")
        return target
    target = as_table(target)
    if not isinstance(target, pl.DataFrame):
        raise DataError(f"The labels can't be read from {type(target).__name__}: give a table (id, y), or (ids, y).")
    if target.width != 2:
        raise DataError(f"The labels come with the columns {listed(target.columns)}: select the id and the label.")
    # named, or else the first column
    name = id_column if id_column in target.columns else target.columns[0]
    return target[name], target.drop(name).to_series()


def label_name(target: Any, id_column: str) -> str:
    """Return the name of the column of labels in a target that `read_target` takes, empty if it has none."""
    if target is None:
        return ""
    labels = _two_columns(target, id_column)[1]
    return labels.name if isinstance(labels, pl.Series) else ""


def as_labels(labels: Any, task: str | None = None) -> tuple[NDArray, str | None, list[Finding]]:
    """Read labels of any type.

    Parameters
    ----------
    labels : polars Series, numpy array or sequence (m,)
        Numbers or class labels; null, None and NaN are unlabelled.
    task : "regression", "classification" or None
        None guesses from the type.

    Returns
    -------
    y : ndarray (m,), float64 with NaN or object (str) with None
    kind : "regression", "classification" or None
    findings : list of Finding

    Raises
    ------
    DataError
        If the labels are of a type that can be neither, or a regression's labels are no numbers.
    ParameterError
        If `task` is none of the three.
    """
    check_task(task)
    series = _as_series(labels)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object) or series.dtype == pl.Duration:
        raise DataError(f"Labels of type {series.dtype} can't be used: give numbers or text.")
    # polars makes no number of a category, though its text may be one
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    # the person's word before the guess
    kind = task or _guess_task(series)
    if kind == "classification":
        return _classes(series)
    return _values(series, kind)


def check_task(task: Any) -> None:
    """Raise ParameterError for a task that is none."""
    if not (task is None or isinstance(task, str) and task in TASKS):
        raise ParameterError(f"task={shown(task)} is not one of {listed(TASKS)} or None: choose one of them.")


def _as_series(labels: Any) -> pl.Series:
    if hasattr(labels, "columns"):
        what = "labels as a table are the target of a HetData; as y give one for each instance, in the order of its ids"
        raise DataError(f"The labels have the columns {listed(labels.columns)}: {what}.")
    labels = as_column(labels)
    if isinstance(labels, pl.Series):
        return labels
    array = np.asarray(labels) if not isinstance(labels, list | tuple) else np.asarray(labels, dtype=object)
    # objects: NumPy would make text of a mixed list, and "nan" of a missing label
    if array.ndim == 0:
        kind = type(labels).__name__
        raise DataError(f"Labels must be a list, an array or a Series, not {kind}: give one for each instance.")
    if array.ndim != 1:
        raise DataError(f"Labels must be one-dimensional, not of shape {array.shape}: give one for each instance.")
    if array.dtype.kind in "iufb":
        return pl.Series("y", array)
    check_no_nan_text(array, "The labels have")
    # in nanoseconds a list of them is of whole numbers
    values = (array.astype(f"{array.dtype.kind}8[us]") if _is_fine(array.dtype) else array).tolist()
    # what labels mostly are, and a fit on the same data is to begin at once
    if {*map(type, values)} <= {str, type(None)}:
        return pl.Series("y", values, dtype=pl.String)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    values = [None if is_missing(value) else value for value in values]
    types = {type(value) for value in values if value is not None}
    unfit = [each.__name__ for each in types if issubclass(each, UNFIT) and not issubclass(each, str)]
    if unfit:
        raise DataError(f"Labels of type {unfit[0]} can't be used: give numbers or text.")
    if types == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pl.Series("y", values, dtype=pl.Int64)  # exact, as float64 is not
    # whole numbers and reals are one kind
    if types <= {int, float, Decimal}:
        return pl.Series("y", [None if value is None else _real(value) for value in values], dtype=pl.Float64)
    return pl.Series("y", [None if value is None else _label_text(value) for value in values], dtype=pl.String)


def _real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise DataError("A label is a whole number of over 308 digits: give labels in another unit.") from None


def check_no_nan_text(labels: NDArray, who: str) -> None:
    """Raise DataError for "nan" in an array of text: NumPy writes it for a missing value among text, no class."""
    if labels.dtype.kind == "U" and (count := int((labels == "nan").sum())):
        what = f"{who} {counted(count, 'text')} 'nan', which NumPy makes of a missing label"
        raise DataError(f"{what}: give objects, np.array(labels, object), with None there.")


def _is_fine(dtype: np.dtype) -> bool:
    return dtype.kind in "mM" and np.datetime_data(dtype)[0] in ("ns", "ps", "fs", "as")


def _label_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return decimal_texts(pl.Series([f"{value:f}"]))[0]
    # 1.0 and 1 are the same class
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _guess_task(series: pl.Series) -> str | None:
    if series.dtype == pl.Null:
        return None
    return "regression" if series.dtype.is_numeric() else "classification"


def _values(series: pl.Series, kind: str | None) -> tuple[NDArray, str | None, list[Finding]]:
    if series.dtype.is_temporal():
        raise DataError(f"Labels of type {series.dtype} are no numbers: convert them, or use task='classification'.")
    numbers = as_numbers(series)
    lost = series.filter(numbers.is_null() & series.is_not_null())
    # a few words among numbers: text that was no number is not dropped silently as a label
    if series.dtype == pl.String and len(lost):
        some = f"{counted(len(lost), 'label')} such as {quoted(lost[0])}"
        raise DataError(f"{some} can't be read as a number: mend them, or take a classifier and task='classification'.")
    y = numbers.fill_null(np.nan).to_numpy().astype(np.float64)
    infinite = np.isinf(y)
    findings = []
    if infinite.any():
        count = int(infinite.sum())
        message = f"{counted(count, 'infinite label')}: taken as unlabelled"
        findings.append(Finding("infinite_label", "", count, message))
        y[infinite] = np.nan
    return y, kind, findings + _value_findings(y, kind)


def _value_findings(y: NDArray, kind: str | None) -> list[Finding]:
    known = y[~np.isnan(y)]
    if len(known) == 0:
        return [Finding("no_label", "", 0, "there is no label: nothing can be trained yet")]
    if len(known) > 1 and (known == known[0]).all():
        message = f"all {counted(len(known), 'label')} have the same value {known[0]:g}"
        return [Finding("one_value", "", len(known), message)]
    far = far_codes(pl.DataFrame({"y": known}), ["y"])
    return [_code_finding(f"{code:g}", count, "far from all others: taken as numbers") for code, count in far.values()]


def _code_finding(code: str, count: int, why: str) -> Finding:
    cure = "leave them empty if they stand for no label"
    return Finding("far_code", "", count, f"{counted(count, 'label')} {code}, {why}; {cure}", (code,))


def _classes(series: pl.Series) -> tuple[NDArray, str, list[Finding]]:
    if series.dtype.is_float():
        series = float_texts(series.fill_nan(None), "class labels")
    texts = series.cast(pl.String)
    texts = decimal_texts(texts) if series.dtype == pl.Decimal else texts
    empty = int((texts == "").sum())
    findings = []
    if empty:
        message = f"{counted(empty, 'empty label')}: taken as unlabelled"
        findings.append(Finding("empty_label", "", empty, message))
        texts = texts.set(texts == "", None)
    # NumPy drops it, and two classes would be one
    if len(odd := texts.filter(texts.str.ends_with("\0").fill_null(False))):
        raise DataError(f"The label {quoted(odd[0])} ends in a NUL character: write it without.")
    return texts.to_numpy().astype(object), "classification", findings + _class_findings(texts)


def _class_findings(texts: pl.Series) -> list[Finding]:
    counts = texts.drop_nulls().alias("value").value_counts(sort=True, name="n")
    labels, total = counts["value"], int(counts["n"].sum())
    if total == 0:
        return [Finding("no_label", "", 0, "there is no label: nothing can be trained yet")]
    if len(labels) == 1:
        message = f"all labels are {quoted(labels[0])}, so there is nothing to tell apart"
        return [Finding("one_class", "", total, message)]
    findings = []
    if len(labels) > 20 and len(labels) > min(total / 2, MANY_CLASSES):
        message = f"{counted(len(labels), 'class', 'classes')} in {counted(total, 'label')}: is this an id or a number?"
        findings.append(Finding("many_classes", "", len(labels), message, tuple(labels.sort().head(5))))
    words = counts.filter(labels.str.strip_chars().str.to_lowercase().is_in(MISSING_WORDS))
    if len(words):
        what = f"{counted(int(words['n'].sum()), 'label')} such as {quoted(words['value'][0])}"
        message = f"{what}: taken as a class; leave them empty if they stand for no label"
        findings.append(Finding("missing_word", "", int(words["n"].sum()), message, tuple(words["value"].head(5))))
    numeric = labels.cast(pl.Float64, strict=False).is_finite().fill_null(False)
    findings += _no_classes(counts) if numeric.all() else []
    if numeric.any() and not numeric.all():
        message = "some labels are numbers and some are words: each is taken as a class"
        examples = (*labels.filter(numeric).sort().head(2), *labels.filter(~numeric).sort().head(3))
        findings.append(Finding("mixed_labels", "", len(labels), message, examples))
    truths = labels.str.strip_chars().str.to_lowercase()
    if truths.n_unique() > 2 and truths.is_in(TRUTHS).all():
        message = "labels say true and false in several ways: each is taken as a class of its own; write two"
        findings.append(Finding("mixed_truths", "", len(labels), message, tuple(labels.sort().head(5))))
    return findings


def _no_classes(counts: pl.DataFrame) -> list[Finding]:
    """Report a class of numbers that may stand for no label: the only negative one, or 99 far from all others."""
    numbers = counts.select(pl.col("value").cast(pl.Float64), "n").sort("value")
    # of two classes -1 is the other
    if numbers.height < 3:
        return []
    below = numbers.filter(pl.col("value") < 0)
    if below.height == 1 and (below["value"][0] == -1 or below["value"][0] in NOTHING_KNOWN):
        return [_code_finding(f"{below['value'][0]:g}", below["n"][0], "the only negative ones: taken as a class")]
    far = far_codes(numbers.select(pl.col("value").repeat_by("n").explode()), ["value"])
    return [_code_finding(f"{code:g}", n, "far from all others: taken as a class") for code, n in far.values()]


def _contradictions(ids: pl.Series, y: NDArray, repeated: pl.Series) -> list[Finding]:
    if not repeated.any():
        return []
    several = pl.DataFrame({"id": ids, "y": [str(v) for v in y]})
    several = several.filter(ids.is_not_null() & pl.Series(~unlabelled(y)))
    several = several.group_by("id", maintain_order=True).agg(pl.col("y").n_unique()).filter(pl.col("y") > 1)
    if several.height == 0:
        return []
    message = f"{counted(several.height, 'id')} with different labels in different rows: the first is kept"
    return [Finding("contradicting_label", "", several.height, message, tuple(several["id"].head(5)))]


def unlabelled(y: NDArray) -> NDArray[np.bool_]:
    """Return which labels are missing: NaN in floats, None in objects; (n,) bool."""
    return np.isnan(y) if y.dtype.kind == "f" else np.equal(y, None)


def placed_labels(y: NDArray, place: NDArray[np.int64], n: int) -> NDArray:
    """Return labels (n,) with `y[i]` at `place[i]` and the rest unlabelled."""
    full = np.full(n, np.nan) if y.dtype.kind == "f" else np.full(n, None, dtype=object)
    full[place] = y
    return full
