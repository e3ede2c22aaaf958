"""The relational columns of collective inference: what the messages of an instance's neighbours sum up to.

The message of an instance is W = S * K numbers, S stages of K outputs each: first its target (known, or estimated),
then for each stage m = 1..S-1 its residual r_m, the target less what the stages before m predict. Column Rf1 sums up
the neighbours' targets, Rf2 their residuals of the stage, Rf3 those of the stage before, and Rf4 is the own score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.medians import (
    LANES,
    LONGEST,
    Lanes,
    make_lanes,
    neighbor_medians,
    sort_lanes,
    weighted_median,
)

FEW = 100  # up to so many values of equal weight, counting is faster than selecting
SEVERAL = 3  # columns from which they are sorted side by side


class Net(NamedTuple):
    """G graphs over the same n instances.

    Attributes
    ----------
    indptr : (G, n + 1) int64
        `indices[indptr[g, i]:indptr[g, i + 1]]` are the neighbours of i in graph g.
    indices : (E,) int32
    weights : (E,) float32
        A neighbour along a negative edge counts with the opposite of its message.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray


class Aggregation(NamedTuple):
    """How neighbours are summed up.

    Attributes
    ----------
    median : bool
        Weighted median, or else mean.
    shrinkage : float
        Weight of a neighbour more whose message is 0, under the mean.
    fill_target, fill_residual : float
        Summary where no neighbour counts.
    """

    median: bool
    shrinkage: float
    fill_target: float
    fill_residual: float


def _most_neighbors(net):
    """Return the largest number of neighbours in a graph."""
    most = 0
    for g in range(net.indptr.shape[0]):
        for i in range(net.indptr.shape[1] - 1):
            most = max(most, net.indptr[g, i + 1] - net.indptr[g, i])
    return most


most_neighbors = kernel(_most_neighbors, allocates=False)


class Scratch(NamedTuple):
    """Room for the neighbours of an instance.

    Attributes
    ----------
    found : (5, widest) float64
        Who they are, their |weights|, values, and signs; and weights that are reordered with the values.
    lanes : Lanes
    """

    found: np.ndarray
    lanes: Lanes


def _make_scratch(net):
    """Return room for the neighbours of any instance."""
    # as many as the most neighbours: room is made once a call, not once an instance
    return Scratch(np.empty((5, most_neighbors(net))), make_lanes())


make_scratch = kernel(_make_scratch)


def _counting(net, weights, rows):
    """Return the net without the edges of instances other than `rows` (m,), and without neighbours of weight 0.

    Where columns are made again and again for the same rows, most of the time goes to neighbours that do not count.
    """
    indptr = np.zeros(net.indptr.shape, np.int64)
    asked = np.zeros(weights.shape[0], np.bool_)
    asked[rows] = True
    # counted edges are copied together, so that a sweep reads memory in order and skips nothing
    indices, strengths, size = np.empty_like(net.indices), np.empty_like(net.weights), 0
    for g in range(net.indptr.shape[0]):
        for i in range(weights.shape[0]):
            indptr[g, i] = size
            for e in range(net.indptr[g, i], net.indptr[g, i + 1] if asked[i] else net.indptr[g, i]):
                indices[size], strengths[size] = net.indices[e], net.weights[e]
                # written first, counted after: an edge of weight 0 is overwritten by the next, without a branch
                size += weights[net.indices[e]] * net.weights[e] != 0.0
        indptr[g, weights.shape[0]] = size
    return Net(indptr, indices[:size].copy(), strengths[:size].copy())


counting = kernel(_counting)


def _gather(net, weights, g, i, found):
    """Write the neighbours of i in graph g that count, their |weights| and signs, to found[0], [1] and [3].

    `weights` is (n,) float64, or (0,) where every neighbour in the net counts 1, which spares the dearest read.

    Returns
    -------
    m : int
        How many there are.
    total : float
        Their weight.
    """
    m, total = 0, 0.0
    for e in range(net.indptr[g, i], net.indptr[g, i + 1]):
        weight = np.float64(net.weights[e])
        if weights.shape[0]:
            weight *= weights[net.indices[e]]
        found[0, m], found[1, m] = net.indices[e], abs(weight)
        # a neighbour of negative weight speaks against: its message counts with the other sign, its weight by its size
        found[3, m] = 1.0 if weight > 0.0 else -1.0
        total += found[1, m]
        m += weight != 0.0  # no branch: which neighbours count can't be guessed, and a wrong guess costs more than both
    return m, total


gather = kernel(_gather, allocates=False)


def _summarize(net, aggregation, messages, weights, i, n_outputs, summary, total, scratch):
    """Sum up the messages of the neighbours of i.

    Parameters
    ----------
    net : Net
    aggregation : Aggregation
    messages : (n, >= W) float64
    weights : (n,) float64
        How much each instance counts, at least 0.
    i, n_outputs : int
        The first K numbers of a message are the target.
    summary : (G, S * K) float64
        Receives medians or means of the first S * K numbers of the messages.
    total : (G,) float64
        Receives the weight of the neighbours that count.
    scratch : Scratch
    """
    width, found = summary.shape[1], scratch.found
    for g in range(net.indptr.shape[0]):
        m, total[g] = gather(net, weights, g, i, found)
        if m == 0:
            # no neighbour counts: what trees were trained to see in that place, not 0, which could be a message
            summary[g, :n_outputs] = aggregation.fill_target
            summary[g, n_outputs:] = aggregation.fill_residual
        elif aggregation.median:
            column_medians(messages, scratch, m, summary[g])
        else:
            summary[g, :] = 0.0
            for at in range(m):
                # shrinkage is weight that sums to nothing: few neighbours move an instance less than many
                weight = found[3, at] * found[1, at] / (total[g] + aggregation.shrinkage)
                j = np.int64(found[0, at])
                for c in range(width):
                    summary[g, c] += weight * messages[j, c]


def _middle(values):
    """Return the plain median of a few values: of each, count how many are below (no branch to guess, no order)."""
    m = values.shape[0]
    first, second = (m - 1) // 2, m // 2
    low, high, found = 0.0, 0.0, 0
    for i in range(m):
        below, upto, value = 0, 0, values[i]
        for j in range(m):
            below += values[j] < value
            upto += values[j] <= value
        # equal values share places: the median is the one whose range of ranks holds the middle
        if below <= first < upto:
            low, found = value, found | 1
        if below <= second < upto:
            high, found = value, found | 2
        # both middles are found, mostly long before the last value
        if found == 3:
            break
    return 0.5 * (low + high)


middle = kernel(_middle, allocates=False)


def _equal(found, m):
    """Return whether the first m gathered neighbours count the same."""
    for at in range(1, m):
        if found[1, at] != found[1, 0]:
            return False
    return True


equal = kernel(_equal, allocates=False)


def _medians_side_by_side(messages, scratch, m, medians):
    """Do as `column_medians` for at most LONGEST neighbours of equal weight, LANES columns at once."""
    found, values = scratch.found, scratch.lanes.values
    for begin in range(0, medians.shape[0], LANES):
        size = min(LANES, medians.shape[0] - begin)
        for at in range(m):
            j, sign = np.int64(found[0, at]), found[3, at]
            for lane in range(size):
                values[at, lane] = sign * messages[j, begin + lane]
        # one network for all lanes: it compares the same places whatever the values, so the processor takes them as
        # vectors
        sort_lanes(values, m)
        for lane in range(size):
            medians[begin + lane] = 0.5 * (values[(m - 1) // 2, lane] + values[m // 2, lane])


medians_side_by_side = kernel(_medians_side_by_side, allocates=False)


def _column_medians(messages, scratch, m, medians):
    """Write the weighted medians of the first columns of `messages` over the m neighbours that were gathered."""
    found = scratch.found
    # equal weights and few: the plain median, which needs no weights moved along
    even = m <= FEW and equal(found, m)
    if even and m <= LONGEST and medians.shape[0] >= SEVERAL:
        medians_side_by_side(messages, scratch, m, medians)
        return
    for c in range(medians.shape[0]):
        for at in range(m):
            found[2, at] = found[3, at] * messages[np.int64(found[0, at]), c]
        if even:
            medians[c] = middle(found[2, :m])
        else:
            for at in range(m):
                # selecting moves values and weights, so that each column starts from a copy
                found[4, at] = found[1, at]
            medians[c] = weighted_median(found[2, :m], found[4, :m])


column_medians = kernel(_column_medians, allocates=False)
summarize = kernel(_summarize, allocates=False)


def _stage_columns(summary, total, own, stage, columns):
    """Lay out the relational columns of a stage: by graph Rf1, Rf2, Rf3 (K each) and the total; then Rf4 (K).

    Parameters
    ----------
    summary : (G, W) float64
    total : (G,) float64
    own : (K,) float64
        Score of the stage before.
    stage : int
        At stage 0 the residual is the whole target (paper, below Eq. 9), and there is none of a stage before.
    columns : (G (3 K + 1) + K,) float32
        Written to.
    """
    n_outputs, at = own.shape[0], 0
    for g in range(total.shape[0]):
        for k in range(n_outputs):
            columns[at + k] = summary[g, k]
            columns[at + n_outputs + k] = summary[g, stage * n_outputs + k]
            # before the first stage there is no residual: 0, as one of nobody
            columns[at + 2 * n_outputs + k] = summary[g, (stage - 1) * n_outputs + k] if stage > 0 else 0.0
        # how much the neighbours weigh together: trees can tell an average of many from one of few
        columns[at + 3 * n_outputs] = total[g]
        at += 3 * n_outputs + 1
    for k in range(n_outputs):
        columns[at + k] = own[k]


stage_columns = kernel(_stage_columns, allocates=False)


def _take(lanes, lane, found, m):
    """Put m gathered neighbours into a lane; return whether they fit there: few, and of the same weight."""
    lanes.counts[lane] = 0
    # a longer list or other weights: by itself, the rest side by side
    if m > LONGEST or not equal(found, m):
        return False
    for at in range(m):
        lanes.near[at, lane], lanes.signs[at, lane] = np.int32(found[0, at]), found[3, at]
    lanes.counts[lane] = m
    return True


take = kernel(_take, allocates=False)


def _relate_lanes(net, aggregation, messages, weights, rows, own, out, scratch, summary, total):
    """Do as `relate` under medians for at most LANES rows; `summary` (LANES, G, W) and `total` (LANES, G) are room."""
    lanes, size, n_outputs, width = scratch.lanes, rows.shape[0], own.shape[1], summary.shape[2]
    for g in range(net.indptr.shape[0]):
        for lane in range(LANES):
            lanes.counts[lane] = 0
        for lane in range(size):
            m, total[lane, g] = gather(net, weights, g, rows[lane], scratch.found)
            if m == 0:
                for c in range(width):
                    fill = aggregation.fill_target if c < n_outputs else aggregation.fill_residual
                    summary[lane, g, c] = fill
            elif not take(lanes, lane, scratch.found, m):
                column_medians(messages, scratch, m, summary[lane, g])
        # column by column, so that the sixteen lists sort the same column of their neighbours together
        for c in range(width):
            neighbor_medians(lanes, messages, c)
            for lane in range(size):
                if lanes.counts[lane] > 0:
                    summary[lane, g, c] = lanes.medians[lane]
    for lane in range(size):
        stage_columns(summary[lane], total[lane], own[lane], width // n_outputs - 1, out[lane])


relate_lanes = kernel(_relate_lanes, allocates=False)


def _relate(net, aggregation, messages, weights, rows, own, stage, out):
    """Write the relational columns of a stage.

    Parameters
    ----------
    net : Net
    aggregation : Aggregation
    messages : (n, W) float64
    weights : (n,) or (0,) float64
        None where `counting` left neighbours of weight 1 alone.
    rows : (m,) int64
    own : (m, K) float64
        Scores of the stage before.
    stage : int
    out : (m, R) float32
    """
    n_graphs, n_outputs, scratch = net.indptr.shape[0], own.shape[1], make_scratch(net)
    # means go row by row: there is nothing to sort, and lanes would only copy
    several = LANES if aggregation.median else 1
    summary, total = np.zeros((several, n_graphs, (stage + 1) * n_outputs)), np.zeros((several, n_graphs))
    for begin in range(0, rows.shape[0], several):
        end = min(begin + several, rows.shape[0])
        if aggregation.median:
            given = rows[begin:end], own[begin:end], out[begin:end]
            relate_lanes(net, aggregation, messages, weights, *given, scratch, summary, total)
        else:
            summarize(net, aggregation, messages, weights, rows[begin], n_outputs, summary[0], total[0], scratch)
            stage_columns(summary[0], total[0], own[begin], stage, out[begin])


relate = kernel(_relate)
