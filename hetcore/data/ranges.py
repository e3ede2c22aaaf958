"""What values the columns of a training had, in short; values to predict from that are far from them are told.

Kept of a column of numbers: least, 5% quantile, median, 95% quantile and greatest of at most 2,000 values, evenly
spaced over the rows; an array counts as one column. Numbers are **far** from those of the training where more than half
of them lie beyond its range by more than the width of this range; where most are ten times as large or as small, and
at least 19 in 20 lie beyond the training's outer 5%, unless all are one number of its range (a column held still, for
partial dependence, say); or where at least 20 of them differ, but all lie within a thirtieth of what the middle 90% of
the training span. So a column in metres for kilometres is told, one in inches for centimetres hardly ever.
`python -m tests.data.unit_cases` prints how often either way.

Kept of a column of categories: the 64 commonest and the share of the others. Where others are less than a tenth of the
training and nine tenths of five values or more, these are **unseen**; so are any that nothing of the training is, where
it has no others; of columns of very many categories `hetcore.category_labels` knows more. A column without any value
in 20 rows or more is told as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import as_array
from hetcore.data.kinds import as_numbers, as_text
from hetcore.data.text import listed, quoted

__all__ = [
    "FEW", "MANY", "Ranges", "are_far", "are_ranges", "array_ranges", "known_ranges", "messages", "number_ranges",
    "shifted_columns", "some_rows", "table_ranges", "unseen",
]  # fmt: skip

MOST = 2_000
LEVELS = 64
FEW, MANY = 5, 20  # values from which on quantiles, or a narrow range, say something

Ranges = dict[str, list[float] | dict[str, Any]]
"""By column, the five numbers, or {"levels": [...], "rest": share}."""


def some_rows(n: int) -> NDArray[np.int64]:
    """Return at most 2,000 places among n, evenly spaced."""
    return np.linspace(0, n - 1, min(n, MOST)).astype(np.int64)


def number_ranges(values: NDArray) -> list[list[float] | None]:
    """Return the five numbers of each column of (m, d); None for one without a value.

    Nine digits of them: as many as make files small, and a model that was loaded tell the same.
    """
    ordered = np.array(np.asarray(values).T, np.float64, order="C")
    ordered.sort()  # NaN comes last
    last = np.maximum((~np.isnan(ordered)).sum(axis=1) - 1, 0)
    places = np.rint(np.multiply.outer(last, (0.0, 0.05, 0.5, 0.95, 1.0))).astype(np.int64)
    found = np.take_along_axis(ordered, places, axis=1).tolist() if ordered.size else []
    return [None if five[0] != five[0] else [float(f"{value:.9g}") for value in five] for five in found]


def table_ranges(frame: pl.DataFrame, kinds: Mapping[str, str]) -> Ranges:
    """Return the ranges of a table's columns, in their order: numbers by some rows, categories by all."""
    real = [name for name in frame.columns if kinds[name] == "real"]
    some = frame.select(real)[some_rows(frame.height)] if real else frame
    numbers = number_ranges(np.column_stack([as_numbers(some[name]).to_numpy() for name in real])) if real else []
    found: dict[str, Any] = dict(zip(real, numbers))
    for name in frame.columns:
        # of two values the encoder says itself when neither is there
        if kinds[name] == "nominal":
            found[name] = _levels(frame[name])
        elif kinds[name] == "array":
            found |= array_ranges(as_array(frame[name]), name)
    return {name: found[name] for name in frame.columns if found.get(name)}


def array_ranges(array: NDArray, name: str) -> Ranges:
    """Return the range of all numbers of an array (m, ...), as one column."""
    rows = array[some_rows(len(array))].reshape(-1, 1)
    five = number_ranges(rows[some_rows(len(rows))])[0]
    return {name: five} if five else {}


def _levels(series: pl.Series) -> dict[str, Any]:
    counts = as_text(series).drop_nulls().alias("value").value_counts(name="n")
    # ties in alphabetical order, so that rows in another order give the same
    top = counts.sort("n", "value", descending=[True, False]).head(LEVELS)
    total = max(int(counts["n"].sum()), 1)
    return {"levels": top["value"].to_list(), "rest": float(f"{1 - int(top['n'].sum()) / total:.9g}")}


def known_ranges(source: Any) -> Ranges:
    """Return the ranges of a source in training; none of fewer than 20 rows, which say little of others."""
    return source.ranges if source.n_rows >= MANY else {}


def are_far(known: list[float], given: list[float], n: int) -> bool:
    """Return whether n numbers are far from those of the training, both by their five numbers; see the module."""
    low, early, middle, late, high = known
    most = given[2]
    # nothing is learned from a column of one value
    if low == high:
        return False
    if not low - (high - low) <= most <= high + (high - low):
        return True
    larger, still = most > middle, given[0] == given[4] and low <= most <= high
    if n >= FEW and not still and most * middle > 0 and not 0.1 < most / middle < 10.0:
        if (larger and given[1] > late) or (not larger and given[3] < early):
            return True
    return n >= MANY and 0.0 < given[4] - given[0] <= (late - early) / 30.0


def unseen(known: Mapping[str, Any], series: pl.Series) -> str | None:
    """Return an example where nearly all categories of a column are none of the training; None where they are not."""
    values = as_text(series).drop_nulls()
    if known["rest"] >= 0.1 or (known["rest"] > 0 and len(values) < FEW):
        return None
    new = values.filter(~values.is_in(known["levels"]))
    most = len(new) >= 0.9 * len(values) if len(values) >= FEW else len(new) == len(values)
    return new[0] if len(new) and most else None


def shifted_columns(known: Ranges, source: Any) -> tuple[dict[str, list[float]], dict[str, str | None]]:
    """Return the columns of a source whose numbers are far from the training's, and those of unseen categories or none.

    Parameters
    ----------
    known : Ranges
        Of the source in training.
    source : Source

    Returns
    -------
    far : dict of str to list of float
        The five numbers here, by column.
    new : dict of str to str or None
        An example, by column; None for one that has no value in 20 rows or more, and had some in training.
    """
    given = source.ranges
    # the very same values: nothing to look at
    if given == known:
        return {}, {}
    # few new rows may look like two values, or like categories
    other = [name for name, five in known.items() if isinstance(five, list) and not isinstance(given.get(name), list)]
    other = [name for name in other if name in source.schema and source.kinds.get(name) != "array"]
    given = given | table_ranges(source.read(other), dict.fromkeys(other, "real")) if other else given
    far, new = {}, {}
    for name, before in known.items():
        # categories of a column that had no value in training either
        if isinstance(before, dict) and not before["levels"]:
            continue
        if source.missing.get(name) == 1 and source.n_rows >= MANY:
            new[name] = None
        elif isinstance(before, list):
            n = round((1.0 - source.missing.get(name, 1.0)) * source.n_rows)
            if isinstance(here := given.get(name), list) and are_far(before, here, n):
                far[name] = here
        elif name in source.schema and (example := unseen(before, source.column(name))) is not None:
            new[name] = example
    return far, new


def messages(which: str, known: Ranges, far: Mapping[str, list[float]], new: Mapping[str, str | None]) -> Iterable[str]:
    """Yield sentences on what `shifted_columns` found in a source, or in X."""
    if far:
        name, here = next(iter(far.items()))
        before = known[name]
        spans = f"{here[0]:.4g} to {here[-1]:.4g} here, {before[0]:.4g} to {before[-1]:.4g} in training"
        what = f"{which}: the numbers of {listed(far)} are far from those of the training ({quoted(name)}: {spans})"
        yield f"{what}: give them in the unit that they had."
    unseen_of = {name: example for name, example in new.items() if example is not None}
    if unseen_of:
        example = f"such as {quoted(next(iter(unseen_of.values())))}"
        what = f"{which}: hardly a value of {listed(unseen_of)} was there in training, {example}"
        yield f"{what}: write them as they were there."
    if empty := [name for name, example in new.items() if example is None]:
        yield f"{which}: no row has a value of {listed(empty)}, which had some in training: give what is known."


def are_ranges(found: Any) -> bool:
    """Return whether a value of a model file is None, or ranges by source."""
    by_source = isinstance(found, dict) and all(isinstance(each, dict) for each in found.values())
    return found is None or (by_source and all(_is_range(each) for of in found.values() for each in of.values()))


def _is_range(each: Any) -> bool:
    if isinstance(each, dict):
        levels, rest = each.get("levels"), each.get("rest")
        texts = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
        return texts and len(each) == 2 and isinstance(rest, int | float) and 0 <= rest <= 1
    numbers = isinstance(each, list) and len(each) == 5 and all(type(value) in (int, float) for value in each)
    return numbers and bool(np.isfinite(each).all()) and each == sorted(each)
