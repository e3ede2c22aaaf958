"""Twins of `hetcore.kernels.medians`."""

import numpy as np


def sum_between(values, low, high):
    return values[low:high].sum()


def median_of_three(values, low, high):
    return np.median([values[low], values[(low + high) // 2], values[high]])


def weighted_median(values, weights):
    """As the kernel, but that the arrays keep their order."""
    if len(values) == 0:
        return np.nan
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(weights[order])
    at = int(np.argmax(reached >= reached[-1] / 2))
    higher = values[values > values[at]]
    exactly = reached[values == values[at]][-1] == reached[-1] / 2
    return (values[at] + higher[0]) / 2 if exactly else values[at]


def group_by_leaf(leaf, n_nodes):
    counts = np.bincount(leaf, minlength=n_nodes)
    return np.argsort(leaf, kind="stable"), np.concatenate([[0], np.cumsum(counts)])


def leaf_medians(leaf, targets, weights, values):
    for node in range(len(values)):
        inside = (leaf == node) & (weights > 0)
        if inside.any():
            for k in range(values.shape[1]):
                values[node, k] = weighted_median(targets[inside, k], weights[inside])


def sort_lanes(values, m):
    """Return the first m rows with each column in order."""
    return np.sort(values[:m], axis=0)
