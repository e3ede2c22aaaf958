"""Twins of `hetcore.kernels.members`: one member after the other, by `trees.grow`."""

import numpy as np

from hetcore.trees import grow


def grow_members(binned, gradients, hessians, rows, columns, params, n_bins):
    """Return a tree of each member, and the leaf (M, n) of every row."""
    each = [
        grow(binned, g, h if h.shape[1] else None, own, chosen, params, n_bins)
        for g, h, own, chosen in zip(gradients, hessians, rows, columns)
    ]
    return each, np.array([tree.apply(binned) for tree in each])


def grow_rounds(binned, target, scores, n_bins, params, drawn, rate):
    """Add trees of the squared error to scores (M, n, K), each on what those before leave; return them, by member.

    `drawn` has by member, of each of its trees, the rows and the columns.
    """
    grown = [[] for _ in scores]
    for trees, score, own in zip(grown, scores, drawn):
        for rows, columns in own:
            gradients = (score - target).astype(np.float32)
            trees.append(grow(binned, gradients, None, rows, columns, params, n_bins))
            score += rate * trees[-1].predict(binned)
    return grown


def boost_members(binned, codes, pull, weight, scores, n_bins, params, drawn, rate, limit):
    """As `grow_rounds`, on the slopes of `write_slopes`; with a finite limit of leaves, of classes."""
    grown, classes = [[] for _ in scores], np.isfinite(limit)
    for trees, score, own, mine in zip(grown, scores, drawn, pull):
        for rows, columns in own:
            g, h = write_slopes(score[None], codes, mine[None], weight, classes)
            # rows beyond those with slopes are never grown on
            g, h = (None if each is None else np.resize(each[0], (len(score), 1)).astype(np.float32) for each in (g, h))
            trees.append(grow(binned, g, h, rows.astype(np.int32), columns, params, n_bins))
            take_step(score, trees[-1].values, trees[-1].apply(binned), len(trees[-1].nodes), rate, limit)
    return grown


def take_step(scores, values, leaves, size, rate, limit):
    values[:size] = np.clip(values[:size], -limit, limit)
    scores += rate * values[leaves]


def add_members(scores, leaves, values, rate):
    for k in range(len(scores)):
        scores[k] += rate * values[k][leaves[k]]


def fitted(scores):
    if scores.shape[-1] == 1:
        return 1.0 / (1.0 + np.exp(-scores))
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def write_slopes(scores, codes, pull, weight, classes):
    """Return gradients and hessians of all rows, (M, n, k) each; hessians None for numbers."""
    targets = np.concatenate([np.tile(codes, (len(scores), 1, 1)), pull], axis=1)
    weights = np.repeat([1.0, weight], [len(codes), pull.shape[1]])[:, None]
    predicted = fitted(scores) if classes else scores
    slopes = weights * (predicted[:, : targets.shape[1]] - targets)
    return slopes, weights * (predicted * (1.0 - predicted))[:, : targets.shape[1]] if classes else None


def farthest(scores, n):
    return np.abs(scores[:, :n]).max(initial=0.0)
