"""Several fits on folds dealt anew: what they say is their mean, in predictions, weights, events and files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.consensus import view_consensus
from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.recall import MEMORY, Memory
from hetcore.consensus.repeated import RepeatedBoosting, RepeatedModel, repeats_for
from hetcore.consensus.variants import explain_variants
from hetcore.consensus.view_predictor import ViewModel
from hetcore.errors import ModelFileError, ParameterError
from hetcore.model_files import dumps
from hetcore.targets import Problem
from tests.consensus.test_consensus import TASKS, model, planted
from tests.consensus.test_stop_in_a_round import LOOK, Stopping

FITS = 3


@pytest.fixture(scope="module", params=TASKS)
def repeated(request):
    data, truth = planted(request.param, n=80)
    events = []
    fit = model(request.param, n_repeats=FITS, n_iterations=6)
    return fit.fit(data, eval_y=truth, callbacks=[events.append]), data, events, request.param


def test_few_labels_have_two_fits_and_very_few_four():
    data, _ = planted("regression", n=400)
    params = {"n_repeats": "auto", "join_tables": True}

    def count(labelled, **other):
        y = np.where(np.arange(data.n) < labelled, np.arange(data.n, dtype=float), np.nan)
        return repeats_for(Problem.of(data.with_target(y), None, None, "regression"), params | other)

    assert [count(known) for known in (10, 59, 60, 300, 301)] == [4, 4, 2, 2, 1]
    assert count(10, join_tables=False) == 1
    assert [count(known, n_repeats=3) for known in (10, 350)] == [3, 3]


def test_very_many_instances_have_one_fit(monkeypatch):
    from hetcore.consensus import repeated as module

    data, _ = planted("regression", n=80)
    monkeypatch.setattr(module, "MOST_INSTANCES", 79)
    assert isinstance(model("regression", n_iterations=2).fit(data).model_, ViewModel)


def test_all_is_the_mean_of_the_fits(repeated):
    fit, data, events, task = repeated
    parts = fit.model_
    assert isinstance(parts, RepeatedModel) and len(parts.models) == FITS
    each = [np.stack(one.contributions(data)) for one in parts.models]
    # on folds of their own they differ
    assert min(np.abs(each[0] - other).max() for other in each[1:]) > 0
    assert_allclose(np.stack(parts.contributions(data)), np.mean(each, axis=0), atol=1e-12)
    whole = fit.contributions(data, per_class=True, graphs=True)
    by_row = np.mean([one.by_row(data)[1] for one in parts.models], axis=0)
    assert_allclose(whole, np.moveaxis(by_row, 0, 1) * fit.scale_.deviation, atol=1e-12)
    assert_allclose(by_row.sum(axis=0), np.mean(each, axis=0).sum(axis=0), atol=1e-12)
    sums = whole.sum(axis=1) / fit.scale_.deviation + fit.scale_.prior
    assert_allclose(fit.explain(data).prediction == fit.predict(data), True)
    assert_allclose(sum(fit.source_weights_.values()), 1.0)
    assert_allclose(sum(fit.view_weights_.values()), 1.0, atol=1e-6)
    # the last event tells of all of them
    labelled = data.labelled
    if task == "classification":
        assert_array_equal(fit.classes_[sums.argmax(axis=1)], fit.predict(data))
    else:
        assert_allclose(fit.history_["metric:held_out"][-1], rmse_of(fit, data, ~labelled), rtol=1e-9)
    assert events[-1].detail["views"] == fit.view_weights_


def rmse_of(fit, data, rows):
    truth = planted("regression", n=80)[1]
    return float(np.sqrt(((fit.predict(data) - truth)[rows] ** 2).mean()))


@pytest.mark.parametrize("task", TASKS)
def test_the_first_is_the_fit_that_stands_alone(task):
    data, _ = planted(task, n=60)
    alone, several = (model(task, n_iterations=4, lambda1=0.1, n_repeats=count).fit(data) for count in (1, 2))
    for one, other in zip(alone.model_.contributions(data), several.model_.models[0].contributions(data)):
        assert_array_equal(one, other)
    assert np.abs(alone.contributions(data) - several.contributions(data)).max() > 0


def test_one_lambda1_is_chosen_for_all(repeated):
    fit, _, events, _ = repeated
    chosen = {each.lambda1 for each in fit.model_.models}
    assert chosen == {fit.lambda1_}
    path = events[-1].detail["paths"].get("lambda1")
    assert path is None or fit.lambda1_ in dict(path)
    # of the losses that all fits had together
    assert path is None or fit.lambda1_ == min(path, key=lambda each: each[1])[0]


def test_a_lambda1_that_is_chosen_once_some_have_ended_is_that_of_all(monkeypatch):
    data, _ = planted("classification", n=80)
    monkeypatch.setattr(view_consensus, "LOOKS", (2, 5))
    ends = iter([False, False, False, True, False, False, False])  # the second ends after its second round

    def ended(state):
        return next(ends, True)

    monkeypatch.setattr(ViewBoosting, "_ended", ended)
    seen = []
    fit = model("classification", n_repeats=2, n_iterations=6)
    fit.fit(data, callbacks=[lambda event: seen.append(event.detail["choices"]["lambda1"])])
    assert len(seen) == 6 and {each.lambda1 for each in fit.model_.models} == {seen[-1]}


def test_what_is_kept_of_an_ended_fit_is_not_of_before_it_was_left(monkeypatch):
    data, _ = planted("classification", n=80)
    monkeypatch.setattr(view_consensus, "LOOKS", (2, 5))
    ends = iter([False, False, False, True, False, False, False])
    monkeypatch.setattr(ViewBoosting, "_ended", lambda _: next(ends, True))

    def by_graph(fit):
        parts = [0.0] * len(fit.columns.tables.names) + list(fit.graph_weights.values())
        return np.tile(parts, (len(fit.views), 1))

    # as far as it can: where many graphs have no view of their own
    monkeypatch.setattr(ViewBoosting, "shares", by_graph)
    left, done = [], RepeatedBoosting.round

    def stopped(fit):
        fit.graph_weights, fit._before[0] = {"graph_1": 0.9, "graph_2": 0.1}, {"graph_1": 0.1, "graph_2": 0.9}
        state.dealt()
        fit._leave_links()
        left.append(fit)

    def followed(fits):
        nonlocal state
        state = fits
        ended = done(fits)
        assert_array_equal(fits.dealt(), sum(each.dealt() for each in fits.fits) / fits.repeats)
        return ended

    state = None
    monkeypatch.setattr(ViewBoosting, "smooth_again", stopped)
    monkeypatch.setattr(RepeatedBoosting, "round", followed)
    model("classification", n_repeats=2, n_iterations=6).fit(data)
    assert left


def test_a_file_has_them_all_and_one_without_them_is_refused(repeated):
    fit, data, _, _ = repeated
    content = dumps(fit)
    back = hc.load(content)
    assert_array_equal(back.predict(data), fit.predict(data))
    assert dumps(back) == content
    fit.model_.models, kept = [], fit.model_.models
    empty = dumps(fit)
    fit.model_.models = kept
    with pytest.raises(ModelFileError, match="are not of the same tables and graphs"):
        hc.load(empty)


def test_a_variant_that_changes_nothing_is_predicted_as_it_is(repeated):
    fit, data, _, _ = repeated
    place = int(np.flatnonzero(data.labelled)[0])
    own = {name: np.flatnonzero(data.rows(name) == place) for name in data.sources}
    rows = {
        name: (data.sources[name].frame if data.sources[name].array is None else data.sources[name].array)[at]
        for name, at in own.items()
        if at.size
    }
    found = explain_variants(fit, data, rows, str(data.ids[place]))
    assert_allclose(found.contributions[0], fit.explain(data).contributions[place], atol=1e-9)


@pytest.mark.parametrize("stop", [1, 3])
def test_it_may_end_after_any_round(stop):
    data, _ = planted("classification", n=60)
    seen = []
    fit = model("classification", n_repeats=2, n_iterations=9)
    fit.fit(data, callbacks=[lambda event: seen.append(event) or len(seen) == stop])
    assert fit.n_iterations_ == stop and len(set(fit.predict(data))) > 1


@pytest.mark.parametrize("k", [1, 9, 30])
def test_a_stop_in_a_round_leaves_the_model_that_was_shown(monkeypatch, k):
    monkeypatch.setattr(view_consensus, "LOOKS", (LOOK,))
    data, truth = planted("regression", n=80)
    fit, stopping = model("regression", n_repeats=2, n_iterations=LOOK, base_learner="kernel"), Stopping(k)
    fit.fit(data, eval_y=truth, callbacks=[stopping])
    assert stopping.asked >= k and fit.n_iterations_ == LOOK
    assert_allclose(fit.history_["metric:held_out"][-1], rmse_of(fit, data, ~data.labelled), rtol=1e-9)


def test_a_prediction_of_the_fits_data_makes_no_columns_anew(monkeypatch):
    data, _ = planted("regression", n=60)
    fit = model("regression", n_repeats=2, n_iterations=2).fit(data)
    columns, made = type(fit.model_.models[0].columns), []
    plain = columns._matrices
    monkeypatch.setattr(columns, "_matrices", lambda *given, **how: made.append(1) or plain(*given, **how))
    fit.predict(data)
    assert not made


def test_what_the_fits_share_and_what_is_recalled_changes_no_bit(monkeypatch):
    data, _ = planted("classification", n=60)

    def fitted(**params):
        return model("classification", n_repeats=2, n_iterations=3, **params).fit(data).contributions(data, True, True)

    shared = fitted()
    assert not MEMORY.room and not MEMORY.held
    with MEMORY.at_least(64 << 20):
        recalled = [fitted(), fitted(lambda0=0.5), fitted()]
    monkeypatch.setattr(Memory, "recalled", lambda self, kind, key, make: make())
    alone = fitted()
    for each in (shared, recalled[0], recalled[2]):
        assert_array_equal(each, alone)


def test_no_fit_at_all_is_refused():
    with pytest.raises(ParameterError, match="n_repeats"):
        hc.GBCRegressor(n_repeats=0).fit(planted("regression", n=60)[0])


@pytest.mark.slow
def test_few_labels_err_less_on_average():
    ratios = []
    for seed in range(24):
        data, truth = planted("regression", n=200, seed=seed)
        rows = ~data.labelled
        fits = [hc.GBCRegressor(random_state=seed, n_repeats=count).fit(data) for count in (1, 4)]
        one, four = (((fit.predict(data) - truth)[rows] ** 2).mean() for fit in fits)
        ratios.append(np.log(four / one))
    assert np.mean(ratios) < 0


def test_fits_that_go_side_by_side_have_the_bits_of_one_after_the_other(repeated):
    fit, data, _, task = repeated
    _, truth = planted(task, n=80)
    threads = model(task, n_repeats=FITS, n_iterations=6, n_jobs=3).fit(data, eval_y=truth)
    assert_array_equal(fit.predict(data), threads.predict(data))
    assert fit.history_.drop("seconds").equals(threads.history_.drop("seconds"))
    assert dumps(fit) == dumps(threads.set_params(n_jobs=fit.n_jobs))
