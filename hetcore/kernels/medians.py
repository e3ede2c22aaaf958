"""Weighted medians by selection, without sorting, and the medians of a tree's leaves."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


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
