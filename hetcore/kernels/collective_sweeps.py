"""Collective inference: the Gauss-Seidel sweep over instances of unknown label, through all stages.

A visit sums up the messages of the neighbours, goes through the stages, and writes the instance's own message; it
depends on nothing else, so that an instance none of whose neighbours' messages changed since need not be visited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.collective_columns import make_scratch, stage_columns, summarize
from hetcore.kernels.layout import MISSING_BIN

REMAINDER, STAGE, SUM_AND_STAGE = 0, 1, 2  # what an instance of unknown label sends: see `_send`


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
    prior : (n, K) float64
        Score before the first stage.
    center : (K,) float64
        What is taken from a target before it is sent.
    softmax : bool
        Whether scores are softmax scores of classes, or numbers.
    sends : int
        What an instance of unknown label sends: see `_send`.
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
    sends: int


class State(NamedTuple):
    """What inference changes.

    Attributes
    ----------
    messages : (n, >= W) float64
    scores : (n, K) float64
        Of the last stage.
    weights : (n,) float64
        How much each instance counts as a neighbour.
    initial : (n, K) float64
        Rf4 at stage 0, where there is no stage before.
    """

    messages: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    initial: np.ndarray


def _walk(nodes, cuts, bins, columns):
    """Return the leaf of one tree for an instance with own bins (d,) and relational columns (R,)."""
    node, d = 0, bins.shape[0]
    while nodes[node].left >= 0:
        record = nodes[node]
        # own columns are bins and relational ones numbers: messages change with every visit, and binning them would
        # cost more than a tree
        if record.feature < d:
            missing = bins[record.feature] == MISSING_BIN
            left = bins[record.feature] <= record.threshold_bin
        else:
            missing = np.isnan(columns[record.feature - d])
            left = columns[record.feature - d] <= cuts[node]
        # as the tree learned it: the side where the gain was higher
        if missing:
            left = record.missing_left == 1
        node = np.int64(record.left) if left else np.int64(record.right)
    return node


walk = kernel(_walk, allocates=False)


def _add_stage(stages, i, stage, columns, score):
    """Add the trees of a stage to the score (K,) of instance i."""
    for t in range(stages.begins[stage], stages.begins[stage + 1]):
        # trees stand one behind the other in the arrays; a leaf's place is counted from its tree's begin
        begin, end = stages.starts[t], stages.starts[t + 1]
        leaf = begin + walk(stages.nodes[begin:end], stages.cuts[begin:end], stages.bins[i], columns)
        for k in range(score.shape[0]):
            score[k] += stages.values[leaf, k]


add_stage = kernel(_add_stage, allocates=False)


def _add_stage_to(stages, stage, rows, columns, scores):
    """Add the trees of a stage to the scores (m, K) of `rows` (m,) int64 with relational columns (m, R)."""
    for at in range(rows.shape[0]):
        add_stage(stages, rows[at], stage, columns[at], scores[at])


add_stage_to = kernel(_add_stage_to, allocates=False)


def _link(score, softmax, fitted):
    """Write what scores (K,) are in the target's terms: themselves, or probabilities."""
    highest, total = score[0], 0.0
    for k in range(1, score.shape[0]):
        highest = max(highest, score[k])
    for k in range(score.shape[0]):
        # less the highest score: exp of a large one would overflow, and the shares stay the same
        fitted[k] = np.exp(score[k] - highest) if softmax else score[k]
        total += fitted[k]
    for k in range(score.shape[0]):
        if softmax:
            fitted[k] /= total


link = kernel(_link, allocates=False)


def _go_through(stages, i, summary, total, initial, columns, score, fitted):
    """Go through all stages for one instance.

    Parameters
    ----------
    stages : Stages
    i : int
    summary : (G, W) float64
    total : (G,) float64
    initial : (K,) float64
        Rf4 at stage 0.
    columns : (R,) float32
        Overwritten.
    score : (K,) float64
        Receives the last stage's.
    fitted : (S, K) float64
        Receives each stage's, through the link.
    """
    for k in range(score.shape[0]):
        score[k] = stages.prior[i, k]
    for stage in range(stages.begins.shape[0] - 1):
        # of the stages, the first sees the score before any neighbour is heard
        stage_columns(summary, total, initial if stage == 0 else score, stage, columns)
        add_stage(stages, i, stage, columns, score)
        link(score, stages.softmax, fitted[stage])


go_through = kernel(_go_through, allocates=False)


def _send(fitted, center, sends, step, message):
    """Write the message (W,) of an instance of unknown label.

    Its target is what the last stage predicts; with STAGE, what the first does (Algorithm 4, line 27). Its residual of
    a stage m is what the stages from m on add; with STAGE and SUM_AND_STAGE, what stage m adds (Algorithm 4, line 28).

    Parameters
    ----------
    fitted : (S, K) float64
        What each stage predicts.
    center : (K,) float64
    sends : int
        REMAINDER, STAGE or SUM_AND_STAGE.
    step : float
        Share in (0, 1] of the way from the old message to the new one.
    message : (>= W,) float64

    Returns
    -------
    change : float
        The largest of the target's K numbers, or where stages are sent, of all; -1 where nothing changed at all.
    """
    n_stages, n_outputs = fitted.shape
    change, same = 0.0, True
    for stage in range(n_stages):
        # as printed a stage sends its own fit; a remainder is sent of the last, which is what is known of the whole
        upto = stage if sends == STAGE or (sends == SUM_AND_STAGE and stage > 0) else n_stages - 1
        for k in range(n_outputs):
            before = center[k] if stage == 0 else fitted[stage - 1, k]
            value, c = fitted[upto, k] - before, stage * n_outputs + k
            # a message that stays to the bit wakes nobody: without that a sweep would visit all for ever
            if value != message[c]:
                same = False
                # a damped step where messages would swing between two states
                value = value if step == 1.0 else message[c] + step * (value - message[c])
                # residuals of single stages may swing while what is predicted stands: they do not keep a fit from
                # settling
                if stage == 0 or sends != REMAINDER:
                    change = max(change, abs(value - message[c]))
                message[c] = value
    return -1.0 if same else change


send = kernel(_send, allocates=False)


def _start(net, aggregation, stages, state, rows):
    """Write the first messages of instances of unknown label, from the neighbours that count already.

    Parameters
    ----------
    net : Net
    aggregation : Aggregation
    stages : Stages
    state : State
        Messages and scores change in place at `rows`, whose weights are 0.
    rows : (m,) int64
    """
    n_outputs, n_graphs, n_stages = stages.prior.shape[1], net.indptr.shape[0], stages.begins.shape[0] - 1
    summary, total = np.zeros((n_graphs, n_stages * n_outputs)), np.zeros(n_graphs)
    columns = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32)
    fitted, scratch = np.zeros((n_stages, n_outputs)), make_scratch(net)
    for i in rows:
        summarize(net, aggregation, state.messages, state.weights, i, n_outputs, summary, total, scratch)
        go_through(stages, i, summary, total, state.initial[i], columns, state.scores[i], fitted)
        send(fitted, stages.center, stages.sends, 1.0, state.messages[i])


start = kernel(_start)


def _sweep(net, aggregation, stages, state, order, waiting, skip, step, tol):
    """Visit the instances of unknown label once, in order, each by the latest messages (Gauss-Seidel).

    Parameters
    ----------
    net : Net
    aggregation : Aggregation
    stages : Stages
    state : State
        Messages and scores change in place at `order`.
    order : (m,) int64
    waiting : (n,) bool
        Around whom something changed since their last visit; changed in place.
    skip : bool
        Whether to pass over those that do not wait; the result is the same, bit for bit.
    step : float
        Share in (0, 1] of the way from an old message to the new one.
    tol : float
        A target that changes by more is counted.

    Returns
    -------
    change : float
        Largest change of a target.
    visits, moving : int
        Instances visited, and those whose target changed by more than `tol`.
    """
    n_outputs, n_graphs, n_stages = stages.prior.shape[1], net.indptr.shape[0], stages.begins.shape[0] - 1
    summary, total = np.zeros((n_graphs, n_stages * n_outputs)), np.zeros(n_graphs)
    columns = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32)
    fitted, scratch = np.zeros((n_stages, n_outputs)), make_scratch(net)
    largest, visits, moving = 0.0, 0, 0
    for i in order:
        # nothing that it hears has changed since its last visit, so its message would come out the same
        if skip and not waiting[i]:
            continue
        waiting[i], visits = False, visits + 1
        summarize(net, aggregation, state.messages, state.weights, i, n_outputs, summary, total, scratch)
        go_through(stages, i, summary, total, state.initial[i], columns, state.scores[i], fitted)
        change = send(fitted, stages.center, stages.sends, step, state.messages[i])
        if change >= 0.0:
            largest, moving = max(largest, change), moving + (change > tol)
            # a damped message has not arrived yet, and must be visited again even if no neighbour moves
            waiting[i] = step < 1.0
            for g in range(n_graphs):
                for e in range(net.indptr[g, i], net.indptr[g, i + 1]):
                    waiting[net.indices[e]] = True
    return largest, visits, moving


sweep = kernel(_sweep)


def _staged_scores(net, aggregation, stages, state, rows, out):
    """Write what each stage predicts for `rows` (m,) int64, through the link: out (m, S, K) float64; sends nothing."""
    n_outputs, n_graphs = stages.prior.shape[1], net.indptr.shape[0]
    summary, total = np.zeros((n_graphs, (stages.begins.shape[0] - 1) * n_outputs)), np.zeros(n_graphs)
    columns, score = np.zeros(n_graphs * (3 * n_outputs + 1) + n_outputs, np.float32), np.zeros(n_outputs)
    scratch = make_scratch(net)
    for at in range(rows.shape[0]):
        # summed up once a row, for all stages: the messages do not change here
        i = rows[at]
        summarize(net, aggregation, state.messages, state.weights, i, n_outputs, summary, total, scratch)
        go_through(stages, i, summary, total, state.initial[i], columns, score, out[at])


staged_scores = kernel(_staged_scores)
