"""What predicts in model files of before there were views, and what a fit as printed shares with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.kernel_ridge import SmoothPrediction
from hetcore.consensus.neighbor_columns import averaged, graph_columns, joint_links
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.data.identity import positions
from hetcore.forest import Forest
from hetcore.parameters import Domain, Interval, Whole
from hetcore.schema import IDS, SHARES, Part, Stored, array, declared, part, parts, value
from hetcore.targets import Scale

__all__ = ["Columns", "Memory", "StagewiseModel", "in_no_table", "neighbour_averages"]

SHRINKAGE = 2.0  # neighbours' weights that the prior counts for


@dataclass
class Columns(Stored):
    """One table's encoder, bins, trees, smooth learner and scale b; a graph has no encoder."""

    _stored = {
        "name": Domain(lambda v: isinstance(v, str), "text"), "scale": Interval(0), "size": Interval(0),
        "unit": Interval(1e-45, 1e39), "forest": Part(Forest, "K"),
        "mapper": Part(BinMapper, "d", "bins", optional=True),
        "smooth": Part(SmoothPrediction, "d K", optional=True), "encoder": Part(SourceEncoder, "d", optional=True),
    }  # fmt: skip

    name: str
    scale: float
    forest: Forest
    mapper: BinMapper | None
    encoder: SourceEncoder | None = None
    smooth: SmoothPrediction | None = None
    size: float = 0.0
    unit: float = 1.0

    def _fault(self, sizes: dict[str, int]) -> str:
        # a graph's learners see K averages and the weight behind them; a table's as many columns as its encoder has
        own = sizes.get("d", 0) == (sizes["K"] + 1 if self.encoder is None and "d" in sizes else sizes.get("d", 0))
        bare = self.mapper is None and (self.encoder is not None or len(self.forest) > 0)
        if bare or not own or self.forest.width > sizes.get("d", 0):
            return "The learners of the model file do not fit its columns"
        return ""

    def table_scores(self, data: HetData, n_outputs: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return f, T (n, K) and coverage (n,) of a table for `data`; zeros where it has no record."""
        smooth, trees = np.zeros((data.n, n_outputs)), np.zeros((data.n, n_outputs))
        covers = np.zeros(data.n, bool)
        if self.name in data.sources:
            rows = data.rows(self.name)
            X = self.encoder.transform(data.sources[self.name], self.name)
            covers[rows] = True
            if self.smooth is not None:
                smooth[rows] = self.smooth.predict(X)
            if len(self.forest):
                trees[rows] = self.forest.predict(self.mapper.transform(X))
        return smooth, trees, covers

    def graph_scores(self, links: Any, values: NDArray, neighbor_weights: NDArray) -> tuple[NDArray, NDArray]:
        """Return f and T (n, K) of a graph's links (n, n), given the message of each instance and its weight."""
        trees = np.zeros_like(values)
        weight, score = averaged(links, self.unit, values, neighbor_weights, SHRINKAGE)
        covers = np.diff(links.indptr) > 0
        if len(self.forest) and covers.any():
            trees[covers] = self.forest.predict(self.mapper.transform(graph_columns(score[covers], weight[covers])))
        return score, trees


@dataclass
class Memory(Stored):
    """The training instances: ids, their messages to neighbours (centred), and their weights."""

    ids: Any = declared(IDS)
    values: NDArray[np.float32] = array("n K", np.float32)
    weights: NDArray[np.float32] = array("n", np.float32, low=0, key="voices")

    def _fault(self, sizes: dict[str, int]) -> str:
        return "" if len(self.ids) == sizes["n"] else "The model file does not remember one row for each of its ids"

    def recall(self, data: HetData, otherwise: NDArray, weight: float) -> tuple[NDArray, NDArray]:
        """Return values (n, K) and weights (n,) for `data`; `otherwise` and `weight` for unseen instances."""
        place = positions(data.id_series, self.ids)
        met = place >= 0
        # whoever was not in the fit has what is predicted for it, at a weight of its own
        values, weights = otherwise.copy(), np.full(data.n, weight)
        values[met], weights[met] = self.values[place[met]], self.weights[place[met]]
        return values, weights


def neighbour_averages(data: HetData, weights: Mapping[str, float], values: NDArray) -> tuple[NDArray, NDArray]:
    """Return the weighted average (n, K) of the neighbours' values over the graphs, and where there is one (n,)."""
    total, mass = np.zeros_like(values), np.zeros(data.n)
    for name in filter(data.graphs.__contains__, weights):
        # a weight of 0 must not leave an instance without an average that it could have
        weight = weights[name] + 1e-9
        links = data.graphs[name].adjacency()
        degree = links @ np.ones(data.n)
        has = degree > 0
        total[has] += weight * (links @ values)[has] / degree[has, None]
        mass += weight * has
    return total / np.maximum(mass, 1e-300)[:, None], mass > 0


def in_no_table(data: HetData, names: Iterable[str]) -> NDArray[np.bool_]:
    """Return which instances have a record in none of the tables named, (n,)."""
    bare = np.ones(data.n, bool)
    for name in names:
        if name in data.sources:
            bare[data.rows(name)] = False
    return bare


@dataclass
class StagewiseModel(Stored):
    """The default of model files saved before there were views."""

    kind = "stagewise"

    scale: Scale | None
    memory: Memory = part(Memory, "K", inline=True)
    parts: list[Columns] = parts(Columns, "K")
    n_tables: int = value(Whole(1))
    gamma: float = value(Interval(0, 1))
    unseen_weight: float = value(Interval(0, 1e9), key="stranger_voice")
    joint_shares: dict[str, float] = value(SHARES)

    @property
    def tables(self) -> list[Columns]:
        """What was learned of each table."""
        return self.parts[: self.n_tables]

    @property
    def graphs(self) -> list[Columns]:
        """What was learned of each graph, and last of the joint links where `joint_shares` has shares of them."""
        return self.parts[self.n_tables :]

    @property
    def source_names(self) -> list[str]:
        return [part.name for part in self.tables]

    def contributions(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return what each table, then each graph, adds to the raw score, (n, K) each."""
        K = self.scale.n_outputs
        scores = [part.table_scores(data, K) for part in self.tables]
        covers = np.stack([cover for _, _, cover in scores])
        factor = gap_factor(np.array([part.size for part in self.tables]), covers, self.gamma)[:, None]
        adds = [factor * part.scale * score + trees for part, (score, trees, _) in zip(self.tables, scores)]
        # unseen neighbours send what their own tables say
        alone = self.scale.centred(self.scale.prior + sum(adds))
        values, weights = self.memory.recall(data, alone, self.unseen_weight)
        return adds + self._graph_adds(data, values, weights, factor)

    def _graph_adds(self, data: HetData, values: NDArray, weights: NDArray, factor: NDArray) -> list[NDArray]:
        """Return what each graph adds (n, K); what the joint links add is shared out among those that `data` has."""

        def added(part: Columns, links: Any) -> NDArray:
            score, trees = part.graph_scores(links, values, weights)
            return factor * part.scale * score + trees

        parts = self.graphs[:-1] if self.joint_shares else self.graphs
        # a graph that the data lack adds nothing, and keeps its place among the contributions
        nothing = np.zeros_like(values)
        adds = [added(p, data.graphs[p.name].adjacency()) if p.name in data.graphs else nothing for p in parts]
        shares = np.array([self.joint_shares.get(p.name, 0.0) * (p.name in data.graphs) for p in parts])
        if shares.sum() > 0:
            links = joint_links(data.graphs, {part.name: part.unit for part in parts})
            joint = added(self.graphs[-1], links)
            adds = [add + share * joint for add, share in zip(adds, shares / shares.sum())]
        return adds

    def fitted(self, data: HetData, graph_weights: Mapping[str, float], adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K) or standardised numbers (n, 1) from the contributions.

        An instance in no table is its neighbours' weighted average.
        """
        fitted = self.scale.fitted(self.scale.prior + sum(adds))
        bare = in_no_table(data, self.source_names)
        if bare.any() and data.graphs:
            shift = self.scale.mean if self.scale.is_classifier else 0.0
            values, _ = self.memory.recall(data, fitted - shift, 1.0)
            average, has = neighbour_averages(data, graph_weights, values)
            fitted[bare & has] = average[bare & has] + shift
        if not self.scale.is_classifier:
            return fitted
        # averages of neighbours may leave [0, 1] by rounding
        shares = np.clip(fitted, 0.0, 1.0)
        return shares / shares.sum(axis=1, keepdims=True)

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> StagewiseModel:
        # the estimator's file has the scale, and hands it over
        return cls(None, **values)

    def _fault(self, sizes: dict[str, int]) -> str:
        encoded = all(p.encoder is not None for p in self.tables) and all(p.encoder is None for p in self.graphs)
        joint = not self.joint_shares or [*self.joint_shares, ""] == [part.name for part in self.graphs]
        return "" if self.tables and encoded and joint else "The model file's tables and graphs do not add up"


def gap_factor(sizes: NDArray, covers: NDArray, gamma: float) -> NDArray[np.float64]:
    """Return g (n,): how much more the tables that an instance has count for those (p, n) that it lacks."""
    total = sizes.sum()
    present = sizes @ covers
    # all tables of size 0: none can stand in for another
    if total <= 0:
        return np.ones(covers.shape[1])
    return np.where(present > 0, total / np.maximum(present, 1e-12 * total), 1.0) ** gamma
