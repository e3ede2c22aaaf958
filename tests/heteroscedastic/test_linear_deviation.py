"""Linear regression with a linear deviation: planted lines, ridge as the limit, an objective that never rises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
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


def test_constant_deviation_is_ridge_regression():
    X, y, _ = planted(200)
    model = hc.HeteroscedasticLinearRegression(deviation="constant", l2=3.0).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(model.predict(X), Ridge(alpha=3.0).fit(Z, y).predict(Z), rtol=1e-9)
    sigma = model.predict(X, return_std=True)[1]
    assert_allclose(sigma, np.sqrt(((y - model.predict(X)) ** 2).mean()), rtol=1e-6)


def test_weights_are_better_than_none_where_noise_is_unequal():
    errors = {"learned": [], "constant": []}
    for seed in range(20):
        X, y, _ = planted(80, seed)
        for deviation, each in errors.items():
            coef = hc.HeteroscedasticLinearRegression(deviation=deviation).fit(X, y).coef_
            each.append(((coef - [2.0, -0.5, 0.0]) ** 2)[:2].sum())
    assert np.mean(errors["learned"]) < np.mean(errors["constant"])


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(seed):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.normal(size=(60, 4)), np.ones(60)])
    y = rng.standard_t(2, 60)
    state = Alternation(
        Rows(Z, y, rng.uniform(0.1, 3, 60)), None, {"l2": 0.1, "deviation_l2": 0.5, "deviation": "learned", "tol": 0}
    )
    values = [state.objective()]
    for _ in range(15):
        state.round()
        values.append(state.objective())
    assert (np.diff(values) <= 1e-8).all() and values[-1] < values[0]


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
