"""Trees of classes are as large, and see as much, as left-out rows like them."""

import numpy as np
import pytest

import hetcore as hc
from hetcore.heteroscedastic import tree_size

FEW = {"n_iterations": 15, "random_state": 0}


def checkered(n):
    """Return columns and classes of a board of 4 by 4 fields, which no small tree tells."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 4, (n, 3))
    y = (X[:, 0].astype(int) + X[:, 1].astype(int)) % 2
    return X, y


def test_many_rows_that_small_trees_do_not_tell_have_large_ones():
    X, y = checkered(1500)
    auto = hc.HGBMClassifier(**FEW).fit(X, y)
    assert auto.max_leaf_nodes_ >= 16
    given = {"max_leaf_nodes": auto.max_leaf_nodes_, "subsample": 0.8, "column_sample": 0.7}
    same = hc.HGBMClassifier(**FEW, **given).fit(X, y)
    np.testing.assert_array_equal(auto.predict_proba(X), same.predict_proba(X))
    later, truth = X[::-1] + 1e-3, y[::-1]
    small = hc.HGBMClassifier(**FEW, max_leaf_nodes=4).fit(X, y)
    assert auto.score(later, truth) > small.score(later, truth) + 0.1


def test_what_was_chosen_is_in_each_round_and_in_the_model_file(tmp_path):
    X, y = checkered(1100)
    events = []
    model = hc.HGBMClassifier(**FEW).fit(X, y, callbacks=[events.append])
    assert {each.detail["choices"]["max_leaf_nodes"] for each in events} == {model.max_leaf_nodes_}
    hc.save(model, tmp_path / "model.hetcore")
    again = hc.load(tmp_path / "model.hetcore")
    assert again.max_leaf_nodes_ == model.max_leaf_nodes_ and again.max_leaf_nodes == "auto"


@pytest.mark.parametrize("given", [{"folds": 1}, {"as_printed": True}])
def test_where_nothing_is_left_out_trees_are_small(given):
    X, y = checkered(1200)
    model = hc.HGBMClassifier(n_iterations=2, random_state=0, **given).fit(X, y)
    assert model.max_leaf_nodes_ == 4


@pytest.mark.parametrize(("flipped", "seen"), [(0.0, tree_size.MANY), (0.4, tree_size.FEW)])
def test_trees_of_few_rows_see_more_only_where_left_out_rows_say_so_beyond_their_error(flipped, seen):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 8))
    y = np.digitize(X[:, :6].sum(axis=1), [-2, 0, 2])
    other = rng.random(400) < flipped
    y[other] = rng.integers(0, 4, other.sum())
    auto = hc.HGBMClassifier(random_state=0).fit(X, y)
    same = hc.HGBMClassifier(random_state=0, **{"max_leaf_nodes": 4} | seen).fit(X, y)
    np.testing.assert_array_equal(auto.predict_proba(X), same.predict_proba(X))


def test_what_one_column_tells_with_noise_has_small_trees():
    X, _ = checkered(1200)
    y = (X[:, 0] + np.random.default_rng(1).logistic(size=len(X)) > 2).astype(int)
    assert hc.HGBMClassifier(**FEW).fit(X, y).max_leaf_nodes_ == 4


def test_leaves_are_compared_on_some_rows_of_every_class(monkeypatch):
    monkeypatch.setattr(tree_size, "ENOUGH", 300)
    X, y = checkered(2000)
    y[7] = 2  # of a class of one row
    seen = []
    whole = tree_size._left_out_losses
    monkeypatch.setattr(tree_size, "_left_out_losses", lambda few, *rest: seen.append(few) or whole(few, *rest))
    hc.HGBMClassifier(**FEW).fit(X, y)
    assert {each.weights.size for each in seen} <= {300, 301}
    assert all(set(each.base.codes.tolist()) == {0, 1, 2} for each in seen)
    assert all(abs(each.weights.mean() - 1.0) < 1e-12 for each in seen)
