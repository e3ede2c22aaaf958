"""Rounds become curves: one per name of a training, or one per training, on one axis."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.views.common import curves, training
from studio.views.common.widgets_timeline import texts as timeline_texts


def rounds(*weights):
    return [RoundEnd("toy", k, len(weights), {"train": 1.0 / (k + 1)}, each) for k, each in enumerate(weights)]


def test_a_name_that_comes_late_has_no_value_before():
    x, y = curves.by_name(rounds({"a": 0.5}, {"a": 0.25, "b": 0.75}), lambda event: event.source_weights)["b"]
    np.testing.assert_array_equal(x, [1, 2])
    np.testing.assert_array_equal(y, [np.nan, 0.75])


def test_trainings_of_other_lengths_share_one_axis():
    events = {"long": rounds({}, {}, {}), "short": rounds({}), "none": []}
    found = curves.by_training(events, lambda event: event.losses["train"])
    assert list(found) == ["long", "short"]
    x, lines = curves.aligned(found)
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_array_equal(lines["short"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(lines["long"], [1, 1 / 2, 1 / 3])


def test_most_weight_is_the_number_that_the_chart_of_weights_ends_with_whatever_graphs_have():
    (event,) = rounds({"a": 0.7, "b": 0.3})
    event.detail["dealt"] = {"E": {"a": 0.2, "b": 0.3, "graph": 0.5}}
    assert curves.heaviest(event) == ("a", 0.7)
    assert timeline_texts({"one": [event]}) == ["most weight: a 0.70"]
    assert timeline_texts({"one": [replace(event, graph_weights={"g": 1.0})]}) == ["heaviest table: a 0.70"]
    drawn = {name: y[-1] for name, (_, y) in curves.by_name([event], lambda each: each.source_weights).items()}
    assert drawn[curves.heaviest(event)[0]] == curves.heaviest(event)[1]


def test_a_round_that_tells_nothing_is_left_out():
    found = curves.by_training({"m": rounds({}, {}, {})}, lambda event: event.index if event.index != 1 else None)
    np.testing.assert_array_equal(found["m"], [[1, 3], [0, 2]])


def test_no_training_is_no_curve():
    x, lines = curves.aligned(curves.by_training({}, lambda event: 0.0))
    assert len(x) == 0 and lines == {}


@pytest.mark.parametrize(
    "metrics, rows",
    [
        ([{"held_out": 1.0, "train": 0.0}, {"held_out": 1.0, "left_out": 0.0}], "held_out"),
        ([{"held_out": 1.0, "train": 0.0}, {"left_out": 1.0, "train": 0.0}], "train"),
        ([{"left_out": 1.0, "train": 0.0}], "left_out"),
        ([], "train"),
    ],
)
def test_rows_are_those_that_all_trainings_are_scored_on(metrics, rows):
    assert curves.scored_rows(*metrics) == rows


def test_a_star_is_what_is_kept_and_the_legend_says_so():
    rounds = np.array([1.0, 2.0, 3.0])
    drawn = curves.figure({"a": (rounds, rounds), "b": (rounds, -rounds)}, {}, ("round", "F1"), ["a", "b"])
    found = curves.starred(drawn, {"a": (2.0, 2.5), "b": (3.0, -3.0), "c": (1.0, 1.0)})
    stars = [each for each in found["data"] if each.get("marker", {}).get("symbol") == "star"]
    assert [each["name"] for each in stars] == ["a, kept", curves.KEPT]  # b's is its line's end
    assert (stars[0]["x"], stars[0]["y"]) == ([2.0], [2.5])
    assert stars[0]["marker"]["color"] == drawn["data"][0]["line"]["color"]
    assert not stars[0]["showlegend"] and stars[1]["x"] == [None]
    assert curves.starred(drawn, {"b": (3.0, -3.0)})["data"] == drawn["data"]


def test_a_training_came_to_what_the_round_its_model_predicts_by_came_to():
    """The sentence on what changed told the last stage's error, beside the number of the stage that is kept."""
    rounds = [
        RoundEnd("MGB", k, 3, {}, {}, detail={"metric": {"held_out": error}, "metric_name": "error"} | more)
        for k, (error, more) in enumerate([(0.4, {}), (0.2, {}), (0.3, {"best_stage": 1})])
    ]
    assert training.outcome(Setting("MGBClassifier", {}, []), rounds).value == 0.2
    scored = training.outcome(Setting("MGBClassifier", {}, []), rounds, {"held_out": 0.25})
    assert (scored.value, scored.rows) == (0.25, "held out")
    assert training.outcome(Setting("MGBClassifier", {}, []), rounds[:2]).value == 0.2


def test_what_was_compiled_is_not_foreseen_again():
    compiled = RoundEnd("toy", 0, 1, {}, seconds=39.8, compiling=38.8)
    assert training.seconds_of([compiled], 1) == pytest.approx(1.0)


@pytest.mark.parametrize(("processor", "seconds"), [((3.0, 3.5), 1.0), ((3.0, 30.0), 6.0)])
def test_what_a_busy_machine_took_is_not_foreseen_again(processor, seconds):
    rounds = [RoundEnd("toy", k, 2, {}, detail={"processor": at}, seconds=wall, compiling=0.5)
              for k, (at, wall) in enumerate(zip(processor, (1.0, 6.5)))]  # fmt: skip
    assert training.seconds_of(rounds, 2) == pytest.approx(seconds)


def _drawn_chart():
    from studio.views.common.widgets import chart

    names = {"name": "a<b>old", "y": ["<i>c", "d"], "x": [1.0, 2.0]}
    chart({"data": [{"type": "bar", "orientation": "h"} | names], "layout": {}}, "a chart")


def test_names_in_a_chart_are_no_markup():
    page = AppTest.from_function(_drawn_chart).run()
    (trace,) = json.loads(page.get("plotly_chart")[0].proto.spec)["data"]
    assert trace["name"] == "a&lt;b>old" and trace["y"] == ["&lt;i>c", "d"]
