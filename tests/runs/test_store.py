"""The run store: what was stored comes back, owners see their own, faults and damage are told and survived."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from polars.testing import assert_frame_equal

from hetcore.errors import DataError
from studio.jobs.worker import child_environment
from studio.runs import database as tables
from studio.runs import store as store_module
from studio.runs.database import SCHEMA
from studio.runs.recover import recover
from studio.runs.run import Run
from studio.runs.store import RunStore, home
from studio.streams import from_stream, to_stream
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


def a_run(owner: str = "anna", **changes: object) -> Run:
    """Return a run."""
    return Run(**({"owner": owner, "page": "Consensus", "method": "GBCClassifier", "dataset": "mfeat"} | changes))


def test_a_run_comes_back_after_a_restart(anywhere):
    history = pl.DataFrame({"iteration": [0, 1], "loss:train": [0.5, 0.25]})
    predictions = pl.DataFrame({"id": ["a"], "prediction": ["x"]})
    run = a_run(settings={"params": {"lambda0": 1.0}}, results={"error": 0.054}, digest="d", name="ü")
    store = anywhere()
    assert store.warning == ""
    store.add(run, history, predictions, b"model")
    store.close()
    again = anywhere()
    stored = again.get("anna", run.id)
    assert set(stored.blobs) == {"history", "predictions", "model"}
    assert dataclasses.replace(stored, blobs={}) == run
    assert_frame_equal(again.history("anna", run.id), history)
    assert_frame_equal(again.predictions("anna", run.id), predictions)
    assert again.model("anna", run.id) == b"model"
    assert again.warning == ""


def test_runs_are_listed_newest_first_and_by_page(anywhere):
    store, start = anywhere(), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    runs = [a_run(created=start + timedelta(minutes=k), page="Noise" if k == 1 else "Consensus") for k in (2, 0, 1)]
    for run in runs:
        store.add(run)
    assert store.list("anna") == sorted(runs, key=lambda run: run.created, reverse=True)
    assert [run.page for run in store.list("anna", page="Noise")] == ["Noise"]
    assert store.history("anna", runs[0].id) is None


def test_owners_see_their_own_runs_only(anywhere):
    store = anywhere()
    run_id = store.add(a_run(), model=b"secret")
    assert store.list("ben") == []
    for look in (store.get, store.history, store.predictions, store.model):
        with pytest.raises(LookupError, match="not in the list"):
            look("ben", run_id)
    with pytest.raises(LookupError):
        store.rename("ben", run_id, "mine")
    assert store.delete("ben", run_id) is False
    assert store.get("anna", run_id).name == ""


def test_a_pin_is_its_owners_and_outlives_the_store(opened):
    runs = opened()
    first, second = (runs.add(Run("anna", "Consensus", "GBC", "films", results={"rounds": k})) for k in (1, 2))
    for one in (second, first):
        runs.pin("anna", one)
    with pytest.raises(LookupError):
        runs.pin("berta", first)
    again = opened()
    assert [run.id for run in again.pins("anna", "Consensus")] == [first, second]
    assert again.pins("berta", "Consensus") == again.pins("anna", "Transfer") == []
    assert again.pin("anna", first, False).results == {"rounds": 1}
    assert [run.id for run in again.pins("anna", "Consensus")] == [second]


def test_runs_are_renamed_and_deleted_for_good(anywhere):
    store = anywhere()
    run_id = store.add(a_run(), model=b"m")
    assert store.rename("anna", run_id, "  first\ntry " + "x" * 300).name == ("first try " + "x" * 300)[:200]
    assert anywhere().get("anna", run_id).name.startswith("first try")
    assert store.delete("anna", run_id) is True
    assert store.delete("anna", run_id) is False
    assert anywhere().list("anna") == []


def test_values_that_json_does_not_have_are_stored_as_what_is_nearest():
    run = a_run(results={"x": math.nan, "y": np.float32(0.5), "z": (1, math.inf), 3: Path("p")})
    assert Run.from_row(run.row()).results == {"x": None, "y": 0.5, "z": [1, None], "3": "p"}


def test_names_with_anything_in_them_are_data(anywhere):
    store = anywhere()
    name = "'); DROP TABLE runs; -- <b>\u202e%s :x"
    run_id = store.add(a_run(owner=name, dataset=f"{name}\x00", settings={"params": {"a": "\x00"}}))
    assert store.warning == ""
    stored = store.get(name, run_id)
    assert (stored.dataset, stored.settings) == (f"{name}\ufffd", {"params": {"a": "\x00"}})


# Faults ---------------------------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = RunStore(folder=tmp_path / "file")
    assert "cannot be opened" in store.warning and "in memory" in store.warning
    assert str(tmp_path) not in store.warning and len(store.warning) < 300
    run = a_run()
    store.add(run, model=b"m")
    assert [stored.id for stored in store.list("anna")] == [run.id] and store.model("anna", run.id) == b"m"
    store.rename("anna", run.id, "kept")
    assert store.get("anna", run.id).name == "kept"
    assert store.delete("anna", run.id)
    store.close()


def test_a_locked_database_makes_runs_wait_in_memory_until_it_is_free(opened, folder, monkeypatch):
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.0)
    store = opened()
    first = a_run()
    store.add(first)
    other = sqlite3.connect(folder / "runs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = a_run()
    store.add(waiting, model=b"m")
    assert "locked" in store.warning and "in memory" in store.warning
    assert waiting.id in {run.id for run in store.list("anna")} and store.model("anna", waiting.id) == b"m"
    other.execute("ROLLBACK")
    other.close()
    last = a_run()
    store.add(last)
    assert store.warning == ""
    assert {run.id for run in opened().list("anna")} == {first.id, waiting.id, last.id}
    assert opened().model("anna", waiting.id) == b"m"


def test_a_full_disk_is_reported_and_loses_nothing(opened):
    store = opened()
    kept = store.add(a_run())
    with store._database._begin() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
    big = store.add(a_run(), model=bytes(1_000_000))
    assert "the disk is full" in store.warning
    assert len(store.model("anna", big)) == 1_000_000
    assert {run.id for run in store.list("anna")} == {kept, big}
    assert [run.id for run in opened().list("anna")] == [kept]


def test_what_is_no_database_is_moved_aside(opened, folder):
    folder.mkdir()
    (folder / "runs.db").write_bytes(b"hello" * 1000)
    store = opened()
    assert "was damaged and moved aside as runs-damaged-" in store.warning and "none of its runs" in store.warning
    run_id = store.add(a_run())
    assert [run.id for run in opened().list("anna")] == [run_id]
    aside = list(folder.glob("runs-damaged-*.db"))
    assert len(aside) == 1 and aside[0].read_bytes() == b"hello" * 1000


def test_a_newer_database_is_left_alone(opened, folder):
    store = opened()
    store.add(a_run())
    store.close()
    change(folder, f"UPDATE meta SET value = '{SCHEMA + 1}'")
    before = (folder / "runs.db").read_bytes()
    newer = opened()
    assert "newer studio" in newer.warning
    assert newer.list("anna") == []
    newer.add(a_run())
    newer.close()
    assert (folder / "runs.db").read_bytes() == before


def change(folder: Path, statement: str) -> None:
    """Change the database behind the store's back."""
    connection = sqlite3.connect(folder / "runs.db")
    with connection:
        connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_a_changed_row_is_left_out_and_reported(opened, folder):
    store = opened()
    good, bad = store.add(a_run()), store.add(a_run())
    store.close()
    change(folder, f"UPDATE runs SET results = '{{\"error\":0}}' WHERE id = '{bad}'")
    again = opened()
    assert [run.id for run in again.list("anna")] == [good]
    assert "1 stored run left out" in again.warning
    with pytest.raises(LookupError):
        again.get("anna", bad)


def test_a_changed_model_is_refused(opened, folder):
    store = opened()
    run_id = store.add(a_run(), model=b"model")
    store.close()
    change(folder, "UPDATE blobs SET content = x'00'")
    with pytest.raises(DataError, match="model of this run is damaged"):
        opened().model("anna", run_id)


OLDER = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'"


def test_an_older_database_is_migrated_in_place(anywhere, monkeypatch):
    old = anywhere()
    run_id = old.add(a_run(), model=b"m")
    old.close()
    monkeypatch.setattr(tables, "SCHEMA", SCHEMA + 1)
    monkeypatch.setitem(tables.STEPS, SCHEMA, (OLDER, "UPDATE runs SET note = 'seen'"))
    store = anywhere()
    assert store.warning == "" and store.model("anna", run_id) == b"m"
    with store._database._begin() as connection:
        assert connection.exec_driver_sql("SELECT note FROM runs").scalar() == "seen"
        assert connection.exec_driver_sql("SELECT value FROM meta").scalar() == str(SCHEMA + 1)
    store.close()
    assert anywhere().warning == ""  # nothing to do the second time
    monkeypatch.setattr(tables, "SCHEMA", SCHEMA)
    assert "newer studio" in anywhere().warning


def test_a_migration_that_fails_leaves_the_database_as_it_was(opened, folder, monkeypatch):
    old = opened()
    run_id = old.add(a_run())
    old.close()
    with monkeypatch.context() as patched:
        patched.setattr(tables, "SCHEMA", SCHEMA + 1)
        patched.setitem(tables.STEPS, SCHEMA, (OLDER, "UPDATE nothing SET x = 1"))
        store = opened()
        assert "could not be brought up to date" in store.warning and store.list("anna") == []
        store.close()
    assert [path.name for path in folder.glob("*.db")] == ["runs.db"]
    again = opened()
    assert again.warning == "" and [run.id for run in again.list("anna")] == [run_id]


def test_runs_that_can_be_read_are_taken_over_from_a_damaged_file(opened, folder):
    store = opened()
    ids = {store.add(a_run(results={"text": "x" * 3000}), model=b"m" * 5000) for _ in range(5)}
    store.close()
    content = bytearray((folder / "runs.db").read_bytes())
    content[-4096:] = bytes(4096)  # the last page: of a block, so that the rows can be read
    (folder / "runs.db").write_bytes(bytes(content))
    again = opened()
    assert {run.id for run in again.list("anna")} == ids
    assert "5 runs could be saved" in again.warning


WRITER = """
import sys
from pathlib import Path
from studio.runs.run import Run
from studio.runs.recover import recover
from studio.runs.store import RunStore
store = RunStore(folder=Path(sys.argv[1]))
while True:
    run_id = store.add(Run(owner="anna", page="p", method="m", dataset="d"), model=b"m" * 20000)
    print(run_id, flush=True)
"""


@pytest.mark.slow
def test_a_run_that_was_acknowledged_survives_kill_9(opened, folder):
    acknowledged = []
    for _ in range(3):
        command = [sys.executable, "-c", WRITER, str(folder)]
        with subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) as process:
            acknowledged += [process.stdout.readline().strip() for _ in range(8)]
            process.kill()
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
    store = opened()
    assert store.warning == ""
    assert set(acknowledged) <= {run.id for run in store.list("anna")}
    assert all(store.model("anna", run_id) == b"m" * 20000 for run_id in acknowledged)


@pytest.mark.slow
def test_processes_and_threads_can_write_at_once(opened, folder):
    opened()
    script = WRITER.replace("while True", "for _ in range(15)")
    command = [sys.executable, "-c", script, str(folder)]
    writers = [subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    store = opened()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: store.add(a_run()), range(20)))
    for writer in writers:
        output, _ = writer.communicate()
        ids += output.split()
    assert len(ids) == 50 and set(ids) == {run.id for run in store.list("anna")}
    assert store.warning == ""


@pytest.mark.slow
def test_processes_write_to_one_server_at_once(database):
    script = WRITER.replace("while True", "for _ in range(10)").replace("folder=Path(sys.argv[1])", "sys.argv[1]")
    command = [sys.executable, "-c", script, database]
    writers = [subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [run_id for writer in writers for run_id in writer.communicate()[0].split()]
    store = RunStore(database)
    assert store.warning == ""
    assert len(ids) == 30 and set(ids) == {run.id for run in store.list("anna")}
    store.close()


@pytest.mark.slow
def test_runs_wait_in_memory_while_the_server_is_gone_and_move_when_it_is_back():
    pytest.importorskip("psycopg")
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres.cluster() as address:
        store = RunStore(f"{address}/postgres")
        before = store.add(a_run())
        assert store.warning == ""
    after = store.add(a_run())
    assert "does not work" in store.warning and "memory" in store.warning
    assert [run.id for run in store.list("anna")] == [after] != [before]
    store.close()


def test_a_database_url_without_driver_or_server_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("HETCORE_DATABASE_URL", "postgresql+nodriver://user:secret@localhost/x")
    store = RunStore(folder=tmp_path)
    assert "cannot be opened" in store.warning and "secret" not in store.warning
    run_id = store.add(a_run())
    assert store.get("anna", run_id).dataset == "mfeat"
    assert not (tmp_path / "runs.db").exists()
    store.close()


def test_home_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HETCORE_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("HETCORE_HOME")
    assert home().name == "hetcore"


def test_the_folder_is_the_users_alone(opened, folder):
    opened()
    assert os.stat(folder).st_mode & 0o077 == 0


class TwoOwners(RuleBasedStateMachine):
    """No sequence of calls shows one owner what is the other's."""

    def __init__(self) -> None:
        super().__init__()
        self.store = RunStore(url="sqlite://")
        self.model: dict[str, dict[str, str]] = {"a": {}, "b": {}}

    @rule(owner=st.sampled_from("ab"))
    def add(self, owner):
        self.model[owner][self.store.add(a_run(owner))] = ""

    @rule(owner=st.sampled_from("ab"), name=st.text(max_size=5), k=st.integers(0, 9))
    def rename(self, owner, name, k):
        if self.model[owner]:
            run_id = sorted(self.model[owner])[k % len(self.model[owner])]
            self.model[owner][run_id] = self.store.rename(owner, run_id, name).name

    @rule(owner=st.sampled_from("ab"), of=st.sampled_from("ab"), k=st.integers(0, 9))
    def delete(self, owner, of, k):
        if self.model[of]:
            run_id = sorted(self.model[of])[k % len(self.model[of])]
            assert self.store.delete(owner, run_id) == (owner == of)
            if owner == of:
                del self.model[of][run_id]

    @invariant()
    def each_sees_their_own(self):
        for owner in "ab":
            assert {run.id: run.name for run in self.store.list(owner)} == self.model[owner]

    def teardown(self):
        self.store.close()


TestTwoOwners = TwoOwners.TestCase
TestTwoOwners.settings = settings(max_examples=25, stateful_step_count=15, deadline=None, derandomize=True)


# Exactly --------------------------------------------------------------------------------------------------------------


def test_damage_that_shows_in_the_middle_of_work_is_moved_aside(opened, folder, monkeypatch):
    store = opened()
    run_id = store.add(a_run())

    def broken(owner):
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(store._database, "runs", broken)
    assert store.list("anna") == []
    assert "moved aside" in store.warning and "1 run could be saved" in store.warning
    assert len(list(folder.glob("runs-damaged-*.db"))) == 1
    assert [run.id for run in store.list("anna")] == [run_id]
    assert "moved aside" in store.warning  # as long as the studio runs


def test_runs_leave_memory_once_they_are_in_the_database(opened, folder, monkeypatch):
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.0)
    store = opened()
    other = sqlite3.connect(folder / "runs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = {store.add(a_run(), model=b"m") for _ in range(2)}
    assert {run.id for run in store._memory.runs(None)[0]} == waiting
    other.execute("ROLLBACK")
    other.close()
    last = store.add(a_run())
    assert store._memory.runs(None)[0] == []
    assert sorted(run.id for run in store.list("anna")) == sorted({last, *waiting})


def test_deleting_a_run_leaves_the_others_and_their_models(opened):
    store = opened()
    kept, gone = store.add(a_run(), model=b"kept"), store.add(a_run(), model=b"gone")
    assert store._database.delete("ben", kept) is False
    assert store._database.delete("anna", gone) is True
    assert store.model("anna", kept) == b"kept"
    with store._database._begin() as connection:
        assert connection.exec_driver_sql("SELECT run FROM blobs").scalars().all() == [kept]


CAUSES = [
    (sa.exc.OperationalError("SELECT locked", {}, ValueError("disk I/O error")), "ValueError"),
    (sqlite3.OperationalError("attempt to write a readonly database"), "read-only"),
    (sqlite3.OperationalError("database or disk is full"), "the disk is full"),
    (PermissionError(13, "Permission denied"), "permission denied"),
    (KeyError("x"), "KeyError"),
]


@pytest.mark.parametrize(("error", "words"), CAUSES)
def test_the_cause_of_a_fault_in_few_words(error, words):
    assert store_module._cause(error) == words


def test_rows_of_earlier_releases_keep_their_checksum():
    created = datetime(2026, 1, 2, hour=3, minute=4, second=5, tzinfo=UTC)
    run = a_run(id="i", created=created, name="ü", settings={"b": 1, "a": "ä"})
    row = run.row()
    assert row["settings"] == '{"a":"ä","b":1}'
    assert row["created"] == "2026-01-02T03:04:05.000000+00:00"
    assert row["checksum"] == "cd5c8dc0d3aa1dd1f76a617a58db51bdf888c28da7d7b6422348612deb39e672"


def test_salvaging_counts_what_was_taken_and_nothing_else(tmp_path, opened, folder):
    store = opened()
    ids = {store.add(a_run(), model=b"m") for _ in range(3)}
    store.close()
    target = tables.Database("sqlite://")
    assert recover(folder / "runs.db", target) == 3
    assert {run.id for run in target.runs("anna")[0]} == ids
    assert recover(folder / "runs.db", target) == 0  # each is there already
    assert recover(tmp_path / "none.db", target) == 0
    (tmp_path / "text.db").write_bytes(b"hello" * 1000)
    assert recover(tmp_path / "text.db", target) == 0
    target.close()


def test_there_is_one_store_of_the_process(monkeypatch):
    monkeypatch.setattr(store_module, "_shared", None)
    monkeypatch.setattr(store_module, "RunStore", object)
    assert store_module.shared() is store_module.shared() is not None


def test_a_frame_comes_back_from_a_small_stream():
    frame = pl.DataFrame({"x": [0.0] * 10_000})
    assert len(to_stream(frame, "zstd")) < 10_000 < len(to_stream(frame))
    assert_frame_equal(from_stream(to_stream(frame)), frame)
