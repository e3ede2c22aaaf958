"""What a reader hands on: tables and graphs, their bytes on the way out of the sandbox, the files parsed last.

Tables travel, and are kept by the run store, in the Arrow IPC stream format.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.messages import shown

__all__ = [
    "Found", "ParsedFiles", "ParsedGraph", "ParsedImages", "ParsedTable", "from_stream", "nested_columns", "to_stream",
]  # fmt: skip

NAMED = 20
"""Columns left out that are named."""
Found = tuple[dict[str, Any], list[pl.DataFrame]]
"""What was guessed and found in a file, and its frames."""


class ParsedTable(NamedTuple):
    """A table as read: text columns are still text, whatever they hold.

    Attributes
    ----------
    frame : polars.DataFrame
        Null where a cell is empty.
    guesses : list of str
        What was guessed about the file, a few words each.
    findings : list of Finding
        What was renamed, left out or is worth a look.
    delimiter : str
        What stands between columns, empty for formats that have no such thing.
    sheets : tuple of str
        Of a workbook with several tables, the sheet that was read and then the others that could be.
    """

    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    delimiter: str = ""
    sheets: tuple[str, ...] = ()


def nested_columns(name: str, others: Mapping[str, str], left: int) -> list[Finding]:
    """Return the finding that columns were left out that hold no single values; DataError if no table is left.

    Parameters
    ----------
    name : str
        Of the file.
    others : mapping of str to str
        Kinds of what they hold, by column.
    left : int
        Columns beside them.
    """
    if not others:
        return []
    each = [f"{shown(column)!r} ({kind})" for column, kind in others.items()]
    named = ", ".join(each[:NAMED]) + (f" and {len(each) - NAMED:,} more" if len(each) > NAMED else "")
    hold = "holds" if len(each) == 1 else "hold"
    if left < 2:
        raise DataError(f"{name}: too few columns are left, as {named} {hold} no single values: unnest or decode them.")
    text = f"{counted(len(each), 'column')} left out that {hold} no single values"
    return [Finding("nested_column", "", len(each), f"{text}: {named}; unnest or decode before use")]


class ParsedGraph(NamedTuple):
    """A graph as read: `edges` has "source", "target" (text) and perhaps "weight"; `nodes` has "id" and attributes."""

    edges: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    nodes: pl.DataFrame | None = None
    sheets: tuple[str, ...] = ()


class ParsedImages(NamedTuple):
    """Images as read: ids, `pixels` (m, h, w, c) uint8, c = 1 for grey and 3 for colour, what was done, findings."""

    ids: list[str]
    pixels: np.ndarray
    guesses: list[str]
    findings: list[Finding]


def to_stream(frame: pl.DataFrame, compression: Literal["uncompressed", "zstd"] = "uncompressed") -> bytes:
    """Return a table as bytes.

    A copy of the handle, not of the data, is written: Polars 2.1 holds the lock of a frame that it writes to a Python
    buffer while it waits for the interpreter's lock, and a thread that reads the same frame waits the other way round,
    which stops the whole process for ever.
    """
    buffer = io.BytesIO()
    frame.clone().write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


def from_stream(content: bytes) -> pl.DataFrame:
    """Return the table that `to_stream` wrote."""
    return pl.read_ipc_stream(io.BytesIO(content))


class ParsedFiles:
    """The files parsed last, so that one that was shown is not parsed again when it is used; frames never change.

    Parameters
    ----------
    limit : int
        Bytes of the frames that are kept at most.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._known: OrderedDict[tuple[Any, ...], Found] = OrderedDict()

    def get(self, key: tuple[Any, ...], parse: Callable[[], Found]) -> Found:
        """Return what is known under a key, or what `parse` returns, which is kept if there is room."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # Parsed without the lock: a file takes seconds, and others would wait for it.
        found = parse()
        with self._lock:
            self._known[key] = found
            # The oldest go; one that is alone and too large goes too.
            while sum(map(_bytes, self._known.values())) > self._limit:
                self._known.popitem(last=False)
        return found


def _bytes(found: Found) -> int:
    return sum(int(frame.estimated_size()) for frame in found[1])
