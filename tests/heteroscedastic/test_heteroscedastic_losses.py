"""Losses of heteroscedastic learning: gradients and second derivatives against finite differences, and no overflow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

from hetcore.heteroscedastic.likelihoods import (
    BlindLabels,
    GaussianDeviation,
    SigmoidWeight,
    StudentRows,
    class_probabilities,
)
from hetcore.heteroscedastic.objectives import Labels, Numbers

STEP = 1e-5


def slope(function, at):
    return (function(at + STEP) - function(at - STEP)) / (2 * STEP)


def numbers(n=50):
    rng = np.random.default_rng(0)
    return rng.normal(0, 2, n), rng.normal(0, 1.5, n), rng.normal(0, 2, n)


def test_gaussian_gradients_are_finite_differences_of_the_value():
    f, s, y = numbers()
    loss = GaussianDeviation()
    by_f, by_s = loss.gradients(f, s, y)
    assert_allclose(by_f, slope(lambda at: loss.value(at, s, y), f), rtol=1e-6, atol=1e-7)
    assert_allclose(by_s, slope(lambda at: loss.value(f, at, y), s), rtol=1e-6, atol=1e-7)


def test_gaussian_information_is_the_expected_second_derivative():
    rng = np.random.default_rng(1)
    f, s, loss = np.full(400_000, 0.3), np.full(400_000, -0.7), GaussianDeviation()
    y = f + np.exp(0.5 * s) * rng.standard_normal(f.size)
    by_f, by_s = (
        slope(lambda at, k=k: loss.gradients(*((at, s) if k == 0 else (f, at)), y)[k], (f, s)[k]) for k in (0, 1)
    )
    assert_allclose([by_f.mean(), by_s.mean()], [each[0] for each in loss.information(f, s)], rtol=0.01)
    squares = [np.mean(each**2) for each in loss.gradients(f, s, y)]
    assert_allclose(squares, [each[0] for each in loss.information(f, s)], rtol=0.01)


def test_gaussian_is_least_where_the_variance_is_the_squared_residual():
    f, s, y = numbers()
    best = np.log((y - f) ** 2)
    loss = GaussianDeviation()
    assert_allclose(loss.gradients(f, best, y)[1], 0.0, atol=1e-10)
    assert (loss.value(f, best, y) <= loss.value(f, s, y) + 1e-12).all()


def test_rows_of_a_tail_count_by_the_slope_of_their_loss_and_the_scale_is_the_likeliest():
    r, rows = numbers(), StudentRows(3.0)
    residuals, weights = r[0], np.abs(r[1])
    scale = rows.scale(residuals**2, weights)
    counts = slope(lambda at: rows.loss(at**2, scale), residuals) / residuals
    assert_allclose(rows.trust(residuals**2, weights), counts / np.average(counts, weights=weights), rtol=1e-5)

    def likelihood(at):
        return weights @ t.logpdf(residuals, 3.0, scale=np.sqrt(at))

    assert likelihood(scale) > max(likelihood(0.99 * scale), likelihood(1.01 * scale))
    # labels of which most are the same have a scale all the same; one that all are has none, and trusts all alike
    assert rows.scale(np.r_[np.zeros(40), np.ones(9), 4.0], np.ones(50)) > 0.1
    assert rows.trust(np.zeros(5), np.ones(5)).tolist() == [1.0] * 5 and rows.loss(np.zeros(5), 0.0).max() == 0.0


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_gradient_of_blind_labels_is_the_finite_difference(n_classes):
    rng = np.random.default_rng(2)
    p, d, loss = rng.uniform(0.01, 0.99, 60), rng.normal(0, 3, 60), BlindLabels(n_classes)
    assert_allclose(loss.gradient(p, d), slope(lambda at: loss.value(p, at), d), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_trust_times_the_gradient_of_the_labels_is_the_gradient_of_the_mixture(n_classes):
    rng = np.random.default_rng(3)
    base = Labels(rng.integers(n_classes, size=40), n_classes)
    f = rng.normal(0, 2, (40, 1 if n_classes == 2 else n_classes))
    d, loss = rng.normal(0, 2, 40), BlindLabels(n_classes)
    expected = loss.trust(base.seen(f), d)[:, None] * base.derivatives(f)[0]
    for k in range(f.shape[1]):
        move = np.zeros(f.shape[1])
        move[k] = 1.0
        found = slope(lambda by, move=move: loss.value(base.seen(f + by * move), d), 0.0)
        assert_allclose(found, expected[:, k], rtol=1e-5, atol=1e-7)


def test_trust_is_high_where_the_label_is_likely_and_low_where_it_is_not():
    loss, d = BlindLabels(2), np.zeros(3)
    trust = loss.trust(np.array([0.01, 0.5, 0.99]), d)
    assert trust[0] < 0.05 and trust[1] == 0.5 and trust[2] > 0.6
    assert (loss.trust(np.array([0.01, 0.5]), np.full(2, -20.0)) > 0.99).all()


def test_the_printed_weight_has_the_derivatives_of_its_value_where_they_are_positive():
    rng = np.random.default_rng(4)
    loss, d, link = rng.exponential(size=80), rng.normal(0, 3, 80), SigmoidWeight(0.7, 0.05)
    assert_allclose(link.gradient(loss, d), slope(lambda at: link.value(loss, at), d), rtol=1e-5, atol=1e-6)
    second = slope(lambda at: link.gradient(loss, at), d)
    assert_allclose(link.hessian(loss, d), np.maximum(second, 0), rtol=1e-4, atol=1e-5)
    assert (second < -1e-3).any() and (link.gradient(loss, d) <= 0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_label_derivatives_are_finite_differences(n_classes):
    rng = np.random.default_rng(5)
    base = Labels(rng.integers(n_classes, size=30), n_classes)
    f = rng.normal(0, 2, (30, 1 if n_classes == 2 else n_classes))
    gradient, hessian = base.derivatives(f)
    for k in range(f.shape[1]):
        move = np.zeros(f.shape[1])
        move[k] = 1.0
        assert_allclose(gradient[:, k], slope(lambda by, m=move: base.loss(f + by * m), 0.0), rtol=1e-5, atol=1e-7)
        second = slope(lambda by, m=move, k=k: base.derivatives(f + by * m)[0][:, k], 0.0)
        assert_allclose(hessian[:, k], second, rtol=1e-4, atol=1e-6)


def test_numbers_start_at_the_weighted_mean_and_classes_at_their_shares():
    assert Numbers(np.array([1.0, 5.0])).start(np.array([3.0, 1.0])) == 2.0
    start = Labels(np.array([0, 1, 1, 1]), 2).start(np.ones(4))
    assert_allclose(class_probabilities(start[None]), [[0.25, 0.75]])
    start = Labels(np.array([0, 1, 2, 2]), 3).start(np.array([1.0, 1.0, 1.0, 3.0]))
    assert_allclose(class_probabilities(start[None]), [[1 / 6, 1 / 6, 4 / 6]])


@pytest.mark.parametrize("size", [50.0, 1e4])
def test_nothing_overflows(size):
    extreme = np.array([-size, size])
    gaussian, blind, printed = GaussianDeviation(), BlindLabels(2), SigmoidWeight(1.0, 0.1)
    with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
        values = [
            gaussian.value(np.zeros(2), extreme, np.ones(2)),
            *gaussian.gradients(np.zeros(2), extreme, np.ones(2)),
        ]
        values += [blind.value(np.array([0.0, 1.0]), extreme), blind.trust(np.zeros(2), extreme)]
        values += [blind.gradient(np.zeros(2), extreme), printed.gradient(np.ones(2), extreme)]
        values += [
            printed.hessian(np.ones(2), extreme),
            class_probabilities(np.column_stack([extreme, -extreme, extreme])),
        ]
    assert all(np.isfinite(each).all() for each in values)
