"""Stores that a test opens: of a folder, of a PostgreSQL server, of either."""

from __future__ import annotations

import contextlib
import secrets

import pytest
import sqlalchemy as sa

from studio.runs.store import RunStore
from tests.runs import postgres


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def opened(folder):
    """Return a function that opens the store of the folder; all are closed at the end."""
    made = []

    def open_store() -> RunStore:
        made.append(RunStore(folder=folder))
        return made[-1]

    yield open_store
    for store in made:
        store.close()


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL server of this run's own."""
    pytest.importorskip("psycopg")
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres.cluster() as (address, _):
        yield address


@pytest.fixture
def database(server):
    """The address of an empty database."""
    name = f"runs_{secrets.token_hex(6)}"
    engine = sa.create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{server}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request):
    """The address of an empty database, SQLite's in the folder or PostgreSQL's."""
    if request.param == "postgresql":
        return request.getfixturevalue("database")
    return f"sqlite:///{request.getfixturevalue('folder')}/runs.db"


@pytest.fixture
def anywhere(request, address):
    """Return a function that opens the store of an empty database, SQLite's or PostgreSQL's."""
    if address.startswith("sqlite"):
        yield request.getfixturevalue("opened")
        return
    made = []

    def open_store() -> RunStore:
        made.append(RunStore(address))
        return made[-1]

    yield open_store
    for store in made:
        store.close()


@contextlib.contextmanager
def _connected(address):
    engine = sa.create_engine(address)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.fixture
def change(address):
    """Return a function that changes the database behind the store's back."""

    def changed(statement: str) -> None:
        with _connected(address) as connection:
            connection.exec_driver_sql(statement)
            connection.commit()
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    return changed


@pytest.fixture
def lock(address):
    """Return a context in which another connection writes, so that nobody else can."""

    @contextlib.contextmanager
    def held():
        with _connected(address) as connection:
            server = connection.dialect.name == "postgresql"
            connection.exec_driver_sql("LOCK TABLE runs, blobs IN EXCLUSIVE MODE" if server else "BEGIN IMMEDIATE")
            yield
            connection.rollback()

    return held
