"""Sums over neighbours in a graph in CSR: `indices[indptr[i]:indptr[i + 1]]` are the neighbours of i."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


def _neighbor_sums(indptr, indices, weights, values, neighbor_weights, kinds):
    """Add up the neighbours' values, each times its weight, in one pass; who receives decides which of several values.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
        Not negative.
    values : (s, n, K) float64
        The message of each instance to each of s kinds of receivers.
    neighbor_weights : (n,) float64
        Weight of each instance as a neighbour; those of weight 0 are passed over.
    kinds : (n,) int64
        Kind of receiver that each instance is, in 0..s-1.

    Returns
    -------
    sums : (n, K) float64
        Link weight times neighbour weight times value, over the neighbours.
    totals : (n,) float64
        Link weight times neighbour weight.
    """
    n, width = indptr.shape[0] - 1, values.shape[2]
    sums, totals = np.zeros((n, width)), np.zeros(n)
    for i in range(n):
        messages = values[kinds[i]]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            weight = neighbor_weights[j] * weights[e]
            # a neighbour of weight 0 has nothing to say, and of a missing one the value may be NaN
            if weight > 0.0:
                totals[i] += weight
                for k in range(width):
                    sums[i, k] += weight * messages[j, k]
    return sums, totals


neighbor_sums = kernel(_neighbor_sums)
