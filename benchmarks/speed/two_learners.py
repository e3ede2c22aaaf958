"""How long choosing the steps of a round takes: Newton against Bayes, in turn, on the same risk with two learners.

python -m benchmarks.speed.two_learners
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from hetcore.multimodal.line_search import RiskAlongStep, bayes_step, newton_step

SIZES = ((2_000, 10), (20_000, 3), (100_000, 2))
REPEATS = 5


def _line(n: int, K: int) -> RiskAlongStep:
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    return RiskAlongStep(rng.normal(size=(n, K)), rng.normal(size=(2, n, K)) + 0.5 * np.eye(K)[y], y)


def _seconds(of: Callable[..., object], *args: object) -> float:
    started = time.perf_counter()
    of(*args)
    return time.perf_counter() - started


def main() -> None:
    print("| rows | classes | one evaluation, s | Newton, s | Bayes, s | Newton is faster | log risk: Newton | Bayes |")
    print("|---|---|---|---|---|---|---|---|")
    for n, K in SIZES:
        line, timings = _line(n, K), []
        for seed in range(REPEATS):
            rng = np.random.default_rng(seed)
            timings.append((_seconds(newton_step, line, rng), _seconds(bayes_step, line, rng)))
        once = median(_seconds(line.model, np.zeros(2)) for _ in range(REPEATS))
        newton, bayes = (median(each) for each in zip(*timings))
        values = line.value(newton_step(line, rng)), line.value(bayes_step(line, rng))
        row = f"| {n:,} | {K} | {once:.5f} | {newton:.4f} | {bayes:.2f} | {bayes / newton:.0f} times"
        print(f"{row} | {values[0]:.6f} | {values[1]:.6f} |", flush=True)


if __name__ == "__main__":
    main()
