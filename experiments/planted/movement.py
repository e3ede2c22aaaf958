"""Whether the default's weights still move in the second half of its rounds.

Half the sum of their absolute changes from the middle round to the last: of what tables get ("tables"), what graphs get
("graphs") and what views get ("views"). Of "lines" tables each say a line of their columns, which a fit knows after
three rounds; of "products" one says a product of two columns, which takes trees many.

Key of a cell: data (of planted ones "lines" or "products", then the task), method (whose weights), seed (of the data,
or of the split of which 30% are labelled).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.splits import label_split

__all__ = ["METHODS", "run_cell"]

COLUMNS = {"tables": "weight:", "graphs": "graph_weight:", "views": "view:"}
METHODS = tuple(COLUMNS)
ROWS, FEATURES, NOISE, LABELLED = 800, 5, 0.3, 0.3


def run_cell(data: str, method: str, seed: int) -> dict[str, Any]:
    """Return the "change", in [0, 1], and how many "rounds" the fit had."""
    weights = _history(data, seed).select(pl.col(f"^{COLUMNS[method]}.*$")).to_numpy()
    change = np.abs(weights[-1] - weights[len(weights) // 2])
    return {"change": float(0.5 * change.sum()), "rounds": len(weights)}


@lru_cache(maxsize=8)
def _history(name: str, seed: int) -> pl.DataFrame:
    import datasets  # beside hetcore, not below it: only experiments need it

    kind, _, task = name.partition(", ")
    if kind == "products":
        given = _products(task, seed)
    elif kind == "lines":
        planted = {"task": task, "labelled": 0.4, "seed": seed}
        given, _ = datasets.make_heterogeneous(600, 3, together="parts", **planted)
    else:
        given = datasets.load(name)
        given = given.with_target(label_split(given, LABELLED, seed), task=given.target_kind)
    model = hc.GBCRegressor if given.target_kind == "regression" else hc.GBCClassifier
    return model(random_state=seed).fit(given).history_


def _products(task: str, seed: int) -> HetData:
    """Return a table with a line, one with a product, a weak one and one of noise; two graphs that link alike rows."""
    rng = np.random.default_rng(seed)
    tables = dict(zip(("line", "product", "weak", "noise"), rng.normal(size=(4, ROWS, FEATURES))))
    product = tables["product"][:, 0] * tables["product"][:, 1]
    signal = tables["line"][:, 0] + product + 0.5 * tables["weak"][:, 0]
    y = signal + NOISE * rng.normal(size=ROWS)
    ids = np.array([f"i{row}" for row in range(ROWS)])
    known = rng.random(ROWS) < 0.5
    given = {name: pl.DataFrame(X).with_columns(id=pl.Series(ids)) for name, X in tables.items()}
    graphs = {"of all": _alike(signal, ids, rng), "of the product": _alike(product, ids, rng)}
    labels = y if task == "regression" else np.where(y > np.median(y), "high", "low")
    return HetData(given, graphs, (ids[known], labels[known]), task=task)


def _alike(values: np.ndarray, ids: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
    """Return links of each row with the next three by their values, which are seen through noise."""
    order = ids[np.argsort(values + NOISE * rng.normal(size=values.size))]
    near = [(order[:-step], order[step:]) for step in (1, 2, 3)]
    first, second = (np.concatenate(ends) for ends in zip(*near))
    return pl.DataFrame({"a": first, "b": second})
