"""What travels between a page, the job manager and its worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

__all__ = [
    "ACTIVE", "ENDED", "FunctionTask", "DataRef", "RunResult", "Status", "TrainingTask", "UnknownRunError",
    "contribution_columns",
]  # fmt: skip

ACTIVE = ("queued", "starting", "compiling", "running", "paused", "predicting")
ENDED = ("finished", "stopped", "failed")


class UnknownRunError(LookupError):
    """A run id that this studio does not know, or that belongs to someone else."""


@dataclass(frozen=True)
class TrainingTask:
    """One training.

    Attributes
    ----------
    estimator : str
        Class name of an estimator of hetcore, such as "GBCClassifier".
    params : mapping
        Constructor parameters.
    data : HetData or mapping
        The data before `operations`; for estimators that take plain arrays, the arguments of fit by name, "X" among
        them.
    y : (n,) array or None
        Labels to train on, aligned with `data.ids`; None takes those of the data.
    eval_y : (n,) array or None
        Labels to score but never train on.
    operations : sequence of mappings
        What-if operations, see `studio.scenarios`.
    fit_params : mapping
        Further arguments of fit, such as {"graph": "producer"}.
    form : mapping
        How a HetData becomes the arrays of fit, see `studio.forms`; empty for an estimator that takes HetData.
    digest : str
        Of the data: what tells, once they are gone, whether a run was trained on those in use.
    """

    estimator: str
    params: Mapping[str, Any]
    data: Any
    y: np.ndarray | None = None
    eval_y: np.ndarray | None = None
    operations: Sequence[Mapping[str, Any]] = ()
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True)
class FunctionTask:
    """A call of one of the functions that `studio.jobs.worker_tasks.FUNCTIONS` allows, as "package.module:function"."""

    path: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DataRef:
    """Stands in a task for data that a worker already holds under this digest."""

    digest: str


@dataclass(frozen=True)
class Status:
    """Where a run stands.

    Attributes
    ----------
    state : str
        "queued", "starting" (its process is), "compiling", "running", "paused", "predicting" (the fit is over, its
        predictions and its file are made), "finished", "stopped" or "failed".
    place : int
        Runs ahead of it in the queue plus one; 0 once it has left the queue.
    rounds, total : int
        Rounds done and asked for; total is 0 before the first event.
    seconds : float
        Since it left the queue, without the time it was paused.
    seconds_left : float or None
        Estimated from the rounds done, while running; it never grows, and 0 says that the run takes longer.
    stopping : bool
        Stop was asked and the round in progress has not ended yet.
    message : str
        One sentence for the person, empty when there is nothing to say.
    """

    run_id: str
    state: str
    place: int = 0
    rounds: int = 0
    total: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    stopping: bool = False
    message: str = ""

    @property
    def active(self) -> bool:
        """Whether the run may still change."""
        return self.state in ACTIVE


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
        Wall seconds of the fit and the predictions.
    """

    model: bytes | None = None
    predictions: pl.DataFrame | None = None
    contributions: pl.DataFrame | None = None
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
        tables = (self.predictions, self.contributions, self.history)
        return len(self.model or b"") + sum(int(table.estimated_size()) for table in tables if table is not None)


def contribution_columns(sources: Iterable[str], graphs: Iterable[str]) -> list[str]:
    """Return a column name for each source and graph, all different: no source can take the place of ids or a graph."""
    taken = ("graph:", "source:")
    named = [f"source:{name}" if name == "id" or name.startswith(taken) else name for name in sources]
    return [*named, *(f"graph:{name}" for name in graphs)]
