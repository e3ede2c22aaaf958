"""MGB's protocol: five folds, of which one to four are labelled in turn; the RMSE is of the others.

Key of a cell: data ("movie_revenue", "genre_only" or "planted 0.4"), method, fraction (of the labels known), fold.
A planted graph is another one in each fold.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from hetcore import metrics
from hetcore.collective.mgb import GBRegressor, MGBRegressor, RGBRegressor
from hetcore.data import Graph, HetData

__all__ = ["METHODS", "run_cell"]

NETWORK = "the network"
"""Stands for no method: the graph and the labels as they are."""
FIVE_NODES = {"max_depth": -1, "max_leaf_nodes": 3}
"""l = 5 as the number of nodes of a tree, which the boxes call it, in place of its depth."""

METHODS = {
    NETWORK: lambda: None,
    "GB": lambda: GBRegressor(),
    "RGB": lambda: RGBRegressor(),
    "MGB": lambda: MGBRegressor(),
    "GB, as printed": lambda: GBRegressor(as_printed=True),
    "RGB, as printed": lambda: RGBRegressor(as_printed=True),
    "MGB, as printed": lambda: MGBRegressor(as_printed=True),
    "GB, as printed, five nodes": lambda: GBRegressor(as_printed=True, **FIVE_NODES),
    "RGB, as printed, five nodes": lambda: RGBRegressor(as_printed=True, **FIVE_NODES),
    "MGB, as printed, five nodes": lambda: MGBRegressor(as_printed=True, **FIVE_NODES),
    "MGB, as printed, rounds that cover": lambda: MGBRegressor(as_printed=True, rounds="cover"),
    "MGB, as printed, only Rf4": lambda: MGBRegressor(as_printed=True, features=("rf4",)),
    "MGB, as printed, only Rf1": lambda: MGBRegressor(as_printed=True, features=("rf1",)),
    "MGB, as printed, only Rf2 and Rf3": lambda: MGBRegressor(as_printed=True, features=("rf2", "rf3")),
    "MGB, as printed, without Rf4": lambda: MGBRegressor(as_printed=True, features=("rf1", "rf2", "rf3")),
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
    # One permutation for all: a fold that is labelled at 0.2 is labelled at 0.4 too.
    place = np.random.default_rng(0).permutation(data.n) % 5
    return np.where((place - fold) % 5 < round(5 * fraction), data.y, np.nan)


def run_cell(data: str, method: str, fraction: float, fold: int) -> dict[str, Any]:
    """Fit to a part of the labels.

    Returns
    -------
    dict
        "error" (the RMSE on the other labels, in their unit), "seconds", "stages", "autocorrelation" (of the residuals
        over linked pairs after the last stage). For the network: "nodes", "degree" (links by nodes, as the paper counts
        it: half of a node's neighbours), "clustering", and the labels' "autocorrelation", over all pairs.
    """
    given = load(data, fold)
    graph = given.graphs[given.graph_names[0]]
    if method == NETWORK:
        return _network(given, graph)
    y = labels(given, fraction, fold)
    hidden, began = np.isnan(y), time.perf_counter()
    # All labels are given to score by; those that were trained on are no part of it.
    model = METHODS[method]().fit(given, y, eval_y=given.y)
    cell = {"autocorrelation": round(model.history_[f"autocorrelation:{given.graph_names[0]}"][-1], 4)}
    cell |= {"stages": model.n_stages_, "seconds": round(time.perf_counter() - began, 2)}
    return cell | {"error": float(metrics.rmse(given.y[hidden], model.predict(given)[hidden]))}


def _network(data: HetData, graph: Graph) -> dict[str, Any]:
    """Return the figures of the paper's Table 1."""
    import networkx as nx  # which nothing else here needs

    a, b, _ = graph.edges()
    links = nx.Graph(zip(a.tolist(), b.tolist()))
    links.add_nodes_from(range(data.n))
    facts = {"nodes": data.n, "degree": len(a) / data.n, "clustering": nx.average_clustering(links)}
    return facts | {"autocorrelation": metrics.residual_autocorrelation(data.y.astype(float), graph)}
