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


def append_links(indptr, indices, weights, share, ends, all_indices, values):
    for i in range(len(indptr) - 1):
        own = slice(indptr[i], indptr[i + 1])
        size, mass = indptr[i + 1] - indptr[i], weights[own].astype(float)
        all_indices[ends[i] : ends[i] + size] = indices[own]
        values[ends[i] : ends[i] + size] = share * mass / mass.sum() if mass.sum() > 0 else 0.0
        ends[i] += size


def merge_links(first, last, starts, indices, values, places, indptr, merged, weights):
    for i in range(first, last):
        own = slice(starts[i], starts[i + 1])
        found = {j: values[own][indices[own] == j].sum() for j in dict.fromkeys(indices[own].tolist())}
        indptr[i + 1] = indptr[i] + len(found)
        merged[indptr[i] : indptr[i + 1]] = list(found)
        weights[indptr[i] : indptr[i + 1]] = np.array(list(found.values())) / (sum(found.values()) or 1.0)


def cross_products(start, end, weights, values, orders):
    return np.array([(weights * values[order][start] * values[order][end]).sum() for order in orders])
