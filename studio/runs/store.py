"""The list of runs: kept in a database, shared by no two owners, never lost silently.

    runs = store.shared()
    run = Run(owner="anna", page="Consensus", method="GBCClassifier", dataset="mfeat", settings={...})
    run = runs.begin(run)                                           # listed as "training" from now on
    run_id = runs.end(run, history=..., predictions=..., model=...) # in its place, under the name it was given since
    runs.list("anna"); runs.get("anna", run_id); runs.model("anna", run_id)
    runs.warning                    # a sentence to show as long as something is wrong, else ""

HETCORE_DATABASE_URL names a PostgreSQL database; without it runs are in SQLite under HETCORE_HOME, or in the user's
data folder. What happens while the database does not work: `studio.runs.open_store`.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import polars as pl

from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.readers.parsed import from_stream, to_stream
from studio.runs import process
from studio.runs.database import TRAINING
from studio.runs.open_store import FAULTS, OpenStore, home
from studio.runs.run import Run, sha256

__all__ = ["Run", "RunStore", "home", "shared"]

_GONE = "This run is not in the list (any more): it may have been deleted."
CHANGES = 3
"""How often a change is tried again that something else came before."""
PINNED = "pinned"
"""Among the results of a run that is kept to compare others with."""


class RunStore(OpenStore):
    """Runs in a database, and in memory while that does not work; given as `OpenStore` is."""

    def begin(self, run: Run) -> Run:
        """Store a run as one that trains in this process, and return it so."""
        run = dataclasses.replace(run, status=TRAINING, results={**run.results, "process": process.here()})
        self.add(run)
        return run

    def add(
        self,
        run: Run,
        history: pl.DataFrame | None = None,
        predictions: pl.DataFrame | None = None,
        model: bytes | None = None,
        contributions: pl.DataFrame | None = None,
        rounds: bytes | None = None,
        additions: pl.DataFrame | None = None,
        staged: pl.DataFrame | None = None,
    ) -> str:
        """Store a run with what belongs to it, in place of the one with its id if there is one, and return its id."""
        given = {"history": _stream(history), "predictions": _stream(predictions), "model": model}
        given |= {"contributions": _stream(contributions), "rounds": rounds, "additions": _stream(additions)}
        given |= {"staged": _stream(staged)}
        blobs = {kind: content for kind, content in given.items() if content is not None}
        run = dataclasses.replace(run, blobs={kind: sha256(content) for kind, content in blobs.items()})
        self._check_place()
        # What waits goes first: a database that still fails shows there, before this run is written.
        if self._flush() and self._try(lambda database: database.put(run, blobs) or True, writes=True):
            self._memory.delete(run.owner, run.id)
            self._mark()
        else:
            self._memory.put(run, blobs)
        return run.id

    def end(self, run: Run, **parts: Any) -> None:
        """Store a run that has ended, as `add` does, with the name and pin that it was given meanwhile.

        One that its owner deleted while it trained stays deleted.
        """
        if (run.owner, run.id) in self._deleted:
            return
        with contextlib.suppress(LookupError):
            now = self.get(run.owner, run.id)
            pin = {PINNED: True} if now.results.get(PINNED) else {}
            run = dataclasses.replace(run, name=now.name, results=run.results | pin)
        self.add(run, **parts)

    def list(self, owner: str, page: str | None = None) -> list[Run]:
        """Return the owner's runs, newest first; of one page where given."""
        self._check_place()
        if self._fault:
            self._flush()
        stored, damaged = self._try(lambda database: database.runs(owner)) or ([], 0)
        self._left_out = f"{counted(damaged, 'stored run')} left out, for the database was damaged there."
        self._left_out = self._left_out if damaged else ""
        if self._file is not None and self._database is not None:
            self._notices = self._try(lambda database: database.notices()) or self._notices
        # Memory last: what waits there is newer than what the database has under the same id.
        runs = {run.id: run for run in [*stored, *self._memory.runs(owner)[0]]}
        return [run for run in sorted(runs.values(), key=_age) if page in (None, run.page)]

    def get(self, owner: str, run_id: str) -> Run:
        """Return a run.

        Raises
        ------
        LookupError
            If the owner has no such run.
        """
        # Likewise memory first.
        run = self._memory.get(owner, run_id) or self._try(lambda database: database.get(owner, run_id))
        if run is None:
            raise LookupError(_GONE)
        return run

    def history(self, owner: str, run_id: str) -> pl.DataFrame | None:
        """Return the history of a run, one row a round; None if it has none."""
        return _frame(self._blob(owner, run_id, "history"))

    def predictions(self, owner: str, run_id: str) -> pl.DataFrame | None:
        """Return the predictions of a run, one row an instance; None if it has none."""
        return _frame(self._blob(owner, run_id, "predictions"))

    def contributions(self, owner: str, run_id: str) -> pl.DataFrame | None:
        """Return what each source adds to each prediction of a run; None if that was not kept."""
        return _frame(self._blob(owner, run_id, "contributions"))

    def additions(self, owner: str, run_id: str) -> pl.DataFrame | None:
        """Return what each source adds to some predictions after each round of a run; None if that was not kept."""
        return _frame(self._blob(owner, run_id, "additions"))

    def staged(self, owner: str, run_id: str) -> pl.DataFrame | None:
        """Return what is predicted of instances after each round of a run; None if that was not kept."""
        return _frame(self._blob(owner, run_id, "staged"))

    def rounds(self, owner: str, run_id: str) -> bytes | None:
        """Return the rounds of a run as `studio.runs.restoring` packs them; None if they were not kept."""
        return self._blob(owner, run_id, "rounds")

    def model(self, owner: str, run_id: str) -> bytes | None:
        """Return the model file of a run; None if it has none."""
        return self._blob(owner, run_id, "model")

    def rename(self, owner: str, run_id: str, name: str) -> Run:
        """Give a run a name of at most 200 characters, and return it."""
        name = " ".join(name.split())[:200]
        return self._change(owner, run_id, lambda run: dataclasses.replace(run, name=name), "name")

    def pin(self, owner: str, run_id: str, pinned: bool | str = True) -> Run:
        """Mark a run as a scenario to compare others with, or no longer, and return it; runs with one text are one.

        Raises
        ------
        LookupError
            If the owner has no such run.
        DataError
            If the mark could not be stored.
        """
        mark = {PINNED: pinned} if pinned else {}

        def change(run: Run) -> Run:
            others = {name: value for name, value in run.results.items() if name != PINNED}
            return dataclasses.replace(run, results=others | mark)

        return self._change(owner, run_id, change, "pin")

    def pins(self, owner: str, page: str) -> list[Run]:
        """Return the owner's pinned runs of a page, the oldest first."""
        return [run for run in reversed(self.list(owner, page)) if run.results.get(PINNED)]

    def _change(self, owner: str, run_id: str, change: Callable[[Run], Run], what: str) -> Run:
        # Several times, for a run may end, or be named by another process, between the look and the change.
        for _ in range(CHANGES):
            run = change(was := self.get(owner, run_id))
            if self._memory.get(owner, run_id) is not None:
                stored = self._memory.replace(run, was)
            else:
                stored = self._try(lambda database, run=run, was=was: database.replace(run, was), writes=True)
            if stored:
                return run
            # A database that does not work is not asked again: a page waits.
            if stored is None:
                break
        raise DataError(f"The {what} could not be stored: see the warning above, and try again.")

    def delete(self, owner: str, run_id: str) -> bool:
        """Delete a run; False if the owner has no such run, or it could not be deleted."""
        # From both: a run that waits in memory may be in the database as it was before.
        waited = self._memory.delete(owner, run_id)
        gone = bool(self._try(lambda database: database.delete(owner, run_id), writes=True)) or waited
        if gone:
            self._deleted.add((owner, run_id))
        return gone

    def close(self) -> None:
        """Move what waits in memory to the database if it can be, and let the databases go."""
        # Called by tests and again at exit.
        if self._closed:
            return
        self._flush()
        self._closed = True
        with self._lock:
            for database in filter(None, (self._database, self._memory)):
                database.close()

    def _blob(self, owner: str, run_id: str, kind: str) -> bytes | None:
        run = self.get(owner, run_id)
        database = self._memory if self._memory.get(owner, run_id) is not None else self._database
        try:
            return database.blob(run, kind)
        except FAULTS:
            # `from None`: the cause names paths, which are not for a page.
            raise DataError(f"The {kind} of this run is damaged in the database: train it again.") from None


def _age(run: Run) -> float:
    return -run.created.timestamp()


def _stream(frame: pl.DataFrame | None) -> bytes | None:
    if frame is None:
        return None
    return to_stream(frame, "zstd")


def _frame(content: bytes | None) -> pl.DataFrame | None:
    return None if content is None else from_stream(content)


_shared: RunStore | None = None
_creating = threading.Lock()


def shared() -> RunStore:
    """Return the one store of this process; the first call opens the database."""
    global _shared
    with _creating:
        if _shared is None:
            _shared = RunStore()
        return _shared


@atexit.register
def _close_shared() -> None:
    """Give runs that wait in memory a last chance."""
    if isinstance(_shared, RunStore):
        _shared.close()
