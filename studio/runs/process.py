"""Which process trains a run, and whether it still lives: who finds a run that never ended can say so."""

from __future__ import annotations

import os
import socket

import psutil

__all__ = ["here", "is_alive"]


def here() -> str:
    """Return a name of this process that no other has: machine, number and start."""
    # The start time too, for the system gives numbers of ended processes to new ones.
    return f"{socket.gethostname()} {os.getpid()} {psutil.Process().create_time():.2f}"


def is_alive(process: str) -> bool:
    """Tell whether a process lives; one of another machine may, one without a name does not."""
    try:
        host, number, started = process.rsplit(" ", 2)
        # Nothing can be known of another machine; a run that may live is not called interrupted.
        if host != socket.gethostname():
            return True
        # The time was rounded when it was written.
        return abs(psutil.Process(int(number)).create_time() - float(started)) < 0.05
    except (ValueError, psutil.Error):
        return False
