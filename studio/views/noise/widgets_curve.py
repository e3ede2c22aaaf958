"""The curve of the Noise page: the error of two models by the share of corrupted labels, drawn as it is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from hetcore.data import HetData
from hetcore.figures import basic
from hetcore.figures import noise as figures_noise
from studio.jobs import manager
from studio.jobs.job import Setting
from studio.views.common import widgets_task
from studio.views.common.widgets import escape, live_chart
from studio.views.common.widgets_controls import slider
from studio.views.noise import curve
from studio.views.noise import settings as noise

__all__ = ["measured"]

EVERY = 0.7
"""Seconds between two looks at a curve that is being measured."""


WORDS = {
    "methods": "parameters",
    "form": "columns",
    "before": "changes to the data",
    "known": "labels known",
    "sd": "size of the noise",
    "repeats": "repeats",
}
"""What a measurement is given, in words."""


def measured(mode: str, data: HetData, settings: Mapping[str, Setting], owner: str) -> None:
    """Draw the controls and the curve as far as it is measured.

    Parameters
    ----------
    mode : str
    data : HetData
        Before the operations of the settings: a curve of other data is left alone.
    settings : mapping of str to Setting
    owner : str
    """
    state_key = f"noise curve {mode}"
    run = st.session_state.get(state_key)
    run = run if run and widgets_task.is_of(run, data, owner) else None
    active = run is not None and manager.manager().status(run, owner).active
    with st.container(horizontal=True, vertical_alignment="bottom"):
        repeats = slider(
            "Repeats",
            2,
            10,
            start=3,
            step=1,
            key="noise_repeats",
            help="Draws of labels and noise: more narrow the bands.",
        )
        arguments = curve.sweep(mode, data, settings, repeats)
        if st.button("Measure the curve", key="measure_noise", disabled=active):
            _start(state_key, arguments, owner)
        if active:
            st.button("Stop measuring", key="stop_noise", on_click=manager.manager().stop, args=(run, owner),
                      icon=":material/stop:")  # fmt: skip
    if run is None:
        what = "known readings" if mode == "Tensor" else f"{noise.DONE[data.target_kind == 'regression']} labels"
        st.caption(
            f"Both models learn at five shares of {what}, several times over, with the settings that were trained."
        )
        return
    widgets_task.differs(run, owner, arguments, WORDS)
    st.fragment(_look, run_every=EVERY if active else None)(mode, run, active)


def _start(state_key: str, arguments: dict[str, Any], owner: str) -> None:
    if run := widgets_task.start("studio.views.noise.curve:curve", arguments, owner):
        st.session_state[state_key] = run
        st.rerun()


def _look(mode: str, run: str, active: bool) -> None:
    status, events = manager.manager().status(run), manager.manager().events(run)
    widgets_task.progress(status)
    if events:
        about, cells = noise.MODES[mode], [event.detail for event in events]
        live_chart(_figure(mode, cells), "noise_levels", len(events))
        st.caption("Band: one standard error over the repeats.")
        if not status.active:
            st.success(escape(curve.verdict(cells, about.learned, about.plain)))
    if active and not status.active:
        st.rerun()


def _figure(mode: str, cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    about, known = noise.MODES[mode], mode == "Tensor"
    done = noise.DONE[cells[0]["metric_name"] != "error"]
    across = "share of readings known" if known else f"share of training labels {done}"
    titles = (across, f"{cells[0]['metric_name']}, held out")
    figure = basic.per_cent(figures_noise.levels(curve.bands(cells), titles, (about.learned, about.plain)))
    # All shares from the first fit on: about a single point an axis would go below none.
    levels = curve.KNOWN if known else curve.FLIPPED
    figure["layout"]["xaxis"] |= {"range": [levels[0] - 0.01, levels[-1] + 0.01]}
    return figure
