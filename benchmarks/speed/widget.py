"""How a notebook's next cell runs while `hetcore.watch` trains: `python -m benchmarks.speed.widget`.

Prints, for work in plain Python and in NumPy, its seconds alone and beside a training, and what a round's message
costs the training's thread with 10,000 instances.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import hetcore as hc
from datasets import make_heterogeneous

REPEATS = 5


def plain() -> None:
    """Do about a quarter of a second of plain Python."""
    sum(k * k for k in range(3_000_000))


def arrays() -> None:
    """Do about a quarter of a second of NumPy."""
    for _ in range(20):
        np.sort(np.random.default_rng(0).normal(size=200_000))


def seconds(work: Callable[[], None]) -> float:
    """Return the median of a few runs."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    data, _ = make_heterogeneous(n=10_000, seed=0)
    widget = hc.watch(hc.GBCRegressor(n_iterations=500, random_state=0), data)
    alone = {work: seconds(work) for work in (plain, arrays)}
    costs: list[float] = []
    take = widget._take

    def timed(event: hc.RoundEnd) -> None:
        begun = time.perf_counter()
        take(event)
        costs.append(time.perf_counter() - begun)

    widget._take = timed
    widget.train()
    while not costs:
        time.sleep(0.1)
    print("| work | alone, s | beside a training, s |\n|---|---|---|")
    for work, before in alone.items():
        print(f"| {work.__name__} | {before:.3f} | {seconds(work):.3f} |")
    begun = time.perf_counter()
    widget.stop()
    widget.wait()
    print(f"\nStop to the end of the training: {time.perf_counter() - begun:.2f} s.")
    print(f"A round's message: {1000 * statistics.median(costs):.2f} ms over {len(costs)} rounds.")


if __name__ == "__main__":
    main()
