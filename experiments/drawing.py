"""An experiment's figure and the means behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from experiments.experiment import Experiment
from hetcore.figures import basic

__all__ = ["drawn", "means"]


def means(experiment: Experiment, cells: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return mean, standard error and count over the seeds, by all other parts of the key."""
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
    table = means(experiment, cells, measure)
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
    series = {name: line for name, line in series.items() if np.isfinite(line).any()}
    return basic.lines(places, series, experiment.figure.get("x_title", x), y_title, order=order)


def _line(table: pl.DataFrame, x: str, places: Sequence[Any]) -> np.ndarray:
    known = dict(zip(table[x], table["mean"]))
    return np.array([known.get(place, np.nan) for place in places], float)
