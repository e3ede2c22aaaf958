"""Labels that leave little to learn, or are far out: a finite answer or one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import hetcore as hc

X = np.random.default_rng(0).normal(size=(40, 2))
ARMS = pytest.mark.parametrize("given", [{}, {"folds": 1}, {"as_printed": True}], ids=["default", "one", "printed"])
NUMBERS = {
    "constant": (X, np.full(40, 3.0)),
    "one row": (X[:1], X[:1, 0]),
    "two rows": (X[:2], X[:2, 0]),
    "one far out": (X, np.r_[1e12, X[1:, 0]]),
}


@pytest.mark.parametrize("tail", [None, 3.0])
@ARMS
@pytest.mark.parametrize("labels", NUMBERS)
def test_numbers_and_intervals_are_finite(labels, given, tail):
    given = given | {"tail": tail}
    model = hc.HGBMRegressor(n_iterations=10, **given).fit(*NUMBERS[labels])
    assert np.isfinite([*model.predict(X, return_std=True), *model.predict_interval(X)]).all()


@ARMS
def test_infinite_labels_are_refused_in_a_sentence(given):
    with pytest.raises(ValueError, match="infinity"):
        hc.HGBMRegressor(n_iterations=10, **given).fit(X, np.r_[np.inf, X[1:, 0]])


@pytest.mark.parametrize("n", [1, 40])
def test_a_single_class_is_refused_in_a_sentence(n):
    with pytest.raises(hc.DataError, match="The labels hold one class"):
        hc.HGBMClassifier(n_iterations=10).fit(X[:n], np.zeros(n))


@pytest.mark.parametrize("make", [hc.HMF, hc.MatrixFactorization])
@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("values", [[3.0] * 4, [1.0, 2.0, 3.0, 1e9]])
def test_factorizations_of_few_or_far_ratings_stay_finite_for_unseen_users_too(make, printed, values):
    codes = [["a", "x"], ["b", "x"], ["a", "y"], ["b", "z"]]
    model = make(n_iterations=10, validation_fraction=0, random_state=0, as_printed=printed)
    for n in (1, 4):
        fitted = model.fit(codes[:n], values[:n]).predict([["new", "x"], ["a", "new"], ["new", "new"], *codes], True)
        assert np.isfinite(fitted).all()
