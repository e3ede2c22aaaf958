"""A label forest of HGBM that starts from lines: ridge regression of its members, chosen by rows that they left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

import hetcore as hc
from hetcore.heteroscedastic.forest_ensemble import CVFolds
from hetcore.linear_model import MOST_COLUMNS, PENALTIES, LinearModel, predicted_by_each
from hetcore.model_files import dumps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6)).astype(np.float32)
Y = X @ np.array([3.0, -2.0, 1.0, 0.5, 0.2, 0.0]) + np.abs(X[:, 5]) + 0.3 * RNG.normal(size=300)


def seen_by_members(n):
    return CVFolds.of(n, None, 5, np.random.default_rng(1)).rows


def test_lines_are_ridge_regressions_whose_penalty_misses_left_out_rows_the_least():
    weights, missed, seen = RNG.uniform(0.5, 2.0, 300), Y - Y.mean(), seen_by_members(300)
    lines = LinearModel.fit(X, missed[:, None], seen, weights)
    line, added = LinearModel.mean(lines), predicted_by_each(lines, X)[:, :, 0]
    Z = np.column_stack([line.projection(X), np.ones(300)])

    def fitted(penalty):
        each = [Ridge(penalty * len(rows), fit_intercept=False) for rows in seen]
        return np.stack([ridge.fit(Z[rows], missed[rows], weights[rows]).coef_ for ridge, rows in zip(each, seen)])

    def left_out_error(coefficients):
        errors = weights * (missed - coefficients @ Z.T) ** 2
        return sum(np.delete(errors[k], rows).sum() for k, rows in enumerate(seen))

    best = min((fitted(penalty) for penalty in PENALTIES), key=left_out_error)
    assert_allclose(line.slopes, best.mean(axis=0), atol=1e-10)
    assert_allclose(added, best @ Z.T, atol=1e-10)
    assert_allclose(line.predict(X)[:, 0], added.mean(axis=0), atol=1e-10)


def test_a_line_that_brings_left_out_rows_no_closer_is_not_taken():
    level = np.full((300, 3), 2.0, np.float32)
    assert LinearModel.fit(level, (Y - Y.mean())[:, None], seen_by_members(300)) is None
    forests = [hc.HGBMRegressor(n_iterations=10, start=start).fit(level, Y) for start in ("linear", "constant")]
    assert forests[0].model_.line is None
    assert_array_equal(*[model.predict(level) for model in forests])


def test_linear_labels_are_predicted_from_few_rows_and_far_rows_stay_near_the_labels():
    train, later = slice(120), slice(120, None)
    models = [hc.HGBMRegressor(start=start).fit(X[train], Y[train]) for start in ("linear", "constant")]
    linear, constant = (np.sqrt(((model.predict(X[later]) - Y[later]) ** 2).mean()) for model in models)
    assert linear < 0.6 * constant
    with pytest.warns(hc.UnfamiliarValuesWarning):
        far = models[0].predict(1e6 * X[later])
    assert np.isfinite(far).all() and np.abs(far).max() < 2 * np.ptp(Y)


@pytest.mark.parametrize("given", [{}, {"deviation": "constant"}, {"weighting": 0.0}])
def test_events_and_files_have_the_line(given):
    events = []
    model = hc.HGBMRegressor(n_iterations=12, patience=None, calibrated=False, **given)
    model.fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]), callbacks=[events.append])
    mean = model.predict(X[200:])
    assert_allclose(events[-1].detail["metric"]["held_out"], np.sqrt(((mean - Y[200:]) ** 2).mean()), rtol=1e-9)
    assert 0.2 < model.model_.line.share < 1 and (given or len(model.model_.labels))
    again = hc.load(dumps(model))
    assert_array_equal(again.predict(X, True), model.predict(X, True))
    assert dumps(again) == dumps(model)


@pytest.mark.parametrize(
    "change",
    [
        lambda meta, arrays: arrays.update({"line:start:slopes": arrays["line:start:slopes"][:-1]}),
        lambda meta, arrays: arrays.update({"line:start:ends": arrays["line:start:ends"][::-1].copy()}),
        lambda meta, arrays: arrays.update({"line:start:ends": np.zeros(3)}),
        lambda meta, arrays: arrays.update({"line:start:columns": arrays["line:start:columns"] + 1}),
        lambda meta, arrays: arrays.update({"line:start:columns": arrays["line:start:columns"][::-1].copy()}),
        lambda meta, arrays: meta["model"]["line"].update(share=1.5),
        lambda meta, arrays: meta["model"]["line"].update(share=0.0),
    ],
)
def test_a_line_that_does_not_fit_is_refused(change):
    model = hc.HGBMRegressor(n_iterations=3).fit(X, Y)
    meta, arrays = model._get_state()
    change(meta, arrays)
    with pytest.raises(hc.ModelFileError):
        hc.HGBMRegressor()._set_state(meta, arrays)


def test_missing_values_count_as_the_mean_and_threads_change_no_bit():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    models = [hc.HGBMRegressor(n_iterations=5, n_jobs=n_jobs).fit(gaps, Y) for n_jobs in (1, 3)]
    assert_array_equal(*[model.predict(gaps, True) for model in models])
    start, filled = models[0].model_.line.start, np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    assert_allclose(start.predict(gaps), start.predict(filled.astype(np.float32)), atol=1e-5)


def test_of_very_many_columns_components_are_taken():
    wide = np.repeat(RNG.normal(size=(90, 3)), MOST_COLUMNS // 3 + 1, axis=1).astype(np.float32)
    missed = wide[:, 0] - 2.0 * wide[:, -1]
    lines = LinearModel.fit(wide, missed[:, None], seen_by_members(90))
    line = LinearModel.mean(lines)
    assert line.projection.components.shape == (wide.shape[1], line.slopes.size - 1)
    # a column that does not vary changes no bit
    more = np.column_stack([wide[:, :1], np.full(90, np.nan), wide[:, 1:], np.ones(90)]).astype(np.float32)
    again = LinearModel.mean(LinearModel.fit(more, missed[:, None], seen_by_members(90)))
    assert_array_equal(again.predict(more), line.predict(wide))
    assert np.abs(predicted_by_each(lines, wide)[:, :, 0] - missed).max() < 0.05
