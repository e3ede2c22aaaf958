"""The curve of the Transfer page: accuracy by number of target examples, measured in a worker, drawn as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import transfer as figures
from studio import session
from studio.jobs import manager
from studio.jobs.job import Setting
from studio.runs import export
from studio.views.common import widgets_task
from studio.views.common.widgets import escape, live_chart
from studio.views.common.widgets_controls import go_back, slider, values
from studio.views.transfer import curve
from studio.views.transfer.domains import METHODS

__all__ = ["MeasuredCurve"]

ORDER = tuple(METHODS)
EVERY = 0.7
"""Seconds between two looks at a curve that is being measured."""


WORDS = {
    "done": "changes to the data",
    "target": "target",
    "methods": "methods or their parameters",
    "sizes": "numbers of examples",
    "repeats": "repeats",
}
"""What a measurement is given, in words."""


NOT_KEPT = "The curve of the link is not kept here (any more), or it is another person's: measure it to have it."


class MeasuredCurve:
    """The measured accuracy by number of target examples: started, watched, stopped, compared with the one before.

    Parameters
    ----------
    data : HetData
        In use, before what-if operations: a curve of other data is left alone.
    title : str
        Of the data.
    owner : str
    """

    def __init__(self, data: HetData, title: str, owner: str) -> None:
        self._data, self._title, self._owner = data, title, owner
        # After a reload the address is all that is left of it.
        named = st.query_params.get("curve")
        if "transfer curve" in st.session_state or not named:
            return
        if widgets_task.is_of(named, data, owner):
            st.session_state["transfer curve"] = {"run": named, "before": {}, "screen": None}
        else:
            st.query_params.pop("curve", None)
            session.note("curve", NOT_KEPT)

    @property
    def _kept(self) -> dict[str, Any] | None:
        kept = st.session_state.get("transfer curve")
        return kept if kept and widgets_task.is_of(kept["run"], self._data, self._owner) else None

    def draw(self, settings: Mapping[str, Setting], target: str, possible: int) -> None:
        """Draw the controls and the curve as far as it is measured.

        Parameters
        ----------
        settings : mapping of str to Setting
            What to measure, by method; empty where nothing can be measured.
        target : str
        possible : int
            Most examples of each class.
        """
        st.subheader("How many examples of your own does it take?", anchor=False)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            repeats = slider(
                "Repeats", 2, 20, start=5, step=1, key="draws", help="Draws of the examples: more give narrower bands."
            )
            busy = self._busy()
            arguments = curve.sweep(self._data, settings, target, possible, repeats) if settings else {}
            if st.button("Measure the curve", key="measure", disabled=not settings or busy):
                self._start(arguments)
            if busy:
                st.button("Stop measuring", key="stop_measuring", on_click=self._stop, icon=":material/stop:")
        if self._kept is None:
            st.caption("Each method learns from 1, 2, 3, … examples of each class, several times over.")
            return
        if widgets_task.differs(self._kept["run"], self._owner, arguments, WORDS) and self._kept["screen"]:
            text = "Back to what was measured"
            st.button(text, on_click=go_back, args=self._kept["screen"], key="back to curve", icon=":material/undo:")
        active = self._busy()
        # A fragment that asks again by itself: the page around it is not drawn anew each time.
        st.fragment(self._look, run_every=EVERY if active else None)(active)

    def _busy(self) -> bool:
        kept = self._kept
        return kept is not None and manager.manager().status(kept["run"], self._owner).active

    def _stop(self) -> None:
        if self._kept is not None:
            manager.manager().stop(self._kept["run"], self._owner)

    def _start(self, arguments: dict[str, Any]) -> None:
        before = self._points()
        run = widgets_task.start("studio.views.transfer.curve:curve", arguments, self._owner)
        if not run:
            return
        st.session_state["transfer curve"] = {"run": run, "before": before, "screen": (values(), session.operations())}
        st.query_params["curve"] = run
        # The whole page once more: its button and its fragment depend on whether something runs.
        st.rerun()

    def _points(self) -> dict[str, curve.Points]:
        if self._kept is None:
            return {}
        return curve.points(event.detail for event in manager.manager().events(self._kept["run"]))

    def _look(self, active: bool) -> None:
        kept = self._kept
        if kept is None:
            return
        status, measured = manager.manager().status(kept["run"]), self._points()
        widgets_task.progress(status)
        if measured:
            self._figure(measured, kept["before"], status)
        if active and not status.active:
            st.rerun()

    def _figure(self, measured: Mapping[str, curve.Points], before: Mapping[str, Any], status: Any) -> None:
        events = manager.manager().events(status.run_id)
        chance = float(np.mean([event.detail["chance"] for event in events]))
        bands = {name: each.band for name, each in measured.items()}
        pale = {name: each.band for name, each in before.items()}
        figure = figures.curve(bands, ORDER, pale=pale, chance=chance)
        live_chart(figure, "live_curve", len(events))
        with st.container(key="verdict"):
            text = curve.verdict(measured)
            (st.caption if status.active else st.success)(escape(text if not status.active else f"So far: {text}"))
        words = "Clear is a difference beyond two standard errors, over the same draws."
        st.caption(f"Band: one standard error over the repeats. {words}{' Pale: the curve before.' if pale else ''}")
        if not status.active:
            self._take(figure, [dict(event.detail) for event in events])

    def _take(self, figure: dict[str, Any], cells: list[dict[str, Any]]) -> None:
        """Offer the curve as a figure and as a table."""
        stem, columns = f"{self._title} transfer curve", ("label", "size", "repeat", "accuracy", "chance")
        table = export.csv(pl.DataFrame([{name: cell[name] for name in columns} for cell in cells]))
        with st.container(horizontal=True):
            page = export.figure_html(figure, stem)
            st.download_button("Curve (HTML)", page, export.file_name(stem, "html"), on_click="ignore")
            st.download_button("Curve (CSV)", table, export.file_name(stem, "csv"), on_click="ignore")
