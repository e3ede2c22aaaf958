"""Run the cells of the MGB tables: the paper's protocol on movie_revenue, its ablations, and planted graphs.

Each finished cell is one line of docs/results/collective.jsonl; a cell that stands there is not run again. Instances
are dealt into five folds; 1, 2, 3 or 4 of them, in turn, are labelled, and the RMSE is of the others. "Own best"
settings are chosen on the training part alone: a quarter of its labels is hidden, and the setting of the lowest RMSE
there wins.

    HETCORE_DATA=../shared/data python -m benchmarks.collective_cells movie_revenue genre_only planted
    python -m benchmarks.results > docs/results.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

import datasets
import hetcore as hc
from benchmarks.cells import RESULTS, finished, run_cells
from hetcore.data import HetData

CELLS = RESULTS / "collective.jsonl"
NAMES = ("data", "method", "fraction", "fold")
FRACTIONS = (0.2, 0.4, 0.6, 0.8)
CORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.8)
WITHOUT = {f"rf{k}": tuple(f"rf{j}" for j in range(1, 5) if j != k) for k in range(1, 5)}

# The settings among which each model's own best is chosen: all alike but for what a model has of its own.
GRID: list[dict[str, Any]] = [
    {},
    {"first_trees": 60, "max_depth": 5},
    {"first_trees": 150, "max_depth": 3},
]


def _tuned(cls: Any, data: HetData, y: Any, fold: int) -> tuple[Any, dict[str, Any]]:
    """Return the model of the setting that is best on a hidden quarter of the labels, fitted to all, and that."""
    known = np.flatnonzero(~np.isnan(y))
    hidden = np.random.default_rng(1000 + fold).permutation(known)[: known.size // 4]
    inner = y.copy()
    inner[hidden] = np.nan
    errors = [_rmse(cls(**params).fit(data, inner).predict(data)[hidden], data.y[hidden]) for params in GRID]
    best = GRID[int(np.argmin(errors))]
    return cls(**best).fit(data, y), best


def _rmse(predicted: Any, true: Any) -> float:
    return float(np.sqrt(((predicted - true) ** 2).mean()))


METHODS = {
    "GB": lambda: hc.GBRegressor(),
    "RGB": lambda: hc.RGBRegressor(),
    "MGB": lambda: hc.MGBRegressor(),
    "GB, own best": hc.GBRegressor,
    "RGB, own best": hc.RGBRegressor,
    "MGB, own best": hc.MGBRegressor,
    "GB, as printed": lambda: hc.GBRegressor(as_printed=True),
    "RGB, as printed": lambda: hc.RGBRegressor(as_printed=True),
    "MGB, as printed": lambda: hc.MGBRegressor(as_printed=True),
    "MGB, as printed, rounds that cover": lambda: hc.MGBRegressor(as_printed=True, rounds="cover"),
    "MGB, as printed, without Rf4": lambda: hc.MGBRegressor(as_printed=True, features=WITHOUT["rf4"]),
    "MGB, as printed, without Rf1": lambda: hc.MGBRegressor(as_printed=True, features=WITHOUT["rf1"]),
    "MGB, without Rf4": lambda: hc.MGBRegressor(features=WITHOUT["rf4"]),
    "MGB, without Rf1": lambda: hc.MGBRegressor(features=WITHOUT["rf1"]),
}
PLANTED = ("GB", "RGB", "MGB")


def load(name: str, fold: int) -> HetData:
    """Return the data of a cell; a planted graph is another one in each fold."""
    if name.startswith("planted "):
        rho = float(name.split()[1])
        return datasets.make_autocorrelated_graph(1000, residual_correlation=rho, seed=fold)[0]
    data = datasets.load("movie_revenue")
    return data.select(sources=["genre"]) if name == "genre_only" else data


def labels(data: HetData, fraction: float, fold: int) -> Any:
    """Return the labels of as many folds of five as the fraction says, beginning with `fold`; NaN elsewhere."""
    place = np.random.default_rng(0).permutation(data.n) % 5
    return np.where((place - fold) % 5 < round(5 * fraction), data.y, np.nan)


def run_cell(name: str, method: str, fraction: float, fold: int) -> dict[str, Any]:
    """Fit to a part of the labels and return the RMSE on the others."""
    data = load(name, fold)
    y = labels(data, fraction, fold)
    hidden, began, cell = np.isnan(y), time.perf_counter(), {}
    if method.endswith("own best"):
        model, cell["setting"] = _tuned(METHODS[method], data, y, fold)
    else:
        model = METHODS[method]().fit(data, y, eval_y=data.y)
        cell["autocorrelation"] = round(model.history_[f"autocorrelation:{data.graph_names[0]}"][-1], 4)
    cell |= {"stages": model.n_stages_, "seconds": round(time.perf_counter() - began, 2)}
    return cell | {"error": _rmse(model.predict(data)[hidden], data.y[hidden])}


def done() -> dict[tuple, dict[str, Any]]:
    """Return the finished cells by (data, method, fraction, fold)."""
    return finished(CELLS, NAMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", choices=("movie_revenue", "genre_only", "planted"))
    parser.add_argument("--method", choices=list(METHODS), nargs="+", default=list(METHODS))
    parser.add_argument("--folds", type=int, nargs=2, default=(0, 5), metavar=("FIRST", "STOP"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    keys = []
    for fold in range(*args.folds):
        for name in args.data:
            if name == "planted":
                keys += [(f"planted {r}", m, 0.4, fold) for r in CORRELATIONS for m in PLANTED if m in args.method]
            else:
                keys += [(name, method, fraction, fold) for method in args.method for fraction in FRACTIONS]
    for cell in run_cells(CELLS, NAMES, keys, run_cell):
        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
