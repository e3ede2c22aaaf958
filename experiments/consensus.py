"""GBC's protocol: on a share of the labels of a data set, a method is fitted; its error is that on the others.

Key of a cell: data, setting ("uniform" or "non_overlapping": 30% of the instances lose half of their sources), method,
fraction (of the labels known), split (seed).
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from hetcore import metrics
from hetcore.baselines import peers
from hetcore.baselines.features import joined_features, neighbor_means
from hetcore.consensus.gbc import GBCClassifier, GBCRegressor
from hetcore.data import HetData
from hetcore.data.splits import label_split, non_overlapping

__all__ = ["METHODS", "run_cell"]

PRINTED: dict[str, Any] = {"as_printed": True, "lambda0": 0.03, "lambda1": 0.03, "n_iterations": 60}
TREES: dict[str, Any] = {"n_iterations": 200, "max_depth": 4}


class HistogramGBDT:
    """scikit-learn's histogram GBDT on the joined tables and, per graph and class, the labelled neighbours' mean."""

    def fit(self, data: HetData, y: Any) -> HistogramGBDT:
        """Fit to the labels y (n,)."""
        known = data.with_target(y, task=data.target_kind).labelled
        self._classes = data.classes
        codes = np.full((data.n, max(1, len(self._classes))), np.nan)
        if self._classes:
            codes[known] = np.array(y[known])[:, None] == np.array(self._classes)
        else:
            codes[known, 0] = y[known].astype(float)
        means = [neighbor_means(graph, codes) for graph in data.graphs.values()]
        self._X = np.hstack([joined_features(data, adjacency=False, fill="nan"), *means])
        trees = HistGradientBoostingClassifier if self._classes else HistGradientBoostingRegressor
        self._model = trees(max_iter=100, learning_rate=0.05, max_leaf_nodes=8, random_state=0)
        self._model.fit(self._X[known], y[known].astype(str if self._classes else float))
        return self

    def predict(self, data: HetData) -> Any:
        """Predict the instances of the data it was fitted on."""
        return self._model.predict(self._X)


def _consensus(data: HetData, **params: Any) -> Any:
    return (GBCClassifier if data.target_kind == "classification" else GBCRegressor)(**params)


GBC: dict[str, dict[str, Any]] = {
    "GBC": {},
    "GBC, equal weights": {"weights": "equal"},
    "GBC, λ0 = λ1 = 0": {"lambda0": 0.0, "lambda1": 0.0},
    "GBC, trees only": {"base_learner": "tree"},
    "GBC, kernel ridge only": {"base_learner": "kernel", "n_iterations": 4},
    "GBC, every step whole": {"subsample": 1.0},
    "GBC, λ0 = 1": {"lambda0": 1.0},
    "GBC, λ1 = 1": {"lambda1": 1.0},
    "GBC, weights by (4.10)": {"weights": "entropy"},
    "as printed": PRINTED,
    "as printed, λ0 = 0": PRINTED | {"lambda0": 0.0},
    "as printed, λ1 = 0": PRINTED | {"lambda1": 0.0},
    "as printed, λ0 = λ1 = 0": PRINTED | {"lambda0": 0.0, "lambda1": 0.0},
    "as printed, equal weights": PRINTED | {"weights": "equal"},
}
"""Parameters of GBC by method."""
PEERS = {
    "histogram GBDT + neighbour means": HistogramGBDT,
    "SVM, joined": peers.JoinedSVM,
    "SVM, tables only": lambda: peers.JoinedSVM(adjacency=False),
    "SVM, self-trained": peers.SelfTrainedSVM,
    "GBDT + neighbour means": lambda: peers.NeighborMeansGBDT(**TREES),
    "GBDT, tables only": lambda: peers.JoinedGBDT(adjacency=False, **TREES),
    "GBDT, joined": lambda: peers.JoinedGBDT(**TREES),
    "GBDT, self-trained": lambda: peers.SelfTrainedGBDT(n_rounds=1, **TREES),
}
METHODS = (*GBC, *PEERS)


@cache
def _loaded(name: str) -> HetData:
    import datasets  # beside hetcore, not below it: only experiments need it

    return datasets.load(name)


def run_cell(data: str, setting: str, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Fit on a share of the labels.

    Returns
    -------
    dict
        "error" (an error rate, or an RMSE in the labels' unit), "seconds", and "weights" by source where there are.
    """
    given = _loaded(data) if setting == "uniform" else non_overlapping(_loaded(data), seed=split)
    y = label_split(given, fraction, split)
    hidden = given.labelled & ~given.with_target(y, task=given.target_kind).labelled
    model = _consensus(given, **GBC[method]) if method in GBC else PEERS[method]()
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        predicted = model.fit(given, y).predict(given)[hidden]
    seconds = time.perf_counter() - started
    metric = metrics.error_rate if given.target_kind == "classification" else metrics.rmse
    cell = {"error": float(metric(given.y[hidden], predicted)), "seconds": round(seconds, 2)}
    weights = getattr(model, "source_weights_", None)
    return cell | ({"weights": {name: round(w, 4) for name, w in weights.items()}} if weights else {})
