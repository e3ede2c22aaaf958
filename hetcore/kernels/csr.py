"""What neighbours say in a graph in CSR: `indices[indptr[i]:indptr[i + 1]]` are the neighbours of i."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


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
