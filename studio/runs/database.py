"""Runs in a database: SQLite in a folder of the user's or PostgreSQL by URL, every row and block with its checksum.

SQLite has a write-ahead log, so that readers and the writer do not wait for each other (sqlite.org/wal.html): reads
have connections of their own, which cannot write, and writes go through one connection, guarded by a lock. What writes
begins as a writer (BEGIN IMMEDIATE), because one that becomes a writer halfway can fail at once however long it would
wait.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool, StaticPool

from studio.runs.run import Run, sha256
from studio.runs.server_engine import server_engine

__all__ = ["SCHEMA", "TRAINING", "BusyError", "Database", "DamagedError", "MigrationError", "NewerSchemaError"]

SCHEMA = 1
"""Version of the tables below."""
STEPS: dict[int, tuple[str, ...]] = {}
"""SQL statements that bring tables of version k to version k + 1, for every k below `SCHEMA`."""

_metadata = sa.MetaData()
_META = sa.Table(
    "meta", _metadata, sa.Column("key", sa.String(40), primary_key=True), sa.Column("value", sa.String(40))
)
_RUNS = sa.Table(
    "runs",
    _metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.String(200), nullable=False, index=True),
    sa.Column("created", sa.String(40), nullable=False),
    # Text without a width: sources and settings have no longest length.
    *(sa.Column(name, sa.Text, nullable=False) for name in ("page", "method", "dataset", "digest", "status", "name")),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("settings", "results", "blobs", "checksum")),
)
_BLOBS = sa.Table(
    "blobs",
    _metadata,
    sa.Column("run", sa.String(40), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# A page waits meanwhile; beyond half a second the run is kept in memory instead and moved later.
PATIENCE = 0.5
"""Seconds to wait for another thread that writes, and then for another process that writes."""
OPENING = 10
"""Times `PATIENCE` that opening waits for those who write: what can't be opened is done without until the end."""
TRAINING = "training"
"""Status of a run that has begun and not ended."""
NOTICE = "notice "
"""How the keys of sentences begin that wait to be read."""
# The ASCII codes of "Hetc", so that no other program's lock has this number by chance.
_LOCK = 0x48657463
"""Key of the lock that a PostgreSQL server holds while tables are made."""
# The check reads the whole file, and above this the start of the studio would be felt to wait.
_CHECKED_BYTES = 200 * 2**20


class DamagedError(Exception):
    """A database file that is not what was written."""


class BusyError(OSError):
    """Another thread writes for longer than `PATIENCE`."""


class NewerSchemaError(Exception):
    """A database that a newer version of the studio wrote."""


class MigrationError(Exception):
    """An older database that could not be brought up to date, and is as it was."""


class Database:
    """Runs of all owners; every read and change names the owner.

    Parameters
    ----------
    url : str
        Of SQLAlchemy. "sqlite://" is in memory.

    Attributes
    ----------
    is_new : bool
        Whether no table of ours was there.

    Raises
    ------
    DamagedError, MigrationError, NewerSchemaError, sqlalchemy.exc.SQLAlchemyError, ImportError
        If it cannot be opened.
    """

    def __init__(self, url: str) -> None:
        self._lock = threading.RLock()
        self._engine = _engine(url)
        self._readers = _readers(url, self._engine)
        self.is_new = False
        try:
            self._check(url)
            self._make_tables()
            if url.startswith("sqlite"):
                with self._begin() as connection:
                    connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * PATIENCE)}")
        # A half-opened database holds a file lock, which would outlive the error.
        except BaseException:
            self.close()
            raise

    def add(self, run: Run, blobs: dict[str, bytes]) -> None:
        """Store a new run and the blocks whose checksums it has, or nothing."""
        with self._begin() as connection:
            _insert(connection, run, blobs)

    def put(self, run: Run, blobs: dict[str, bytes]) -> None:
        """Store a run and its blocks, in place of what the owner has under its id, or nothing."""
        with self._begin() as connection:
            if connection.execute(_one(run.owner, run.id)).first() is not None:
                # Removed and inserted, for blocks of the former run that the new one lacks must go too.
                _remove(connection, run.id)
            _insert(connection, run, blobs)

    def runs(self, owner: str | None) -> tuple[list[Run], int]:
        """Return an owner's runs (of everyone for None), newest first, and how many rows are damaged."""
        # The id breaks ties of the clock, or the list would change its order from call to call.
        query = sa.select(_RUNS).order_by(_RUNS.c.created.desc(), _RUNS.c.id)
        with self._reading() as connection:
            rows = connection.execute(query if owner is None else query.where(_RUNS.c.owner == owner)).mappings().all()
        runs = [Run.from_row(dict(row)) for row in rows]
        # A damaged row is counted and left out: one bad page of a file must not hide all runs.
        return [run for run in runs if run is not None], runs.count(None)

    def count(self) -> int:
        """Return the number of runs of all owners."""
        with self._reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(_RUNS)).scalar())

    def training(self) -> list[Run]:
        """Return the runs of all owners that have begun and not ended."""
        with self._reading() as connection:
            rows = connection.execute(sa.select(_RUNS).where(_RUNS.c.status == TRAINING)).mappings().all()
        return [run for row in rows if (run := Run.from_row(dict(row))) is not None]

    def get(self, owner: str, run_id: str) -> Run | None:
        """Return a run of the owner's; None if there is none, or it is damaged."""
        with self._reading() as connection:
            row = connection.execute(_one(owner, run_id)).mappings().first()
        return None if row is None else Run.from_row(dict(row))

    def blob(self, run: Run, kind: str) -> bytes | None:
        """Return a block of a run, None if it has none of this kind.

        Raises
        ------
        DamagedError
            If it is not what was stored.
        """
        if kind not in run.blobs:
            return None
        query = sa.select(_BLOBS.c.content).where(_BLOBS.c.run == run.id, _BLOBS.c.kind == kind)
        with self._reading() as connection:
            content = connection.execute(query).scalar()
        # The checksum stands in the row, which has one of its own: a block cannot be exchanged for another's.
        if content is None or sha256(content) != run.blobs[kind]:
            raise DamagedError
        return bytes(content)

    def replace(self, run: Run, was: Run | None = None) -> bool:
        """Store a run anew in the place of the one with its id and owner; False if that is not `was` (any more)."""
        # With the owner in the condition: an id alone must not be enough to change a run.
        change = sa.update(_RUNS).where(_RUNS.c.id == run.id, _RUNS.c.owner == run.owner)
        if was is not None:
            change = change.where(_RUNS.c.checksum == was.row()["checksum"])
        with self._begin() as connection:
            return connection.execute(change.values(run.row())).rowcount > 0

    def delete(self, owner: str, run_id: str) -> bool:
        """Delete a run of the owner's with its blocks; False if there is none."""
        with self._begin() as connection:
            if connection.execute(_one(owner, run_id)).first() is None:
                return False
            _remove(connection, run_id)
        return True

    def notices(self) -> list[str]:
        """Return the sentences that wait to be read, oldest first."""
        query = sa.select(_META.c.value).where(_META.c.key.startswith(NOTICE)).order_by(_META.c.key)
        with self._reading() as connection:
            return list(connection.execute(query).scalars())

    def notify(self, sentence: str) -> None:
        """Keep a sentence until somebody says that it was read; of SQLite, whose columns have no width."""
        # Times in ISO format sort as text, so that the oldest comes first.
        key = f"{NOTICE}{datetime.now(UTC).isoformat()}"
        with self._begin() as connection:
            connection.execute(sa.insert(_META), {"key": key, "value": sentence})

    def dismiss(self) -> None:
        """Forget the sentences, which were read."""
        with self._begin() as connection:
            connection.execute(sa.delete(_META).where(_META.c.key.startswith(NOTICE)))

    def close(self) -> None:
        """Let the database go."""
        with self._lock:
            if self._readers is not None:
                self._readers.dispose()
            self._engine.dispose()

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        """Begin a transaction that writes, one at a time."""
        # There is one writing connection; two threads in it would share a transaction.
        if not self._lock.acquire(timeout=PATIENCE):
            raise BusyError("The database is locked by another thread.")
        try:
            with self._engine.begin() as connection:
                yield connection
        finally:
            self._lock.release()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        """Begin a transaction that reads; in memory there is one connection for all."""
        if self._readers is None:
            with self._lock, self._engine.begin() as connection:
                yield connection
        else:
            with self._readers.begin() as connection:
                yield connection

    def _check(self, url: str) -> None:
        """Look for damage that would show in the middle of work; large files are left to their checksums."""
        path = Path(sa.make_url(url).database or "") if url.startswith("sqlite:///") else None
        # A new file has nothing to check, and a server checks itself.
        if path is None or not path.exists() or path.stat().st_size > _CHECKED_BYTES:
            return
        with self._begin() as connection:
            if connection.execute(sa.text("PRAGMA quick_check(1)")).scalar() != "ok":
                raise DamagedError

    def _make_tables(self) -> None:
        """Make the tables that are not there; two that start at once on one server take turns."""
        with self._begin() as connection:
            if connection.dialect.name == "postgresql":
                # Longer than for a run: a second studio makes tables that are waited for once, and a failure lasts.
                connection.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
                # Freed by the end of the transaction, so that a studio that dies in here blocks nobody.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            there = {_META.name, _RUNS.name, _BLOBS.name} & set(sa.inspect(connection).get_table_names())
            self.is_new = not there
            # One of two tables is no new database: making the other would hide that it was lost.
            if there and not {_RUNS.name, _BLOBS.name} <= there:
                raise DamagedError
            _metadata.create_all(connection)
            version = connection.execute(sa.select(_META.c.value).where(_META.c.key == "schema")).scalar()
            if version is None:
                connection.execute(sa.insert(_META), {"key": "schema", "value": str(SCHEMA)})
            elif not version.isdecimal():
                raise DamagedError
            elif int(version) > SCHEMA:
                raise NewerSchemaError
            else:
                _migrate(connection, int(version))


def _one(owner: str, run_id: str) -> sa.Select:
    return sa.select(_RUNS).where(_RUNS.c.owner == owner, _RUNS.c.id == run_id)


def _insert(connection: sa.Connection, run: Run, blobs: dict[str, bytes]) -> None:
    connection.execute(sa.insert(_RUNS), run.row())
    for kind, content in blobs.items():
        connection.execute(sa.insert(_BLOBS), {"run": run.id, "kind": kind, "content": content})


def _remove(connection: sa.Connection, run_id: str) -> None:
    connection.execute(sa.delete(_BLOBS).where(_BLOBS.c.run == run_id))
    connection.execute(sa.delete(_RUNS).where(_RUNS.c.id == run_id))


def _migrate(connection: sa.Connection, version: int) -> None:
    """Bring tables of an older version to this one, in the transaction of the connection: all steps or none."""
    try:
        for step in range(version, SCHEMA):
            for statement in STEPS[step]:
                connection.execute(sa.text(statement))
    except (sa.exc.SQLAlchemyError, KeyError) as error:
        raise MigrationError from error
    if version < SCHEMA:
        connection.execute(sa.update(_META).where(_META.c.key == "schema").values(value=str(SCHEMA)))


def _engine(url: str) -> sa.Engine:
    if not url.startswith("sqlite"):
        return server_engine(url, PATIENCE)
    # One connection for as long as the studio runs: it still has the runs of a file that somebody deletes.
    patient = {"check_same_thread": False, "timeout": OPENING * PATIENCE}
    engine = sa.create_engine(url, poolclass=StaticPool, connect_args=patient)
    sa.event.listen(engine, "connect", _prepare_writer)
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _readers(url: str, engine: sa.Engine) -> sa.Engine | None:
    """Return an engine for reads, None for a database in memory."""
    if not url.startswith("sqlite"):
        return engine
    # In memory a second connection would be a second, empty database.
    if not url.startswith("sqlite:///"):
        return None
    readers = sa.create_engine(
        # Four stay open; pages that ask at once get more, for as long as they ask.
        url, poolclass=QueuePool, pool_size=4, max_overflow=60,
        connect_args={"check_same_thread": False, "timeout": PATIENCE},
    )  # fmt: skip
    sa.event.listen(readers, "connect", _prepare_reader)
    sa.event.listen(readers, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return readers


def _prepare_writer(connection: Any, _: Any) -> None:
    # FULL, for a run that is said to be stored must be there after a power cut.
    _prepare(connection, "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def _prepare_reader(connection: Any, _: Any) -> None:
    # The reading engine cannot write even by mistake.
    _prepare(connection, "query_only=ON")


def _prepare(connection: Any, *pragmas: str) -> None:
    connection.isolation_level = None  # transactions are begun by the listeners above
    connection.text_factory = lambda text: text.decode(errors="replace")  # damage shows in the checksum
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
