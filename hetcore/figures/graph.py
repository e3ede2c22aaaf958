"""Plotly figures of collective inference, as plain dicts: what is left along the links, how it settles, the network.

`plotly.graph_objects.Figure(figure)` shows one in a notebook. Large networks are drawn by WebGL: all links are one
line, nodes are coloured by a number on a scale of quantiles, by a number around zero, or by class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import Graph
from hetcore.figures.basic import COLOURS, FINE, _layout, lines

__all__ = [
    "Look",
    "autocorrelation",
    "brief",
    "by_class",
    "by_quantile",
    "convergence",
    "drawn_edges",
    "network",
    "signed",
]

Figure = dict[str, Any]
# Beyond that links cover the nodes.
MOST_EDGES = 12_000
MOST_SVG = {"nodes": 2_000, "links": 8_000}
"""Up to which a network is drawn by SVG: WebGL takes a second to begin where no graphics card helps."""
GREY, PALE = "rgba(128,128,128,0.6)", "rgba(128,128,128,0.22)"
BAR = {"orientation": "h", "thickness": 10, "len": 0.6, "y": 0.0, "yanchor": "top", "x": 0.5}
AROUND_ZERO = [[0.0, "#0072B2"], [0.5, "#C9CDD3"], [1.0, "#D55E00"]]


@dataclass(frozen=True)
class Look:
    """The colours of nodes.

    Attributes
    ----------
    colour : (n,) float, or (n,) of colour names
        NaN and None are drawn small and pale.
    axis : dict
        Plotly's `coloraxis`, empty for classes.
    legend : dict of str to str
        Colour by class, empty for numbers.
    text : sequence of str, optional
        What a node says under the pointer beside its name, (n,).
    size : float, default=1.0
        Of the nodes that have a colour, beside the usual.
    """

    colour: NDArray
    axis: Mapping[str, Any]
    legend: Mapping[str, str]
    text: Sequence[str] | None = None
    size: float = 1.0


def brief(value: float) -> str:
    """Return a number with three significant digits, whole from 1,000 on."""
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
    return text.replace("-", "−")


def by_quantile(values: NDArray, reference: NDArray, title: str) -> Look:
    """Colour numbers by the share of `reference` below them, so that a heavy tail leaves colours for the others."""
    known = np.sort(reference[np.isfinite(reference)])
    if known.size == 0:
        return Look(np.full(len(values), np.nan), {}, {})
    share = np.searchsorted(known, values, "right") / known.size
    colour = np.where(np.isfinite(values), share, np.nan)
    at = np.linspace(0, 1, 5)
    ticks = [brief(value) for value in np.quantile(known, at)]
    bar = BAR | {"title": {"text": title, "side": "top"}, "tickvals": at, "ticktext": ticks}
    return Look(colour, {"colorscale": "Viridis", "cmin": 0, "cmax": 1, "colorbar": bar}, {})


def signed(values: NDArray, title: str) -> Look:
    """Colour numbers around zero: below blue, above vermillion, full from the 95th percentile of their sizes on."""
    sizes = np.abs(values[np.isfinite(values)])
    top = float(np.quantile(sizes, 0.95)) if sizes.size else 0.0
    # Where most are zero the percentile is too, and colours need an interval.
    top = top or float(sizes.max(initial=0.0)) or 1.0
    bar = BAR | {"title": {"text": title, "side": "top"}}
    return Look(values, {"colorscale": AROUND_ZERO, "cmin": -top, "cmax": top, "colorbar": bar}, {})


def by_class(values: Sequence[Any], classes: Sequence[str]) -> Look:
    """Colour classes; None is drawn pale."""
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(classes)}
    return Look(np.array([colours.get(value) for value in values], object), {}, colours)


def drawn_edges(graph: Graph, most: int = MOST_EDGES, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Return the ends of the links to draw: all of them, or a random sample of `most`."""
    a, b, _ = graph.edges()
    if len(a) <= most:
        return a, b
    # A sample with a fixed seed, or the picture would change at each redraw.
    kept = np.sort(np.random.default_rng(seed).choice(len(a), most, replace=False))
    return a[kept], b[kept]


def network(
    places: NDArray,
    ends: tuple[NDArray, NDArray],
    look: Look,
    names: Sequence[str],
    known: NDArray | None = None,
    chosen: int | None = None,
    near: NDArray | None = None,
    height: int = 620,
) -> Figure:
    """Draw a network; a node's customdata is its place.

    Parameters
    ----------
    places : (n, 2) float
        NaN for nodes that are not drawn.
    ends : pair of (e,) int arrays
        The links to draw, see `drawn_edges`.
    look : Look
    names : sequence of str (n,)
        Of the nodes; shown as they are, whatever they hold.
    known : (n,) bool, optional
        Nodes drawn as circles, the others as diamonds; all circles by default.
    chosen : int, optional
        A node to ring, and its links to draw above the others.
    near : (k,) int, optional
        The chosen node's neighbours.
    height : int, default=620
        In pixels.
    """
    there = np.isfinite(places[:, 0])
    known = np.ones(len(places), bool) if known is None else known
    traces = [_links(places, *ends, PALE, 0.6)]
    if chosen is not None and near is not None:
        traces.append(_links(places, np.full(len(near), chosen), near, COLOURS[4], 1.4))
    # Drawn small and pale, before the others, so that they cover none.
    mute = there & ~_coloured(look.colour)
    traces += [_nodes(places, mute, look, names, "circle", mute=True)]
    traces += [_nodes(places, there & ~mute & ~known, look, names, "diamond")]
    traces += [_nodes(places, there & ~mute & known, look, names, "circle")]
    traces = [trace for trace in traces if len(trace["x"])] + [_swatch(*each) for each in look.legend.items()]
    # A legend of shapes only where both are there.
    if not known.all():
        traces += [_swatch("label known", GREY), _swatch("label hidden", GREY, "diamond")]
    if chosen is not None and there[chosen]:
        traces.append(_ring(places[chosen]))
    small = len(places) <= MOST_SVG["nodes"] and len(ends[0]) <= MOST_SVG["links"]
    drawn_by = {"type": "scatter" if small else "scattergl"}
    return {"data": [drawn_by | trace for trace in traces], "layout": _canvas(height, look.axis)}


def _canvas(height: int, axis: Mapping[str, Any]) -> dict[str, Any]:
    bare = {"visible": False, "showgrid": False, "zeroline": False, "range": [-1.04, 1.04]}
    layout = _layout("", "", height, hovermode="closest", dragmode="pan")
    return layout | {"xaxis": bare, "yaxis": bare | {"scaleanchor": "x"}} | ({"coloraxis": dict(axis)} if axis else {})


def _links(places: NDArray, a: NDArray, b: NDArray, colour: str, width: float) -> dict[str, Any]:
    gap = np.full(len(a), np.nan)
    # A gap after each link lets all of them be one line: a trace a link would take minutes.
    x, y = (np.column_stack([places[a, k], places[b, k], gap]).ravel().astype(np.float32) for k in (0, 1))
    line = {"color": colour, "width": width}
    return {"mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip", "showlegend": False}


def _coloured(colour: NDArray) -> NDArray[np.bool_]:
    """Return which nodes have a colour."""
    return np.array([each is not None for each in colour]) if colour.dtype == object else np.isfinite(colour)


def _nodes(
    places: NDArray, which: NDArray, look: Look, names: Sequence[str], symbol: str, mute: bool = False
) -> dict[str, Any]:
    """Return the trace of some nodes; those without a colour small and pale."""
    rows = np.flatnonzero(which)
    # The more nodes, the smaller, or they would cover one another.
    size = 7 if len(places) < 2000 else 5 if len(places) < 6000 else 3.5
    marker = {"symbol": symbol, "size": look.size * size, "line": {"width": 0}, "color": look.colour[rows]}
    marker |= {"coloraxis": "coloraxis"} if look.axis else {}
    if mute:
        marker = {"symbol": symbol, "size": 0.6 * size, "line": {"width": 0}, "color": GREY}
    # Names may hold markup.
    texts = [escape(str(names[i])) + (f"<br>{look.text[i]}" if look.text is not None else "") for i in rows]
    return {
        "mode": "markers", "x": places[rows, 0], "y": places[rows, 1], "marker": marker,
        "customdata": rows, "text": texts, "hovertemplate": "%{text}<extra></extra>", "showlegend": False,
    }  # fmt: skip


def _swatch(name: str, colour: str, symbol: str = "circle") -> dict[str, Any]:
    marker = {"color": colour, "size": 8, "symbol": symbol}
    # An entry of the legend without a point: nodes of all classes are one trace.
    return {"mode": "markers", "name": escape(name), "x": [None], "y": [None], "marker": marker}


def _ring(place: NDArray) -> dict[str, Any]:
    marker = {"symbol": "circle-open", "size": 16, "color": COLOURS[4], "line": {"width": 3}}
    spot = {"mode": "markers", "x": place[:1], "y": place[1:], "marker": marker}
    return spot | {"hoverinfo": "skip", "showlegend": False}


def autocorrelation(
    stages: Sequence[float],
    series: Mapping[str, Sequence[float]],
    band: NDArray,
    label: float | None = None,
    *,
    pale: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Draw Moran's I of what models leave, by stage, over the band of shuffled residuals.

    Parameters
    ----------
    stages : (m,) sequence of float
    series : mapping of str to (m,) sequence of float
        Moran's I by model.
    band : (m, 2) float
        Where 95% of the I's of shuffled residuals lie.
    label : float, optional
        Moran's I of the labels, drawn as a dotted line.
    pale : mapping of str to (x, y), optional
        Lines of an earlier run.
    order : sequence of str
        All models that can occur.
    """
    figure = lines(stages, series, "stage", "Moran's I of the residuals", pale=pale, order=order)
    x = np.concatenate([stages, np.asarray(stages)[::-1]])
    y = np.concatenate([band[:, 1], band[::-1, 0]])
    noise = {"type": "scatter", "mode": "lines", "name": "noise, 95%", "x": x, "y": y, "fill": "toself"}
    noise |= {"fillcolor": "rgba(128,128,128,0.25)", "line": {"width": 0}, "hoverinfo": "skip"}
    figure["data"].insert(0, noise)
    if label is not None and np.isfinite(label):
        line = {"color": GREY, "width": 1.5, "dash": "dot"}
        # A line needs two ends, also after the first stage.
        ends = [stages[0], max(stages[-1], stages[0] + 1)]
        trace = {"type": "scatter", "mode": "lines", "name": "labels", "x": ends, "y": [label] * 2, "line": line}
        figure["data"].append(trace | {"hovertemplate": "labels: %{y:.3g}<extra></extra>"})
    return figure


def convergence(changes: Mapping[str, Sequence[float]], order: Sequence[str], title: str) -> Figure:
    """Draw the largest change of a prediction in each sweep of collective inference, on a logarithmic scale."""
    longest = max(map(len, changes.values()), default=0)
    padded = {name: [*values, *[np.nan] * (longest - len(values))] for name, values in changes.items()}
    # A logarithmic axis has no place for zero.
    padded = {name: np.where(np.asarray(v) > 0, v, np.nan) for name, v in padded.items()}
    figure = lines(np.arange(1, longest + 1), padded, "sweep", title, order=order)
    ticks = _ticks(np.concatenate([*padded.values(), [np.nan]]))
    figure["layout"]["xaxis"] |= {"dtick": 1} if longest <= 10 else {}
    figure["layout"]["yaxis"] |= {"type": "log", "tickvals": ticks, "ticktext": [brief(tick) for tick in ticks]}
    return figure


def _ticks(values: NDArray) -> list[float]:
    """Return round numbers for a logarithmic axis, the more of them a decade the fewer decades there are."""
    known = values[np.isfinite(values)]
    decades = float(np.log10(known.max() / known.min())) if known.size else 0.0
    digits = FINE if decades < 1 else (1, 2, 5) if decades < 3 else (1,)
    return [digit * 10.0**power for power in range(-9, 10) for digit in digits]
