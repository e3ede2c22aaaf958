"""Ratings with planted deviations of users: what they are, and that trust pays where they differ."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from experiments.heteroscedastic import table
from experiments.noise.planted_ratings import NOISE, planted_ratings, run_cell


def test_users_stray_alike_or_not_by_the_same_mean_square():
    truth, even = planted_ratings(0.0, 0)
    again, uneven = planted_ratings(0.5, 0)
    assert_array_equal(truth, again)
    assert_allclose(even, NOISE)
    assert uneven.std() > 0.2
    assert_allclose(np.sqrt((uneven**2).mean()), NOISE, rtol=0.1)


def test_whom_to_trust_is_found_and_pays_where_users_differ():
    methods = ("HMF, stopped by a validation part", "biased MF, stopped by a validation part")
    trusting, plain = (run_cell("very uneven", method, 0.1, 0) for method in methods)
    assert trusting["found"] > 0.6
    assert "found" not in plain
    assert trusting["error"] < 0.98 * plain["error"]


@pytest.mark.parametrize(("name", "shape", "classes"), [("wine", (178, 13), 3), ("wisconsin", (569, 30), 2)])
def test_tables_that_scikit_learn_brings(name, shape, classes):
    X, y = table(name)
    assert X.shape == shape
    assert np.unique(y).size == classes
    assert y.dtype.kind == "U"
