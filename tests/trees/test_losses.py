"""Losses: every gradient and hessian against finite differences, and no overflow at any score."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from hetcore.losses import HalfSquared, Logistic, Softmax

STEP = 1e-5


def _shares(rng, n, n_classes):
    raw = rng.exponential(size=(n, n_classes))
    return raw / raw.sum(axis=1, keepdims=True)


def _case(name, n=40):
    """Return a loss with scores and labels of its domain."""
    rng = np.random.default_rng(3)
    if name == "half squared":
        return HalfSquared(), rng.normal(scale=3, size=n), rng.normal(scale=3, size=n)
    if name == "logistic, labels":
        return Logistic(), rng.normal(scale=3, size=n), rng.choice([-1.0, 1.0], n)
    if name == "logistic, real consensus":
        return Logistic(), rng.normal(scale=3, size=n), rng.normal(scale=2, size=n)
    classes = int(name.split()[-1])
    f = rng.normal(scale=3, size=(n, classes))
    y = np.eye(classes)[rng.integers(classes, size=n)] if "hard" in name else _shares(rng, n, classes)
    return Softmax(), f, y


CASES = [
    "half squared", "logistic, labels", "logistic, real consensus",
    "softmax hard 2", "softmax hard 5", "softmax soft 2", "softmax soft 5",
]  # fmt: skip


def _moved(f, k, by):
    """Return the scores with score k of every row (or the one score) moved."""
    out = f.copy()
    out[..., k] += by
    return out


def _along(loss, function, f, y):
    """Return the central difference of a function of f by each score of a row, the shape of f."""
    if f.ndim == 1:
        return (function(f + STEP, y) - function(f - STEP, y)) / (2 * STEP)
    slopes = []
    for k in range(f.shape[1]):
        slope = (function(_moved(f, k, STEP), y) - function(_moved(f, k, -STEP), y)) / (2 * STEP)
        slopes.append(slope if slope.ndim == 1 else slope[:, k])
    return np.stack(slopes, axis=1)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_the_difference_quotient_of_the_value(name):
    loss, f, y = _case(name)
    assert_allclose(loss.gradient(f, y), _along(loss, loss.value, f, y), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_hessian_is_the_difference_quotient_of_the_gradient(name):
    loss, f, y = _case(name)
    assert loss.hessian(f, y).shape == f.shape
    assert_allclose(loss.hessian(f, y), _along(loss, loss.gradient, f, y), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e8])
def test_nothing_overflows_at_large_scores(name, size):
    loss, f, y = _case(name)
    f = np.sign(f) * size
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient, hessian = loss.value(f, y), loss.gradient(f, y), loss.hessian(f, y)
    assert np.isfinite(value).all() and np.isfinite(gradient).all() and np.isfinite(hessian).all()
    assert (hessian >= 0).all() and (value >= -1e-9 * size).all()
    if name != "half squared":
        assert np.abs(gradient).max() <= max(1.0, np.abs(y).max()) + 1e-12


@pytest.mark.parametrize("name", CASES)
def test_the_value_never_rises_against_the_gradient(name):
    loss, f, y = _case(name)
    assert (loss.value(f - 1e-3 * loss.gradient(f, y), y) <= loss.value(f, y) + 1e-15).all()


def test_known_values():
    zero, one = np.zeros(1), np.ones(1)
    assert HalfSquared().value(3 * one, one)[0] == 2.0
    assert Logistic().value(zero, -one)[0] == np.log(2.0)
    assert_allclose(Logistic().gradient(np.array([2.0]), one)[0], -expit(-2.0), rtol=1e-15)
    assert_allclose(Logistic().value(np.array([-1e4]), one)[0], 1e4, rtol=1e-15)
    assert_allclose(Softmax().value(np.zeros((1, 4)), np.eye(4)[:1])[0], np.log(4.0), rtol=1e-15)


def test_softmax_of_two_classes_is_the_logistic_loss_of_the_margin():
    rng = np.random.default_rng(5)
    f, label = rng.normal(scale=4, size=(30, 2)), rng.integers(2, size=30)
    margin, sign = f[:, 1] - f[:, 0], 2.0 * label - 1.0
    codes = np.eye(2)[label]
    assert_allclose(Softmax().value(f, codes), Logistic().value(margin, sign), rtol=1e-12, atol=1e-12)
    assert_allclose(Softmax().gradient(f, codes)[:, 1], Logistic().gradient(margin, sign), rtol=1e-12, atol=1e-12)
    assert_allclose(Softmax().hessian(f, codes)[:, 1], Logistic().hessian(margin, sign), rtol=1e-12, atol=1e-12)


def test_the_logistic_pull_to_a_real_consensus_has_no_minimum_but_the_soft_target_has():
    scores, far = np.linspace(0, 50, 200), np.full(200, 0.7)
    assert (np.diff(Logistic().value(scores, far)) < 0).all()
    shares = np.array([[0.3, 0.7]])
    values = [Softmax().value(np.array([[0.0, f]]), shares)[0] for f in np.linspace(0, 50, 200)]
    assert 0 < int(np.argmin(values)) < 10


def test_adding_a_constant_to_all_class_scores_changes_nothing():
    _, f, y = _case("softmax soft 5")
    assert_allclose(Softmax().value(f + 7.0, y), Softmax().value(f, y), rtol=1e-12, atol=1e-12)
    assert_allclose(Softmax().gradient(f, y).sum(axis=1), 0.0, atol=1e-14)


def test_an_unlabelled_row_of_zeros_has_no_logistic_gradient():
    f = np.array([-3.0, 0.0, 5.0])
    assert_array_equal(Logistic().gradient(f, np.zeros(3)), np.zeros(3))
