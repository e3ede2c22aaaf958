"""What AppTests need: comparisons in the background are made up, or they would train beside every page that trains."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from studio.jobs import manager
from studio.jobs.job import Status
from studio.jobs.results import RunResult
from studio.views.consensus import without


class MadeUp:
    """A manager in the background whose runs end at once with a value that was made up."""

    value = {
        "name": "SVM", "metric_name": "error", "cross_validated": {"SVM": 0.5, "CatBoost": 0.6}, "held_out": 0.5,
        "losses": [], "n_folds": 3,
    }  # fmt: skip

    def __init__(self) -> None:
        self.tasks: dict[str, dict] = {}
        self.state = "finished"

    def run_task(self, path, kwargs, owner="", gives_way=False):
        """Note what is asked for."""
        self.tasks[f"run {len(self.tasks)}"] = kwargs
        return f"run {len(self.tasks) - 1}"

    def status(self, run_id, owner=None, watch=True):
        """Return the state that the test has set."""
        return Status(run_id, self.state, rounds=2, total=13)

    def result(self, run_id, owner=None):
        """Return the value of a run that was not stopped."""
        return RunResult(value=self.value if self.state == "finished" else None)

    def stop(self, run_id, owner=None):
        """Stop."""
        self.state = "stopped"


@pytest.fixture(autouse=True)
def in_the_background(monkeypatch):
    """Replace the manager of what nobody waits for."""
    made = MadeUp()
    monkeypatch.setattr(manager, "background", lambda: made)
    monkeypatch.setattr(without, "_kept", OrderedDict())
    monkeypatch.setattr(without, "_shared", OrderedDict())
    return made
