"""Figures of predictions with a spread: bands, residuals, learned deviation, calibration, distrusted rows, imputation.

Plotly dicts like those of `hetcore.figures.basic`, with its colours: the learned deviation has the first, the constant
one the second. Clouds show at most 1,500 points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcore.figures.basic import COLOURS, Figure, _layout, _near, lines, style
from hetcore.numerics import root_mean_square

__all__ = ["band", "calibration", "cloud", "deviations", "found", "histograms", "imputation", "levels", "residuals"]

MOST_DOTS = 1500
GREY = "#717581"
MOST_UNITS = 10
"""Whole steps of time up to which each has its tick."""
WINDOWS, LEAST_ROWS = 40, 25


def _faint(colour: str, opacity: float = 0.2) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _dots(x: ArrayLike, y: ArrayLike, name: str, colour: str, symbol: str = "circle", **more: Any) -> dict[str, Any]:
    """Return a cloud, thinned evenly in the order of its rows."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_DOTS)).astype(int)) if len(x) else slice(0)
    marker = {"color": colour, "size": 5, "opacity": 0.55, "symbol": symbol}
    return {"type": "scatter", "mode": "markers", "name": name, "x": x[keep], "y": y[keep], "marker": marker} | more


def _ribbon(x: NDArray, low: NDArray, high: NDArray, name: str, colour: str) -> list[dict[str, Any]]:
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        edge | {"y": low, "showlegend": False},
        edge | {"y": high, "fill": "tonexty", "fillcolor": _faint(colour), "name": name},
    ]


def _running(x: NDArray, *values: NDArray) -> tuple[NDArray, ...]:
    """Return the medians of x and of values over windows of rows that follow each other in x."""
    # Stable, so that rows with equal x give the same picture each time.
    order = np.argsort(x, kind="stable")
    # Windows of about 25 rows at least, where there are enough, for the median of a few is noise.
    parts = np.array_split(order, min(WINDOWS, max(5, len(order) // LEAST_ROWS)))
    parts = [part for part in parts if len(part)]
    return tuple(np.array([np.median(each[part]) for part in parts]) for each in (x, *values))


def band(
    x: ArrayLike, truth: ArrayLike, prediction: ArrayLike, half: ArrayLike, titles: tuple[str, str], place: int = 0
) -> Figure:
    """Draw labels, and the prediction with its 90% band as running medians along x; a few far-out ones off the axes.

    Parameters
    ----------
    x, truth, prediction, half : (n,) array-like of float
        Where a row stands, its label, what is predicted, and half the width of its 90% interval.
    titles : (str, str)
        Of x and of the label.
    place : int, default=0
        Of the colour.
    """
    x, truth, prediction, half = (np.asarray(each, float) for each in (x, truth, prediction, half))
    colour = style(place)["colour"]
    inside = np.abs(truth - prediction) <= half
    at, middle, low, high = _running(x, prediction, prediction - half, prediction + half)
    traces = [
        *_ribbon(at, low, high, "90% band", colour),
        _dots(x[inside], truth[inside], "inside", GREY),
        _dots(x[~inside], truth[~inside], "outside", COLOURS[3], "x"),
        {"type": "scatter", "mode": "lines", "name": "prediction", "x": at, "y": middle, "line": {"color": colour}},
    ]
    layout = _layout(*titles, hovermode="closest")
    if ends := _near(x):
        layout["xaxis"]["range"] = list(ends)
    if ends := _near(truth):
        layout["yaxis"]["range"] = [min(ends[0], low.min()), max(ends[1], high.max())]
    return {"data": traces, "layout": layout}


def residuals(x: ArrayLike, residual: ArrayLike, half: ArrayLike, titles: tuple[str, str], place: int = 0) -> Figure:
    """Draw residuals within the band of what was expected of them; arguments as of `band`."""
    residual = np.asarray(residual, float)
    figure = band(x, residual, np.zeros_like(residual), half, titles=titles, place=place)
    figure["data"] = [trace for trace in figure["data"] if trace.get("name") != "prediction"]
    return figure


def cloud(
    truth: ArrayLike, series: Mapping[str, ArrayLike], titles: tuple[str, str], order: Sequence[str] = ()
) -> Figure:
    """Draw learned deviations against another measure of them, and running root mean squares or medians.

    Parameters
    ----------
    truth : (n,) array-like of float
        Planted deviation, or |residual|.
    series : mapping of str to (n,) array-like of float
        Learned deviations by model.
    titles : (str, str)
    order : sequence of str
        All names that can occur.
    """
    truth, order = np.asarray(truth, float), list(order) or list(series)
    traces = [
        _dots(truth, learned, name, style(order.index(name))["colour"], style(order.index(name))["marker"])
        for name, learned in series.items()
    ]
    top = float(np.nanmax(truth)) if len(truth) else 1.0
    line = {"color": GREY, "dash": "dot", "width": 1.5}
    traces.append({"type": "scatter", "mode": "lines", "name": "equal", "x": [0, top], "y": [0, top], "line": line})
    layout = _layout(*titles, hovermode="closest")
    if ends := _near(truth):
        layout["xaxis"]["range"] = list(ends)
        layout["yaxis"]["range"] = [0.0, 1.05 * max(float(max(learned)) for learned in series.values())]
    return {"data": traces, "layout": layout}


def deviations(
    predicted: ArrayLike, seen: ArrayLike, titles: tuple[str, str], squares: bool = True, windows: int = 12
) -> Figure:
    """Draw what rows do against what was predicted, in windows of as many rows: a dot on the line is calibrated.

    Parameters
    ----------
    predicted, seen : (n,) array-like of float
        Learned deviation and residual; or learned and realised shares, with `squares=False`.
    titles : (str, str)
        Of both.
    squares : bool, default=True
        Whether a window is told by its root mean square, else by its mean.
    windows : int, default=12
    """
    predicted, seen = np.asarray(predicted, float), np.asarray(seen, float)
    # Of as many rows each and not of equal width: where rows are few a window would show chance.
    parts = [part for part in np.array_split(np.argsort(predicted, kind="stable"), windows) if len(part)]
    x, y = (np.array([_middle(each[part], squares) for part in parts]) for each in (predicted, seen))
    # A little more than the largest, so that the last dot is whole.
    top = float(max(x.max(initial=0.0), y.max(initial=0.0)) * 1.05) or 1.0
    dotted = {"color": GREY, "dash": "dot", "width": 1.5}
    look = {"marker": {"color": COLOURS[0], "size": 9}, "line": {"color": COLOURS[0], "width": 1}}
    traces = [
        {"type": "scatter", "mode": "lines", "name": "as said", "x": [0, top], "y": [0, top], "line": dotted},
        {"type": "scatter", "mode": "lines+markers", "name": "as seen", "x": x, "y": y} | look,
    ]
    return {"data": traces, "layout": _layout(*titles, hovermode="closest")}


def _middle(values: NDArray, squares: bool) -> float:
    return root_mean_square(values) if squares else float(np.mean(values))


def calibration(nominal: Sequence[float], series: Mapping[str, Sequence[float]], titles: tuple[str, str]) -> Figure:
    """Draw achieved against nominal shares, each model a line; NaN leaves a gap.

    Parameters
    ----------
    nominal : (k,) sequence of float
        Shares in [0, 1].
    series : mapping of str to (k,) sequence of float
    titles : (str, str)
    """
    figure = lines(nominal, series, *titles)
    right = {"color": GREY, "dash": "dot", "width": 1.5}
    ideal = {"type": "scatter", "mode": "lines", "name": "exact", "x": [0, 1], "y": [0, 1], "line": right}
    figure["data"].insert(0, ideal)
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"range": [-0.02, 1.02], "tickformat": ".0%"}
    return figure


def histograms(groups: Mapping[str, ArrayLike], title: str, y_title: str, bins: int = 30) -> Figure:
    """Draw histograms of groups of values over each other, each as shares of its group.

    Parameters
    ----------
    groups : mapping of str to (n,) array-like of float
    title, y_title : str
    bins : int, default=30
    """
    values = {name: np.asarray(each, float) for name, each in groups.items() if len(each)}
    every = np.concatenate(list(values.values())) if values else np.array([0.0, 1.0])
    # The same edges for all groups, or their bars could not be compared.
    edges = np.histogram_bin_edges(every, bins)
    traces = []
    for place, (name, each) in enumerate(values.items()):
        counts, _ = np.histogram(each, edges)
        bar = {"type": "bar", "name": name, "x": (edges[1:] + edges[:-1]) / 2, "y": counts / len(each)}
        colour = style(place)["colour"]
        # Seen through, with an edge that stands out from a dark page.
        traces.append(bar | {"marker": {"color": _faint(colour, 0.65), "line": {"color": colour, "width": 1}}})
    layout = _layout(title, y_title, barmode="overlay", bargap=0.05, showlegend=len(traces) > 1)
    layout["yaxis"] |= {"tickformat": ".0%"}
    return {"data": traces, "layout": layout}


def found(hits: ArrayLike, share: float) -> Figure:
    """Draw how many of the corrupted rows are among the most distrusted ones.

    Parameters
    ----------
    hits : (n,) array-like of bool
        Whether a row was corrupted, the most distrusted first; at least one was.
    share : float
        Of all rows that were corrupted, where the search would end if it made no mistake.
    """
    hits = np.asarray(hits, bool)
    looked = np.concatenate([[0], np.arange(1, len(hits) + 1)]) / len(hits)
    caught = np.concatenate([[0], np.cumsum(hits)]) / max(hits.sum(), 1)
    # As good as can be: every row looked at is a corrupted one until all are found.
    best = np.minimum(looked / max(share, 1e-12), 1.0)
    # Short words: beside each other on a phone too, where a second line of them would lie on the curves.
    series = {"by distrust": caught, "at best": best, "by chance": looked}
    figure = lines(looked, series, "rows looked at", "corrupted rows found", dashed=["at best", "by chance"])
    for trace, colour in zip(figure["data"], (COLOURS[0], GREY, GREY)):
        trace["mode"], trace["line"]["color"] = "lines", colour
    figure["data"][2]["line"]["dash"] = "dot"
    figure["layout"]["legend"] |= {"y": 1.04}  # off the curves, which end on the upper edge
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"range": [-0.01, 1.01], "tickformat": ".0%"}
    return figure


def imputation(
    time: ArrayLike,
    known: tuple[ArrayLike, ArrayLike],
    hidden: tuple[ArrayLike, ArrayLike],
    prediction: ArrayLike,
    spread: ArrayLike,
    titles: tuple[str, str],
    place: int = 0,
) -> Figure:
    """Draw what was filled in for one sensor, with its 90% band, beside what was measured.

    Parameters
    ----------
    time : (n,) array-like of float
    known, hidden : (time, value)
        Measured values that were trained on, and those that were hidden.
    prediction, spread : (n,) array-like of float
        What is predicted, and its standard deviation.
    titles : (str, str)
        Of time and value.
    place : int, default=0
        Of the colour.
    """
    time, prediction, spread = (np.asarray(each, float) for each in (time, prediction, spread))
    colour = style(place)["colour"]
    keep = np.unique(np.linspace(0, len(time) - 1, min(len(time), 500)).astype(int))
    at, middle, width = time[keep], prediction[keep], 1.645 * spread[keep]
    filled = {"type": "scatter", "mode": "lines", "name": "filled in", "x": at, "y": middle, "line": {"color": colour}}
    if len(at) == 1:  # which has no line and no ribbon
        filled |= {"mode": "markers", "marker": {"color": colour}, "error_y": {"type": "data", "array": width}}
    traces = [
        *_ribbon(at, middle - width, middle + width, "90% band", colour),
        _dots(*hidden, "hidden", GREY, "circle-open"),
        filled,
        _dots(*known, "known", COLOURS[2], "diamond"),
    ]
    traces[-1]["marker"] |= {"size": 7, "opacity": 0.9}
    layout = _layout(*titles, hovermode="closest")
    # A year is 2020, neither 2,020 nor half of one.
    layout["xaxis"] |= {"tickformat": ".10~g"}
    if len(time) and np.ptp(time) <= MOST_UNITS and not (time % 1).any():
        layout["xaxis"] |= {"dtick": 1}
    return {"data": traces, "layout": layout}


def levels(
    points: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]],
    titles: tuple[str, str],
    order: Sequence[str],
) -> Figure:
    """Draw the error of each model by the share of corrupted or known labels, one standard error around it.

    Parameters
    ----------
    points : mapping of str to (levels, means, standard errors)
        By model.
    titles : (str, str)
    order : sequence of str
        All names that can occur, so that a name keeps its colour.
    """
    traces: list[dict[str, Any]] = []
    for name, (at, means, errors) in points.items():
        at, means, errors = (np.asarray(each, float) for each in (at, means, errors))
        look = style(list(order).index(name))
        ribbon = _ribbon(at, means - errors, means + errors, name, look["colour"])
        traces += [ribbon[0], ribbon[1] | {"showlegend": False}]
        marker, line = {"symbol": look["marker"], "size": 8}, {"color": look["colour"], "width": 2}
        lines_ = {"type": "scatter", "mode": "lines+markers", "name": name, "x": at, "y": means}
        traces.append(lines_ | {"marker": marker, "line": line})
    layout = _layout(*titles, hovermode="closest")
    layout["xaxis"] |= {"tickformat": ".0%"}
    return {"data": traces, "layout": layout}
