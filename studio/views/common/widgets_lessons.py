"""A lesson or a challenge on a page that trains, above the charts, checked against what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import datasets
from studio import session, state
from studio.runs import store
from studio.views.common import challenges, lessons
from studio.views.common.challenges import Attempt, Challenge
from studio.views.common.lessons import Facts, Lesson
from studio.views.common.widgets import escape, show_table
from studio.views.common.widgets_controls import Limits, held

__all__ = ["choice", "facts_of", "panel"]

NONE = "none"
CHALLENGE = "challenge "
TRIED = "challenge attempts"
"""In the session: by title and run id, the attempts at a challenge."""
DONE = "lesson steps done"
"""In the session: by lesson, how many of its steps are done."""
AGAIN = "lesson goes"
"""In the session: by lesson, how often it was begun anew."""


def choice(page: str) -> str:
    """Draw the choice of a page's lessons, none at first, and return its key."""
    there = {key: f"Lesson: {lesson.title}" for key, lesson in lessons.of_page(page).items()}
    there |= {f"{CHALLENGE}{key}": f"Challenge: {each.title}" for key, each in challenges.of_page(page).items()}
    if not there:
        return NONE
    options = [NONE, *there]
    key = held("lesson", NONE, Limits(choices=options), label="Lessons")
    return st.selectbox(
        "Lesson", options, key=key, width=340, label_visibility="collapsed", help="Steps to do on this page.",
        format_func=lambda each: there.get(each, "Lessons"),
    )  # fmt: skip


def panel(chosen: str, facts: Facts) -> None:
    """Draw the steps of a lesson as far as one has come, or a challenge and its attempts."""
    challenge = challenges.CHALLENGES.get(chosen.removeprefix(CHALLENGE)) if chosen.startswith(CHALLENGE) else None
    if challenge is not None:
        _challenge(challenge, facts)
        return
    lesson = lessons.LESSONS.get(chosen)
    if DONE not in st.session_state:
        st.session_state[DONE] = {chosen: session.asked_number(state.STEP)}
    progress = st.session_state[DONE]
    if lesson is None:
        session.tell(state.STEP, "")
        return
    at = min(progress.get(chosen, 0), len(lesson.steps))
    # Several steps may be done at once, by somebody who goes ahead; a question waits for its answer.
    while at < len(lesson.steps) and lesson.steps[at].answer is None and lessons.passed(lesson.steps[at], facts):
        at += 1
    progress[chosen] = at
    # So that a reload goes on with it.
    session.tell(state.STEP, str(at or ""))
    with st.container(border=True, key="lesson_panel"):
        st.markdown(f"**{lesson.title}** · {_place(lesson, at)}")
        if at:
            st.caption("  \n".join(f":material/check: {step.text}" for step in lesson.steps[:at]))
        if at == len(lesson.steps):
            st.success(lesson.summary, icon=":material/school:")
            st.button("Once more", on_click=_again, args=(chosen,), icon=":material/replay:")
            return
        _current(chosen, lesson, at, facts)


def _again(chosen: str) -> None:
    """Begin a lesson anew, with questions of its own: pressed at once, the button finds the last answer still given."""
    st.session_state[DONE].pop(chosen, None)
    goes = st.session_state.setdefault(AGAIN, {})
    goes[chosen] = goes.get(chosen, 0) + 1


def _challenge(challenge: Challenge, facts: Facts) -> None:
    """Draw a goal and the attempts so far, each training once."""
    about = datasets.info(challenge.data)
    kept = st.session_state.setdefault(TRIED, {})
    if challenge.title not in kept:
        kept[challenge.title] = challenges.stored(challenge, store.shared().list(session.owner(), challenge.page))
    tried = kept[challenge.title]
    label = next(iter(facts.settings), None)
    # Only of the challenge's own data, or an easier set would count.
    if facts.finished and label is not None and facts.title == about.title:
        found = challenges.attempt(challenge, facts.settings[label], facts.events[label])
        if found is not None:
            # The page runs again and again; a training counts once, by its run.
            tried.setdefault(facts.runs[label], found)
    with st.container(border=True, key="lesson_panel"):
        st.markdown(f"**{challenge.title}** · {challenge.goal}")
        if facts.title and facts.title != about.title:
            st.caption(f"It is about {escape(about.title)}: choose it on the Data page.")
        if tried:
            # Why one does not count is a sentence; a number takes as much room unless it is told.
            sizes = {"attempt": 75, "error": 75, "goal": 280}
            widths = {name: st.column_config.TextColumn(width=size) for name, size in sizes.items()}
            show_table(_attempts(tried, challenge), width="stretch", column_config=widths, alt="Attempts so far")
        else:
            st.caption("No attempt yet: set the controls and train.")
        won = [number for number, each in enumerate(tried.values(), 1) if challenges.reached(challenge, each)]
        if won:
            st.success(f"Reached at attempt {won[0]}.", icon=":material/emoji_events:")


def _attempts(tried: dict[str, Attempt], challenge: Challenge) -> list[dict[str, str]]:
    """Return the attempts as rows, the newest first."""
    rows = []
    for number, each in enumerate(tried.values(), 1):
        # Two decimals: 3.57% is below 3.6%, and one of them would say that it is not.
        row = {"attempt": str(number), "error": f"{each.error:.2%}", "goal": _worth(challenge, each)}
        rows.insert(0, row | {"settings": each.setting})
    return rows


def _worth(challenge: Challenge, tried: Attempt) -> str:
    if tried.fault:
        return f"does not count: {tried.fault}"
    return "reached" if challenges.reached(challenge, tried) else "missed"


def _place(lesson: Lesson, at: int) -> str:
    return "done" if at == len(lesson.steps) else f"step {at + 1} of {len(lesson.steps)}"


def _current(chosen: str, lesson: Lesson, at: int, facts: Facts) -> None:
    """Draw the step that is to be done, or its question."""
    step = lesson.steps[at]
    st.markdown(step.text)
    # The question comes only once what it asks about is on the page.
    if step.answer is None or not step.done(facts):
        return
    go = st.session_state.get(AGAIN, {}).get(chosen, 0)
    given = st.radio("Answer", step.options(facts), index=None, horizontal=True, key=f"answer {chosen} {at} {go}",
                     label_visibility="collapsed", format_func=escape)  # fmt: skip
    if given is None:
        return
    if lessons.passed(step, facts, given):
        st.session_state[DONE][chosen] = at + 1
        # At once, so that the next step is drawn and not the answered one.
        st.rerun()
    # With the answer: a second wrong one is seen to be another.
    st.warning(f"Not so: “{escape(given)}”. {step.hint}", icon=":material/refresh:")


def facts_of(kept: Any, events: Any, finished: bool, results: Mapping[str, Any], title: str) -> Facts:
    """Return what a page shows of its trainings and its data, of these alone without a training."""
    if not kept:
        return Facts(title=title)
    scores = {label: result.scores for label, result in results.items() if result is not None}
    about = {"runs": kept.runs, "scores": scores, "title": title}
    return Facts(kept.settings, events, kept.before, finished, **about)
