"""Files that try to break a reader, made by code, each with a part of the sentence that must answer it."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from typing import NamedTuple

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
XLSX_RELS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" '
    'Target="{target}"/></Relationships>'
)
XLSX_BOOK = (
    '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


class Case(NamedTuple):
    """One file that is wanted as a "table" or "graph"; `answer` is a regular expression for its refusal."""

    label: str
    name: str
    content: Callable[[], bytes]
    answer: str
    want: str = "table"


def workbook(sheet: str, *, before: str = "", extra: dict[str, bytes] | None = None) -> bytes:
    """Return an XLSX whose one sheet is the given XML."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", XLSX_CONTENT)
        archive.writestr("_rels/.rels", XLSX_RELS.format(kind="officeDocument", target="xl/workbook.xml"))
        archive.writestr(
            "xl/_rels/workbook.xml.rels", XLSX_RELS.format(kind="worksheet", target="worksheets/sheet1.xml")
        )
        archive.writestr("xl/workbook.xml", XLSX_BOOK)
        archive.writestr("xl/worksheets/sheet1.xml", f'{before}<worksheet xmlns="{MAIN}">{sheet}</worksheet>')
        for name, content in (extra or {}).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def cells(**values: float) -> str:
    """Return a sheet with numbers at the given references."""
    rows = "".join(f'<row><c r="{place}"><v>{value}</v></c></row>' for place, value in values.items())
    return f"<sheetData>{rows}</sheetData>"


def parquet(table: pa.Table | pl.DataFrame, **options: object) -> bytes:
    """Return a Parquet file."""
    buffer = io.BytesIO()
    pa.parquet.write_table(table if isinstance(table, pa.Table) else table.to_arrow(), buffer, **options)
    return buffer.getvalue()


def arrow(frame: pl.DataFrame) -> bytes:
    """Return an Arrow file."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def zipped(**members: bytes) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


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

TABLES = [
    Case("empty", "a.csv", lambda: b"", "is empty"),
    Case("blank", "a.csv", lambda: b" \r\n\t\n", "is blank"),
    Case("only a mark", "a.csv", lambda: b"\xef\xbb\xbf", "is blank"),
    Case("header only", "a.csv", lambda: b"id,x\n", "header but no rows"),
    Case("one column", "a.csv", lambda: b"x\n1\n2\n", "one column"),
    Case("one line", "a.csv", lambda: b"hello world", "one column"),
    Case("nul", "a.csv", lambda: b"id,x\na,1\nb,\x00\n", "NUL byte in line 3"),
    Case("nul in the header", "a.csv", lambda: b"id,x\x00\na,1\n", "NUL byte in line 1"),
    Case("pdf", "a.csv", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "is a PDF document, not a table"),
    Case("png", "a.csv", lambda: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is a PNG image"),
    Case("jpeg", "a.csv", lambda: b"\xff\xd8\xff\xe0\x00\x10JFIF", "is a JPEG image"),
    Case("exe", "a.csv", lambda: b"MZ\x90\x00\x03" + bytes(200), "is a Windows program"),
    Case("elf", "a.csv", lambda: b"\x7fELF\x02\x01\x01" + bytes(50), "is a program"),
    Case("gzip", "a.csv.gz", lambda: b"\x1f\x8b\x08\x00abc", "is a gzip archive"),
    Case("zip", "a.zip", lambda: zipped(a=b"id,x\n"), "is a zip archive"),
    Case("ods", "a.ods", lambda: zipped(mimetype=b"application/vnd.oasis.opendocument"), "LibreOffice"),
    Case("old excel", "a.xls", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "is an old Excel"),
    Case("sqlite", "a.db", lambda: b"SQLite format 3\x00" + bytes(100), "is an SQLite database"),
    Case("pickle", "a.csv", lambda: pickle.dumps({"id": [1]}, protocol=4), "pickle, which is never opened"),
    Case("html", "a.csv", lambda: b"<!DOCTYPE html><html><body>404</body></html>", "is a web page"),
    Case("xml", "a.csv", lambda: b"<?xml version='1.0'?><rows><row/></rows>", "XML file of another kind"),
    Case("rtf", "a.csv", lambda: b"{\\rtf1 hello}", "is an RTF document"),
    Case("more cells", "a.csv", lambda: b"id,x\na,1\nb,2,3\nc,4\n", "3 cells in row 3 where 2 are expected"),
    Case("fewer cells", "a.csv", lambda: b"id,x,y\na,1,2\nb,2\nc,4,5\n", "2 cells in row 3 where 3 are expected"),
    Case("many ragged", "a.csv", lambda: b"id,x\na,1\n" + b"b,2,3\n" * 50 + b"a,1\n" * 60, "49 more rows differ"),
    Case("open quote", "a.csv", lambda: b'id,x\na,"1\n' + ROWS, "quote that is never closed"),
    Case("too many columns", "a.csv", lambda: b",".join(b"c%d" % k for k in range(20_001)) + b"\n", "20,001 columns"),
    Case("million columns", "a.csv", lambda: b"1," * 1_000_000 + b"1\n", "1,000,001 columns"),
    Case("long line", "a.csv", lambda: b"id,x\na," + b"9" * (17 * 2**20) + b"\n", r"a line of 17 MB \(line 2\)"),
    Case("no line end", "a.csv", lambda: b"a" * (20 * 2**20), "a line of 20 MB"),
    Case("too many rows", "a.csv", lambda: b"id,x\n" + b"a,1\n" * 2_000_001, "2,000,001 rows"),
    Case("mixed encodings", "a.csv", lambda: "id,x\né,ü\nß,ö\n".encode() + b"\xe9,1\n", "mixes encodings .line 4"),
    Case("no encoding", "a.csv", lambda: b"id,x\n\x81\x8d,1\n", "no text in UTF-8, UTF-16 or cp1252 .line 2"),
    Case("cut UTF-16", "a.csv", lambda: "id,x\na,1\n".encode("utf-16")[:-1], "not the UTF-16-LE text"),
    Case("random", "a.csv", lambda: np.random.default_rng(0).bytes(5000), "NUL byte|no text"),
    Case("truncated parquet", "a.parquet", lambda: parquet(FRAME)[:-30], "damaged or cut off Parquet"),
    Case("flipped parquet", "a.parquet", lambda: flipped(parquet(FRAME), -6), "damaged or cut off Parquet"),
    Case("magic only", "a.parquet", lambda: b"PAR1", "damaged or cut off Parquet"),
    Case(
        "parquet bomb",
        "a.parquet",
        lambda: parquet(pa.table({"id": pa.array(np.zeros(3_000_000, np.int8)), "x": np.zeros(3_000_000, np.int8)})),
        "3,000,000 rows",
    ),
    Case(
        "parquet text bomb",
        "a.parquet",
        parquet_text_bomb,
        "unpacks to more memory|too much memory|more memory than",
    ),
    Case(
        "nested parquet", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [[1, 2]]})), "'x' holds .*list"
    ),
    Case("struct", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [{"y": 1}]})), "'x' holds struct"),
    Case("bytes", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [b"y"]})), "'x' holds .*binary"),
    Case("parquet without rows", "a.parquet", lambda: parquet(FRAME[:0]), "columns but no rows"),
    Case("parquet of one column", "a.parquet", lambda: parquet(FRAME[["x"]]), "one column"),
    Case("truncated arrow", "a.arrow", lambda: arrow(FRAME)[:-40], "damaged or cut off Arrow"),
    Case("arrow magic", "a.arrow", lambda: b"ARROW1\x00\x00" + bytes(64), "damaged or cut off Arrow"),
    Case("feather 1", "a.feather", lambda: b"FEA1" + bytes(64), "Feather file of the old version"),
    Case("json syntax", "a.json", lambda: b'[{"id": 1, "x": }]', "no valid JSON .line 1"),
    Case("json cut off", "a.json", lambda: b'[{"id": 1, "x": 2}, {"id"', "no valid JSON"),
    Case("deep json", "a.json", lambda: b"[" * 200_000, "nested too deeply|no valid JSON"),
    Case("deep objects", "a.json", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    Case("json value", "a.json", lambda: b"[1, 2, 3]", "record 1 is no object"),
    Case("json number", "a.json", lambda: b"17", "single value"),
    Case("json empty", "a.json", lambda: b"[]", "no records"),
    Case("json nested", "a.json", lambda: b'[{"id": 1, "x": [1, 2]}]', "'x' of record 1 holds a list"),
    Case("json twice", "a.json", lambda: b'[{"id": 1, "id": 2}]', "'id' twice"),
    Case("json surrogate", "a.json", lambda: b'[{"id": "\\ud800", "x": 1}]', "half a surrogate pair"),
    Case("json nul", "a.json", lambda: b'[{"id": "a\\u0000b", "x": 1}]', "NUL character"),
    Case("json lengths", "a.json", lambda: b'{"id": [1, 2], "x": [1]}', "1 to 2 values"),
    Case("ndjson line", "a.ndjson", lambda: b'{"id": 1, "x": 2}\n{"id": 2, "x"\n', "no valid JSON .line 2"),
    Case(
        "xlsx corner",
        "a.xlsx",
        lambda: workbook(cells(A1=1, XFD1048576=2)),
        "16,384 columns|1,048,576 rows|cells, more",
    ),
    Case("xlsx beyond", "a.xlsx", lambda: workbook(cells(A1=1, ZZZZZ1=2)), "columns, more than"),
    Case(
        "xlsx dimension",
        "a.xlsx",
        lambda: workbook(f'<dimension ref="A1:XFD1048576"/>{cells(A1=1, B1=2)}'),
        "cells, more than",
    ),
    Case(
        "xlsx bomb",
        "a.xlsx",
        lambda: workbook(cells(A1=1), extra={"xl/sharedStrings.xml": b"<sst>" + b" " * 300_000_000}),
        "unpacks to 286 MB",
    ),
    Case(
        "xlsx entities",
        "a.xlsx",
        lambda: workbook(cells(A1=1, B1=2), before='<!DOCTYPE x [<!ENTITY a "b">]>'),
        "XML entities, which are refused",
    ),
    Case("xlsx cut off", "a.xlsx", lambda: workbook(cells(A1=1, B2=2))[:-100], "damaged or encrypted workbook"),
    Case(
        "xlsx without sheet",
        "a.xlsx",
        lambda: zipped(**{"xl/workbook.xml": b"<workbook/>"}),
        "could not be read|damaged",
    ),
    Case("xlsx empty sheet", "a.xlsx", lambda: workbook("<sheetData/>"), "no sheet with cells"),
    Case("graphml", "a.graphml", lambda: graphml("<node id='a'/>"), "is a graph"),
    Case("a matrix", "a.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n1 1 0\n", "is a graph"),
]

NODES = "<node id='a'/><node id='b'/>"
GRAPHS = [
    Case("empty", "g.graphml", lambda: b"", "is empty"),
    Case("pdf", "g.graphml", lambda: b"%PDF-1.4", "is a PDF document, not a graph"),
    Case("laughs", "g.graphml", lambda: graphml(f"<node id='&a8;'/>{NODES}", laughs()), "document type or entities"),
    Case("gexf laughs", "g.gexf", lambda: gexf("<nodes/>", laughs()), "document type or entities"),
    Case(
        "external entity",
        "g.graphml",
        lambda: graphml("<node id='&x;'/>", '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "document type or entities",
    ),
    Case("bare doctype", "g.gexf", lambda: gexf("<nodes/>", "<!DOCTYPE gexf>"), "document type or entities"),
    Case(
        "utf-16 doctype",
        "g.graphml",
        lambda: (
            graphml(NODES, laughs(3))
            .decode()
            .replace('version="1.0"', 'version="1.0" encoding="utf-16"')
            .encode("utf-16")
        ),
        "document type or entities",
    ),
    Case("deep", "g.graphml", lambda: graphml("<node id='a'><graph>" * 100_000), "nested more than 64 deep"),
    Case("huge attribute", "g.graphml", lambda: graphml(f"<node id='{'a' * 9_000_000}'/>"), "tag or text of 8,789 KB"),
    Case("cut off", "g.graphml", lambda: graphml(NODES)[:-20], "no valid XML .line 1"),
    Case("another root", "g.graphml", lambda: b"<svg><path/></svg>", "no GRAPHML file"),
    Case("other xml", "g.xml", lambda: b"<svg><path/></svg>", "XML file of another kind"),
    Case("same node", "g.graphml", lambda: graphml("<node id='a'/><node id='a'/>"), "node 'a' twice"),
    Case("node without id", "g.graphml", lambda: graphml("<node/>"), "node 1 has no id"),
    Case("edge without end", "g.graphml", lambda: graphml(f"{NODES}<edge source='a'/>"), "edge 1 lacks"),
    Case("hyperedge", "g.graphml", lambda: graphml(f"{NODES}<hyperedge/>"), "hyperedges"),
    Case("two graphs", "g.graphml", lambda: graphml(f"{NODES}</graph><graph>"), "2 graphs"),
    Case(
        "text weight",
        "g.graphml",
        lambda: graphml(
            f"{NODES}<edge source='a' target='b'><data key='w'>heavy</data></edge>",
            header="<key id='w' for='edge' attr.name='weight'/>",
        ),
        "weight 'heavy' of edge 1 is no number",
    ),
    Case("deep gml", "g.gml", lambda: b"graph [ " * 100_000, "nested more than 64 deep"),
    Case("gml cut off", "g.gml", lambda: b"graph [ node [ id 1 ", "ends in the middle"),
    Case("gml bracket", "g.gml", lambda: b"graph [ ] ]", "no valid GML .line 1"),
    Case("gml value", "g.gml", lambda: b"graph [\n node [ id [ ] ] ]", "node 1 has no id"),
    Case("gml junk", "g.gml", lambda: b"graph [\n node $ ]", "no valid GML .line 2"),
    Case("gml without graph", "g.gml", lambda: b"nothing 1", "holds no .graph"),
    Case("gml end", "g.gml", lambda: b"graph [ node [ id 1 ] edge [ source 1 ] ]", "edge 1 has no target"),
    Case("node-link without links", "g.json", lambda: b'{"nodes": []}', "lacks the lists"),
    Case("node-link without id", "g.json", lambda: b'{"nodes": [{}], "links": []}', "node 1 has no id"),
    Case("node-link list id", "g.json", lambda: b'{"nodes": [{"id": [1]}], "links": []}', "node 1 has no id"),
    Case("node-link end", "g.json", lambda: b'{"nodes": [{"id": "a"}], "links": [{"source": "a"}]}', "link 1 lacks"),
    Case(
        "node-link number",
        "g.json",
        lambda: b'{"nodes": ["a"], "links": [{"source": 0, "target": 7}]}',
        "has the end 7",
    ),
    Case("node-link text", "g.json", lambda: b'{"nodes": "a", "links": "b"}', "lacks the lists"),
    Case("deep node-link", "g.json", lambda: b'{"nodes":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    Case(
        "matrix lie",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n9 9 5\n1 2 3\n",
        "announces 5 entries",
    ),
    Case(
        "matrix billions",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n100 100 1000000000\n1 2 3\n",
        "1,000,000,000 entries",
    ),
    Case(
        "matrix giant",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 2 3\n",
        "4,000,000,000 nodes",
    ),
    Case(
        "matrix dense",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
        "array real general",
    ),
    Case("matrix oblong", "g.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 3\n", "2 x 3"),
    Case(
        "matrix outside",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 3\n",
        "entry 1 is outside",
    ),
    Case(
        "matrix words",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n",
        "other than numbers",
    ),
    Case("matrix header", "g.mtx", lambda: b"1 2 3\n", "MatrixMarket header line"),
    Case(
        "matrix size", "g.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n% only this\n", "no size line"
    ),
    Case("edge weight", "g.csv", lambda: b"source,target,weight\na,b,1\nb,c,much\n", "weight 'much' of edge 2"),
    Case("one end", "g.csv", lambda: b"source\na\nb\n", "a source and a target column are needed"),
    Case("too many edges", "g.csv", lambda: b"source,target\n" + b"a,b\n" * 5_000_001, "5,000,001 edges"),
    Case("random", "g.gml", lambda: np.random.default_rng(1).bytes(5000), "NUL byte|no text"),
]
