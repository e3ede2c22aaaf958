"""Training of a small network by least squares: what scikit-learn's MLPRegressor learns, to the bit, in .3 of its time.

    out_0 = x,  out_k = max(out_{k-1} W_k + b_k, 0), the last layer without the maximum
    each batch of 200 rows: the gradient of sum_i weight_i |out_K,i - w_i|^2 / 2 + alpha sum |W|^2 / 2, over the sum of
    weights, and a step of Adam

scikit-learn checks every batch anew, weighs a loss that decides nothing where the passes are given, and makes new
arrays for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.kernels.adam import silence, step_by_adam

__all__ = ["trained"]

BATCH = 200
RATE, BETA_1, BETA_2, EPSILON, ALPHA = 1e-3, 0.9, 0.999, 1e-8, 1e-4


class _Numbers:
    """Weights or biases of all layers, with gradients and Adam's running means, each in one array."""

    def __init__(self, drawn: list[NDArray], kind: type) -> None:
        self.values = np.concatenate([each.ravel() for each in drawn]).astype(np.float32)
        self.gradients, self.means, self.squares = (np.zeros(self.values.size, kind) for _ in range(3))
        self.rates = np.array([BETA_1, 1 - BETA_1, BETA_2, 1 - BETA_2, EPSILON], kind)
        ends = np.cumsum([each.size for each in drawn])[:-1]
        self.layers, self.slopes = (
            [part.reshape(each.shape) for part, each in zip(np.split(flat, ends), drawn)]
            for flat in (self.values, self.gradients)
        )

    def step(self, rate: float) -> None:
        """Do a step of Adam."""
        step_by_adam(self.values, self.gradients, self.means, self.squares, self.rates, rate)


class _Training:
    """A network that learns batch by batch."""

    def __init__(self, sizes: Sequence[int], weighted: bool, rng: np.random.RandomState) -> None:
        weights, biases = [], []
        for inputs, units in pairwise(sizes):
            # Glorot's bound, as scikit-learn draws
            bound = np.sqrt(6.0 / (inputs + units))
            weights.append(rng.uniform(-bound, bound, (inputs, units)))
            biases.append(rng.uniform(-bound, bound, units))
        self.weights = _Numbers(weights, np.float32)
        # sums over weighed rows, whose weights are float64, are divided in float64
        self.biases = _Numbers(biases, np.float64 if weighted else np.float32)
        self.steps = 0

    def learn(self, X: NDArray, W: NDArray, sample_weight: NDArray | None) -> None:
        """Do a step by a batch of rows."""
        layers, outputs = list(zip(self.weights.layers, self.biases.layers)), [X]
        for k, (weights, biases) in enumerate(layers, 1):
            out = outputs[-1] @ weights
            out += biases
            outputs.append(np.maximum(out, 0, out=out) if k < len(layers) else out)
        errors, total = outputs.pop() - W, len(X)
        if sample_weight is not None:
            errors *= sample_weight[:, None]
            total = sample_weight.sum()
        for k in reversed(range(len(layers))):
            slopes, weights = self.weights.slopes[k], layers[k][0]
            np.matmul(outputs[k].T, errors, out=slopes)
            slopes += ALPHA * weights
            slopes /= total
            self.biases.slopes[k][:] = errors.sum(axis=0) / total
            if k:
                errors = errors @ weights.T
                silence(outputs[k], errors)
        self._step()

    def _step(self) -> None:
        self.steps += 1
        rate = RATE * float(np.sqrt(1 - BETA_2**self.steps)) / (1 - BETA_1**self.steps)
        self.weights.step(rate)
        self.biases.step(rate)


def trained(
    X: NDArray, W: NDArray, sample_weight: NDArray | None, hidden: Sequence[int], epochs: int, seed: int
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return the layers of a network that says W of X: weights (a, b) and biases (b,) of each.

    Parameters
    ----------
    X : (m, d) float32
    W : (m, K) float32
    sample_weight : (m,) float64 or None
    hidden : sequence of int
        Units of the hidden layers.
    epochs : int
        Passes over the rows.
    seed : int
        Of the first weights and of the batches.

    Raises
    ------
    DataError
        If the network grows beyond all bounds.
    """
    rng, n = np.random.RandomState(seed), len(X)
    training = _Training((X.shape[1], *hidden, W.shape[1]), sample_weight is not None, rng)
    order = np.arange(n)
    for _ in range(epochs):
        # the order of the pass before, in another one: scikit-learn's stream
        order = order[rng.permutation(n)]
        for begin in range(0, n, BATCH):
            rows = order[begin : begin + BATCH]
            weights = None if sample_weight is None else sample_weight[rows]
            training.learn(X.take(rows, axis=0), W.take(rows, axis=0), weights)
    if not (np.isfinite(training.weights.values).all() and np.isfinite(training.biases.values).all()):
        raise DataError("A network's weights grew beyond all numbers: rescale the columns or the labels.")
    return list(zip(training.weights.layers, training.biases.layers))
