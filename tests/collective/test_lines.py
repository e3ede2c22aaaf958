"""Lines in the mix of F_0: ridge regression of own columns and of all, of numbers and of classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.collective.base_model import STRETCHES
from hetcore.data.splits import label_split
from hetcore.model_files import dumps
from tests.collective.test_collective import rmse, small


def linear(n=240, classes=0, seed=0):
    """Return data whose label is a sum of six columns and of what a neighbour's first column says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    near = np.roll(np.arange(n), 1)
    score = X @ np.array([2.0, -1.5, 1.0, 1.0, 0.5, -0.5]) + 2.0 * X[near, 0] + 0.2 * rng.normal(size=n)
    y = np.array([f"class {c}" for c in np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))])
    ids = [f"r{i:03d}" for i in range(n)]
    table = pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(6)})
    links = pl.DataFrame({"a": ids, "b": [ids[i] for i in near]})
    return hc.HetData({"t": table}, {"ring": links}, (ids, y if classes else score))


def test_a_sum_of_columns_is_learned_by_lines_where_trees_need_more_labels():
    data = linear()
    y = label_split(data, 0.4)
    hidden = np.isnan(y)
    errors = {}
    for cls in (hc.GBRegressor, hc.RGBRegressor, hc.MGBRegressor):
        models = [small(cls, first_trees=100, linear=given).fit(data, y) for given in (True, False)]
        errors[cls], trees = (rmse(model.predict(data)[hidden], data.y[hidden]) for model in models)
        assert errors[cls] < 0.9 * trees, cls
        assert models[0].model_.base.own_line is not None and models[1].model_.base.own_line is None
    # a half of what GB misses is in the neighbours' columns, which the line of all columns has
    assert errors[hc.MGBRegressor] < 0.9 * errors[hc.GBRegressor] and models[0].model_.base.line is not None


WAYS = {"one column": (lambda X: np.sin(3.0 * X[:, 0]), 0.7), "a product": (lambda X: X[:, 0] * X[:, 1], 0.85)}


@pytest.mark.parametrize("way", WAYS)
def test_a_number_that_hardly_a_column_tells_among_others_is_learned_by_oblivious_trees(way):
    rng, (tells, most) = np.random.default_rng(0), WAYS[way]
    X, ids = rng.normal(size=(400, 16)), [f"r{i:03d}" for i in range(400)]
    table = pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(16)})
    links = pl.DataFrame({"a": ids, "b": ids[1:] + ids[:1]})
    data = hc.HetData({"t": table}, {"ring": links}, (ids, tells(X)))
    y = label_split(data, 0.5)
    hidden = np.isnan(y)
    for cls in (hc.GBRegressor, hc.MGBRegressor):
        models = [cls(n_iterations=1, column_sample=given).fit(data, y) for given in (None, 0.5)]
        errors = [rmse(model.predict(data)[hidden], data.y[hidden]) for model in models]
        assert errors[0] < most * errors[1], (cls, errors)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_a_sum_of_columns_too(classes):
    data = linear(classes=classes)
    y = label_split(data, 0.4)
    hidden = np.array([each is None for each in y])
    wrong = [
        (small(hc.MGBClassifier, first_trees=60, linear=given).fit(data, y).predict(data) != data.y)[hidden].mean()
        for given in (True, False)
    ]
    assert wrong[0] < 0.9 * wrong[1]


@pytest.mark.parametrize("cls", [hc.GBRegressor, hc.RGBRegressor, hc.MGBRegressor, hc.MGBClassifier])
def test_files_and_threads_keep_every_bit(cls):
    data = linear(120, classes=3 * (cls is hc.MGBClassifier))
    y = label_split(data, 0.5)
    models = [small(cls, n_jobs=n_jobs).fit(data, y) for n_jobs in (1, 2)]
    again = hc.load(dumps(models[0]))
    for other in (models[1], again):
        assert_array_equal(other.predict(data), models[0].predict(data))
    assert dumps(again) == dumps(models[0])
    assert models[0].model_.base.own_line is not None


def test_stages_kept_and_predicted_are_those_of_the_fit():
    data = linear(160)
    y, events = label_split(data, 0.5), []
    model = small(hc.MGBRegressor, select_stages=False).fit(data, y, eval_y=data.y, callbacks=[events.append])
    hidden = np.isnan(y)
    found = rmse(model.predict(data)[hidden], data.y[hidden])
    assert_allclose(events[-1].detail["metric"]["held_out"], found, rtol=1e-6)
    # far rows stay near the labels
    far = data.with_source("t", hc.Source(data.ids, data.sources["t"].frame.with_columns(pl.col("x0") * 1e6)))
    with pytest.warns(hc.UnfamiliarValuesWarning):
        predicted = model.predict(far)
    assert np.isfinite(predicted).all() and np.abs(predicted).max() < 3 * np.ptp(data.y)


def test_constant_columns_have_no_line():
    data = linear(100)
    level = data.with_source("t", hc.Source(data.ids, data.sources["t"].frame.select(x=pl.col("x0") * 0.0)))
    model = small(hc.GBRegressor).fit(level, label_split(level, 0.5))
    assert model.model_.base.own_line is None and np.isfinite(model.predict(level)).all()


def test_what_lines_say_of_classes_is_stretched_by_left_out_labels():
    """A rule that is certain is stretched the most, a rule of chance the least that there is, or not at all."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    ids = [f"i{k}" for k in range(300)]

    def slope(y):
        data = hc.HetData({"t": pl.DataFrame({"id": ids, "x": x})}, target=(ids, np.where(y, "yes", "no")))
        line = small(hc.MGBClassifier, features=(), hops=0).fit(data).model_.base.own_line
        return 0.0 if line is None else abs(line.slopes.reshape(2, -1)[1, 0])

    certain, likely, chance = (slope(x + s * rng.normal(size=300) > 0) for s in (0.01, 1.0, 100.0))
    assert certain > likely > 3 * chance
    assert STRETCHES[0] > 0 and (np.diff(STRETCHES) > 0).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update({"base:own_line:slopes": arrays["base:own_line:slopes"][:-1]}),
        lambda arrays: arrays.update({"base:own_line:ends": np.zeros(4)}),
        lambda arrays: arrays.update({"base:line:columns": arrays["base:line:columns"] + 1000}),
    ],
)
def test_lines_that_do_not_fit_are_refused(change):
    data = linear(120)
    model = small(hc.MGBRegressor).fit(data, label_split(data, 0.5))
    meta, arrays = model._get_state()
    change(arrays)
    with pytest.raises(hc.ModelFileError):
        hc.MGBRegressor()._set_state(meta, arrays)
