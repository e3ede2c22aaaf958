"""Table 2's rivals: they find what is low-rank, repeat, and know nothing of users never seen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import hetcore as hc
from experiments import epochs
from experiments.noise import autorec, rbm
from experiments.noise.autorec import AutoRec
from experiments.noise.llorma import LLORMA
from experiments.noise.rbm import RBM
from experiments.noise.recommenders import Ratings, ridge
from experiments.noise.robust_factors import RBMF, RCF, expected_squares

NARROW = {"AutoRec": {"hidden": [20], "penalty": [0.1, 1e5]}, "RBM": {"hidden": [10]}, "RCF": {"n_factors": [2]},
          "RBMF": {"n_factors": [2]}, "LLORMA": {"rank": [2], "penalty": [0.1], "anchors": [3]}}  # fmt: skip


@pytest.mark.parametrize("rival", [pytest.param(AutoRec, marks=pytest.mark.slow), RBM, RCF, RBMF, LLORMA])
def test_ratings_of_low_rank_are_rebuilt_and_unseen_users_get_the_mean(monkeypatch, rival):
    if rival is AutoRec:
        pytest.importorskip("torch")
    monkeypatch.setattr(autorec, "RATE", 0.02)
    monkeypatch.setattr(rbm, "RATE", 0.05)
    monkeypatch.setattr(rbm, "BATCH", 15)
    X, y, later, truth = planted()
    given = NARROW[rival.__name__] | {"n_iterations": 40, "patience": 40 if rival in (AutoRec, RBM) else 1}
    model, again = (rival(**given).fit(X, y) for _ in range(2))
    fitted = model.predict(later)
    assert np.sqrt(((fitted - truth) ** 2).mean()) < 0.5
    assert_array_equal(fitted, again.predict(later))
    assert_allclose(model.predict(np.array([[99, 0], [0, 99]])), y.mean())
    assert 0 < model.n_iterations_ <= 40 and model.history_["seconds"][-1] > 0
    assert set(model.chosen_) == set(model.settings)


def planted():
    """Return entries (n, 2) and ratings (n,) of rank one that are known, and those that are not."""
    rng = np.random.default_rng(0)
    truth = 3.0 + np.outer(rng.choice([-1.0, 1.0], 60), rng.choice([-1.0, 1.0], 80))
    observed = rng.random(truth.shape) < 0.5
    return np.argwhere(observed), truth[observed], np.argwhere(~observed), truth[~observed]


def test_a_pass_as_printed_tells_how_many_factors_of_the_deviation_are_nothing(monkeypatch):
    X, y, *_ = planted()
    given = epochs.PRINTED | {"n_iterations": 5}
    model = hc.HMF(**given, **epochs.DEVIATIONS | {"deviation_learning_rate": 0.1}, deviation_regularisation=20.0)
    monkeypatch.setattr(epochs, "load", lambda data: (X, y))
    monkeypatch.setattr(epochs, "MAKERS", {"HMF": lambda: model, "MF": lambda: hc.MatrixFactorization(**given)})
    first, last = (epochs.run_cell("planted", "HMF", epoch, 0)["zeros"] for epoch in (1, 5))
    assert last == np.mean(np.vstack(model.deviation_factors_) == 0) > first
    assert "zeros" not in epochs.run_cell("planted", "MF", 5, 0)


def test_a_curve_has_a_point_for_each_pass_and_goes_down():
    X, y, later, truth = planted()
    curve = RBMF(n_factors=[2]).curve(X, y, later, 6)
    errors = [float(((each[len(X) :] - truth) ** 2).mean()) for each in curve]
    assert len(errors) == 6 and errors[-1] < 0.1 < errors[0]


def test_a_row_of_weighted_ridge_is_that_of_the_normal_equations():
    rng = np.random.default_rng(0)
    factors, weights, values = rng.normal(size=(7, 3)), rng.random((4, 7)), rng.normal(size=(4, 7))
    found = ridge(csr_array(weights), csr_array(weights * values), factors, np.full(4, 0.5))
    gram = factors.T @ np.diag(weights[2]) @ factors + 0.5 * np.eye(3)
    assert_allclose(found[2], np.linalg.solve(gram, factors.T @ (weights[2] * values[2])))


def test_expected_squares_are_those_of_draws():
    rng = np.random.default_rng(0)
    sides = [Q(rng.normal(size=(1, 2)), np.array([[[0.5, 0.2], [0.2, 0.4]]])) for _ in range(2)]
    draws = [rng.multivariate_normal(side.mean[0], side.covariance[0], 100_000) for side in sides]
    entry = Ratings(np.zeros(1, int), np.zeros(1, int), np.array([1.5]), (1, 1))
    expected = ((1.5 - (draws[0] * draws[1]).sum(axis=1)) ** 2).mean()
    assert_allclose(expected_squares(entry, *sides), expected, rtol=0.03)


class Q:
    """Means and covariances of factors."""

    def __init__(self, mean, covariance):
        self.mean, self.covariance = mean, covariance
        self.moments = covariance + mean[:, :, None] * mean[:, None, :]


def test_a_user_of_many_errors_counts_less_in_rbmf():
    rng = np.random.default_rng(0)
    truth = 3.0 + np.outer(rng.choice([-1.0, 1.0], 60), rng.choice([-1.0, 1.0], 80))
    deviation = np.where(np.arange(60) < 30, 0.2, 1.5)
    model = RBMF(n_factors=[2], freedom=[2.0], n_iterations=20)
    model.fit(np.argwhere(truth < 9), (truth + deviation[:, None] * rng.normal(size=truth.shape)).ravel())
    precision = model.learned_[2]
    assert precision[:30].min() > precision[30:].max()
