"""The rounds of trainings become curves: the one place where a page reads its lines off `RoundEnd` events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.events import RoundEnd
from hetcore.figures import basic

__all__ = [
    "KEPT", "ROWS", "SCORED", "SHARES", "Curves", "Events", "about_stars", "aligned", "as_written", "by_name",
    "by_training", "figure", "heaviest", "kept", "metric_name", "scored_rows", "scored_set", "starred",
]

Events = Mapping[str, Sequence[RoundEnd]]
"""The rounds of trainings side by side, by label."""
Curves = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""x and y by name."""
GREY = "#717581"
SHARES = ".3f"
"""The form of weights over a point: a weight of 1e-49 is "< 0.001" to whoever reads it (`figures.js`)."""
SCORED = {"held_out": "held out", "left_out": "left out", "train": "training"}
ROWS = (
    "**Held out**: labels that were hidden from the whole training. **Left out**: labels that a part of the training "
    "did not see, each in turn. **Training**: labels that were learned from."
)
"""Over words of `SCORED`, for whoever does not know them."""
KEPT = "the kept model"
"""In a legend, of the star."""
# The first that all trainings have: compared on different rows they would say nothing.
"""Rows that errors are of, the best witnesses first."""


def scored_rows(*metrics: Mapping[str, float]) -> str:
    """Return which rows all of these metrics are known of: held-out ones, else left-out ones, else those trained on."""
    return next((rows for rows in SCORED if metrics and all(rows in metric for metric in metrics)), "train")


def scored_set(events: Events, of: str = "metric") -> str:
    """Return which rows all of these trainings are scored on; `of` names the detail of a round with the scores."""
    return scored_rows(*(each[-1].detail[of] for each in events.values() if each))


def metric_name(events: Events) -> str:
    """Return the name of the metric that trainings side by side tell, such as "error"."""
    return next(each[-1].detail["metric_name"] for each in events.values() if each)


def round_of(event: RoundEnd) -> float:
    """Return the number of a round, from 1."""
    return event.index + 1


def heaviest(event: RoundEnd) -> tuple[str, float]:
    """Return the source with most weight among the sources, and its weight, as the chart of weights draws it."""
    return max(event.source_weights.items(), key=lambda item: item[1])


def kept(events: Sequence[RoundEnd]) -> RoundEnd:
    """Return the round that a model predicts by: the best one on labels left out where it goes back, else the last."""
    detail, place = events[-1].detail, len(events) - 1
    # Stages are counted from 0, the start, and rounds from 1.
    place = detail.get("best_stage", detail.get("kept_round", place + 1) - 1)
    # One past the end is there where a training was stopped.
    return events[min(place, len(events) - 1)]


def by_name(events: Sequence[RoundEnd], pick: Callable[[RoundEnd], Mapping[str, float]]) -> Curves:
    """Return a curve per name that `pick(event)` gives a value, NaN in rounds without one."""
    rounds, picked = np.array([round_of(event) for event in events], float), [pick(event) for event in events]
    names = dict.fromkeys(name for values in picked for name in values)
    return {name: (rounds, np.array([values.get(name, np.nan) for values in picked], float)) for name in names}


def by_training(
    events: Events, pick: Callable[[RoundEnd], float | None], place: Callable[[RoundEnd], float] = round_of
) -> Curves:
    """Return a curve per training; rounds of which `pick(event)` is None are left out, trainings without a round too.

    Parameters
    ----------
    events : mapping of str to sequence of RoundEnd
    pick : callable
        Gives y.
    place : callable, optional
        Gives x.
    """
    points = {label: [(place(event), pick(event)) for event in each] for label, each in events.items()}
    # A round that tells nothing of a curve is no point of it; NaN would break the line there.
    known = {label: [(x, y) for x, y in each if y is not None] for label, each in points.items()}
    return {label: tuple(np.array(each, float).T) for label, each in known.items() if each}


def aligned(curves: Curves) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return one x for all curves, and each curve's y over it: NaN where it has no point."""
    # Trainings may have points at different places, such as shares of labels instead of rounds.
    everywhere = np.unique(np.concatenate([x for x, _ in curves.values()] or [np.empty(0)]))
    lines = {name: np.full(len(everywhere), np.nan) for name in curves}
    for name, (x, y) in curves.items():
        lines[name][np.searchsorted(everywhere, x)] = y
    return everywhere, lines


def figure(now: Curves, before: Curves, titles: tuple[str, str], order: Sequence[str] = ()) -> basic.Figure:
    """Draw curves, those of earlier trainings pale behind.

    Parameters
    ----------
    now, before : Curves
    titles : (str, str)
        Of x and y.
    order : sequence of str
        All names that can occur, so that each keeps its colour.
    """
    return basic.per_cent(basic.lines(*aligned(now), *titles, pale=before, order=order))


def starred(figure: basic.Figure, points: Mapping[str, tuple[float, float]], hover: str = "kept") -> basic.Figure:
    """Mark what each training keeps, where that is not its line's last point, and say in the legend what a star is.

    Parameters
    ----------
    figure : dict
        With a line for each name.
    points : mapping of str to (x, y)
        By name.
    hover : str, default="kept"
        What is said over a star after its name.
    """
    stars = []
    for trace in [each for each in figure["data"] if each.get("name") in points and "line" in each]:
        x, y = points[trace["name"]]
        if not np.isfinite(y) or (len(trace["x"]) and np.allclose((x, y), (trace["x"][-1], trace["y"][-1]))):
            continue
        text = f"{trace['name']}, {hover}: %{{y:{figure['layout']['yaxis'].get('hoverformat', '.3g')}}}<extra></extra>"
        star = _star([x], [y], trace["line"]["color"], 13)
        stars.append(star | {"name": f"{trace['name']}, kept", "showlegend": False, "hovertemplate": text})
    if stars:
        # One for all, without a place of its own: colours tell whose a star is.
        stars.append(_star([None], [None], GREY, 10) | {"name": KEPT})
    return figure | {"data": [*figure["data"], *stars]}


def about_stars(*figures: basic.Figure) -> str:
    """Say what a star is, where one of some figures has any: its numbers may differ from its line's end."""
    if not any(trace.get("name") == KEPT for figure in figures for trace in figure["data"]):
        return ""
    return "★ is the model that is kept: it need not be its line's last round, nor lie on it."


def _star(x: Sequence[float | None], y: Sequence[float | None], colour: str, size: int) -> dict[str, Any]:
    marker = {"symbol": "star", "size": size, "color": colour, "line": {"color": "white", "width": 1}}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker}


def as_written(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure whose names, in its legend and of its axes, Plotly shows as they are and not as markup."""
    layout = {key: _titled(each) for key, each in figure.get("layout", {}).items()}
    return {**figure, "data": [dict(trace) | _plain(trace) for trace in figure.get("data", ())], "layout": layout}


def _titled(part: Any) -> Any:
    """Return a part of a layout; of an axis with its title and its marks as they are written."""
    if isinstance(part, Mapping) and "ticktext" in part:
        part = {**part, "ticktext": [text.replace("<", "&lt;") for text in part["ticktext"]]}
    title = part.get("title") if isinstance(part, Mapping) else None
    text = title.get("text") if isinstance(title, Mapping) else None
    return {**part, "title": {**title, "text": text.replace("<", "&lt;")}} if text else part


def _plain(trace: Mapping[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value.replace("<", "&lt;") if isinstance(value, str) else value

    lists = {key: [plain(each) for each in trace[key]] for key in ("x", "y") if isinstance(trace.get(key), list)}
    return lists | ({"name": plain(trace["name"])} if "name" in trace else {})
