"""What the Collective page works out: settings side by side, the verdict, inference again, who changes, reopening."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from streamlit.proto.Metric_pb2 import Metric
from streamlit.testing.v1 import AppTest

import datasets
import hetcore as hc
from hetcore import metrics, model_files
from hetcore.data import HetData
from hetcore.events import RoundEnd
from hetcore.figures import graph as figures_graph
from studio import scenarios
from studio.jobs.job import Setting
from studio.jobs.worker import child_environment
from studio.runs import export, reopening
from studio.runs.run import Run
from studio.views.collective import edits as collective_edits
from studio.views.collective import settings, widgets, widgets_edits, widgets_graph, widgets_node
from studio.views.collective.widgets_node import Trained
from studio.views.common.curves import KEPT
from studio.views.common.paired import Paired
from studio.views.common.training import run_of
from studio.views.common.widgets_graph import coded
from tests.jobs.running import PATIENCE

PARAMS = {
    "n_iterations": 2, "first_trees": 10, "trees_per_stage": 2, "max_depth": 3, "learning_rate": 0.1, "leaf": "mean",
    "summary": "mean", "no_neighbor": "nan", "random_state": 0,
}  # fmt: skip
LABELS = {"op": "labels", "fraction": 0.4, "seed": 0}
RECIPE = {"example": "autocorrelated"}


@pytest.fixture(scope="module")
def data():
    return datasets.load("autocorrelated")


@pytest.fixture(scope="module")
def fitted(data):
    """MGB, and the labels it knows."""
    setting = settings.settings(data, PARAMS, ["rf1", "rf2", "rf3", "rf4"], ["links"], [LABELS])["MGB"]
    scenario = scenarios.apply(data, setting.operations)
    model = hc.MGBRegressor(**setting.params).fit(scenario.data, scenario.y, eval_y=scenario.eval_y, **setting.fit)
    return model, model_files.dumps(model), scenario


def test_three_settings_get_the_parameters_that_they_take(data):
    made = settings.settings(data, PARAMS | {"as_printed": True}, ["rf1", "rf4"], ["links"], [LABELS])
    assert [setting.estimator for setting in made.values()] == ["GBRegressor", "RGBRegressor", "MGBRegressor"]
    assert "summary" not in made["GB"].params and made["RGB"].params["summary"] == "mean"
    assert "features" not in made["RGB"].params and made["MGB"].params["features"] == ["rf1", "rf4"]
    for setting in made.values():
        getattr(hc, setting.estimator)(**setting.params)
        assert setting.fit == {"graph": ["links"]} and setting.operations == [LABELS]


def test_classes_are_one_class_of_model_with_other_features():
    digits = datasets.load("digits_views")
    made = settings.settings(digits, PARAMS, ["rf1", "rf2"], ["mor"], [])
    assert {setting.estimator for setting in made.values()} == {"MGBClassifier"}
    assert [setting.params["features"] for setting in made.values()] == [[], ["rf1"], ["rf1", "rf2"]]
    assert "leaf" not in made["MGB"].params
    # plain boosting is not told what it does not use
    ways = [settings.settings(digits, PARAMS | {"direction": way}, ["rf1"], ["mor"], []) for way in ("in", "out")]
    assert ways[0]["GB"] == ways[1]["GB"] and ways[0]["MGB"] != ways[1]["MGB"]
    assert not {"direction", "summary", "no_neighbor"} & {*ways[0]["GB"].params}


def event(label: str, index: int, held_out: float, moran: float, best: int) -> RoundEnd:
    """Return an event of stage `index` of 2."""
    detail = {
        "metric_name": "RMSE", "metric": {"train": 1.0, "held_out": held_out}, "best_stage": best,
        "moran": {"links": moran}, "band": {"links": [-0.02, 0.02]}, "sweeps": [], "visits": [],
        "label_moran": {},
    }  # fmt: skip
    return RoundEnd(label, index, 2, {"train": 1.0}, detail=detail)


def ran(label: str, values: list[float], moran: float, best: int = 1) -> list[RoundEnd]:
    """Return the events of a training."""
    return [event(label, k, value, moran, min(best, k)) for k, value in enumerate(values)]


@pytest.mark.parametrize(
    ("mgb", "moran", "message"),
    [
        (8.0, 0.01, "saves 20.0% of the error of GB here. What MGB leaves is noise along links"),
        (10.05, 0.1, "hardly changes the error (−0.5%) here. What MGB leaves is still alike along links"),
        (12.0, -0.1, "costs 20.0% of the error of GB here. What MGB leaves differs along links"),
    ],
)
def test_the_verdict_says_whether_neighbours_help_and_what_is_left(mgb, moran, message):
    events = {"GB": ran("GB", [11, 10], 0.2), "RGB": ran("RGB", [9, 9.5], 0.2), "MGB": ran("MGB", [9, mgb], moran)}
    assert message in settings.verdict(events, "links")
    assert settings.verdict(events, "links").startswith("RMSE, held out: GB 10.0, RGB 9.50")


@pytest.mark.parametrize(
    ("standard_error", "message"),
    [(0.9, "saves 20.0% of the error of GB"), (1.1, "makes no difference to GB beyond two standard errors")],
)
def test_a_difference_within_chance_is_no_difference(standard_error, message):
    events = {"GB": ran("GB", [11, 10], 0.2), "RGB": ran("RGB", [9, 9.5], 0.2), "MGB": ran("MGB", [9, 8], 0.1)}
    assert message in settings.verdict(events, "links", {"MGB": Paired(-2.0, standard_error)})


def test_the_verdict_says_how_many_predictions_still_moved():
    events = {"GB": ran("GB", [11, 10], 0.2), "MGB": ran("MGB", [9, 8], 0.0)}
    last = events["MGB"][-1].detail
    for moving, visits, message in (
        ([5, 0], [200, 9], "settled after 2 sweeps."),
        ([1], [200], "1 of 200 predictions (0.5%)"),
    ):
        last |= {"moving": moving, "visits": visits}
        assert message in settings.verdict(events, "links")
    assert "above the band of noise" in settings.verdict(events | {"MGB": ran("MGB", [9, 8], 0.3)}, "links")


def _curves():
    from studio.views.collective import widgets
    from tests.studio.test_collective_logic import ran

    widgets.curves({label: ran(label, [10, 10], 0.0) for label in ("GB", "RGB", "MGB")}, {}, "links")


def test_where_no_model_infers_there_are_no_empty_axes():
    page = AppTest.from_function(_curves, default_timeout=PATIENCE).run()
    assert not page.exception and "No model has inferred anything." in [each.value for each in page.caption]


def _headline():
    from studio.views.collective import widgets
    from tests.studio.test_collective_logic import ran

    events = {"GB": ran("GB", [11, 10], 0.2), "RGB": ran("RGB", [9, 11], 0.2), "MGB": ran("MGB", [9, 8], float("nan"))}
    widgets.headline(events, "links", {})


def test_numbers_above_the_charts_have_true_minus_signs_and_a_dash_for_none():
    page = AppTest.from_function(_headline, default_timeout=PATIENCE).run()
    assert not page.exception
    shown = {each.label: (each.value, each.delta) for each in page.metric}
    assert shown["RMSE of RGB"] == ("11.0", "+10.0% to GB") and shown["RMSE of MGB"] == ("8.00", "−20.0% to GB")
    assert shown["Moran's I left"][0] == "–"
    looks = {each.label: (each.proto.direction, each.proto.color) for each in page.metric}
    assert looks["RMSE of RGB"] == (Metric.UP, Metric.RED) and looks["RMSE of MGB"] == (Metric.DOWN, Metric.GREEN)


def test_the_verdict_says_when_a_model_became_gb():
    events = {label: ran(label, [10, 10], 0.0) for label in ("GB", "RGB", "MGB")}
    assert "became GB" not in settings.verdict(events, "links")
    for labels, sentence in ((("MGB",), "here. MGB became GB: "), (("RGB", "MGB"), "here. RGB and MGB became GB: ")):
        for label in labels:
            events[label][-1].detail["became_gb"] = True
        assert sentence in settings.verdict(events, "links")


def test_the_verdict_is_of_the_stage_that_predicts():
    events = {"GB": ran("GB", [8, 10], 0.2, best=0), "MGB": ran("MGB", [8, 8], 0.0)}
    assert "hardly changes the error (+0.0%)" in settings.verdict(events, "links")
    events["MGB"] = ran("MGB", [8, 9], 0.0, best=0)
    events["MGB"][0].detail.update(moving=[0], visits=[200])
    assert "Inference of the kept model (★) settled after 1 sweep." in settings.verdict(events, "links")


def test_inferring_again_without_an_edit_is_the_prediction_of_the_fit(data, fitted):
    model, content, scenario = fitted
    found = collective_edits.infer(content, data, [LABELS], [])
    assert np.array_equal(found.predictions["prediction"].to_numpy(), model.predict(scenario.data, y=scenario.y))
    assert found.trace.shape[1] == data.n and found.trace.dtype == np.float32
    assert found.stages.shape == (model.n_stages_, data.n)
    np.testing.assert_allclose(found.stages[-1], found.predictions["prediction"].to_numpy(), rtol=1e-6)
    known = data.with_target(scenario.y).labelled
    assert np.allclose(found.trace[:, known], scenario.y[known].astype(np.float32), rtol=1e-4, atol=1e-4)


def test_colours_by_stage_are_a_byte_a_node():
    look = figures_graph.by_class(["a", None, "b"], ("a", "b"))
    found = coded([look.colour[[0, 0, 1]], look.colour], look)
    assert [*base64.b64decode(found["codes"])] == [0, 0, 255, 0, 255, 1] and (found["count"], found["nodes"]) == (2, 3)
    assert found["palette"] == list(look.legend.values())
    look = figures_graph.signed(np.array([-2.0, 0.0, 2.0, np.nan]), "residual")
    found = coded([look.colour, 9 * look.colour], look)
    assert [*base64.b64decode(found["codes"])] == [0, 127, 254, 255] * 2 and found["high"] == -found["low"] > 0


def near_of(graph, node, data):
    """Return the ids of a node's neighbours."""
    return data.ids[graph.indices[graph.indptr[node] : graph.indptr[node + 1]]].tolist()


def test_a_hidden_label_changes_the_neighbourhood_and_not_the_far_side(data, fitted):
    _, content, scenario = fitted
    graph, known = data.graphs["links"], np.flatnonzero(data.with_target(scenario.y).labelled)
    node = int(known[np.argmax(np.abs(scenario.y[known].astype(float)))])
    before = collective_edits.infer(content, data, [LABELS], [])
    after = collective_edits.infer(content, data, [LABELS], [{"op": "forget_labels", "ids": [data.ids[node]]}])
    moved = collective_edits.changes(before.predictions, after.predictions)
    changes_found = collective_edits.effects(data, [{"op": "forget_labels", "ids": [data.ids[node]]}], before, after)
    assert changes_found["id"].to_list() == moved["id"].to_list()
    away = dict(zip(changes_found["id"], changes_found["links away"]))
    assert all(away[one] == 1 for one in set(changes_found["id"]) & set(near_of(graph, node, data)))
    assert changes_found["settled"].to_list() == [
        not collective_edits.unsettled(before)[data.position[one]] for one in changes_found["id"]
    ]
    assert set(moved["id"]) & set(near_of(graph, node, data)) and moved.height < data.n / 2
    assert moved["change"].abs().is_sorted(descending=True)
    row = moved.row(0, named=True)
    assert row["after"] - row["before"] == pytest.approx(row["change"])


def test_a_cut_edge_changes_its_ends(data, fitted):
    _, content, scenario = fitted
    known = data.with_target(scenario.y).labelled
    a, b, _ = data.graphs["links"].edges()
    at = np.flatnonzero(known[a] & known[b])[0]
    ends = [str(data.ids[a[at]]), str(data.ids[b[at]])]
    before = collective_edits.infer(content, data, [LABELS], [])
    cut = {"op": "edges", "name": "links", "add": [], "cut": [ends]}
    after = collective_edits.infer(content, data, [LABELS], [cut])
    assert set(collective_edits.changes(before.predictions, after.predictions)["id"]) & set(ends)


def test_changes_of_classes_are_of_the_probability_of_the_class_of_before():
    before = pl.DataFrame({"id": ["a", "b"], "prediction": ["x", "y"], "p:x": [0.9, 0.2], "p:y": [0.1, 0.8]})
    after = pl.DataFrame({"id": ["a", "b"], "prediction": ["y", "y"], "p:x": [0.3, 0.1], "p:y": [0.7, 0.9]})
    moved = collective_edits.changes(before, after)
    assert moved.row(0) == ("a", "x", "y", pytest.approx(-0.6)) and moved.row(1) == ("b", "y", "y", pytest.approx(0.1))
    assert collective_edits.changes(before, before).height == 0


def test_residuals_are_of_known_and_hidden_labels():
    frame = pl.DataFrame({"label": [1.0, None, None], "held_out": [None, 5.0, None], "prediction": [2.0, 3.0, 4.0]})
    assert np.array_equal(collective_edits.residuals(frame, "regression"), [-1.0, 2.0, np.nan], equal_nan=True)
    names = pl.DataFrame({"label": ["p", None, None], "prediction": ["p", "q", "q"]})
    names = names.with_columns(held_out=pl.Series([None, "p", None], dtype=pl.String))
    assert np.array_equal(collective_edits.residuals(names, "classification"), [0.0, 1.0, np.nan], equal_nan=True)


def test_one_node_s_neighbours_and_columns(data):
    degree = data.graphs["links"].degree
    place = int(np.argmax(degree))
    frame = pl.DataFrame({"id": data.ids.tolist(), "label": data.y, "prediction": data.y + 1})
    near = collective_edits.neighbours(data, "links", place, frame)
    assert near.height == degree[place] and near.columns == ["id", "weight", "label", "prediction"]
    about = collective_edits.columns_of(data, place)
    assert about.columns == ["source", "column", "value"]
    assert about.height == sum(len(source.kinds) for source in data.sources.values())


def test_of_classes_those_that_turned_are_counted_apart():
    rows = [("a", "1", "1", -0.25), ("b", "1", "8", -0.125)]
    moved = pl.DataFrame(rows, ["id", "before", "after", "change"], orient="row")
    turned = "1 prediction turned (cut): most b, 1 → 8"
    assert widgets_edits.changed_text(moved[1:], "cut") == f"{turned}."
    assert widgets_edits.changed_text(moved[::-1], "cut") == f"{turned}; 1 other moved in probability alone."
    words = "No prediction turned (cut); 1 moved in probability alone, most a, by −0.25."
    assert widgets_edits.changed_text(moved[:1], "cut") == words
    numbers = pl.DataFrame({"id": ["a"], "before": [1.0], "after": [2.5], "change": [1.5]})
    assert widgets_edits.changed_text(numbers, "cut") == "1 prediction changed (cut): most a, 1 → 2.5."


def test_data_that_do_not_fit_are_reported(data):
    assert settings.why_not(data) == ""
    assert "these data have none" in settings.why_not(data.select(graphs=[]))
    assert "have no label" in settings.why_not(data.with_target(None))


def test_a_run_opens_again_with_its_edits(data):
    edits = [
        {"op": "edges", "name": "links", "add": [], "cut": [["a", "b"]]},
        {"op": "forget_labels", "ids": ["c"]},
        {"op": "edges", "name": "links", "add": [["a", "c"]], "cut": []},
    ]
    earlier = [{"op": "noise", "name": "features", "sd": 1.0, "seed": 0}]
    setting = settings.settings(data, PARAMS, ["rf1", "rf3"], ["links"], [*earlier, LABELS, *edits])["MGB"]
    stored = json.loads(json.dumps(setting.stored(RECIPE)))
    run = Run("anna", "Collective", setting.estimator, "Planted", "digest", settings=stored)
    assert reopening.operations(run) == earlier
    assert reopening.page_file(run) == "pages/3_Collective.py"
    values = reopening.controls(run, "Planted", data.source_names, data.graph_names)
    assert values["rf"] == ["rf1", "rf3"] and values["stages"] == 2 and values["share"] == 40
    assert json.loads(values["collective edits digest"]) == edits and values["edits trained"]
    assert values["collective graphs Planted"] == ["links"] and values["to the letter"] is False


def test_of_runs_that_open_together_plain_boosting_sets_no_control_that_it_has_not(data):
    params = PARAMS | {"no_neighbor": "zero"}
    made = settings.settings(data, params, ["rf1", "rf3"], ["links"], [])
    runs = [Run("anna", "Collective", each.estimator, "Planted", "digest",
                settings=json.loads(json.dumps(each.stored(RECIPE)))) for each in made.values()]  # fmt: skip
    for order in (runs, runs[::-1]):
        values, _ = reopening.screen(order, "Planted", data.source_names, data.graph_names)
        assert values["fill False"] == "zero"


@pytest.mark.slow
def test_the_script_of_a_run_prints_its_number(data, fitted, tmp_path):
    model, _, scenario = fitted
    setting = settings.settings(data, PARAMS, ["rf1", "rf2", "rf3", "rf4"], ["links"], [LABELS])["MGB"]
    script = export.script_of_run(run_of("Collective", setting, RECIPE, "Planted", "anna"))
    (tmp_path / "run.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py")], env=child_environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    known = scenario.data.with_target(scenario.eval_y).labelled
    expected = metrics.rmse(scenario.eval_y[known].astype(float), model.predict(scenario.data)[known])
    assert float(done.stdout.split()[-1]) == pytest.approx(expected, rel=1e-12)


def test_the_stage_that_predicts_has_a_star_that_the_legend_tells_of():
    events = {"GB": ran("GB", [8, 10], 0.2, best=0), "MGB": ran("MGB", [9, 8], 0.0)}
    drawn = widgets.figures_of(events, {}, "links")
    data = drawn["error"]["data"]
    stars = {each["name"]: each for each in data if each.get("marker", {}).get("symbol") == "star"}
    assert list(stars) == ["GB, kept", KEPT] and (stars["GB, kept"]["x"], stars["GB, kept"]["y"]) == ([0], [8])
    # What is left along the links has a star too, but where the line ends at the same height.
    names = [each.get("name") for each in drawn["moran"]["data"]]
    assert "GB, kept" in names and "MGB, kept" not in names
    assert "−0.020 to 0.020" in settings.verdict(events, "links")


def test_the_band_that_is_drawn_is_the_one_of_the_verdict():
    events = {"GB": ran("GB", [8, 10], 0.2), "MGB": ran("MGB", [9, 8], 0.0)}
    for each in events["GB"]:
        each.detail["band"]["links"] = [-0.5, 0.5]
    band = widgets.figures_of(events, {}, "links")["moran"]["data"][0]
    assert sorted(set(band["y"])) == [-0.02, 0.02] and "−0.020 to 0.020" in settings.verdict(events, "links")


def test_a_node_names_its_class_before_the_first_training():
    ids = ["1", "2", "3"]
    links = {"links": pl.DataFrame({"source": ["1"], "target": ["2"]})}
    data = HetData({"a": pl.DataFrame({"id": ids, "x": [0.0, 1.0, 2.0]})}, links, (["1", "2"], ["<b>", "good"]))
    look, known = widgets_graph._look(data, None, None, None)
    assert known is None and look.text == ["label &lt;b&gt;", "label good", "no label"]


def test_the_whole_page_follows_an_edit_whose_inference_is_there_already(data, monkeypatch):
    state, looks, again = {}, [], []
    for name, stand_in in (("session_state", state), ("rerun", lambda: again.append(True))):
        monkeypatch.setattr(widgets_graph.st, name, stand_in)
    monkeypatch.setattr(widgets_graph.st, "fragment", lambda look, run_every: looks.append(look) or (lambda: None))
    monkeypatch.setattr(widgets_graph, "_drawn", lambda *given, **named: False)  # no worker has anything to do
    key = widgets_edits.EDITS + data.digest()
    state[key] = reopening.edits_text([{"op": "forget_labels", "ids": [str(data.ids[0])]}])
    widgets_graph.network(data, data, graph="links", trained={}, owner="anna")
    looks[0]()
    assert not again
    widgets_edits._undo(data.digest(), everything=True)
    looks[0]()
    assert again == [True]


def test_a_model_of_one_stage_has_no_colours_by_stage(data, monkeypatch):
    monkeypatch.setattr(widgets_graph.st, "session_state", {})
    trace, frame, model = np.zeros((1, data.n)), pl.DataFrame(), Trained("run", Setting("MGBRegressor"), None)
    found = [
        widgets_graph._by_stage(data, model, collective_edits.Inference(frame, trace, np.zeros((count, data.n))))
        for count in (1, 2)
    ]
    assert [len(each) for each in found] == [0, 2]


@pytest.mark.parametrize(("learned", "why"), [(True, "its label is known."), (False, "nothing around it moves enough")])
def test_a_prediction_that_stands_still_says_why_by_whether_its_label_is_known(data, monkeypatch, learned, why):
    captions = []
    monkeypatch.setattr(widgets_node.st, "caption", captions.append)
    monkeypatch.setattr(widgets_node, "chart", lambda *arguments: None)
    now = collective_edits.Inference(pl.DataFrame(), np.zeros((2, data.n)))
    widgets_node._sweeps(data, 0, pl.DataFrame({"id": []}), now, None, became="", learned=learned)
    assert captions[-1].startswith(f"It stands still: {why}")


@pytest.mark.parametrize(("became", "start"), [(True, "MGB became GB: "), (False, "GB predicts each node on its own")])
def test_a_node_without_sweeps_says_whether_its_model_became_gb(data, monkeypatch, became, start):
    captions, end = [], event("MGB", 1, 10.0, 0.0, best=1)
    end.detail["became_gb"] = became
    monkeypatch.setattr(widgets_node.st, "caption", captions.append)
    now = collective_edits.Inference(pl.DataFrame(), np.zeros((1, data.n)))
    widgets_node._sweeps(data, 0, pl.DataFrame(), now, None, became=settings.became({"MGB": end}))
    caption = captions[0].replace("\\", "")
    assert caption.startswith(start) and caption.endswith("there are no sweeps.")
