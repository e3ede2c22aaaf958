"""Every limit of the studio, in one place."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import psutil

from hetcore.errors import ParameterError

__all__ = [
    "GIB", "JOBS", "MIB", "RECALLED", "SHARED_BYTES", "THREADS", "UPLOADS", "JobLimits", "UploadLimits",
    "from_environment",
]  # fmt: skip

MIB = 2**20
GIB = 2**30
RECALLED = 768 << 20
"""Bytes at most that trainings leave in a worker to later ones; one of the opening data leaves 256 MiB."""

THREADS = min(os.cpu_count() or 1, 4)
"""Of a training whose method can use several."""

SHARED_BYTES = 20 * GIB
"""Of the tables that are written for a cluster's workers (`studio.jobs.shared_tables`)."""


class UploadLimits(NamedTuple):
    """What an upload may have and what reading it may cost.

    `session_bytes` and `server_bytes` are for all files, `kept_bytes` for those that are kept on disk for one owner.
    """

    file_bytes: int = 50 * MIB
    # Of all files of a session, for any number of files may be sent up.
    session_bytes: int = 200 * MIB
    server_bytes: int = 2 * GIB
    kept_bytes: int = 500 * MIB
    rows: int = 2_000_000
    columns: int = 20_000
    cells: int = 50_000_000
    text_cells: int = 25_000_000
    edges: int = 5_000_000
    line_bytes: int = 16 * MIB
    header_characters: int = 1_000
    unpacked_bytes: int = 200 * MIB
    unpacked_ratio: int = 200
    archive_members: int = 10_000
    image_pixels: int = 16_000_000
    xml_token_bytes: int = 64 * 1024
    nesting: int = 64
    # A parser has its file, what it unpacks to and the frame that goes back.
    parser_memory: int = 3 * GIB
    parser_seconds: float = 20.0
    # Two, so that one large file does not hold up everybody's small ones.
    parsers_at_once: int = 2


class JobLimits(NamedTuple):
    """What training may take.

    Attributes
    ----------
    workers : int
        Trainings at once.
    memory : int
        Bytes of address space of one worker process.
    waiting : int
        Unfinished runs of one owner.
    idle_seconds : float
        A run that nobody has polled for so long stops.
    away_seconds : float
        The same of a run that gives way, once others wait.
    kept_seconds, kept_runs, kept_bytes : float, int, int
        An ended run is forgotten when nobody has polled it for so long, or when so many others, or results of so many
        bytes, have been polled since. What is stored on the Runs page stays.
    stop_grace : float
        Seconds that a stopped run has to end its round, beyond the time of three, before its process is killed.
    datasets : int
        Data sets that a worker keeps for the next run.
    """

    workers: int
    memory: int
    waiting: int = 20
    idle_seconds: float = 600.0
    away_seconds: float = 5.0
    kept_seconds: float = 3600.0
    kept_runs: int = 64
    kept_bytes: int = GIB
    stop_grace: float = 3.0
    datasets: int = 3


def from_environment() -> JobLimits:
    """Return the limits of this machine; HETCORE_WORKERS, HETCORE_WORKER_GIB and HETCORE_IDLE_MINUTES override them.

    Raises
    ------
    ParameterError
        If one of them is no number.
    """
    # At most four: a studio is for a few people, and each worker holds its own copies of data.
    workers = int(_number("HETCORE_WORKERS")) or min(os.cpu_count() or 1, 4)
    # Four fifths of the machine between the workers, and at least 4 GiB, of which loaded libraries take about half.
    share = max(4 * GIB, int(psutil.virtual_memory().total * 0.8 / workers))
    memory = int(_number("HETCORE_WORKER_GIB") * GIB) or share
    return JobLimits(workers, memory, idle_seconds=60 * (_number("HETCORE_IDLE_MINUTES") or 10))


def _number(name: str) -> float:
    """Return the number in an environment variable, 0 if it is not set."""
    # A setting that is there and empty counts as not set.
    value = os.environ.get(name) or "0"
    # Read strictly, for "-1" or "4GB" would otherwise be a limit that nobody meant.
    if not re.fullmatch(r"\d+(\.\d*)?", value):
        raise ParameterError(f"{name}={value!r} must be a number of at least 0: correct the environment variable.")
    return float(value)


UPLOADS = UploadLimits()
JOBS = from_environment()
