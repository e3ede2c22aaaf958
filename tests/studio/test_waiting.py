"""What a page waits for before it is drawn: the end of a short training, unless it is queued or charts stand still."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from studio.views.common import widgets_training as training


class Waiting(training.LiveTrainings):
    """A page with one training, which ends when it has been waited for twice."""

    runs = {"Consensus": "run"}

    def __init__(self, state: str) -> None:
        self.waits, self.state = 0, state

    @property
    def busy(self) -> bool:
        """Whether the training goes on."""
        return self.waits < 2

    def status(self, run: str) -> SimpleNamespace:
        """Return how the training is, as the manager says it."""
        return SimpleNamespace(state=self.state)

    def wait_ended(self, runs, timeout, soon) -> None:
        """Note that somebody waits; a slice at a time, so that moved controls are heard."""
        assert timeout <= 0.2
        self.waits += 1


@pytest.mark.parametrize(
    ("state", "session", "patience", "waits"),
    [
        ("running", {}, 60.0, 2),
        ("predicting", {"hold": False}, 60.0, 2),
        ("queued", {}, 60.0, 0),
        ("running", {"hold": True}, 60.0, 0),
        ("running", {}, 0.0, 0),
    ],
)
def test_a_short_training_is_waited_for(monkeypatch, state, session, patience, waits):
    page = Waiting(state)
    monkeypatch.setattr(training.jobs, "manager", lambda: page)
    monkeypatch.setattr(training.st, "session_state", session)
    monkeypatch.setattr(training, "WAITED", patience)
    page._await_end()
    assert page.waits == waits


class Session(dict):
    """A session that ends the script once, as Streamlit does where controls have moved meanwhile."""

    moved = True

    def __setitem__(self, key, value) -> None:
        """Keep a value, but for the first time."""
        if self.moved:
            self.moved = False
            raise KeyboardInterrupt
        super().__setitem__(key, value)


def test_what_was_started_is_kept_where_the_script_ends_at_that_moment(monkeypatch):
    page, session = Waiting("running"), Session()
    page._state_key = "live Consensus"
    monkeypatch.setattr(training.st, "session_state", session)
    with pytest.raises(KeyboardInterrupt):
        page._keep("started")
    assert session == {"live Consensus": "started"}
