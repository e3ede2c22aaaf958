"""Weights: the self-normalised rule, its other readings, and the scales fitted to labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from hetcore.errors import ParameterError
from hetcore.kernels.simplex import log_temperature
from hetcore.weights import RULES, fit_scales, self_normalised, weights_from_losses
from tests.naive import simplex as naive_simplex

LOSSES = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12).map(np.array)
WIDE = st.lists(st.floats(-300, 300).map(lambda e: 10.0**e), min_size=1, max_size=8).map(np.array)


# ---- the rule of (4.10) ----------------------------------------------------------------------------------------------


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


# ---- scales fitted to labels -----------------------------------------------------------------------------------------


def _problem(seed, n=80, p=4, n_outputs=1, dead=()):
    """Return scores of p sources (the last of pure noise), a target and a prior."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, n_outputs))
    scores = np.stack([signal * rng.uniform(0.2, 2) + rng.normal(size=(n, n_outputs)) for _ in range(p)])
    scores[-1] = rng.normal(size=(n, n_outputs))
    scores[list(dead)] = 0.0
    if n_outputs == 1:
        return scores, signal + 0.3 * rng.normal(size=(n, 1)), np.zeros(1)
    target = np.eye(n_outputs)[(signal + 0.3 * rng.gumbel(size=signal.shape)).argmax(axis=1)]
    return scores, target, np.log(target.mean(axis=0) + 0.01)


def _objective(b, scores, target, prior, ridge):
    raw = prior + np.tensordot(b, scores, 1)
    size = (scores**2).mean(axis=(1, 2))
    penalty = 0.5 * ridge * (b**2 * size).sum()
    if scores.shape[2] == 1:
        return 0.5 * ((raw - target) ** 2).mean() + penalty
    return (logsumexp(raw, axis=1) - (raw * target).sum(axis=1)).mean() + penalty


def _best_by_scipy(scores, target, prior, ridge):
    start = np.full(len(scores), 0.5)
    args = (scores, target, prior, ridge)
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(_objective, start, args, "L-BFGS-B", bounds=[(0, None)] * len(scores), options=options)


@pytest.mark.parametrize("n_outputs", [1, 2, 3, 10])
@pytest.mark.parametrize("ridge", [1e-4, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_scales_are_what_a_general_optimiser_finds(n_outputs, ridge, seed):
    scores, target, prior = _problem(seed, p=2 + seed, n_outputs=n_outputs)
    ours, best = fit_scales(scores, target, prior, ridge), _best_by_scipy(scores, target, prior, ridge)
    assert (ours >= 0).all()
    assert _objective(ours, scores, target, prior, ridge) <= best.fun + 1e-7
    assert_allclose(ours, best.x, atol=5e-3)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1, 2, 4]), st.floats(-8, 8))
def test_no_small_move_of_a_scale_does_better(seed, p, n_outputs, exponent):
    scores, target, prior = _problem(seed, 30, p, n_outputs)
    scores = scores * 10.0**exponent
    b = fit_scales(scores, target, prior, 1e-3)
    least, size = _objective(b, scores, target, prior, 1e-3), np.sqrt((scores**2).mean(axis=(1, 2)))
    for i, move in [(i, sign * 0.01 / size[i]) for i in range(p) for sign in (1, -1)]:
        moved = b.copy()
        moved[i] = max(0.0, b[i] + move)
        assert _objective(moved, scores, target, prior, 1e-3) >= least - 1e-7


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_source_that_speaks_against_the_truth_gets_nothing_and_noise_next_to_nothing(n_outputs):
    scores, target, prior = _problem(0, n=4000, p=3, n_outputs=n_outputs)
    scores[1] = -scores[0]
    b = fit_scales(scores, target, prior)
    assert b[1] == 0.0
    assert b[2] < 0.05 * b[0]


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scales_make_up_for_the_units_of_the_scores(n_outputs):
    scores, target, prior = _problem(1, n_outputs=n_outputs)
    units = np.array([1e-9, 1.0, 1e3, 1e9])
    b = fit_scales(scores, target, prior)
    assert_allclose(fit_scales(scores * units[:, None, None], target, prior) * units, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_silent_source_gets_zero_and_changes_nothing(n_outputs):
    scores, target, prior = _problem(2, p=4, n_outputs=n_outputs, dead=[1])
    b = fit_scales(scores, target, prior)
    assert b[1] == 0.0
    others = [0, 2, 3]
    assert_allclose(b[others], fit_scales(scores[others], target, prior), rtol=1e-6, atol=1e-9)
    assert_array_equal(fit_scales(np.zeros_like(scores), target, prior), np.zeros(4))
    assert_array_equal(fit_scales(scores[:, :0], target[:0], prior), np.zeros(4))


def test_one_row_is_enough():
    b = fit_scales(np.ones((1, 1, 1)), np.full((1, 1), 3.0), np.zeros(1), 1e-9)
    assert_allclose(b, [3.0], rtol=1e-6)
    b = fit_scales(np.array([[[1.0, -1.0]]]), np.array([[1.0, 0.0]]), np.zeros(2))
    assert np.isfinite(b).all() and b[0] > 1


def test_separable_classes_stay_finite():
    target = np.eye(2)[[0, 1] * 20]
    scores = np.stack([2 * target - 1, 1e6 * (2 * target - 1)])
    b = fit_scales(scores, target, np.zeros(2))
    assert np.isfinite(b).all()
    assert (softmax(np.tensordot(b, scores, 1), axis=1).argmax(axis=1) == target.argmax(axis=1)).all()


def test_two_equal_sources_share_the_scale_of_one():
    scores, target, prior = _problem(3, p=2, n_outputs=3)
    scores[1] = scores[0]
    b = fit_scales(scores, target, prior)
    assert_allclose(b.sum(), fit_scales(scores[:1], target, prior)[0], rtol=1e-2)
