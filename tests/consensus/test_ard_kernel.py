"""The kernel whose columns have length scales of their own: what they find, what they must not see, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.consensus.ard_kernel import MOST_LANDMARKS, ArdKernelLearner, ArdPrediction, relevance
from hetcore.consensus.kernel_ridge import distances
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.table_views import ARD
from hetcore.consensus.view_learners import BoostRule, ViewContent
from hetcore.consensus.views import MOST_ARD
from hetcore.errors import ModelFileError
from hetcore.model_files import dumps
from hetcore.trees import TreeParams

N, FOLDS = 140, 5


def _learner(X, y, *, lambda0=0.0, n_labelled=100, pulled=(), seed=0):
    """Return a learner of rows X (n, d), of which the first have labels y, in folds."""
    fold = np.where(np.arange(len(X)) < n_labelled, np.arange(len(X)) % FOLDS, -1)
    trees = {"learning_rate": 0.1, "limits": TreeParams(5, -1, 5, 1e-3, 1.0), "subsample": 1.0, "column_sample": 1.0}
    rule = BoostRule(Outputs(False, np.zeros(1)), FOLDS, lambda0=lambda0, **trees)
    given = {"learner": ARD, "seed": seed, "rule": rule, "pulled": np.asarray(pulled, np.int64)}
    content = ViewContent(X, y[:, None], fold, **given)
    return ArdKernelLearner(np.arange(len(X)), fold >= 0, content)


def _columns(d, n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_columns_that_say_nothing_are_short():
    X = _columns(12)
    y = np.sin(2 * X[:, 3]) + X[:, 7] * X[:, 3]
    scales = relevance(X, y)
    used = [3, 7]
    assert scales[used].min() > 3 * np.delete(scales, used).max()
    # the unit of the targets is no matter, and no scale of X's columns is but that of the whole
    assert_allclose(relevance(X, 100.0 * y), scales, rtol=1e-6)
    assert_allclose(relevance(3.0 * X, y), scales / 3.0, rtol=1e-6)


@pytest.mark.parametrize("X, y", [
    (np.ones((9, 3)), np.arange(9.0)), (_columns(3, 9), np.zeros(9)), (_columns(3, 2), np.arange(2.0)),
    (np.repeat(_columns(3, 5), 4, axis=0), np.arange(20.0)), (_columns(3, 1), np.ones(1)),
])  # fmt: skip
def test_scales_are_finite_of_rows_that_are_the_same_and_of_a_constant(X, y):
    scales = relevance(X, y)
    assert scales.shape == (3,) and np.isfinite(scales).all() and (scales >= 0).all()


def test_distances_are_those_of_pairs_and_of_a_row_to_itself_none():
    X, other = _columns(4, 30), _columns(4, 20, seed=1)
    assert_allclose(distances(X, other), np.linalg.norm(X[:, None] - other, axis=2), rtol=1e-9)
    assert not np.diag(distances(0.7 * X, 0.7 * X)).any()


def test_a_rounding_of_the_labels_is_no_more_in_the_scores():
    X = _columns(6)
    y = np.sin(X[:, 0]) + X[:, 1]
    found = []
    for labels in (y, y * (1.0 + 1e-15)):
        learner = _learner(X, labels)
        for t in range(4):
            learner.advance(t)
        found.append(learner.members())
    assert_allclose(*found, rtol=1e-9, atol=1e-11)


def test_one_column_of_twenty_is_learned_where_a_kernel_of_all_sees_nothing():
    X = _columns(20, 200)
    y = np.sin(2 * X[:, 4])
    learner = _learner(X, y, n_labelled=160)
    losses = [learner.advance(t).loss for t in range(20)]
    assert min(losses) < 0.35 * 0.5 * np.mean(y[:160] ** 2)


def test_of_labels_by_chance_the_left_out_loss_promises_nothing():
    found = []
    for seed in range(12):
        y = np.random.default_rng(100 + seed).normal(size=N)
        found.append(_learner(_columns(10, seed=seed), y).advance(0).loss / (0.5 * np.mean(y[:100] ** 2)))
    assert np.mean(found) > 0.99


def test_a_label_is_not_seen_by_the_member_that_is_scored_on_it():
    X, rng = _columns(6), np.random.default_rng(3)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)
    other = y.copy()
    own = np.arange(100) % FOLDS == 2
    other[:100][own] = rng.normal(size=own.sum())
    before, after = (_learner(X, each) for each in (y, other))
    for t in range(3):
        before.advance(t), after.advance(t)
    assert_array_equal(before.members()[2], after.members()[2])
    assert np.abs(before.members()[1] - after.members()[1]).max() > 1e-3


def test_it_is_pulled_from_the_second_round_on():
    X = _columns(6)
    pulled = np.arange(110, 130)
    learner, free = (_learner(X, X[:, 0], lambda0=each, pulled=pulled) for each in (3.0, 0.0))
    to = np.full((FOLDS, pulled.size, 1), 0.9)
    moved = []
    for each, pull in ((learner, to), (free, None)):
        for t in range(8):
            each.advance(t, pull if t else None)
        moved.append(each.scores[100:].mean())
    assert moved[0] - moved[1] > 0.2


def test_a_fit_with_it_is_predicted_as_it_was_and_from_a_file():
    X = _columns(6, 90)
    y = np.sin(2 * X[:, 0]) + X[:, 3]
    data = hc.HetData({"one": hc.Source(range(90), X[:, :3]), "two": hc.Source(range(60), X[:60, 3:])})
    labels = [*y[:70], *[None] * 20]
    model = hc.GBCRegressor(n_iterations=12, n_repeats=1, random_state=0).fit(data, labels)
    assert "joined (ARD kernel)" in model.view_weights_
    assert_array_equal(hc.load(dumps(model)).predict(data), model.predict(data))
    # rows of their own say what they said in the fit
    same = hc.HetData({"one": hc.Source(range(40), X[:40, :3]), "two": hc.Source(range(40), X[:40, 3:])})
    assert_allclose(*(sum(model.model_.contributions(each))[:40] for each in (data, same)), rtol=1e-6, atol=1e-9)


def test_landmarks_are_some_of_many_labelled_rows_and_the_same_for_a_seed():
    X = _columns(4, MOST_LANDMARKS + 120)
    made = [_learner(X, X[:, 0], n_labelled=MOST_LANDMARKS + 60, seed=seed) for seed in (0, 0, 1)]
    assert [len(each.landmarks) for each in made] == [MOST_LANDMARKS] * 3
    assert_array_equal(made[0].landmarks, made[1].landmarks)
    assert not np.array_equal(made[0].landmarks, made[2].landmarks)


def test_it_looks_where_labels_are_few_and_tables_are_joined():
    X = _columns(3, MOST_ARD + 10)
    data = hc.HetData({"one": hc.Source(range(len(X)), X)})
    few, many = (np.where(np.arange(len(X)) < n, X[:, 0], np.nan) for n in (50, MOST_ARD + 1))
    has = []
    for y, params in ((few, {}), (many, {}), (few, {"join_tables": False}), (few, {"base_learner": "tree"})):
        model = hc.GBCRegressor(n_iterations=1, n_repeats=1, random_state=0, **params).fit(data, y)
        has.append(any(ARD in name for name in model.view_weights_))
    assert has == [True, False, False, False]
    classes = hc.GBCClassifier(n_iterations=1, n_repeats=1).fit(data, [*["a", "b"] * 20, *[None] * (len(X) - 40)])
    assert not any(ARD in name for name in classes.view_weights_)


@pytest.mark.parametrize("change", [
    {"scales": np.ones((2, 4))}, {"dual": np.ones((4, 2))}, {"landmarks": np.full((3, 2), np.nan)},
    {"scales": -np.ones((2, 2))},
])  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(change):
    arrays = {"landmarks": np.ones((3, 2)), "scales": np.ones((2, 2)), "dual": np.ones((3, 2))}
    assert ArdPrediction(arrays).predict(np.ones((5, 2))).shape == (5, 2)
    with pytest.raises(ModelFileError):
        ArdPrediction(arrays | change)
