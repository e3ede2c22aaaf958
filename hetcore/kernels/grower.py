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
from hetcore.kernels.histogram import build_group, build_sparse, store, subtract, subtract_sparse
from hetcore.kernels.layout import (
    BIN,
    BUILT,
    BUILT_SLOT,
    CHOSEN,
    COLUMN,
    GROUP,
    KEY,
    MISSING_BIN,
    MISSING_LEFT,
    N_FREE,
    N_LEFT,
    N_NODES,
    N_OPEN,
    QUEUED,
    REST,
    REST_SLOT,
    WANTED,
)
from hetcore.kernels.packed_sums import gather_packed, output_hessian, packed_value
from hetcore.kernels.splitting import UNKNOWN, node_terms, scan_column, scan_sparse

SPARSE = 3  # measured: from so many bins a row on, listing the filled ones takes less than looking at all
WHOLE, START, SEARCH, CHOOSE, QUEUE, SPLIT, FINISH, DONE = range(8)  # phases of `grow_tree`, and the last, none


def _may_split(record, params):
    """Tell whether the limits allow a split of a node."""
    # 65535 is all that a node's record can hold
    deep = record.depth == 65535 or (params.max_depth >= 0 and record.depth >= params.max_depth)
    return not deep and record.count >= 2 * params.min_samples_leaf


may_split = kernel(_may_split, allocates=False)


def _write_leaf(record, count, depth):
    """Fill the record of a node that has no children."""
    record.feature = -1
    record.left = -1
    record.right = -1
    record.count = count
    record.gain = 0.0
    record.threshold_bin = 0
    record.missing_left = 0
    record.depth = depth


write_leaf = kernel(_write_leaf, allocates=False)


def _new_leaf(record, leaf, start, stop, depth):
    """Fill the records of a new leaf over rows[start:stop]."""
    write_leaf(record, stop - start, depth)
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


def _start(problem, params, work):
    """Line 1: make the root, the first node to be built."""
    work.state[:] = 0
    work.state[N_NODES] = 1
    work.state[REST] = -1
    work.state[QUEUED] = -1
    for slot in range(work.free.shape[0]):
        release_slot(slot, work.free, work.state)
    new_leaf(work.nodes[0], work.leaves[0], 0, work.rows.shape[0], 0)
    # a root that may not split needs no histogram: a tree of one leaf is done after its sums
    set_built(0, work.nodes.shape[0] > 1 and may_split(work.nodes[0], params), False, problem, work)


start = kernel(_start, allocates=False)


def _split_leaf(node, n_left, problem, params, work):
    """Lines 3 and 4: split `node` and say which child's histograms are built and which one's follow by subtraction.

    Where `n_left` is not negative, the rows are partitioned and the words of the smaller child gathered already.
    """
    small, big = apply_split(node, n_left, problem, work)
    # built is the smaller: its rows are read; the larger's histograms are a subtraction, whatever its size
    if work.nodes[small].count > work.nodes[big].count:
        small, big = big, small
    # no record left for two more nodes: then no child needs a split searched
    scratch = work.state[N_NODES] + 2 <= work.nodes.shape[0]
    wanted = scratch and may_split(work.nodes[big], params)
    slot = work.leaves[node].slot
    # the smaller is searched too only if the larger may split: it has fewer rows, so what binds the larger binds it
    set_built(small, wanted and may_split(work.nodes[small], params), n_left >= 0, problem, work)
    for c in range(work.totals.shape[1]):
        work.totals[big, c] = work.totals[node, c] - work.totals[small, c]
    work.state[REST] = big if wanted and slot >= 0 else -1
    work.state[REST_SLOT] = slot
    # the parent had no histograms kept, so that nothing can be subtracted from: the larger waits for its own turn
    work.state[QUEUED] = big if wanted and slot < 0 else -1
    if not wanted:
        release_slot(slot, work.free, work.state)


split_leaf = kernel(_split_leaf, allocates=False)


def _search_rest(q, problem, work, scratch, node):
    """Line 5 for column q of the larger child, whose histograms are those of its parent by now."""
    parent, first, last = work.state[REST_SLOT], problem.offsets[q], problem.offsets[q + 1] - 1
    old, missing, found = work.pool[parent, first:last], work.pool[parent, last], work.found[scratch.part, 1]
    if scan_column(old, missing, node, problem.layout, scratch.outputs[1], scratch, found):
        found[COLUMN] = q


search_rest = kernel(_search_rest, allocates=False, inlined=True)


def _search_sparse(columns, rows, problem, work, scratch, terms):
    """Do what `search` does where the node that is built has far fewer `rows` than bins.

    Parameters
    ----------
    columns : (first, stop)
    terms : (NodeTerms, NodeTerms)
        Of the node that is built and of the larger child.
    """
    wanted, follows, found = work.state[WANTED] == 1, work.state[REST] >= 0, work.found[scratch.part, 0]
    for q in range(columns[0], columns[1]):
        n = build_sparse(scratch, problem.binned[problem.columns[q]], rows, work.ordered)
        # first, for the search uses the words up
        if follows:
            subtract_sparse(scratch, n, work.pool[work.state[REST_SLOT], problem.offsets[q] : problem.offsets[q + 1]])
        if wanted and scan_sparse(n, terms[0], problem.layout, scratch.outputs[0], scratch, found):
            found[COLUMN] = q
        if follows:
            search_rest(q, problem, work, scratch, terms[1])


search_sparse = kernel(_search_sparse, allocates=False, inlined=True)


def _search(problem, params, work, scratch):
    """Lines 4 and 5 for one part of the columns: build, subtract, find the best splits.

    Parameters
    ----------
    scratch : Scratch
        `scratch.part` says which of the equal parts of the columns, as many as `work.found` has places.
    """
    built, rest, layout, found = work.state[BUILT], max(work.state[REST], 0), problem.layout, work.found[scratch.part]
    wanted, follows = work.state[WANTED] == 1, work.state[REST] >= 0
    kept, parent = work.state[BUILT_SLOT], work.state[REST_SLOT]
    # no column yet; only what beats the floor counts as found
    found[:, COLUMN] = -1.0
    one = node_terms(work.totals[built], layout, params, scratch.outputs[0])
    two = node_terms(work.totals[rest], layout, params, scratch.outputs[1])
    found[0, KEY] = one.floor
    found[1, KEY] = two.floor
    if not wanted and not follows:
        return
    rows = work.rows[work.leaves[built].start : work.leaves[built].stop]
    part, n_columns, n_parts = scratch.part, problem.columns.shape[0], work.found.shape[0]
    width = problem.packed.shape[1]
    # a thread's columns, in whole: two threads never write to one histogram
    n_groups = (n_columns + GROUP - 1) // GROUP
    start, stop = GROUP * (n_groups * part // n_parts), min(GROUP * (n_groups * (part + 1) // n_parts), n_columns)
    n_bins = problem.offsets[stop] - problem.offsets[start]
    if kept < 0 and SPARSE * rows.shape[0] * (stop - start) <= n_bins:
        search_sparse((start, stop), rows, problem, work, scratch, (one, two))
        return
    # four columns at once: a row's word is read once for them
    for j in range(start, stop, GROUP):
        end = min(j + GROUP, stop)
        columns, bins = problem.columns[j:end], problem.n_bins[j:end]
        build_group(scratch.histograms, problem.binned, columns, bins, rows, work.ordered)
        for q in range(j, end):
            n, new, flat = problem.n_bins[q], scratch.histograms[q - j], scratch.flat[q - j]
            place = slice(problem.offsets[q] * width, problem.offsets[q + 1] * width)
            if wanted and scan_column(new[:n], new[MISSING_BIN], one, layout, scratch.outputs[0], scratch, found[0]):
                found[0, COLUMN] = q
            # stored only if it may be subtracted from later; the copy is compact, the scratch has 256 bins a column
            if kept >= 0:
                store(flat, work.flat_pool[kept, place], width)
            if follows:
                subtract(flat, work.flat_pool[parent, place], width)
                search_rest(q, problem, work, scratch, two)


search = kernel(_search, allocates=False, shared=True, inlined=True)


def _settle(node, slot, problem, params, work, scratch, best):
    """Note the best split of `node` and open it, or give its slot back if it has none."""
    # a leaf for good: its histograms are of no use to anyone
    if best[COLUMN] < 0:
        release_slot(slot, work.free, work.state)
        return
    terms = node_terms(work.totals[node], problem.layout, params, scratch.outputs[0])
    record, leaf = work.nodes[node], work.leaves[node]
    # few rows: building the children from their rows costs less than keeping histograms for them
    if record.count < problem.kept_rows:
        release_slot(slot, work.free, work.state)
        slot = -1
    # keys rank splits; only here is the gain itself needed, for the order in which leaves are split
    leaf.gain = terms.scale * best[KEY] - terms.penalty
    leaf.slot = slot
    record.gain = leaf.gain
    record.feature = problem.columns[np.int64(best[COLUMN])]
    record.threshold_bin = np.uint8(best[BIN])
    record.missing_left = np.uint8(best[MISSING_LEFT])
    work.open[work.state[N_OPEN]] = node
    work.state[N_OPEN] += 1


settle = kernel(_settle, allocates=False)


def _conclude(problem, params, work, scratch):
    """Line 5: of the splits found over parts of the columns, keep the best, the first among equals."""
    found = work.found
    for t in range(1, found.shape[0]):
        for i in range(2):
            # above, not at least: of equal splits the first column wins, whatever the number of threads
            if found[t, i, COLUMN] >= 0 and (found[0, i, COLUMN] < 0 or found[t, i, KEY] > found[0, i, KEY]):
                for c in range(found.shape[2]):
                    found[0, i, c] = found[t, i, c]
    # the smaller child last, which a branch-first tree then takes next: few histograms wait
    if work.state[REST] >= 0:
        settle(work.state[REST], work.state[REST_SLOT], problem, params, work, scratch, found[0, 1])
    if work.state[WANTED] == 1:
        settle(work.state[BUILT], work.state[BUILT_SLOT], problem, params, work, scratch, found[0, 0])


conclude = kernel(_conclude, allocates=False)


def _choose(problem, params, work, scratch):
    """Line 5, then 2: note the node to be split; return DONE, QUEUE if one waits that is not split, or else SPLIT."""
    conclude(problem, params, work, scratch)
    if work.state[QUEUED] >= 0:
        return QUEUE
    # not one but two free records, a split makes two nodes
    if work.state[N_OPEN] == 0 or work.state[N_NODES] + 2 > work.nodes.shape[0]:
        return DONE
    work.state[CHOSEN] = pick(params, work)
    work.state[N_LEFT] = -1
    return SPLIT


choose = kernel(_choose, allocates=False, inlined=True)


def _advance(found, problem, params, work):
    """Lines 3 and 4: prepare the next search, where `choose` has found QUEUE or SPLIT."""
    if found == SPLIT:
        split_leaf(work.state[CHOSEN], work.state[N_LEFT], problem, params, work)
        return
    queued = work.state[QUEUED]
    work.state[REST] = -1
    work.state[QUEUED] = -1
    set_built(queued, True, False, problem, work)


advance = kernel(_advance, allocates=False, shared=True, inlined=True)


def _write_value(total, layout, l2, value):
    """Write -G / (H + l2) of a node to its `value` (K,)."""
    for k in range(layout.n_outputs):
        weight = output_hessian(total, layout, k) + l2
        # a leaf without weight, as where all hessians vanish: nothing rather than 0 / 0
        value[k] = -packed_value(total, layout, k) / weight if weight > 0.0 else 0.0


write_value = kernel(_write_value, allocates=False)


def _finish(problem, params, work, values, row_leaf):
    """Write the nodes' values to `values` (capacity, K) and the rows' leaves to `row_leaf` (n,)."""
    for node in range(work.state[N_NODES]):
        write_value(work.totals[node], problem.layout, params.l2, values[node])
        record, leaf = work.nodes[node], work.leaves[node]
        if record.left < 0:
            # a split that was found but never made leaves no trace in the record
            new_leaf(record, leaf, leaf.start, leaf.stop, record.depth)
            for i in range(leaf.start, leaf.stop):
                row_leaf[work.rows[i]] = node


finish = kernel(_finish, allocates=False)


def _grow_tree(problem, params, work, scratch, values, row_leaf, phase):
    """Grow a tree on one thread, or do one phase of that: several threads share the search, each its `scratch.part`.

    Parameters
    ----------
    problem : Problem
    params : TreeParams
    work : Work
        `work.rows` names the rows; the tree is left in `work.nodes`.
    scratch : Scratch
    values : (capacity, K) float64
        Receives the value of each node.
    row_leaf : (n,) int32
        Receives the leaf of each row of `work.rows`.
    phase : int
        WHOLE, or START, SEARCH, CHOOSE, QUEUE or SPLIT as CHOOSE returns them, FINISH.

    Returns
    -------
    int
        Number of nodes, but for CHOOSE: DONE, QUEUE, or SPLIT, where `work.state` has the node, and takes the number of
        its rows that go left if they are partitioned and the smaller part is gathered.
    """
    if phase == WHOLE or phase == START:
        start(problem, params, work)
    # phases, because threads can't wait for one another inside compiled code: Python waits between them. One loop for
    # both ways, because each of the three is copied to where it is called
    found = phase
    while phase != START and phase != FINISH:
        if found == QUEUE or found == SPLIT:
            advance(found, problem, params, work)
        if phase == WHOLE or phase == SEARCH:
            search(problem, params, work, scratch)
        if phase == WHOLE or phase == CHOOSE:
            found = choose(problem, params, work, scratch)
        if phase == CHOOSE:
            return found
        if phase != WHOLE or found == DONE:
            break
    if phase == WHOLE or phase == FINISH:
        finish(problem, params, work, values, row_leaf)
    return work.state[N_NODES]


grow_tree = kernel(_grow_tree, allocates=False)
