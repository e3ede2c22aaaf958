"""RBM for ratings (Salakhutdinov, Mnih, Hinton 2007), a rival of Table 2: five-way units that share hidden ones.

A user's ratings are softmax units, one for each film that was rated; all users share weights W and biases. Contrastive
divergence of one step on batches of users, Adam. A rating is predicted as its mean under p(v | E[h]), one step of mean
field. Hidden units, decay and the pass are chosen on a tenth of the ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.noise.recommenders import Ratings, Recommender

__all__ = ["RBM"]

BATCH, RATE, START = 64, 5e-3, 0.01  # users; of Adam; deviation of the first weights
DECAYS, TINY = (0.9, 0.999), 1e-8  # of Adam


class RBM(Recommender):
    """Restricted Boltzmann machine for ratings that are a few whole numbers."""

    settings = {"hidden": [100], "decay": [1e-2, 3e-3]}
    n_iterations, patience = 50, 6

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[Any]:
        rng = np.random.default_rng(0)
        levels = np.unique(ratings.values)
        at = np.searchsorted(levels, ratings.values)
        given = np.full(ratings.shape, -1, np.int8)  # the level of each rating, -1 where there is none
        given[ratings.users, ratings.items] = at
        counts = np.zeros((ratings.shape[1], levels.size))
        np.add.at(counts, (ratings.items, at), 1.0)
        learned = [
            (START * rng.standard_normal((counts.size, setting["hidden"]))).astype(np.float32),
            np.log((counts + 1.0) / (counts.sum(axis=1, keepdims=True) + levels.size)).ravel().astype(np.float32),
            np.zeros(setting["hidden"], np.float32),
        ]
        adam = Adam(learned)
        for _ in range(n):
            for rows in np.array_split(rng.permutation(ratings.shape[0]), max(1, ratings.shape[0] // BATCH)):
                adam.step(learned, _divergence(units(given[rows], levels.size), learned, rng, setting["decay"]))
            yield expected(given, learned, levels)

    def _predicted(self, learned: NDArray, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        return learned[users, items].astype(np.float64)


class Adam:
    """Steps upwards along gradients, each parameter at a rate of its own."""

    def __init__(self, learned: list[NDArray]) -> None:
        self.sums = [[np.zeros_like(each) for each in learned] for _ in DECAYS]
        self.n = 0

    def step(self, learned: list[NDArray], gradients: list[NDArray]) -> None:
        """Change what is learned, in place."""
        self.n += 1
        for at, gradient in enumerate(gradients):
            for sums, decay, power in zip(self.sums, DECAYS, (1, 2)):
                sums[at] = decay * sums[at] + (1.0 - decay) * gradient**power
            mean, square = (sums[at] / (1.0 - decay**self.n) for sums, decay in zip(self.sums, DECAYS))
            learned[at] += RATE * mean / (np.sqrt(square) + TINY)


def _divergence(shown: NDArray, learned: list[NDArray], rng: np.random.Generator, decay: float) -> list[NDArray]:
    """Return the gradients of W, of the visible and of the hidden biases: the data's less those of one step away."""
    (n, m, K), (W, b, c) = shown.shape, learned
    given, seen = shown.reshape(n, -1), shown.sum(axis=2, keepdims=True)
    up = expit(given @ W + c)
    states = (rng.random(up.shape, np.float32) < up).astype(np.float32)
    rebuilt = (softmax((states @ W.T + b).reshape(n, m, K)) * seen).reshape(n, -1)
    again = expit(rebuilt @ W + c)
    return [
        (given.T @ up - rebuilt.T @ again) / n - decay * W,
        (given - rebuilt).mean(axis=0),
        (up - again).mean(axis=0),
    ]


def expected(given: NDArray, learned: list[NDArray], levels: NDArray) -> NDArray[np.float32]:
    """Return the mean rating (users, items) of what the hidden units are expected to be."""
    W, b, c = learned
    found = np.empty(given.shape, np.float32)
    for rows in np.array_split(np.arange(len(given)), max(1, len(given) // BATCH)):
        up = expit(units(given[rows], levels.size).reshape(rows.size, -1) @ W + c)
        scores = (up @ W.T + b).reshape(rows.size, given.shape[1], levels.size)
        found[rows] = softmax(scores) @ levels.astype(np.float32)
    return found


def units(given: NDArray, n_levels: int) -> NDArray[np.float32]:
    """Return the visible units (users, items, levels): 1 at the level of a rating."""
    return (given[:, :, None] == np.arange(n_levels, dtype=np.int8)).astype(np.float32)


def softmax(scores: NDArray) -> NDArray:
    """Return probabilities along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
