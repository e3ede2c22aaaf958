"""Oblivious trees of several members in one call: all nodes of a level part by the same column and cut.

1  sort the rows by the bins of each column
2  until no column gains, or the levels are enough:
3      for each column: pass the rows, in that order, from the right to the left child of their node; between two bins,
           sum over the nodes what both children explain. Columns of few bins whose histograms say that they explain
           less than another one are left out
4      part every node by the best column and cut

What a level gains is a sum over all rows, so that a split that pays only together with those above it (a product, an
exclusive or) stands out where a search node by node has too few rows to tell. The tree is that of Prokhorenkova et
al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018, section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.grower import write_leaf
from hetcore.kernels.layout import ALL_KNOWN, MISSING_BIN
from hetcore.kernels.members import fall, take_step, write_slopes
from hetcore.kernels.vector import move_pair, move_row

FEW_CELLS = 2  # rows for each bin of each node, from which on a column's histograms are asked first
ROUGH = 1e-6  # of what a column explains, by which its histograms may be wrong


class Levels(NamedTuple):
    """Room to grow an oblivious tree of at most L leaves in, on at most m rows and c columns.

    Attributes
    ----------
    order : (c, m) uint32
        Of each column, rows by place in the order of their bins.
    bins : (c, 256) uint8
        These bins.
    ends : (c, 256) uint32
        Where the rows of each of them end.
    n_bins : (c,) int64
        How many they are.
    begins : (257,) int64
        Where the rows of each bin begin.
    leaf : (m,) uint32
        In which node of the level each row is.
    slopes : (m, W) float32
        Gradients of each row, then as many hessians. W is 2, or twice the outputs with nothing after them up to a
        multiple of four.
    totals : (L, W) float64
        Of each node.
    sums : (L, 2, W) float64
        Of its left and its right child.
    held, uncut : (L,) float64
        What these explain, and what they do while all rows are on the right.
    moved : (m,) float64
        What all nodes explain once the rows up to each one are on the left.
    cells : (m, 2) float64
        Histograms of a column of few bins, node after node.
    rough : (c,) float64
        What each column explains by them.
    """

    order: np.ndarray
    bins: np.ndarray
    ends: np.ndarray
    n_bins: np.ndarray
    begins: np.ndarray
    leaf: np.ndarray
    slopes: np.ndarray
    totals: np.ndarray
    sums: np.ndarray
    held: np.ndarray
    uncut: np.ndarray
    moved: np.ndarray
    cells: np.ndarray
    rough: np.ndarray


def _sort_rows(binned, columns, rows, levels):
    """Line 1; rows of a bin stay in order."""
    begins = levels.begins
    for q in range(columns.shape[0]):
        bins = binned[columns[q]]
        begins[:] = 0
        for i in range(rows.shape[0]):
            begins[np.int64(bins[rows[i]]) + 1] += 1
        k = 0
        for b in range(256):
            if begins[b + 1] > 0:
                levels.bins[q, k] = b
                levels.ends[q, k] = begins[b] + begins[b + 1]
                k += 1
            begins[b + 1] += begins[b]
        levels.n_bins[q] = k
        for i in range(rows.shape[0]):
            b = np.int64(bins[rows[i]])
            levels.order[q, begins[b]] = i
            begins[b] += 1


sort_rows = kernel(_sort_rows, allocates=False)


def _explained(left, right, l2):
    """Return the sum over both children, of sums (W,), and the outputs of G^2 / (H + l2)."""
    found, half = 0.0, left.shape[0] // 2
    # one division for both children
    for k in range(half):
        a, b = left[half + k] + l2, right[half + k] + l2
        found += (left[k] * left[k] * b + right[k] * right[k] * a) / (a * b)
    return found


explained = kernel(_explained, allocates=False, reorders=True)


def _explain_uncut(n_nodes, l2, levels):
    """Return what all nodes explain while all of their rows are on the right, which no column changes."""
    found = 0.0
    for node in range(n_nodes):
        for c in range(levels.totals.shape[1]):
            levels.sums[node, 0, c] = 0.0
            levels.sums[node, 1, c] = levels.totals[node, c]
        levels.uncut[node] = explained(levels.sums[node, 0], levels.sums[node, 1], l2)
        found += levels.uncut[node]
    return found


explain_uncut = kernel(_explain_uncut, allocates=False)


def _search_column(q, n_nodes, now, best, l2, levels):
    """Line 3 for column q; return what its best cut explains, or `best` if none explains more, and the cut or -1.

    Uncut all nodes explain `now`.
    """
    order, ends, slopes = levels.order[q], levels.ends[q], levels.slopes
    sums, held, moved = levels.sums, levels.held, levels.moved
    width, cut, n_cuts = slopes.shape[1], -1, levels.n_bins[q] - 1
    if n_cuts < 1:
        return best, cut
    for node in range(n_nodes):
        for c in range(width):
            sums[node, 0, c] = 0.0
            sums[node, 1, c] = levels.totals[node, c]
        held[node] = levels.uncut[node]
    # rows of the last bin have no cut after them; what is compared in the same loop makes it twice as long
    for i in range(ends[n_cuts - 1]):
        place = order[i]
        node = levels.leaf[place]
        both = move_pair(sums, node, slopes, place, l2) if width == 2 else move_row(sums, node, slopes, place, l2)
        now += both - held[node]
        held[node] = both
        moved[i] = now
    for k in range(n_cuts):
        if moved[ends[k] - 1] > best:
            best, cut = moved[ends[k] - 1], k
    if cut >= 0:
        # what is missing comes last: cut off alone, it is told from values above all that were met too
        cut = ALL_KNOWN if levels.bins[q, cut + 1] == MISSING_BIN else np.int64(levels.bins[q, cut])
    return best, cut


search_column = kernel(_search_column, allocates=False)


def _fill_cells(q, n_nodes, levels):
    """Write the histograms of all nodes by column q, of gradients and hessians."""
    order, ends, leaf, n = levels.order[q], levels.ends[q], levels.leaf, levels.n_bins[q]
    widest, most, begin = 0, ends[0], np.uint32(0)
    for k in range(1, n):
        if ends[k] - ends[k - 1] > most:
            widest, most = k, ends[k] - ends[k - 1]
    levels.cells[: n_nodes * n] = 0.0
    for k in range(n):
        # of the widest bin they are what is left: of a column of few ones nearly all rows
        for i in range(begin, ends[k] if k != widest else begin):
            at = leaf[order[i]] * n + k
            levels.cells[at, 0] += levels.slopes[order[i], 0]
            levels.cells[at, 1] += levels.slopes[order[i], 1]
        begin = ends[k]
    for node in range(n_nodes):
        for c in range(2):
            rest = levels.totals[node, c]
            for k in range(n):
                rest -= levels.cells[node * n + k, c]
            levels.cells[node * n + widest, c] = rest


fill_cells = kernel(_fill_cells, allocates=False)


def _explain_roughly(q, n_rows, n_nodes, l2, levels):
    """Return what the best cut of column q explains, up to `ROUGH`; infinity where it has too many bins to ask."""
    n, found, totals = levels.n_bins[q], levels.moved, levels.totals
    if levels.slopes.shape[1] != 2 or FEW_CELLS * n * n_nodes > n_rows:
        return np.inf
    fill_cells(q, n_nodes, levels)
    found[: n - 1] = 0.0
    for node in range(n_nodes):
        g, h = 0.0, l2
        whole, heft = totals[node, 0], totals[node, 1] + 2.0 * l2
        for k in range(n - 1):
            g += levels.cells[node * n + k, 0]
            h += levels.cells[node * n + k, 1]
            found[k] += g * g / h + (whole - g) * (whole - g) / (heft - h)
    best = 0.0
    for k in range(n - 1):
        best = max(best, found[k])
    return best


explain_roughly = kernel(_explain_roughly, allocates=False)


def _write_level(first, depth, n_rows, n_nodes, l2, levels, nodes, values):
    """Write the nodes of a level as leaves, the first of which has the number `first`; return what they explain."""
    half, totals = levels.totals.shape[1] // 2, levels.totals
    totals[:n_nodes] = 0.0
    for i in range(n_rows):
        for c in range(totals.shape[1]):
            totals[levels.leaf[i], c] += levels.slopes[i, c]
    found = 0.0
    for j in range(n_nodes):
        write_leaf(nodes[first + j], 0, depth)
        for k in range(values.shape[1]):
            weight = totals[j, half + k] + l2
            values[first + j, k] = -totals[j, k] / weight
            found += totals[j, k] * totals[j, k] / weight
    for i in range(n_rows):
        nodes[first + levels.leaf[i]].count += 1
    return found


write_level = kernel(_write_level, allocates=False)


def _grow_oblivious(binned, columns, rows, params, levels, slopes, found):
    """Grow an oblivious tree.

    Parameters
    ----------
    binned : (d, n) uint8
    columns : (c,) int32
    rows : (m,) uint32
    params : TreeParams
        `max_depth`, `min_gain` and `l2`, which is above 0, count.
    levels : Levels
    slopes : (gradients (n, K), hessians (n, P)) of float32
    found : (nodes (capacity,), values (capacity, K), leaves (n,))
        Receive the tree, and the leaf of each of the rows.

    Returns
    -------
    int
        Number of nodes; -1 if a gradient or hessian is not finite.
    """
    (gradients, hessians), (nodes, values, leaves) = slopes, found
    n_rows, half = rows.shape[0], levels.slopes.shape[1] // 2
    for i in range(n_rows):
        levels.leaf[i] = 0
        for k in range(values.shape[1]):
            levels.slopes[i, k] = gradients[rows[i], k]
            levels.slopes[i, half + k] = hessians[rows[i], k] if hessians.shape[1] > 0 else np.float32(1.0)
    sort_rows(binned, columns, rows, levels)
    # nodes of a level are first, ..., first + n_nodes - 1; those of the next one follow
    first, n_nodes, depth = 0, 1, 0
    before = write_level(0, 0, n_rows, 1, params.l2, levels, nodes, values)
    if not np.isfinite(before):
        return -1
    while depth != params.max_depth and 2 * n_nodes <= levels.held.shape[0]:
        # what is left by rounding is no gain
        best, column, cut = before * (1.0 + 1e-9) + params.min_gain, np.int64(-1), np.int64(0)
        rough, least, uncut = levels.rough, best, explain_uncut(n_nodes, params.l2, levels)
        for q in range(columns.shape[0]):
            rough[q] = explain_roughly(q, n_rows, n_nodes, params.l2, levels)
            least = max(least, rough[q]) if rough[q] < np.inf else least
        for q in range(columns.shape[0]):
            if rough[q] < (1.0 - ROUGH) * least:
                continue
            best, at = search_column(q, n_nodes, uncut, best, params.l2, levels)
            if at >= 0:
                column, cut = np.int64(columns[q]), at
        if column < 0:
            break
        for j in range(n_nodes):
            record = nodes[first + j]
            record.feature = column
            record.threshold_bin = np.uint8(cut)
            record.gain = np.float32((best - before) / n_nodes)
            record.left = first + n_nodes + 2 * j
            record.right = record.left + 1
        for i in range(n_rows):
            levels.leaf[i] = 2 * levels.leaf[i] + np.uint32(binned[column, rows[i]] > cut)
        first, n_nodes, depth = first + n_nodes, 2 * n_nodes, depth + 1
        before = write_level(first, depth, n_rows, n_nodes, params.l2, levels, nodes, values)
    for i in range(leaves.shape[0]):
        leaves[i] = -1
    for i in range(n_rows):
        leaves[rows[i]] = first + levels.leaf[i]
    return first + n_nodes


grow_oblivious = kernel(_grow_oblivious, allocates=False, shared=True)


def _boost_oblivious(binned, parts, members, rounds, params, levels, learned, slopes, grown, buffers, begins):
    """Do what `members.boost_members` does, with oblivious trees.

    Parameters
    ----------
    binned : (d, n) uint8
    parts, members, rounds, learned, slopes, grown, buffers, begins
        As there.
    params, levels
        As of `grow_oblivious`.

    Returns
    -------
    int
        0, or 1 if a gradient or hessian is not finite.
    """
    (scores, codes, pull, weight, rate, limit), (gradients, hessians, room) = learned, slopes
    for k in range(members[0], members[1]):
        for t in range(rounds[0], rounds[1]):
            at = k * rounds[2] + t
            rows, leaves = parts.rows[parts.starts[at] : parts.starts[at + 1]], grown.leaves[k]
            write_slopes(scores[k], codes, pull[k], weight, rows, room[k], gradients[k], hessians[k])
            found, own = (grown.nodes[at], grown.values[at], leaves), (gradients[k], hessians[k])
            size = grow_oblivious(binned, parts.columns[at], rows, params, levels, own, found)
            if size < 0:
                return 1
            fall(binned, grown.nodes[at, :size], leaves, buffers[0], buffers[1], buffers[2], begins)
            grown.sizes[at] = size
            take_step(scores[k], grown.values[at], leaves, size, rate, limit)
    return 0


boost_oblivious = kernel(_boost_oblivious, allocates=False)
