"""Where the nodes of a graph lie when it is drawn: computed once a graph, in a worker, in seconds at 20,000 nodes.

The start is spectral: the leading eigenvectors of the normalised adjacency matrix place what is linked side by side.
Then springs, the stiffer the longer, pull linked nodes together and all nodes repel each other. The repulsion is read
from a grid: the nodes' masses are laid on it and convolved with the force by a fast Fourier transform, so that a step
costs what the edges cost, not the pairs of nodes.

References: T. Fruchterman, E. Reingold, "Graph drawing by force-directed placement", Software: Practice and Experience
21, 1991 (springs, repulsion, cooling); G. Linderman et al., "Fast interpolation-based t-SNE", Nature Methods 16, 2019
(repulsion by interpolation on a grid and Fourier transform).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.fft
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from hetcore.data import HetData
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError

__all__ = ["layout"]

STEPS = 90
CELLS = 224
"""Cells of the grid along one side."""
PULL = 0.05
"""Pull to the middle, so that parts without a link between them stay in sight."""


def layout(data: HetData, name: str, seed: int = 0) -> NDArray[np.float32]:
    """Return where each instance lies in a drawing of a graph.

    Parameters
    ----------
    data : HetData
    name : str
        Graph.
    seed : int, default=0
        Of the start.

    Returns
    -------
    (n, 2) float32
        In [-1, 1]; NaN for an instance without a neighbour, which is not drawn.

    Raises
    ------
    DataError
        If there is no such graph.
    """
    if name not in data.graphs:
        raise DataError(f"There is no graph {quoted(name)} among {listed(data.graphs)}: name one of them.")
    linked = np.flatnonzero(data.graphs[name].degree)
    places = np.full((data.n, 2), np.nan, np.float32)
    # Nodes without a link say nothing about where they belong, and are left out of the drawing.
    if len(linked):
        links = data.graphs[name].adjacency().astype(float)[linked][:, linked]
        places[linked] = _placed(links, np.random.default_rng(seed))
    return places


def _placed(links: scipy.sparse.csr_array, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the places of nodes that all have a neighbour, (n, 2) in [-1, 1]."""
    root = scipy.sparse.diags_array(1.0 / np.sqrt(links.sum(axis=1)))
    normal = (root @ links @ root).tocsr()
    places, springs = _start(normal, root, rng), scipy.sparse.triu(normal).tocoo()
    for step in range(STEPS):
        # Long steps first, that untangle, and ever shorter ones, that settle.
        reach = 0.2 * (1 - step / STEPS) ** 1.5 + 1e-3
        force = _repulsion(places) + _attraction(places, springs) - PULL * places
        size = np.linalg.norm(force, axis=1, keepdims=True)
        # A step is never longer than the reach: nodes on top of one another repel without bound.
        places = places + force * np.minimum(1.0, reach / np.maximum(size, 1e-12))
    places -= (places.max(axis=0) + places.min(axis=0)) / 2
    return places / max(np.abs(places).max(), 1e-12)


def _start(normal: scipy.sparse.csr_array, root: scipy.sparse.dia_array, rng: np.random.Generator) -> NDArray:
    """Return two of the three leading eigenvectors, not the constant one, by ranks, with a little noise; (n, 2)."""
    n = normal.shape[0]
    # So few nodes need no start, and ARPACK wants more nodes than vectors.
    if n < 10:
        return rng.uniform(-1, 1, (n, 2))
    try:
        # The start is given, so that a graph is drawn the same each time.
        vectors = eigsh(normal, k=3, which="LA", v0=rng.normal(size=n), tol=1e-2, maxiter=300)[1][:, :2]
    except ArpackNoConvergence:
        return rng.uniform(-1, 1, (n, 2))
    # By ranks: most entries of such a vector lie close together, and so would the nodes.
    ranks = np.argsort(np.argsort(root @ vectors, axis=0), axis=0) / n
    # Noise tells nodes apart that have the same neighbours, and so the same entries.
    return 2 * ranks - 1 + rng.normal(0.0, 0.02, (n, 2))


def _attraction(places: NDArray, springs: scipy.sparse.coo_array) -> NDArray:
    """Return the pull of each node's neighbours, stiffness times distance squared; (n, 2)."""
    a, b, n = springs.row, springs.col, len(places)
    apart = places[b] - places[a]
    pull = (springs.data * np.linalg.norm(apart, axis=1))[:, None] * apart
    return np.column_stack([np.bincount(a, f, n) - np.bincount(b, f, n) for f in pull.T])


class _Corners(NamedTuple):
    """The four grid cells around each node, (4, n), the node's share in each, and a cell's width."""

    cells: NDArray
    shares: NDArray
    width: float


def _corners(places: NDArray) -> _Corners:
    low = places.min(axis=0)
    # A little wider than the nodes, so that the outermost one still has a cell on its far side.
    width = max(float((places.max(axis=0) - low).max()), 1e-9) * 1.001 / (CELLS - 2)
    at = (places - low) / width + 0.5
    first = np.floor(at).astype(np.int64)
    rest = at - first
    steps = [(i, j) for i in (0, 1) for j in (0, 1)]
    cells = [(first[:, 0] + i) * CELLS + first[:, 1] + j for i, j in steps]
    shares = [np.abs(1 - i - rest[:, 0]) * np.abs(1 - j - rest[:, 1]) for i, j in steps]
    return _Corners(np.array(cells), np.array(shares), width)


def _repulsion(places: NDArray) -> NDArray:
    """Return the push of all nodes on each, one over the distance, on average over the nodes; (n, 2)."""
    # Twice the size, or the transform would let the left edge push the right one.
    corners, shape = _corners(places), (2 * CELLS, 2 * CELLS)
    mass = np.bincount(corners.cells.ravel(), corners.shares.ravel() / len(places), CELLS * CELLS)
    waves = scipy.fft.rfft2(mass.reshape(CELLS, CELLS).astype(np.float32), shape)
    fields = [scipy.fft.irfft2(waves * force, shape)[:CELLS, :CELLS].ravel() for force in _forces()]
    return np.column_stack([(field[corners.cells] * corners.shares).sum(axis=0) for field in fields]) / corners.width


# The same for every step and every graph: it depends on the grid alone.
@cache
def _forces() -> tuple[NDArray, NDArray]:
    """Return the Fourier transforms of the force between cells along either side, in units of a cell."""
    x, y = np.meshgrid(np.arange(-CELLS, CELLS), np.arange(-CELLS, CELLS), indexing="ij")
    # One is added, so that nodes in one cell do not push without bound.
    spread = x * x + y * y + 1.0
    first, second = (scipy.fft.rfft2(np.fft.ifftshift((k / spread).astype(np.float32))) for k in (x, y))
    return first, second
