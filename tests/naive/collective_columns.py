"""Twins of `hetcore.kernels.collective_columns`."""

import numpy as np

from tests.naive.medians import weighted_median


def summarize(net, aggregation, messages, weights, i, n_outputs, n_stages):
    """Return the mean or median message of the neighbours of i (G, S K), and their weight (G,)."""
    summaries, totals = [], []
    for indptr in net.indptr:
        edges = np.arange(indptr[i], indptr[i + 1])
        near = net.indices[edges]
        signed = net.weights[edges] * weights[near]
        near, signed = near[signed != 0], signed[signed != 0]
        values, weight = np.sign(signed)[:, None] * messages[near][:, : n_stages * n_outputs], np.abs(signed)
        if len(near) == 0:
            residuals = [aggregation.fill_residual] * (n_stages - 1) * n_outputs
            summaries.append([aggregation.fill_target] * n_outputs + residuals)
        elif aggregation.median:
            summaries.append([weighted_median(column, weight) for column in values.T])
        else:
            summaries.append(weight @ values / (weight.sum() + aggregation.shrinkage))
        totals.append(weight.sum())
    return np.reshape(summaries, (len(totals), n_stages * n_outputs)), np.array(totals)


def middle(values):
    return np.median(values)


def stage_columns(summary, total, own, stage):
    """Return the relational columns (R,) float32: by graph Rf1, Rf2, Rf3, total; then Rf4."""
    K = len(own)
    columns = []
    for g in range(len(total)):
        of = [summary[g, m * K : (m + 1) * K] for m in range(summary.shape[1] // K)]
        columns += [of[0], of[stage], of[stage - 1] if stage > 0 else np.zeros(K), total[g : g + 1]]
    return np.concatenate([*columns, own]).astype(np.float32)


def relate(net, aggregation, messages, weights, rows, own, stage, out):
    for at, i in enumerate(rows):
        summary, total = summarize(net, aggregation, messages, weights, i, own.shape[1], stage + 1)
        out[at] = stage_columns(summary, total, own[at], stage)


def most_neighbors(net):
    return int(np.diff(net.indptr, axis=1).max(initial=0))


def counting(net, weights, rows):
    """Return indptr, indices and weights of the edges from `rows` to instances that count."""
    indices, strengths, indptr = [], [], np.zeros_like(net.indptr)
    for g, begins in enumerate(net.indptr):
        for i in range(len(begins) - 1):
            indptr[g, i] = len(indices)
            near = range(begins[i], begins[i + 1]) if i in rows else []
            kept = [e for e in near if net.weights[e] * weights[net.indices[e]] != 0]
            indices += net.indices[kept].tolist()
            strengths += net.weights[kept].tolist()
        indptr[g, -1] = len(indices)
    return indptr, indices, strengths
