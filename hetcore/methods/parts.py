"""What a fit keeps of one source: a table's encoded, binned columns and smooth learner, a graph's neighbour averages.

Encoding, binning and landmark features depend on the table alone, so they are made once for each `Source` object and
serve every fit, class and what-if run that shares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.data import Graph, HetData, Source
from hetcore.data.encoding import SourceEncoder
from hetcore.forest import Forest
from hetcore.kernels.csr import hearsay
from hetcore.smoother import LandmarkFeatures, Smoother

__all__ = ["GraphPart", "Part", "TablePart", "averaged", "graph_columns", "joint_links", "joint_shares", "mean_weight"]

MAX_BINS = 64
JOINT_POWER = 3
_PREPARED: WeakKeyDictionary[Source, dict[str, Any]] = WeakKeyDictionary()


def _prepared(source: Source) -> dict[str, Any]:
    made = _PREPARED.get(source)
    if made is None:
        encoder = SourceEncoder().fit(source)
        X = encoder.transform(source)
        mapper = BinMapper(MAX_BINS).fit(X, 0)
        made = {"encoder": encoder, "X": X, "mapper": mapper, "binned": mapper.transform(X)}
        _PREPARED[source] = made
    return made


def _landmarks(source: Source) -> list[LandmarkFeatures]:
    made = _prepared(source)
    if "features" not in made:
        made["features"] = [LandmarkFeatures(made["X"], each, np.random.default_rng(0)) for each in (False, True)]
        del made["X"]
    return made["features"]


class Part:
    """One source of a fit.

    Attributes
    ----------
    name : str
    rows : (m,) int64
        Instances that the source has.
    covers : (n,) bool
    binned : (d, m) uint8 or None
        The columns that trees split by; None until there are any.
    score : (n, K) float64
        What the source's smooth learner says, centred; 0 where it says nothing. For labelled rows: had they been left
        out.
    trees : (n, K) float32
        Sum of the source's trees so far.
    forest : Forest
    """

    def __init__(self, name: str, rows: NDArray[np.int64], n: int, n_outputs: int) -> None:
        self.name, self.rows = name, rows
        self.covers = np.zeros(n, bool)
        self.covers[rows] = True
        self.binned: NDArray[np.uint8] | None = None
        self.mapper: BinMapper | None = None
        self.score = np.zeros((n, n_outputs))
        self.trees = np.zeros((n, n_outputs), np.float32)
        self.forest = Forest(n_outputs)
        self._labelled_rows: NDArray[np.int64] | None = None

    def labelled_rows(self, labelled: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return which of the source's records belong to labelled instances; asked once, the same for the whole fit."""
        if self._labelled_rows is None:
            self._labelled_rows = np.flatnonzero(labelled[self.rows])
        return self._labelled_rows


class TablePart(Part):
    """A table: trees over its columns, and kernel ridge on them."""

    def __init__(self, data: HetData, name: str, n_outputs: int) -> None:
        super().__init__(name, data.rows(name), data.n, n_outputs)
        self._source = data.sources[name]
        made = _prepared(self._source)
        self.encoder, self.mapper, self.binned = made["encoder"], made["mapper"], made["binned"]
        self.smoother: Smoother | None = None

    def smooth(self, labelled: NDArray[np.bool_], target: NDArray, weights: NDArray) -> None:
        """Prepare the smooth learner for the instances' labels, centred targets (n, K) and weights (n,)."""
        self.smoother = self._smoother(labelled, target, weights)

    def smoothed(self, labelled: NDArray[np.bool_], target: NDArray) -> NDArray[np.float64]:
        """Return what the same smooth learner would say (n, K), had it been fitted to these labels alone."""
        score = np.zeros_like(self.score)
        smoother = self._smoother(labelled, target, labelled.astype(np.float64), self.smoother)
        if smoother is not None:
            score[self.rows] = smoother.fit(target[self.rows])
        return score

    def _smoother(
        self, labelled: NDArray[np.bool_], target: NDArray, weights: NDArray, like: Smoother | None = None
    ) -> Smoother | None:
        own = np.flatnonzero(labelled[self.rows])
        if not own.size:
            return None
        return Smoother(_landmarks(self._source), own, target[self.rows[own]], weights[self.rows], like)

    def refit(self, target: NDArray) -> None:
        """Fit the smooth learner to targets (n, K) and keep what it says as `score`."""
        if self.smoother is not None:
            self.score[self.rows] = self.smoother.fit(target[self.rows])


class GraphPart(Part):
    """A graph: what an instance's neighbours say on average, shrunk to 0 where few of them speak.

    An instance's own label never takes part, so what its neighbours say is as honest for labelled rows as for others.

    Attributes
    ----------
    links : (n, n) scipy sparse array
    unit : float
        Mean weight of a link.
    """

    def __init__(self, name: str, links: Any, n_outputs: int) -> None:
        super().__init__(name, np.flatnonzero(np.diff(links.indptr) > 0), links.shape[0], n_outputs)
        self.links = links
        self.unit = mean_weight(links)
        self.voice = np.zeros(links.shape[0])

    def listen(self, says: list[tuple[NDArray, NDArray]], voices: NDArray, shrinkage: float) -> None:
        """Average what the neighbours say, each with its voice (n,), as `score`; `voice` is the neighbours' total.

        `says` lists (listeners (n,) bool, values (n, K)): different rows may hear different things.
        """
        hears = np.zeros(self.links.shape[0], np.int64)
        for kind, (listeners, _) in enumerate(says):
            hears[listeners] = kind
        told = np.stack([values for _, values in says])
        self.voice, self.score = heard(self.links, self.unit, told, voices, hears, shrinkage)

    def columns(self) -> NDArray[np.float32]:
        """Return the columns that trees split by, (m, K + 1): the averages, and how many neighbours speak."""
        return graph_columns(self.score[self.rows], self.voice[self.rows])

    def bin(self) -> None:
        """Fix the columns that trees split by."""
        X = self.columns()
        self.mapper = BinMapper(MAX_BINS).fit(X, 0) if self.rows.size else None
        self.binned = self.mapper.transform(X) if self.mapper is not None else None


def averaged(links: Any, unit: float, values: NDArray, voices: NDArray, shrinkage: float) -> tuple[NDArray, NDArray]:
    """Return the neighbours' total voice (n,) and shrunk average (n, K), with links counted in units of `unit`."""
    return heard(links, unit, values[None], voices, np.zeros(links.shape[0], np.int64), shrinkage)


def heard(
    links: Any, unit: float, told: NDArray, voices: NDArray, hears: NDArray[np.int64], shrinkage: float
) -> tuple[NDArray, NDArray]:
    """Return `averaged` where `told` (s, n, K) differs by the kind of listener, `hears` (n,)."""
    ends = links.indptr.astype(np.int32, copy=False), links.indices.astype(np.int32, copy=False)
    sums, totals = hearsay(*ends, links.data, np.asarray(told, np.float64), np.asarray(voices, np.float64), hears)
    voice = totals / unit
    return voice, sums / (unit * (voice + shrinkage)[:, None] + 1e-300)


def graph_columns(score: NDArray, voice: NDArray) -> NDArray[np.float32]:
    """Return neighbour averages (m, K) and the logarithm of 1 + their voice as one table (m, K + 1)."""
    return np.column_stack([score, np.log1p(voice)]).astype(np.float32)


def mean_weight(links: Any) -> float:
    """Return the mean weight of the links; 1 where there is none."""
    return float(links.data.mean(dtype=np.float64)) if links.nnz else 1.0


def joint_links(graphs: Mapping[str, Graph], units: Mapping[str, float]) -> Any:
    """Return the links of all graphs in one (n, n), each with the cube of its weight summed over the graphs.

    Two films that share director, writer and actors are closer than two that share one of them: what a neighbour by
    several graphs says counts for more than the graphs' averages, taken one by one, can tell.
    """
    links = sum(_in_units(graph, units[name]) for name, graph in graphs.items() if name in units).tocsr()
    links.data = links.data**JOINT_POWER
    return links


def _in_units(graph: Graph, unit: float) -> Any:
    """Return the links (n, n) float32 over their mean weight, which float32 may not be able to invert."""
    links = graph.adjacency().copy()
    links.data = (links.data / np.float64(unit)).astype(np.float32)
    return links


def joint_shares(graphs: Mapping[str, Graph], units: Mapping[str, float], links: Any) -> dict[str, float]:
    """Return how much of the joint links' weight is each graph's, by name, summing to one."""
    held = {name: (graph.adjacency() / units[name]).multiply(links).sum() for name, graph in graphs.items()}
    total = sum(held.values())
    return {name: float(each / total) if total > 0 else 1.0 / len(held) for name, each in held.items()}
