"""LLORMA (Lee, Kim, Lebanon, Singer 2013), a rival of Table 2: many local factorizations, mixed by distance.

    1  factors of all ratings; the distance of two users, or of two items, is the angle between theirs
    2  q anchors, each a rating drawn from those known; K = (1 - (angle / h)^2)+ (Epanechnikov), users' times items'
    3  a factorization of rank r for each anchor, ratings weighted by K, L2 penalty
    4  predict: mean of the local predictions, weighted by K; one factorization of all where no anchor is near

Departures: lines 3, 4 are of what ratings are above or below the mean and the biases of user and item; least squares in
turn in place of gradient steps, from the one factorization of all; lambda grows with a code's weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from experiments.noise.recommenders import Ratings, Recommender, ridge

__all__ = ["LLORMA"]

START, FIRST_TURNS = 0.1, 8
BIAS_PRIOR, BIAS_TURNS = 8.0, 6  # ratings of the common mean that a bias is drawn to
NONE = 1e-9
Factors = list[NDArray[np.float64]]


class Learned(NamedTuple):
    """Biases of users and items, kernels of the anchors, local factors, factors of all; by user and by item."""

    biases: Factors
    kernels: list[Factors]
    local: list[Factors]
    whole: Factors


class LLORMA(Recommender):
    """Local low-rank matrix approximation; a pass updates the users and items of every local model once."""

    settings = {"rank": [5, 10], "penalty": [0.1, 0.07], "anchors": [30], "width": [0.8]}
    n_iterations, patience = 15, 2

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[Learned]:
        rng, penalty = np.random.default_rng(0), setting["penalty"]
        start = [START * rng.standard_normal((size, setting["rank"])) for size in ratings.shape]
        biases = _biases(ratings, self.mean_)
        above = ratings.values - self.mean_ - biases[0][ratings.users] - biases[1][ratings.items]
        centred, alike = ratings._replace(values=above), [np.ones(size) for size in ratings.shape]
        raw, whole = start, start
        for _ in range(FIRST_TURNS):  # angles are of ratings as they are: of centred ones all are about a right angle
            raw, whole = _turn(ratings, raw, alike, penalty), _turn(centred, whole, alike, penalty)
        drawn = rng.choice(ratings.values.size, setting["anchors"])
        kernels = [
            [_kernel(factors, at, setting["width"]) for factors, at in zip(raw, pair)]
            for pair in zip(ratings.users[drawn], ratings.items[drawn])
        ]
        local = [whole for _ in kernels]
        for _ in range(n):
            local = [_turn(centred, own, kernel, penalty) for own, kernel in zip(local, kernels)]
            yield Learned(biases, kernels, local, whole)

    def _predicted(self, learned: Learned, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        total, weights = np.zeros(users.size), np.zeros(users.size)
        for kernel, (U, V) in zip(learned.kernels, learned.local):
            weight = kernel[0][users] * kernel[1][items]
            total += weight * np.einsum("nd,nd->n", U[users], V[items])
            weights += weight
        apart = np.einsum("nd,nd->n", learned.whole[0][users], learned.whole[1][items])
        above = np.where(weights > NONE, total / np.maximum(weights, NONE), apart)
        return self.mean_ + learned.biases[0][users] + learned.biases[1][items] + above


def _biases(ratings: Ratings, mean: float) -> Factors:
    """Return the biases of users and of items, each the mean of what the other leaves, drawn to 0."""
    biases, at = [np.zeros(size) for size in ratings.shape], (ratings.users, ratings.items)
    counts = [np.bincount(rows, minlength=size) for rows, size in zip(at, ratings.shape)]
    for _ in range(BIAS_TURNS):
        for side in (1, 0):
            left = ratings.values - mean - biases[1 - side][at[1 - side]]
            biases[side] = np.bincount(at[side], left, ratings.shape[side]) / (counts[side] + BIAS_PRIOR)
    return biases


def _kernel(factors: NDArray, at: int, width: float) -> NDArray[np.float64]:
    """Return the Epanechnikov kernel (n,) of the angles between all factors and those of one row."""
    lengths = np.linalg.norm(factors, axis=1)
    cosines = factors @ factors[at] / np.maximum(lengths * lengths[at], NONE)
    return np.maximum(1.0 - (np.arccos(np.clip(cosines, -1.0, 1.0)) / width) ** 2, 0.0)


def _turn(ratings: Ratings, factors: Factors, kernel: Factors, penalty: float) -> Factors:
    """Return the users' factors by those of the items, then the items' by those, ratings weighted by the kernel."""
    weights = kernel[0][ratings.users] * kernel[1][ratings.items]
    matrix, right = ratings.matrix(weights), ratings.matrix(weights * ratings.values)
    users = ridge(matrix, right, factors[1], penalty * np.maximum(matrix.sum(axis=1), NONE))
    matrix, right = csr_array(matrix.T), csr_array(right.T)
    return [users, ridge(matrix, right, users, penalty * np.maximum(matrix.sum(axis=1), NONE))]
