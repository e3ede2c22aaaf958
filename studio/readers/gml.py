"""GML: a file of keys and values in brackets, of which one is a graph with nodes and edges."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.readers.decoding import as_utf8
from studio.readers.graphs import directed, finished_graph, node_names
from studio.readers.parsed import ParsedGraph

__all__ = ["read_gml"]

_TOKEN = re.compile(
    # Possessive quantifiers: without them a file of spaces and # takes quadratic time.
    r'[\s,;]*+(?:#[^\n]*+[\s,;]*+)*+(?:(?P<key>[A-Za-z_]\w*)|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>"[^"]*")|(?P<bracket>[\[\]]))'
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
    graph = _only_graph(name, _gml_fields(name, text.decode()))
    nodes = [dict(value) for key, value in graph if key == "node" and isinstance(value, list)]
    ids = [_gml_field(name, "node", node, k, "id") for k, node in enumerate(nodes, 1)]
    names, naming = node_names(ids, [node.get("label") for node in nodes], options.get("nodes_by"), by_label=True)
    edges = [
        _gml_edge(name, value, k, dict(zip(ids, names)))
        for k, value in enumerate((v for key, v in graph if key == "edge"), 1)
    ]
    # Names by label would hide that two nodes have one id.
    if len(set(ids)) < len(ids):
        names = ids  # which finished_graph refuses
    findings = directed(len(edges)) if ("directed", "1") in graph else []
    return finished_graph(name, names, nodes, edges=edges, guesses=[*guesses, "GML", *naming], findings=findings)


def _only_graph(name: str, fields: _Fields) -> _Fields:
    graphs = [value for key, value in fields if key == "graph" and isinstance(value, list)]
    if not graphs:
        raise DataError(f'{name} holds no "graph [ ... ]": export it as GML, GraphML or CSV.')
    if len(graphs) > 1:
        raise DataError(f"{name} holds {len(graphs):,} graphs: save each in a file of its own.")
    return graphs[0]


def _gml_fields(name: str, text: str) -> _Fields:
    """Return the fields of the file as (key, value) with nested lists for brackets."""
    stack: list[_Fields] = [[]]
    key, position, end = None, 0, len(text.rstrip())
    # A loop with a stack and no recursion, for the nesting is the file's choice.
    while position < end:
        token = _TOKEN.match(text, position)
        # A comment may end the file without a token after it.
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
    # Keys and values take turns, and ] stands where a key may.
    if (kind == "key" or value == "]") != (key is None):
        raise _no_gml(name, text, token.start())
    if kind == "key":
        return value
    if value == "]":
        if len(stack) == 1:
            raise _no_gml(name, text, token.start())
        stack.pop()
    elif value == "[":
        # Each level is a list in memory, and no graph needs many.
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
