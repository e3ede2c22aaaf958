"""The risk, its direction and second-order targets against sums written out; the steps against fine grids."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hetcore.multimodal import risk as loss
from hetcore.multimodal.line_search import STEPS, RiskAlongStep, bayes_step, fixed_step, grid_step, newton_step


def random_case(seed, n=40, K=3, p=2, size=1.0):
    """Return scores, moves and labels; the moves know something of the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    moves = rng.normal(0, size, (p, n, K)) + 0.4 * size * np.eye(K)[y]
    return rng.normal(0, size, (n, K)), moves, y


def v(y, k, K):
    return np.eye(K)[y] - np.eye(K)[k]


def others(y, K):
    return [k for k in range(K) if k != y]


def brute_risk(scores, y):
    K = scores.shape[1]
    return sum(np.exp(-0.5 * f @ v(c, k, K)) for f, c in zip(scores, y) for k in others(c, K))


def brute_sum(scores, y, weigh, of):
    """Return sum_k of(v_k) * weigh(<f, v_k>) of each row; at k = y, v_k is zero."""
    K = scores.shape[1]
    return np.array([
        np.sum([of(v(c, k, K)) * weigh(f @ v(c, k, K)) for k in others(c, K)], axis=0) for f, c in zip(scores, y)
    ])  # fmt: skip


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_risk_and_weights_are_the_sums_written_out(seed, K):
    scores, _, y = random_case(seed, K=K)
    assert_allclose(np.exp(loss.log_risk(scores, y)), brute_risk(scores, y) / len(y))
    assert_allclose(loss.direction(scores, y), brute_sum(scores, y, lambda d: 0.5 * np.exp(-d / 2), lambda v: v))
    assert_allclose(loss.tilted(scores, y), brute_sum(scores, y, lambda d: np.exp(-d / 4), lambda v: v))
    curve = brute_sum(scores, y, lambda d: np.exp(-d / 2), lambda v: v @ v)
    assert_allclose(loss.curvature(scores, y), curve)


def test_the_direction_is_the_negative_gradient():
    scores, _, y = random_case(4)
    step = 1e-5
    slopes = np.zeros_like(scores)
    for i, k in np.ndindex(*scores.shape):
        bump = np.zeros_like(scores)
        bump[i, k] = step
        slopes[i, k] = (brute_risk(scores + bump, y) - brute_risk(scores - bump, y)) / (2 * step)
    assert_allclose(loss.direction(scores, y), -slopes, atol=1e-6)


def brute_hessian(scores, y):
    return brute_sum(scores, y, lambda d: 0.25 * np.exp(-d / 2), lambda v: np.outer(v, v))


@pytest.mark.parametrize("K", [2, 4])
def test_the_exact_form_is_the_second_order_expansion(K):
    scores, moves, y = random_case(5, K=K)
    exact, hessian = loss.Exact(scores, y), brute_hessian(scores, y)
    assert_allclose(exact.hessian(), hessian, atol=1e-12)
    assert_allclose(exact.diagonal(), hessian.diagonal(axis1=1, axis2=2))
    u = moves[0]
    assert_allclose(exact.gradient(u), np.einsum("ikl,il->ik", hessian, u) - loss.direction(scores, y), atol=1e-12)
    small = 1e-3 * u
    form = (-small * loss.direction(scores, y)).sum() + 0.5 * np.einsum("ik,ikl,il", small, hessian, small)
    assert_allclose(brute_risk(scores + small, y) - brute_risk(scores, y), form, rtol=1e-3)
    rows = y == 0
    assert_allclose(exact.take(rows).gradient(u[rows]), exact.gradient(u)[rows])


def test_the_exact_target_is_the_minimum_of_two_classes_and_never_overshoots_more():
    scores, moves, y = random_case(6, K=2)
    exact = loss.Exact(scores, y)
    assert_allclose(exact.gradient(moves[0] + exact.target(moves[0])), 0, atol=1e-9)
    scores, moves, y = random_case(6, K=4)
    exact, u = loss.Exact(scores, y), moves[0]
    slope, target = exact.gradient(u), exact.target(u)
    form = np.einsum("ik,ikl,il->i", target, exact.hessian(), target)
    assert ((slope * target).sum(axis=1) + 0.5 * form < 0).all()
    assert_allclose(exact.row_weights().mean(), 1.0)


@pytest.mark.parametrize("K", [2, 3])
def test_printed_targets_are_the_papers_7_and_8(K):
    """Section 3.2.2: the signs and the quarter, the half and the mixed term, each written out."""
    scores, _, y = random_case(7, K=K)
    w, tilted, (eps, delta) = loss.direction(scores, y), loss.tilted(scores, y), (0.3, 0.7)
    of = [loss.printed_target(w, tilted, np.array([eps, delta]), j) for j in (0, 1)]
    assert_allclose(of[0], eps * w - eps**2 / 4 * tilted - eps * delta / 2 * w)
    assert_allclose(of[1], delta * w - delta**2 / 4 * tilted - eps * delta / 2 * w)


def test_the_rewritings_of_the_appendix_are_no_identities():
    scores, moves, y = random_case(8)
    g = moves[0]
    true = np.einsum("ik,ikl,il", g, brute_hessian(scores, y), g)
    printed = (g * g).sum() + 2 * (g * loss.tilted(scores, y)).sum() + loss.curvature(scores, y).sum()
    assert abs(true - 0.25 * printed) > 0.1 * abs(true)


def test_scores_of_ten_thousand_do_not_overflow():
    scores, moves, y = random_case(9, size=1e4)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(loss.log_risk(scores, y)) and loss.log_risk(scores, y) > 1000
        for of in (loss.direction, loss.tilted, loss.curvature):
            assert np.isfinite(of(scores, y)).all() and np.abs(of(scores, y)).max() > 0
        exact = loss.Exact(scores, y)
        assert np.isfinite(exact.target(moves[0])).all() and np.isfinite(exact.row_weights()).all()
        line = RiskAlongStep(scores, moves, y)
        steps = newton_step(line, np.random.default_rng(0))
    assert np.isfinite(steps).all() and line.value(steps) < line.value(np.zeros(2))


def test_ordinary_scores_are_not_shifted():
    scores, y = np.array([[0.0, 500.0], [3.0, 0.0]]), np.array([0, 0])
    assert_allclose(loss.direction(scores, y)[:, 0], 0.5 * np.exp([250.0, -1.5]))


def test_a_constant_for_all_scores_of_a_row_changes_nothing():
    scores, _, y = random_case(10)
    shifted = scores + np.arange(len(y))[:, None]
    for of in (loss.log_risk, loss.direction, loss.tilted):
        assert_allclose(of(shifted, y), of(scores, y), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_newton_beats_a_fine_grid(seed):
    line = RiskAlongStep(*random_case(seed, n=200))
    steps = newton_step(line, np.random.default_rng(0))
    axis = np.linspace(-2, 4, 121)
    best = min(line.value(np.array(each)) for each in itertools.product(axis, axis))
    assert line.value(steps) <= best + 1e-12
    near = min(line.value(steps + np.array(each)) for each in itertools.product(np.linspace(-0.01, 0.01, 9), repeat=2))
    assert line.value(steps) <= near + 1e-12
    assert_allclose(line.model(steps)[1], 0, atol=1e-5)


def test_newton_takes_any_number_of_learners_and_equal_ones():
    scores, moves, y = random_case(3, n=150, p=4)
    line = RiskAlongStep(scores, np.concatenate([moves, moves[:1]]), y)
    steps = newton_step(line, np.random.default_rng(0))
    assert steps.shape == (5,) and np.isfinite(steps).all()
    assert_allclose(
        line.value(steps),
        RiskAlongStep(scores, moves, y).value(newton_step(RiskAlongStep(scores, moves, y), None)),
        atol=1e-7,
    )


def test_newton_stops_where_a_learner_separates_all_rows():
    y = np.arange(30) % 3
    line = RiskAlongStep(np.zeros((30, 3)), np.eye(3)[y][None], y)
    steps = newton_step(line, np.random.default_rng(0))
    assert np.isfinite(steps).all() and line.value(steps) < -10


def test_a_silent_learner_gets_no_step():
    scores, moves, y = random_case(11)
    moves[1] = 0.0
    steps = newton_step(RiskAlongStep(scores, moves, y), np.random.default_rng(0))
    alone = newton_step(RiskAlongStep(scores, moves[:1], y), np.random.default_rng(0))
    assert steps[1] == 0.0 and steps[0] == pytest.approx(alone[0], rel=1e-6)


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 3), st.floats(0, 1))
def test_the_risk_is_convex_in_the_steps(seed, K, p, share):
    line = RiskAlongStep(*random_case(seed, n=12, K=K, p=p))
    a, b = np.random.default_rng(seed).normal(0, 2, (2, p))
    between = line.value(share * a + (1 - share) * b)
    assert between <= share * line.value(a) + (1 - share) * line.value(b) + 1e-9
    assert np.exp(between) <= share * np.exp(line.value(a)) + (1 - share) * np.exp(line.value(b)) + 1e-9


@pytest.mark.parametrize("step", list(STEPS))
def test_newton_is_never_above_the_other_steps(step):
    line = RiskAlongStep(*random_case(12, n=80))
    steps = STEPS[step](line, np.random.default_rng(1))
    assert line.value(newton_step(line, None)) <= line.value(steps) + 1e-12


def test_the_papers_steps_stay_in_their_domain_and_repeat():
    line, many = RiskAlongStep(*random_case(13)), RiskAlongStep(*random_case(13, p=3))
    assert_allclose(fixed_step(line, None), 0.1)
    for of in (grid_step, bayes_step):
        steps = of(line, np.random.default_rng(2))
        assert ((steps >= 0) & (steps <= 1)).all() and (of(line, np.random.default_rng(2), 4.0) <= 4).all()
        assert_allclose(of(line, np.random.default_rng(2)), steps)
        assert of(many, np.random.default_rng(2)).shape == (3,)
    assert line.value(bayes_step(line, np.random.default_rng(2))) < line.value(np.zeros(2))
