"""What travels between a page, the job manager and its worker processes.

Data go to the workers by reference: named by a digest, pickled once, known again while the page holds them.
"""

from __future__ import annotations

import hashlib
import pickle  # between our own processes only
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

__all__ = [
    "ACTIVE",
    "ENDED",
    "DataRef",
    "FunctionTask",
    "Packed",
    "Packer",
    "RunResult",
    "Status",
    "TrainingTask",
    "UnknownRunError",
    "contribution_columns",
    "without_data",
]

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
    whole : mapping
        Where `data` are a sample of data by path: "scan" (see `studio.scans.parts`) and "within", the folders that may
        be read. Trained is on all of them, and told are the instances of the sample. Empty where `data` are all.
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
    whole: Mapping[str, Any] = field(default_factory=dict)


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
        Wall seconds of the fit and the predictions.
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


TRIES = 20


@dataclass
class Packed:
    """A task whose data are references, and the data by digest."""

    task: TrainingTask | FunctionTask
    contents: dict[str, Any]
    payloads: dict[str, bytes]

    def payload(self, digest: str) -> bytes:
        """Return the pickled data of a digest, which are not kept once they have been taken."""
        # Popped, for a payload is as large as the data; a second worker that needs it pickles once more.
        return self.payloads.pop(digest, None) or _pickled(self.contents[digest])


class Packer:
    """Replaces data in tasks by references. Data are taken as unchangeable: an object keeps the digest it first had."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}

    def pack(self, task: TrainingTask | FunctionTask) -> Packed:
        """Return the task with its data taken out."""
        packed = Packed(task, {}, {})
        if isinstance(task, TrainingTask):
            packed.task = replace(task, data=self._reference(task.data, packed))
        else:
            heavy = {name: self._reference(value, packed) for name, value in task.kwargs.items() if _heavy(value)}
            packed.task = replace(task, kwargs={**task.kwargs, **heavy})
        return packed

    def known(self, task: TrainingTask | FunctionTask) -> set[str] | None:
        """Return the digests of the task's data without reading them; None if some are new."""
        found = [self._digest(value) for value in _data(task)]
        return None if None in found else set(found)

    def _digest(self, value: Any) -> str | None:
        reference, digest = self._known.get(id(value), (None, None))
        # An id is reused once its object is gone, so the weak reference must still point to this very object.
        return digest if reference is not None and reference() is value else None

    def _reference(self, value: Any, packed: Packed) -> DataRef:
        digest = self._digest(value)
        if digest is None:
            payload = _pickled(value)
            # By content: the same file uploaded twice is one data set to the workers.
            digest = hashlib.blake2b(payload, digest_size=16).hexdigest()
            packed.payloads[digest] = payload
            self._remember(value, digest)
        packed.contents[digest] = value
        return DataRef(digest)

    def _remember(self, value: Any, digest: str) -> None:
        key = id(value)
        try:
            # The entry goes when the data go, or the table would grow with every upload.
            self._known[key] = (weakref.ref(value, lambda _: self._known.pop(key, None)), digest)
        except TypeError:  # a dict or an array: hashed each time
            self._known.pop(key, None)


def without_data(task: TrainingTask | FunctionTask) -> TrainingTask | FunctionTask:
    """Return the task without its data, to remember it by."""
    if isinstance(task, TrainingTask):
        return replace(task, data=None, y=None, eval_y=None)
    return replace(task, kwargs={name: value for name, value in task.kwargs.items() if not _heavy(value)})


def _data(task: TrainingTask | FunctionTask) -> list[Any]:
    return [task.data] if isinstance(task, TrainingTask) else [value for value in task.kwargs.values() if _heavy(value)]


def _heavy(value: Any) -> bool:
    # Parameters travel inside the task; only what may be large is worth a reference.
    return hasattr(value, "source_names") or isinstance(value, Mapping)


def _pickled(value: Any) -> bytes:
    """Return the pickle; again if meanwhile a page asked the data for something that they then keep."""
    for _ in range(TRIES):
        try:
            return pickle.dumps(value, protocol=5)
        except RuntimeError as error:
            # The message is all that tells this one RuntimeError, which passes, from others, which would come again.
            if "changed size during iteration" not in str(error):
                raise
    # The last try is made outside, so that its error is raised as it is.
    return pickle.dumps(value, protocol=5)
