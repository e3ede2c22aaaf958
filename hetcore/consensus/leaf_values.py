"""Newton values of the leaves of a tree that was grown on residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.trees import Tree

__all__ = ["curvature_of", "leaf_sums", "set_newton_leaves"]

LEAF_LIMIT = 4.0  # largest Newton step of a class score
MOST_MEMBERS = 1_000_000  # nodes times rows above which sums over leaves are not taken by a matrix


def curvature_of(residual: NDArray[np.float64], is_classifier: bool) -> NDArray[np.float64]:
    """Return the second derivative (m, K) of the loss where the residual is code less probability, or a number's.

    A code is 0 or 1, so that p (1 - p) can be told from the residual alone.
    """
    size = np.abs(residual)
    return size * (1.0 - size) if is_classifier else np.ones_like(residual)


def set_newton_leaves(tree: Tree, rows: NDArray, residual: NDArray, l2: float, is_classifier: bool) -> None:
    """Replace leaf means by residual / (curvature + l2), times (K - 1) / K for K class scores, one spare.

    Parameters
    ----------
    tree : Tree
        Its `values` change in place.
    rows : (m,) int
        Rows that it was grown on.
    residual : (m, K) float64
    l2 : float
    is_classifier : bool
    """
    leaf, nodes, K = tree.row_leaf[rows], tree.nodes.size, residual.shape[1]
    curvature = curvature_of(residual, is_classifier)
    tree.values[:] = leaf_sums(leaf, nodes, residual) / (leaf_sums(leaf, nodes, curvature) + l2)
    if is_classifier:
        np.clip(tree.values, -LEAF_LIMIT, LEAF_LIMIT, out=tree.values)
        tree.values *= (K - 1) / K


def leaf_sums(leaf: NDArray, n_nodes: int, values: NDArray) -> NDArray[np.float64]:
    """Return the sums (n_nodes, K) of values (m, K) over the rows of each leaf (m,)."""
    if n_nodes * leaf.size > MOST_MEMBERS:
        return np.stack([np.bincount(leaf, column, n_nodes) for column in values.T], axis=1)
    member = np.zeros((n_nodes, leaf.size))
    member[leaf, np.arange(leaf.size)] = 1.0
    return member @ values
