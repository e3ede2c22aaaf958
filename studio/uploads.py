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
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from hetcore.data.columns import ColumnFacts
from hetcore.data.graph import Graph
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.errors import DataError, ParameterError
from studio.limits import UPLOADS
from studio.messages import one_sentence, shown
from studio.readers import sandbox
from studio.readers.columns import end_columns, may_be_ends
from studio.readers.parsed import Found, ParsedFiles, ParsedImages, from_stream

__all__ = [
    "GraphPreview",
    "Options",
    "TablePreview",
    "preview_graph",
    "preview_images",
    "preview_table",
    "ROLES",
    "TABULAR",
    "Upload",
    "digest_of",
    "file_name",
    "read",
    "read_graph",
    "read_images",
    "read_table",
    "warm_up",
]

PARSED_BYTES = 128 * 2**20
ROLES = ("table", "graph", "labels", "images")
TABULAR = ("table", "labels")
_GRAPH_ENDINGS = (".graphml", ".gexf", ".gml", ".mtx", ".edges", ".edgelist")
_GRAPH_NAMES = re.compile(r"(edge|link|graph|network|adjacency|cites|citations)", re.I)
_LABEL_FILES = re.compile(r"(^|[\W_])(labels?|targets?|classes|truth)($|[\W_\d])", re.I)


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
    directed : bool
        Whether a graph keeps which way each edge leads, from source to target.
    day_first : bool or None
        Whether 3/4/2015 is in April, of columns in which it may be March too; None leaves them text.
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
    directed: bool = False
    day_first: bool | None = None


class TablePreview(NamedTuple):
    """A table, what was guessed to read it (such as "semicolons between columns"), what was found, and its sheets."""

    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    sheets: tuple[str, ...] = ()


class GraphPreview(NamedTuple):
    """Edges ("source", "target", perhaps "weight"), guesses, findings, and the nodes' attributes by "id" if any."""

    edges: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    nodes: pl.DataFrame | None
    sheets: tuple[str, ...] = ()


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
    return TablePreview(frames[0], [*answer["guesses"]], _findings(answer), tuple(answer["sheets"]))


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
        Over the ids of the file, undirected unless told; `findings` says what was dropped and merged.

    Raises
    ------
    DataError
        In one sentence, if the file is no graph that can be read within the limits.
    """
    edges = preview_graph(name, file, options).edges
    try:
        return Graph(edges, directed=options.directed)
    except (DataError, ParameterError) as error:
        # The graph knows nothing of files, and the person of many has to know which one it was.
        raise DataError(one_sentence(f"{shown(name)}: {error}")) from None


def preview_graph(name: str, file: bytes | BinaryIO, options: Options = Options()) -> GraphPreview:  # noqa: B008
    """Read the edges of an uploaded graph, and say what was guessed and found."""
    answer, frames = _read(name, file, "graph", options)
    nodes = frames[1] if len(frames) > 1 else None
    return GraphPreview(frames[0], [*answer["guesses"]], _findings(answer), nodes, tuple(answer["sheets"]))


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


def preview_images(name: str, file: bytes | BinaryIO) -> ParsedImages:
    """Read uploaded images as `read_images` does, and say what was done to them and found."""
    answer, frames = _read(name, file, "images", Options())
    pixels = frames[0]["pixels"].to_numpy().reshape(-1, *answer["shape"])
    return ParsedImages(frames[0]["id"].to_list(), pixels, [*answer["guesses"]], _findings(answer))


def warm_up() -> None:
    """Start the sandbox in the background, so that the first upload need not wait for it."""
    sandbox.shared().start()


# A file in a role -----------------------------------------------------------------------------------------------------


class Upload(NamedTuple):
    """A file that could be read.

    Attributes
    ----------
    name, role, digest : str
        File name; "table", "graph", "labels" or "images"; SHA-256 of the content and of the sheet that was asked for.
    frame : polars.DataFrame
        The table, the edges, or the ids of the images ("id").
    guesses : list of str
        What was guessed to read it, in words.
    findings : list of Finding
        What was found in it.
    kinds : mapping of str to (str, str)
        Kind and reason of each usable column; empty for a graph and for images.
    pixels : (m, h, w, c) uint8 or None
        Images, in the order of their ids.
    header : bool or None
        Whether the first row names the columns, as the person says; None leaves the guess.
    directed : bool
        Of a graph, whether it keeps which way each edge leads.
    day_first : bool or None
        As `Options` has it.
    sheets : tuple of str
        Of a workbook with several tables, the sheet that was read and then the others that could be.
    """

    name: str
    role: str
    digest: str
    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    kinds: Mapping[str, tuple[str, str]]
    pixels: np.ndarray | None = None
    header: bool | None = None
    directed: bool = False
    day_first: bool | None = None
    sheets: tuple[str, ...] = ()


# Only the last part of a path, with either slash: browsers differ in what they send.
def file_name(given: str) -> str:
    """Return a file's name without folders and control characters."""
    name = shown(given.replace("\\", "/").rpartition("/")[2], 120).strip()
    return "file" if name in ("", ".", "..") else name


def digest_of(content: bytes, sheet: str | None = None) -> str:
    """Return by what a file is known again, whatever it was read as; another sheet of it has other columns."""
    digested = hashlib.sha256(content)
    digested.update((sheet or "").encode())
    return digested.hexdigest()


def read(
    name: str,
    content: bytes,
    role: str | None = None,
    header: bool | None = None,
    day_first: bool | None = None,
    *,
    sheet: str | None = None,
) -> Upload:
    """Read a file in the role that the person gives it, or in the one that its name and content suggest.

    Parameters
    ----------
    name : str
    content : bytes
    role : str, optional
        One of `ROLES`.
    header : bool, optional
        Whether the first row of a delimited text names the columns.
    day_first : bool, optional
        As `Options` has it.
    sheet : str, optional
        As `Options` has it.

    Raises
    ------
    DataError
        In one sentence, if it cannot be read.
    """
    digest = digest_of(content, sheet)
    if role == "images" or (role is None and name.lower().endswith(".zip")):
        images = preview_images(name, content)
        frame, more = pl.DataFrame({"id": images.ids}), {"guesses": images.guesses, "findings": images.findings}
        return Upload(name, "images", digest, frame=frame, kinds={}, pixels=images.pixels, **more)
    if role == "graph" or (role is None and _graph_by_name(name, content)):
        graph = preview_graph(name, content, Options(header=header, sheet=sheet))
        more = {"guesses": graph.guesses, "findings": graph.findings, "sheets": graph.sheets}
        return Upload(name, "graph", digest, frame=graph.edges, kinds={}, header=header, **more)
    table = preview_table(name, content, Options(header=header, day_first=day_first, sheet=sheet))
    # Read as a table first, for only its columns tell; then again as what it is.
    if role is None and _edges_by_columns(name, table.frame):
        return read(name, content, "graph", header, sheet=sheet)
    role = role or ("labels" if _labels_by_name(name, table.frame) else "table")
    kinds = _kinds(table.frame)
    more = {"kinds": kinds, "header": header, "day_first": day_first, "sheets": table.sheets}
    return Upload(name, role, digest, table.frame, table.guesses, findings=table.findings, **more)


def _kinds(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Return kind and reason of each usable column."""
    facts = ColumnFacts()
    facts.take(frame)
    return facts.guess


def _graph_by_name(name: str, content: bytes) -> bool:
    if name.lower().endswith(_GRAPH_ENDINGS):
        return True
    beginning = content[:4096].lstrip()
    markup = re.search(rb"<(\w+:)?(graphml|gexf)\b", beginning) or beginning.startswith(b"%%MatrixMarket")
    node_link = beginning.startswith(b"{") and re.search(rb'"(links|edges)"\s*:', content) and b'"nodes"' in content
    return bool(markup or node_link)


def _edges_by_columns(name: str, frame: pl.DataFrame) -> bool:
    ends = end_columns(frame.columns) if frame.width <= 4 else None
    if ends is not None and may_be_ends(frame, ends):
        return True
    return frame.width in (2, 3) and _GRAPH_NAMES.search(PurePosixPath(name).stem) is not None


def _labels_by_name(name: str, frame: pl.DataFrame) -> bool:
    return frame.width <= 3 and _LABEL_FILES.search(PurePosixPath(name).stem) is not None


# One file -------------------------------------------------------------------------------------------------------------

_parsed = ParsedFiles(PARSED_BYTES)


def _read(name: str, file: bytes | BinaryIO, want: str, options: Options) -> Found:
    # Only the last part of a path, with either slash: browsers differ in what they send.
    name = shown(name.replace("\\", "/").rpartition("/")[2])
    content = _content(name, file)
    request = {"name": name, "want": want, "options": options._asdict()}

    def parse() -> Found:
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
