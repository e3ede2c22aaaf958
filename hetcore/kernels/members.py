"""Trees of several members of an ensemble, grown in one call on one binned table, each on rows of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.grower import WHOLE, grow_tree
from hetcore.kernels.layout import Problem, Work
from hetcore.kernels.packed_sums import pack_rows
from hetcore.kernels.predictor import drop_rows


class Parts(NamedTuple):
    """What each of M members is grown on.

    Attributes
    ----------
    rows : (m,) uint32
        Rows, member after member.
    starts : (M + 1,) int64
        Where each member's rows begin in `rows`.
    columns, n_bins : (M, c) int32
        Columns that each may split by, and their bins.
    offsets : (M, c + 1) int64
        Where their bins begin in a histogram, see `layout.Problem`.
    """

    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    n_bins: np.ndarray
    offsets: np.ndarray


class Grown(NamedTuple):
    """One tree of each member.

    Attributes
    ----------
    nodes : (M, capacity) NODE_DTYPE
    values : (M, capacity, K) float64
    sizes : (M,) int64
        Nodes of each tree.
    leaves : (M, n) int32
        Leaf of every row of the table, grown on or not.
    """

    nodes: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    leaves: np.ndarray


def _fall(binned, nodes, leaf, rest, order, buffer, begins):
    """Write to `leaf` (n,) the leaf of each row that has -1 there: they fall through the tree.

    Parameters
    ----------
    rest, order, buffer : (n,) uint32
        Scratch for the numbers of those rows.
    begins : (capacity, 2) int64
        Scratch.
    """
    n = 0
    for i in range(leaf.shape[0]):
        rest[n] = i
        # written first, counted after: no branch, for which rows a member has not seen can't be guessed
        n += leaf[i] < 0
    drop_rows(binned, rest[:n], nodes, order[:n], buffer, begins)
    for node in range(nodes.shape[0]):
        if nodes[node].left < 0:
            for i in range(begins[node, 0], begins[node, 1]):
                leaf[rest[order[i]]] = node


fall = kernel(_fall, allocates=False)


def _grow_members(problem, parts, first, stop, params, work, scratch, gradients, hessians, grown, buffers, begins):
    """Grow a tree for each of the members first..stop-1.

    Parameters
    ----------
    problem : Problem
        Its columns, bins and offsets are those of `parts`, member by member.
    parts : Parts
    params : TreeParams
    work, scratch : Work, Scratch
        Scratch for the largest member.
    gradients, hessians : (M, n, K) and (M, n, P) float32
    grown : Grown
        Receives the trees.
    buffers : (3, n) uint32
        Scratch.
    begins : (capacity, 2) int64
        Scratch.

    Returns
    -------
    int
        0, or as `pack_rows`.
    """
    for k in range(first, stop):
        rows = parts.rows[parts.starts[k] : parts.starts[k + 1]]
        # a member's own columns; bins and words are shared, for the table is one and the words are written anew each
        # time
        own = Problem(
            problem.binned,
            parts.columns[k],
            parts.n_bins[k],
            parts.offsets[k],
            problem.packed,
            problem.layout,
            problem.kept_rows,
        )
        # the grower moves rows about; the member's own stay as they are for the next round
        moved = work.rows[: rows.shape[0]]
        for i in range(rows.shape[0]):
            moved[i] = rows[i]
        mine = Work(
            moved,
            work.buffer,
            work.ordered,
            work.pool,
            work.flat_pool,
            work.free,
            work.nodes,
            work.leaves,
            work.totals,
            work.open,
            work.state,
            work.found,
        )
        # packed for each member: units depend on the sum over its rows
        wrong = pack_rows(gradients[k], hessians[k], rows, own.packed, own.layout)
        if wrong != 0:
            return wrong
        grown.leaves[k] = -1
        size = grow_tree(own, params, mine, scratch, grown.values[k], grown.leaves[k], WHOLE)
        grown.sizes[k] = size
        for node in range(size):
            grown.nodes[k, node] = work.nodes[node]
        # rows that the member was not grown on get a leaf too: their scores are the out-of-fold ones
        fall(problem.binned, grown.nodes[k, :size], grown.leaves[k], buffers[0], buffers[1], buffers[2], begins)
    return 0


grow_members = kernel(_grow_members, allocates=False)


def _add_members(scores, leaves, values, rate):
    """Add rate * values[k, leaves[k, i]] to scores[k, i], for scores (M, n, K) and values (M, capacity, K)."""
    for k in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            for c in range(scores.shape[2]):
                scores[k, i, c] += rate * values[k, leaves[k, i], c]


add_members = kernel(_add_members, allocates=False)
