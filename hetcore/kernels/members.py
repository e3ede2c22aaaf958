"""Trees of several members of an ensemble, grown in one call on one binned table, each on rows of its own.

Before that the slopes of the loss, of the rows that each member is grown on and of no others.
"""

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


fall = kernel(_fall, allocates=False, shared=True)


def _grow_member(problem, parts, k, params, work, scratch, gradients, hessians, found, buffers, begins):
    """Grow the tree of member k on `gradients` (n, K) and `hessians` (n, P), and find the leaf of each row.

    Parameters
    ----------
    problem, parts, params, work, scratch, buffers, begins
        As of `grow_members`.
    found : (nodes (capacity,), values (capacity, K), leaves (n,))
        Receive the tree, and the leaf of every row of the table.

    Returns
    -------
    int
        Nodes of the tree; below 0 as `pack_rows`, negated.
    """
    nodes, values, leaves = found
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
    wrong = pack_rows(gradients, hessians, rows, own.packed, own.layout)
    if wrong != 0:
        return -wrong
    for i in range(leaves.shape[0]):
        leaves[i] = -1
    size = grow_tree(own, params, mine, scratch, values, leaves, WHOLE)
    for node in range(size):
        nodes[node] = work.nodes[node]
    # rows that the member was not grown on get a leaf too: their scores are the out-of-fold ones
    fall(problem.binned, nodes[:size], leaves, buffers[0], buffers[1], buffers[2], begins)
    return size


grow_member = kernel(_grow_member, allocates=False)


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
        found = grown.nodes[k], grown.values[k], grown.leaves[k]
        given = gradients[k], hessians[k]
        size = grow_member(problem, parts, k, params, work, scratch, given[0], given[1], found, buffers, begins)
        if size < 0:
            return -size
        grown.sizes[k] = size
    return 0


grow_members = kernel(_grow_members, allocates=False)


def _add_members(scores, leaves, values, rate):
    """Add rate * values[k, leaves[k, i]] to scores[k, i], for scores (M, n, K) and values (M, capacity, K)."""
    for k in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            for c in range(scores.shape[2]):
                scores[k, i, c] += rate * values[k, leaves[k, i], c]


add_members = kernel(_add_members, allocates=False)


def _fitted(scores, out):
    """Write the probabilities of the scores (k,) of a row: of one score that of the second of two classes."""
    k = scores.shape[0]
    if k == 1:
        out[0] = 1.0 / (1.0 + np.exp(-scores[0]))
        return
    top = scores[0]
    for c in range(1, k):
        top = max(top, scores[c])
    total = 0.0
    for c in range(k):
        out[c] = np.exp(scores[c] - top)
        total += out[c]
    for c in range(k):
        out[c] /= total


fitted = kernel(_fitted, allocates=False)


def _write_slopes(scores, codes, pull, weight, rows, room, gradients, hessians):
    """Write the first and second derivatives of the loss by a member's scores, of its own rows.

    Parameters
    ----------
    scores : (n, k) float64
        The first l rows are labelled, the next u are pulled.
    codes : (l, k) float64
        Targets of the labelled rows.
    pull : (u, k) float64
        Targets of the pulled rows.
    weight : float32
        Of a pulled row, where a labelled one has 1.
    rows : (m,) uint32
    room : (k,) float64
        Scratch.
    gradients, hessians : (l + u, k) float32
        Receive them; without hessians, of shape (l + u, 0), the loss is half the squared error.
    """
    for i in range(rows.shape[0]):
        r = np.int64(rows[i])
        own = scores[r]
        labelled = r < codes.shape[0]
        target = codes[r] if labelled else pull[r - codes.shape[0]]
        w = np.float32(1.0) if labelled else weight
        if hessians.shape[1] == 0:
            for c in range(codes.shape[1]):
                gradients[r, c] = np.float64(w) * (own[c] - target[c])
            continue
        fitted(own, room)
        for c in range(codes.shape[1]):
            gradients[r, c] = np.float64(w) * (room[c] - target[c])
            # the curvature weighs as the slope, so that a leaf of pulled rows takes the same step
            hessians[r, c] = np.float32(room[c] * (1.0 - room[c])) * w


write_slopes = kernel(_write_slopes, allocates=False)


def _take_step(scores, values, leaves, size, rate, limit):
    """Hold the values (size, K) of a tree within a limit, and add them, times the rate, to the scores (n, K)."""
    for node in range(size):
        for c in range(scores.shape[1]):
            values[node, c] = min(max(values[node, c], -limit), limit)
    for i in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            scores[i, c] += rate * values[leaves[i], c]


take_step = kernel(_take_step, allocates=False)


def _boost_members(problem, parts, members, rounds, params, work, scratch, learned, slopes, grown, buffers, begins):
    """Grow tree after tree for some members on the slopes of the loss, labels and what pulls, that those before leave.

    Parameters
    ----------
    problem, parts, members, rounds, params, work, scratch, grown, buffers, begins
        As of `grow_rounds`.
    learned : (scores (M, n, K), codes (l, K), pull (M, u, K), weight, rate, limit)
        The first four as of `write_slopes`; scores of all rows go on with the trees, times the rate, leaves being
        held within the limit.
    slopes : (gradients (M, l + u, K), hessians (M, l + u, P), room (M, K))
        Written here.

    Returns
    -------
    int
        0, or as `pack_rows`.
    """
    (scores, codes, pull, weight, rate, limit), (gradients, hessians, room) = learned, slopes
    for k in range(members[0], members[1]):
        for t in range(rounds[0], rounds[1]):
            at = k * rounds[2] + t
            rows, g, h = parts.rows[parts.starts[at] : parts.starts[at + 1]], gradients[k], hessians[k]
            write_slopes(scores[k], codes, pull[k], weight, rows, room[k], g, h)
            found = grown.nodes[at], grown.values[at], grown.leaves[k]
            size = grow_member(problem, parts, at, params, work, scratch, g, h, found, buffers, begins)
            if size < 0:
                return -size
            grown.sizes[at] = size
            take_step(scores[k], grown.values[at], grown.leaves[k], size, rate, limit)
    return 0


boost_members = kernel(_boost_members, allocates=False)


def _grow_rounds(problem, parts, members, rounds, params, work, scratch, learned, slopes, grown, buffers, begins):
    """Grow tree after tree for some members, each on what those before it leave.

    Parameters
    ----------
    problem, params, work, scratch, buffers, begins
        As of `grow_members`.
    parts : Parts
        Of tree t of member k at k * T + t.
    members, rounds : (first, stop), (first, stop, T)
        Which members, and which of their T trees.
    learned : (target (n, K), scores (M, n, K), added (M, n, K), rate) of float64
        Scores of all rows go on with the trees, times the rate; so does what they add.
    slopes : (gradients (M, n, K), hessians (M, n, P)) of float32
        Written here where there are no hessians: of half the squared error. Else those of the only round.
    grown : Grown
        Receives the trees, at k * T + t, and member k's leaves of the last.

    Returns
    -------
    int
        0, or as `pack_rows`.
    """
    (target, scores, added, rate), (gradients, hessians) = learned, slopes
    for k in range(members[0], members[1]):
        for t in range(rounds[0], rounds[1]):
            at = k * rounds[2] + t
            if hessians.shape[2] == 0:
                for r in parts.rows[parts.starts[at] : parts.starts[at + 1]]:
                    for c in range(target.shape[1]):
                        gradients[k, r, c] = scores[k, r, c] - target[r, c]
            found = grown.nodes[at], grown.values[at], grown.leaves[k]
            given = gradients[k], hessians[k]
            size = grow_member(problem, parts, at, params, work, scratch, given[0], given[1], found, buffers, begins)
            if size < 0:
                return -size
            grown.sizes[at] = size
            for i in range(target.shape[0]):
                for c in range(target.shape[1]):
                    step = rate * grown.values[at, grown.leaves[k, i], c]
                    scores[k, i, c] += step
                    added[k, i, c] += step
    return 0


grow_rounds = kernel(_grow_rounds, allocates=False)


def _farthest(scores, n):
    """Return the largest absolute value of the first n rows of scores (M, n', k); infinity if one is no number."""
    found = 0.0
    for m in range(scores.shape[0]):
        for r in range(n):
            for c in range(scores.shape[2]):
                value = abs(scores[m, r, c])
                # written so that NaN is seen too
                if not value <= found:
                    if np.isnan(value):
                        return np.inf
                    found = value
    return found


farthest = kernel(_farthest, allocates=False)
