"""Trees over binned data: which leaf a row falls into, and sums of leaf values."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel

STEP_DTYPE = np.dtype(
    [("feature", np.int32), ("left", np.int32), ("right", np.int32), ("limit", np.int16), ("missing_left", np.int16)]
)
"""A node to walk by: a row with bin + missing_left (in 8 bits) <= limit goes left; a leaf leads to itself."""

_BLOCK = 512  # rows that walk together: their bins stay near while all trees pass


def _walk(binned, rows, steps, depth, leaf):
    """Write to `leaf` (m,) the node of one tree that each row ends in after `depth` steps.

    Each step takes all rows down one level, so that the processor overlaps their look-ups and never guesses a branch.
    """
    leaf[:] = 0
    for _ in range(depth):
        for i in range(rows.shape[0]):
            step = steps[leaf[i]]
            level = np.uint8(binned[step.feature, rows[i]] + step.missing_left)
            leaf[i] = step.left if level <= step.limit else step.right


walk = kernel(_walk, allocates=False)


def _add_leaf_values(out, leaf, values, scale):
    """Add scale * values[leaf[i]] to out[i], for values (n_nodes, K) and out (m, K), both float64."""
    for i in range(leaf.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] += scale * values[leaf[i], k]


add_leaf_values = kernel(_add_leaf_values, allocates=False)


def _find_leaves(binned, rows, steps, depth, leaf):
    """Write to `leaf` (m,) int32 the leaf of one tree for each of `rows` (m,) uint32, block by block."""
    for first in range(0, rows.shape[0], _BLOCK):
        part = slice(first, min(first + _BLOCK, rows.shape[0]))
        walk(binned, rows[part], steps, depth, leaf[part])


find_leaves = kernel(_find_leaves, allocates=False)


def _predict_forest(binned, rows, steps, values, starts, depths, scales, out):
    """Add the scaled predictions of several trees to `out`.

    Parameters
    ----------
    binned : (d, n) uint8
    rows : (m,) uint32
        Rows to predict.
    steps : (n_nodes,) STEP_DTYPE
        All trees' nodes, tree after tree, children counted from the tree's own root.
    values : (n_nodes, K) float64
    starts : (n_trees + 1,) int64
    depths : (n_trees,) int64
    scales : (n_trees,) float64
    out : (m, K) float64
    """
    leaf = np.empty(_BLOCK, np.int32)
    for first in range(0, rows.shape[0], _BLOCK):
        stop = min(first + _BLOCK, rows.shape[0])
        m = stop - first
        for t in range(depths.shape[0]):
            begin, end = starts[t], starts[t + 1]
            walk(binned, rows[first:stop], steps[begin:end], depths[t], leaf[:m])
            add_leaf_values(out[first:stop], leaf[:m], values[begin:end], scales[t])


predict_forest = kernel(_predict_forest)
