"""Weights: the self-normalised rule and its other readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hetcore.consensus.view_weights import RULES, self_normalised, weights_from_losses
from hetcore.errors import ParameterError
from hetcore.kernels.simplex import log_temperature
from tests.naive import simplex as naive_simplex

LOSSES = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12).map(np.array)
WIDE = st.lists(st.floats(-300, 300).map(lambda e: 10.0**e), min_size=1, max_size=8).map(np.array)


@settings(max_examples=200, deadline=None)
@given(LOSSES)
def test_the_kernel_finds_the_temperature_of_its_twin(losses):
    assert_allclose(log_temperature(losses), naive_simplex.log_temperature(losses), rtol=0, atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(LOSSES)
def test_the_temperature_makes_the_printed_weights_sum_to_one(losses):
    assert_allclose(np.exp(-losses / np.exp(log_temperature(losses))).sum(), 1.0, rtol=1e-9)


@settings(max_examples=200, deadline=None)
@given(LOSSES)
def test_the_weights_are_the_printed_ones_at_the_temperature_of_the_twin(losses):
    assert_allclose(self_normalised(losses), np.exp(-losses / np.exp(naive_simplex.log_temperature(losses))), atol=1e-9)


def test_a_loss_ten_times_as_large_has_a_sixth_of_the_weight():
    assert_allclose(self_normalised([1, 10]), [0.835, 0.165], atol=5e-4)
    w = self_normalised([1, 10])
    assert_allclose(w[1], w[0] ** 10, rtol=1e-9)


@pytest.mark.parametrize("p", [1, 2, 3, 10, 90])
@pytest.mark.parametrize("size", [1e-300, 1e-6, 1.0, 1e300])
def test_equal_losses_share_equally(p, size):
    assert_allclose(self_normalised(np.full(p, size)), np.full(p, 1.0 / p), rtol=1e-9)


@settings(max_examples=200, deadline=None)
@given(LOSSES, st.floats(-270, 270))
def test_the_scale_of_the_losses_says_nothing(losses, exponent):
    assert_allclose(self_normalised(losses * 10.0**exponent), self_normalised(losses), rtol=1e-6, atol=1e-9)


@settings(max_examples=300, deadline=None)
@given(WIDE)
def test_any_ratio_of_losses_gives_weights(losses):
    weights = self_normalised(losses)
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert (weights >= 0).all() and (weights <= 1).all()
    order = np.argsort(losses, kind="stable")
    assert (np.diff(weights[order]) <= 1e-12).all()


@pytest.mark.parametrize("losses", [(1e-300, 1e300), (1e-300, 1.0), (1.0, 1e300), (5e-324, 1e-310), (1e-200, 1, 1)])
def test_the_smallest_of_very_unequal_losses_takes_all(losses):
    assert_allclose(self_normalised(losses), np.eye(len(losses))[0], atol=1e-2)


def test_losses_of_zero_share_all_the_weight():
    assert_array_equal(self_normalised([0, 0, 1, 5]), [0.5, 0.5, 0, 0])
    assert_array_equal(self_normalised([0, 0, 0]), np.full(3, 1 / 3))
    assert_array_equal(self_normalised([0]), [1])


def test_tiny_losses_are_distinguished():
    assert_allclose(self_normalised([1e-300, 1e-299]), self_normalised([1, 10]), rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("losses", [[], [1.0, -1e-9], [np.nan, 1.0], [np.inf, 1.0]])
def test_losses_that_are_none_are_refused_by_every_rule(rule, losses):
    with pytest.raises(ParameterError, match="must be finite numbers, not negative"):
        weights_from_losses(losses, rule)


def test_the_other_readings():
    losses = np.array([0.2, 1.0, 3.0])
    assert_array_equal(weights_from_losses(losses), self_normalised(losses))
    assert_allclose(weights_from_losses(losses, "softmax"), np.exp(-losses) / np.exp(-losses).sum(), rtol=1e-12)
    assert_array_equal(weights_from_losses(losses, "equal"), np.full(3, 1 / 3))
    assert_allclose(weights_from_losses([1e4, 2e4], "softmax"), [1, 0])
    with pytest.raises(ParameterError, match="weights='best' is not one of 'entropy', 'softmax', 'equal'"):
        weights_from_losses(losses, "best")
