"""Ids and classes that differ in how they are written only: found, and written the same way where that is asked for.

| way | what becomes the same | by |
|---|---|---|
| unicode | é as one character and as two; wide and narrow forms | NFKC (Unicode Standard Annex 15) |
| hidden | with and without zero-width characters, soft hyphens, byte order marks | left out |
| space | spaces at the ends, several between | one space, none at the ends |
| case | A and a | lower case |
| number | 1.10 and 1.1, 1E5 and 100000, 7.0 and 7 | the shortest text that reads back equal, up to 2^53 |
| zeros | 007 and 7 | zeros in front of digits left out |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from hetcore.data.columns import several
from hetcore.data.identity import EXACT, float_texts
from hetcore.data.report import Finding
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import ParameterError

__all__ = ["WAYS", "WORDS", "check_ways", "id_joins", "near_findings", "respelled", "ways_apart"]

WAYS = ("unicode", "hidden", "space", "case", "number", "zeros")
WORDS = {
    "unicode": "Unicode form", "hidden": "hidden characters", "space": "spaces", "case": "case",
    "number": "number form", "zeros": "leading zeros",
}  # fmt: skip
_HIDDEN = "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
_NUMBER = r"^[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?$"
_PLAIN = r"^(0|[1-9]\d*)$"


def check_ways(ways: Sequence[str]) -> tuple[str, ...]:
    """Return ways in their order, or raise ParameterError if one is not in `WAYS`."""
    # a text by itself would be its letters
    given = list(ways) if several(ways) else [ways]
    unknown = [way for way in given if not (isinstance(way, str) and way in WAYS)]
    if unknown or not several(ways):
        wrong = quoted((unknown or given)[0])
        raise ParameterError(f"spelling={wrong} is not among {listed(WAYS)}: give a list of some of them.")
    return tuple(way for way in WAYS if way in given)


def respelled(texts: pl.Series, ways: Sequence[str] = WAYS) -> pl.Series:
    """Return texts (m,) with each of the ways made the same; null stays."""
    # in this order: width before case, spaces before numbers
    for way in WAYS:
        texts = _BY_WAY[way](texts) if way in ways else texts
    return texts


def _same_numbers(texts: pl.Series) -> pl.Series:
    # numbers that are plain already stay as they are
    odd = texts.str.contains(_NUMBER).fill_null(False) & ~texts.str.contains(_PLAIN).fill_null(False)
    odd &= ~texts.str.contains(r"^0\d*$").fill_null(False)  # zeros are a way of their own
    numbers = texts.set(~odd, None).cast(pl.Float64, strict=False)
    # beyond 2^53 several texts are one float
    numbers = numbers.set((numbers.abs() > EXACT).fill_null(False), None)
    written = float_texts(numbers, "ids")
    return texts.zip_with(written.is_null(), written)


_BY_WAY = {
    "unicode": lambda texts: texts.str.normalize("NFKC"),
    "hidden": lambda texts: texts.str.replace_all(_HIDDEN, ""),
    "space": lambda texts: texts.str.replace_all(r"\s+", " ").str.strip_chars(),
    "case": lambda texts: texts.str.to_lowercase(),
    "number": _same_numbers,
    "zeros": lambda texts: texts.str.replace(r"^0+(\d+)$", "${1}"),
}


def ways_apart(texts: pl.Series) -> list[str]:
    """Return the ways that it takes to make those of distinct texts (m,) one that differ in nothing else."""
    keys = respelled(texts)
    again = texts.filter(keys.is_duplicated())
    if len(again) == 0:
        return []
    fewest, ways = keys.filter(keys.is_duplicated()).n_unique(), list(WAYS)
    for way in WAYS:
        # "Ja" beside "ja " takes two ways, of which none alone tells
        others = [other for other in ways if other != way]
        ways = others if respelled(again, others).n_unique() == fewest else ways
    return ways


def near_findings(texts: pl.Series, noun: str, plural: str, place: str) -> list[Finding]:
    """Report distinct texts (m,) that are the same but for how they are written.

    Returns
    -------
    list of Finding
        At most one, of kind "near_" and the noun; its message names the ways.
    """
    keys = respelled(texts).alias("key")
    again = pl.DataFrame({"text": texts, "key": keys}).filter(keys.is_duplicated())
    if again.height == 0:
        return []
    groups = again.group_by("key", maintain_order=True).agg("text")["text"]
    pairs = sorted(sorted(group)[:2] for group in groups.to_list())[:5]  # the same whatever the order of the rows
    examples = tuple(" beside ".join(quoted(text, 30) for text in pair) for pair in pairs)
    ways = ways_apart(again["text"])
    apart = ", ".join(WORDS[way] for way in ways)
    message = f"{counted(len(groups), noun, plural)} written in several ways, apart in {apart}: taken as different; "
    message += f"spelling={ways!r} makes them one"
    return [Finding(f"near_{noun}", place, len(groups), message, examples)]


def id_joins(parts: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return how the ids of parts meet.

    Parameters
    ----------
    parts : mapping of str to polars Series of String
        Distinct ids of each source, graph and of the labels.

    Returns
    -------
    polars DataFrame, one row for each pair of parts
        part, other; ids, other_ids: how many each has; matched: ids that are in both; nearly: more that would be in
        both if they were written the same way (see `WAYS`).
    """
    # texts as given, then as respelled: what matches only so is told as nearly matching
    every = pl.concat([ids.alias("id") for ids in parts.values()]).unique(maintain_order=True)
    keys = respelled(every).rank("dense").cast(pl.Int64).to_numpy() - 1
    places = dict(zip(every.to_list(), range(len(every))))
    has = np.zeros((len(parts), len(every)), dtype=np.float32)
    has_key = np.zeros((len(parts), int(keys.max(initial=-1)) + 1), dtype=np.float32)
    for k, ids in enumerate(parts.values()):
        at = [places[identifier] for identifier in ids.to_list()]
        has[k, at], has_key[k, keys[at]] = 1.0, 1.0
    # products of 0 and 1 count all pairs at once
    matched, both = has @ has.T, has_key @ has_key.T
    names, rows = list(parts), []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            same = int(matched[i, j])
            sizes = int(matched[i, i]), int(matched[j, j])
            rows.append((names[i], names[j], *sizes, same, max(int(both[i, j]) - same, 0)))
    counts = dict.fromkeys(("ids", "other_ids", "matched", "nearly"), pl.Int64)
    return pl.DataFrame(rows, schema={"part": pl.String, "other": pl.String} | counts, orient="row")
