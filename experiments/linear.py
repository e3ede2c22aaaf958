"""Linear models: HLR on the line of Figure 2, and the linear model of ln sigma^2 on the paper's regression sets.

Key of a cell: data ("line", or a regression), noise ("even", "clean" or "noisy"), method, split.

"line": 30 points, y ~ N(x, 0.01), x uniform in [0, 1]; HLR is given eps_i^2, as (4) has it, and LR is not. "score" is
the mean squared distance to the clean line, on a grid.

Others: Table 4's protocol, 80% of the rows to train on; "score" is the MSE on the others, "nll" their mean negative
log-likelihood. "least squares" is the same model with a constant deviation: same ridge.

    HETCORE_DATA=../shared/data python -m experiments.linear --splits 8 [--half reporting]

prints both beside each other on the sets of a half that miss no value (labels as they are), with standard errors over
splits.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from experiments.experiment import info
from experiments.heteroscedastic import divided, noisy, score, table
from hetcore import metrics
from hetcore.heteroscedastic.hlr import HLR
from hetcore.heteroscedastic.linear_deviation import HeteroscedasticLinearRegression
from hetcore.numerics import standard_error

__all__ = ["METHODS", "main", "run_cell"]

POINTS, VARIANCE = 30, 0.01
MAKERS: dict[str, dict[str, Any]] = {"linear deviation": {}, "least squares": {"deviation": "constant"}}
METHODS = ("HLR", "LR", *MAKERS)
HALVES = {"choosing": "hgbm-intervals", "reporting": "hgbm-uncertainty"}  # whose sets they are


def run_cell(data: str, noise: str, method: str, split: int) -> dict[str, Any]:
    """Fit and score; see the module's docstring."""
    if data == "line":
        return _line(method, split)
    X, y = table(data)
    train, test = divided(y.size, 0.8, split)
    labels = noisy(y[train], split) if noise == "noisy" else y[train]
    model = HeteroscedasticLinearRegression(**MAKERS[method]).fit(X[train], labels)
    mean, deviation = model.predict(X[test], return_std=True)
    return {"score": score(mean, y[test]), "nll": metrics.gaussian_nll(y[test], mean, deviation)}


def _line(method: str, split: int) -> dict[str, Any]:
    rng = np.random.default_rng([split, 2])
    x = rng.uniform(0.0, 1.0, POINTS)
    strayed = rng.normal(0.0, np.sqrt(VARIANCE), POINTS)
    model = HLR().fit(x[:, None], x + strayed, squared_errors=strayed**2 if method == "HLR" else None)
    grid = np.linspace(0.0, 1.0, 101)
    return {"score": score(model.predict(grid[:, None]), grid)}


def main(arguments: list[str] | None = None) -> int:
    """Print MSE and NLL of the linear deviation against least squares on a half's sets."""
    parser = argparse.ArgumentParser("python -m experiments.linear", description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES, default="choosing")
    parser.add_argument("--splits", type=int, default=8)
    args = parser.parse_args(arguments)
    sys.stdout.write("|  | rows, columns | MSE / least squares' | most | NLL less least squares' | median |\n")
    sys.stdout.write(f"|{' --- |' * 6}\n")
    for data in info(HALVES[args.half]).cells["data"]:
        if np.isnan(table(data)[0]).any():
            continue
        pairs = [[run_cell(data, "clean", method, split) for method in MAKERS] for split in range(args.splits)]
        ratios = np.array([ours["score"] / theirs["score"] for ours, theirs in pairs])
        gaps = np.array([ours["nll"] - theirs["nll"] for ours, theirs in pairs])
        size = ", ".join(f"{each:,}" for each in table(data)[0].shape)
        mse = f"{np.exp(np.log(ratios).mean()):.3f} | {ratios.max():.2f}"
        nll = f"{gaps.mean():+.3f} ± {standard_error(gaps):.3f} | {np.median(gaps):+.3f}"
        sys.stdout.write(f"| {data.removeprefix('noise_')} | {size} | {mse} | {nll} |\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
