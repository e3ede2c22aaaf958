"""Runs beside each other: settings in words, an axis for each measure, who is right where they differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from hetcore.figures import basic
from studio.runs import compare, differences, table
from studio.runs.run import Run


def run(method: str = "GBCClassifier", metric: str = "error", **settings) -> Run:
    """Return a run with these settings."""
    given = {"data": {"example": "digits_views"}, "operations": [], "params": {}} | settings
    return Run("anna", "Consensus", method, "digits_views", settings=given, results={"scores": {"metric": metric}})


def predictions(text, **more) -> pl.DataFrame:
    """Return predictions of the instances a, b, c."""
    return pl.DataFrame({"id": list("abc")} | more | {"prediction": text})


def test_only_settings_that_differ_are_reported_and_in_words():
    noisy = [{"op": "noise", "name": "fou", "sd": 2.0, "seed": 0}]
    runs = {"1. a": run(params={"lambda0": 1.0, "max_depth": 3}),
            "2. b": run(params={"lambda0": 0.5, "max_depth": 3}, operations=noisy)}  # fmt: skip
    differences = {row[0]: row[1:] for row in compare.differing(runs).rows()}
    assert differences == {"changes to the data": ("none", "with noise of 2 sd in fou"), "λ0": ("1", "0.5")}
    assert compare.differing({"1. a": run(), "2. b": run()}).is_empty()


def test_a_setting_that_is_not_given_is_as_usual_and_long_changes_have_room():
    drop = [{"op": "drop_source", "name": name} for name in ("fou", "kar", "mor")]
    runs = {"1. a": run(params={"eta_on": None}, operations=drop), "2. b": run(params={"eta_on": "both"})}
    found = compare.differing(runs)
    assert found.rows()[1] == ("η on", "as usual", "both")
    room, text = compare.widths(found), found["1. a"][0]
    assert 6 * len(text) < room["1. a"] < 10 * len(text) and room["2. b"] < room["1. a"]
    assert compare.widths(pl.DataFrame({"a": ["x" * 1000]})) == {"a": compare.WIDEST}


def test_names_in_a_list_are_listed_as_words():
    runs = {"1. a": run(params={"features": ["rf1", "rf4"]}), "2. b": run(params={"features": []})}
    assert compare.differing(runs).rows() == [("features", "rf1, rf4", "none")]


def test_a_value_is_in_the_words_of_its_control():
    runs = {"1. a": run(params={"direction": "both", "no_neighbor": "nan"}),
            "2. b": run(params={"direction": "in", "no_neighbor": "zero"})}  # fmt: skip
    assert compare.differing(runs).rows() == [
        ("neighbours", "on either side of a link", "those that point here"),
        ("no known neighbour", "missing", "zero"),
    ]
    rows = table.table(runs.values())["differs in"]
    assert rows[1] == "neighbours 'those that point here', no known neighbour zero"
    before, after = (differences.Outcome(params=each.settings["params"]) for each in runs.values())
    assert "neighbours 'on either side of a link' → 'those that point here'" in differences.changed(before, after)


def test_an_operation_of_another_version_is_no_failure():
    differences = compare.differing({"1. a": run(operations=[{"op": "fly"}]), "2. b": run()}).rows()
    assert differences == [("changes to the data", "a change that this studio does not know", "none")]


def test_each_measure_has_an_axis_and_each_run_its_colour():
    runs = {"1. a": run(), "2. b": run("MGBRegressor", "RMSE"), "3. c": run("TwoWeakLearnerClassifier")}
    history = pl.DataFrame({"metric:held_out": [0.5, 0.25]})
    longer = pl.DataFrame({"metric:train": [0.1] * 3, "metric:left_out": [0.3, None, 0.2]})
    drawn = compare.curves(runs, {"1. a": history, "2. b": history, "3. c": longer})
    assert list(drawn) == ["error", "RMSE"]
    names = [trace["name"] for trace in drawn["error"]["data"]]
    assert names == ["1. a", "3. c"]
    assert np.allclose(drawn["error"]["data"][0]["y"][:2], [0.5, 0.25])
    colours = {trace["name"]: trace["line"]["color"] for figure in drawn.values() for trace in figure["data"]}
    assert len(set(colours.values())) == 3
    assert compare.curves(runs, {}) == {}


def test_shares_of_transfer_have_the_target_and_methods_that_weigh_no_source_are_left_out():
    form = {"form": "domains", "target": "home"}
    runs = {"1. boosted": run("TrAdaBoostClassifier", form=form), "2. alone": run("TargetSVM", form=form)}
    runs["3. other"] = run()
    for each, shares in zip(runs.values(), ({"near": 0.5, "far": 0.25}, {"near": 0.0, "far": 0.0}, {"near": 1.0})):
        each.results["source_weights"] = shares
    found = {name: table.weights(each) for name, each in runs.items()}
    assert found["1. boosted"] == {"near": 0.5, "far": 0.25, "home": 0.25} and found["3. other"] == {"near": 1.0}
    assert [bar["name"] for bar in compare.weights_figure(found)["data"]] == ["1. boosted", "3. other"]


def test_weights_of_one_run_among_several_have_its_name_and_the_colour_of_its_curve():
    figure = compare.weights_figure({"1. MGB": {}, "2. GBC": {"a": 0.4, "b": 0.6}}, ["a", "b"])
    assert figure["layout"]["showlegend"] and figure["data"][0]["name"] == "2. GBC"
    assert figure["data"][0]["marker"]["color"] == basic.style(1)["colour"]


def test_who_is_right_where_classes_differ():
    first = predictions(["x", "x", "y"], held_out=["x", "y", None])
    second = predictions(["x", "y", "x"])
    differ = compare.instances({"1. a": first, "2. b": second})
    assert differ.select("id", "truth", "right").rows() == [("b", "y", "2"), ("c", None, None)]
    text = compare.differing_text({"1. a": first, "2. b": second}, differ)
    assert text.startswith("2 of 3 predictions differ between runs 1 and 2. Of the 1 with a known label, ")
    assert text.endswith("run 1 is right in 0, run 2 is right in 1.")


def test_numbers_are_sorted_by_how_far_they_lie_apart():
    frames = {f"{k}. r": predictions([0.0, float(k), 10.0 * k], label=[0.0, 1.0, None]) for k in (1, 2, 3)}
    differ = compare.instances(frames)
    assert differ["id"].to_list() == ["c", "b"] and differ["spread"].to_list() == [20.0, 2.0]
    assert differ["truth"].to_list() == [None, 1.0]
    assert compare.differing_text(frames, differ) == "2 of 3 predictions differ among runs 1 to 3."


def test_runs_without_an_instance_in_common():
    frames = {"1. a": predictions(["x"] * 3), "2. b": predictions([1.0] * 3).with_columns(pl.Series("id", list("def")))}
    differ = compare.instances(frames)
    assert differ.is_empty() and compare.differing_text(frames, differ) == "The runs have no instance in common."


def test_weights_stand_side_by_side():
    figure = compare.weights_figure({"1. a": {"fou": 0.4}, "2. b": {"fou": 0.1, "pix": 0.9}, "3. c": {}})
    assert [(bar["name"], bar["y"]) for bar in figure["data"]] == [("1. a", [0.4, None]), ("2. b", [0.1, 0.9])]
    assert compare.weights_figure({"1. a": {}}) is None
    # an axis of zeros would begin below them
    assert compare.weights_figure({"1. a": {"fou": 0.0}})["layout"]["yaxis"]["range"] == [0.0, 1.0]
    assert "range" not in figure["layout"]["yaxis"]


def test_a_single_run_needs_no_legend():
    given = {"1": {"a": 1.0}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}
    legends = [compare.weights_figure(runs)["layout"]["showlegend"] for runs in given]
    assert legends == [False, True]


def test_weights_are_in_the_order_of_the_data_and_not_of_their_names():
    history = pl.DataFrame({"weight:table": [0.5], "weight:image": [0.5], "graph_weight:image": [1.0]})
    assert list(compare.in_order({"image": 0.6, "more": 0.1, "table": 0.3}, history)) == ["table", "image", "more"]
    assert list(compare.in_order({"image": 1.0}, history, graphs=True)) == ["image"]
    assert compare.in_order({"b": 1.0}, None) == {"b": 1.0}


def test_one_run_s_bars_have_the_sources_colours_and_of_several_each_run_its_own():
    one = compare.weights_figure({"1": {"a": 0.5, "b": 0.5}})["data"]
    assert one[0]["marker"]["color"] == [basic.style(0)["colour"], basic.style(1)["colour"]]
    both = compare.weights_figure({"1": {"a": 0.5, "b": 0.5}, "2": {"a": 1.0}})["data"]
    assert [bar["marker"]["color"] for bar in both] == [basic.style(0)["colour"], basic.style(1)["colour"]]


def test_a_result_that_the_curve_does_not_end_with_is_shown():
    history = pl.DataFrame({"metric:held_out": [0.2, 0.031]})
    scores = {"held_out": 0.0312}, {"held_out": 0.036}, {"train": 0.0}
    ended, other, unscored = (replace(run(), results={"scores": {"metric": "error"} | each}) for each in scores)
    assert [compare.kept_model(ended, history), compare.kept_model(other, None)] == ["", ""]
    assert compare.kept_model(unscored, history) == ""
    text = "The last round had 3.1%; the result, 3.6%, is of the model that was kept."
    assert compare.kept_model(other, history) == text
