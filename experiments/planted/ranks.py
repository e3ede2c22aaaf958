"""Learned source weights against planted truth: five informative sources and two of noise, half of the labels known.

Key of a cell: data ("regression" or "classification", then "views" where every source sees the whole signal through
its own noise, or "parts" where each sees a part of it), method, seed (of the data).
"""

from __future__ import annotations

from typing import Any

from scipy.stats import spearmanr

import hetcore as hc
from experiments.consensus import TEMPERED

__all__ = ["METHODS", "run_cell"]

MAKERS: dict[str, dict[str, Any]] = {
    "GBC": {},
    "as printed": {"as_printed": True, "lambda0": 0.03, "lambda1": 0.03, "n_iterations": 60},
    "tempered": TEMPERED | {"lambda0": 0.03, "lambda1": 0.03, "n_iterations": 60},
}
METHODS = tuple(MAKERS)


def run_cell(data: str, method: str, seed: int) -> dict[str, Any]:
    """Return "correlation": Spearman's, of learned weights and the planted share of the signal."""
    import datasets  # beside hetcore, not below it: only experiments need it

    task, together = data.split(", ")
    planted = {"n_noise_sources": 2, "task": task, "together": together, "labelled": 0.5, "n_graphs": 2, "seed": seed}
    given, truth = datasets.make_heterogeneous(600, 5, **planted)
    model = (hc.GBCRegressor if task == "regression" else hc.GBCClassifier)(**MAKERS[method]).fit(given)
    learned, known = model.source_weights_, truth.informativeness
    pairs = [(learned[name], known[name]) for name in given.source_names]
    return {"correlation": float(spearmanr(*zip(*pairs)).statistic)}
