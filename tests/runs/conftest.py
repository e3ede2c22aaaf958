"""Stores that a test opens: of a folder, of a PostgreSQL server, of either."""

from __future__ import annotations

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
    with postgres.cluster() as address:
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
def anywhere(request):
    """Return a function that opens the store of an empty database, SQLite's or PostgreSQL's."""
    if request.param == "sqlite":
        yield request.getfixturevalue("opened")
        return
    address, made = request.getfixturevalue("database"), []

    def open_store() -> RunStore:
        made.append(RunStore(address))
        return made[-1]

    yield open_store
    for store in made:
        store.close()
