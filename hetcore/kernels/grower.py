"""Growing one tree, best gain first, or one branch after the other where the number of leaves has no limit.

    1  root: the sums and histograms of all rows, and their best split
    2  until no leaf has a split, or the leaves are enough:
    3      take the leaf whose split gains most; move its rows to the left or the right child
    4      build the smaller child's histograms; the larger child's are the parent's minus those
    5      find the best split of each child
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.histogram import build_group, gather_words, store, subtract
from hetcore.kernels.layout import (
    BIN,
    BUILT,
    BUILT_SLOT,
    COLUMN,
    GROUP,
    KEY,
    MISSING_BIN,
    MISSING_LEFT,
    N_FREE,
    N_NODES,
    N_OPEN,
    QUEUED,
    REST,
    REST_SLOT,
    WANTED,
)
from hetcore.kernels.splitting import UNKNOWN, node_terms, output_sums, scan_column


def _may_split(node, params, work):
    """Tell whether the limits allow a split of `node`."""
    record = work.nodes[node]
    deep = record.depth >= 65535 or (params.max_depth >= 0 and record.depth >= params.max_depth)
    return not deep and record.count >= 2 * max(params.min_samples_leaf, 1)


may_split = kernel(_may_split)


def _new_node(node, start, stop, depth, work):
    """Make `node` a leaf over rows[start:stop]."""
    work.nodes[node].feature = -1
    work.nodes[node].left = -1
    work.nodes[node].right = -1
    work.nodes[node].count = stop - start
    work.nodes[node].gain = 0.0
    work.nodes[node].threshold_bin = 0
    work.nodes[node].missing_left = 0
    work.nodes[node].depth = depth
    work.leaves[node].start = start
    work.leaves[node].stop = stop
    work.leaves[node].slot = -1


new_node = kernel(_new_node)


def _take_slot(work):
    """Return a free slot of the pool, or -1."""
    if work.state[N_FREE] == 0:
        return -1
    work.state[N_FREE] -= 1
    return work.free[work.state[N_FREE]]


take_slot = kernel(_take_slot)


def _release_slot(slot, work):
    """Give a slot back to the pool."""
    if slot >= 0:
        work.free[work.state[N_FREE]] = slot
        work.state[N_FREE] += 1


release_slot = kernel(_release_slot)


def _set_built(node, wanted, problem, work):
    """Make `node` the one whose histograms are built from rows: gather their words, sum them, find a slot if it is wanted."""
    leaf = work.leaves[node]
    gather_words(problem.words, work.rows[leaf.start : leaf.stop], work.ordered, work.totals[node])
    work.state[BUILT] = node
    work.state[WANTED] = wanted
    work.state[BUILT_SLOT] = take_slot(work) if wanted else -1


set_built = kernel(_set_built)


def _start(problem, params, work):
    """Line 1: make the root, the first node to be built."""
    work.state[:] = 0
    work.state[N_NODES] = 1
    work.state[REST] = -1
    work.state[QUEUED] = -1
    for slot in range(work.free.shape[0]):
        release_slot(slot, work)
    new_node(0, 0, work.rows.shape[0], 0, work)
    set_built(0, work.nodes.shape[0] > 1 and may_split(0, params, work), problem, work)


start = kernel(_start)


def _partition(bins, threshold, missing_left, rows, spare):
    """Move the rows that go left to the front of `rows`, both parts in their old order; return how many there are."""
    n_left, n_right = 0, 0
    for i in range(rows.shape[0]):
        r = rows[i]
        # adding missing_left turns the missing bin 255 into 0 and every other bin into bin + 1
        goes_left = np.uint8(bins[r] + missing_left) <= threshold + missing_left
        rows[n_left] = r
        spare[n_right] = r
        n_left += goes_left
        n_right += not goes_left
    rows[n_left:] = spare[:n_right]
    return n_left


partition = kernel(_partition)


def _pick(params, work):
    """Take the next leaf to split off the open ones: the best gain, or the last one where leaves have no limit."""
    at = work.state[N_OPEN] - 1
    if params.max_leaf_nodes > 0:
        for i in range(work.state[N_OPEN] - 1, -1, -1):
            gain, best = work.leaves[work.open[i]].gain, work.leaves[work.open[at]].gain
            if gain > best or (gain == best and work.open[i] < work.open[at]):
                at = i
    node = work.open[at]
    work.state[N_OPEN] -= 1
    work.open[at] = work.open[work.state[N_OPEN]]
    return node


pick = kernel(_pick)


def _apply_split(node, problem, work):
    """Line 3: partition the rows of `node` and make its children; return (left, right)."""
    record, leaf = work.nodes[node], work.leaves[node]
    left, right = work.state[N_NODES], work.state[N_NODES] + 1
    rows = work.rows[leaf.start : leaf.stop]
    bins = problem.binned[record.feature]
    side = 0 if record.missing_left == UNKNOWN else record.missing_left
    n_left = partition(bins, np.int64(record.threshold_bin), np.int64(side), rows, work.spare)
    if record.missing_left == UNKNOWN:  # none in training: a later one goes with the majority
        work.nodes[node].missing_left = 2 * n_left > record.count
    work.nodes[node].left = left
    work.nodes[node].right = right
    new_node(left, leaf.start, leaf.start + n_left, record.depth + 1, work)
    new_node(right, leaf.start + n_left, leaf.stop, record.depth + 1, work)
    work.state[N_NODES] += 2
    return left, right


apply_split = kernel(_apply_split)


def _split_leaf(node, problem, params, work):
    """Lines 3 and 4: split `node` and say which child's histograms are built and which one's follow by subtraction."""
    small, big = apply_split(node, problem, work)
    if work.nodes[small].count > work.nodes[big].count:
        small, big = big, small
    room = work.state[N_NODES] + 2 <= work.nodes.shape[0]
    wanted = room and may_split(big, params, work)
    slot = work.leaves[node].slot
    set_built(small, wanted and may_split(small, params, work), problem, work)
    work.totals[big] = work.totals[node] - work.totals[small]
    work.state[REST] = big if wanted and slot >= 0 else -1
    work.state[REST_SLOT] = slot
    work.state[QUEUED] = big if wanted and slot < 0 else -1
    if not wanted:
        release_slot(slot, work)


split_leaf = kernel(_split_leaf)


def _next_step(problem, params, work):
    """Line 2: prepare the next search; return False if the tree is done."""
    queued = work.state[QUEUED]
    if queued >= 0:
        work.state[REST] = -1
        work.state[QUEUED] = -1
        set_built(queued, True, problem, work)
        return True
    if work.state[N_OPEN] == 0 or work.state[N_NODES] + 2 > work.nodes.shape[0]:
        return False
    split_leaf(pick(params, work), problem, params, work)
    return True


next_step = kernel(_next_step)


def _search(problem, params, work, first, stop, scratch, found):
    """Lines 4 and 5 for the columns first..stop-1: build, subtract, find the best splits.

    Parameters
    ----------
    scratch : (GROUP, 256, W) int64
    found : (2, 4) float64
        Receives the best split of the built node and of the rest; column -1 for none.
    """
    built, rest = work.state[BUILT], work.state[REST]
    wanted, slot = work.state[WANTED] == 1, work.state[BUILT_SLOT]
    width = problem.words.shape[1]
    slopes, left = np.zeros((2, 2, width)), np.empty(width, np.int64)
    rest_total = work.totals[max(rest, 0)]
    found[:, COLUMN] = -1.0
    found[0, KEY] = node_terms(work.totals[built], problem, params, slopes[0])[2]
    found[1, KEY] = node_terms(rest_total, problem, params, slopes[1])[2]
    if not wanted and rest < 0:
        return
    rows = work.rows[work.leaves[built].start : work.leaves[built].stop]
    for j in range(first, stop, GROUP):
        group = slice(j, min(j + GROUP, stop))
        build_group(scratch, problem.binned, problem.columns[group], problem.n_bins[group], rows, work.ordered)
        for q in range(j, min(j + GROUP, stop)):
            n_bins, histogram = problem.n_bins[q], scratch[q - j]
            if wanted and scan_column(
                histogram[:n_bins], histogram[MISSING_BIN], work.totals[built], problem, params, slopes[0], left, found[0]
            ):
                found[0, COLUMN] = q
            if slot >= 0:
                store(histogram, work.pool[slot, problem.offsets[q] : problem.offsets[q + 1]])
            if rest >= 0:
                other = work.pool[work.state[REST_SLOT], problem.offsets[q] : problem.offsets[q + 1]]
                subtract(histogram, other)
                if scan_column(other[:n_bins], other[n_bins], rest_total, problem, params, slopes[1], left, found[1]):
                    found[1, COLUMN] = q


search = kernel(_search)


def _settle(node, slot, problem, params, work, best):
    """Note the best split of `node` and open it, or give its slot back if it has none."""
    if best[COLUMN] < 0:
        release_slot(slot, work)
        return
    slopes = np.zeros((2, problem.words.shape[1]))
    scale, penalty, _ = node_terms(work.totals[node], problem, params, slopes)
    work.leaves[node].gain = scale * best[KEY] - penalty
    work.leaves[node].slot = slot
    work.nodes[node].gain = work.leaves[node].gain
    work.nodes[node].feature = problem.columns[np.int64(best[COLUMN])]
    work.nodes[node].threshold_bin = np.uint8(best[BIN])
    work.nodes[node].missing_left = np.uint8(best[MISSING_LEFT])
    work.open[work.state[N_OPEN]] = node
    work.state[N_OPEN] += 1


settle = kernel(_settle)


def _conclude(problem, params, work, found):
    """Line 5: of the splits found over ranges of columns (t, 2, 4), keep the best, the first among equals."""
    best = found[0].copy()
    for t in range(1, found.shape[0]):
        for i in range(2):
            if found[t, i, COLUMN] >= 0 and (best[i, COLUMN] < 0 or found[t, i, KEY] > best[i, KEY]):
                best[i] = found[t, i]
    # the smaller child last, which a branch-first tree then takes next: few histograms wait
    if work.state[REST] >= 0:
        settle(work.state[REST], work.state[REST_SLOT], problem, params, work, best[1])
    if work.state[WANTED] == 1:
        settle(work.state[BUILT], work.state[BUILT_SLOT], problem, params, work, best[0])


conclude = kernel(_conclude)


def _finish(problem, params, work, values, row_leaf):
    """Write each node's value -G / (H + l2) to `values` (capacity, K), each row's leaf to `row_leaf` (n,); return the nodes."""
    n_nodes = work.state[N_NODES]
    for node in range(n_nodes):
        for k in range(problem.n_outputs):
            gradient, hessian = output_sums(work.totals[node], problem, k)
            weight = hessian + params.l2
            values[node, k] = -gradient / weight if weight > 0.0 else 0.0
        if work.nodes[node].left < 0:
            work.nodes[node].feature = -1
            work.nodes[node].gain = 0.0
            work.nodes[node].threshold_bin = 0
            work.nodes[node].missing_left = 0
            for i in range(work.leaves[node].start, work.leaves[node].stop):
                row_leaf[work.rows[i]] = node
    return n_nodes


finish = kernel(_finish)


def _grow_tree(problem, params, work, values, row_leaf):
    """Grow a tree on one thread; return its number of nodes.

    Parameters
    ----------
    problem : Problem
    params : TreeParams
    work : Work
        `work.rows` names the rows; the tree is left in `work.nodes`.
    values : (capacity, K) float64
        Receives the value of each node.
    row_leaf : (n,) int32
        Receives the leaf of each row of `work.rows`.
    """
    scratch = np.empty((GROUP, 256, problem.words.shape[1]), np.int64)
    found = np.empty((1, 2, 4))
    start(problem, params, work)
    going = True
    while going:
        search(problem, params, work, 0, problem.columns.shape[0], scratch, found[0])
        conclude(problem, params, work, found)
        going = next_step(problem, params, work)
    return finish(problem, params, work, values, row_leaf)


grow_tree = kernel(_grow_tree)
