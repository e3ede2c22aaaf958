"""Ratings of the size of MovieLens 1M, which can't be had: 1,000,209 of 3,706 items by 6,040 users, made.

Whole numbers from 1 to 5: biases of users and items, factors of rank 8, noise whose deviation differs log-normally from
user to user by `SPREAD`. Some users rate far more than others, some items are rated far more. What comes out of them
says how long a fit of such a size takes; which method errs less on them, only that it can tell users apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RATINGS", "SHAPE", "made_ratings"]

SHAPE, RATINGS, RANK = (6040, 3706), 1_000_209, 8
MEAN, BIASES, FACTORS = 3.58, (0.45, 0.55), 0.45  # deviations of the biases, of what factors say
NOISE, SPREAD = 0.75, 0.3
ACTIVITY = (1.0, 1.4)  # how far users, and items, differ in the logarithm of their ratings


def made_ratings(n: int = RATINGS, shape: tuple[int, int] = SHAPE, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Return codes of user and item (n, 2), no pair twice, and their ratings (n,)."""
    rng = np.random.default_rng((32, seed))
    pairs = _pairs(n, shape, rng)
    factors = [rng.standard_normal((size, RANK)) / RANK**0.25 for size in shape]
    biases = [scale * rng.standard_normal(size) for scale, size in zip(BIASES, shape)]
    deviation = NOISE * np.exp(SPREAD * rng.standard_normal(shape[0]) - SPREAD**2)
    users, items = pairs.T
    truth = MEAN + biases[0][users] + biases[1][items]
    truth += FACTORS * np.einsum("nd,nd->n", factors[0][users], factors[1][items])
    return pairs, np.clip(np.rint(truth + deviation[users] * rng.standard_normal(n)), 1.0, 5.0)


def _pairs(n: int, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw pairs by activity and popularity until n are different."""
    shares = [np.exp(spread * rng.standard_normal(size)) for spread, size in zip(ACTIVITY, shape)]
    found = np.empty(0, np.int64)
    while found.size < n:
        users, items = (rng.choice(share.size, n, p=share / share.sum()) for share in shares)
        found = np.unique(np.concatenate([found, users * shape[1] + items]))
    return np.column_stack(np.divmod(np.sort(rng.permutation(found)[:n]), shape[1]))
