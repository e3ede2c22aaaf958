"""The studio's end of one worker process: start it, talk to it, end it."""

from __future__ import annotations

import contextlib
import os
import pickle  # between our own processes only
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from studio.jobs.job import Job

__all__ = ["NICENESS", "ROOT", "Worker", "child_environment"]

ROOT = Path(__file__).resolve().parents[2]
NICENESS = 10
"""Of a worker: the studio's own process comes first."""
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def child_environment() -> dict[str, str]:
    """Return the environment of a child process: one thread per library, and this project importable from anywhere."""
    # PYTHONPATH rather than the working folder: -P below takes that folder from the path.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    # One run has one core: libraries that start a thread a core would slow every other run.
    return os.environ | dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": path}


class Worker:
    """A process of `studio.jobs.worker_main` that does one run after another, and a new one whenever it has died.

    Started by exec: never a fork, never a second run of its script.

    Parameters
    ----------
    memory : int
        Bytes of address space it may take.
    modules : sequence of str
        Modules that it imports beside the library.
    kernels : {"none", "core", "all"}
        What it compiles before the first run rather than in it, see `hetcore.kernels.warm_up`.
    niceness : int

    Attributes
    ----------
    phase : str
        "starting", "compiling", "ready" (idle) or "working".
    job : Job or None
        The run that it has.
    held : list of str
        Digests of the data that it holds, those used last at the end.
    """

    def __init__(
        self, memory: int, modules: Sequence[str] = (), kernels: str = "all", niceness: int = NICENESS
    ) -> None:
        self._arguments = [str(memory), kernels, str(niceness), *modules]
        self._sending = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self.phase = "starting"
        # Kept here so that a cut-off can ask whether the process still has the run that it is meant for.
        self.job: Job | None = None
        # The one used longest ago first: it is forgotten first.
        self.held: list[str] = []

    def start(self) -> None:
        """Start the process, anew if there was one."""
        self.close()
        # One socket for both ways, whose end tells either side that the other is gone, even if it was killed.
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module and numbers
                # -P keeps a file named like a module in the current folder from being imported in its place.
                [sys.executable, "-P", "-m", "studio.jobs.worker_main", str(theirs.fileno()), *self._arguments],
                env=child_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,  # a worker has nobody to ask
                # Standard output is of whoever started the studio; prints of a worker go to where messages go.
                stdout=sys.__stderr__ and sys.__stderr__.fileno(),
                # A session of its own, so that Ctrl-C in the terminal reaches the studio, which ends its workers
                # itself.
                start_new_session=True,
            )
        self._connection, self.held = Connection(ours.detach()), []

    @property
    def pid(self) -> int | None:
        """Process id, None while there is no process."""
        return self._process and self._process.pid

    def alive(self) -> bool:
        """Whether there is a process and it is running."""
        return self._process is not None and self._process.poll() is None

    def holds(self, digests: set[str] | None) -> bool:
        """Whether the process has all the data of these digests; None stands for data that nobody has."""
        return digests is not None and digests <= set(self.held)

    def send(self, *message: Any) -> None:
        """Send a message; OSError if the process is gone."""
        # Orders come from threads of pages while the worker's own thread sends data; messages must not mix.
        with self._sending:
            self._connection.send_bytes(pickle.dumps(message, protocol=5))

    def receive(self) -> tuple[str, Any]:
        """Wait for the next message; EOFError or OSError if the process is gone."""
        return self._connection.recv()

    def supply(self, digest: str, payload: bytes, keep: int) -> None:
        """Send data, and have the oldest forgotten so that at most `keep` data sets stay."""
        self.send("data", digest, payload)
        self.held.append(digest)
        while len(self.held) > keep:
            self.send("forget", self.held.pop(0))

    def touch(self, digest: str) -> None:
        """Note that held data are used again, so that others are forgotten first."""
        self.held.remove(digest)
        self.held.append(digest)

    def kill(self) -> None:
        """End the process, if there is one, at once and collect it."""
        if self._process is not None:
            self._process.kill()
            # Waited for, or each killed process would stay in the process table as a zombie.
            self._process.wait()

    def close(self) -> None:
        """End the process and free the connection."""
        self.kill()
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
