"""The two sides of a directed graph, beside all of its links: whom an instance points at, and who points at it.

A side has a name of its own, "GRAPH, out" or "GRAPH, in", under which it has columns as a graph has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from scipy import sparse

from hetcore.data import Graph

__all__ = ["OneWay", "graph_of", "is_side", "one_way", "sides_of"]

DIRECTIONS = ("out", "in")


class OneWay(sparse.csr_array):
    """Links (n, n) of which one way may be there without the other.

    Attributes
    ----------
    opposite : (n, n) sparse array
        Who has each row as its end.
    """

    opposite: sparse.csr_array


def sides_of(graphs: Mapping[str, Graph], room: int) -> list[str]:
    """Return the names of the sides of directed graphs, those of the largest first; `room` graphs at most in all."""
    names = []
    for name in sorted(graphs, key=lambda each: -graphs[each].n_edges):
        sides = [f"{name}, {direction}" for direction in DIRECTIONS]
        # a graph that has a side's name keeps it
        if len(graphs) + len(names) + 2 <= room and not set(sides) & set(graphs) and _leads_one_way(graphs[name]):
            names += sides
    return names


def graph_of(name: str, graphs: Collection[str]) -> tuple[str, str]:
    """Return the graph that a name is of, and the direction; "both" for all links."""
    if name in graphs:
        return name, "both"
    graph, _, direction = name.rpartition(", ")
    return (graph, direction) if graph in graphs and direction in DIRECTIONS else (name, "both")


def is_side(name: str, graphs: Collection[str]) -> bool:
    """Return whether a name is that of a side of one of some graphs."""
    return graph_of(name, graphs)[1] != "both"


def one_way(graph: Graph, direction: str, unit: float = 1.0) -> OneWay:
    """Return the links (n, n) of a side over a unit, without signs; all of them, where a graph has no direction."""
    # asked for and not turned round: some rows may see others without being seen
    ways = (direction, next(each for each in DIRECTIONS if each != direction))
    own, opposite = (abs(graph.neighbors(each)).astype(np.float64) / unit for each in ways)
    links = OneWay(own)
    links.opposite = opposite
    return links


def _leads_one_way(graph: Graph) -> bool:
    arcs = graph.arcs
    return arcs is not None and bool((abs(arcs) != abs(arcs).T).nnz)
