"""What the labels of linked instances were missed by: added where it helps, kept in files, dealt to the graphs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.consensus.smoothing import share_of_residuals
from hetcore.consensus.variants import explain_variants
from hetcore.data.splits import label_split
from hetcore.model_files import dumps


def panel(shift=1.0, n_groups=30, size=8, seed=0):
    """Return readings of groups that a table tells but for a shift of each group; rows of a group are linked."""
    rng = np.random.default_rng(seed)
    n = n_groups * size
    X = rng.normal(size=(n, 3)) + np.repeat(rng.normal(size=(n_groups, 3)), size, axis=0)
    y = X @ np.array([1.5, -1.0, 0.5]) + shift * np.repeat(rng.normal(size=n_groups), size) + 0.2 * rng.normal(size=n)
    ids = np.array([f"r{k:03d}" for k in range(n)])
    first = np.arange(n).reshape(n_groups, size)
    ends = np.array([(row[i], row[j]) for row in first for i in range(size) for j in range(i)])
    table = pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(3)})
    links = pl.DataFrame({"a": ids[ends[:, 0]], "b": ids[ends[:, 1]]})
    return hc.HetData({"t": table}, {"group": links}, (ids, y))


def rmse(model, data, hidden):
    return float(np.sqrt(((model.predict(data) - data.y)[hidden] ** 2).mean()))


def linked(y, size):
    """Return noise in a table of instances with labels (n,), those of each group of some size linked."""
    ids = np.array([f"r{k:03d}" for k in range(y.size)])
    ends = np.array([(k, k + step) for k in range(y.size) for step in range(1, size - k % size)])
    X = np.random.default_rng(1).normal(size=(y.size, 3))
    table = pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(3)})
    return hc.HetData({"t": table}, {"group": pl.DataFrame({"a": ids[ends[:, 0]], "b": ids[ends[:, 1]]})}, (ids, y))


def test_the_share_is_a_slope_that_is_clearly_above_0_and_at_most_1():
    rng = np.random.default_rng(0)
    near = rng.normal(size=400)
    missed = 0.4 * near + 0.1 * rng.normal(size=400)
    assert_allclose(share_of_residuals(near, missed, near[:50]), 0.4, atol=0.05)
    # what rows without a label have more of is noise; that some have nothing is not
    assert_allclose(share_of_residuals(near, missed, 2.0 * near), 0.1, atol=0.01)
    assert_allclose(share_of_residuals(near, missed, near * (np.arange(400) < 99)), 0.4, atol=0.05)
    nobody = near[:0]
    assert share_of_residuals(near, 2.0 * near, nobody) == 1.0
    assert share_of_residuals(near, -near, nobody) == share_of_residuals(near, rng.normal(size=400), nobody) == 0.0
    assert share_of_residuals(np.zeros(400), near, nobody) == 0.0
    # of two rows one that agrees says nothing
    assert share_of_residuals(np.array([1.0, 0.0]), np.array([0.5, 3.0]), nobody) <= 1.0


@pytest.mark.parametrize("smooth_residuals", [True, False])
def test_labels_left_out_are_missed_by_as_much_as_labels_that_nobody_has_seen(smooth_residuals):
    rng = np.random.default_rng(2)
    y = np.sqrt(0.6) * np.repeat(rng.normal(size=300), 2) + np.sqrt(0.4) * rng.normal(size=600)
    data, hidden = linked(y, 2), rng.random(600) < 0.5
    model = hc.GBCRegressor(n_iterations=6, lambda1=3.0, smooth_residuals=smooth_residuals)
    model.fit(data, np.where(hidden, np.nan, y))
    assert model.graph_weights_["group"] == 1.0
    # a label that came back to its row by its unlabelled neighbour made .63 of .92
    assert_allclose(model.history_["metric:left_out"][-1], rmse(model, data, hidden), rtol=0.05)


def test_classes_left_out_are_missed_as_often_as_classes_that_nobody_has_seen():
    rng = np.random.default_rng(1)
    y, hidden = np.repeat(rng.integers(2, size=200), 3), rng.random(600) < 0.4
    data, names = linked(y.astype(np.float64), 3), np.array(["a", "b"], object)[y]
    model = hc.GBCClassifier(n_iterations=3, lambda1=3.0, base_learner="tree")
    model.fit(data, np.where(hidden, None, names))
    missed = np.mean((model.predict(data) != names)[hidden])
    # a class that came back to its row by what unlabelled neighbours' columns know of it made 0
    assert missed > 0.05
    assert model.history_["metric:left_out"][-1] > 0.8 * missed


def test_a_label_that_all_of_a_group_have_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.normal(size=100), 3)
    data, hidden = linked(y, 3), rng.random(300) < 0.1
    model = hc.GBCRegressor().fit(data, np.where(hidden, np.nan, y))
    # what the others were missed by without one another's labels, added to it, made .4
    assert rmse(model, data, hidden) < 0.05


def test_a_shift_of_each_group_is_learned_from_its_labels_and_noise_is_not():
    for shift, least in ((1.0, 0.2), (0.0, 0.0)):
        data = panel(shift)
        y = label_split(data, 0.5)
        hidden = np.isnan(y)
        fits = [hc.GBCRegressor(n_iterations=12, smooth_residuals=given).fit(data, y) for given in (True, False)]
        share = fits[0].model_.residual_share
        assert fits[1].model_.residual_share == 0.0 and fits[1].model_.memory.missed is None
        if shift:
            assert least < share <= 1.0
            assert rmse(fits[0], data, hidden) < 0.97 * rmse(fits[1], data, hidden)
        elif share == 0.0:
            assert_array_equal(*[fit.predict(data) for fit in fits])


def test_events_files_and_contributions_have_them():
    data = panel()
    y, events = label_split(data, 0.5), []
    model = hc.GBCRegressor(n_iterations=12).fit(data, y, eval_y=data.y, callbacks=[events.append])
    hidden = np.isnan(y)
    assert model.model_.residual_share > 0
    assert_allclose(model.history_["metric:held_out"][-1], rmse(model, data, hidden), rtol=1e-6)
    parts = model.contributions(data, graphs=True)
    assert_allclose(y[~hidden].mean() + parts.sum(axis=1), model.predict(data), atol=1e-9)
    again = hc.load(dumps(model))
    assert_array_equal(again.predict(data), model.predict(data))
    assert dumps(again) == dumps(model)
    # a variant that changes nothing is told by them as the instance is
    row = data.sources["t"].frame[:1]
    same = explain_variants(model, data, {"t": row}, "r000")
    assert_allclose(same.prediction, model.predict(data)[:1], rtol=1e-9)
    # one more instance of a group is told by what its neighbours were missed by
    bare = data.with_edges("group", cut=[("r000", f"r{k:03d}") for k in range(1, 8)])
    near = [model.model_.memory.residuals(each)[1:8].mean() for each in (data, bare)]
    assert near[0] == near[1]
    moved = (model.predict(data) - model.predict(bare))[0]
    assert moved != 0.0


def test_classes_and_the_printed_algorithm_have_none():
    data = panel()
    names = np.where(data.y > np.median(data.y), "high", "low")
    fit = hc.GBCClassifier(n_iterations=6).fit(data.with_target(names))
    assert fit.model_.residual_share == 0.0 and fit.model_.memory.missed is None


def test_a_file_without_the_residuals_is_refused():
    data = panel()
    model = hc.GBCRegressor(n_iterations=6).fit(data, label_split(data, 0.5))
    assert model.model_.residual_share > 0
    meta, arrays = model._get_state()
    arrays = {name: each for name, each in arrays.items() if not name.endswith("missed")}
    with pytest.raises(hc.ModelFileError, match="missed by"):
        hc.GBCRegressor()._set_state(meta, arrays)
