"""XLSX: the archive and the extent of its sheets are checked before anything is unpacked into memory."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any

import fastexcel
import polars as pl

from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.archives import BROKEN_ZIP, refuse_many_entries
from studio.readers.columns import column_names, refuse_size
from studio.readers.delimited import has_header
from studio.readers.parsed import ParsedTable

__all__ = ["read"]

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
_DAMAGED = "{} is a damaged or encrypted workbook: save it anew as XLSX or CSV."
_CHUNK = 2**20
# A cell's beginning is far shorter, so that none is missed where two chunks meet.
_OVERLAP = 200


def read(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read a sheet of a workbook: the one named by options["sheet"], else the first that is not empty.

    Raises
    ------
    DataError
        If the archive is damaged, encrypted or unpacks to too much, a sheet is too large, or holds no table.
    """
    # Before zipfile opens it, which would read the whole directory.
    refuse_many_entries(name, content, "save the one sheet as CSV")
    cells = _check_archive(name, content)
    try:
        book = fastexcel.read_excel(content)
        sheet, rows = _chosen(name, book, options.get("sheet"))
    except fastexcel.FastExcelError:
        raise DataError(_DAMAGED.format(name)) from None
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
    findings = (findings if header else []) + _other_sheets(book, sheet) + _odd_cells(cells)
    return ParsedTable(frame, guesses, findings)


def _check_archive(name: str, content: bytes) -> Counter[str]:
    """Refuse what would unpack to too much; count the cells that hold no value (see `_ODD`)."""
    cells: Counter[str] = Counter()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(name, archive.infolist(), len(content))
            for member in archive.infolist():
                cells += _check_extent(name, archive, member)
    # DataError is a ValueError, which the next clause would otherwise turn into "damaged".
    except DataError:
        raise
    except BROKEN_ZIP:
        raise DataError(_DAMAGED.format(name)) from None
    return cells


def _check_members(name: str, members: list[zipfile.ZipInfo], size: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if any(member.flag_bits & 1 for member in members):
        raise DataError(f"{name} is encrypted: save it without a password, or as CSV.")
    # Some megabyte is free, for a small workbook packs very well.
    if unpacked > UPLOADS.unpacked_bytes or unpacked > UPLOADS.unpacked_ratio * size + 2**20:
        raise DataError(
            f"{name} unpacks to {unpacked / 2**20:,.0f} MB, which is too much: save the sheet as CSV or Parquet."
        )


def _check_extent(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Counter[str]:
    """Refuse a sheet whose cells, written or announced, span more than the limits; count its cells without a value."""
    rows = columns = 0
    cells: Counter[str] = Counter()
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
            tail = text[-_OVERLAP:]
    # Unary plus drops kinds that were not met.
    return +cells


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


def _chosen(name: str, book: Any, wanted: str | None) -> tuple[str, pl.DataFrame]:
    if wanted is not None and wanted not in book.sheet_names:
        there = ", ".join(shown(sheet, 20) for sheet in book.sheet_names)
        raise DataError(f"{name} has no sheet {shown(wanted)!r}: choose one of {there:.100}.")
    for sheet in [wanted] if wanted is not None else _seen_first(book):
        # As text, so that the same rules as for CSV decide what is a number, a date or an id.
        rows = book.load_sheet(sheet, header_row=None, dtypes="string", skip_whitespace_tail_rows=True).to_polars()
        # Rows with a format and no value come as rows of nulls.
        rows = rows.filter(~pl.all_horizontal(pl.all().is_null())) if rows.width else rows
        if rows.height:
            return sheet, rows
    raise DataError(f"{name} has no sheet with cells in it: choose a workbook with a table.")


def _seen_first(book: Any) -> list[str]:
    """Return the names of the sheets, those that the person does not see last."""
    # Hidden sheets often hold lists for menus; sorted is stable, so that the others keep their order.
    return sorted(book.sheet_names, key=lambda sheet: _is_hidden(book, sheet))


def _is_hidden(book: Any, sheet: str) -> bool:
    return book.load_sheet(sheet, header_row=None, n_rows=0, dtypes="string").visible != "visible"


def _odd_cells(cells: Counter[str]) -> list[Finding]:
    texts = {kind: f"{counted(count, 'cell')} of the workbook with {_ODD[kind][1]}" for kind, count in cells.items()}
    return [Finding(kind, "", cells[kind], f"{text}: taken as missing") for kind, text in texts.items()]


def _other_sheets(book: Any, sheet: str) -> list[Finding]:
    others = [other for other in book.sheet_names if other != sheet]
    cure = "save each as a file of its own to use it"
    text = f"{counted(len(others), 'more sheet')} left out: {shown(sheet)!r} was read; {cure}"
    found = [Finding("other_sheet", "", len(others), text, tuple(others))] if others else []
    hidden = [other for other in book.sheet_names if _is_hidden(book, other)]
    text = f"{counted(len(hidden), 'hidden sheet')}{', of which one was read' if sheet in hidden else ''}"
    return found + ([Finding("hidden_sheet", "", len(hidden), text, tuple(hidden))] if hidden else [])
