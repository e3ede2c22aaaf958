"""A store whose folder, disk, file or rows are not as they were: nothing is lost without a word."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import polars as pl
import pytest
import sqlalchemy as sa
from polars.testing import assert_frame_equal

from hetcore.errors import DataError
from studio.readers.parsed import from_stream, to_stream
from studio.runs import database as tables
from studio.runs import open_store
from studio.runs import store as store_module
from studio.runs.database import SCHEMA
from studio.runs.recover import recover
from studio.runs.store import RunStore
from tests.runs.store_faults import a_run

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


def test_a_locked_database_makes_runs_wait_in_memory_until_it_is_free(anywhere, lock, monkeypatch):
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.0)
    store = anywhere()
    first = a_run()
    store.add(first)
    waiting = a_run()
    with lock():
        store.add(waiting, model=b"m")
        assert "locked" in store.warning and "in memory" in store.warning
        assert waiting.id in {run.id for run in store.list("anna")} and store.model("anna", waiting.id) == b"m"
    last = a_run()
    store.add(last)
    assert store.warning == ""
    assert {run.id for run in anywhere().list("anna")} == {first.id, waiting.id, last.id}
    assert anywhere().model("anna", waiting.id) == b"m"


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


def test_a_newer_database_is_left_alone(anywhere, change):
    store = anywhere()
    kept = store.add(a_run())
    store.close()
    change(f"UPDATE meta SET value = '{SCHEMA + 1}'")
    newer = anywhere()
    assert "newer studio" in newer.warning
    assert newer.list("anna") == []
    newer.add(a_run())
    newer.close()
    change(f"UPDATE meta SET value = '{SCHEMA}'")
    assert [run.id for run in anywhere().list("anna")] == [kept]


def test_the_file_of_a_newer_database_keeps_every_byte(opened, folder, monkeypatch):
    store = opened()
    store.add(a_run())
    store.close()
    before = (folder / "runs.db").read_bytes()
    monkeypatch.setattr(tables, "SCHEMA", SCHEMA - 1)
    newer = opened()
    newer.add(a_run())
    newer.close()
    assert "newer studio" in newer.warning and (folder / "runs.db").read_bytes() == before


def test_a_changed_row_is_left_out_and_reported(anywhere, change):
    store = anywhere()
    good, bad = store.add(a_run()), store.add(a_run())
    store.close()
    change(f"UPDATE runs SET results = '{{\"error\":0}}' WHERE id = '{bad}'")
    again = anywhere()
    assert [run.id for run in again.list("anna")] == [good]
    assert "1 stored run left out" in again.warning
    with pytest.raises(LookupError):
        again.get("anna", bad)


def test_a_changed_model_is_refused(anywhere, change):
    store = anywhere()
    run_id = store.add(a_run(), model=b"model")
    store.close()
    change("UPDATE blobs SET content = substr(content, 2)")
    with pytest.raises(DataError, match="model of this run is damaged"):
        anywhere().model("anna", run_id)


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


def test_a_migration_that_fails_leaves_the_database_as_it_was(anywhere, folder, monkeypatch):
    old = anywhere()
    run_id = old.add(a_run())
    old.close()
    with monkeypatch.context() as patched:
        patched.setattr(tables, "SCHEMA", SCHEMA + 1)
        patched.setitem(tables.STEPS, SCHEMA, (OLDER, "UPDATE nothing SET x = 1"))
        store = anywhere()
        assert "could not be brought up to date" in store.warning and store.list("anna") == []
        store.close()
    assert [path.name for path in folder.glob("*.db")] in ([], ["runs.db"])  # nothing is moved aside
    again = anywhere()
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


def test_runs_leave_memory_once_they_are_in_the_database(anywhere, lock, monkeypatch):
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.0)
    store = anywhere()
    with lock():
        waiting = {store.add(a_run(), model=b"m") for _ in range(2)}
        assert {run.id for run in store._memory.runs(None)[0]} == waiting
    last = store.add(a_run())
    assert store._memory.runs(None)[0] == []
    assert sorted(run.id for run in store.list("anna")) == sorted({last, *waiting})


def test_deleting_a_run_leaves_the_others_and_their_models(anywhere):
    store = anywhere()
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
    assert open_store._cause(error) == words


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
