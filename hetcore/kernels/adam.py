"""A step of Adam over all numbers of a network in one pass, and the backward step of a rectified layer.

NumPy makes nine arrays of the network's size a step; the arithmetic is its own, number by number, and so are the bits.

Reference: Kingma, D. P., Ba, J. (2014). Adam: a method for stochastic optimization. arXiv:1412.6980.
"""

from __future__ import annotations

import math

import numpy as np

from hetcore.kernels.cache import kernel


def _step_by_adam(values, gradients, means, squares, rates, rate):
    """Move some numbers against their gradients.

    Parameters
    ----------
    values : (n,) float32
    gradients, means, squares : (n,) float32 or float64
        The last two are running means of the gradients and of their squares.
    rates : (5,) of the gradients' type
        beta_1, 1 - beta_1, beta_2, 1 - beta_2 and epsilon.
    rate : float
        The learning rate of this step, corrected for means that began at 0.
    """
    for i in range(values.size):
        slope = gradients[i]
        mean = rates[0] * means[i] + rates[1] * slope
        square = rates[2] * squares[i] + rates[3] * (slope * slope)
        means[i], squares[i] = mean, square
        # the rate is a float64, and so is what it multiplies
        values[i] += -rate * np.float64(mean) / np.float64(math.sqrt(square) + rates[4])


step_by_adam = kernel(_step_by_adam, allocates=False)


def _silence(outputs, errors):
    """Set errors (m, h) of units whose outputs (m, h) are 0 to 0."""
    for i in range(outputs.shape[0]):
        for j in range(outputs.shape[1]):
            errors[i, j] = errors[i, j] if outputs[i, j] != 0.0 else np.float32(0.0)


silence = kernel(_silence, allocates=False)
