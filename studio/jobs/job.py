"""One run as the manager keeps it, and all of them: who waits, who is watched, who is forgotten."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from studio.jobs.fair_queue import FairQueue
from studio.jobs.protocol import ENDED, FunctionTask, RunResult, Status, TrainingTask, UnknownRunError, without_data
from studio.limits import JobLimits

__all__ = ["Job", "Jobs"]


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
        # The manager holds its lock here and where orders are kept, so that none falls between the two.
        for order in self._orders:
            deliver(order)

    def take_order(self, order: str, now: float) -> None:
        """Pass an order on, or keep it until the process has the run."""
        self.stopping = self.stopping or order == "stop"
        if self.deliver is None:
            self._orders.append(order)
        else:
            self.deliver(order)

    def take_message(self, kind: str, content: Any, now: float) -> None:
        """Take a message of the process: "round", "paused", "running" or "predicting"."""
        if kind == "round":
            self.events.append(content)
            self._foresee(now)
        else:
            self._count_seconds(now)
            self.state, self._since = kind, (None if kind == "paused" else now)

    def end(self, state: str, message: str, result: RunResult | None, now: float) -> None:
        """Note the end: nothing changes after it, and the data are let go."""
        self._count_seconds(now)
        # `stopping` is over: a run that has ended is not one that is about to end.
        self.state, self.message, self.result, self.stopping = state, message, result, False
        self.deliver = None
        # A page may keep the run for an hour; its data must not stay in memory for as long.
        self.task = without_data(self.task)

    def status(self, now: float, place: int, waiting_as: str) -> Status:
        """Return the public view."""
        seconds = self._elapsed(now)
        rounds, total = (len(self.events), getattr(self.events[-1], "total", 0)) if self.events else (0, 0)
        # While a run is paused no time passes for it, and a forecast would only grow wrong.
        left = max(0.0, self._due - seconds) if self._due is not None and self.state == "running" else None
        state = waiting_as if self.state == "queued" else self.state
        return Status(
            self.run_id,
            state,
            place,
            rounds=rounds,
            total=total,
            seconds=seconds,
            seconds_left=left,
            stopping=self.stopping,
            message=self.message,
        )

    def ends_within(self, seconds: float, now: float) -> bool:
        """Return whether the run has ended, only predicts any more, or is foreseen to do its last round so soon."""
        # A run that goes on past what was foreseen may go on for long.
        left = self._due - self._elapsed(now) if self._due is not None and self.state == "running" else 0.0
        return self.state in (*ENDED, "predicting") or 0.0 < left <= seconds

    def _foresee(self, now: float) -> None:
        """Estimate the end, in seconds of the run, from the rounds so far; a later end than told before is not told."""
        seconds, rounds = self._elapsed(now), len(self.events)
        due = seconds / rounds * max(rounds, getattr(self.events[-1], "total", 0))
        # Rounds differ in length, and a time left that jumps up reads like a fault.
        self._due = due if self._due is None else min(due, self._due)

    def seconds_per_round(self, now: float) -> float:
        """Return the mean seconds of a round so far, 0 before the first has ended."""
        return self._elapsed(now) / len(self.events) if self.events else 0.0

    def _elapsed(self, now: float) -> float:
        return self._seconds + (now - self._since if self._since is not None else 0.0)

    def _count_seconds(self, now: float) -> None:
        if self._since is not None:
            # Only the time in which the process worked is counted, so that pauses do not spoil the forecast.
            self._seconds += now - self._since
        self._since = None


class Jobs:
    """All runs that a studio knows, and the queue of those that wait; the manager's lock guards them.

    Parameters
    ----------
    limits : JobLimits
        How many a person may have, how long a run goes unwatched, what is kept of those that ended.
    clock : callable
        Monotonic seconds.
    """

    def __init__(self, limits: JobLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._known: dict[str, Job] = {}
        self.queue = FairQueue()

    def add(self, job: Job) -> None:
        """Queue a run; ValueError if its owner has too many unfinished ones."""
        unfinished = sum(known.owner == job.owner and known.state not in ENDED for known in self._known.values())
        # Counted over unfinished runs and not per page: one person with many tabs is still one person.
        if unfinished >= self._limits.waiting:
            raise ValueError(f"You have {unfinished} unfinished runs already: stop one, or wait until one ends.")
        self._known[job.run_id] = job
        self.queue.push(job.owner, job.run_id)

    def know_again(self, job: Job) -> None:
        """Take a run that ended before, unless it is known."""
        self._known.setdefault(job.run_id, job)

    def find(self, run_id: str, owner: str | None = None, watch: bool = True) -> Job:
        """Return a run and, where asked for, count it as watched; UnknownRunError for another owner's."""
        job = self._known.get(run_id)
        # The same sentence for "never was" and "is another's": a guess at an id must learn nothing.
        if job is None or (owner is not None and job.owner != owner):
            raise UnknownRunError("This run is not known here (any more): train again, or open it from the runs.")
        if watch:
            job.last_seen = self._clock()
        return job

    # The dictionary has the order of submission, so that no time is needed to sort by.
    def of(self, owner: str) -> list[Job]:
        """Return the owner's runs, newest first."""
        return [job for job in reversed(self._known.values()) if job.owner == owner]

    def next(self) -> Job | None:
        """Return the run whose turn is next, which stays in the queue."""
        # The head is looked at and not taken: the worker that asks may leave it to one that holds its data.
        run_id = next(self.queue.order(), None)
        return None if run_id is None else self._known[run_id]

    def take(self) -> Job:
        """Take the next run out of the queue: it is in work."""
        job = self._known[self.queue.pop()]
        job.leave_queue(self._clock())
        return job

    def release(self, job: Job, state: str, message: str, result: RunResult | None) -> None:
        """Note that a run that was in work has ended."""
        job.end(state, message, result, self._clock())
        self.queue.done(job.owner)

    def order(self, job: Job, order: str) -> bool:
        """Pass an order on; return whether the run ended by it, which a waiting one does."""
        if job.state in ENDED:
            return False
        job.take_order(order, self._clock())
        waited = order == "stop" and self.queue.remove(job.owner, job.run_id)
        if waited:
            # The reason that was noted first wins, such as that nobody watched the run.
            job.end("stopped", job.message or "Stopped before it began.", None, self._clock())
        return waited

    def stop_unwatched(self) -> list[Job]:
        """Stop the runs that nobody has watched for long; return those that ended by it."""
        now, idle = self._clock(), self._limits.idle_seconds
        # A run that is stopping already has been told; a second order would start a second grace period.
        unwatched = [job for job in self._known.values() if job.state not in ENDED and not job.stopping]
        unwatched = [job for job in unwatched if now - job.last_seen > idle]
        for job in unwatched:
            job.message = f"Nobody watched this run for {idle / 60:.0f} minutes, so it was stopped."
        return [job for job in unwatched if self.order(job, "stop")]

    def forget_old(self) -> None:
        """Forget runs that ended long ago, and the oldest of too many or of too many bytes; never the last one."""
        now, limits, kept = self._clock(), self._limits, 0
        # By when it was last seen: the run that is on somebody's page stays, however old it is.
        ended = sorted((job for job in self._known.values() if job.state in ENDED), key=lambda job: -job.last_seen)
        for k, job in enumerate(ended):
            kept += job.result.nbytes if job.result is not None else 0
            # The newest is kept even where it alone is too large, or its page would lose what it has just trained.
            too_much = k >= limits.kept_runs or (k > 0 and kept > limits.kept_bytes)
            if too_much or now - job.last_seen > limits.kept_seconds:
                del self._known[job.run_id]
