"""Play, pause, one round, stop: a fit's callback that does what the person's buttons say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["ORDERS", "Player"]

ORDERS = ("pause", "resume", "step", "stop")


class Player:
    """A callback that sends each round's event away, waits while paused, and returns True once stopped.

    Parameters
    ----------
    send : callable
        Takes ("round", event), ("paused", None), ("running", None) or ("predicting", None); called from the fit's
        thread only.
    paused : bool
        Whether to wait before the first round.

    Attributes
    ----------
    stopped : bool
        Whether a stop was ordered; a round that takes long asks for it in its middle.
    waited : float
        Seconds for which it was paused.
    """

    def __init__(self, send: Callable[[tuple[str, Any]], None], paused: bool = False) -> None:
        self._send = send
        self._changed = threading.Condition()
        self._paused = paused
        self._steps = 0
        self._over = False
        self.stopped, self.waited = False, 0.0

    def order(self, order: str) -> None:
        """Take one of `ORDERS`, from any thread; orders that make no difference are ignored."""
        with self._changed:
            # the last order comes from the page's thread, the wait from the fit's
            if self._over:
                return
            # steps that were asked for are forgotten: whoever resumes or pauses means now
            if order in ("pause", "resume"):
                self._steps = 0
            elif order == "step" and self._paused:
                self._steps += 1
            # a step pauses a running fit as well, after the round in progress
            self._paused = order in ("pause", "step") or (self._paused and order != "resume")
            self.stopped = self.stopped or order == "stop"
            self._changed.notify_all()

    def __call__(self, event: Any) -> bool:
        """Send the event of a round; True if the fit shall end here."""
        self._send(("round", event))
        return self.wait()

    def end(self) -> None:
        """Tell that the fit is over and its predictions are made; no order makes a difference from here on."""
        # no order any more: a stop that comes while predictions are made would mark a whole model as cut off
        with self._changed:
            self._over = True
        self._send(("predicting", None))

    def wait(self) -> bool:
        """Wait while paused; True if the fit shall end here."""
        with self._changed:
            # said only where it really waits, so that a step does not show as paused and running
            if self._held():
                began = time.perf_counter()
                self._send(("paused", None))
                self._changed.wait_for(lambda: not self._held())
                self.waited += time.perf_counter() - began
                self._send(("running", None))
            self._steps = max(0, self._steps - 1)
            return self.stopped

    def _held(self) -> bool:
        return self._paused and not self._steps and not self.stopped
