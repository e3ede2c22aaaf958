"""A lesson on a page that trains: its steps above the buttons, checked against what the page shows."""

from __future__ import annotations

from typing import Any

import streamlit as st

from studio.views.common import lessons
from studio.views.common.lessons import Facts, Lesson
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import Limits, held

__all__ = ["choice", "facts_of", "panel"]

NONE = "none"
DONE = "lesson steps done"
"""In the session: by lesson, how many of its steps are done."""


def choice(page: str) -> str:
    """Draw the choice of a page's lessons, none at first, and return its key."""
    there = lessons.of_page(page)
    if not there:
        return NONE
    options = [NONE, *there]
    key = held("lesson", NONE, Limits(choices=options))
    return st.selectbox(
        "Lesson", options, key=key, width=230, label_visibility="collapsed", help="Steps to do on this page.",
        format_func=lambda each: f"Lesson: {there[each].title}" if each in there else "Lessons",
    )  # fmt: skip


def panel(chosen: str, facts: Facts) -> None:
    """Draw the steps of a lesson as far as one has come."""
    lesson = lessons.LESSONS.get(chosen)
    if lesson is None:
        return
    progress = st.session_state.setdefault(DONE, {})
    at = progress.get(chosen, 0)
    while at < len(lesson.steps) and lesson.steps[at].answer is None and lessons.passed(lesson.steps[at], facts):
        at += 1
    progress[chosen] = at
    with st.container(border=True, key="lesson_panel"):
        st.markdown(f"**{lesson.title}** · {_place(lesson, at)}")
        if at:
            st.caption("  \n".join(f":material/check: {step.text}" for step in lesson.steps[:at]))
        if at == len(lesson.steps):
            st.success(lesson.summary, icon=":material/school:")
            st.button("Once more", on_click=progress.pop, args=(chosen, None), icon=":material/replay:")
            return
        _current(chosen, lesson, at, facts)


def _place(lesson: Lesson, at: int) -> str:
    return "done" if at == len(lesson.steps) else f"step {at + 1} of {len(lesson.steps)}"


def _current(chosen: str, lesson: Lesson, at: int, facts: Facts) -> None:
    """Draw the step that is to be done, or its question."""
    step = lesson.steps[at]
    st.markdown(step.text)
    if step.answer is None or not step.done(facts):
        return
    given = st.radio("Answer", step.options(facts), index=None, horizontal=True, key=f"answer {chosen} {at}",
                     label_visibility="collapsed", format_func=escape)  # fmt: skip
    if given is None:
        return
    if lessons.passed(step, facts, given):
        st.session_state[DONE][chosen] = at + 1
        st.rerun()
    st.warning(f"Not so. {step.hint}", icon=":material/refresh:")


def facts_of(kept: Any, events: Any, finished: bool) -> Facts:
    """Return what a page shows of its trainings, nothing without one."""
    return Facts(kept.settings, events, kept.before, finished) if kept else Facts()
