"""What a page draws of each round: a row of plain numbers by name, few digits, null where a number is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hetcore.base import event_row
from hetcore.events import RoundEnd
from hetcore.figures.basic import COLOURS, DASHES, MOST_POINTS

__all__ = ["GROUPS", "PALETTE", "row", "thinned"]

GROUPS = {
    "loss": "Loss",
    "metric": "Metric",
    "weight": "Source weights",
    "graph_weight": "Graph weights",
    "autocorrelation": "Residuals' correlation over links",
}
"""Title of a chart by the group of its series."""
CHOICE = "choice"
"""The group of what "auto" chose, which a control shows."""
PALETTE = {"colours": list(COLOURS), "dashes": list(DASHES)}


def row(event: RoundEnd) -> dict[str, float | None]:
    """Return the numbers of a round by "group:name", with five digits, and its seconds."""
    sent = {*GROUPS, CHOICE}
    numbers = {name: value for name, value in event_row(event).items() if name.partition(":")[0] in sent}
    return {name: _short(value) for name, value in ({"seconds": event.seconds} | numbers).items()}


def _short(value: float) -> float | None:
    # JSON has no NaN; five digits are more than a chart shows.
    return float(f"{value:.5g}") if np.isfinite(value) else None


def thinned(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return "names" and, as "rows", [place, values] of at most 500 rows, first and last among them.

    In lists, for a saved notebook has what is by name in the order of the alphabet, and colours go by the order.
    """
    # By place and not by value, so that a curve keeps its ends; unique, for short ones give a place twice.
    places = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(int)) if rows else []
    names = list(dict.fromkeys(name for place in places for name in rows[place]))
    return {"names": names, "rows": [[int(place), [rows[place].get(name) for name in names]] for place in places]}
