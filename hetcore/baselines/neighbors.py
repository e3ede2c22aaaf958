"""Columns of what an instance's neighbours are, and of their labels, at one and at two hops.

Per graph and hop: the means of the neighbours' columns, their mean label (the share of each class), how many of them
are labelled, and the degree. Two hops are the neighbours' neighbours without the way back. With very many graphs the
means of columns are those over all graphs together.

A label must never reach its own row. Leaving it out is not enough in a clique, where the mean without oneself gives it
away, so a labelled row sees no label of its own fold; an unlabelled row sees all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded, adjacency
from hetcore.baselines.labels import Labels
from hetcore.data.splits import stratified

__all__ = ["neighbor_columns", "two_hops"]

N_FOLDS = 5
MANY_GRAPHS = 8


def neighbor_columns(encoded: Encoded, labels: Labels, hops: int, seed: int | None = 0) -> NDArray[np.float32]:
    """Return the columns (n, c), NaN where an instance has no (labelled) neighbour.

    Parameters
    ----------
    encoded : Encoded
    labels : Labels
        The labels that may be seen.
    hops : {0, 1, 2}
        How far; 2 takes both.
    seed : int or None, default=0
        Of the folds.
    """
    blocks = [np.empty((encoded.n, 0))]
    # unlabelled rows are of no fold, and see all labels
    folds = np.full(encoded.n, -1)
    folds[labels.rows] = stratified(labels.target, N_FOLDS, np.random.default_rng(seed))
    for links in map(adjacency, encoded.graphs):
        blocks += [_label_columns(links, labels, folds, hop) for hop in range(1, hops + 1)]
    for links in _graphs_of_means(encoded):
        blocks += [_means(links, encoded.averaged, hop) for hop in range(1, hops + 1)]
    return np.hstack(blocks).astype(np.float32)


def _graphs_of_means(encoded: Encoded) -> Iterator[scipy.sparse.csr_array]:
    # of very many graphs, means of columns over all of them together: hundreds of columns a graph
    if len(encoded.graphs) > MANY_GRAPHS:
        yield encoded.links
    else:
        yield from map(adjacency, encoded.graphs)


def two_hops(links: scipy.sparse.csr_array, values: NDArray) -> NDArray[np.float64]:
    """Return the sums (n, d) over the neighbours' neighbours without the way back to oneself.

    The way back from i is by each of its links there and back: sum_j a_ij a_ji = sum_j a_ij^2.
    """
    # walks there and back again
    back = links.power(2) @ np.ones(links.shape[0])
    return links @ (links @ values) - back[:, None] * values


def _sums(links: scipy.sparse.csr_array, values: NDArray, hop: int) -> NDArray[np.float64]:
    return links @ values if hop == 1 else two_hops(links, values)


def _over(total: NDArray, mass: NDArray) -> NDArray[np.float64]:
    """Return total / mass, NaN where there is no mass (what rounding leaves of two equal sums is none)."""
    # rounding of the way back leaves a little where nobody is
    there = mass > 1e-9 * np.maximum(mass.max(initial=0.0), 1e-300)
    return np.divide(total, mass, out=np.full(np.broadcast(total, mass).shape, np.nan), where=there)


def _means(links: scipy.sparse.csr_array, columns: NDArray, hop: int) -> NDArray[np.float64]:
    known = ~np.isnan(columns)
    return _over(_sums(links, np.where(known, columns, 0.0), hop), _sums(links, known.astype(np.float64), hop))


def _label_columns(
    links: scipy.sparse.csr_array, labels: Labels, folds: NDArray[np.int64], hop: int
) -> NDArray[np.float64]:
    """Return mean label or class shares, the mass of labelled neighbours, and the degree, (n, k + 2)."""
    # of two classes one share says both
    matrix = labels.matrix[:, 1:] if labels.n_classes == 2 else labels.matrix
    columns = np.empty((len(matrix), matrix.shape[1] + 1))
    for fold in np.unique(folds):
        seen = ~np.isnan(matrix).any(axis=1) & ((folds != fold) if fold >= 0 else True)
        sums = _sums(links, np.column_stack([np.where(seen[:, None], matrix, 0.0), seen]), hop)[folds == fold]
        columns[folds == fold] = np.column_stack([_over(sums[:, :-1], sums[:, -1:]), sums[:, -1]])
    return np.column_stack([columns, _sums(links, np.ones((len(matrix), 1)), hop)])
