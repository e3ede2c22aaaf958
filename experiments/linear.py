"""Linear models: HLR on the line of Figure 2, and the linear model of ln sigma^2 on the paper's regression sets.

Key of a cell: data ("line", or a regression), noise ("even", "clean" or "noisy"), method, split.

"line": 30 points, y ~ N(x, 0.01), x uniform in [0, 1]; HLR is given eps_i^2, as (4) has it, and LR is not. "score" is
the mean squared distance to the clean line, on a grid.

Others: Table 4's protocol, 80% of the rows to train on; "score" is the MSE on the others, "nll" their mean negative
log-likelihood. "least squares" is the same model with a constant deviation: same ridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.heteroscedastic import divided, noisy, score, table
from hetcore import metrics
from hetcore.heteroscedastic.hlr import HLR
from hetcore.heteroscedastic.linear_deviation import HeteroscedasticLinearRegression

__all__ = ["METHODS", "run_cell"]

POINTS, VARIANCE = 30, 0.01
MAKERS: dict[str, dict[str, Any]] = {"linear deviation": {}, "least squares": {"deviation": "constant"}}
METHODS = ("HLR", "LR", *MAKERS)


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
