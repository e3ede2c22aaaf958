"""Intervals of HGBM for numbers: what the mean of the members does not err with its members is taken off."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hetcore as hc
from hetcore.heteroscedastic.predictor import LEAST_SHARE, chance_share, kept_share, spread_scores


def test_the_members_own_errors_are_taken_off_the_squares_and_a_row_far_out_decides_nothing():
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((2, 50_000)) * [[1.0], [0.5]]
    squares = (common + own) ** 2
    share = kept_share(squares, np.full(squares.size, 0.25), np.ones(squares.size))
    assert_allclose(share, 1.0 - 0.25 / squares[squares <= np.quantile(squares, 0.95)].mean(), atol=1e-6)
    squares[:10] = 1e6
    assert_allclose(kept_share(squares, np.full(squares.size, 0.25), np.ones(squares.size)), share, atol=0.01)


@pytest.mark.parametrize(
    ("squares", "variance", "share"),
    [([0.0, 0.0], [1.0, 1.0], 1.0), ([1.0, 1.0], [0.0, 0.0], 1.0), ([1.0, 1.0], [9.0, 9.0], LEAST_SHARE)],
)
def test_the_share_stays_within_its_bounds(squares, variance, share):
    assert kept_share(np.array(squares), np.array(variance), np.ones(2)) == share


def test_rows_count_by_their_weight_in_what_intervals_hold():
    rng = np.random.default_rng(0)
    z, weights = rng.standard_normal(20_000), np.ones(20_000)
    assert_allclose(spread_scores(z[:500], weights[:500]), np.sort(np.abs(z[:500])), atol=0)
    # a tenth of the rows stray three times as far and stand for half of those to come
    z[:2_000] *= 3.0
    weights[:2_000] = 9.0
    expected = np.quantile(np.abs(np.append(z[2_000:], np.repeat(z[:2_000], 9))), [0.5, 0.9, 0.95])
    assert_allclose(np.quantile(spread_scores(z, weights), [0.5, 0.9, 0.95]), expected, rtol=0.01)
    squares = np.array([1.0, 4.0] * 10)
    assert kept_share(squares, np.full(20, 0.5), np.array([1.0, 3.0] * 10)) == 1.0 - 20.0 / 130.0


@pytest.mark.slow
def test_intervals_hold_their_share_of_rows_that_were_drawn_unevenly():
    """Three tenths stray far, and a fifth of them was drawn; an interval by rows that all count alike holds 76%."""
    rng, held = np.random.default_rng(0), []
    for seed in range(4):
        X, strays = rng.uniform(-1, 1, (4_000, 3)), rng.random(4_000) < 0.3
        y = X[:, 0] + np.where(strays, 3.0, 0.5) * rng.standard_normal(4_000)
        drawn = np.flatnonzero(rng.random(2_000) < np.where(strays[:2_000], 0.2, 1.0))
        weights = np.where(strays[drawn], 5.0, 1.0)
        model = hc.HGBMRegressor(random_state=seed).fit(X[drawn], y[drawn], sample_weight=weights)
        low, high = model.predict_interval(X[2_000:], 0.9)
        held.append(((low <= y[2_000:]) & (y[2_000:] <= high)).mean())
    assert abs(np.mean(held) - 0.9) < 0.02


@pytest.mark.parametrize(("start", "most"), [pytest.param("constant", 0.02, marks=pytest.mark.slow), ("linear", 0.03)])
def test_intervals_of_labels_without_noise_are_not_those_of_a_single_member(start, most):
    """Much of what a model errs here is its members' own; by their |z| alone, 90% intervals hold 92.9%."""
    rng, held = np.random.default_rng(1), []
    for seed in range(3):
        X = rng.uniform(-1, 1, (800, 3))
        y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
        model = hc.HGBMRegressor(random_state=seed, start=start).fit(X[:300], y[:300])
        low, high = model.predict_interval(X[300:], 0.9)
        held.append(((low <= y[300:]) & (y[300:] <= high)).mean())
    assert abs(np.mean(held) - 0.9) < most


@pytest.mark.slow
def test_intervals_know_what_the_trees_of_members_that_start_from_a_line_vary():
    """With that left in, 90% intervals hold 92.4%."""
    rng, held = np.random.default_rng(1), []
    for seed in range(6):
        X = rng.uniform(-1, 1, (1_300, 3))
        y = 3 * X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.5 * X[:, 1] * X[:, 2] + 0.02 * rng.standard_normal(1_300)
        model = hc.HGBMRegressor(random_state=seed).fit(X[:300], y[:300])
        low, high = model.predict_interval(X[300:], 0.9)
        held.append(((low <= y[300:]) & (y[300:] <= high)).mean())
    assert model.model_.line.share > 0.9
    assert abs(np.mean(held) - 0.9) < 0.015


@pytest.mark.parametrize("n", [2, 3])
def test_of_two_or_three_rows_the_deviation_is_not_that_of_rows_that_were_learned(n):
    """It was a hundred-thousandth of the labels' own, for a single member had seen all rows."""
    X, y = np.arange(n)[:, None], np.array([0.0, 3.0, 1.0])[:n]
    mean, deviation = hc.HGBMRegressor(random_state=0).fit(X, y).predict(X, return_std=True)
    assert (np.abs(mean - y.mean()) < 1.0).all() and (deviation > 0.3 * y.std()).all()


def test_forests_that_differ_as_they_err_differ_by_no_chance():
    rng = np.random.default_rng(0)
    common, first, second = rng.standard_normal((3, 20_000))
    weights = rng.uniform(0.5, 1.5, common.size)
    assert chance_share(common + 0.25 * (first + second), first - second, weights) == 1.0
    # the second forest is twice as far behind as the first
    assert chance_share(1.5 * common + 0.1 * first, common, weights) == 0.0
    assert 0.0 < chance_share(common, common + 1.3 * first, weights) < 1.0
    assert chance_share(np.zeros(3), np.zeros(3), np.ones(3)) == 1.0


@pytest.mark.parametrize("rule", ["step", "sign", "power"])
def test_intervals_of_a_rule_without_noise_hold_what_the_model_lags_behind(rule, n=2_000):
    """What a forest lags behind the other counted as chance, of which all together are rid: they held .02, .07, .33."""
    X = np.random.default_rng(1).normal(size=(n + 2_000, 3))
    rules = {"step": 5.0 * (X[:, 0] > 0), "sign": 5.0 * np.sign(X[:, 0] * X[:, 1]), "power": np.exp(2 * X[:, 0])}
    y = rules[rule]
    model = hc.HGBMRegressor(random_state=0, start="constant").fit(X[:n], y[:n])
    low, high = model.predict_interval(X[n:], 0.9)
    assert ((low <= y[n:]) & (y[n:] <= high)).mean() > 0.85


@pytest.mark.parametrize(("n", "coverage", "before"), [(4, 0.9, 0.72), (8, 0.95, 0.84), (20, 0.99, 0.93)])
def test_intervals_of_a_share_that_so_few_rows_cannot_tell_are_of_students_t(n, coverage, before):
    """No interval was wider than the farthest left-out row, and so they held but `before`."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 500, 3))
        y = X[:, 0] + rng.normal(size=n + 500)
        low, high = hc.HGBMRegressor(random_state=0).fit(X[:n], y[:n]).predict_interval(X[n:], coverage)
        held.append(((low <= y[n:]) & (y[n:] <= high)).mean())
    assert np.mean(held) > 0.5 * (coverage + before)
