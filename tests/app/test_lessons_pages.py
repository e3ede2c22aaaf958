"""Each lesson as a page draws it: it waits until a step is done, and is passed by what its steps ask for."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.views.common.lessons import LESSONS, TREND, Facts
from tests.jobs.running import PATIENCE

LABELS = {"op": "labels", "fraction": 0.1, "seed": 0}
NOISE = {"op": "noise", "name": "b", "sd": 1.0, "seed": 0}
FLIPS = {"op": "flip_labels", "share": 0.4, "seed": 0}


def event(error, weight=0.5, left=0.0, disagreement=0.4):
    detail = {"metric": {"held_out": error}, "metric_name": "error", "disagreement": disagreement}
    weights = {"a": 1 - weight, "b": weight}
    return RoundEnd("x", 0, 1, {}, weights, residual_autocorrelation={"ring": left}, detail=detail)


def facts(now, before=None, operations=(), **params):
    """Return what a page shows of trainings by label, after others."""
    setting = Setting("X", params, list(operations))
    earlier = {label: (setting, [each]) for label, each in (before or {}).items()}
    return Facts(dict.fromkeys(now, setting), {label: [each] for label, each in now.items()}, earlier, finished=True)


def of(label, *events):
    return [{label: each} for each in events]


GB, ETA = "Consensus", "Weighted MultiSource"
METHODS = {"GB": event(0.2, left=0.5), "MGB": event(0.3, left=0.1)}
MODELS = {"GBM": event(0.3), "HGBM": event(0.2)}
JOURNEYS = {
    "agreement": (
        [facts(*of(GB, event(0.1)), lambda0=0.3), facts(*of(GB, event(0.1)), lambda0=0),
         facts(*of(GB, event(0.1, disagreement=0.1), event(0.1)), lambda0=2)], [TREND[0]],
    ),
    "neighbours": (
        [facts(*of(GB, event(0.3)), operations=[LABELS], lambda1="auto"), facts(*of(GB, event(0.3)), lambda1=0),
         facts(*of(GB, event(0.2), event(0.3)), lambda1=0.4)], [TREND[0]],
    ),
    "noise": ([facts(*of(GB, event(0.1))), facts(*of(GB, event(0.1, 0.1), event(0.1)), operations=[NOISE])], ["b"]),
    "left": ([facts(METHODS)], ["MGB", "GB"]),
    "transfer": (
        [facts(*of(ETA, event(0.2)), eta="auto"), facts(*of(ETA, event(0.2)), eta=0),
         facts(*of(ETA, event(0.4), event(0.2)), eta=20)], [TREND[2]],
    ),
    "trust": ([facts(MODELS), facts(MODELS, operations=[FLIPS])], ["HGBM"]),
}  # fmt: skip
"""By lesson: what the page shows after each thing that is done, and the right answers to its questions."""


def app(key):
    import streamlit as st

    from studio.views.common import widgets_lessons
    from studio.views.common.lessons import Facts

    widgets_lessons.panel(key, st.session_state.get("facts", Facts()))


def place(page):
    """Return how far the lesson is: "step 2 of 4", or "done"."""
    assert not page.exception
    return next(each.value for each in page.markdown if " · " in each.value).rpartition(" · ")[2]


@pytest.mark.parametrize("key", list(LESSONS))
def test_a_lesson_is_passed_step_by_step(key):
    page, steps = AppTest.from_function(app, args=(key,), default_timeout=PATIENCE).run(), len(LESSONS[key].steps)
    assert place(page) == f"step 1 of {steps}"
    shown, answers = JOURNEYS[key]
    for number, each in enumerate(shown, 2):
        page.session_state["facts"] = each
        assert place(page.run()) == f"step {number} of {steps}"
    for number, answer in enumerate(answers, len(shown) + 2):
        wrong = next(option for option in page.radio[0].options if option != answer)
        page.radio[0].set_value(wrong).run()
        assert place(page) == f"step {number - 1} of {steps}" and page.warning[0].value.startswith(f"Not so: “{wrong}”")
        page.radio[0].set_value(answer).run()
        assert place(page) == (f"step {number} of {steps}" if number <= steps else "done")
    assert page.success[0].value == LESSONS[key].summary
    page.button[0].click().run()
    assert place(page) != "done" or not page.radio


@pytest.mark.parametrize("key", list(LESSONS))
def test_a_lesson_waits_for_a_training_that_goes_on_and_for_one_of_its_steps(key):
    page, shown = AppTest.from_function(app, args=(key,), default_timeout=PATIENCE).run(), JOURNEYS[key][0]
    page.session_state["facts"] = shown[-1]._replace(finished=False)
    assert place(page.run()).startswith("step 1 of") and not page.radio and not page.success
    for _ in range(2):
        page.session_state["facts"] = shown[0]
        assert place(page.run()).startswith("step 2 of") and not page.success


def test_a_lesson_goes_on_where_an_address_says_and_tells_how_far_it_is():
    page = AppTest.from_function(app, args=("noise",), default_timeout=PATIENCE)
    page.query_params["step"] = "2"
    page.session_state["facts"] = JOURNEYS["noise"][0][1]
    assert place(page.run()) == "step 3 of 3"
    page.radio[0].set_value("b").run()
    assert place(page) == "done" and page.query_params["step"] in ("3", ["3"])
    other = AppTest.from_function(app, args=("noise",), default_timeout=PATIENCE)
    other.query_params["step"] = "99"  # of a lesson with more steps
    assert place(other.run()) == "done"
    other.button[0].click().run()
    assert place(other) == "step 1 of 3" and "step" not in other.query_params
