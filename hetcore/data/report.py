"""What reading the data found: one `Finding` for each thing changed, dropped, merged or worth a look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from hetcore.data.markup import plain, table
from hetcore.data.text import listed

__all__ = ["LEAK", "Finding", "Report"]

MAX_EXAMPLES = 5
LEAK = "label_"
"""How the kinds of findings begin that say what gives the label away."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found in the data, and what was done about it.

    Attributes
    ----------
    kind : str
        A short fixed name such as "repeated_id", for code that looks for it.
    where : str
        Where it was found, such as "source 'genre'"; empty while the source or graph has no name yet.
    count : int
        How many rows, edges, cells or columns (the message says which).
    message : str
        One sentence: what is so, and what was done.
    examples : tuple of str
        Up to five examples, as given (ids, columns, values).
    """

    kind: str
    where: str
    count: int
    message: str
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", tuple(str(example) for example in self.examples)[:MAX_EXAMPLES])

    def within(self, place: str) -> Finding:
        """Return the same finding, placed inside `place`."""
        return replace(self, where=f"{place}, {self.where}" if self.where else place)

    def __str__(self) -> str:
        sentence = f"{self.message}{_examples(self)}"
        # a question ends with its own mark
        sentence += "" if sentence.endswith("?") else "."
        return f"{self.where}: {sentence}" if self.where else sentence


def _examples(finding: Finding) -> str:
    return f" (for example {listed(finding.examples)})" if finding.examples else ""


class Report:
    """The findings about a data set, in the order in which they were made.

    Parameters
    ----------
    findings : iterable of Finding
        What was found.
    leaks : callable, optional
        Returns more, on what gives the label away: called when these are asked for, for they take a while.
    """

    def __init__(self, findings: Iterable[Finding] = (), leaks: Callable[[], Iterable[Finding]] = tuple) -> None:
        self._given, self._leaks = tuple(findings), leaks

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        return (*self._given, *self._leaks())

    def __reduce__(self) -> tuple[Any, ...]:
        # what was found, without the data that it was found in
        return Report, (self._findings,)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    def __add__(self, findings: Iterable[Finding]) -> Report:
        return Report([*self._findings, *findings])

    def of(self, kind: str, where: str | None = None) -> list[Finding]:
        """Return the findings of one kind, in one place if `where` is given."""
        among = self._findings if kind.startswith(LEAK) else self._given
        return [f for f in among if f.kind == kind and where in (None, f.where)]

    def count(self, kind: str, where: str | None = None) -> int:
        """Return the sum of the counts of one kind of finding."""
        return sum(finding.count for finding in self.of(kind, where))

    def to_frame(self) -> pl.DataFrame:
        """Return one row per finding: kind, where, count, message, examples (a list)."""
        rows = [(f.kind, f.where, f.count, f.message, list(f.examples)) for f in self._findings]
        schema = {"kind": pl.String, "where": pl.String, "count": pl.Int64, "message": pl.String}
        return pl.DataFrame(rows, schema=schema | {"examples": pl.List(pl.String)}, orient="row")

    def __str__(self) -> str:
        return "\n".join(map(str, self._findings)) or "Nothing to report."

    def _repr_html_(self) -> str:
        rows = [[plain(each.where, 80), plain(f"{each.message}{_examples(each)}.")] for each in self._findings]
        return table(["where", "what was found"], rows) if rows else "<p>Nothing to report.</p>"

    def __repr__(self) -> str:
        return f"Report({len(self)} findings)\n{self}"
