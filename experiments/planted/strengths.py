"""Whether lambda0 and lambda1 are felt: held-out errors on planted data with few labels, as each moves from 0.

"lambda0": six tables, each of which sees the whole signal through its own noise, and 75 labels: what the tables agree
on, on rows without a label, is nearer to the truth than what one of them says. "lambda1": two weak tables and a graph
whose linked instances are alike, 40 labels.

Key of a cell: data (which of the two), method ("0", "1", ...: its value; the other one is 0), seed (of the data).
"""

from __future__ import annotations

from typing import Any

import hetcore as hc
from hetcore.metrics import rmse

__all__ = ["METHODS", "PLANTED", "run_cell"]

PLANTED: dict[str, dict[str, Any]] = {
    "lambda0": {
        "n_sources": 6, "informativeness": 0.5, "n_features": 20, "coverage": 1.0, "n_graphs": 0, "labelled": 0.15,
    },
    "lambda1": {
        "n_sources": 2, "informativeness": 0.3, "coverage": 1.0, "n_graphs": 1, "homophily": 0.9, "labelled": 0.08,
    },
}  # fmt: skip
METHODS = ("0", "0.1", "0.3", "1", "3", "10", "30", "100", "300")


def run_cell(data: str, method: str, seed: int) -> dict[str, Any]:
    """Return the "error", RMSE on the instances without a label, in deviations of the signal."""
    import datasets  # beside hetcore, not below it: only experiments need it

    given, truth = datasets.make_heterogeneous(500, n_noise_sources=0, task="regression", seed=seed, **PLANTED[data])
    strengths = {"lambda0": 0.0, "lambda1": 0.0} | {data: float(method)}
    hidden = ~given.labelled
    predicted = hc.GBCRegressor(**strengths, random_state=seed).fit(given).predict(given)
    return {"error": float(rmse(truth.y[hidden], predicted[hidden]))}
