"""2WL and 2WL2O: planted halves, reductions, missing modalities, what an event tells."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import hetcore as hc
from hetcore.errors import DataError, ParameterError
from hetcore.multimodal.line_search import RiskAlongStep, held_back, newton_step
from tests.multimodal.two_modalities import FAST, Constant, halves, with_second


def error(model, data, y):
    hidden = np.array([label is None for label in y])
    return float((model.predict(data) != data.y)[hidden].mean())


@pytest.mark.slow
def test_both_modalities_beat_either_alone_by_a_wide_margin():
    data, y, _ = halves(1500)
    params, learners = {"n_iterations": 10, "epochs": 10, "min_samples_leaf": 5}, {"table": "tree", "image": "network"}
    both = error(hc.TwoWeakLearnerClassifier(**params, learners=learners).fit(data, y), data, y)
    for source in data.sources:
        one = hc.OneWeakLearnerClassifier(source, **params, learners={source: learners[source]})
        alone = error(one.fit(data, y), data, y)
        assert both < 0.25 and alone > 0.4 and alone > both + 0.2


@pytest.mark.slow
def test_a_sum_of_modalities_cannot_tell_whether_the_halves_differ():
    data, y, _ = halves(1000, rule="xor")
    model = hc.TwoWeakLearnerClassifier(n_iterations=6, epochs=5).fit(data, y)
    assert error(model, data, y) > 0.4


@pytest.mark.parametrize("order, hessian", [(1, "printed"), (2, "printed"), (2, "exact")])
@pytest.mark.parametrize("silent", ["table", "image"])
def test_one_learner_silenced_equals_the_other_alone(order, hessian, silent):
    data, y, _ = halves()
    params = FAST | {"order": order, "hessian": hessian}
    spoken = next(name for name in data.sources if name != silent)
    both = hc.TwoWeakLearnerClassifier(**params, learners={silent: Constant()}).fit(data, y)
    alone = hc.OneWeakLearnerClassifier(spoken, **params).fit(data, y)
    if order == 2 and hessian == "printed":  # the printed target holds both steps, so the two differ in size alone
        assert (both.predict(data) == alone.predict(data)).mean() > 0.9
    else:
        assert_allclose(both.predict_proba(data), alone.predict_proba(data), atol=1e-6)
    assert both.source_weights_[silent] == 0.0 and alone.source_weights_ == {spoken: 1.0}


@pytest.mark.parametrize("order, hessian", [(1, "printed"), (2, "printed"), (2, "exact")])
def test_whole_newton_steps_never_raise_the_training_risk(order, hessian):
    data, y, _ = halves()
    params = FAST | {"order": order, "hessian": hessian, "learning_rate": 1.0, "subsample": 1.0}
    risks = hc.TwoWeakLearnerClassifier(**params).fit(data, y).history_["loss:train"].to_numpy()
    assert (np.diff(risks) <= 1e-9).all() and risks[-1] < 0.8 * risks[0]


def test_newton_is_not_above_bayes_after_the_first_round():
    data, y, _ = halves()
    # learners that are given are not compared, which would search for the steps of 120 rounds more
    learners = {"table": "tree", "image": "network"}
    whole = FAST | {"n_iterations": 1, "learning_rate": 1.0, "subsample": 1.0, "learners": learners}
    risk = {s: hc.TwoWeakLearnerClassifier(step=s, **whole).fit(data, y).history_["loss:train"][0] for s in
            ("newton", "bayes", "grid", "fixed")}  # fmt: skip
    assert risk["newton"] <= min(risk.values()) + 1e-12


def test_an_event_tells_losses_steps_seconds_and_each_source_alone():
    data, y, _ = halves()
    events = []
    model = hc.TwoWeakLearnerClassifier(**FAST).fit(data, y, eval_y=data.y, callbacks=[events.append])
    assert [event.index for event in events] == [0, 1, 2, 3]
    last = events[-1]
    assert set(last.losses) == {"train", "left_out", "held_out"} and last.detail["metric_name"] == "error"
    for key in ("steps", "moved", "seconds", "per_source"):
        assert set(last.detail[key]) == {"table", "image"}
    assert set(last.detail["F1"]) == {"train", "held_out"} == set(last.detail["metric"])
    assert last.detail["metric"]["held_out"] == pytest.approx(error(model, data, y))
    assert sum(last.source_weights.values()) == pytest.approx(1.0)
    assert last.source_weights == model.source_weights_
    assert {"step:table", "per_source:image", "metric:held_out"} <= set(model.history_.columns)


@pytest.mark.slow
def test_a_callback_stops_a_fit_that_stays_a_valid_model():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST).fit(data, y, callbacks=[lambda event: event.index == 1])
    assert model.n_iterations_ == 2
    again = hc.TwoWeakLearnerClassifier(**(FAST | {"n_iterations": 2})).fit(data, y)
    assert_array_equal(model.predict_proba(data), again.predict_proba(data))


@pytest.mark.parametrize("order, hessian", [(1, "printed"), (2, "printed"), (2, "exact")])
def test_a_round_may_draw_no_row_of_a_table(order, hessian):
    rng, ids = np.random.default_rng(0), np.array([f"r{k}" for k in range(80)])
    tables = {
        name: pl.DataFrame({"id": ids[rows], "x": rng.normal(size=40), "z": rng.normal(size=40)})
        for name, rows in (("near", slice(40)), ("far", slice(40, 80)))
    }
    up = pl.concat(tables.values())["x"].to_numpy() > 0
    target = pl.DataFrame({"id": ids[:41], "y": np.where(up, "up", "down")[:41]})
    data = hc.HetData(tables, target=target, id_column="id")
    model = hc.TwoWeakLearnerClassifier(**FAST, subsample=0.5, order=order, hessian=hessian).fit(data)
    assert np.isfinite(model.parts(data)).all()
    assert (model.predict(data)[:40] == data.y[:40]).mean() > 0.9


def test_missing_records_and_absent_sources_add_nothing():
    data, y, _ = halves(missing=0.3)
    model = hc.TwoWeakLearnerClassifier(**FAST).fit(data, y)
    parts = model.parts(data)
    lacks = ~data.mask[1]
    assert lacks.sum() == 90 and (parts[lacks, 1] == 0).all() and (parts[~lacks, 1] != 0).any()
    blank = data.select(sources=["table"])
    assert (model.parts(blank)[:, 1] == 0).all()
    assert_allclose(model.decision_function(blank), model.prior_ + parts[:, 0])
    assert_array_equal(model.predict(blank)[lacks], model.predict(data)[lacks])


def test_contributions_are_those_of_the_predicted_class():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST).fit(data, y)
    every = model.contributions(data, per_class=True)
    assert_allclose(model.prior_ + every.sum(axis=1), model.decision_function(data))
    best = model.decision_function(data).argmax(axis=1)
    wanted = [each[:, k] - each.mean(axis=1) for each, k in zip(every, best)]
    assert_allclose(model.contributions(data), wanted)


def test_any_number_of_modalities_and_any_learner():
    data, y, truth = halves()
    extra = np.random.default_rng(0).normal(size=(data.n, 2)) + 3 * truth.table[:, None]
    three = with_second(data, "more", extra)
    model = hc.TwoWeakLearnerClassifier(**FAST, learners={"more": LinearRegression()}).fit(three, y)
    assert list(model.source_weights_) == ["table", "image", "more"] and model.source_weights_["more"] > 0.2


@pytest.mark.slow
def test_a_fit_repeats_bit_for_bit_and_clones():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST, order=2)
    one, other = (clone(model).fit(data, y).predict_proba(data) for _ in range(2))
    assert_array_equal(one, other)


def test_the_prior_is_where_the_scores_start():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST, learners=dict.fromkeys(data.sources, Constant())).fit(data, y)
    known = [label for label in y if label is not None]
    shares = np.array([known.count(name) for name in model.classes_]) / len(known)
    assert_allclose(model.predict_proba(data)[0], shares, atol=0.01)


@pytest.mark.parametrize("params, words", [
    ({"order": 3}, "order=3 must be 1"),
    ({"step": "line"}, "step='line' must be one of 'newton'"),
    ({"subsample": 0}, "subsample=0 must be in"),
    ({"learners": {"sound": "tree"}}, "names the source 'sound'"),
    ({"learners": {"image": "forest"}}, "must be one of tree, linear, network, random_features, cnn"),
    ({"learners": {"image": object()}}, "lacks fit"),
    ({"hidden": ()}, r"hidden=\(\) must be whole numbers"),
])  # fmt: skip
def test_wrong_parameters_are_named(params, words):
    data, y, _ = halves()
    with pytest.raises(ParameterError, match=words):
        hc.TwoWeakLearnerClassifier(**(FAST | params)).fit(data, y)


def test_wrong_data_are_named():
    data, y, _ = halves()
    with pytest.raises(ParameterError, match="source='sound' is no source"):
        hc.OneWeakLearnerClassifier("sound").fit(data, y)
    model = hc.TwoWeakLearnerClassifier(**FAST).fit(data, y)
    with pytest.raises(DataError, match="takes a HetData"):
        model.predict(np.zeros((3, 2)))
    holed, _, _ = halves(missing=0.3)
    with pytest.raises(DataError, match="No labelled instance is in the source 'image'"):
        hc.TwoWeakLearnerClassifier(**FAST).fit(holed, np.where(holed.mask[1], None, holed.y))


def test_text_is_a_modality_with_a_network():
    data, y, truth = halves()
    words = np.where(truth.image == 1, "a bar that stands tall", "a bar that lies flat")
    notes = pl.DataFrame({"note": [f"{word} number {i % 7}" for i, word in enumerate(words)]})
    sources = {"table": data.sources["table"], "note": hc.Source(data.ids, notes, {"note": "text"})}
    both = hc.HetData(sources, target=pl.DataFrame({"id": data.ids, "y": data.y}))
    learners = {"table": "tree", "note": "network"}
    model = hc.TwoWeakLearnerClassifier(n_iterations=10, epochs=10, min_samples_leaf=5, learners=learners).fit(both, y)
    assert model.modalities_["note"].kind == "network" and error(model, both, y) < 0.25
    assert model.source_weights_["note"] > 0.3


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("labels", [20, 40, 100])
def test_few_labels_that_learners_tell_apart_do_not_run_away(order, labels):
    rng = np.random.default_rng(1)
    x, ids = rng.normal(size=(300, 4)), [f"i{k}" for k in range(300)]
    y = np.where(x[:, 0] + x[:, 2] > 0, "a", "b").astype(object)
    parts = {name: pl.DataFrame({"id": ids, "p": x[:, k], "q": x[:, k + 1]}) for k, name in ((0, "one"), (2, "two"))}
    data = hc.HetData(parts, target=(ids[:labels], y[:labels]))
    model = hc.TwoWeakLearnerClassifier(order=order, learners={"one": "linear", "two": "linear"}, n_iterations=60)
    wrong = 1.0 - model.fit(data).predict_proba(data)[np.arange(300), (y == "b").astype(int)]
    assert model.history_["loss:train"].max() <= 1.0 + 1e-9
    assert (wrong[labels:] > 0.5).mean() < 0.25 and np.log1p(-wrong[labels:]).mean() > -1.0


def test_four_labels_of_which_no_row_is_left_out_do_not_run_away_either():
    """Four fifths of four rows are all of them, and scores went to 10,000."""
    x, ids = np.random.default_rng(1).normal(size=(20, 2)), [f"i{k}" for k in range(20)]
    parts = {name: pl.DataFrame({"id": ids, "p": x[:, k]}) for k, name in enumerate(("one", "two"))}
    data = hc.HetData(parts, target=(ids[:4], ["a", "b", "b", "b"]))
    model = hc.TwoWeakLearnerClassifier(n_iterations=60).fit(data)
    assert np.abs(model.decision_function(data)).max() < 20.0


def test_steps_are_held_back_where_left_out_rows_ask_for_any_length():
    rng = np.random.default_rng(0)
    y, moves = np.zeros(40, int), np.zeros((1, 40, 2))
    # all are told apart, and one hardly
    moves[0, 1:] = rng.uniform(0.5, 1.0, (39, 1)) * [1.0, -1.0]
    moves[0, 0] = [1e-3, -1e-3]
    own = RiskAlongStep(np.zeros((40, 2)), moves, y)
    steps = newton_step(own, rng)
    held = held_back(own, steps)
    assert (steps @ own.slopes).mean() < -100.0 and -30.0 <= (held @ own.slopes).mean() < -15.0
    # a row that none of these speaks for
    moves[0, 0] = [-1.0, 1.0]
    known = RiskAlongStep(np.zeros((40, 2)), moves, y)
    assert known.value(steps) > 100.0 and known.value(held_back(known, steps)) <= known.value(np.zeros(1)) + 1.0


def test_many_labels_that_learners_tell_apart_do_not_run_away_either():
    """Rows near the line had a probability of exactly 0: a log loss of 2.07 with three in a thousand wrong."""
    x, ids = np.random.default_rng(1501).normal(size=(2_500, 3)), [f"r{k}" for k in range(2_500)]
    y = np.where(x[:, 0] > 0, "a", "b")
    table = pl.DataFrame({"id": ids, "p": x[:, 0], "q": x[:, 1], "r": x[:, 2]})
    parts = {"one": table["id", "p"], "two": table["id", "q", "r"]}
    data = hc.HetData(parts, target=(ids[:1_500], y[:1_500]))
    right = hc.TwoWeakLearnerClassifier().fit(data).predict_proba(data)[np.arange(2_500), (y == "b").astype(int)]
    assert -np.log(np.maximum(right[1_500:], 1e-300)).mean() < 0.05
