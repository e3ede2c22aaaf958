"""Plotly figures from data, events and models, as plain dicts: the same in a notebook and in the studio.

`plotly.graph_objects.Figure(figure)` shows one in a notebook. A source has the same colour on every figure
(Okabe-Ito, told apart by colour-blind readers too); lines differ by dash and marker as well. A line has at most 500
points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hetcore.data import HetData
from hetcore.data.hetdata import check_het_data
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError

__all__ = [
    "alt_text", "autocorrelation", "bars", "beside", "bound", "contributions", "coverage", "decades", "degrees",
    "label_title", "labels", "level", "lines", "missing", "overlap", "per_cent", "stacked", "style", "weights",
    "without_rounding",
]  # fmt: skip

# The first four are of Okabe and Ito's; each has a contrast of 3 to a white and to a dark page (WCAG 2.2, 1.4.11).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6F55E8", "#D200B4", "#8A6A50", "#4B90F5", "#D0213F", "#6B8E00")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x")
MOST_POINTS = 500
FAR = 1e9
"""From here on a power of ten is easier to read than Plotly's letter for thousands of millions."""
FEW = 8
"""Whole numbers along an axis, below which each has its tick."""
FINE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7)
"""First digits of ticks within one decade of a logarithmic axis."""
LONGEST_TITLE = 40
"""Characters of a column's name that an axis has room for."""
LONGEST_NAME = 26
LONGEST_GROUP = 18
"""Characters of a name beside an axis, and of one below it, where names may have to stand upright."""
EARLIER = "the training before"
"""In a legend, of the pale lines."""
CONFIG = {"displaylogo": False, "showSendToCloud": False, "responsive": True}

Figure = dict[str, Any]


def style(place: int) -> dict[str, Any]:
    """Return colour, dash and marker of the source at this place."""
    i = place % len(COLOURS)
    # The dash moves on with each turn of the colours, so that equal colours differ by it.
    turn = (place // len(COLOURS) + place) % len(DASHES)
    # So does the marker, five places on, where a hue of the first five comes again in another shade.
    marker = (place + place // len(MARKERS)) % len(MARKERS)
    return {"colour": COLOURS[i], "dash": DASHES[turn], "marker": MARKERS[marker]}


def _layout(x: str, y: str, height: int = 320, **more: Any) -> dict[str, Any]:
    axis = {"automargin": True, "gridcolor": "rgba(128,128,128,0.2)", "zerolinecolor": "rgba(128,128,128,0.4)"}
    # Thousands written out, as the words of a page have them: Plotly would write 5k.
    axis |= {"separatethousands": True, "exponentformat": "e", "minexponent": 9}
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": axis | {"title": {"text": x}},
        # Room, or the title of an axis stands on its numbers.
        "yaxis": axis | {"title": {"text": y, "standoff": 10}},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0.0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
    } | more


def _far(axis: dict[str, Any], values: np.ndarray) -> None:
    """Write very large numbers of an axis as powers of ten, as the words of a page do."""
    if np.abs(values[np.isfinite(values)]).max(initial=0.0) >= FAR:
        axis |= {"tickformat": ".6~g"}


def _near(values: np.ndarray) -> tuple[float, float] | None:
    """Return ends between which all lie but a few far-out values; None where none are so far that others are squeezed.

    Three times the width of the middle 90%, about it, where all values need more than twice that room.
    """
    if not len(values):
        return None
    low, high = np.quantile(values, (0.05, 0.95))
    low, high = 2 * low - high, 2 * high - low
    if not 0 < 2 * (high - low) < values.max() - values.min():
        return None
    # A little more, so that the dots at the ends are whole.
    room = 0.02 * (high - low)
    return float(max(low, values.min()) - room), float(min(high, values.max()) + room)


def _thin(values: np.ndarray) -> np.ndarray:
    """Return at most 500 places of a line, first and last among them."""
    # By place, so that the ends stay; unique, for short lines give a place twice.
    return np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int))


def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    x_title: str,
    y_title: str,
    *,
    pale: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    order: Sequence[str] = (),
    dashed: Iterable[str] = (),
) -> Figure:
    """Draw one line per series.

    Parameters
    ----------
    x : (n,) sequence of float
    series : mapping of str to (n,) sequence of float
        NaN leaves a gap.
    x_title, y_title : str
    pale : mapping of str to (x, y), optional
        Lines of an earlier run, drawn pale behind.
    order : sequence of str
        All names that can occur, so that a name keeps its colour when another is gone.
    dashed : iterable of str
        Names drawn dashed.
    """
    # An order from outside keeps a source's colour where a figure shows only some of the sources.
    order = list(order) or list(series)
    traces = _before(pale or {}, order)
    for name, y in series.items():
        look = style(order.index(name) if name in order else len(order))
        line = {"color": look["colour"], "width": 2, "dash": "dash" if name in set(dashed) else "solid"}
        traces.append(_line(x, y, name, line) | {"marker": {"symbol": look["marker"], "size": 5}})
    layout = _layout(x_title, y_title)
    _far(layout["yaxis"], np.concatenate([np.zeros(0), *(trace["y"] for trace in traces)]))
    layout["xaxis"] |= _wholes(x)
    return {"data": traces, "layout": layout}


def _before(pale: Mapping[str, tuple[Sequence[float], Sequence[float]]], order: Sequence[str]) -> list[dict[str, Any]]:
    """Return the pale lines of an earlier run, which no timeline moves, and their entry in the legend."""
    traces = []
    for name, (x, y) in pale.items():
        look = style(list(order).index(name) if name in order else len(order))
        line = {"color": look["colour"], "width": 1.5, "dash": "dot"}
        traces.append(_line(x, y, f"{name}, before", line) | {"opacity": 0.4, "showlegend": False, "meta": "before"})
    if pale:
        # One entry for all, without a place of its own.
        line = {"color": "#717581", "width": 1.5, "dash": "dot"}
        traces.append(_line([np.nan], [np.nan], EARLIER, line) | {"mode": "lines", "meta": "before"})
    return traces


def _wholes(x: Sequence[float]) -> dict[str, int]:
    """Return what an axis of few whole numbers needs: there is no round between two, and Plotly writes halves."""
    at = np.asarray(x, float)
    return {"dtick": 1} if len(at) and np.ptp(at) < FEW and np.all(at == np.round(at)) else {}


def _line(x: Sequence[float], y: Sequence[float], name: str, line: dict[str, Any]) -> dict[str, Any]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    keep = _thin(x)
    # Markers show that a few rounds are points; over many they are only a thicker line.
    mode = "lines+markers" if len(keep) <= 60 else "lines"
    return {"type": "scatter", "mode": mode, "name": name, "x": x[keep], "y": y[keep], "line": line}


def per_cent(figure: Figure) -> Figure:
    """Write y as per cent, where it is an error: a share, as it is said everywhere else."""
    if figure["layout"]["yaxis"]["title"]["text"].partition(",")[0] == "error":
        # as many decimals as tell ticks apart: the zeros after them are left out
        figure["layout"]["yaxis"] |= {"tickformat": ".3~%", "hoverformat": ".1%"}
        values = np.concatenate([np.zeros(0), *(np.asarray(trace["y"], float) for trace in figure["data"])])
        values = values[np.isfinite(values)]
        # a level line alone would stand on an axis from less than none to more than all
        if values.size and np.ptp(values) == 0:
            figure["layout"]["yaxis"] |= {"range": [0, 2 * float(values[0]) or 0.1]}
    return figure


def decades(values: Sequence[float]) -> dict[str, Any]:
    """Return what makes an axis logarithmic, with whole numbers at 1, 2, 5 of each decade in place of single digits.

    Within one decade these would be one or two, which tell no scale: there are more of them.
    """
    known = np.asarray([value for value in values if value > 0 and np.isfinite(value)], float)
    if not len(known):
        return {"type": "log"}
    low, high = (int(np.floor(np.log10(each))) for each in (known.min(), known.max()))
    span = known.max() / known.min()
    steps = FINE if span < 10 else (1, 2, 5) if span < 100 else (1,)
    ticks = [step * 10.0**power for power in range(low, high + 2) for step in steps]
    # Counts have nothing between them.
    ticks = [tick for tick in ticks if tick.is_integer()] if np.all(known == np.round(known)) else ticks
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,.12g}" for tick in ticks]}


def level(figure: Figure, name: str, value: float, ends: tuple[float, float]) -> None:
    """Add a dashed line of one height to a figure, such as the error of another method."""
    line = {"color": "#717581", "width": 2, "dash": "dash"}
    trace = {"type": "scatter", "mode": "lines", "name": name, "x": list(ends), "y": [float(value)] * 2, "line": line}
    axis = figure["layout"]["yaxis"]
    form = axis.get("hoverformat", ".3g")
    if "range" in axis:
        axis["range"] = [axis["range"][0], max(axis["range"][1], 1.1 * float(value))]
    figure["data"].append(trace | {"hovertemplate": f"%{{y:{form}}}"})


def stacked(parts: Mapping[str, Mapping[str, float]], title: str, order: Sequence[str]) -> Figure:
    """Draw a bar per name of `order`, made of the values that each part gives it.

    Parameters
    ----------
    parts : mapping of str to mapping of str to float
        By part, its value of each name.
    title : str
        Of the values.
    order : sequence of str
        Names from top to bottom.
    """
    traces = []
    for place, (part, values) in enumerate(parts.items()):
        marker = {"color": style(place)["colour"], "pattern": {"shape": "/" if place >= len(COLOURS) else ""}}
        bar = {"type": "bar", "orientation": "h", "name": part, "y": list(order), "marker": marker}
        # Plotly reads names as markup.
        hover = "%{x:.3g}<extra>" + part.replace("<", "&lt;") + "</extra>"
        traces.append(bar | {"x": [float(values.get(name, 0.0)) for name in order], "hovertemplate": hover})
    height = 110 + 26 * len(order) + 18 * len(parts)  # on a phone the legend takes a line for each part
    layout = _layout(title, "", height, barmode="stack", hovermode="closest")
    layout["yaxis"] |= {"autorange": "reversed", "title": {"text": ""}}
    layout["legend"] |= {"traceorder": "normal"}
    return {"data": traces, "layout": layout}


def weights(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    order: Sequence[str],
    pale: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> Figure:
    """Draw weights in [0, 1] over the rounds."""
    figure = lines(x, series, "round", "weight", pale=pale, order=order)
    figure["layout"]["yaxis"] |= {"range": [0, 1.02]}
    return figure


def bars(values: Mapping[str, float], title: str, order: Sequence[str] = (), horizontal: bool = True) -> Figure:
    """Draw one bar per name, each in its own colour."""
    order = list(order) or list(values)
    colours = [style(order.index(name) if name in order else 0)["colour"] for name in values]
    names, sizes = list(values), [float(v) for v in values.values()]
    whole, size = [name.replace("<", "&lt;") for name in names], "x" if horizontal else "y"
    hover = f"%{{customdata}}: %{{{size}}}<extra></extra>"
    bar = {"type": "bar", "marker": {"color": colours}, "customdata": whole, "hovertemplate": hover}
    bar |= {"y": names, "x": sizes, "orientation": "h"} if horizontal else {"x": names, "y": sizes}
    layout = _layout(title if horizontal else "", "" if horizontal else title, hovermode="closest", showlegend=False)
    layout["height"] = max(160, 28 * len(names) + 60) if horizontal else 300
    if not horizontal:
        layout["xaxis"] |= _categories(names, LONGEST_GROUP)
    else:
        layout["yaxis"] |= _rows(names)
        _far(layout["xaxis"], np.array(sizes, float))
    # Of the axis: Plotly writes a true minus there, and a hyphen where a template has a format.
    counts = max(sizes, default=0.0) >= 1000 and all(map(float.is_integer, sizes))
    layout[f"{size}axis"] |= {"hoverformat": ",d" if counts else ".3g"}
    return {"data": [bar], "layout": layout}


def _rows(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis of names from top to bottom."""
    return {"autorange": "reversed"} | _categories(names, LONGEST_NAME)


def _categories(names: Sequence[str], longest: int) -> dict[str, Any]:
    """Return an axis of names, long ones cut: they would leave no room for what is drawn."""
    # As categories, for names such as "2019" would be numbers on an axis.
    axis, short = {"type": "category"}, [_cut(name, longest) for name in names]
    return axis | ({} if short == list(names) else {"tickvals": list(range(len(short))), "ticktext": short})


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def beside(panels: Mapping[str, Figure]) -> Figure:
    """Return one figure with the panels beside one another, each with its title; for a file rather than a page."""
    traces, layout = [], {"showlegend": True, "height": 420}
    width = 1.0 / max(len(panels), 1)
    for place, (title, figure) in enumerate(panels.items()):
        number = "" if place == 0 else str(place + 1)
        middle = [place * width + 0.04 * (place > 0), (place + 1) * width - 0.02]
        own = figure["layout"]
        layout[f"xaxis{number}"] = {**own["xaxis"], "domain": middle, "anchor": f"y{number}"}
        layout[f"yaxis{number}"] = {**own["yaxis"], "anchor": f"x{number}"}
        layout.setdefault("annotations", []).append(
            {"text": title, "x": np.mean(middle), "y": 1.06, "xref": "paper", "yref": "paper", "showarrow": False}
        )
        for trace in figure["data"]:
            seen = any(trace.get("name") == other.get("name") for other in traces)
            shown = {"showlegend": False} if seen else {}
            traces.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}", **shown})
    return {"data": traces, "layout": layout}


def contributions(values: Mapping[str, float], order: Sequence[str], unit: str) -> Figure:
    """Draw what each source and graph adds to one instance's prediction."""
    return bars(dict(zip(values, without_rounding(list(values.values())))), f"adds ({unit})", order)


def without_rounding(values: Sequence[float]) -> list[float]:
    """Return numbers with 0 for those that are nothing but rounding beside the largest."""
    least = 1e-9 * max(map(abs, values), default=0.0)
    return [value if abs(value) > least else 0.0 for value in values]


def autocorrelation(x: Sequence[float], series: Mapping[str, Sequence[float]], order: Sequence[str]) -> Figure:
    """Draw the correlation of residuals over the links of each graph, by round."""
    return lines(x, series, "round", "correlation of residuals over links", order=order)


def coverage(data: HetData, most: int = 400) -> Figure:
    """Draw which source has which instance: a row per source, a column per instance, a sample where there are many."""
    check_het_data(data, "coverage")
    mask = data.mask
    # By all sources at once, the first one first, so that instances with the same sources lie together.
    order = np.lexsort(mask[::-1])[::-1]
    keep = order[np.unique(np.linspace(0, data.n - 1, min(data.n, most)).astype(int))]
    shown = mask[:, keep].astype(np.uint8)
    scale = [[0, "rgba(128,128,128,0.15)"], [1, COLOURS[0]]]
    trace = {
        "type": "heatmap", "z": shown, "y": data.source_names, "x": np.linspace(0, 100, len(keep)), "zmin": 0,
        "zmax": 1,
        "colorscale": scale, "showscale": False, "ygap": 3,
        "text": [[name.replace("<", "&lt;")] * len(keep) for name in data.source_names],
        "hovertemplate": "%{text}: %{z}<extra>1 = has a record</extra>",
    }  # fmt: skip
    layout = _layout("instances, per cent", "", hovermode="closest")
    layout["height"] = 34 * len(data.source_names) + 90
    # With room for the last number, which stands below the end of the axis.
    layout["xaxis"] |= {"range": [0, 100], "dtick": 20, "ticklabeloverflow": "allow"}
    layout["margin"] |= {"r": 16}
    layout["yaxis"] |= _rows(data.source_names)
    return {"data": [trace], "layout": layout}


def overlap(data: HetData, most: int = 12) -> Figure:
    """Draw how many instances each combination of sources has, the largest first."""
    check_het_data(data, "overlap")
    codes, counts = np.unique(data.mask.T, axis=0, return_counts=True)
    # Stable, so that equal counts keep their order from run to run.
    best = np.argsort(-counts, kind="stable")[:most]
    names = np.array(data.source_names, object)
    found = {_combination(names, codes[i]): int(counts[i]) for i in best}
    return bars(found, "instances", order=["-"])


def _combination(names: np.ndarray, has: np.ndarray) -> str:
    if has.all():
        return "all"
    if not has.any():
        return "none"
    if has.sum() == 1:
        return f"{names[has][0]} only"
    # Whichever says it in fewer names.
    return " + ".join(names[has]) if has.sum() <= (~has).sum() else "all but " + ", ".join(names[~has])


def labels(data: HetData) -> Figure:
    """Draw the labels: a bar per class, or a histogram."""
    check_het_data(data, "labels")
    known = data.y[data.labelled]
    if data.target_kind == "classification":
        names, counts = np.unique(known.astype(str), return_counts=True)
        return bars(dict(zip(names.tolist(), counts.tolist())), "labelled instances", order=["-"])
    known = known.astype(float)
    ends = _near(known)
    # As many bars as the root of the rows, within what one can see.
    bars_drawn = min(40, max(5, int(np.sqrt(max(len(known), 1)))))
    counts, edges = np.histogram(known if ends is None else np.clip(known, *ends), bins=bars_drawn)
    trace = {"type": "bar", "x": (edges[1:] + edges[:-1]) / 2, "y": counts, "marker": {"color": COLOURS[0]}}
    title = label_title(data)
    title += "" if ends is None else f"; the end bars reach {known.min():,.6g} and {known.max():,.6g}"
    layout = _layout(title, "instances", 260, bargap=0.05, showlegend=False)
    _far(layout["xaxis"], edges)
    return {"data": [trace], "layout": layout}


def label_title(data: HetData, nameless: str = "label") -> str:
    """Return what an axis of labels is called: the name of their column, else `nameless`."""
    name = " ".join(data.label_name.split())
    return _cut(name, LONGEST_TITLE) or nameless


def degrees(data: HetData, name: str) -> Figure:
    """Draw how many instances have how many neighbours in a graph."""
    check_het_data(data, "degrees")
    if not (isinstance(name, str) and name in data.graphs):
        raise DataError(f"There is no graph {quoted(name)} among {listed(data.graphs)}: name one of them.")
    values, counts = np.unique(data.graphs[name].degree, return_counts=True)
    colour = style(data.graph_names.index(name))["colour"]
    trace = {"type": "scatter", "mode": "markers", "x": values, "y": counts, "marker": {"color": colour, "size": 6}}
    layout = _layout("neighbours", "instances", 260, showlegend=False, hovermode="closest")
    layout["xaxis"] |= _wholes(values)
    # Few nodes have most links: on a linear scale they would be one line on the axis.
    layout["yaxis"] |= decades(counts)
    return {"data": [trace], "layout": layout}


def missing(data: HetData) -> Figure:
    """Draw the share of missing values of each source, among the instances that it has."""
    check_het_data(data, "missing")
    shares = {name: 100 * source.missing_share for name, source in data.sources.items()}
    figure = bars(shares, "missing values, per cent", data.source_names)
    figure["layout"]["xaxis"] |= {"range": [0, max(1.0, *(1.05 * share for share in shares.values()))]}
    return figure


def bound(first: float, second: float, weight: float | None = None) -> Figure:
    r"""Draw the error bounds of theorem 4.1 for two sources, one error held at `first`.

    With errors e1 and e2 and weights (w, 1 - w) the bound is sqrt(2 (w^2 e1 + (1 - w)^2 e2)): for equal weights
    sqrt((e1 + e2) / 2), and at its lowest, for weights like 1 / e, sqrt(2 e1 e2 / (e1 + e2)).

    Parameters
    ----------
    first, second : float
        Errors e1, e2 in (0, 1].
    weight : float, optional
        Learned weight of the first source, in [0, 1].
    """
    errors = np.linspace(0.005, 1.0, 200)
    equal = np.sqrt((first + errors) / 2)
    best = np.sqrt(2 * first * errors / (first + errors))
    both = {"equal weights": equal, "best weights": best}
    figure = lines(errors, both, "error of the second source", "bound of the error")
    if weight is not None:
        at = float(np.sqrt(2 * (weight**2 * first + (1 - weight) ** 2 * second)))
        marker = {"symbol": "star", "size": 14, "color": COLOURS[2]}
        spot = {"type": "scatter", "mode": "markers", "name": "learned weights", "x": [second], "y": [at]}
        figure["data"].append(spot | {"marker": marker})
    return figure


def alt_text(figure: Figure, what: str) -> str:
    """Say in words what a figure shows, for those who can't see it."""
    names = [str(trace.get("name")) for trace in figure["data"] if trace.get("name")]
    return what + (f": {', '.join(names[:12])}" if names else "")
