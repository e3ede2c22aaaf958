"""Heteroscedastic linear regression beside least squares: Table 4's protocol with the paper's first method.

Key of a cell: data, noise ("clean" or "noisy": N(0, 0.1 var(y)) added to a fifth of the training rows), method, split.
70% of the rows to train on, test labels stay clean. "Least squares" is HLR with a constant deviation: same ridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.heteroscedastic import divided, noisy, table
from hetcore.heteroscedastic.linear_deviation import HeteroscedasticLinearRegression

__all__ = ["METHODS", "run_cell"]

MAKERS: dict[str, dict[str, Any]] = {"HLR": {}, "least squares": {"deviation": "constant"}}
METHODS = tuple(MAKERS)


def run_cell(data: str, noise: str, method: str, split: int) -> dict[str, Any]:
    """Fit on (noisy) training rows; return on the others "score", the MSE, and "nll", mean negative log-likelihood."""
    X, y = table(data)
    train, test = divided(y.size, 0.7, split)
    labels = noisy(y[train], float(y.var()), split) if noise == "noisy" else y[train]
    model = HeteroscedasticLinearRegression(**MAKERS[method]).fit(X[train], labels)
    mean, deviation = model.predict(X[test], return_std=True)
    nll = 0.5 * np.log(2.0 * np.pi) + np.log(deviation) + 0.5 * ((y[test] - mean) / deviation) ** 2
    return {"score": float(((y[test] - mean) ** 2).mean()), "nll": float(nll.mean())}
