"""Columns, graphs and ids that give the label away: they make a test look perfect and a model useless.

A column is named if it has the label's name; if it equals the label, recodes it one to one or rises or falls with it
in every row that has both; or if it predicts the label alone almost perfectly (see `hetcore.data.agreement`). A graph
is named if it joins equal labels only; the ids, if the label follows from their order. What a shuffled label
would do as well with a chance above `CHANCE` is not said. Everything is a sentence, nothing is removed: whether a
column is known before the label only a person can tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from hetcore.data.agreement import disorder, group_errors, is_monotone, is_one_to_one, log_chance
from hetcore.data.kinds import as_numbers, as_text
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.data.text import counted, quoted

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["Leak", "find_leaks", "leak_findings"]

CHANCE = math.log(1e-3)
"""Logarithm of the chance, over all columns of a table, up to which an agreement is no accident."""
ALMOST = 0.02
"""Disorder or share of the errors up to which a column predicts the label almost perfectly."""
ROWS = 20_000
"""Labelled rows at most that are looked at for a column that predicts almost perfectly."""
FEW = 512
"""Labelled rows of the first look, which most columns do not pass."""
AT_ONCE = 1_000
CURE = "leave it out unless it is known before the label"


class Leak(NamedTuple):
    """What gives the label away.

    Attributes
    ----------
    kind : str
        "label_copy", "label_predictor", "label_name", "label_graph" or "label_order".
    part : str
        "source", "graph" or "ids".
    name : str
        Of the source or graph, empty for ids.
    column : str
        Of the source, empty for others.
    count : int
        Rows or edges that were compared.
    message : str
        What is so, and what to do.
    """

    kind: str
    part: str
    name: str
    column: str
    count: int
    message: str


def find_leaks(data: HetData) -> list[Leak]:
    """Return what gives the label away, in the order of the sources, graphs and ids."""
    known = np.flatnonzero(data.labelled)
    if data.target_kind is None or len(known) == 0:
        return []
    codes = np.full(data.n, -1, dtype=np.int64)
    codes[known] = np.unique(data.y[known], return_inverse=True)[1]
    numeric = data.target_kind == "regression"
    found = []
    for name, source in data.sources.items():
        if source.array is None:
            found += _of_source(
                name, source, codes[data.rows(name)], y=data.y[data.rows(name)], numeric=numeric, label=data.label_name
            )
    found += [leak for name in data.graphs for leak in _of_graph(data, name, codes)]
    return found + _of_ids(data.id_series.gather(known), codes[known], numeric)


def leak_findings(leaks: list[Leak]) -> list[Finding]:
    """Return leaks as the findings of a report."""
    return [
        Finding(leak.kind, f"{leak.part} {quoted(leak.name)}" if leak.name else leak.part, leak.count, leak.message)
        for leak in leaks
    ]


# Columns --------------------------------------------------------------------------------------------------------------


def _of_source(
    name: str, source: Source, codes: NDArray[np.int64], y: NDArray, numeric: bool, label: str
) -> list[Leak]:
    """Return the leaks of a source's columns, given the codes of its rows' labels (m,), -1 for unlabelled."""
    # shuffled with a fixed seed: rows of a file may be sorted by the label, and then any column with ties would tell it
    rows = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))  # see `disorder`
    # a look at some rows first, for a leak shows in any of them
    near = _suspects(source.some_rows(rows[:ROWS]), codes[rows[:ROWS]], numeric) if len(rows) > 1 else {}
    found = []
    for column in source.columns:
        kind, words = "", ""
        if column in near:
            kind, words = _agreement(source.column(column)[rows], codes[rows], y[rows], numeric, source.n_columns)
            kind, words = (kind, words) if kind or not near[column] else ("label_predictor", near[column])
        if not kind and label and _same_name(column, label):
            kind, words = "label_name", "has the name of the label"
        if kind:
            found.append(
                Leak(
                    kind=kind,
                    part="source",
                    name=name,
                    column=column,
                    count=len(rows),
                    message=f"column {quoted(column)} {words}: {CURE}",
                )
            )
    return found


def _same_name(column: str, label: str) -> bool:
    return column.strip().casefold() == label.strip().casefold()


def _suspects(frame: pl.DataFrame, codes: NDArray[np.int64], numeric: bool) -> dict[str, str]:
    """Return the columns that may agree with the labels (m,), with words on those that predict almost perfectly."""
    codes = np.unique(codes, return_inverse=True)[1]
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() or dtype == pl.Boolean]
    found = {}
    for start in range(0, len(numbers), AT_ONCE):
        some = frame.select(pl.col(numbers[start : start + AT_ONCE]).cast(pl.Float64))
        # a lax first look, then the exact one for the few that pass
        passed = _ordered(some[:FEW], codes[:FEW], numeric, 2.5 * ALMOST)
        found |= dict.fromkeys(passed, "") | _reasons(some.select(passed), codes, numeric, frame.width)
        # of classes only: a missing cell has two values, which tell two classes at most
        found |= {} if numeric else _by_gaps(some, codes, frame.width)
    texts = frame.select(pl.selectors.string())
    found |= {} if numeric else _by_gaps(texts, codes, frame.width)
    for name in texts.columns:
        if _promising(frame[name][:FEW], codes[:FEW]):
            found[name] = _of_words(frame[name], codes, numeric, frame.width) or found.get(name, "")
    return found


def _promising(series: pl.Series, codes: NDArray[np.int64]) -> bool:
    """Tell whether the values of a column of text mostly have one label each."""
    given = series.is_not_null().to_numpy()
    some, levels = np.unique(codes[given], return_inverse=True)[1], _levels(series.drop_nulls())
    return len(np.unique(some)) > 1 and group_errors(levels, some, own=True) <= 2.5 * ALMOST + 1.5 / len(some)


def _ordered(frame: pl.DataFrame, codes: NDArray[np.int64], numeric: bool, most: float) -> list[str]:
    """Return the columns along which the labels are in order up to a disorder of `most`."""
    if frame.width == 0 or len(np.unique(codes)) < 2:
        return frame.columns
    # a few switches more in a short look, where one row is a large share
    allowed = most + (0.0 if numeric else 1.5 / len(codes))
    values = disorder(frame.to_numpy().astype(np.float64), np.unique(codes, return_inverse=True)[1], numeric)
    return [name for name, value in zip(frame.columns, values) if value <= allowed]


def _reasons(frame: pl.DataFrame, codes: NDArray[np.int64], numeric: bool, d: int) -> dict[str, str]:
    reasons = {}
    for name in frame.columns:
        # of the rows with a value alone: missing cells are looked at by themselves
        given = frame[name].is_not_null() & frame[name].is_not_nan().fill_null(False)
        some = np.unique(codes[given.to_numpy()], return_inverse=True)[1]
        telling = len(some) > 0 and _telling(some, numeric, d)
        if telling and _ordered(frame.filter(given).select(name), some, numeric, ALMOST):
            reasons[name] = f"predicts the label alone almost perfectly in {counted(len(some), 'row')}"
    return reasons


def _by_gaps(frame: pl.DataFrame, codes: NDArray[np.int64], d: int) -> dict[str, str]:
    """Return words on the columns whose missing cells alone predict the class almost perfectly."""
    with_gaps = [name for name, count in zip(frame.columns, frame.null_count().row(0)) if count]
    gaps = frame.select(pl.col(with_gaps).is_null().cast(pl.Float64)) if with_gaps else frame.clear().select([])
    passed = _ordered(gaps, codes, False, ALMOST) if with_gaps and _telling(codes, False, d) else []
    words = f"predicts the label by its missing cells alone in {counted(len(codes), 'row')}"
    return dict.fromkeys(passed, words)


def _telling(codes: NDArray[np.int64], numeric: bool, d: int) -> bool:
    """Tell whether an almost perfect agreement with these labels is no accident among `d` columns."""
    # almost perfect: as many slips as that, in any places, by chance
    slips = int(ALMOST * len(codes))
    ways = math.lgamma(len(codes) + 1) - math.lgamma(slips + 1) - math.lgamma(len(codes) - slips + 1)
    # over all columns of the table: with ten thousand of them, one fits by accident
    return log_chance(codes, numeric) + 2 * ways + math.log(d) < CHANCE and len(codes) >= 20


def _of_words(series: pl.Series, codes: NDArray[np.int64], numeric: bool, d: int) -> str:
    """Return words on a column of text that predicts a class almost perfectly, else nothing."""
    if numeric:
        return ""
    values = _levels(series.fill_null(""))
    if not _telling(codes, numeric, d) or group_errors(values, codes) > ALMOST:
        return ""
    return f"predicts the label alone almost perfectly in {counted(len(codes), 'row')}"


def _levels(series: pl.Series) -> NDArray[np.int64]:
    """Return the values of a column without missing cells as 0..v-1, in their order."""
    return (series.rank("dense") - 1).cast(pl.Int64).to_numpy()


def _agreement(series: pl.Series, codes: NDArray[np.int64], y: NDArray, numeric: bool, d: int) -> tuple[str, str]:
    """Return the kind of leak and its words for a column without any exception, in the rows where it has a value."""
    given = (series.is_not_null() & (series.is_not_nan() if series.dtype.is_float() else True)).to_numpy()
    codes, values = np.unique(codes[given], return_inverse=True)[1], series.filter(pl.Series(given))
    if len(codes) < 2 or len(np.unique(codes)) < 2:
        return "", ""
    where = f"in all {counted(len(codes), 'row')} that have both"
    levels = _levels(values)
    # rising first: it is the stronger of the two
    if log_chance(codes, True) + math.log(d) < CHANCE and (way := is_monotone(levels, codes)):
        if _equal(values, y[given], numeric):
            return "label_copy", f"equals the label {where}"
        return "label_copy", f"{'rises' if way > 0 else 'falls'} with the label {where}"
    if log_chance(codes, False) + math.log(d) < CHANCE and is_one_to_one(levels, codes):
        return "label_copy", f"is the label in other words {where}"
    return "", ""


def _equal(values: pl.Series, y: NDArray, numeric: bool) -> bool:
    if numeric:
        return bool((as_numbers(values).to_numpy() == y.astype(np.float64)).all())
    return as_text(values).to_list() == y.tolist()


# Graphs and ids -------------------------------------------------------------------------------------------------------


def _of_graph(data: HetData, name: str, codes: NDArray[np.int64]) -> list[Leak]:
    """Return a leak if the graph joins equal labels only; links of one component count as its spanning tree's."""
    a, b, _ = data.graphs[name].edges()
    both = (codes[a] >= 0) & (codes[b] >= 0)
    a, b = a[both], b[both]
    if len(a) == 0 or (codes[a] != codes[b]).any():
        return []
    links = scipy.sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(data.n, data.n))
    parts, _ = scipy.sparse.csgraph.connected_components(links, directed=False)
    known = codes[codes >= 0]
    same = float(((np.bincount(known) / len(known)) ** 2).sum())
    # of one component all labels are equal once its spanning tree's links join equal ones
    if same >= 1 or (data.n - parts) * math.log(same) >= CHANCE:
        return []
    message = f"all {counted(len(a), 'edge')} between labelled instances join equal labels: {CURE}"
    return [Leak(kind="label_graph", part="graph", name=name, column="", count=len(a), message=message)]


def _of_ids(ids: pl.Series, codes: NDArray[np.int64], numeric: bool) -> list[Leak]:
    """Return a leak if the label follows from the order of the ids, as numbers or as text."""
    # shuffled, as for columns: the order of the ids is what is tested
    mixed = np.random.default_rng(0).permutation(len(ids))[:ROWS]
    ids, codes = ids.gather(mixed), np.unique(codes[mixed], return_inverse=True)[1]
    if len(np.unique(codes)) < 2 or not _telling(codes, numeric, 2):
        return []
    places = pl.DataFrame({"text": _levels(ids).astype(np.float64), "number": ids.cast(pl.Float64, strict=False)})
    places = places.with_columns(pl.col("number").fill_null(float("nan")))
    # text ids have no number; some without one would be missing, and no order is told from a part
    complete = places if not places["number"].is_nan().any() else places.select("text")
    if not _ordered(complete, codes, numeric, ALMOST):
        return []
    message = "the label follows from the order of the ids: keep ids and row numbers out of the columns"
    return [Leak(kind="label_order", part="ids", name="", column="", count=len(codes), message=message)]
