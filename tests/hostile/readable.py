"""Odd files that are read: every row is used or reported, and what was found is told."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pyarrow as pa

from tests.hostile.disguised import VALID
from tests.hostile.images import GOOD, animated, deep, linked, packed, picture, png
from tests.hostile.making import MAIN, RIGHT, SCRIPT, Case, arrow, parquet, rows, workbook
from tests.hostile.readable_graphs import GRAPHS

LONG = "n" * 10_000


def _text(name: str, content: bytes, rows: int, *finds: str, label: str = "") -> Case:
    return Case(label, name, lambda: content, answer="", want="table", rows=rows, finds=finds)


_TEXT = {
    "ids repeated": _text("a.csv", rows("id,x", "a,1", "a,2", "b,3"), 3, "repeated_id"),
    "ids repeated everywhere": _text("a.csv", rows("id,x", *["a,1"] * 500), 500, "repeated_id"),
    "ids missing": _text("a.csv", rows("id,x", ",1", "b,2", ",3"), 3, "missing_id"),
    "ids of zeros": _text("a.csv", rows("id,x", "001,1", "1,2", "01,3"), 3),
    "ids with spaces": _text("a.csv", rows("id,x", " a,1", "a,2", "a ,3", "a a,4"), 4),
    "ids of 10,000 characters": _text("a.csv", rows("id,x", f"{LONG},1", f"{LONG}b,2"), 2),
    "ids from right to left": _text("a.csv", rows("id,x", f"{RIGHT},1", "\u05d0\u05d1,2"), 2),
    "ids of script": _text("a.csv", rows("id,x", f"{SCRIPT},1", "<img src=x onerror=alert(1)>,2"), 2),
    "ids of formulas": _text("a.csv", rows("id,x", "=1+1,1", "@SUM(A1),2", "+1,3", "-1,4"), 4),
    "ids in two spellings": _text("a.csv", rows("id,x", "caf\u00e9,1", "cafe\u0301,2"), 2),
    "header of script": _text("a.csv", rows(f"id,{SCRIPT},![x](http://example.org/i.png)", "a,1,2", "b,3,4"), 2),
    "all missing": _text("a.csv", rows("id,x,y", "a,,1", "b,,2"), 2),
    "constant": _text("a.csv", rows("id,x,y", "a,5,1", "b,5,2"), 2),
    "text that differs everywhere": _text("a.csv", rows("id,x,y", *(f"a{k},w{k * 7919},1" for k in range(300))), 300),
    "infinities": _text("a.csv", rows("id,x", "a,inf", "b,-inf", "c,1"), 3, "infinite"),
    "beyond numbers": _text("a.csv", rows("id,x", "a,1e400", "b,2"), 2, "infinite"),
    "1e308": _text("a.csv", rows("id,x", "a,1e308", "b,-1e308"), 2),
    "the smallest numbers": _text("a.csv", rows("id,x", "a,5e-324", "b,-0.0"), 2),
    "numbers as text": _text("a.csv", rows("id,x", 'a,"1"', 'b,"2.5"'), 2),
    "a word among numbers": _text("a.csv", rows("id,x", *["a,1"] * 20, "b,one"), 21, "not_a_number", "repeated_id"),
    "thousands": _text("a.csv", b'id,x\na,"1,234"\nb,"2,345"\n', 2, "thousands"),
    "words for missing": _text("a.csv", rows("id,x", "a,NA", "b,?", "c,3", "d,-"), 4, "missing_word"),
    "dates": _text("a.csv", rows("id,x", "a,2020-02-29", "b,2021-01-01"), 2),
    "dates that are not": _text("a.csv", rows("id,x", "a,2021-02-29", "b,2021-13-01"), 2),
    "booleans": _text("a.csv", rows("id,x", "a,true", "b,FALSE", "c,"), 3),
    "no header": _text("a.csv", rows("a,1.5", "b,2.5", "c,3.5"), 3),
    "blank and repeated headers": _text(
        "a.csv", rows("id,x,x,", "a,1,2,3", "b,4,5,6"), 2, "blank_header", "repeated_header"
    ),
    "header of 5,000 characters": _text("a.csv", rows(f"id,{'h' * 5000}", "a,1", "b,2"), 2, "long_header"),
    "headers that are patterns": _text("a.csv", rows("id,*,^.*$,x", "a,1,2,3", "b,4,5,6"), 2, "pattern_header"),
    "header one short": _text("a.csv", rows("x,y", "r1,1,2", "r2,3,4"), 2, "short_header"),
    "delimiter at the end": _text("a.csv", rows("id,x", "a,1,", "b,2,"), 2, "trailing_delimiter"),
    "semicolons and decimal commas": _text("a.csv", b"id;x\na;1,5\nb;2,5\n", 2),
    "bars": _text("a.csv", rows("id,x", "a,1", "b,2", delimiter="|"), 2),
    "tabs named csv": _text("a.csv", rows("id,x", "a,1", "b,2", delimiter="\t"), 2),
    "commas named tsv": _text("a.tsv", rows("id,x", "a,1", "b,2"), 2),
    "UTF-16": _text("a.csv", rows("id,x", "\u00e4,1", "b,2", encoding="utf-16"), 2),
    "UTF-16 without a mark": _text("a.csv", rows("id,x", "a,1", "b,2", encoding="utf-16-be"), 2),
    "UTF-32": _text("a.csv", rows("id,x", "\u00e4,1", "b,2", encoding="utf-32"), 2),
    "cp1252": _text("a.csv", rows("id,x", "\u00e4,1", "\u20ac,2", encoding="cp1252"), 2),
    "a byte order mark": _text("a.csv", b"\xef\xbb\xbf" + rows("id,x", "a,1", "b,2"), 2),
    "old line ends": _text("a.csv", b"id,x\ra,1\rb,2\r", 2),
    "mixed line ends": _text("a.csv", b"id,x\r\na,1\nb,2\r\n", 2),
    "no last line end": _text("a.csv", b"id,x\na,1\nb,2", 2),
    "empty lines": _text("a.csv", b"id,x\n\na,1\n\n\nb,2\n\n", 2),
    "rows of nothing": _text("a.csv", rows("id,x", "a,1", ",", ",", "b,2"), 4, "blank_row"),
    "a title above": _text("a.csv", b"Export of today\n\nid,x\na,1\nb,2\n", 2),
    "line breaks in quotes": _text("a.csv", b'id,x\na,"1\n2"\nb,3\n', 2, "line_break"),
    "quotes in quotes": _text("a.csv", b'id,x\na,"say ""hi"", you"\nb,2\n', 2),
    "cell of 1 MB": _text("a.csv", b"id,x\na," + b"w" * 2**20 + b"\nb,2\n", 2),
    "late text": _text("a.csv", rows("id,x", *(f"a{k},{k}" for k in range(30_000)), "b,oops"), 30_001, "not_a_number"),
    "10,000 columns": _text("a.csv", rows("id," + ",".join(f"c{k}" for k in range(9999)), "a" + ",1" * 9999), 1),
    "long numbers": _text("a.csv", rows("id,x", "a,12345678901234567890", "b,1"), 2, "long_number"),
    "numbers with zeros in front": _text("a.csv", rows("id,x", "a,007", "b,7"), 2, "leading_zeros"),
    "json of many types": _text(
        "a.json", b'[{"id": 1, "x": 1}, {"id": "1", "x": "a"}, {"id": null, "x": true}]', 3, "repeated_id", "missing_id"
    ),
    "json NaN": _text("a.json", b'[{"id": "a", "x": NaN}, {"id": "b", "x": Infinity}]', 2, "infinite"),
    "json of other keys": _text("a.json", b'[{"id": "a"}, {"id": "b", "y": 1}, {"y": 2}]', 3, "missing_id"),
    "json of 10^400": _text("a.json", b'[{"id": "a", "x": 1e400}, {"id": "b", "x": 2}]', 2, "infinite"),
    "json UTF-16": _text("a.json", '[{"id": "a", "x": 1}]'.encode("utf-16"), 1),
    "json in columns": _text("a.json", b'{"id": ["a", "a"], "x": [1, 2]}', 2, "repeated_id"),
    "ndjson with a late key": _text("a.ndjson", b'{"id": "a"}\n' * 300 + b'{"id": "b", "z": 7}\n', 301, "repeated_id"),
    "ndjson with empty lines": _text("a.ndjson", b'{"id": "a", "x": 1}\n\n\n{"id": "b", "x": 2}\n', 2),
    "ndjson with a mark": _text("a.ndjson", b'\xef\xbb\xbf{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n', 2),
    "ndjson separators": _text("a.ndjson", '{"id": "a\u2028b", "x": 1}\n{"id": "\u0085", "x": 2}\n'.encode(), 2),
}


def _frame(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({"id": ["a", "b", "b", None], **columns})


ODD = {
    "categories": _frame(x=pl.Series(["u", "v", None, "u"], dtype=pl.Categorical)),
    "enums": _frame(x=pl.Series(["u", "v", None, "u"], dtype=pl.Enum(["u", "v"]))),
    "decimals": _frame(x=pl.Series(["1.5", "2.25", None, "3"]).str.to_decimal(scale=2)),
    "small whole numbers": _frame(x=pl.Series([1, -1, None, 3], dtype=pl.Int8)),
    "NaN and infinities": _frame(x=[float("nan"), float("inf"), float("-inf"), 1.0]),
    "dates and times": _frame(x=[date(2020, 2, 29), None, date(1, 1, 1), date(9999, 12, 31)]),
    "only nulls": _frame(x=[None] * 4),
}
_BINARY = [
    Case(
        f"{what}, as {ending}",
        f"a.{ending}",
        lambda frame=frame, write=write: write(frame),
        answer="",
        want="table",
        rows=4,
        finds=("repeated_id", "missing_id"),
    )
    for what, frame in ODD.items()
    for ending, write in (("parquet", parquet), ("arrow", arrow))
]


def _sheet(*rows: str) -> str:
    return "<sheetData>" + "".join(f"<row>{row}</row>" for row in rows) + "</sheetData>"


def _cell(place: str, value: object, kind: str = "", formula: str = "") -> str:
    kind_attribute = f' t="{kind}"' if kind else ""
    made = f"<f>{formula}</f>" if formula else ""
    inner = f"<is><t>{value}</t></is>" if kind == "inlineStr" else f"{made}<v>{value}</v>" if value != "" else made
    return f'<c r="{place}"{kind_attribute}>{inner}</c>'


def _words(row: int, *words: str) -> str:
    return "".join(_cell(f"{'ABCD'[k]}{row}", word, "inlineStr") for k, word in enumerate(words))


_HEAD = _words(1, "id", "x")
_BOOKS = {
    "formulas": (_sheet(_HEAD, _words(2, "a") + _cell("B2", 3, formula="1+2"), _words(3, "b") + _cell("B3", 4)), 2, ()),
    "formulas never computed": (
        _sheet(_HEAD, _words(2, "a") + _cell("B2", "", formula="1+2"), _words(3, "b") + _cell("B3", 4)),
        2,
        ("formula_cell",),
    ),
    "errors": (
        _sheet(_HEAD, _words(2, "a") + _cell("B2", "#DIV/0!", "e"), _words(3, "b") + _cell("B3", 4)),
        2,
        ("error_cell",),
    ),
    "booleans": (_sheet(_HEAD, _words(2, "a") + _cell("B2", 1, "b"), _words(3, "b") + _cell("B3", 0, "b")), 2, ()),
    "ids repeated": (_sheet(_HEAD, *(_words(k, "a", "7") for k in range(2, 6))), 4, ("repeated_id",)),
    "rows of nothing": (
        _sheet(_HEAD, _words(2, "a", "1"), _words(3, "", ""), "", _words(7, "b", "2")),
        3,
        ("missing_id",),
    ),
    "script": (_sheet(_words(1, "id", "&lt;script&gt;"), _words(2, "&lt;img src=x&gt;", "=cmd|' /C calc'!A0")), 1, ()),
}


def _twins() -> pa.Table:
    return pa.Table.from_arrays([pa.array(["a", "b"]), pa.array(["u", None]), pa.array(["v", "w"])], ["id", "t", "t"])


_DAYS = _sheet(
    _words(1, "id", "day"),
    *(_words(k, "ab"[k - 2]) + f'<c r="B{k}" s="1"><v>{day}</v></c>' for k, day in ((2, 43_890), (3, -5))),
)
_STYLES = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'.encode()
_XLSX = [
    Case(
        f"{label} in a workbook",
        "a.xlsx",
        lambda sheet=sheet: workbook(sheet),
        answer="",
        want="table",
        rows=rows,
        finds=finds,
    )
    for label, (sheet, rows, finds) in _BOOKS.items()
]


def _zip(label: str, members: dict[str, bytes], files: int, *finds: str) -> Case:
    return Case(label, "photos.zip", lambda: packed(members), answer="", want="images", rows=files, finds=finds)


_IMAGES = [
    _zip("names that climb", {"../../etc/passwd.png": GOOD, "..\\b.png": GOOD}, 2),
    _zip("absolute names", {"/etc/a.png": GOOD, "C:\\b.png": GOOD}, 2),
    _zip("names of script", {f"{SCRIPT.replace('/', '')}.png": GOOD, f"{RIGHT}.png": GOOD}, 2),
    _zip("names of 300 characters", {f"{'n' * 300}.png": GOOD}, 1),
    _zip("sixteen bits", {"a.png": deep()}, 1),
    _zip("CMYK", {"a.jpg": picture(form="JPEG", mode="CMYK")}, 1),
    _zip("transparent", {"a.png": picture(mode="RGBA")}, 1),
    _zip("palette", {"a.png": picture(mode="P")}, 1),
    _zip("black and white", {"a.png": picture(mode="1")}, 1),
    Case(
        "pixels that unpack to 100 MB",
        "photos.zip",
        lambda: packed({"a.png": png(5, 5, bytes(10**8))}, False),
        answer="",
        want="images",
        rows=1,
    ),
    _zip("animated", {"a.png": animated(), "b.png": GOOD}, 2, "animated_image"),
    _zip("sizes that differ", {"a.png": GOOD, "b.png": picture(90)}, 2),
    _zip("one pixel", {"a.png": picture(1)}, 1),
    _zip("notes beside", {"a.png": GOOD, "notes.txt": b"x", "b.gif": b"GIF89a"}, 3, "no_image"),
    _zip("hidden files", {"a.png": GOOD, "__MACOSX/._a.png": b"x", ".DS_Store": b"y"}, 1),
    Case("a link beside", "photos.zip", lambda: linked("notes", "a.png"), "holds no PNG", "images"),
]


def _good() -> list[Case]:
    rows = [3, 2, 2, 2, 2, 2, 2, None, 2, 2, 2, 2, 1, 1, 2, 2]
    return [
        Case(f"good {name}", name, lambda content=content: content, answer="", want=want, rows=count)
        for ((want, name), content), count in zip(VALID.items(), rows)
    ]


READ = [
    *_good(),
    *(case._replace(label=label) for label, case in _TEXT.items()),
    *_BINARY,
    *_XLSX,
    *GRAPHS,
    *_IMAGES,
    Case(
        "numbers",
        "a.parquet",
        lambda: parquet(pl.DataFrame({"id": np.arange(5), "x": np.arange(5) / 3})),
        answer="",
        want="table",
        rows=5,
    ),
    Case(
        "columns of one name",
        "a.parquet",
        lambda: parquet(_twins()),
        answer="",
        want="table",
        rows=2,
        finds=("repeated_header",),
    ),
    Case(
        "dates in a workbook",
        "a.xlsx",
        lambda: workbook(_DAYS, extra={"xl/styles.xml": _STYLES}),
        answer="",
        want="table",
        rows=2,
    ),
    Case(
        "several sheets",
        "a.xlsx",
        lambda: workbook(_sheet(_HEAD, _words(2, "a", "1")), sheets=2),
        answer="",
        want="table",
        rows=1,
        finds=("other_sheet",),
    ),
]
