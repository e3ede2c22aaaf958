"""Weighted medians by selection, without sorting; the medians of a tree's leaves; medians of many short lists at once.

Short lists stand side by side in the lanes of a table and are sorted by one network: what is compared does not depend
on the values, so that nothing is guessed, and the processor takes several lists in one instruction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel

LANES = 16  # lists side by side: two to four vectors of the processor
LONGEST = 32  # a longer list is selected from by itself, which takes time in proportion to its length alone


def _swap(values, weights, i, j):
    values[i], values[j] = values[j], values[i]
    weights[i], weights[j] = weights[j], weights[i]


swap = kernel(_swap, allocates=False)


def _median_of_three(values, low, high):
    """Return the middle one of the first, middle and last of values[low..high]."""
    # of three, not the first: sorted values, as counts often are, would take time in the square of their number
    a, b, c = values[low], values[(low + high) // 2], values[high]
    return max(min(a, b), min(max(a, b), c))


median_of_three = kernel(_median_of_three, allocates=False)


def _three_way(values, weights, low, high, pivot):
    """Order values[low..high] into below, equal to and above the pivot; return where the equal ones begin and end."""
    less, i, more = low, low, high
    # three ways: labels repeat, and equal values would otherwise be parted one by one
    while i <= more:
        if values[i] < pivot:
            swap(values, weights, i, less)
            less += 1
            i += 1
        elif values[i] > pivot:
            swap(values, weights, i, more)
            more -= 1
        else:
            i += 1
    return less, more


three_way = kernel(_three_way, allocates=False)


def _sum_between(values, low, high):
    total = 0.0
    for i in range(low, high):
        total += values[i]
    return total


sum_between = kernel(_sum_between, allocates=False)


def _weighted_median(values, weights):
    """Return the weighted median of `values` (m,), reordering both arrays; every weight is positive; NaN for no values.

    It is the smallest v such that the weight at or below v is at least half; where that is exactly half, the mean of
    v and the next value. With equal weights that is the usual median.
    """
    half = 0.5 * sum_between(weights, 0, weights.shape[0])
    low, high, below = 0, values.shape[0] - 1, 0.0
    while low <= high:
        pivot = median_of_three(values, low, high)
        less, more = three_way(values, weights, low, high, pivot)
        lighter = below + sum_between(weights, low, less)
        if lighter >= half:
            high = less - 1
            continue
        below = lighter + sum_between(weights, less, more + 1)
        if below > half:
            return pivot
        # exactly half the weight lies below: the median is the middle between this value and the next one
        if below == half:
            following = np.inf
            for i in range(more + 1, values.shape[0]):
                following = min(following, values[i])
            return 0.5 * (pivot + following)
        low = more + 1
    return np.nan


weighted_median = kernel(_weighted_median, allocates=False)


def _group_by_leaf(leaf, n_nodes):
    """Return the order that brings the rows of a leaf together, and where each leaf's rows begin (n_nodes + 1,)."""
    begins = np.zeros(n_nodes + 1, np.int64)
    for node in leaf:
        begins[node + 1] += 1
    for node in range(n_nodes):
        begins[node + 1] += begins[node]
    place, order = begins.copy(), np.empty(leaf.shape[0], np.int64)
    # a counting sort, for rows of a leaf are then one stretch that medians are selected in
    for i in range(leaf.shape[0]):
        order[place[leaf[i]]] = i
        place[leaf[i]] += 1
    return order, begins


group_by_leaf = kernel(_group_by_leaf)


def _leaf_medians(leaf, targets, weights, values):
    """Replace the values of leaves by the weighted medians of their rows' targets.

    Parameters
    ----------
    leaf : (m,) int32
        Leaf of each row.
    targets : (m, K) float64
    weights : (m,) float64
        Rows of weight 0 are left out; a leaf without others keeps its value.
    values : (n_nodes, K) float64
        Changed in place.
    """
    order, begins = group_by_leaf(leaf, values.shape[0])
    inside, weight = np.empty(leaf.shape[0]), np.empty(leaf.shape[0])
    for node in range(values.shape[0]):
        for k in range(values.shape[1]):
            m = 0
            for i in order[begins[node] : begins[node + 1]]:
                # a weight of 0 is not there; selection needs positive ones
                if weights[i] > 0.0:
                    inside[m], weight[m] = targets[i, k], weights[i]
                    m += 1
            if m > 0:
                values[node, k] = weighted_median(inside[:m], weight[:m])


leaf_medians = kernel(_leaf_medians)


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
