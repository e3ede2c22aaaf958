"""A metric over a grid of λ0 and λ1, each pair trained over several seeds, with intervals: a map to choose from.

Seed by seed, so that the whole map is there after a fifth of the time, and its intervals narrow from then on. The
interval is Student's for the mean over other draws of labels and training from the same data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hetcore.data import HetData
from hetcore.events import Callback, RoundEnd
from hetcore.figures import basic
from studio.messages import number
from studio.runs import chance

__all__ = ["GRID", "PAIRS", "SEEDS", "TASK", "cells", "figure", "interval", "trainings"]

TASK = "studio.runs.lambda_map:trainings"
GRID = (0.0, 0.1, 0.3, 1.0)
PAIRS = tuple((lambda0, lambda1) for lambda0 in GRID for lambda1 in GRID)
SEEDS = 5
FEWEST = 3
"""Seeds from which a mean has an interval: that of two is twelve deviations wide."""
INK = ("#1A1A1A", "#FFFFFF")
"""Of letters on light and on dark squares."""
Cells = Mapping[tuple[float, float], Sequence[float]]
"""Values of the metric by (λ0, λ1), one a seed."""


def trainings(
    data: HetData, setting: chance.Setting, seeds: Sequence[int], callbacks: Iterable[Callback] = ()
) -> dict[str, Any]:
    """Train a setting with each pair of `PAIRS` and each seed, and return the metrics.

    Parameters
    ----------
    data : HetData
        Before the setting's operations.
    setting : mapping
        See `studio.runs.chance.Setting`; its λ0 and λ1 are replaced.
    seeds : sequence of int
    callbacks : iterable of callables
        Get a `RoundEnd` after each training, whose detail has what is returned so far; one that returns True stops.

    Returns
    -------
    dict
        "metric", "rows" (one of `chance.SCORED`, of the last training) and "cells": a list of [λ0, λ1, seed, value].
    """
    outcome: dict[str, Any] = {"metric": "", "cells": []}
    todo = [(seed, *pair) for seed in seeds for pair in PAIRS]
    for place, (seed, lambda0, lambda1) in enumerate(todo):
        params = {**setting["params"], "lambda0": lambda0, "lambda1": lambda1}
        scores = chance.score(data, chance.with_seed({**setting, "params": params}, seed))
        rows = next((rows for rows in chance.SCORED if rows in scores), "")
        cells = [*outcome["cells"], [lambda0, lambda1, seed, float(scores.get(rows, "nan"))]]
        outcome = {"metric": scores["metric"], "rows": rows, "cells": cells}
        event = RoundEnd("map", place, len(todo), {}, detail=outcome)
        if any([callback(event) for callback in callbacks]):
            break
    return outcome


def cells(outcome: Mapping[str, Any]) -> dict[tuple[float, float], list[float]]:
    """Return the values of each pair that there are."""
    found: dict[tuple[float, float], list[float]] = {}
    for lambda0, lambda1, _, value in outcome["cells"]:
        if np.isfinite(value):
            found.setdefault((lambda0, lambda1), []).append(value)
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the length of its interval, NaN of fewer than `FEWEST` values."""
    measured = np.asarray(values, float)
    return float(measured.mean()), chance.half_interval(measured) if len(measured) >= FEWEST else float("nan")


def figure(found: Cells, metric: str, here: tuple[float, float] | None) -> dict[str, Any]:
    """Draw the map as squares that can be chosen, each with its mean and interval, beside a key of their colours.

    The current setting has a frame, or a diamond where it lies between the squares.

    Parameters
    ----------
    found : mapping
        Of `cells`, not empty.
    metric : str
        "error" is shown in per cent.
    here : (λ0, λ1) or None
    """
    pairs = list(found)
    means = [interval(found[pair])[0] for pair in pairs]
    place = {value: k for k, value in enumerate(GRID)}
    current = [pair == here for pair in pairs]
    dark = [mean > (min(means) + max(means)) / 2 for mean in means]
    x, y = [place[pair[1]] for pair in pairs], [place[pair[0]] for pair in pairs]
    texts = [_text(found[pair], metric) for pair in pairs]
    trace = {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "customdata": [list(pair) for pair in pairs],
        "text": texts, "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": "square", "size": 62, "color": means, "colorscale": "Cividis", "reversescale": True,
            "line": {"width": [4 if each else 0 for each in current], "color": basic.COLOURS[1]},
            "showscale": True, "colorbar": _key(metric),
        },
        "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}},
    }  # fmt: skip
    drawn = basic.lines([], {}, "λ0", "λ1")
    drawn["data"] = [trace, *([] if here is None or any(current) else [_between(here)])]
    drawn["layout"] |= {"height": 440, "hovermode": "closest", "showlegend": False, "clickmode": "event+select"}
    drawn["layout"]["annotations"] = [  # a text of the squares themselves would fade where another is chosen
        {"x": a, "y": b, "text": text, "showarrow": False, "font": {"size": 11, "color": INK[each]}}
        for a, b, text, each in zip(x, y, texts, dark)
    ]
    ticks = {"tickvals": list(range(len(GRID))), "ticktext": [f"{v:g}" for v in GRID], "range": [-0.6, 3.6]}
    for axis, title in (("xaxis", "λ1"), ("yaxis", "λ0")):
        drawn["layout"][axis] |= ticks | {"title": {"text": title}, "showgrid": False, "zeroline": False}
    return drawn


def _key(metric: str) -> dict[str, Any]:
    """Return the key of the colours, below the map: beside it there is no room on a phone."""
    key = {"orientation": "h", "thickness": 10, "y": -0.2, "yanchor": "top", "outlinewidth": 0, "nticks": 5}
    title = {"text": "error, per cent" if metric == "error" else metric, "side": "top"}
    return key | {"title": title} | ({"tickformat": ".1%"} if metric == "error" else {})


def _between(here: tuple[float, float]) -> dict[str, Any]:
    """Return a diamond where a setting lies between the squares, whose places are evenly spaced."""
    y, x = (float(np.interp(value, GRID, range(len(GRID)))) for value in here)
    marker = {"symbol": "diamond", "size": 16, "color": basic.COLOURS[1], "line": {"width": 2, "color": "white"}}
    text = f"now: λ0 = {here[0]:g}, λ1 = {here[1]:g}<extra></extra>"
    return {"type": "scatter", "mode": "markers", "x": [x], "y": [y], "marker": marker, "hovertemplate": text}


def _text(values: Sequence[float], metric: str) -> str:
    """Return a cell's text: "3.4%" and, of several seeds, "± 0.4" below it."""
    mean, half = interval(values)
    if not np.isfinite(half):
        return number(mean, metric)
    if metric == "error":
        return f"{number(mean, metric)}<br>± {100 * half:.1f}"
    # Three significant digits of the mean, and the interval to the same place.
    places = int(np.clip(2 - np.floor(np.log10(max(abs(mean), 1e-300))), 0, 3))
    return f"{mean:,.{places}f}<br>± {half:,.{places}f}"
