"""A column's kind: guessed with a reason, and changed by hand where the values allow it.

real: a number, used by its order. binary: two values. nominal: one of several values without order. text: words.
array: many numbers per row (an image, an embedding, a list of numbers).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from hetcore.data.report import Finding
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import DataError

__all__ = [
    "CLOCK", "DRESSED", "KINDS", "NAMED_MONTH", "TRUTHS", "ValueFacts", "as_numbers", "as_text", "check_kind",
    "MAX_LEVELS", "NOTHING_KNOWN", "far_codes", "frequent_values", "guess_kinds", "levels", "zones",
]  # fmt: skip

KINDS = ("real", "binary", "nominal", "text", "array")
LIST_MARKS = r"\S[|;]\S|, "
CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
"""A time of day, or a duration."""
_MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?"
NAMED_MONTH = rf"({_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}})"
"""A date whose month has its name."""
_DAY = rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}|{NAMED_MONTH})"
DATE = rf"^\s*({_DAY}([T ]{CLOCK}.*)?|{CLOCK})\s*$"
_ZONE = r":\d{2}(?:[.,]\d+)?(?: ?[AaPp][Mm])?\s*([A-Z]{1,5}|[+-]\d{2}(?::?\d{2})?)\s*$"
_UTC = ("Z", "UTC", "GMT", "+0000", "-0000")
NO_ZONE = "none"
TRUTHS = ("true", "false", "yes", "no", "t", "f", "y", "n", "on", "off", "1", "0", "1.0", "0.0")
"""How true and false are written, in lower case."""
_UNIT = "^[+-]?\\d+(?:[.,]\\d+)?(\\s+[A-Za-z\u00b5\u00b0%]|\\s*[A-Za-z\u00b5\u00b0]{2,4}[23]?)$"
MAX_LEVELS = 64
"""Values of a column of categories that are told apart, the commonest; the others are one."""
LOOKED_AT, FEW_VALUES = 1_000, 1_000
"""Columns whose values are compared at most, and values of a column."""
NOTHING_KNOWN = {sign * (10**digits - 1) for digits in range(1, 7) for sign in (1, -1)} - {9}
"""Numbers that programs write where there is none: -9, 99, -999 and so on."""
DRESSED = (
    "^[(]?[+\\-\u2212]?[$\u20ac\u00a3\u00a5]?\\s*[+\\-\u2212]?"
    "(\\d+([.,]\\d+)?|\\d{1,3}([.,'\u2019_ \u00a0\u202f]\\d{3})+([.,]\\d+)?|\\d[\\d.,]*[.,]\\d+[\\-\u2212])"
    "\\s*[%\u2030$\u20ac\u00a3\u00a5]?[)]?$"
)
"""A number with a sign, behind it too, a currency, a percent, brackets or thousands apart; not for a computer."""


def guess_kinds(frame: pl.DataFrame, categories: Collection[str] = ()) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Guess every column's kind.

    Parameters
    ----------
    frame : polars DataFrame
        Of plain types.
    categories : collection of str
        Columns of text that were categories in the table: no numbers, whatever they look like.

    Returns
    -------
    guess : dict of column to (kind, why)
    constant : list of str
        The columns with one value in every row.
    """
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    extremes = _extremes(frame, numbers)
    guess, constant = {}, []
    for name, dtype in frame.schema.items():
        if name in extremes:
            guess[name], one_value = _guess_number(dtype, *extremes[name])
        elif dtype == pl.Boolean:
            guess[name], one_value = ("binary", "true or false"), frame[name].n_unique() == 1
        elif dtype == pl.String:
            guess[name], one_value = _guess_text(frame[name], name in categories)
        else:
            guess[name], one_value = ("array", "a list of numbers of one length in every row"), False
        if one_value and frame.height > 1:
            constant.append(name)
    return guess, constant


def _extremes(frame: pl.DataFrame, names: list[str]) -> dict[str, tuple]:
    """Return min, max, whether there is nothing between them, and the count of missing values, for each column."""
    if not names:
        return {}
    low = frame.select(pl.col(names).min()).row(0)
    high = frame.select(pl.col(names).max()).row(0)
    missing = frame.select(pl.col(names).null_count()).row(0)
    # two values: everything is the least or the greatest
    each = pl.col(names)  # one expression for all columns: one for each would take seconds for 10,000
    two = frame.select(((each == each.min()) | (each == each.max())).all()).row(0)
    return {n: (low[i], high[i], two[i], missing[i]) for i, n in enumerate(names)}


def _guess_number(dtype: pl.DataType, low: float, high: float, two: bool, missing: int) -> tuple[tuple[str, str], bool]:
    if low is None:
        return ("real", "every value is missing"), False
    if low == high:
        # constant even if some are missing: it is told apart by `missing`
        return ("real", f"a number, {quoted(low)} wherever it is given"), missing == 0
    # 0.5 and 1.5 are numbers, 0 and 1 an answer
    if two and low == int(low) and high == int(high):
        return ("binary", f"two values only: {quoted(low)} and {quoted(high)}"), False
    word = "whole numbers" if dtype.is_integer() else "numbers"
    return ("real", f"{word} from {low:.6g} to {high:.6g}"), False


def _guess_text(series: pl.Series, category: bool) -> tuple[tuple[str, str], bool]:
    counts = series.drop_nulls().alias("value").value_counts(name="n")
    values, n, rows = counts["value"], counts["n"], max(int(counts["n"].sum()), 1)
    if len(values) == 0:
        return ("nominal", "every value is missing"), False
    # before the number of values: "1" and "2" are numbers that were written as text
    if not category and _numeric_text(values):
        return ("real", "numbers written as text"), len(values) == 1 and not series.has_nulls()
    if len(values) <= 2:
        kind = "binary" if len(values) == 2 else "nominal"
        return (kind, f"only {listed(values.sort())}"), len(values) == 1 and not series.has_nulls()
    words = float((values.str.count_matches(r"\w+") * n).sum()) / rows
    lists = float(n.filter(values.str.contains(LIST_MARKS)).sum()) / rows
    # many different values of several words: a text; few different ones: levels, however long
    if len(values) > min(20, rows / 2) and (words > 3 or lists > 0.3):
        why = f"{words:.1f} words in a value on average" if words > 3 else f"{lists:.0%} of the values list words"
        return ("text", why), False
    return ("nominal", f"{counted(len(values), 'different value')} in {counted(rows, 'row')}"), False


def _numeric_text(values: pl.Series) -> bool:
    """Tell whether all values are numbers; codes such as "007" are not."""
    # codes such as 007 lose their zeros as numbers
    if values.str.contains(r"^\s*[+-]?0\d").any():
        return False
    return bool(values.str.strip_chars().cast(pl.Float64, strict=False).is_not_null().all())


def as_numbers(series: pl.Series) -> pl.Series:
    """Return a column as Float64: text is parsed (null where it is no number), booleans become 0 and 1."""
    if series.dtype == pl.String:
        parsed = series.str.strip_chars().cast(pl.Float64, strict=False)
        # "inf" and "nan" are words, not numbers
        return parsed.set(~parsed.is_finite().fill_null(False), None) if len(parsed) else parsed
    return series.cast(pl.Float64)


def as_text(series: pl.Series) -> pl.Series:
    """Return a column as text, null where missing; a whole number is written the same whatever its type."""
    if series.dtype == pl.String:
        return series
    texts = series.cast(pl.String)
    # 1.0 in one file and 1 in another are the same value
    return texts.str.strip_suffix(".0") if series.dtype.is_float() else texts


def levels(series: pl.Series) -> list[str]:
    """Return the distinct values of a column as text: numbers in their order, text in alphabetical order."""
    return as_text(series.drop_nulls().unique().sort()).to_list()


def _nearly_numbers(series: pl.Series) -> list[str]:
    """Return the values that keep a column of text from being numbers, where four in five values are; none elsewhere.

    A decimal comma, a per cent sign, a unit, a currency or thousands apart make a number that can't be read.
    """
    values = series.drop_nulls().unique().sort()
    # codes such as 007 are no numbers, and four of five is not many of fewer values
    if len(values) < 5 or values.str.contains(r"^\s*[+-]?0\d").any():
        return []
    bare = values.str.strip_chars()
    units = bare.str.extract(_UNIT)
    # of many units they are rather letters of codes
    with_unit = units.is_not_null() & (len(values) >= 5 * units.drop_nulls().n_unique())
    alike = (bare.str.contains(DRESSED) | with_unit | as_numbers(values).is_not_null()).mean()
    return values.filter(as_numbers(values).is_null()).to_list() if alike >= 0.8 else []


def _written_dates(series: pl.Series) -> bool:
    """Tell whether every value of a column of text is a date, its year first or last, a moment or a time of day."""
    # a look at a few spares the pattern over a long column of anything else
    for values in (series.drop_nulls().head(20), series.drop_nulls()):
        if not len(values) or not values.str.contains(DATE).all():
            return False
    return True


def zones(moments: pl.Series) -> list[str]:
    """Return the different time zones that moments (m,) written as text name, `NO_ZONE` among them if some name none.

    Z, UTC, GMT and +00:00 are one.
    """
    marks = moments.drop_nulls().str.extract(_ZONE).str.replace(":", "", literal=True).unique()
    # AM and PM stand where a zone does
    marks = marks.set(marks.is_in(["AM", "PM"]).fill_null(False), None).fill_null(NO_ZONE)
    names = [f"{mark:0<5}" if mark[:1] in "+-" else mark for mark in marks]
    return sorted({"UTC" if name in _UTC else name for name in names})


class ValueFacts:
    """Columns whose values look like something other than they are taken for, one block of columns after another."""

    def __init__(self) -> None:
        self._nearly: dict[str, list[str]] = {}
        self._dates: dict[str, list[str]] = {}
        self._far: dict[str, tuple[float, int]] = {}
        self._alike: dict[str, list[str]] = {}
        self._rare: dict[str, tuple[int, list[str]]] = {}

    def take(self, frame: pl.DataFrame, guess: Mapping[str, tuple[str, str]], categories: Collection[str]) -> None:
        """Look at some columns of plain types, with their guessed kinds; `categories` are no text that was written."""
        texts = [name for name, (kind, _) in guess.items() if kind in ("nominal", "text") and name not in categories]
        nominal = [name for name in texts if guess[name][0] == "nominal"]
        self._nearly |= {name: odd for name in nominal if (odd := _nearly_numbers(frame[name]))}
        # a moment has more than three pieces, so that it is a text by its words
        self._dates |= {name: zones(frame[name]) for name in texts if _written_dates(frame[name])}
        words = [name for name, (kind, _) in guess.items() if kind in ("nominal", "binary") and name not in categories]
        words = [name for name in words if frame[name].dtype == pl.String][:LOOKED_AT]
        self._alike |= {name: alike for name in words if (alike := _written_alike(frame[name]))}
        self._far |= far_codes(frame, [name for name, (kind, _) in guess.items() if kind == "real"])
        nominal = [name for name, (kind, _) in guess.items() if kind == "nominal"][:LOOKED_AT]
        self._rare |= {name: rare for name in nominal if (rare := _rare_values(frame[name]))}

    def findings(self) -> list[Finding]:
        """Return what was found in the columns that were taken."""
        found = _date_findings(self._dates) + _far_findings(self._far)
        found += [_alike_finding(name, alike) for name, alike in self._alike.items()]
        found += [_rare_finding(name, *rare) for name, rare in self._rare.items()]
        return found + [_nearly_finding(name, odd) for name, odd in self._nearly.items()]


def _rare_values(series: pl.Series) -> tuple[int, list[str]] | None:
    """Return how many values of a column come again, and the first of those beyond `MAX_LEVELS`; None of fewer."""
    # at once, for most columns have few values
    if series.n_unique() <= MAX_LEVELS:
        return None
    repeated = frequent_values(series)
    return (len(repeated), repeated[MAX_LEVELS : MAX_LEVELS + 5].to_list()) if len(repeated) > MAX_LEVELS else None


def frequent_values(series: pl.Series) -> pl.Series:
    """Return the values of a column that occur more than once, as text, the commonest first."""
    counts = as_text(series).drop_nulls().alias("value").value_counts(name="n")
    # what occurs once can't be learned; ties in alphabetical order, so that columns do not hang on the order of rows
    return counts.filter(pl.col("n") >= 2).sort("n", "value", descending=[True, False])["value"]


def _rare_finding(name: str, count: int, rare: list[str]) -> Finding:
    """Report a column of more values than are told apart."""
    message = (
        f"{count:,} values that occur more than once: GBC, MGB, RGB and GB learn the mean label of each, other "
        f"methods tell the {MAX_LEVELS} commonest apart; for those group the others, or add a column of what they "
        "have in common"
    )
    return Finding("rare_values", f"column {quoted(name)}", count - MAX_LEVELS, message, tuple(rare))


def _written_alike(series: pl.Series) -> list[str]:
    """Return the values of a column of a few that are apart in case and spaces alone, or say true in several ways."""
    values = series.drop_nulls().unique()
    if len(values) > FEW_VALUES:
        return []
    keys = values.str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")
    # letters alone may be codes
    if keys.n_unique() > 2 and keys.is_in(TRUTHS).all() and keys.is_in(TRUTHS[:4]).any():
        return values.sort().to_list()
    alike = pl.DataFrame({"key": keys, "value": values}).filter(keys.is_duplicated())
    return alike.sort("key", "value")["value"].to_list()


def _alike_finding(name: str, alike: list[str]) -> Finding:
    why = "say true and false in several ways" if len({*map(str.lower, alike)} & {*TRUTHS}) > 2 else ""
    why = why or "are apart in case or spaces alone"
    message = f"{len(alike):,} values that {why}: taken as different; write them in one way"
    return Finding("near_value", f"column {quoted(name)}", len(alike), message, tuple(alike))


def _nearly_finding(name: str, odd: list[str]) -> Finding:
    """Report a column of text that some values keep from being one of numbers."""
    message = (
        f"text of numbers, but for {counted(len(odd), 'different value')} that can't be read as one: taken as "
        "categories; write those as plain numbers, or leave them empty"
    )
    return Finding("nearly_numbers", f"column {quoted(name)}", len(odd), message, tuple(odd[:5]))


def _date_findings(found: dict[str, list[str]]) -> list[Finding]:
    """Report columns of text that hold dates or times, which no file of text says of itself, and their time zones."""
    if not found:
        return []
    message = (
        f"{counted(len(found), 'column')} of dates or times written as text: taken as categories or words; "
        "read them as dates, by read_csv(..., try_parse_dates=True) or str.to_date of polars, to use their order"
    )
    findings = [Finding("date_text", "", len(found), message, tuple(found))]
    for name, there in found.items():
        if len(there) > 1:
            message = f"moments of {len(there)} time zones, whose order as text is not that of time: write all in one"
            findings.append(Finding("mixed_zones", f"column {quoted(name)}", len(there), message, tuple(there)))
    return findings


def far_codes(frame: pl.DataFrame, names: Collection[str]) -> dict[str, tuple[float, int]]:
    """Return columns where -999 or the like, far from all other values, stands again and again, and how often."""
    numbers = [name for name in names if frame[name].dtype.is_numeric()]
    if not numbers:
        return {}
    each, found = pl.col(numbers), {}
    ends = zip(numbers, frame.select(each.min()).row(0), frame.select(each.max()).row(0))
    for name, code in ((name, end) for name, low, high in ends for end in (low, high) if end in NOTHING_KNOWN):
        values = frame[name].drop_nulls()
        rest = values.filter(values != code)
        low, high = (float(rest.min()), float(rest.max())) if len(rest) else (code, code)
        gap = low - code if code < low else code - high
        again = len(values) - len(rest)
        if again > 1 and rest.n_unique() > 2 and gap > max(high - low, abs(code) / 2):
            found[name] = code, again
    return found


def _far_findings(found: dict[str, tuple[float, int]]) -> list[Finding]:
    """Report numbers that may say that nothing is known."""
    if not found:
        return []
    total, (name, (code, _)) = sum(count for _, count in found.values()), next(iter(found.items()))
    message = (
        f"{counted(total, 'value')} in {counted(len(found), 'column')} far from all others, such as {code:g} in "
        f"{quoted(name)}: taken as numbers; leave them empty if they say that nothing is known"
    )
    return [Finding("far_code", "", total, message, tuple(found))]


def check_kind(series: pl.Series, kind: str) -> list[Finding]:
    """Check that a column can be of a kind.

    Returns
    -------
    list of Finding
        What the change of kind loses.

    Raises
    ------
    DataError
        If there is no such kind, or the column's values do not allow it.
    """
    name = quoted(series.name)
    if not (isinstance(kind, str) and kind in KINDS):
        raise DataError(f"The kind {quoted(kind)} of column {name} is not one of {listed(KINDS)}: choose one of them.")
    if (kind == "array") != (series.dtype == pl.Array):
        raise DataError(f"Column {name} of type {series.dtype} can't be of kind {kind!r}: leave its kind as guessed.")
    count = series.drop_nulls().n_unique() if kind == "binary" else 0
    if count > 2:
        raise DataError(f"Column {name} has {count:,} different values and a binary one has two: make it 'nominal'.")
    return _check_real(series) if kind == "real" and series.dtype == pl.String else []


def _check_real(series: pl.Series) -> list[Finding]:
    numbers = as_numbers(series)
    lost = series.filter(numbers.is_null() & series.is_not_null())
    if len(lost) == 0:
        return []
    if numbers.null_count() == len(numbers):
        raise DataError(f"Column {quoted(series.name)} holds no number at all: make it 'nominal' or 'text'.")
    message = f"{counted(len(lost), 'value')} that are not numbers: taken as missing"
    return [Finding("not_a_number", f"column {quoted(series.name)}", len(lost), message, tuple(lost.head(5)))]
