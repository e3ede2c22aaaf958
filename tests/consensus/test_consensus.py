"""Gradient Boosting Consensus, default and as printed: the contract that every fit keeps."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore.errors import DataError, ParameterError, UnscoredLabelsWarning

TASKS = {"regression": hc.GBCRegressor, "classification": hc.GBCClassifier}
KINDS = [(task, printed) for task in TASKS for printed in (False, True)]
ROUNDS = 7


def planted(task, seed=0, **changes):
    """Return small planted data and all their true labels."""
    data, truth = _made(task=task, seed=seed, **changes)
    return data, truth.y.copy()


@cache
def _made(**changes):
    """Make data once, as nothing changes them: that takes a third of a fit's time."""
    values = dict(
        n=100, n_sources=2, n_noise_sources=1, n_features=5, n_graphs=2, labelled=0.5, coverage=0.7, missing=0.1
    )
    return make_heterogeneous(**(values | changes))


def model(task, printed=False, **params):
    return TASKS[task](**({"n_iterations": ROUNDS, "as_printed": printed} | params))


def scores(fitted, data):
    """Return the numbers behind a prediction: probabilities or values."""
    return fitted.predict_proba(data) if hasattr(fitted, "predict_proba") else fitted.predict(data)[:, None]


@pytest.fixture(scope="module", params=KINDS, ids=[f"{task}-{'printed' if p else 'default'}" for task, p in KINDS])
def fitted(request):
    """A fitted model, its data, all true labels, and how to make another one."""
    task, printed = request.param
    data, truth = planted(task)
    return model(task, printed).fit(data, eval_y=truth), data, truth


# ---- what comes out --------------------------------------------------------------------------------------------------


def test_predictions_are_aligned_with_the_ids(fitted):
    fit, data, truth = fitted
    predicted = fit.predict(data)
    assert predicted.shape == (data.n,)
    rows = ~data.labelled & data.mask.any(axis=0)
    if hasattr(fit, "classes_"):
        assert set(predicted) <= set(fit.classes_) and fit.classes_.tolist() == data.classes
        assert (predicted[rows] == truth[rows]).mean() > (truth[rows] == "class_1").mean()
    else:
        assert predicted.dtype == np.float64
        assert np.corrcoef(predicted[rows], truth[rows])[0, 1] > 0.2


def test_probabilities_sum_to_one_and_name_the_class(fitted):
    fit, data, _ = fitted
    if hasattr(fit, "predict_proba"):
        p = fit.predict_proba(data)
        assert p.shape == (data.n, 3) and (p >= 0).all()
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(fit.classes_[p.argmax(axis=1)], fit.predict(data))


def test_the_history_has_a_row_a_round_and_the_last_metric_is_that_of_predict(fitted):
    fit, data, truth = fitted
    history = fit.history_
    assert 1 < history.height == fit.n_iterations_ <= ROUNDS
    assert history["iteration"].to_list() == list(range(history.height))
    wanted = [f"weight:{name}" for name in data.source_names] + [f"graph_weight:{name}" for name in data.graph_names]
    wanted += [f"autocorrelation:{name}" for name in data.graph_names] + ["disagreement", "seconds"]
    wanted += [f"{kind}:{of}" for kind in ("loss", "metric") for of in ("train", "held_out")]
    assert set(wanted) <= set(history.columns)
    assert np.isfinite(history.select(pl.col("^loss:.*$", "^metric:.*$", "^weight:.*$")).to_numpy()).all()
    rows = ~data.labelled & data.mask.any(axis=0)
    sums = history.select(pl.sum_horizontal("^weight:.*$")).to_numpy()
    assert_allclose(sums, 1.0, rtol=1e-9)
    error = (
        fit.predict(data)[rows] != truth[rows] if hasattr(fit, "classes_") else fit.predict(data)[rows] - truth[rows]
    )
    own = float(np.sqrt((error.astype(float) ** 2).mean())) if error.dtype.kind == "f" else float(error.mean())
    if (~data.labelled == rows).all():
        assert_allclose(history["metric:held_out"][-1], own, rtol=1e-5)


def test_weights_are_shares_by_name(fitted):
    fit, data, _ = fitted
    for weights, names in ((fit.source_weights_, data.source_names), (fit.graph_weights_, data.graph_names)):
        assert list(weights) == names
        assert all(0.0 <= weight <= 1.0 for weight in weights.values())
        assert_allclose(sum(weights.values()), 1.0, rtol=1e-9)


def test_contributions_sum_to_the_prediction(fitted):
    fit, data, _ = fitted
    covered = data.mask.any(axis=0)
    names = [*data.source_names, *data.graph_names]
    parts = fit.contributions(data, per_class=True, graphs=True)
    p = len(names) if parts.shape[1] == len(names) else len(data.source_names)
    assert parts.shape[:2] == (data.n, p)
    total = parts.sum(axis=1)[covered]
    if not hasattr(fit, "classes_"):
        assert_allclose(total[:, 0] + fit.scale_.mean[0], fit.predict(data)[covered], rtol=1e-9, atol=1e-9)
        assert_array_equal(fit.contributions(data), parts[:, : len(data.source_names), 0])
        return
    raw = total if fit.as_printed else total + fit.scale_.prior
    odds = np.exp(raw - raw.max(axis=1, keepdims=True))
    assert_allclose(odds / odds.sum(axis=1, keepdims=True), fit.predict_proba(data)[covered], rtol=1e-9, atol=1e-12)
    chosen = parts[np.arange(data.n), :, fit.predict_proba(data).argmax(axis=1)]
    assert_allclose(fit.contributions(data)[covered], chosen[covered, : len(data.source_names)], rtol=1e-12)


def test_a_source_without_a_record_adds_nothing(fitted):
    fit, data, _ = fitted
    parts = fit.contributions(data, per_class=True)
    for i in range(len(data.source_names)):
        assert (parts[~data.mask[i], i] == 0).all()
        assert not fit.source_weights_[data.source_names[i]] or (parts[data.mask[i], i] != 0).any()


def test_the_prediction_of_an_instance_does_not_depend_on_who_is_asked_beside_it(fitted):
    fit, data, _ = fitted
    some = (
        data.keep_instances(data.ids[10:40]) if hasattr(data, "keep_instances") else data.drop_instances(data.ids[40:])
    )
    bare = hc.HetData(some.sources)
    whole = hc.HetData(data.sources)
    place = [whole.position[each] for each in bare.ids]
    assert_allclose(scores(fit, bare), scores(fit, whole)[place], rtol=1e-9, atol=1e-12)


# ---- fitting again ---------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(fitted):
    fit, data, truth = fitted
    again = clone(fit).fit(data, eval_y=truth)
    assert_array_equal(scores(again, data), scores(fit, data))
    assert again.history_.drop("seconds").equals(fit.history_.drop("seconds"), null_equal=True)
    if not fit.as_printed:
        other = clone(fit).set_params(random_state=1).fit(data)
        assert not np.array_equal(scores(other, data), scores(fit, data))


def test_labels_to_score_by_never_change_the_model(fitted):
    fit, data, truth = fitted
    blind = clone(fit).fit(data)
    assert_array_equal(scores(blind, data), scores(fit, data))
    assert "loss:held_out" not in blind.history_.columns
    assert blind.source_weights_ == fit.source_weights_ and blind.graph_weights_ == fit.graph_weights_


def test_labelled_rows_are_never_scored_as_held_out(fitted):
    fit, data, truth = fitted
    wrong = truth.copy()
    wrong[data.labelled] = 1e6 if wrong.dtype.kind == "f" else "class_3"
    other = clone(fit).fit(data, eval_y=wrong)
    assert other.history_["metric:held_out"].to_list() == fit.history_["metric:held_out"].to_list()


def test_parameters_come_back_and_fitting_leaves_them(fitted):
    fit, data, _ = fitted
    params = fit.get_params()
    assert params == clone(fit).get_params() == {**TASKS[fit._task]().get_params(), **params}
    changed = clone(fit).set_params(lambda0=0.7, n_iterations=2, weights="equal")
    assert changed.get_params() == params | {"lambda0": 0.7, "n_iterations": 2, "weights": "equal"}
    assert not hasattr(changed, "model_") and changed.fit(data).n_iterations_ == 2
    with pytest.raises(ValueError, match="Invalid parameter"):
        changed.set_params(depth=3)


def test_labels_given_to_fit_replace_those_of_the_data(fitted):
    fit, data, truth = fitted
    y = data.y.copy()
    y[np.flatnonzero(data.labelled)[::2]] = np.nan if y.dtype.kind == "f" else None
    a, b = clone(fit).fit(data, y), clone(fit).fit(data.with_target(y, fit._task))
    assert_array_equal(scores(a, data), scores(b, data))
    assert not np.array_equal(scores(a, data), scores(fit, data))


@pytest.mark.parametrize("task,printed", KINDS)
def test_a_callback_sees_every_round_and_stops_after_any(task, printed):
    data, truth = planted(task)
    events = []

    def stop_after_three(event):
        events.append(event)
        return event.index == 2

    seen = []
    stopped = model(task, printed, n_iterations=50).fit(data, callbacks=[stop_after_three, seen.append], eval_y=truth)
    assert [event.index for event in events] == [event.index for event in seen] == [0, 1, 2]
    assert stopped.n_iterations_ == stopped.history_.height == 3
    short = model(task, printed, n_iterations=3).fit(data)
    assert_array_equal(scores(stopped, data), scores(short, data))
    last = events[-1]
    assert last.method == type(stopped).__name__ and last.total == 50
    assert {"train", "held_out"} <= set(last.losses) and set(last.source_weights) == set(data.source_names)
    assert set(last.residual_autocorrelation) == set(last.graph_weights) == set(data.graph_names)
    detail = last.detail
    assert detail["metric_name"] == ("RMSE" if task == "regression" else "error")
    assert set(detail["per_source"]) == set(data.source_names)
    assert {"metric", "disagreement", "steps"} <= set(detail)
    scored, pairs = np.flatnonzero(~data.labelled), {}
    for name, graph in data.graphs.items():
        near = [np.isin(graph.indices[graph.indptr[i] : graph.indptr[i + 1]], scored).sum() for i in scored]
        pairs[name] = sum(near) // 2
    assert detail["linked_pairs"] == pairs and min(pairs.values()) > 0
    json.dumps(dict(detail), allow_nan=True)


# ---- what is refused -------------------------------------------------------------------------------------------------

BAD = [
    ("lambda0", -0.1), ("lambda0", np.nan), ("lambda0", "1"), ("lambda0", None), ("lambda1", -1), ("lambda1", np.inf),
    ("n_iterations", 0), ("n_iterations", 2.5), ("n_iterations", True), ("learning_rate", 0.0), ("learning_rate", 11),
    ("max_depth", 0), ("max_depth", -2), ("min_samples_leaf", 0), ("l2", 0.0), ("l2", -1), ("subsample", 0.0),
    ("subsample", 1.1), ("column_sample", 0), ("column_sample", np.ones(2)), ("sharpness", 0),
    ("base_learner", "forest"), ("weights", "best"), ("weights", ["equal"]), ("pull", "labelled"), ("schedule", "any"),
    ("join_tables", "yes"), ("as_printed", 2), ("random_state", -1), ("random_state", 0.5), ("random_state", "seed"),
]  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name,value", BAD, ids=str)
def test_a_bad_parameter_is_refused_in_one_sentence(task, name, value):
    data, _ = planted(task, n=20)
    with pytest.raises(ParameterError) as caught:
        model(task, **{name: value}).fit(data)
    message = str(caught.value)
    assert message.startswith(f"{name}={value!r} must be ") and message.endswith(".") and "\n" not in message


def test_data_that_cannot_be_learned_from():
    data, _ = planted("classification", n=30)
    numbers, _ = planted("regression", n=30)
    with pytest.raises(DataError, match="None of the 30 instances is labelled: give a target"):
        hc.GBCRegressor().fit(numbers, np.full(30, np.nan))
    with pytest.raises(DataError, match="None of the 30 instances is labelled: give a target"):
        hc.GBCClassifier().fit(hc.HetData(data.sources))
    with pytest.raises(DataError, match="labels are 'a': a classifier needs at least two classes"):
        hc.GBCClassifier().fit(data, np.where(np.arange(30) < 5, "a", None))
    with pytest.raises(DataError, match="can't be read as a number"):
        hc.GBCRegressor().fit(data)
    with pytest.raises(DataError, match="y has 3 labels for 30 instances"):
        hc.GBCRegressor().fit(numbers, [1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="y has 3 labels for 30 instances"):
        hc.GBCRegressor().fit(numbers, eval_y=[1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="fit takes a HetData, not ndarray"):
        hc.GBCRegressor().fit(np.ones((3, 2)), np.ones(3))


@pytest.mark.parametrize("task", TASKS)
def test_predicting_needs_a_fit_and_data_of_its_kind(task):
    data, _ = planted(task, n=30)
    with pytest.raises(NotFittedError):
        model(task).predict(data)
    with pytest.raises(NotFittedError):
        model(task).contributions(data)
    fit = model(task, n_iterations=1).fit(data)
    with pytest.raises(DataError, match="takes a HetData, not DataFrame"):
        fit.predict(data.sources["source_1"].frame)
    with pytest.raises(DataError, match="takes a HetData, not DataFrame"):
        fit.contributions(data.sources["source_1"].frame)
    other = hc.HetData({"source_1": pl.DataFrame({"id": ["a"], "something else": [1.0]})})
    with pytest.raises(DataError, match="source_1_1"):
        fit.predict(other)


def test_numbers_may_be_classes_and_their_names_stay():
    data, _ = planted("regression", n=40)
    y = np.where(data.labelled, np.arange(40) % 3, np.nan)
    fit = hc.GBCClassifier(n_iterations=2).fit(data, y)
    assert fit.classes_.tolist() == ["0", "1", "2"]
    assert set(fit.predict(data)) <= {"0", "1", "2"}


def test_a_class_to_score_by_that_no_label_has_is_passed_over():
    data, truth = planted("classification", n=60)
    truth = truth.copy().astype(object)
    rows = np.flatnonzero(~data.labelled)
    truth[rows[:5]], truth[rows[5:8]] = "never seen", None
    with pytest.warns(UnscoredLabelsWarning, match="^5 labels of eval_y not scored"):
        fit = hc.GBCClassifier(n_iterations=2).fit(data, eval_y=truth)
    assert np.isfinite(fit.history_["loss:held_out"].to_numpy()).all()


# ---- saving ----------------------------------------------------------------------------------------------------------


def reloaded(fit):
    from hetcore.model_files import dumps, load

    return load(dumps(fit))


def test_a_loaded_model_is_the_same_to_the_bit(fitted):
    fit, data, _ = fitted
    back = reloaded(fit)
    assert back.get_params() == fit.get_params()
    assert_array_equal(scores(back, data), scores(fit, data))
    assert_array_equal(back.predict(data), fit.predict(data))
    assert_array_equal(back.contributions(data, True, True), fit.contributions(data, True, True))
    assert back.source_weights_ == fit.source_weights_ and back.graph_weights_ == fit.graph_weights_
    assert back.n_iterations_ == fit.n_iterations_


def test_a_prediction_of_the_fits_data_makes_no_columns_anew(monkeypatch):
    data, _ = planted("regression", n=60)
    fit = model("regression", n_iterations=3).fit(data)
    back, columns = reloaded(fit), type(fit.model_.columns)
    made, plain = [], columns._matrices
    monkeypatch.setattr(columns, "_matrices", lambda *given, **how: made.append(1) or plain(*given, **how))
    assert_array_equal(fit.predict(data), back.predict(data))
    assert len(made) == 1  # of the loaded one
    noisy = data.with_noise(data.source_names[0], 1.0)
    assert np.abs(fit.predict(noisy) - fit.predict(data)).max() > 0 and len(made) == 2
    # another fit's columns are held now
    model("regression", n_iterations=2).fit(data)
    assert_array_equal(fit.predict(data), back.predict(data))
    assert len(made) == 5


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("as_printed", [False, True])
def test_one_pass_explains_what_each_question_answers(task, as_printed):
    data, _ = planted(task, n=40)
    fit = model(task, n_iterations=3, as_printed=as_printed).fit(data)
    explained = fit.explain(data)
    prediction, coverage = fit.predict(data, return_coverage=True)
    assert np.array_equal(explained.prediction, prediction) and np.array_equal(explained.coverage, coverage)
    assert np.array_equal(explained.contributions, fit.contributions(data, graphs=True))
    if task == "classification":
        assert np.array_equal(explained.probabilities, fit.predict_proba(data))
    else:
        assert explained.probabilities is None


def test_parameters_are_given_by_name_and_weights_of_a_score_for_each_instance(fitted):
    fit, data, _ = fitted
    with pytest.raises(TypeError, match=r"GBCRegressor\(\) too many positional arguments"):
        hc.GBCRegressor(0.1, 0.2)
    with pytest.raises(DataError, match=r"sample_weight has the shape \(3,\) for 100 instances: give one for each\."):
        fit.score(data, sample_weight=np.ones(3))
    with pytest.raises(DataError, match="views takes a HetData, not DataFrame"):
        hc.views(data.coverage())
