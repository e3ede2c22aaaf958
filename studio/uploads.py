"""Uploaded files to tables and graphs: read in a sandbox, with limits, and refused in one sentence.

    frame = read_table("ratings.csv", file)             # polars.DataFrame
    preview = preview_table("ratings.csv", file)         # frame, what was guessed, what was found
    graph = read_graph("friends.graphml", file)          # hetcore.data.Graph
    photos = read_images("photos.zip", file)             # hetcore.data.Source of an array

Every error is a `hetcore.errors.DataError` of one sentence, shorter than 300 characters, that says what is wrong, where
(line, row, column) and what to do. Formats: CSV, TSV and other delimited text, JSON records, NDJSON, XLSX, Parquet,
Arrow and Feather; for graphs also GraphML, GEXF, GML, JSON node-link and MatrixMarket; PNG and JPEG images in a zip.
Limits: `studio.limits.UPLOADS`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from hetcore.data.graph import Graph
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import one_sentence, shown
from studio.readers import sandbox
from studio.streams import from_stream

__all__ = [
    "GraphPreview",
    "ImagesPreview",
    "Options",
    "TablePreview",
    "preview_graph",
    "preview_images",
    "preview_table",
    "read_graph",
    "read_images",
    "read_table",
    "warm_up",
]

PARSED_BYTES = 128 * 2**20
_Found = tuple[dict[str, Any], list[pl.DataFrame]]
"""What was guessed and found in a file, and its frames."""


class Options(NamedTuple):
    """What the person says in place of a guess; None leaves the guess.

    Attributes
    ----------
    delimiter : str or None
        One of "," ";" tab "|", for graphs also " ".
    decimal : "." or "," or None
        What stands before decimals.
    encoding : "utf-8", "utf-16", "cp1252", "latin-1", "gb18030" or None
        Of text files.
    header : bool or None
        Whether the first row names the columns.
    ragged : "refuse" or "skip"
        What to do with rows of another number of cells; skipped rows are counted in a finding.
    text_columns : tuple of str
        Columns that stay text, such as ids.
    sheet : str or None
        Of a workbook.
    ends : (str, str) or None
        The two columns of an edge list.
    nodes_by : "id" or "label" or None
        What names the nodes of GML, GraphML and GEXF.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    ragged: str = "refuse"
    text_columns: tuple[str, ...] = ()
    sheet: str | None = None
    ends: tuple[str, str] | None = None
    nodes_by: str | None = None


class TablePreview(NamedTuple):
    """A table, what was guessed to read it (such as "semicolons between columns"), and what was found in it."""

    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]


class GraphPreview(NamedTuple):
    """Edges ("source", "target", perhaps "weight"), guesses, findings, and the nodes' attributes by "id" if any."""

    edges: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    nodes: pl.DataFrame | None


class ImagesPreview(NamedTuple):
    """Ids, pixels (m, h, w, c) uint8, what was done to read them, findings."""

    ids: list[str]
    pixels: np.ndarray
    guesses: list[str]
    findings: list[Finding]


def read_table(name: str, file: bytes | BinaryIO, options: Options = Options()) -> pl.DataFrame:  # noqa: B008 - immutable
    """Read an uploaded table.

    Parameters
    ----------
    name : str
        The file's name.
    file : bytes or binary file
        Its content; a file is read from its beginning.
    options : Options
        What the person said in place of guesses.

    Returns
    -------
    polars.DataFrame
        Columns of text, numbers, truth values, dates; null where a cell is empty.

    Raises
    ------
    DataError
        In one sentence, if the file is no table that can be read within the limits.
    """
    return preview_table(name, file, options).frame


def preview_table(name: str, file: bytes | BinaryIO, options: Options = Options()) -> TablePreview:  # noqa: B008
    """Read an uploaded table as `read_table` does, and say what was guessed and found."""
    answer, frames = _read(name, file, "table", options)
    return TablePreview(frames[0], [*answer["guesses"]], _findings(answer))


def read_graph(name: str, file: bytes | BinaryIO, options: Options = Options()) -> Graph:  # noqa: B008
    """Read an uploaded graph.

    Parameters
    ----------
    name : str
        The file's name.
    file : bytes or binary file
        Its content; a file is read from its beginning.
    options : Options
        What the person said in place of guesses.

    Returns
    -------
    hetcore.data.Graph
        Undirected, over the ids of the file; `findings` says what was dropped and merged.

    Raises
    ------
    DataError
        In one sentence, if the file is no graph that can be read within the limits.
    """
    edges = preview_graph(name, file, options).edges
    try:
        return Graph(edges)
    except DataError as error:
        # The graph knows nothing of files, and the person of many has to know which one it was.
        raise DataError(one_sentence(f"{shown(name)}: {error}")) from None


def preview_graph(name: str, file: bytes | BinaryIO, options: Options = Options()) -> GraphPreview:  # noqa: B008
    """Read the edges of an uploaded graph, and say what was guessed and found."""
    answer, frames = _read(name, file, "graph", options)
    return GraphPreview(frames[0], [*answer["guesses"]], _findings(answer), frames[1] if len(frames) > 1 else None)


def read_images(name: str, file: bytes | BinaryIO) -> Source:
    """Read an uploaded zip of PNG and JPEG images, each named by its id.

    Parameters
    ----------
    name : str
        The file's name.
    file : bytes or binary file
        Its content; a file is read from its beginning.

    Returns
    -------
    hetcore.data.Source
        Of an array (m, h, w, c) uint8: c is 1 for shades of grey, 3 for colour; images of differing or large sizes
        are brought to 32 x 32 pixels.

    Raises
    ------
    DataError
        In one sentence, if the file is no such zip, or an image is damaged or over the limits.
    """
    preview = preview_images(name, file)
    return Source(preview.ids, preview.pixels)


def preview_images(name: str, file: bytes | BinaryIO) -> ImagesPreview:
    """Read uploaded images as `read_images` does, and say what was done to them and found."""
    answer, frames = _read(name, file, "images", Options())
    pixels = frames[0]["pixels"].to_numpy().reshape(-1, *answer["shape"])
    return ImagesPreview(frames[0]["id"].to_list(), pixels, [*answer["guesses"]], _findings(answer))


def warm_up() -> None:
    """Start the sandbox in the background, so that the first upload need not wait for it."""
    sandbox.shared().start()


class _Parsed:
    """The files parsed last, so that one that was shown is not parsed again when it is used; frames never change.

    Parameters
    ----------
    limit : int
        Bytes of the frames that are kept at most.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._known: OrderedDict[tuple[Any, ...], _Found] = OrderedDict()

    def get(self, key: tuple[Any, ...], parse: Callable[[], _Found]) -> _Found:
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


def _bytes(found: _Found) -> int:
    return sum(int(frame.estimated_size()) for frame in found[1])


_parsed = _Parsed(PARSED_BYTES)


def _read(name: str, file: bytes | BinaryIO, want: str, options: Options) -> _Found:
    # Only the last part of a path, with either slash: browsers differ in what they send.
    name = shown(name.replace("\\", "/").rpartition("/")[2])
    content = _content(name, file)
    request = {"name": name, "want": want, "options": options._asdict()}

    def parse() -> _Found:
        reply = sandbox.shared().ask(name, request, content)
        return reply.answer, [from_stream(block) for block in reply.blocks]

    # By what the bytes are and not by the name alone: a changed file often keeps its name.
    return _parsed.get((name, want, repr(options), hashlib.sha256(content).digest()), parse)


def _content(name: str, file: bytes | BinaryIO) -> bytes:
    """Return the bytes of a file, or refuse it once it is over the limit."""
    if not isinstance(file, bytes | bytearray | memoryview):
        if file.seekable():
            # Streamlit hands the same file object to every run of a page, read to its end.
            file.seek(0)
        # One byte more than the limit, so that a file over it is known without being read whole.
        file = file.read(UPLOADS.file_bytes + 1)
    if len(file) > UPLOADS.file_bytes:
        raise DataError(f"{name} is larger than {UPLOADS.file_bytes // 2**20} MB: sample it, or save it as Parquet.")
    return bytes(file)


def _findings(answer: dict[str, Any]) -> list[Finding]:
    return [
        Finding(kind, where, count, message, tuple(examples))
        for kind, where, count, message, examples in answer["findings"]
    ]
