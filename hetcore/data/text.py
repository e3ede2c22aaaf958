"""Small helpers for the sentences of findings and errors: counts, quoted names, shortened values."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["counted", "listed", "quoted", "shown"]


def quoted(value: object, width: int = 60) -> str:
    """Show a value on one line: text in quotes with control characters escaped, cut after `width` characters."""
    # NumPy's texts and numbers as Python's, which need no word on their type
    plain = next((kind(value) for kind in (str, bool, int, float) if isinstance(value, kind)), value)
    # other objects by their text, for their repr may be of any length
    text = repr(plain if isinstance(plain, str | int | float | bool) or plain is None else str(plain))
    # an object without a text of its own shows where it is in memory, which is another place each time
    text = text if isinstance(value, str) else re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    return text if len(text) <= width else text[: width - 2] + "…" + text[-1]


def shown(value: object, width: int = 80) -> str:
    """Show what a parameter was given as Python would, on one line, cut after `width` characters."""
    text = re.sub(r"\s*\n\s*", " ", repr(value))
    return text if len(text) <= width else text[: width - 1] + "…"


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Name up to `limit` values, quoted and parted by commas; say how many more there are."""
    values = list(values)
    shown = ", ".join(quoted(value) for value in values[:limit])
    return f"{shown} and {len(values) - limit:,} more" if len(values) > limit else shown or "(none)"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Say a count with its noun: `1 row`, `2 rows`, `3 entries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
