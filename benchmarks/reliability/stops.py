"""How long a training goes on after it was ordered to stop, without beginning it anew for each stop.

    python -m benchmarks.reliability.load --only stop

A training of 20,000 customers with 90 graphs takes a quarter of a minute before its first round, and a third of that
after its last one. So the process that trains is copied (fork) between two rounds, 5 times after each of the rounds 2
to 6: each copy goes on, is ordered to stop at another moment of its next round, and ends where its predictions would
begin. The last stop is of the training itself, until its model and predictions are there.

The task, the player and the fit are those of the studio's worker; not in the time is the order's way through the
manager and a socket, a millisecond or two.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

__all__ = ["TASKS", "Stops", "measured"]

TASKS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "Consensus, digits_views": ("GBCClassifier", "digits_views", {"n_iterations": 1000}, {}),
    "Consensus, customers": ("GBCClassifier", "customers", {"n_iterations": 1000}, {}),
    "HGBM, digits_views": (
        "HGBMClassifier",
        "digits_views",
        {"n_iterations": 1000, "patience": None},
        {"form": "table"},
    ),
}
ROUNDS = range(2, 7)
"""After which of them the process is copied."""
MOMENTS = (0.02, 0.25, 0.5, 0.75, 0.95)
"""Of the next round, at which its copies are ordered to stop."""
PATIENCE = 60
"""Seconds after which a copy that does not end is ended."""


class Stops(NamedTuple):
    """Seconds from the order to the end of the rounds, of each copy, and to predictions and model, of the training."""

    rounds: list[float]
    all: float


class Copies:
    """Where a training sends its messages to: a place to copy the process after some rounds."""

    def __init__(self) -> None:
        self.player: Any = None
        self.found: list[float] = []
        self.ordered = 0.0
        self._round, self._last, self._pipe = 0, time.perf_counter(), -1

    def send(self, message: tuple[str, Any]) -> None:
        """Take a message of the training."""
        if message[0] == "predicting" and self._pipe >= 0:
            os.write(self._pipe, json.dumps(time.perf_counter() - self.ordered).encode())
            # not by an exception: nothing of the fit is to go on in the copy
            os._exit(0)
        if message[0] != "round" or self._pipe >= 0:
            return
        self._round += 1
        took = time.perf_counter() - self._last
        for moment in MOMENTS if self._round in ROUNDS else ():
            self._copy(moment * took)
            if self._pipe >= 0:
                return
        self._last = time.perf_counter()
        if self._round >= ROUNDS[-1]:
            self.stop()

    def stop(self) -> None:
        """Order the training to stop, and note when."""
        self.ordered = time.perf_counter()
        self.player.order("stop")

    def _copy(self, delay: float) -> None:
        reading, writing = os.pipe()
        if os.fork() == 0:
            self._pipe = writing
            # the default of this signal ends the copy: a lock that another thread held is held for ever in a copy
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            threading.Timer(delay, self.stop).start()
            return
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            content = answer.read()
        os.wait()
        if not content:
            raise SystemExit("A copy of the training did not end: copies need a processor that is not too busy.")
        self.found.append(json.loads(content))


def measured(kind: str) -> Stops:
    """Stop a training, in a process of its own with one thread a library, as the studio's workers have."""
    from studio.jobs.worker import child_environment

    command = [sys.executable, "-m", "benchmarks.reliability.stops", kind]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr.strip()[-500:])
    return Stops(*json.loads(done.stdout.splitlines()[-1]))


def _alone(kind: str) -> None:
    import datasets
    from hetcore.player import Player
    from studio.jobs.job import TrainingTask
    from studio.jobs.worker_tasks import perform

    estimator, name, params, form = TASKS[kind]
    copies = Copies()
    copies.player = Player(copies.send)
    perform(TrainingTask(estimator, params, datasets.load(name), form=form), copies.player)
    print(json.dumps([copies.found, time.perf_counter() - copies.ordered]))


def main() -> None:
    """Train and stop a kind in this process, and print what `measured` reads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=TASKS)
    _alone(parser.parse_args().kind)


if __name__ == "__main__":
    main()
