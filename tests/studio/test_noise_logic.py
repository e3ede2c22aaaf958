"""What the Noise page works out without a page: settings, corrupted and distrusted rows, probabilities, codes."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from hetcore.events import RoundEnd
from hetcore.player import Player
from studio import forms, scenarios, uncertainty
from studio.advice import advise
from studio.jobs import worker_tasks
from studio.jobs.job import Setting, TrainingTask
from studio.jobs.results import RunResult
from studio.jobs.worker import child_environment
from studio.runs import export, reopening
from studio.runs.differences import Outcome, changed
from studio.views.common import training, widgets_progress
from studio.views.noise import curve, widgets, widgets_curve
from studio.views.noise import rows as noise_rows
from studio.views.noise import settings as noise

TABLE = {"n_iterations": 15, "learning_rate": 0.3, "random_state": 0}


def ran(setting, data):
    task = TrainingTask(setting.estimator, setting.params, data, operations=setting.operations, form=setting.form)
    return worker_tasks.perform(task, Player([].append))


@pytest.fixture(scope="module")
def flips():
    data = datasets.load("planted_flips")
    operations = noise.operations_of(data, 0.7, 0.2, 0.0, 3)
    settings = noise.settings("Table", data, TABLE, operations, ())
    return data, operations, {label: ran(setting, data) for label, setting in settings.items()}


# What is trained


def test_two_settings_differ_in_the_deviation_alone():
    data = datasets.load("planted_noise")
    both = noise.settings("Table", data, TABLE, [], ())
    assert list(both) == ["HGBM", "GBM"] and {each.estimator for each in both.values()} == {"HGBMRegressor"}
    learned, plain = (each.params for each in both.values())
    assert learned | {"deviation": "constant"} == plain and learned["deviation"] == "learned"


@pytest.mark.parametrize(("mode", "names"), [("Matrix", ["HMF", "MatrixFactorization"]),
                                             ("Tensor", ["HTF", "TensorFactorization"])])  # fmt: skip
def test_the_plain_factorization_gets_the_parameters_that_it_has(mode, names):
    params = {"n_factors": 3, "n_deviation_factors": 2, "random_state": 1}
    both = noise.settings(mode, datasets.load("planted_ratings"), params, [], ("user", "item"))
    assert [each.estimator for each in both.values()] == names
    assert [getattr(hc, each.estimator)(**each.params).n_factors for each in both.values()] == [3, 3]
    assert "n_deviation_factors" not in list(both.values())[1].params


def test_classes_are_flipped_and_numbers_get_noise():
    classes, numbers = (datasets.load(name) for name in ("planted_flips", "planted_noise"))
    ops = [operation["op"] for operation in noise.operations_of(classes, 0.7, 0.2, 1.0, 0)]
    assert ops == ["labels", "flip_labels"]
    ops = [operation["op"] for operation in noise.operations_of(numbers, 0.7, 0.2, 1.0, 0)]
    assert ops == ["labels", "label_noise"]
    assert noise.operations_of(numbers, 1.0, 0.2, 0.0, 0) == []


def test_data_are_refused_in_one_sentence_that_names_what_is_wanted():
    assert noise.why_not("Table", datasets.load("digits_views")) == ""
    assert noise.why_not("Matrix", datasets.load("planted_ratings")) == ""
    assert noise.why_not("Tensor", datasets.load("planted_sensors")) == ""
    assert "a user, an item and a rating" in noise.why_not("Matrix", datasets.load("planted_flips"))
    assert "sensor, time, quantity" in noise.why_not("Tensor", datasets.load("planted_ratings"))
    small = hc.HetData({"t": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})}, target=(["a", "b"], [1.0, 2.0]))
    assert "Fewer than 20" in noise.why_not("Table", small)
    assert "no label" in noise.why_not("Table", small.with_target(None))


def test_columns_of_codes_are_guessed_by_their_names():
    assert noise.guessed_modes(["rating_day", "movieId", "userId"], 2) == ["userId", "movieId"]
    assert noise.guessed_modes(["a", "b", "c"], 2) == ["a", "b"]
    assert noise.records(datasets.load("planted_ratings"), 2) == ("ratings", ["user", "item"])
    assert noise.records(datasets.load("planted_noise"), 2) is None


# What came of it


def test_corrupted_rows_are_those_that_were_changed_and_trained_on(flips):
    data, operations, results = flips
    wrong = noise_rows.corrupted(data, operations)
    assert wrong.height == round(0.2 * 1050)
    truth = dict(zip(data.ids, data.y))
    rows = results["HGBM"].predictions.join(wrong, on="id", how="inner")
    assert rows.height == wrong.height and (rows["label"] != rows["was"]).all() and rows["held_out"].null_count() == 210
    assert all(truth[one] == was for one, was in zip(rows["id"], rows["was"]))
    assert noise_rows.corrupted(data, operations[:1]).is_empty()


def test_noise_is_reported_by_the_number_before():
    data = datasets.load("planted_noise")
    wrong = noise_rows.corrupted(data, noise.operations_of(data, 0.5, 0.1, 2.0, 0))
    assert wrong.height == 75 and wrong.schema["was"] == pl.Float64


def test_the_distrusted_rows_are_mostly_the_corrupted_ones(flips):
    data, operations, results = flips
    wrong = noise_rows.corrupted(data, operations)
    ranked = noise_rows.distrusted(results["HGBM"].predictions, wrong)
    assert ranked.height == 1050 and ranked["weight"].is_sorted()
    count, found = noise_rows.hits(ranked)
    assert count == 210 and found / count > 2 * 0.2
    assert noise_rows.distrusted(results["GBM"].predictions, wrong)["weight"].n_unique() == 1


def test_surprise_counts_deviations():
    predictions = pl.DataFrame({"id": ["a", "b", "c"], "label": [1.0, 5.0, None], "prediction": [0.0, 0.0, 0.0],
                                "std": [0.1, 1.0, 1.0], "weight": [1.0, 2.0, None]})  # fmt: skip
    wrong = pl.DataFrame({"id": ["b"], "was": [0.0]})
    ranked = noise_rows.distrusted(predictions, wrong, by="surprise")
    assert ranked["id"].to_list() == ["a", "b"] and ranked["surprise"].to_list() == [10.0, 5.0]
    assert ranked["corrupted"].to_list() == [False, True]


def test_a_run_tells_weights_and_intervals():
    data = datasets.load("planted_noise")
    setting = noise.settings("Table", data, TABLE, noise.operations_of(data, 0.7, 0, 0, 0), ())["HGBM"]
    result = ran(setting, data)
    frame = result.predictions
    assert frame.filter(pl.col("label").is_not_null())["weight"].null_count() == 0
    assert frame.filter(pl.col("label").is_null())["weight"].count() == 0
    nominal, achieved = result.value["nominal"], result.value["achieved"]
    assert achieved == sorted(achieved) and np.abs(np.subtract(nominal, achieved)).max() < 0.12
    # the band that is drawn is the model's own interval, and holds what the calibration says of it
    held = noise_rows.with_residuals(frame, numbers=True).filter("held")
    assert (held["residual"].abs() <= held["half"]).mean() == pytest.approx(achieved[nominal.index(0.9)])
    sigmas = (held["half"] / held["std"]).to_numpy()
    assert np.ptp(sigmas) < 1e-9 and abs(sigmas[0] - 1.645) > 0.01
    arrays = forms.arrays(scenarios.Scenario(data), setting.form)
    assert uncertainty.achieved(hc.HGBMClassifier(), arrays) is None


def test_dots_beyond_the_axes_are_counted():
    figure = {"layout": {"xaxis": {}, "yaxis": {"range": [0.0, 2.0]}}}
    assert noise_rows.beyond(figure, [1.0, 2.0, 3.0], [1.0, 2.0, -1.0]).startswith("; 1 lies beyond")
    assert noise_rows.beyond(figure, [1.0, 2.0], [1.0, 2.0]) == ""
    assert noise_rows.beyond(figure, [1.0, np.nan], [1.0, 2.0]) == "; 1 without a value of it is not drawn"


def test_a_band_without_ends_is_of_a_normal():
    frame = pl.DataFrame({"id": ["a"], "label": [1.0], "prediction": [0.0], "std": [2.0]})
    assert noise_rows.with_residuals(frame, numbers=True)["half"].to_list() == [3.29]


def test_blind_draws_are_taken_out_of_probabilities():
    sure, share = 0.9, 0.2  # the class itself: (0.9 - 0.2 / 2) / 0.8 = 1
    frame = pl.DataFrame({"id": ["a", "b"], "label": [None, None], "held_out": ["x", "y"], "prediction": ["x", "x"],
                          "p:x": [sure, 0.6], "p:y": [1 - sure, 0.4], "deviation": [share, 0.0]})  # fmt: skip
    sentence, right = noise_rows.reliability(frame)
    assert sentence[9] == pytest.approx(1.0) and right[9] == 1.0
    assert sentence[6] == pytest.approx(0.6) or sentence[5] == pytest.approx(0.6)
    assert noise_rows.reliability(frame.drop("held_out")) is None


def test_the_feature_that_tells_the_deviation_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[::7, 1] = np.nan
    assert noise_rows.telling(X, ["a", "b", "c"], np.exp(X[:, 2])) == "c"
    assert noise_rows.telling(X, ["a", "b", "c"], rng.normal(size=300)) is None
    assert noise_rows.telling(X, ["a", "b", "c"], np.ones(300)) is None


def test_codes_are_listed_by_what_was_learned_of_them():
    data = datasets.load("planted_ratings")
    setting = noise.settings("Matrix", data, {"n_iterations": 15, "n_factors": 4, "random_state": 0},
                             noise.operations_of(data, 0.8, 0, 0, 0), ("user", "item"))["HMF"]  # fmt: skip
    rows = noise_rows.scored_codes(ran(setting, data).predictions, data, ("user", "item"))
    levels = noise_rows.by_code(rows, "user")
    assert levels.height == 200 and levels["deviation"].is_sorted(descending=True) and levels["rows"].sum() == 15000
    planted = rows.join(datasets.planted_deviation("planted_ratings"), on="id")
    loud = planted.group_by("code:user").agg(pl.col("planted").mean()).sort("planted", descending=True).head(40)
    assert len(set(loud["code:user"]) & set(levels["user"].head(40))) >= 30


def test_a_sensor_is_in_the_order_of_time():
    rows = pl.DataFrame({"id": list("abcd"), "code:s": ["1", "1", "2", "1"], "code:t": ["10", "9", "1", "2"]})
    one = noise_rows.sensor(rows, "t", {"s": "1"})
    assert one["at"].to_list() == [2.0, 9.0, 10.0] and one["id"].to_list() == ["d", "b", "a"]
    assert noise_rows.time_order(["b", "a"]) == {"a": 0.0, "b": 1.0}
    assert noise_rows.time_order(["w10", "w2", "2024 w1"]) == {"2024 w1": 0.0, "w2": 1.0, "w10": 2.0}
    assert noise_rows.time_order(["1970-01-03", "1970-01-02"]) == {"1970-01-02": 86400e3, "1970-01-03": 172800e3}
    assert noise_rows.guessed_time(["s", "t"], rows) == "t" and noise_rows.guessed_time(["s", "hour"], rows) == "hour"
    assert noise_rows.guessed_time(["t", "s", "Week"], rows) == "Week"


# How much noise


@pytest.mark.parametrize(("mode", "ends"), [("Matrix", [-0.01, 0.41]), ("Tensor", [0.04, 0.31])])
def test_the_axis_of_shares_is_whole_from_the_first_fit_on(mode, ends):
    first = {"label": noise.MODES[mode].plain, "level": 0.1, "repeat": 0, "value": 0.7, "metric_name": "RMSE"}
    layout = widgets_curve._figure(mode, [first])["layout"]
    assert layout["xaxis"]["range"] == pytest.approx(ends) and "tickformat" not in layout["yaxis"]


def test_errors_by_share_are_in_per_cent_as_above_them():
    first = {"label": "GBM", "level": 0.1, "repeat": 0, "value": 0.2, "metric_name": "error"}
    assert widgets_curve._figure("Table", [first])["layout"]["yaxis"]["tickformat"].endswith("%")



def test_a_curve_fits_both_models_to_the_same_labels_and_can_be_stopped():
    data = datasets.load("planted_flips").sample(0.3)
    operations = [{"op": "drop_instances", "ids": [data.ids[0]]}, *noise.operations_of(data, 0.6, 0.2, 0, 0)]
    settings = noise.settings("Table", data, {"n_iterations": 3, "random_state": 0}, operations, ())
    arguments = curve.sweep("Table", data, settings, repeats=2)
    assert arguments["before"] == operations[:1] and arguments["known"] == 0.6 and arguments["vary"] == "share"
    events = []
    cells = curve.curve(**arguments, callbacks=[events.append])
    assert len(cells) == len(events) == events[0].total == 2 * 5 * 2
    assert events[-1].detail["metric_name"] == "error" and 0 <= cells[0]["value"] <= 1
    again = curve.curve(**arguments, callbacks=[lambda event: event.index == 2])
    assert again == cells[:3]
    levels = curve.bands(cells)
    assert levels["HGBM"][0] == [0.0, 0.1, 0.2, 0.3, 0.4] and len(levels["GBM"][2]) == 5
    assert curve.verdict(cells, "HGBM", "GBM").startswith("HGBM is ahead of GBM at ")


def test_a_tensor_is_measured_by_the_share_that_is_known():
    data = datasets.load("planted_sensors").sample(0.3)
    params = {"n_iterations": 2, "n_factors": 2, "random_state": 0}
    settings = noise.settings("Tensor", data, params, [], ("sensor", "time", "quantity"))
    arguments = curve.sweep("Tensor", data, settings, repeats=1)
    assert arguments["vary"] == "known"
    cells = curve.curve(**arguments)
    assert {cell["level"] for cell in cells} == {0.05, 0.1, 0.15, 0.2, 0.3}
    assert curve.verdict(cells, "HTF", "PTF") == "Two repeats or more are needed to compare."


def test_the_verdict_counts_levels_by_their_pairs():
    def cells(level, gains):
        return [{"label": label, "level": level, "repeat": k, "value": 0.5 - gain * (label == "new")}
                for k, gain in enumerate(gains) for label in ("new", "old")]  # fmt: skip

    levels = cells(0.0, [0.0, 0.0]) + cells(0.1, [0.1, 0.12]) + cells(0.2, [-0.1, -0.2]) + cells(0.3, [0.5, -0.5])
    sentence = curve.verdict(levels, "new", "old")
    assert sentence == "new is ahead of old at 1 of 4 levels, and behind at 1, by more than a standard error."


def test_a_page_begins_with_what_the_data_are():
    suits = {
        "planted_noise": "Table",
        "digits_views": "Table",
        "planted_ratings": "Matrix",
        "planted_sensors": "Tensor",
    }
    assert {name: noise.suited(datasets.load(name)) for name in suits} == suits


@pytest.mark.parametrize(
    ("columns", "mode"),
    [
        ({"width": 0.25, "city": "c"}, "Table"), ({"age": 1, "children": 1}, "Table"),
        ({"userId": 1, "movieId": 1}, "Matrix"), ({"width": 0.25, "height": 0.5, "city": "c"}, "Table"),
    ],
)  # fmt: skip
def test_measurements_that_come_again_are_no_codes(columns, mode):
    values = {name: [unit * (k * (3 + place) % 40) if unit != "c" else f"c{k % 9}" for k in range(400)]
              for place, (name, unit) in enumerate(columns.items())}  # fmt: skip
    table = pl.DataFrame({"id": [f"r{k}" for k in range(400)]} | values)
    data = hc.HetData({"t": table}, target=pl.DataFrame({"id": table["id"], "y": [k / 7 for k in range(400)]}))
    assert noise.suited(data) == mode


@pytest.mark.parametrize("when", [lambda k: 2019 + k % 5, lambda k: 10**9 + 37 * k])
@pytest.mark.parametrize(("names", "mode"), [(("user", "item", "Year"), "Matrix"), (("plot", "crop", "year"), "Table")])
def test_ratings_with_the_time_of_each_are_a_matrix(names, mode, when):
    rows = pl.DataFrame({"id": [f"r{k}" for k in range(400)], names[0]: [f"u{k % 60}" for k in range(400)]})
    rows = rows.with_columns(pl.Series(names[1], [f"i{k % 70}" for k in range(400)]))
    rows = rows.with_columns(pl.Series(names[2], [when(k) for k in range(400)]))
    data = hc.HetData({"t": rows}, target=pl.DataFrame({"id": rows["id"], "y": [k / 7 for k in range(400)]}))
    assert noise.suited(data) == mode
    assert ("records" in advise(data).text) == (mode == "Matrix")


def test_other_columns_of_codes_are_other_settings_in_words_too():
    old, new = ({"HMF": Setting("HMF", form={"form": "codes", "columns": each})} for each in (["u", "i"], ["i", "u"]))
    assert widgets_progress.changes(old, new) == "columns u, i → i, u"
    events = [RoundEnd("", 0, 1, {}, detail={"metric": {"left_out": 0.5}, "metric_name": "RMSE"})]
    before, after = (training.outcome(each["HMF"], events) for each in (old, new))
    assert training.difference(before, after) == "columns u, i → i, u: RMSE stays at 0.500."


def test_ratings_that_were_read_as_classes_are_named():
    table = pl.DataFrame({"id": [f"r{k}" for k in range(40)], "user": [f"u{k % 5}" for k in range(40)],
                          "item": [f"i{k % 8}" for k in range(40)]})  # fmt: skip
    for classes, text in (("12345", "The ratings are read as classes"), (("good", "bad"), "These data are no matrix")):
        target = pl.DataFrame({"id": table["id"], "y": [classes[k % len(classes)] for k in range(40)]})
        assert noise.why_not("Matrix", hc.HetData({"t": table}, target=target, task="classification")).startswith(text)


def test_features_with_numbered_classes_are_not_called_ratings():
    pixels = {f"pixel_{j}": [k % 7 for k in range(40)] for j in range(9)}
    table = pl.DataFrame({"id": [f"r{k}" for k in range(40)]} | pixels)
    data = hc.HetData({"t": table}, target=(table["id"], [str(k % 3) for k in range(40)]), task="classification")
    assert noise.why_not("Matrix", data).startswith("These data are no matrix")


def test_records_that_lack_a_code_are_counted():
    table = pl.DataFrame({"id": [f"r{k}" for k in range(40)], "user": [f"u{k % 5}" for k in range(40)]})
    whole = table.with_columns(item=pl.Series([f"i{k % 8}" for k in range(40)]))
    gaps = whole.with_columns(item=pl.when(pl.col("id") != "r3").then("item"))
    target = pl.DataFrame({"id": table["id"], "y": [k / 7 for k in range(40)]})
    expected = [(whole, ""), (gaps, "Left out: 1 record without user or item.")]
    for frame, text in expected:
        assert noise.without_code(hc.HetData({"t": frame}, target=target), ["user", "item"]) == text


# Exports


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "mode", "codes"),
    [("planted_flips", "Table", ()), ("planted_sensors", "Tensor", ("sensor", "time", "quantity"))],
)
def test_the_script_of_a_run_prints_its_number(example, mode, codes, tmp_path):
    data = datasets.load(example)
    operations = noise.operations_of(data, 0.5, 0.2, 1.0, 0)
    params = {"n_iterations": 4, "random_state": 0}
    setting = noise.settings(mode, data, params, operations, codes)[noise.MODES[mode].learned]
    result = ran(setting, data)
    script = export.script_of_run(training.run_of("Noise", setting, {"example": example}, example, "me"))
    path = tmp_path / "run.py"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)], env=child_environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == repr(result.scores["held_out"])


# Reopening


@pytest.mark.parametrize(
    ("example", "mode", "codes", "expected"),
    [
        (
            "planted_flips", "Table", (),
            {"flipped": 20, "noise_rounds_classification": 15, "weighting_classification": 0.5},
        ),  # fmt: skip
        ("planted_noise", "Table", (), {"table_disturbed": 20, "table_sd": 2.0, "noise_rate_regression": 0.3}),
        ("planted_ratings", "Matrix", ("user", "item"), {"matrix_users": "user", "matrix_epochs": 15}),
        ("planted_sensors", "Tensor", ("sensor", "time", "quantity"), {"tensor_rate": 0.3, "tensor_disturbed": 20}),
    ],
)
def test_a_run_is_opened_again_with_its_controls(example, mode, codes, expected):
    data = datasets.load(example)
    before = [{"op": "sample", "fraction": 0.5, "seed": 0}]
    operations = before + noise.operations_of(data, 0.6, 0.2, 2.0, 0)
    params = TABLE | ({"weighting": 0.5} if mode == "Table" else {})
    setting = next(iter(noise.settings(mode, data, params, operations, codes).values()))
    run = training.run_of("Noise", setting, {"example": example}, example, "me")
    assert reopening.operations(run) == before and reopening.page_file(run) == "pages/5_Noise.py"
    values = reopening.controls(run, "", [], [])
    assert expected.items() <= values.items()
    assert values["mode"] == mode and values[f"{mode.lower()}_known"] == 60


def test_a_matrix_is_opened_again_with_what_was_chosen_and_what_was_given():
    params = {"n_factors": "auto", "learning_rate": 0.3, "regularisation": "auto", "random_state": 0}
    setting = noise.settings("Matrix", datasets.load("planted_ratings"), params, [], ("user", "item"))["HMF"]
    values = reopening.controls(training.run_of("Noise", setting, {"example": "planted_ratings"}, "", "me"), "", [], [])
    switches = {"matrix_factorsauto": True, "matrix_rateauto": False, "matrix_penaltyauto": True}
    assert switches.items() <= values.items() and values["matrix_rate"] == 0.3
    assert not {"matrix_factors", "matrix_penalty"} & set(values)


def test_a_table_of_classes_is_opened_again_with_trees_as_they_were_sized():
    data, switch = datasets.load("planted_flips"), "noise_leaves_classificationauto"

    def opened(params):
        setting = noise.settings("Table", data, params, [], ())["HGBM"]
        return reopening.controls(training.run_of("Noise", setting, {"example": "planted_flips"}, "", "me"), "", [], [])

    auto = opened({"max_leaf_nodes": "auto", "column_sample": "auto"})
    assert auto[switch] and not {"noise_leaves_classification", "noise_columns_classification"} & set(auto)
    given = opened({"max_leaf_nodes": 6, "column_sample": 0.3})
    assert not given[switch] and given["noise_leaves_classification"] == 6
    assert given["noise_columns_classification"] == 30


def test_the_leaves_that_were_chosen_are_reported():
    both = noise.settings("Table", datasets.load("planted_flips"), {"max_leaf_nodes": "auto"}, [], ())
    events = {
        label: [RoundEnd("", 0, 1, {}, detail={"choices": {"max_leaf_nodes": n}})] for label, n in zip(both, (8, 16))
    }
    assert noise.chosen(both, events) == "Leaves of a tree: HGBM 8; GBM 16."
    given = {label: replace(each, params={"max_leaf_nodes": 4}) for label, each in both.items()}
    assert noise.chosen(given, events) == ""
    params = {"max_leaf_nodes": 4, "column_sample": "auto"}
    columns = {label: replace(each, params=params) for label, each in both.items()}
    assert noise.chosen(columns, {label: [RoundEnd("", 0, 1, {})] for label in both}) == ""


def test_parameters_of_a_matrix_are_called_as_their_controls_are():
    before, after = (Outcome(params=dict.fromkeys(("n_factors", "regularisation"), value)) for value in ("auto", 3))
    assert changed(before, after) == ["factors D 'by cross-validation' → 3", "penalty λ 'by cross-validation' → 3"]


def test_what_auto_became_is_reported_for_both_or_why_nothing_is_chosen():
    params = {"n_factors": "auto", "learning_rate": 0.3, "regularisation": "auto", "as_printed": False}
    both = noise.settings("Matrix", datasets.load("planted_ratings"), params, [], ("user", "item"))
    chosen = {"HMF": {"n_factors": 3, "regularisation": 0.02}, "MF": {"n_factors": 0, "regularisation": 0.1}}

    def events(choices):
        return {label: [RoundEnd("", 0, 1, {}, detail=choices[label])] for label in both}

    text = noise.chosen(both, events({label: {"choices": numbers} for label, numbers in chosen.items()}))
    assert text == (
        "Chosen by cross-validation: HMF Factors D = 3, Penalty λ = 0.02; MF Factors D = 0, Penalty λ = 0.1."
    )
    none = events({"HMF": {}, "MF": {}})
    fixed = "Factors D = 50, Penalty λ = 0.095: "
    assert noise.chosen(both, none) == f"{fixed}cross-validation is for 20 to 50,000 ratings."
    printed = {label: replace(each, params=each.params | {"as_printed": True}) for label, each in both.items()}
    assert noise.chosen(printed, none) == f"{fixed}as printed nothing is left out to choose by."
    numbers = {"n_factors": 3, "regularisation": 0.1}
    given = {label: replace(each, params=each.params | numbers) for label, each in both.items()}
    assert noise.chosen(given, none) == "" and noise.chosen(both, {}) == ""


def _held(residuals, **more):
    rows = {"id": [f"r{k}" for k in range(len(residuals))], "residual": residuals, "held": [True] * len(residuals)}
    return pl.DataFrame(rows | more)


def test_what_the_weights_bought_is_reported_with_its_standard_error():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=200)
    names = ("HGBM", "GBM")
    less = noise_rows.bought(_held(0.5 * errors), _held(errors), True, names)
    assert "200 rows held out, GBM, the mean model alone" in less and "50.0% less error" in less
    assert "100.0% more error" in noise_rows.bought(_held(errors), _held(0.5 * errors), True, names)
    even = noise_rows.bought(_held(errors), _held(rng.permutation(errors)), True, names)
    assert even.endswith("no difference beyond two standard errors.")
    assert noise_rows.bought(_held([1.0]), _held([1.0]), True, names).startswith("Hold rows out")
    classes = [
        pl.DataFrame({"id": ["a", "b", "c", "d"], "truth": list("xyxy"), "prediction": list(labels), "held": True})
        for labels in ("xyxx", "yxyx")
    ]
    assert "errs on 100.0%, HGBM with its weights on 25.0%" in noise_rows.bought(*classes, False, names)
    assert noise_rows.bought(classes[0], classes[0], False, names).endswith("may still tell which labels to doubt.")


def test_where_all_rows_counted_the_same_no_weight_bought_anything():
    errors, names = np.random.default_rng(0).normal(size=200), ("HGBM", "GBM")
    # Of 240 rows of one's own: 0.996 to 1.
    nearly = 1.0 - 0.004 * (errors > 1)
    alike, apart = (_held(0.5 * errors, weight=each) for each in (nearly, np.abs(errors)))
    assert noise_rows.trusts_alike(alike) and not noise_rows.trusts_alike(apart)
    found = noise_rows.bought(alike, _held(errors), True, names)
    assert "HGBM, which trusts all rows alike, 0.4" in found and found.endswith(": 50.0% less error.")
    assert "the weights bring 50.0% less" in noise_rows.bought(apart, _held(errors), True, names)


def test_of_a_factorization_the_deviations_tell_whether_all_rows_counted_the_same():
    errors = np.random.default_rng(0).normal(size=200)
    alike, apart = (_held(0.5 * errors, std=each) for each in (np.full(200, 0.7), np.abs(errors)))
    assert noise_rows.trusts_alike(alike) and not noise_rows.trusts_alike(apart)
    assert "HMF, which trusts all rows alike" in noise_rows.bought(alike, _held(errors), True, ("HMF", "MF"))
    assert not noise_rows.trusts_alike(_held(errors))


def test_how_many_flipped_labels_were_caught_stands_beside_what_chance_gives():
    ranked = pl.DataFrame({"corrupted": [True, False, True, False, False, False, False, True, False, True]})
    assert noise_rows.caught(ranked) == "Of the 4 least trusted labels 50% are flipped ones; by chance 40%"


def test_what_the_weights_bought_tells_of_the_band_where_both_have_one():
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(300) % 2, 0.2, 2.0)
    errors, names = spread * rng.normal(size=300), ("HMF", "MF")
    bands = [_held(errors, std=each) for each in (spread, np.full(300, errors.std()))]
    found = noise_rows.bought(*bands, True, names)
    gap = np.log(errors.std() / spread) + 0.5 * ((errors / errors.std()) ** 2 - (errors / spread) ** 2)
    assert f"negative log-likelihood of {gap.mean():.3g} a row below that of a band of one width" in found
    worse = noise_rows.bought(*bands[::-1], True, names)
    assert f"of {gap.mean():.3g} a row above" in worse
    same = noise_rows.bought(bands[0], bands[0], True, names)
    assert "Their bands do not differ" in same
    # a band that is no better, or worse, was not bought
    words = "What is gained by the weights is the band, not the mean."
    assert words in found and words not in worse and words not in same


@pytest.mark.parametrize("chance, end", [(True, "saves 0.4 points here, within chance."), (False, "0.4 points here.")])
def test_a_difference_that_may_be_chance_is_called_so(chance, end):
    about = noise.MODES["Table"]
    text = widgets._verdict(about, 0.202, 0.206, "error", "held-out", chance=chance)
    assert text.replace("\\", "").endswith(end)
    assert ("**" in text) != chance


@pytest.mark.parametrize("good, plain, bold", [(0.1, 0.2, "**HGBM "), (0.2, 0.1, "**GBM "), (0.2, 0.20001, "")])
def test_the_better_of_two_models_is_bold(good, plain, bold):
    text = widgets._verdict(noise.MODES["Table"], good, plain, "error", "held-out", chance=False)
    assert text.count("**") == (2 if bold else 0) and bold in text


def test_weights_that_are_all_the_same_saved_nothing():
    text = widgets._verdict(noise.MODES["Matrix"], 0.316, 0.321, "RMSE", "held-out", chance=True, alike=True)
    assert text.endswith("; HMF trusts all rows alike here.") and "saves" not in text


def _logged(names):
    """Return records of two codes and a day, and how their table was read."""
    days = [dt.date(2026, 1, 1) + dt.timedelta(k % 28) for k in range(400)]
    codes = {name: [f"{name}{k % size}" for k in range(400)] for name, size in zip(names, (9, 13))}
    table = pl.DataFrame({"id": [f"r{k}" for k in range(400)]} | codes | {"day": days})
    return hc.HetData({"t": table}, target=pl.DataFrame({"id": table["id"], "y": [k / 7 for k in range(400)]}))


@pytest.mark.parametrize(("names", "mode"), [(("sensor", "quantity"), "Tensor"), (("user", "item"), "Matrix")])
def test_a_day_is_a_code_of_readings_and_no_code_of_ratings(names, mode):
    assert noise.suited(_logged(names)) == mode


def test_days_are_codes_that_are_written_as_days():
    """They were listed and drawn as 20454.0, days since 1970."""
    data = _logged(("sensor", "quantity"))
    predictions = pl.DataFrame({"id": data.ids.astype(str), "prediction": data.y, "label": data.y})
    predictions = predictions.with_columns(std=pl.lit(0.1), held_out=pl.lit(None, pl.Float64))
    rows = noise_rows.scored_codes(predictions, data, ["sensor", "day"])
    assert rows["code:day"][:2].to_list() == ["2026-01-01", "2026-01-02"]
    one = noise_rows.sensor(rows, "day", {"sensor": "sensor0"})
    assert noise_rows.are_dates(one["code:day"]) and one["at"].min() == 1767225600e3


def test_flips_that_an_example_came_with_count_beside_those_of_the_slider():
    data, noise_of = datasets.make_flipped()
    truth = widgets.true_labels("planted_flips")
    assert widgets.true_labels("digits_views") is None
    wrong = noise_rows.corrupted(data, [], truth)
    assert wrong.height == int((data.y != noise_of.signal).sum()) > 200
    operations = noise.operations_of(data, 0.7, 0.2, 0.0, 3)
    sliders, both = noise_rows.corrupted(data, operations), noise_rows.corrupted(data, operations, truth)
    right = dict(zip(truth["id"], truth["truth"]))
    after = scenarios.apply(data, operations)
    seen = {one: label for one, label in zip(after.data.ids, after.y) if label is not None}
    assert set(both["id"]) == {one for one, label in seen.items() if label != right[one]}
    assert both.height > sliders.height and all(right[one] == was for one, was in zip(both["id"], both["was"]))


def _trained(losses, total, kept=None):
    """Return rounds whose last is that of the kept model where a training ended early, and its result."""
    events = [
        RoundEnd("a", k, total, {"held_out": loss}, detail={"metric_name": "error", "metric": {"held_out": loss / 10}})
        for k, loss in enumerate(losses)
    ]  # fmt: skip
    return events, RunResult(scores={"metric": "error", "held_out": losses[-1] / 10 if kept is None else kept})


def _of(figure, name):
    return next(trace for trace in figure["data"] if trace.get("name") == name)


def test_a_curve_is_of_rounds_and_the_kept_model_is_a_star(monkeypatch):
    drawn = {}
    monkeypatch.setattr(widgets, "live_chart", lambda figure, key, points: drawn.update({key: figure}))
    early, result = _trained([0.52, 0.51, 0.509, 0.54], 100)
    whole, other = _trained([0.52, 0.515, 0.51], 3, kept=0.05)
    widgets.curves("Table", {"HGBM": early, "GBM": whole}, {"HGBM": early}, {"HGBM": result, "GBM": other})
    loss, error = drawn["noise_loss"], drawn["noise_error"]
    assert list(_of(loss, "HGBM")["y"]) == [0.52, 0.51, 0.509] and _of(loss, "HGBM, kept")["y"] == [0.54]
    assert list(_of(loss, "HGBM, before")["y"]) == [0.52, 0.51, 0.509]
    assert list(_of(loss, "GBM")["y"]) == [0.52, 0.515, 0.51]
    assert "GBM, kept" not in [each.get("name") for each in loss["data"]]
    assert _of(error, "GBM, kept")["y"] == [0.05] and error["data"][-1]["name"] == "the kept model"


def test_a_stopped_training_s_last_round_is_a_round():
    events, result = _trained([0.52, 0.51, 0.509], 100)
    assert widgets._came_to("Table", events, replace(result, stopped=True))[0] is False
    assert widgets._came_to("Table", events, result)[0] and not widgets._came_to("Matrix", events, result)[0]
