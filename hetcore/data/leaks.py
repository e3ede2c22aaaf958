"""Columns, graphs and ids that give the label away: they make a test look perfect and a model useless.

A column is named if it has the label's name; if it equals the label, recodes it one to one or rises or falls with it
in every row that has both; if it, or where it is missing, predicts the label alone almost perfectly or, of two values,
tells one class from all others in every row (see `hetcore.data.agreement`). A source is named if the class follows so
from who has a record; a graph, if it joins almost only equal labels, or of two classes unequal ones, or its weights say
which; the ids, if the label follows from their order. What a shuffled label would do as well with a chance above
`CHANCE` is not said. Everything is a sentence, nothing is removed: whether a column is known before the label only a
person can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from hetcore.data.agreement import (
    disorder,
    group_errors,
    is_monotone,
    is_one_to_one,
    log_chance,
    log_ways,
    tells_one_class,
)
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
SLIPS, SHARE = 0.002, 0.125
"""Of rare classes the errors may be so many of all rows, up to an eighth of the rows of the rare classes."""
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
        "label_copy", "label_predictor", "label_name", "label_presence", "label_graph" or "label_order".
    part : str
        "source", "graph" or "ids".
    name : str
        Of the source or graph, empty for ids.
    column : str
        Of the source; empty for others, and for who has a record there.
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
    found += [] if numeric else _of_records(data, known, codes[known])
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
    look = _first_look(codes, numeric)
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() or dtype == pl.Boolean]
    found = {}
    for start in range(0, len(numbers), AT_ONCE):
        some = frame.select(pl.col(numbers[start : start + AT_ONCE]).cast(pl.Float64))
        # a lax first look, then the exact one for the few that pass
        passed = _ordered(some[look], codes[look], numeric, 2.5 * _almost(codes, numeric))
        found |= dict.fromkeys(passed, "") | _reasons(some.select(passed), codes, numeric, frame.width)
        # of classes only: a missing cell has two values, which tell two classes at most
        found |= {} if numeric else _by_two_values(some, codes, look, frame.width)
    texts = frame.select(pl.selectors.string())
    found |= {} if numeric else _by_two_values(texts, codes, look, frame.width)
    for name in texts.columns:
        if _promising(frame[name][look], codes[look], 2.5 * _almost(codes, numeric)):
            found[name] = _of_words(frame[name], codes, numeric, frame.width) or found.get(name, "")
    return found


def _first_look(codes: NDArray[np.int64], numeric: bool) -> NDArray[np.int64]:
    """Return the rows of the first look, half of them of the rarer classes if there are so many."""
    if numeric:
        return np.arange(min(FEW, len(codes)))
    rare = codes != np.bincount(codes).argmax()
    some = np.flatnonzero(rare)[: FEW // 2]
    # shuffled again, for the rarer ones come from further down
    return np.random.default_rng(0).permutation(np.concatenate([some, np.flatnonzero(~rare)[: FEW - len(some)]]))


def _almost(codes: NDArray[np.int64], numeric: bool) -> float:
    """Return the disorder, or share of the errors, up to which these labels are predicted almost perfectly."""
    # two slips in a thousand rows are many beside ten fraudulent ones, and are no better excuse there
    rarer = 0 if numeric else len(codes) - np.bincount(codes).max()
    return max(ALMOST, min(SLIPS * len(codes) / rarer, SHARE)) if rarer else ALMOST


def _promising(series: pl.Series, codes: NDArray[np.int64], most: float) -> bool:
    """Tell whether the values of a column of text mostly have one label each."""
    given = series.is_not_null().to_numpy()
    some, levels = np.unique(codes[given], return_inverse=True)[1], _levels(series.drop_nulls())
    return len(np.unique(some)) > 1 and group_errors(levels, some, own=True) <= most + 1.5 / len(some)


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
        if telling and _ordered(frame.filter(given).select(name), some, numeric, _almost(some, numeric)):
            reasons[name] = f"predicts the label alone almost perfectly in {counted(len(some), 'row')}"
    return reasons


def _by_two_values(frame: pl.DataFrame, codes: NDArray[np.int64], look: NDArray[np.int64], d: int) -> dict[str, str]:
    """Return words on the columns that tell the class by their missing cells, or one class by their two values."""
    rows = counted(len(codes), "row")
    gaps = [name for name, count in zip(frame.columns, frame.null_count().row(0)) if count] if frame.width else []
    found = _by_marks(frame.select(pl.col(name).is_null().cast(pl.Float64) for name in gaps), codes, d)
    found = {name: f"{words} by its missing cells alone in {rows}" for name, words in found.items()}
    if codes.max() < 2:
        return found
    counts = frame[look].select(pl.all().drop_nulls().n_unique()).row(0) if frame.width else ()
    two = frame.select(name for name, count in zip(frame.columns, counts) if count <= 2)
    exact = _of_one_class(two.with_columns(pl.selectors.string().rank("dense").cast(pl.Float64)), codes, d)
    return found | dict.fromkeys(exact, "tells one class from all others in every row that has both")


def _by_marks(marks: pl.DataFrame, codes: NDArray[np.int64], d: int) -> dict[str, str]:
    """Return words on the columns of 0 and 1 that predict the class almost perfectly, or tell one class exactly."""
    passed = _ordered(marks, codes, False, _almost(codes, False)) if _telling(codes, False, d) else []
    exact = _of_one_class(marks, codes, d)
    return dict.fromkeys(exact, "tells one class from all others") | dict.fromkeys(passed, "predicts the label")


def _of_one_class(frame: pl.DataFrame, codes: NDArray[np.int64], d: int) -> list[str]:
    """Return the columns of two values that tell one of three classes or more from all others, and not by accident."""
    if not frame.width or codes.max() < 2:
        return []
    chances = tells_one_class(frame.to_numpy().astype(np.float64), codes)
    return [name for name, chance in zip(frame.columns, chances) if chance + math.log(d) < CHANCE]


def _telling(codes: NDArray[np.int64], numeric: bool, d: int) -> bool:
    """Tell whether an almost perfect agreement with these labels is no accident among `d` columns."""
    # almost perfect: as many slips as that, in any places, by chance
    wrong = len(codes) if numeric else len(codes) - np.bincount(codes).max()
    ways = log_ways(int(_almost(codes, numeric) * wrong), len(codes))
    # over all columns of the table: with ten thousand of them, one fits by accident
    return log_chance(codes, numeric) + 2 * ways + math.log(d) < CHANCE and len(codes) >= 20


def _of_words(series: pl.Series, codes: NDArray[np.int64], numeric: bool, d: int) -> str:
    """Return words on a column of text that predicts a class almost perfectly, else nothing."""
    if numeric:
        return ""
    values = _levels(series.fill_null(""))
    if not _telling(codes, numeric, d) or group_errors(values, codes) > _almost(codes, False):
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


# Records, graphs and ids ----------------------------------------------------------------------------------------------


def _of_records(data: HetData, known: NDArray[np.int64], codes: NDArray[np.int64]) -> list[Leak]:
    """Return the sources of which it tells the classes of labelled instances (m,) who has a record there."""
    # shuffled, as for columns
    mixed = np.random.default_rng(0).permutation(len(known))[:ROWS]
    marks = pl.DataFrame(data.mask[:, known[mixed]].T.astype(np.float64), schema=data.source_names)
    found = _by_marks(marks, np.unique(codes[mixed], return_inverse=True)[1], max(1, marks.width))
    words = f"by who has a record there alone in {counted(len(mixed), 'row')}: {CURE}"
    return [
        Leak("label_presence", "source", name, column="", count=len(mixed), message=f"{reason} {words}")
        for name, reason in found.items()
    ]


def _of_graph(data: HetData, name: str, codes: NDArray[np.int64]) -> list[Leak]:
    """Return a leak if the graph tells equal labels; links of one component count as its spanning tree's."""
    a, b, weights = data.graphs[name].edges()
    both = (codes[a] >= 0) & (codes[b] >= 0)
    a, b, known = a[both], b[both], codes[codes >= 0]
    same = float(((np.bincount(known) / len(known)) ** 2).sum())
    if len(a) == 0 or same >= 1:
        return []
    links = scipy.sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(data.n, data.n))
    parts, _ = scipy.sparse.csgraph.connected_components(links, directed=False)
    for share, slips, words in _of_links(codes[a] == codes[b], weights[both], same, known.max() == 1):
        # of one component all labels follow from one, once it is known what its spanning tree's links join
        if (data.n - parts - slips) * math.log(share) + log_ways(slips, len(a)) < CHANCE:
            return [Leak("label_graph", "graph", name, column="", count=len(a), message=f"{words}: {CURE}")]
    return []


def _of_links(equal: NDArray[np.bool_], weights: NDArray, same: float, two: bool) -> Iterator[tuple[float, int, str]]:
    """Yield what links (m,) tell of which join equal labels.

    Yields
    ------
    share : float
        How often a link of labels in any order would be as it is said.
    slips : int
        Links that are not so.
    words : str
    """
    n = len(equal)
    # an unequal label of more than two classes leaves several
    for count, share, kind in ((equal.sum(), same, "equal"), (n - equal.sum(), 1 - same, "unequal")):
        if n - count <= ALMOST * (1 - share) * n and (kind == "equal" or two):
            all_of = "all" if count == n else f"{count:,} of"
            yield share, n - count, f"{all_of} {counted(n, 'edge')} between labelled instances join {kind} labels"
    mixed = np.random.default_rng(0).permutation(n)[:ROWS]
    equal, weights = equal[mixed].astype(np.int64), weights[mixed].astype(np.float64)
    if 0 < equal.sum() < len(equal) and weights.min() < weights.max() and _telling(equal, False, 1):
        if _ordered(pl.DataFrame({"weight": weights}), equal, False, ALMOST):
            slips = int(ALMOST * min(equal.sum(), len(equal) - equal.sum()))
            words = f"the weights of {counted(n, 'edge')} between labelled instances tell which join equal labels"
            yield max(same, 1 - same), slips, words


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
    message = (
        "the label follows from the order of the ids, which no method learns from: there is nothing to leave out; "
        "look for a column that counts rows, and draw samples at random"
    )
    return [Leak(kind="label_order", part="ids", name="", column="", count=len(codes), message=message)]
