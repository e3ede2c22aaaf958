"""What hostile files are made of: cases, and writers of each format that write what no program would."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

XLSX_CONTENT = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.'
    'sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
XLSX_LINKS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
XLSX_LINK = (
    '<Relationship Id="rId{k}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" '
    'Target="{target}"/>'
)
XLSX_BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{}</sheets></workbook>'
)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SCRIPT = "<script>alert(1)</script>"
RIGHT = "\u202egnp.exe"
"""Shown from right to left by whoever believes it: a name that reads like another."""


class Case(NamedTuple):
    """One file.

    Attributes
    ----------
    label, name : str
        What is wrong with it; its file name.
    content : callable
        Makes it.
    answer : str or None
        A regular expression for the sentence that refuses it; empty if it is read; None if either will do.
    want : str
        "table", "graph" or "images".
    rows : int or None
        Records in it (rows, edges, images), which must all be used or reported; None if nobody can tell.
    finds : tuple of str
        Kinds of findings that must be told.
    """

    label: str
    name: str
    content: Callable[[], bytes]
    answer: str | None = ""
    want: str = "table"
    rows: int | None = None
    finds: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """The format that its name claims."""
        ending = self.name.rpartition(".")[2].lower()
        return _FORMS.get((self.want, ending)) or _FORMS.get(("", ending), "none of ours")


_FORMS = {
    ("graph", "csv"): "edge list",
    ("graph", "txt"): "edge list",
    ("graph", "json"): "node-link JSON",
    ("images", "zip"): "images in a zip",
    ("", "csv"): "CSV",
    ("", "tsv"): "TSV",
    ("", "json"): "JSON",
    ("", "ndjson"): "NDJSON",
    ("", "parquet"): "Parquet",
    ("", "arrow"): "Arrow",
    ("", "feather"): "Arrow",
    ("", "xlsx"): "XLSX",
    ("", "graphml"): "GraphML",
    ("", "gexf"): "GEXF",
    ("", "gml"): "GML",
    ("", "mtx"): "MatrixMarket",
}


def workbook(sheet: str, *, before: str = "", sheets: int = 1, extra: dict[str, bytes] | None = None) -> bytes:
    """Return an XLSX whose sheets, one unless told, are all the given XML but for members in `extra`."""
    numbers = range(1, sheets + 1)
    listed = "".join(f'<sheet name="{"STUV"[k - 1]}" sheetId="{k}" r:id="rId{k}"/>' for k in numbers)
    links = "".join(XLSX_LINK.format(k=k, kind="worksheet", target=f"worksheets/sheet{k}.xml") for k in numbers)
    book = XLSX_LINK.format(k=1, kind="officeDocument", target="xl/workbook.xml")
    members = {
        "[Content_Types].xml": XLSX_CONTENT,
        "_rels/.rels": XLSX_LINKS.format(book),
        "xl/_rels/workbook.xml.rels": XLSX_LINKS.format(links),
        "xl/workbook.xml": XLSX_BOOK.format(listed),
    }
    content = f'{before}<worksheet xmlns="{MAIN}">{sheet}</worksheet>'
    members |= {f"xl/worksheets/sheet{k}.xml": content for k in numbers} | (extra or {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def sheet(rows, first=1, merged=(), hidden=(), columns=()):
    """Return a sheet's XML: rows from number `first`, areas such as "B2:B4", numbers of hidden rows and columns."""

    def cell(value, row, k):
        place = f"{'ABCDEFGH'[k]}{row}"
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return "" if value is None else f'<c r="{place}"><v>{value}</v></c>'

    lines = "".join(
        f'<row r="{row}"{" hidden=" + chr(34) + "1" + chr(34) if row in hidden else ""}>'
        + "".join(cell(value, row, k) for k, value in enumerate(values))
        + "</row>"
        for row, values in enumerate(rows, first)
    )
    unseen = "".join(f'<col min="{a}" max="{b}" hidden="1" width="9"/>' for a, b in columns)
    areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
    tables = f"<mergeCells>{areas}</mergeCells>" if areas else ""
    return f"{f'<cols>{unseen}</cols>' if unseen else ''}<sheetData>{lines}</sheetData>{tables}"


def cells(**values: float) -> str:
    """Return a sheet with numbers at the given references."""
    rows = "".join(f'<row><c r="{place}"><v>{value}</v></c></row>' for place, value in values.items())
    return f"<sheetData>{rows}</sheetData>"


def parquet(table: pa.Table | pl.DataFrame, **options: object) -> bytes:
    """Return a Parquet file."""
    buffer = io.BytesIO()
    pa.parquet.write_table(table if isinstance(table, pa.Table) else table.to_arrow(), buffer, **options)
    return buffer.getvalue()


def arrow(table: pa.Table | pl.DataFrame) -> bytes:
    """Return an Arrow file."""
    buffer = io.BytesIO()
    if isinstance(table, pl.DataFrame):
        table.write_ipc(buffer)
        return buffer.getvalue()
    with pa.ipc.new_file(buffer, table.schema) as file:
        file.write_table(table)
    return buffer.getvalue()


def zipped(**members: bytes) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def many_entries(count: int, members: dict[str, bytes]) -> bytes:
    """Return a zip of the members whose directory lists `count` entries more, all of them empty."""
    content = zipped(**members)
    start = content.index(b"PK\x01\x02")
    entry = b"PK\x01\x02" + bytes(24) + b"\x01" + bytes(17) + b"a"
    end = b"PK\x05\x06" + bytes(4) + min(count, 65_535).to_bytes(2, "little") * 2
    size = len(content[start : content.index(b"PK\x05\x06")]) + len(entry) * count
    end += size.to_bytes(4, "little") + start.to_bytes(4, "little") + bytes(2)
    return content[: content.index(b"PK\x05\x06")] + entry * count + end


def flipped(content: bytes, at: int) -> bytes:
    """Return the content with the bits of one byte inverted."""
    changed = bytearray(content)
    changed[at] ^= 0xFF
    return bytes(changed)


def graphml(body: str, before: str = "", header: str = "") -> bytes:
    """Return a GraphML file."""
    return (
        f'<?xml version="1.0"?>{before}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{header}'
        f'<graph edgedefault="undirected">{body}</graph></graphml>'
    ).encode()


def gexf(body: str, before: str = "") -> bytes:
    """Return a GEXF file."""
    return f'<?xml version="1.0"?>{before}<gexf xmlns="http://gexf.net/1.3"><graph>{body}</graph></gexf>'.encode()


def laughs(levels: int = 9) -> str:
    """Return the document type of a billion laughs."""
    lines = ['<!ENTITY a0 "ha">'] + [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, levels)]
    return f"<!DOCTYPE graphml [{''.join(lines)}]>"


def parquet_text_bomb() -> bytes:
    """Return a small Parquet file that unpacks to 8 GB of text."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4000, np.int32)), ["a" * 2**21])
    return parquet(pa.table({"id": text, "x": text}), store_schema=False, compression="zstd")


FRAME = pl.DataFrame({"id": ["a", "b"], "x": [1.5, 2.5]})
ROWS = b"".join(b"i%d,%d\n" % (k, k) for k in range(1000))


def rows(*lines: str, delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    """Return lines of delimited text."""
    return "".join(line.replace(",", delimiter) + "\n" for line in lines).encode(encoding)
