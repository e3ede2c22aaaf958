"""The predicted density at labels: normal by mean and deviation, or with the tails of left-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import hetcore as hc
from hetcore.errors import DataError
from hetcore.heteroscedastic.tails import log_density


@pytest.fixture(scope="module")
def far_out():
    """Return a model of labels with common rows far out, and new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + 0.1 * rng.standard_t(2.5, size=400)
    return hc.HGBMRegressor(n_iterations=30).fit(X[:250], y[:250]), X[250:], y[250:]


def test_without_tails_it_is_the_normal_density_of_the_prediction(far_out):
    model, X, y = far_out
    expected = stats.norm.logpdf(y, *model.predict(X, return_std=True))
    np.testing.assert_array_equal(model.log_density(X, y, tails=False), expected)


def test_labels_far_out_are_likelier_with_tails(far_out):
    model, X, y = far_out
    normal, with_tails = (model.log_density(X, y, tails=each) for each in (False, True))
    assert with_tails.mean() > normal.mean() + 0.1
    far = y + 100.0
    assert (model.log_density(X, far) > model.log_density(X, far, tails=False) + 100.0).all()


def test_a_density_has_mass_one(far_out):
    model, X, y = far_out
    grid = np.linspace(-400.0, 400.0, 400_001)
    density = np.exp(log_density(grid, X[0, 0], 0.2, model.model_.scores))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)


def test_a_loaded_model_has_the_same_tails(far_out, tmp_path):
    model, X, y = far_out
    hc.save(model, tmp_path / "m.hetcore")
    np.testing.assert_array_equal(hc.load(tmp_path / "m.hetcore").log_density(X, y), model.log_density(X, y))


def test_without_left_out_rows_there_are_no_tails_to_learn():
    X = np.arange(20.0)[:, None]
    model = hc.HGBMRegressor(folds=1, n_iterations=3).fit(X, np.sin(X[:, 0]))
    found = (model.log_density(X, X[:, 0], tails=each) for each in (False, True))
    np.testing.assert_array_equal(*found)


def test_labels_that_never_vary_have_a_finite_density():
    X = np.arange(20.0)[:, None]
    model = hc.HGBMRegressor(n_iterations=3).fit(X, np.ones(20))
    assert np.isfinite(model.log_density(X, np.ones(20))).all()


@pytest.mark.parametrize(
    ("y", "words"),
    [([1.0], "shape"), (["a"] * 150, "no numbers"), (np.full(150, np.nan), "missing or infinite")],
)
def test_labels_that_do_not_fit_are_refused_in_a_sentence(far_out, y, words):
    model, X, _ = far_out
    with pytest.raises(DataError, match=words):
        model.log_density(X, y)
