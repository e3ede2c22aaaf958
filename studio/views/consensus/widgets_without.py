"""What one would do without consensus, beside the curve: trained by itself in the background, drawn, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from studio.jobs import manager
from studio.views.common.widgets import escape
from studio.views.consensus import without

__all__ = ["Without", "standing"]

EVERY = 1.0
"""Seconds between two looks at the comparison while it is made."""
WHAT = "What one would do without consensus"


def standing(status: Any) -> str:
    """Say how far a comparison is, or what it waits for."""
    if status.total:
        return f"{status.rounds} of {status.total} fits"
    if status.state == "queued":
        # One process makes them, so that one is in work where others wait: as many as its place are before it.
        return f"it waits for {counted(max(status.place, 1), 'other comparison')} to end"
    begun = status.state == "running"
    return "joining the tables; trainings go first" if begun else "its process is starting"


def _goes_on(run: str) -> bool:
    try:
        return manager.background().status(run, watch=False).active
    except manager.UnknownRunError:
        return False


class Without:
    """The best joined learner on the same labels, made once for each data set and choice of labels.

    Parameters
    ----------
    data : HetData
        Before the operations.
    operations : sequence of mappings
        See `studio.scenarios`.
    owner : str
    """

    def __init__(self, data: HetData, operations: Sequence[Mapping[str, Any]], owner: str) -> None:
        self._data, self._operations, self._owner = data, list(operations), owner
        self.key = without.key_of(data.digest(), self._operations)

    @property
    def _runs(self) -> dict[str, str]:
        """Run ids by key, of this session."""
        return st.session_state.setdefault("without consensus", {})

    @property
    def _status(self) -> Any:
        """Where the run for these labels stands, None without one."""
        run = self._runs.get(self.key)
        try:
            # Whoever began it: sessions share what they ask for alike.
            return manager.background().status(run) if run else None
        except manager.UnknownRunError:
            # A restarted studio knows nothing of it, and it begins anew.
            del self._runs[self.key]
            return None

    def found(self) -> dict[str, Any] | None:
        """Return what was found, None as long as there is nothing."""
        if (known := without.kept(self.key)) is not None:
            return known
        status = self._status
        result = None if status is None or status.active else manager.background().result(status.run_id)
        if result is None or result.value is None:
            return None
        without.keep(self.key, result.value)
        return result.value

    def line(self) -> tuple[str, float] | None:
        """Return the name and the height of the line beside the learning curve."""
        found = self.found()
        return None if found is None else (f"{found['name']}, tables joined", without.level(found))

    def start(self) -> None:
        """Begin, unless it is known, on its way, or was ended by the person; what these labels replace ends."""
        if without.kept(self.key) is not None or self._status is not None:
            return
        # Only one comparison a session: those of labels that are no longer chosen would run for nobody.
        for key in [key for key in self._runs if key != self.key]:
            if without.leave(key):
                self._stop(self._runs[key])
            del self._runs[key]
        arguments = {"data": self._data, "operations": self._operations}
        try:
            self._runs[self.key] = without.share(
                self.key, lambda: manager.background().run_task(without.TASK, arguments, self._owner), _goes_on
            )
        except ValueError as error:
            st.caption(escape(error))

    def _is_own(self, run: str) -> bool:
        try:
            return bool(manager.background().status(run, self._owner, watch=False))
        except manager.UnknownRunError:
            return False

    def _stop(self, run: str) -> None:
        try:
            manager.background().stop(run, self._owner)
        except manager.UnknownRunError:
            return

    def _again(self) -> None:
        self._runs.pop(self.key, None)

    def draw(self, training: bool) -> None:
        """Say how far it is, again and again until it is known; while a training draws itself again, it stands still.

        Two fragments that run by themselves write into places that the other's full run has taken away: a blank page.
        """
        status = self._status
        # While a training draws itself again this must not ask for the page again beside it.
        active = not training and status is not None and status.active and without.kept(self.key) is None

        @st.fragment(run_every=EVERY if active else None)
        def look() -> None:
            with st.container(key="without"):
                found, now = self.found(), self._status
                if found is None and now is not None:
                    self._progress(now)
            # The page once more, for the curve has its line now.
            if active and (found is not None or now is None or not now.active):
                st.rerun()

        look()

    def say(self, event: Any, predictions: Any = None) -> None:
        """Say what came of it beside a training's last round, and its predictions if it ended."""
        if (found := self.found()) is not None:
            both = without.compared(found, event, predictions)
            st.markdown(f"{WHAT}: **{escape(without.sentence(found))}**. {escape(without.verdict(found, both))}")
            st.caption(escape(without.chosen_among(found)))

    def _progress(self, status: Any) -> None:
        with st.container(horizontal=True, vertical_alignment="center"):
            if status.active:
                st.caption(f"{WHAT} is measured in the background: {standing(status)}.")
                if self._is_own(status.run_id):
                    st.button("Stop comparing", key="stop_without", on_click=self._stop, args=(status.run_id,))
                return
            text = status.message if status.state == "failed" else f"{WHAT} was not measured."
            st.caption(escape(text))
            st.button("Compare", key="compare_without", on_click=self._again)
