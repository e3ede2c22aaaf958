"""How long choosing the steps of a round takes: Newton against Bayes, in turn, on the same risk.

python -m benchmarks.speed.two_learners
python -m benchmarks.speed.two_learners census     # CI-A as a whole: the default, two thirds of 99,762 people
python -m benchmarks.speed.two_learners cpu cuda   # networks of pictures, on some devices of PyTorch in turn
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from hetcore.multimodal.line_search import RiskAlongStep, bayes_step, newton_step

SIZES = ((2_000, 10), (20_000, 3), (100_000, 2))
REPEATS = 5
PICTURES = ((32, 4_000), (64, 4_000), (128, 2_000))  # pixels of a side, rows of which half train


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


def on_devices(devices: Sequence[str]) -> None:
    """Print the seconds of networks of pictures on some devices, and how many pictures they get wrong."""
    print("| pictures | network | device | fit, s | predict, s | wrong |\n|---|---|---|---|---|---|")
    for size, n in PICTURES:
        rng = np.random.default_rng(0)
        X, right = rng.normal(size=(n, size, size, 3)).astype(np.float32), rng.integers(2, size=n)
        # a bright square in one half of each
        for picture, y, place in zip(X, right, rng.integers(size // 2 - size // 8, size=(n, 2))):
            top, left = 2 * place[0], place[1] + size // 2 * y
            picture[top : top + size // 8, left : left + size // 8] += 2.0
        for device in devices:
            for name, fit, predict in (_weak_learner(X, right, device), _branches(X, right, device)):
                began = time.perf_counter()
                fit()
                fitted = time.perf_counter()
                wrong = (predict().argmax(axis=1) != right)[n // 2 :].mean()
                seconds = f"{fitted - began:.2f} | {time.perf_counter() - fitted:.2f}"
                print(f"| {n // 2:,} of {size} x {size} | {name} | {device} | {seconds} | {wrong:.1%} |", flush=True)


def _weak_learner(X: NDArray, y: NDArray, device: str) -> tuple[str, Callable[[], object], Callable[[], NDArray]]:
    """Return a network of 2WL: what it is called, its fit to the first half of the pictures, its prediction of all."""
    from hetcore.multimodal.deep import ConvolutionalLearner

    # the first use of a device loads its libraries
    ConvolutionalLearner(1, 0, device).fit(X[:100], np.eye(2)[y[:100]])
    learner, half = ConvolutionalLearner(10, 0, device), len(X) // 2
    return "weak learner", lambda: learner.fit(X[:half], np.eye(2)[y[:half]]), lambda: learner.predict(X)


def _branches(X: NDArray, y: NDArray, device: str) -> tuple[str, Callable[[], object], Callable[[], NDArray]]:
    """Return the same of the network of BFV+DNN, with pictures alone."""
    from hetcore.multimodal.branch_networks import BranchNetwork

    mask, half = np.ones((len(X), 1), np.float32), len(X) // 2
    network = BranchNetwork([X.shape[1:]], 2, (100, 50), "concatenation", 0, device=device)

    def fit() -> None:
        for t in range(10):
            network.epoch([(X[:half], mask[:half])], y[:half], t)

    return "two branches", fit, lambda: network.scores([(X, mask)])


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
    given = sys.argv[1:]
    census() if "census" in given else on_devices(given) if given else main()
