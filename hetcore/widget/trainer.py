"""A thread that trains beside the notebook's cells.

Why a thread and no process: rounds are NumPy and compiled kernels that release the interpreter's lock, so that the next
cell runs (docs/notebook.md has the times); data of any size and an estimator written in a cell need no copy; the model
is a live object; and nothing outlives the kernel. It can be stopped after any round, as every fit can.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from hetcore.errors import ClusterError, DataError, ModelFileError, ParameterError
from hetcore.player import Player

__all__ = ["Trainer", "sentence"]

LONGEST = 300
Fit = Callable[[Player], Any]


class _CellPlayer(Player):
    """A player that is stopped, too, where marimo's thread shall exit: its cell ran again or is gone."""

    @property
    def stopped(self) -> bool:
        return self._asked or bool(getattr(threading.current_thread(), "should_exit", False))

    @stopped.setter
    def stopped(self, asked: bool) -> None:
        self._asked = asked


class Trainer:
    """One thread that does one fit after another.

    Parameters
    ----------
    tell : callable
        Takes ("round", event), ("paused" | "running", None), ("done", (model, stopped)) and ("failed", sentence);
        called from the thread.
    """

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell
        self._fits: queue.SimpleQueue[tuple[Fit, Player] | None] = queue.SimpleQueue()
        self._player: Player | None = None
        self._idle = threading.Event()
        self._idle.set()
        # A daemon, so that a kernel can end while it trains.
        self._thread = _thread_class()(target=self._serve, name="hetcore-trainer", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a fit is asked for or goes on."""
        return not self._idle.is_set()

    def start(self, fit: Fit, paused: bool = False) -> None:
        """Start a fit; nothing happens while another goes on.

        Parameters
        ----------
        fit : callable
            Takes a callback and returns the fitted model.
        paused : bool, default=False
            Whether to wait before the first round.
        """
        # A second press of Train, or a cell run twice, must not queue another fit.
        if not self.busy:
            self._idle.clear()
            self._player = _CellPlayer(lambda message: self._tell(*message), paused)
            self._fits.put((fit, self._player))

    def order(self, name: str) -> None:
        """Give the fit that goes on one of `hetcore.player.ORDERS`."""
        if self._player is not None:
            self._player.order(name)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing goes on, at most so long; return whether that is so.

        Parameters
        ----------
        seconds : float, optional
        """
        return self._idle.wait(seconds)

    def close(self) -> None:
        """Stop the fit that goes on, and the thread."""
        self.order("stop")
        self._fits.put(None)

    def _serve(self) -> None:
        while (given := self._fits.get()) is not None:
            self._tell(*self._outcome(*given))
            # Or the data and callbacks of the last fit would be held until the next one.
            del given
            self._player = None  # what a fit holds is not kept alive
            self._idle.set()

    def _outcome(self, fit: Fit, player: Player) -> tuple[str, Any]:
        try:
            return ("done", (None, True)) if player.wait() else ("done", (fit(player), player.stopped))
        except Exception as error:  # whatever a fit raises ends this training, in words, and nothing else
            return "failed", sentence(error)


def _thread_class() -> type[threading.Thread]:
    """Return marimo's thread where it runs, which may speak to the page, else Python's."""
    return getattr(sys.modules.get("marimo"), "Thread", threading.Thread)


def sentence(error: BaseException) -> str:
    """Return what an error says, in one line; of an error that is not ours with its kind."""
    ours = isinstance(error, ClusterError | DataError | ModelFileError | ParameterError)
    text = " ".join(str(error).split())
    text = text if ours else f"The training stopped with {type(error).__name__}" + (f": {text}" if text else "")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
