"""Table 4 of GBC: one, two, four and all sources of the film ratings, drawn at random.

Key of a cell: data, method (an arm, then how many sources), fraction (of the labels known), split (seed of the labels
and of the draw). A draw has at least one table, since a graph alone holds no columns; instances are those of the
uniform setting, so that only the number of sources differs.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from experiments.consensus import fitted, given
from hetcore import metrics
from hetcore.data import HetData
from hetcore.data.splits import label_split

__all__ = ["ARMS", "COUNTS", "METHODS", "run_cell"]

ARMS = ("as printed", "tempered", "GBC")
COUNTS = ("1 source", "2 sources", "4 sources", "all sources")
METHODS = tuple(f"{arm}, {count}" for arm in ARMS for count in COUNTS)


def run_cell(data: str, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Fit to some sources; return "error", "seconds" and which "sources" were drawn."""
    arm, count = method.split(", ")
    whole = given(data, "uniform", split)
    # By the split's seed, so that all arms are given the same sources.
    drawn = some_sources(whole, count, split)
    y = label_split(drawn, fraction, split)
    hidden = drawn.labelled & ~drawn.with_target(y, task=drawn.target_kind).labelled
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = fitted(drawn, y, arm, split)[0].predict(drawn)[hidden]
    seconds = round(time.perf_counter() - started, 2)
    metric = metrics.error_rate if drawn.target_kind == "classification" else metrics.rmse
    names = [*drawn.source_names, *drawn.graph_names]
    return {"error": float(metric(drawn.y[hidden], predicted)), "seconds": seconds, "sources": names}


def some_sources(data: HetData, count: str, split: int) -> HetData:
    """Return the data with that many tables and graphs, at least one of them a table."""
    names = [*data.source_names, *data.graph_names]
    if count == "all sources":
        return data
    rng = np.random.default_rng(split)
    first = rng.choice(data.source_names)
    # Tables and graphs alike, as the paper counts sources.
    others = rng.permutation([name for name in names if name != first])[: int(count.split()[0]) - 1]
    chosen = {first, *others}
    return data.select(
        [name for name in data.source_names if name in chosen], [name for name in data.graph_names if name in chosen]
    )
