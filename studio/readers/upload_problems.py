"""What is wrong with data made of uploaded files, and what gives their label away, each in one sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from hetcore.data import HetData
from hetcore.data.leaks import find_leaks
from hetcore.data.report import Finding
from hetcore.data.spelling import WAYS, respelled, ways_apart
from hetcore.data.text import quoted
from studio.messages import one_sentence

__all__ = ["Problems", "problems", "stray_edges"]

STRAY = 0.05
"""Share of a graph's edges that may lead to ids that nothing else has: a few are told, many stop a use of the data."""


class Problems(NamedTuple):
    """What is wrong with data made of files.

    Attributes
    ----------
    hard, soft : list of str
        Sentences on what prevents a use of the data, and on what the person may accept.
    leaks : dict of str to list of str
        By source, the columns that give the label away: to be left out.
    graphs, tables : list of str
        Graphs and sources that give it away as a whole, of sources as long as others remain.
    spelling : list of str
        Ways in which ids or classes differ only, see `hetcore.data.spelling`.
    rewritten : str
        What becomes of an id, or else of a class, that is written in these ways; empty where all stay.
    """

    hard: list[str]
    soft: list[str]
    leaks: dict[str, list[str]]
    graphs: list[str]
    tables: list[str]
    spelling: list[str]
    rewritten: str


_HARD = {
    "no_common_id": "choose another id column, give all tables the same columns if their rows are different things, "
    "or take it out",
    "no_label": "choose another label column, or “no labels”",
    "one_class": "choose another label column, or “no labels”",
    "one_value": "choose another label column, or “no labels”",
}
_SOFT = {
    "missing_id": "fill the id column, or use the data as they are",
    "repeated_id": "choose a column that differs in every row, or use the first row of each",
    "infinite_value": "correct the file, or use the data as they are",
    "infinite_label": "correct the file, or use the data as they are",
    "contradicting_label": "correct the file, or use the data as they are",
    "total_row": "take it out of the file, or use the data as they are",
    "many_classes": "choose another label column, or “numbers” if they are such, or use the data as they are",
    "unknown_id": "correct the ids, or use the data as they are",
    "near_id": "write them the same way, or use them as different ones",
    "near_class": "write them the same way, or use them as different ones",
    "label_copy": "leave it out, or use it if it is known before the label",
    "label_predictor": "leave it out, or use it if it is known before the label",
    "label_name": "leave it out, or use it if it is another thing",
    "label_presence": "take it out, or use it if it is known before the label",
    "label_graph": "take it out, or use it if it is known before the labels",
}


def problems(data: HetData) -> Problems:
    """Return what is wrong with data made of files, each in one sentence that says what to do."""
    where = {finding.where for finding in data.report if finding.kind in _HARD}
    hard = [_problem_text(finding, _hard_cure(data, finding)) for finding in data.report if finding.kind in _HARD]
    # Labels may all belong to ids that no table has; then nothing can be trained, though each file is fine.
    if not hard and data.labelled.any() and not (data.labelled & data.mask.any(axis=0)).any():
        cure = f"{_same_way(data)}choose another id column for the labels"
        hard = [f"None of the labels has an id that a table has: {cure}."]
    # Where something hard is wrong a lesser remark about the same place would only distract.
    few = {finding.where for finding, share in _unknown_ends(data) if share <= STRAY}
    soft = [each for each in data.report if each.kind != "unknown_id" or each.where not in few]
    left = [finding for finding in soft if finding.kind in _SOFT and finding.where not in where]
    reported = {finding.kind for finding in left if finding.where != "target"}
    # A target comes out of a table, so that the same finding is often reported twice.
    left = [finding for finding in left if finding.where != "target" or finding.kind not in reported]
    named = data.id_series, pl.Series(data.classes, dtype=pl.String)
    apart = {way for texts in named for way in ways_apart(texts)}
    ways = [way for way in WAYS if way in apart]
    texts = [_problem_text(finding, _SOFT[finding.kind]) for finding in left]
    rewritten = next(filter(None, (_rewritten(each, ways) for each in named)), "")
    return Problems(hard, texts, *_leaking(data), ways, rewritten)


def _hard_cure(data: HetData, finding: Finding) -> str:
    """Return what to do; what was taken for a graph by its columns may be a table, and images have no id column."""
    arrays = {f"source {quoted(name)}" for name, source in data.sources.items() if source.array is not None}
    if finding.kind == "no_common_id" and finding.where in arrays:
        return "name its images by the ids of a table, or take it out"
    taken = finding.kind == "no_common_id" and finding.where.startswith("graph ")
    cure = "choose another id column, use it as a table, or take it out" if taken else _HARD[finding.kind]
    return f"{_same_way(data)}{cure}" if finding.kind == "no_common_id" else cure


def _same_way(data: HetData) -> str:
    """Return what comes before another cure where ids differ in how they are written: it is the likelier one."""
    return "write ids the same way, or " if ways_apart(data.id_series) else ""


def _rewritten(texts: pl.Series, ways: list[str]) -> str:
    """Return what becomes of the first of the texts that is another in these ways."""
    after = respelled(texts, ways)
    changed = (texts != after).arg_true()
    return f"{quoted(texts[changed[0]], 30)} becomes {quoted(after[changed[0]], 30)}" if len(changed) else ""


def stray_edges(data: HetData) -> list[str]:
    """Return a sentence for each graph of which a few edges lead to ids that no table and no label has."""
    words = "{}: {}, {:.2g}% of all, lead to {}"
    found = [(each, share) for each, share in _unknown_ends(data) if share <= STRAY]
    return [
        one_sentence(words.format(_capital(each.where), each.message.split(" to ")[0], 100 * share, _ends(each)))
        for each, share in found
    ]


def _ends(finding: Finding) -> str:
    example = f" (for example {quoted(finding.examples[0], 30)})" if finding.examples else ""
    return finding.message.split(" to ", 1)[1].replace(":", f"{example}:", 1)


def _unknown_ends(data: HetData) -> list[tuple[Finding, float]]:
    """Return what is reported of edges to ids that nothing else has, each with its share of the graph's edges."""
    names = {f"graph {quoted(name)}": name for name in data.graphs}
    found = [each for each in data.report if each.kind == "unknown_id" and each.where in names]
    return [(each, each.count / max(1, data.graphs[names[each.where]].n_edges)) for each in found]


def _leaking(data: HetData) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Return the columns that give the label away, by source, then the graphs and the sources that do."""
    columns: dict[str, list[str]] = {}
    leaks = find_leaks(data)
    for leak in leaks:
        if leak.column:
            columns.setdefault(leak.name, []).append(leak.column)
    graphs = [leak.name for leak in leaks if leak.part == "graph"]
    tables = [leak.name for leak in leaks if leak.kind == "label_presence"]
    # Without any table there is nothing to learn from.
    tables = tables if len(tables) < len(data.sources) else []
    return {name: found for name, found in columns.items() if name not in tables}, graphs, tables


def _problem_text(finding: Finding, cure: str) -> str:
    first = finding.examples[0] if finding.examples else ""
    first = first if finding.kind.startswith("near_") else quoted(first, 30)  # quoted there already
    example = f", for example {first}" if finding.examples else ""
    # Only what is wrong: what the library does about it by itself is not what the person is asked.
    after = r"[;?]|: (?=taken|kept|dropped|these|the first|nothing|leave it out|is this)"
    problem = re.split(after, finding.message)[0]
    return one_sentence(f"{_capital(finding.where)}: {problem}{example}: {cure}.")


def _capital(where: str) -> str:
    return where[:1].upper() + where[1:]
