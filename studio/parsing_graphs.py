"""Graphs: edges of a table, GML, MatrixMarket, and what every reader of graphs does at its end."""

from __future__ import annotations

import html
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hetcore.data.report import Finding
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.parsed import ParsedGraph, ParsedTable
from studio.parsing_names import END_NAMES, WEIGHT_NAMES, column_names
from studio.parsing_text import as_utf8
from studio.parsing_types import typed
from studio.sentences import shown

__all__ = ["edges_of_table", "finished_graph", "node_names", "read_gml", "read_matrix_market"]


def edges_of_table(name: str, table: ParsedTable, options: Mapping[str, Any]) -> ParsedGraph:
    """Take the columns of a table that are the ends and the weight of edges.

    Raises
    ------
    DataError
        If there are fewer than two columns or rows of edges, or a weight is no number.
    """
    source, target, weight = _edge_columns(table.frame, options)
    frame = table.frame
    edges = [frame[source].cast(pl.String).alias("source"), frame[target].cast(pl.String).alias("target")]
    guesses = [*table.guesses, f"edges from {shown(source)!r} to {shown(target)!r}"]
    if weight is not None:
        edges.append(_weights(name, frame[weight]))
        guesses.append(f"weights in {shown(weight)!r}")
    left_out = [column for column in frame.columns if column not in (source, target, weight)]
    findings = list(table.findings)
    if left_out:
        findings.append(
            Finding("unused_column", "", len(left_out), f"{len(left_out):,} columns are not used", tuple(left_out))
        )
    return ParsedGraph(_limited(name, pl.DataFrame(edges)), guesses, findings)


def _edge_columns(frame: pl.DataFrame, options: Mapping[str, Any]) -> tuple[str, str, str | None]:
    by_name = {column.strip().lower(): column for column in reversed(frame.columns)}
    ends = options.get("ends") or next((pair for pair in END_NAMES if set(pair) <= set(by_name)), None)
    ends = tuple(by_name.get(end.strip().lower(), end) for end in ends) if ends else tuple(frame.columns[:2])
    if unknown := [end for end in ends if end not in frame.columns]:
        raise DataError(
            f"There is no column {shown(unknown[0])!r} for the ends of edges: choose two columns of the table."
        )
    weight = next((by_name[key] for key in WEIGHT_NAMES if key in by_name and by_name[key] not in ends), None)
    rest = [column for column in frame.columns if column not in ends]
    if weight is None and not options.get("ends") and len(rest) == 1 and _all_numbers(frame[rest[0]]):
        weight = rest[0]
    return *ends, weight


def _all_numbers(series: pl.Series) -> bool:
    return series.cast(pl.Float64, strict=False).null_count() == series.null_count() < len(series)


def _weights(name: str, series: pl.Series) -> pl.Series:
    """Return weights as numbers; those that are missing, negative or infinite are for the graph to report."""
    if series.dtype == pl.String:
        series = series.str.strip_chars()
        series = series.set(series.str.to_lowercase().is_in(["", "na", "nan", "null"]).fill_null(False), None)
    weights = series.cast(pl.Float64, strict=False)
    wrong = (weights.is_null() & series.is_not_null()).arg_true()
    if len(wrong):
        value, row = shown(str(series[wrong[0]])), int(wrong[0]) + 1
        raise DataError(f"{name}: the weight {value!r} of edge {row:,} is no number: correct it or leave it empty.")
    return weights.alias("weight")


def _limited(name: str, edges: pl.DataFrame) -> pl.DataFrame:
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
    if any(weight is not None for weight in columns[2]):
        frame = frame.with_columns(
            _weights(name, pl.Series(list(map(_text, columns[2])), dtype=pl.String)).fill_null(1.0)
        )
    findings = [*findings, *_unknown_nodes(set(ids), frame)]
    return ParsedGraph(_limited(name, frame), guesses, findings, _node_table(ids, attributes))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _unknown_nodes(ids: set[str], edges: pl.DataFrame) -> list[Finding]:
    ends = pl.concat([edges["source"], edges["target"].alias("source")]).unique(maintain_order=True)
    unknown = [end for end in ends if end not in ids]
    words = f"{len(unknown):,} ends of edges are not among the nodes of the file: kept"
    return [Finding("unknown_node", "", len(unknown), words, tuple(unknown))] if unknown else []


def _node_table(ids: Sequence[str], attributes: Sequence[Mapping[str, Any]]) -> pl.DataFrame | None:
    """Return the nodes with what the file says of them, a table that may become a source; None if it says nothing."""
    fields = list(
        dict.fromkeys(field for node in attributes for field, value in node.items() if isinstance(value, str))
    )
    fields = [field for field in fields if field != "id"][: UPLOADS.columns]
    if not fields or not ids:
        return None
    names, _ = column_names(["id", *fields])
    cells = [[value if isinstance(value := node.get(field), str) else None for node in attributes] for field in fields]
    columns = {new: pl.Series(values, dtype=pl.String) for new, values in zip(names, [list(ids), *cells])}
    return typed(ParsedTable(pl.DataFrame(columns), [], []), {}).frame


# GML ------------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r'[\s,;]*(?:#[^\n]*\s*)*(?:(?P<key>[A-Za-z_]\w*)|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>"[^"]*")|(?P<bracket>[\[\]]))'
)

_Fields = list[tuple[str, Any]]


def read_gml(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a GML graph; nodes are named by their labels where every node has one of its own, else by their ids.

    Raises
    ------
    DataError
        If the text is no GML, nested too deeply, or a node or edge lacks what it needs.
    """
    text, guesses = as_utf8(name, content, options.get("encoding"))
    graph = next(
        (value for key, value in _gml_fields(name, text.decode()) if key == "graph" and isinstance(value, list)), None
    )
    if graph is None:
        raise DataError(f'{name} holds no "graph [ ... ]": export it as GML, GraphML or CSV.')
    nodes = [dict(value) for key, value in graph if key == "node" and isinstance(value, list)]
    ids = [_gml_field(name, "node", node, k, "id") for k, node in enumerate(nodes, 1)]
    names, words = node_names(ids, [node.get("label") for node in nodes], options.get("nodes_by"), by_label=True)
    edges = [
        _gml_edge(name, value, k, dict(zip(ids, names)))
        for k, value in enumerate((v for key, v in graph if key == "edge"), 1)
    ]
    if len(set(ids)) < len(ids):
        names = ids  # which finished_graph refuses
    return finished_graph(name, names, nodes, edges, [*guesses, "GML", *words])


def node_names(ids: list[str], labels: list[Any], told: str | None, by_label: bool) -> tuple[list[str], list[str]]:
    """Return the nodes' names, by label or id as told or guessed, and words that say which."""
    usable = (
        bool(labels) and all(isinstance(label, str) and label for label in labels) and len(set(labels)) == len(labels)
    )
    if told == "label" and not usable:
        raise DataError(
            "The nodes cannot be named by label, for some labels are missing or stand twice: name them by id."
        )
    if usable and (told == "label" or (told is None and by_label)) and labels != ids:
        return labels, ["nodes named by their labels"]
    return ids, ["nodes named by their ids"] if usable and labels != ids else []


def _gml_fields(name: str, text: str) -> _Fields:
    """Return the fields of the file as (key, value) with nested lists for brackets."""
    stack: list[_Fields] = [[]]
    key, position, end = None, 0, len(text.rstrip())
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            if text[position:end].lstrip().startswith("#"):
                break
            raise _no_gml(name, text, position)
        key = _gml_token(name, text, token, stack, key)
        position = token.end()
    if len(stack) > 1 or key is not None:
        raise DataError(f"{name} ends in the middle of its GML: it is cut off; export it anew.")
    return stack[0]


def _gml_token(name: str, text: str, token: re.Match[str], stack: list[_Fields], key: str | None) -> str | None:
    """Take one token; return the key that waits for its value."""
    kind, value = token.lastgroup, token[token.lastgroup]
    if (kind == "key" or value == "]") != (key is None):
        raise _no_gml(name, text, token.start())
    if kind == "key":
        return value
    if value == "]":
        if len(stack) == 1:
            raise _no_gml(name, text, token.start())
        stack.pop()
    elif value == "[":
        if len(stack) > UPLOADS.nesting:
            raise DataError(f"{name} is nested more than {UPLOADS.nesting} deep: export it as an edge list.")
        inner: _Fields = []
        stack[-1].append((key, inner))
        stack.append(inner)
    else:
        stack[-1].append((key, html.unescape(value[1:-1]) if kind == "text" else value))
    return None


def _no_gml(name: str, text: str, position: int) -> DataError:
    line = text.count("\n", 0, position) + 1
    return DataError(f"{name} is no valid GML (line {line:,}): mend it, or export the graph as GraphML or CSV.")


def _gml_field(name: str, what: str, fields: Mapping[str, Any], k: int, field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str) or not value:
        raise DataError(f"{name}: {what} {k:,} has no {field}: give every {what} one.")
    return value


def _gml_edge(name: str, value: Any, k: int, names: Mapping[str, str]) -> tuple[str, str, Any]:
    fields = dict(value) if isinstance(value, list) else {}
    ends = [_gml_field(name, "edge", fields, k, end) for end in ("source", "target")]
    weight = fields.get("weight", fields.get("value"))
    return names.get(ends[0], ends[0]), names.get(ends[1], ends[1]), weight if isinstance(weight, str) else None


# MatrixMarket ---------------------------------------------------------------------------------------------------------


def read_matrix_market(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a square sparse matrix as a graph whose nodes are the numbers 1 to n.

    Raises
    ------
    DataError
        If the header does not fit what follows, or the matrix is dense, complex, not square, or too large.
    """
    text, guesses = as_utf8(name, content, options.get("encoding"))
    kind, symmetry, start = _matrix_header(name, text)
    numbers = _numbers(name, text[start:])
    if len(numbers) < 3:
        raise DataError(f'{name} has no size line "rows columns entries": export it anew as a coordinate matrix.')
    n, m, count = numbers[:3]
    width = 2 if kind == "pattern" else 3
    _check_matrix(name, n, m, count, len(numbers) - 3, width)
    cells = numbers[3:].reshape(int(count), width)
    ends = _matrix_ends(name, cells, int(n))
    edges = pl.DataFrame({"source": ends[:, 0].astype(str), "target": ends[:, 1].astype(str)})
    if width == 3:
        edges = edges.with_columns(pl.Series("weight", np.ascontiguousarray(cells[:, 2])))
    words = [f"{symmetry} {kind} matrix of {int(n):,} nodes, named 1 to {int(n):,}"]
    return ParsedGraph(_limited(name, edges), guesses + words, [])


def _matrix_header(name: str, text: bytes) -> tuple[str, str, int]:
    line, _, _ = text.partition(b"\n")
    words = line.decode(errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(f"{name} does not begin with a MatrixMarket header line: export the matrix anew.")
    if (
        words[2] != "coordinate"
        or words[3] not in ("real", "integer", "pattern")
        or words[4] not in ("general", "symmetric")
    ):
        raise DataError(
            f"{name} holds a matrix that is {shown(' '.join(words[2:]))}: a graph is coordinate, real or pattern."
        )
    start = len(line) + 1
    while text[start : start + 1] in (b"%", b"\n", b"\r"):
        start = text.find(b"\n", start) + 1 or len(text)
    return words[3], words[4], start


def _numbers(name: str, text: bytes) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode(), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise DataError(
                f"{name} holds something other than numbers below its header: export the matrix anew."
            ) from None


def _check_matrix(name: str, n: float, m: float, count: float, given: int, width: int) -> None:
    if not (n == m >= 1 and n.is_integer()):
        raise DataError(f"{name} holds a matrix of {n:g} x {m:g}: a graph is a square matrix.")
    if n > UPLOADS.rows or count > UPLOADS.edges:
        raise DataError(
            f"{name} has {n:,.0f} nodes and {count:,.0f} entries, more than {UPLOADS.rows:,} and {UPLOADS.edges:,}: "
            "keep a part of the graph."
        )
    if count < 0 or count * width != given:
        raise DataError(
            f"{name} announces {count:,.0f} entries but holds {given / width:,.0f}: it is cut off or damaged."
        )


def _matrix_ends(name: str, cells: np.ndarray, n: int) -> np.ndarray:
    ends = cells[:, :2]
    wrong = np.flatnonzero(((ends < 1) | (ends > n) | (ends != np.floor(ends))).any(axis=1))
    if len(wrong):
        raise DataError(f"{name}: entry {wrong[0] + 1:,} is outside the {n:,} x {n:,} matrix: count from 1 to {n:,}.")
    return ends.astype(np.int64)
