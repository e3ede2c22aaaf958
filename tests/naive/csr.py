"""Twins of `hetcore.kernels.csr`."""

import numpy as np

from tests.naive.medians import weighted_median


def _known_neighbors(i, indptr, indices, weights, known):
    edges = np.arange(indptr[i], indptr[i + 1])
    edges = edges[known[indices[edges]] & (weights[edges] > 0)]
    return indices[edges], weights[edges].astype(float)


def neighbor_means(indptr, indices, weights, values, known, fill):
    n = len(indptr) - 1
    means, totals = np.full((n, values.shape[1]), float(fill)), np.zeros(n)
    for i in range(n):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, known)
        totals[i] = weight.sum()
        if totals[i] > 0:
            means[i] = weight @ values[neighbors] / totals[i]
    return means, totals


def hearsay(indptr, indices, weights, values, voices, hears):
    n = len(indptr) - 1
    sums, totals = np.zeros((n, values.shape[2])), np.zeros(n)
    for i in range(n):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, voices > 0)
        totals[i] = weight @ voices[neighbors]
        sums[i] = (weight * voices[neighbors]) @ values[hears[i], neighbors]
    return sums, totals


def widest(indptr):
    return int(np.diff(indptr).max(initial=0))


def neighbor_medians(indptr, indices, weights, values, known, fill):
    medians = np.full((len(indptr) - 1, values.shape[1]), float(fill))
    for i in range(len(medians)):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, known)
        for k in range(values.shape[1] if len(neighbors) else 0):
            medians[i, k] = weighted_median(values[neighbors, k], weight)
    return medians


def _known_edges(indptr, indices, weights, known):
    start = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    both = known[start] & known[indices] & (weights > 0)
    return start[both], indices[both], weights[both].astype(float)


def edge_center(indptr, indices, weights, values, known):
    start, end, w = _known_edges(indptr, indices, weights, known)
    with np.errstate(invalid="ignore"):
        return w.sum(), (w @ values[start]) / w.sum(), (w @ values[end]) / w.sum()


def edge_correlation(indptr, indices, weights, values, known):
    start, end, w = _known_edges(indptr, indices, weights, known)
    if len(w) == 0 or np.ptp(values[start]) == 0:
        return np.nan
    covariance = np.cov(values[start], values[end], aweights=w, bias=True)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
