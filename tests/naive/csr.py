"""Twins of `hetcore.kernels.csr`."""

import numpy as np


def _known_neighbors(i, indptr, indices, weights, known):
    edges = np.arange(indptr[i], indptr[i + 1])
    edges = edges[known[indices[edges]] & (weights[edges] > 0)]
    return indices[edges], weights[edges].astype(float)


def neighbor_sums(indptr, indices, weights, values, neighbor_weights):
    n = len(indptr) - 1
    sums, totals = np.zeros((n, values.shape[1])), np.zeros(n)
    for i in range(n):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, neighbor_weights > 0)
        totals[i] = weight @ neighbor_weights[neighbors]
        sums[i] = (weight * neighbor_weights[neighbors]) @ values[neighbors]
    return sums, totals


def cross_products(start, end, weights, values, orders):
    return np.array([(weights * values[order][start] * values[order][end]).sum() for order in orders])
