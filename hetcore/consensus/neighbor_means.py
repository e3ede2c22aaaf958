"""Means of the neighbours over the links of a graph, and the links of several graphs joined to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import Graph
from hetcore.kernels.csr import neighbor_sums

__all__ = ["averaged", "graph_columns", "joint_links", "mean_weight"]

JOINT_POWER = 3


def averaged(
    links: Any, unit: float, values: NDArray, neighbor_weights: NDArray, shrinkage: float
) -> tuple[NDArray, NDArray]:
    """Return the neighbours' total weight (n,) and shrunk average (n, K), with links counted in units of `unit`."""
    # the kernel is compiled for 32-bit ends; SciPy widens them now and then
    ends = links.indptr.astype(np.int32, copy=False), links.indices.astype(np.int32, copy=False)
    sums, totals = neighbor_sums(
        *ends, links.data, np.ascontiguousarray(values, np.float64), np.asarray(neighbor_weights, np.float64)
    )
    weight = totals / unit
    # units keep very small and very large weights inside float32; the last term is for nobody near
    return weight, sums / (unit * (weight + shrinkage)[:, None] + 1e-300)


def graph_columns(score: NDArray, weight: NDArray) -> NDArray[np.float32]:
    """Return neighbour averages (m, K) and the logarithm of 1 + their weight as one table (m, K + 1)."""
    return np.column_stack([score, np.log1p(weight)]).astype(np.float32)


def mean_weight(links: Any) -> float:
    """Return the mean weight of the links; 1 where there is none."""
    return float(links.data.mean(dtype=np.float64)) if links.nnz else 1.0


def joint_links(graphs: Mapping[str, Graph], units: Mapping[str, float]) -> Any:
    """Return the links of all graphs in one (n, n), each with the cube of its weight summed over the graphs.

    Two films that share director, writer and actors are closer than two that share one of them: a neighbour by
    several graphs counts for more than the graphs' averages, taken one by one, can tell.
    """
    links = sum(_in_units(graph, units[name]) for name, graph in graphs.items() if name in units).tocsr()
    # links that several graphs have count far more than links of one
    links.data = links.data**JOINT_POWER
    return links


def _in_units(graph: Graph, unit: float) -> Any:
    """Return the links (n, n) float32 over their mean weight, which float32 may not be able to invert."""
    links = graph.adjacency().copy()
    # through float64: a weight near the end of float32 has no inverse there
    links.data = (links.data / np.float64(unit)).astype(np.float32)
    return links
