"""Twins of `hetcore.kernels.predictor`."""

import numpy as np


def walk(binned, rows, steps, depth, leaf):
    for i, row in enumerate(rows):
        at = 0
        while steps[at]["left"] != at:
            step = steps[at]
            level = (int(binned[step["feature"], row]) + int(step["missing_left"])) % 256
            at = step["left"] if level <= step["limit"] else step["right"]
        leaf[i] = at


find_leaves = walk


def add_leaf_values(out, leaf, values, scale):
    out += scale * values[leaf]


def predict_forest(binned, rows, steps, values, starts, depths, scales, out):
    for t in range(len(depths)):
        nodes, leaf = slice(starts[t], starts[t + 1]), np.empty(len(rows), np.int32)
        walk(binned, rows, steps[nodes], depths[t], leaf)
        add_leaf_values(out, leaf, values[nodes], scales[t])
