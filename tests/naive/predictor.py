"""Twins of `hetcore.kernels.predictor`."""

import numpy as np


def sort_sides(bins, rows, limit, missing_left, order, buffer):
    left = (bins[rows[order]].astype(int) + missing_left) % 256 <= limit
    order[:] = np.concatenate([order[left], order[~left]])
    return int(left.sum())


def find_leaves(binned, rows, nodes, leaf):
    for i, row in enumerate(rows):
        at = 0
        while nodes[at]["left"] >= 0:
            node = nodes[at]
            bin_ = binned[node["feature"], row]
            goes_left = bool(node["missing_left"]) if bin_ == 255 else bin_ <= node["threshold_bin"]
            at = node["left"] if goes_left else node["right"]
        leaf[i] = at


def add_leaf_values(out, leaf, values, scale):
    out += scale * values[leaf]


def predict_forest(binned, rows, nodes, values, starts, scales, out):
    for t in range(len(scales)):
        part, leaf = slice(starts[t], starts[t + 1]), np.empty(len(rows), np.int32)
        find_leaves(binned, rows, nodes[part], leaf)
        add_leaf_values(out, leaf, values[part], scales[t])


def predict_parts(binned, rows, nodes, values, starts, scales, parts, out):
    for t in range(len(scales)):
        own = np.zeros((len(rows), 1))
        predict_forest(binned, rows, nodes, values, starts[t : t + 2], scales[t : t + 1], own)
        out[:, [0, 1 + parts[t]]] += own
