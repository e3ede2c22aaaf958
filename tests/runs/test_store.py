"""The run store: what was stored comes back, owners see their own, faults and damage are told and survived."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from polars.testing import assert_frame_equal

from studio.jobs.worker import child_environment
from studio.runs.run import Run
from studio.runs.store import RunStore, home
from tests.runs.store_faults import a_run


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


def test_a_pin_is_its_owners_and_outlives_the_store(anywhere):
    runs = anywhere()
    first, second = (runs.add(Run("anna", "Consensus", "GBC", "films", results={"rounds": k})) for k in (1, 2))
    for one in (second, first):
        runs.pin("anna", one)
    with pytest.raises(LookupError):
        runs.pin("berta", first)
    again = anywhere()
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


WRITER = """
import sys
from studio.runs.run import Run
from studio.runs.store import RunStore
store = RunStore(sys.argv[1])
while True:
    run_id = store.add(Run(owner="anna", page="p", method="m", dataset="d"), model=b"m" * 20000)
    print(run_id, flush=True)
"""


@pytest.mark.slow
def test_a_run_that_was_acknowledged_survives_kill_9(anywhere, address):
    anywhere()  # makes the folder
    acknowledged = []
    for _ in range(3):
        command = [sys.executable, "-c", WRITER, address]
        with subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) as process:
            acknowledged += [process.stdout.readline().strip() for _ in range(8)]
            process.kill()
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
    store = anywhere()
    assert store.warning == ""
    assert set(acknowledged) <= {run.id for run in store.list("anna")}
    assert all(store.model("anna", run_id) == b"m" * 20000 for run_id in acknowledged)


@pytest.mark.slow
def test_processes_and_threads_can_write_at_once(anywhere, address):
    anywhere()
    script = WRITER.replace("while True", "for _ in range(15)")
    command = [sys.executable, "-c", script, address]
    writers = [subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    store = anywhere()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: store.add(a_run()), range(20)))
    for writer in writers:
        output, _ = writer.communicate()
        ids += output.split()
    assert len(ids) == 50 and set(ids) == {run.id for run in store.list("anna")}
    assert store.warning == ""


@pytest.mark.slow
def test_processes_make_the_tables_of_one_server_at_once(database):
    script = WRITER.replace("while True", "for _ in range(10)")
    command = [sys.executable, "-c", script, database]
    writers = [subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [run_id for writer in writers for run_id in writer.communicate()[0].split()]
    store = RunStore(database)
    assert store.warning == ""
    assert len(ids) == 30 and set(ids) == {run.id for run in store.list("anna")}
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

    def __init__(self, url: str = "sqlite://") -> None:
        super().__init__()
        self.store = RunStore(url=url)
        self.model: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        for owner in self.model:
            for run in self.store.list(owner):  # of the machine before, on a server
                assert self.store.delete(owner, run.id)

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


MACHINES = settings(max_examples=25, stateful_step_count=15, deadline=None, derandomize=True)
TestTwoOwners = TwoOwners.TestCase
TestTwoOwners.settings = MACHINES


@pytest.mark.slow
def test_two_owners_of_one_server(database):
    run_state_machine_as_test(lambda: TwoOwners(database), settings=MACHINES)
