"""Twins of `hetcore.kernels.members`: one member after the other, by `trees.grow`."""

import numpy as np

from hetcore.trees import grow


def grow_members(binned, gradients, hessians, rows, columns, params, n_bins):
    """Return a tree of each member, and the leaf (M, n) of every row."""
    each = [
        grow(binned, g, h if h.shape[1] else None, own, chosen, params, n_bins)
        for g, h, own, chosen in zip(gradients, hessians, rows, columns)
    ]
    return each, np.array([tree.apply(binned) for tree in each])


def add_members(scores, leaves, values, rate):
    for k in range(len(scores)):
        scores[k] += rate * values[k][leaves[k]]
