"""Trainings in warm child processes: submit, watch, pause, step, stop, fetch.

    run_id = jobs.manager().submit(TrainingTask("GBCClassifier", {"lambda0": 1.0}, data), owner="anna")
    jobs.manager().status(run_id)        # state, place in the queue, rounds, time left, a sentence
    jobs.manager().events(run_id, 12)    # the RoundEnd events from the 13th on
    jobs.manager().result(run_id)        # RunResult, once the state is "finished" or "stopped"

One thread per worker process hands it one run at a time and takes its messages; a process that dies fails its run and
is replaced. The queue is fair between owners. Run ids cannot be guessed. Every poll counts as watching: a run that
nobody watches for `JobLimits.idle_seconds` stops.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

from hetcore.player import ORDERS
from studio import limits
from studio.jobs import memory
from studio.jobs.job import (
    ENDED,
    FunctionTask,
    Job,
    Jobs,
    Status,
    TrainingTask,
    UnknownRunError,
    data_of,
    with_data,
    without_data,
)
from studio.jobs.packing import DataRef, Packer
from studio.jobs.results import RunResult
from studio.jobs.worker import GONE, NICENESS, PHASES, Worker
from studio.messages import explained

__all__ = [
    "SOON",
    "FunctionTask",
    "Manager",
    "RunResult",
    "Status",
    "TrainingTask",
    "UnknownRunError",
    "background",
    "manager",
]

_DIED = "The training process ended by itself, often for lack of memory: use fewer rows, columns or rounds."
_CUT_OFF = "Stopped in the middle of a round, so no model was kept."
_CANNOT_START = "The training process cannot start: the studio's log says why; restart the studio once that is mended."
LONG_ROUND = 3.0
"""How many rounds' time a stop waits beyond the grace, so that a training of long rounds keeps its model."""
SOON = 0.3
"""Seconds before its foreseen end from which a run is waited for, where somebody looks at it."""
REST = 5.0
"""Seconds that what nobody waits for rests at most, from the start of a training that takes all cores."""
SWEEP = 10.0
"""Seconds between two looks at runs that nobody watches."""


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
    niceness : int
    others : callable
        Returns the manager of what nobody waits for, which rests while trainings here take all cores; None without.
    """

    def __init__(
        self,
        job_limits: limits.JobLimits = limits.JOBS,
        modules: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        compiled: bool = True,
        niceness: int = NICENESS,
        others: Callable[[], Manager | None] = lambda: None,
    ) -> None:
        self.limits, self.clock, self._others = job_limits, clock, others
        self._waking = threading.Timer(0.0, lambda: None)
        self.changed = threading.Condition()
        self._closing = threading.Event()
        self._jobs, self._packer = Jobs(job_limits, clock), Packer()
        # The first is soon there for most methods, the others compile them all.
        kernels = ["core" if job_limits.workers > 1 else "all", *["all"] * (job_limits.workers - 1)]
        self.workers = [Worker(job_limits.memory, modules, each if compiled else "none", niceness) for each in kernels]
        self._threads = [threading.Thread(target=self._serve, args=(worker,), daemon=True) for worker in self.workers]
        for thread in self._threads:
            thread.start()
        threading.Thread(target=self._sweep_often, name="studio-sweeper", daemon=True).start()

    # What pages call ------------------------------------------------------------------------------------------------

    def submit(
        self,
        task: TrainingTask | FunctionTask,
        owner: str = "",
        paused: bool = False,
        on_end: Callable[[Status, RunResult | None], None] | None = None,
        run_id: str = "",
        *,
        gives_way: bool = False,
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
            Called once with the last status and the result, to store the run, in a thread that must not touch a page.
        run_id : str
            An unguessable one, where the run has an id already.
        gives_way : bool
            Whether it began by itself: it is stopped where others wait and nobody watches it.

        Raises
        ------
        ValueError
            If the owner has too many unfinished runs, or the training needs more memory than there is.
        """
        if reason := memory.why_not(task, self.limits):
            raise ValueError(reason)
        more = {"on_end": on_end, "gives_way": gives_way}
        job = Job(run_id or secrets.token_urlsafe(16), owner, task, paused, self.clock(), **more)
        with self.changed:
            self._jobs.add(job)
            ended = self._jobs.make_way()
            self.changed.notify_all()
        for each in ended:
            self._report_end(each)
        return job.run_id

    def restore(self, job: Job) -> None:
        """Know a run again that ended before, perhaps in an earlier process."""
        with self.changed:
            self._jobs.know_again(job)

    def run_task(self, path: str, kwargs: dict[str, Any], owner: str = "", gives_way: bool = False) -> str:
        """Queue a call of an allowed function, such as "module:function"; its value is `result(run_id).value`."""
        return self.submit(FunctionTask(path, kwargs), owner, gives_way=gives_way)

    def status(self, run_id: str, owner: str | None = None, watch: bool = True) -> Status:
        """Return where a run stands, which counts as watching it unless `watch` is False.

        UnknownRunError without such a run; where an owner is given, a run of another is as good as unknown.
        """
        with self.changed:
            return self._status(self._jobs.find(run_id, owner, watch))

    def events(self, run_id: str, since: int = 0, owner: str | None = None) -> list[Any]:
        """Return the run's `RoundEnd` events from number `since` on."""
        with self.changed:
            return self._jobs.find(run_id, owner).events[since:]

    def result(self, run_id: str, owner: str | None = None) -> RunResult | None:
        """Return what the run left, None as long as it has not ended or when it left nothing."""
        with self.changed:
            return self._jobs.find(run_id, owner).result

    def task(self, run_id: str, owner: str | None = None, watch: bool = True) -> TrainingTask | FunctionTask:
        """Return the task as submitted, without its data; `watch` as for `status`."""
        with self.changed:
            return without_data(self._jobs.find(run_id, owner, watch).task)

    def order(self, run_id: str, order: str, owner: str | None = None) -> None:
        """Give a run an order, heard after the round in progress: "pause", "resume", "step" (one round) or "stop"."""
        assert order in ORDERS
        with self.changed:
            job = self._jobs.find(run_id, owner)
            ended = self._jobs.order(job, order)
            self.changed.notify_all()
        if ended:
            self._report_end(job)

    def stop(self, run_id: str, owner: str | None = None) -> None:
        """End the run after the round in progress, or at once if it waits; without effect on an ended run."""
        self.order(run_id, "stop", owner)

    def forget(self, run_id: str, owner: str) -> None:
        """Forget a run and what it left, and end it if it goes on; without effect unless the owner has such a run."""
        with self.changed:
            try:
                job = self._jobs.find(run_id, owner)
            except UnknownRunError:
                return
            ended = self._jobs.forget(job)
            self.changed.notify_all()
        if ended:
            self._report_end(job)

    def runs(self, owner: str) -> list[Status]:
        """Return where the owner's runs stand, newest first, without counting as watching them."""
        with self.changed:
            return [self._status(job) for job in self._jobs.of(owner)]

    def readiness(self) -> str:
        """Return "starting", "compiling" or "ready": how far the readiest worker is."""
        with self.changed:
            phase = max((worker.phase for worker in self.workers), key=PHASES.index)
        return "ready" if phase == "working" else phase

    def wait(self, run_id: str, states: Sequence[str] = ENDED, timeout: float = 60.0) -> Status:
        """Wait until the run is in one of the states or has ended, at most `timeout` seconds, and return its status."""
        with self.changed:
            wanted = {*states, *ENDED}
            self.changed.wait_for(lambda: self._status(self._jobs.find(run_id)).state in wanted, timeout)
            return self._status(self._jobs.find(run_id))

    def wait_begun(self, run_ids: Iterable[str], timeout: float) -> None:
        """Wait until one of the runs has an event or none is running, at most `timeout` seconds."""
        with self.changed:
            self.changed.wait_for(partial(self._jobs.begun, [*run_ids]), timeout)

    def wait_ended(self, run_ids: Iterable[str], timeout: float, soon: float = SOON) -> bool:
        """Wait while all runs are foreseen to end `soon`, at most `timeout` seconds; return whether all have ended."""
        with self.changed:
            # A look costs as much as some rounds, and shows nothing new of what only predicts: soon is soon enough.
            self.changed.wait_for(partial(self._jobs.end_or_go_on, [*run_ids], soon), timeout)
            return self._jobs.ended([*run_ids])

    def sweep(self) -> None:
        """Stop runs that nobody watches and forget old ones; called every few seconds."""
        with self.changed:
            ended = self._jobs.stop_unwatched() + self._jobs.make_way()
            self._jobs.forget_old()
            self.changed.notify_all()
        for job in ended:
            self._report_end(job)

    def close(self) -> None:
        """End every worker process; runs in progress are lost."""
        with self.changed:
            self._closing.set()
            self._waking.cancel()
            self.changed.notify_all()
            for worker in self.workers:
                worker.kill()
        for thread in {*self._threads} - {threading.current_thread()}:
            thread.join(10)

    def _status(self, job: Job) -> Status:
        place = self._jobs.queue.place(job.run_id) if job.state == "queued" else 0
        # The run waits for a process that is on its way rather than for other runs.
        coming = sorted(worker.phase for worker in self.workers if worker.phase in ("starting", "compiling"))
        return job.status(self.clock(), place, coming[place - 1] if 0 < place <= len(coming) else "queued")

    def _report_end(self, job: Job) -> None:
        """Call the run's `on_end`, without the lock."""
        if job.on_end is not None:
            try:
                job.on_end(job.status(self.clock(), 0, "queued"), job.result)
            except Exception:  # whoever is told of the end cannot harm the next run
                _log.exception("What was to follow a run failed.")

    def _sweep_often(self) -> None:
        for turn in count(1):
            if self._closing.wait(SWEEP):
                return
            self.sweep()
            # Once a minute what was freed goes back to the system: asking for it costs more than looking.
            if turn % 6 == 0:
                memory.give_back()

    # The thread of a worker -----------------------------------------------------------------------------------------

    def _serve(self, worker: Worker) -> None:
        if worker is not self.workers[0]:
            with self.changed:
                self.changed.wait_for(self._is_next_due)
        started = True
        while not self._closing.is_set():
            started = self._ensure(worker, started)
            job = self._next_job(worker, started)
            if job is not None and started:
                self._run(worker, job)
            elif job is not None:
                self._end(worker, job, "failed", _CANNOT_START)
        worker.close()

    def _is_next_due(self) -> bool:
        """Return whether the others may start: the first has compiled, and has nothing to do, or more than it can."""
        # Beside the first run ever, the others' compiling made it last longer.
        due = {"ready": not len(self._jobs.queue), "working": len(self._jobs.queue) > 0}
        return self._closing.is_set() or due.get(self.workers[0].phase, False)

    def _ensure(self, worker: Worker, started: bool = True) -> bool:
        """Return whether the process is up and warm; start it if need be, a failed one again only when a run waits."""
        if worker.alive():
            return True
        if not started and not len(self._jobs.queue):
            return False
        up = worker.warm_up(partial(self._set_phase, worker))
        if not up:
            if not self._closing.is_set():
                _log.error("A training process could not start.")
            self._set_phase(worker, "ready")  # to answer runs with a sentence rather than let them wait
        return up

    def _set_phase(self, worker: Worker, phase: str) -> None:
        with self.changed:
            worker.phase = phase
            # The studio may have been closed while the process was on its way.
            if self._closing.is_set():
                worker.kill()
            self.changed.notify_all()

    def _next_job(self, worker: Worker, started: bool) -> Job | None:
        """Wait for a run; None now and then, so that a dead process is noticed."""
        with self.changed:
            job = self._take(worker, started)
            if job is None and not self._closing.is_set():
                self.changed.wait(5.0)
                job = self._take(worker, started) if worker.alive() else None
            if job is not None:
                worker.phase, worker.job = "working", job
                self._rest_others()
        return job

    def _rest_others(self) -> None:
        """Let what nobody waits for rest while all cores are taken, a few seconds at most; called with the lock."""
        # However nice, it made a fit of two threads on two cores last 1.3 times as long.
        others, busy = self._others(), sum(worker.phase == "working" for worker in self.workers)
        if others is None:
            return
        self._waking.cancel()
        resting = busy * limits.THREADS >= (os.cpu_count() or 1)
        for worker in others.workers:
            worker.rest(resting)
        if resting:
            self._waking = threading.Timer(REST, lambda: [worker.rest(False) for worker in others.workers])
            self._waking.daemon = True
            self._waking.start()

    def _take(self, worker: Worker, started: bool) -> Job | None:
        """Return the next run for this worker; None if there is none, or if another worker should have it."""
        job = self._jobs.next()
        if job is None or (not started and any(other.alive() for other in self.workers)):
            return None
        digests = self._packer.known(data_of(job.task).values())
        having = [other for other in self.workers if other.phase == "ready" and other.holds(digests)]
        if having and worker not in having:
            return None
        self.changed.notify_all()
        return self._jobs.take()

    def _run(self, worker: Worker, job: Job, again: bool = False) -> None:
        taken = False
        try:
            self._hand_over(worker, job)
            kind, content = worker.receive()
            while kind not in ("done", "failed"):
                taken = taken or kind == "taken"
                with self.changed:
                    if kind != "taken":
                        job.take_message(kind, content, self.clock())
                    self.changed.notify_all()
                kind, content = worker.receive()
            if kind == "failed":
                self._end(worker, job, "failed", content)
            else:
                state = "stopped" if content.stopped else "finished"
                self._end(worker, job, state, job.message or content.note, content)
        except GONE:
            worker.kill()  # its socket may end a moment before it does
            if not (taken or again or job.stopping) and self._ensure(worker):  # it had died before it had the run
                self._set_phase(worker, "working")
                self._run(worker, job, again=True)
                return
            state, message = ("stopped", job.message or _CUT_OFF) if job.stopping else ("failed", _DIED)
            self._end(worker, job, state, message)
        except Exception as error:  # such as data that cannot be pickled: this run fails, this thread goes on
            _log.exception("A run failed on its way.")
            worker.kill()
            self._end(worker, job, "failed", explained(error))

    def _hand_over(self, worker: Worker, job: Job) -> None:
        packed = {name: self._packer.pack(content) for name, content in data_of(job.task).items()}
        for data in packed.values():
            if data.digest in worker.held:
                worker.touch(data.digest)
            else:
                worker.supply(data.digest, data.payload(), self.limits.datasets)
        references = {name: DataRef(data.digest) for name, data in packed.items()}
        worker.send("run", with_data(job.task, references), job.paused)
        with self.changed:
            job.connect(lambda order: self._deliver(worker, job, order))

    def _deliver(self, worker: Worker, job: Job, order: str) -> None:
        """Send an order to the process, and see to it that a stop is obeyed."""
        with contextlib.suppress(OSError):  # a process that is gone is noticed by the thread that listens to it
            worker.send("order", order)
        if order == "stop":
            grace = self.limits.stop_grace + LONG_ROUND * job.seconds_per_round(self.clock())
            timer = threading.Timer(grace, self._cut_off, [worker, job])
            timer.daemon = True
            timer.start()

    def _cut_off(self, worker: Worker, job: Job) -> None:
        with self.changed:
            if worker.job is job and job.state != "predicting":
                worker.kill()

    def _end(self, worker: Worker, job: Job, state: str, message: str, result: RunResult | None = None) -> None:
        with self.changed:
            self._jobs.release(job, state, message, result)
            worker.phase, worker.job = "ready", None
            self._rest_others()
            self.changed.notify_all()
        self._report_end(job)


_log = logging.getLogger(__name__)
_made: dict[str, Manager] = {}
_creating = threading.Lock()


def manager() -> Manager:
    """Return the one manager of this process; the first call starts its workers."""
    return _one("trainings", lambda: Manager(others=lambda: _made.get("background")))


def background() -> Manager:
    """Return the manager of what nobody waits for: one worker of its own, nicer than those of trainings."""
    modules, one = ("hetcore.baselines.best_joined",), limits.JOBS._replace(workers=1)
    # 19 is the nicest that there is: whatever somebody waits for goes first.
    return _one("background", lambda: Manager(one, modules, compiled=False, niceness=19))


def _one(name: str, make: Callable[[], Manager]) -> Manager:
    # Locked, for pages are threads, and two that ask at once must not start two sets of workers.
    with _creating:
        if name not in _made:
            _made[name] = make()
            atexit.register(_made[name].close)
    return _made[name]
