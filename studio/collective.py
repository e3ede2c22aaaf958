"""What the Collective page does, without a page: settings side by side, a verdict, edits, and who changes by them.

An edit is an operation of `studio.scenarios`: a label that is trained on is forgotten, an edge is cut or added. A
trained model infers again with it in a moment (`infer`, in a worker); training again takes it in as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from hetcore.data import HetData
from studio import scenarios
from studio.sentences import shown
from studio.training import Setting

__all__ = [
    "EXAMPLE", "FEATURES", "Inference", "LABELS", "OFFLINE", "changes", "columns_of", "infer", "kept", "neighbours",
    "refusal", "residuals", "scored_set", "settings", "verdict",
]  # fmt: skip

LABELS = ("GB", "RGB", "MGB")
"""What is trained side by side."""
FEATURES = {
    "rf1": "what the neighbours' targets are",
    "rf2": "the neighbours' residuals of this stage",
    "rf3": "the neighbours' residuals of the stage before",
    "rf4": "its own prediction of the stage before",
}
EXAMPLE, OFFLINE = "movie_revenue", "autocorrelated"
"""The data set that shows the page best, and the one that is always there."""
SETS = {"held_out": "held out", "left_out": "left out", "train": "training"}
WORTH = 0.01
"""Share of GB's error that is worth a word."""
Events = Mapping[str, Sequence[Any]]


# Settings -------------------------------------------------------------------------------------------------------------


def refusal(data: HetData) -> str:
    """Return why data do not suit the page, in one sentence; empty if they do."""
    if not any(graph.n_edges for graph in data.graphs.values()):
        return "Collective inference goes along the links of a graph, and these data have none."
    if data.target_kind is None or not data.labelled.any():
        return "There is nothing to learn from: the data have no label."
    return ""


def settings(
    data: HetData,
    params: Mapping[str, Any],
    features: Sequence[str],
    graphs: Sequence[str],
    operations: Sequence[Mapping[str, Any]],
) -> dict[str, Setting]:
    """Return what is trained side by side, by label.

    Parameters
    ----------
    data : HetData
    params : mapping
        Parameters; each class is given those that it takes.
    features : sequence of str
        MGB's, of `FEATURES`.
    graphs : sequence of str
        Along which is inferred.
    operations : sequence of mappings
        See `studio.scenarios`.
    """
    own = {"GB": (), "RGB": ("rf1",), "MGB": tuple(features)}
    numbers = data.target_kind == "regression"
    names = {label: f"{label}Regressor" if numbers else "MGBClassifier" for label in LABELS}
    made = {}
    for label, name in names.items():
        taken = getattr(hc, name)._get_param_names()
        given = {key: value for key, value in (dict(params) | {"features": own[label]}).items() if key in taken}
        made[label] = Setting(name, given, [dict(each) for each in operations], {"graph": list(graphs)})
    return made


# What trainings came to -----------------------------------------------------------------------------------------------


def kept(events: Sequence[Any]) -> Any:
    """Return the event of the stage that the model predicts by: the best one on left-out labels, or the last."""
    best = events[-1].detail.get("best_stage", len(events) - 1)
    return events[min(best, len(events) - 1)]


def scored_set(events: Events) -> str:
    """Return which labels are scored: those held out, else those left out, else those trained on."""
    known = [event[-1].detail["metric"] for event in events.values() if event]
    return next((name for name in SETS if all(name in metric for metric in known)), "train")


def verdict(events: Events, graph: str) -> str:
    """Say in two sentences whether collective inference pays here, and whether what is left is noise."""
    scored = scored_set(events)
    ends = {label: kept(each) for label, each in events.items() if each}
    if not {"GB", "MGB"} <= set(ends):
        return ""
    metric = {label: end.detail["metric"][scored] for label, end in ends.items()}
    name = ends["MGB"].detail["metric_name"]
    said = ", ".join(f"{label} {_number(value, name)}" for label, value in metric.items())
    gain = 1 - metric["MGB"] / metric["GB"] if metric["GB"] else 0.0
    pays = f"hardly changes the error ({gain:+.1%})" if abs(gain) < WORTH else f"{'saves' if gain > 0 else 'costs'} "
    pays += "" if abs(gain) < WORTH else f"{abs(gain):.1%} of the error of GB"
    return f"{name}, {SETS[scored]}: {said}. Inferring together {pays} here. {_left(ends['MGB'], graph)}".strip()


def _left(end: Any, graph: str) -> str:
    value, band = end.detail["moran"].get(graph, np.nan), end.detail["band"].get(graph, (np.nan, np.nan))
    if not np.isfinite([value, *band]).all():
        return ""
    within = f"the band of noise, {band[0]:.3f} to {band[1]:.3f}"
    if value > band[1]:
        return f"What MGB leaves is still alike along {shown(graph)}: Moran's I {value:.3f} lies above {within}."
    if value < band[0]:
        return f"What MGB leaves differs along {shown(graph)}: Moran's I {value:.3f} lies below {within}."
    return f"What MGB leaves is noise along {shown(graph)}: Moran's I {value:.3f} lies in {within}."


def _number(value: float, name: str) -> str:
    return f"{value:.1%}" if name == "error" else f"{value:.3g}"


def residuals(frame: pl.DataFrame, kind: str) -> NDArray[np.float64]:
    """Return label minus prediction, or for classes 0 where it is right and 1 where it is wrong; NaN without a label.

    Parameters
    ----------
    frame : polars DataFrame
        Predictions as a run leaves them.
    kind : str
        "regression" or "classification".
    """
    truth = frame["label"].fill_null(frame["held_out"]) if "held_out" in frame.columns else frame["label"]
    if kind == "regression":
        return (truth.cast(pl.Float64) - frame["prediction"]).cast(pl.Float64).fill_null(np.nan).to_numpy()
    wrong = (truth.cast(pl.String) != frame["prediction"].cast(pl.String)).cast(pl.Float64)
    return wrong.fill_null(np.nan).to_numpy()


# Edits ----------------------------------------------------------------------------------------------------------------


class Inference(NamedTuple):
    """What a model says, inferred again.

    Attributes
    ----------
    predictions : polars DataFrame
        "id", "prediction" and, for classes, "p:CLASS".
    trace : (1 + sweeps, n) float32
        The prediction, or the probability of the class predicted, before the first sweep and after each.
    """

    predictions: pl.DataFrame
    trace: NDArray[np.float32]


def infer(
    model: bytes, data: HetData, operations: Sequence[Mapping[str, Any]], edits: Sequence[Mapping[str, Any]]
) -> Inference:
    """Infer again by a trained model; for a worker.

    Parameters
    ----------
    model : bytes
        The model file.
    data : HetData
        Before the operations.
    operations : sequence of mappings
        Those of the training.
    edits : sequence of mappings
        Operations that the model has not seen.
    """
    fitted = hc.load(model)
    changed, y, _ = scenarios.apply(data, [*operations, *edits])
    y = changed.y if y is None else y
    columns = {"id": list(changed.ids), "prediction": np.asarray(fitted.predict(changed, y=y)).tolist()}
    trace = fitted.sweep_trace(changed, y=y)
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(changed, y=y)
        columns |= {f"p:{label}": proba[:, k] for k, label in enumerate(fitted.classes_)}
        trace = np.take_along_axis(trace, proba.argmax(axis=1)[None, :, None], axis=2)[:, :, 0]
    return Inference(pl.DataFrame(columns), np.ascontiguousarray(trace, np.float32))


def changes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return who changed from one prediction to another, the largest change first.

    Parameters
    ----------
    before, after : polars DataFrame
        "id", "prediction" and, for classes, "p:CLASS".

    Returns
    -------
    polars DataFrame
        "id", "before", "after" and "change": in the labels' unit, or of the probability of the class of before.
    """
    both = before.join(after, on="id", suffix=" after", maintain_order="left")
    if both["prediction"].dtype.is_numeric():
        change = both["prediction after"] - both["prediction"]
    else:
        change = pl.Series(_probability(both, " after") - _probability(both, ""))
    table = both.select("id", before="prediction", after="prediction after").with_columns(change=change)
    moved = table.filter(pl.col("change").abs() > 1e-9)
    return moved.sort(pl.col("change").abs(), descending=True, maintain_order=True)


def _probability(both: pl.DataFrame, suffix: str) -> NDArray[np.float64]:
    """Return the probability of the class predicted before."""
    found = np.zeros(both.height)
    for name in both["prediction"].unique():
        here = (both["prediction"] == name).to_numpy()
        column = f"p:{name}{suffix}"
        found[here] = both[column].to_numpy()[here] if column in both.columns else 0.0
    return found


# One node -------------------------------------------------------------------------------------------------------------


def neighbours(data: HetData, graph: str, place: int, frame: pl.DataFrame | None) -> pl.DataFrame:
    """Return a node's neighbours in a graph, the strongest link first: id, weight, label, prediction, held_out.

    Parameters
    ----------
    data : HetData
    graph : str
    place : int
        Of the node in `data.ids`.
    frame : polars DataFrame or None
        Predictions as a run leaves them.
    """
    links = data.graphs[graph]
    span = slice(links.indptr[place], links.indptr[place + 1])
    ids, weights = data.ids[links.indices[span]].tolist(), links.weights[span].astype(float)
    table = pl.DataFrame({"id": ids, "weight": weights}, schema={"id": pl.String, "weight": pl.Float64})
    if frame is not None:
        known = [name for name in ("label", "held_out", "prediction") if name in frame.columns]
        table = table.join(frame.select("id", *known), on="id", how="left", maintain_order="left")
    return table.sort("weight", descending=True, maintain_order=True)


def columns_of(data: HetData, place: int) -> pl.DataFrame:
    """Return what the sources say of an instance: source, column, value; columns that are 0 or missing come last.

    Parameters
    ----------
    data : HetData
    place : int
        In `data.ids`.
    """
    rows = []
    for name, source in data.sources.items():
        at = np.flatnonzero(data.rows(name) == place)
        if len(at) and source.frame is not None:
            rows += [(name, column, value) for column, value in source.frame.row(int(at[0]), named=True).items()]
    plain = [
        (name, column, None if value is None else _cell(value), value in (None, 0)) for name, column, value in rows
    ]
    schema = {"source": pl.String, "column": pl.String, "value": pl.String, "empty": pl.Boolean}
    table = pl.DataFrame(plain, schema=schema, orient="row")
    return table.sort("empty", maintain_order=True).drop("empty")


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(str(value), 200)
