"""A map of the instances of any data: two components of their values, or a graph's drawing, coloured by predictions.

Instances that are alike in their values lie side by side, or those that are linked. The colours are what the consensus
and each source by itself predict, whether they err, and how far the sources disagree.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore import model_files
from hetcore.consensus.table_columns import TableColumns
from hetcore.data import HetData
from hetcore.figures.basic import COLOURS, Figure, _layout, style
from hetcore.projection import principal
from studio import scenarios
from studio.messages import number
from studio.views.common.layouts import layout

__all__ = [
    "CONSENSUS", "DISAGREEMENT", "ERROR", "MOST", "VALUES", "Views", "by_round", "coded", "colours", "figure", "views",
]  # fmt: skip

VALUES = "values"
"""The map of two components; else it is the name of a graph."""
CONSENSUS, ERROR, DISAGREEMENT = "consensus", "error", "disagreement"
MOST = 3_000
"""Instances that are drawn and can be selected; of more, a sample."""
FEWEST = 1e-9
OTHERS, UNKNOWN = "others", "not known"
MUTE = "#8A8F98"
NOTHING = 255
"""The code of a number that is not known."""


@dataclass
class Views:
    """What is drawn of m instances.

    Attributes
    ----------
    rows : (m,) int64
        Their places in the data, ascending.
    places : (m, 2) float32
        In [-1, 1]; NaN for an instance that has no place on this map.
    consensus : (m,) object or float64
        What is predicted.
    sources : dict of str to (m,) object or float64
        What each source predicts by itself; None or NaN where it says nothing.
    disagreement : (m,) float64
        Share of the sources of an instance that predict another class than the consensus, or the deviation of the
        sources' numbers.
    classes : tuple
        Of the model, by their numbers; empty for numbers.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.float32]
    consensus: NDArray
    sources: dict[str, NDArray]
    disagreement: NDArray[np.float64]
    classes: tuple[Any, ...] = ()


def views(model: bytes, data: HetData, on: str, seed: int = 0, operations: Sequence[Mapping[str, Any]] = ()) -> Views:
    """Return what a consensus and its sources predict of the instances, and where they lie.

    Parameters
    ----------
    model : bytes
        Of a consensus of `hetcore`.
    data : HetData
        That it was trained on.
    on : str
        `VALUES`, or the name of a graph.
    seed : int, default=0
        Of the sample that is drawn of many instances.
    operations : sequence of mappings
        What-ifs of the training that are not done in the data yet.
    """
    data = scenarios.apply(data, operations).data
    places = components(data) if on == VALUES else layout(data, on, seed)
    there = np.flatnonzero(np.isfinite(places[:, 0]))
    # A sample of those that have a place, in the order of the data.
    rows = np.sort(np.random.default_rng(seed).permutation(there)[:MOST])
    loaded = model_files.load(model)
    consensus = np.asarray(loaded.predict(data))[rows]
    sources = (_printed_alone if loaded.as_printed else _alone)(loaded, data, consensus, rows)
    classes = tuple(loaded.classes_) if loaded.scale_.is_classifier else ()
    spread = _disagreement(consensus, list(sources.values()))
    return Views(rows, places[rows], consensus, sources, spread, classes=classes)


def components(data: HetData) -> NDArray[np.float32]:
    """Return two principal components of the scaled columns of all tables, (n, 2) in [-1, 1].

    NaN for an instance in no table; a table that an instance lacks counts with its means.
    """
    tables = TableColumns().fit_transform(data)
    rows = tables.joined_smooth[tables.in_any]
    rows = rows - rows.mean(axis=0)
    vectors = principal(rows, 2)
    found = np.zeros((len(rows), 2))
    found[:, : vectors.shape[1]] = rows @ vectors
    # The 99th percentile, so that one far instance does not press the others together.
    sizes = np.maximum(np.quantile(np.abs(found), 0.99, axis=0), FEWEST)
    places = np.full((data.n, 2), np.nan, np.float32)
    places[tables.in_any] = np.clip(found / sizes, -1.25, 1.25) / 1.25
    return places


def _alone(model: Any, data: HetData, consensus: NDArray, rows: NDArray[np.int64]) -> dict[str, NDArray]:
    """Return what each source's own views predict of rows (m,) of the data; None or NaN where it has no record."""
    found = {}
    for name, adds in zip(model.source_weights_, model.model_.alone(data)):
        fitted = model.model_.fitted(data, model.graph_weights_, [np.nan_to_num(adds)])
        found[name] = np.asarray(model.scale_.labels(fitted), consensus.dtype)[rows]
        found[name][np.isnan(adds[rows, 0])] = None
    return found


def _printed_alone(model: Any, data: HetData, consensus: NDArray, rows: NDArray[np.int64]) -> dict[str, NDArray]:
    """Return the same of a model as printed, of which each source has one weight: by what it adds."""
    adds = model.contributions(data, per_class=True, graphs=True)[rows]
    if model.scale_.is_classifier:
        return {name: _class_alone(model, adds[:, k]) for k, name in enumerate(model.source_weights_)}
    return _numbers_alone(model, consensus, adds[..., 0])


def _class_alone(model: Any, adds: NDArray[np.float64]) -> NDArray:
    """Return the class that a source predicts by itself, from what it adds to the scores (m, K)."""
    chosen = model.classes_[adds.argmax(axis=1)].astype(object)
    # A source that adds nothing has no record of the instance.
    chosen[(np.abs(adds) < FEWEST).all(axis=1)] = None
    return chosen


def _numbers_alone(model: Any, consensus: NDArray[np.float64], adds: NDArray[np.float64]) -> dict[str, NDArray]:
    """Return the number that each source predicts by itself: with its weight it makes what it adds (m, p + q).

    The consensus is their weighted mean, over the sources that an instance has, and what graphs add.
    """
    prior = consensus - adds.sum(axis=1)
    adds = adds[:, : len(model.source_weights_)]
    weights = np.where(np.abs(adds) < FEWEST, 0.0, list(model.source_weights_.values()))
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), FEWEST)
    alone = prior[:, None] + np.divide(adds, shares, out=np.full_like(adds, np.nan), where=shares > 0)
    return dict(zip(model.source_weights_, alone.T))


def _disagreement(consensus: NDArray, sources: Sequence[NDArray]) -> NDArray[np.float64]:
    if consensus.dtype.kind == "f":
        stack = np.stack(sources)
        # Rows that no source knows would be a mean over nothing.
        spread = np.nan_to_num(stack) - np.nanmean(np.where(np.isfinite(stack).any(axis=0), stack, 0.0), axis=0)
        return np.sqrt((np.where(np.isfinite(stack), spread, 0.0) ** 2).mean(axis=0))
    known = np.array([[each is not None for each in source] for source in sources])
    other = np.array([source != consensus for source in sources]) & known
    return other.sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def colours(found: Views, by: str, predictions: pl.DataFrame) -> NDArray:
    """Return what each instance is coloured by: text, or numbers.

    Parameters
    ----------
    found : Views
    by : str
        `CONSENSUS`, `ERROR`, `DISAGREEMENT` or the name of a source.
    predictions : polars.DataFrame
        Of the run, a row per instance of the data: "label" and, if some were hidden, "held_out".
    """
    if by == CONSENSUS:
        return found.consensus
    if by == DISAGREEMENT:
        return found.disagreement
    if by != ERROR:
        return found.sources[by]
    known = [name for name in ("label", "held_out") if name in predictions.columns]
    # What was trained on or what was held out: of each instance one is known at most.
    truth = predictions.select(pl.coalesce(known)).to_series()[found.rows]
    if found.consensus.dtype.kind == "f":
        return found.consensus - truth.cast(pl.Float64).to_numpy()
    right = {True: "right", False: "wrong"}
    pairs = zip(truth.to_list(), found.consensus.tolist())
    return np.array([UNKNOWN if label is None else right[label == other] for label, other in pairs], object)


def by_round(
    found: Views, by: str, predictions: pl.DataFrame, staged: pl.DataFrame | None
) -> list[NDArray]:
    """Return what each instance is coloured by after each round, (m,) each; the last is that of `colours`.

    Nothing where no round but the last was recorded: of single sources, of disagreement, of runs of another kind.

    Parameters
    ----------
    found : Views
    by : str
    predictions : polars.DataFrame
        As in `colours`.
    staged : polars.DataFrame or None
        Of `studio.jobs.results.RunResult`.
    """
    if staged is None or by not in (CONSENSUS, ERROR) or staged.width < 3:
        return []
    ids = predictions["id"][found.rows].to_frame().with_columns(pl.col("id").cast(staged["id"].dtype))
    table = ids.join(staged, on="id", how="left", maintain_order="left").drop("id")
    names, by_now = np.array(found.classes, object), []
    # The last round is what the model says, which may have taken an earlier one back.
    for column in table.columns[:-1]:
        if not len(names):
            predicted = table[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        else:
            codes = table[column].cast(pl.Int64).fill_null(-1).to_numpy()
            predicted = np.where(codes < 0, None, names[codes])
        by_now.append(colours(replace(found, consensus=predicted), by, predictions))
    return [*by_now, colours(found, by, predictions)]


def coded(figure: Figure, rounds: Sequence[NDArray]) -> dict[str, Any]:
    """Return the colours by round as a byte an instance and round, for a browser: the place of its trace, or a number.

    Parameters
    ----------
    figure : dict
        Of `figure`, made with these rounds.
    rounds : sequence of (m,) object or float64
        Of `by_round`.
    """
    numbers, facts = rounds[0].dtype.kind == "f", {"count": len(rounds), "points": len(rounds[0])}
    if numbers:
        marker = next((trace["marker"] for trace in figure["data"] if "cmin" in trace["marker"]), {})
        low, high = marker.get("cmin", 0.0), marker.get("cmax", 1.0)
        shares = np.clip((np.asarray(rounds) - low) / (high - low), 0, 1) * (NOTHING - 1)
        codes, facts = np.where(np.isnan(shares), NOTHING, np.round(shares)), facts | {"low": low, "high": high}
    else:
        places = {trace["value"]: k for k, trace in enumerate(figure["data"]) if "value" in trace}
        rest = places.get(OTHERS, 0)
        codes = [[places.get(UNKNOWN if each is None else str(each), rest) for each in one] for one in rounds]
    return facts | {"codes": base64.b64encode(np.asarray(codes, float).astype(np.uint8).tobytes()).decode()}


def figure(
    found: Views,
    values: NDArray,
    title: str,
    names: Sequence[str],
    ringed: Sequence[int] = (),
    rounds: Sequence[NDArray] = (),
) -> Figure:
    """Draw the map; a point's customdata is its row in the data.

    Parameters
    ----------
    found : Views
    values : (m,) object or float64
        See `colours`.
    title : str
        Of the values.
    names : sequence of str (m,)
        Of the instances, shown under the pointer as they are.
    ringed : sequence of int
        Rows in the data that are ringed.
    rounds : sequence of (m,) object or float64
        Values after each round, of a map that follows them: all classes among them have a trace.
    """
    hover = [str(name).replace("<", "&lt;") for name in names]
    numbers = values.dtype.kind == "f"
    traces = _numbers(found, values, title, hover, bool(rounds)) if numbers else _classes(found, values, hover, rounds)
    ring = np.isin(found.rows, list(ringed))
    if ring.any():
        marker = {"symbol": "circle-open", "size": 15, "color": "#D55E00", "line": {"width": 3}}
        traces.append(_points(found, ring, hover, marker) | {"name": "chosen", "hoverinfo": "skip"})
    axis = {"visible": False, "range": [-1.05, 1.05]}
    height = 520
    more = {"hovermode": "closest", "dragmode": "lasso", "xaxis": axis, "yaxis": axis, "uirevision": "map"}
    return {"data": traces, "layout": _layout("", "", height, **more)}


def _points(found: Views, which: NDArray[np.bool_], hover: Sequence[str], marker: Mapping[str, Any]) -> dict[str, Any]:
    rows = np.flatnonzero(which)
    return {
        "type": "scatter", "mode": "markers", "x": found.places[rows, 0], "y": found.places[rows, 1],
        "customdata": found.rows[rows], "text": [hover[k] for k in rows], "marker": dict(marker),
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _numbers(
    found: Views, values: NDArray, title: str, hover: Sequence[str], follows: bool
) -> list[dict[str, Any]]:
    known = np.isfinite(values)
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12}
    marker = {"color": values[known], "colorscale": "Viridis", "size": 7, "colorbar": bar}
    if known.any():
        # Between the percentiles, so that a few far values do not take the colours of the others.
        low, high = np.quantile(values[known], [0.02, 0.98])
        marker |= {"cmin": float(low), "cmax": float(high) if high > low else float(low) + 1.0}
    text = [f"{name}: {number(value, digits=4)}" for name, value in zip(hover, values)]
    traces = [_points(found, ~known, hover, {"color": MUTE, "size": 5}), _points(found, known, text, marker)]
    if follows:
        traces[1] |= {"text": [hover[k] for k in np.flatnonzero(known)]}
        traces[1]["hovertemplate"] = "%{text}: %{marker.color:.4g}<extra></extra>"
    return [trace | {"showlegend": False} for trace in traces if len(trace["x"])]


def _classes(
    found: Views, values: NDArray, hover: Sequence[str], rounds: Sequence[NDArray] = ()
) -> list[dict[str, Any]]:
    order = _order([UNKNOWN if value is None else str(value) for each in (values, *rounds) for value in each])
    given = np.array([str(value) if value is not None else UNKNOWN for value in values], object)
    # The rarest classes share a colour: there are no more that can be told apart.
    given = np.array([value if value in order else OTHERS for value in given], object)
    traces = []
    for place, name in enumerate([*order, OTHERS]):
        mute = name in (OTHERS, UNKNOWN)
        look = {"color": _colour(name, place), "symbol": _symbol(name, place), "size": 5 if mute else 7}
        # What is said of an instance is told by its trace, where the trace may change.
        text = hover if len(rounds) else [f"{each}: {name}".replace("<", "&lt;") for each in hover]
        trace = _points(found, given == name, text, look) | {"name": name.replace("<", "&lt;")}
        if len(rounds):
            trace |= {"value": name, "hovertemplate": "%{text}: %{fullData.name}<extra></extra>"}
        traces += [trace] if len(trace["x"]) or (len(rounds) and name != OTHERS) else []
    return traces


def _order(values: Sequence[str]) -> list[str]:
    """Return the values that have a colour: all in order, or the most frequent."""
    names, counts = np.unique(np.array(values, object).astype(str), return_counts=True)
    if len(names) <= len(COLOURS):
        return names.tolist()
    return sorted(names[np.argsort(-counts, kind="stable")][: len(COLOURS) - 1].tolist())


def _colour(name: str, place: int) -> str:
    given = {"wrong": COLOURS[1], "right": COLOURS[0], OTHERS: MUTE, UNKNOWN: MUTE}
    return given.get(name, COLOURS[place % len(COLOURS)])


def _symbol(name: str, place: int) -> str:
    given = {"wrong": "x", "right": "circle", UNKNOWN: "circle", OTHERS: "circle"}
    return given.get(name) or style(place)["marker"]
