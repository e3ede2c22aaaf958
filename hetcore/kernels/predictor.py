"""Trees over binned data: which leaf a row falls into, and sums of leaf values.

A block of rows falls through a tree together: each node sorts its rows into those that go left and those that go right.
A node's numbers then stay in registers while its rows pass, and there is no branch for the processor to guess.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel

_BLOCK = 4096  # rows that fall together: their bins stay in the cache while all trees pass


def _sort_sides(bins, rows, limit, missing_left, order, buffer):
    """Bring the places of the rows that go left to the front of `order` (m,); return how many there are.

    A row goes left whose bin plus `missing_left`, in 8 bits, is at most `limit`: 1 turns the missing bin 255 into 0.
    """
    n_left, n_right = 0, 0
    for i in range(order.shape[0]):
        place = order[i]
        # adding missing_left turns the missing bin 255 into 0, so that one comparison serves missing rows as well
        goes_left = np.uint8(bins[rows[place]] + missing_left) <= limit
        order[n_left] = place
        buffer[n_right] = place
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        order[n_left + i] = buffer[i]
    return n_left


sort_sides = kernel(_sort_sides, allocates=False)


def _drop_rows(binned, rows, nodes, order, buffer, begins):
    """Let rows fall through one tree.

    Parameters
    ----------
    binned : (d, n) uint8
    rows : (m,) uint32
    nodes : (n_nodes,) NODE_DTYPE
    order, buffer : (m,) uint32
        `order` receives the places of the rows in `rows`, those of a leaf side by side.
    begins : (n_nodes, 2) int64
        Receives where in `order` each node's rows begin and end.
    """
    for i in range(rows.shape[0]):
        order[i] = i
    begins[0, 0] = 0
    begins[0, 1] = rows.shape[0]
    for node in range(nodes.shape[0]):  # children come after their parents
        record, begin, end = nodes[node], begins[node, 0], begins[node, 1]
        if record.left >= 0:
            side = np.int64(record.missing_left)
            # the node's numbers once, before its rows
            limit, inside = np.int64(record.threshold_bin) + side, order[begin:end]
            middle = begin + sort_sides(binned[record.feature], rows, limit, side, inside, buffer)
            begins[record.left, 0] = begin
            begins[record.left, 1] = middle
            begins[record.right, 0] = middle
            begins[record.right, 1] = end


drop_rows = kernel(_drop_rows, allocates=False)


def _find_leaves(binned, rows, nodes, leaf):
    """Write to `leaf` (m,) int32 the leaf of one tree for each of `rows` (m,) uint32."""
    order, buffer = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    begins = np.empty((nodes.shape[0], 2), np.int64)
    for first in range(0, rows.shape[0], _BLOCK):
        block = rows[first : first + _BLOCK]
        drop_rows(binned, block, nodes, order[: block.shape[0]], buffer, begins)
        for node in range(nodes.shape[0]):
            if nodes[node].left < 0:
                for i in range(begins[node, 0], begins[node, 1]):
                    leaf[first + order[i]] = node


find_leaves = kernel(_find_leaves)


def _add_leaf_values(out, leaf, values, scale):
    """Add scale * values[leaf[i]] to out[i], for values (n_nodes, K) and out (m, K), both float64."""
    for i in range(leaf.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] += scale * values[leaf[i], k]


add_leaf_values = kernel(_add_leaf_values, allocates=False)


def _predict_forest(binned, rows, nodes, values, starts, scales, out):
    """Add the scaled predictions of several trees to `out`.

    Parameters
    ----------
    binned : (d, n) uint8
    rows : (m,) uint32
        Rows to predict.
    nodes : (n_nodes,) NODE_DTYPE
        Tree after tree, children counted from the tree's own root.
    values : (n_nodes, K) float64
    starts : (n_trees + 1,) int64
    scales : (n_trees,) float64
    out : (m, K) float64
    """
    order, buffer = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    begins = np.empty((nodes.shape[0], 2), np.int64)
    for first in range(0, rows.shape[0], _BLOCK):
        block = rows[first : first + _BLOCK]
        # all trees over one block, then the next block: bins are read from memory once, nodes fit the cache
        for t in range(scales.shape[0]):
            tree = nodes[starts[t] : starts[t + 1]]
            drop_rows(binned, block, tree, order[: block.shape[0]], buffer, begins)
            for node in range(tree.shape[0]):
                if tree[node].left < 0:
                    for k in range(out.shape[1]):
                        value = scales[t] * values[starts[t] + node, k]
                        for i in range(begins[node, 0], begins[node, 1]):
                            out[first + order[i], k] += value


predict_forest = kernel(_predict_forest)


def _predict_parts(binned, rows, nodes, values, starts, scales, parts, out):
    """Add the scaled predictions of trees of one output to the first column of `out` and to that of their part.

    Parameters
    ----------
    binned, rows, nodes, values, starts, scales
        As of `predict_forest`, K = 1.
    parts : (n_trees,) int64
        The part of each tree, from 0.
    out : (m, 1 + n_parts) float64
    """
    order, buffer = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    begins = np.empty((nodes.shape[0], 2), np.int64)
    for first in range(0, rows.shape[0], _BLOCK):
        block = rows[first : first + _BLOCK]
        for t in range(scales.shape[0]):
            tree, part = nodes[starts[t] : starts[t + 1]], 1 + parts[t]
            drop_rows(binned, block, tree, order[: block.shape[0]], buffer, begins)
            for node in range(tree.shape[0]):
                if tree[node].left < 0:
                    value = scales[t] * values[starts[t] + node, 0]
                    for i in range(begins[node, 0], begins[node, 1]):
                        # the sum of all in the order of the trees: that of `predict_forest` to the last bit
                        out[first + order[i], 0] += value
                        out[first + order[i], part] += value


predict_parts = kernel(_predict_parts)
