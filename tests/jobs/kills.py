"""A process that stores runs is killed in the middle, over and over; after each kill another one looks at what is left.

    python -m tests.jobs.kills FOLDER COUNT SEED    one JSON line: kills, acknowledged, unacknowledged, faults, slowest

A small process forks a writer for each kill and has no thread and no open database itself. The writer says when a run
is about to be stored and when it has been; the kill comes a random part of that time after the word, so that kills fall
evenly on opening the database, writing, syncing and between.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from studio.runs.run import Run, sha256
from studio.runs.store import RunStore

__all__ = ["kills"]

OWNER = "anna"
MODEL = b"model" * 20_000
RUNS_BEFORE_KILL = 3


def kills(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Kill writers; return what came of it: how often, how many runs were acknowledged, what was found wrong."""
    rng, acknowledged, faults, slowest = random.Random(seed), [], [], 0.0  # noqa: S311 - the moments of kills
    stored = 0
    for _ in range(count):
        acknowledged += killed_writer(folder, rng)
        started = time.perf_counter()
        found = written(lambda write, sure=acknowledged: write(json.dumps(looked(folder, sure)) + "\n"))
        slowest = max(slowest, time.perf_counter() - started)
        output = json.loads(found) if found else {"faults": ["the look at the database died"], "runs": 0}
        faults += output["faults"]
        stored = output["runs"]
    return {
        "kills": count, "acknowledged": len(acknowledged), "unacknowledged": stored - len(acknowledged),
        "faults": faults, "slowest": round(slowest, 3),
    }  # fmt: skip


def killed_writer(folder: Path, rng: random.Random) -> list[str]:
    """Let a writer store runs, kill it in the middle of one, return the ids that it was sure of."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        forever(folder, lambda words: os.write(writing, words.encode()))
    os.close(writing)
    sure, before = [], rng.randrange(RUNS_BEFORE_KILL)
    share, usual = rng.random(), 0.02
    with os.fdopen(reading) as output:
        for line in output:
            if line.startswith("begins"):
                began = time.perf_counter()
                if len(sure) == before:
                    spin(share * usual)
                    os.kill(pid, signal.SIGKILL)
            elif line.endswith("\n"):
                sure.append(line.strip())
                usual = time.perf_counter() - began
    os.waitpid(pid, 0)
    return sure


def spin(seconds: float) -> None:
    """Wait that long, to the microsecond."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def forever(folder: Path, say: Callable[[str], object]) -> None:
    """Open the store and store runs, saying when one begins and which has been stored; never return."""
    say("begins\n")
    store = RunStore(folder=folder)
    while True:
        say("begins\n")
        say(store.add(Run(OWNER, "Consensus", "GBCClassifier", "digits"), model=MODEL) + "\n")


def written(do: Callable[[Callable[[str], object]], None]) -> str:
    """Do something in a forked process; return what it wrote."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            do(lambda words: os.write(writing, words.encode()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as output:
        words = output.read()
    os.waitpid(pid, 0)
    return words


def looked(folder: Path, acknowledged: list[str]) -> dict[str, object]:
    """Open what a killed process left; return the number of runs and what is wrong with them."""
    store = RunStore(folder=folder)
    faults = [store.warning] if store.warning else []
    runs = store.list(OWNER)
    faults += [f"lost: {run_id}" for run_id in set(acknowledged) - {run.id for run in runs}]
    for run in runs[:5]:
        if sha256(store.model(OWNER, run.id) or b"") != sha256(MODEL):
            faults.append(f"torn: {run.id}")
    engine = store._database._engine
    with engine.connect() as connection:
        orphans = "SELECT count(*) FROM blobs WHERE run NOT IN (SELECT id FROM runs)"
        faults += ["a block without its run"] * connection.execute(sa.text(orphans)).scalar()
    store.close()
    return {"runs": len(runs), "faults": faults}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))) + "\n")
