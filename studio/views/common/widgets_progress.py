"""How far trainings are, in words; what steers them; and what differs from the controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from hetcore.transfer.left_out import BOOSTED
from studio import session
from studio.jobs import manager as jobs
from studio.jobs.job import Setting
from studio.runs.differences import Outcome, changed, describe
from studio.views.common import training
from studio.views.common.widgets import escape

__all__ = ["ahead", "changes", "outcomes", "player", "say", "what_if"]

AHEAD = 5
"""Trainings that are listed before a queued one."""
WORDS = {
    "queued": "Queued",
    "starting": "Starting a worker",
    "compiling": "Compiling, first run only",
    "running": "Training",
    "paused": "Paused",
    "predicting": "Rounds done, predicting",
    "finished": "Training finished",
    "stopped": "Training stopped",
    "failed": "Training failed",
}


def what_if() -> None:
    """Say what was done to the data, which the controls don't show, with the way back."""
    if not session.operations():
        return
    with st.container(horizontal=True, vertical_alignment="center", key="what if"):
        operations = escape(describe(session.operations()))
        st.markdown(f":material/science: What if: {operations}.", width="content")
        st.button("Undo the last change", on_click=session.undo, key="undo what if", icon=":material/undo:")


def changes(old: Mapping[str, Setting], new: Mapping[str, Setting]) -> str:
    """Say what differs between trained settings and those of the controls."""
    both = [label for label in new if label in old and old[label] != new[label]]
    if not both and old.keys() < new.keys():
        return f"without {', '.join(label for label in new if label not in old)}"
    if not both or old.keys() != new.keys():
        return "other models are chosen"
    settings = [(old[label], new[label]) for label in both]
    pairs = [[Outcome(tuple(each.operations), training.arguments(each)) for each in pair] for pair in settings]
    # Models have parameters of their own: each change is said once, of whichever it is.
    found = dict.fromkeys(change for before, after in pairs for change in changed(before, after))
    return "; ".join(found) or "the same settings again"


def outcomes(live: Any) -> None:
    """Say in one sentence for each of a page's trainings whose setting changed what came of it."""
    events, notes = live.events(), []
    for label, setting in live.settings.items():
        # What was merely trained again came to the same, and a stopped one may have no round.
        if label in live.before and live.before[label][0] != setting and events[label]:
            # Of the models that were kept, whose scores need not be those of any round.
            before, now = (each and each.scores for each in (live.result_before(label), live.result(label)))
            old = training.outcome(*live.before[label], before)
            new = training.outcome(setting, events[label], now)
            notes.append(f"{label}: {training.difference(old, new)}")
    if notes:
        with st.container(key="change"):
            st.success("  \n".join(map(escape, notes)))


def ahead(runs: Iterable[str], owner: str) -> None:
    """Say what a queued training waits for, and offer to stop what the person left running elsewhere than in `runs`."""
    manager, runs = jobs.manager(), list(runs)
    active = [each for each in manager.runs(owner) if each.active]
    others = [each for each in active if each.run_id not in runs]
    # What a moved control has overtaken stops by itself, after its round.
    left = [each for each in others if not each.stopping]
    if not left and others:
        st.caption("It waits for the one before it to stop.")
    elif not left:
        beside = any(each.run_id in runs and each.state != "queued" for each in active)
        st.caption("It waits for those beside it." if beside else "It waits for trainings of other people.")
    for status in left[:AHEAD]:
        text = _task_text(manager.task(status.run_id, owner, watch=False), status)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(escape(f"You left this running: {text}."), width="content")
            key, stop = f"stop {status.run_id}", lambda run=status.run_id: manager.stop(run, owner)
            st.button("Stop it", key=key, on_click=stop, icon=":material/stop:")


def player(statuses: Mapping[str, Any], order: Callable[[str], None]) -> None:
    """Draw play, pause, one round and stop."""
    paused = any(status.state == "paused" for status in statuses.values())
    with st.container(horizontal=True):
        if paused:
            st.button("Play", on_click=order, args=("resume",), icon=":material/play_arrow:")
            st.button("One round", on_click=order, args=("step",), icon=":material/skip_next:")
        else:
            pausing = all(status.pausing for status in statuses.values() if status.active)
            st.button("Pause", on_click=order, args=("pause",), icon=":material/pause:", disabled=pausing)
        stopping = all(status.stopping for status in statuses.values() if status.active)
        st.button("Stop training", on_click=order, args=("stop",), icon=":material/stop:", disabled=stopping)


def say(statuses: Mapping[str, Any], events: Mapping[str, Sequence[Any]]) -> Any:
    """Show one line and one bar for all trainings, and what went wrong; return the bar, None where none goes on.

    Parameters
    ----------
    statuses : mapping of str to Status
        By label.
    events : mapping of str to sequence of RoundEnd
        Of the rounds so far, by label: why one ended early.
    """
    several = len(statuses) > 1
    for label, status in statuses.items():
        if status.state == "failed":
            wording = status.message or "Training failed: try other settings."
            st.error(escape(f"{label}: {wording}" if several else wording))
    if not any(status.active for status in statuses.values()):
        states = {status.state for status in statuses.values()} - {"failed"}
        if states:
            wording = WORDS["stopped" if "stopped" in states else "finished"] + _early(statuses, events)
            st.caption(escape(" ".join([f"{wording}.", *_messages(statuses)])))
        return None
    return say_on(st, statuses)


def _messages(statuses: Mapping[str, Any]) -> list[str]:
    """Return what trainings that have not failed say: once what all say, else with whose it is."""
    labels: dict[str, list[str]] = {}
    for label, status in statuses.items():
        if status.message and status.state != "failed":
            labels.setdefault(status.message, []).append(label)
    return [text if len(of) == len(statuses) else f"{', '.join(of)}: {text}" for text, of in labels.items()]


def say_on(place: Any, statuses: Mapping[str, Any]) -> Any:
    """Show how far the trainings that go on are by now, in a place or in the bar that stands there."""
    busy = {label: status for label, status in statuses.items() if status.active}
    several = len(statuses) > 1
    done = sum(status.rounds if status.active else max(status.total, 1) for status in statuses.values())
    total = sum(max(status.total, 1) for status in statuses.values())
    text = " · ".join(_line(label if several else "", status) for label, status in busy.items())
    return place.progress(min(done / max(total, 1), 1.0), text=escape(text))


def _early(statuses: Mapping[str, Any], events: Mapping[str, Sequence[Any]]) -> str:
    """Say which trainings ended before all rounds were done, and why; empty where none did."""
    # One that was stopped ended early too, and nobody wonders why.
    early = [label for label, each in statuses.items() if each.state == "finished" and 0 < each.rounds < each.total]
    details = {label: events[label][-1].detail for label in early if events.get(label)}
    # What a guard takes in place of boosting has one round from the start.
    taken = {label: each["chosen"] for label, each in details.items() if each.get("chosen", BOOSTED) != BOOSTED}
    boosted, several = ", ".join(label for label in early if label not in taken), len(statuses) > 1
    text = (f"; {boosted} ended early" if several else " early") + ": no lower loss" if boosted else ""
    whose = {label: f" of {label}" if several else "" for label in taken}
    return text + "".join(f"; the guard{whose[label]} took “{kind}”, of one round" for label, kind in taken.items())


def _line(label: str, status: Any) -> str:
    text = WORDS[status.state] + (f", {status.place} in the queue" if status.state == "queued" else "")
    if status.total:
        text += f" · round {status.rounds} of {status.total}"
    if status.pausing:
        text += " · pauses after this round"
    elif status.seconds_left is not None:
        text += f" · up to {status.seconds_left:.0f} s left" if status.seconds_left >= 1 else " · about to end"
    return f"{label}: {text}" if label else text


def _task_text(task: Any, status: Any) -> str:
    """Return what a job is: the method, or the function's name, and how far it is."""
    name = getattr(task, "estimator", "") or task.path.rpartition(":")[2].replace("_", " ")
    return f"{name}, {WORDS[status.state].lower()}" + (f", round {status.rounds}" if status.rounds else "")
