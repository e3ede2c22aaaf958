"""What the Collective page does with a trained model, without a page: inferring again, who changes, one node.

An edit is an operation of `studio.scenarios`: a label that is trained on is forgotten, an edge is cut or added. A
trained model infers again with it in a moment (`infer`, in a worker); training again takes it in as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

import hetcore as hc
from hetcore.data import HetData
from studio import scenarios
from studio.messages import shown

__all__ = [
    "Inference", "changes", "columns_of", "effects", "infer", "neighbours", "reach", "residuals", "unsettled",
]  # fmt: skip


class Inference(NamedTuple):
    """What a model says, inferred again.

    Attributes
    ----------
    predictions : polars DataFrame
        "id", "prediction" and, for classes, "p:CLASS".
    trace : (1 + sweeps, n) float32
        The prediction, or the probability of the class predicted, before the first sweep and after each.
    stages : (S, n) float32 or object, or None
        The predictions after each stage; None where there are more than `MOST_STAGED`.
    """

    predictions: pl.DataFrame
    trace: NDArray[np.float32]
    stages: NDArray | None = None


MOST_STAGED = 400_000
"""Predictions of all stages that a browser is sent, a byte each."""


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
    # Without a choice of labels all that are known count.
    y = changed.y if y is None else y
    stages = fitted.staged_predict(changed, y=y)
    columns = {"id": list(changed.ids), "prediction": stages[-1].tolist()}
    trace = fitted.sweep_trace(changed, y=y)
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(changed, y=y)
        columns |= {f"p:{label}": proba[:, k] for k, label in enumerate(fitted.classes_)}
        # Only of the class that is predicted, for one line a node can be followed.
        trace = np.take_along_axis(trace, proba.argmax(axis=1)[None, :, None], axis=2)[:, :, 0]
    stages = stages if stages.dtype == object else stages.astype(np.float32)
    few = stages if stages.size <= MOST_STAGED else None
    return Inference(pl.DataFrame(columns), np.ascontiguousarray(trace, np.float32), few)


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
    # Inference stops at a small change, so that smaller ones mean nothing.
    moved = table.filter(pl.col("change").abs() > 1e-9)
    return moved.sort(pl.col("change").abs(), descending=True, maintain_order=True)


def effects(data: HetData, edits: Sequence[Mapping[str, Any]], before: Inference, after: Inference) -> pl.DataFrame:
    """Return `changes` by edits, with "links away" from what was edited, and whether each had "settled" before.

    A prediction that still moved in the last sweep, before anything was edited, is no witness of the edit.

    Parameters
    ----------
    data : HetData
        Before the edits.
    edits : sequence of mappings
    before, after : Inference
    """
    away = reach(data, edits)
    known = pl.DataFrame(
        {
            "id": list(data.ids),
            "links away": [int(links) if np.isfinite(links) else None for links in away],
            "settled": ~unsettled(before),
        },
        schema={"id": pl.String, "links away": pl.Int64, "settled": pl.Boolean},
    )
    return changes(before.predictions, after.predictions).join(known, on="id", how="left", maintain_order="left")


def reach(data: HetData, edits: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Return how many links, of any graph, each instance is away from what was edited; inf where none leads there.

    Parameters
    ----------
    data : HetData
        Before the edits.
    edits : sequence of mappings
        Operations "forget_labels" and "edges".
    """
    touched = {one for each in edits for one in each.get("ids", ())}
    touched |= {end for each in edits for pair in [*each.get("add", ()), *each.get("cut", ())] for end in pair}
    places = [data.position[one] for one in touched if one in data.position]
    # Links of all graphs: what is inferred along one reaches the others' neighbours too.
    links = sum((graph.adjacency() for graph in data.graphs.values()), scipy.sparse.csr_array((data.n, data.n)))
    # Without a place dijkstra would raise.
    if not places:
        return np.full(data.n, np.inf)
    return np.atleast_1d(dijkstra(links, directed=False, indices=places, unweighted=True, min_only=True))


def unsettled(inference: Inference) -> NDArray[np.bool_]:
    """Return whose prediction still moved in the last sweep, (n,)."""
    if len(inference.trace) < 2:
        return np.zeros(inference.trace.shape[1], bool)
    last = np.abs(inference.trace[-1] - inference.trace[-2])
    # Beside the spread of the predictions, whose unit is the label's.
    return last > 1e-6 * max(float(np.std(inference.trace[-1])), 1e-12)


def _probability(both: pl.DataFrame, suffix: str) -> NDArray[np.float64]:
    """Return the probability of the class predicted before."""
    found = np.zeros(both.height)
    for name in both["prediction"].unique():
        here = (both["prediction"] == name).to_numpy()
        column = f"p:{name}{suffix}"
        # A class that is not there after the edits has no probability.
        found[here] = both[column].to_numpy()[here] if column in both.columns else 0.0
    return found


# One node -------------------------------------------------------------------------------------------------------------


def residuals(frame: pl.DataFrame, kind: str) -> NDArray[np.float64]:
    """Return label minus prediction, or for classes 0 where it is right and 1 where it is wrong; NaN without a label.

    Parameters
    ----------
    frame : polars DataFrame
        Predictions as a run leaves them.
    kind : str
        "regression" or "classification".
    """
    # A hidden label is the truth as well, where there is one.
    truth = frame["label"].fill_null(frame["held_out"]) if "held_out" in frame.columns else frame["label"]
    if kind == "regression":
        return (truth.cast(pl.Float64) - frame["prediction"]).cast(pl.Float64).fill_null(np.nan).to_numpy()
    wrong = (truth.cast(pl.String) != frame["prediction"].cast(pl.String)).cast(pl.Float64)
    return wrong.fill_null(np.nan).to_numpy()


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
    # Bags of words have thousands of zeros; what is there comes first.
    return table.sort("empty", maintain_order=True).drop("empty")


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(str(value), 200)
