"""Slopes of the loss for the rows that the members of an ensemble are grown on, and for no others."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


def _fitted(scores, out):
    """Write the probabilities of the scores (k,) of a row: of one score that of the second of two classes."""
    k = scores.shape[0]
    if k == 1:
        out[0] = 1.0 / (1.0 + np.exp(-scores[0]))
        return
    top = scores[0]
    for c in range(1, k):
        top = max(top, scores[c])
    total = 0.0
    for c in range(k):
        out[c] = np.exp(scores[c] - top)
        total += out[c]
    for c in range(k):
        out[c] /= total


fitted = kernel(_fitted, allocates=False)


def _write_slopes(scores, codes, pull, weight, rows, starts, room, gradients, hessians):
    """Write the first and second derivatives of the loss by the scores, of each member's own rows.

    Parameters
    ----------
    scores : (M, n, k) float64
        The first l rows are labelled, the next u are pulled.
    codes : (l, k) float64
        Targets of the labelled rows.
    pull : (M, u, k) float64
        Targets of the pulled rows, by member.
    weight : float32
        Of a pulled row, where a labelled one has 1.
    rows : (m,) uint32
        Member after member.
    starts : (M + 1,) int64
        Where each member's begin.
    room : (k,) float64
        Scratch.
    gradients, hessians : (M, l + u, k) float32
        Receive them; without hessians, of shape (M, l + u, 0), the loss is half the squared error.
    """
    for m in range(scores.shape[0]):
        for i in range(starts[m], starts[m + 1]):
            r = np.int64(rows[i])
            said = scores[m, r]
            labelled = r < codes.shape[0]
            target = codes[r] if labelled else pull[m, r - codes.shape[0]]
            w = np.float32(1.0) if labelled else weight
            if hessians.shape[2] == 0:
                for c in range(codes.shape[1]):
                    gradients[m, r, c] = np.float64(w) * (said[c] - target[c])
                continue
            fitted(said, room)
            for c in range(codes.shape[1]):
                gradients[m, r, c] = np.float64(w) * (room[c] - target[c])
                # the curvature weighs as the slope, so that a leaf of pulled rows takes the same step
                hessians[m, r, c] = np.float32(room[c] * (1.0 - room[c])) * w


write_slopes = kernel(_write_slopes, allocates=False)


def _farthest(scores, n):
    """Return the largest absolute value of the first n rows of scores (M, n', k); infinity if one is no number."""
    found = 0.0
    for m in range(scores.shape[0]):
        for r in range(n):
            for c in range(scores.shape[2]):
                value = abs(scores[m, r, c])
                # written so that NaN is seen too
                if not value <= found:
                    if np.isnan(value):
                        return np.inf
                    found = value
    return found


farthest = kernel(_farthest, allocates=False)
