"""Text columns to numbers, truth values and dates, only where nothing is lost; changes and near misses are reported.

What looks like an id stays text, and so do numbers with leading zeros ("001" is not "1") and digits too long for a
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hetcore.data.report import Finding
from hetcore.data.words import counted
from studio.parsed import ParsedTable
from studio.parsing_names import looks_like_id

__all__ = ["typed"]

_MISSING = ("na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a", "missing")
_TRUTH = ("true", "false")
_NEARLY = 0.9
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?$"
_COMMA_NUMBER = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+$"


def typed(table: ParsedTable, options: Mapping[str, Any]) -> ParsedTable:
    """Give each text column the type that its cells have; see `studio.uploads.Options` for the options."""
    keep = set(options.get("text_columns") or ())
    text = [c for c, kind in table.frame.schema.items() if kind == pl.String and c not in keep and not looks_like_id(c)]
    if not text:
        return table
    columns, findings, commas = _Columns(table.frame.select(text), options.get("decimal"), table.delimiter).typed()
    guesses = table.guesses + (["decimal comma"] if commas else [])
    return table._replace(frame=table.frame.with_columns(columns), guesses=guesses, findings=table.findings + findings)


class _Columns:
    """All text columns at once, as one pass over 20,000 columns is quick and 20,000 passes are not."""

    def __init__(self, text: pl.DataFrame, decimal: str | None, delimiter: str) -> None:
        self._text = text
        self._decimal = decimal
        self._delimiter = delimiter
        self._bare = text.with_columns(pl.all().str.strip_chars())
        self._floats = self._bare.with_columns(pl.all().cast(pl.Float64, strict=False))
        self._given = (pl.Series(text.null_count().row(0)) * -1 + text.height).to_list()
        self._numbers = (pl.Series(self._floats.null_count().row(0)) * -1 + text.height).to_list()
        self._findings: list[Finding] = []
        self._with_comma = 0

    def typed(self) -> tuple[list[pl.Series], list[Finding], int]:
        """Return the columns that changed, the findings, and how many columns had a decimal comma."""
        columns = []
        for k, name in enumerate(self._text.columns):
            column = self._one(name, self._given[k], self._numbers[k]) if self._given[k] else None
            if column is not None:
                columns.append(column.alias(name))
        return columns, self._findings, self._with_comma

    def _one(self, name: str, given: int, numbers: int) -> pl.Series | None:
        bare = self._bare[name]
        if numbers == given and self._decimal != ",":
            return self._number(name, bare, self._floats[name])
        bare = bare.set(bare == "", None) if (bare == "").any() else bare
        if bare.null_count() == len(bare):
            return None
        for read in (self._truth, self._time):
            column = read(bare)
            if column is not None:
                return column
        return self._almost_number(name, bare, given, numbers)

    def _almost_number(self, name: str, bare: pl.Series, given: int, numbers: int) -> pl.Series | None:
        """Return numbers for a column with decimal commas, or whose other cells say that a value is missing."""
        words = bare.str.to_lowercase().is_in(_MISSING).fill_null(False)
        rest = bare.set(words, None) if words.any() else bare
        if rest.null_count() == len(rest):
            return None
        with_dots = rest if self._decimal == "." else self._with_dots(name, rest)
        floats = with_dots.cast(pl.Float64, strict=False)
        if floats.null_count() > rest.null_count():
            self._near_miss(name, bare, given, numbers)
            return None
        column = self._number(name, with_dots, floats)
        if column is not None and words.any():
            self._find("missing_word", name, int(words.sum()), "taken as missing", bare.filter(words))
        return column

    def _with_dots(self, name: str, cells: pl.Series) -> pl.Series:
        """Replace decimal commas by dots where all cells are numbers that way, and no other way."""
        if not (cells.str.contains(_COMMA_NUMBER) | cells.is_null()).all():
            return cells
        if not cells.str.contains(",", literal=True).any():
            return cells
        if (
            self._decimal is None
            and self._delimiter == ","
            and (cells.str.contains(_THOUSANDS) | cells.is_null()).all()
        ):
            self._find(
                "thousands", name, len(cells), "may be decimal commas or thousands: kept as text", cells.drop_nulls()
            )
            return cells
        self._with_comma += 1
        return cells.str.replace(",", ".", literal=True)

    def _near_miss(self, name: str, bare: pl.Series, given: int, numbers: int) -> None:
        if _NEARLY * given <= numbers < given:
            odd = self._floats[name].is_null() & bare.is_not_null()
            rows = odd.arg_true()[:5]
            examples = tuple(f"{bare[row]!r:.40} in row {row + 1}" for row in rows)
            words = f"{given - numbers:,} of {given:,} cells are no numbers: the column is kept as text"
            self._findings.append(Finding("not_a_number", f"column {name!r:.60}", given - numbers, words, examples))

    def _find(self, kind: str, name: str, count: int, words: str, cells: pl.Series) -> None:
        examples = tuple(str(value)[:40] for value in cells.unique(maintain_order=True).head(5))
        self._findings.append(
            Finding(kind, f"column {name!r:.60}", count, f"{counted(count, 'cell')} {words}", examples)
        )

    def _number(self, name: str, bare: pl.Series, floats: pl.Series) -> pl.Series | None:
        whole = bare.cast(pl.Int64, strict=False)
        if whole.null_count() == bare.null_count() and (whole.cast(pl.String) == bare).all():
            return whole
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
        words = floats.is_nan()
        if words.any():
            self._find("missing_word", name, int(words.sum()), "taken as missing", bare.filter(words))
        return floats.fill_nan(None)

    def _any(self, name: str, bare: pl.Series, pattern: str, kind: str, words: str) -> bool:
        those = bare.filter(bare.str.contains(pattern).fill_null(False))
        if len(those):
            self._find(kind, name, len(those), words, those)
        return len(those) > 0

    def _truth(self, bare: pl.Series) -> pl.Series | None:
        low = bare.str.to_lowercase()
        return low == "true" if low.drop_nulls().is_in(_TRUTH).all() else None

    def _time(self, bare: pl.Series) -> pl.Series | None:
        given = bare.drop_nulls()
        if given[:1].str.contains(_DATE).all() and given.str.contains(_DATE).all():
            return _complete(bare, bare.str.to_date("%Y-%m-%d", strict=False))
        if given[:1].str.contains(_MOMENT).all() and given.str.contains(_MOMENT).all():
            return _complete(bare, bare.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False))
        return None


def _complete(before: pl.Series, after: pl.Series) -> pl.Series | None:
    """Return the converted column if no cell was lost."""
    return after if after.null_count() == before.null_count() else None
