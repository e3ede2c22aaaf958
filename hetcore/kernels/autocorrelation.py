"""Sums over the links of a graph, of values that are shuffled over its nodes: the band of Moran's I."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


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
