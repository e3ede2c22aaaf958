"""Which class a row is said to be: the largest probability, or the largest product with weights that macro F1 chose.

Macro F1 counts a rare class as much as a common one, and the most probable class is then not the best to name. One
weight a class multiplies the probabilities; each is set in turn to the value, of a grid, with the best macro F1 on rows
that nothing was fitted to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.metrics import macro_f1_of_codes

__all__ = ["class_weights", "named"]

WEIGHTS = np.exp(np.linspace(-2.5, 2.5, 41))
SWEEPS = 2
WON = 1e-12  # of F1, below which nothing was


def class_weights(probabilities: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return the weights (K,) of the classes whose largest product with p has the best macro F1, one class at a time.

    Parameters
    ----------
    probabilities : (n, K) float64
    y : (n,) int
        Class codes.
    """
    weights = np.ones(probabilities.shape[1])
    best = macro_f1_of_codes(y, named(probabilities, weights))
    for k in list(range(len(weights))) * SWEEPS:
        for each in WEIGHTS:
            tried = np.where(np.arange(len(weights)) == k, each, weights)
            f1 = macro_f1_of_codes(y, named(probabilities, tried))
            if f1 > best + WON:
                best, weights = f1, tried
    return weights


def named(probabilities: NDArray, weights: NDArray) -> NDArray[np.int64]:
    """Return the class code (n,) of the largest product of probabilities (n, K) and weights (K,)."""
    return (probabilities * weights).argmax(axis=1)

