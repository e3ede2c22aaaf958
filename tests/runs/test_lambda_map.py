"""The map of λ0 and λ1: every pair with each seed, means with intervals, and a pair that is taken over."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from streamlit.testing.v1 import AppTest

from hetcore.events import RoundEnd
from studio.jobs import manager
from studio.jobs.job import FunctionTask, Job
from studio.runs import chance, lambda_map
from tests.jobs.running import PATIENCE
from tests.runs.test_chance import HALF, SETTING, _data

PAIR = (0.1, 1.0)


def test_every_pair_is_trained_with_its_values_seed_by_seed(monkeypatch):
    asked = []

    def score(data, setting):
        params = setting["params"]
        asked.append((params["random_state"], params["lambda0"], params["lambda1"], setting["operations"][0]["seed"]))
        return {"metric": "error", "held_out": params["lambda0"] + params["random_state"]}

    monkeypatch.setattr(chance, "score", score)
    setting, seen = {**SETTING, "operations": [HALF]}, []
    result = lambda_map.trainings(None, setting, [3, 4], [lambda event: seen.append(event) or False])
    assert asked == [(seed, *pair, seed) for seed in (3, 4) for pair in lambda_map.PAIRS]
    assert lambda_map.cells(result)[PAIR] == [3.1, 4.1] and seen[-1].detail == result
    assert len(lambda_map.cells(seen[15].detail)) == 16  # the whole map is there with the first seed
    stopped = lambda_map.trainings(None, setting, [3, 4], [lambda event: event.index == 2])
    assert len(stopped["cells"]) == 3


def test_a_pair_is_trained_as_a_page_would():
    setting = {**SETTING, "operations": [HALF]}
    result = lambda_map.trainings(_data(), setting, [5], [lambda event: True])
    none = setting["params"] | {"lambda0": 0, "lambda1": 0}
    alone = chance.score(_data(), chance.with_seed({**setting, "params": none}, 5))
    assert result["cells"] == [[0.0, 0.0, 5, alone["held_out"]]] and result["rows"] == "held_out"


def test_the_interval_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(size=5)
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert lambda_map.interval(values) == pytest.approx(((low + high) / 2, (high - low) / 2))
    # of two values it is twelve deviations wide, and reaches below no error at all
    assert all(np.isnan(lambda_map.interval(values[:some])[1]) for some in (1, 2))


def test_squares_say_per_cent_and_interval_and_frame_the_current_setting():
    found = {pair: [0.05, 0.06, 0.07] for pair in lambda_map.PAIRS} | {PAIR: [0.02, 0.02, 0.02], (0.0, 0.0): [0.04]}
    drawn = lambda_map.figure(found, "error", PAIR)
    (trace,) = drawn["data"]
    assert [each["text"] for each in drawn["layout"]["annotations"]] == trace["text"]
    at = trace["customdata"].index(list(PAIR))
    assert trace["text"][at] == "2.0%<br>± 0.0" and trace["text"][0] == "4.0%"
    assert trace["text"][1] == "6.0%<br>± 2.5"
    assert [width > 0 for width in trace["marker"]["line"]["width"]] == [k == at for k in range(16)]
    (plain,) = lambda_map.figure({PAIR: [1.0, 1.5, 2.0]}, "RMSE", None)["data"]
    assert plain["text"] == ["1.50<br>± 1.24"] and plain["marker"]["line"]["width"] == [0]


def _mapped():
    import streamlit as st

    from studio.jobs.job import Setting
    from studio.views.consensus.widgets_lambda_map import lambda_grid
    from tests.runs.test_chance import HALF, SETTING, _data

    params = {"n_iterations": st.session_state.get("rounds", 3), "lambda0": 0.3, "lambda1": 1.0}
    setting = Setting(SETTING["estimator"], params, [HALF])
    lambda_grid(st.session_state.setdefault("data", _data()), setting, "reloading", {})


def test_a_reload_brings_back_the_map_of_the_settings_shown_whatever_their_lambdas():
    params = {"n_iterations": 3, "lambda0": 0.0, "lambda1": "auto"}
    setting = {"estimator": SETTING["estimator"], "params": params, "operations": [HALF], "fit": {}, "form": {}}
    task = FunctionTask(lambda_map.TASK, {"data": _data().digest(), "setting": setting, "seeds": [0]})
    cells = [[*pair, 0, 1.0 + sum(pair)] for pair in lambda_map.PAIRS]
    events = [RoundEnd("map", 15, 16, {}, detail={"metric": "RMSE", "rows": "held_out", "cells": cells})]
    there = manager.manager()
    there.restore(Job("mapped", "reloading", task, False, there.clock(), state="finished", events=events))
    page = AppTest.from_function(_mapped, default_timeout=PATIENCE).run()
    assert not page.exception and len(page.get("plotly_chart")) == 1
    assert "Framed: λ0 = 0.3, λ1 = 1, trained above" in page.caption[0].value
    page.session_state["rounds"] = 5
    assert not page.run().get("plotly_chart") and "of other settings" in page.caption[0].value


def _script():
    import streamlit as st

    from studio.views.consensus.widgets_lambda_map import choose

    st.button("square", on_click=choose, args=(0.1, 1.0))
    st.toggle("auto", True, key="l0auto"), st.toggle("auto too", True, key="l1auto")
    st.slider("λ0", 0.0, 3.0, 0.3, key="l0"), st.slider("λ1", 0.0, 3.0, 0.3, key="l1")


def test_a_square_sets_both_sliders_by_hand():
    page = AppTest.from_function(_script, default_timeout=PATIENCE).run()
    page.button[0].click().run()
    assert [each.value for each in page.toggle] == [False, False] and [each.value for each in page.slider] == [0.1, 1.0]
    assert page.session_state["lambda map chosen"]  # for the part with the map, which has the page drawn again
