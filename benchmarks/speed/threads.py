"""What threads bring to one fit.

    python -m benchmarks.speed.threads                      # 500,000 x 100, one and two threads in turn
    python -m benchmarks.speed.threads --rows 50000 --repeats 2 --only GBRegressor

For each method: seconds by the clock and of the processor with one thread and with more, the best of several runs in
turn, and their ratio. By the clock it holds on idle cores alone. Beside it stands the longest way: the same fit with
more threads, whose tasks are done one after the other and timed by the processor, as if each went to whichever core
is free first; handing over and shared memory are not in it, but other work on the machine is not either.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import hetcore as hc
from benchmarks.speed.trees import PARAMS, RATE
from hetcore.binning import BinMapper
from hetcore.kernels import threads
from hetcore.trees import grow

COLUMNS, LABELLED, SEED = 100, 0.9, 0


def made(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and numbers to be predicted from four of them."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=n)


def trees(X: np.ndarray, y: np.ndarray, rounds: int) -> Callable[[int], Any]:
    """Return plain boosting of trees of 31 leaves, all rows and columns in each."""
    mapper = BinMapper().fit(X)
    binned = mapper.transform(X)

    def fit(n_jobs: int) -> np.ndarray:
        predicted = np.full((len(y), 1), y.mean())
        for _ in range(rounds):
            gradients = (predicted - y[:, None]).astype(np.float32)
            given = {"rows": None, "columns": None, "params": PARAMS, "n_bins": mapper.n_bins, "n_jobs": n_jobs}
            grow(binned, gradients, None, **given).add_to(predicted, binned, RATE)
        return predicted

    return fit


def estimator(kind: type, X: np.ndarray, y: np.ndarray, **params: Any) -> Callable[[int], Any]:
    """Return the fit of an estimator, to rows or to a data set of one table."""
    if issubclass(kind, (hc.HGBMRegressor, hc.HGBMClassifier)):
        return lambda n_jobs: kind(**params, n_jobs=n_jobs).fit(X, y)
    hidden = np.random.default_rng(SEED).random(len(y)) > LABELLED
    ids = np.arange(len(y)).astype(str)
    data = hc.HetData({"table": hc.Source(ids, X)}, target=(ids[~hidden], y[~hidden]), task="regression")
    return lambda n_jobs: kind(**params, n_jobs=n_jobs).fit(data)


def cases(rows: int) -> dict[str, Callable[[], Callable[[int], Any]]]:
    """Return by name what makes a fit; fewer rounds than by default, for a ratio takes no more."""
    given = made(rows, COLUMNS)
    return {
        "trees.grow": lambda: trees(*given, 20),
        "GBRegressor": lambda: estimator(hc.GBRegressor, *given, n_iterations=1, first_trees=100),
        "HGBMRegressor": lambda: estimator(hc.HGBMRegressor, *given, n_iterations=10),
        "GBCRegressor": lambda: estimator(hc.GBCRegressor, *given, n_iterations=20),
    }


def longest_way(fit: Callable[[int], Any], n_jobs: int) -> float:
    """Return the seconds of the processor that a fit takes on so many free cores, by the times of its tasks."""
    saved, deep = 0.0, False

    def one_by_one(task: Callable[[Any], Any], items: Any, n_jobs: int) -> list[Any]:
        nonlocal saved, deep
        if deep or min(n_jobs, len(items)) <= 1:
            return [task(item) for item in items]
        deep, busy, results = True, [0.0] * n_jobs, []
        for item in items:
            started = time.thread_time()
            results.append(task(item))
            busy[busy.index(min(busy))] += time.thread_time() - started
        deep, saved = False, saved + sum(busy) - max(busy)
        return results

    with replaced(one_by_one):
        started = time.thread_time()
        fit(n_jobs)
        return time.thread_time() - started - saved


@contextmanager
def replaced(runner: Callable[..., list[Any]]) -> Iterator[None]:
    """Let all of hetcore run its tasks by another function than `hetcore.kernels.threads.run_each`."""
    real = threads.run_each
    users = [module for module in list(sys.modules.values()) if getattr(module, "run_each", None) is real]
    for module in users:
        module.run_each = runner
    try:
        yield
    finally:
        for module in users:
            module.run_each = real


def timed(fit: Callable[[int], Any], n_jobs: int) -> tuple[float, float, Any]:
    """Return seconds by the clock, of the processor, and what was fitted."""
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit(n_jobs)
    return time.perf_counter() - wall, time.process_time() - cpu, fitted


def assert_same(one: Any, other: Any) -> None:
    """Check that two fits have the same bits: predictions, or all that models keep."""
    states = [{"scores": each} if isinstance(each, np.ndarray) else each._get_state()[1] for each in (one, other)]
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name])


def show(name: str, fit: Callable[[int], Any], n_jobs: int, repeats: int) -> None:
    """Print a row."""
    one, more, ways = [], [], []
    for _ in range(repeats):
        one.append(timed(fit, 1))
        more.append(timed(fit, n_jobs))
        ways.append(longest_way(fit, n_jobs))
        assert_same(one[-1][2], more[-1][2])
    (wall, cpu), (wall_more, cpu_more) = (tuple(min(each[i] for each in runs) for i in (0, 1)) for runs in (one, more))
    cells = [f"{wall:.2f}", f"{wall_more:.2f}", f"{wall / wall_more:.2f}", f"{cpu:.2f}", f"{cpu_more:.2f}"]
    print("| " + " | ".join([name, *cells, f"{min(ways):.2f}", f"{cpu / min(ways):.2f}"]) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=sorted(cases(0)))
    asked = parser.parse_args()
    heads = ["clock, 1 thread, s", f"{asked.threads} threads, s", "ratio", "processor, 1 thread, s"]
    heads += [f"{asked.threads} threads, s", "longest way, s", "processor / longest way"]
    small = cases(3000)
    print(f"{asked.rows:,} x {COLUMNS}, best of {asked.repeats}; the same bits\n")
    print("| method | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|", flush=True)
    for name, make in cases(asked.rows).items():
        if asked.only in (None, name):
            # kernels are compiled, or loaded, before anything is timed
            timed(small[name](), asked.threads)
            show(name, make(), asked.threads, asked.repeats)


if __name__ == "__main__":
    main()
