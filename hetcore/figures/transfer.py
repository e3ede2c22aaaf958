"""Plotly figures of transfer: accuracy by number of target examples, what each source keeps, η beside its formulas.

Plain dicts as in `hetcore.figures.basic`: a method has the same colour on every figure, and so has a domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hetcore.figures.basic import COLOURS, Figure, _layout, lines, style

__all__ = ["curve", "eta_scale", "masses", "rounded", "side_by_side"]

Line = tuple[Sequence[float], Sequence[float]]
Band = tuple[Sequence[float], Sequence[float], Sequence[float]]
GREY = "rgba(128,128,128,0.9)"
LOWEST, HIGHEST = 0.01, 1000.0
"""Ends of the scale of η."""
ETA_RANGE = -2.3, 3.3
"""Ends of its axis, as powers of ten."""
NEAR_END = 100.0
"""η beyond which the words of a mark, centred over it, would be cut at the end of the axis."""
LEAST_HEIGHT = 0.01
"""Of log loss, that the axis of a curve over η spans at least."""
LEAST_SHARES, HALF_MARKER = 0.1, 0.005
"""What an axis of shares spans at least, but for its ends, and what it goes beyond 0 and 1."""
SHADE = "rgba(128,128,128,0.15)"
APART = 0.5
"""Of the height of a curve over η, how far apart the names of marks stand: a line of letters on a small chart."""


def curve(
    points: Mapping[str, Band],
    order: Sequence[str],
    *,
    pale: Mapping[str, Band] | None = None,
    chance: float | None = None,
) -> Figure:
    """Draw accuracy against the number of target examples, a band over the repeats around each line.

    Parameters
    ----------
    points : mapping of str to (x, mean, error)
        By method: examples of each class, mean accuracy in [0, 1], its standard error (0 of one repeat).
    order : sequence of str
        All methods that can occur.
    pale : mapping of str to (x, mean, error), optional
        Of an earlier setting, drawn pale behind, without bands.
    chance : float, optional
        Accuracy of always saying the commonest class.
    """
    x = sorted({size for each in points.values() for size in each[0]})
    figure = lines([], {}, "labelled examples of each class in the target", "accuracy", order=order)
    figure["data"] = [_pale(name, each, order) for name, each in (pale or {}).items()]
    if chance is not None and x:
        level = {"type": "scatter", "mode": "lines", "name": "commonest class", "x": [x[0], x[-1]], "y": [chance] * 2}
        figure["data"].append(level | {"line": {"color": GREY, "width": 1, "dash": "dot"}})
    for name, each in points.items():
        figure["data"] += _banded(name, each, order)
    figure["layout"]["height"] = 420
    figure["layout"]["xaxis"] |= {"tickvals": x}
    figure["layout"]["yaxis"] |= {"tickformat": ".0%"}
    return figure


def _look(name: str, order: Sequence[str]) -> dict[str, str]:
    return style(list(order).index(name) if name in order else len(order))


def _pale(name: str, band: Band, order: Sequence[str]) -> Figure:
    line = {"color": _look(name, order)["colour"], "width": 1.5, "dash": "dot"}
    trace = {
        "type": "scatter",
        "mode": "lines",
        "name": f"{name}, before",
        "x": _floats(band[0]),
        "y": _floats(band[1]),
    }
    return trace | {"line": line, "opacity": 0.45, "showlegend": False}


def _banded(name: str, band: Band, order: Sequence[str]) -> list[Figure]:
    """Return the band of one standard error and the line of the means."""
    x, mean, error = (_floats(part) for part in band)
    look = _look(name, order)
    red, green, blue = (int(look["colour"][k : k + 2], 16) for k in (1, 3, 5))
    around = {"type": "scatter", "mode": "lines", "x": np.append(x, x[::-1]), "line": {"width": 0}}
    around |= {"y": np.append(mean + error, (mean - error)[::-1]), "fill": "toself", "hoverinfo": "skip"}
    around |= {"fillcolor": f"rgba({red},{green},{blue},0.18)", "showlegend": False, "name": f"{name}, band"}
    line = {"type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": mean}
    line |= {"line": {"color": look["colour"], "width": 2.5}, "marker": {"symbol": look["marker"], "size": 7}}
    return [around, line]


def _floats(values: Sequence[float]) -> NDArray[np.float64]:
    return np.asarray(values, float)


def side_by_side(
    runs: Mapping[str, Line],
    y_title: str,
    order: Sequence[str],
    *,
    pale: Mapping[str, Line] | None = None,
    level: float | None = None,
    percent: bool = False,
) -> Figure:
    """Draw one line per method over its rounds; a method of a single round is a level line, dashed.

    Parameters
    ----------
    runs : mapping of str to (x, y)
        Rounds, from 1, and values.
    y_title : str
    order : sequence of str
        All methods that can occur.
    pale : mapping of str to (x, y), optional
        Of an earlier setting.
    level : float, optional
        A value to mark by a line of its own.
    percent : bool, default=False
        Whether the values are shares.
    """
    longest = max((len(x) for x, _ in runs.values()), default=1)
    figure = lines([], {}, "round", y_title, order=order)
    stretched = {name: _level(x, y, longest) for name, (x, y) in (pale or {}).items()}
    figure["data"] = lines([], {}, "", "", pale=stretched, order=order)["data"]
    for name, (x, y) in runs.items():
        at = _level(x, y, longest)
        figure["data"] += lines(at[0], {name: at[1]}, "", "", order=order, dashed=[name] * (len(x) == 1))["data"]
    if level is not None:
        mark = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level}
        figure["layout"]["shapes"] = [mark | {"line": {"color": GREY, "width": 1, "dash": "dot"}}]
    if percent:
        values = np.concatenate([np.zeros(0), *(trace["y"] for trace in figure["data"])])
        figure["layout"]["yaxis"] |= {"tickformat": ".0%", **_share_range(values[np.isfinite(values)])}
    return figure


def _share_range(values: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return the range of an axis of shares, which fits where all are equal, and has no tick below 0 or above 100%."""
    if not len(values):
        return {}
    low, high = float(values.min()), float(values.max())
    room = max(0.08 * (high - low), 0.5 * (LEAST_SHARES - (high - low)))
    # Half a marker beyond the ends, which a line at 100% is not to be cut by.
    return {"range": [max(low - room, -HALF_MARKER), min(high + room, 1.0 + HALF_MARKER)]}


def _level(x: Sequence[float], y: Sequence[float], longest: int) -> Line:
    return ([1.0, float(longest)], [y[0]] * 2) if len(x) == 1 and longest > 1 else (x, y)


def masses(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    order: Sequence[str],
    target: str,
    pale: Mapping[str, Line] | None = None,
) -> Figure:
    """Draw the share of all weight that each source, and the target, keeps over the rounds.

    Parameters
    ----------
    x : (n,) sequence of float
        Rounds.
    series : mapping of str to (n,) sequence of float
        Shares in [0, 1]; the target's too.
    order : sequence of str
        All domains of the data, so that each keeps its colour.
    target : str
        Drawn dashed.
    pale : mapping of str to (x, y), optional
        Of an earlier setting.
    """
    figure = lines(x, series, "round", "share of all weight", order=order, dashed=[target], pale=pale)
    for trace in figure["data"]:
        trace["name"] += " (target)" if trace["name"] == target and "target" not in target.lower() else ""
    figure["layout"]["yaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    return figure


def eta_scale(
    value: float | None,
    marks: Mapping[str, float],
    path: Line | None = None,
    apart: float = 0.0,
    shares: Sequence[float] = (),
) -> Figure:
    """Draw η on a logarithmic scale from 0.01 to 1000, beside marks, over the left-out loss by η where it is known.

    Parameters
    ----------
    value : float or None
        η in use, None before it is chosen; beyond an end of the scale it stands at the end. One without a loss, beyond
        the ends of `path`, stands hollow on the axis.
    marks : mapping of str to float
        η by formula, or "auto".
    path : (etas, losses), optional
        Log loss on the target's left-out rows at each η.
    apart : float, default=0.0
        How far above the least loss one has to be to be told from it; losses below that are shaded.
    shares : sequence of float, optional
        The share of the vote that each η of the path has: the area of its point.
    """
    low, high = (min(path[1]), max(path[1])) if path else (0.0, 1.0)
    # Losses that differ by less are one level: on a scale of their own they would be mountains of rounding.
    height = max(high - low, LEAST_HEIGHT)
    high = low + height
    data = [
        {
            "type": "scatter", "mode": "lines+text", "x": [_on_scale(mark)] * 2,
            "y": [low, high + (0.25 + APART * place) * height], "cliponaxis": False,
            "text": ["", f"{name} = {rounded(mark)}"], "textposition": _side(place, [*marks.values()]),
            "textfont": {"size": 11}, "line": {"color": GREY, "width": 1.5, "dash": "dot"}, "hoverinfo": "skip",
        }
        for place, (name, mark) in enumerate(marks.items())
    ]  # fmt: skip
    if path:
        data += _path(*path, low + apart if apart else None, shares)
    if value is not None:
        data.append(_diamond(value, path, low, low - 0.1 * height))
    title = "left-out log loss" if path else ""
    layout = _layout("η on a logarithmic scale", title, 230 if path else 150, showlegend=False, hovermode="closest")
    ticks = [0.01, 0.1, 1, 10, 100, 1000]
    layout["xaxis"] |= {"type": "log", "range": [*ETA_RANGE], "tickvals": ticks}
    layout["xaxis"]["ticktext"] = ["0", *(f"{t:g}" for t in ticks[1:])]
    top = high + (0.4 + APART * len(marks)) * height
    layout["yaxis"] |= {"visible": bool(path), "range": [low - 0.1 * height, top]}
    return {"data": data, "layout": layout}


def _path(etas: Sequence[float], losses: Sequence[float], apart: float | None, shares: Sequence[float]) -> list[Figure]:
    """Return the losses over η, on a shade from the least up to `apart`; points by their shares of the vote."""
    curve = {
        "type": "scatter", "mode": "lines+markers", "x": [_on_scale(eta) for eta in etas], "y": [*losses],
        "line": {"color": COLOURS[0], "width": 2}, "customdata": [*etas], "name": "left-out loss",
        "hovertemplate": "η = %{customdata:.3g}: %{y:.3f}%{text}<extra></extra>",
        "text": [f", {share:.0%} of the vote" for share in shares] or [""] * len(etas),
        "marker": {"size": [5.0 + 20.0 * float(np.sqrt(share)) for share in shares] or 6},
    }  # fmt: skip
    if apart is None:
        return [curve]
    left, right = (10.0**end for end in ETA_RANGE)
    band = {"type": "scatter", "mode": "none", "x": [left, right, right, left], "name": "not told apart"}
    band |= {"y": [min(losses)] * 2 + [apart] * 2, "fill": "toself", "fillcolor": SHADE, "hoverinfo": "skip"}
    return [band, curve]


def _diamond(eta: float, path: Line | None, low: float, axis: float) -> Figure:
    """Return the mark of η: on the path, at `low` without one, and hollow on the axis beyond the path's ends."""
    measured = path is None or path[0][0] <= eta <= path[0][-1]
    level = low if path is None else _loss_at(eta, *path) if measured else axis
    look = {"symbol": "diamond" if measured else "diamond-open", "size": 13, "color": COLOURS[1]}
    text = f"η = {rounded(eta)}{'' if measured else ', not measured'}<extra></extra>"
    here = {"type": "scatter", "mode": "markers", "x": [_on_scale(eta)], "y": [level], "cliponaxis": False}
    return here | {"marker": look, "hovertemplate": text, "name": "η"}


def _side(place: int, marks: Sequence[float]) -> str:
    """Return where the words of a mark stand: beside its line where a higher one's or the end would cut them."""
    # As wide as the words are, in decades.
    room = np.log10(_on_scale(marks[place]) / LOWEST) > 1.5
    crossed = any(later > marks[place] for later in marks[place + 1 :])
    return "top left" if room and (crossed or marks[place] > NEAR_END) else "top center"


def _loss_at(eta: float, etas: Sequence[float], losses: Sequence[float]) -> float:
    """Return the loss at an η on the line that is drawn, whose pieces are straight on the scale of logarithms."""
    return float(np.interp(np.log(_on_scale(eta)), np.log([_on_scale(each) for each in etas]), losses))


def rounded(eta: float) -> str:
    """Write η with three digits that count: 0.143, 71.4, 10,700."""
    return f"{float(f'{eta:.3g}'):,.8g}"


def _on_scale(eta: float) -> float:
    return float(np.clip(eta, LOWEST, HIGHEST))
