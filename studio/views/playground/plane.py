"""Made-up data in two dimensions, and what each source and the consensus predict over the plane, round by round.

Two bent classes lie in the plane. Each source sees every point where it is, or displaced by noise: "west" sees well
what lies in the west, "east" what lies in the east, "noise" sees nothing of it. A consensus is trained on all of them;
after some of its rounds each source alone, and all together, predict every place of a grid. The first draw is one of
which the error falls from round to round, as it should be seen first; it does not of every draw that follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from hetcore.data import HetData, splits
from hetcore.errors import ParameterError
from hetcore.events import Callback, RoundEnd

__all__ = [
    "KNOWS", "SOURCES", "STAGES", "TASK", "Knobs", "Plane", "figure", "graph_figure", "grid", "make", "neighbours",
    "scene", "stages",
]  # fmt: skip

TASK = "studio.views.playground.plane:stages"
SOURCES = ("west", "east", "noise")
KNOWS = ("a half each", "everything")
CLASSES = ("blue", "orange")
STAGES = (1, 2, 3, 5, 8, 13, 20)
"""Rounds after which the plane is predicted."""
SPAN = ((-1.6, 2.6), (-1.3, 1.8))
SHAPE = (26, 20)
"""Places of the grid along x and y."""
MIDDLE = 0.5
LINKS = 2
"""Links that each instance begins."""
ALL, GRAPH = "consensus", "friends"
GRAPH_SCALE = [[0.0, "#0072B2"], [0.5, "#8A8A8A"], [1.0, "#E69F00"]]


class Knobs(NamedTuple):
    """What can be changed.

    Attributes
    ----------
    overlap, noise : float
        Standard deviations, at least 0: of the classes around their curves, and of what a source sees badly.
    knows : str
        One of `KNOWS`.
    homophily, known : float
        Shares in [0, 1]: of links within a class, and of labels that are trained on.
    lambda0, lambda1 : float
        In [0, 1], of the consensus.
    seed : int
    n : int
        Instances, at least 20.
    """

    overlap: float = 0.15
    noise: float = 1.0
    knows: str = KNOWS[0]
    homophily: float = 0.8
    known: float = 0.2
    lambda0: float = 0.3
    lambda1: float = 0.3
    seed: int = 2
    n: int = 200


class Plane(NamedTuple):
    """Made-up data, the places (n, 2) at which the points are, and the links (m, 2) between them."""

    data: HetData
    places: NDArray[np.float64]
    links: NDArray[np.intp]


def make(knobs: Knobs) -> Plane:
    """Return data of three sources and a graph.

    Raises
    ------
    ParameterError
        If a knob is outside its domain.
    """
    shares = (knobs.homophily, knobs.known)
    if min(knobs.overlap, knobs.noise, *shares) < 0 or max(shares) > 1 or knobs.knows not in KNOWS or knobs.n < 20:
        raise ParameterError(f"{knobs} are no data in a plane: give deviations from 0, shares up to 1, 20 instances.")
    rng = np.random.default_rng(knobs.seed)
    y = np.arange(knobs.n) % 2
    angle = rng.uniform(0, np.pi, knobs.n)
    bent = np.where(y[:, None] == 0, np.c_[np.cos(angle), np.sin(angle)], np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)])
    places = bent + rng.normal(0, knobs.overlap, bent.shape)
    ids = [f"point {k:03d}" for k in range(knobs.n)]
    tables = {name: _table(ids, _seen(name, places, knobs, rng)) for name in SOURCES}
    links = _links(y, knobs.homophily, rng)
    edges = pl.DataFrame({"source": [ids[i] for i in links[:, 0]], "target": [ids[j] for j in links[:, 1]]})
    return Plane(HetData(tables, {GRAPH: edges}, (ids, np.array(CLASSES, object)[y])), places, links)


def _seen(name: str, places: NDArray, knobs: Knobs, rng: np.random.Generator) -> NDArray:
    """Return where a source sees the points (n, 2)."""
    if name == "noise":
        return places.mean(axis=0) + rng.normal(0, places.std(axis=0), places.shape)
    east = places[:, 0] > MIDDLE
    badly = np.ones(len(places), bool) if knobs.knows == KNOWS[1] else east == (name == "west")
    return places + rng.normal(0, knobs.noise, places.shape) * np.where(badly, 1.0, 0.05)[:, None]


def _table(ids: Sequence[str], xy: NDArray) -> pl.DataFrame:
    return pl.DataFrame({"id": ids, "x": xy[:, 0], "y": xy[:, 1]})


def _links(y: NDArray, homophily: float, rng: np.random.Generator) -> NDArray[np.intp]:
    links = []
    for i in np.repeat(np.arange(len(y)), LINKS):
        same = rng.random() < homophily
        others = np.flatnonzero((y == y[i]) == same)
        links.append((i, rng.choice(others[others != i])))
    return np.array(links)


def grid() -> tuple[NDArray, NDArray, NDArray]:
    """Return the places along x and y, and all of the grid (m, 2), row by row."""
    x, y = (np.linspace(*span, count) for span, count in zip(SPAN, SHAPE))
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def stages(knobs: tuple[Any, ...], callbacks: Iterable[Callback] = ()) -> list[dict[str, Any]]:
    """Train a consensus on made-up data and return what it predicts over the plane after each of `STAGES`.

    A fit that ends after a round is the same as a longer one up to there.

    Parameters
    ----------
    knobs : tuple
        The values of `Knobs`.
    callbacks : iterable of callables
        Get a `RoundEnd` after each stage, whose detail is that stage; one that returns True stops.

    Returns
    -------
    list of dict
        "round"; "surfaces" by source and "consensus", the probability of the second class (SHAPE reversed) as nested
        lists; "weights" by source; "error" and "error_without_links" of the hidden labels, None where none is hidden.
    """
    chosen, found = Knobs(*knobs), []
    plane = make(chosen)
    for place, rounds in enumerate(STAGES):
        stage = _stage(plane, chosen, rounds)
        # It settled at the round before: the same model once more.
        if found and stage["round"] == found[-1]["round"]:
            break
        found.append(stage)
        event = RoundEnd("GBCClassifier", place, len(STAGES), {}, stage["weights"], detail=stage)
        if any([callback(event) for callback in callbacks]) or stage["round"] < rounds:  # it settled before
            break
    return found


def scene(knobs: Knobs) -> dict[str, Any]:
    """Return what is drawn below the predictions.

    "points" by source and "consensus", where each sees the instances (n, 2); "links" (m, 2); "labels" (n,) object, None
    where hidden; "truth" (n,); "knows", of `KNOWS`.
    """
    plane = make(knobs)
    points = {name: plane.data.sources[name].frame.select("x", "y").to_numpy() for name in SOURCES}
    return {"points": points | {ALL: plane.places}, "links": plane.links, "labels": _known(plane, knobs),
            "truth": plane.data.y, "knows": knobs.knows}  # fmt: skip


def _known(plane: Plane, knobs: Knobs) -> NDArray:
    """Return the labels that are trained on, None where hidden, (n,) object."""
    if knobs.known >= 1:
        return np.asarray(plane.data.y, object)
    return np.asarray(splits.label_split(plane.data, knobs.known, seed=knobs.seed), object)


def _stage(plane: Plane, knobs: Knobs, rounds: int) -> dict[str, Any]:
    data, y = plane.data, _known(plane, knobs)
    model: Any = hc.GBCClassifier(
        n_iterations=STAGES[-1], lambda0=knobs.lambda0, lambda1=knobs.lambda1, random_state=knobs.seed
    )
    model.fit(data, y, callbacks=[lambda event: event.index + 1 >= rounds])
    surfaces = {name: _surface(model, (name,)) for name in SOURCES} | {ALL: _surface(model, SOURCES)}
    hidden = np.array([label is None for label in y])
    errors = [_error(model, seen, data.y, hidden) for seen in (data, data.select(graphs=[]))]
    return {
        "round": model.n_iterations_, "surfaces": {name: z.round(3).tolist() for name, z in surfaces.items()},
        "weights": {name: float(weight) for name, weight in model.source_weights_.items()},
        "error": errors[0], "error_without_links": errors[1],
    }  # fmt: skip


def _error(model: Any, data: HetData, y: NDArray, hidden: NDArray) -> float | None:
    """Return the share of hidden labels that a model gets wrong on these data, None where none is hidden."""
    return float((model.predict(data)[hidden] != y[hidden]).mean()) if hidden.any() else None


def _surface(model: Any, names: Iterable[str]) -> NDArray:
    """Return the probability of the second class at each place of the grid that these sources see."""
    places = grid()[2]
    table = _table([f"place {k}" for k in range(len(places))], places)
    probability = model.predict_proba(HetData({name: table for name in names}))
    return probability[:, list(model.classes_).index(CLASSES[1])].reshape(SHAPE[::-1])


def figure(scene: Mapping[str, Any], stage: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Draw the plane as a source or the consensus sees it: what is predicted of each place, and the points on it.

    Parameters
    ----------
    scene, stage : mapping
        Of `scene` and `stages`.
    name : str
        A source, or "consensus", which shows the links too.
    """
    x, y, _ = grid()
    scale = [[0.0, "#0072B2"], [0.5, "#F2F2F2"], [1.0, "#E69F00"]]
    surface = {
        "type": "heatmap", "x": x, "y": y, "z": stage["surfaces"][name], "zmin": 0, "zmax": 1, "colorscale": scale,
        "zsmooth": "best", "showscale": False, "opacity": 0.85,
        "hovertemplate": f"{CLASSES[1]} with %{{z:.0%}}<extra></extra>",
    }  # fmt: skip
    points = scene["points"][name]
    traces = [surface, *([_lines(points, scene["links"])] if name == ALL else [])]
    for label, colour, symbol in zip(CLASSES, ("#00263C", "#4F3300"), ("circle", "diamond")):
        for known in (True, False):
            those = (scene["truth"] == label) & (np.array([each is not None for each in scene["labels"]]) == known)
            marker = {"color": colour, "symbol": symbol if known else f"{symbol}-open", "size": 8 if known else 5}
            trace = {"type": "scatter", "mode": "markers", "x": points[those, 0], "y": points[those, 1]}
            trace |= {"marker": marker, "name": label if known else f"{label}, hidden", "hoverinfo": "name"}
            traces.append(trace)
    # On white in the dark too, so that shades and points stand off each other as they do in the light.
    return {"data": traces, "layout": _layout() | {"plot_bgcolor": "#FFFFFF"}}


def neighbours(scene: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the share of each instance's labelled neighbours that are of the second class, NaN without one, (n,)."""
    second = np.array([np.nan if label is None else label == CLASSES[1] for label in scene["labels"]], float)
    ends = np.concatenate([scene["links"], scene["links"][:, ::-1]])
    ends = np.unique(ends[np.isfinite(second[ends[:, 1]])], axis=0)
    count = np.bincount(ends[:, 0], minlength=len(second))
    total = np.bincount(ends[:, 0], second[ends[:, 1]], minlength=len(second))
    return np.divide(total, count, out=np.full(len(second), np.nan), where=count > 0)


def graph_figure(scene: Mapping[str, Any]) -> dict[str, Any]:
    """Draw what the graph alone says of each instance: the labels of its neighbours, hollow where none has one."""
    points, share = scene["points"][ALL], neighbours(scene)
    traces = [_lines(points, scene["links"], "rgba(128, 128, 128, 0.35)")]
    for label, symbol in zip(CLASSES, ("circle", "diamond")):
        those = scene["truth"] == label
        silent = np.isnan(share[those])
        marker = {"symbol": np.where(silent, f"{symbol}-open", symbol).tolist(), "size": np.where(silent, 6, 9)}
        marker |= {"color": np.where(silent, 0.5, share[those]), "cmin": 0, "cmax": 1}
        marker |= {"colorscale": GRAPH_SCALE, "line": {"width": np.where(silent, 1.2, 0)}}
        trace = {"type": "scatter", "mode": "markers", "x": points[those, 0], "y": points[those, 1], "name": label}
        texts = ["no neighbour with a label" if np.isnan(v) else f"{v:.0%} {CLASSES[1]}" for v in share[those]]
        traces.append(trace | {"marker": marker, "text": texts, "hovertemplate": "neighbours: %{text}<extra></extra>"})
    return {"data": traces, "layout": _layout()}


def _layout() -> dict[str, Any]:
    axis = {"visible": False, "fixedrange": True}
    layout = {"height": 300, "margin": {"l": 4, "r": 4, "t": 4, "b": 4}, "showlegend": False, "hovermode": "closest"}
    layout |= {"xaxis": axis | {"range": list(SPAN[0])}, "yaxis": axis | {"range": list(SPAN[1])}}
    return layout | {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}


def _lines(points: NDArray, links: NDArray, colour: str = "rgba(60, 60, 60, 0.25)") -> dict[str, Any]:
    ends = np.full((len(links), 3, 2), np.nan)
    ends[:, 0], ends[:, 1] = points[links[:, 0]], points[links[:, 1]]
    x, y = ends.reshape(-1, 2).T
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip", "name": "links",
            "line": {"color": colour, "width": 0.8}}  # fmt: skip
