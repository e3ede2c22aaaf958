"""XLSX: the archive and the extent of its sheets are checked before anything is unpacked into memory."""

from __future__ import annotations

import io
import math
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import fastexcel
import polars as pl

from hetcore.data.identity import EXACT
from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.archives import BROKEN_ZIP, refuse_many_entries
from studio.readers.columns import column_names, looks_like_id, refuse_size
from studio.readers.delimited import has_header, is_number
from studio.readers.parsed import ParsedTable

__all__ = ["left_out", "read"]

# Searched as bytes: an XML reader would build what is to be refused.
_REFERENCE = re.compile(rb'[\s]r=["\']([A-Za-z]{0,8})(\d{1,9})["\']')
_DIMENSION = re.compile(rb'<(?:\w+:)?dimension[^>]*?ref=["\'](?:[A-Za-z]+\d+:)?([A-Za-z]{1,8})(\d{1,9})["\']')
_ODD = {
    "error_cell": (re.compile(rb'<(?:\w+:)?c\s[^>]*t="e"'), "an error such as #DIV/0!"),
    "formula_cell": (
        re.compile(rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f\b[^>]*/>)(?:<(?:\w+:)?v ?/>|<v></v>)?</(?:\w+:)?c>"),
        "a formula that was never computed",
    ),
}
"""Cells without a value: how they look, and what they hold."""
_LONG = re.compile(
    rb'<(?:\w+:)?c(?=[\s>])(?![^>]*\st=["\'][^n])[^>]*>\s*(?:<(?:\w+:)?f\b[^<]*(?:</(?:\w+:)?f>|/>)\s*)?'
    rb"<(?:\w+:)?v>\s*([+-]?(?:\d{16,}|\d[\d.]*[eE]\+?\d{2,3}))\s*<"
)
"""Cells of numbers, not of text, that may be too long for a float to hold."""
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref=["\']([A-Za-z]+)(\d+):([A-Za-z]+)(\d+)["\']')
_HIDDEN = re.compile(rb'<(?:\w+:)?(?:row|col)\s(?=[^>]*\bhidden=["\'](?:1|true)["\'])[^>]*>')
_DAMAGED = "{} is a damaged or encrypted workbook: save it anew as XLSX or CSV."
_CHUNK = 2**20
_TABLE, _NO_TABLE, _HIDDEN_SHEET = "table", "no table", "hidden"
# A cell's beginning is far shorter, so that none is missed where two chunks meet.
_OVERLAP = 200


class _Marks(NamedTuple):
    """What a sheet's XML says beside its values.

    Attributes
    ----------
    odd : Counter
        Cells that hold no value, by kind: see `_ODD`.
    merged : set of (bytes, bytes, bytes, bytes)
        Areas of cells that are one: letters and number of the first and of the last cell.
    hidden : set of bytes
        Tags of rows and columns that the person does not see.
    columns : int
        The last column that holds a cell, from 1.
    rounded : set of str
        Numbers of 2^53 and more as the reader writes them: a workbook's numbers are floats.
    """

    odd: Counter[str]
    merged: set[tuple[bytes, ...]]
    hidden: set[bytes]
    columns: int
    rounded: set[str]


def read(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read a sheet of a workbook: the one named by options["sheet"], else the first that has rows of several cells.

    Raises
    ------
    DataError
        If the archive is damaged, encrypted or unpacks to too much, a sheet is too large, or holds no table.
    """
    # Before zipfile opens it, which would read the whole directory.
    refuse_many_entries(name, content, "save the one sheet as CSV")
    marks = _check_archive(name, content)
    try:
        book = fastexcel.read_excel(content)
        looks = _looks(book)
        sheet, rows, numbers = _chosen(name, book, looks, options.get("sheet"))
    except fastexcel.FastExcelError:
        raise DataError(_DAMAGED.format(name)) from None
    skipped = _above(rows)
    rows, numbers = rows[skipped:], numbers[skipped:]
    # The guess looks at 200 rows, as that of CSV does.
    first = [["" if cell is None else cell for cell in row] for row in rows[:200].iter_rows()]
    header = options["header"] if options.get("header") is not None else has_header(first)
    names, findings = column_names(first[0] if header else [""] * rows.width)
    frame = rows[1:] if header else rows
    frame = frame.rename(dict(zip(frame.columns, names)))
    if frame.height == 0:
        raise DataError(f"{name} has a header but no rows: choose a workbook with at least one row below the header.")
    if frame.width < 2:
        raise DataError(f"{name} has one column, but an id column and at least one more are needed.")
    guesses = ["XLSX", *([] if header else ["no header: columns are numbered"])]
    guesses += [f"{counted(skipped, 'line')} above the table left out"] if skipped else []
    sheets = (sheet, *(other for other, look in looks.items() if look == _TABLE and other != sheet))
    findings = (findings if header else []) + _other_sheets(looks, sheet, sheets[1:])
    read = [each for member, each in marks.items() if member in _members_of(content, book, sheet)]
    findings += _odd_cells(sum((each.odd for each in marks.values()), Counter()))
    frame, rounded = _rounded(frame, {text for each in read for text in each.rounded})
    findings += rounded
    findings += _merged_cells(read, numbers) + _hidden_parts(read, numbers)
    return ParsedTable(frame, guesses, findings, sheets=sheets if len(sheets) > 1 else ())


def _check_archive(name: str, content: bytes) -> dict[str, _Marks]:
    """Refuse what would unpack to too much; return what each member says beside its values."""
    marks: dict[str, _Marks] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(name, archive.infolist(), len(content))
            for member in archive.infolist():
                marks[member.filename] = _check_extent(name, archive, member)
    # DataError is a ValueError, which the next clause would otherwise turn into "damaged".
    except DataError:
        raise
    except BROKEN_ZIP:
        raise DataError(_DAMAGED.format(name)) from None
    return marks


def _check_members(name: str, members: list[zipfile.ZipInfo], size: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if any(member.flag_bits & 1 for member in members):
        raise DataError(f"{name} is encrypted: save it without a password, or as CSV.")
    # Some megabyte is free, for a small workbook packs very well.
    if unpacked > UPLOADS.unpacked_bytes or unpacked > UPLOADS.unpacked_ratio * size + 2**20:
        raise DataError(
            f"{name} unpacks to {unpacked / 2**20:,.0f} MB, which is too much: save the sheet as CSV or Parquet."
        )


def _check_extent(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Marks:
    """Refuse a sheet whose cells, written or announced, span more than the limits; return what it says beside them."""
    rows = columns = 0
    cells, merged, hidden, long = Counter[str](), set(), set(), set()
    tail = b""
    unpacked = 0
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            unpacked += len(chunk)
            # Counted while it unpacks: what an archive announces is written by whoever made it.
            if unpacked > UPLOADS.unpacked_bytes:
                raise DataError(f"{name} unpacks to more than it announces: save the sheet as CSV or Parquet.")
            text = tail + chunk
            # XLSX needs no entities, and some that refer to one another grow without bound.
            if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
                raise DataError(f"{name} holds XML entities, which are refused: save it anew as XLSX or CSV.")
            rows, columns = _extent(text, rows, columns)
            refuse_size(name, rows, columns)
            for kind, (pattern, _) in _ODD.items():
                # Those in the overlap were counted with the chunk before.
                cells[kind] += len(pattern.findall(text)) - len(pattern.findall(tail))
            merged.update(_MERGED.findall(text))
            hidden.update(_HIDDEN.findall(text))
            long.update(_LONG.findall(text))
            tail = text[-_OVERLAP:]
    # Unary plus drops kinds that were not met.
    numbers = [number for number in map(float, long) if EXACT <= abs(number) < math.inf]
    return _Marks(+cells, merged, hidden, columns, {f"{number:.0f}" for number in numbers})


def _extent(text: bytes, rows: int, columns: int) -> tuple[int, int]:
    for pattern in (_REFERENCE, _DIMENSION):
        for letters, digits in set(pattern.findall(text)):
            rows, columns = max(rows, int(digits)), max(columns, _column_number(letters))
    return rows, columns


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _chosen(
    name: str, book: Any, looks: Mapping[str, str], wanted: str | None
) -> tuple[str, pl.DataFrame, pl.Series]:
    """Return the name of the sheet that is read, its rows that are not empty, and their numbers in the sheet from 1."""
    if wanted is not None and wanted not in book.sheet_names:
        there = ", ".join(shown(sheet, 20) for sheet in book.sheet_names)
        raise DataError(f"{name} has no sheet {shown(wanted)!r}: choose one of {there:.100}.")
    found = None
    for sheet in [wanted] if wanted is not None else _seen_first(looks):
        # As text, so that the same rules as for CSV decide what is a number, a date or an id.
        # From the first row of the sheet, so that a place is a row's number.
        rows = book.load_sheet(
            sheet, header_row=None, dtypes="string", skip_rows=0, skip_whitespace_tail_rows=True
        ).to_polars()
        if not rows.width:
            continue
        # Rows with a format and no value come as rows of nulls.
        cells = rows.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
        most = int(cells.max() or 0)
        # A sheet of lines, such as a cover, is read where no other has rows of several cells.
        if most > 1 or (most and found is None):
            found = sheet, rows.filter(cells > 0), (cells > 0).arg_true() + 1
        if most > 1:
            break
    if found is not None:
        return found
    raise DataError(f"{name} has no sheet with cells in it: choose a workbook with a table.")


def _looks(book: Any) -> dict[str, str]:
    """Return of each sheet whether it is hidden, has a table (near its beginning a row of several cells), or none."""
    looks = {}
    for name in book.sheet_names:
        sheet = book.load_sheet(name, header_row=None, n_rows=200, dtypes="string", skip_rows=0)
        several = any(sum(cell is not None for cell in row) > 1 for row in sheet.to_polars().iter_rows())
        looks[name] = _HIDDEN_SHEET if sheet.visible != "visible" else _TABLE if several else _NO_TABLE
    return looks


def _seen_first(looks: Mapping[str, str]) -> list[str]:
    """Return the names of the sheets, those that the person does not see last."""
    # Hidden sheets often hold lists for menus; sorted is stable, so that the others keep their order.
    return sorted(looks, key=lambda sheet: looks[sheet] == _HIDDEN_SHEET)


def _above(rows: pl.DataFrame) -> int:
    """Return how many rows of one cell, such as a title, stand above the first that has more."""
    filled = [[cell for cell in row if cell is not None] for row in rows.head(200).iter_rows()]
    first = next((k for k, cells in enumerate(filled) if len(cells) > 1), 0)
    # A number, or the one name that a header has, is of the table.
    titles = all(not is_number(cell) and not looks_like_id(cell) for (cell,) in filled[:first])
    return first if titles else 0


def _members_of(content: bytes, book: Any, sheet: str) -> set[str]:
    """Return the member of the archive that holds a sheet, or all where the archive does not say which."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = set(archive.namelist())
        try:
            tags = re.findall(rb"<(?:\w+:)?sheet\s[^>]*>", archive.read("xl/workbook.xml"))
            links = re.findall(rb"<(?:\w+:)?Relationship\s[^>]*>", archive.read("xl/_rels/workbook.xml.rels"))
        except KeyError:
            return names
    # In the order of the workbook, as the reader has them.
    keys = dict(zip(book.sheet_names, (_attribute(rb"\w+:id", tag) for tag in tags)))
    targets = {_attribute(b"Id", link): _attribute(b"Target", link).decode(errors="replace") for link in links}
    target = targets.get(keys.get(sheet, b""), "")
    member = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    return {member} if member in names else names


def _attribute(attribute: bytes, tag: bytes) -> bytes:
    found = re.search(rb"\s" + attribute + rb'=["\']([^"\']*)', tag)
    return found[1] if found else b""


def _number(attribute: bytes, tag: bytes) -> int:
    """Return what a tag says of itself as a whole number, 0 if it says none."""
    text = _attribute(attribute, tag)
    return int(text) if text.isdigit() and len(text) < 10 else 0


def _merged_cells(marks: list[_Marks], numbers: pl.Series) -> list[Finding]:
    """Report cells that are one with another: only the first of an area has its value."""
    there, hidden, areas = numbers.to_list(), 0, []
    merged = {area for each in marks for area in each.merged}
    for left, first, right, last in sorted(merged, key=lambda area: (int(area[1]), area)):
        rows = bisect_right(there, int(last)) - bisect_left(there, int(first))
        # Above the table and between its rows nothing is lost.
        if rows:
            hidden += rows * (1 + abs(_column_number(right) - _column_number(left))) - 1
            areas.append(f"{left.decode()}{int(first)}:{right.decode()}{int(last)}")
    text = f"{counted(hidden, 'cell')} merged with the cell above or beside: taken as missing, for that one alone has "
    text += "the value; unmerge the cells and fill each"
    return [Finding("merged_cell", "", hidden, text, tuple(areas))] if hidden else []


def _hidden_parts(marks: list[_Marks], numbers: pl.Series) -> list[Finding]:
    """Report rows and columns that the person does not see, such as those that a filter leaves out."""
    tags = {tag for each in marks for tag in each.hidden}
    rows = {_number(b"r", tag) for tag in tags}.intersection(numbers)
    width = max((each.columns for each in marks), default=0)
    spans = [(first, min(_number(b"max", tag), width)) for tag in tags if (first := _number(b"min", tag))]
    columns = sum(max(last - first + 1, 0) for first, last in spans)
    parts = [counted(count, f"hidden {noun}") for count, noun in ((len(rows), "row"), (columns, "column")) if count]
    text = f"{' and '.join(parts)} of the sheet read as the others are: leave out what a filter had left out"
    return [Finding("hidden_part", "", len(rows) + columns, text)] if parts else []


def _rounded(frame: pl.DataFrame, texts: set[str]) -> tuple[pl.DataFrame, list[Finding]]:
    """Return columns with numbers of 2^53 and more as floats, which no ids may be; report those that text is among."""
    if not texts:
        return frame, []
    floats, findings = [], []
    for cells in frame.iter_columns():
        long = cells.is_in(pl.Series(sorted(texts))).fill_null(False)
        count, numbers = int(long.sum()), cells.cast(pl.Float64, strict=False)
        if count and numbers.null_count() == cells.null_count():
            floats.append(numbers)
        elif count:
            text = f"{counted(count, 'number')} beside text, of so many digits that a workbook rounds them: no ids; "
            text += "have the program that made it write the column as text"
            findings.append(Finding("rounded_id", f"column {cells.name!r:.60}", count, text))
    return frame.with_columns(floats), findings


def _odd_cells(cells: Counter[str]) -> list[Finding]:
    texts = {kind: f"{counted(count, 'cell')} of the workbook with {_ODD[kind][1]}" for kind, count in cells.items()}
    return [Finding(kind, "", cells[kind], f"{text}: taken as missing") for kind, text in texts.items()]


def left_out(sheet: str, others: Sequence[str], tables: Sequence[str]) -> list[Finding]:
    """Report the sheets that are not read where one is, of which `tables` may be chosen."""
    if not others:
        return []
    cure = "choose another, or use it too" if tables else "no other has a table that is seen"
    text = f"{counted(len(others), 'more sheet')} left out: {shown(sheet)!r} was read; {cure}"
    return [Finding("other_sheet", "", len(others), text, tuple(others))]


def _other_sheets(looks: Mapping[str, str], sheet: str, tables: Sequence[str]) -> list[Finding]:
    """Report the sheets that are not read, of which `tables` may be chosen, and those that the person does not see."""
    found = left_out(sheet, [other for other in looks if other != sheet], tables)
    hidden = [other for other, look in looks.items() if look == _HIDDEN_SHEET]
    text = f"{counted(len(hidden), 'hidden sheet')}{', of which one was read' if sheet in hidden else ''}"
    return found + ([Finding("hidden_sheet", "", len(hidden), text, tuple(hidden))] if hidden else [])
