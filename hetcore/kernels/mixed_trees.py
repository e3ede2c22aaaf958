"""Trees of a transfer learning decision forest: splits by the information gain of several domains' rows, mixed.

    gain = sum_k share_k * max(H(rows of domain k) - (n_left H(left) + n_right H(right)) / n, 0)

H is the entropy in nats of the classes of a domain's rows in a node; the shares are gamma's, see
`hetcore.transfer.forest`. Nodes are taken from a stack, and numbered as they are made; for each node that may be split
some columns were drawn beforehand. Where these run out, growing waits for more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import ALL_KNOWN, MISSING_BIN

N_SLOTS = 33  # bins of a column, the missing ones last
LEAST_GAIN = 1e-9
# The counters of a growing tree, by position in `MixedWork.state`.
N_NODES, N_WAITING, N_DRAWN = range(3)
COLUMN, THRESHOLD, MISSING_LEFT = range(3)


class MixedRule(NamedTuple):
    """What a tree is grown by.

    Attributes
    ----------
    binned : (d, n) uint8
        At most 32 bins a column, missing ones 255.
    cell : (n,) int64
        Domain times K plus class; domain 0 is the target.
    n_domains, n_classes : int
        D and K.
    gamma : float
        Share of the sources.
    summed : bool
        Whether each source has all of gamma, or its share of the node's source rows.
    max_depth : int
    """

    binned: np.ndarray
    cell: np.ndarray
    n_domains: int
    n_classes: int
    gamma: float
    summed: bool
    max_depth: int


class MixedWork(NamedTuple):
    """A growing tree, and room to grow it in.

    Attributes
    ----------
    rows, buffer : (n,) int64
        The rows, those of a node side by side; room to part them.
    nodes : (2 n,) NODE_DTYPE
    spans : (2 n, 2) int64
        Where in `rows` each node's begin and end.
    waiting : (2 n,) int64
        Nodes that have had no turn.
    state : (3,) int64
        Counters; all 0 before a tree.
    owed : (D,) float64
        What each domain adds to the gains of all trees, times the nodes' rows.
    counts, left, right, shares, gains : (D K,), (D K,), (K,), (D,) and (D,) float64
        Rows of the node at hand, of its left side, and of a domain's right side; the shares; gains by domain.
    whole : (2, D) float64
        Entropy and number of each domain's rows in the node at hand.
    slots : (columns, 33, D K) float64
        Rows in each bin of the columns drawn.
    """

    rows: np.ndarray
    buffer: np.ndarray
    nodes: np.ndarray
    spans: np.ndarray
    waiting: np.ndarray
    state: np.ndarray
    owed: np.ndarray
    counts: np.ndarray
    left: np.ndarray
    right: np.ndarray
    shares: np.ndarray
    gains: np.ndarray
    whole: np.ndarray
    slots: np.ndarray


def _entropy(counts):
    """Return the entropy in nats of counts (K,), 0 for none, and their sum."""
    total, found = 0.0, 0.0
    for c in range(counts.shape[0]):
        total += counts[c]
    for c in range(counts.shape[0]):
        # 0 ln 0 and 1 ln 1 are 0
        if 0.0 < counts[c] < total:
            share = counts[c] / total
            found += share * math.log(share)
    return -found, total


entropy = kernel(_entropy, allocates=False)


def _domain_gain(k, rule, work):
    """Return the gain of domain k alone by the split whose left side is `work.left`."""
    K = rule.n_classes
    before, n_left = entropy(work.left[k * K : (k + 1) * K])
    for c in range(K):
        work.right[c] = work.counts[k * K + c] - work.left[k * K + c]
    after, n_right = entropy(work.right[:K])
    return max(work.whole[0, k] - (n_left * before + n_right * after) / max(work.whole[1, k], 1.0), 0.0)


domain_gain = kernel(_domain_gain, allocates=False)


def _mixed_gain(work):
    """Return the gain of a split by those of its domains, `work.gains`."""
    mixed = 0.0
    for k in range(work.gains.shape[0]):
        mixed += work.shares[k] * work.gains[k]
    return mixed


mixed_gain = kernel(_mixed_gain, allocates=False)


def _fill_counts(rule, rows, work):
    """Count the rows of a node by cell, and write the domains' shares; return whether a split may gain."""
    work.counts[:] = 0.0
    for r in rows:
        work.counts[rule.cell[r]] += 1.0
    several, sources = False, 0.0
    for k in range(rule.n_domains):
        classes, n = 0, 0.0
        for c in range(rule.n_classes):
            n += work.counts[k * rule.n_classes + c]
            classes += work.counts[k * rule.n_classes + c] > 0.0
        several |= classes > 1
        work.whole[0, k], work.whole[1, k] = entropy(work.counts[k * rule.n_classes : (k + 1) * rule.n_classes])
        work.shares[k] = n
        sources += n if k > 0 else 0.0
    for k in range(1, rule.n_domains):
        work.shares[k] = rule.gamma if rule.summed else rule.gamma * work.shares[k] / max(sources, 1.0)
    work.shares[0] = 1.0 - rule.gamma
    # each domain of one class: no split gains
    return several


fill_counts = kernel(_fill_counts, allocates=False)


def _fill_slots(rule, columns, rows, slots):
    """Count the rows by bin of the columns and cell; return whether a cell is missing."""
    slots[:] = 0.0
    missing = False
    for place in range(columns.shape[0]):
        bins = rule.binned[columns[place]]
        for r in rows:
            slot = min(np.int64(bins[r]), N_SLOTS - 1)
            missing |= slot == N_SLOTS - 1
            slots[place, slot, rule.cell[r]] += 1.0
    return missing


fill_slots = kernel(_fill_slots, allocates=False)


def _start_left(slots, side, rule, work):
    """Make `work.left` what is left of all cuts of a column, its missing rows or none, and find the domains' gains."""
    for c in range(work.left.shape[0]):
        work.left[c] = slots[N_SLOTS - 1, c] if side else 0.0
    for k in range(rule.n_domains):
        work.gains[k] = domain_gain(k, rule, work)


start_left = kernel(_start_left, allocates=False)


def _move_slot(slot, rule, work):
    """Add the rows of a bin (D K,) to the left side, and find the gains that change; return whether there are any."""
    moved = False
    for k in range(rule.n_domains):
        count = 0.0
        for c in range(k * rule.n_classes, (k + 1) * rule.n_classes):
            work.left[c] += slot[c]
            count += slot[c]
        # logarithms are most of the work, and deep in a tree a bin has rows of one domain
        if count > 0.0:
            work.gains[k] = domain_gain(k, rule, work)
            moved = True
    return moved


move_slot = kernel(_move_slot, allocates=False)


def _best_split(rule, columns, rows, work, found):
    """Find the split of largest gain, the first of equal ones.

    Parameters
    ----------
    rule : MixedRule
    columns : (c,) int64
        Those drawn.
    rows : (m,) int64
    work : MixedWork
        `gains` receives the gain by domain.
    found : (3,) int64
        Receives the place among the columns, the last bin that goes left, and whether missing rows do.

    Returns
    -------
    float
        The gain; 0 where none is above the least.
    """
    if rows.shape[0] < 2 or not fill_counts(rule, rows, work):
        return 0.0
    best, none, n_sides = LEAST_GAIN, True, 1 + fill_slots(rule, columns, rows, work.slots)
    # missing to the right, then to the left as well, where there are any
    for side in range(n_sides):
        for place in range(columns.shape[0]):
            start_left(work.slots[place], side, rule, work)
            for b in range(N_SLOTS - 1):
                # a cut after an empty bin is the one before it
                if move_slot(work.slots[place, b], rule, work) or b == 0:
                    gain = mixed_gain(work)
                    if gain > best:
                        best, none = gain, False
                        found[COLUMN], found[THRESHOLD], found[MISSING_LEFT] = place, b, side
    if none:
        return 0.0
    slots = work.slots[found[COLUMN]]
    start_left(slots, found[MISSING_LEFT], rule, work)
    for b in range(found[THRESHOLD] + 1):
        move_slot(slots[b], rule, work)
    gain, rest = mixed_gain(work), 0.0
    for b in range(found[THRESHOLD] + 1, N_SLOTS - 1):
        rest += slots[b].sum()
    # the missing alone on the right
    if rest == 0.0:
        found[THRESHOLD] = ALL_KNOWN
    return gain


best_split = kernel(_best_split, allocates=False)


def _new_child(start, stop, depth, work):
    """Make a node of some rows that waits for its turn; return its number."""
    node = work.state[N_NODES]
    record = work.nodes[node]
    record.feature, record.left, record.right = -1, -1, -1
    record.count, record.gain, record.depth = stop - start, 0.0, depth
    record.threshold_bin, record.missing_left = 0, 0
    work.spans[node, 0], work.spans[node, 1] = start, stop
    work.waiting[work.state[N_WAITING]] = node
    work.state[N_WAITING] += 1
    work.state[N_NODES] += 1
    return node


new_child = kernel(_new_child, allocates=False)


def _part_rows(bins, found, rows, buffer):
    """Move the rows that go left to the front of `rows`, both sides in their order; return how many there are."""
    n_left, n_right = 0, 0
    for i in range(rows.shape[0]):
        r = rows[i]
        goes_left = found[MISSING_LEFT] == 1 if bins[r] == MISSING_BIN else bins[r] <= found[THRESHOLD]
        if goes_left:
            rows[n_left] = r
            n_left += 1
        else:
            buffer[n_right] = r
            n_right += 1
    for i in range(n_right):
        rows[n_left + i] = buffer[i]
    return n_left


part_rows = kernel(_part_rows, allocates=False)


def _grow_mixed(rule, drawn, found, work):
    """Grow a tree, or go on with one, until no node waits or no columns are left.

    Parameters
    ----------
    rule : MixedRule
    drawn : (b, c) int64
        Columns for the nodes that may be split, in turn; `work.state[N_DRAWN]` of them are used already.
    found : (3,) int64
        Scratch.
    work : MixedWork
        Whose state is all 0 where a tree begins.

    Returns
    -------
    bool
        Whether the tree is done.
    """
    if work.state[N_NODES] == 0:
        for i in range(work.rows.shape[0]):
            work.rows[i] = i
        new_child(0, work.rows.shape[0], 0, work)
    while work.state[N_WAITING] > 0:
        node = work.waiting[work.state[N_WAITING] - 1]
        record = work.nodes[node]
        if record.depth < rule.max_depth and work.state[N_DRAWN] == drawn.shape[0]:
            return False
        work.state[N_WAITING] -= 1
        if record.depth >= rule.max_depth:
            continue
        columns = drawn[work.state[N_DRAWN]]
        work.state[N_DRAWN] += 1
        start, stop = work.spans[node, 0], work.spans[node, 1]
        gain = best_split(rule, columns, work.rows[start:stop], work, found)
        if gain == 0.0:
            continue
        for k in range(rule.n_domains):
            work.owed[k] += work.shares[k] * work.gains[k] * (stop - start)
        column = columns[found[COLUMN]]
        middle = start + part_rows(rule.binned[column], found, work.rows[start:stop], work.buffer)
        record.feature, record.threshold_bin, record.missing_left = column, found[THRESHOLD], found[MISSING_LEFT]
        record.gain = gain
        work.nodes[node].left = new_child(start, middle, record.depth + 1, work)
        work.nodes[node].right = new_child(middle, stop, record.depth + 1, work)
    return True


grow_mixed = kernel(_grow_mixed, allocates=False)
