"""What neighbours say in a graph in CSR: `indices[indptr[i]:indptr[i + 1]]` are the neighbours of i."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.medians import weighted_median


def _neighbor_means(indptr, indices, weights, values, known, fill):
    """Average over the known neighbours, by the weights of the edges.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
        Not negative.
    values : (n, K) float64
        May be NaN where not known.
    known : (n,) bool
        Neighbours that count.
    fill : float
        Mean of an instance none of whose neighbours is known with a positive weight.

    Returns
    -------
    means : (n, K) float64
    totals : (n,) float64
        Weight of the known neighbours.
    """
    n = indptr.shape[0] - 1
    means, totals = np.zeros((n, values.shape[1])), np.zeros(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j, weight = indices[e], np.float64(weights[e])
            if known[j] and weight > 0.0:
                totals[i] += weight
                for k in range(values.shape[1]):
                    means[i, k] += weight * values[j, k]
        for k in range(values.shape[1]):
            means[i, k] = means[i, k] / totals[i] if totals[i] > 0.0 else fill
    return means, totals


neighbor_means = kernel(_neighbor_means)


def _hearsay(indptr, indices, weights, values, voices, hears):
    """Add up what the neighbours say, each with its voice, in one pass; who listens decides which of several says.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
        Not negative.
    values : (s, n, K) float64
        What each instance says, to each of s kinds of listeners.
    voices : (n,) float64
        How loudly each instance speaks; the silent (0) are passed over.
    hears : (n,) int64
        Kind of listener of each instance, in 0..s-1.

    Returns
    -------
    sums : (n, K) float64
        Weight times voice times value, over the neighbours.
    totals : (n,) float64
        Weight times voice.
    """
    n, width = indptr.shape[0] - 1, values.shape[2]
    sums, totals = np.zeros((n, width)), np.zeros(n)
    for i in range(n):
        said = values[hears[i]]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            voice = voices[j] * weights[e]
            if voice > 0.0:
                totals[i] += voice
                for k in range(width):
                    sums[i, k] += voice * said[j, k]
    return sums, totals


hearsay = kernel(_hearsay)


def _widest(indptr):
    """Return the largest number of neighbours."""
    widest = 0
    for i in range(indptr.shape[0] - 1):
        widest = max(widest, np.int64(indptr[i + 1] - indptr[i]))
    return widest


widest = kernel(_widest)


def _neighbor_medians(indptr, indices, weights, values, known, fill):
    """Take weighted medians over the known neighbours; parameters as for `neighbor_means`.

    Returns
    -------
    medians : (n, K) float64
    """
    n, room = indptr.shape[0] - 1, widest(indptr)
    medians = np.full((n, values.shape[1]), fill)
    inside, weight = np.empty(room), np.empty(room)
    for i in range(n):
        for k in range(values.shape[1]):
            m = 0
            for e in range(indptr[i], indptr[i + 1]):
                if known[indices[e]] and weights[e] > 0.0:
                    inside[m], weight[m] = values[indices[e], k], weights[e]
                    m += 1
            if m > 0:
                medians[i, k] = weighted_median(inside[:m], weight[:m])
    return medians


neighbor_medians = kernel(_neighbor_medians)


def _edge_center(indptr, indices, weights, values, known):
    """Return the weight of the edges between known instances, and their ends' mean values (from, to)."""
    total, start, end = 0.0, 0.0, 0.0
    for i in range(indptr.shape[0] - 1):
        if known[i]:
            for e in range(indptr[i], indptr[i + 1]):
                if known[indices[e]] and weights[e] > 0.0:
                    total += weights[e]
                    start += weights[e] * values[i]
                    end += weights[e] * values[indices[e]]
    return total, start / total, end / total


edge_center = kernel(_edge_center)


def _edge_correlation(indptr, indices, weights, values, known):
    """Return the weighted Pearson correlation of the values at both ends of the edges between known instances.

    Parameters
    ----------
    indptr, indices, weights
        CSR with each edge in both directions; weights of 1 give the plain correlation.
    values : (n,) float64
    known : (n,) bool

    Returns
    -------
    float
        In [-1, 1]; NaN without such an edge and for values that do not vary over them.
    """
    total, start, end = edge_center(indptr, indices, weights, values, known)
    xx, yy, xy = 0.0, 0.0, 0.0
    for i in range(indptr.shape[0] - 1):
        if known[i]:
            x = values[i] - start
            for e in range(indptr[i], indptr[i + 1]):
                if known[indices[e]] and weights[e] > 0.0:
                    y = values[indices[e]] - end
                    xx += weights[e] * x * x
                    yy += weights[e] * y * y
                    xy += weights[e] * x * y
    noise = 1e-30 * total * (start * start + end * end)
    if not (xx > noise and yy > noise):
        return np.nan
    return min(1.0, max(-1.0, xy / np.sqrt(xx * yy)))


edge_correlation = kernel(_edge_correlation)
