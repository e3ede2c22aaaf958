"""A task of a worker that a part of a page starts, looks at by itself while it goes on, and stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from hetcore.data import HetData
from studio.jobs import manager as jobs
from studio.jobs.job import FunctionTask, without_data
from studio.views.common.widgets import escape

__all__ = ["answer", "differs", "is_of", "progress", "run_of", "start", "stop", "watch"]

EVERY = 1.0
"""Seconds between two looks."""
PATIENCE = 60.0
"""Seconds that a person waits for an answer with the page standing still."""


def start(task: str, arguments: Mapping[str, Any], owner: str) -> str:
    """Start a task by its path; return its run, empty and with a sentence on the page where it is refused."""
    try:
        return jobs.manager().run_task(task, dict(arguments), owner)
    except ValueError as error:
        st.error(escape(error))
        return ""


def answer(task: str, arguments: Mapping[str, Any], owner: str, text: str) -> tuple[Any, str]:
    """Return what a worker's task returns, None with a sentence where there is none; `text` stands while it is waited.

    ValueError where the queue refuses it.
    """
    run = jobs.manager().run_task(task, dict(arguments), owner)
    with st.spinner(text):
        status = jobs.manager().wait(run, timeout=PATIENCE)
    result = jobs.manager().result(run)
    if status.state == "finished" and result is not None:
        return result.value, ""
    # Given up, so that it does not hold a worker for nobody.
    jobs.manager().stop(run)
    return None, status.message or "The workers are busy: stop a training, or try again."


def run_of(task: str, owner: str, fits: Callable[[Mapping[str, Any]], bool]) -> str:
    """Return the owner's newest run of a task that was given what `fits`, going on or ended; empty without one.

    So that it is there after a reload, which begins another session.
    """
    there = jobs.manager()
    for status in there.runs(owner):
        # One may be forgotten since they were listed.
        with suppress(jobs.UnknownRunError):
            asked = there.task(status.run_id, owner, watch=False)
            if isinstance(asked, FunctionTask) and asked.path == task and fits(asked.kwargs):
                return status.run_id
    return ""


def stop(run: str, owner: str) -> None:
    """Stop a task, if there is such a run."""
    try:
        jobs.manager().stop(run, owner)
    except jobs.UnknownRunError:
        pass


def _given(run: str, owner: str) -> Mapping[str, Any]:
    return _arguments(jobs.manager().task(run, owner))


def _arguments(task: jobs.TrainingTask | FunctionTask) -> Mapping[str, Any]:
    return task.kwargs if isinstance(task, FunctionTask) else {}


def is_of(run: str, data: HetData, owner: str) -> bool:
    """Return whether there is such a run of the owner's, and it was given these data."""
    try:
        return _given(run, owner).get("data") == data.digest()
    # Forgotten meanwhile, or another person's: as if there were none.
    except jobs.UnknownRunError:
        return False


def differs(run: str, owner: str, arguments: Mapping[str, Any], words: Mapping[str, str]) -> bool:
    """Say what a task would be given otherwise now, in `words` by argument; return whether there is anything.

    Parameters
    ----------
    run, owner : str
    arguments : mapping
        Of the task as it would be started now; empty where it can't be.
    words : mapping of str to str
    """
    given, wanted = _given(run, owner), _arguments(without_data(FunctionTask("", arguments)))
    other = [words[name] for name in words if given.get(name) != wanted.get(name)]
    if other:
        st.info(f"What is shown was measured with other settings: {', '.join(other)}. Measure again to follow them.")
    return bool(other)


def progress(status: Any) -> None:
    """Show how many of its fits a task has done, or what went wrong."""
    if status.state == "failed":
        st.error(escape(status.message))
    if status.active:
        wording = f"{status.rounds} of {status.total} fits" if status.total else _waiting(status)
        # The first fits may take no time: what would read "0 s left" is no forecast.
        wording += f" · {status.seconds_left:.0f} s left" if (status.seconds_left or 0.0) >= 1.0 else ""
        st.progress(status.rounds / max(status.total, 1), text=wording)


def _waiting(status: Any) -> str:
    return f"Waiting, {status.place} in the queue" if status.place else "About to begin"


def watch(run: str, owner: str, show: Callable[[Any, Sequence[Any]], None]) -> None:
    """Draw a task's status and events, again and again until it has ended.

    Parameters
    ----------
    run, owner : str
    show : callable
        Gets the status, and the `RoundEnd` events so far.
    """
    try:
        active = jobs.manager().status(run, owner).active
    except jobs.UnknownRunError:
        return

    # A fragment that asks again by itself: the page around it is not drawn anew each second.
    @st.fragment(run_every=EVERY if active else None)
    def look() -> None:
        status = jobs.manager().status(run, owner)
        show(status, jobs.manager().events(run))
        # The whole page once more at the end, so that the fragment stops asking.
        if active and not status.active:
            st.rerun()

    look()
