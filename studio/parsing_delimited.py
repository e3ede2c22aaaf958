"""CSV and its kin: guess what stands between columns and whether there is a header, then read every cell as text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv

from hetcore.data.report import Finding
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.parsed import ParsedTable
from studio.parsing_names import column_names, looks_like_id, refuse_size
from studio.parsing_text import as_utf8

__all__ = ["read"]

_DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "spaces"}
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*$")
_SAMPLE_LINES = 200


def read(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read a delimited text file; see `studio.uploads.Options` for the options.

    Raises
    ------
    DataError
        If it is no text, has one column, no rows, rows of other lengths, or more than the limits.
    """
    text, guesses = as_utf8(name, content, options.get("encoding"))
    edges = bool(options.get("edges"))
    if edges:
        text, guesses = _without_comments(text, guesses)
    lines = _sample_lines(text)
    delimiter = options.get("delimiter") or _delimiter(lines, edges)
    if delimiter == " ":
        text = re.sub(rb"[ \t]+", b" ", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", text))
        lines = _sample_lines(text)
    rows = _split(lines, delimiter)
    _refuse_shape(name, rows, edges)
    shift = len(rows[0]) + 1 == _usual_width(rows[1:])
    header = shift or (options["header"] if options.get("header") is not None else has_header(rows, edges))
    table, findings = _table(name, text, delimiter, rows, header, shift, options.get("ragged", "refuse"))
    guesses = [f"{_DELIMITERS.get(delimiter, repr(delimiter))} between columns", *guesses]
    guesses += [] if header else ["no header: columns are numbered"]
    return ParsedTable(table, guesses, findings, delimiter)


def _without_comments(text: bytes, guesses: list[str]) -> tuple[bytes, list[str]]:
    kept, count = re.subn(rb"(?m)^[ \t]*[#%][^\n]*\n?", b"", text)
    return (kept, [*guesses, f"{count:,} comment lines left out"]) if count else (text, guesses)


def _sample_lines(text: bytes) -> str:
    """Return the first lines, whole, as text."""
    end = 0
    for _ in range(_SAMPLE_LINES):
        following = text.find(b"\n", end)
        if following < 0 or following > UPLOADS.line_bytes:
            return text[: UPLOADS.line_bytes].decode(errors="ignore")
        end = following + 1
    return text[:end].decode()


def _delimiter(lines: str, edges: bool) -> str:
    """Return the delimiter that cuts most lines into the same number of at least two pieces."""
    candidates = [mark for mark in _DELIMITERS if mark != " " or edges]
    return max(candidates, key=lambda mark: _consistency(_split(lines, mark)))


def _consistency(rows: list[list[str]]) -> tuple[float, int]:
    widths = Counter(map(len, rows))
    width = _usual_width(rows)
    if width < 2:
        return 0.0, 0
    first = len(rows[0]) in (width, width - 1) and len(rows[0]) > 1
    return round(widths[width] / len(rows), 2) * (1.0 if first else 0.5), width


def _usual_width(rows: Sequence[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def _split(lines: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(2 * UPLOADS.line_bytes)
    rows = csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)
    return [row for row in rows if any(cell.strip() for cell in row)][:_SAMPLE_LINES]


def _refuse_shape(name: str, rows: list[list[str]], edges: bool) -> None:
    width = max(map(len, rows[:2]), default=0)
    if width < 2:
        need = "a source and a target column" if edges else "an id column and at least one more"
        raise DataError(
            f"{name} has one column, but {need} are needed: separate columns by commas, semicolons or tabs."
        )
    if width > UPLOADS.columns:
        raise DataError(f"{name} has {width:,} columns, more than {UPLOADS.columns:,}: leave some out, or split it.")


def has_header(rows: list[list[str]], edges: bool = False) -> bool:
    """Guess whether the first row names the columns.

    Parameters
    ----------
    rows : list of list of str
        First rows of the file.
    edges : bool
        Whether these are edges, where two columns of names are common and a header is not.
    """
    first, rest = rows[0], rows[1:]
    if looks_like_id(first[0]) or (edges and _names_ends(first)):
        return True
    if not rest:
        return not any(map(_is_number, first))
    numeric = [j for j in range(len(first)) if _numbers_below(rest, j)]
    if numeric:
        return not all(_is_number(first[j]) for j in numeric)
    return not edges and not any(map(_is_number, first)) and len(set(first)) == len(first)


def _names_ends(first: list[str]) -> bool:
    from studio.parsing_names import END_NAMES

    return any({cell.strip().lower() for cell in first} >= set(pair) for pair in END_NAMES)


def _numbers_below(rows: list[list[str]], column: int) -> bool:
    cells = [row[column] for row in rows if column < len(row) and row[column].strip()]
    return bool(cells) and all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    return _NUMBER.match(cell) is not None


def _table(
    name: str, text: bytes, delimiter: str, rows: list[list[str]], header: bool, shift: bool, ragged: str
) -> tuple[pl.DataFrame, list[Finding]]:
    width = len(rows[0]) + shift
    given = (["row"] if shift else []) + rows[0] if header else [""] * width
    names, findings = column_names(given)
    frame, more = _cells(name, text, delimiter, names, header, ragged)
    frame, trailing = _without_trailing(frame, given) if shift else (frame, [])
    if frame.height == 0:
        raise DataError(f"{name} has a header but no rows: choose a file with at least one row below the header.")
    refuse_size(name, frame.height, frame.width)
    return frame, (findings if header else []) + more + trailing


def _without_trailing(frame: pl.DataFrame, given: list[str]) -> tuple[pl.DataFrame, list[Finding]]:
    """Tell rows that end with a delimiter from rows that begin with a name which the header leaves out."""
    last = frame.columns[-1]
    if frame[last].null_count() < frame.height:
        message = "the header has one name fewer than the rows have cells: the first column is called 'row'"
        return frame, [Finding("short_header", "", 1, message)]
    names, _ = column_names(given[1:])
    finding = Finding(
        "trailing_delimiter", "", frame.height, "every row ends with a delimiter: the empty last column is left out"
    )
    return frame.drop(last).rename(dict(zip(frame.columns, names))), [finding]


def _cells(
    name: str, text: bytes, delimiter: str, names: list[str], header: bool, ragged: str
) -> tuple[pl.DataFrame, list[Finding]]:
    """Read every cell as text, and see to rows with another number of cells."""
    odd: list[tuple[int, int]] = []

    def on_odd_row(row: Any) -> str:
        odd.append((row.number, row.actual_columns))
        return "skip"

    table = pa.csv.read_csv(
        pa.BufferReader(text),
        read_options=pa.csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=names, skip_rows=0, encoding="utf8"
        ),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=on_odd_row),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    frame = pl.from_arrow(table)
    header_is_odd = bool(odd) and odd[0][0] == 1
    frame, odd = (frame[1:], odd) if header and not header_is_odd else (frame, odd[1:] if header else odd)
    return frame, _ragged(name, odd, len(names), frame.height, ragged)


def _ragged(name: str, odd: list[tuple[int, int]], width: int, rows: int, ragged: str) -> list[Finding]:
    if not odd:
        return []
    row, cells = odd[0]
    if ragged != "skip":
        others = f", and {len(odd) - 1:,} more rows differ" if len(odd) > 1 else ""
        raise DataError(
            f"{name} has {cells} cells in row {row:,} where {width} are expected{others}: "
            "mend these rows, quote cells that hold the delimiter, or choose to leave such rows out."
        )
    message = f"{len(odd):,} of {len(odd) + rows:,} rows have another number of cells than {width}: left out"
    return [Finding("ragged_row", "", len(odd), message, tuple(f"row {number}" for number, _ in odd[:5]))]
