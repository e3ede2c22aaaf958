"""Noise: train a model that learns which rows to trust beside one that trusts all alike, on labels you spoil."""

from __future__ import annotations

from typing import Any

import streamlit as st

from studio import session
from studio.jobs.job import Setting
from studio.views.common.widgets import escape, frame, panes
from studio.views.common.widgets_chance import any_over_seeds, compared
from studio.views.common.widgets_controls import write
from studio.views.common.widgets_pins import pin_of, pins_panel
from studio.views.common.widgets_training import LiveTrainings
from studio.views.noise import settings as noise
from studio.views.noise import widgets, widgets_controls, widgets_matrix, widgets_table

PAGE = "Noise"
frame(PAGE)
current, owner = session.current(), session.owner()
data = session.changed()


def draw(events: Any, before: Any) -> None:
    """Draw both trainings so far, pale beside them the ones before."""
    # Ended trainings are scored on all they predict, those that go on by their last round.
    results = {label: live.result(label) for label in events} if not live.busy else {}
    st.session_state["drawn noise"] = widgets.curves(mode, events, before, results)
    if mode != "Tensor" and (text := noise.chosen(live.settings, events)):
        st.caption(escape(text))


def after(settings: dict[str, Setting]) -> None:
    """Draw what there is to see and take once both trainings have ended."""
    results = {label: live.result(label) for label in settings}
    # Two models are compared; of one alone there is nothing to say.
    if any(result is None or result.predictions is None for result in results.values()):
        return
    drawn = st.session_state.get("drawn noise") or {}
    widgets.verdict(mode, current, live, results)
    about = noise.MODES[mode]
    any_over_seeds(current.data, compared(live, [(about.plain, about.learned)]), owner, f"noise {mode}")
    show = widgets_table.tabs if mode == "Table" else widgets_matrix.tabs
    show(mode, data, current, settings=settings, results=results, drawn=drawn, owner=owner)
    pins_panel(pin_of(live, current.title), PAGE, current.data, owner)


st.caption(f"{escape(current.title)}: {escape(current.story)}")
# First, for everything below depends on it.
mode = widgets_controls.mode(data)
# By mode: tables and matrices are trained on the same data, each with a training of its own.
live = LiveTrainings(PAGE, current, owner, mode)
reason = noise.why_not(mode, data)
if reason:
    st.warning(escape(reason))
    widgets_controls.examples(mode, current.example, primary=True)
    write()  # a link opens the page at what was chosen, also where these data don't fit
    st.stop()
bar, main, side = panes()
with side:
    chosen = widgets_controls.controls(mode, data, session.operations())
with bar:
    live.controls(chosen)
with main:
    if not live.runs:
        st.info(widgets_controls.INVITATIONS[mode])
        widgets_controls.explain(mode, data)
        widgets_controls.examples(mode, current.example)
    else:
        live.watch(draw)
        if not live.busy:
            after(live.settings)
        with st.expander("What do the words mean?"):
            widgets_controls.explain(mode, data)
        widgets_controls.examples(mode, current.example)
