"""A run: its setting, the task that a process is given, where it stands, and all runs that the manager keeps.

The person's setting and the data are one task; a task that is submitted is a job; the manager knows all jobs, who
waits, who is watched, who is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from studio.jobs.fair_queue import FairQueue
from studio.jobs.results import RunResult
from studio.limits import JobLimits

__all__ = [
    "ACTIVE", "ENDED", "FunctionTask", "Job", "Jobs", "Setting", "Status", "TrainingTask", "UnknownRunError", "data_of",
    "with_data", "without_data",
]  # fmt: skip

ACTIVE = ("queued", "starting", "compiling", "running", "paused", "predicting")
ENDED = ("finished", "stopped", "failed")


class UnknownRunError(LookupError):
    """A run id that this studio does not know, or that belongs to someone else."""


def _with_lists(value: Any) -> Any:
    """Return a value with lists for tuples, which JSON has not."""
    if isinstance(value, Mapping):
        return {key: _with_lists(each) for key, each in value.items()}
    return [_with_lists(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Setting:
    """One setting of a page: what is trained on what.

    Attributes
    ----------
    estimator : str
        Class name of an estimator of hetcore, such as "GBCClassifier".
    params : dict
        Constructor parameters.
    operations : list of dict
        What-ifs, see `studio.scenarios`.
    fit : dict
        Further arguments of fit, such as {"graph": "producer"}.
    form : dict
        How the data become the arrays that the estimator takes, see `studio.forms`; empty for one that takes HetData.
    whole : bool
        Whether it is trained on all data by path, of which those in use are a sample.
    """

    estimator: str
    params: dict[str, Any] = field(default_factory=dict)
    operations: list[dict[str, Any]] = field(default_factory=list)
    fit: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    whole: bool = False

    def __post_init__(self) -> None:
        # As the run store gives them back, or a stored setting would differ from the same one that a page draws.
        for name in ("params", "operations", "fit", "form"):
            object.__setattr__(self, name, _with_lists(getattr(self, name)))

    def stored(self, recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings as the run store and the exports have them."""
        settings = {"data": dict(recipe), "operations": self.operations, "params": self.params, "fit": self.fit}
        return settings | ({"form": self.form} if self.form else {}) | ({"whole": True} if self.whole else {})

    @classmethod
    def of(cls, task: TrainingTask) -> Setting:
        """Return what a task trains, without its data."""
        params, operations, fit = dict(task.params), list(task.operations), dict(task.fit_params)
        return cls(task.estimator, params, operations, fit=fit, form=dict(task.form), whole=bool(task.whole))

    def task(self, data: Any, whole: Mapping[str, Any]) -> TrainingTask:
        """Return the task of training this on data; `whole` as there."""
        more = {"operations": self.operations, "fit_params": self.fit, "form": self.form, "whole": whole}
        return TrainingTask(self.estimator, self.params, data, digest=data.digest(), **more)


@dataclass(frozen=True)
class TrainingTask:
    """One training.

    Attributes
    ----------
    estimator, params, operations, fit_params, form
        As in `Setting`.
    data : HetData or mapping
        The data before `operations`; for estimators that take plain arrays, the arguments of fit by name, "X" among
        them.
    y : (n,) array or None
        Labels to train on, aligned with `data.ids`; None takes those of the data.
    eval_y : (n,) array or None
        Labels to score but never train on.
    digest : str
        Of the data: what tells, once they are gone, whether a run was trained on those in use.
    whole : mapping
        Where `data` are a sample of data by path: "scan" (see `studio.scans.parts`) and "within", the folders that may
        be read. Trained is on all of them, and told are the instances of the sample. Empty where `data` are all.
    """

    estimator: str
    params: Mapping[str, Any]
    data: Any
    y: np.ndarray | None = None
    eval_y: np.ndarray | None = None
    operations: Sequence[Mapping[str, Any]] = ()
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    whole: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FunctionTask:
    """A call of one of the functions that `studio.jobs.worker_tasks.FUNCTIONS` allows, as "package.module:function"."""

    path: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def data_of(task: TrainingTask | FunctionTask) -> dict[str, Any]:
    """Return what of a task may be large, by the names of its arguments."""
    if isinstance(task, TrainingTask):
        return {"data": task.data}
    # Parameters travel inside the task; only what may be large is worth a reference.
    return {k: v for k, v in task.kwargs.items() if hasattr(v, "source_names") or isinstance(v, Mapping)}


def with_data(task: TrainingTask | FunctionTask, data: Mapping[str, Any]) -> TrainingTask | FunctionTask:
    """Return the task with other data, or what stands for them, in the place of its own."""
    return replace(task, **data) if isinstance(task, TrainingTask) else replace(task, kwargs={**task.kwargs, **data})


def without_data(task: TrainingTask | FunctionTask) -> TrainingTask | FunctionTask:
    """Return the task without its data, to remember it by; those of a function by their digests."""
    if isinstance(task, TrainingTask):
        return replace(task, data=None, y=None, eval_y=None)
    known = {name: _remembered(value) for name, value in data_of(task).items()}
    return replace(task, kwargs={name: known.get(name, value) for name, value in task.kwargs.items()})


def _remembered(value: Any) -> Any:
    """Return what stands for data in a task that is remembered: a digest, a mapping of settings as it is, else None."""
    return value.digest() if hasattr(value, "digest") else value if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    """Return whether there is nothing but text and numbers in a value, however deep: no file, array or table."""
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | None)


@dataclass(frozen=True)
class Status:
    """Where a run stands.

    Attributes
    ----------
    state : str
        "queued", "starting" (its process is), "compiling", "running", "paused", "predicting" (the fit is over, its
        predictions and its file are made), "finished", "stopped" or "failed".
    place : int
        Runs ahead of it in the queue plus one; 0 once it has left the queue.
    rounds, total : int
        Rounds done and asked for; total is 0 before the first event.
    seconds : float
        Since it left the queue, without the time it was paused.
    seconds_left : float or None
        Estimated from the rounds done, while running; it never grows, and 0 says that the run takes longer.
    stopping : bool
        Stop was asked and the round in progress has not ended yet.
    pausing : bool
        The same of pause.
    message : str
        One sentence for the person, empty when there is nothing to say.
    """

    run_id: str
    state: str
    place: int = 0
    rounds: int = 0
    total: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    stopping: bool = False
    pausing: bool = False
    message: str = ""

    @property
    def active(self) -> bool:
        """Whether the run may still change."""
        return self.state in ACTIVE


@dataclass
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
    gives_way : bool
        Whether nobody asked for it, so that it ends where nobody watches it and others wait.
    """

    run_id: str
    owner: str
    task: TrainingTask | FunctionTask
    paused: bool
    last_seen: float
    state: str = "queued"
    message: str = ""
    stopping: bool = False
    pausing: bool = False
    events: list[Any] = field(default_factory=list)
    result: RunResult | None = None
    deliver: Callable[[str], None] | None = None
    on_end: Callable[[Status, RunResult | None], None] | None = None
    gives_way: bool = False
    _orders: list[str] = field(default_factory=list)
    _since: float | None = None
    _seconds: float = 0.0
    _due: float | None = None
    _first: float = 0.0

    def leave_queue(self, now: float) -> None:
        """Note that a process takes the run."""
        self.state, self._since = "running", now

    def connect(self, deliver: Callable[[str], None]) -> None:
        """Note how to reach the process, and send it the orders that came before."""
        self.deliver = deliver
        # The manager holds its lock here and where orders are kept, so that none falls between the two.
        for order in self._orders:
            deliver(order)

    def take_order(self, order: str) -> None:
        """Pass an order on, or keep it until the process has the run."""
        self.stopping, self.pausing = self.stopping or order == "stop", order == "pause"
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
            self.pausing = self.pausing and kind == "running"

    def end(self, state: str, message: str, result: RunResult | None, now: float) -> None:
        """Note the end: nothing changes after it, and the data are let go."""
        self._count_seconds(now)
        # `stopping` is over: a run that has ended is not one that is about to end.
        self.state, self.message, self.result, self.stopping, self.pausing = state, message, result, False, False
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
        numbers = {"rounds": rounds, "total": total, "seconds": seconds, "seconds_left": left}
        asked = {"stopping": self.stopping, "pausing": self.pausing}
        return Status(self.run_id, state, place, **numbers, **asked, message=self.message)

    def ends_within(self, seconds: float, now: float) -> bool:
        """Return whether the run has ended, only predicts any more, or is foreseen to do its last round so soon.

        One that trains ends within infinity.
        """
        if self.state != "running":
            return self.state in (*ENDED, "predicting")
        # A run that goes on past what was foreseen may go on for long.
        left = self._due - self._elapsed(now) if self._due is not None else 0.0
        return math.isinf(seconds) or 0.0 < left <= seconds

    def _foresee(self, now: float) -> None:
        """Estimate the end, in seconds of the run, from the rounds so far; a later end than told before is not told."""
        seconds, rounds = self._elapsed(now), len(self.events)
        if rounds == 1:
            self._first = seconds  # data were read and encoded in it, and no other round takes so long
            return
        due = seconds + (seconds - self._first) / (rounds - 1) * max(0, getattr(self.events[-1], "total", 0) - rounds)
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

    def begun(self, run_ids: Sequence[str]) -> bool:
        """Whether one of the runs has an event, or none is running."""
        runs = [self.find(run_id) for run_id in run_ids]
        return any(job.events for job in runs) or not any(job.state == "running" for job in runs)

    def ended(self, run_ids: Sequence[str]) -> bool:
        """Whether all runs have ended."""
        return all(self.find(run_id).state in ENDED for run_id in run_ids)

    def end_or_go_on(self, run_ids: Sequence[str], seconds: float) -> bool:
        """Whether all runs have ended, or one is not about to."""
        near = all(self.find(run_id).ends_within(seconds, self._clock()) for run_id in run_ids)
        return not near or self.ended(run_ids)

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
        job.take_order(order)
        waited = order == "stop" and self.queue.remove(job.owner, job.run_id)
        if waited:
            # The reason that was noted first wins, such as that nobody watched the run.
            job.end("stopped", job.message or "Stopped before it began.", None, self._clock())
        return waited

    def stop_unwatched(self) -> list[Job]:
        """Stop the runs that nobody has watched for long; return those that ended by it."""
        idle = self._limits.idle_seconds
        unwatched = self._unseen_for(idle)
        for job in unwatched:
            job.message = f"Nobody watched this run for {idle / 60:.0f} minutes, so it was stopped."
        return [job for job in unwatched if self.order(job, "stop")]

    def make_way(self) -> list[Job]:
        """Stop the runs that give way, where others wait and nobody watches them; return those that ended by it."""
        unwatched = [job for job in self._unseen_for(self._limits.away_seconds) if job.gives_way]
        return [job for job in unwatched if len(self.queue) and self.order(job, "stop")]

    def _unseen_for(self, seconds: float) -> list[Job]:
        # A run that is stopping already has been told; a second order would start a second grace period.
        going = [job for job in self._known.values() if job.state not in ENDED and not job.stopping]
        return [job for job in going if self._clock() - job.last_seen > seconds]

    def forget(self, job: Job) -> bool:
        """Forget a run, which ends if it goes on; return whether it ended by it, which a waiting one does."""
        ended = self.order(job, "stop")
        # A process that has it ends it without being found here.
        del self._known[job.run_id]
        return ended

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
