"""Collective inference: what neighbours say of labels and residuals, and the Gauss-Seidel sweep over all stages.

An instance says W = S * K numbers, S stages of K outputs each: first its target (known, or predicted), then for each
stage m = 1..S-1 its residual r_m, the target less what the stages before m predict. A visit reads what the neighbours
say, goes through the stages, and writes what the instance itself says from now on; it depends on nothing else, so that
an instance none of whose neighbours has spoken anew since its last visit need not be visited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import MISSING_BIN
from hetcore.kernels.medians import weighted_median

FEW = 100  # up to so many values of equal weight, counting is faster than selecting


class Net(NamedTuple):
    """G graphs over the same n instances.

    Attributes
    ----------
    indptr : (G, n + 1) int64
        `indices[indptr[g, i]:indptr[g, i + 1]]` are the neighbours of i in graph g.
    indices : (E,) int32
    weights : (E,) float32
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray


class Rules(NamedTuple):
    """How neighbours are summed up.

    Attributes
    ----------
    median : bool
        Weighted median, or else mean.
    shrinkage : float
        Weight of a neighbour more that says 0, under the mean.
    fill_target, fill_residual : float
        Summary where no neighbour counts.
    """

    median: bool
    shrinkage: float
    fill_target: float
    fill_residual: float


class Stages(NamedTuple):
    """The trees of S stages over d own and R relational columns, G (3 K + 1) + K of them: see `stage_columns`.

    Attributes
    ----------
    bins : (n, d) uint8
    nodes : (N,) NODE_DTYPE
        Tree after tree, children counted from the tree's own root.
    cuts : (N,) float32
        Values of relational columns up to it go left.
    values : (N, K) float64
    starts : (T + 1,) int64
        Where trees begin in `nodes`.
    begins : (S + 1,) int64
        Where stages begin among the trees.
    prior, center : (K,) float64
        Score before the first stage; what is taken from a target before it is said.
    softmax : bool
        Whether scores are softmax scores of classes, or numbers.
    """

    bins: np.ndarray
    nodes: np.ndarray
    cuts: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    begins: np.ndarray
    prior: np.ndarray
    center: np.ndarray
    softmax: bool


def _summarize(net, rules, said, voice, i, n_outputs, summary, total, room):
    """Sum up what the neighbours of i say.

    Parameters
    ----------
    net : Net
    rules : Rules
    said : (n, >= W) float64
    voice : (n,) float64
        How much each instance counts, at least 0.
    i, n_outputs : int
        The first K numbers that an instance says are its target.
    summary : (G, S * K) float64
        Receives medians or means of the first S * K numbers said.
    total : (G,) float64
        Receives the weight of the neighbours that count.
    room : (3, widest) float64
    """
    width = summary.shape[1]
    for g in range(net.indptr.shape[0]):
        m, total[g] = 0, 0.0
        for e in range(net.indptr[g, i], net.indptr[g, i + 1]):
            weight = net.weights[e] * voice[net.indices[e]]
            if weight > 0.0:
                room[0, m], room[1, m] = net.indices[e], weight
                total[g] += weight
                m += 1
        if m == 0:
            summary[g, :n_outputs] = rules.fill_target
            summary[g, n_outputs:] = rules.fill_residual
        elif rules.median:
            column_medians(said, room, m, summary[g])
        else:
            summary[g, :] = 0.0
            for at in range(m):
                j, weight = np.int64(room[0, at]), room[1, at] / (total[g] + rules.shrinkage)
                for c in range(width):
                    summary[g, c] += weight * said[j, c]


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
        if below <= first < upto:
            low, found = value, found | 1
        if below <= second < upto:
            high, found = value, found | 2
        if found == 3:
            break
    return 0.5 * (low + high)


middle = kernel(_middle, allocates=False)


def _column_medians(said, room, m, medians):
    """Write the weighted medians, over the rows room[0, :m] of weights room[1, :m], of the first columns of `said`."""
    even = m <= FEW
    for at in range(m):
        even = even and room[1, at] == room[1, 0]
    weights = np.empty(0 if even else m)
    for c in range(medians.shape[0]):
        for at in range(m):
            room[2, at] = said[np.int64(room[0, at]), c]
        if even:
            medians[c] = middle(room[2, :m])
        else:
            for at in range(m):
                weights[at] = room[1, at]
            medians[c] = weighted_median(room[2, :m], weights)


column_medians = kernel(_column_medians)
summarize = kernel(_summarize)


def _stage_columns(summary, total, own, stage, columns):
    """Lay out the relational columns of a stage: by graph Rf1, Rf2, Rf3 (K each) and the total; then Rf4 (K).

    Parameters
    ----------
    summary : (G, W) float64
    total : (G,) float64
    own : (K,) float64
        Score of the stage before.
    stage : int
        Rf2 is zero at stage 0, Rf3 up to stage 1.
    columns : (G (3 K + 1) + K,) float32
        Written to.
    """
    n_outputs, at = own.shape[0], 0
    for g in range(total.shape[0]):
        for k in range(n_outputs):
            columns[at + k] = summary[g, k]
            columns[at + n_outputs + k] = summary[g, stage * n_outputs + k] if stage > 0 else 0.0
            columns[at + 2 * n_outputs + k] = summary[g, (stage - 1) * n_outputs + k] if stage > 1 else 0.0
        columns[at + 3 * n_outputs] = total[g]
        at += 3 * n_outputs + 1
    for k in range(n_outputs):
        columns[at + k] = own[k]


stage_columns = kernel(_stage_columns, allocates=False)


def _walk(nodes, cuts, bins, columns):
    """Return the leaf of one tree for an instance with own bins (d,) and relational columns (R,)."""
    node, d = 0, bins.shape[0]
    while nodes[node].left >= 0:
        record = nodes[node]
        if record.feature < d:
            missing = bins[record.feature] == MISSING_BIN
            left = bins[record.feature] <= record.threshold_bin
        else:
            missing = np.isnan(columns[record.feature - d])
            left = columns[record.feature - d] <= cuts[node]
        if missing:
            left = record.missing_left == 1
        node = np.int64(record.left) if left else np.int64(record.right)
    return node


walk = kernel(_walk, allocates=False)


def _add_stage(stages, i, stage, columns, score):
    """Add the trees of a stage to the score (K,) of instance i."""
    for t in range(stages.begins[stage], stages.begins[stage + 1]):
        begin, end = stages.starts[t], stages.starts[t + 1]
        leaf = begin + walk(stages.nodes[begin:end], stages.cuts[begin:end], stages.bins[i], columns)
        for k in range(score.shape[0]):
            score[k] += stages.values[leaf, k]


add_stage = kernel(_add_stage, allocates=False)


def _link(score, softmax, fitted):
    """Write what scores (K,) say in the target's terms: themselves, or probabilities."""
    highest, total = score[0], 0.0
    for k in range(1, score.shape[0]):
        highest = max(highest, score[k])
    for k in range(score.shape[0]):
        fitted[k] = np.exp(score[k] - highest) if softmax else score[k]
        total += fitted[k]
    for k in range(score.shape[0]):
        if softmax:
            fitted[k] /= total


link = kernel(_link, allocates=False)


def _go_through(stages, i, summary, total, at_start, columns, score, fitted):
    """Go through all stages for one instance.

    Parameters
    ----------
    stages : Stages
    i : int
    summary : (G, W) float64
    total : (G,) float64
    at_start : bool
        Algorithm 4 starts with Rf2 = Rf3 = 0 and Rf4 = Rf1.
    columns : (R,) float32
        Overwritten.
    score : (K,) float64
        Receives the last stage's.
    fitted : (S, K) float64
        Receives each stage's, through the link.
    """
    n_outputs = score.shape[0]
    for k in range(n_outputs):
        score[k] = stages.prior[k]
    for stage in range(stages.begins.shape[0] - 1):
        stage_columns(summary, total, score, 0 if at_start else stage, columns)
        if at_start and total.shape[0] > 0:
            for k in range(n_outputs):
                columns[columns.shape[0] - n_outputs + k] = summary[0, k]
        add_stage(stages, i, stage, columns, score)
        link(score, stages.softmax, fitted[stage])


go_through = kernel(_go_through, allocates=False)


def _speak(fitted, center, said):
    """Let an instance of unknown label say its last prediction (S, K), and what later stages add: `said` (W,).

    Returns
    -------
    change : float
        The largest of the target's K numbers; -1 where nothing changed at all.
    """
    n_stages, n_outputs = fitted.shape
    change, same = 0.0, True
    for stage in range(n_stages):
        for k in range(n_outputs):
            before = center[k] if stage == 0 else fitted[stage - 1, k]
            value, c = fitted[n_stages - 1, k] - before, stage * n_outputs + k
            if value != said[c]:
                same = False
                if stage == 0:
                    change = max(change, abs(value - said[c]))
                said[c] = value
    return -1.0 if same else change


speak = kernel(_speak, allocates=False)


def _most_neighbors(net):
    """Return the largest number of neighbours in a graph."""
    most = 0
    for g in range(net.indptr.shape[0]):
        for i in range(net.indptr.shape[1] - 1):
            most = max(most, net.indptr[g, i + 1] - net.indptr[g, i])
    return most


most_neighbors = kernel(_most_neighbors, allocates=False)


def _relate(net, rules, said, voice, rows, own, stage, out):
    """Write the relational columns of a stage.

    Parameters
    ----------
    net : Net
    rules : Rules
    said : (n, W) float64
    voice : (n,) float64
    rows : (m,) int64
    own : (m, K) float64
        Scores of the stage before.
    stage : int
    out : (m, R) float32
    """
    n_graphs, n_outputs = net.indptr.shape[0], own.shape[1]
    summary, total = np.zeros((n_graphs, (stage + 1) * n_outputs)), np.zeros(n_graphs)
    room = np.empty((3, most_neighbors(net)))
    for at in range(rows.shape[0]):
        summarize(net, rules, said, voice, rows[at], n_outputs, summary, total, room)
        stage_columns(summary, total, own[at], stage, out[at])


relate = kernel(_relate)


def _start(net, rules, stages, said, scores, voice, rows, at_start):
    """Let instances of unknown label speak for the first time, from the neighbours that count already.

    Parameters
    ----------
    net : Net
    rules : Rules
    stages : Stages
    said : (n, >= W) float64
        Changed in place at `rows`.
    scores : (n, K) float64
        Receives the last stage's at `rows`.
    voice : (n,) float64
        0 at `rows`.
    rows : (m,) int64
    at_start : bool
        Whether with the features with which Algorithm 4 starts.
    """
    n_outputs, n_graphs, n_stages = stages.prior.shape[0], net.indptr.shape[0], stages.begins.shape[0] - 1
    summary, total = np.zeros((n_graphs, n_stages * n_outputs)), np.zeros(n_graphs)
    columns = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32)
    fitted, room = np.zeros((n_stages, n_outputs)), np.empty((3, most_neighbors(net)))
    for i in rows:
        summarize(net, rules, said, voice, i, n_outputs, summary, total, room)
        go_through(stages, i, summary, total, at_start, columns, scores[i], fitted)
        speak(fitted, stages.center, said[i])


start = kernel(_start)


def _sweep(net, rules, stages, said, scores, voice, order, waiting, skip):
    """Visit the instances of unknown label once, in order, each seeing what was said last (Gauss-Seidel).

    Parameters
    ----------
    net : Net
    rules : Rules
    stages : Stages
    said : (n, >= W) float64
        Changed in place at `order`.
    scores : (n, K) float64
        Receives the last stage's at `order`.
    voice : (n,) float64
    order : (m,) int64
    waiting : (n,) bool
        Whom something around changed since their last visit; changed in place.
    skip : bool
        Whether to pass over those that do not wait; the result is the same, bit for bit.

    Returns
    -------
    change : float
        Largest change of a target.
    visits : int
    """
    n_outputs, n_graphs, n_stages = stages.prior.shape[0], net.indptr.shape[0], stages.begins.shape[0] - 1
    summary, total = np.zeros((n_graphs, n_stages * n_outputs)), np.zeros(n_graphs)
    columns = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32)
    fitted, room = np.zeros((n_stages, n_outputs)), np.empty((3, most_neighbors(net)))
    largest, visits = 0.0, 0
    for i in order:
        if skip and not waiting[i]:
            continue
        waiting[i], visits = False, visits + 1
        summarize(net, rules, said, voice, i, n_outputs, summary, total, room)
        go_through(stages, i, summary, total, False, columns, scores[i], fitted)
        change = speak(fitted, stages.center, said[i])
        if change >= 0.0:
            largest = max(largest, change)
            for g in range(n_graphs):
                for e in range(net.indptr[g, i], net.indptr[g, i + 1]):
                    waiting[net.indices[e]] = True
    return largest, visits


sweep = kernel(_sweep)


def _staged_scores(net, rules, stages, said, voice, rows, out):
    """Write what each stage predicts for `rows` (m,) int64, through the link: out (m, S, K) float64; says nothing."""
    n_outputs, n_graphs = stages.prior.shape[0], net.indptr.shape[0]
    summary, total = np.zeros((n_graphs, (stages.begins.shape[0] - 1) * n_outputs)), np.zeros(n_graphs)
    columns, score = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32), np.zeros(n_outputs)
    room = np.empty((3, most_neighbors(net)))
    for at in range(rows.shape[0]):
        summarize(net, rules, said, voice, rows[at], n_outputs, summary, total, room)
        go_through(stages, rows[at], summary, total, False, columns, score, out[at])


staged_scores = kernel(_staged_scores)


def _cross_products(start, end, weights, values, orders):
    """Return sum_e w_e z[start_e] z[end_e] for each shuffle z of the values.

    Parameters
    ----------
    start, end : (e,) int32
    weights : (e,) float64
    values : (m,) float64
    orders : (p, m) int32
        Which value each instance gets.

    Returns
    -------
    (p,) float64
    """
    sums, shuffled = np.zeros(orders.shape[0]), np.empty(values.shape[0])
    for p in range(orders.shape[0]):
        for i in range(values.shape[0]):
            shuffled[i] = values[orders[p, i]]
        total = 0.0
        for e in range(start.shape[0]):
            total += weights[e] * shuffled[start[e]] * shuffled[end[e]]
        sums[p] = total
    return sums


cross_products = kernel(_cross_products)
