"""A stored run comes back to the job manager with its rounds, after a restart and to reopen it; and so do its data."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import datasets
from hetcore.data import HetData
from hetcore.errors import DataError
from hetcore.events import RoundEnd
from studio import recipes
from studio.jobs import manager
from studio.jobs.job import Job, TrainingTask
from studio.jobs.results import RunResult
from studio.runs import kept_files, store
from studio.runs.run import Run
from studio.runs.table import example_of

__all__ = ["SIDE_BY_SIDE", "data_of", "from_bytes", "has_data", "restore", "side_by_side", "to_bytes"]

MOST_BYTES = 16 * 2**20
"""Of the rounds of one run, unpacked; those of a larger one are not kept."""
SIDE_BY_SIDE = "side by side"
"""In a run's settings: label and id of each run that its page showed together; of one alone there are none."""


def to_bytes(events: Sequence[RoundEnd]) -> bytes | None:
    """Return rounds as packed JSON; None where there are none, or too many."""
    packed = json.dumps([dataclasses.asdict(event) for event in events], default=_plain).encode()
    # Compressed, for names repeat in every round.
    return zlib.compress(packed) if events and len(packed) <= MOST_BYTES else None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not kept with a run")


def from_bytes(content: bytes) -> list[RoundEnd]:
    """Return the rounds that `to_bytes` packed.

    Raises
    ------
    DataError
        If they can't be read.
    """
    try:
        stream = zlib.decompressobj()
        # At most so much, for a small damaged block could unpack to more than the memory.
        unpacked = stream.decompress(content, MOST_BYTES)
        # A block that ends early would otherwise give a shorter run without a word.
        if not stream.eof:
            raise ValueError("cut off")
        return [RoundEnd(**fields) for fields in json.loads(unpacked)]
    except (zlib.error, ValueError, TypeError):
        raise DataError("The rounds of this run are damaged: train it again.") from None


def has_data(owner: str, run: Run) -> bool:
    """Return whether the data of an owner's run are an example, or kept here."""
    return example_of(run) is not None or kept_files.shared().find(owner, run.digest) is not None


def data_of(owner: str, run: Run) -> HetData:
    """Return the data of an owner's run, as they were before its operations.

    Raises
    ------
    LookupError
        If its files are not kept (any more).
    DataError
        If they can't be read.
    """
    if (example := example_of(run)) is not None:
        return datasets.load(example)
    recipe, files = kept_files.shared().get(owner, kept_files.shared().find(owner, run.digest) or "")
    return recipes.build(recipe, files.__getitem__)


def side_by_side(owner: str, run: Run) -> dict[str, Run]:
    """Return the runs that a page showed together with one, itself among them, by label; without deleted ones."""
    found = {}
    for label, run_id in run.settings.get(SIDE_BY_SIDE) or [[run.settings.get("label") or run.page, run.id]]:
        with contextlib.suppress(LookupError):
            found[label] = store.shared().get(owner, run_id)
    return found


def restore(owner: str, run_id: str) -> bool:
    """Give a stored run back to the manager, unless it knows it; False if the owner has no such run with rounds."""
    runs, studio = store.shared(), manager.manager()
    # The manager knows it already: asking costs a dictionary, the store a read of all its tables.
    with contextlib.suppress(manager.UnknownRunError):
        return bool(studio.status(run_id, owner, watch=False))
    try:
        run = runs.get(owner, run_id)
        rounds = runs.rounds(owner, run_id)
        # Runs that failed or were interrupted have no rounds to show.
        if run.status not in ("finished", "stopped") or rounds is None:
            return False
        job = Job(run_id, owner, _task(run), paused=False, last_seen=studio.clock(), state=run.status)
        studio.restore(dataclasses.replace(job, events=from_bytes(rounds), result=_result(owner, run)))
    except (LookupError, DataError):
        return False
    return True


def _task(run: Run) -> TrainingTask:
    settings = {name: run.settings.get(name) or {} for name in ("params", "fit", "form")}
    operations = list(run.settings.get("operations") or ())
    whole = {"scan": run.settings["data"]["scan"]} if run.settings.get("whole") else {}
    return TrainingTask(
        run.method, settings["params"], None, operations=operations, fit_params=settings["fit"], form=settings["form"],
        digest=run.digest, whole=whole,
    )  # fmt: skip


def _result(owner: str, run: Run) -> RunResult:
    runs, results = store.shared(), run.results
    return RunResult(
        model=runs.model(owner, run.id),
        predictions=runs.predictions(owner, run.id),
        contributions=runs.contributions(owner, run.id),
        additions=runs.additions(owner, run.id),
        staged=runs.staged(owner, run.id),
        history=runs.history(owner, run.id),
        source_weights=results.get("source_weights") or {},
        graph_weights=results.get("graph_weights") or {},
        scores=results.get("scores") or {},
        value=results.get("value"),
        stopped=run.status == "stopped",
        seconds=float(results.get("seconds") or 0.0),
    )
