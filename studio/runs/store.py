"""The list of runs: kept in a database, shared by no two owners, never lost silently.

    runs = store.shared()
    run = Run(owner="anna", page="Consensus", method="GBCClassifier", dataset="mfeat", settings={...})
    run = runs.begin(run)                                           # listed as "training" from now on
    run_id = runs.add(run, history=..., predictions=..., model=...)  # in its place, or as a new one
    runs.list("anna"); runs.get("anna", run_id); runs.model("anna", run_id)
    runs.warning                    # a sentence to show as long as something is wrong, else ""

HETCORE_DATABASE_URL names a PostgreSQL database; without it runs are in SQLite under HETCORE_HOME, or in the user's
data folder. While a database is locked, full, read-only or gone, new runs wait in memory, from where they move once it
works again; a damaged file is moved aside and its readable runs are taken over, those of a deleted one from the open
database. What was lost is said until somebody has read it, also by the next process; that a folder had runs is known by
a file beside the database. Runs whose process ended before them are listed as "interrupted".
"""

from __future__ import annotations

import atexit
import contextlib
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
from studio.runs import process
from studio.runs.database import TRAINING, DamagedError, Database, MigrationError, NewerSchemaError
from studio.runs.recover import pad, recover, taken_over
from studio.runs.run import Run, sha256
from studio.streams import from_stream, to_stream

__all__ = ["Run", "RunStore", "home", "shared"]

_FAULTS = (sa.exc.SQLAlchemyError, sqlite3.Error, OSError, DamagedError)
_GONE = "This run is not in the list (any more): it may have been deleted."
_MEMORY = "new runs are kept in memory until the studio ends"
_EMPTY = "The database of runs was deleted or empty: runs that it had are lost, unless you have a copy of runs.db."
_MARK = "runs.kept"
"""A file that says that the folder had runs."""
PINNED = "pinned"
"""Among the results of a run that is kept to compare others with."""
T = TypeVar("T")


def home() -> Path:
    """Return the folder of the studio's own files: HETCORE_HOME, or the user's data folder."""
    # At each call, for tests and embedding programs set the variable after the import.
    return Path(os.environ.get("HETCORE_HOME") or platformdirs.user_data_path("hetcore"))


class RunStore:
    """Runs in a database, and in memory while that does not work.

    Parameters
    ----------
    url : str or None
        Of a database; None takes HETCORE_DATABASE_URL, else SQLite in `folder`.
    folder : path or None
        Of the SQLite file; None is `home()`.
    """

    def __init__(self, url: str | None = None, folder: Path | None = None) -> None:
        self._lock = threading.RLock()
        # Of the same kind as the file: what waits is checked and listed by the same code.
        self._memory = Database("sqlite://")
        self._url = url or os.environ.get("HETCORE_DATABASE_URL") or ""
        self._file = None if self._url else (folder or home()) / "runs.db"
        self._database: Database | None = None
        # The file's number tells a file that was replaced by another of the same name.
        self._inode, self._closed = 0, False
        self._lasting = self._fault = self._left_out = ""
        self._notices: list[str] = []
        self._open()

    @property
    def warning(self) -> str:
        """One or two sentences to show while something is wrong or was lost, else empty."""
        # Counted only when something is wrong, for pages ask for the warning on every run of theirs.
        waiting = self._memory.count() if self._fault else 0
        kept = f" {counted(waiting, 'run')} would be lost if the studio ended now." if waiting else ""
        notices = " ".join(self._notices[:1])
        # The worst first, and one at a time: a page has room for one line.
        return self._lasting or (self._fault + kept if self._fault else notices or self._left_out)

    @property
    def notices(self) -> list[str]:
        """Sentences on what was lost that wait to be read, see `dismiss`."""
        return list(self._notices)

    def dismiss(self) -> None:
        """Forget what was lost, which somebody has read."""
        self._try(lambda database: database.dismiss() or True)
        self._notices = []

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
    ) -> str:
        """Store a run with what belongs to it, in place of the one with its id if there is one, and return its id."""
        given = {"history": _stream(history), "predictions": _stream(predictions), "model": model}
        given |= {"contributions": _stream(contributions), "rounds": rounds, "additions": _stream(additions)}
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

    def rounds(self, owner: str, run_id: str) -> bytes | None:
        """Return the rounds of a run as `studio.runs.restoring` packs them; None if they were not kept."""
        return self._blob(owner, run_id, "rounds")

    def model(self, owner: str, run_id: str) -> bytes | None:
        """Return the model file of a run; None if it has none."""
        return self._blob(owner, run_id, "model")

    def rename(self, owner: str, run_id: str, name: str) -> Run:
        """Give a run a name of at most 200 characters, and return it."""
        return self._change(dataclasses.replace(self.get(owner, run_id), name=" ".join(name.split())[:200]), "name")

    def pin(self, owner: str, run_id: str, pinned: bool = True) -> Run:
        """Mark a run as a scenario to compare others with, or no longer, and return it.

        Raises
        ------
        LookupError
            If the owner has no such run.
        DataError
            If the mark could not be stored.
        """
        run = self.get(owner, run_id)
        results = {name: value for name, value in run.results.items() if name != PINNED}
        return self._change(dataclasses.replace(run, results=results | ({PINNED: True} if pinned else {})), "pin")

    def pins(self, owner: str, page: str) -> list[Run]:
        """Return the owner's pinned runs of a page, the oldest first."""
        return [run for run in reversed(self.list(owner, page)) if run.results.get(PINNED)]

    def _change(self, run: Run, what: str) -> Run:
        if self._memory.get(run.owner, run.id) is not None:
            self._memory.replace(run)
        elif not self._try(lambda database: database.replace(run) or True, writes=True):
            raise DataError(f"The {what} could not be stored: see the warning above, and try again.")
        return run

    def delete(self, owner: str, run_id: str) -> bool:
        """Delete a run; False if the owner has no such run, or it could not be deleted."""
        # From both: a run that waits in memory may be in the database as it was before.
        waited = self._memory.delete(owner, run_id)
        return bool(self._try(lambda database: database.delete(owner, run_id), writes=True)) or waited

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
        except _FAULTS:
            # `from None`: the cause names paths, which are not for a page.
            raise DataError(f"The {kind} of this run is damaged in the database: train it again.") from None

    # Opening, and what goes wrong -----------------------------------------------------------------------------------

    def _open(self) -> None:
        try:
            self._take(Database(self._url or self._sqlite_url()))
        except NewerSchemaError:
            self._lasting = f"The stored runs were written by a newer studio: {_MEMORY}; update the studio to see them."
        except MigrationError:
            self._lasting = f"The stored runs are of an older version that could not be brought up to date: {_MEMORY}."
        except DamagedError:
            self._replace_damaged()
        except (*_FAULTS, ImportError, ValueError) as error:
            self._open_failed(error)
        self._end_interrupted()

    def _take(self, database: Database) -> None:
        """Use a database from now on; say so if it has no runs where there were some."""
        self._database = database
        if self._file is not None:
            self._inode, self._notices = self._file.stat().st_ino, database.notices()
            if database.is_new and self._file.with_name(_MARK).exists():
                self._notify(_EMPTY)

    def _open_failed(self, error: Exception) -> None:
        if self._file is not None and _is_damage(error):
            self._replace_damaged()
        else:
            self._lasting = f"The database of runs cannot be opened ({_cause(error)}): {_MEMORY}."

    def _sqlite_url(self) -> str:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"sqlite:///{self._file}"

    def _mark(self) -> None:
        """Note that the folder has runs, so that it is noticed when they are gone."""
        if self._file is not None and not (mark := self._file.with_name(_MARK)).exists():
            with contextlib.suppress(OSError):
                mark.write_text("runs.db beside this file has the runs of the hetcore studio.\n")

    def _notify(self, sentence: str) -> None:
        """Say what was lost until it was read, also in the processes that open the database later."""
        self._notices = [*self._notices, sentence]
        with contextlib.suppress(*_FAULTS):
            self._database.notify(sentence)

    def _end_interrupted(self) -> None:
        """List the runs as interrupted whose process ended before them."""
        for run in self._try(lambda database: database.training()) or ():
            if not process.is_alive(str(run.results.get("process", ""))):
                ended = dataclasses.replace(run, status="interrupted")
                self._try(lambda database, ended=ended: database.replace(ended) or True, writes=True)

    def _check_place(self) -> None:
        """Notice that the file was deleted, emptied or replaced; take over what the open database still has of it."""
        # A server has no file to look at.
        if self._file is None or self._database is None or self._in_place():
            return
        with self._lock:
            # Asked again within the lock, for another thread may have replaced it meanwhile.
            if self._in_place():
                return
            # From the open connection, which still sees a deleted file on POSIX.
            saved = taken_over(self._database, self._memory)
            self._database.close()
            self._replace_damaged(f"was deleted or replaced while it was open: {counted(saved, 'run')} could be saved")

    def _in_place(self) -> bool:
        try:
            found = self._file.stat()
        except OSError:
            return False
        return found.st_ino == self._inode and found.st_size > 0

    def _replace_damaged(self, text: str = "") -> None:
        """Move the damaged file aside, and take what can be read of it into a new one."""
        aside = self._file.with_name(f"runs-damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.db")
        try:
            # The log and its index belong to the file: left there they would be taken for those of the new one.
            for ending in ("", "-wal", "-shm"):
                if (part := Path(f"{self._file}{ending}")).exists():
                    part.rename(f"{aside}{ending}")
            self._database = Database(self._sqlite_url())
            self._inode = self._file.stat().st_ino
        except (*_FAULTS, DamagedError) as error:
            self._database = None
            self._lasting = f"The database of runs is damaged and cannot be replaced ({_cause(error)}): {_MEMORY}."
            return
        pad(aside)
        saved = recover(aside, self._database)
        self._flush()
        found = f"{counted(saved, 'run')} could be saved" if saved else "none of its runs could be read"
        self._notify(f"The database of runs {text or f'was damaged and moved aside as {aside.name}: {found}'}.")

    def _try(self, action: Callable[[Database], T], writes: bool = False) -> T | None:
        """Do something with the database; None and a warning if it fails."""
        database = self._database
        if database is None:
            return None
        try:
            result = action(database)
        except _FAULTS as error:
            if self._file is not None and _is_damage(error):
                with self._lock:
                    # Another thread may have met the same damage and replaced it already.
                    if self._database is database:
                        database.close()
                        self._replace_damaged()
            else:
                self._fault = f"The database of runs does not work ({_cause(error)}): {_MEMORY}."
            return None
        # A read that works does not prove that a write will, as long as runs wait.
        if self._fault and (writes or not self._memory.count()):
            self._fault = ""
        return result

    def _flush(self) -> bool:
        """Move runs from memory to the database; False if some have to stay."""
        for run in self._memory.runs(None)[0]:
            blobs = {kind: self._memory.blob(run, kind) for kind in run.blobs}
            # Bound as defaults: a lambda in a loop would see the last run.
            if not self._try(lambda database, run=run, blobs=blobs: database.put(run, blobs) or True, writes=True):
                return False
            self._memory.delete(run.owner, run.id)
        return True


def _age(run: Run) -> float:
    return -run.created.timestamp()


# By words, for the drivers have no codes for these that all versions share.
def _is_damage(error: Exception) -> bool:
    message = str(error)
    return any(
        text in message for text in ("malformed", "not a database", "disk image", "file is encrypted", "no such table")
    )


def _cause(error: Exception) -> str:
    """Return what went wrong in a few words, without paths, addresses and passwords."""
    message = str(getattr(error, "orig", None) or error)
    for text in ("locked", "readonly", "full", "unable to open", "Permission denied", "Read-only", "No module named"):
        if text in message:
            return {"readonly": "read-only", "full": "the disk is full"}.get(text, one_sentence(text.lower()))
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


@atexit.register
def _close_shared() -> None:
    """Give runs that wait in memory a last chance."""
    if isinstance(_shared, RunStore):
        _shared.close()
