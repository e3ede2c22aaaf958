"""HGBM as printed against a twin from the paper's text, and what its Omega does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hetcore as hc
from tests.naive.heteroscedastic import hgbm

TREES = {"max_depth": 2, "max_leaf_nodes": -1, "min_samples_leaf": 4}
PENALTIES = {"l2": 1.5, "deviation_l2": 0.7, "min_gain": 0.01, "alpha": 1.0, "delta": 0.3}
OMEGAS = pytest.mark.parametrize("omega", ["leaves", "rows", "log"])


def table(seed, n=90):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    return X, 20.0 + 3.0 * X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


def twin(X, y, classes, omega, rounds=4):
    return hgbm(
        X,
        y,
        rounds,
        depth=2,
        least=4,
        lam=1.5,
        lam_bar=0.7,
        gamma=0.01,
        alpha=1.0,
        delta=0.3,
        classes=classes,
        omega=omega,
    )


def printed(make, X, y, omega, rounds=4):
    return make(n_iterations=rounds, as_printed=True, omega=omega, **TREES, **PENALTIES).fit(X, y)


@OMEGAS
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_the_text(seed, omega):
    X, y = table(seed)
    f, d = twin(X, y, False, omega)
    raw = printed(hc.HGBMRegressor, X, y, omega).model_.raw(X.astype(np.float32))
    assert_allclose(raw.f[:, 0], f, rtol=0, atol=1e-8 * np.abs(f).max())
    assert_allclose(raw.d, d, rtol=0, atol=1e-8 * np.abs(d).max())


@OMEGAS
@pytest.mark.parametrize("seed", range(3))
def test_classes_are_those_of_the_text(seed, omega):
    X, y = table(seed)
    signs = np.where(y > 20.0, 1.0, -1.0)
    f, d = twin(X, signs, True, omega)
    raw = printed(hc.HGBMClassifier, X, signs, omega).model_.raw(X.astype(np.float32))
    assert_allclose(raw.f[:, 0], f, rtol=0, atol=1e-8 * np.abs(f).max())
    assert_allclose(raw.d, d, rtol=0, atol=1e-8 * np.abs(d).max())


@pytest.mark.parametrize("make", [hc.HGBMRegressor, hc.HGBMClassifier])
def test_only_a_penalty_of_leaves_keeps_the_deviation_one_number_for_all(make):
    X, y = table(5)
    y = y if make is hc.HGBMRegressor else (y > 20.0)
    spread = {omega: np.ptp(printed(make, X, y, omega).model_.raw(X.astype(np.float32)).d) for omega in
              ("leaves", "rows", "log")}  # fmt: skip
    assert spread["leaves"] == 0.0 and spread["rows"] > 0.05 and spread["log"] > 0.05


def test_the_default_omega_is_that_of_21_as_printed_and_of_rows_elsewhere():
    X, y = table(6)
    for as_printed, omega in ((True, "leaves"), (False, "rows")):
        given = {"link": "sigmoid", "n_iterations": 5, "as_printed": as_printed}
        one, other = (hc.HGBMRegressor(**given, omega=each).fit(X, y).predict(X, True) for each in (None, omega))
        assert_allclose(one, other, rtol=0, atol=0)
    with pytest.raises(hc.ParameterError, match="omega='trees' must be one of 'leaves'"):
        hc.HGBMRegressor(omega="trees").fit(X, y)
