"""Twin of `hetcore.kernels.oblivious`: every cut of every column tried on every level, by masks and float64 sums."""

import numpy as np

from tests.naive.members import write_slopes


def explained(gradients, hessians, leaf, l2):
    """Return the sum over leaves and outputs of G^2 / (H + l2)."""
    each = [(gradients[leaf == j].sum(axis=0), hessians[leaf == j].sum(axis=0)) for j in np.unique(leaf)]
    return sum((G**2 / (H + l2)).sum() for G, H in each)


def grow_oblivious(binned, gradients, hessians, depth, l2):
    """Return the splits (column, cut) of the levels, and the leaf of each row, numbered from the left.

    `binned` (d, m) has the columns and rows of the tree; gradients are (m, K), hessians (m, 1) or (m, K).
    """
    leaf, splits = np.zeros(binned.shape[1], int), []
    for _ in range(depth):
        best, split = explained(gradients, hessians, leaf, l2) * (1 + 1e-9), None
        for column, bins in enumerate(binned.astype(int)):
            for cut in np.unique(bins)[:-1]:
                found = explained(gradients, hessians, 2 * leaf + (bins > cut), l2)
                if found > best * (1 + 1e-12):
                    # the missing alone on the right: whatever is known goes left
                    best, split = found, (column, cut if (bins[bins < 255] > cut).any() else 254)
        if split is None:
            break
        splits.append(split)
        leaf = 2 * leaf + (binned[split[0]] > split[1])
    return splits, leaf


def boost_oblivious(binned, codes, pull, weight, scores, params, drawn, rate, limit):
    """Add trees to scores (M, n, k) as `members.boost_members` does; return the splits of each, by member."""
    grown, classes = [[] for _ in scores], np.isfinite(limit)
    for trees, score, own, mine in zip(grown, scores, drawn, pull):
        for rows, columns in own:
            g, h = write_slopes(score[None], codes, mine[None], weight, classes)
            g, h = g[0][rows], np.ones((len(rows), 1)) if h is None else h[0][rows]
            splits, leaf = grow_oblivious(binned[columns][:, rows], g, h, params.max_depth, params.l2)
            trees.append([(columns[column], cut) for column, cut in splits])
            every = np.zeros(len(score), int)
            for column, cut in trees[-1]:
                every = 2 * every + (binned[column] > cut)
            sums = [(g[leaf == j].sum(axis=0), h[leaf == j].sum(axis=0)) for j in range(2 ** len(splits))]
            score += rate * np.clip([-G / (H + params.l2) for G, H in sums], -limit, limit)[every]
    return grown
