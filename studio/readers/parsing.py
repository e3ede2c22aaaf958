"""Reading one uploaded file, inside the sandbox: which format it is, the reader for it, and what goes back.

A format is known by what stands in the file, then by its name. Nothing here is called in the studio's own process: see
`studio.uploads`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from hetcore.data.report import Finding
from hetcore.errors import DataError
from studio.messages import foreign
from studio.readers import binary, delimited, excel, gml, graphs, json_records, matrix_market, xml_graphs
from studio.readers.columns import typed
from studio.readers.parsed import ParsedGraph, ParsedTable, to_stream

__all__ = ["parse", "recognised", "why_not"]

_TABLES: dict[str, Callable[..., ParsedTable]] = {
    "delimited": delimited.read,
    "json": json_records.read_records,
    "excel": excel.read,
    "parquet": binary.read_parquet,
    "arrow": binary.read_arrow,
}
_GRAPHS: dict[str, Callable[..., ParsedGraph]] = {
    "graphml": xml_graphs.read_graphml,
    "gexf": xml_graphs.read_gexf,
    "gml": gml.read_gml,
    "node-link": json_records.read_node_link,
    "matrix-market": matrix_market.read_matrix_market,
}


def parse(name: str, want: str, options: Mapping[str, Any], content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Read a file.

    Parameters
    ----------
    name : str
        Its name, for its ending and for sentences.
    want : str
        "table", "graph" or "images".
    options : mapping
        See `studio.uploads.Options`.
    content : bytes
        The file.

    Returns
    -------
    words : dict
        "guesses" (list of str), "findings" (lists of a Finding's fields) and "sheets" (list of str), JSON-able.
    blocks : list of bytes
        Arrow streams: the table; or the edges and, where the file has them, the nodes; or "id" and "pixels" of images,
        whose (height, width, channels) is "shape" in the words.

    Raises
    ------
    DataError
        If the file is not what is wanted.
    """
    if want == "images":
        return _images(name, content)
    file_format = recognised(name, want, content)
    if want == "table":
        table = _table(name, file_format, content, options)
        # Typed with their blank rows, so that what is said of a cell names its row as the file counts it.
        table = delimited.without_blank_rows(name, typed(table, options))
        return _described(table.guesses, table.findings, table.sheets), [to_stream(table.frame)]
    graph = (
        _GRAPHS[file_format](name, content, options)
        if file_format in _GRAPHS
        else _edge_list(name, file_format, content, options)
    )
    frames = [graph.edges] if graph.nodes is None else [graph.edges, graph.nodes]
    return _described(graph.guesses, graph.findings, graph.sheets), [to_stream(frame) for frame in frames]


def _images(name: str, content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    from studio.readers import images  # the imaging library is loaded for images only

    found = images.read(name, content)
    frame = pl.DataFrame({"id": found.ids, "pixels": found.pixels.reshape(len(found.ids), -1)})
    described = _described(found.guesses, found.findings) | {"shape": list(found.pixels.shape[1:])}
    return described, [to_stream(frame)]


def _table(name: str, file_format: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    try:
        return _TABLES[file_format](name, content, options)
    except DataError as error:
        claimed = _BINARY_ENDINGS.get(_ending(name))
        fault = str(error).removeprefix(f"{name} ")
        # What is wrong with its text is no help to whoever takes it for a workbook.
        if claimed is None or file_format not in ("delimited", "json") or fault == str(error):
            raise
        raise DataError(f"{name} is no {claimed}, and as text it {fault}") from None


def _edge_list(name: str, file_format: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    table = _table(name, file_format, content, {**options, "edges": True})
    # Readers of tables need to know, for an edge list has other limits and other headers.
    return graphs.edges_of_table(name, table, options)


def _described(guesses: list[str], findings: list[Finding], sheets: Sequence[str] = ()) -> dict[str, Any]:
    found = [[f.kind, f.where, f.count, f.message, list(f.examples)] for f in findings]
    return {"guesses": guesses, "findings": found, "sheets": list(sheets)}


def why_not(name: str, error: BaseException) -> str:
    """Return the sentence for an error of a reader."""
    if isinstance(error, DataError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"{name} needs more memory than one upload may have: split it or leave columns out."
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply: export it as a plain table or edge list."
    reason = foreign(error, 120)
    return f"{name} could not be read ({reason}): it is damaged or not what its name says; save it anew as CSV."


# Known by their first bytes, for a sentence that names the thing helps more than one about a damaged table.
_FOREIGN = (
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"FEA1", "a Feather file of the old version 1"),
    (b"\xd0\xcf\x11\xe0", "an old Excel (XLS) or Word file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"{\\rtf", "an RTF document"),
)
_GRAPH_FORMATS = ("graphml", "gexf", "gml", "matrix-market")
_ENDINGS = {"graphml": "graphml", "gexf": "gexf", "gml": "gml", "mtx": "matrix-market"}
_BINARY_ENDINGS = {"xlsx": "workbook", "xlsm": "workbook", "parquet": "Parquet file", "arrow": "Arrow file"}
_BINARY_ENDINGS |= {"feather": "Arrow file"}
_JSON_ENDINGS = ("json", "ndjson", "jsonl")


def recognised(name: str, want: str, content: bytes) -> str:
    """Return the format of a file.

    Parameters
    ----------
    name : str
        The file's name.
    want : str
        "table" or "graph".
    content : bytes
        The file.

    Returns
    -------
    str
        "delimited", "json", "excel", "parquet", "arrow"; for a graph also "graphml", "gexf", "gml", "node-link",
        "matrix-market".

    Raises
    ------
    DataError
        If the file is empty, of a format that is not read, or a graph where a table is wanted.
    """
    _refuse_empty(name, content)
    _refuse_foreign(name, want, content)
    # Binary formats first: they are certain, and text readers would take anything.
    file_format = _binary(name, content) or _text(name, want, content)
    if want == "table" and file_format in _GRAPH_FORMATS:
        raise DataError(f"{name} is a graph ({file_format}), not a table: add it under graphs.")
    return file_format


def _refuse_empty(name: str, content: bytes) -> None:
    if not content.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"):
        kind = "empty" if not content else "blank"
        raise DataError(f"{name} is {kind}: choose a file with a header and at least one row.")


def _refuse_foreign(name: str, want: str, content: bytes) -> None:
    for magic, what in _FOREIGN:
        # Two letters may begin a word, and a program has NULs soon after.
        if content.startswith(magic) and not (magic == b"MZ" and b"\x00" not in content[:512]):
            raise _not_readable(name, want, what)
    # Never opened, for opening a pickle runs what is in it.
    if content[:1] == b"\x80" and content[1:2] in b"\x02\x03\x04\x05":
        raise _not_readable(name, want, "a Python pickle, which is never opened")
    if re.match(rb"\s*<(!doctype html|html)", content[:512], re.IGNORECASE):
        raise _not_readable(name, want, "a web page")


def _not_readable(name: str, want: str, what: str) -> DataError:
    cure = {"table": "export the table as CSV, Parquet or XLSX", "graph": "export the graph as CSV, GraphML or GEXF"}
    return DataError(f"{name} is {what}, not a {want}: {cure[want]}.")


def _binary(name: str, content: bytes) -> str | None:
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(name, content)
    return None


def _ending(name: str) -> str:
    return name.lower().rpartition(".")[2]


def _zipped(name: str, content: bytes) -> str:
    document = b"mimetypeapplication/vnd.oasis" in content[:100]
    # A workbook is a zip; its directory, whose names are not packed, tells, or its name where that is lost.
    if b"xl/workbook.xml" in content or not document and _BINARY_ENDINGS.get(_ending(name)) == "workbook":
        return "excel"
    what = "a LibreOffice document" if document else "a zip archive"
    raise DataError(f"{name} is {what}: unpack it, or save the table as CSV, Parquet or XLSX.")


def _text(name: str, want: str, content: bytes) -> str:
    ending = _ending(name)
    # The marks and NULs of UTF-16 would hide the first sign.
    beginning = content[:4096].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").replace(b"\x00", b"")
    if beginning.startswith(b"<"):
        return _markup(name, want, beginning)
    if beginning.startswith(b"%%MatrixMarket") or ending == "mtx":
        return "matrix-market"
    if re.match(rb"(\s*(#|Creator|Version|comment)[^\n]*\n)*\s*graph\s*\[", beginning):
        return "gml"
    if ending in _JSON_ENDINGS or _looks_like_json(content):
        return "node-link" if want == "graph" and _one_object(beginning, ending, content) else "json"
    return _ENDINGS.get(ending, "delimited") if want == "graph" else "delimited"


def _markup(name: str, want: str, beginning: bytes) -> str:
    for root in ("graphml", "gexf"):
        if re.search(rf"<(\w+:)?{root}\b".encode(), beginning):
            return root
    ending = _ending(name)
    if ending in ("graphml", "gexf"):
        return ending
    raise _not_readable(name, want, "an XML file of another kind")


def _looks_like_json(content: bytes) -> bool:
    # Both ends, for a table may begin with a bracket.
    ends = content[:1], content.rstrip()[-1:]
    return ends in ((b"{", b"}"), (b"[", b"]"))


def _one_object(beginning: bytes, ending: str, content: bytes) -> bool:
    """Whether the JSON is one object rather than one record a line."""
    return (
        beginning.startswith(b"{")
        and ending not in ("ndjson", "jsonl")
        # Two records on two lines begin like one object.
        and not re.match(rb"\{[^\n]*\}\s*\n\s*\{", content)
    )
