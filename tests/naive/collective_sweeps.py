"""Twins of `hetcore.kernels.collective_sweeps`."""

import numpy as np

from hetcore.kernels.collective_sweeps import REMAINDER, STAGE
from tests.naive.collective_columns import stage_columns, summarize


def walk(nodes, cuts, bins, columns):
    """Return the leaf of one tree."""
    node, d = 0, len(bins)
    while nodes["left"][node] >= 0:
        f = nodes["feature"][node]
        if f < d:
            missing, left = bins[f] == 255, bins[f] <= nodes["threshold_bin"][node]
        else:
            missing, left = np.isnan(columns[f - d]), columns[f - d] <= cuts[node]
        left = nodes["missing_left"][node] == 1 if missing else left
        node = nodes["left"][node] if left else nodes["right"][node]
    return node


def link(score, softmax):
    """Return scores in the target's terms."""
    if not softmax:
        return score.copy()
    powers = np.exp(score - score.max())
    return powers / powers.sum()


def _stage_value(stages, i, stage, columns):
    """Return the sum of a stage's trees (K,)."""
    total = np.zeros(len(stages.center))
    for t in range(stages.begins[stage], stages.begins[stage + 1]):
        tree = slice(stages.starts[t], stages.starts[t + 1])
        total = total + stages.values[tree][walk(stages.nodes[tree], stages.cuts[tree], stages.bins[i], columns)]
    return total


def add_stage_to(stages, stage, rows, columns, scores):
    for at, i in enumerate(rows):
        scores[at] += _stage_value(stages, i, stage, columns[at])


def go_through(stages, i, summary, total, initial):
    """Return the last score (K,) and what every stage predicts (S, K)."""
    score, fitted = stages.prior[i].copy(), []
    for stage in range(len(stages.begins) - 1):
        columns = stage_columns(summary, total, score if stage else initial, stage)
        score = score + _stage_value(stages, i, stage, columns)
        fitted.append(link(score, stages.softmax))
    return score, np.array(fitted)


def send(fitted, center, sends):
    """Return the message of an instance of unknown label (S K,)."""
    before = [center, *fitted[:-1]]
    residuals = fitted[[-1] * len(fitted[1:])] if sends == REMAINDER else fitted[1:]
    ends = [fitted[0 if sends == STAGE else -1], *residuals]
    return np.concatenate([end - start for end, start in zip(ends, before)])


def _visit(net, aggregation, stages, state, i):
    K, S = len(stages.center), len(stages.begins) - 1
    summary, total = summarize(net, aggregation, state.messages, state.weights, i, K, S)
    score, fitted = go_through(stages, i, summary, total, state.initial[i])
    return score, fitted, send(fitted, stages.center, stages.sends)


def start(net, aggregation, stages, state, rows):
    for i in rows:
        state.scores[i], _, message = _visit(net, aggregation, stages, state, i)
        state.messages[i, : len(message)] = message


def sweep(net, aggregation, stages, state, order, waiting, skip, step, tol):
    """Visit all in order; the twin never skips, it only counts whom the kernel would visit."""
    K, largest, visits, moving = len(stages.center), 0.0, 0, 0
    for i in order:
        visits += 1 if waiting[i] or not skip else 0
        waiting[i] = False
        state.scores[i], _, message = _visit(net, aggregation, stages, state, i)
        before = state.messages[i, : len(message)].copy()
        state.messages[i, : len(message)] = before + step * (message - before)
        if (message != before).any():
            change = step * np.abs(message - before)[: K if stages.sends == REMAINDER else None].max()
            largest, moving = max(largest, change), moving + (change > tol)
            waiting[i] = step < 1
            for indptr in net.indptr:
                waiting[net.indices[indptr[i] : indptr[i + 1]]] = True
    return largest, visits, moving


def staged_scores(net, aggregation, stages, state, rows, out):
    for at, i in enumerate(rows):
        out[at] = _visit(net, aggregation, stages, state, i)[1]
