"""Column names: which look like ids or ends of edges, and what blank, repeated and overlong ones become."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hetcore.data.columns import PATTERN
from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS

__all__ = ["WEIGHT_NAMES", "column_names", "end_columns", "looks_like_id", "refuse_size"]

END_NAMES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("source_id", "target_id"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("u", "v"),
    ("i", "j"),
    ("head", "tail"),
)
_FRONT = re.compile(r"(from|source|src|head|to|target|dst|tail)[\s_.-]+(.+)$")
_BACK = re.compile(r"(.+?)[\s_.-]*(from|source|src|1|to|target|dst|2)$")
_OPPOSITE = {"from": "to", "source": "target", "src": "dst", "head": "tail", "1": "2"}
WEIGHT_NAMES = ("weight", "weights", "w", "value", "strength", "count", "similarity")
_ID_NAMES = {"id", "ids", "key", "uuid", "guid", "identifier", "index", "code", "name", "title", "row"}
_ID_ENDING = re.compile(r"(?:[_\s.-]ids?|[a-z]I[dD]s?)$")


def looks_like_id(name: str) -> bool:
    """Whether a column of this name holds ids, which stay text whatever they look like."""
    name = name.strip()
    return name.lower() in _ID_NAMES or _ID_ENDING.search(name) is not None


def end_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that are named like the ends of edges: source and target, from film and to film, user1 …

    None where no two are.
    """
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for first, second in END_NAMES:
        if first in by_name and second in by_name:
            return by_name[first], by_name[second]
    for pattern, word, of in ((_FRONT, 1, 2), (_BACK, 2, 1)):
        parts = {low: found for low in by_name if (found := pattern.fullmatch(low))}
        for low, found in parts.items():
            other = _OPPOSITE.get(found[word])
            for their, match in parts.items():
                if match[word] == other and match[of] == found[of]:
                    return by_name[low], by_name[their]
    return None


def column_names(given: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """Return distinct, non-empty names, and what was renamed."""
    names: list[str] = []
    blank, repeated, cut, patterns = [], [], [], []
    taken: set[str] = {name.strip() for name in given}
    seen: set[str] = set()
    for k, raw in enumerate(given, 1):
        name = raw.strip()[: UPLOADS.header_characters]
        if len(name) < len(raw.strip()):
            cut.append(f"column {k}")
        if not name:
            blank.append(f"column_{k}")
        if PATTERN.fullmatch(name):
            patterns.append(name)
            name = f"{name}_"
        base, number = name or f"column_{k}", 2
        name = base
        while name in seen or (name != raw.strip() and name in taken):
            name, number = f"{base}_{number}", number + 1
        if base in seen:
            repeated.append(name)
        seen.add(name)
        names.append(name)
    return names, _renamed(blank, repeated, cut, patterns)


def _renamed(blank: list[str], repeated: list[str], cut: list[str], patterns: list[str]) -> list[Finding]:
    found = (
        ("blank_header", blank, "column", "without a name: numbered"),
        ("repeated_header", repeated, "column", "with the name of an earlier one: numbered"),
        ("long_header", cut, "name", f"of more than {UPLOADS.header_characters:,} characters: cut"),
        ("pattern_header", patterns, "name", "that would stand for other columns, such as *: _ put behind"),
    )
    return [
        Finding(kind, "", len(names), f"{counted(len(names), noun)} {text}", tuple(names))
        for kind, names, noun, text in found
        if names
    ]


def refuse_size(name: str, rows: int, columns: int, edges: bool = False, cells: int = UPLOADS.cells) -> None:
    """Raise DataError if a table has more rows (or edges, where rows are such), columns or cells than the limits."""
    for count, limit, what in (
        (columns, UPLOADS.columns, "columns"),
        (rows, UPLOADS.edges if edges else UPLOADS.rows, "edges" if edges else "rows"),
        (rows * columns, cells, "cells"),
    ):
        if count > limit:
            raise DataError(f"{name} has {count:,} {what}, more than {limit:,}: sample it, or leave some columns out.")
