"""What the run store promises beyond storing: runs in progress, warnings that stay, reads that wait for nobody."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from studio.jobs.worker import child_environment
from studio.runs import process
from tests.runs.store_faults import a_run


def ids(store):
    return {run.id for run in store.list("anna")}


# Full, locked ---------------------------------------------------------------------------------------------------------


def allow_pages(store, more):
    """Let the database grow by so many pages and no further, as a full disk does."""
    with store._database._begin() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + more}")


def test_the_warning_of_a_full_disk_stays_until_every_run_is_stored(opened):
    store = opened()
    kept = store.add(a_run())
    allow_pages(store, 1)
    waiting = {store.add(a_run(), model=bytes(200_000)) for _ in range(3)}
    for _ in range(3):
        assert ids(store) == {kept, *waiting}
        assert "the disk is full" in store.warning and "3 runs would be lost" in store.warning
    allow_pages(store, 10_000)
    assert ids(store) == {kept, *waiting}
    assert store.warning == ""
    assert ids(opened()) == {kept, *waiting}


def test_runs_in_memory_are_stored_when_the_studio_ends(opened):
    store = opened()
    allow_pages(store, 0)
    waiting = store.add(a_run(), model=bytes(200_000))
    allow_pages(store, 10_000)
    store.close()
    assert ids(opened()) == {waiting}


def test_reads_wait_for_no_writer_and_for_no_other_reader(anywhere, lock):
    store = anywhere()
    kept = {store.add(a_run(), model=b"m") for _ in range(2)}
    with lock():
        with ThreadPoolExecutor(6) as pool:
            seen = list(pool.map(lambda _: ids(store), range(6)))
        assert seen == [kept] * 6 and store.warning == ""
        assert {store.model("anna", run_id) for run_id in kept} == {b"m"}
        assert not store.delete("anna", min(kept)) and "locked" in store.warning


def test_a_reader_that_takes_long_blocks_neither_reads_nor_writes(anywhere):
    store = anywhere()
    first = store.add(a_run())
    with store._database._reading() as connection:
        connection.exec_driver_sql("SELECT * FROM runs").fetchone()
        second = store.add(a_run())
        assert ids(store) == {first, second} and store.warning == ""


def test_a_thread_that_writes_makes_others_wait_no_longer_than_the_patience(anywhere, monkeypatch):
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.01)
    store = anywhere()
    with store._database._begin(), ThreadPoolExecutor(1) as pool:
        run_id = pool.submit(store.add, a_run()).result()
        assert "locked" in store.warning
        assert pool.submit(ids, store).result() == {run_id}


def test_a_store_that_opens_while_another_process_writes_waits_for_it(opened, folder, monkeypatch):
    run_id = opened().add(a_run())
    monkeypatch.setattr("studio.runs.database.PATIENCE", 0.02)
    monkeypatch.setattr("studio.runs.database.OPENING", 1000)
    with contextlib.closing(sqlite3.connect(folder / "runs.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(opened)
            wait([opening], timeout=0.2)
            assert not opening.done()
            writer.rollback()
            store = opening.result()
    assert store.warning == "" and ids(store) == {run_id}
    with store._database._begin() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 20


# Runs in progress -----------------------------------------------------------------------------------------------------


def test_a_run_is_listed_from_its_start_and_ends_in_its_place(anywhere):
    store = anywhere()
    run = store.begin(a_run(settings={"k": 1}))
    assert [each.status for each in store.list("anna")] == ["training"]
    assert [each.status for each in anywhere().list("anna")] == ["training"]  # this process lives
    store.add(dataclasses.replace(run, status="finished", results={"rounds": 3}), model=b"m")
    (ended,) = store.list("anna")
    assert (ended.id, ended.status, ended.settings, ended.results) == (run.id, "finished", {"k": 1}, {"rounds": 3})
    assert store.model("anna", run.id) == b"m"


BEGINS = """
import os, signal, sys
from studio.runs.run import Run
from studio.runs.store import RunStore
run = RunStore(sys.argv[1]).begin(Run("anna", "Consensus", "GBCClassifier", "mfeat"))
print(run.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_whose_studio_was_killed_is_interrupted(anywhere, address):
    anywhere()  # makes the folder
    command = [sys.executable, "-c", BEGINS, address]
    killed = subprocess.run(command, env=child_environment(), stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -9
    (run,) = anywhere().list("anna")
    assert (run.id, run.status) == (killed.stdout.strip(), "interrupted")


def test_processes_are_distinguished():
    assert process.is_alive(process.here())
    host, number, started = process.here().rsplit(" ", 2)
    assert not process.is_alive(f"{host} {number} {float(started) - 60:.2f}")  # its number was another's before
    assert not process.is_alive("") and not process.is_alive(f"{host} 999999999 0")
    assert process.is_alive(f"not-{host} 999999999 0")


# Gone, emptied, damaged -----------------------------------------------------------------------------------------------


def emptied(file):
    file.write_bytes(b"")


def without_tables(file):
    connection = sqlite3.connect(file)
    for table in ("blobs", "runs", "meta"):
        connection.execute(f"DROP TABLE {table}")
    connection.close()


@pytest.mark.parametrize("lose", [lambda file: file.unlink(), emptied, without_tables], ids=["gone", "0 bytes", "bare"])
def test_a_database_that_lost_its_runs_says_so_until_it_was_read(opened, folder, lose):
    store = opened()
    store.add(a_run())
    store.close()
    lose(folder / "runs.db")
    first, second = opened(), opened()
    assert first.list("anna") == [] and first.warning == second.warning
    assert first.warning.startswith("The database of runs was deleted or empty")
    first.close()
    again = opened()
    again.add(a_run())
    assert "deleted or empty" in again.warning
    again.dismiss()
    assert again.warning == "" == opened().warning


def test_a_first_start_says_nothing(anywhere):
    assert anywhere().warning == "" == anywhere().warning


@pytest.mark.parametrize("table", ["runs", "blobs"])
def test_a_table_that_is_gone_is_damage(opened, folder, table):
    store = opened()
    store.add(a_run(), model=b"m")
    store.close()
    connection = sqlite3.connect(folder / "runs.db")
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    again, other = opened(), opened()
    assert "was damaged and moved aside" in again.warning
    assert other.warning == again.warning


def test_a_file_whose_last_page_was_cut_off_gives_its_runs_back(opened, folder):
    store = opened()
    kept = {store.add(a_run(results={"text": "x" * 3000}), model=b"m" * 5000) for _ in range(5)}
    store.close()
    content = (folder / "runs.db").read_bytes()
    (folder / "runs.db").write_bytes(content[:-4096])
    again = opened()
    assert ids(again) == kept and "5 runs could be saved" in again.warning


def test_rows_behind_a_damaged_page_are_reached_by_their_numbers(opened, folder):
    store = opened()
    kept = {store.add(a_run(results={"text": "x" * 2500})) for _ in range(12)}
    store.close()
    content = bytearray((folder / "runs.db").read_bytes())
    at = content.find(b"x" * 2000) // 4096 * 4096
    content[at : at + 4096] = np.random.default_rng(0).bytes(4096)
    (folder / "runs.db").write_bytes(bytes(content))
    again = opened()
    assert "moved aside" in again.warning
    assert len(ids(again)) >= 8 and ids(again) < kept


def test_a_file_deleted_under_an_open_store_is_written_anew(opened, folder):
    store = opened()
    kept = {store.add(a_run(), model=b"m") for _ in range(3)}
    for file in folder.glob("runs.db*"):
        file.unlink()
    assert ids(store) == kept and "deleted or replaced while it was open: 3 runs could be saved" in store.warning
    later = store.add(a_run())
    again = opened()
    assert ids(again) == {*kept, later}
    assert {again.model("anna", run_id) for run_id in kept} == {b"m"}
    assert "deleted or replaced" in again.warning


def test_a_folder_moved_away_and_back_loses_nothing(opened, folder, tmp_path):
    store = opened()
    kept = store.add(a_run())
    store.close()
    shutil.move(folder, tmp_path / "away")
    shutil.move(tmp_path / "away", folder)
    assert ids(opened()) == {kept}
    assert opened().warning == ""
