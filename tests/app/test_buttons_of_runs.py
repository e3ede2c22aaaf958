"""The buttons that pause, play and stop what a worker does: each asks the manager for what the manager knows."""

from unittest.mock import create_autospec

import pytest
from streamlit.testing.v1 import AppTest

import experiments
from studio.jobs import manager
from studio.jobs.job import Job
from studio.jobs.manager import FunctionTask, Manager, Status, TrainingTask
from studio.views.common import widgets_progress
from studio.views.papers import catalog
from tests.jobs.running import PATIENCE

NAME = "gbc-figure-3"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Return a manager that does nothing, and refuses what the real one does not know."""
    made = create_autospec(Manager, instance=True)
    made.events.return_value = []
    monkeypatch.setattr(manager, "manager", lambda: made)
    monkeypatch.setattr("experiments.cells.folder", lambda: tmp_path)
    return made


def _drawn(made, state, script, *args):
    made.status.return_value = Status("run", state)
    page = AppTest.from_function(script, args=args, default_timeout=PATIENCE).run()
    assert not page.exception
    return page


def _pressed(page, label):
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception


def _paper(name):
    import experiments
    from studio.views.papers import widgets

    widgets.progress("run", experiments.outcome(name))


@pytest.mark.parametrize("state, words", [("running", "Running"), ("paused", "Paused"), ("queued", "Waiting")])
def test_a_paper_s_run_is_paused_played_and_stopped(asked, state, words):
    page = _drawn(asked, state, _paper, NAME)
    assert [button.label for button in page.button] == ["Play" if state == "paused" else "Pause", "Stop"]
    text = page.get("progress")[0].proto.text
    assert text.startswith(words) and f"0 of {experiments.outcome(NAME).total} fits" in text
    _pressed(page, page.button[0].label)
    asked.order.assert_called_once_with("run", "resume" if state == "paused" else "pause")
    _pressed(page, "Stop")
    asked.stop.assert_called_once_with("run")


def test_a_paper_s_run_that_has_ended_has_no_buttons(asked):
    assert not _drawn(asked, "finished", _paper, NAME).button


def test_a_pause_that_waits_for_the_round_is_reported():
    job = Job("run", "anna", None, paused=False, last_seen=0.0)
    job.leave_queue(0.0)
    job.take_order("pause")
    assert "pauses after this round" in widgets_progress._line("", job.status(1.0, 0, "starting"))
    job.take_message("paused", None, 2.0)
    assert widgets_progress._line("", job.status(3.0, 0, "starting")) == "Paused"
    job.take_order("pause")
    job.take_order("resume")
    assert not job.status(4.0, 0, "starting").pausing


def _trainings(state):
    from studio.jobs import manager
    from studio.views.common import widgets_progress

    widgets_progress.ahead(["mine"], "anna")
    widgets_progress.player({"GBC": manager.Status("run", state)}, lambda order: manager.manager().order("run", order))


def _pausing():
    from studio.jobs.job import Status
    from studio.views.common import widgets_progress

    widgets_progress.player({"GBC": Status("run", "running", pausing=True)}, lambda order: None)


def test_a_pause_that_was_asked_for_can_not_be_asked_for_again():
    page = AppTest.from_function(_pausing, default_timeout=PATIENCE).run()
    assert [(button.label, button.disabled) for button in page.button] == [("Pause", True), ("Stop training", False)]


GOES = {"Pause": "pause"}
ORDERS = {"running": GOES, "queued": GOES, "paused": {"Play": "resume", "One round": "step"}}


@pytest.mark.parametrize("state, orders", ORDERS.items())
def test_a_training_is_paused_played_stepped_and_stopped(asked, state, orders):
    asked.runs.return_value, asked.task.return_value = [], TrainingTask("GBCClassifier", {}, None)
    page = _drawn(asked, state, _trainings, state)
    for label, order in (orders | {"Stop training": "stop"}).items():
        _pressed(page, label)
        asked.order.assert_called_with("run", order)
    assert asked.order.call_count == len(orders) + 1


def test_what_a_person_left_running_is_stopped(asked):
    asked.runs.return_value = [Status("other", "running", rounds=2, total=5)]
    asked.task.return_value = TrainingTask("GBCClassifier", {}, None)
    _pressed(_drawn(asked, "queued", _trainings, "queued"), "Stop it")
    asked.stop.assert_called_once_with("other", "anna")


def _waiting():
    from studio.views.common import widgets_progress

    widgets_progress.ahead(iter(["mine", "beside"]), "anna")


@pytest.mark.parametrize("state, words", [("running", "those beside it"), ("queued", "trainings of other people")])
def test_a_training_says_what_it_waits_for(asked, state, words):
    asked.runs.return_value = [Status("mine", "queued"), Status("beside", state)]
    page = _drawn(asked, "queued", _waiting)
    assert [caption.value for caption in page.caption] == [f"It waits for {words}."]


def test_what_a_moved_control_has_overtaken_was_left_by_nobody(asked):
    asked.runs.return_value = [Status("mine", "queued"), Status("overtaken", "running", stopping=True)]
    page = _drawn(asked, "queued", _waiting)
    assert not page.button and [each.value for each in page.caption] == ["It waits for the one before it to stop."]


def _comparison():
    from studio.jobs import manager
    from studio.views.common import widgets_chance, widgets_task
    from studio.views.consensus import widgets_lambda_map

    def stop():
        widgets_task.stop("run", "anna")

    for kind, look in (("chance", widgets_chance._look), ("map", widgets_lambda_map._look)):
        more = "key" if kind == "chance" else (0.3, 0.3)
        widgets_task.watch("run", "anna", lambda status, events, look=look, more=more: look(status, events, stop, more))
    assert manager.manager().status.called


@pytest.mark.parametrize("label", ["Stop comparing", "Stop the map"])
def test_a_comparison_and_a_map_are_stopped(asked, label):
    _pressed(_drawn(asked, "running", _comparison), label)
    asked.stop.assert_called_once_with("run", "anna")


@pytest.mark.parametrize("state, found", [("paused", "run"), ("queued", "run"), ("finished", None)])
def test_a_paper_s_run_is_found_again_after_a_reload_while_it_goes_on(asked, state, found):
    asked.runs.return_value = [Status("run", state)]
    asked.task.return_value = FunctionTask(catalog.TASK, {"name": NAME, "scope": "page"})
    asked.status.side_effect = manager.UnknownRunError
    assert catalog.run_of({}, NAME, "anna") == found
    asked.runs.assert_called_once_with("anna")
    assert catalog.run_of({}, "gbc-theorem-4.1", "anna") is None
