"""What predicts in model files of before there were views, and what a fit as printed shares with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.checks import number_in
from hetcore.consensus.neighbor_means import averaged, graph_columns, joint_links
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.data.identity import positions
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.kernel_ridge import SmoothPrediction
from hetcore.targets import Scale

__all__ = ["Columns", "Memory", "StagewiseModel", "in_no_table", "memory_from", "said_by_neighbours"]

SHRINKAGE = 2.0  # neighbours' voices that the prior counts for


@dataclass
class Columns:
    """One table's encoder, bins, trees, smooth learner and scale b; a graph has no encoder."""

    name: str
    scale: float
    forest: Forest
    mapper: BinMapper | None
    encoder: SourceEncoder | None = None
    smooth: SmoothPrediction | None = None
    size: float = 0.0
    unit: float = 1.0

    def table_scores(self, data: HetData, n_outputs: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return f, T (n, K) and coverage (n,) of a table for `data`; zeros where it has no record."""
        smooth, trees = np.zeros((data.n, n_outputs)), np.zeros((data.n, n_outputs))
        covers = np.zeros(data.n, bool)
        if self.name in data.sources:
            rows = data.rows(self.name)
            X = self.encoder.transform(data.sources[self.name])
            covers[rows] = True
            if self.smooth is not None:
                smooth[rows] = self.smooth.predict(X)
            if len(self.forest):
                trees[rows] = self.forest.predict(self.mapper.transform(X))
        return smooth, trees, covers

    def graph_scores(self, links: Any, values: NDArray, voices: NDArray) -> tuple[NDArray, NDArray]:
        """Return f and T (n, K) of a graph's links (n, n), given what each instance says and how loudly."""
        trees = np.zeros_like(values)
        voice, score = averaged(links, self.unit, values, voices, SHRINKAGE)
        covers = np.diff(links.indptr) > 0
        if len(self.forest) and covers.any():
            trees[covers] = self.forest.predict(self.mapper.transform(graph_columns(score[covers], voice[covers])))
        return score, trees


@dataclass
class Memory:
    """The training instances: ids, what each says to its neighbours (centred), and how loudly."""

    ids: Any
    values: NDArray[np.float32]
    voices: NDArray[np.float32]

    def recall(self, data: HetData, otherwise: NDArray, voice: float) -> tuple[NDArray, NDArray]:
        """Return values (n, K) and voices (n,) for `data`; instances not met in training say `otherwise`."""
        place = positions(data.id_series, self.ids)
        met = place >= 0
        values, voices = otherwise.copy(), np.full(data.n, voice)
        values[met], voices[met] = self.values[place[met]], self.voices[place[met]]
        return values, voices


def said_by_neighbours(data: HetData, weights: Mapping[str, float], values: NDArray) -> tuple[NDArray, NDArray]:
    """Return the weighted average (n, K) of the neighbours' values over the graphs, and where there is one (n,)."""
    total, mass = np.zeros_like(values), np.zeros(data.n)
    for name in filter(data.graphs.__contains__, weights):
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


class StagewiseModel:
    """The default of model files saved before there were views."""

    kind = "stagewise"

    def __init__(
        self,
        scale: Scale,
        tables: list[Columns],
        graphs: list[Columns],
        memory: Memory,
        gamma: float,
        stranger_voice: float,
        joint_shares: dict[str, float],
    ) -> None:
        self.scale, self.tables, self.graphs = scale, tables, graphs
        self.memory, self.gamma, self.stranger_voice = memory, gamma, stranger_voice
        self.joint_shares = joint_shares  # of the joint links, the last of `graphs`; empty without them

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
        alone = self.scale.centred(self.scale.prior + sum(adds))
        values, voices = self.memory.recall(data, alone, self.stranger_voice)
        return adds + self._graph_adds(data, values, voices, factor)

    def _graph_adds(self, data: HetData, values: NDArray, voices: NDArray, factor: NDArray) -> list[NDArray]:
        """Return what each graph adds (n, K); what the joint links add is shared out among those that `data` has."""

        def added(part: Columns, links: Any) -> NDArray:
            score, trees = part.graph_scores(links, values, voices)
            return factor * part.scale * score + trees

        parts = self.graphs[:-1] if self.joint_shares else self.graphs
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
            average, has = said_by_neighbours(data, graph_weights, values)
            fitted[bare & has] = average[bare & has] + shift
        if not self.scale.is_classifier:
            return fitted
        shares = np.clip(fitted, 0.0, 1.0)
        return shares / shares.sum(axis=1, keepdims=True)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return everything as a JSON-able dict and arrays."""
        arrays: dict[str, NDArray] = {"memory:values": self.memory.values, "memory:voices": self.memory.voices}
        parts = [_part_state(f"{i}", part, arrays) for i, part in enumerate([*self.tables, *self.graphs])]
        meta = {
            "parts": parts, "n_tables": len(self.tables), "gamma": self.gamma, "stranger_voice": self.stranger_voice,
            "ids": self.memory.ids.to_list(), "joint_shares": self.joint_shares,
        }  # fmt: skip
        return meta, arrays

    @classmethod
    def from_state(cls, scale: Scale, meta: dict[str, Any], arrays: Mapping[str, NDArray]) -> StagewiseModel:
        """Rebuild a model.

        Raises
        ------
        ModelFileError
            If anything in it does not fit together.
        """
        parts = [_part_from(f"{i}", part, arrays, scale.n_outputs) for i, part in enumerate(meta["parts"])]
        n_tables = meta["n_tables"]
        if not 0 < n_tables <= len(parts) or any((p.encoder is None) == (i < n_tables) for i, p in enumerate(parts)):
            raise ModelFileError("The model file's tables and graphs do not add up: save the model again.")
        memory = memory_from(meta["ids"], arrays, scale.n_outputs)
        gamma, stranger_voice = number_in(meta["gamma"], 0.0, 1.0), number_in(meta["stranger_voice"], 0.0, 1e9)
        joint = {name: number_in(share, 0.0, 1.0) for name, share in meta["joint_shares"].items()}
        graphs = parts[n_tables:]
        if joint and [*joint, ""] != [part.name for part in graphs]:
            raise ModelFileError("The model file's joint graph is not that of its graphs: save the model again.")
        return cls(scale, parts[:n_tables], graphs, memory, gamma, stranger_voice, joint)


def memory_from(ids: Any, arrays: Mapping[str, NDArray], n_outputs: int) -> Memory:
    """Rebuild and check a memory."""
    import polars as pl

    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids) or len(set(ids)) < len(ids):
        raise ModelFileError("The model file's ids are not distinct texts: save the model again.")
    values, voices = arrays["memory:values"], arrays["memory:voices"]
    good = values.shape == (len(ids), n_outputs) and voices.shape == (len(ids),)
    good = good and values.dtype == voices.dtype == np.float32
    if not good or not np.isfinite(values).all() or not np.isfinite(voices).all() or (voices < 0).any():
        raise ModelFileError("What the model file remembers of its instances does not fit together: save it again.")
    return Memory(pl.Series("id", ids, dtype=pl.String), values, voices)


def _part_state(key: str, part: Columns, arrays: dict[str, NDArray]) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": part.name, "scale": part.scale, "size": part.size, "unit": part.unit}
    blocks = {"forest": part.forest.to_arrays(), "bins": part.mapper.to_arrays() if part.mapper else {}}
    blocks["smooth"] = part.smooth.to_arrays() if part.smooth else {}
    if part.encoder is not None:
        meta["encoder"], blocks["encoder"] = part.encoder.to_state()
    for block, held in blocks.items():
        arrays |= {f"{key}:{block}:{name}": array for name, array in held.items()}
    return meta


def _part_from(key: str, meta: dict[str, Any], arrays: Mapping[str, NDArray], n_outputs: int) -> Columns:
    def block(name: str) -> dict[str, NDArray]:
        prefix = f"{key}:{name}:"
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    encoder = SourceEncoder.from_state(meta["encoder"], block("encoder")) if "encoder" in meta else None
    mapper = BinMapper.from_arrays(block("bins")) if block("bins") else None
    smooth = SmoothPrediction(block("smooth")) if block("smooth") else None
    width = len(encoder.feature_names) if encoder is not None else n_outputs + 1
    if mapper is not None and mapper.n_bins.size != width:
        raise ModelFileError("The bins of the model file are not those of its columns: save the model again.")
    forest = Forest.from_arrays(block("forest"), width if mapper is not None else 0)
    bad_smooth = smooth is not None and (smooth.center.size != width or smooth.dual.shape[1] != n_outputs)
    bad_trees = mapper is None and (encoder is not None or len(forest) > 0)
    if forest.n_outputs != n_outputs or bad_trees or bad_smooth or not isinstance(meta["name"], str):
        raise ModelFileError("The learners of the model file do not fit its columns: save the model again.")
    scale, size, unit = (
        number_in(meta["scale"], 0, 1e300),
        number_in(meta["size"], 0, 1e300),
        number_in(meta["unit"], 1e-45, 1e39),
    )
    return Columns(meta["name"], scale, forest, mapper, encoder, smooth, size, unit)


def gap_factor(sizes: NDArray, covers: NDArray, gamma: float) -> NDArray[np.float64]:
    """Return g (n,): how much louder the tables that an instance has speak for those (p, n) that it lacks."""
    total = sizes.sum()
    present = sizes @ covers
    if total <= 0:
        return np.ones(covers.shape[1])
    return np.where(present > 0, total / np.maximum(present, 1e-12 * total), 1.0) ** gamma
