"""One run as the manager keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from studio.jobs.data_refs import without_data
from studio.jobs.protocol import FunctionTask, RunResult, Status, TrainingTask

__all__ = ["Job"]


@dataclasses.dataclass
class Job:
    """A run from its submission on; the manager's lock guards it. Times are the manager's monotonic seconds.

    Attributes
    ----------
    paused : bool
        Whether the person wants it held; what the process says of itself is in `state`.
    deliver : callable or None
        Sends an order to the process that has the run, once it has it.
    on_end : callable or None
        Wants the last status and the result.
    """

    run_id: str
    owner: str
    task: TrainingTask | FunctionTask
    paused: bool
    last_seen: float
    state: str = "queued"
    message: str = ""
    stopping: bool = False
    events: list[Any] = dataclasses.field(default_factory=list)
    result: RunResult | None = None
    deliver: Callable[[str], None] | None = None
    on_end: Callable[[Status, RunResult | None], None] | None = None
    _orders: list[str] = dataclasses.field(default_factory=list)
    _since: float | None = None
    _seconds: float = 0.0
    _due: float | None = None

    def leave_queue(self, now: float) -> None:
        """Note that a process takes the run."""
        self.state, self._since = "running", now

    def connect(self, deliver: Callable[[str], None]) -> None:
        """Note how to reach the process, and send it the orders that came before."""
        self.deliver = deliver
        for order in self._orders:
            deliver(order)

    def take_order(self, order: str, now: float) -> None:
        """Pass an order on, or keep it until the process has the run."""
        self.stopping = self.stopping or order == "stop"
        if self.deliver is None:
            self._orders.append(order)
        else:
            self.deliver(order)

    def hear(self, kind: str, content: Any, now: float) -> None:
        """Take a message of the process: "round", "paused", "running" or "gathering"."""
        if kind == "round":
            self.events.append(content)
            self._foresee(now)
        else:
            self._count_seconds(now)
            self.state, self._since = kind, (None if kind == "paused" else now)

    def end(self, state: str, message: str, result: RunResult | None, now: float) -> None:
        """Note the end: nothing changes after it, and the data are let go."""
        self._count_seconds(now)
        self.state, self.message, self.result, self.stopping = state, message, result, False
        self.deliver = None
        self.task = without_data(self.task)

    def status(self, now: float, place: int, waiting_as: str) -> Status:
        """Return the public view."""
        seconds = self._elapsed(now)
        rounds, total = (len(self.events), getattr(self.events[-1], "total", 0)) if self.events else (0, 0)
        left = max(0.0, self._due - seconds) if self._due is not None and self.state == "running" else None
        state = waiting_as if self.state == "queued" else self.state
        return Status(self.run_id, state, place, rounds, total, seconds, left, self.stopping, self.message)

    def _foresee(self, now: float) -> None:
        """Estimate the end, in seconds of the run, from the rounds so far; a later end than told before is not told."""
        seconds, rounds = self._elapsed(now), len(self.events)
        due = seconds / rounds * max(rounds, getattr(self.events[-1], "total", 0))
        self._due = due if self._due is None else min(due, self._due)

    def pace(self, now: float) -> float:
        """Return the mean seconds of a round so far, 0 before the first has ended."""
        return self._elapsed(now) / len(self.events) if self.events else 0.0

    def _elapsed(self, now: float) -> float:
        return self._seconds + (now - self._since if self._since is not None else 0.0)

    def _count_seconds(self, now: float) -> None:
        if self._since is not None:
            self._seconds += now - self._since
        self._since = None
