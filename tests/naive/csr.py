"""Twins of `hetcore.kernels.csr`."""

import numpy as np


def _known_neighbors(i, indptr, indices, weights, known):
    edges = np.arange(indptr[i], indptr[i + 1])
    edges = edges[known[indices[edges]] & (weights[edges] > 0)]
    return indices[edges], weights[edges].astype(float)


def neighbor_sums(indptr, indices, weights, values, neighbor_weights):
    n = len(indptr) - 1
    sums, totals = np.zeros((n, values.shape[1])), np.zeros(n)
    for i in range(n):
        neighbors, weight = _known_neighbors(i, indptr, indices, weights, neighbor_weights > 0)
        totals[i] = weight @ neighbor_weights[neighbors]
        sums[i] = (weight * neighbor_weights[neighbors]) @ values[neighbors]
    return sums, totals


def add_products(starts, indices, values, graphs, shares, given, sums):
    for i in range(len(starts) - 1):
        own = slice(starts[i], starts[i + 1])
        sums[i] += (shares[graphs[own]] * values[own]) @ given[indices[own]].astype(float)


def add_squares(starts, indices, values, graphs, shares, given, met, sums):
    for i in range(len(starts) - 1):
        own = slice(starts[i], starts[i + 1])
        weights = np.bincount(indices[own], shares[graphs[own]] * values[own], len(given))
        sums[i] += weights**2 @ given


def append_links(indptr, indices, weights, over, graph, ends, all_indices, values, graphs):
    for i in range(len(indptr) - 1):
        own, size = slice(indptr[i], indptr[i + 1]), indptr[i + 1] - indptr[i]
        to = slice(ends[i], ends[i] + size)
        all_indices[to], graphs[to] = indices[own], graph
        values[to] = weights[own].astype(float) / over[i] if over[i] else 0.0
        ends[i] += size


def merge_links(first, last, starts, indices, seen, indptr, place):
    for i in range(first, last):
        own = indices[starts[i] : starts[i + 1]].tolist()
        merged = list(dict.fromkeys(own))
        place[starts[i] : starts[i + 1]] = [indptr[i] + merged.index(j) for j in own]
        indptr[i + 1] = indptr[i] + len(merged)
        indices[indptr[i] : indptr[i + 1]] = merged


def weigh_links(starts, place, values, graphs, shares, indptr, weighed, to_one):
    np.add.at(weighed, place, values * shares[graphs])
    for i in range(len(indptr) - 1 if to_one else 0):
        own = slice(indptr[i], indptr[i + 1])
        weighed[own] /= weighed[own].sum() or 1.0


def cross_products(start, end, weights, values, orders):
    return np.array([(weights * values[order][start] * values[order][end]).sum() for order in orders])


def nearest_rows(products, own, lengths, mine, scale, farthest, found):
    apart = np.rint(np.clip((own[:, None] + lengths - products) * scale, 0.0, farthest))
    for i in range(len(found)):
        order = [j for j in np.argsort(apart[i], kind="stable") if j != mine[i]]
        found[i] = sorted(order[: found.shape[1]])
