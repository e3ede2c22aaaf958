"""GBC's protocol on made-up customers: four tasks, each at several shares of known labels; and the learned weights.

Key of a cell: size (customers), task (made-up customers of their own each), method, fraction (of the labels known),
seed (of the data, the split and the fit).
"""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import rankdata

from experiments.consensus import ARMS
from hetcore import metrics
from hetcore.baselines import JoinedGBDT, JoinedHistogramBoosting
from hetcore.consensus.gbc import GBCClassifier
from hetcore.data.splits import label_split
from hetcore.tuning import cross_validate

__all__ = ["METHODS", "TASKS", "run_cell"]

TASKS = ("age group", "gender", "credit level", "rents the house")
GRID = {"lambda0": (0.0,), "lambda1": (0.0, 0.03, 0.3)}  # one table: E is f itself, so that lambda0 says nothing
ROUNDS = 40
MOST_TUNED = 20_000  # customers up to whom every cell has its own cross-validation
MAKERS = {
    "GBC": GBCClassifier,
    "GBC, table only": GBCClassifier,
    "HGB + two hops": lambda: JoinedHistogramBoosting(hops=2),
    "GBDT, table only": lambda: JoinedGBDT(adjacency=False),
}
METHODS = (*MAKERS, "as printed", "as printed, equal weights", "tempered")


@lru_cache(maxsize=1)
def _made(size: int, task: str, seed: int) -> Any:
    import datasets

    # A seed of its own for each task, or tasks would be about the same customers.
    return datasets.make_customers(size, labelled=1.0, seed=len(TASKS) * seed + TASKS.index(task))


def run_cell(size: int, task: str, method: str, fraction: float, seed: int) -> dict[str, Any]:
    """Fit one method.

    Returns
    -------
    dict
        "error" on the customers whose label is hidden, "seconds"; where graphs are weighed, "quality": the rank
        correlation of their weights with their planted quality, "weights" of all sources (table and graphs), and the
        shares of weights "low" (below half of an equal share) and "high" (above twice an equal share).
    """
    data, truth = _made(size, task, seed)
    y = label_split(data, fraction, seed)
    given = data.select(graphs=[]) if method.endswith("table only") else data
    hidden = ~data.with_target(y, task="classification").labelled
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        model = _fitted(given, y, method, seed)
        predicted = model.predict(given)[hidden]
    seconds = time.perf_counter() - started
    cell = {"error": float(metrics.error_rate(data.y[hidden], predicted)), "seconds": round(seconds, 2)}
    weights = getattr(model, "graph_weights_", None)
    return cell | (_weighed(weights, truth.quality) if weights else {})


def _fitted(data: Any, y: Any, method: str, seed: int) -> Any:
    if method in MAKERS:
        return MAKERS[method]().fit(data, y)
    params, _ = ARMS[method]
    model, seen = GBCClassifier(**params, random_state=seed), data.with_target(y, task="classification")
    if data.n > MOST_TUNED:
        return model.set_params(lambda0=0.0, lambda1=0.03, n_iterations=ROUNDS).fit(seen)
    return cross_validate(model, seen, GRID, n_folds=3, n_iterations=ROUNDS, random_state=seed).best_estimator(seen)


def _weighed(weights: dict[str, float], quality: Any) -> dict[str, Any]:
    """Return what there is to say of graph weights, which sum to one."""
    values, equal = np.array(list(weights.values())), 1.0 / len(weights)
    # Twice and half an equal share, which is what a weight is when nothing was learned of it.
    found = {"low": float(np.mean(values < equal / 2)), "high": float(np.mean(values > 2 * equal))}
    rounded = {name: round(weight, 5) for name, weight in weights.items()}
    return found | {"quality": _alike(weights, quality), "weights": rounded}


def _alike(weights: dict[str, float], quality: Any) -> float:
    """Return Spearman's rank correlation of learned weights with planted quality; NaN where all weights are equal."""
    ranks = np.array([rankdata([weights[name] for name in weights]), rankdata([quality[name] for name in weights])])
    # Weights that are all equal rank nothing.
    return float(np.corrcoef(ranks)[0, 1]) if np.ptp(ranks[0]) else float("nan")
