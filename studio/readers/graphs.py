"""Graphs: the edges of a table, and what every reader of graphs does at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from hetcore.data.edges import UNNAMED
from hetcore.data.identity import as_ids
from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.columns import WEIGHT_NAMES, column_names, end_columns, typed
from studio.readers.parsed import ParsedGraph, ParsedTable

__all__ = ["directed", "edges_of_table", "finished_graph", "limited", "node_names"]

_SOME, _LOOKED_AT = 2_000, 8
"""Rows and columns in which ends of edges are looked for by what they name."""
_SEVERAL = 10
"""Words from which two columns may name the same things: "yes" and "no" are in many."""


def edges_of_table(name: str, table: ParsedTable, options: Mapping[str, Any]) -> ParsedGraph:
    """Take the columns of a table that are the ends and the weight of edges.

    Raises
    ------
    DataError
        If there are fewer than two columns or rows of edges, or a weight is no number.
    """
    frame = table.frame
    if _is_matrix(frame):
        raise DataError(f"{name} is a matrix of links: give a list of edges, one a row, as source, target and weight.")
    source, target, weight = _edge_columns(frame, options)
    if weight is not None:
        table = _with_numbers(table, weight, options)
    # As ids are read everywhere: a float of 1 is "1", and one of 2^53 or more is refused.
    try:
        edges = [as_ids(frame[end])[0].alias(role) for end, role in ((source, "source"), (target, "target"))]
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    guesses = [*table.guesses, f"edges from {shown(source)!r} to {shown(target)!r}"]
    if weight is not None:
        edges.append(_weights(name, table.frame[weight]))
        guesses.append(f"weights in {shown(weight)!r}")
    left_out = [column for column in frame.columns if column not in (source, target, weight)]
    findings = list(table.findings)
    if left_out:
        # who has weights under another name would miss them
        cure = ": one of weights must be called 'weight'" if weight is None else ""
        text = f"{counted(len(left_out), 'column')} not used{cure}"
        findings.append(Finding("unused_column", "", len(left_out), text, tuple(left_out)))
    listed = pl.DataFrame(edges)
    findings += _direction(frame.select(left_out), listed)
    return ParsedGraph(limited(name, listed), guesses, findings, sheets=table.sheets)


def _direction(rest: pl.DataFrame, edges: pl.DataFrame) -> list[Finding]:
    """Return what is said of a list of edges that lead one way: by a column, or by other weights on the way back."""
    for column in rest.iter_columns():
        values = column.cast(pl.String).str.to_lowercase()
        way = ["directed", "true", "yes", "1"] if column.name.strip().lower() == "directed" else ["directed"]
        if count := int(values.is_in(way).sum()):
            return directed(count)
    if "weight" not in edges.columns:
        return []
    # once a way, for an edge that is listed again has several weights by itself
    ways = edges.filter(pl.col("source") != pl.col("target")).group_by("source", "target").agg(pl.col("weight").sum())
    back = ways.select(source="target", target="source", weight="weight")
    uneven = ways.join(back, on=["source", "target"]).filter(pl.col("weight") != pl.col("weight_right")).height // 2
    text = f"{counted(uneven, 'pair')} of nodes with other weights in the two directions: a directed graph"
    return [Finding("directed", "", uneven, text)] if uneven else []


def _is_matrix(frame: pl.DataFrame) -> bool:
    """Tell whether the table has a row and a column for each node: named by them, or of 0 and 1 alone."""
    ids, names = frame[:, 0].cast(pl.String).str.strip_chars().to_list(), [name.strip() for name in frame.columns]
    if frame.height == frame.width - 1 > 1:
        return sorted(map(str, ids)) == sorted(names[1:])
    bits = (column.cast(pl.Float64, strict=False).is_in([0.0, 1.0]) for column in frame.iter_columns())
    return frame.height == frame.width > 3 and all(column.fill_null(False).all() for column in bits)


def _edge_columns(frame: pl.DataFrame, options: Mapping[str, Any]) -> tuple[str, str, str | None]:
    # Reversed, so that of two names that differ in case the first one counts.
    by_name = {column.strip().lower(): column for column in reversed(frame.columns)}
    ends = options.get("ends") or end_columns(frame.columns)
    ends = tuple(by_name.get(end.strip().lower(), end) for end in ends) if ends else _ends_by_overlap(frame)
    if unknown := [end for end in ends if end not in frame.columns]:
        raise DataError(
            f"There is no column {shown(unknown[0])!r} for the ends of edges: choose two columns of the table."
        )
    weight = next((by_name[key] for key in WEIGHT_NAMES if key in by_name and by_name[key] not in ends), None)
    rest = [column for column in frame.columns if column not in ends]
    # A third column of numbers may be a year: a weight without a name is one where no column has a name.
    unnamed = all(UNNAMED.fullmatch(column) for column in frame.columns)
    if weight is None and not options.get("ends") and len(rest) == 1 and unnamed and _all_numbers(frame[rest[0]]):
        weight = rest[0]
    return *ends, weight


def _ends_by_overlap(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the first two columns of words that name the same things, as where a date stands before caller and called.

    Without such the first two columns are taken, as in the edge lists of most collections.
    """
    first = frame[:_SOME, :_LOOKED_AT]
    words = [each for each in first if each.dtype == pl.String and not _all_numbers(each)]
    names = {each.name: set(each.drop_nulls()) for each in words}
    several = {name: values for name, values in names.items() if len(values) >= _SEVERAL}
    for one, other in combinations(several, 2):
        if 2 * len(several[one] & several[other]) >= min(len(several[one]), len(several[other])):
            return one, other
    return tuple(frame.columns[:2])


def _with_numbers(table: ParsedTable, column: str, options: Mapping[str, Any]) -> ParsedTable:
    """Return the table with a column as a table has it, decimal commas and all; as it is where that is no number."""
    alone = ParsedTable(table.frame.select(column), table.guesses, table.findings, table.delimiter)
    read = typed(alone, options)
    if not read.frame[column].dtype.is_numeric():
        return table
    frame = table.frame.with_columns(read.frame[column])
    return table._replace(frame=frame, guesses=read.guesses, findings=read.findings)


def _all_numbers(series: pl.Series) -> bool:
    return series.cast(pl.Float64, strict=False).null_count() == series.null_count() < len(series)


def _weights(name: str, series: pl.Series) -> pl.Series:
    """Return weights as numbers; those that are missing, negative or infinite are for the graph to report."""
    if series.dtype == pl.String:
        series = series.str.strip_chars()
        series = series.set(series.str.to_lowercase().is_in(["", "na", "nan", "null"]).fill_null(False), None)
    weights = series.cast(pl.Float64, strict=False)
    # A weight that is there and no number is a mistake; one that is missing is left to the graph.
    wrong = (weights.is_null() & series.is_not_null()).arg_true()
    if len(wrong):
        value, row = shown(str(series[wrong[0]])), int(wrong[0]) + 1
        raise DataError(f"{name}: the weight {value!r} of edge {row:,} is no number: correct it or leave it empty.")
    return weights.alias("weight")


def limited(name: str, edges: pl.DataFrame) -> pl.DataFrame:
    """Return the edges, or raise DataError if there are more than the limit."""
    if edges.height > UPLOADS.edges:
        raise DataError(
            f"{name} has {edges.height:,} edges, more than {UPLOADS.edges:,}: keep the strongest edges only."
        )
    return edges


def finished_graph(
    name: str,
    ids: Sequence[str],
    attributes: Sequence[Mapping[str, Any]],
    edges: Sequence[tuple[str, str, Any]],
    guesses: list[str],
    findings: Sequence[Finding] = (),
) -> ParsedGraph:
    """Check nodes and edges and make frames of them.

    Parameters
    ----------
    name : str
        The file's name, for sentences.
    ids : sequence of str
        Nodes, in the file's order.
    attributes : sequence of mappings
        What the file says of each node; what is neither text nor a number is left out.
    edges : sequence of (source, target, weight or None)
        Weights as written.
    guesses, findings
        So far.

    Raises
    ------
    DataError
        If an id stands twice, a weight is no number, or there are too many edges.
    """
    if len(set(ids)) < len(ids):
        twice = next(node for node, count in Counter(ids).items() if count > 1)
        raise DataError(f"{name} has the node {shown(twice)!r} twice: give every node an id of its own.")
    columns = list(zip(*edges)) or [(), (), ()]
    frame = pl.DataFrame(
        {"source": pl.Series(columns[0], dtype=pl.String), "target": pl.Series(columns[1], dtype=pl.String)}
    )
    given = pl.Series([weight is not None for weight in columns[2]], dtype=pl.Boolean)
    if given.any():
        weights = _weights(name, pl.Series(list(map(_text, columns[2])), dtype=pl.String))
        # Edges without a weight count as one, as in a graph that has none.
        frame = frame.with_columns(weights.set(~given, 1.0))
        findings = [*findings, *_without_weight(frame.filter(~given))]
    findings = [*findings, *_unknown_nodes(set(ids), frame)]
    return ParsedGraph(limited(name, frame), guesses, findings, _node_table(ids, attributes))


def directed(edges: int) -> list[Finding]:
    """Return what is said of a graph whose edges have a direction."""
    return [Finding("directed", "", edges, "a directed graph")]


def _without_weight(edges: pl.DataFrame) -> list[Finding]:
    text = f"{counted(edges.height, 'edge')} without a weight beside edges with one: weight 1 taken"
    examples = tuple(f"{source} – {target}" for source, target, _ in edges.head(5).rows())
    return [Finding("missing_weight", "", edges.height, text, examples)] if edges.height else []


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _unknown_nodes(ids: set[str], edges: pl.DataFrame) -> list[Finding]:
    ends = pl.concat([edges["source"], edges["target"].alias("source")]).unique(maintain_order=True)
    unknown = [end for end in ends if end not in ids]
    text = f"{len(unknown):,} ends of edges are not among the nodes of the file: kept"
    return [Finding("unknown_node", "", len(unknown), text, tuple(unknown))] if unknown else []


def _node_table(ids: Sequence[str], attributes: Sequence[Mapping[str, Any]]) -> pl.DataFrame | None:
    """Return the nodes with what the file says of them, a table that may become a source; None if it says nothing."""
    fields = list(
        dict.fromkeys(field for node in attributes for field, value in node.items() if isinstance(value, str))
    )
    # The nodes' own id is the column before these.
    fields = [field for field in fields if field != "id"][: UPLOADS.columns]
    if not fields or not ids:
        return None
    names, _ = column_names(["id", *fields])
    cells = [[value if isinstance(value := node.get(field), str) else None for node in attributes] for field in fields]
    columns = {new: pl.Series(values, dtype=pl.String) for new, values in zip(names, [list(ids), *cells])}
    # By the rules of tables, for it may become a source.
    return typed(ParsedTable(pl.DataFrame(columns), [], []), {}).frame


def node_names(ids: list[str], labels: list[Any], wanted: str | None, by_label: bool) -> tuple[list[str], list[str]]:
    """Return the nodes' names, by label or id as told or guessed, and words that say which."""
    usable = (
        bool(labels) and all(isinstance(label, str) and label for label in labels) and len(set(labels)) == len(labels)
    )
    if wanted == "label" and not usable:
        raise DataError(
            "The nodes cannot be named by label, for some labels are missing or stand twice: name them by id."
        )
    # Where ids and labels are the same there is nothing to say.
    if usable and (wanted == "label" or (wanted is None and by_label)) and labels != ids:
        return labels, ["nodes named by their labels"]
    return ids, ["nodes named by their ids"] if usable and labels != ids else []
