"""Twins of `hetcore.kernels.adam`: the lines of scikit-learn's AdamOptimizer, and of its rectified layer."""

import numpy as np


def step_by_adam(values, gradients, means, squares, rates, rate):
    means[:] = rates[0] * means + rates[1] * gradients
    squares[:] = rates[2] * squares + rates[3] * gradients**2
    values += -np.float64(rate) * means / (np.sqrt(squares) + rates[4])


def silence(outputs, errors):
    errors[outputs == 0] = 0
