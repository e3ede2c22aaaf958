"""The fork server of the sandbox: `python -m studio.readers.sandbox_server FD MEMORY SECONDS`.

It loads the readers, then forks one child for each connection that it is handed. Nothing here may start a thread before
the fork; a child has its memory, its seconds and no second task.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection

from studio.messages import one_sentence
from studio.readers import parsing

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Fork a child for each descriptor that arrives, until the studio goes away."""
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
    try:
        return parsing.parse(content=content, **request)
    except BaseException as error:  # noqa: B036 - a panic of polars is no Exception; this child ends either way
        return {"error": one_sentence(parsing.why_not(request["name"], error))}, []


if __name__ == "__main__":
    main(sys.argv[1:])
