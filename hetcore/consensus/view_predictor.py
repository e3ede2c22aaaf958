"""What remains of a fit of the default: everything that predicts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.checks import number_in
from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.neighbor_columns import KnownLabels
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.smoothing import blended_links, smoothed
from hetcore.consensus.view_learners import predict_with
from hetcore.consensus.views import ViewColumns
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.kernel_ridge import SmoothPrediction
from hetcore.targets import Scale

__all__ = ["LabelMemory", "ViewModel"]


@dataclass
class LabelMemory:
    """The labelled instances of the fit.

    Attributes
    ----------
    ids : polars Series of String (l,)
    codes : (l, k) float64
    fold : (l,) int64
    working : (l, k) float64
        The scores that their labels stand for, to their neighbours.
    """

    ids: pl.Series
    codes: NDArray[np.float64]
    fold: NDArray[np.int64]
    working: NDArray[np.float64]

    def of(self, data: HetData) -> tuple[KnownLabels, NDArray[np.float64]]:
        """Return the labels of the fit and their scores (n, k), by instance of any data."""
        place = positions(data.id_series, self.ids)
        met = np.flatnonzero(place >= 0)
        codes, working = np.zeros((2, data.n, self.codes.shape[1]))
        fold = np.full(data.n, -1, np.int64)
        codes[met], working[met], fold[met] = (each[place[met]] for each in (self.codes, self.working, self.fold))
        return KnownLabels(codes, fold), working


class ViewModel:
    """The default GBC after its last round.

    Parameters
    ----------
    scale : Scale
    columns : ViewColumns
    learners : list of dict
        What each view's learner kept.
    weights : (v,) float64
        w by view.
    shares : (v, p + q) float64
        How each view's contribution is dealt to tables and graphs.
    graph_weights : dict of str to float
        w^ of all q graphs.
    lambda1 : float
    memory : LabelMemory
    """

    kind = "views"

    def __init__(
        self,
        scale: Scale,
        columns: ViewColumns,
        learners: list[dict[str, NDArray]],
        weights: NDArray[np.float64],
        shares: NDArray[np.float64],
        graph_weights: dict[str, float],
        lambda1: float,
        memory: LabelMemory,
    ) -> None:
        self.scale, self.columns, self.learners, self.weights = scale, columns, learners, weights
        self.shares, self.graph_weights, self.lambda1, self.memory = shares, graph_weights, lambda1, memory
        self.outputs = Outputs.of(scale)

    @classmethod
    def of(cls, state: ViewBoosting) -> ViewModel:
        """Return the model of a fit's state."""
        known, labels = state.problem.labelled, state.labels
        ids = state.problem.data.id_series.filter(pl.Series(known))
        memory = LabelMemory(ids, labels.codes[known], labels.fold[known], state.working[known])
        weights = dict(state.graph_weights)
        args = state.columns, state.finish(), state.weights, state.shares(), weights, state.lambda1, memory
        return cls(state.problem.scale, *args)

    @property
    def source_names(self) -> list[str]:
        return self.columns.tables.names

    def contributions(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return what each table, then each graph, adds to the raw score, (n, K) each."""
        labels, working = self.memory.of(data)
        present = self._present(data)
        parts = np.zeros((len(present), data.n, self.outputs.k))
        mass = np.zeros(data.n)
        for made, kept, weight, share in zip(
            self.columns.transform(data, labels), self.learners, self.weights, self.shares
        ):
            mass[made.rows] += weight
            if weight > 0 and made.rows.size:
                said = weight * predict_with(kept, made.X, self.outputs)
                parts[:, made.rows] += _dealt(share, present[:, made.rows])[:, :, None] * said
        parts /= np.where(mass > 0, mass, 1.0)[:, None]
        parts += self._smoothing(data, parts.sum(axis=0), labels, working, present)
        return [self.outputs.widened(part, self.scale.n_outputs) for part in parts]

    def _present(self, data: HetData) -> NDArray[np.bool_]:
        """Return which instances have each table and a link in each graph, (p + q, n)."""
        names, graphs = self.source_names, list(self.graph_weights)
        present = np.zeros((len(names) + len(graphs), data.n), bool)
        for row, name in zip(present, names):
            if name in data.sources:
                row[data.rows(name)] = True
        for row, name in zip(present[len(names) :], graphs):
            if name in data.graphs:
                row[:] = data.graphs[name].degree > 0
        return present

    def _smoothing(
        self, data: HetData, change: NDArray, labels: KnownLabels, working: NDArray, present: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return what smoothing along the links adds, dealt to the graphs by their weights, (p + q, n, k)."""
        parts = np.zeros((len(present), *change.shape))
        links = {
            name: data.graphs[name].adjacency().astype(np.float64) for name in self.graph_weights if name in data.graphs
        }
        if not self.lambda1 or not any(self.graph_weights[name] for name in links):
            return parts
        scores = self.outputs.prior + change
        blend = blended_links(links, self.graph_weights)
        moved = smoothed(blend, scores, self.lambda1, labels.known, working) - scores
        own = np.concatenate([np.zeros(len(self.source_names)), list(self.graph_weights.values())])
        return _dealt(own, present)[:, :, None] * moved

    def fitted(self, data: HetData, graph_weights: Any, adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K) or standardised numbers (n, 1) from the contributions."""
        return self.scale.fitted(self.scale.prior + sum(adds))

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return everything as a JSON-able dict and arrays."""
        arrays: dict[str, NDArray] = {"weights": self.weights, "shares": self.shares}
        for name in ("codes", "fold", "working"):
            arrays[f"memory:{name}"] = getattr(self.memory, name)
        for i, kept in enumerate(self.learners):
            arrays |= {f"view {i}:{name}": array for name, array in kept.items()}
        columns = self.columns.to_state(arrays)
        ids = self.memory.ids.to_list()
        return {"columns": columns, "ids": ids, "graphs": self.graph_weights, "lambda1": self.lambda1}, arrays

    @classmethod
    def from_state(cls, scale: Scale, meta: dict[str, Any], arrays: Mapping[str, NDArray]) -> ViewModel:
        """Rebuild a model; ModelFileError if anything in it does not fit together."""
        columns, outputs = ViewColumns.from_state(meta["columns"], arrays), Outputs.of(scale)
        learners = [_learner_from(i, columns, outputs, arrays) for i in range(len(columns.views))]
        graphs = {str(name): number_in(weight, 0.0, 1.0) for name, weight in meta["graphs"].items()}
        weights, shares = arrays["weights"], arrays["shares"]
        good = weights.shape == (len(columns.views),) and shares.shape == (
            len(columns.views),
            len(columns.tables.names) + len(graphs),
        )
        good = good and all(
            np.isfinite(a).all() and (a >= 0).all() and (a <= 1.0 + 1e-9).all() for a in (weights, shares)
        )
        if not good or not set(columns.units) <= set(graphs):
            raise ModelFileError("The weights of the model file's views do not fit together: save the model again.")
        memory = _memory_from(meta["ids"], arrays, outputs.k)
        return cls(scale, columns, learners, weights, shares, graphs, number_in(meta["lambda1"], 0.0, 1e9), memory)


def _dealt(share: NDArray, present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return shares (p, m) in proportion to `share` (p,) over what is present (p, m); alike where those are all 0."""
    held = share[:, None] * present
    total = held.sum(axis=0)
    alike = present / np.maximum(present.sum(axis=0), 1)
    return np.where(total > 0, held / np.where(total > 0, total, 1.0), alike)


def _learner_from(i: int, columns: ViewColumns, outputs: Outputs, arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
    prefix = f"view {i}:"
    kept = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    view = columns.views[i]
    width = columns.width(view, outputs.k)
    if view.learner == "trees":
        mapper, forest = BinMapper.from_arrays(kept), Forest.from_arrays(kept, width)
        good = mapper.n_bins.size == width and forest.n_outputs == outputs.k
    else:
        constant, between = kept["constant"], kept["range"]
        good = constant.ndim == 2 and constant.shape[1] == outputs.k and constant.size > 0 and between.shape == (2,)
        good = good and bool(np.isfinite(constant).all()) and not np.isnan(between).any()
        if view.learner == "kernel":
            smooth = SmoothPrediction(kept)
            good = good and smooth.center.size == width and smooth.dual.shape[1] == constant.size
        else:
            flat = kept["coefficients"]
            good = good and flat.shape == (width, constant.size) and bool(np.isfinite(flat).all())
    if not good:
        raise ModelFileError("A learner of the model file does not fit its view's columns: save the model again.")
    return kept


def _memory_from(ids: Any, arrays: Mapping[str, NDArray], k: int) -> LabelMemory:
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids) or len(set(ids)) < len(ids):
        raise ModelFileError("The model file's ids are not distinct texts: save the model again.")
    codes, fold, working = (arrays[f"memory:{name}"] for name in ("codes", "fold", "working"))
    good = codes.shape == working.shape == (len(ids), k) and fold.shape == (len(ids),) and fold.dtype == np.int64
    good = (
        good
        and bool(np.isfinite(codes).all() and np.isfinite(working).all())
        and bool(((fold >= 0) & (fold < 100)).all())
    )
    if not good:
        raise ModelFileError("The labels that the model file remembers do not fit together: save the model again.")
    return LabelMemory(pl.Series("id", ids, dtype=pl.String), codes, fold, working)
