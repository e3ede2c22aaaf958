"""Count the bytes that a fit as printed on a Dask cluster moves in a round, and project them to a large task.

    python -m benchmarks.speed.distributed_bytes
    python -m benchmarks.speed.distributed_bytes --sizes 2000 --workers 1 2

A LocalCluster of processes of one thread each. Bytes "counted" are those of the arrays that are sent and received, the
median over the rounds after the first; "on the wire" is what the loopback device carried meanwhile, with the envelopes,
the cluster's heartbeats and whatever else the machine sends to itself. The model files are compared with that of a fit
in this process.
"""

from __future__ import annotations

import argparse
import logging
import platform
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import psutil
from distributed import Client, LocalCluster

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore import distributed, model_files
from hetcore.consensus.printed.partial_sums import spans_of

ROUNDS = 8
SIZES, WORKERS = (5_000, 20_000), (1, 2, 4)
TABLES = 8
GIGABIT = 10.0  # of a process' link, in the projection


class Task(NamedTuple):
    """What the bytes of a round depend on: instances, tables, scores, workers."""

    n: int
    tables: int
    K: int
    workers: int

    @property
    def sent(self) -> float:
        """E to every worker for what tables say alone and for the next step, and who is left out."""
        return float(self.workers * self.n * (8 * self.K + 1))

    @property
    def subtrees(self) -> int:
        """How many sums come back where every worker has as many tables, in their order."""
        ends = np.linspace(0, self.tables, self.workers + 1).astype(int).tolist()
        return sum(len(spans_of(range(*span), (0, self.tables))) for span in zip(ends, ends[1:]))

    @property
    def received(self) -> float:
        """The sum of each subtree."""
        return 8.0 * self.subtrees * self.n * self.K


class Watch:
    """A callback that notes what the loopback device has carried."""

    def __init__(self) -> None:
        self.carried = [_loopback()]

    def __call__(self, event: Any) -> None:
        self.carried.append(_loopback())


def _loopback() -> int:
    counters = psutil.net_io_counters(pernic=True)
    return sum(counters[name].bytes_sent for name in ("lo", "lo0") if name in counters)


def planted(n: int, K: int) -> hc.HetData:
    """Return eight tables of 10 columns and two graphs over n instances, 40% of the records there, 10% labelled."""
    task = {"task": "classification", "n_classes": K} if K > 1 else {"task": "regression"}
    counts = {"n_sources": TABLES - 1, "n_noise_sources": 1, "n_graphs": 2}
    data, _ = make_heterogeneous(n, **counts, n_features=10, coverage=0.4, labelled=0.1, degree=10, seed=0, **task)
    return data


def model(K: int) -> Any:
    cls = hc.GBCClassifier if K > 1 else hc.GBCRegressor
    return cls(as_printed=True, n_iterations=ROUNDS, schedule="parallel", random_state=0)


def line(data: hc.HetData, K: int, client: Client, here: bytes) -> str:
    """Return the table's line of one size and number of workers: what a round moved, beside formula and wire."""
    watch, task = Watch(), Task(data.n, len(data.sources), K, len(client.nthreads()))
    fitted = distributed.fit(model(K), data, client, [watch])
    sent, received, loaded = (fitted.history_[f"bytes:{name}"].to_numpy() for name in ("sent", "received", "loaded"))
    cells = [f"{data.n:,}", str(K), str(task.workers)]
    for mine, expected in ((sent, task.sent), (received, task.received)):
        middle = float(np.median(mine[1:]))
        cells.append(f"{mb(middle)} ({middle / expected:.2f})")
    wire = float(np.median(np.diff(watch.carried)[1:]))
    same = "the same" if model_files.dumps(fitted) == here else "NOT the same"
    return row([*cells, mb(wire), mb(float(loaded.sum())), same])


def projection() -> list[str]:
    """Return the table of what 1,000 sources on 100 workers would move, and how long the fit's link would be busy."""
    lines = [row(["instances", "K", "sent", "subtrees", "received", f"seconds at {GIGABIT:.0f} Gbit/s"])]
    lines.append(row(["---"] * 6))
    for n in (10**8, 10**9):
        for K in (1, 10):
            task = Task(n, 1000, K, workers=100)
            seconds = 8 * (task.sent + task.received) / (GIGABIT * 1e9)
            size = [f"{each / 1e9:,.0f} GB" for each in (task.sent, task.received)]
            lines.append(row([f"{n:,}", str(K), size[0], str(task.subtrees), size[1], f"{seconds:,.0f}"]))
    return lines


def mb(size: float) -> str:
    """Return bytes as megabytes."""
    return f"{size / 1e6:,.3f}"


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="instances")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    given = parser.parse_args()
    cases = [(n, 1) for n in given.sizes] + [(given.sizes[0], 5)]
    print(f"{platform.machine()}, {psutil.cpu_count()} cores\n")
    print(row(["instances", "K", "workers", "sent, MB", "received, MB", "on the wire", "loaded once", "model file"]))
    print(row(["---"] * 8))
    held = {case: planted(*case) for case in cases}
    here = {(n, K): model_files.dumps(model(K).fit(data)) for (n, K), data in held.items()}
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "threads_per_worker": 1}
    for workers in given.workers:
        with LocalCluster(n_workers=workers, **quiet) as cluster, Client(cluster, direct_to_workers=True) as client:
            # one that comes late would get nothing
            client.wait_for_workers(workers)
            for (n, K), data in held.items():
                print(line(data, K, client, here[n, K]), flush=True)
    print("\n" + "\n".join(projection()))


if __name__ == "__main__":
    main()
