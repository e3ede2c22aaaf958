"""One case: contributions add up, a curve goes through the prediction, the nearest change really turns the class."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore import model_files
from hetcore.data import HetData
from hetcore.errors import DataError
from studio import scenarios
from studio.views.consensus import case, case_nearest, case_values, new_rows

N = 90


def _data(task):
    rng = np.random.default_rng(0)
    y, ids = rng.integers(0, 2, N), np.array([f"i{k}" for k in range(N)])
    one = pl.DataFrame({"id": ids, "a": y + rng.normal(0, 0.4, N), "b": rng.normal(size=N), "n": rng.integers(0, 9, N)})
    two = pl.DataFrame({"id": ids[:60], "c": np.array(["x", "y"])[y[:60]], "d": rng.normal(size=60)})
    ends = rng.integers(0, N, (200, 2))
    links = pl.DataFrame({"source": ids[ends[:, 0]], "target": ids[ends[:, 1]]})
    labels = np.array(["bad", "good"], object)[y] if task == "classification" else y * 10.0 + rng.normal(0, 0.5, N)
    return HetData({"one": one, "two": two}, {"links": links}, (ids, labels), task=task)


@pytest.fixture(scope="module", params=["classification", "regression"])
def trained(request):
    data = _data(request.param)
    model = getattr(hc, f"GBC{'Classifier' if request.param == 'classification' else 'Regressor'}")(n_iterations=4)
    return data, model.fit(data)


def _file(model):
    return model_files.dumps(model)


@pytest.mark.parametrize("like", ["i3", "i70", None])
def test_columns_and_their_start_are_the_prediction(trained, like):
    data, model = trained
    found = case.explain(_file(model), data, like, {})
    assert found.start + sum(adds for *_, adds in found.columns) == pytest.approx(found.value, abs=1e-12)
    named = {(source, column) for source, column, _ in found.columns}
    both = {("one", "a"), ("one", "b"), ("one", "n"), ("two", "c"), ("two", "d")}
    assert named == ({each for each in both if each[0] == "one"} if like == "i70" else both)
    if like is not None:
        whole = model.predict(data)[data.position[like]]
        assert found.prediction == (whole if found.probabilities else pytest.approx(whole, rel=1e-4))
        own = model.contributions(data, graphs=True)[data.position[like]]
        assert list(found.sources.values()) == pytest.approx(own.tolist(), rel=1e-5, abs=1e-7)
    if found.probabilities:
        assert sum(found.probabilities.values()) == pytest.approx(1)
        assert found.value == pytest.approx(max(found.probabilities.values()), rel=1e-3)
    else:
        # of labels from 0 to 10
        assert found.value == pytest.approx(found.prediction, abs=1e-3)


def test_a_worker_does_the_what_ifs_in_the_data_that_it_holds(trained):
    data, model = trained
    noisy = {"op": "noise", "name": "one", "sd": 2.0, "seed": 0}
    changed, values = scenarios.apply(data, [noisy]).data, {"two": {"d": 0.5}}
    found = case.explain(_file(model), data, "i3", tuple(values.items()), [noisy])
    assert found == case.explain(_file(model), changed, "i3", values) != case.explain(_file(model), data, "i3", values)


def test_the_column_that_tells_adds_most_and_one_that_says_nothing_little(trained):
    data, model = trained
    found = case.explain(_file(model), data, "i70", {})
    adds = {column: abs(value) for _, column, value in found.columns}
    assert adds["a"] > 3 * adds["b"] and adds["a"] > 3 * adds["n"]


def test_few_columns_are_explained_from_as_many_predictions_as_many_columns_are():
    data = _data("classification")
    mine = case.Case(_file(hc.GBCClassifier(n_iterations=4).fit(data)), data, "i70", {})
    starts = [case.shapley(mine, 1, seed)[0] for seed in range(8)]
    assert len(mine.players) == 3 and np.std(starts) < 0.06 and abs(np.mean(starts) - np.mean(data.y == "good")) < 0.06


def test_a_curve_goes_through_what_is_predicted(trained):
    data, model = trained
    points, curves = case.along(_file(model), data, "i3", {}, ("one", "a"))
    assert points == sorted(points) and all(len(curve) == len(points) for curve in curves.values())
    at = len(points) // 3
    found = case.explain(_file(model), data, "i3", {"one": {"a": points[at]}})
    name = found.prediction if found.probabilities else "prediction"
    assert curves[name][at] == pytest.approx(found.value, rel=1e-3, abs=1e-3)
    levels, _ = case.along(_file(model), data, "i3", {}, ("two", "c"))
    assert levels == ["x", "y"]
    with pytest.raises(DataError, match="has no column 'c' in 'two'"):
        case.along(_file(model), data, "i70", {}, ("two", "c"))


def _with(data, like, changes):
    """Return the data with a case's values really changed."""
    sources = {}
    for name, source in data.sources.items():
        frame, place = source.frame, np.flatnonzero(data.rows(name) == data.position[like])
        for change in (each for each in changes if each.source == name):
            assert frame[change.column][int(place[0])] == change.before
            series = frame[change.column].clone()
            series[int(place[0])] = change.after
            frame = frame.with_columns(series)
        sources[name] = frame.select(source.id_series.alias("id"), pl.all())
    return HetData(sources, {name: graph.to_frame() for name, graph in data.graphs.items()})


@pytest.mark.parametrize("like", ["i3", "i10", "i70"])
def test_the_nearest_change_turns_the_class_also_where_the_values_are_really_changed(like):
    data = _data("classification")
    model = hc.GBCClassifier(n_iterations=4).fit(data)
    found = case_nearest.nearest(_file(model), data, like, {})
    assert found.changes and found.before == model.predict(data)[data.position[like]] != found.after
    really = _with(data, like, found.changes)
    assert model.predict(really)[really.position[like]] == found.after
    fewer = [[each for each in found.changes if each is not gone] for gone in found.changes]
    for changes in fewer if len(found.changes) > 1 else []:  # none is too many
        assert model.predict(_with(data, like, changes))[really.position[like]] == found.before
    only = case_nearest.nearest(_file(model), data, like, {}, [("one", "b")])
    assert only.changes == [] and only.after == only.before


def test_numbers_have_no_class_to_turn():
    data = _data("regression")
    model = hc.GBCRegressor(n_iterations=2).fit(data)
    with pytest.raises(DataError, match="no class to turn"):
        case_nearest.nearest(_file(model), data, "i3", {})


def test_values_are_those_of_the_instance_typical_or_changed():
    data = _data("classification")
    own = case_values.record_of(data, "i3", {"one": {"n": "4.4", "b": None}})
    assert own["one"]["n"].to_list() == [4] and own["one"]["b"].to_list() == [None]
    assert own["two"]["c"][0] == data.sources["two"].frame["c"][3]
    new = case_values.record_of(data, None, {})
    assert new["one"]["a"][0] == sorted(data.sources["one"].frame["a"])[N // 2]
    assert case_values.record_of(data, "i70", {}).keys() == {"one"}
    assert case_values.record_of(data, "i70", {"two": {"c": "x"}})["two"].rows() == [("x", None)]


@pytest.mark.parametrize(
    "like, values, words",
    [
        ("nobody", {}, "no instance 'nobody'"),
        ("i3", {"one": {"z": 1}}, "no column 'z' in 'one'"),
        ("i3", {"one": {"a": "much"}}, "'much' is no number"),
        ("i3", {"one": {"a": "1e39"}}, "'1e39' is no number that 'a' can take: give a smaller one"),
        ("i3", {"one": {"a": "13,5"}}, "'13,5' is no number that 'a' can take: write one such as 12.5"),
        ("i3", {"one": {"n": "1e30"}}, "'n' has no room for '1e30'"),
    ],
)
def test_what_does_not_fit_is_refused(like, values, words):
    with pytest.raises(DataError, match=words):
        case_values.record_of(_data("classification"), like, values)


def test_long_tables_and_arrays_count_as_a_whole():
    ids = [f"i{k}" for k in range(4)]
    wide = pl.DataFrame({f"w{k}": np.arange(4.0) + k for k in range(case_values.MOST_COLUMNS + 1)})
    data = HetData({"wide": hc.Source(ids, wide), "picture": hc.Source(ids, np.ones((4, 2, 2)))})
    record = case_values.record_of(data, "i1", {})
    assert case_values.players_of(record) == [("wide", ""), ("picture", "")]


def test_a_date_is_shown_and_taken_as_one(tmp_path):
    days = pl.date_range(pl.date(2024, 3, 14), pl.date(2024, 6, 11), eager=True)
    times = days.cast(pl.Datetime("ms")) + datetime.timedelta(hours=13, minutes=5, seconds=9)
    table = pl.DataFrame({"id": [f"i{k}" for k in range(N)], "day": days, "at": times, "n": range(N)})
    data = HetData({"t": table}, None, (["i0", "i1"], ["a", "b"]), task="classification")
    table.write_parquet(tmp_path / "t.parquet")
    scanned = HetData.scan({"t": tmp_path / "t.parquet"}, target=(["i0", "i1"], ["a", "b"]), task="classification")
    source = data.sources["t"]
    for each in (source, source.take(np.arange(5)), source.with_kinds({"n": "nominal"}), scanned.sources["t"]):
        assert each.moments == {"day", "at"} and each.guess["day"][1] == "dates from 2024-03-14 to 2024-06-11"
    for column, before, after in (
        ("day", "2024-03-14", "2025-01-31"),
        ("at", "2024-03-14 13:05:09", "1969-12-31 23:59:58"),
        ("n", "0", "7"),
    ):
        assert case_values.as_written(source, column, source.frame[column][0]) == before
        value = case_values.read_value(source, column, after)[0]
        assert case_values.as_written(source, column, value) == after
        # What the nearest change found is a number.
        assert case_values.read_value(source, column, value)[0] == value
    assert case_values.read_value(source, "day", "2024-03-15")[0] == source.frame["day"][1]
    assert case_values.as_written(source, "day", None) == "" and case_values.read_value(source, "day", "")[0] is None
    with pytest.raises(DataError, match=r"'soon' is no date that 'day' can take: write it as 2020-12-31\."):
        case_values.read_value(source, "day", "soon")
    assert new_rows.unfamiliar(data, {"t": {"day": "2024-04-01", "at": "2024-04-01 08:00"}}) == []
    (note,) = new_rows.unfamiliar(data, {"t": {"day": "2025-01-31"}})
    assert note == "1 value of 'day' outside 2024-03-14 to 2024-06-11, where no row was trained."
