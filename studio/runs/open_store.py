"""A database of runs that is opened, replaced where it is damaged, and done without while it does not work.

While a database is locked, full, read-only or gone, new runs wait in memory, from where they move once it works again;
a damaged file is moved aside and its readable runs are taken over, those of a deleted one from the open database. What
was lost is said until somebody has read it, also by the next process; that a folder had runs is known by a file beside
the database. Runs whose process ended before them are listed as "interrupted".
"""

from __future__ import annotations

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
import sqlalchemy as sa

from hetcore.data.text import counted
from studio.messages import one_sentence
from studio.runs import process
from studio.runs.database import DamagedError, Database, MigrationError, NewerSchemaError
from studio.runs.recover import pad, recover, taken_over

__all__ = ["FAULTS", "OpenStore", "home"]

FAULTS = (sa.exc.SQLAlchemyError, sqlite3.Error, OSError, DamagedError)
_MEMORY = "new runs are kept in memory until the studio ends"
_EMPTY = "The database of runs was deleted or empty: runs that it had are lost, unless you have a copy of runs.db."
_MARK = "runs.kept"
"""A file that says that the folder had runs."""
T = TypeVar("T")


def home() -> Path:
    """Return the folder of the studio's own files: HETCORE_HOME, or the user's data folder."""
    # At each call, for tests and embedding programs set the variable after the import.
    return Path(os.environ.get("HETCORE_HOME") or platformdirs.user_data_path("hetcore"))


class OpenStore:
    """A database, and one in memory while that does not work.

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
        # Owners and ids of runs that were deleted: one that still trains must not come back at its end.
        self._deleted: set[tuple[str, str]] = set()
        self._open()

    @property
    def warning(self) -> str:
        """One or two sentences to show while something is wrong or was lost, else empty."""
        notices = " ".join(self._notices[:1])
        # The worst first, and one at a time: a page has room for one line.
        return self._lasting or self.waiting or self._fault or notices or self._left_out

    @property
    def waiting(self) -> str:
        """One or two sentences to show while runs wait in memory, else empty."""
        # Counted only when something is wrong, for pages ask for the warning on every run of theirs.
        waiting = self._memory.count() if self._fault else 0
        return f"{self._fault} {counted(waiting, 'run')} would be lost if the studio ended now." if waiting else ""

    @property
    def notices(self) -> list[str]:
        """Sentences on what was lost that wait to be read, see `dismiss`."""
        return list(self._notices)

    def dismiss(self) -> None:
        """Forget what was lost, which somebody has read."""
        self._try(lambda database: database.dismiss() or True)
        self._notices = []

    def _open(self) -> None:
        try:
            self._take(Database(self._url or self._sqlite_url()))
        except NewerSchemaError:
            self._lasting = f"The stored runs were written by a newer studio: {_MEMORY}; update the studio to see them."
        except MigrationError:
            self._lasting = f"The stored runs are of an older version that could not be brought up to date: {_MEMORY}."
        except DamagedError:
            self._open_damaged()
        except (*FAULTS, ImportError, ValueError) as error:
            self._open_failed(error)
        self._end_interrupted()

    def _take(self, database: Database) -> None:
        """Use a database from now on; say so if it has no runs where there were some."""
        self._database = database
        if self._file is not None:
            self._inode, self._notices = self._file.stat().st_ino, database.notices()
            if database.is_new and self._file.with_name(_MARK).exists():
                self._notify(_EMPTY)

    def _open_damaged(self) -> None:
        if self._file is not None:
            self._replace_damaged()
        else:
            # Tables of a server are its administrator's to mend: others may be in them, and there are copies.
            self._lasting = f"The database of runs lacks some of its tables, or they are not the studio's: {_MEMORY}."

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
        with contextlib.suppress(*FAULTS):
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
        except (*FAULTS, DamagedError) as error:
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
        except FAULTS as error:
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


_GONE = ("refused", "timeout", "timed out", "closed the connection", "terminating connection")


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
    if "lock timeout" in message:
        return "locked"
    if isinstance(error, ConnectionError | TimeoutError) or any(text in message for text in _GONE):
        return "the server does not answer"
    return type(getattr(error, "orig", None) or error).__name__
