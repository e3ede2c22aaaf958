"""Twins of `hetcore.kernels.collective`."""

import numpy as np

from tests.naive.medians import weighted_median


def summarize(net, rules, said, voice, i, n_outputs, n_stages):
    """Return what the neighbours of i say on average (G, S K), and their weight (G,)."""
    summaries, totals = [], []
    for indptr in net.indptr:
        edges = np.arange(indptr[i], indptr[i + 1])
        who = net.indices[edges]
        weight = net.weights[edges] * voice[who]
        who, weight = who[weight > 0], weight[weight > 0]
        values = said[who][:, : n_stages * n_outputs]
        if len(who) == 0:
            fills = [rules.fill_target] * n_outputs + [rules.fill_residual] * (n_stages - 1) * n_outputs
            summaries.append(fills)
        elif rules.median:
            summaries.append([weighted_median(column, weight) for column in values.T])
        else:
            summaries.append(weight @ values / (weight.sum() + rules.shrinkage))
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
        columns += [of[0], of[stage] if stage > 0 else np.zeros(K), of[stage - 1] if stage > 1 else np.zeros(K)]
        columns += [total[g : g + 1]]
    return np.concatenate([*columns, own]).astype(np.float32)


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
    """Return what scores say in the target's terms."""
    if not softmax:
        return score.copy()
    powers = np.exp(score - score.max())
    return powers / powers.sum()


def go_through(stages, i, summary, total, at_start):
    """Return the last score (K,) and what every stage predicts (S, K)."""
    score, fitted = stages.prior.copy(), []
    for stage in range(len(stages.begins) - 1):
        columns = stage_columns(summary, total, score, 0 if at_start else stage)
        if at_start and len(total):
            columns[-len(score) :] = summary[0, : len(score)]
        for t in range(stages.begins[stage], stages.begins[stage + 1]):
            tree = slice(stages.starts[t], stages.starts[t + 1])
            leaf = walk(stages.nodes[tree], stages.cuts[tree], stages.bins[i], columns)
            score = score + stages.values[tree][leaf]
        fitted.append(link(score, stages.softmax))
    return score, np.array(fitted)


def speak(fitted, center):
    """Return what an instance of unknown label says (S K,)."""
    return np.concatenate([fitted[-1] - center, *(fitted[-1] - before for before in fitted[:-1])])


def _visit(net, rules, stages, said, voice, i, at_start):
    K, S = len(stages.prior), len(stages.begins) - 1
    summary, total = summarize(net, rules, said, voice, i, K, S)
    score, fitted = go_through(stages, i, summary, total, at_start)
    return score, fitted, speak(fitted, stages.center)


def relate(net, rules, said, voice, rows, own, stage, out):
    for at, i in enumerate(rows):
        summary, total = summarize(net, rules, said, voice, i, own.shape[1], stage + 1)
        out[at] = stage_columns(summary, total, own[at], stage)


def start(net, rules, stages, said, scores, voice, rows, at_start):
    for i in rows:
        scores[i], _, words = _visit(net, rules, stages, said, voice, i, at_start)
        said[i, : len(words)] = words


def sweep(net, rules, stages, said, scores, voice, order, waiting, skip):
    """Visit all in order; the twin never skips, it only counts whom the kernel would visit."""
    K, largest, visits = len(stages.prior), 0.0, 0
    for i in order:
        visits += 1 if waiting[i] or not skip else 0
        waiting[i] = False
        scores[i], _, words = _visit(net, rules, stages, said, voice, i, False)
        before = said[i, : len(words)].copy()
        said[i, : len(words)] = words
        if (words != before).any():
            largest = max(largest, np.abs(words - before)[:K].max())
            for indptr in net.indptr:
                waiting[net.indices[indptr[i] : indptr[i + 1]]] = True
    return largest, visits


def staged_scores(net, rules, stages, said, voice, rows, out):
    for at, i in enumerate(rows):
        out[at] = _visit(net, rules, stages, said, voice, i, False)[1]


def most_neighbors(net):
    return int(np.diff(net.indptr, axis=1).max(initial=0))


def cross_products(start, end, weights, values, orders):
    return np.array([(weights * values[order][start] * values[order][end]).sum() for order in orders])
