"""Medians of many short lists at once: lists side by side in the lanes of a table, sorted by one network.

What is compared does not depend on the values, so that nothing is guessed, and the processor takes several lists in one
instruction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel

LANES = 16  # lists side by side: two to four vectors of the processor
LONGEST = 32  # a longer list is selected from by itself, which takes time in proportion to its length alone


class Lanes(NamedTuple):
    """LANES lists side by side.

    Attributes
    ----------
    near : (LONGEST, LANES) int32
        Whose values stand in `values`.
    signs, values : (LONGEST, LANES) float64
    counts : (LANES,) int64
        How many values of a lane count; 0 for none.
    medians : (LANES,) float64
    """

    near: np.ndarray
    signs: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    medians: np.ndarray


def _make_lanes():
    """Return empty lanes."""
    near, counts = np.zeros((LONGEST, LANES), np.int32), np.zeros(LANES, np.int64)
    return Lanes(near, np.zeros((LONGEST, LANES)), np.zeros((LONGEST, LANES)), counts, np.zeros(LANES))


make_lanes = kernel(_make_lanes)


def _sort_lanes(values, m):
    """Sort the first m rows of each column of `values` (LONGEST, LANES), smallest first.

    References
    ----------
    D. E. Knuth, "The Art of Computer Programming", volume 3, section 5.2.2, algorithm M (K. Batcher's merge exchange).
    """
    # Batcher's merge exchange, here for any m and not only for powers of two
    top = 1
    while 2 * top < m:
        top *= 2
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            for i in range(m - d):
                if i & p == r:
                    for lane in range(LANES):
                        a, b = values[i, lane], values[i + d, lane]
                        # a choice of values rather than a branch: the compiler makes minimum and maximum of vectors of
                        # it
                        values[i, lane] = a if a < b else b
                        values[i + d, lane] = b if a < b else a
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


sort_lanes = kernel(_sort_lanes, allocates=False)


def _most_in_lanes(counts):
    most = 0
    for lane in range(LANES):
        most = max(most, counts[lane])
    return most


most_in_lanes = kernel(_most_in_lanes, allocates=False)


def _neighbor_medians(lanes, messages, c):
    """Write the medians of column c of `messages` (n, W), times the signs, over the rows `near` of each lane."""
    most = most_in_lanes(lanes.counts)
    for at in range(most):
        # past a shorter list's end infinity, which sorts behind: all lanes run the same network
        for lane in range(LANES):
            lanes.values[at, lane] = np.inf
    for lane in range(LANES):
        for at in range(lanes.counts[lane]):
            lanes.values[at, lane] = lanes.signs[at, lane] * messages[lanes.near[at, lane], c]
    sort_lanes(lanes.values, most)
    for lane in range(LANES):
        # a lane without values has only infinity; whoever asked does not read its median
        m = max(lanes.counts[lane], 1)
        lanes.medians[lane] = 0.5 * (lanes.values[(m - 1) // 2, lane] + lanes.values[m // 2, lane])


neighbor_medians = kernel(_neighbor_medians, allocates=False)
