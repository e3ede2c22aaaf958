"""Twin of `hetcore.kernels.grower`: a whole tree from masks and float64 sums, without bins added up or rows moved."""

from dataclasses import dataclass, field

import numpy as np

from tests.naive.packed_sums import output_hessian, packed_value


@dataclass
class Node:
    rows: np.ndarray
    depth: int
    split: tuple | None = None  # gain, column, bin, missing_left
    children: tuple = field(default=())


def partition(bins, threshold, missing_left, rows, buffer):
    left = (bins[rows] <= threshold) | ((bins[rows] == 255) & bool(missing_left))
    rows[:] = np.concatenate([rows[left], rows[~left]])
    return int(left.sum())


def write_value(total, layout, l2, value):
    for k in range(layout.n_outputs):
        weight = output_hessian(total, layout, k) + l2
        value[k] = -packed_value(total, layout, k) / weight if weight > 0 else 0.0


def score(G, H, l2):
    """Return sum_k G_k^2 / (H_k + l2)."""
    return (G**2 / np.maximum(H + l2, 1e-30)).sum()


def sides(bins, b, missing_left):
    """Return which rows go left."""
    return (bins <= b) | ((bins == 255) & bool(missing_left))


def gain_of(node, left, gradients, hessians, params):
    """Return the gain of a split, -inf for one that the limits forbid."""
    right = ~left
    if min(left.sum(), right.sum()) < params.min_samples_leaf:
        return -np.inf
    G, H = gradients[node.rows], hessians[node.rows]
    if min(H[left].sum(axis=0).mean(), H[right].sum(axis=0).mean()) < max(params.min_child_weight, 1e-30):
        return -np.inf
    parts = [score(G[side].sum(axis=0), H[side].sum(axis=0), params.l2) for side in (left, right)]
    return sum(parts) - score(G.sum(axis=0), H.sum(axis=0), params.l2)


def best_split(node, binned, gradients, hessians, columns, n_bins, params):
    """Return (gain, column, bin, missing_left) of the best split of a node, or None."""
    best = None
    total = score(gradients[node.rows].sum(axis=0), hessians[node.rows].sum(axis=0), params.l2)
    least = params.min_gain + 1e-12 * total
    for column in columns:
        bins = binned[column][node.rows]
        for missing_left in (0, 1) if (bins == 255).any() else (0,):
            for b in range(n_bins[column]):
                gain = gain_of(node, sides(bins, b, missing_left), gradients, hessians, params)
                if gain > (best[0] * (1 + 1e-12) if best else least):
                    # the missing alone on the right: whatever is known goes left
                    best = gain, column, b if (bins[bins < 255] > b).any() else 254, missing_left
    if best and not (binned[best[1]][node.rows] == 255).any():
        left = sides(binned[best[1]][node.rows], best[2], 0)
        best = (*best[:3], int(2 * left.sum() > len(left)))
    return best


def grow_tree(binned, gradients, hessians, rows, columns, n_bins, params):
    """Return the nodes of the tree, best gain first, as a list in the order of their making.

    `gradients` and `hessians` are (n, K); rows and columns are arrays.
    """
    tasks = binned, gradients.astype(float), hessians.astype(float), columns, n_bins, params
    nodes = [Node(np.asarray(rows), 0)]
    nodes[0].split = best_split(nodes[0], *tasks) if params.max_depth != 0 else None
    n_leaves = 1
    while n_leaves != params.max_leaf_nodes:
        ready = [node for node in nodes if node.split and not node.children]
        if not ready:
            break
        node = max(ready, key=lambda node: node.split[0])
        left = sides(binned[node.split[1]][node.rows], *node.split[2:])
        node.children = tuple(Node(node.rows[side], node.depth + 1) for side in (left, ~left))
        for child in node.children:
            child.split = best_split(child, *tasks) if child.depth != params.max_depth else None
        nodes += node.children
        n_leaves += 1
    return nodes
