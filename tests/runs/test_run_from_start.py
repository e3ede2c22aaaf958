"""A training of a page is a row from its start, and ends in that row: finished, stopped, failed, or not at all."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from hetcore.data import HetData
from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.runs import restoring, store, table
from studio.views.common import widgets_training as training

DATA = HetData({"t": pl.DataFrame({"id": ["a", "b"], "x": [1, 2]})})
SETTING = Setting("GBCRegressor", {"n_iterations": 2})


class FakeManager:
    """Takes a task and ends it when it is told how."""

    def __init__(self, full=False):
        self.full = full

    def events(self, run_id):
        """Return one round of the run that was submitted."""
        assert run_id == self.run_id
        return [RoundEnd("GBCRegressor", 0, 2, {"train": 0.5})]

    def submit(self, task, owner, paused=False, on_end=None, run_id=""):
        """Keep what is to follow."""
        self.run_id = run_id
        if self.full:
            raise ValueError("You have 20 unfinished runs already: stop one, or wait until one ends.")
        self.end = on_end
        return "job"


@pytest.fixture
def runs(anywhere, monkeypatch):
    monkeypatch.setattr(store, "_shared", made := anywhere())
    return made


@pytest.fixture
def studio(monkeypatch):
    made = FakeManager()
    monkeypatch.setattr(training.jobs, "manager", lambda: made)
    return made


def submitted():
    return training.submit("Consensus", SETTING, DATA, recipe={"example": "planted"}, title="Planted", owner="anna")


RESULT = SimpleNamespace(
    scores={"metric": "RMSE", "train": 0.5}, source_weights={"t": 1.0}, graph_weights={}, seconds=1.0, model=b"m",
    history=pl.DataFrame({"iteration": [0, 1]}), predictions=None,
    contributions=None, additions=None, staged=None,
)  # fmt: skip


@pytest.mark.parametrize("state", ["finished", "stopped"])
def test_a_run_ends_in_its_row(runs, studio, state):
    assert submitted() == "job"
    (begun,) = runs.list("anna")
    assert begun.status == "training" and begun.settings["params"] == {"n_iterations": 2}
    assert "goes on" in table.unfinished(begun)
    studio.end(SimpleNamespace(state=state, message=""), RESULT)
    (ended,) = runs.list("anna")
    assert (ended.id, ended.created, ended.status) == (begun.id, begun.created, state)
    assert runs.model("anna", ended.id) == b"m" and ended.results["rounds"] == 2 and "process" not in ended.results
    assert table.unfinished(ended) == "" and studio.run_id == ended.id
    assert [event.losses for event in restoring.from_bytes(runs.rounds("anna", ended.id))] == [{"train": 0.5}]


def test_a_run_whose_worker_was_killed_is_kept_with_its_sentence(runs, studio):
    submitted()
    studio.end(SimpleNamespace(state="failed", message="The training process was ended from outside."), None)
    (failed,) = runs.list("anna")
    assert failed.status == "failed" and failed.settings["data"] == {"example": "planted"}
    assert table.unfinished(failed).startswith("The training process was ended from outside. Reopen it")


def test_a_run_that_never_began_leaves_no_row(runs, studio):
    submitted()
    studio.end(SimpleNamespace(state="stopped", message=""), None)
    assert runs.list("anna") == []
    studio.full = True
    with pytest.raises(ValueError, match="unfinished runs"):
        submitted()
    assert runs.list("anna") == []


def test_what_a_run_is_called_while_it_trains_it_is_called_afterwards(runs, studio):
    submitted()
    runs.rename("anna", studio.run_id, "the first")
    runs.pin("anna", studio.run_id)
    studio.end(SimpleNamespace(state="finished", message=""), RESULT)
    (ended,) = runs.list("anna")
    assert (ended.name, ended.status, runs.pins("anna", "Consensus")) == ("the first", "finished", [ended])


@pytest.mark.parametrize("state", ["finished", "failed"])
def test_a_run_that_is_deleted_while_it_trains_does_not_come_back(runs, studio, state):
    submitted()
    assert not runs.delete("ben", studio.run_id) and runs.delete("anna", studio.run_id)
    studio.end(SimpleNamespace(state=state, message=""), RESULT)
    assert runs.list("anna") == []


def test_somebody_elses_wish_to_delete_loses_no_run(runs, studio):
    submitted()
    runs.delete("ben", studio.run_id)
    studio.end(SimpleNamespace(state="finished", message=""), RESULT)
    assert [run.status for run in runs.list("anna")] == ["finished"]


def test_a_name_that_is_given_as_a_run_ends_changes_nothing_else(runs, studio, monkeypatch):
    submitted()
    looked, got = [], runs.get

    def get(owner, run_id):
        found = got(owner, run_id)
        if not looked:  # the run ends between the look and the change
            looked.append(found)
            studio.end(SimpleNamespace(state="finished", message=""), RESULT)
        return found

    monkeypatch.setattr(runs, "get", get)
    assert runs.rename("anna", studio.run_id, "late").status == "finished"
    (ended,) = runs.list("anna")
    assert (ended.name, ended.status, runs.model("anna", ended.id)) == ("late", "finished", b"m")
