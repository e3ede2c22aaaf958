"""The widget: what `hetcore.watch` and the callback `LiveView` share, and that callback."""

from __future__ import annotations

import sys
import time
from typing import Any

import polars as pl
import traitlets

from hetcore.base import history
from hetcore.events import RoundEnd
from hetcore.widget.front import LIVE
from hetcore.widget.rows import GROUPS, PALETTE, row, thinned
from hetcore.widget.trainer import sentence

try:
    import anywidget
except ImportError as error:
    raise ImportError("hetcore.watch and hetcore.LiveView need anywidget: pip install anywidget.") from error

__all__ = ["LiveView", "View"]

EVERY = 0.2
"""Seconds between two tables of the rounds so far, which take longer the more rounds there are."""


class Table(traitlets.TraitType):
    """A trait that is a table: set without asking whether it equals the one before, which polars answers by cells."""

    default_value = pl.DataFrame()

    def set(self, obj: Any, value: Any) -> None:
        """Set it and tell who observes it."""
        before, obj._trait_values[self.name] = self.get(obj), value
        obj._notify_trait(self.name, before, value)


class View(anywidget.AnyWidget):
    """A training in a notebook: its state in traits, its rounds in messages, each sent once.

    Attributes
    ----------
    model_ : estimator or None
        What the last training ended with.
    history : polars DataFrame
        One row per round so far, as an estimator's `history_`.
    params : dict
        Values of the controls.
    state : {"idle", "training", "paused", "stopped", "finished", "failed"}
    message : str
        What went wrong, in one sentence.
    """

    _esm = LIVE
    model_ = traitlets.Any(None, allow_none=True)
    history = Table()
    params = traitlets.Dict().tag(sync=True)
    state = traitlets.Unicode("idle").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    abilities = traitlets.List().tag(sync=True)
    titles = traitlets.List([*map(list, GROUPS.items())], help="[group, title], in order").tag(sync=True)
    palette = traitlets.Dict(PALETTE).tag(sync=True)
    total = traitlets.Int(0).tag(sync=True)
    trained = traitlets.Dict().tag(sync=True)
    run = traitlets.Int(0, help="number of the training").tag(sync=True)
    ended = traitlets.Int(0, help="how many trainings ended").tag(sync=True)
    seen = traitlets.Int(0, help="`ended` as the page knows it: marimo runs dependent cells").tag(sync=True)
    picture = traitlets.Dict(help="of an ended training: hetcore.widget.picture").tag(sync=True)
    record = traitlets.Dict(help="the rounds of an ended training, for a saved notebook").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self._events, self._rows, self._framed = [], [], 0.0
        super().__init__(**traits)
        self.on_msg(self._receive)

    def __repr__(self) -> str:
        """Return what stands where no widget can: in a page of a notebook, in a text."""
        done = f"round {len(self._rows)} of {self.total}" if self._rows else ""
        return f"{type(self).__name__}({', '.join(filter(None, (self.title, self.state, done)))})"

    def _begin(self) -> None:
        """Begin a training: forget the rounds of the one before."""
        self._events, self._rows, self._framed = [], [], 0.0
        # One message for all of them: the page would otherwise draw states that never were.
        with self.hold_sync():
            self.run += 1
            self.record, self.picture, self.message, self.state, self.total = {}, {}, "", "training", 0

    def _take(self, event: RoundEnd) -> None:
        """Send a round, and only that."""
        self._events.append(event)
        self._rows.append(row(event))
        if event.index == 0:
            name = str(event.detail.get("metric_name", GROUPS["metric"]))
            titles = GROUPS | {"metric": name[:1].upper() + name[1:]}
            self.title, self.titles = event.method, [*map(list, titles.items())]
        self.total = event.total
        self._send_rows(len(self._rows) - 1)
        # The table is built from all rounds, so that each round would make the next slower.
        if time.monotonic() - self._framed > EVERY:
            self.history, self._framed = history(self._events), time.monotonic()

    def _send_rows(self, first: int) -> None:
        self.send({"run": self.run, "first": first, "rows": self._rows[first:], "sent": time.time()})

    def _finish(self, model: Any, state: str, message: str = "", picture: dict[str, Any] | None = None) -> None:
        self.history = history(self._events) if self._events else pl.DataFrame()
        # A failed or interrupted training leaves the model of the one before.
        if model is not None:
            self.model_ = model
        with self.hold_sync():
            self.record, self.picture, self.message, self.state = thinned(self._rows), picture or {}, message, state
            # Last, for cells that depend on it run as soon as it changes.
            self.ended += 1

    def _receive(self, _: Any, content: Any, buffers: Any) -> None:
        """Take an order of the page: {"do": name}; whatever else comes is left alone."""
        if isinstance(content, dict) and content.get("do") == "rows":
            # A page that lost messages, or was opened late, asks for what it lacks; nothing it says is trusted.
            first = content.get("first")
            self._send_rows(first if isinstance(first, int) and 0 <= first <= len(self._rows) else 0)
        elif isinstance(content, dict) and content.get("do") in self.abilities:
            self._do(content["do"])

    def _do(self, order: str) -> None:
        raise NotImplementedError


class LiveView(View):
    """A callback that shows a training live, while the cell that calls `fit` runs.

    Parameters
    ----------
    show : bool, default=True
        Whether it appears below the cell with the first round; otherwise it is shown where it is displayed.

    Examples
    --------
    >>> import numpy as np
    >>> import hetcore as hc
    >>> X = np.linspace(0, 1, 60).reshape(20, 3)
    >>> hc.HGBMRegressor(n_iterations=2).fit(X, X[:, 0], callbacks=[hc.LiveView()]).n_iterations_
    2
    """

    def __init__(self, show: bool = True) -> None:
        super().__init__(abilities=["stop"])
        self._show, self._stopping = show, False

    def __call__(self, event: RoundEnd) -> bool:
        """Show a round; True once Stop was pressed."""
        if event.index == 0 or self.state != "training":
            self._stopping = False
            self._begin()
            if self._show:
                _display(self)
                self._show = False
        self._take(event)
        return self._stopping

    @property
    def stopped(self) -> bool:
        """Whether Stop was pressed, which a long round asks in its middle."""
        return self._stopping

    def fit_ended(self, model: Any, error: BaseException | None) -> None:
        """Show that the fit is over, and how."""
        if error is None:
            self._finish(model, "stopped" if self._stopping else "finished")
        elif isinstance(error, KeyboardInterrupt):
            self._finish(None, "stopped")
        else:
            self._finish(None, "failed", sentence(error))

    def _do(self, order: str) -> None:
        self._stopping = True


def _display(view: View) -> None:
    """Show a widget below the cell that runs, where there is a notebook."""
    marimo, ipython = sys.modules.get("marimo"), sys.modules.get("IPython")
    if marimo is not None and marimo.running_in_notebook():
        marimo.output.append(view)
    elif ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(view)
