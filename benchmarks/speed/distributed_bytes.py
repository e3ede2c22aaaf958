"""Count the bytes that a fit on a Dask cluster moves, time it beside the local fit, and project both to a large task.

    python -m benchmarks.speed.distributed_bytes
    python -m benchmarks.speed.distributed_bytes --sizes 2000 --repeats 1

A LocalCluster of two processes of one thread each; the local fit is of one process. Bytes "counted" are those of the
arrays that are sent and received; "on the wire" is what the loopback device carried meanwhile, with the envelopes, the
cluster's heartbeats and whatever else the machine sends to itself. Medians over the rounds of a kind.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import psutil
from distributed import Client, LocalCluster

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore import distributed

WORKERS = 2
ROUNDS = 24
SIZES = (5_000, 20_000)
GIGABIT = 10.0  # of the link of the process that fits, in the projection


class Task(NamedTuple):
    """What the bytes of a round depend on: sizes of the data, the share that is labelled, how many workers."""

    n: int
    tables: int
    records: float
    links: float
    K: int
    labelled: float
    workers: int
    subsample: float = 0.6

    @property
    def consensus_round(self) -> tuple[float, float]:
        """Bytes sent and received: E to every worker; what each table's smooth learner says."""
        return 8.0 * self.workers * self.n * self.K, 8.0 * self.records * self.K

    @property
    def tree_round(self) -> tuple[float, float]:
        """Bytes sent and received: residuals of the subsample and who is in it; a leaf number for each record."""
        known = self.labelled * self.n
        return self.workers * known * (8.0 * self.K * self.subsample + 1.0), self.records + self.links


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
    """Return six tables of 10 columns and two graphs over n instances, 40% of the records there, 10% labelled."""
    task = {"task": "classification", "n_classes": K} if K > 1 else {"task": "regression"}
    counts = {"n_sources": 5, "n_noise_sources": 1, "n_graphs": 2}
    data, _ = make_heterogeneous(n, **counts, n_features=10, coverage=0.4, labelled=0.1, degree=10, seed=0, **task)
    return data


def task_of(data: hc.HetData, K: int) -> Task:
    """Return the sizes of the data; the two graphs make a third, of their joint links."""
    records = sum(data.rows(name).size for name in data.source_names)
    linked = [np.diff(graph.adjacency().indptr) > 0 for graph in data.graphs.values()]
    links = sum(int(each.sum()) for each in linked) + int(np.any(linked, axis=0).sum())
    return Task(
        data.n, len(data.sources), records, links=links, K=K, labelled=float(data.labelled.mean()), workers=WORKERS
    )


def model(K: int) -> Any:
    cls = hc.GBCClassifier if K > 1 else hc.GBCRegressor
    return cls(n_iterations=ROUNDS, schedule="parallel", random_state=0)


def bytes_line(data: hc.HetData, K: int, client: Client) -> list[str]:
    """Return the table's lines of one size: what a round moved, beside the formula and the wire."""
    watch, task = Watch(), task_of(data, K)
    fitted = distributed.fit(model(K), data, client, [watch])
    sent, received, loaded = (fitted.history_[f"bytes:{name}"].to_numpy() for name in ("sent", "received", "loaded"))
    wire = np.diff(watch.carried)
    lines = []
    for kind, rounds, formula in (
        ("consensus", slice(1, 3), task.consensus_round),
        ("trees", slice(4, None), task.tree_round),
    ):
        counted = float(np.median(sent[rounds])), float(np.median(received[rounds]))
        cells = [f"{data.n:,}", str(K), kind]
        cells += [f"{_mb(mine)} ({mine / expected:.2f})" for mine, expected in zip(counted, formula)]
        lines.append(_row([*cells, _mb(sum(counted)), _mb(float(np.median(wire[rounds]))), _mb(loaded.sum())]))
    return lines


def times_line(n: int, K: int, client: Client, repeats: int) -> str:
    """Return the table's line of one size: seconds of the local fit and of the cluster's, in turn.

    The data are made anew each time, so that neither finds tables that an earlier fit has encoded.
    """
    here, there, first, later = [], [], [], []
    for _ in range(repeats):
        data = planted(n, K)
        started = time.perf_counter()
        model(K).fit(data)
        here.append(time.perf_counter() - started)
        started = time.perf_counter()
        seconds = distributed.fit(model(K), data, client).history_["seconds"].to_numpy()
        there.append(time.perf_counter() - started)
        first.append(seconds[0])
        later.append(float(np.median(np.diff(seconds)[4:])))
    local, spread = statistics.median(here), statistics.median(there)
    cells = [f"{local:.2f}", f"{spread:.2f}", f"{spread / local:.2f}", f"{statistics.median(first):.2f}"]
    return _row([f"{n:,}", str(K), *cells, f"{1000 * statistics.median(later):.0f}"])


def projection() -> list[str]:
    """Return the table of what 10^8 instances and 1,000 sources would move, and how long a link would be busy."""
    lines = [_row(["outputs K", "round", "sent", "received", f"seconds at {GIGABIT:.0f} Gbit/s"]), _row(["---"] * 5)]
    for K in (1, 10):
        task = Task(10**8, 1000, 0.4 * 1000 * 1e8, links=0.0, K=K, labelled=0.1, workers=100)
        for kind, (sent, received) in (("consensus", task.consensus_round), ("trees", task.tree_round)):
            seconds = 8 * (sent + received) / (GIGABIT * 1e9)
            lines.append(_row([str(K), kind, f"{sent / 1e9:,.1f} GB", f"{received / 1e9:,.1f} GB", f"{seconds:,.0f}"]))
    return lines


def _mb(size: float) -> str:
    return f"{size / 1e6:,.3f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    tasks = [*((n, 1) for n in args.sizes), (args.sizes[0], 5)]
    with (
        LocalCluster(WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        for K in (1, 5):  # what is compiled and imported on first use is not timed
            distributed.fit(model(K), planted(500, K), client)
        heads = ["instances", "K", "round", "sent, MB", "received, MB", "together", "on the wire", "loaded once"]
        print("Bytes of a round, counted (over the formula's)\n")
        print("\n".join([_row(heads), _row(["---"] * len(heads))]))
        for n, K in tasks:
            print("\n".join(bytes_line(planted(n, K), K, client)), flush=True)
        print(f"\nSeconds of {ROUNDS} rounds, medians of {args.repeats}, in turn\n")
        heads = ["instances", "K", "local", "cluster of 2", "ratio", "of it the first round", "a tree round, ms"]
        print("\n".join([_row(heads), _row(["---"] * len(heads))]))
        for n, K in tasks:
            print(times_line(n, K, client, args.repeats), flush=True)
    print("\nProjection: 10^8 instances, 1,000 sources with 40% of the records, 10% labelled, 100 workers\n")
    print("\n".join(projection()))


if __name__ == "__main__":
    main()
