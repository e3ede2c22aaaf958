"""Networks are trained as scikit-learn trains them, to the bit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neural_network import MLPRegressor

from hetcore.errors import DataError
from hetcore.kernels.adam import silence, step_by_adam
from hetcore.multimodal.networks import NetworkLearner
from tests.naive import adam as naive

SHAPES = [(401, 30, 4, (20, 10)), (200, 3, 1, (5,)), (7, 5, 3, ()), (1, 4, 2, (3,))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m, d, n_outputs, hidden", SHAPES)
def test_a_network_is_scikit_learns_to_the_bit(m, d, n_outputs, hidden, weighted):
    rng = np.random.default_rng(m)
    X, W = rng.normal(size=(m, d)).astype(np.float32), rng.normal(size=(m, n_outputs)).astype(np.float32)
    weights = rng.random(m) if weighted else None
    passes = {"max_iter": 4, "tol": 0.0, "n_iter_no_change": 9}
    model = MLPRegressor(hidden_layer_sizes=hidden, batch_size=min(200, m), random_state=3, **passes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks for more passes
        model.fit(X, W, weights)
    ours = NetworkLearner(hidden, 4, 3).fit(X, W, weights)
    for (w, b), theirs in zip(ours.layers, zip(model.coefs_, model.intercepts_)):
        assert_array_equal(w, theirs[0])
        assert_array_equal(b, theirs[1].astype(np.float32))


def test_a_network_beyond_all_numbers_is_refused():
    with np.errstate(invalid="ignore"), pytest.raises(DataError, match="rescale"):
        NetworkLearner((3,), 1).fit(np.full((4, 2), np.inf), np.ones((4, 1)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_kernels_do_what_their_twins_do(kind):
    rng = np.random.default_rng(0)
    moved, rates = rng.normal(size=(4, 50)), np.array([0.9, 1 - 0.9, 0.999, 1 - 0.999, 1e-8], kind)
    ours, twins = ([moved[0].astype(np.float32), *np.abs(moved[1:]).astype(kind)] for _ in range(2))
    step_by_adam(*ours, rates, 0.01)
    naive.step_by_adam(*twins, rates, 0.01)
    for mine, other in zip(ours, twins):
        assert_array_equal(mine, other)
    outputs = np.maximum(rng.normal(size=(6, 5)), 0).astype(np.float32)
    errors = rng.normal(size=(6, 5)).astype(np.float32)
    expected = errors.copy()
    silence(outputs, errors)
    naive.silence(outputs, expected)
    assert_array_equal(errors, expected)
