"""One person at the studio, without a browser: Streamlit's protocol spoken over its websocket.

    async with Visitor(url) as visitor:
        seconds = await visitor.open("Consensus", rounds=20)
        seconds = await visitor.press("Train")

A visitor does what a browser does: it keeps the widgets of the last run, and asks again for a fragment as often as the
page tells it to. The answer to a click is there when the server says that its run of the page has finished.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

__all__ = ["Visitor"]

WIDGETS = ("button", "slider", "checkbox", "selectbox", "download_button")
FINISHED = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_SUCCESSFULLY")
FRAGMENT = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_FRAGMENT_RUN_SUCCESSFULLY")
PATIENCE = 60.0
"""Seconds that an answer may take before it counts as an error."""


class Visitor:
    """A session of the studio.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8501".

    Attributes
    ----------
    widgets : dict of str to protobuf message
        By label: what the page shows.
    texts : list of str
        What the page's captions and messages say.
    errors : list of str
        Exceptions on the page, answers that never came, a lost connection.
    polls : int
        Fragments asked for.
    """

    def __init__(self, url: str) -> None:
        self._url = url.replace("http://", "ws://") + "/_stcore/stream"
        self._query, self._page, self._pages = "", "", {}
        self._answered: asyncio.Future[float] | None = None
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._new: dict[str, Any] = {}
        self._new_texts: list[str] = []
        self._asked_for: set[str] = set()
        self._begun = False
        self.widgets: dict[str, Any] = {}
        self.texts: list[str] = []
        self.errors: list[str] = []
        self.polls = 0

    async def __aenter__(self) -> Visitor:
        self._socket = await connect(self._url, subprotocols=["streamlit"], max_size=None, ping_interval=None)
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._quiet()
        self._reader.cancel()
        await self._socket.close()

    # What a person does ---------------------------------------------------------------------------------------------

    async def open(self, page: str, **query: Any) -> float:
        """Go to a page ("" is Home) with some parameters in the URL; return the seconds until it is there."""
        self._page, self._query = page, urlencode(query)
        self._quiet()
        return await self._ask([])

    async def press(self, label: str) -> float:
        """Press the button whose label begins so; return the seconds until the answer is there."""
        return await self._ask([WidgetState(id=self._found(label).id, trigger_value=True)])

    async def move(self, label: str, value: float) -> float:
        """Move the slider whose label begins so; return the seconds until the answer is there."""
        return await self._ask([self._slid(label, value)])

    def _slid(self, label: str, value: float) -> WidgetState:
        state = WidgetState(id=self._found(label).id)
        state.double_array_value.data.append(value)
        return state

    def can_press(self, label: str) -> bool:
        """Whether a button of that label is there and can be pressed."""
        return any(name.startswith(label) and not found.disabled for name, found in self.widgets.items())

    def _found(self, label: str) -> Any:
        return next(found for name, found in self.widgets.items() if name.startswith(label))

    # The protocol ---------------------------------------------------------------------------------------------------

    async def _ask(self, states: list[WidgetState]) -> float:
        """Ask for a run of the page; return the seconds until it has finished, or PATIENCE."""
        started, self._answered = time.perf_counter(), asyncio.get_running_loop().create_future()
        self._begun = False
        await self._send(states)
        try:
            return await asyncio.wait_for(self._answered, PATIENCE) - started
        except TimeoutError:
            self.errors.append(f"no answer in {PATIENCE:.0f} s on {self._page or 'Home'}")
            return PATIENCE

    async def _send(self, states: list[WidgetState], fragment: str = "") -> None:
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.fragment_id, run.is_auto_rerun = self._query, fragment, bool(fragment)
        run.page_name, run.page_script_hash = self._page, self._pages.get(self._page, "")
        run.widget_states.widgets.extend(states)
        with contextlib.suppress(ConnectionClosed):  # the reader says so
            await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for content in self._socket:
                self._take(ForwardMsg.FromString(content))
        except ConnectionClosed as error:
            self.errors.append(f"connection lost: {error}"[:100])

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._new, self._new_texts, self._asked_for = {}, [], set()
            asked = self._pages.get(self._page)
            self._begun = self._begun or asked in (None, message.new_session.page_script_hash)
        elif kind == "navigation":
            self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._show(message.delta.new_element)
        elif kind == "auto_rerun":
            self._asked_for.add(message.auto_rerun.fragment_id)
            self._poll(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "script_finished":
            self._finish(message.script_finished)

    def _finish(self, how: int) -> None:
        if how == FRAGMENT:
            self.widgets |= self._new
            self.texts = [*self.texts, *self._new_texts][-50:]
        elif how == FINISHED:
            self.widgets, self.texts = self._new, self._new_texts
            for fragment in set(self._timers) - self._asked_for:
                self._timers.pop(fragment).cancel()
            if self._begun and self._answered is not None and not self._answered.done():
                self._answered.set_result(time.perf_counter())

    def _show(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind in WIDGETS:
            found = getattr(element, kind)
            self._new[found.label] = found
        elif kind == "exception":
            self.errors.append(f"{element.exception.type}: {element.exception.message}"[:200])
        elif kind in ("markdown", "alert"):
            self._new_texts.append(getattr(element, kind).body)

    def _poll(self, fragment: str, interval: float) -> None:
        async def again() -> None:
            while True:
                await asyncio.sleep(interval)
                self.polls += 1
                await self._send([], fragment)

        if fragment in self._timers:
            self._timers.pop(fragment).cancel()
        self._timers[fragment] = asyncio.create_task(again())

    def _quiet(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
