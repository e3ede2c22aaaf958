"""Columns that say what lies one and two links away: neighbours' features, and those of their labels that are known.

For each graph, with weights A (n, n), of instance i:

| columns | one link | two links |
|---|---|---|
| means of features x | sum_j A_ij x_j / sum_j A_ij | sum_k B_ik x_k / sum_k B_ik, B = A A less its diagonal |
| means of known labels, less the mean label | the same over the labelled j | the same over the labelled k |
| weight of the labelled neighbours | sum_j A_ij | sum_k B_ik |
| number of neighbours | | |

A mean over nothing is missing. B has no diagonal: no instance is told its own features or its own label by the way back
from a neighbour. Means go over |A| where weights are negative, and a neighbour along a negative edge counts with the
opposite of its label. Above `WIDE` columns the features are first reduced to their `COMPONENTS` principal directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from hetcore.data.columns import FLOAT_MAX
from hetcore.kernels.collective_columns import Net
from hetcore.schema import Stored, array

__all__ = ["FeatureReduction", "Hops"]

WIDE, COMPONENTS = 100, 48
ROWS = 50_000  # whose ways back are multiplied out at once
TINY = 1e-9  # of the way back: a smaller weight is what rounding leaves when it is taken off


@dataclass
class FeatureReduction(Stored):
    """The principal directions of a wide table; narrow tables stay as they are.

    Attributes
    ----------
    components : (d, q) float32
        No column where the table is narrow.
    """

    components: NDArray[np.float32] = array("d q", np.float32)

    @classmethod
    def of(cls, values: NDArray[np.float32]) -> FeatureReduction:
        """Find the directions of the largest squared sums, missing values as zeros."""
        n, d = values.shape
        if d <= WIDE or n <= COMPONENTS:
            # fewer rows than directions have none to spare
            return cls(np.empty((d, 0), np.float32))
        # a fixed start: else the directions, and all trees after them, would differ from fit to fit
        start = np.random.default_rng(0).standard_normal(min(n, d))
        # sparse: a wide table is mostly zeros
        table = scipy.sparse.csr_array(np.nan_to_num(values).astype(np.float64))
        directions = svds(table, COMPONENTS, v0=start)[2].T
        # a direction and its opposite are the same; the largest number of each is made positive
        turned = directions * np.where(directions[np.abs(directions).argmax(axis=0), np.arange(COMPONENTS)] < 0, -1, 1)
        return cls(np.ascontiguousarray(turned, np.float32))

    @property
    def width(self) -> int:
        """Columns after the reduction."""
        return self.components.shape[1] or self.components.shape[0]

    def apply(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the reduced table (n, q)."""
        return np.nan_to_num(values) @ self.components if self.components.shape[1] else values


class _Walks:
    """A graph's weights (n, n), and sums over who is one and two links away."""

    def __init__(self, graph: scipy.sparse.csr_array) -> None:
        self.graph = graph

    @cached_property
    def back(self) -> NDArray[np.float64]:
        """How much of two links leads from each instance back to itself, (n, 1)."""
        turned, n = self.graph.T.tocsr(), self.graph.shape[0]
        # some rows at a time: the product of all is as large as graph and turned graph together
        products = (self.graph[k : k + ROWS].multiply(turned[k : k + ROWS]) for k in range(0, n, ROWS))
        return np.concatenate([np.asarray(each.sum(axis=1)).reshape(-1, 1) for each in products])

    def sums(self, values: NDArray, hops: int) -> Sequence[NDArray]:
        """Return sums over the neighbours, and over the neighbours' neighbours but the instance itself."""
        one = self.graph @ values
        # A A without its diagonal: A A itself is dense where a node has many neighbours
        return [one] if hops == 1 else [one, self.graph @ one - self.back * values]

    def rounding(self, hops: int) -> Sequence[NDArray]:
        """Return the weights (n, 1) one and two links away up to which there is nobody, in whatever unit they are."""
        nothing = np.zeros((self.graph.shape[0], 1))
        return [nothing] if hops == 1 else [nothing, TINY * self.back]


class Hops:
    """What lies one and two links away in some graphs.

    Parameters
    ----------
    net : Net
    n : int
        Instances.
    """

    def __init__(self, net: Net, n: int) -> None:
        self.net, self.n = net, n

    @cached_property
    def graphs(self) -> list[_Walks]:
        """The links, once they are asked for."""
        return [_Walks(_matrix(self.net, g, self.n)) for g in range(self.net.indptr.shape[0])]

    @cached_property
    def sizes(self) -> list[_Walks]:
        """The same by strength: a mean of features along a negative edge is still a mean of features."""
        return [each if (each.graph.data >= 0).all() else _Walks(abs(each.graph)) for each in self.graphs]

    def feature_columns(self, values: NDArray[np.float32], hops: int) -> NDArray[np.float32]:
        """Return means of features (n, d), and numbers of neighbours: (n, G (hops d + 1)), none at 0 hops."""
        known = np.isfinite(values)
        filled, blocks = np.where(known, values, 0.0).astype(np.float64), []
        for size in self.sizes if hops else []:
            sums, counts = (size.sums(each, hops) for each in (filled, known.astype(np.float64)))
            blocks += [_ratio(*each) for each in zip(sums, counts, size.rounding(hops))]
            blocks.append(np.diff(size.graph.indptr)[:, None].astype(np.float32))
        return np.hstack([np.empty((self.n, 0), np.float32), *blocks])

    def label_columns(self, targets: NDArray[np.float64], known: NDArray[np.bool_], hops: int) -> NDArray[np.float32]:
        """Return means and weights of known labels: (n, G hops (K + 1)).

        Parameters
        ----------
        targets : (n, K) float64
            Less their mean; any number where not known.
        known : (n,) bool
        hops : int
            0, 1 or 2.
        """
        filled, blocks = np.where(known[:, None], targets, 0.0), []
        for graph, size in zip(self.graphs, self.sizes) if hops else []:
            sums, weights = graph.sums(filled, hops), size.sums(known[:, None].astype(np.float64), hops)
            for total, weight, rounding in zip(sums, weights, size.rounding(hops)):
                blocks += [_ratio(total, weight, rounding), np.clip(weight, 0.0, FLOAT_MAX).astype(np.float32)]
        return np.hstack([np.empty((self.n, 0), np.float32), *blocks])


def _matrix(net: Net, g: int, n: int) -> scipy.sparse.csr_array:
    """Return a graph's weights (n, n)."""
    begin, end = net.indptr[g, 0], net.indptr[g, n]
    # in the type of the indices, or SciPy would copy those to a wider one
    indptr = (net.indptr[g] - begin).astype(net.indices.dtype if end - begin < 2**31 else np.int64)
    flat = net.weights[begin:end].astype(np.float64), net.indices[begin:end], indptr
    return scipy.sparse.csr_array(flat, shape=(n, n))


def _ratio(total: NDArray, weight: NDArray, rounding: NDArray) -> NDArray[np.float32]:
    """Return means, NaN over nothing."""
    some = weight > rounding
    return np.where(some, total / np.where(some, weight, 1.0), np.nan).astype(np.float32)
