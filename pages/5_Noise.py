"""Noise: train a model that learns which rows to trust beside one that trusts all alike, on labels you spoil."""

from __future__ import annotations

from typing import Any

import streamlit as st

from studio import noise, session, widgets_noise, widgets_noise_controls, widgets_noise_matrix, widgets_noise_table
from studio.training import Setting
from studio.widgets import escape, frame
from studio.widgets_training import LiveTrainings

PAGE = "Noise"
frame(PAGE)
current, owner = session.current(), session.owner()
data = session.changed()


def draw(events: Any, before: Any) -> None:
    """Draw both trainings so far, pale beside them the ones before."""
    results = {label: live.result(label) for label in events} if not live.busy else {}
    st.session_state["drawn noise"] = widgets_noise.curves(mode, events, before, results)


def after(settings: dict[str, Setting]) -> None:
    """Draw what there is to see and take once both trainings have ended."""
    results = {label: live.result(label) for label in settings}
    if any(result is None or result.predictions is None for result in results.values()):
        return
    drawn = st.session_state.get("drawn noise") or {}
    widgets_noise.verdict(mode, current.data, live, results)
    show = widgets_noise_table.tabs if mode == "Table" else widgets_noise_matrix.tabs
    show(mode, data, current, settings, results, drawn, owner)


st.caption(f"{escape(current.title)}: {escape(current.story)}")
mode = widgets_noise_controls.mode(data)
live = LiveTrainings(PAGE, current, owner, mode)
reason = noise.refusal(mode, data)
if reason:
    st.warning(escape(reason))
    widgets_noise_controls.examples(mode, current.example, primary=True)
    st.stop()
bar = st.container()
side, main = st.columns([1.15, 3], gap="large")
with side:
    chosen = widgets_noise_controls.controls(mode, data, session.operations())
with bar:
    live.controls(chosen)
with main:
    if not live.runs:
        st.info(widgets_noise_controls.INVITATIONS[mode])
        widgets_noise_controls.explain(mode)
        widgets_noise_controls.examples(mode, current.example)
    else:
        live.watch(draw)
        if not live.busy:
            after(live.settings)
        with st.expander("What do the words mean?"):
            widgets_noise_controls.explain(mode)
        widgets_noise_controls.examples(mode, current.example)
