"""Processes killed in the middle of storing a run and of training, and a studio killed and started again.

    python -m benchmarks.reliability.kills [--kills 2000] [--trainings 20] [--restarts 5]

Prints what was lost, torn or different (nothing should be), and how long the studio took to answer again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import datasets
from benchmarks.reliability.load_session import Visitor
from benchmarks.reliability.load_studio import ROOT, Server
from studio import limits
from studio.jobs import manager as jobs

TASK = ("GBCRegressor", {"n_iterations": 20}, "planted")


def stored(kills: int) -> None:
    """Kill writers of runs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.jobs.kills", folder, str(kills), "1"]
        report = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    faults = report.pop("faults")
    print(f"storing: {report}; lost or torn: {len(faults)} {faults[:3]}", flush=True)


def trained(kills: int) -> None:
    """Kill workers at random moments of a training; train again and compare to the bit."""
    manager, rng = jobs.Manager(limits.JOBS._replace(workers=1), compiled=False), random.Random(1)  # noqa: S311
    try:
        estimator, params, name = TASK
        task = jobs.TrainingTask(estimator, params, datasets.load(name))
        # Its length is the range of the moments at which a worker is killed.
        whole, seconds = finished(manager, task)
        # A kill must say what happened, and leave nothing that changes the next training.
        different = unsaid = 0
        for _ in range(kills):
            unsaid += not killed(manager, task, rng.uniform(0.0, seconds))
            different += finished(manager, task)[0].model != whole.model
    finally:
        manager.close()
    print(f"training: {kills} kills, {unsaid} without a sentence, {different} different when trained again", flush=True)


def finished(manager: jobs.Manager, task: jobs.TrainingTask) -> tuple[jobs.RunResult, float]:
    """Train; return the result and the seconds that it took."""
    run = manager.submit(task)
    status = manager.wait(run, timeout=600.0)
    return manager.result(run), status.seconds


def killed(manager: jobs.Manager, task: jobs.TrainingTask, after: float) -> bool:
    """Kill the worker so many seconds into a training; return whether the run says what happened, or had ended."""
    run = manager.submit(task)
    manager.wait(run, ("running",))
    threading.Event().wait(after)
    # Not to be caught, as when the system runs out of memory.
    os.kill(manager.workers[0].pid, signal.SIGKILL)
    status = manager.wait(run)
    # A run that had ended before the kill has nothing to say.
    return status.state == "finished" or (status.state == "failed" and bool(status.message))


def restarted(count: int) -> None:
    """Kill a studio in which somebody trains, and start it again; its runs are there."""
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            with Server(Path(folder)) as server:
                asyncio.run(_train(server.url))
                # In the middle of a training: at rest there is nothing to lose.
                server.kill()
            started = time.perf_counter()
            with Server(Path(folder)) as server:
                asyncio.run(_look(server.url))
                seconds.append(time.perf_counter() - started)
    print(f"studio: killed {count} times in a training; first page after {statistics.median(seconds):.1f} s (median), "
          f"{max(seconds):.1f} s (worst), start of Python with it")  # fmt: skip


async def _train(url: str) -> None:
    async with Visitor(url) as visitor:
        await visitor.open("Consensus", rounds=200)
        await visitor.press("Train")


async def _look(url: str) -> None:
    async with Visitor(url) as visitor:
        await visitor.open("")
        if visitor.errors or not visitor.can_press("Train"):
            raise SystemExit(f"The first page did not come back: {visitor.errors}")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--trainings", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=5)
    given = parser.parse_args()
    stored(given.kills)
    trained(given.trainings)
    restarted(given.restarts)


if __name__ == "__main__":
    main()
