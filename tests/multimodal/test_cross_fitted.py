"""Vectors of rows by leaves that have not learned from them: CatBoost's values, and no word of a row's own label."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from catboost import CatBoostClassifier
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.errors import ParameterError
from hetcore.multimodal.boosted_vectors import L2, LEARNING_RATE
from hetcore.multimodal.cross_fitted import CrossFitted, newton_values
from hetcore.multimodal.oblivious_trees import ObliviousTrees
from tests.multimodal.two_modalities import halves

RATES = (LEARNING_RATE, L2)
FAST = {"network": "scikit-learn", "n_stages": 10, "hidden": (8,)}


def grown(K, n=200):
    rng = np.random.default_rng(K)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) + (K - 1) / 2), 0, K - 1).astype(np.int64)
    model = CatBoostClassifier(
        iterations=12, depth=3, learning_rate=LEARNING_RATE, l2_leaf_reg=L2, loss_function="MultiClass", random_seed=0,
        thread_count=1, verbose=False, allow_writing_files=False,
    ).fit(X, y)  # fmt: skip
    return ObliviousTrees.of(model), X, y


@pytest.mark.parametrize("K", [2, 4])
def test_a_half_that_is_all_rows_gets_the_values_of_catboost(K):
    trees, X, y = grown(K)
    leaves = trees.leaves(X)
    values = newton_values(leaves, np.zeros(200, np.int64), y, trees.values.shape[1:], RATES)
    for leaf, found, expected in zip(leaves, values, trees.values):
        assert_allclose(found[0][leaf], expected[leaf], atol=1e-6)
    assert not values[:, 1].any()


def test_halves_are_boosted_apart():
    trees, X, y = grown(3)
    fitted = CrossFitted.of(trees, X, y, RATES, (2, 0))
    for half, values in zip(fitted.half, fitted.values):
        for h in (0, 1):
            own = half == h
            alone = newton_values(
                fitted.leaves[:, own], np.zeros(own.sum(), np.int64), y[own], trees.values.shape[1:], RATES
            )
            assert_allclose(values[:, h], alone[:, 0], atol=1e-6)


def test_labels_of_a_row_and_its_half_have_no_part_in_its_vector():
    trees, X, y = grown(3)
    fitted = CrossFitted.of(trees, X, y, RATES, (1, 0))
    own, changed = fitted.half[0] == 0, y.copy()
    changed[own] = (changed[own] + 1) % 3
    values = newton_values(fitted.leaves, fitted.half[0], changed, trees.values.shape[1:], RATES)
    again = CrossFitted(fitted.leaves, fitted.half, values[None], fitted.single)
    assert_array_equal(again.vectors(0)[own], fitted.vectors(0)[own])
    assert np.abs(again.vectors(0)[~own] - fitted.vectors(0)[~own]).max() > 1e-3


def test_dealings_take_turns_class_by_class_and_repeat():
    trees, X, y = grown(4)
    fitted, other = (CrossFitted.of(trees, X, y, RATES, (3, 7)) for _ in range(2))
    assert_array_equal(fitted.values, other.values)
    assert_array_equal(fitted.vectors(4), fitted.vectors(1))
    assert np.abs(fitted.vectors(0) - fitted.vectors(1)).max() > 1e-3
    for half in fitted.half:
        counts = np.array([np.bincount(half[y == c], minlength=2) for c in range(4)])
        assert np.abs(counts[:, 0] - counts[:, 1]).max() <= 1


def test_the_only_row_of_a_class_has_the_values_of_its_own_half():
    trees, X, y = grown(3)
    y = np.where(y == 2, 1, y)
    y[5] = 2
    fitted = CrossFitted.of(trees, X, y, RATES, (1, 0))
    vector = fitted.vectors(0).reshape(200, 12, 3)
    assert fitted.single.nonzero()[0].tolist() == [5] and vector[5, :, 2].sum() > vector[6, :, 2].sum()
    own = fitted.half[0][5]
    assert_array_equal(vector[5], fitted.values[0][np.arange(12), own, fitted.leaves[:, 5]])


def test_of_labels_of_chance_a_network_is_less_sure():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"id": [f"i{k}" for k in range(400)]} | {f"c{j}": rng.normal(size=400) for j in range(6)})
    y = rng.integers(2, size=400).astype(str).astype(object)
    data, hidden = hc.HetData({"table": frame}, target=(frame["id"].to_list(), y.tolist())), np.arange(400) >= 100

    def loss(n_cross_fits):
        model = hc.BoostedFeatureNetworkClassifier(n_cross_fits=n_cross_fits, network="scikit-learn")
        p = model.fit(data, np.where(hidden, None, y)).predict_proba(data)
        return -np.log(p[np.arange(400), (y == "1").astype(int)])[hidden].mean()

    assert loss(5) < 0.8 * loss(0)


def test_events_tell_what_the_model_says_of_labelled_rows():
    data, y, _ = halves()
    model = hc.BoostedFeatureNetworkClassifier(n_iterations=3, **FAST).fit(data, y)
    known = np.array([label is not None for label in y])
    wrong = (model.predict(data) != y)[known].mean()
    assert model.history_["metric:train"][-1] == pytest.approx(wrong)


def test_a_table_that_lacks_rows_and_a_count_below_0():
    data, y, _ = halves(missing=0.3)
    model = hc.BoostedFeatureNetworkClassifier(n_iterations=2, **FAST).fit(data, y)
    assert np.isfinite(model.predict_proba(data)).all()
    with pytest.raises(ParameterError, match="n_cross_fits=-1 must be a whole number, at least 0"):
        hc.BoostedFeatureNetworkClassifier(n_cross_fits=-1, **FAST).fit(data, y)
