"""A place where a run can be trained: a worker process, the thread that serves it, a new process when it dies."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from studio.jobs.job import Job
from studio.jobs.protocol import RunResult
from studio.jobs.worker import Worker
from studio.messages import explained

if TYPE_CHECKING:
    from studio.jobs.manager import Manager

__all__ = ["Slot"]

_log = logging.getLogger(__name__)
_GONE = (EOFError, OSError)
_DIED = "The training process ended by itself, often for lack of memory: use fewer rows, columns or rounds."
_CUT_OFF = "Stopped in the middle of a round, so no model was kept."
LONG_ROUND = 3.0
"""How many rounds' time a stop waits beyond the grace, so that a training of long rounds keeps its model."""
_CANNOT_START = "The training process cannot start: the studio's log says why; restart the studio once that is mended."


class Slot:
    """Keeps one worker process alive and hands it the manager's runs one at a time.

    Parameters
    ----------
    manager : Manager
        Whose runs these are.
    modules : sequence of str
        Modules that the process imports.
    after : Slot or None
        Another slot that shall be warm first, so that not every process compiles the same kernels at once.

    Attributes
    ----------
    phase : str
        "starting", "compiling", "ready" (idle) or "working".
    """

    def __init__(self, manager: Manager, modules: Sequence[str], after: Slot | None = None) -> None:
        self._manager = manager
        self._modules = modules
        self._after = after
        self._worker: Worker | None = None
        self._job: Job | None = None
        self._broken = False
        self._thread = threading.Thread(target=self._serve, name="studio-slot", daemon=True)
        self.phase = "starting"

    def start(self) -> None:
        """Start the thread, which starts the process."""
        self._thread.start()

    def close(self) -> None:
        """End the process and wait for the thread."""
        with self._manager.changed:
            if self._worker is not None:
                self._worker.kill()
        if self._thread is not threading.current_thread():
            self._thread.join(10)

    def holds(self, digests: set[str] | None) -> bool:
        """Whether the process has all the data of these digests; None stands for data that nobody has."""
        return self._worker is not None and digests is not None and digests <= set(self._worker.held)

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None while there is none."""
        return self._worker and self._worker.pid

    def alive(self) -> bool:
        """Whether there is a process and it is running."""
        return self._worker is not None and self._worker.alive()

    def _serve(self) -> None:
        if self._after is not None:
            with self._manager.changed:
                self._manager.changed.wait_for(
                    lambda: self._manager.closed or self._after.phase in ("ready", "working")
                )
        while not self._manager.closed:
            started = self._ensure_worker()
            job = self._next_job(started)
            if job is not None and started:
                self._run(job)
            elif job is not None:
                self._end(job, "failed", _CANNOT_START)
        if self._worker is not None:
            self._worker.close()

    def _ensure_worker(self) -> bool:
        """Return whether a worker is up and warm; start one if need be, after a failure only when a run waits."""
        if self.alive():
            return True
        if self._broken and not self._manager.anyone_waits():
            return False
        if self._worker is not None:
            self._worker.close()
        self._set_phase("starting")
        self._broken = not self._start_worker()
        return not self._broken

    def _kernels(self) -> str:
        """Return what the worker compiles: the first one is soon there for most methods, the others have them all."""
        if not self._manager.compiled:
            return "none"
        return "core" if self._after is None and self._manager.limits.workers > 1 else "all"

    def _start_worker(self) -> bool:
        try:
            worker = Worker(self._manager.limits.memory, self._modules, self._kernels())
            with self._manager.changed:
                self._worker = worker
                if self._manager.closed:
                    worker.kill()
            while self.phase != "ready":
                self._set_phase(worker.receive()[1])
            return True
        except _GONE:
            if self._worker is not None:
                self._worker.kill()  # its socket may end a moment before it does
            if not self._manager.closed:
                _log.error("A training process could not start.")
            self._set_phase("ready")  # to answer runs with a sentence rather than let them wait
            return False

    def _set_phase(self, phase: str) -> None:
        with self._manager.changed:
            self.phase = phase
            self._manager.changed.notify_all()

    def _next_job(self, started: bool) -> Job | None:
        """Wait for a run; None now and then, so that a dead process is noticed."""
        with self._manager.changed:
            job = self._manager.take(self, started)
            if job is None and not self._manager.closed:
                self._manager.changed.wait(5.0)
                job = self._manager.take(self, started) if self.alive() else None
            if job is not None:
                self.phase, self._job = "working", job
        return job

    def _run(self, job: Job, again: bool = False) -> None:
        taken = False
        try:
            self._hand_over(job)
            kind, content = self._worker.receive()
            while kind not in ("done", "failed"):
                taken = taken or kind == "taken"
                if kind != "taken":
                    self._hear(job, kind, content)
                kind, content = self._worker.receive()
            self._conclude(job, kind, content)
        except _GONE:
            self._worker.kill()  # its socket may end a moment before it does
            if not (taken or again or job.stopping) and self._ensure_worker():  # it had died before it had the run
                self._set_phase("working")
                self._run(job, again=True)
                return
            state, message = ("stopped", job.message or _CUT_OFF) if job.stopping else ("failed", _DIED)
            self._end(job, state, message)
        except Exception as error:  # such as data that cannot be pickled: this run fails, this thread goes on
            _log.exception("A run failed on its way.")
            self._worker.kill()
            self._end(job, "failed", explained(error))

    def _hand_over(self, job: Job) -> None:
        packed = self._manager.packer.pack(job.task)
        for digest in packed.contents:
            if digest in self._worker.held:
                self._worker.touch(digest)
            else:
                self._worker.supply(digest, packed.payload(digest), self._manager.limits.datasets)
        self._worker.send("run", packed.task, job.paused)
        with self._manager.changed:
            job.connect(lambda order: self._deliver(job, order))

    def _deliver(self, job: Job, order: str) -> None:
        """Send an order to the process, and see to it that a stop is obeyed."""
        with contextlib.suppress(OSError):  # a process that is gone is noticed by the thread that listens to it
            self._worker.send("order", order)
        if order == "stop":
            grace = self._manager.limits.stop_grace + LONG_ROUND * job.pace(self._manager.clock())
            timer = threading.Timer(grace, self._cut_off, [job])
            timer.daemon = True
            timer.start()

    def _cut_off(self, job: Job) -> None:
        with self._manager.changed:
            if self._job is job and job.state != "gathering":
                self._worker.kill()

    def _hear(self, job: Job, kind: str, content: Any) -> None:
        with self._manager.changed:
            job.hear(kind, content, self._manager.clock())
            self._manager.changed.notify_all()

    def _conclude(self, job: Job, kind: str, content: Any) -> None:
        if kind == "failed":
            self._end(job, "failed", content)
        else:
            self._end(job, "stopped" if content.stopped else "finished", job.message or content.note, content)

    def _end(self, job: Job, state: str, message: str, result: RunResult | None = None) -> None:
        with self._manager.changed:
            self._manager.release(job, state, message, result)
            self.phase, self._job = "ready", None
        self._manager.tell_end(job)
