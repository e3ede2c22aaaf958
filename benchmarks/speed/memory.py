"""What trainings need in memory: as estimated before they begin, and as their process took at its peak.

    python -m benchmarks.speed.memory [--only GBCClassifier]

A worker first trains on a few rows, which loads and compiles what the method uses; what its resident memory grows by
while it takes the data, trains and predicts is what the training took. The estimate is `studio.jobs.memory.needed`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hetcore as hc
from benchmarks.speed.memory_data import Size, domains, modalities, ratings, tables
from studio import limits
from studio.jobs import manager as jobs
from studio.jobs import memory

MIB = 2**20
FEW = {"n_iterations": 3}
TABLE, DOMAINS = {"form": "table"}, {"form": "domains", "target": "s0"}
RATINGS, SENSORS = ({"form": "codes", "columns": list(c)} for c in (("user", "item"), ("user", "item", "mode3")))


class Case(NamedTuple):
    """A method, how its data are made and given, with which parameters, at which sizes."""

    make: Callable[[Size], hc.HetData]
    sizes: tuple[Size, ...]
    params: dict[str, Any] = FEW
    form: dict[str, Any] = {}


PLAIN = (Size(10_000, 20, 0, 4), Size(20_000, 20, 0, 40), Size(20_000, 80, 0, 4), Size(80_000, 20, 0, 4))
CLASSES = tuple(size._replace(n_classes=k) for size, k in zip(PLAIN, (3, 3, 3, 10)))
MACHINES = (Size(500, 20, 3), Size(1_500, 20, 3), Size(3_000, 80, 3))
RATED = (Size(100_000, 1_000), Size(400_000, 1_000), Size(400_000, 50_000))
LAYERS = {"n_iterations": 2, "epochs": 1, "hidden": (20,)}
STAGES = {"n_iterations": 2, "first_trees": 5}
CASES = {
    "GBCClassifier": Case(tables, CLASSES),
    # skewed columns have their scores beside them, which takes the most
    "GBCRegressor": Case(tables, (*(size._replace(skewed=True) for size in PLAIN[:3]), PLAIN[3])),
    "GBRegressor": Case(tables, PLAIN, STAGES),
    "MGBRegressor": Case(tables, PLAIN, STAGES),
    "MGBClassifier": Case(tables, CLASSES, STAGES),
    "HGBMRegressor": Case(tables, PLAIN, FEW, TABLE),
    "HGBMClassifier": Case(tables, CLASSES, FEW, TABLE),
    "HeteroscedasticLinearRegression": Case(tables, PLAIN, FEW, TABLE),
    "TransferClassifier": Case(domains, CLASSES, {}, DOMAINS),
    "TrAdaBoostClassifier": Case(domains, CLASSES, FEW, DOMAINS),
    "TransferForestClassifier": Case(domains, CLASSES, {"n_iterations": 1}, DOMAINS),
    "TargetSVM": Case(domains, MACHINES, {}, DOMAINS),
    "MultiKTClassifier": Case(domains, MACHINES, {}, DOMAINS),
    "HMF": Case(ratings, RATED, FEW, RATINGS),
    "HTF": Case(ratings, RATED, FEW, SENSORS),
    "TwoWeakLearnerClassifier": Case(modalities, CLASSES, LAYERS),
    "BoostedFeatureNetworkClassifier": Case(modalities, CLASSES, {"n_iterations": 2, "n_stages": 10}),
}


def measured(estimator: str, case: Case) -> list[tuple[Size, int, int, int]]:
    """Return, by size, the estimated and measured bytes, and what the address space grew by."""
    manager = jobs.Manager(limits.JobLimits(1, 64 * limits.GIB, idle_seconds=9999.0, datasets=1), compiled=False)
    try:
        few = case.make(case.sizes[0]._replace(n=200, d=3))
        _train(manager, jobs.TrainingTask(estimator, case.params, few, form=case.form))
        pid, rows = manager.workers[0].pid, []
        resident, space = _status(pid, "VmRSS"), _status(pid, "VmPeak")
        for size in case.sizes:
            task = jobs.TrainingTask(estimator, case.params, case.make(size), form=case.form)
            Path(f"/proc/{pid}/clear_refs").write_text("5")
            _train(manager, task)
            rows.append((size, memory.needed(task), _status(pid, "VmHWM") - resident, _status(pid, "VmPeak") - space))
        return rows
    finally:
        manager.close()


def _train(manager: jobs.Manager, task: jobs.TrainingTask) -> None:
    status = manager.wait(manager.submit(task), timeout=900.0)
    if status.state != "finished":
        raise SystemExit(f"{task.estimator}: {status.state}, {status.message}")


def _status(pid: int, name: str) -> int:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines[name].split()[0]) * 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(CASES), nargs="*", default=list(CASES))
    only = parser.parse_args().only
    memory.why_not = lambda *_: ""  # every size is tried
    print(
        "| method | rows x columns, classes, links a row | estimated, MB | taken, MB | ratio |\n|---|---|---|---|---|"
    )
    for name, case in CASES.items():
        for size, estimated, taken, _ in measured(name, case) if name in only else ():
            shape = f"{size.n:,} x {size.d:,}, {size.n_classes}, {size.links}"
            numbers = f"{estimated / MIB:.0f} | {taken / MIB:.0f} | {estimated / taken:.2f}"
            print(f"| {name} | {shape} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
