"""Rows of a table that are no record but what others come to, or a note below them: told, for they are kept.

A row among the others sums up the rows since the last such row, and is called a total, has no text or is one of two and
more; or it is called a total alone and has no text. The first row or the last sums up all others, or the last is called
so. A row sums up others where half of its numbers or more do. A note is a last row that has no value at all.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.report import Finding
from hetcore.data.text import counted, quoted

__all__ = ["LOOKED_THROUGH", "TotalRows", "total_findings"]

LEAST_SUMMED = 4
"""Rows, the last among them, below which a sum of the others may be chance."""
LOOKED_AT, LOOKED_THROUGH = 50, 10_000
"""Columns that are added up at most, and rows that are for sums of a part: of 20,000 columns some tell."""
TOTALS = (
    "total", "totals", "grand total", "subtotal", "sum", "average", "mean", "summe", "gesamt", "somme", "totale",
)  # fmt: skip
"""Ids of rows that are no record."""
_CALLED_TOTAL = r"(?i)^\s*(?:{0})\b|\b(?:{0})\s*:?\s*$".format("|".join(TOTALS))


class TotalRows:
    """Rows that are no record, in a table of which some columns are seen at a time.

    Parameters
    ----------
    ids : polars Series of String (h,)
        Of the first rows, `LOOKED_THROUGH` or all.
    last : str
        The id of the last row.
    n : int
        Rows.
    head : polars DataFrame (h, ...)
        The first rows, of plain types.
    spaced : bool
        Whether an id of any but the last row holds a space.
    """

    def __init__(self, ids: pl.Series, last: str, n: int, head: pl.DataFrame, spaced: bool) -> None:
        self._ids, self._last, self._n, self._width, self._spaced = ids, last, n, head.width, spaced
        self._numbers = [name for name, dtype in head.schema.items() if dtype.is_numeric()][:LOOKED_AT]
        self._among = _totals_among(ids, n, head, self._numbers) if n >= LEAST_SUMMED and head.width else []
        self._names: list[str] = []
        # of each column of numbers its sum, how many are not zero, and the largest; and its value in some rows
        self._sums, self._taken = [np.empty((3, 0))], [np.empty((2 + len(self._among), 0))]
        self._bare: pl.Series | None = None  # rows without a value so far; None before the first column
        self._is_note = True

    def take(self, frame: pl.DataFrame) -> None:
        """Look at some columns, all rows of each, of plain types."""
        if self._n < LEAST_SUMMED or not frame.width:
            return
        numbers = frame.select(name for name in frame.columns if name in self._numbers)
        if numbers.width:
            self._add_up(numbers)
        # most last rows have a value, and no other row is looked at
        self._is_note = self._is_note and all(cell is None for cell in frame.row(-1))
        if self._is_note:
            bare = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
            self._bare = bare if self._bare is None else self._bare & bare

    def _add_up(self, numbers: pl.DataFrame) -> None:
        each, rows = pl.all().cast(pl.Float64).fill_nan(None).fill_null(0.0), [0, self._n - 1, *self._among]
        # asked for at once: each question to a frame takes a tenth of a millisecond, however few its rows
        sums = (
            each.sum().name.prefix("sum "),
            (each != 0).sum().name.prefix("filled "),
            each.abs().max().name.prefix("most "),
        )
        self._names += numbers.columns
        self._sums.append(numbers.select(*sums).to_numpy().reshape(3, numbers.width))
        self._taken.append(numbers.select(each.gather(rows)).to_numpy().reshape(len(rows), numbers.width))

    def findings(self) -> list[Finding]:
        """Return what was found in the columns that were looked at."""
        if self._n < LEAST_SUMMED:
            return []
        found = [*self._end_findings(), self._note_finding()]
        if self._among:
            message = f"{counted(len(self._among), 'row')} among the others called a total, or the sum of those above "
            message += "or below: kept as instances; leave out what is no record"
            examples = tuple(self._ids.gather(self._among[:5]))
            found.append(Finding("total_row", "", len(self._among), message, examples))
        return [finding for finding in found if finding]

    def _end_findings(self) -> list[Finding | None]:
        """Report the first and the last row, if it is the sum of the others but those among them, or called so."""
        (rest, filled, most), taken = np.hstack(self._sums), np.hstack(self._taken)
        parts, found = taken[2:], []
        for k, own in zip((0, self._n - 1), taken):
            # no column of zeros and a one, whose last value may be that one by chance
            others = filled - (own != 0) - (parts != 0).sum(axis=0)
            summed = _are_equal(own, rest - own - parts.sum(axis=0)) & (others >= LEAST_SUMMED - 1)
            # of numbers with both signs a sum may be any
            summed &= np.abs(own) >= most
            found += [self._end_finding(k, summed)] if k not in self._among else []
        return found

    def _end_finding(self, k: int, summed: NDArray[np.bool_]) -> Finding | None:
        """Report row k, the first or the last, that is the sum of the others in some columns, or called so."""
        given = self._last if k else self._ids[0]
        named = k > 0 and given.strip().rstrip(":").casefold() in TOTALS
        if not (named or 2 * summed.sum() >= len(summed) > 0):
            return None
        columns = tuple(name for name, is_sum in zip(self._names, summed) if is_sum)
        where = f"the sum of the others in {counted(len(columns), 'column')}"
        why = where if columns else "named as a sum of the others"
        end = "last" if k else "first"
        message = f"the {end} row, {quoted(given)}, is {why}: kept as an instance; leave it out if it is no record"
        return Finding("total_row", "", 1, message, columns)

    def _note_finding(self) -> Finding | None:
        """Report a last row that has no value at all, alone of all rows: a note below the table."""
        if not self._is_note or self._bare is None or self._bare[:-1].any():
            return None
        # of one column that cell may just be missing, but an id of several words beside ids of one is no id
        if self._width == 1 and (" " not in self._last.strip() or self._spaced):
            return None
        message = f"the last row, {quoted(self._last)}, has no value at all: kept as an instance; "
        return Finding("note_row", "", 1, f"{message}leave it out if it is a note")


def total_findings(ids: pl.Series, frame: pl.DataFrame) -> list[Finding]:
    """Report rows of a table in memory that are no record.

    Parameters
    ----------
    ids : polars Series of String (n,)
    frame : polars DataFrame (n, ...)
        Of plain types.
    """
    spaced = frame.width == 1 and bool(ids.head(len(ids) - 1).str.contains(" ").any())
    rows = TotalRows(ids.head(LOOKED_THROUGH), ids[-1], len(ids), frame.head(LOOKED_THROUGH), spaced)
    rows.take(frame)
    return rows.findings()


def _totals_among(ids: pl.Series, n: int, frame: pl.DataFrame, numbers: list[str]) -> list[int]:
    """Return which of the first of n rows are totals of those above, or below, since the last such row, in order."""
    values = frame.select(pl.col(numbers).cast(pl.Float64).fill_nan(None).fill_null(0.0)).to_numpy()
    texts = [frame[name] for name, dtype in frame.schema.items() if dtype == pl.String][:LOOKED_AT]
    called = np.any([_is_called_total(text) for text in (ids, *texts)], axis=0)
    bare = np.all([text.is_null().to_numpy() for text in texts], axis=0) if texts else np.zeros(frame.height, bool)
    # of texts that are mostly missing a missing one says nothing
    bare &= bare.mean() < 0.5
    summing = max(_block_sums(values), [len(values) - 1 - k for k in _block_sums(values[::-1])], key=len)
    if len(summing) < 2 or not _are_large(values, summing):
        summing = [k for k in summing if called[k] or bare[k]]
    # one alone at an end sums up all others
    summing = [] if summing in ([0], [n - 1]) else summing
    # a longer name that no sum confirms is that of a record, such as Total Recall
    alone = ids.str.strip_chars(" :").str.to_lowercase().is_in(TOTALS).to_numpy() & bare
    return sorted({*summing, *(k for k in np.flatnonzero(alone).tolist() if k < n - 1)})


def _is_called_total(texts: pl.Series) -> NDArray[np.bool_]:
    return texts.str.contains(_CALLED_TOTAL).fill_null(False).to_numpy()


def _block_sums(values: NDArray[np.float64]) -> list[int]:
    """Return the rows of values (n, d) that are, in half of the columns, the sum of three and more since the last."""
    found, start = [], 0
    while True:
        for size in (64, 1024, len(values)):
            block = values[start : start + size]
            sums, filled = np.cumsum(block, axis=0)[2:-1], np.cumsum(block != 0, axis=0)[2:-1]
            equal = _are_equal(block[3:], sums) & (filled >= LEAST_SUMMED - 1)
            rows = np.flatnonzero(2 * equal.sum(axis=1) >= max(values.shape[1], 1))
            if rows.size or len(block) < size:
                break
        if not rows.size:
            return found
        found.append(start + 3 + int(rows[0]))
        start = found[-1] + 1


def _are_equal(values: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.bool_]:
    # less than a half apart too: a number that doubles is one more than all before
    return np.isclose(values, sums, rtol=1e-9, atol=0.0) & (np.abs(values - sums) < 0.5)


def _are_large(values: NDArray[np.float64], rows: list[int]) -> bool:
    """Tell whether sums are too large to be met by chance: twenty times the least step of half of the columns."""
    steps = np.array([np.diff(np.unique(column)).min(initial=np.inf) for column in values.T])
    return bool((2 * (np.abs(values[rows]) >= 20 * steps).sum(axis=1) >= values.shape[1]).all())
