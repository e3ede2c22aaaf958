"""What neighbours say over the links of a graph, and the links of several graphs joined to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import Graph
from hetcore.kernels.csr import hearsay

__all__ = ["averaged", "graph_columns", "heard", "joint_links", "mean_weight"]

JOINT_POWER = 3


def averaged(links: Any, unit: float, values: NDArray, voices: NDArray, shrinkage: float) -> tuple[NDArray, NDArray]:
    """Return the neighbours' total voice (n,) and shrunk average (n, K), with links counted in units of `unit`."""
    return heard(
        links, unit, values[None], voices=voices, hears=np.zeros(links.shape[0], np.int64), shrinkage=shrinkage
    )


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
