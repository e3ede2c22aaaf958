"""Parsing in processes of their own: a small server that has the readers loaded forks one child for each file.

A parser that dies, hangs or wants too much memory ends its child and nothing else. Files travel by socket, never by
disk; what comes back is JSON and Arrow, never a pickle. The server is `python -m studio.readers.sandbox FD MEMORY
SECONDS`, started by exec: it forks one child for each connection that it is handed, and nothing in it may start a
thread before the fork; a child has its memory, its seconds and no second task.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from hetcore.errors import DataError
from studio.jobs.worker import child_environment
from studio.limits import UPLOADS, UploadLimits
from studio.messages import one_sentence

__all__ = ["Reply", "Sandbox", "main", "shared"]

_log = logging.getLogger(__name__)
# The longest message that Connection reads in one go.
_ANSWER_BYTES = 2**31 - 1
# The child's own timer ends it first; this is for one that does not answer at all.
_SLACK_SECONDS = 5.0


class Reply(NamedTuple):
    """What a child answered: JSON-able words, and Arrow streams."""

    answer: dict[str, Any]
    blocks: list[bytes]


class Sandbox:
    """A fork server and the way to it; safe to use from several threads, which wait for their turn.

    Parameters
    ----------
    limits : UploadLimits
        Memory and seconds of one child, and how many at once.
    """

    def __init__(self, limits: UploadLimits = UPLOADS) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        # Turns are waited for, so that ten uploads at once do not take ten times the memory of a reader.
        self._turns = threading.BoundedSemaphore(limits.parsers_at_once)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def ask(self, name: str, request: Mapping[str, Any], content: bytes) -> Reply:
        """Have a child read a file.

        Parameters
        ----------
        name : str
            How the file is called, for the sentence when the child dies.
        request : mapping
            JSON-able keyword arguments of `studio.readers.parsing.parse`.
        content : bytes
            The file.

        Raises
        ------
        DataError
            With the child's sentence, or one on its death.
        """
        with self._turns:
            began = time.monotonic()
            connection = self._child()
            try:
                return self._talk(connection, request, content)
            except (EOFError, OSError):
                raise DataError(self._crash_message(name, time.monotonic() - began)) from None
            finally:
                # Closed in every case: the child that still writes then ends by itself.
                connection.close()

    def start(self) -> None:
        """Start the server if it is not running, so that the first file need not wait for it."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()

    def close(self) -> None:
        """End the server."""
        with self._lock:
            if self._process is not None:
                self._control.close()
                # Killed and not asked: it holds nothing that would have to be saved.
                self._process.kill()
                self._process.wait()
                self._process = self._control = None

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        # A Unix socket, for only such a one can carry descriptors.
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            limits = [str(theirs.fileno()), str(self._limits.parser_memory), str(self._limits.parser_seconds)]
            self._process = subprocess.Popen(  # noqa: S603 - our own module and numbers
                [sys.executable, "-P", "-m", "studio.readers.sandbox", *limits],
                env=child_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Not ended by Ctrl-C in the terminal, but by the end of its socket.
                start_new_session=True,
            )

    def _child(self) -> Connection:
        """Return the connection to a new child."""
        self.start()
        # A socket of its own for each file, so that no answer can be taken for that of another.
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            # The server had died since it was last asked; one new start is tried.
            except OSError:
                self._start()
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
        return Connection(ours.detach())

    def _talk(self, connection: Connection, request: Mapping[str, Any], content: bytes) -> Reply:
        connection.send_bytes(json.dumps(request).encode())
        connection.send_bytes(content)
        if not connection.poll(self._limits.parser_seconds + _SLACK_SECONDS):
            raise EOFError
        answer = json.loads(connection.recv_bytes(_ANSWER_BYTES))
        if "error" in answer:
            raise DataError(answer["error"])
        return Reply(answer, [connection.recv_bytes(_ANSWER_BYTES) for _ in range(answer["blocks"])])

    def _crash_message(self, name: str, seconds: float) -> str:
        # Whether the server or only the child is gone makes another sentence: the one is ours, the other the file's.
        if self._process is None or self._process.poll() is not None:
            _log.error(
                "The server of the upload sandbox ended with status %s.", self._process and self._process.returncode
            )
            return (
                f"{name} could not be read, for the reader of uploads does not run: try again, or restart the studio."
            )
        # By the clock, for a killed child leaves no reason.
        if seconds >= self._limits.parser_seconds:
            limit = f"{self._limits.parser_seconds:.0f} seconds"
            return f"{name} takes longer than {limit} to read: split it, or save it as Parquet."
        return (
            f"{name} is damaged, or needs too much memory to read: open it in its own program and save it anew as CSV."
        )


_shared = Sandbox()
atexit.register(_shared.close)


def shared() -> Sandbox:
    """Return the sandbox of this process."""
    return _shared


# The server -----------------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Fork a child for each descriptor that arrives, until the studio goes away."""
    # Not at the top: the studio itself never parses. Before the first fork: no child has to load the readers again.
    importlib.import_module("studio.readers.parsing")
    control = socket.socket(fileno=int(arguments[0]))
    memory, seconds = int(arguments[1]), float(arguments[2])
    # Children are nobody's to wait for, and the system then removes them by itself.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            # Or the studio's end would not be seen while a child still holds the descriptor.
            control.close()
            _be_limited(memory, seconds)
            _answer(Connection(descriptors[0]))
        # The child has it; here it would keep the connection open after the child's end.
        os.close(descriptors[0])


def _be_limited(memory: int, seconds: float) -> None:
    """Let this child be ended by the system once it takes too long, and refused memory beyond its share."""
    # A library that starts a process of its own needs to see it end.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Real time, for a reader that waits uses none of its own; the default of the alarm ends the process, whatever it
    # does.
    signal.setitimer(signal.ITIMER_REAL, seconds)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        # No core file: it would hold what somebody uploaded.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _answer(connection: Connection) -> None:
    """Read one request and its file, send the answer, and end this child whatever happens."""
    try:
        request = json.loads(connection.recv_bytes())
        answer, blocks = _outcome(request, connection.recv_bytes())
        connection.send_bytes(json.dumps(answer | {"blocks": len(blocks)}).encode())
        for block in blocks:
            connection.send_bytes(block)
    finally:
        # _exit, for what follows in this copy of the server is the server's, not the child's.
        os._exit(0)


def _outcome(request: dict, content: bytes) -> tuple[dict, list[bytes]]:
    from studio.readers import parsing

    try:
        return parsing.parse(content=content, **request)
    except BaseException as error:  # noqa: B036 - a panic of polars is no Exception; this child ends either way
        return {"error": one_sentence(parsing.why_not(request["name"], error))}, []


if __name__ == "__main__":
    main(sys.argv[1:])
