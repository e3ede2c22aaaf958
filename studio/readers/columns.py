"""Columns of a file: which names look like ids or ends of edges, what bad names become, the types of text columns.

Text becomes numbers, truth values and dates only where nothing is lost; changes and near misses are reported. What
looks like an id stays text, and so do numbers with leading zeros ("001" is not "1") and digits too long for a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from hetcore.data.columns import PATTERN
from hetcore.data.kinds import CLOCK, DRESSED, NAMED_MONTH, zones
from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.readers.parsed import ParsedTable

__all__ = [
    "LABEL_NAMES", "WEIGHT_NAMES", "column_names", "end_columns", "looks_like_id", "looks_like_label", "may_be_ends",
    "refuse_size", "typed",
]  # fmt: skip

# The most telling names first: a table with "source" and "target" may have an "i" and a "j" too.
END_NAMES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("source_id", "target_id"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("u", "v"),
    ("i", "j"),
    ("head", "tail"),
)
_FRONT = re.compile(r"(from|source|src|head|to|target|dst|tail)[\s_.-]+(.+)$")
_BACK = re.compile(r"(.+?)[\s_.-]*(from|source|src|1|to|target|dst|2)$")
_OPPOSITE = {"from": "to", "source": "target", "src": "dst", "head": "tail", "1": "2"}
WEIGHT_NAMES = ("weight", "weights", "w", "value", "strength", "count", "similarity")
LABEL_NAMES = ("y", "label", "target", "class", "labels", "outcome", "rating", "category")
_LABEL_WORD = re.compile(r"(?:^|[\W_])(label|target|class|outcome|rating|category)$", re.I)
_NUMBERED = re.compile(r"(.+?)[\s_.-]*[12]$")
_ID_NAMES = {"id", "ids", "key", "uuid", "guid", "identifier", "index", "code", "name", "title", "row"}
_ID_ENDING = re.compile(r"(?:[_\s.-]ids?|[a-z]I[dD]s?)$")


def looks_like_id(name: str) -> bool:
    """Whether a column of this name holds ids, which stay text whatever they look like."""
    name = name.strip()
    return name.lower() in _ID_NAMES or _ID_ENDING.search(name) is not None


def looks_like_label(name: str) -> bool:
    """Whether a column is called like a label, or its last word is: "imdb_rating"."""
    return name.strip().lower() in LABEL_NAMES or _LABEL_WORD.search(name.strip()) is not None


def end_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that are named like the ends of edges: source and target, from film and to film, user1 …

    None where no two are.
    """
    # Reversed, so that of two names that differ in case the first one counts.
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for first, second in END_NAMES:
        if first in by_name and second in by_name:
            return by_name[first], by_name[second]
    for pattern, word, of in ((_FRONT, 1, 2), (_BACK, 2, 1)):
        parts = {low: found for low in by_name if (found := pattern.fullmatch(low))}
        for low, found in parts.items():
            other = _OPPOSITE.get(found[word])
            for their, match in parts.items():
                if match[word] == other and match[of] == found[of]:
                    return by_name[low], by_name[their]
    return None


def may_be_ends(frame: pl.DataFrame, ends: tuple[str, str]) -> bool:
    """Tell whether two columns that are named like the ends of edges may be that by what the table holds.

    Fractions are none. Names that differ in 1 and 2 are those of measurements too, such as x1 and x2: there the ends
    are text, or whole numbers that come again, and no other column looks like an id or a label.
    """
    columns = [frame[end] for end in ends]
    if any(column.dtype.is_float() and (column != column.round()).any() for column in columns):
        return False
    low = tuple(end.strip().lower() for end in ends)
    if low in END_NAMES or not all(map(_NUMBERED.fullmatch, low)):
        return True
    if any(looks_like_id(name) or looks_like_label(name) for name in frame.columns if name not in ends):
        return False
    if all(column.dtype == pl.String for column in columns):
        return True
    return all(column.dtype.is_integer() and column.n_unique() < len(column) for column in columns)


def column_names(given: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """Return distinct, non-empty names, and what was renamed."""
    names: list[str] = []
    blank, repeated, cut, patterns = [], [], [], []
    # All names are known beforehand, so that a numbered name does not take that of a later column.
    taken: set[str] = {name.strip() for name in given}
    seen: set[str] = set()
    for k, raw in enumerate(given, 1):
        name = raw.strip()[: UPLOADS.header_characters]
        if len(name) < len(raw.strip()):
            cut.append(f"column {k}")
        if not name:
            blank.append(f"column_{k}")
        # polars reads such a name as a pattern and would choose other columns.
        if PATTERN.fullmatch(name):
            patterns.append(name)
            name = f"{name}_"
        base, number = name or f"column_{k}", 2
        name = base
        while name in seen or (name != raw.strip() and name in taken):
            name, number = f"{base}_{number}", number + 1
        if base in seen:
            repeated.append(name)
        seen.add(name)
        names.append(name)
    return names, _renamed(blank, repeated, cut, patterns)


def _renamed(blank: list[str], repeated: list[str], cut: list[str], patterns: list[str]) -> list[Finding]:
    found = (
        ("blank_header", blank, "column", "without a name: numbered"),
        ("repeated_header", repeated, "column", "with the name of an earlier one: numbered"),
        ("long_header", cut, "name", f"of more than {UPLOADS.header_characters:,} characters: cut"),
        ("pattern_header", patterns, "name", "that would stand for other columns, such as *: _ put behind"),
    )
    return [
        Finding(kind, "", len(names), f"{counted(len(names), noun)} {text}", tuple(names))
        for kind, names, noun, text in found
        if names
    ]


def refuse_size(name: str, rows: int, columns: int, edges: bool = False, cells: int = UPLOADS.cells) -> None:
    """Raise DataError if a table has more rows (or edges, where rows are such), columns or cells than the limits."""
    for count, limit, what in (
        (columns, UPLOADS.columns, "columns"),
        (rows, UPLOADS.edges if edges else UPLOADS.rows, "edges" if edges else "rows"),
        (rows * columns, cells, "cells"),
    ):
        if count > limit:
            raise DataError(f"{name} has {count:,} {what}, more than {limit:,}: sample it, or leave some columns out.")


# Words that programs write where there is no value.
_MISSING = ("na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing")
# What a spreadsheet writes where a formula failed.
_MISSING += ("#n/a", "#ref!", "#value!", "#div/0!", "#num!", "#name?", "#null!")
# In a column of text "none" is often a category of its own.
_RATHER_MISSING = [word for word in _MISSING if word != "none"]
_LONGEST_MISSING = max(map(len, _MISSING))
_SOME = 1000
"""Cells among which one is looked for that is no such word: most columns begin with one, and tables are large."""
_TRUTH = ("true", "false")
# From nine cells of ten on the other cells look like slips, and a word about them helps.
_NEARLY = 0.9
_CELLS = 5_000_000
"""Cells to type at once: all at once would need several times the memory of the table."""
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_DATES = {"%d.%m.%Y": r"^\d{1,2}\.\d{1,2}\.\d{4}$", "%d %b %Y": r"^\d{1,2} [A-Z][a-z]{2} \d{4}$"}
_DATES |= {"%d %B %Y": r"^\d{1,2} [A-Z][a-z]{2,} \d{4}$", "%B %d, %Y": r"^[A-Z][a-z]{2,} \d{1,2}, \d{4}$"}
_DATES |= {"%b %d, %Y": r"^[A-Z][a-z]{2} \d{1,2}, \d{4}$", "%Y/%m/%d": r"^\d{4}/\d{1,2}/\d{1,2}$"}
# May is short and long; years that may be meant, for 4711-01 is a number of something.
_MONTHS = {"%Y-%m": r"^(1[5-9]|2[01])\d{2}-\d{2}$", "%b %Y": r"^[A-Z][a-z]{2} \d{4}$"}
_MONTHS |= {"%B %Y": r"^[A-Z][a-z]{2,} \d{4}$"}
_SLASHES = r"^\d{1,2}/\d{1,2}/\d{4}$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?$"
# Leading zeros, or more digits than a float64 holds exactly.
_CODE = r"^[+-]?(0\d|\d{16,}$)"
# A cheap look at one cell a column, so that most text columns are never read twice.
_PROMISING = re.compile(
    r"(true|false|\d{4}-\d\d(-\d\d.*)?|\d{1,4}[./]\d{1,2}[./]\d{1,4}([ T].*)?|\d{1,2}[ -][a-z]{3,9}[ -]\d{2,4}.*|"
    rf"[a-z]{{3,9}} \d{{4}}|[a-z]{{3,9}} \d{{1,2}},? \d{{4}}.*|{CLOCK}|[+-]?[\d,]+([eE][+-]?\d+)?|"
    r"n/?a|null|none|nil|missing|[-?.#/na]*|#.*)$",
    re.I,
)
_COMMA_NUMBER = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"
# No thousands begin with 0.
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"
_DOTTED_THOUSANDS = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
_GROUPED = tuple(
    # What thousands are apart by, the decimal mark, all cells, and what can't be read otherwise: 1,234.5 or 1,234,567.
    # 1.234.567 may be a code.
    (group, decimal, rf"^[+-]?(\d+|\d{{1,3}}([{group}]\d{{3}})+)([{decimal}]\d+)?$", rf"[{group}]\d{{3}}{sure}")
    for group, decimal, sure in (
        (",", ".", r"([.]\d|,\d{3})"), (".", ",", r",\d"),
        ("'\u2019\u00a0\u202f", ".", ""), ("'\u2019\u00a0\u202f", ",", ""),
    )
)  # fmt: skip
_UNITS = ((r"^([+-]?)([$€£¥])\s?(\d.*)$", "${1}${3}"), (r"^([+-]?\d.*?)\s?([%‰$€£¥]|EUR|USD|GBP|CHF)$", "${1}"))
"""A sign before or behind a number, in the second group, and what is left without it."""
_LIKE_DATES = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}[/.]\d{1,2}[/.]\d{2})"
_LIKE_DATES = rf"^({_LIKE_DATES}|{NAMED_MONTH})([ T].*)?$"


def typed(table: ParsedTable, options: Mapping[str, Any]) -> ParsedTable:
    """Give each text column the type that its cells have; see `studio.uploads.Options` for the options."""
    keep = set(options.get("text_columns") or ())
    text = [c for c, kind in table.frame.schema.items() if kind == pl.String and c not in keep and not looks_like_id(c)]
    if not text:
        return table
    decimal = options.get("decimal")
    careful = _Careful(decimal, table.delimiter, options.get("day_first"))
    columns: dict[str, pl.Series] = {}
    # So many columns that their cells stay within the bound, and at least one.
    at_once = max(1, _CELLS // max(1, table.frame.height))
    for start in range(0, len(text), at_once):
        bare = table.frame.select(pl.col(text[start : start + at_once]).str.strip_chars())
        columns |= _typed_columns(bare, careful, plain=decimal != ",")
    guesses = table.guesses + (["decimal comma"] if careful.with_comma else [])
    frame = table.frame.with_columns(columns.values())
    return table._replace(frame=frame, guesses=guesses, findings=table.findings + careful.findings)


def _typed_columns(bare: pl.DataFrame, careful: _Careful, plain: bool) -> dict[str, pl.Series]:
    """Return the columns that do not stay text."""
    columns = _plain_numbers(bare) if plain else {}
    careful.may_be_thousands(bare.select(name for name, column in columns.items() if column.dtype == pl.Float64))
    for name in _unclear(bare.drop(columns)):
        column = careful.column(name, bare[name])
        if column is not None:
            columns[name] = column.alias(name)
    careful.may_be_missing(bare.drop(columns))
    return columns


def _plain_numbers(bare: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns that are numbers without question, all at once: one pass over 20,000 is quick."""
    # One pass over all columns, for a table may have twenty thousand of them.
    floats = bare.select(pl.all().cast(pl.Float64, strict=False))
    same_nulls = zip(bare.columns, bare.null_count().row(0), floats.null_count().row(0))
    # A cast that makes no new null has lost no cell; a column of nulls alone is no number.
    complete = [name for name, before, after in same_nulls if before == after < bare.height]
    # Written back and compared: "007" and "1e3" are not the integers that they could be read as.
    as_written = pl.all().cast(pl.Int64, strict=False).cast(pl.String) == pl.all()
    whole = _those(bare.select(complete), as_written.fill_null(pl.all().is_null()).all())
    rest = [name for name in complete if name not in whole]
    odd = _those(bare.select(rest), pl.all().str.contains(_CODE).any())
    # "nan" and "inf" are read as numbers, and are rather words for a missing value.
    odd |= _those(floats.select(rest), (pl.all().is_nan() | pl.all().is_infinite()).any())
    numbers = bare.select(pl.col(name).cast(pl.Int64) for name in complete if name in whole).get_columns()
    return {column.name: column for column in [*numbers, *(floats[name] for name in rest if name not in odd)]}


def _those(frame: pl.DataFrame, condition: pl.Expr) -> set[str]:
    """Return the columns for which the condition is true."""
    if not frame.width:
        return set()
    found = frame.select(condition)
    return {name for name, value in zip(found.columns, found.row(0)) if value}


def _unclear(bare: pl.DataFrame) -> list[str]:
    """Return the columns that may be something other than text: some cell is a number, or the first looks like more."""
    if not bare.width:
        return []
    numbers = _those(bare, pl.all().cast(pl.Float64, strict=False).is_not_null().any())
    # A word for a missing value says nothing of the others.
    some = pl.all().drop_nulls().head(_SOME)
    firsts = bare.select(some.filter(~some.str.to_lowercase().is_in(_MISSING)).first()).row(0)
    forms = (_PROMISING, DRESSED, *(pattern for pattern, _ in _UNITS))
    maybe = [any(re.match(form, first or "x") for form in forms) for first in firsts]
    return [name for name, promising in zip(bare.columns, maybe) if name in numbers or promising]


class _Careful:
    """Reads one column at a time, says what it found, and leaves text where something would be lost.

    Attributes
    ----------
    findings : list of Finding
        What was changed or nearly was.
    with_comma : int
        Columns with a decimal comma.
    """

    def __init__(self, decimal: str | None, delimiter: str, day_first: bool | None = None) -> None:
        self._decimal, self._day_first = decimal, day_first
        self._delimiter = delimiter
        self.findings: list[Finding] = []
        self.with_comma = 0

    def column(self, name: str, bare: pl.Series) -> pl.Series | None:
        """Return the column as numbers, truth values or dates, None if it stays text."""
        # An empty cell is missing whatever the others are.
        bare = bare.set(bare == "", None) if (bare == "").any() else bare
        if bare.null_count() == len(bare):
            return None
        if (column := _truth(bare)) is not None:
            return column
        missing = bare.str.to_lowercase().is_in(_MISSING).fill_null(False)
        rest = bare.set(missing, None) if missing.any() else bare
        if rest.null_count() == len(rest):
            return None
        column = _time(rest, self._day_first)
        column = self._of_months(name, rest) if column is None else column
        column = self._almost_number(name, bare, rest) if column is None else column
        if column is None:
            self._near_dates(name, rest.drop_nulls())
        elif missing.any():
            self._find("missing_word", name, int(missing.sum()), "taken as missing", bare.filter(missing))
        return column

    def _of_months(self, name: str, rest: pl.Series) -> pl.Series | None:
        """Return the first days of a column of months; None where it is none, or may be of two years each."""
        months, given = _months(rest), rest.drop_nulls()
        if months is None:
            return None
        if _are_seasons(given):
            text = "of a month, or of two years: kept as text; write months as 2010-11-01"
            self._find("ambiguous_month", name, len(given), text, given)
            return None
        self._find("month", name, len(given), "of a month each: read as its first day", given)
        return months

    def _near_dates(self, name: str, given: pl.Series) -> None:
        """Report a column of text that a person takes for dates or times, but whose order or zone is not certain."""
        dates, clock = given.str.contains(_LIKE_DATES), given.str.contains(rf"^{CLOCK}$")
        if clock.mean() >= _NEARLY:
            text = "like times of a day: kept as text; write them as numbers, such as 13.5 hours"
            self._find("text_time", name, int(clock.sum()), text, given)
        elif given[:1].str.contains(_SLASHES).all() and given.str.contains(_SLASHES).all() and _orders(given):
            text = "of day or month first: kept as text; say which, or write them as 2020-12-31"
            self._find("ambiguous_date", name, len(given), text, given)
        elif dates.mean() >= _NEARLY:
            there = zones(given.filter(dates))
            why = f"of {len(there)} time zones ({', '.join(there):.40})" if len(there) > 1 else ""
            why = why or "not all of which can be read for certain"
            text = f"like dates, {why}: kept as text; write them as 2020-12-31"
            text += " 23:59:00, all in one zone" if len(there) > 1 else ""
            self._find("text_date", name, int(dates.sum()), text, given)

    def _almost_number(self, name: str, bare: pl.Series, rest: pl.Series) -> pl.Series | None:
        """Return numbers for a column with decimal commas, or whose other cells, not in `rest`, are words for none."""
        plain, unit = _without_unit(rest)
        with_dots = self._ungrouped(name, plain)
        if with_dots is None:
            with_dots = plain if self._decimal == "." else self._with_dots(name, plain)
        floats = with_dots.cast(pl.Float64, strict=False)
        if floats.null_count() > rest.null_count():
            self._near_miss(name, bare)
            return None
        column = self._number(name, with_dots, floats)
        if column is not None and unit:
            self._find("unit", name, len(rest) - rest.null_count(), f"in {unit}: read as numbers without it", rest)
        return column

    def _ungrouped(self, name: str, cells: pl.Series) -> pl.Series | None:
        """Return numbers whose thousands are apart as plain ones, where no cell can be meant otherwise; else None."""
        for group, decimal, all_cells, sure in _GROUPED:
            certain = cells.str.contains(sure)
            if self._decimal in (None, decimal) and certain.any() and cells.drop_nulls().str.contains(all_cells).all():
                plain = cells.str.replace_all(f"[{group}]", "").str.replace(decimal, ".", literal=True)
                example = f"{plain.filter(certain)[0]} for {cells.filter(certain)[0]!r}"
                apart = cells.filter(cells.str.contains(f"[{group}]"))
                self._find("grouped_number", name, len(apart), f"with thousands apart: read as {example:.60}", apart)
                return plain
        return None

    def _with_dots(self, name: str, cells: pl.Series) -> pl.Series:
        """Replace decimal commas by dots where all cells are numbers that way, and no other way."""
        if not (cells.str.contains(_COMMA_NUMBER) | cells.is_null()).all():
            return cells
        given = cells.filter(cells.str.contains(",", literal=True))
        if not len(given):
            return cells
        # "1,234" may be either, beside 999 too; only a file cut by commas, whose cells are quoted then, leaves it open.
        if self._decimal is None and given.str.contains(_THOUSANDS).all():
            kept = self._delimiter == ","
            text = "may be decimal commas or thousands: kept as text" if kept else "may be thousands: read as decimals"
            self._find("thousands", name, len(given), text, given)
            if kept:
                return cells
        self.with_comma += 1
        return cells.str.replace(",", ".", literal=True)

    def _near_miss(self, name: str, bare: pl.Series) -> None:
        if self._doubted(name):
            return
        odd = bare.is_not_null() & bare.cast(pl.Float64, strict=False).is_null()
        given, strange = len(bare) - bare.null_count(), int(odd.sum())
        # More strange cells than that, and the column is text that has some numbers.
        if 0 < strange <= (1 - _NEARLY) * given:
            examples = tuple(f"{bare[row]!r:.40} in row {row + 1}" for row in odd.arg_true()[:5])
            text = f"{strange:,} of {counted(given, 'cell')} no number: the column is kept as text"
            self.findings.append(Finding("not_a_number", f"column {name!r:.60}", strange, text, examples))
        elif strange and bare.drop_nulls().str.contains(DRESSED).all():
            text = "with signs, units or separators that are no part of a number: kept as text"
            self._find("dressed_number", name, strange, text, bare.filter(odd))

    def _doubted(self, name: str) -> bool:
        """Return whether the column's commas were reported already."""
        return any(f.kind == "thousands" and f.where == f"column {name!r:.60}" for f in self.findings[-1:])

    def may_be_thousands(self, bare: pl.DataFrame) -> None:
        """Report columns of numbers like 1.234 alone in a file with semicolons, whose decimals often have commas."""
        if self._delimiter == ";" and self._decimal is None and bare.width:
            dotted = pl.all().str.contains(".", literal=True)
            for name in _those(bare, dotted.any() & (~dotted | pl.all().str.contains(_DOTTED_THOUSANDS)).all()):
                cells = bare[name].filter(bare[name].str.contains(".", literal=True))
                self._find("thousands", name, len(cells), "may be thousands: read as decimals", cells)

    def may_be_missing(self, bare: pl.DataFrame) -> None:
        """Report cells of text that are words for a missing value: there they are a value as others are."""
        short = pl.all().str.len_bytes() <= _LONGEST_MISSING
        for name in _those(bare, pl.all().filter(short).str.to_lowercase().is_in(_RATHER_MISSING).any()):
            cells = bare[name].filter(bare[name].str.to_lowercase().is_in(_RATHER_MISSING))
            text = "with a word for a missing value: kept as a category; empty them if the value is missing"
            self._find("kept_word", name, len(cells), text, cells)

    def _find(self, kind: str, name: str, count: int, text: str, cells: pl.Series) -> None:
        examples = tuple(str(value)[:40] for value in cells.unique(maintain_order=True).head(5))
        self.findings.append(Finding(kind, f"column {name!r:.60}", count, f"{counted(count, 'cell')} {text}", examples))

    def _number(self, name: str, bare: pl.Series, floats: pl.Series) -> pl.Series | None:
        # Whole numbers stay whole, for they may be codes and counts that a float would print with a dot.
        whole = bare.cast(pl.Int64, strict=False)
        if whole.null_count() == bare.null_count() and (whole.cast(pl.String) == bare).all():
            return whole
        # Told to the person, for a number was nearly made of it.
        if self._any(name, bare, r"^[+-]?0\d", "leading_zeros", "with leading zeros: kept as text, for 001 is not 1"):
            return None
        if self._any(name, bare, r"^[+-]?\d{16,}$", "long_number", "too long for a number: kept as text"):
            return None
        return self._finite(name, bare, floats)

    def _finite(self, name: str, bare: pl.Series, floats: pl.Series) -> pl.Series:
        infinite = floats.is_infinite()
        if infinite.any():
            self._find(
                "infinite",
                name,
                int(infinite.sum()),
                "infinite or beyond the range of numbers",
                bare.filter(infinite),
            )
        text = floats.is_nan()
        if text.any():
            self._find("missing_word", name, int(text.sum()), "taken as missing", bare.filter(text))
        # polars counts NaN as a value; a missing cell must be null.
        return floats.fill_nan(None)

    def _any(self, name: str, bare: pl.Series, pattern: str, kind: str, text: str) -> bool:
        those = bare.filter(bare.str.contains(pattern).fill_null(False))
        if len(those):
            self._find(kind, name, len(those), text, those)
        return len(those) > 0


def _without_unit(cells: pl.Series) -> tuple[pl.Series, str]:
    """Return the cells without the sign of a currency or of per cent that all of them have, and that sign, if any."""
    given = cells.drop_nulls()
    for pattern, left in _UNITS:
        # The first cell is tried before all are: most columns have none.
        if given[:1].str.contains(pattern).all():
            units = given.str.extract(pattern, 2)
            if not units.null_count() and units.n_unique() == 1:
                return cells.str.replace(pattern, left), units[0]
    return cells, ""


def _truth(bare: pl.Series) -> pl.Series | None:
    low = bare.str.to_lowercase()
    return low == "true" if low.drop_nulls().is_in(_TRUTH).all() else None


def _time(bare: pl.Series, day_first: bool | None) -> pl.Series | None:
    given = bare.drop_nulls()
    # The first cell is tried before all are: most columns are no dates.
    if given[:1].str.contains(_DATE).all() and given.str.contains(_DATE).all():
        return _complete(bare, bare.str.to_date("%Y-%m-%d", strict=False))
    if given[:1].str.contains(_MOMENT).all() and given.str.contains(_MOMENT).all():
        return _complete(bare, bare.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False))
    for written, pattern in _DATES.items():
        if given[:1].str.contains(pattern).all() and given.str.contains(pattern).all():
            return _complete(bare, bare.str.to_date(written, strict=False))
    if given[:1].str.contains(_SLASHES).all() and given.str.contains(_SLASHES).all():
        return _day_or_month_first(bare, day_first)
    return None


def _months(bare: pl.Series) -> pl.Series | None:
    """Return the first days of months, such as "2023-01" or "Jan 2023"."""
    given = bare.drop_nulls()
    for written, pattern in _MONTHS.items():
        if given[:1].str.contains(pattern).all() and given.str.contains(pattern).all():
            days = ("01 " + bare).str.to_date(f"%d {written}", strict=False)
            return _complete(bare, days)
    return None


def _are_seasons(given: pl.Series) -> bool:
    """Tell whether each cell may be two years, such as 2010-11."""
    years = given.str.extract(r"^\d{2}(\d{2})-").cast(pl.Int64)
    return bool(((years + 1) % 100 == given.str.extract(r"-(\d{2})$").cast(pl.Int64)).fill_null(False).all())


def _day_or_month_first(bare: pl.Series, day_first: bool | None) -> pl.Series | None:
    """Return the dates of "3/4/2015" where one of the two orders alone can be meant, or it is said which is."""
    # Both orders are tried, and the one that fits alone is meant: some number is over 12.
    possible = _orders(bare)
    if len(possible) == 2 and day_first is not None:
        return possible[day_first]
    return next(iter(possible.values())) if len(possible) == 1 else None


def _orders(bare: pl.Series) -> dict[bool, pl.Series]:
    """Return the dates by whether the day comes first, of each order that fits all cells."""
    written = {True: "%d/%m/%Y", False: "%m/%d/%Y"}
    read = {first: bare.str.to_date(form, strict=False) for first, form in written.items()}
    return {first: dates for first, dates in read.items() if _complete(bare, dates) is not None}


def _complete(before: pl.Series, after: pl.Series) -> pl.Series | None:
    """Return the converted column if no cell was lost, and none is of the year 0, which Python has not."""
    lost = after.null_count() > before.null_count() or (after.dt.year() < 1).any()
    return None if lost else after
