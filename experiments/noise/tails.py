"""Likelihood with tails: every method's density as Student's t, its degrees of freedom by rows it was not fitted to.

    HETCORE_DATA=../shared/data python -m experiments.noise.tails --splits 3

Mean and deviation stay those of the method; degrees of freedom and one factor of the deviation are of greatest
likelihood on z = residual / deviation of left-out rows: HGBM's own, of peers the tenth by which they stop, or a tenth
that they are not given. On the choosing half, whose sets HGBM's defaults were chosen on: no comparison to judge by.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import LEAST_SPREAD, LEFT_OUT, PREDICTORS
from experiments.heteroscedastic import divided, table
from hetcore.heteroscedastic.hgbm import HGBMRegressor
from hetcore.heteroscedastic.tails import log_density
from hetcore.numerics import standard_error

__all__ = ["densities", "main"]

SETS = (
    "pyrim", "bodyfat", "housing", "abalone", "cpu_small", "noise_airfoil", "noise_machine", "noise_concrete",
    "noise_energy", "noise_yacht", "noise_wine_red",
)  # fmt: skip
PEERS = ("CatBoost, early stopping", "NGBoost, early stopping", "LightGBM, two quantiles")
KINDS = ("normal", "Student's t")

Fitted = tuple[NDArray, NDArray, NDArray]  # z of left-out rows, means and deviations of later rows


def densities(y: NDArray, mean: NDArray, deviation: NDArray, z: NDArray) -> tuple[float, float]:
    """Return the mean negative log density of labels (m,) as normal, and as Student's t by the z of left-out rows."""
    normal, with_tails = (log_density(y, mean, deviation, given) for given in (None, z))
    return -float(normal.mean()), -float(with_tails.mean())


def _hgbm(X: NDArray, y: NDArray, later: NDArray) -> Fitted:
    model = HGBMRegressor().fit(X, y)
    return model.model_.scores, *model.predict(later, return_std=True)


def _peer(name: str) -> Callable[[NDArray, NDArray, NDArray], Fitted]:
    def fitted(X: NDArray, y: NDArray, later: NDArray) -> Fitted:
        kept = int((1.0 - LEFT_OUT) * y.size)
        # peers that stop by their last tenth are given it: they stop by the rows whose z are taken, as HGBM does
        stops = name.endswith("early stopping")
        given = (X, y) if stops else (X[:kept], y[:kept])
        mean, deviation, _, _ = PREDICTORS[name](*given, np.concatenate([later, X[kept:]]))
        deviation = np.maximum(deviation, LEAST_SPREAD * y.std())
        residual = y[kept:] - mean[len(later) :]
        return residual / deviation[len(later) :], mean[: len(later)], deviation[: len(later)]

    return fitted


def main(arguments: list[str] | None = None) -> int:
    """Print the NLL of HGBM, and of peers less HGBM's, on the choosing half: normal and with tails."""
    parser = argparse.ArgumentParser("python -m experiments.noise.tails", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # peers warn of what their users would set
    methods = {"HGBM": _hgbm} | {name: _peer(name) for name in args.peers}
    lowest, tables = np.zeros(2, int), dict(zip(args.sets, map(table, args.sets)))
    head = ["", *(f"{name}: {kind}" for name in methods for kind in KINDS)]
    sys.stdout.write(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n")
    for data, (X, y) in tables.items():
        found = np.array([_measured(X, y, split, list(methods.values())) for split in range(args.splits)])
        gaps = found[:, 1:] - found[:, :1]
        lowest += (gaps.mean(axis=0) > 0).all(axis=0)
        errors = standard_error(gaps, axis=0)
        ours = [f"{each:.2f}" for each in found[:, 0].mean(axis=0)]
        theirs = [f"{gap:+.2f} ± {error:.2f}" for gap, error in zip(gaps.mean(axis=0).ravel(), errors.ravel())]
        sys.stdout.write(f"| {' | '.join([data.removeprefix('noise_'), *ours, *theirs])} |\n")
        sys.stdout.flush()
    counts = "; ".join(f"{kind} {count} of {len(tables)}" for kind, count in zip(KINDS, lowest))
    sys.stdout.write(f"\nHGBM has the lowest NLL of all: {counts}.\n")
    return 0


def _measured(X: NDArray, y: NDArray, split: int, methods: list[Callable[[NDArray, NDArray, NDArray], Fitted]]) -> list:
    """Return the two NLL of each method on a split, four fifths of the rows to train on."""
    train, test = divided(y.size, 0.8, split)
    found = []
    for method in methods:
        z, mean, deviation = method(X[train], y[train], X[test])
        found.append(densities(y[test], mean, deviation, z))
    return found


if __name__ == "__main__":
    sys.exit(main())
