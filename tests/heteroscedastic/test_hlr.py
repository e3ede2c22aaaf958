"""HLR: (2) by hand, linear regression as the case of even weights, and the paper's Figure 2."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import hetcore as hc


@parametrize_with_checks([hc.HLR()])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def drawn(n, seed, deviation=0.1):
    """Return x, the clean labels y* = x, and y ~ N(x, deviation^2): the paper's Figure 2 has 0.01 as the variance."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, n)
    return x[:, None], x, x + rng.normal(0.0, deviation, n)


def test_it_minimises_the_weighted_squares():
    X, clean, y = drawn(40, 0)
    squared = (y - clean) ** 2
    model = hc.HLR().fit(X, y, squared_errors=squared)

    def loss(line):
        return np.mean((y - X[:, 0] * line[0] - line[1]) ** 2 / squared)

    least = loss([model.coef_[0], model.intercept_])
    for step in np.random.default_rng(1).normal(0.0, 1e-3, (50, 2)):
        assert loss([model.coef_[0] + step[0], model.intercept_ + step[1]]) >= least
    assert_allclose(model.instance_weights_ * squared, (model.instance_weights_ * squared)[0], rtol=1e-9)


def test_without_deviations_it_is_linear_regression():
    X, _, y = drawn(30, 2)
    for intercept in (True, False):
        plain = LinearRegression(fit_intercept=intercept).fit(X, y)
        for given in (None, np.full(30, 7.0)):
            model = hc.HLR(fit_intercept=intercept).fit(X, y, squared_errors=given)
            assert_allclose(model.predict(X), plain.predict(X), rtol=1e-12)


def test_deviations_differ_almost_surely_and_weights_pay():
    off = {"HLR": [], "LR": []}
    for seed in range(40):
        X, clean, y = drawn(30, seed)
        assert np.unique((y - clean) ** 2).size == 30
        for name, given in (("HLR", (y - clean) ** 2), ("LR", None)):
            off[name].append(np.mean((hc.HLR().fit(X, y, squared_errors=given).predict(X) - clean) ** 2))
    assert np.mean(off["HLR"]) < 0.1 * np.mean(off["LR"])


def test_a_label_that_does_not_stray_is_met_exactly():
    X = np.array([[0.0], [1.0], [2.0]])
    model = hc.HLR().fit(X, [0.0, 1.0, 5.0], squared_errors=[0.0, 0.0, 9.0])
    assert_allclose(model.predict(X), [0.0, 1.0, 2.0], atol=1e-6)
    even = hc.HLR().fit(X, [0.0, 1.0, 5.0], squared_errors=np.zeros(3))
    assert_allclose(even.predict(X), hc.HLR().fit(X, [0, 1, 5]).predict(X))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.ones(4), r"shape \(4,\) for 3 labels"),
        ([1.0, -1.0, 1.0], "negative or not finite"),
        (["a"] * 3, "squared_errors has values that are no numbers"),
    ],
)
def test_deviations_that_do_not_fit_are_refused(given, text):
    with pytest.raises(hc.DataError, match=text):
        hc.HLR().fit(np.eye(3), np.arange(3.0), squared_errors=given)


@pytest.mark.parametrize("with_errors", [False, True])
@pytest.mark.parametrize("far, unit", [(1e8, 1.0), (1.7e12, 1e10), (0.0, 1e-15)])
def test_a_column_far_from_0_or_of_another_size_is_learned_as_if_it_were_not(far, unit, with_errors):
    rng = np.random.default_rng(4)
    X, noise = rng.normal(size=(400, 2)), 0.1 * rng.normal(size=400)
    y, squares = 3.0 * X[:, 0] + 2.0 * X[:, 1] + noise, noise**2 + 1e-4 if with_errors else None
    plain = hc.HLR().fit(X, y, squared_errors=squares).predict(X)
    # written to cells, a column far from 0 has fewer digits left for what varies
    moved = np.column_stack([far + unit * X[:, 0], X[:, 1]])
    found = hc.HLR().fit(moved, y, squared_errors=squares).predict(moved)
    np.testing.assert_allclose(found, plain, atol=1e-5)


@pytest.mark.parametrize("size", [1e160, 1e300, 1.7e308])
def test_labels_whose_squared_errors_overflow_are_refused(size):
    X, y = [[0.1], [-0.1], [0.6], [0.2]], np.array([1.0, 0.0, 0.0, -1.0])
    with pytest.raises(hc.DataError, match="so large or small that an error overflows: rescale them"):
        hc.HLR().fit(X, size * y)
    assert hc.HLR().fit(X, 1e150 * y).history_["loss:train"].is_finite().all()
