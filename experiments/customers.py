"""GBC's protocol on made-up customers: a method is fitted where a tenth of the labels is known, and judged elsewhere.

Key of a cell: size (customers), method, seed (of the data and the fit).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import rankdata

from experiments.consensus import PRINTED, HistogramGBDT
from hetcore import metrics
from hetcore.baselines import peers
from hetcore.consensus.gbc import GBCClassifier

__all__ = ["METHODS", "run_cell"]

MAKERS = {
    "GBC": GBCClassifier,
    "GBC, equal weights": lambda: GBCClassifier(weights="equal"),
    "GBC, table only": GBCClassifier,
    "as printed": lambda: GBCClassifier(**PRINTED),
    "as printed, equal weights": lambda: GBCClassifier(**PRINTED | {"weights": "equal"}),
    "histogram GBDT + neighbour means": HistogramGBDT,
    "GBDT, table only": lambda: peers.JoinedGBDT(adjacency=False, n_iterations=200, max_depth=4),
}
METHODS = tuple(MAKERS)


@lru_cache(maxsize=1)
def _made(size: int, seed: int) -> Any:
    import datasets

    return datasets.make_customers(size, seed=seed)


def run_cell(size: int, method: str, seed: int) -> dict[str, Any]:
    """Fit one method.

    Returns
    -------
    dict
        "error" on the customers whose label is hidden, "seconds", and "quality": the rank correlation of the graphs'
        learned weights with their planted quality, where the method weighs graphs.
    """
    data, truth = _made(size, seed)
    if method.endswith("table only"):
        data = data.select(graphs=[])
    started = time.perf_counter()
    model = MAKERS[method]().fit(data, data.y)
    predicted = model.predict(data)
    seconds = time.perf_counter() - started
    hidden = ~data.labelled
    cell = {"error": float(metrics.error_rate(truth.y[hidden], predicted[hidden])), "seconds": round(seconds, 2)}
    weights = getattr(model, "graph_weights_", None)
    return cell | ({"quality": _alike(weights, truth.quality)} if weights else {})


def _alike(weights: dict[str, float], quality: Any) -> float:
    """Return Spearman's rank correlation of learned weights with planted quality; NaN where all weights are equal."""
    ranks = np.array([rankdata([weights[name] for name in weights]), rankdata([quality[name] for name in weights])])
    return float(np.corrcoef(ranks)[0, 1]) if np.ptp(ranks[0]) else float("nan")
