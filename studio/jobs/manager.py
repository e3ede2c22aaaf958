"""Trainings in warm child processes: submit, watch, pause, step, stop, fetch.

    run_id = jobs.manager().submit(TrainingTask("GBCClassifier", {"lambda0": 1.0}, data), owner="anna")
    jobs.manager().status(run_id)        # state, place in the queue, rounds, time left, a sentence
    jobs.manager().events(run_id, 12)    # the RoundEnd events from the 13th on
    jobs.manager().stop(run_id)
    jobs.manager().result(run_id)        # RunResult, once the state is "finished" or "stopped"

One thread per worker process hands it one run at a time and takes its messages; a process that dies fails its run and
is replaced. The queue is fair between owners. Run ids cannot be guessed. Every poll counts as watching: a run that
nobody watches for `JobLimits.idle_seconds` stops.
"""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from hetcore.player import ORDERS
from studio import limits
from studio.jobs import memory
from studio.jobs.data_refs import Packer, without_data
from studio.jobs.fair_queue import FairQueue
from studio.jobs.job import Job
from studio.jobs.protocol import ENDED, FunctionTask, RunResult, Status, TrainingTask, UnknownRunError
from studio.jobs.worker_slot import Slot

__all__ = ["FunctionTask", "Manager", "RunResult", "Status", "TrainingTask", "UnknownRunError", "manager"]


SWEEP = 10.0
"""Seconds between two looks at runs that nobody watches."""
GIVE_BACK = 6
"""Of so many looks one also returns freed memory to the system."""


class Manager:
    """The registry of all runs of one studio process.

    Parameters
    ----------
    job_limits : JobLimits
        How many at once, how much memory, how long.
    modules : sequence of str
        Modules that each worker imports at its start.
    clock : callable
        Monotonic seconds.
    compiled : bool
        Whether workers compile the kernels before the first run rather than in it.
    """

    def __init__(
        self,
        job_limits: limits.JobLimits = limits.JOBS,
        modules: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        compiled: bool = True,
    ) -> None:
        self.compiled = compiled
        self.limits = job_limits
        self.changed = threading.Condition()
        self.clock = clock
        self.closed = False
        self._closing = threading.Event()
        self._jobs: dict[str, Job] = {}
        self._queue = FairQueue()
        self.packer = Packer()
        first = Slot(self, modules)
        self.slots = [first, *(Slot(self, modules, after=first) for _ in range(1, job_limits.workers))]
        for slot in self.slots:
            slot.start()
        threading.Thread(target=self._sweep_often, name="studio-sweeper", daemon=True).start()

    # What pages call ------------------------------------------------------------------------------------------------

    def submit(
        self,
        task: TrainingTask | FunctionTask,
        owner: str = "",
        paused: bool = False,
        on_end: Callable[[Status, RunResult | None], None] | None = None,
    ) -> str:
        """Queue a task and return its run id.

        Parameters
        ----------
        task : TrainingTask or FunctionTask
            What to do; its data must not change any more.
        owner : str
            Whom the queue is to be fair to: a user or a browser session.
        paused : bool
            Whether to wait before the first round, for stepping from the start.
        on_end : callable or None
            Called once with the last status and the result, from a thread of the manager's, watched or not: to store
            the run. It must not touch a page.

        Raises
        ------
        ValueError
            If the owner has too many unfinished runs, or the training needs more memory than there is.
        """
        if words := memory.refusal(task, self.limits):
            raise ValueError(words)
        job = Job(secrets.token_urlsafe(16), owner, task, paused, self.clock(), on_end=on_end)
        with self.changed:
            self._refuse_too_many(owner)
            self._jobs[job.run_id] = job
            self._queue.push(owner, job.run_id)
            self.changed.notify_all()
        return job.run_id

    def run_task(self, path: str, kwargs: dict[str, Any], owner: str = "") -> str:
        """Queue a call of an allowed function, such as "module:function"; its value is `result(run_id).value`."""
        return self.submit(FunctionTask(path, kwargs), owner)

    def status(self, run_id: str, owner: str | None = None, watch: bool = True) -> Status:
        """Return where a run stands.

        Parameters
        ----------
        run_id : str
            As returned by `submit`.
        owner : str or None
            Where given, a run of another owner is as good as unknown.
        watch : bool
            Whether this counts as watching the run.

        Raises
        ------
        UnknownRunError
            If there is no such run.
        """
        with self.changed:
            return self._status(self._job(run_id, owner, watch))

    def events(self, run_id: str, since: int = 0, owner: str | None = None) -> list[Any]:
        """Return the run's `RoundEnd` events from number `since` on."""
        with self.changed:
            return self._job(run_id, owner).events[since:]

    def result(self, run_id: str, owner: str | None = None) -> RunResult | None:
        """Return what the run left, None as long as it has not ended or when it left nothing."""
        with self.changed:
            return self._job(run_id, owner).result

    def task(self, run_id: str, owner: str | None = None, watch: bool = True) -> TrainingTask | FunctionTask:
        """Return the task as submitted, without its data; `watch` as for `status`."""
        with self.changed:
            return without_data(self._job(run_id, owner, watch).task)

    def pause(self, run_id: str, owner: str | None = None) -> None:
        """Hold the run after the round in progress."""
        self._order(run_id, "pause", owner)

    def resume(self, run_id: str, owner: str | None = None) -> None:
        """Let a paused run go on."""
        self._order(run_id, "resume", owner)

    def step(self, run_id: str, owner: str | None = None) -> None:
        """Do one round of a paused run; a running one is paused after the round in progress."""
        self._order(run_id, "step", owner)

    def stop(self, run_id: str, owner: str | None = None) -> None:
        """End the run after the round in progress, or at once if it waits; without effect on an ended run."""
        self._order(run_id, "stop", owner)

    def runs(self, owner: str) -> list[Status]:
        """Return where the owner's runs stand, newest first, without counting as watching them."""
        with self.changed:
            return [self._status(job) for job in reversed(self._jobs.values()) if job.owner == owner]

    def readiness(self) -> str:
        """Return "starting", "compiling" or "ready": how far the readiest worker is."""
        with self.changed:
            phases = {slot.phase for slot in self.slots}
        if phases & {"ready", "working"}:
            return "ready"
        return "compiling" if "compiling" in phases else "starting"

    def wait(self, run_id: str, states: Sequence[str] = ENDED, timeout: float = 60.0) -> Status:
        """Wait until the run is in one of the states or has ended, at most `timeout` seconds, and return its status."""
        with self.changed:
            wanted = {*states, *ENDED}
            self.changed.wait_for(lambda: self._status(self._job(run_id)).state in wanted, timeout)
            return self._status(self._job(run_id))

    def wait_begun(self, run_ids: Iterable[str], timeout: float) -> None:
        """Wait until one of the runs has an event or none is running, at most `timeout` seconds."""
        with self.changed:
            runs = [self._job(run_id) for run_id in run_ids]
            self.changed.wait_for(
                lambda: any(job.events for job in runs) or not any(job.state == "running" for job in runs), timeout
            )

    def sweep(self) -> None:
        """Stop runs that nobody watches and forget old ones; called every few seconds."""
        with self.changed:
            now = self.clock()
            ended = []
            for job in self._jobs.values():
                unwatched = now - job.last_seen > self.limits.idle_seconds
                if unwatched and not job.stopping and job.state not in ENDED:
                    minutes = f"{self.limits.idle_seconds / 60:.0f} minutes"
                    job.message = f"Nobody watched this run for {minutes}, so it was stopped."
                    ended += [job] if self._give_order(job, "stop") else []
            self._forget_old(now)
        for job in ended:
            self.tell_end(job)

    def close(self) -> None:
        """End every worker process; runs in progress are lost."""
        with self.changed:
            self.closed = True
            self._closing.set()
            self.changed.notify_all()
        for slot in self.slots:
            slot.close()

    # What slots call, with the lock held ----------------------------------------------------------------------------

    def anyone_waits(self) -> bool:
        """Whether a run is in the queue."""
        return len(self._queue) > 0

    def take(self, slot: Slot, started: bool) -> Job | None:
        """Return the next run for this slot; None if there is none, or if another slot should have it."""
        if not started and any(other.alive() for other in self.slots):
            return None
        following = next(self._queue.order(), None)
        if following is None:
            return None
        digests = self.packer.known(self._jobs[following].task)
        holders = [other for other in self.slots if other.phase == "ready" and other.holds(digests)]
        if holders and slot not in holders:
            return None
        job = self._jobs[self._queue.pop()]
        job.leave_queue(self.clock())
        self.changed.notify_all()
        return job

    def release(self, job: Job, state: str, message: str = "", result: RunResult | None = None) -> None:
        """Note that a run that a slot had taken has ended."""
        job.end(state, message, result, self.clock())
        self._queue.done(job.owner)
        self.changed.notify_all()

    def tell_end(self, job: Job) -> None:
        """Call the run's `on_end`; unlike the others without the lock."""
        if job.on_end is not None:
            try:
                job.on_end(job.status(self.clock(), 0, "queued"), job.result)
            except Exception:  # whoever is told of the end cannot harm the next run
                _log.exception("What was to follow a run failed.")

    # Inside ---------------------------------------------------------------------------------------------------------

    def _job(self, run_id: str, owner: str | None = None, watch: bool = True) -> Job:
        job = self._jobs.get(run_id)
        if job is None or (owner is not None and job.owner != owner):
            raise UnknownRunError("This run is not known here (any more): train again, or open it from the runs.")
        if watch:
            job.last_seen = self.clock()
        return job

    def _status(self, job: Job) -> Status:
        place = self._queue.place(job.run_id) if job.state == "queued" else 0
        return job.status(self.clock(), place, self._waiting_phase(place))

    def _waiting_phase(self, place: int) -> str:
        """Return "queued", or how far the process is that will take the run at this place."""
        phases = sorted(slot.phase for slot in self.slots if slot.phase in ("starting", "compiling"))
        return phases[place - 1] if 0 < place <= len(phases) else "queued"

    def _order(self, run_id: str, order: str, owner: str | None) -> None:
        assert order in ORDERS
        with self.changed:
            job = self._job(run_id, owner)
            waited = self._give_order(job, order)
        if waited:
            self.tell_end(job)

    def _give_order(self, job: Job, order: str) -> bool:
        """Pass an order on; return whether the run ended by it, which a waiting one does."""
        if job.state in ENDED:
            return False
        job.take_order(order, self.clock())
        waited = order == "stop" and self._queue.remove(job.owner, job.run_id)
        if waited:
            job.end("stopped", job.message or "Stopped before it began.", None, self.clock())
        self.changed.notify_all()
        return waited

    def _refuse_too_many(self, owner: str) -> None:
        unfinished = sum(job.owner == owner and job.state not in ENDED for job in self._jobs.values())
        if unfinished >= self.limits.waiting:
            raise ValueError(f"You have {unfinished} unfinished runs already: stop one, or wait until one ends.")

    def _sweep_often(self) -> None:
        for turn in count(1):
            if self._closing.wait(SWEEP):
                return
            self.sweep()
            if turn % GIVE_BACK == 0:
                memory.give_back()

    def _forget_old(self, now: float) -> None:
        ended = sorted((job for job in self._jobs.values() if job.state in ENDED), key=lambda job: -job.last_seen)
        held = 0
        for k, job in enumerate(ended):
            held += job.result.nbytes if job.result is not None else 0
            too_much = k >= self.limits.kept_runs or (k > 0 and held > self.limits.kept_bytes)
            if too_much or now - job.last_seen > self.limits.kept_seconds:
                del self._jobs[job.run_id]


_log = logging.getLogger(__name__)
_manager: Manager | None = None
_creating = threading.Lock()


def manager() -> Manager:
    """Return the one manager of this process; the first call starts its workers."""
    global _manager
    with _creating:
        if _manager is None:
            _manager = Manager()
            atexit.register(_manager.close)
    return _manager
