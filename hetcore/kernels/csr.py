"""Sums over neighbours in a graph in CSR: `indices[indptr[i]:indptr[i + 1]]` are the neighbours of i. And over links.
And which rows of a table are the nearest.

A neighbour's values lie anywhere in memory, so that a link costs what waiting for them costs. They are kept side by
side with the neighbour's weight, in one line of the cache, and asked for some links ahead. Measured with half a million
instances: 5.5 to 6.6 ns a link, 13 without asking ahead, 25 with values and weights apart; the links alone are read
in 0.8.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.vector import ask_for_row

AHEAD = 24  # links; far enough for memory to answer, and near enough for the answer to be in the cache still


def _three_sums(indptr, indices, weights, packed, sums, totals):
    """Add up at most three values of the neighbours, each times its weight, and the weights.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
        Not negative.
    packed : (n, 4) float64
        Three values of each instance, and its weight as a neighbour; one of weight 0 is passed over.
    sums : (n, k) float64
        Receives the sums of link weight times neighbour weight times value, of the first k values.
    totals : (n,) float64
        Receives the sums of link weight times neighbour weight.
    """
    last, width = indices.shape[0] - 1, sums.shape[1]
    for i in range(indptr.shape[0] - 1):
        # in registers: the compiler can't know that sums are not among the values
        a, b, c, total = 0.0, 0.0, 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            ask_for_row(packed, indices[min(e + AHEAD, last)])
            j = indices[e]
            weight = packed[j, 3] * weights[e]
            # a neighbour of weight 0 has nothing to say, and of a missing one the value may be NaN
            if weight > 0.0:
                total += weight
                a += weight * packed[j, 0]
                b += weight * packed[j, 1]
                c += weight * packed[j, 2]
        totals[i] = total
        if width > 0:
            sums[i, 0] = a
        if width > 1:
            sums[i, 1] = b
        if width > 2:
            sums[i, 2] = c


three_sums = kernel(_three_sums, allocates=False)


def _neighbor_sums(indptr, indices, weights, values, neighbor_weights):
    """Add up the neighbours' values, each times its weight, three values in one pass over the links.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
        Not negative.
    values : (n, K) float64
    neighbor_weights : (n,) float64
        Weight of each instance as a neighbour; those of weight 0 are passed over.

    Returns
    -------
    sums : (n, K) float64
        Link weight times neighbour weight times value, over the neighbours.
    totals : (n,) float64
        Link weight times neighbour weight.
    """
    n, width = values.shape
    sums, totals, packed = np.empty((n, width)), np.empty(n), np.empty((n, 4))
    # once at least, for the totals
    for first in range(0, max(width, 1), 3):
        for i in range(n):
            for k in range(3):
                # any number will do for a value that is not there, but for NaN's slow arithmetic
                packed[i, k] = values[i, first + k] if first + k < width else 0.0
            packed[i, 3] = neighbor_weights[i]
        three_sums(indptr, indices, weights, packed, sums[:, first : first + 3], totals)
    return sums, totals


neighbor_sums = kernel(_neighbor_sums)


def _add_products(starts, indices, values, graphs, shares, given, sums):
    """Add what stands at each row's links, each times its value and its graph's share, to sums, in registers.

    Parameters
    ----------
    starts : (n + 1,) int64
        Where each row begins.
    indices : (E,) int32, values : (E,) float32, graphs : (E,) uint16
        The links: neighbours, values, and which graph they are of.
    shares : (q,) float64
    given : (m, 4) float32, or (m, 1)
    sums : (n, 4) float64, or (n, 1)
    """
    last = indices.shape[0] - 1
    for i in range(starts.shape[0] - 1):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        if given.shape[1] == 1:
            for e in range(starts[i], starts[i + 1]):
                a += shares[graphs[e]] * values[e] * given[indices[e], 0]
            sums[i, 0] += a
            continue
        for e in range(starts[i], starts[i + 1]):
            ask_for_row(given, indices[min(e + AHEAD, last)])
            j, weight = indices[e], shares[graphs[e]] * values[e]
            a += weight * given[j, 0]
            b += weight * given[j, 1]
            c += weight * given[j, 2]
            d += weight * given[j, 3]
        sums[i, 0] += a
        sums[i, 1] += b
        sums[i, 2] += c
        sums[i, 3] += d


add_products = kernel(_add_products, allocates=False)


def _add_squares(starts, indices, values, graphs, shares, given, met, sums):
    """Add what stands at each row's neighbours, each times the square of all its links' weight together, to sums.

    Parameters
    ----------
    starts, indices, values, graphs, shares
        As of `add_products`.
    given : (m, c) float64
    met : (m,) float64
        Zeros, and left so: a neighbour's weight while its row is read.
    sums : (n, c) float64
    """
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            met[indices[e]] += shares[graphs[e]] * values[e]
        for e in range(starts[i], starts[i + 1]):
            j = indices[e]
            square = met[j] * met[j]
            # once for a neighbour of several graphs
            met[j] = 0.0
            if square > 0.0:
                for c in range(given.shape[1]):
                    sums[i, c] += square * given[j, c]


add_squares = kernel(_add_squares, allocates=False)


def _append_links(indptr, indices, weights, over, graph, ends, all_indices, values, graphs):
    """Write a graph's links, each row's over a number of its own, behind what stands in the row already.

    Parameters
    ----------
    indptr : (n + 1,) int32
    indices : (e,) int32
    weights : (e,) float32
    over : (n,) float64
        By which the row's weights are divided; 0 leaves none.
    graph : int
    ends : (n,) int64
        Where each row goes on; moved by the links that are written.
    all_indices : (E,) int32
    values : (E,) float32
    graphs : (E,) uint16
        Receive neighbours, weights and which graph they are of.
    """
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            all_indices[ends[i]] = indices[e]
            values[ends[i]] = weights[e] / over[i] if over[i] != 0.0 else 0.0
            graphs[ends[i]] = graph
            ends[i] += 1


append_links = kernel(_append_links, allocates=False)


def _merge_links(first, last, starts, indices, seen, indptr, place):
    """Count each row's links to the same neighbour as one, for the rows from `first` to `last`.

    Parameters
    ----------
    first, last : int
        Rows before `first` are done.
    starts : (n + 1,) int64
        Where each row begins.
    indices : (E,) int32
        Receives the merged links' neighbours in the order of their first link, from the front on.
    seen : (n,) int32
        -1 before the first row: which merged link was the neighbour's last.
    indptr : (n + 1,) int32, place : (E,) int32
        Receive where each row's merged links begin, and which of them each link is.
    """
    for i in range(first, last):
        begin = end = indptr[i]
        for e in range(starts[i], starts[i + 1]):
            j = indices[e]
            # a place before this row's is of another row
            if seen[j] < begin:
                seen[j], indices[end] = end, j
                end += 1
            place[e] = seen[j]
        indptr[i + 1] = end


merge_links = kernel(_merge_links, allocates=False)


def _weigh_links(starts, place, values, graphs, shares, indptr, weighed, to_one):
    """Weigh each row's links by the shares of their graphs, and add up those that are one.

    Parameters
    ----------
    starts : (n + 1,) int64
    place : (E,) int32
        Which of the merged links each is.
    values : (E,) float32
        Not negative.
    graphs : (E,) uint16
    shares : (q,) float64
        Of the graphs, not negative.
    indptr : (n + 1,) int32
        Where each row's merged links begin.
    weighed : (M,) float64
        Receives their weights; 0 before.
    to_one : bool
        Whether a row's then sum to 1, where one is above 0.
    """
    for i in range(indptr.shape[0] - 1):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            weight = values[e] * shares[graphs[e]]
            weighed[place[e]] += weight
            total += weight
        if to_one and total > 0.0:
            for e in range(indptr[i], indptr[i + 1]):
                weighed[e] /= total


weigh_links = kernel(_weigh_links, allocates=False)


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
    # shuffled into one buffer first: the edges then read it many times, and only the orders are drawn outside
    for p in range(orders.shape[0]):
        for i in range(values.shape[0]):
            shuffled[i] = values[orders[p, i]]
        total = 0.0
        for e in range(start.shape[0]):
            total += weights[e] * shuffled[start[e]] * shuffled[end[e]]
        sums[p] = total
    return sums


cross_products = kernel(_cross_products)


def _nearest_rows(products, own, lengths, mine, scale, farthest, found):
    """Find the nearest of r rows to each of m rows, by Euclid's distance in whole steps, of equal ones the first.

    Parameters
    ----------
    products : (m, r) float64
        Twice their inner products.
    own, lengths : (m,) and (r,) float64
        Their squared lengths.
    mine : (m,) int64
        Which of the r a row is itself, or -1: none; not looked at.
    scale, farthest : float
        Steps in a squared distance, and the most that are told apart.
    found : (m, k) int64
        Receives the k nearest, in the order of the rows; k is less than r.
    """
    steps, held = np.empty(lengths.shape[0]), np.empty(found.shape[1])
    for i in range(found.shape[0]):
        # a loop of its own, which becomes vector code
        for j in range(steps.shape[0]):
            steps[j] = np.rint(min(max((own[i] + lengths[j] - products[i, j]) * scale, 0.0), farthest))
        held[:] = np.inf
        last = held.shape[0] - 1
        for j in range(steps.shape[0]):
            # as far as the last one held: that one came first
            if steps[j] >= held[last] or j == mine[i]:
                continue
            k = last
            while k > 0 and held[k - 1] > steps[j]:
                held[k] = held[k - 1]
                found[i, k] = found[i, k - 1]
                k -= 1
            held[k] = steps[j]
            found[i, k] = j
        for k in range(1, last + 1):
            j = found[i, k]
            while k > 0 and found[i, k - 1] > j:
                found[i, k] = found[i, k - 1]
                k -= 1
            found[i, k] = j


nearest_rows = kernel(_nearest_rows)
