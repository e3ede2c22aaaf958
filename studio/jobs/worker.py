"""A worker process, one run after another: the studio's end, `Worker`, and the process's own, `Server`.

The process is `python -m studio.jobs.worker FD MEMORY COMPILE NICENESS MODULE...`. It starts before it is needed, loads
the library, compiles the kernels, and then trains whatever it is sent, nicely and within its memory limit. Its own
reading thread takes the person's orders while a fit runs. When the studio goes away the socket ends, and so does the
process.

Messages in: ("data", digest, bytes), ("forget", digest), ("run", task, paused), ("order", name).
Messages out: ("phase", "compiling" | "ready"), ("taken", None) once it has a run, ("round", event),
("paused" | "running" | "predicting", None), ("done", RunResult), ("failed", sentence).
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import pickle  # between our own processes only
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hetcore.player import Player
from studio.jobs.job import FunctionTask, Job, TrainingTask
from studio.jobs.packing import DataRef
from studio.limits import RECALLED
from studio.messages import explained

__all__ = ["GONE", "NICENESS", "PHASES", "ROOT", "Server", "Worker", "child_environment", "main"]

ROOT = Path(__file__).resolve().parents[2]
GONE = (EOFError, OSError)
"""What a connection raises whose other end is no more."""
PHASES = ("starting", "compiling", "ready", "working")
NICENESS = 10
"""Of a worker: the studio's own process comes first."""
PR_SET_PDEATHSIG = 1
"""Linux' name for what follows when the thread that started a process ends."""
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def child_environment(compilers: str = "1") -> dict[str, str]:
    """Return the environment of a child process: one thread per library, and this project importable from anywhere.

    Parameters
    ----------
    compilers : str
        How many processes it compiles kernels in: "1", or "" for a second one beside it, once, where that helps.
    """
    # PYTHONPATH rather than the working folder: -P below takes that folder from the path.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    # One run has one core: libraries that start a thread or a process a core would slow every other run.
    return os.environ | dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": path, "HETCORE_COMPILERS": compilers}


class Worker:
    """A process that does one run after another, and a new one whenever it has died.

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
        One of `PHASES`; "ready" is idle.
    job : Job or None
        The run that it has.
    held : list of str
        Digests of the data that it holds, those used last at the end.
    """

    def __init__(
        self, memory: int, modules: Sequence[str] = (), kernels: str = "all", niceness: int = NICENESS
    ) -> None:
        self._arguments = [str(memory), kernels, str(niceness), *modules]
        # Of several workers one has the core, before the others begin.
        self._compilers = os.environ.get("HETCORE_COMPILERS", "") if kernels == "core" else "1"
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
                [sys.executable, "-P", "-m", "studio.jobs.worker", str(theirs.fileno()), *self._arguments],
                env=child_environment(self._compilers),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,  # a worker has nobody to ask
                # Standard output is of whoever started the studio; prints of a worker go to where messages go.
                stdout=sys.__stderr__ and sys.__stderr__.fileno(),
                # A session of its own, so that Ctrl-C in the terminal reaches the studio, which ends its workers
                # itself.
                start_new_session=True,
            )
        self._connection, self.held = Connection(ours.detach()), []

    def warm_up(self, note: Callable[[str], None]) -> bool:
        """Start the process and tell its phases until it is warm; return whether it came so far."""
        note("starting")
        try:
            self.start()
            while self.phase != "ready":
                note(self.receive()[1])
            return True
        except GONE:
            # Its socket may end a moment before it does.
            self.kill()
            return False

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

    def rest(self, resting: bool) -> None:
        """Halt the process, or let it go on; only where the system ends a halted one with the studio."""
        if sys.platform == "linux" and self._process is not None:
            # Without effect on one that has ended.
            self._process.send_signal(signal.SIGSTOP if resting else signal.SIGCONT)

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


# The process ----------------------------------------------------------------------------------------------------------


class Server:
    """Answers the studio over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending = connection, threading.Lock()
        self._runs: queue.SimpleQueue[tuple[TrainingTask | FunctionTask, Player]] = queue.SimpleQueue()
        self._data: dict[str, Any] = {}
        self._player: Player | None = None

    def serve(self) -> None:
        """Do runs until the process ends."""
        while True:
            task, player = self._runs.get()
            self._send(self._outcome(task, player))
            # Without this the last task, and the data in it, would be held until the next run comes.
            del task, player

    def listen(self) -> None:
        """Take messages until the studio goes away, then end the process, whatever it is doing."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._take(*self._connection.recv())
        # Not sys.exit: this is not the main thread, and a fit in compiled code would not see it.
        os._exit(0)

    def _take(self, kind: str, *content: Any) -> None:
        if kind == "data":
            # Kept as bytes until a run asks: reading here would hold up the orders of the run that is going on.
            self._data[content[0]] = content[1]
        elif kind == "forget":
            self._data.pop(content[0], None)
        elif kind == "run":
            # Said before the work begins, so that the studio knows whether a process died with the run or before it.
            self._send(("taken", None))
            self._player = Player(self._send_timed, paused=content[1])
            self._runs.put((content[0], self._player))
        # An order may come when its run has just ended: the old player has nobody left to steer.
        elif kind == "order" and self._player is not None:
            self._player.order(content[0])

    def _outcome(self, task: TrainingTask | FunctionTask, player: Player) -> tuple[str, Any]:
        from studio.jobs.worker_tasks import perform

        try:
            return "done", perform(self._unpacked(task), player)
        except MemoryError:
            return "failed", "The training needs more memory than one run may have: use fewer rows, columns or rounds."
        except Exception as error:  # whatever a fit raises fails this run, in words, and nothing else
            return "failed", explained(error)

    def _unpacked(self, task: TrainingTask | FunctionTask) -> TrainingTask | FunctionTask:
        if isinstance(task, FunctionTask):
            kwargs = {name: self._resolved(value) for name, value in task.kwargs.items()}
            return dataclasses.replace(task, kwargs=kwargs)
        return dataclasses.replace(task, data=self._resolved(task.data))

    def _resolved(self, value: Any) -> Any:
        """Return the data that a reference stands for; they are unpickled once and stay for the next run."""
        if not isinstance(value, DataRef):
            return value
        held = self._data[value.digest]
        if isinstance(held, bytes):
            # Replaced in place: the bytes are let go as soon as the object is there.
            held = self._data[value.digest] = pickle.loads(held)  # noqa: S301 - from the studio that started it
        return held

    def _send_timed(self, message: tuple[str, Any]) -> None:
        """Send a message of a fit, with a round the seconds of processor so far: a busy machine adds none to these."""
        kind, event = message
        if kind == "round" and dataclasses.is_dataclass(event):
            event = dataclasses.replace(event, detail={**event.detail, "processor": time.process_time()})
        self._send((kind, event))

    def _send(self, message: tuple[str, Any]) -> None:
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:  # the studio went away
            os._exit(0)


def main(arguments: list[str]) -> None:
    """Serve the connection of file descriptor `arguments[0]` with `arguments[1]` bytes at niceness `arguments[3]`."""
    connection = Connection(int(arguments[0]))
    _be_modest(int(arguments[1]), int(arguments[3]))
    # Of trainings none is ever halted.
    if int(arguments[3]) > NICENESS:
        _end_with_studio()
    server = Server(connection)
    # Before the warm-up, so that a worker that is compiling ends too when the studio goes away.
    threading.Thread(target=server.listen, name="studio-orders", daemon=True).start()
    connection.send(("phase", "compiling"))
    _warm_up(arguments[2], arguments[4:])
    _recall(int(arguments[1]))
    connection.send(("phase", "ready"))
    server.serve()


def _end_with_studio() -> None:
    """End when the studio is killed, even if halted then: a halted process reads no socket."""
    with contextlib.suppress(AttributeError, OSError):  # another system, on which `Worker.rest` halts nothing
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _be_modest(memory: int, niceness: int) -> None:
    # Before the library is loaded, for its import is the first long work that could slow the pages.
    os.nice(niceness)
    # Linux shares processors among sessions first, and the niceness of a process counts within its own alone, which
    # this worker has for itself. Elsewhere there is no such file, or nobody may write to it.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(niceness))
    # Windows has no such limit; there only the estimate before the training guards the memory.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _recall(memory: int) -> None:
    """Let trainings use what earlier ones left: a few with other settings on the same data are most of a session."""
    # A share of the limit, so that what is remembered never crowds out the training itself.
    importlib.import_module("hetcore.consensus.recall").MEMORY.give_room(min(RECALLED, memory // 16))


def _warm_up(kernels: str, modules: list[str]) -> None:
    # By name and not at the top of the file: "compiling" must be said before these are imported.
    if kernels == "core":
        importlib.import_module("hetcore.kernels.threads").prepare_early()
    for module in ("polars", "hetcore", "studio.jobs.worker_tasks", *modules):
        importlib.import_module(module)
    if kernels != "none":
        importlib.import_module("hetcore.kernels").warm_up(part=kernels)


if __name__ == "__main__":
    main(sys.argv[1:])
