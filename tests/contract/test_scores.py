"""Scores of data: labels are read as a fit reads them, those that are missing are left out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, r2_score

import hetcore as hc
from hetcore import metrics
from hetcore.tuning import cross_validate

IDS = [f"i{k}" for k in range(40)]
X = np.random.default_rng(0).normal(size=40)


def _data(labels, task):
    return hc.HetData({"t": pl.DataFrame({"id": IDS, "x": X})}, target=(IDS, labels), task=task)


def test_numbers_of_data_are_scored_where_there_is_one():
    y = X + np.random.default_rng(1).normal(size=40)
    data = _data(np.where(np.arange(40) < 30, y, np.nan), "regression")
    model = hc.GBCRegressor(n_iterations=3).fit(data)
    expected = r2_score(y[:30], model.predict(data)[:30])
    weights = np.arange(40.0)
    assert model.score(data) == model.score(data, data.y) == expected
    assert model.score(data, y) == r2_score(y, model.predict(data))
    assert model.score(data, data.y, weights) == r2_score(y[:30], model.predict(data)[:30], sample_weight=weights[:30])


@pytest.mark.parametrize("method", [hc.GBCClassifier, hc.MGBClassifier, hc.OneWeakLearnerClassifier])
def test_classes_may_be_numbers_and_truth_values_as_in_a_fit(method):
    y = (X > 0).astype(int)
    y[::7] = 1 - y[::7]
    data = _data([None if k > 30 else str(v) for k, v in enumerate(y)], "classification")
    if method is hc.MGBClassifier:
        data = data.with_graph("g", hc.Graph(pl.DataFrame({"source": IDS[1:], "target": IDS[:-1]})))
    model = method(n_iterations=3).fit(data)
    expected = accuracy_score(y.astype(str), model.predict(data))
    assert model.score(data, y) == model.score(data, y.astype(str)) == expected
    assert model.score(data) == accuracy_score(y[:31].astype(str), model.predict(data)[:31])


def test_without_a_label_a_score_asks_for_some():
    data = _data(X, "regression")
    model = hc.GBCRegressor(n_iterations=2).fit(data)
    with pytest.raises(hc.DataError, match="There is no label to compare predictions with: give y"):
        model.score(data.with_target(None))
    arrays = hc.HGBMRegressor(n_iterations=2).fit(X[:, None], X)
    with pytest.raises(hc.DataError, match=r"There is no y to compare predictions with: give score\(X, y\)"):
        arrays.score(X[:, None])


def test_weights_below_zero_are_refused():
    data, y = _data((X > 0).astype(str), "classification"), X > 0
    model, rows = hc.GBCClassifier(n_iterations=2).fit(data), hc.HGBMClassifier(n_iterations=2).fit(X[:, None], y)
    for call in (lambda w: model.score(data, sample_weight=w), lambda w: rows.score(X[:, None], y, w)):
        with pytest.raises(hc.DataError, match=r"sample_weight has -2: give numbers of at least 0\."):
            call(np.where(X > 0, 1.0, -2.0))


def test_cross_validation_refuses_an_empty_grid_and_what_a_fit_would_in_its_words():
    data, model = _data(X, "regression"), hc.GBCClassifier(n_iterations=2)
    with pytest.raises(hc.ParameterError, match=r"grid=\[\] is empty: give"):
        cross_validate(hc.GBCRegressor(), data, [])
    for call in (model.fit, lambda given: cross_validate(model, given, {"lambda0": [0.0]})):
        with pytest.raises(hc.DataError, match=r"The 40 labels are 40 different numbers such as -\d.*take a regressor"):
            call(data)


def test_values_of_numpy_are_written_without_their_type():
    with pytest.raises(hc.DataError, match="The smallest deviation is 0: standard deviations must be positive"):
        metrics.gaussian_nll([1.0], [1.0], [0.0])
    with pytest.raises(hc.DataError, match="Without fold 1 of 2, 'b' would be all"):
        cross_validate(hc.GBCClassifier(), _data(["a", *["b"] * 39], "classification"), {"lambda0": [0.0]}, n_folds=2)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["a"] * 40, "values that are no numbers"),
        (np.full(40, np.nan), "sample_weight has nan"),
        (np.full(40, np.inf), "sample_weight has inf"),
        (np.zeros(40), "at least one non-zero number"),
        (np.full(40, "2020-01-01", "M8[D]"), "values that are no numbers"),
        ([[1.0], [1.0, 2.0]], "entries of different lengths"),
    ],
)
def test_weights_that_are_none_are_refused_in_one_sentence(weights, words):
    data, rows = _data(X, "regression"), hc.HGBMRegressor(n_iterations=1)
    model = hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(data)
    for call in (
        lambda: model.score(data, sample_weight=weights),
        lambda: rows.fit(X[:, None], X, sample_weight=weights),
        lambda: hc.HeteroscedasticLinearRegression().fit(X[:, None], X, sample_weight=weights),
    ):
        with pytest.raises(hc.DataError, match=words):
            call()


@pytest.mark.parametrize("y", [np.array([1, "a"] * 20, object), [None] * 40])
def test_classes_are_scored_by_classes_of_one_kind(y):
    model = hc.HGBMClassifier(n_iterations=1).fit(X[:, None], X > 0)
    with pytest.raises(hc.DataError, match=r"y mixes text with other values|All 40 labels of y are missing"):
        model.score(X[:, None], y)


def test_numbers_are_scored_by_numbers_alone():
    model = hc.HeteroscedasticLinearRegression().fit(X[:, None], X)
    with pytest.raises(hc.DataError, match="y has labels that are no numbers"):
        model.score(X[:, None], ["a"] * 40)


@pytest.mark.parametrize("given", ["no", 1, None, np.ones(3)])
def test_what_is_no_truth_value_asks_for_nothing(given):
    data = _data(X, "regression")
    model = hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(data)
    rows = hc.HeteroscedasticLinearRegression().fit(X[:, None], X)
    for call in (
        lambda: model.predict(data, return_coverage=given),
        lambda: model.contributions(data, per_class=given),
        lambda: model.contributions(data, graphs=given),
        lambda: rows.predict(X[:, None], return_std=given),
    ):
        with pytest.raises(hc.ParameterError, match="is no truth value: give True or False"):
            call()


def test_what_is_shown_of_a_wrong_parameter_is_one_short_line():
    for wrong in (np.ones(500), pl.DataFrame({"x": [1, 2]}), "a" * 500):
        with pytest.raises(hc.ParameterError) as refused:
            hc.HGBMRegressor(n_iterations=wrong).fit(X[:, None], X)
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 200
    with pytest.raises(hc.ParameterError, match="max_depth=10{30} is beyond 64 bits: give a smaller number"):
        hc.HGBMRegressor(max_depth=10**30).fit(X[:, None], X)
