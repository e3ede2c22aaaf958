"""How long choosing the steps of a round takes: Newton against Bayes, in turn, on the same risk.

python -m benchmarks.speed.two_learners
python -m benchmarks.speed.two_learners census     # CI-A as a whole: the default, two thirds of 99,762 people
"""

from __future__ import annotations

import sys
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
    started = time.process_time()  # of the processor: other work beside this one does not count
    of(*args)
    return time.process_time() - started


def census() -> None:
    """Print the seconds of a fit of the default on CI-A at full size, of the clock and of the processor."""
    from datasets import structured_unstructured
    from hetcore.multimodal.two_learner import TwoWeakLearnerClassifier

    data, training = structured_unstructured.load("CI-A", small=False)
    y = np.where(training, data.y, None)
    began, used = time.perf_counter(), time.process_time()
    model = TwoWeakLearnerClassifier(random_state=0).fit(data, y)
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    wrong = float((model.predict(data) != data.y)[~training].mean())
    learners = ", ".join(f"{name}: {learner}" for name, learner in model.learners_.items())
    print("| rows | learners | rounds | kept | seconds | of the processor | error |\n|---|---|---|---|---|---|---|")
    row = f"| {training.sum():,} | {learners} | {model.n_iterations_} | {model.kept_round_}"
    print(f"{row} | {seconds:.0f} | {processor:.0f} | {wrong:.2%} |", flush=True)


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
    census() if "census" in sys.argv[1:] else main()
