"""Plotly figures of models that learn from several modalities: curves, steps, confusion, and a modality that fails.

Plain dicts as in `hetcore.figures.basic`: a model has the same colour on every figure, and so has a source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hetcore.figures.basic import COLOURS, DASHES, Figure, _before, _layout, _line, decades, per_cent, style

__all__ = ["confusion", "curves", "failing", "per_source"]

Line = tuple[Sequence[float], Sequence[float]]
MOST_CLASSES = 20
DARK = 0.45  # share of the row above which a cell takes white numbers


def curves(
    series: Mapping[str, Line],
    titles: tuple[str, str],
    order: Sequence[str],
    *,
    pale: Mapping[str, Line] | None = None,
    log: bool = False,
    stars: Mapping[str, Line] | None = None,
) -> Figure:
    """Draw one line per model, each over an x of its own: rounds or seconds.

    Parameters
    ----------
    series : mapping of str to (x, y)
        By model.
    titles : (str, str)
        Of x and y.
    order : sequence of str
        All models that can occur.
    pale : mapping of str to (x, y), optional
        Of an earlier run, drawn pale behind.
    log : bool, default=False
        Whether y is logarithmic.
    stars : mapping of str to (x, y), optional
        Points that are marked, those that are not a line's last one.
    """
    traces = _before(pale or {}, order)
    for name, (x, y) in series.items():
        look = _look(name, order)
        line = {"color": look["colour"], "width": 2}
        traces.append(_line(x, y, name, line) | {"marker": {"symbol": look["marker"], "size": 5}})
    for name, (x, y) in (stars or {}).items():
        if name in series and x[-1] != series[name][0][-1]:
            mark = {"symbol": "star", "size": 13, "color": _look(name, order)["colour"]}
            mark["line"] = {"color": "white", "width": 1}
            traces.append({
                "type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "marker": mark, "showlegend": False,
                "name": f"{name}, kept", "hovertemplate": f"{titles[0]} %{{x}}, kept: %{{y:.3g}}<extra></extra>",
            })  # fmt: skip
    layout = _layout(*titles)
    layout["yaxis"] |= decades(np.concatenate([np.asarray(y, float) for _, y in series.values()])) if log else {}
    layout["hovermode"] = "closest"
    return per_cent({"data": traces, "layout": layout})


def _look(name: str, order: Sequence[str]) -> dict[str, str]:
    return style(list(order).index(name) if name in order else len(order))


def per_source(
    series: Mapping[str, Mapping[str, Sequence[float]]],
    y_title: str,
    order: Sequence[str],
    *,
    names: Mapping[str, str] | None = None,
    seconds: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Draw one line per model and source over the rounds: colours tell sources, dashes models.

    Parameters
    ----------
    series : mapping of str to mapping of str to (rounds,) sequence of float
        By model, then by source.
    y_title : str
    order : sequence of str
        All sources.
    names : mapping of str to str, optional
        What the legend calls each source.
    seconds : mapping of str to (rounds,) sequence of float, optional
        By model: drawn over these rather than over the rounds.
    """
    traces = []
    for place, (model, lines) in enumerate(series.items()):
        for source, y in lines.items():
            look = _look(source, order)
            line = {"color": look["colour"], "width": 2, "dash": DASHES[place % len(DASHES)]}
            label = (names or {}).get(source, source) + (f" · {model}" if len(series) > 1 else "")
            x = np.arange(1, len(y) + 1) if seconds is None else np.asarray(seconds[model])
            traces.append(_line(x, y, label, line) | {"marker": {"symbol": look["marker"]}})
    return {"data": traces, "layout": _layout("round" if seconds is None else "seconds of training", y_title)}


def confusion(truth: ArrayLike, predicted: ArrayLike) -> Figure:
    """Draw how many rows of each class are predicted to be of which; of many classes those with the most rows.

    Parameters
    ----------
    truth, predicted : (n,) array-like of str
    """
    truth, predicted = np.asarray(truth, str), np.asarray(predicted, str)
    known, counts = np.unique(np.concatenate([truth, predicted]), return_counts=True)
    kept = known[np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])]
    z = np.array([[int(((truth == row) & (predicted == column)).sum()) for column in kept] for row in kept])
    # of all its rows, those too that are predicted to be of a class that is not drawn
    share = z / np.maximum([[int((truth == row).sum())] for row in kept], 1)
    trace = {
        "type": "heatmap", "z": share, "x": kept.tolist(), "y": kept.tolist(), "zmin": 0, "zmax": 1,
        "colorscale": [[0, "rgba(128,128,128,0.08)"], [1, COLOURS[0]]],
        "showscale": False, "customdata": z,
        "hovertemplate": "%{y} predicted as %{x}: %{customdata}, %{z:.0%} of its rows<extra></extra>",
    }  # fmt: skip
    layout = _layout("predicted", "true class", min(640, 180 + 30 * len(kept)), hovermode="closest")
    layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= {"type": "category", "autorange": "reversed"}
    return {"data": [trace, *_numbers_on(kept, z, share)], "layout": layout}


def _numbers_on(names: np.ndarray, z: np.ndarray, share: np.ndarray) -> list[dict]:
    """Return the numbers of the cells: white on dark cells, in the page's own colour on pale ones."""
    traces = []
    for dark in (True, False):
        rows, columns = np.nonzero((z > 0) & ((share > DARK) == dark))
        trace = {"type": "scatter", "mode": "text", "x": names[columns].tolist(), "y": names[rows].tolist()}
        trace |= {"text": [str(v) for v in z[rows, columns]], "hoverinfo": "skip", "showlegend": False}
        traces.append(trace | ({"textfont": {"color": "white"}} if dark else {}))
    return traces


def failing(
    series: Mapping[str, Mapping[str, float]], source: str, order: Sequence[str], blank: str = "blank"
) -> Figure:
    """Draw F1 of each model by how badly one source fails: noise in standard deviations, then without it.

    Parameters
    ----------
    series : mapping of str to mapping of str to float
        By model, then by level.
    source : str
    order : sequence of str
        All models that can occur.
    blank : str, default="blank"
        The level without the source, drawn apart from the line.
    """
    traces = []
    for name, f1 in series.items():
        look = _look(name, order)
        noisy = {level: value for level, value in f1.items() if level != blank}
        trace = {"type": "scatter", "name": name, "hovertemplate": "%{y:.3f}<extra>%{fullData.name}</extra>"}
        trace |= {"line": {"color": look["colour"], "width": 2}, "legendgroup": name}
        for levels, mode, size in ((noisy, "lines+markers", 7), ({blank: f1.get(blank)}, "markers", 11)):
            own = {"x": list(levels), "y": list(levels.values()), "mode": mode, "showlegend": levels is noisy}
            traces.append(trace | own | {"marker": {"symbol": look["marker"], "size": size, "color": look["colour"]}})
    layout = _layout(f"noise in {source}, in standard deviations", "F1", 340)
    layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= {"range": [0, 1.02]}
    return {"data": traces, "layout": layout}
