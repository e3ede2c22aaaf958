"""Comparisons over seeds: paired, with an interval, and the word for what can't be told from chance."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from streamlit.testing.v1 import AppTest

import datasets
from hetcore.data import HetData
from hetcore.events import RoundEnd
from studio.jobs import manager
from studio.jobs.job import FunctionTask, Job, Setting
from studio.runs import chance
from studio.views.common.widgets_chance import compared
from tests.jobs.running import PATIENCE

SETTING = {"estimator": "GBCRegressor", "params": {"n_iterations": 3, "as_printed": True}, "fit": {}, "operations": []}
HALF = {"op": "labels", "fraction": 0.5, "seed": 7}


def _data(n=60):
    rng = np.random.default_rng(0)
    ids, y = [f"i{k}" for k in range(n)], rng.normal(size=n)
    good = pl.DataFrame({"id": ids, "x": y + rng.normal(0, 0.1, n)})
    return HetData({"good": good, "noise": pl.DataFrame({"id": ids, "z": rng.normal(size=n)})}, {}, (ids, y))


def test_the_interval_is_that_of_the_paired_test():
    pairs = np.random.default_rng(1).normal([[0.30, 0.27]] * 10, 0.05)
    found, test = chance.difference(pairs), stats.ttest_rel(pairs[:, 1], pairs[:, 0])
    low, high = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high)) and found.mean == pytest.approx((low + high) / 2)
    assert found.within_chance is bool(test.pvalue > 0.05) and found.n == 10
    assert chance.difference(pairs[:1]) is None and chance.difference([]) is None


@pytest.mark.parametrize(
    "pairs, word",
    [([(0.1, 0.05), (0.12, 0.06), (0.11, 0.06)], "beyond chance: lower"), ([(0.1, 0.2), (0.2, 0.1)], "within chance"),
     ([(0.1, 0.2), (0.1, 0.21), (0.1, 0.2)], "beyond chance: higher"), ([(0.1, 0.1)] * 3, "within chance")],
)  # fmt: skip
def test_the_sentence_says_the_interval_and_the_word(pairs, word):
    text = chance.sentence(chance.difference(pairs), "error")
    assert text.endswith(f"over {len(pairs)} seeds: {word}") and "points (" in text
    assert "points" not in chance.sentence(chance.difference(pairs), "RMSE")


def test_points_have_one_digit_unless_an_end_of_the_interval_would_be_called_0():
    within, beyond = (chance.Difference(*each, n=10) for each in ((-0.00455, -0.023, 0.0139), (0.02, 0.0004, 0.0396)))
    assert chance.sentence(within, "error").startswith("error −0.5 points (−2.3 to +1.4) over 10")
    assert chance.sentence(beyond, "error").startswith("error +2.00 points (+0.04 to +3.96) over 10")
    assert chance.sentence(chance.Difference(0.0, 0.0, 0.0, 10), "error").startswith("error +0.0 points (+0.0 to +0.0)")


def test_a_seed_is_that_of_every_draw_of_both_settings():
    noise = {"op": "noise", "name": "good", "sd": 1.0, "seed": 3}
    result = chance.with_seed({**SETTING, "operations": [noise, HALF, {"op": "drop_source", "name": "noise"}]}, 5)
    assert [each.get("seed") for each in result["operations"]] == [5, 5, None] and result["params"]["random_state"] == 5
    assert HALF["seed"] == 7 and "random_state" not in SETTING["params"]


def test_a_method_that_draws_nothing_gets_no_seed_and_arrays_are_made_as_the_page_makes_them():
    target = {"op": "target_labels", "name": "target", "count": 5, "seed": 0}
    setting = {"estimator": "TargetSVM", "params": {}, "operations": [target], "fit": {},
               "form": {"form": "domains", "target": "target"}}  # fmt: skip
    assert chance.with_seed(setting, 5)["params"] == {}
    found = chance.score(datasets.load("planted_domains"), chance.with_seed(setting, 5))
    assert found["metric"] == "error" and 0 <= found["held_out"] < 0.5


def test_what_changed_and_models_are_compared_as_far_as_they_are_there():
    now, old = Setting("A", {"x": 1}), Setting("A", {"x": 2})
    live = SimpleNamespace(settings={"GB": now, "MGB": now}, before={"GB": (old, []), "MGB": (now, [])})
    pairs = compared(live, [("GB", "MGB"), ("GB", "RGB")])
    assert pairs == {"GB: what changed": (old, now), "GB → MGB": (now, now)}


def test_without_the_only_source_that_knows_it_is_worse_beyond_chance_and_it_can_be_stopped():
    first = {**SETTING, "operations": [HALF]}
    second = {**SETTING, "operations": [HALF, {"op": "drop_source", "name": "good"}]}
    seen = []
    result = chance.over_seeds(_data(), first, second, range(4), [lambda event: seen.append(event) or False])
    assert result["metric"] == "RMSE" and len(result["pairs"]) == 4 and chance.progress(seen) == result
    found = chance.difference(result["pairs"])
    assert found.low > 0 and not found.within_chance
    same = chance.over_seeds(_data(), first, first, range(2))
    assert [a == b for a, b in same["pairs"]] == [True, True]
    stopped = chance.over_seeds(_data(), first, second, range(4), [lambda event: event.index == 0])
    assert len(stopped["pairs"]) == 1 and stopped["rows"] == "held_out"


def test_where_a_setting_knows_all_labels_both_are_scored_by_those_that_were_learned_from():
    assert chance.over_seeds(_data(), {**SETTING, "operations": [HALF]}, SETTING, [0])["rows"] == "train"


def _script():
    import streamlit as st

    from studio.jobs.job import Setting
    from studio.views.common.widgets_chance import over_seeds
    from tests.runs.test_chance import HALF, SETTING, _data

    if "data" not in st.session_state:
        st.session_state["data"] = _data()
    more = {"max_depth": 2} if st.session_state.get("other") else {}
    first = Setting(SETTING["estimator"], SETTING["params"] | more, [HALF])
    dropped = [] if st.session_state.get("same") else [{"op": "drop_source", "name": "good"}]
    second = Setting(first.estimator, first.params, [HALF, *dropped])
    over_seeds(st.session_state["data"], first, second, "anna", "test")


@pytest.mark.slow
def test_the_page_trains_in_the_background_and_says_the_word():
    app = AppTest.from_function(_script, default_timeout=PATIENCE).run()
    app.button(key="chance test start").click().run()
    run = app.session_state["chance test"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    app.run()
    assert not app.exception
    assert "over 10 seeds: beyond chance: higher" in app.markdown[0].value.replace("\\", "")
    again = AppTest.from_function(_script, default_timeout=PATIENCE).run()  # as after a reload
    assert not again.exception and again.markdown[0].value == app.markdown[0].value
    other = AppTest.from_function(_script, default_timeout=PATIENCE)
    other.session_state["other"] = True
    assert not other.run().markdown and not other.exception


def _of_several():
    import streamlit as st

    from studio.jobs.job import Setting
    from studio.views.common.widgets_chance import any_over_seeds
    from tests.runs.test_chance import HALF, SETTING, _data

    first, second, third = (Setting(SETTING["estimator"], {"n_iterations": n}, [HALF]) for n in (1, 2, 3))
    pairs = {"first pair": (first, second), "second pair": (first, third)}
    any_over_seeds(st.session_state.setdefault("data", _data()), pairs, "reloading", "several")


def test_a_reload_brings_back_the_one_of_several_comparisons_that_was_made():
    plain = {"estimator": SETTING["estimator"], "operations": [HALF], "fit": {}, "form": {}}
    first, third = (plain | {"params": {"n_iterations": n}} for n in (1, 3))
    task = FunctionTask(chance.TASK, {"data": _data().digest(), "first": first, "second": third, "seeds": [0]})
    outcome = {"metric": "RMSE", "rows": "held_out", "pairs": [[1.0, 2.0 + k % 2] for k in range(10)]}
    events = [RoundEnd("chance", 9, 10, {}, detail=outcome)]
    there = manager.manager()
    for owner, run in (("reloading", "made"), ("another", "not mine")):
        there.restore(Job(run, owner, task, False, there.clock(), state="finished", events=events))
    page = AppTest.from_function(_of_several, default_timeout=PATIENCE).run()
    assert not page.exception and page.selectbox[0].value == "second pair"
    assert page.session_state["chance several"] == "made"
    assert "over 10 seeds: beyond chance: higher" in page.markdown[0].value.replace("\\", "")
    assert not page.selectbox[0].set_value("first pair").run().markdown
    other = AppTest.from_function(_of_several, default_timeout=PATIENCE)
    assert page.query_params["pair"] in ("first pair", ["first pair"])
    other.query_params["pair"] = "first pair"
    assert other.run().selectbox[0].value == "first pair"


def test_settings_that_differ_by_nothing_are_not_compared():
    app = AppTest.from_function(_script, default_timeout=PATIENCE)
    app.session_state["same"] = True
    app.run()
    assert not app.button and "nothing to compare" in app.caption[0].value
