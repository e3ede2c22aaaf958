"""Twins of `hetcore.kernels.autocorrelation`."""

import numpy as np


def cross_products(start, end, weights, values, orders):
    return np.array([(weights * values[order][start] * values[order][end]).sum() for order in orders])
