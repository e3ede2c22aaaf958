"""Fits with the records dealt out over workers: seconds and bytes of a round over rows and workers.

    python -m benchmarks.speed.row_shards
    python -m benchmarks.speed.row_shards --sizes 1000000 4000000 20000000 --workers 4 --no-compare
    python -m benchmarks.speed.row_shards --method default

Tables of numbers by path, each about 80% of the instances, one instance in ten labelled, in a LocalCluster of processes
of one thread each; each worker has one range of instances. Seconds are the processor's, of the fit's process and of the
busiest worker, so that they mean something where cores are shared: up to the end of the first round, which has what is
done once (two readings of the files, thresholds, bins), and the median of the other rounds. Bytes are those of the
arrays that are sent and received in a round, in brackets over those of the formulas of docs/scale.md; of the default
these are the most that there can be, for a node of few rows fills few bins. "memory" is the most that a worker had
resident. The model file is compared with that of a fit in one process, whose line has no workers. Slopes are of the
logarithms of the busiest worker's seconds over the sizes.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from distributed import Client, LocalCluster

import hetcore as hc
from benchmarks.speed.distributed_bytes import mb, row
from benchmarks.speed.scan import opened, resident, write
from hetcore import distributed, model_files
from hetcore.consensus.boosting import PULLED
from hetcore.consensus.neighbor_columns import folds_for
from hetcore.consensus.view_learners import TREES

ROUNDS, TABLES, COLUMNS, BINS, DEPTH = 5, 2, 20, 64, 3
VIEW_BINS, VIEW_DEPTH = 255, 5
BIN_BYTES = 8.0 + 1 / 8  # a word, and a bit that tells whether there is one
METHODS: dict[str, dict[str, Any]] = {
    "printed": {"as_printed": True, "max_depth": DEPTH, "lambda0": 0.1, "lambda1": 0.0},
    "default": {"join_tables": False, "base_learner": "tree", "max_depth": VIEW_DEPTH},
}
SIZES, WORKERS = (250_000, 500_000, 1_000_000), (1, 2, 4)
GIGABIT = 10.0  # of a process' link, in the projection
COLUMN_NAMES = [
    "instances", "workers", "first round: fit, worker, s", "a round: fit, worker, s", "sent, MB", "received, MB",
    "histograms, MB", "once, MB", "memory, GiB", "model file",
]  # fmt: skip
QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "threads_per_worker": 1}


class Task(NamedTuple):
    """What the bytes of a round depend on: instances, tables, columns, scores, ranges."""

    n: int
    tables: int
    columns: int
    K: int
    ranges: int

    @property
    def sent(self) -> float:
        """E of each range for what tables say alone and for the next step, and who is left out."""
        return self.n * (8.0 * self.K + 1.0)

    @property
    def histograms(self) -> float:
        """Of the root and of one child of each split node but those of the last level, if all bins are filled."""
        return BIN_BYTES * self.ranges * self.tables * self.K * 2 ** (DEPTH - 1) * self.columns * (BINS + 1)

    @property
    def received(self) -> float:
        """The sum over the tables of each range, and histograms."""
        return 8.0 * self.n * self.K + self.histograms


class ViewTask(NamedTuple):
    """What the bytes of the default's rounds depend on, of one output that is a number.

    Records of all tables, how many of them are labelled and pulled, members, tables, columns, ranges.
    """

    records: int
    labelled: int
    pulled: int
    members: int
    tables: int
    columns: int
    ranges: int

    @classmethod
    def of(cls, data: hc.HetData, columns: int, ranges: int) -> ViewTask:
        """Return the task of some data."""
        known, records = int(data.labelled.sum()), [data.rows(name) for name in data.source_names]
        labelled, n = sum(int(data.labelled[rows].sum()) for rows in records), sum(map(len, records))
        share = min(data.n - known, max(PULLED, known // 2)) / (data.n - known)
        counts = {"members": folds_for(known), "tables": len(records), "columns": columns, "ranges": ranges}
        return cls(n, labelled, round(share * (n - labelled)), **counts)

    @property
    def sent(self) -> float:
        """What the members are pulled to, and trees, whose nodes and values have 32 bytes."""
        return 8.0 * self.members * self.pulled + 32.0 * self.trees * (2 ** (VIEW_DEPTH + 1) - 1)

    @property
    def trees(self) -> int:
        """How many are grown in a round, once for each range."""
        return self.ranges * self.tables * TREES * self.members

    @property
    def histograms(self) -> float:
        """Of five trees a member and table: of the root and of one child of each split node, if all bins are filled."""
        bins = self.columns * (VIEW_BINS + 1)
        return self.trees * 2 ** (VIEW_DEPTH - 1) * bins * BIN_BYTES

    @property
    def received(self) -> float:
        """What members say of pulled rows, labelled rows as left out, all rows where a view is better; histograms."""
        return 8.0 * (self.members * self.pulled + self.labelled + self.records) + self.histograms


class Watch:
    """A callback that notes the processor's seconds of this process and of the workers after each round.

    Parameters
    ----------
    pids : sequence of int
        Of the workers.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._processes = [psutil.Process(), *map(psutil.Process, pids)]
        self._seconds = [self._now()]

    def __call__(self, event: Any) -> None:
        self._seconds.append(self._now())

    def _now(self) -> list[float]:
        return [sum(process.cpu_times()[:2]) for process in self._processes]

    def rounds(self) -> tuple[list[float], list[float]]:
        """Return the seconds of the first round and of another one: of this process, and of the busiest worker."""
        each = np.diff(self._seconds, axis=0)
        found = np.array([each[0], np.median(each[1:], axis=0)])
        return found[:, 0].tolist(), found[:, 1:].max(axis=1, initial=0.0).tolist()


def model(method: str) -> Any:
    return hc.GBCRegressor(n_iterations=ROUNDS, schedule="parallel", random_state=0, **METHODS[method])


def line(data: Any, client: Client, given: argparse.Namespace, here: Any) -> tuple[list[str], float]:
    """Return the cells of one size and number of workers, and the busiest worker's seconds of a round."""
    pids = list(client.run(os.getpid).values())
    watch, workers = Watch(pids), len(pids)
    fitted = distributed.fit(model(given.method), data, client, [watch], shard_rows=-(-data.n // workers))
    if given.method == "printed":
        task: Any = Task(data.n, len(data.sources), given.columns, 1, ranges=workers)
    else:
        task = ViewTask.of(data, given.columns, workers)
    own, busiest = watch.rounds()
    cells = [f"{data.n:,}", str(workers), *(f"{a:.2f}, {b:.2f}" for a, b in zip(own, busiest))]
    for name, expected in (("sent", task.sent), ("received", task.received)):
        middle = float(np.median(fitted.history_[f"bytes:{name}"].to_numpy()[1:]))
        cells.append(f"{mb(middle)} ({middle / expected:.2f})")
    cells.append(mb(task.histograms))
    cells.append(mb(float(fitted.history_["bytes:loaded"].sum() + fitted.history_["bytes:received"][0])))
    cells.append(f"{max(client.run(resident).values()):.2f}")
    if here is None:
        return [*cells, ""], busiest[1]
    same = model_files.dumps(fitted) == model_files.dumps(here)
    return [*cells, "the same" if same else "NOT the same"], busiest[1]


def slopes(found: dict[tuple[int, int], float], sizes: Sequence[int]) -> list[str]:
    """Return for each number of workers how the seconds of a round grow with the rows."""
    lines = []
    for workers in sorted({each for _, each in found}):
        seconds = [found[n, workers] for n in sizes]
        # one size has no slope
        slope = f"slope {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}, " if len(sizes) > 1 else ""
        per = 1e9 * seconds[-1] / sizes[-1]
        lines.append(f"{workers} workers: {slope}{per:,.0f} ns an instance at the largest size")
    return lines


def projection(columns: int) -> list[str]:
    """Return the table of what 1,000 sources on some workers would move, and how long the fit's link would be busy."""
    lines = [row(["instances", "workers", "K", "E to and from", "histograms", f"seconds at {GIGABIT:.0f} Gbit/s"])]
    lines.append(row(["---"] * 6))
    for n, workers, K in ((10**8, 100, 1), (10**9, 100, 1), (10**9, 1000, 1), (10**9, 1000, 10)):
        task = Task(n, 1000, columns, K, ranges=workers)
        seconds = 8 * (task.sent + task.received) / (GIGABIT * 1e9)
        moved = task.sent + task.received - task.histograms
        size = [f"{each / 1e9:,.0f} GB" for each in (moved, task.histograms)]
        lines.append(row([f"{n:,}", f"{workers:,}", str(K), *size, f"{seconds:,.0f}"]))
    return lines


def _print_size(n: int, given: argparse.Namespace, found: dict[tuple[int, int], float]) -> None:
    """Make the data of one size, fit, and print a line for each number of workers."""
    with tempfile.TemporaryDirectory(prefix="hetcore-shards-") as name:
        write(Path(name), n, tables=given.tables, width=given.columns)
        data = opened(Path(name), "path")
        here, watch = None, Watch([])
        if not given.no_compare:
            here = model(given.method).fit(data, callbacks=[watch])
            (first, found[n, 0]), _ = watch.rounds()
            print(row([f"{data.n:,}", "0", f"{first:.2f}", f"{found[n, 0]:.2f}", *[""] * 6]), flush=True)
        for workers in given.workers:
            with LocalCluster(n_workers=workers, **QUIET) as cluster, Client(cluster, direct_to_workers=True) as client:
                # one that comes late would get nothing
                client.wait_for_workers(workers)
                cells, found[n, workers] = line(data, client, given, here)
                print(row(cells), flush=True)


def main() -> None:
    """Print both tables, and the slopes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="instances")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--columns", type=int, default=COLUMNS, help="of each table")
    parser.add_argument("--method", choices=METHODS, default="printed")
    parser.add_argument("--no-compare", action="store_true", help="leave out the fit in one process")
    given = parser.parse_args()
    print(f"{platform.machine()}, {psutil.cpu_count()} cores; {given.tables} tables of {given.columns} numbers\n")
    print(row(COLUMN_NAMES))
    print(row(["---"] * 10))
    found: dict[tuple[int, int], float] = {}
    for n in given.sizes:
        _print_size(n, given, found)
    print("\n" + "\n".join(slopes(found, given.sizes)) + "\n")
    if given.method == "printed":
        print("\n".join(projection(10)))


if __name__ == "__main__":
    main()
