"""The workers of a Dask cluster that a fit uses: an actor on each, calls of it, and which are gone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from hetcore.distributed.worker_actor import WorkerActor, versions
from hetcore.errors import ClusterError

__all__ = ["Call", "WorkerLostError", "Worker", "WorkerPool", "check_versions", "explained"]

POLL_SECONDS = 0.5  # between looks at whether a silent worker is still there
SCHEDULER_SECONDS = 10.0  # that the scheduler has for an answer
WAIT_SECONDS = 60.0  # for a worker, when there is none


class WorkerLostError(Exception):
    """The actor's worker is gone, and with it what it held."""


@dataclass
class Worker:
    """A worker's address, the future that keeps its actor alive, the actor, and the bytes of what it holds."""

    address: str
    future: Any
    actor: Any = None
    held: int = 0

    @property
    def lost(self) -> bool:
        """Whether the cluster says that the actor is gone."""
        return self.future.status not in ("pending", "finished")


@dataclass
class Call:
    """A call of an actor under way; no future if it could not even be made."""

    worker: Worker
    future: Any


class WorkerPool:
    """The workers of a cluster, by address, those of them that have an actor.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._scheduler = client.scheduler.address  # which the client forgets with its connection
        self._workers: dict[str, Worker] = {}

    def workers(self) -> list[Worker]:
        """Return the workers that the scheduler knows, by address, each with an actor.

        Raises
        ------
        ClusterError
            If there is no worker for a minute, the scheduler does not answer, or workers lack hetcore or have another
            version of it.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            addresses = self._addresses()
            new = [self._new(address) for address in addresses if address not in self._workers]
            for worker in new:
                with contextlib.suppress(WorkerLostError):
                    worker.actor = self._waited(worker, worker.future.result)
                    self._check_versions(worker)
                    self._workers[worker.address] = worker
            if found := [self._workers[address] for address in addresses if address in self._workers]:
                return found
            time.sleep(POLL_SECONDS)
        raise ClusterError(f"The Dask cluster at {self._scheduler} has no worker: start some, and fit again.")

    def call(self, worker: Worker, method: str, *args: Any) -> Call:
        """Begin a call of the actor's method."""
        try:
            return Call(worker, getattr(worker.actor, method)(*args))
        except RuntimeError:  # what Dask raises at once for an actor that it knows to be lost
            return Call(worker, None)

    def answer(self, call: Call) -> Any:
        """Wait for the answer to a call.

        Raises
        ------
        WorkerLostError
            If the worker is gone.
        ClusterError
            If the scheduler is, or the worker failed in words that are not ours.
        """
        try:
            if call.future is None:
                raise WorkerLostError
            return self._waited(call.worker, call.future.result)
        except WorkerLostError:
            lost = self._workers.pop(call.worker.address, None)
            if lost is not None:
                lost.future.release()
            raise

    def close(self) -> None:
        """Let every actor go; a release would wait until this process has collected its garbage."""
        futures, self._workers = [worker.future for worker in self._workers.values()], {}
        if futures and self._client.status == "running":
            with contextlib.suppress(Exception):  # a cluster that is gone has nothing to let go
                self._client.cancel(futures, force=True)

    def _new(self, address: str) -> Worker:
        place = {"workers": [address], "allow_other_workers": False}
        return Worker(address, self._client.submit(WorkerActor, actor=True, pure=False, **place))

    def _check_versions(self, worker: Worker) -> None:
        asked = self.call(worker, "versions").future
        if asked is None:
            raise WorkerLostError
        check_versions(worker.address, self._waited(worker, asked.result))

    def _addresses(self) -> list[str]:
        """Return the workers' addresses in order."""
        self._check_scheduler()
        try:
            asked = self._client.scheduler.ncores
            return sorted(self._client.sync(asked, callback_timeout=SCHEDULER_SECONDS))
        except OSError:  # timeouts and closed connections too
            raise self._scheduler_gone() from None

    def _waited(self, worker: Worker, result: Callable[..., Any]) -> Any:
        """Return a result, looking now and then whether it can still come."""
        while True:
            try:
                return result(timeout=POLL_SECONDS)
            except TimeoutError:
                self._check_scheduler()
                if worker.lost or worker.address not in self._addresses():
                    raise WorkerLostError from None
            except OSError:
                self._check_scheduler()
                raise WorkerLostError from None
            except Exception as error:
                # A cluster that closes ends its workers first: who is gone, only the scheduler's answer tells.
                if worker.address not in self._addresses() or worker.lost or _is_end(error):
                    raise WorkerLostError from None
                raise explained(error, worker.address) from error

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._scheduler_gone()

    def _scheduler_gone(self) -> ClusterError:
        where = self._scheduler
        return ClusterError(f"The Dask scheduler at {where} is gone, and the fit with it: fit again once it is back.")


def check_versions(address: str, theirs: Mapping[str, str]) -> None:
    """Refuse a worker that has another version of what must be the same everywhere, with a ClusterError."""
    for name, own in versions().items():
        if theirs[name] != own:
            what = f"has {name} {theirs[name]} and this process {own}"
            raise ClusterError(f"The Dask worker at {address} {what}: install the same version there.")


def _is_end(error: Exception) -> bool:
    """Tell whether Dask says of itself that a call ended with its worker; whoever failed says it in other words."""
    return isinstance(error, CancelledError) or type(error).__module__.startswith("distributed.")


def explained(error: Exception, address: str) -> Exception:
    """Return what a worker failed with: our own errors as they are, and others as one sentence."""
    if type(error).__module__.startswith("hetcore."):
        return error
    if isinstance(error, ModuleNotFoundError):
        return ClusterError(f"The Dask worker at {address} lacks {error.name}: install hetcore's requirements there.")
    if isinstance(error, MemoryError):
        return ClusterError(f"The Dask worker at {address} has too little memory: give it more, or use more workers.")
    return ClusterError(f"The Dask worker at {address} failed ({type(error).__name__}: {error}): see its log.")
