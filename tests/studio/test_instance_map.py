"""The map of the instances: where they lie, what each source predicts of them, and what is drawn."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore import model_files
from hetcore.data import HetData
from hetcore.data.splits import label_split
from studio.views.consensus import instance_map
from studio.views.consensus.instance_map import CONSENSUS, DISAGREEMENT, ERROR, VALUES, Views

N = 80


def _data(task):
    rng = np.random.default_rng(0)
    y, ids = rng.integers(0, 2, N), np.array([f"i{k}" for k in range(N)])
    one = pl.DataFrame({"id": ids, "a": y + rng.normal(0, 0.3, N), "b": rng.normal(size=N)})
    two = pl.DataFrame({"id": ids[:50], "c": 1 - y[:50] + rng.normal(0, 0.6, 50)})
    links = pl.DataFrame({"source": ids[:20], "target": ids[20:40]})
    labels = np.array(["bad", "<i>good"], object)[y] if task == "classification" else y * 4.0
    return HetData({"one": one, "two": two}, {"links": links}, (ids, labels), task=task)


@pytest.fixture(scope="module", params=["classification", "regression"])
def seen(request):
    data = _data(request.param)
    model = (hc.GBCClassifier if request.param == "classification" else hc.GBCRegressor)(n_iterations=3).fit(data)
    found = instance_map.views(model_files.dumps(model), data, VALUES)
    predictions = pl.DataFrame({"id": data.ids.tolist(), "label": data.y.tolist()}, strict=False)
    return SimpleNamespace(data=data, model=model, found=found, predictions=predictions)


def test_all_instances_have_a_place_and_what_is_predicted_of_them(seen):
    found = seen.found
    assert_array_equal(found.rows, np.arange(N))
    assert np.abs(found.places).max() <= 1 and found.places.std(axis=0).min() > 0.1
    predicted = seen.model.predict(seen.data)
    assert_array_equal(found.consensus, predicted)
    assert set(found.sources) == {"one", "two"}
    silent = [each is None or each != each for each in found.sources["two"]]
    assert silent == [False] * 50 + [True] * 30


def test_where_one_source_is_there_it_agrees_with_the_consensus(seen):
    if seen.data.target_kind == "classification":
        agree = seen.found.sources["one"][50:] == seen.found.consensus[50:]
        assert agree.mean() > 0.9 and (seen.found.disagreement[50:] == ~agree).all()
    else:
        assert_allclose(seen.found.disagreement[50:], 0, atol=1e-12)
    assert seen.found.disagreement[:50].max() > 0


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_source_alone_errs_on_hidden_labels_as_in_the_training(task):
    """A table of noise too: its weight is 0, and its own views say something all the same."""
    data = _data(task)
    noise = hc.Source(data.ids, np.random.default_rng(1).normal(size=(N, 1)))
    data = HetData(data.sources | {"noise": noise}, data.graphs, (data.ids, data.y), task=task)
    known = label_split(data, fraction=0.6, seed=0)
    fit = hc.GBCClassifier if task == "classification" else hc.GBCRegressor
    model = fit(n_iterations=3).fit(data, known, eval_y=data.y)
    found = instance_map.views(model_files.dumps(model), data, VALUES)
    hidden = ~data.with_target(known, data.target_kind).labelled
    for name in data.source_names:
        rows = np.intersect1d(np.flatnonzero(hidden), data.rows(name))
        predicted, truth = found.sources[name][rows], data.y[rows]
        erring = np.mean(predicted != truth)
        if task == "regression":
            erring = np.sqrt(np.mean((predicted - truth) ** 2))
        assert erring == pytest.approx(model.history_[f"per_source:{name}"][-1])


def test_as_printed_a_number_that_a_source_predicts_is_in_the_labels_unit():
    data = _data("regression")
    model = hc.GBCRegressor(n_iterations=3, as_printed=True).fit(data)
    found = instance_map.views(model_files.dumps(model), data, VALUES)
    one, two = (found.sources[name] for name in ("one", "two"))
    weights = model.source_weights_
    graphs = model.contributions(data, graphs=True)[:, 2:].sum(axis=1)
    mean = (weights["one"] * one + weights["two"] * two) / (weights["one"] + weights["two"])
    assert_allclose(mean[:50] + graphs[:50], found.consensus[:50])
    assert_allclose(one[50:] + graphs[50:], found.consensus[50:])  # it has the second source not


def test_alike_values_lie_side_by_side():
    data = _data("classification")
    places = instance_map.components(data)
    a = data.sources["one"].frame["a"].to_numpy()[:50]
    best = max(abs(np.corrcoef(places[:50, k], a)[0, 1]) for k in (0, 1))
    assert best > 0.6


def test_the_map_of_a_graph_has_linked_instances_alone_and_many_are_sampled(seen, monkeypatch):
    linked = seen.data.graphs["links"].degree[:, None] > 0
    monkeypatch.setattr(instance_map, "layout", lambda *_: np.where(linked, np.zeros((N, 2)), np.nan))
    found = instance_map.views(model_files.dumps(seen.model), seen.data, "links")
    assert_array_equal(found.rows, np.arange(40))
    monkeypatch.setattr(instance_map, "MOST", 10)
    some = instance_map.views(model_files.dumps(seen.model), seen.data, VALUES)
    assert len(some.rows) == 10 and (np.diff(some.rows) > 0).all()
    assert_array_equal(some.consensus, seen.model.predict(seen.data)[some.rows])


@pytest.mark.parametrize("by", [CONSENSUS, ERROR, DISAGREEMENT, "one", "two"])
def test_every_point_is_drawn_once_and_names_are_shown_as_they_are(seen, by):
    values = instance_map.colours(seen.found, by, seen.predictions)
    drawn = instance_map.figure(seen.found, values, by, ["<b>x"] * N)
    points = np.concatenate([trace["customdata"] for trace in drawn["data"]])
    assert sorted(points) == list(range(N))
    texts = [text for trace in drawn["data"] for text in (*trace["text"], trace.get("name", ""))]
    assert not any("<b>" in text or "<i>" in text for text in texts)


def test_errors_are_those_of_the_labels(seen):
    values = instance_map.colours(seen.found, ERROR, seen.predictions)
    if seen.data.target_kind == "classification":
        wrong = seen.found.consensus != seen.data.y
        assert_array_equal(values == "wrong", wrong)
        hidden = seen.predictions.with_columns(label=pl.lit(None, pl.String))
        assert set(instance_map.colours(seen.found, ERROR, hidden)) == {"not known"}
    else:
        assert_allclose(values, seen.found.consensus - seen.data.y)


def test_chosen_rows_are_ringed_and_many_classes_share_a_colour():
    rows = np.arange(30)
    classes = np.array([f"c{k % 15}" for k in rows], object)
    found = Views(rows, np.zeros((30, 2), np.float32), classes, {}, np.zeros(30))
    drawn = instance_map.figure(found, classes, CONSENSUS, [""] * 30, ringed=[3, 99])
    assert [trace["name"] for trace in drawn["data"]][-2:] == ["others", "chosen"] and len(drawn["data"]) == 11
    assert drawn["data"][-1]["customdata"].tolist() == [3]


@pytest.mark.parametrize("by", [CONSENSUS, ERROR])
def test_colours_follow_the_rounds_and_end_at_what_the_model_says(seen, by):
    classes = seen.found.classes
    codes = np.searchsorted(np.array(classes, str), seen.found.consensus.astype(str)) if classes else None
    first = np.zeros(N) if codes is None else 1 - codes
    last = seen.found.consensus if codes is None else codes
    staged = pl.DataFrame({"id": seen.data.ids, "1": first, "2": last})[:70]
    rounds = instance_map.by_round(seen.found, by, seen.predictions, staged)
    values = instance_map.colours(seen.found, by, seen.predictions)
    assert len(rounds) == 2
    assert_array_equal(rounds[1], values)
    drawn = instance_map.figure(seen.found, values, by, seen.data.ids, rounds=rounds)
    facts = instance_map.coded(drawn, rounds)
    found = np.frombuffer(base64.b64decode(facts["codes"]), np.uint8).reshape(2, N)
    if classes:
        names = np.array([trace["name"].replace("&lt;", "<") for trace in drawn["data"]])
        expected = [["not known" if each is None else str(each) for each in one] for one in rounds]
        assert_array_equal(names[found], expected)
    else:
        assert (found[0, 70:] == 255).all() and (found[1] < 255).all()
        assert np.corrcoef(found[1], values.clip(facts["low"], facts["high"]))[0, 1] > 0.999
    assert instance_map.by_round(seen.found, by, seen.predictions, None) == []
    assert instance_map.by_round(seen.found, DISAGREEMENT, seen.predictions, staged) == []


def test_ten_classes_have_ten_looks_and_those_of_near_hues_other_markers():
    names = np.array([f"{k}" for k in range(10)], object)
    found = instance_map.Views(np.arange(10), np.zeros((10, 2), np.float32), names, {}, np.zeros(10))
    looks = [trace["marker"]["symbol"] for trace in instance_map.figure(found, names, "", names)["data"]]
    assert len(looks) == 10 and all(looks[k] != looks[k + 5] for k in range(5))
