"""Run the cells of the GBC tables: data set x setting x method x labelled share x split.

Each finished cell is one line of docs/results/consensus.jsonl; a cell that stands there is not run again, so a run that
was stopped goes on where it was. Splits are outermost: whatever has been run is complete over the methods for some
splits.

    HETCORE_DATA=../shared/data python -m benchmarks.consensus_cells mfeat terrorist_attacks movie_ratings
    python -m benchmarks.results > docs/results.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import datasets
from benchmarks.cells import RESULTS, finished, run_cells
from hetcore import baselines
from hetcore._joined import joined_features, neighbor_means
from hetcore.data import HetData
from hetcore.data.splits import label_split, non_overlapping

CELLS = RESULTS / "consensus.jsonl"
NAMES = ("data", "setting", "method", "fraction", "split")
FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
SETTINGS = ("uniform", "non_overlapping")
TREES: dict[str, Any] = {"n_iterations": 200, "max_depth": 4}


def _gbc(data: HetData, **params: Any) -> Any:
    import hetcore as hc

    return (hc.GBCClassifier if data.target_kind == "classification" else hc.GBCRegressor)(**params)


def _printed(data: HetData, **params: Any) -> Any:
    return _gbc(data, **({"as_printed": True, "lambda0": 0.03, "lambda1": 0.03, "n_iterations": 60} | params))


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


METHODS = {
    "GBC": lambda data: _gbc(data),
    "GBC, equal weights": lambda data: _gbc(data, weights="equal"),
    "GBC, λ0 = λ1 = 0": lambda data: _gbc(data, lambda0=0.0, lambda1=0.0),
    "GBC, trees only": lambda data: _gbc(data, base_learner="tree"),
    "GBC, kernel ridge only": lambda data: _gbc(data, base_learner="kernel", n_iterations=4),
    "GBC, every step whole": lambda data: _gbc(data, subsample=1.0),
    "GBC, λ0 = 1": lambda data: _gbc(data, lambda0=1.0),
    "GBC, λ1 = 1": lambda data: _gbc(data, lambda1=1.0),
    "GBC, weights by (4.10)": lambda data: _gbc(data, weights="entropy"),
    "as printed": _printed,
    "as printed, λ0 = 0": lambda data: _printed(data, lambda0=0.0),
    "as printed, λ1 = 0": lambda data: _printed(data, lambda1=0.0),
    "as printed, λ0 = λ1 = 0": lambda data: _printed(data, lambda0=0.0, lambda1=0.0),
    "as printed, equal weights": lambda data: _printed(data, weights="equal"),
    "histogram GBDT + neighbour means": lambda data: HistogramGBDT(),
    "SVM, joined": lambda data: baselines.JoinedSVM(),
    "SVM, tables only": lambda data: baselines.JoinedSVM(adjacency=False),
    "SVM, self-trained": lambda data: baselines.SelfTrainedSVM(),
    "GBDT + neighbour means": lambda data: baselines.NeighborMeansGBDT(**TREES),
    "GBDT, tables only": lambda data: baselines.JoinedGBDT(adjacency=False, **TREES),
    "GBDT, joined": lambda data: baselines.JoinedGBDT(**TREES),
    "GBDT, self-trained": lambda data: baselines.SelfTrainedGBDT(n_rounds=1, **TREES),
}


def run_cell(data: HetData, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Fit on a share of the labels, return the error on the others: an error rate, or an RMSE."""
    y = label_split(data, fraction, split)
    hidden = data.labelled & ~data.with_target(y, task=data.target_kind).labelled
    start = time.perf_counter()
    model = METHODS[method](data).fit(data, y)
    predicted = model.predict(data)[hidden]
    seconds = time.perf_counter() - start
    if data.target_kind == "classification":
        error = float((predicted != data.y[hidden]).mean())
    else:
        error = float(np.sqrt(((predicted - data.y[hidden]) ** 2).mean()))
    cell = {"error": error, "seconds": round(seconds, 2)}
    weights = getattr(model, "source_weights_", None)
    return cell | ({"weights": {name: round(w, 4) for name, w in weights.items()}} if weights else {})


def done() -> dict[tuple, dict[str, Any]]:
    """Return the finished cells by (data, setting, method, fraction, split)."""
    return finished(CELLS, NAMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", choices=datasets.names())
    parser.add_argument("--setting", choices=SETTINGS, nargs="+", default=["uniform"])
    parser.add_argument("--method", choices=list(METHODS), nargs="+", default=list(METHODS))
    parser.add_argument("--fraction", type=float, nargs="+", default=list(FRACTIONS))
    parser.add_argument("--splits", type=int, nargs=2, default=(0, 10), metavar=("FIRST", "STOP"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    loaded = {name: datasets.load(name) for name in args.data}
    keys = [
        (name, setting, method, fraction, split)
        for split in range(*args.splits)
        for name in args.data
        for setting in args.setting
        for method in args.method
        for fraction in args.fraction
    ]

    def run(name: str, setting: str, method: str, fraction: float, split: int) -> dict[str, Any]:
        data = loaded[name] if setting == "uniform" else non_overlapping(loaded[name], seed=split)
        return run_cell(data, method, fraction, split)

    for cell in run_cells(CELLS, NAMES, keys, run):
        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
