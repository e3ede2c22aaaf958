"""An experiment's figure and the means behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from experiments.experiment import Experiment
from hetcore.figures import basic

__all__ = ["drawn", "means"]

HISTOGRAM_END, HISTOGRAM_BINS = 4.0, 16  # of weights over an equal share; what is above counts in the last bin


def means(experiment: Experiment, cells: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return mean, standard error and count over the seeds, by all other parts of the key."""
    # All parts of a key but the seed, over which the mean is.
    parts = [part for part in experiment.cells if part != experiment.seed]
    error = pl.col(measure).std() / pl.col(measure).count().sqrt()
    return cells.group_by(parts, maintain_order=True).agg(
        pl.col(measure).mean().alias("mean"), error.alias("error of the mean"), pl.col(measure).count().alias("count")
    )


def drawn(experiment: Experiment, cells: pl.DataFrame) -> dict[str, Any] | None:
    """Return figures by panel: a line for each method over the x axis, or a bar for each method."""
    measure = experiment.figure.get("y", "error")
    if not cells.height or measure not in cells.columns:
        return None
    if experiment.figure.get("kind") == "histogram":
        return _histogram(experiment, cells, measure)
    table = means(experiment, cells, measure).drop_nulls("mean")  # a method may have no such measure
    panels = [part for part in experiment.cells if part not in ("method", experiment.figure.get("x"), experiment.seed)]
    groups = table.group_by(panels, maintain_order=True) if panels else [((), table)]
    return {" · ".join(map(str, key)): _panel(experiment, group) for key, group in groups}


def _panel(experiment: Experiment, table: pl.DataFrame) -> dict[str, Any]:
    order = experiment.cells.get("method", [])
    y_title, x = experiment.figure.get("y_title", "error"), experiment.figure.get("x")
    if x is None:
        values = dict(zip(table["method"], table["mean"]))
        return basic.bars(values, y_title, order)
    places = sorted(set(table[x].to_list()))
    series = {name: _line(table.filter(pl.col("method") == name), x, places) for name in order}
    # A method that has no cell on a panel is left out of its legend.
    series = {name: line for name, line in series.items() if np.isfinite(line).any()}
    return basic.lines(places, series, experiment.figure.get("x_title", x), y_title, order=order)


def _line(table: pl.DataFrame, x: str, places: Sequence[Any]) -> np.ndarray:
    known = dict(zip(table[x], table["mean"]))
    return np.array([known.get(place, np.nan) for place in places], float)


def _histogram(experiment: Experiment, cells: pl.DataFrame, measure: str) -> dict[str, Any]:
    """Return how many of a cell's weights lie in each bin, on average, by method; 1 is an equal share."""
    edges = np.linspace(0.0, HISTOGRAM_END, HISTOGRAM_BINS + 1)
    counts = {}
    for method in experiment.cells["method"]:
        own = cells.filter((pl.col("method") == method) & pl.col(measure).is_not_null())[measure].to_list()
        shares = [np.array([w for w in each.values() if w is not None]) for each in own]
        # Times their number, so that 1 is an equal share however many there are.
        binned = [np.histogram(np.minimum(w * w.size, HISTOGRAM_END), edges)[0] for w in shares]
        counts |= {method: np.mean(binned, axis=0)} if binned else {}
    titles = experiment.figure.get("x_title", measure), experiment.figure.get("y_title", "count")
    return {"": basic.lines(((edges[:-1] + edges[1:]) / 2).tolist(), counts, *titles, order=list(counts))}
