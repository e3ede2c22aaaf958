"""JSON: records in an array, one record a line, columns by name, and graphs as node-link."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.columns import column_names, refuse_size
from studio.readers.decoding import as_utf8
from studio.readers.graphs import directed, finished_graph
from studio.readers.parsed import ParsedGraph, ParsedTable, nested_columns

__all__ = ["read_node_link", "read_records"]


class _Literal(str):
    """A number, as it was written."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        # dict keeps the last of two without a word.
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"A record has the field {shown(twice)!r} twice: name each field once.")
    return result


_decoder = json.JSONDecoder(
    # Numbers stay as written, so that 1.0 and 1 are judged by the rules of text columns. Not strict: a tab in a text
    # does no harm.
    parse_int=_Literal, parse_float=_Literal, parse_constant=_Literal, object_pairs_hook=_object, strict=False
)


def _parsed(name: str, text: str, line: int | None = None) -> Any:
    try:
        # The C parser is quick and has no bound on depth but the stack, hence the clause below it.
        return _decoder.decode(text.strip())
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        raise DataError(f"{name} is no valid JSON (line {at:,}: {error.msg}): mend it or export it anew.") from None
    except RecursionError:
        raise DataError(f"{name} is nested too deeply: export it as plain records.") from None
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def read_records(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read JSON records (an array, or one a line) or columns ({"name": [values]}).

    Raises
    ------
    DataError
        If it is no JSON, holds something else, or fewer than two fields without lists or objects.
    """
    text, guesses = as_utf8_json(name, content, options.get("encoding"))
    first = text.lstrip()[:1]
    if first == "{" and not _is_lines(text):
        return _columns(name, _parsed(name, text), guesses)
    if first == "{":
        lines = ((k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip())
        return _table(name, (_parsed(name, line, k) for k, line in lines), [*guesses, "one JSON record a line"])
    records = _parsed(name, text)
    if not isinstance(records, list):
        raise DataError(f'{name} holds a single value: a table is an array of records such as [{{"id": "a", "x": 1}}].')
    return _table(name, records, [*guesses, "an array of JSON records"])


def as_utf8_json(name: str, content: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """Return the text of a JSON file, which may be one long line."""
    text, guesses = as_utf8(name, content, encoding, long_lines=True)
    return text.decode(), guesses


def _is_lines(text: str) -> bool:
    """Whether the first line is a record by itself and not the whole file."""
    first, _, rest = text.strip().partition("\n")
    if not rest.strip():
        # One line can be one record or a table of columns; lists as values tell columns.
        return "\n" not in text.strip() and _single_record(first)
    try:
        _decoder.decode(first.strip())
    except (ValueError, RecursionError):
        return False
    return True


def _single_record(line: str) -> bool:
    try:
        value = _decoder.decode(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not all(isinstance(cells, list) for cells in value.values())


def _columns(name: str, columns: Any, guesses: list[str]) -> ParsedTable:
    # Names under which services put their records.
    for key in ("data", "records", "rows", "values"):
        if (
            isinstance(columns, dict)
            and isinstance(columns.get(key), list)
            and columns[key][:1]
            and isinstance(columns[key][0], dict)
        ):
            return _table(name, columns[key], [*guesses, f"an array of JSON records under {key!r}"])
    if not isinstance(columns, dict) or not columns or not all(isinstance(cells, list) for cells in columns.values()):
        raise DataError(f"{name} is neither an array of records nor columns by name: export it as an array of records.")
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{name} has columns of {min(lengths):,} to {max(lengths):,} values: give all the same length.")
    nested = {key: kind for key, cells in columns.items() for kind in map(_kind, cells) if kind}
    plain = {
        key: [_cell(name, key, value, k) for k, value in enumerate(cells, 1)]
        for key, cells in columns.items()
        if key not in nested
    }
    return _finished(name, plain, [*guesses, "JSON columns by name"], nested)


def _table(name: str, records: Iterable[Any], guesses: list[str]) -> ParsedTable:
    columns: dict[str, list[str | None]] = {}
    nested: dict[str, str] = {}
    count = 0
    for count, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(f"{name}: record {count:,} is no object with named fields: make every record one.")
        for field, value in record.items():
            if kind := _kind(value):
                nested[field] = kind
                columns.pop(field, None)
            if field in nested:
                continue
            cells = columns.setdefault(field, [])
            # A field that comes late is missing in the records before.
            cells.extend([None] * (count - 1 - len(cells)))
            cells.append(_cell(name, field, value, count))
        # Asked while it grows: a field a record makes a table of n squared cells.
        if len(columns) > UPLOADS.columns or len(columns) * count > 4 * UPLOADS.cells:
            refuse_size(name, count, len(columns))
    for cells in columns.values():
        cells.extend([None] * (count - len(cells)))
    return _finished(name, columns, guesses, nested)


def _kind(value: Any) -> str:
    """Return what a value is that is no single one, else nothing."""
    return "list" if isinstance(value, list) else "object" if isinstance(value, dict) else ""


def _cell(name: str, field: str, value: Any, row: int) -> str | None:
    if value is None or isinstance(value, str):
        # An empty text is a missing cell, as in CSV.
        return _whole(name, field, value, row) or None
    return "true" if value else "false"  # numbers are texts here, and nothing else is left


def _whole(name: str, field: str, value: str | None, row: int) -> str | None:
    # JSON can write half of a pair, which is no character and cannot be stored as UTF-8.
    if value is not None and not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(
            f"{name}: field {shown(field)!r} of record {row:,} holds half a surrogate pair: mend this text."
        )
    if value is not None and "\x00" in value:
        raise DataError(f"{name}: field {shown(field)!r} of record {row:,} holds a NUL character: remove it.")
    return value


def _finished(
    name: str, columns: Mapping[str, list[str | None]], guesses: list[str], nested: Mapping[str, str]
) -> ParsedTable:
    left_out = nested_columns(name, nested, len(columns))
    rows = max(map(len, columns.values()), default=0)
    if rows == 0:
        raise DataError(f"{name} holds no records: choose a file with at least one.")
    if len(columns) < 2:
        raise DataError(f"{name} has one column, but an id column and at least one more are needed.")
    refuse_size(name, rows, len(columns))
    names, findings = column_names([_whole(name, "name", key, 0) for key in columns])
    frame = pl.DataFrame({new: pl.Series(cells, dtype=pl.String) for new, cells in zip(names, columns.values())})
    return ParsedTable(frame, guesses, [*findings, *left_out])


def read_node_link(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a node-link graph: {"nodes": [{"id": ..}], "links" or "edges": [{"source": .., "target": ..}]}.

    Raises
    ------
    DataError
        If a part is missing, a link has no end, or an end is not the id (or the number) of a node.
    """
    text, guesses = as_utf8_json(name, content, options.get("encoding"))
    graph = _parsed(name, text)
    links = next((graph[key] for key in ("links", "edges") if isinstance(graph.get(key), list)), None)
    nodes = graph.get("nodes")
    if not isinstance(nodes, list) or links is None:
        raise DataError(
            f'{name} lacks the lists "nodes" and "links" of a node-link graph: export it as node-link, GraphML or CSV.'
        )
    ids = [_node_id(name, node, k) for k, node in enumerate(nodes, 1)]
    # Without an id anywhere the links count the nodes, as d3 does it.
    numbered = not any(isinstance(node, dict) and "id" in node for node in nodes)
    edges = [_link(name, link, k, ids if numbered else None) for k, link in enumerate(links, 1)]
    attributes = [_attributes(name, node, k) for k, node in enumerate(nodes, 1)]
    findings = directed(len(edges)) if graph.get("directed") is True else []
    return finished_graph(name, ids, attributes, edges=edges, guesses=[*guesses, "JSON node-link"], findings=findings)


def _attributes(name: str, node: Any, k: int) -> dict[str, Any]:
    fields = node.items() if isinstance(node, dict) else ()
    return {_whole(name, "name", key, k): _whole(name, key, text, k) for key, text in fields if isinstance(text, str)}


def _node_id(name: str, node: Any, k: int) -> str:
    value = (
        node
        if not isinstance(node, dict)
        else next((node[key] for key in ("id", "name", "label") if key in node), None)
    )
    if isinstance(value, bool) or not isinstance(value, str) or not value:
        raise DataError(f'{name}: node {k:,} has no id: give every node an "id".')
    return str(_whole(name, "id", value, k))


def _link(name: str, link: Any, k: int, numbered: list[str] | None) -> tuple[str, str, Any]:
    ends = [link.get(key) for key in ("source", "target")] if isinstance(link, dict) else [None, None]
    # d3 replaces the ends by the nodes themselves once a layout has run.
    ends = [end.get("id") if isinstance(end, dict) else end for end in ends]
    if not all(isinstance(end, str) and end for end in ends):
        raise DataError(f'{name}: link {k:,} lacks its "source" or "target": give both, as ids of nodes.')
    if numbered is not None and all(isinstance(end, _Literal) for end in ends):
        ends = [_by_number(name, end, k, numbered) for end in ends]
    ends = [str(_whole(name, "source or target", end, k)) for end in ends]
    return ends[0], ends[1], next((link[key] for key in ("weight", "value") if key in link), None)


def _by_number(name: str, end: str, k: int, ids: list[str]) -> str:
    # Its length first, for int of a long text is slow.
    if not (end.isdecimal() and len(end) < 10 and int(end) < len(ids)):
        there = f"nodes are numbered 0 to {len(ids) - 1:,}"
        raise DataError(f"{name}: link {k:,} has the end {shown(end)}, but {there}: mend it.")
    return ids[int(end)]
