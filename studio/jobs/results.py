"""What a run leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

__all__ = ["RunResult", "contribution_columns"]


@dataclass(frozen=True)
class RunResult:
    """What a run leaves behind.

    Attributes
    ----------
    model : bytes or None
        The model file (`hetcore.load` reads it); None for methods that cannot be saved.
    predictions : polars.DataFrame or None
        One row per instance: "id", "label" (as trained on), "held_out", "prediction", "coverage" and, for classifiers,
        "p:CLASS"; where a method has them "std" and what `studio.uncertainty` adds.
    contributions : polars.DataFrame or None
        "id" and what each source adds to the prediction, then each graph; columns by `contribution_columns`.
    additions : polars.DataFrame or None
        The same after each round, of some instances: "id", "round" and those columns.
    staged : polars.DataFrame or None
        "id" and what is predicted after each round, columns "1" and on: the number of the class, or the number.
    history : polars.DataFrame or None
        The estimator's `history_`.
    source_weights, graph_weights : mapping of str to float
        As learned; empty where the method has none.
    scores : mapping
        "metric" ("error" or "RMSE") and its value on the labels of "train" and, if there are such, of "held_out".
    value : Any
        What a `FunctionTask` returned; of a training with intervals, their coverage (`studio.uncertainty`).
    note : str
        A sentence for the person about how it was done, empty when there is nothing to say.
    stopped : bool
        Whether the person stopped it: the model is that of the rounds done.
    seconds : float
        Wall seconds of the fit and the predictions, without pauses.
    """

    model: bytes | None = None
    predictions: pl.DataFrame | None = None
    contributions: pl.DataFrame | None = None
    additions: pl.DataFrame | None = None
    staged: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    source_weights: Mapping[str, float] = field(default_factory=dict)
    graph_weights: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    note: str = ""
    stopped: bool = False
    seconds: float = 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the model and the tables, about what it takes to keep the result."""
        tables = (self.predictions, self.contributions, self.additions, self.staged, self.history)
        return len(self.model or b"") + sum(int(table.estimated_size()) for table in tables if table is not None)


def contribution_columns(sources: Iterable[str], graphs: Iterable[str]) -> list[str]:
    """Return a column name for each source and graph, all different: no source can take the place of ids or a graph."""
    taken = ("graph:", "source:")
    # A source may be called "id" or "graph:cites"; prefixed it cannot be taken for the column of that name.
    named = [f"source:{name}" if name == "id" or name.startswith(taken) else name for name in sources]
    return [*named, *(f"graph:{name}" for name in graphs)]
