"""The list of runs: kept in a database, shared by no two owners, never lost silently.

    runs = store.shared()
    run = Run(owner="anna", page="Consensus", method="GBCClassifier", dataset="mfeat", settings={...})
    run_id = runs.add(run, history=..., predictions=..., model=...)
    runs.list("anna"); runs.get("anna", run_id); runs.model("anna", run_id)
    runs.warning                    # a sentence to show as long as something is wrong, else ""

HETCORE_DATABASE_URL names a PostgreSQL database; without it runs are in SQLite under HETCORE_HOME, or in the user's
data folder. While a database is locked, full, read-only or gone, new runs wait in memory, from where they move once it
works again; a damaged file is moved aside and its readable runs are taken over.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import platformdirs
import polars as pl
import sqlalchemy as sa

from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.messages import one_sentence
from studio.runs.database import DamagedError, Database, MigrationError, NewerSchemaError
from studio.runs.recover import salvage
from studio.runs.run import Run, sha256
from studio.streams import from_stream, to_stream

__all__ = ["Run", "RunStore", "home", "shared"]

_FAULTS = (sa.exc.SQLAlchemyError, sqlite3.Error, OSError, DamagedError)
_GONE = "This run is not in the list (any more): it may have been deleted."
_MEMORY = "new runs are kept in memory until the studio ends"
T = TypeVar("T")


def home() -> Path:
    """Return the folder of the studio's own files: HETCORE_HOME, or the user's data folder."""
    return Path(os.environ.get("HETCORE_HOME") or platformdirs.user_data_path("hetcore"))


class RunStore:
    """Runs in a database, and in memory while that does not work.

    Parameters
    ----------
    url : str or None
        Of a database; None takes HETCORE_DATABASE_URL, else SQLite in `folder`.
    folder : path or None
        Of the SQLite file; None is `home()`.

    Attributes
    ----------
    warning : str
        One sentence to show while something is wrong, else empty.
    """

    def __init__(self, url: str | None = None, folder: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._memory = Database("sqlite://")
        self._url = url or os.environ.get("HETCORE_DATABASE_URL") or ""
        self._file = None if self._url else (folder or home()) / "runs.db"
        self._database: Database | None = None
        self._lasting = ""
        self.warning = ""
        self._open()

    def add(
        self,
        run: Run,
        history: pl.DataFrame | None = None,
        predictions: pl.DataFrame | None = None,
        model: bytes | None = None,
    ) -> str:
        """Store a run with what belongs to it, and return its id."""
        given = {"history": _stream(history), "predictions": _stream(predictions), "model": model}
        blobs = {kind: content for kind, content in given.items() if content is not None}
        run = dataclasses.replace(run, blobs={kind: sha256(content) for kind, content in blobs.items()})
        with self._lock:
            self._flush()
            if not self._try(lambda database: database.add(run, blobs) or True):
                self._memory.add(run, blobs)
        return run.id

    def list(self, owner: str, page: str | None = None) -> list[Run]:
        """Return the owner's runs, newest first; of one page where given."""
        with self._lock:
            runs, damaged = self._try(lambda database: database.runs(owner)) or ([], 0)
            if damaged:
                self.warning = f"{counted(damaged, 'stored run')} left out, for the database was damaged there."
            runs = sorted([*runs, *self._memory.runs(owner)[0]], key=lambda run: run.created, reverse=True)
        return [run for run in runs if page in (None, run.page)]

    def get(self, owner: str, run_id: str) -> Run:
        """Return a run.

        Raises
        ------
        LookupError
            If the owner has no such run.
        """
        with self._lock:
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

    def model(self, owner: str, run_id: str) -> bytes | None:
        """Return the model file of a run; None if it has none."""
        return self._blob(owner, run_id, "model")

    def rename(self, owner: str, run_id: str, name: str) -> Run:
        """Give a run a name of at most 200 characters, and return it."""
        run = dataclasses.replace(self.get(owner, run_id), name=" ".join(name.split())[:200])
        with self._lock:
            if self._memory.get(owner, run_id) is not None:
                self._memory.replace(run)
            elif not self._try(lambda database: database.replace(run) or True):
                raise DataError("The name could not be stored: see the warning above, and try again.")
        return run

    def delete(self, owner: str, run_id: str) -> bool:
        """Delete a run; False if the owner has no such run."""
        with self._lock:
            return self._memory.delete(owner, run_id) or bool(
                self._try(lambda database: database.delete(owner, run_id))
            )

    def close(self) -> None:
        """Let the databases go."""
        with self._lock:
            for database in filter(None, (self._database, self._memory)):
                database.close()

    def _blob(self, owner: str, run_id: str, kind: str) -> bytes | None:
        run = self.get(owner, run_id)
        with self._lock:
            database = self._memory if self._memory.get(owner, run_id) is not None else self._database
            try:
                return database.blob(run, kind)
            except _FAULTS:
                raise DataError(f"The {kind} of this run is damaged in the database: train it again.") from None

    # Opening, and what goes wrong -----------------------------------------------------------------------------------

    def _open(self) -> None:
        try:
            self._database = Database(self._url or self._sqlite_url())
        except NewerSchemaError:
            self._lasting = f"The stored runs were written by a newer studio: {_MEMORY}; update the studio to see them."
        except MigrationError:
            self._lasting = f"The stored runs are of an older version that could not be brought up to date: {_MEMORY}."
        except DamagedError:
            self._replace_damaged()
        except (*_FAULTS, ImportError, ValueError) as error:
            self._open_failed(error)
        self.warning = self._lasting

    def _open_failed(self, error: Exception) -> None:
        if self._file is not None and _is_damage(error):
            self._replace_damaged()
        else:
            self._lasting = f"The database of runs cannot be opened ({_cause(error)}): {_MEMORY}."

    def _sqlite_url(self) -> str:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"sqlite:///{self._file}"

    def _replace_damaged(self) -> None:
        """Move the damaged file aside, and take what can be read of it into a new one."""
        aside = self._file.with_name(f"runs-damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.db")
        try:
            for ending in ("", "-wal", "-shm"):
                if (part := Path(f"{self._file}{ending}")).exists():
                    part.rename(f"{aside}{ending}")
            self._database = Database(self._sqlite_url())
        except (*_FAULTS, DamagedError) as error:
            self._lasting = f"The database of runs is damaged and cannot be replaced ({_cause(error)}): {_MEMORY}."
            return
        saved = salvage(aside, self._database)
        words = f"{counted(saved, 'run')} could be saved" if saved else "none of its runs could be read"
        self._lasting = f"The database of runs was damaged and moved aside as {aside.name}: {words}."

    def _try(self, action: Callable[[Database], T]) -> T | None:
        """Do something with the database; None and a warning if it fails."""
        if self._database is None:
            return None
        try:
            result = action(self._database)
        except _FAULTS as error:
            self.warning = f"The database of runs does not work ({_cause(error)}): {_MEMORY}."
            if self._file is not None and _is_damage(error):
                self._database.close()
                self._replace_damaged()
                self.warning = self._lasting
            return None
        self.warning = self._lasting
        return result

    def _flush(self) -> None:
        """Move runs from memory to the database, if it works again."""
        for run in self._memory.runs(None)[0]:
            blobs = {kind: self._memory.blob(run, kind) for kind in run.blobs}
            if not self._try(lambda database, run=run, blobs=blobs: database.add(run, blobs) or True):
                return
            self._memory.delete(run.owner, run.id)


def _is_damage(error: Exception) -> bool:
    said = str(error)
    return any(
        words in said for words in ("malformed", "not a database", "disk image", "file is encrypted", "no such table")
    )


def _cause(error: Exception) -> str:
    """Return what went wrong in a few words, without paths, addresses and passwords."""
    said = str(getattr(error, "orig", None) or error)
    for words in ("locked", "readonly", "full", "unable to open", "Permission denied", "Read-only", "No module named"):
        if words in said:
            return {"readonly": "read-only", "full": "the disk is full"}.get(words, one_sentence(words.lower()))
    return type(getattr(error, "orig", None) or error).__name__


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
