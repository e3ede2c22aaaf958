"""The nearest change that turns a case's class: few columns, little moved.

Greedy: of all values that columns often take, the one that brings another class nearest, later the best few together,
until another class is the likeliest. Then columns that are not needed get their values back, and numbers move back as
far as the class stays turned. There may be a nearer change; this one turns the class, which is tried at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.errors import DataError
from studio.views.consensus.case import Case, Operations, Values, grid

__all__ = ["Change", "Turned", "nearest"]

# One by one first, for few columns is what is looked for; then faster, for it has to end.
TAKEN = (1, 1, 1, 1, 2, 4, 8, 16)
"""Columns that each look adds to a change."""
MOST_ROWS = 2_500
"""Variants of one look over all columns; more columns have fewer values each."""
FEWEST_VALUES, MOST_VALUES = 3, 11
STEPS = 9
"""Places between the recorded value and the new one that are tried."""
# A probability of zero has no logarithm.
TINY = 1e-300


class Change(NamedTuple):
    """A column of a source, its value before and after; None where missing."""

    source: str
    column: str
    before: Any
    after: Any


class Turned(NamedTuple):
    """The class before, the class and its probability after, and what was changed; no change where none was found."""

    before: str
    after: str
    probability: float
    changes: list[Change]


class _Search:
    """Values that may be taken by players, numbered from 1 (0 is the case's own); a change is {player: value}."""

    def __init__(self, case: Case, columns: Sequence[tuple[str, str]] | None) -> None:
        self.case = case
        self.first = int(case.predicted(case.record)[0].argmax())
        free = [k for k, player in enumerate(case.players) if player.column and (columns is None or player in columns)]
        # All columns are tried in one look, so that many columns leave fewer values for each.
        count = int(np.clip(MOST_ROWS // max(len(free), 1), FEWEST_VALUES, MOST_VALUES))
        found = {k: self._values(k, count) for k in free}
        self.values = {k: each for k, each in found.items() if len(each)}

    def _column(self, k: int) -> tuple[pl.Series, str]:
        player = self.case.players[k]
        source = self.case.data.sources[player.source]
        return source.frame[player.column], source.kinds[player.column]

    def _values(self, k: int, count: int) -> pl.Series:
        series, kind = self._column(k)
        # A text or an array has no value that one could set by hand.
        if kind in ("text", "array") or series.dtype.is_nested():
            return series.clear()
        return grid(series, kind, count)

    def own(self, k: int) -> Any:
        """Return the case's own value."""
        player = self.case.players[k]
        return self.case.record[player.source][player.column][0]

    def spread(self, k: int) -> float:
        """Return the deviation of a column of numbers, 0 of another."""
        series, kind = self._column(k)
        # A column without a spread has no unit to measure a move by.
        return float(series.std() or 0.0) if kind == "real" and series.dtype.is_numeric() else 0.0

    def cost(self, change: Mapping[int, Any]) -> float:
        """Return by how many deviations numbers move; a level counts as one."""
        total = 0.0
        for k, value in change.items():
            own, spread = self.own(k), self.spread(k)
            # Where the case has no value, giving it one counts as a level does.
            total += 1.0 if own is None or not spread else abs(value - own) / spread
        return total

    def margins(self, changes: Sequence[Mapping[int, Any]]) -> NDArray[np.float64]:
        """Return by how much the likeliest other class is ahead, in log odds, (len(changes),)."""
        predicted = np.log(np.maximum(self.case.predicted(self._tables(changes)), TINY))
        others = np.delete(predicted, self.first, axis=1)
        return others.max(axis=1) - predicted[:, self.first]

    def _tables(self, changes: Sequence[Mapping[int, Any]]) -> dict[str, Any]:
        count, tables = len(changes), {}
        for name, own in self.case.record.items():
            rows = own[np.zeros(count, np.int64)]
            for k in {k for change in changes for k in change if self.case.players[k].source == name}:
                column = self.case.players[k].column
                given = [change.get(k, self.own(k)) for change in changes]
                rows = rows.with_columns(pl.Series(column, given, dtype=rows[column].dtype))
            tables[name] = rows
        return tables

    def turned(self) -> dict[int, Any] | None:
        """Return a change after which another class is ahead, None where none was found."""
        change: dict[int, Any] = {}
        for many in TAKEN:
            tried = [change | {k: value} for k, values in self.values.items() if k not in change for value in values]
            if not tried:
                break
            margins = self.margins(tried)
            ahead = np.flatnonzero(margins > 0)
            # Whoever is ahead at all is turned; among those the nearest counts, not the most turned.
            if ahead.size:
                return min((tried[i] for i in ahead), key=self.cost)
            best: dict[int, Any] = {}
            # Stable, so that the same case has the same answer.
            for i in np.argsort(-margins, kind="stable"):
                k, value = next(reversed(tried[i].items()))
                if len(best) < many:
                    best.setdefault(k, value)
            change |= best
            # Each alone was not enough, but together they may be.
            if self.margins([change])[0] > 0:
                return change
        return None

    def pruned(self, change: dict[int, Any]) -> dict[int, Any]:
        """Return a change without the columns that it does not need."""
        while len(change) > 1:
            # What an early step needed may be needless once later ones are there.
            fewer = [{k: value for k, value in change.items() if k != gone} for gone in change]
            enough = np.flatnonzero(self.margins(fewer) > 0)
            if not enough.size:
                break
            change = min((fewer[i] for i in enough), key=self.cost)
        return change

    def shrunk(self, change: dict[int, Any]) -> dict[int, Any]:
        """Return a change whose numbers have moved back as far as the class stays turned, one after the other."""
        # The costliest first: it has most to give back.
        for k in sorted(change, key=lambda k: -self.cost({k: change[k]})):
            own = self.own(k)
            if own is None or not self.spread(k):
                continue
            whole = isinstance(own, int)
            points = own + (change[k] - own) * np.arange(1, STEPS) / STEPS
            tried = [change | {k: round(p) if whole else float(p)} for p in points]
            enough = np.flatnonzero(self.margins(tried) > 0)
            if enough.size:
                change = tried[enough[0]]
        return change


def nearest(
    model: bytes,
    data: HetData,
    like: str | None,
    values: Values,
    columns: Sequence[tuple[str, str]] | None = None,
    operations: Operations = (),
) -> Turned:
    """Return the nearest change found that turns the class that is predicted for a case.

    Parameters
    ----------
    model, data, like, values, operations
        As of `studio.views.consensus.case.Case`.
    columns : sequence of (source, column), optional
        What may change; all that are no text unless given.

    Raises
    ------
    DataError
        If numbers are predicted, which have no class to turn.
    """
    case = Case(model, data, like, values, operations)
    if not case.classes:
        raise DataError("Numbers have no class to turn: move a value and see what is predicted.")
    search = _Search(case, columns)
    before = str(case.classes[search.first])
    change = search.turned()
    if change is None:
        return Turned(before, before, 0.0, [])
    change = search.shrunk(search.pruned(change))
    # Asked once more, for what is told must be what the model says of the very values that are shown.
    predicted = case.predicted(search._tables([change]))[0]
    made = [Change(*case.players[k], search.own(k), value) for k, value in change.items()]
    return Turned(before, str(case.classes[predicted.argmax()]), float(predicted.max()), made)
