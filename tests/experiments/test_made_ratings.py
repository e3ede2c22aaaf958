"""Ratings made at the size of MovieLens 1M: as many as asked for, no pair twice, repeatable, and of low rank."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

import hetcore as hc
from experiments.noise.made_ratings import RATINGS, SHAPE, made_ratings


def test_there_are_as_many_as_asked_for_and_no_pair_twice():
    X, y = made_ratings(8_000, (200, 150))
    assert X.shape == (8_000, 2) and np.unique(X, axis=0).shape == X.shape
    assert X.min() == 0 and (X.max(axis=0) < (200, 150)).all() and set(y) == {1.0, 2.0, 3.0, 4.0, 5.0}
    again, other = made_ratings(8_000, (200, 150)), made_ratings(8_000, (200, 150), seed=1)
    assert_array_equal(y, again[1])
    assert not np.array_equal(X, other[0])
    assert (SHAPE, RATINGS) == ((6040, 3706), 1_000_209)


def test_some_rate_far_more_and_factors_say_more_than_the_mean():
    X, y = made_ratings(8_000, (200, 150))
    counts = np.bincount(X[:, 0])
    assert counts.max() > 3 * np.median(counts)
    later = np.arange(8_000) % 10 == 0
    model = hc.MatrixFactorization(n_factors=8, n_iterations=15, random_state=0).fit(X[~later], y[~later])
    errors = [np.sqrt(((y[later] - each) ** 2).mean()) for each in (model.predict(X[later]), y[~later].mean())]
    assert errors[0] < 0.95 * errors[1]
