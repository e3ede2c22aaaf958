"""Numbers of any size are squared, averaged and narrowed without an infinity, and without another digit."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.special import softmax as scipy_softmax

from hetcore.numerics import (
    log_sum_exp,
    mean_and_deviation,
    means_and_deviations,
    power_of_two,
    root_mean_square,
    softmax,
    to_float32,
)

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(50, 3))


@pytest.mark.parametrize("exponent", [-300, -20, 0, 20, 300])
def test_statistics_scale_with_their_unit(exponent):
    unit, weights = 10.0**exponent, RNG.random(50)
    means, deviations = means_and_deviations(VALUES, weights)
    big = means_and_deviations(VALUES * unit, weights * 1e200)
    np.testing.assert_allclose(big[0], means * unit, rtol=1e-12)
    np.testing.assert_allclose(big[1], deviations * unit, rtol=1e-12)
    assert root_mean_square(VALUES * unit) == pytest.approx(np.sqrt((VALUES**2).mean()) * unit, rel=1e-12)


def test_ordinary_numbers_keep_every_bit():
    assert root_mean_square(VALUES) == np.sqrt((VALUES**2).mean())
    mean = np.average(VALUES[:, 0])
    deviation = np.sqrt(np.average((VALUES[:, 0] - mean) ** 2))
    assert mean_and_deviation(VALUES[:, 0], np.ones(50)) == (mean, deviation)


def test_a_power_of_two_lies_under_the_largest():
    assert power_of_two([3.0, -5.0, np.nan]) == 4.0
    assert power_of_two([0.0]) == 1.0 and power_of_two([]) == 1.0
    np.testing.assert_array_equal(power_of_two([[1.0, 0.3], [-9.0, 0.0]], axis=0), [8.0, 0.25])
    for size in (1.7e308, 5e-324):
        assert np.isfinite(power_of_two([size])) and power_of_two([size]) > 0


def test_a_constant_column_has_deviation_one():
    means, deviations = means_and_deviations(np.full((4, 2), [1e300, 5.0]), np.ones(4))
    np.testing.assert_array_equal(means, [1e300, 5.0])
    np.testing.assert_allclose(deviations, [1e288, 1.0], rtol=1e-12)


def test_what_is_beyond_float32_becomes_its_end():
    end = np.finfo(np.float32).max
    np.testing.assert_array_equal(to_float32(np.array([1e300, -1e300, np.nan, 1.5])), [end, -end, np.nan, 1.5])


@pytest.mark.parametrize("n", [1, 2, 9, 130, 1000])
def test_log_sum_exp_has_the_bits_of_scipy(n):
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n), 1e3 * rng.normal(size=n), np.round(rng.normal(size=n)), np.full(n, -745.3)):
        values[1::3] = -np.inf
        assert log_sum_exp(values) == logsumexp(values)
    rows = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-2, 3, (n, 1))
    rows[:, 1:][rng.random((n, 3)) < 0.2] = -np.inf
    rows = np.hstack([rows, rows[:, :2]])
    np.testing.assert_array_equal(log_sum_exp(rows, axis=-1), logsumexp(rows, axis=-1))
    assert log_sum_exp(rows) == logsumexp(rows)
    assert log_sum_exp(np.full(n, -np.inf)) == -np.inf and np.isnan(log_sum_exp(np.full(n, np.nan)))


@pytest.mark.parametrize("shape", [(1, 1), (7, 2), (500, 3), (3, 40, 5), (60, 7), (60, 8), (20, 30)])
def test_softmax_has_the_bits_of_scipy(shape):
    rng = np.random.default_rng(len(shape))
    for scores in (rng.normal(size=shape), 300.0 * rng.normal(size=shape), np.zeros(shape)):
        given = scores.copy()
        np.testing.assert_array_equal(softmax(scores), scipy_softmax(scores, axis=-1))
        np.testing.assert_array_equal(scores, given)  # left as they are
