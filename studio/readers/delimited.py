"""CSV and its kin: guess what stands between columns and whether there is a header, then read every cell as text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.csv

from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.readers.columns import column_names, end_columns, looks_like_id, refuse_size
from studio.readers.decoding import as_utf8
from studio.readers.parsed import ParsedTable

__all__ = ["has_header", "is_number", "read"]

# The rarest in prose first: of two that cut equally well the earlier one is taken.
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
    edges = bool(options.get("edges"))
    text, guesses = as_utf8(name, content, options.get("encoding"))
    text, options, guesses = _without_mark(text, options, guesses)
    if edges:
        # Only of edges, for a table may well have a column that begins with #.
        text, guesses = _without_comments(text, guesses)
    text, skipped = _without_preamble(text, options.get("delimiter"), edges)
    layout = _layout(name, text, options, edges)
    if layout.delimiter == " ":
        # Columns drawn by spaces have several of them.
        text = re.sub(rb"[ \t]+", b" ", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", text))
    # With quotes a line may be part of a cell, so that lines are no count of rows.
    if b'"' not in text:  # every line is a row, so what is too much shows before it is read
        rows = text.count(b"\n") - bool(layout.header)
        refuse_size(name, rows, len(layout.names), edges, UPLOADS.text_cells)
    frame, findings = _cells(name, text, layout, options.get("ragged", "refuse"), skipped)
    # Whether the header lacks a name or the rows end with a delimiter shows only in the last column.
    frame, trailing = _without_trailing(frame, layout.header) if layout.shifted else (frame, [])
    _refuse_extent(name, frame, edges)
    guesses = [f"{_DELIMITERS.get(layout.delimiter, repr(layout.delimiter))} between columns", *guesses]
    guesses += [] if layout.header else ["no header: columns are numbered"]
    guesses += [f"{counted(skipped, 'line')} above the table left out"] if skipped else []
    return ParsedTable(frame, guesses, layout.findings + findings + trailing, layout.delimiter)


def without_blank_rows(name: str, table: ParsedTable) -> ParsedTable:
    """Leave out rows of delimiters alone, which spreadsheets write below a table; DataError if no other is there."""
    frame = table.frame
    if not table.delimiter or not _blank(frame[:, :1]).any():
        return table
    blank = _blank(frame)
    _refuse_extent(name, frame.filter(~blank), edges=False)
    count = int(blank.sum())
    found = [Finding("blank_row", "", count, f"{counted(count, 'row')} without any value left out")] if count else []
    return table._replace(frame=frame.filter(~blank), findings=table.findings + found)


def _blank(frame: pl.DataFrame) -> pl.Series:
    texts = pl.col(pl.String).str.strip_chars().replace("", None)
    return frame.with_columns(texts).select(pl.all_horizontal(pl.all().is_null())).to_series()


class _Layout(NamedTuple):
    """How the file is to be read: `header` is its first row, empty without one; `shifted` if that is too short."""

    delimiter: str
    names: list[str]
    header: list[str]
    shifted: bool
    findings: list[Finding]


def _layout(name: str, text: bytes, options: Mapping[str, Any], edges: bool) -> _Layout:
    lines = _sample_lines(text)
    delimiter = options.get("delimiter") or _delimiter(lines, edges)
    rows = _split(lines if delimiter != " " else re.sub(r"(?m)^[ \t]+|(?<=[ \t])[ \t]+", "", lines), delimiter)
    _refuse_shape(name, rows, edges)
    _refuse_prose(name, lines, rows, delimiter)
    shifted = len(rows[0]) + 1 == _usual_width(rows[1:])
    has_names = options.get("header")
    header = rows[0] if shifted or (has_header(rows, edges) if has_names is None else has_names) else []
    # Without a header every name is blank, and is numbered by the same rule as a blank one.
    names, findings = column_names((["row"] if shifted else []) + (header or [""] * len(rows[0])))
    return _Layout(delimiter, names, header, shifted, findings if header else [])


def _refuse_extent(name: str, frame: pl.DataFrame, edges: bool) -> None:
    if frame.height == 0:
        raise DataError(f"{name} has a header but no rows: choose a file with at least one row below the header.")
    refuse_size(name, frame.height, frame.width, edges)


def _without_mark(
    text: bytes, options: Mapping[str, Any], guesses: list[str]
) -> tuple[bytes, Mapping[str, Any], list[str]]:
    """Obey the line sep=; at the top, which Excel reads and writes, and leave it out."""
    mark = re.match(rb'"?sep=([,;\t|])"?[ \t]*\r?\n', text, re.IGNORECASE)
    if mark is None:
        return text, options, guesses
    delimiter = options.get("delimiter") or mark[1].decode()
    return text[mark.end() :], {**options, "delimiter": delimiter}, [*guesses, "a line sep= left out"]


def _without_comments(text: bytes, guesses: list[str]) -> tuple[bytes, list[str]]:
    """Leave out the lines at the top that begin with # or %, unless all lines do, as where ids begin so."""
    comments = re.match(rb"([ \t]*([#%][^\n]*)?\n)*", text)[0]
    if not comments.strip() or not text[len(comments) :].strip():
        return text, guesses
    count = sum(line.strip() != b"" for line in comments.splitlines())
    return text[len(comments) :], [*guesses, f"{counted(count, 'comment line')} left out"]


def _without_preamble(text: bytes, delimiter: str | None, edges: bool) -> tuple[bytes, int]:
    """Leave out lines of one cell above the table, such as a title; return how many lines that are."""
    lines = _sample_lines(text)
    delimiter = delimiter or _delimiter(lines, edges)
    reader = csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)
    ends, widths = [0], []
    for row in reader:
        ends.append(reader.line_num)
        widths.append(len(row) if any(cell.strip() for cell in row) else 0)
    first = next((k for k, width in enumerate(widths) if width > 1), 0)
    # What comes before may hold one cell, such as a title; a table of one column has nothing above it.
    if delimiter == " " or not any(widths[:first]):
        return text, 0
    return text.split(b"\n", ends[first])[-1], ends[first]


def _sample_lines(text: bytes) -> str:
    """Return the first lines, whole, as text."""
    end = 0
    for _ in range(_SAMPLE_LINES):
        following = text.find(b"\n", end)
        if following < 0 or following > UPLOADS.line_bytes:
            # A line longer than that is refused later, by words; here it must not be read whole.
            return text[: UPLOADS.line_bytes].decode(errors="ignore")
        end = following + 1
    return text[:end].decode()


def _delimiter(lines: str, edges: bool) -> str:
    """Return the delimiter that cuts most lines into the same number of at least two pieces."""
    # Spaces stand inside cells of any table; between the ends of edges they are common.
    candidates = [mark for mark in _DELIMITERS if mark != " " or edges]
    return max(candidates, key=lambda mark: _consistency(_split(lines, mark)))


def _consistency(rows: list[list[str]]) -> tuple[float, int]:
    widths = Counter(map(len, rows))
    width = _usual_width(rows)
    if width < 2:
        return 0.0, 0
    # A header may be one short; a first line of any other width speaks against the delimiter.
    first = len(rows[0]) in (width, width - 1) and len(rows[0]) > 1
    # Rounded, so that one odd line does not outweigh that the other delimiter makes more columns.
    return round(widths[width] / len(rows), 2) * (1.0 if first else 0.5), width


def _usual_width(rows: Sequence[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def _split(lines: str, delimiter: str) -> list[list[str]]:
    # The module's own limit is 128 kB, less than a cell may have here.
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


def _refuse_prose(name: str, lines: str, rows: list[list[str]], delimiter: str) -> None:
    """Refuse a letter, whose commas cut it into columns by chance.

    It has a space behind every comma, no number and no quote for a cell, several words in most cells or a first line of
    one cell such as "Dear Sir,", and lines that end like those of sentences.
    """
    cells = [cell.strip() for row in rows for cell in row if cell.strip()]
    # A quote, a comma without a space or a number is in tables and hardly in letters.
    if delimiter != "," or '"' in lines or re.search(r",[^\s]", lines) or any(map(is_number, cells)):
        return
    wordy = sum(len(cell.split()) > 2 for cell in cells) / max(len(cells), 1)
    ended = sum(row.rstrip().endswith((".", ",", "!", "?", ":")) for row in lines.splitlines())
    greeting = sum(cell.strip() != "" for cell in rows[0]) == 1
    if ended and (wordy >= 0.3 or (greeting and wordy)):
        raise DataError(f"{name} reads like a letter and not like a table: upload rows of cells, one row an instance.")


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
    if looks_like_id(first[0]) or (edges and end_columns(first)):
        return True
    # A single row has nothing to be compared with.
    if not rest:
        return not any(map(is_number, first))
    above_numbers = [cell for j, cell in enumerate(first) if cell.strip() and _numbers_below(rest, j)]
    # A name stands above numbers and is none; this is the surest sign, so it decides where it can.
    if above_numbers:
        return not all(map(is_number, above_numbers))
    # Edges have ids in both columns, so that a first row of words is as likely an edge.
    return not edges and not any(map(is_number, first)) and len(set(first)) == len(first)


def _numbers_below(rows: list[list[str]], column: int) -> bool:
    cells = [row[column] for row in rows if column < len(row) and row[column].strip()]
    return bool(cells) and all(map(is_number, cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a dot or a comma."""
    return _NUMBER.match(cell) is not None


def _without_trailing(frame: pl.DataFrame, header: list[str]) -> tuple[pl.DataFrame, list[Finding]]:
    """Tell rows that end with a delimiter from rows that begin with a name which the header leaves out."""
    last = frame.columns[-1]
    if frame[last].null_count() < frame.height:
        message = "the header has one name fewer than the rows have cells: the first column is called 'row'"
        return frame, [Finding("short_header", "", 1, message)]
    names, _ = column_names(header)
    finding = Finding(
        "trailing_delimiter", "", frame.height, "every row ends with a delimiter: the empty last column is left out"
    )
    return frame.drop(last).rename(dict(zip(frame.columns, names))), [finding]


def _cells(name: str, text: bytes, layout: _Layout, ragged: str, skipped: int) -> tuple[pl.DataFrame, list[Finding]]:
    """Read every cell as text, and see to rows with another number of cells and to cells of several lines."""
    odd: list[tuple[int, int]] = []

    # Arrow calls this for every odd row, so that they are counted and told all at once.
    def on_odd_row(row: Any) -> str:
        odd.append((row.number + skipped, row.actual_columns))
        return "skip"

    frame = _all_cells(text, layout, on_odd_row)
    # pyarrow is told the names, for it would refuse a header that has one name twice.
    if layout.header:  # it came as a row, or, where it is too short, as an odd one
        frame, odd = (frame, odd[1:]) if odd and odd[0][0] == 1 + skipped else (frame[1:], odd)
    findings = _ragged(name, odd, frame.width, frame.height, ragged)
    return frame, findings + _line_breaks(name, text, frame)


def _all_cells(text: bytes, layout: _Layout, on_odd_row: Callable[[Any], str]) -> pl.DataFrame:
    table = pa.csv.read_csv(
        pa.BufferReader(text),
        # One thread, or odd rows would come without their numbers; one block, so that no long row straddles two.
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=layout.names),
        parse_options=pa.csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=on_odd_row
        ),
        convert_options=pa.csv.ConvertOptions(
            # All as text: what a column is, is decided over all its cells later, not over the first block.
            column_types=dict.fromkeys(layout.names, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    return pl.from_arrow(table)


def _line_breaks(name: str, text: bytes, frame: pl.DataFrame) -> list[Finding]:
    """Report cells of several lines, and refuse a quote that swallows the rest of the file."""
    if b'"' not in text or frame.height >= text.count(b"\n"):
        return []
    broken = frame.select(pl.all().str.contains("\n", literal=True).fill_null(False))
    rows = broken.select(pl.any_horizontal(pl.all())).to_series().arg_true()
    # An open quote takes the rest of the file into one cell, and the number of quotes is odd.
    if len(rows) and rows[-1] == frame.height - 1 and broken[-1, -1] and text.count(b'"') % 2:
        raise DataError(f"{name} has a quote that is never closed (row {frame.height + 1:,}): close it or remove it.")
    message = f"{counted(len(rows), 'row')} with line breaks inside quotes"
    return [Finding("line_break", "", len(rows), message, tuple(f"row {k + 2}" for k in rows[:5]))] if len(rows) else []


def _ragged(name: str, odd: list[tuple[int, int]], width: int, rows: int, ragged: str) -> list[Finding]:
    if not odd:
        return []
    row, cells = odd[0]
    if ragged != "skip":
        more = len(odd) - 1
        others = f", and {counted(more, 'more row')} differ{'s' if more == 1 else ''}" if more else ""
        raise DataError(
            f"{name} has {counted(cells, 'cell')} in row {row:,} where {width} are expected{others}: "
            "mend these rows, or quote cells that hold the delimiter."
        )
    message = f"{len(odd):,} of {len(odd) + rows:,} rows have another number of cells than {width}: left out"
    return [Finding("ragged_row", "", len(odd), message, tuple(f"row {number}" for number, _ in odd[:5]))]
