"""Checks that several methods make: of parameters, of rows to score by, of arrays in a model file."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcore.data import HetData
from hetcore.data.columns import finite, other_index, unmasked, whole
from hetcore.data.identity import is_missing
from hetcore.data.ranges import MANY, are_far, messages, number_ranges, some_rows
from hetcore.data.target import check_no_nan_text
from hetcore.data.text import counted, listed, quoted, shown
from hetcore.errors import (
    DataError,
    DataTypeError,
    ParameterError,
    PrecisionWarning,
    UnfamiliarValuesWarning,
    UnscoredLabelsWarning,
)

__all__ = [
    "TAKES_ARRAYS", "as_numbers", "check_aligned", "check_arrays", "check_coverage", "check_folds", "check_labels",
    "check_names", "check_one_each", "check_random_state", "check_weights", "eval_pair", "even_array", "finite",
    "flag", "remember_names", "rows_to_score_by", "typed_labels", "validated", "warn_of_other_classes",
    "warn_of_precision", "whole",
]  # fmt: skip

STEPS = 1_000  # of float32 that a column's values span, below which bins would merge them
TINY = 1e-35  # values all below it are next to nothing in float32

MOMENTS = "has moments or durations: give numbers, such as days since a date"
NO_NUMBERS = "y has labels that are no numbers: give a number for each row."
TAKES_ARRAYS = "{} takes arrays, not a HetData: hetcore.data.plain makes arrays of one (plain_table, domains, codes)."


def flag(value: Any) -> bool:
    """Return whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def check_arrays(X: Any, who: str) -> None:
    """Raise DataError, in the name of what takes arrays, if X is a HetData."""
    if isinstance(X, HetData):
        raise DataError(TAKES_ARRAYS.format(who))


def warn_of_precision(X: NDArray, names: Sequence[str] | None) -> None:
    """Warn, with PrecisionWarning, of columns (n, d) that vary by less than 32-bit floats have room for.

    Trees take such floats: moments in milliseconds of one minute would all be one value.
    """
    if X.dtype != np.float64 or not len(X):
        return
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        largest, varies = np.maximum(np.abs(low), np.abs(high)), high > low
        # at least as many steps as a column has bins, several times over
        float32 = np.finfo(np.float32)
        # what is beyond its range becomes its end
        outside = (largest < TINY) | (largest > float32.max)
        merged = varies & ((high - low < STEPS * float32.eps * largest) | outside)
    if merged.any():
        places = np.flatnonzero(merged).tolist()
        which = [quoted(names[place]) if names else str(place) for place in places[:5]]
        noun = "Column" if len(places) == 1 else "Columns"
        more = f" and {len(places) - 5:,} more" if len(places) > 5 else ""
        text = f"{noun} {', '.join(which)}{more} of X: 32-bit floats, which trees take, hardly tell the values apart"
        warnings.warn(f"{text}: subtract the least value, and divide by the range.", PrecisionWarning, stacklevel=6)


def warn_of_other_classes(labels: NDArray, classes: NDArray, name: str, stacklevel: int) -> None:
    """Warn, with UnscoredLabelsWarning, if no label (m,) is of the classes of a training: all would count as wrong."""
    labels, known = labels.tolist(), classes.tolist()
    if labels and not set(known).intersection(labels):
        what = f"No label of {name} is of a class of the training: {quoted(labels[0])} is none of {listed(known)}"
        text = f"{what}, so that all count as wrong: write labels as they were there."
        warnings.warn(text, UnscoredLabelsWarning, stacklevel=stacklevel + 1)


def check_coverage(coverage: float) -> None:
    """Raise ParameterError unless a coverage is a number in (0, 1)."""
    if not (finite(coverage) and 0.0 < coverage < 1.0):
        raise ParameterError(f"coverage={shown(coverage)} must be in (0, 1): 0.9 holds nine labels in ten.")


def check_folds(n_folds: int) -> None:
    """Raise ParameterError unless there are two folds or more."""
    if not (whole(n_folds) and n_folds >= 2):
        raise ParameterError(f"n_folds={shown(n_folds)} must be a whole number, at least 2.")


def check_weights(sample_weight: ArrayLike | None) -> None:
    """Raise DataError unless weights of rows are finite numbers of at least 0, one of them above."""
    if sample_weight is None:
        return
    weights = even_array(unmasked(sample_weight), "sample_weight")
    try:
        weights = weights.astype(np.float64) if weights.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        weights = None
    if weights is None:
        raise DataError("sample_weight has values that are no numbers: give one of at least 0 for each row.")
    if (wrong := weights[~(np.isfinite(weights) & (weights >= 0))]).size:
        raise DataError(f"sample_weight has {wrong[0]:g}: give numbers of at least 0.")
    if weights.size and not weights.any():
        # in the words that scikit-learn asks for
        raise DataError("Sample weights must contain at least one non-zero number: sample_weight has only zeros.")


def check_random_state(random_state: int | None) -> None:
    """Raise ParameterError unless a value is a seed, or None for one that is drawn."""
    if not (random_state is None or (whole(random_state) and random_state >= 0)):
        given = f"random_state={shown(random_state)}"
        raise ParameterError(f"{given} must be a whole number of at least 0, or None: give 0.")


def validated(estimator: Any, X: ArrayLike, *y: ArrayLike, **checks: Any) -> Any:
    """Return X, or X and y, checked by scikit-learn, which reads what is under the mask of a masked array: NaN here.

    Parameters
    ----------
    estimator : estimator
    X : (n, d) array or table
    *y : (n,) array, optional
    **checks
        Of `sklearn.utils.validation.validate_data`.

    Raises
    ------
    DataError
        If labels are missing among objects, mix text with other values or are moments, or if a column of X or numbers
        to learn are none.
    """
    check_arrays(X, type(estimator).__name__)
    from sklearn.utils.validation import validate_data  # half a second that the studio's first page saves

    for each in y:
        check_labels(each)
    _check_moments(X)
    try:
        found = validate_data(estimator, unmasked(X), *(unmasked(each) for each in y), **checks)
    except TypeError as error:
        found = _no_numbers(X) or _na_among_objects(X)
        raise DataTypeError(found or f"X or y can't be taken as they are: {error}") from None
    except ValueError as error:
        if not str(error).startswith(("could not convert string", "setting an array element")):
            raise
        raise DataError(_no_numbers(X) or _no_rows(X) or NO_NUMBERS) from None
    if checks.get("y_numeric"):
        found = found[0], as_numbers(found[1])
    _look_at_ranges(estimator, found[0] if y else found, reset=checks.get("reset", True))
    return found


def as_numbers(y: ArrayLike) -> NDArray[np.float64]:
    """Return labels as float64; raise DataError for those that are none."""
    try:
        return np.asarray(unmasked(y), np.float64)
    except (TypeError, ValueError):
        # words rather than NumPy's
        raise DataError(NO_NUMBERS) from None


def check_labels(y: ArrayLike) -> None:
    """Raise DataError for labels of which scikit-learn says nothing, or nothing that helps."""
    try:
        labels = np.asarray(unmasked(y))
    # of rows of several lengths, which scikit-learn refuses
    except ValueError:
        return
    if labels.dtype.kind in "mM":
        raise DataError("y holds moments or durations: give numbers of a unit, or text for classes.")
    check_no_nan_text(labels, "y has")
    if labels.ndim != 1 or labels.dtype.kind not in "Of":
        return
    lacking = np.isnan(labels) if labels.dtype.kind == "f" else [is_missing(label) for label in labels]
    missing = np.flatnonzero(lacking)
    if missing.size and missing.size == len(labels):
        raise DataError(f"All {len(labels):,} labels of y are missing: give some.")
    if missing.size:
        count = counted(missing.size, "missing label")
        raise DataError(f"y has {count}, the first in row {missing[0] + 1}: leave such rows out.")
    if labels.dtype != object:
        return
    texts = np.array([isinstance(label, str) for label in labels], bool)
    if texts.any() and not texts.all():
        pair = f"{quoted(labels[texts][0])} beside {quoted(labels[~texts][0])}"
        raise DataError(f"y mixes text with other values, such as {pair}: write all labels in one way.")
    # NumPy drops it, and two classes would be one
    if odd := [label for label in labels[texts] if label.endswith("\0")]:
        raise DataError(f"The label {quoted(odd[0])} of y ends in a NUL character: write it without.")


def _check_moments(X: ArrayLike) -> None:
    """Raise DataError for moments or durations, of which an array would take the count of a unit that it chooses."""
    names, dtypes = _feature_names(X), getattr(X, "dtypes", None)
    if names is None:
        names, dtypes = [None], [getattr(X, "dtype", None)]
    elif dtypes is None:
        dtypes = getattr(getattr(X, "schema", None), "types", ())
    for name, dtype in zip(names, dtypes):
        # of NumPy and pandas, of polars, or of PyArrow
        moments = getattr(dtype, "kind", None) in ("m", "M") or getattr(dtype, "is_temporal", bool)()
        if moments or str(dtype).startswith(("timestamp", "date", "time", "duration")):
            raise DataError(f"{'X' if name is None else f'The column {quoted(name)} of X'} {MOMENTS}.")


def _no_numbers(X: ArrayLike) -> str:
    """Return the sentence for the first of X that is no number; "" if there is none."""
    try:
        rows = np.asarray(X, object)
    except ValueError:
        return ""
    if rows.ndim != 2:
        return ""
    names = _feature_names(X)
    for place, column in enumerate(rows.T):
        wrong = next((each for each in column if not _reads_as_number(each)), None)
        if wrong is None:
            continue
        called = f"Column {place + 1}" if names is None else f"The column {quoted(names[place])}"
        if isinstance(wrong, str):
            cure = "encode it as numbers, or let hetcore.data.plain.plain_table do so, of a HetData"
            return f"{called} of X has text, such as {quoted(wrong)}: {cure}."
        if isinstance(wrong, dt.date | dt.time | dt.timedelta | np.datetime64 | np.timedelta64):
            return f"{called} of X {MOMENTS}."
        # in the words that scikit-learn asks for
        return f"{called} of X has {quoted(str(wrong))}: an argument must be a string or a number, one in each cell."
    return ""


def _no_rows(X: ArrayLike) -> str:
    """Return the sentence for what is no rows of one length; "" for what is."""
    try:
        rows = np.asarray(X, object)
    except ValueError:
        return ""
    return "" if rows.ndim == 2 else "X is no (n, d): give rows, each with as many columns."


def _na_among_objects(X: ArrayLike) -> str:
    """Return the sentence for the first column of objects with the NA of pandas, which is no float; "" for none."""
    for place, dtype in enumerate(getattr(X, "dtypes", ())):
        # nullable types of pandas are read, with NaN for their NA
        objects = isinstance(dtype, np.dtype) and dtype.kind == "O"
        if objects and any(type(each).__name__ == "NAType" for each in X.iloc[:, place]):
            return f"The column {quoted(X.columns[place])} of X has NA among objects: give X.convert_dtypes()."
    return ""


def _reads_as_number(value: Any) -> bool:
    # what stands for a missing value is none, but taken
    if is_missing(value):
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def typed_labels(labels: NDArray) -> NDArray:
    """Return objects (n,) that are all whole numbers, or all truth values, as such, for scikit-learn knows no objects.

    Others are returned as they are.
    """
    if labels.dtype != object or labels.ndim != 1 or not len(labels):
        return labels
    if all(flag(each) for each in labels):
        return labels.astype(bool)
    whole_numbers = all(isinstance(each, int | np.integer) and not flag(each) for each in labels)
    plain = np.array(labels.tolist()) if whole_numbers else labels
    # beyond 64 bits they stay objects
    return plain if plain.dtype.kind in "iu" else labels


def check_aligned(X: Any, **others: Any) -> None:
    """Raise DataError if labels or weights of pandas have the index of X in another order, or in part: places count.

    An index that counts from 0 is the places themselves, and one of other rows no order of these.
    """
    for name, each in others.items():
        how, mend = other_index(X, each)
        if how:
            name = "y of eval_set" if name == "y_eval_set" else name
            cure = f"give {mend.format('X.index')} of it, or .to_numpy() if the rows are in order"
            raise DataError(f"{name} has the index of X {how}, and rows are taken by place: {cure}.")


def even_array(values: Any, name: str) -> NDArray:
    """Return values as an array; raise DataError if they are sequences of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(f"{name} has entries of different lengths: give one value for each row.") from None


def _look_at_ranges(estimator: Any, X: NDArray, *, reset: bool) -> None:
    """Keep what numbers the columns of a fit have, or say which are far from those."""
    found = number_ranges(X[some_rows(len(X))])
    given = {str(place): five for place, five in enumerate(found) if five}
    if reset:
        estimator._ranges = {"": given if len(X) >= MANY else {}}
        return
    known, names = (estimator._ranges or {"": {}})[""], getattr(estimator, "feature_names_in_", None)
    far = {place: given[place] for place in known if place in given and are_far(known[place], given[place], len(X))}
    called = {place: f"column {int(place) + 1}" if names is None else names[int(place)] for place in far}
    before = {called[place]: known[place] for place in far}
    for sentence in messages("X", before, {called[place]: far[place] for place in far}, {}):
        warnings.warn(sentence, UnfamiliarValuesWarning, stacklevel=5)


def remember_names(estimator: Any, X: Any) -> None:
    """Keep the names of the columns of a table that an estimator is fitted on, as scikit-learn does."""
    names = _feature_names(X)
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _feature_names(X: Any) -> Any:
    # scikit-learn asks of which library a table is, which takes as long as a small prediction
    if type(X) is np.ndarray:
        return None
    columns = getattr(X, "columns", None)
    # of pandas, whose columns alone may be called the same
    if not getattr(columns, "is_unique", True):
        raise DataError(f"X has two columns {quoted(columns[columns.duplicated()][0])}: give each a name of its own.")
    from sklearn.utils.validation import _get_feature_names  # late, as above

    return _get_feature_names(X)


def check_names(estimator: Any, X: Any) -> None:
    """Raise DataError if the table of the fit and this one name their columns otherwise, or order them otherwise."""
    names, known = _feature_names(X), getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        columns = f"X has the columns {', '.join(names)}, the fit had {', '.join(known)}"
        raise DataError(f"{columns}: give them in its order.")


def rows_to_score_by(estimator: Any, eval_set: tuple[ArrayLike, ArrayLike], **checks: Any) -> tuple[NDArray, NDArray]:
    """Return X and y of an `eval_set`, checked against the columns that an estimator was given before.

    Parameters
    ----------
    estimator : estimator
    eval_set : (X, y)
    **checks
        Of `sklearn.utils.validation.validate_data`.

    Raises
    ------
    DataError
        If there is not one label a row.
    """
    X, y = eval_pair(eval_set)
    # reset=False: the columns are compared with those of fit rather than learned anew
    X, y = validated(estimator, X, reset=False, **checks), np.asarray(unmasked(y))
    check_one_each(X, y)
    return X, y


def eval_pair(eval_set: Any) -> tuple[Any, Any]:
    """Return X and y of an `eval_set` as they are.

    Raises
    ------
    DataError
        If it is no (X, y), but a list of such, say, or y has the index of X in another order.
    """
    is_pair = isinstance(eval_set, tuple | list) and len(eval_set) == 2 and not isinstance(eval_set[0], tuple)
    if not is_pair:
        size = f" of {len(eval_set):,}" if isinstance(eval_set, tuple | list) else ""
        raise DataError(f"eval_set is a {type(eval_set).__name__}{size}: give (X, y), rows and their labels.")
    X, y = eval_set
    if X is None or y is None:
        raise DataError(f"eval_set has no {'rows' if X is None else 'labels'}: give (X, y), rows and their labels.")
    check_aligned(X, y_eval_set=y)
    return X, y


def check_one_each(X: NDArray, y: NDArray) -> None:
    """Raise DataError unless an `eval_set` has a label for each row."""
    if y.shape != X.shape[:1]:
        raise DataError(f"eval_set has {X.shape[0]} rows and labels of shape {y.shape}: give one label a row.")
