"""A fit of data by path on a LocalCluster of few and small workers: peak memory of every process, and a lost worker.

    python -m benchmarks.speed.scan_cluster                                        # half a GiB of Parquet
    python -m benchmarks.speed.scan_cluster --gib 6 --columns 100 --no-compare
    python -m benchmarks.speed.scan_cluster --method default                       # its trees, without joined tables

The data are those of `benchmarks.speed.scan`. The fit is as printed unless asked otherwise; one worker is killed after
the second round, and its sources are read again by the others. Predictions and contributions are made in the process of
the fit. "memory" is the most that a process had resident; the model file is compared with that of a fit in this
process, by path too.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.scan import COLUMNS, GIB, ROUNDS, make, opened, resident

METHODS: dict[str, dict[str, Any]] = {
    "printed": {"as_printed": True},
    "default": {"join_tables": False, "base_learner": "tree"},
}


def fit_on(client: Any, data: Any, method: str) -> tuple[Any, float, dict[str, float]]:
    """Fit on the cluster, lose a worker on the way; return model, seconds, and the memory of the one that is lost."""
    import hetcore as hc

    lost: dict[str, float] = {}

    def kill(event: Any) -> None:
        if event.index == 1 and not lost:
            address, pid = next(iter(client.run(os.getpid).items()))
            lost[address] = resident(pid)
            os.kill(pid, signal.SIGKILL)

    model, began = hc.GBCRegressor(n_iterations=ROUNDS, **METHODS[method]), time.perf_counter()
    hc.distributed.fit(model, data, client, [kill])
    return model, time.perf_counter() - began, lost


def report(client: Any, folder: Path, method: str, *, compare: bool) -> None:
    """Open the data, fit, and print."""
    import hetcore as hc
    from hetcore import model_files

    began, workers = time.perf_counter(), len(client.nthreads())
    data = opened(folder, "path")
    print(f"read in {time.perf_counter() - began:.0f} s, this process {resident():.2f} GiB", flush=True)
    model, seconds, lost = fit_on(client, data, method)
    loaded, rounds = model.history_["bytes:loaded"] / 2**20, model.history_["seconds"]
    print(f"fit in {seconds:.0f} s, by round: {', '.join(f'{each:.0f}' for each in rounds)}")
    print(f"loaded on workers, MiB by round: {', '.join(f'{each:.0f}' for each in loaded)}", flush=True)
    fitted, began = resident(), time.perf_counter()
    model.explain(data)
    print(f"predictions and contributions in {time.perf_counter() - began:.0f} s\n")
    print("| process | memory, GiB |\n| --- | --- |")
    print(f"| the fit's, after the fit | {fitted:.2f} |\n| after predictions | {resident():.2f} |")
    # who takes the killed one's place is on its way
    client.wait_for_workers(workers)
    for address, gib in (lost | client.run(resident)).items():
        print(f"| worker {address.rpartition(':')[2]}{', killed' if address in lost else ''} | {gib:.2f} |")
    if compare:
        here = hc.GBCRegressor(n_iterations=ROUNDS, schedule="parallel", **METHODS[method]).fit(data)
        same = model_files.dumps(here) == model_files.dumps(model)
        print(f"\nThe model file is {'the same' if same else 'NOT the same'} as after a fit in one process.")


def main() -> None:
    """Make the data and a cluster, and print."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=0.5, help="of Parquet")
    parser.add_argument("--columns", type=int, default=COLUMNS, help="of each table")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=float, default=2.0, help="GiB a worker, beyond which Dask ends it")
    parser.add_argument("--method", choices=list(METHODS), default="printed")
    parser.add_argument("--no-compare", action="store_true", help="leave out the fit in one process")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hetcore-scan-") as name:
        n = make(Path(name), given.gib, given.columns)
        size = sum(file.stat().st_size for file in Path(name).rglob("*.parquet")) / GIB
        print(f"{size:.2f} GiB of Parquet, {n:,} instances; {given.workers} workers of {given.limit:g} GiB", flush=True)
        quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "threads_per_worker": 1}
        limit = f"{given.limit}GiB"
        with LocalCluster(n_workers=given.workers, memory_limit=limit, **quiet) as cluster, Client(cluster) as client:
            # one that comes late would get nothing
            client.wait_for_workers(given.workers)
            report(client, Path(name), given.method, compare=not given.no_compare)


if __name__ == "__main__":
    main()
