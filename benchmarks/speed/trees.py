"""Our boosted trees and LightGBM in turn: medians of CPU and wall seconds, and their ratios.

    python -m benchmarks.speed.trees [--rounds 100] [--repeats 3] [--only large|small|wide]

Both boost squared loss with 31 leaves, 255 bins, at least 20 rows a leaf and a learning rate of 0.1, from the float32
table to the training predictions. Compiling is done before. CPU seconds tell more than wall seconds on a machine that
others use. The wide case grows one tree for ten outputs where LightGBM grows ten.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

# Before LightGBM is imported, which reads it once.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np

from hetcore.kernels import warm_up
from hetcore.trees import BinMapper, Forest, TreeParams, grow

PARAMS = TreeParams(max_leaf_nodes=31, min_samples_leaf=20)
RATE = 0.1


class Case(NamedTuple):
    """A table to boost on, and with how many threads."""

    name: str
    n: int
    d: int
    n_outputs: int = 1
    n_threads: int = 1


CASES = {
    "small": [Case("2,000 x 200", 2_000, 200)],
    "wide": [Case("2,000 x 200, 10 outputs", 2_000, 200, 10)],
    "large": [Case("500,000 x 100", 500_000, 100), Case("500,000 x 100, 2 threads", 500_000, 100, 1, 2)],
}


def make(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table (n, d) float32 and targets (n, K) of main effects, a wave, a product and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(case.n, case.d)).astype(np.float32)
    signal = np.column_stack([X[:, 0], np.sin(3 * X[:, 1]), X[:, 2] * X[:, 3]])
    return X, signal @ rng.normal(size=(3, case.n_outputs)) + rng.normal(size=(case.n, case.n_outputs))


class Timer:
    """Wall and CPU seconds by part."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def __call__(self, part: str, task: Callable[[], object]) -> object:
        wall, cpu = time.perf_counter(), time.process_time()
        result = task()
        self.wall[part], self.cpu[part] = time.perf_counter() - wall, time.process_time() - cpu
        return result


def run_ours(case: Case, X: np.ndarray, Y: np.ndarray, rounds: int, timer: Timer) -> float:
    """Bin, boost and predict with hetcore; return the training loss."""
    mapper = BinMapper()
    binned = timer("bin", lambda: mapper.fit(X).transform(X))
    prediction, forest = np.tile(Y.mean(axis=0), (case.n, 1)), Forest(case.n_outputs)

    def boost() -> None:
        for _ in range(rounds):
            gradients = (prediction - Y).astype(np.float32)
            tree = grow(
                binned,
                gradients,
                None,
                rows=None,
                columns=None,
                params=PARAMS,
                n_bins=mapper.n_bins,
                n_jobs=case.n_threads,
            )
            tree.add_to(prediction, binned, RATE)
            forest.append(tree, RATE)

    timer("boost", boost)
    again = timer("predict", lambda: forest.predict(mapper.transform(X)) + Y.mean(axis=0))
    # A fast tree that predicts another sum than it was grown to would win nothing.
    np.testing.assert_allclose(again, prediction, rtol=1e-6, atol=1e-6)
    return float(((prediction - Y) ** 2).mean())


def run_lightgbm(case: Case, X: np.ndarray, Y: np.ndarray, rounds: int, timer: Timer) -> float:
    """Bin, boost and predict with LightGBM, output after output; return the training loss."""
    options = {"num_leaves": 31, "min_data_in_leaf": 20, "learning_rate": RATE, "max_bin": 255}
    options |= {"objective": "l2", "num_threads": case.n_threads, "verbose": -1}
    data = timer("bin", lambda: lightgbm.Dataset(X, Y[:, 0], params=options).construct())

    def boost() -> list[lightgbm.Booster]:
        boosters = []
        for k in range(case.n_outputs):
            # The bins are kept: a peer that bins ten times would lose by what it need not do.
            data.set_label(Y[:, k])
            boosters.append(lightgbm.train(options, data, rounds))
        return boosters

    boosters = timer("boost", boost)
    threads = case.n_threads
    parts = timer("predict", lambda: [booster.predict(X, num_threads=threads) for booster in boosters])
    return float(((np.column_stack(parts) - Y) ** 2).mean())


def compare(case: Case, rounds: int, repeats: int) -> None:
    """Run both in turn and print medians and ratios."""
    X, Y = make(case)
    timers: dict[str, list[Timer]] = {"ours": [], "LightGBM": []}
    losses = {}
    for _ in range(repeats):
        # In turn, so that a machine that slows down slows both.
        for name, run in (("ours", run_ours), ("LightGBM", run_lightgbm)):
            timers[name].append(Timer())
            losses[name] = run(case, X, Y, rounds, timers[name][-1])
    print(f"\n{case.name}, {rounds} rounds, median of {repeats}: CPU s (wall s)")
    print(f"  training loss: ours {losses['ours']:.4f}, LightGBM {losses['LightGBM']:.4f}")
    for part in ("bin", "boost", "predict"):
        cpu = {name: statistics.median(timer.cpu[part] for timer in own) for name, own in timers.items()}
        wall = {name: statistics.median(timer.wall[part] for timer in own) for name, own in timers.items()}
        both = ", ".join(f"{name} {cpu[name]:.3f} ({wall[name]:.3f})" for name in timers)
        ratios = f"{cpu['ours'] / cpu['LightGBM']:.2f} ({wall['ours'] / wall['LightGBM']:.2f})"
        print(f"  {part:8s} {both}, ratio {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=sorted(CASES))
    chosen = parser.parse_args()
    started = time.perf_counter()
    # Compiling happens once in a machine's life and is no part of a fit.
    warm_up()
    print(f"Kernels ready after {time.perf_counter() - started:.1f} s.")
    for group, cases in CASES.items():
        for case in cases if chosen.only in (None, group) else ():
            compare(case, chosen.rounds, chosen.repeats)


if __name__ == "__main__":
    main()
