"""The default: learners by left-out rows, an end by validation rows, the weights of the modalities, missing ones."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.metrics import macro_f1
from hetcore.multimodal.choosing import candidates
from hetcore.multimodal.decisions import class_weights, named
from hetcore.multimodal.networks import PENALTIES, LinearLearner, RandomFeatureLearner
from hetcore.multimodal.stopping import LeftOut, Stopping, drawn_by_class, falls, log_loss, part_weights

TREES = {"first": "tree", "second": "tree"}


def two_tables(n=400, seed=0, second=1.0, steep=3.0):
    """Return two tables of two columns, whose first ones decide with a logistic chance; `second` 0 makes it noise."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n, 2))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-steep * (A[:, 0] + second * B[:, 0]))), "yes", "no")
    ids = [f"r{k}" for k in range(n)]
    tables = {name: hc.Source(ids, pl.DataFrame(X, schema=["a", "b"])) for name, X in (("first", A), ("second", B))}
    return hc.HetData(tables, target=pl.DataFrame({"id": ids, "y": y}))


def split(data, share=0.5, seed=0):
    y = data.y.copy()
    hidden = np.random.default_rng(seed).random(data.n) < share
    y[hidden] = None
    return y, hidden


def test_the_linear_learner_is_the_ridge_of_the_normal_equations():
    rng = np.random.default_rng(0)
    for m, d in ((50, 4), (6, 30)):  # over columns, over rows
        X, W = rng.normal(size=(m, d)).astype(np.float32), rng.normal(size=(m, 3))
        Z, V = X - X.mean(axis=0), W - W.mean(axis=0)
        ridge = 1e-2 * float((Z.astype(float) ** 2).sum()) / d
        solved = np.linalg.solve(Z.T.astype(float) @ Z + ridge * np.eye(d), Z.T @ V)
        assert_allclose(LinearLearner().fit(X, W).predict(X), Z @ solved + W.mean(axis=0), atol=1e-4)
    weight = np.r_[np.ones(40), np.zeros(10)]
    X, W = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    kept = LinearLearner().fit(X[:40], W[:40])
    assert_allclose(LinearLearner().fit(X, W, weight).layers[0][0], kept.layers[0][0], atol=1e-5)


@pytest.mark.parametrize("d", (4, 40))  # fewer columns than rows, and more
def test_the_penalty_of_few_labels_leaves_each_row_out_in_turn(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(20, d)).astype(np.float32)
    W = X[:, :2] + rng.normal(size=(20, 2))
    # a share of the mean square of a column: rows left out have other columns, so that the sum over all is given
    share = float(((X - X.mean(axis=0)).astype(float) ** 2).sum()) / d

    def error(l2):
        wrong = 0.0
        for i in range(20):
            kept = np.arange(20) != i
            centre, mean = X[kept].mean(axis=0), W[kept].mean(axis=0)
            Z = (X[kept] - centre).astype(float)
            solved = np.linalg.solve(Z.T @ Z + l2 * share * np.eye(d), Z.T @ (W[kept] - mean))
            wrong += ((W[i] - mean - (X[i] - centre) @ solved) ** 2).sum()
        return wrong

    learner = LinearLearner()
    learner.tune(X, W)
    assert learner.l2 == min(PENALTIES, key=error)


def test_random_features_see_what_no_line_tells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    W = (X**2).sum(axis=1, keepdims=True)
    learner = RandomFeatureLearner()
    learner.tune(X[:200], W[:200])
    predicted = learner.fit(X[:200], W[:200]).predict(X[200:])
    line = LinearLearner().fit(X[:200], W[:200]).predict(X[200:])
    assert ((predicted - W[200:]) ** 2).mean() < 0.2 * ((line - W[200:]) ** 2).mean()


@pytest.mark.slow
def test_few_labels_are_all_learned_from():
    wrong = {True: 0.0, False: 0.0}
    for seed in range(3):
        data = two_tables(n=400, seed=seed)
        for refit in wrong:
            model = hc.TwoWeakLearnerClassifier(learners=TREES, refit=refit, random_state=seed).fit(data)
            rows = model.validation_rows_
            wrong[refit] += float((model.predict(data)[rows] != data.y[rows]).mean())
    assert wrong[True] < wrong[False] - 0.05


def test_of_hundred_labels_several_draws_end_the_training():
    data = two_tables(n=100)
    model = hc.TwoWeakLearnerClassifier(learners=TREES).fit(data)
    wrong = model.history_["metric:validation"].to_numpy() * 3 * len(model.validation_rows_)
    assert_allclose(wrong, wrong.round(), atol=1e-9)
    assert (np.abs(wrong / 3 - (wrong / 3).round()) > 0.1).any()  # of three draws, not of one


def test_above_a_thousand_labels_nothing_is_fitted_twice():
    data = two_tables(n=1_100)
    how = {"learners": {"first": "tree", "second": "linear"}, "n_iterations": 5}
    one, other = (hc.TwoWeakLearnerClassifier(**how, refit=refit).fit(data) for refit in (True, False))
    assert_array_equal(one.predict_proba(data), other.predict_proba(data))
    assert one.modalities_["second"].learner.l2 == LinearLearner().l2


@pytest.mark.slow
def test_each_modality_gets_the_learner_that_left_out_rows_choose():
    data = two_tables(n=300)
    model = hc.TwoWeakLearnerClassifier(n_iterations=2, epochs=2).fit(data)
    for name, source in data.sources.items():
        losses = model.comparison_[name]
        assert list(losses) == candidates(source, few=True) and model.learners_[name] == min(losses, key=losses.get)
        assert losses["linear"] < losses["tree"]  # what decides is linear
    given = hc.TwoWeakLearnerClassifier(n_iterations=2, learners={"first": "tree"}, epochs=1).fit(data)
    assert given.learners_["first"] == "tree" and list(given.comparison_) == ["second"]


def test_few_labels_compare_nothing():
    data = two_tables(n=30)
    model = hc.TwoWeakLearnerClassifier(n_iterations=2).fit(data)
    assert model.learners_ == TREES and model.part_weights_ == {"first": 1.0, "second": 1.0}
    assert model.n_iterations_ == model.kept_round_ == 2


def test_of_classes_of_one_label_each_nothing_can_be_left_out():
    data = two_tables(n=60)
    y = np.array([f"class {k}" for k in range(60)], object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hc.TwoWeakLearnerClassifier(n_iterations=1).fit(data, y)
    assert model.learners_ == TREES and np.isinf(list(model.comparison_["first"].values())).all()


def test_the_training_ends_where_the_validation_loss_stops_falling():
    data = two_tables()
    events = []
    model = hc.TwoWeakLearnerClassifier(learners=TREES, n_iter_no_change=5, learning_rate=1.0, min_samples_leaf=2)
    model.fit(data, callbacks=[events.append])
    assert model.n_iterations_ == model.kept_round_ + 5 < model.n_iterations
    assert {len(modality) for modality in model.modalities_.values()} == {model.kept_round_}
    best = hc.TwoWeakLearnerClassifier(**model.get_params() | {"n_iterations": model.kept_round_}).fit(data)
    assert_array_equal(best.predict_proba(data), model.predict_proba(data))


def test_validation_rows_are_drawn_from_each_class_and_leave_some():
    y, rng = np.r_[np.zeros(90, int), np.ones(10, int), 2, 3, 3], np.random.default_rng(0)
    rows = drawn_by_class(y, np.arange(103), 0.2, rng)
    # a fifth of two rows is none: then nothing would be said of their class
    assert_array_equal(np.bincount(y[rows], minlength=4), [18, 2, 0, 1])


def test_of_a_class_without_a_row_that_is_left_out_nothing_is_won_by_giving_it_up():
    y, stopping = np.zeros(12, int), Stopping(np.arange(12), patience=5)
    part = np.tile([1.0, -1.0], (1, 12, 1))
    # from round to round the class of all these rows gets likelier, and the one that none of them has less likely
    ended = [stopping.ended(LeftOut(t * part[0], t * part, y), {"a": range(t)}) for t in range(1, 7)]
    assert stopping.kept_round == 1 and ended == [False] * 5 + [True]
    assert part_weights(np.zeros(2), part, y) == pytest.approx([1.0])


@pytest.mark.parametrize("seed", range(3))
def test_part_weights_have_the_least_log_loss(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=200)
    parts = rng.normal(size=(2, 200, 3))
    parts[0] += 2.0 * np.eye(3)[y]  # the second part is noise
    prior = np.zeros(3)

    def value(a):
        return log_loss(np.tensordot(a, parts, 1), y) + 0.5 / 200 * ((np.asarray(a) - 1) ** 2).sum()

    found = part_weights(prior, parts, y)
    grid = min(value((a, b)) for a in np.linspace(0, 3, 61) for b in np.linspace(0, 3, 61))
    assert value(found) <= grid + 1e-8 and found[1] < 0.2 * found[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_modality_of_noise_costs_nothing(seed):
    data = two_tables(n=900, seed=seed, second=0.0)
    y, hidden = split(data)
    loss = {}
    for names in (["first"], ["first", "second"]):
        part = data.select(sources=names)
        model = hc.TwoWeakLearnerClassifier(learners=dict.fromkeys(names, "tree"), max_depth=3).fit(part, y)
        codes = np.searchsorted(model.classes_, list(data.y[hidden]))
        loss[len(names)] = -np.log(model.predict_proba(part)[hidden][np.arange(hidden.sum()), codes])
    worse = loss[2] - loss[1]
    assert worse.mean() < 2 * worse.std() / np.sqrt(worse.size) + 0.005


@pytest.mark.slow
def test_both_are_better_than_either():
    data = two_tables(n=900)
    y, hidden = split(data)
    wrong = {}
    for names in (["first"], ["second"], ["first", "second"]):
        model = hc.TwoWeakLearnerClassifier(learners=dict.fromkeys(names, "linear")).fit(data.select(sources=names), y)
        wrong["".join(names)] = float((model.predict(data) != data.y)[hidden].mean())
    assert wrong["firstsecond"] < min(wrong["first"], wrong["second"]) - 0.08


@pytest.mark.slow
def test_rows_without_a_modality_are_predicted_from_what_is_there():
    data = two_tables(n=1200, second=1.0)
    some = data.sources["second"].frame[:800]
    sources = {"first": data.sources["first"], "second": hc.Source(data.ids[:800], some)}
    holed = hc.HetData(sources, target=pl.DataFrame({"id": data.ids, "y": data.y}))
    y, hidden = split(holed)
    right = hc.TwoWeakLearnerClassifier(learners=TREES).fit(holed, y).predict(holed) == data.y
    alone = hc.OneWeakLearnerClassifier("first", learners={"first": "tree"}).fit(holed, y).predict(holed) == data.y
    lacks = hidden & (np.arange(1200) >= 800)
    assert right[hidden & ~lacks].mean() > alone[hidden & ~lacks].mean() + 0.05
    assert right[lacks].mean() > alone[lacks].mean() - 0.03 and alone[lacks].mean() > 0.65


def test_probabilities_are_those_of_unseen_rows():
    data = two_tables(n=2000)
    y, hidden = split(data)
    model = hc.TwoWeakLearnerClassifier(learners=TREES, max_depth=3).fit(data, y)
    p = model.predict_proba(data)[hidden, 1]
    happened = data.y[hidden] == model.classes_[1]
    for low in (0.0, 0.5):
        own = (p >= low) & (p < low + 0.5)
        assert abs(p[own].mean() - happened[own].mean()) < 0.06


def test_a_stop_by_a_callback_keeps_the_best_round():
    data = two_tables()
    model = hc.TwoWeakLearnerClassifier(learners=TREES)
    model.fit(data, callbacks=[lambda event: event.index == 3])
    assert model.n_iterations_ == 4 and 1 <= model.kept_round_ <= 4
    assert len(model.modalities_["first"]) == model.kept_round_


def test_class_weights_name_a_rare_class():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.1).astype(int)
    p = np.clip(0.1 + 0.25 * y + rng.normal(0, 0.05, 400), 0.01, 0.99)
    both = np.stack([1 - p, p], axis=1)
    weights = class_weights(both, y)
    assert macro_f1(y, both.argmax(axis=1)) < 0.6 and macro_f1(y, named(both, weights)) > 0.9
    assert (class_weights(np.eye(2)[y], y) == 1).all()


def test_classes_are_named_for_macro_f1_where_that_is_asked_for():
    rng, data = np.random.default_rng(1), two_tables(n=2_400)
    kept = rng.random(2_400) < 0.15
    names = np.array(["yes" if each == "yes" and rare else "no" for each, rare in zip(data.y, kept)])
    rare = hc.HetData(data.sources, target=pl.DataFrame({"id": data.ids, "y": names}))
    y, hidden = split(rare)
    how = {"learners": dict.fromkeys(rare.sources, "linear"), "n_iterations": 30}
    plain = hc.TwoWeakLearnerClassifier(**how).fit(rare, y)
    tuned = hc.TwoWeakLearnerClassifier(**how, decision_scoring="f1_macro").fit(rare, y)
    assert_array_equal(plain.predict_proba(rare), tuned.predict_proba(rare))
    assert plain.class_weights_ is None and tuned.class_weights_[0] < tuned.class_weights_[1]
    found = [macro_f1(names[hidden], model.predict(rare)[hidden]) for model in (plain, tuned)]
    assert found[1] > found[0] + 0.02
    few = hc.TwoWeakLearnerClassifier(decision_scoring="f1_macro", n_iterations=1).fit(two_tables(n=30))
    assert_array_equal(few.class_weights_, [1, 1])


def test_trees_of_few_labels_split():
    data = two_tables(n=60)
    found = {}
    for leaf, printed in ((20, False), (4, False), (20, True), (4, True)):
        how = {"learners": TREES, "n_iterations": 3, "step": "fixed", "min_samples_leaf": leaf, "as_printed": printed}
        found[leaf, printed] = hc.TwoWeakLearnerClassifier(**how).fit(data).predict_proba(data)
    assert_array_equal(found[20, False], found[4, False])  # a 15th of 60
    assert_array_equal(found[20, True], found[4, True])  # leaves of any size
    plain = hc.TwoWeakLearnerClassifier(learners=TREES, n_iterations=3, step="fixed", as_printed=True)
    assert_array_equal(found[20, True], plain.fit(data).predict_proba(data))
    assert plain._fewest(_Labels(600)) == 1
    assert hc.TwoWeakLearnerClassifier(n_iterations=1, learners=TREES)._fewest(_Labels(600)) == 20


class _Labels:
    def __init__(self, count):
        self.labelled = np.ones(count, bool)


def test_the_falls_of_parts_add_up_to_that_of_the_log_loss():
    rng = np.random.default_rng(0)
    prior, parts, y = rng.normal(size=3), 3 * rng.normal(size=(2, 40, 3)), rng.integers(3, size=40)
    found = falls(prior, parts, y)
    assert found.sum() == pytest.approx(log_loss(np.tile(prior, (40, 1)), y) - log_loss(prior + parts.sum(axis=0), y))
    alone = falls(prior, parts * np.array([1.0, 0.0])[:, None, None], y)
    assert alone == pytest.approx([log_loss(np.tile(prior, (40, 1)), y) - log_loss(prior + parts[0], y), 0.0])


def test_a_table_of_noise_has_next_to_no_weight_whatever_the_rounds_after_the_best_one_learned_of_it():
    data = two_tables(200, seed=1, second=0.0)
    y, _ = split(data)
    events = []
    model = hc.TwoWeakLearnerClassifier(learners=TREES).fit(data, y, callbacks=[events.append])
    assert model.kept_round_ < model.n_iterations_ and events[-1].source_weights["second"] > 0.1
    assert model.source_weights_["second"] < 0.05
