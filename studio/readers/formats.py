"""Which format a file has: by what stands in it, then by its name."""

from __future__ import annotations

import re

from hetcore.errors import DataError

__all__ = ["recognised"]

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
        if content.startswith(magic) and not (magic == b"MZ" and b"\x00" not in content[:512]):
            raise _not_readable(name, want, what)
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


def _zipped(name: str, content: bytes) -> str:
    if b"xl/workbook.xml" in content:
        return "excel"
    what = "a LibreOffice document" if b"mimetypeapplication/vnd.oasis" in content[:100] else "a zip archive"
    raise DataError(f"{name} is {what}: unpack it, or save the table as CSV, Parquet or XLSX.")


def _text(name: str, want: str, content: bytes) -> str:
    ending = name.lower().rpartition(".")[2]
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
    ending = name.lower().rpartition(".")[2]
    if ending in ("graphml", "gexf"):
        return ending
    raise _not_readable(name, want, "an XML file of another kind")


def _looks_like_json(content: bytes) -> bool:
    ends = content[:1], content.rstrip()[-1:]
    return ends in ((b"{", b"}"), (b"[", b"]"))


def _one_object(beginning: bytes, ending: str, content: bytes) -> bool:
    """Whether the JSON is one object rather than one record a line."""
    return (
        beginning.startswith(b"{")
        and ending not in ("ndjson", "jsonl")
        and not re.match(rb"\{[^\n]*\}\s*\n\s*\{", content)
    )
