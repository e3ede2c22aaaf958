"""What a page says in few words: that a training ended early, many differences of new rows, what rows errors are of,
what a comparison over seeds may tell."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.events import RoundEnd
from hetcore.figures import basic
from studio.jobs.job import Status
from studio.runs import table
from studio.runs.compare import curves, weights_figure
from studio.runs.run import Run
from studio.views.common import widgets_chance, widgets_downloads
from studio.views.consensus import widgets_lambda_map
from tests.jobs.running import PATIENCE


def _state(statuses, events):
    from studio.views.common import widgets_progress

    widgets_progress.say(statuses, events)


CUT = Status("run", "stopped", total=40, message="Stopped in a round, so no model was kept.")
EARLY, WHOLE = Status("run", "finished", rounds=39, total=40), Status("run", "finished", rounds=40, total=40)


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        ({"GBC": WHOLE}, "Training finished."),
        ({"GBC": EARLY}, "Training finished early: no lower loss."),
        ({"HGBM": EARLY, "GBM": WHOLE}, "Training finished; HGBM ended early: no lower loss."),
        ({"GBC": Status("run", "stopped", rounds=9, total=40)}, "Training stopped."),
        ({"HGBM": CUT, "GBM": CUT}, "Training stopped. Stopped in a round, so no model was kept."),
        ({"HGBM": WHOLE, "GBM": CUT}, "Training stopped. GBM: Stopped in a round, so no model was kept."),
    ],
)
def test_a_training_that_ended_early_says_why(statuses, words):
    page = AppTest.from_function(_state, args=(statuses, {}), default_timeout=PATIENCE).run()
    assert not page.exception and page.caption[0].value.replace("\\", "") == words


BOTH = "Training finished; H ended early: no lower loss; the guard of W took “all pooled”, of one round."


@pytest.mark.parametrize(
    ("early", "words"), [("W", "Training finished; the guard took “all pooled”, of one round."), ("HW", BOTH)]
)
def test_what_a_guard_took_has_its_one_round_and_missed_no_loss(early, words):
    chosen = {"W": "all pooled", "H": "boosting"}
    events = {label: [RoundEnd(label, 0, 40, {}, detail={"chosen": kind})] for label, kind in chosen.items()}
    args = (dict.fromkeys(early, EARLY), events)
    page = AppTest.from_function(_state, args=args, default_timeout=PATIENCE).run()
    assert not page.exception and page.caption[0].value.replace("\\", "") == words


def _differences(count):
    from studio.views.consensus import widgets_new_rows

    widgets_new_rows._show(None, [f"difference {k}" for k in range(count)], [])


@pytest.mark.parametrize(("count", "boxes"), [(0, 0), (3, 3), (4, 2), (40, 2)])
def test_many_differences_of_new_rows_are_one_table(count, boxes):
    page = AppTest.from_function(_differences, args=(count,), default_timeout=PATIENCE).run()
    assert not page.exception and [each.value for each in page.warning] == [f"difference {k}" for k in range(boxes)]
    more = count - boxes
    assert [each.label for each in page.expander] == ([f"{more} more differences"] if more else [])
    assert sum(len(each.value) for each in page.dataframe) == more


def run(method, **params):
    """Return a stored run."""
    return Run("anna", "Consensus", method, "Films", settings={"params": params})


def test_what_runs_of_one_name_differ_in_stands_beside_their_results():
    known = [{"op": "labels", "fraction": 0.8, "seed": 0}]
    three = [run("GBCRegressor", lambda0=value, lambda1="auto", n_iterations=40) for value in (0.3, 0.6, 0.3)]
    three[2] = replace(three[2], settings=three[2].settings | {"operations": known})
    made = table.table([*three, run("HMF", eta=1.0)])
    assert made["differs in"].to_list() == ["λ0 0.3", "λ0 0.6", "trained on 80% of the labels, λ0 0.3", None]
    # A phone shows 366 pixels of the table: what tells the runs apart is among them.
    assert made.columns[:3] == [*table.WIDTHS] and sum([*table.WIDTHS.values()][:2]) <= 366 - 100
    moved = table.table([run("WeightedMultiSourceTrAdaBoostClassifier", eta=eta) for eta in ("auto", 20.0)])
    assert moved["differs in"].to_list() == ["η 'by left-out rows'", "η 20"]


@pytest.mark.parametrize(
    "scores,shown", [({"train": 0.002, "left_out": 0.012}, 0.012), ({"left_out": 0.012, "held_out": 0.1}, 0.1)]
)
def test_a_result_is_of_labels_left_out_where_none_are_held_out(scores, shown):
    made = replace(run("GBCClassifier"), results={"scores": {"metric": "error"} | scores})
    assert table.metric(made) == ("error", shown)


def test_runs_of_one_method_are_named_by_their_labels():
    both = [replace(run("HGBMClassifier"), settings={"label": label}) for label in ("GBM", "HGBM")]
    assert [table.short(each, 28) for each in both] == ["GBM", "HGBM"]
    alone = replace(run("GBCClassifier"), settings={"label": "Consensus"})  # the page's own name is no label
    assert table.short(alone, 28) == "GBCClassifier" and table.short(replace(alone, name="mine"), 28) == "mine"


def test_runs_of_one_name_are_named_by_what_they_differ_in():
    same = [run("GBCClassifier", lambda0=value) for value in (0.3, 0.6)]
    assert table.apart([*same, run("HMF")], 28) == ["λ0 0.3", "λ0 0.6", "HMF"]
    assert table.apart([same[0], replace(same[0], dataset="Digits")], 28) == ["Films", "Digits"]
    assert table.apart([same[0], same[0], replace(same[1], name="mine")], 28) == ["GBCClassifier"] * 2 + ["mine"]


def test_a_method_that_is_the_name_of_each_run_has_no_column():
    assert "method" not in table.table([run("HMF"), run("GBC")]).columns
    assert "method" in table.table([run("HMF"), replace(run("GBC"), name="mine")]).columns


def test_one_curve_has_a_legend():
    figure = curves({"1. GBC": run("GBC")}, {"1. GBC": pl.DataFrame({"metric:held_out": [0.3, 0.2]})})["error"]
    assert figure["layout"]["showlegend"] and figure["data"][0]["name"] == "1. GBC"


def test_a_run_without_a_source_has_the_others_colours():
    colours = [basic.style(place)["colour"] for place in (0, 2)]
    figure = weights_figure({"1. GBC": {"a": 0.4, "c": 0.6}}, ["a", "b", "c"])
    assert figure["data"][0]["marker"]["color"] == colours
    figure = weights_figure({"1. GBC": {"a": 0.4, "c": 0.6}}, ["x"])  # of data that are not in use
    assert figure["data"][0]["marker"]["color"] == [basic.style(place)["colour"] for place in (0, 1)]


def _measured(seconds_left):
    from studio.jobs.job import Status
    from studio.views.common import widgets_task

    widgets_task.progress(Status("run", "running", rounds=2, total=165, seconds_left=seconds_left))


@pytest.mark.parametrize(("left", "words"), [(12.0, "2 of 165 fits · 12 s left"), (0.3, "2 of 165 fits")])
def test_a_measurement_that_has_just_begun_is_not_about_to_end(left, words):
    page = AppTest.from_function(_measured, args=(left,), default_timeout=PATIENCE).run()
    assert page.get("progress")[0].proto.text == words


LOWER = [[0.30, 0.25], [0.31, 0.26], [0.30, 0.26], [0.29, 0.24]]


def _looked_at(pairs, state, rows="held_out"):
    from types import SimpleNamespace

    from studio.jobs.job import Status
    from studio.views.common import widgets_chance

    events = [SimpleNamespace(detail={"metric": "error", "rows": rows, "pairs": pairs})]
    widgets_chance._look(Status("run", state), events, lambda: None, "key")


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_some_of_the_seeds_tell_nothing_of_chance(state):
    page = AppTest.from_function(_looked_at, args=(LOWER, state), default_timeout=PATIENCE).run()
    text = page.markdown[0].value.replace("\\", "")
    assert not page.exception and "over 4 of 10 seeds, too few to tell" in text and "chance" not in text


def test_all_seeds_tell_and_the_interval_is_of_the_mean():
    page = AppTest.from_function(_looked_at, args=(LOWER[:2] * 5, "finished"), default_timeout=PATIENCE).run()
    text = page.markdown[0].value.replace("\\", "")
    assert not page.exception and "over 10 seeds: beyond chance: lower" in text
    assert "where the mean difference over many more seeds would lie, with 95% confidence" in text
    assert "95 of 100 such draws" not in text and not page.caption


def test_a_comparison_on_labels_that_were_learned_from_says_so():
    page = AppTest.from_function(_looked_at, args=(LOWER, "finished", "train"), default_timeout=PATIENCE).run()
    assert not page.exception and "learned from" in page.caption[0].value


def test_a_map_of_labels_that_were_learned_from_says_so(monkeypatch):
    captions = []
    monkeypatch.setattr(widgets_lambda_map, "_show", lambda *asked: None)
    monkeypatch.setattr(widgets_lambda_map.st, "caption", captions.append)
    for rows in ("left_out", "train"):
        event = SimpleNamespace(detail={"metric": "error", "rows": rows, "cells": [[0.0, 0.1, 3, 0.2]]})
        widgets_lambda_map._look(Status("run", "finished"), [event], None, None)
    assert captions == [widgets_chance.LEARNED]


def test_how_to_learn_from_more_names_no_slider_that_a_page_may_not_have(monkeypatch):
    """Of ratings it is called “Ratings known”."""
    captions = []
    monkeypatch.setattr(widgets_downloads.st, "caption", captions.append)
    widgets_downloads.learned_from([{"op": "labels", "fraction": 0.8, "seed": 0}])
    assert "learned from 80% of the labels" in captions[0] and "Labels known" not in captions[0]


def test_seeds_of_one_difference_do_not_lie_over_each_other():
    pairs = [[0.5, 0.4]] * 4 + [[0.5, 0.2], [0.5, 0.6]]
    heights = widgets_chance._heights(np.diff(np.array(pairs)).ravel())
    assert len({*heights[:4].round(6)}) == 4 and abs(heights[:4]).max() < 0.5 and heights[4:].tolist() == [0.0, 0.0]
