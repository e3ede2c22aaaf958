"""The nodes of a growing tree: their rows, their limits, their places in the pool of histograms."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import BUILT, BUILT_SLOT, N_FREE, N_NODES, N_OPEN, WANTED
from hetcore.kernels.packed_sums import gather_packed
from hetcore.kernels.splitting import UNKNOWN


def _may_split(record, params):
    """Tell whether the limits allow a split of a node."""
    # 65535 is all that a node's record can hold
    deep = record.depth == 65535 or (params.max_depth >= 0 and record.depth >= params.max_depth)
    return not deep and record.count >= 2 * params.min_samples_leaf


may_split = kernel(_may_split, allocates=False)


def _new_leaf(record, leaf, start, stop, depth):
    """Fill the records of a new leaf over rows[start:stop]."""
    record.feature = -1
    record.left = -1
    record.right = -1
    record.count = stop - start
    record.gain = 0.0
    record.threshold_bin = 0
    record.missing_left = 0
    record.depth = depth
    leaf.start = start
    leaf.stop = stop
    leaf.slot = -1


new_leaf = kernel(_new_leaf, allocates=False)


def _take_slot(free, state):
    """Return a free slot of the pool, or -1."""
    if state[N_FREE] == 0:
        return -1
    state[N_FREE] -= 1
    return free[state[N_FREE]]


take_slot = kernel(_take_slot, allocates=False)


def _release_slot(slot, free, state):
    """Give a slot back to the pool."""
    if slot >= 0:
        free[state[N_FREE]] = slot
        state[N_FREE] += 1


release_slot = kernel(_release_slot, allocates=False)


def _set_built(node, wanted, gathered, problem, work):
    """Make `node` the one whose histograms are built from its rows: gather their words, sum them, find a slot."""
    leaf = work.leaves[node]
    # threads may have done so, each for some of the rows
    if not gathered:
        gather_packed(problem.packed, work.rows[leaf.start : leaf.stop], work.ordered, work.totals[node])
    work.state[BUILT] = node
    work.state[WANTED] = wanted
    # below so many rows, building both children costs less than storing and subtracting
    kept = wanted and leaf.stop - leaf.start >= problem.kept_rows
    work.state[BUILT_SLOT] = take_slot(work.free, work.state) if kept else -1


set_built = kernel(_set_built, allocates=False)


def _partition(bins, threshold, missing_left, rows, buffer):
    """Move the rows that go left to the front of `rows`, both parts in their old order; return how many there are."""
    n_left, n_right = 0, 0
    for i in range(rows.shape[0]):
        r = rows[i]
        # adding missing_left turns the missing bin 255 into 0 and every other bin into bin + 1
        goes_left = np.uint8(bins[r] + missing_left) <= threshold + missing_left
        # both are written, one is counted: no branch, for which side a row goes can't be guessed
        rows[n_left] = r
        buffer[n_right] = r
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        rows[n_left + i] = buffer[i]
    return n_left


partition = kernel(_partition, allocates=False)


def _pick(params, work):
    """Take the next leaf to split off the open ones: the best gain, or the last one where leaves have no limit."""
    at = work.state[N_OPEN] - 1
    if params.max_leaf_nodes > 0:
        for i in range(work.state[N_OPEN] - 1, -1, -1):
            gain, best = work.leaves[work.open[i]].gain, work.leaves[work.open[at]].gain
            # of equal gains the node that was made first: the order of `open` changes as leaves are taken
            if gain > best or (gain == best and work.open[i] < work.open[at]):
                at = i
    node = work.open[at]
    work.state[N_OPEN] -= 1
    # the last one fills the gap, for the order of the open leaves does not matter
    work.open[at] = work.open[work.state[N_OPEN]]
    return node


pick = kernel(_pick, allocates=False)


def _apply_split(node, n_left, problem, work):
    """Line 3: partition the rows of `node` and make its children; return (left, right).

    Where `n_left` is not negative, so many rows go left, and they are partitioned already.
    """
    record, leaf = work.nodes[node], work.leaves[node]
    left, right = work.state[N_NODES], work.state[N_NODES] + 1
    rows = work.rows[leaf.start : leaf.stop]
    bins = problem.binned[record.feature]
    side = 0 if record.missing_left == UNKNOWN else record.missing_left
    if n_left < 0:
        n_left = partition(bins, np.int64(record.threshold_bin), np.int64(side), rows, work.buffer)
    if record.missing_left == UNKNOWN:  # none in training: a later one goes with the majority
        work.nodes[node].missing_left = 2 * n_left > record.count
    work.nodes[node].left = left
    work.nodes[node].right = right
    new_leaf(work.nodes[left], work.leaves[left], leaf.start, leaf.start + n_left, record.depth + 1)
    new_leaf(work.nodes[right], work.leaves[right], leaf.start + n_left, leaf.stop, record.depth + 1)
    work.state[N_NODES] += 2
    return left, right


apply_split = kernel(_apply_split, allocates=False)
