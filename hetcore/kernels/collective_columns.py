"""The relational columns of collective inference: what the messages of an instance's neighbours sum up to.

The message of an instance is W = S * K numbers, S stages of K outputs each: first its target (known, or estimated),
then for each stage m = 1..S-1 its residual r_m, the target less what the stages before m predict. Column Rf1 sums up
the neighbours' targets, Rf2 their residuals of the stage, Rf3 those of the stage before, and Rf4 is the own score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
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
    scratch : (4, widest) float64
    """
    width = summary.shape[1]
    for g in range(net.indptr.shape[0]):
        m, total[g] = 0, 0.0
        for e in range(net.indptr[g, i], net.indptr[g, i + 1]):
            weight = net.weights[e] * weights[net.indices[e]]
            if weight != 0.0:
                scratch[0, m], scratch[1, m] = net.indices[e], abs(weight)
                scratch[3, m] = 1.0 if weight > 0.0 else -1.0
                total[g] += scratch[1, m]
                m += 1
        if m == 0:
            summary[g, :n_outputs] = aggregation.fill_target
            summary[g, n_outputs:] = aggregation.fill_residual
        elif aggregation.median:
            column_medians(messages, scratch, m, summary[g])
        else:
            summary[g, :] = 0.0
            for at in range(m):
                weight = scratch[3, at] * scratch[1, at] / (total[g] + aggregation.shrinkage)
                j = np.int64(scratch[0, at])
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
        if below <= first < upto:
            low, found = value, found | 1
        if below <= second < upto:
            high, found = value, found | 2
        if found == 3:
            break
    return 0.5 * (low + high)


middle = kernel(_middle, allocates=False)


def _column_medians(messages, scratch, m, medians):
    """Write the weighted medians of the first columns of `messages` over rows scratch[0, :m].

    Their weights are scratch[1, :m], and scratch[3, :m] their signs.
    """
    even = m <= FEW
    for at in range(m):
        even = even and scratch[1, at] == scratch[1, 0]
    weights = np.empty(0 if even else m)
    for c in range(medians.shape[0]):
        for at in range(m):
            scratch[2, at] = scratch[3, at] * messages[np.int64(scratch[0, at]), c]
        if even:
            medians[c] = middle(scratch[2, :m])
        else:
            for at in range(m):
                weights[at] = scratch[1, at]
            medians[c] = weighted_median(scratch[2, :m], weights)


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
        At stage 0 the residual is the whole target (paper, below Eq. 9), and there is none of a stage before.
    columns : (G (3 K + 1) + K,) float32
        Written to.
    """
    n_outputs, at = own.shape[0], 0
    for g in range(total.shape[0]):
        for k in range(n_outputs):
            columns[at + k] = summary[g, k]
            columns[at + n_outputs + k] = summary[g, stage * n_outputs + k]
            columns[at + 2 * n_outputs + k] = summary[g, (stage - 1) * n_outputs + k] if stage > 0 else 0.0
        columns[at + 3 * n_outputs] = total[g]
        at += 3 * n_outputs + 1
    for k in range(n_outputs):
        columns[at + k] = own[k]


stage_columns = kernel(_stage_columns, allocates=False)


def _most_neighbors(net):
    """Return the largest number of neighbours in a graph."""
    most = 0
    for g in range(net.indptr.shape[0]):
        for i in range(net.indptr.shape[1] - 1):
            most = max(most, net.indptr[g, i + 1] - net.indptr[g, i])
    return most


most_neighbors = kernel(_most_neighbors, allocates=False)


def _relate(net, aggregation, messages, weights, rows, own, stage, out):
    """Write the relational columns of a stage.

    Parameters
    ----------
    net : Net
    aggregation : Aggregation
    messages : (n, W) float64
    weights : (n,) float64
    rows : (m,) int64
    own : (m, K) float64
        Scores of the stage before.
    stage : int
    out : (m, R) float32
    """
    n_graphs, n_outputs = net.indptr.shape[0], own.shape[1]
    summary, total = np.zeros((n_graphs, (stage + 1) * n_outputs)), np.zeros(n_graphs)
    scratch = np.empty((4, most_neighbors(net)))
    for at in range(rows.shape[0]):
        summarize(net, aggregation, messages, weights, rows[at], n_outputs, summary, total, scratch)
        stage_columns(summary, total, own[at], stage, out[at])


relate = kernel(_relate)
