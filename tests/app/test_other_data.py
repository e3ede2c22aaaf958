"""What was computed on some data is not shown under others, which may have the same title; nor under other settings."""

from __future__ import annotations

import json
from unittest.mock import create_autospec

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.data import HetData
from studio.jobs import manager
from studio.jobs.job import FunctionTask, Setting, without_data
from studio.jobs.manager import Manager, Status
from studio.session import Current
from studio.views.collective import widgets_edits
from studio.views.common import widgets_pins
from tests.jobs.running import PATIENCE

ROWS = ["a", "b", "c", "d"]
SETTING = Setting("GBCClassifier", {"lambda0": 0.3}, [])


def data(first):
    return HetData({"one": pl.DataFrame({"id": ROWS, "x": [first, 1.0, 2.0, 3.0]})}, {}, (ROWS, ["u", "v", "u", "v"]))


def upload(first):
    return Current(data(first), "Your data", "Mine.", {})


@pytest.fixture
def runs(monkeypatch):
    """Return a manager that knows every run as a finished one."""
    made = create_autospec(Manager, instance=True)
    made.status.return_value, made.events.return_value = Status("run", "finished"), []
    monkeypatch.setattr(manager, "manager", lambda: made)
    return made


def _trainings(current, setting):
    import streamlit as st

    from studio.views.common.widgets_training import LiveTrainings, _Kept

    if "live Consensus" not in st.session_state:
        given = {"Consensus": setting}, {"Consensus": "run"}
        st.session_state["live Consensus"] = _Kept(current.data.digest(), *given)
    st.session_state["runs"] = LiveTrainings("Consensus", st.session_state.get("now", current), "anna").runs


def test_trainings_on_an_upload_are_not_shown_under_another_of_the_same_title(runs):
    page = AppTest.from_function(_trainings, args=(upload(0.0), SETTING), default_timeout=PATIENCE).run()
    assert not page.exception and page.session_state["runs"] == {"Consensus": "run"}
    page.session_state["now"] = upload(9.0)
    assert page.run().session_state["runs"] == {} and not page.exception
    page.session_state["now"] = upload(0.0)  # read again, as after a reload
    assert page.run().session_state["runs"] == {"Consensus": "run"}


def test_scenarios_of_other_data_of_the_same_title_are_not_set_side_by_side():
    first, again, other = (
        widgets_pins.Pin("Your data", {"x": SETTING}, {}, {}, upload(x).data.digest()) for x in (0.0, 0.0, 9.0)
    )
    assert widgets_pins._alike(first, again) and not widgets_pins._alike(first, other)


def test_edits_are_of_the_data_that_they_were_made_on(monkeypatch):
    cut = [{"op": "edges", "name": "links", "add": [], "cut": [["a", "b"]]}]
    monkeypatch.setattr(widgets_edits.st, "session_state", {f"collective edits {data(0.0).digest()}": json.dumps(cut)})
    assert widgets_edits.edits(data(0.0).digest()) == cut and widgets_edits.edits(data(9.0).digest()) == []


def _transfer(now, settings, target):
    import streamlit as st

    from studio.views.common.widgets_controls import slider
    from studio.views.transfer.widgets_curve import MeasuredCurve

    slider("Target examples", 1, 9, start=3, step=1, key="examples", help="")
    MeasuredCurve(now.data, now.title, "anna").draw(st.session_state.get("settings", settings), target, 4)


def _started(runs):
    path, arguments, _ = runs.run_task.call_args.args
    runs.task.return_value = without_data(FunctionTask(path, arguments))


def test_a_curve_of_other_methods_tells_so_and_offers_the_way_back(runs):
    runs.run_task.return_value, runs.task.return_value = "run", FunctionTask("")
    page = AppTest.from_function(_transfer, args=(upload(0.0), {"Blend": SETTING}, "one"), default_timeout=PATIENCE)
    page.run().button(key="measure").click().run()
    _started(runs)
    assert not page.run().exception and not page.info
    page.session_state["settings"] = {"Blend": Setting("GBCClassifier", {"lambda0": 9.0}, [])}
    page.slider(key="examples").set_value(5).run()
    assert "other settings: methods or their parameters." in page.info[0].value
    page.slider(key="draws").set_value(9).run()
    assert "parameters, repeats." in page.info[0].value
    page.button(key="back to curve").click().run()
    assert page.slider(key="draws").value == 5 and page.slider(key="examples").value == 3
    page.session_state["settings"] = {}  # nothing can be measured: what is shown is of something else all the same
    assert "methods" in page.run().info[0].value and not page.exception


def _noise(now, settings):
    import streamlit as st

    from studio.views.noise.widgets_curve import measured

    measured("Table", st.session_state.get("now", now).data, st.session_state.get("settings", settings), "anna")


def test_a_noise_curve_is_of_its_data_and_says_what_differs(runs):
    runs.run_task.return_value, runs.task.return_value = "run", FunctionTask("")
    settings = {"HGBM": SETTING}
    page = AppTest.from_function(_noise, args=(upload(0.0), settings), default_timeout=PATIENCE).run()
    page.button(key="measure_noise").click().run()
    _started(runs)
    assert not page.run().exception and not page.info and not page.caption
    known = {"op": "labels", "fraction": 0.2, "seed": 0}
    page.session_state["settings"] = {"HGBM": Setting("GBCClassifier", {"lambda0": 0.3}, [known], form={"form": "x"})}
    assert "other settings: columns, labels known." in page.run().info[0].value
    page.session_state["now"] = upload(9.0)
    assert "Both models learn" in page.run().caption[0].value and not page.info and not page.exception


def test_a_run_of_a_function_remembers_which_data_it_was_given():
    task = FunctionTask("", {"data": data(0.0), "models": {"one": b"large"}, "form": {"form": "table"}, "sd": 1.0})
    known = {"data": data(0.0).digest(), "models": None, "form": {"form": "table"}, "sd": 1.0}
    assert without_data(task).kwargs == known and without_data(without_data(task)).kwargs == known
