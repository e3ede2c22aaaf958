"""Fits as printed with the records dealt out over workers: seconds and bytes of a round over rows and workers.

    python -m benchmarks.speed.row_shards
    python -m benchmarks.speed.row_shards --sizes 1000000 4000000 20000000 --workers 4 --no-compare

Tables of numbers by path, each about 80% of the instances, one instance in ten labelled, in a LocalCluster of processes
of one thread; each worker has one range of instances. Seconds are the median of the rounds after the first, which has
what is done once: two readings of the files, thresholds, bins. Bytes are those of the arrays that are sent and
received, in brackets over those of the formulas of docs/scale.md. "memory" is the most that a worker had resident. The
model file is compared with that of a fit in one process. The slope is that of the logarithms over the sizes.
"""

from __future__ import annotations

import argparse
import logging
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import psutil
from distributed import Client, LocalCluster

import hetcore as hc
from benchmarks.speed.scan import COVERED, PER_FILE, opened, resident
from hetcore import distributed, model_files

ROUNDS, TABLES, COLUMNS, BINS, DEPTH = 5, 2, 20, 64, 3
SIZES, WORKERS = (250_000, 500_000, 1_000_000), (1, 2, 4)
GIGABIT = 10.0  # of a process' link, in the projection
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
        """E of each range for the step and for what tables say alone, and who is left out."""
        return self.n * (16.0 * self.K + 1.0)

    @property
    def histograms(self) -> float:
        """Of the root and of one child of each split node but those of the last level, whose children are leaves."""
        return 8.0 * self.ranges * self.tables * self.K * 2 ** (DEPTH - 1) * self.columns * (BINS + 1)

    @property
    def received(self) -> float:
        """The sum over the tables of each range, and histograms."""
        return 8.0 * self.n * self.K + self.histograms


def make(folder: Path, n: int, tables: int, width: int) -> None:
    """Write tables of so many columns, a file at a time."""
    for table in range(tables):
        (folder / f"table {table}").mkdir()
        for number, start in enumerate(range(0, n, PER_FILE)):
            rng = np.random.default_rng([table, number])
            ids = start + np.flatnonzero(rng.random(min(PER_FILE, n - start)) < COVERED)
            columns = {f"x{j}": rng.normal(size=ids.size) + (ids % 7) * (j == 0) for j in range(width)}
            made = pl.DataFrame({"id": ids} | columns).with_columns(pl.col("id").cast(pl.String))
            made.write_parquet(folder / f"table {table}" / f"{number:05}.parquet", compression="lz4")
    labels = np.arange(0, n, 10)
    made = pl.DataFrame({"id": labels, "y": (labels % 7).astype(float)}).with_columns(pl.col("id").cast(pl.String))
    made.write_parquet(folder / "labels.parquet")


def model() -> Any:
    limits = {"max_depth": DEPTH, "lambda0": 0.1, "lambda1": 0.0}
    return hc.GBCRegressor(as_printed=True, n_iterations=ROUNDS, schedule="parallel", random_state=0, **limits)


def line(data: Any, client: Client, columns: int, here: Any) -> tuple[list[str], float]:
    """Return the cells of one size and number of workers, and the seconds of a round."""
    workers = len(client.nthreads())
    fitted = distributed.fit(model(), data, client, shard_rows=-(-data.n // workers))
    first, later = _seconds(fitted)
    task = Task(data.n, len(data.sources), columns, 1, ranges=workers)
    cells = [f"{data.n:,}", str(workers), f"{first:.1f}", f"{later:.2f}"]
    for name, expected in (("sent", task.sent), ("received", task.received)):
        middle = float(np.median(fitted.history_[f"bytes:{name}"].to_numpy()[1:]))
        cells.append(f"{_mb(middle)} ({middle / expected:.2f})")
    cells.append(_mb(task.histograms))
    cells.append(_mb(float(fitted.history_["bytes:loaded"].sum() + fitted.history_["bytes:received"][0])))
    cells.append(f"{max(client.run(resident).values()):.2f}")
    same = "" if here is None else "the same" if model_files.dumps(fitted) == model_files.dumps(here) else "NOT the same"
    return [*cells, same], later


def _seconds(fitted: Any) -> tuple[float, float]:
    """Return the seconds of the first round, and the median of the others."""
    ends = fitted.history_["seconds"].to_numpy()
    return float(ends[0]), float(np.median(np.diff(ends)))


def slopes(found: dict[tuple[int, int], float], sizes: Sequence[int]) -> list[str]:
    """Return for each number of workers how the seconds of a round grow with the rows."""
    lines = []
    for workers in sorted({each for _, each in found}):
        seconds = [found[n, workers] for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0] if len(sizes) > 1 else float("nan")
        per = 1e9 * seconds[-1] / sizes[-1]
        lines.append(f"{workers or 'No'} worker(s): slope {slope:.2f}, {per:,.0f} ns an instance at the largest size")
    return lines


def projection(columns: int) -> list[str]:
    """Return the table of what 1,000 sources on some workers would move, and how long the fit's link would be busy."""
    lines = [_row(["instances", "workers", "K", "E to and from", "histograms", f"seconds at {GIGABIT:.0f} Gbit/s"])]
    lines.append(_row(["---"] * 6))
    for n, workers, K in ((10**8, 100, 1), (10**9, 100, 1), (10**9, 1000, 1), (10**9, 1000, 10)):
        task = Task(n, 1000, columns, K, ranges=workers)
        seconds = 8 * (task.sent + task.received) / (GIGABIT * 1e9)
        moved = task.sent + task.received - task.histograms
        size = [f"{each / 1e9:,.0f} GB" for each in (moved, task.histograms)]
        lines.append(_row([f"{n:,}", f"{workers:,}", str(K), *size, f"{seconds:,.0f}"]))
    return lines


def _mb(size: float) -> str:
    return f"{size / 1e6:,.3f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _print_size(n: int, given: argparse.Namespace, found: dict[tuple[int, int], float]) -> None:
    """Make the data of one size, fit, and print a line for each number of workers."""
    with tempfile.TemporaryDirectory(prefix="hetcore-shards-") as name:
        make(Path(name), n, given.tables, given.columns)
        data = opened(Path(name), "path")
        here = None if given.no_compare else model().fit(data)
        if here is not None:
            first, found[n, 0] = _seconds(here)
            print(_row([f"{n:,}", "none", f"{first:.1f}", f"{found[n, 0]:.2f}", *[""] * 6]), flush=True)
        for workers in given.workers:
            with LocalCluster(n_workers=workers, **QUIET) as cluster, Client(cluster, direct_to_workers=True) as client:
                # one that comes late would get nothing
                client.wait_for_workers(workers)
                cells, found[n, workers] = line(data, client, given.columns, here)
                print(_row(cells), flush=True)


def main() -> None:
    """Print both tables, and the slopes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="instances")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--columns", type=int, default=COLUMNS, help="of each table")
    parser.add_argument("--no-compare", action="store_true", help="leave out the fit in one process")
    given = parser.parse_args()
    print(f"{platform.machine()}, {psutil.cpu_count()} cores; {given.tables} tables of {given.columns} numbers\n")
    names = ["instances", "workers", "first round, s", "a round, s", "sent, MB", "received, MB", "histograms, MB"]
    print(_row([*names, "once, MB", "memory, GiB", "model file"]))
    print(_row(["---"] * 10))
    found: dict[tuple[int, int], float] = {}
    for n in given.sizes:
        _print_size(n, given, found)
    print("\n" + "\n".join(slopes(found, given.sizes)) + "\n")
    print("\n".join(projection(10)))


if __name__ == "__main__":
    main()
