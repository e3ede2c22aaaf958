"""Files of JSON, Parquet, Arrow and XLSX that must be refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa

from tests.hostile.making import (
    FRAME,
    Case,
    arrow,
    cells,
    flipped,
    many_entries,
    parquet,
    parquet_text_bomb,
    workbook,
    zipped,
)  # fmt: skip

REFUSED = [
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
        "unpacks to 16,000 MB of text",
    ),
    Case(
        "nested parquet", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [[1, 2]]})), "'x' .list. holds"
    ),
    Case("struct", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [{"y": 1}]})), "'x' .struct. holds"),
    Case("bytes", "a.parquet", lambda: parquet(pl.DataFrame({"id": ["a"], "x": [b"y"]})), "'x' .binary. holds"),
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
    Case("json nested", "a.json", lambda: b'[{"id": 1, "x": [1, 2]}]', "'x' .list. holds no single"),
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
    Case("json one long text", "a.json", lambda: b'[{"id": "' + b"a" * (45 * 2**20), "no valid JSON"),
    Case("json comments", "a.json", lambda: b'[{"id": 1, /* x */ "x": 2}]', "no valid JSON"),
    Case("json single quotes", "a.json", lambda: b"[{'id': 1, 'x': 2}]", "no valid JSON"),
    Case("json utf-16 cut", "a.json", lambda: '[{"id": 1}]'.encode("utf-16")[:-1], "not the UTF-16"),
    Case("json mixed array", "a.json", lambda: b'[{"id": 1, "x": 2}, [1, 2]]', "record 2 is no object"),
    Case("json null record", "a.json", lambda: b'[{"id": 1, "x": 2}, null]', "record 2 is no object"),
    Case("json nested object", "a.json", lambda: b'[{"id": 1, "x": {"y": {"z": 1}}}]', "'x' .object. holds"),
    Case(
        "json many fields",
        "a.json",
        lambda: b"[{" + b",".join(b'"c%d":1' % k for k in range(20_001)) + b"}]",
        "20,001 columns",
    ),
    Case("json surrogate name", "a.json", lambda: b'[{"id": 1, "\\udc00": 1}]', "half a surrogate pair"),
    Case("json columns of text", "a.json", lambda: b'{"id": "abc", "x": "def"}\n{', "no valid JSON|neither"),
    Case("json with two values", "a.json", lambda: b'[{"id": 1, "x": 2}] [3]', "no valid JSON"),
    Case("json true", "a.json", lambda: b"true", "single value"),
    Case("ndjson list", "a.ndjson", lambda: b'{"id": 1, "x": 2}\n[1, 2]\n', "record 2 is no object"),
    Case(
        "ndjson deep",
        "a.ndjson",
        lambda: b'{"id": 1, "x": 2}\n{"id": 1, "x": ' + b"[" * 100_000,
        "nested too deeply|no valid JSON",
    ),
    Case("ndjson twice", "a.ndjson", lambda: b'{"id": 1, "x": 2}\n{"id": 1, "id": 2}\n', "'id' twice"),
    Case("ndjson nul", "a.ndjson", lambda: b'{"id": 1, "x": 2}\n\x00\n', "NUL byte in line 2"),
    Case("ndjson cut off", "a.ndjson", lambda: b'{"id": 1, "x": 2}\n{"id": 2, "x": ', "no valid JSON .line 2"),
    Case("ndjson nested", "a.ndjson", lambda: b'{"id": 1, "x": [2]}\n{"id": 2, "x": 2}\n', "'x' .list. holds"),
    Case(
        "parquet of too many columns",
        "a.parquet",
        lambda: parquet(pa.table({f"c{k}": [1] for k in range(20_001)})),
        "20,001 columns",
    ),
    Case(
        "parquet map",
        "a.parquet",
        lambda: parquet(pa.table({"id": ["a"], "x": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))})),
        "'x' .map. holds",
    ),
    Case(
        "parquet nested dictionary",
        "a.parquet",
        lambda: parquet(pl.DataFrame({"id": ["a"], "x": [["u"]]}).cast({"x": pl.List(pl.Categorical)})),
        "'x' .*list. holds",
    ),
    Case(
        "parquet text of no encoding",
        "a.parquet",
        lambda: _no_utf8(lambda frame: parquet(frame, compression="none")),
        "damaged or cut off Parquet",
    ),
    Case("arrow text of no encoding", "a.arrow", lambda: _no_utf8(arrow), "damaged or cut off Arrow"),
    Case(
        "parquet footer length",
        "a.parquet",
        lambda: parquet(FRAME)[:-8] + b"\xff\xff\xff\x7fPAR1",
        "damaged or cut off Parquet",
    ),
    Case(
        "parquet page",
        "a.parquet",
        lambda: parquet(FRAME)[:4] + bytes(60) + parquet(FRAME)[64:],
        "damaged or cut off|could not be read",
    ),
    Case("parquet encrypted", "a.parquet", lambda: b"PARE" + bytes(50) + b"PARE", "NUL byte|damaged"),
    Case(
        "arrow of too many columns",
        "a.arrow",
        lambda: arrow(pl.DataFrame({f"c{k}": [1] for k in range(20_001)})),
        "20,001 columns",
    ),
    Case("arrow nested", "a.arrow", lambda: arrow(pl.DataFrame({"id": ["a"], "x": [[1]]})), "'x' .*list. holds"),
    Case("arrow struct", "a.arrow", lambda: arrow(pl.DataFrame({"id": ["a"], "x": [{"y": 1}]})), "'x' .struct. holds"),
    Case("arrow without rows", "a.arrow", lambda: arrow(FRAME[:0]), "columns but no rows"),
    Case("arrow of one column", "a.arrow", lambda: arrow(FRAME[["x"]]), "one column"),
    Case(
        "arrow stream cut off",
        "a.arrow",
        lambda: b"\xff\xff\xff\xff\x10\x00\x00\x00" + bytes(16),
        "damaged or cut off Arrow",
    ),
    Case(
        "arrow stream length",
        "a.arrow",
        lambda: b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(100),
        "damaged or cut off Arrow",
    ),
    Case("xlsx many files", "a.xlsx", lambda: many_entries(10_001, {"xl/workbook.xml": b""}), "holds 10,002 files"),
    Case(
        "xlsx of a million entries",
        "a.xlsx",
        lambda: many_entries(600_000, {"xl/workbook.xml": b""}),
        "holds 600,001 files",
    ),
    Case("xlsx encrypted", "a.xlsx", lambda: _encrypted(workbook(cells(A1=1, B1=2))), "encrypted"),
    Case("xlsx without a book", "a.xlsx", lambda: zipped(**{"xl/workbook.xml": b"junk"}), "could not be read|damaged"),
    Case("xlsx header only", "a.xlsx", lambda: workbook(_texts("id", "x")), "header but no rows|one column|no rows"),
    Case("xlsx of bad deflate", "a.xlsx", lambda: _corrupted(workbook(cells(A1=1, B1=2))), "damaged or encrypted"),
    Case(
        "xlsx directory before the file",
        "a.xlsx",
        lambda: _displaced(workbook(cells(A1=1, B1=2))),
        "damaged or encrypted",
    ),
    Case("xlsx one column", "a.xlsx", lambda: workbook(cells(A1=1, A2=2, A3=3)), "one column"),
    Case(
        "xlsx macro",
        "a.xlsx",
        lambda: zipped(**{"xl/vbaProject.bin": b"\xd0\xcf\x11\xe0"}),
        "damaged or encrypted workbook",
    ),
    Case("xlsx cut off early", "a.xlsx", lambda: zipped(a=b"1")[:20], "damaged or encrypted workbook"),
    Case("xlsx lying size", "a.xlsx", lambda: _lying(workbook(cells(A1=1, B1=2))), "damaged|unpacks"),
    Case(
        "xlsx sheet cut off",
        "a.xlsx",
        lambda: workbook("<sheetData><row><c r='A1'><v>1</v>"),
        "could not be read|damaged|no sheet",
    ),
    Case(
        "xlsx entity in strings",
        "a.xlsx",
        lambda: workbook(cells(A1=1, B1=2), extra={"xl/sharedStrings.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><sst/>"}),
        "XML entities",
    ),
]


def _texts(*texts: str) -> str:
    row = "".join(f'<c r="{"ABC"[k]}1" t="inlineStr"><is><t>{text}</t></is></c>' for k, text in enumerate(texts))
    return f"<sheetData><row>{row}</row></sheetData>"


def _encrypted(content: bytes) -> bytes:
    """Set the flag of encryption in every entry of the directory."""
    parts = content.split(b"PK\x01\x02")
    return b"PK\x01\x02".join([parts[0], *(part[:4] + b"\x01" + part[5:] for part in parts[1:])])


def _lying(content: bytes) -> bytes:
    """Let every entry of the directory claim that it unpacks to one byte."""
    parts = content.split(b"PK\x01\x02")
    return b"PK\x01\x02".join([parts[0], *(part[:20] + b"\x01\0\0\0" + part[24:] for part in parts[1:])])


def _no_utf8(write: Callable[[pl.DataFrame], bytes]) -> bytes:
    """Return a file whose text has bytes that no text has."""
    content = write(pl.DataFrame({"id": ["a", "b"], "x": ["zzzzzzzzzzzzzzzzzzzzz", "u"]}))
    return content.replace(b"zzzzzzzzzzzzzzzzzzzzz", b"\xffzzzzzzzzzzzzzzzzzzzz")


def _corrupted(content: bytes) -> bytes:
    """Turn bytes of the first compressed member round."""
    start = content.index(b"[Content_Types].xml") + 30
    return content[:start] + content[start : start + 60][::-1] + content[start + 60 :]


def _displaced(content: bytes) -> bytes:
    """Let the end of the directory say that it begins behind itself."""
    end = content.index(b"PK\x05\x06")
    return content[: end + 12] + b"\xff\xff\xff\x0f" + content[end + 16 :]
