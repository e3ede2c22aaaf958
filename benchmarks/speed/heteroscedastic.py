"""Seconds to fit mean and deviation, beside NGBoost and CatBoost (RMSEWithUncertainty), in turn, in one run.

CPU seconds of one thread, so that what else the machine does counts little; defaults of every library.

    HETCORE_DATA=../shared/data OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.speed.heteroscedastic
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import PREDICTORS
from experiments.heteroscedastic import table

METHODS = ("HGBM", "CatBoost", "NGBoost")


def made(n: int, d: int) -> tuple[NDArray, NDArray]:
    """Return a table (n, d) whose labels have unequal noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + np.exp(0.5 * X[:, 2]) * rng.normal(size=n)


def seconds(method: str, X: NDArray, y: NDArray) -> float:
    """Return the CPU seconds of a fit and of a prediction of the first rows."""
    start = time.process_time()
    PREDICTORS[method](X, y, X[:100])
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=20_000, help="leaves larger tables out")
    args = parser.parse_args()
    repeats = args.repeats
    warnings.simplefilter("ignore")
    tables = {name: table(name) for name in ("pyrim", "bodyfat", "housing", "abalone", "cpu_small")}
    tables["20,000 x 20"] = made(20_000, 20)
    tables = {name: pair for name, pair in tables.items() if len(pair[1]) <= args.most_rows}
    seconds("HGBM", *tables["pyrim"])
    print("| data | HGBM | CatBoost | NGBoost | CatBoost / HGBM | NGBoost / HGBM |\n" + "|---" * 6 + "|")
    for name, (X, y) in tables.items():
        taken = [[seconds(method, X, y) for method in METHODS] for _ in range(repeats if len(y) < 20_000 else 1)]
        ours, cat, ng = np.median(taken, axis=0)
        print(f"| {name} | {ours:.2f} | {cat:.2f} | {ng:.2f} | {cat / ours:.1f} | {ng / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
