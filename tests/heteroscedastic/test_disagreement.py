"""What members of HGBM disagree by is a part of the variance: where their trees stand, its share, files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.heteroscedastic.disagreement import LARGEST_MARGIN, disagreement_share
from hetcore.model_files import dumps

X = np.random.default_rng(0).normal(size=(90, 3))
Y = X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=90)


@pytest.fixture(scope="module")
def model():
    return hc.HGBMRegressor(n_iterations=15).fit(X, Y)


def test_disagreement_is_half_the_mean_squared_difference_of_two_members_of_different_forests(model):
    fitted, (count, first, share) = model.model_, model.model_.members
    binned = fitted.mapper.transform(X.astype(np.float32))
    trees = np.stack([fitted.labels.predict(binned, None, t, t + 1)[:, 0] for t in range(len(fitted.labels))])
    # trees of a round follow each other, and each counts its forest's share over the members
    a = [trees[k:first:count].sum(axis=0) * count / (1.0 - share) for k in range(count)]
    b = [trees[first + k :: count].sum(axis=0) * count / share for k in range(count)]
    assert_allclose((1 - share) * np.mean(a, axis=0) + share * np.mean(b, axis=0), trees.sum(axis=0), atol=1e-12)
    pairs = np.mean([0.5 * (one - other) ** 2 for one in a for other in b], axis=0)
    label, found = fitted.members.predict(fitted.labels, binned)
    assert_array_equal(label, fitted.labels.predict(binned)[:, 0])
    assert_allclose(found, pairs, atol=1e-12)
    scores = fitted.raw(X.astype(np.float32))
    variance = np.exp(fitted.calibration(scores.d)) + fitted.disagreement * found
    assert fitted.disagreement > 0
    assert_allclose(model.predict(X, return_std=True)[1], fitted.unit[1] * np.sqrt(variance))


def test_a_planted_share_is_found_and_the_variance_with_it():
    rng = np.random.default_rng(2)
    variance, disagreement = np.exp(rng.normal(0, 0.5, 20_000)), rng.gamma(0.5, 1.0, 20_000)
    squares = (0.7 * variance + 0.9 * disagreement) * rng.standard_normal(20_000) ** 2
    factors = disagreement_share(variance, disagreement, squares, np.ones(20_000))
    assert_allclose(factors, (0.7, 0.9), rtol=0.15)


def test_nothing_to_disagree_by_leaves_the_likeliest_scale():
    variance, squares = np.ones(4), np.array([0.5, 1.5, 0.5, 1.5])
    factor, added = disagreement_share(variance, np.zeros(4), squares, np.ones(4))
    # and half the variance of its logarithm: that of z squared is .25 here
    assert_allclose(factor, np.exp(0.5 * 0.25 / 4))
    assert added == 0


@pytest.mark.parametrize("disagreement", [np.zeros(5), np.ones(5)])
def test_labels_without_a_residual_leave_a_finite_variance(disagreement):
    factor, added = disagreement_share(np.ones(5), disagreement, np.zeros(5), np.ones(5))
    assert factor > 0
    assert added == 0


def test_a_row_far_out_widens_sigma_up_to_a_bound():
    squares = np.r_[np.full(9, 0.01), 1e6]
    factor, _ = disagreement_share(np.ones(10), np.zeros(10), squares, np.ones(10))
    assert_allclose(factor, squares.mean() * np.exp(0.5 * ((squares**2).mean() / squares.mean() ** 2 - 1) / 10))
    assert factor <= squares.mean() * np.exp(LARGEST_MARGIN)


@pytest.mark.parametrize("given", [{"folds": 1}, {"calibrated": False}, {"deviation": "constant"}, {"blend": False}])
def test_a_model_without_two_forests_or_left_out_rows_adds_nothing(given):
    assert hc.HGBMRegressor(n_iterations=5, **given).fit(X, Y).model_.disagreement == 0


def test_a_file_without_disagreement_is_read_and_one_of_other_members_refused(model):
    meta, arrays = model._get_state()
    old = {key: each for key, each in meta["model"].items() if key not in ("disagreement", "members")}
    again = hc.HGBMRegressor(**model.get_params())
    again._set_state(meta | {"model": old}, arrays)
    assert (again.predict(X, True)[1] < model.predict(X, True)[1]).all()
    for members in ([4, *model.model_.members[1:]], [5, 10_000, 0.5], [5, 5, 0.0], [0, 0, 0.5], [5.5, 5, 0.5]):
        with pytest.raises(hc.ModelFileError):
            again._set_state(meta | {"model": meta["model"] | {"members": members}}, arrays)
    assert dumps(hc.load(dumps(model))) == dumps(model)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_handful_of_rows_and_one_label_far_out_leave_finite_intervals(rows):
    far = Y[:rows].copy()
    far[-1] = 1e200
    for labels in (Y[:rows], far):
        fitted = hc.HGBMRegressor(n_iterations=5).fit(X[:rows], labels)
        assert all(np.isfinite(each).all() for each in (*fitted.predict(X, True), *fitted.predict_interval(X)))
