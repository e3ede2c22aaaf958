"""Linear regression with a linear deviation: planted lines, ridge as the limit, hard tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

import hetcore as hc
from hetcore.heteroscedastic.linear_deviation import Alternation, Rows


def planted(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, -1.0]
    log_variance = 0.9 * X[:, 0] - 1.0
    return X, 2.0 * X[:, 0] - 0.5 * X[:, 1] + 4.0 + np.exp(0.5 * log_variance) * rng.normal(size=n), log_variance


def test_planted_lines_are_recovered():
    X, y, log_variance = planted()
    model = hc.HeteroscedasticLinearRegression().fit(X, y)
    assert_allclose(model.coef_, [2.0, -0.5, 0.0], atol=0.1)
    assert_allclose(model.deviation_coef_, [0.9, 0.0, 0.0], atol=0.2)
    mean, sigma = model.predict(X, return_std=True)
    assert_allclose(mean, X @ model.coef_ + model.intercept_)
    assert np.corrcoef(np.log(sigma), log_variance)[0, 1] > 0.99
    low, high = model.predict_interval(X, 0.9)
    assert abs(((low <= y) & (y <= high)).mean() - 0.9) < 0.02


def test_constant_deviation_is_ridge_regression_and_the_deviation_that_of_left_out_rows():
    X, y, _ = planted(60)
    model = hc.HeteroscedasticLinearRegression(deviation="constant", l2=3.0).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(model.predict(X), Ridge(alpha=3.0).fit(Z, y).predict(Z), rtol=1e-9)
    others = [np.arange(len(y)) != i for i in range(len(y))]
    residuals = [y[i] - Ridge(alpha=3.0).fit(Z[rows], y[rows]).predict(Z[[i]])[0] for i, rows in enumerate(others)]
    assert_allclose(model.predict(X, return_std=True)[1], np.sqrt(np.mean(np.square(residuals))), rtol=1e-6)


def test_weights_are_better_than_none_where_noise_is_unequal():
    errors = {"learned": [], "constant": []}
    for seed in range(20):
        X, y, _ = planted(80, seed)
        for deviation, each in errors.items():
            coef = hc.HeteroscedasticLinearRegression(deviation=deviation).fit(X, y).coef_
            each.append(((coef - [2.0, -0.5, 0.0]) ** 2)[:2].sum())
    assert np.mean(errors["learned"]) < np.mean(errors["constant"])


@pytest.mark.parametrize("seed", range(5))
def test_the_deviation_is_where_the_penalised_likelihood_is_least(seed):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.normal(size=(60, 4)), np.ones(60)])
    rows = Rows(Z, rng.standard_t(2, 60), rng.uniform(0.1, 3, 60))
    state = Alternation(rows, None, {"l2": 0.1, "deviation_l2": 0.5, "deviation": "learned", "tol": 0})
    squares, weights = state.line.left_out**2, rows.weights
    state.round()

    def loss(v):
        return 0.5 * (weights @ (Z @ v + squares * np.exp(-Z @ v)) + 0.5 * v[:-1] @ v[:-1])

    best = minimize(loss, np.zeros(5))
    assert_allclose(state.v, best.x, atol=0.02)
    assert loss(state.v) <= best.fun + 1e-4
    shares = np.linspace(0.0, 1.0, 101)
    weighted = state.fitted(state.log_variance - state.middle)
    errors = [weights @ state.plain.mixed(weighted, share).left_out ** 2 for share in shares]
    assert weights @ state.line.left_out**2 <= min(errors) + 1e-9


@pytest.mark.parametrize(("n", "d"), [(20, 40), (60, 27), (12, 3)])
def test_few_rows_of_many_columns_are_no_worse_than_least_squares(n, d, capfd):
    """Nothing is to be learned of the deviation: it ran to 0, weights with it, and the likelihood to 10^6 and more."""
    worse = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(3, size=(n + 200, d))
        y = X[:, 0] + rng.normal(size=n + 200)
        scores = []
        for deviation in ("learned", "constant"):
            model = hc.HeteroscedasticLinearRegression(deviation=deviation).fit(X[:n], y[:n])
            mean, sigma = model.predict(X[n:], return_std=True)
            scores.append([hc.metrics.gaussian_nll(y[n:], mean, sigma), ((mean - y[n:]) ** 2).mean()])
        worse.append([scores[0][0] - scores[1][0], np.log(scores[0][1] / scores[1][1])])
    assert (np.mean(worse, axis=0) < 0.1).all(), worse
    assert "DLASCL" not in "".join(capfd.readouterr())


def test_what_is_no_line_costs_no_squared_error():
    """Weighted rows were fitted at the price of all others: 25 times the squared error on cpu_small."""
    rng = np.random.default_rng(0)
    x = rng.exponential(size=2000)
    y = np.where(x < 2, x, 20.0 - 9.0 * x) + 0.01 * rng.normal(size=2000)
    errors = {}
    for deviation in ("learned", "constant"):
        model = hc.HeteroscedasticLinearRegression(deviation=deviation).fit(x[:1000, None], y[:1000])
        mean, sigma = model.predict(x[1000:, None], return_std=True)
        errors[deviation] = ((mean - y[1000:]) ** 2).mean(), hc.metrics.gaussian_nll(y[1000:], mean, sigma)
    assert errors["learned"][0] < 1.02 * errors["constant"][0] and errors["learned"][1] < errors["constant"][1]


def test_columns_twice_a_target_of_one_value_labels_on_a_line_and_one_row(capfd):
    X, y, _ = planted(300)
    once = hc.HeteroscedasticLinearRegression().fit(X, y)
    twice = hc.HeteroscedasticLinearRegression().fit(np.column_stack([X, X[:, :1], np.full(300, 7.0)]), y)
    both = np.column_stack([X, X[:, :1], np.full(300, 7.0)])
    assert_allclose(twice.predict(both), once.predict(X), atol=0.05)
    assert_allclose(twice.coef_[[0, 3]].sum(), once.coef_[0], atol=0.01)
    same = hc.HeteroscedasticLinearRegression().fit(X, np.full(300, 3.0))
    assert_allclose(same.predict(X), 3.0)
    exact = hc.HeteroscedasticLinearRegression(l2=0.0).fit(X, X @ [1.0, 2.0, 3.0])
    assert_allclose(exact.predict(X), X @ [1.0, 2.0, 3.0], atol=1e-6)
    for model in (same, exact):
        assert np.isfinite(model.predict(X, return_std=True)[1]).all() and model.n_iterations_ < 100
    one = hc.HeteroscedasticLinearRegression().fit(X[:1], y[:1])
    assert np.isfinite(one.predict(X, return_std=True)).all()
    assert capfd.readouterr() == ("", "")


def test_events_and_rows_of_an_eval_set():
    X, y, _ = planted(300)
    events = []
    model = hc.HeteroscedasticLinearRegression(n_iterations=4, tol=0.0)
    model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]), callbacks=[events.append])
    assert len(events) == model.n_iterations_ and set(events[-1].losses) == {"train", "held_out"}
    rmse = np.sqrt(((model.predict(X[200:]) - y[200:]) ** 2).mean())
    assert_allclose(events[-1].detail["metric"]["held_out"], rmse, rtol=1e-9)
    assert events[-1].losses["train"] < events[0].losses["train"] + 1e-9


def test_what_does_not_fit_is_refused():
    X, y, _ = planted(30)
    with pytest.raises(hc.ParameterError, match="l2=-1 must be a finite number, at least 0"):
        hc.HeteroscedasticLinearRegression(l2=-1).fit(X, y)
    with pytest.raises(hc.DataError, match="eval_set has 5 rows"):
        hc.HeteroscedasticLinearRegression().fit(X, y, eval_set=(X[:5], y[:4]))
    with pytest.raises(hc.ParameterError, match="coverage=0"):
        hc.HeteroscedasticLinearRegression().fit(X, y).predict_interval(X, 0)


def test_rows_that_count_nothing_may_lie_anywhere():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40) * np.exp(0.5 * X[:, 1])
    weights = np.ones(40)
    weights[:2] = 0.0
    near = hc.HeteroscedasticLinearRegression().fit(X, y, weights)
    X[0], y[1] = 1e300, -1e300
    far = hc.HeteroscedasticLinearRegression().fit(X, y, weights)
    assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    assert_allclose(far.deviation_coef_, near.deviation_coef_, rtol=1e-6)
    assert np.isfinite(far.instance_weights_).all()


def test_a_constant_column_of_1e_minus_300_says_nothing():
    y = np.array([1.0, 2.0, 1.5, 3.0, 1.2, 2.1, 0.4, 1.1, 2.2, 0.9, 1.3, 1.7, 2.5, 0.2])
    columns = np.column_stack([np.full(14, 1e-300), np.zeros(14), np.ones(14)])
    model = hc.HeteroscedasticLinearRegression(l2=0.0, deviation_l2=1.0).fit(columns, y)
    assert_allclose(model.predict(columns), y.mean())


@pytest.mark.parametrize("size", [1 / 300, 1e-300])
def test_weights_that_are_shares_are_as_good_as_ones(size):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = 2 * X[:, 0] + np.exp(0.8 * X[:, 1] - 1) * rng.normal(size=300)
    ones, shares = (hc.HeteroscedasticLinearRegression().fit(X, y, np.full(300, each)) for each in (1.0, size))
    assert_allclose(shares.deviation_coef_, ones.deviation_coef_, rtol=1e-9)
    assert_allclose(shares.coef_, ones.coef_, rtol=1e-9)
