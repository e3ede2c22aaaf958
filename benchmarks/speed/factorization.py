"""Time an epoch of factorization: ours, Surprise's and cornac's, on 6,040 x 3,706 with 1,000,000 ratings, D = 100.

    python -m benchmarks.speed.factorization
    python -m benchmarks.speed.factorization --factors 20 --repeats 5
    python -m benchmarks.speed.factorization --workers 1 2 4        # by strips on a LocalCluster, no peers

An epoch takes what a long fit takes more than a short one, over the epochs between, so that reading the data is
left out. Seconds are of the processor, one thread; peers and ours take turns. Medians. Only here:
`pip install scikit-surprise cornac powerlaw`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import hetcore as hc
from hetcore import model_files

USERS, ITEMS, RATINGS = 6040, 3706, 1_000_000
SHORT, LONG = 1, 6


def made(n: int = RATINGS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return codes (n, 2) and ratings (n,) of 1 to 5, some items far more popular than others."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, USERS, n)
    item = (ITEMS * rng.random(n) ** 2).astype(int)
    U, V = rng.normal(0, 0.5, (USERS, 4)), rng.normal(0, 0.5, (ITEMS, 4))
    signal = 3.5 + (U[user] * V[item]).sum(axis=1) + rng.normal(0, 0.8, n)
    return np.column_stack([user, item]), np.clip(np.rint(signal), 1, 5)


def ours(cls: type, factors: int, X: np.ndarray, y: np.ndarray) -> Callable[[int], Any]:
    """Return a fit of some epochs by one of our classes."""
    return lambda epochs: cls(factors, epochs, validation_fraction=0.0, random_state=0).fit(X, y)


def surprise(factors: int, X: np.ndarray, y: np.ndarray) -> Callable[[int], Any]:
    """Return a fit of some epochs by Surprise's SVD."""
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    table = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
    return lambda epochs: SVD(n_factors=factors, n_epochs=epochs, random_state=0).fit(data)


def cornac(factors: int, X: np.ndarray, y: np.ndarray) -> Callable[[int], Any]:
    """Return a fit of some epochs by cornac's MF."""
    from cornac.data import Dataset
    from cornac.models import MF

    data = Dataset.build(list(zip(X[:, 0].tolist(), X[:, 1].tolist(), y.tolist())))
    return lambda epochs: MF(k=factors, max_iter=epochs, use_bias=True, num_threads=1, seed=0).fit(data)


def seconds(fit: Callable[[int], Any], epochs: int) -> float:
    """Return the processor's seconds of a fit."""
    started = time.process_time()
    fit(epochs)
    return time.process_time() - started


def on_clusters(factors: int, counts: Sequence[int], X: np.ndarray, y: np.ndarray) -> None:
    """Print seconds of the processor of an epoch by strips: of the fit's process and of its busiest worker."""
    from distributed import Client, LocalCluster

    heads = "method", "workers", "the fit's process, s", "the busiest worker, s", "model file"
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    files: dict[str, bytes] = {}
    for count in counts:
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
            Client(cluster, direct_to_workers=True, set_as_default=False) as client,
        ):
            for cls in (hc.MatrixFactorization, hc.HMF):
                own, theirs, file = _epoch_by_strips(cls, factors, client, X, y)
                same = "the same" if files.setdefault(cls.__name__, file) == file else "ANOTHER"
                print(f"| {cls.__name__} | {count} | {own:.3f} | {theirs:.3f} | {same} |", flush=True)


def _epoch_by_strips(cls: type, factors: int, client: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, bytes]:
    def spent(epochs: int) -> tuple[np.ndarray, bytes]:
        before = [time.process_time(), *client.run(time.process_time).values()]
        model = cls(factors, epochs, validation_fraction=0.0, random_state=0)
        hc.distributed.fit(model, X, client, y=y)
        after = [time.process_time(), *client.run(time.process_time).values()]
        return np.subtract(after, before), model_files.dumps(model)

    spent(SHORT)
    (short, _), (long, file) = spent(SHORT), spent(LONG)
    own, *theirs = (long - short) / (LONG - SHORT)
    return own, max(theirs), file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--factors", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", help="of clusters to fit on by strips, beside no peer")
    args = parser.parse_args()
    X, y = made()
    if args.workers:
        on_clusters(args.factors, args.workers, X, y)
        return
    fits = {"biased MF": ours(hc.MatrixFactorization, args.factors, X, y), "HMF": ours(hc.HMF, args.factors, X, y)}
    fits |= {"Surprise SVD": surprise(args.factors, X, y), "cornac MF": cornac(args.factors, X, y)}
    for fit in fits.values():
        fit(1)
    spent: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(args.repeats):
        for name, fit in fits.items():
            spent[name].append((seconds(fit, LONG) - seconds(fit, SHORT)) / (LONG - SHORT))
    medians = {name: statistics.median(each) for name, each in spent.items()}
    print(f"Seconds per epoch, {USERS} x {ITEMS}, {RATINGS:,} ratings, D = {args.factors}, median of {args.repeats}")
    for name, each in medians.items():
        print(f"  {name:14s} {each:7.3f}   {each / medians['biased MF']:6.2f} times biased MF")


if __name__ == "__main__":
    main()
