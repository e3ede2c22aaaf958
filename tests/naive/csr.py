"""Twins of `hetcore.kernels.csr`."""

import numpy as np


def _known_neighbors(i, indptr, indices, weights, known):
    edges = np.arange(indptr[i], indptr[i + 1])
    edges = edges[known[indices[edges]] & (weights[edges] > 0)]
    return indices[edges], weights[edges].astype(float)


def hearsay(indptr, indices, weights, values, voices, hears):
    n = len(indptr) - 1
    sums, totals = np.zeros((n, values.shape[2])), np.zeros(n)
    for i in range(n):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, voices > 0)
        totals[i] = weight @ voices[neighbors]
        sums[i] = (weight * voices[neighbors]) @ values[hears[i], neighbors]
    return sums, totals
