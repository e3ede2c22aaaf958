"""MGB's protocol: five folds, of which one to four are labelled in turn; the RMSE is of the others.

Key of a cell: data ("movie_revenue", "genre_only" or "planted 0.4"), method, fraction (of the labels known), fold.
"Own best" settings are chosen on the training part alone: a quarter of its labels is hidden, and the setting of the
lowest RMSE there wins. A planted graph is another one in each fold.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from hetcore import metrics
from hetcore.collective.mgb import GBRegressor, MGBRegressor, RGBRegressor
from hetcore.data import HetData

__all__ = ["CORRELATIONS", "FRACTIONS", "METHODS", "run_cell"]

FRACTIONS = (0.2, 0.4, 0.6, 0.8)
UNTOUCHED = "the revenues"
"""Stands for no method: the labels as they are."""
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
    errors = [metrics.rmse(data.y[hidden], cls(**params).fit(data, inner).predict(data)[hidden]) for params in GRID]
    best = GRID[int(np.argmin(errors))]
    return cls(**best).fit(data, y), best


METHODS = {
    UNTOUCHED: lambda: None,
    "GB": lambda: GBRegressor(),
    "RGB": lambda: RGBRegressor(),
    "MGB": lambda: MGBRegressor(),
    "GB, own best": GBRegressor,
    "RGB, own best": RGBRegressor,
    "MGB, own best": MGBRegressor,
    "GB, as printed": lambda: GBRegressor(as_printed=True),
    "RGB, as printed": lambda: RGBRegressor(as_printed=True),
    "MGB, as printed": lambda: MGBRegressor(as_printed=True),
    "MGB, as printed, rounds that cover": lambda: MGBRegressor(as_printed=True, rounds="cover"),
    "MGB, as printed, without Rf4": lambda: MGBRegressor(as_printed=True, features=WITHOUT["rf4"]),
    "MGB, as printed, without Rf1": lambda: MGBRegressor(as_printed=True, features=WITHOUT["rf1"]),
    "MGB, without Rf4": lambda: MGBRegressor(features=WITHOUT["rf4"]),
    "MGB, without Rf1": lambda: MGBRegressor(features=WITHOUT["rf1"]),
}


@cache
def load(name: str, fold: int) -> HetData:
    """Return the data of a cell."""
    import datasets  # beside hetcore, not below it: only experiments need it

    if name.startswith("planted "):
        rho = float(name.split()[1])
        return datasets.make_autocorrelated_graph(1000, residual_correlation=rho, seed=fold)[0]
    data = datasets.load("movie_revenue")
    return data.select(sources=["genre"]) if name == "genre_only" else data


def labels(data: HetData, fraction: float, fold: int) -> Any:
    """Return the labels of as many folds of five as the fraction says, beginning with `fold`; NaN elsewhere."""
    place = np.random.default_rng(0).permutation(data.n) % 5
    return np.where((place - fold) % 5 < round(5 * fraction), data.y, np.nan)


def run_cell(data: str, method: str, fraction: float, fold: int) -> dict[str, Any]:
    """Fit to a part of the labels.

    Returns
    -------
    dict
        "error" (the RMSE on the other labels, in their unit), "seconds", "stages", "autocorrelation" (of the residuals
        over linked pairs after the last stage), or the "setting" that was chosen. For the labels as they are:
        "autocorrelation" over pairs that are both known.
    """
    given = load(data, fold)
    y = labels(given, fraction, fold)
    if method == UNTOUCHED:
        return {"autocorrelation": round(metrics.residual_autocorrelation(y, given.graphs[given.graph_names[0]]), 4)}
    hidden, began, cell = np.isnan(y), time.perf_counter(), {}
    if method.endswith("own best"):
        model, cell["setting"] = _tuned(METHODS[method], given, y, fold)
    else:
        model = METHODS[method]().fit(given, y, eval_y=given.y)
        cell["autocorrelation"] = round(model.history_[f"autocorrelation:{given.graph_names[0]}"][-1], 4)
    cell |= {"stages": model.n_stages_, "seconds": round(time.perf_counter() - began, 2)}
    return cell | {"error": float(metrics.rmse(given.y[hidden], model.predict(given)[hidden]))}
