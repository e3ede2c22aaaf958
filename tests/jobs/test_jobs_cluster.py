"""Trainings of the studio on a Dask cluster: the same numbers, said where they ran, stopped and failed alone."""

from __future__ import annotations

import os
import sys

import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from studio.jobs import cluster as cluster_of_studio
from studio.jobs import shared_tables
from studio.jobs.manager import Manager, TrainingTask
from studio.limits import GIB, JobLimits
from tests.consensus.test_consensus import model, planted

dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from tests.consensus.test_distributed import PATIENCE, QUIET, same  # noqa: E402 - after the skip


@pytest.mark.slow
def test_the_studio_trains_here_when_the_cluster_does_not_answer(monkeypatch):
    data, truth = planted("regression")
    monkeypatch.setattr(cluster_of_studio, "CONNECT_SECONDS", 0.2)
    here = model("regression", random_state=0, schedule="parallel").fit(data, eval_y=truth)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        monkeypatch.setenv("HETCORE_DASK_ADDRESS", address)
        made = model("regression", random_state=0)
        sentence = cluster_of_studio.fit(made, data, data.y, eval_y=truth)
        assert sentence == f"The Dask cluster at {address} does not answer, so this training was done here; " + (
            "the result is the same."
        )
        assert same(here, made)
    assert cluster_of_studio.parameters() == {"schedule": "parallel"}
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "is not installed (requirements-dask.txt), so" in cluster_of_studio.fit(made, data, data.y)


def test_the_studio_without_an_address_or_with_another_method_does_not_ask_for_a_cluster(monkeypatch):
    asked = model("regression", n_iterations=2)
    assert not cluster_of_studio.serves(asked) and cluster_of_studio.parameters() == {}
    monkeypatch.setenv("HETCORE_DASK_ADDRESS", "tcp://127.0.0.1:1")
    assert cluster_of_studio.serves(asked) and not cluster_of_studio.serves(hc.GBRegressor(n_iterations=2))


def test_the_studio_says_what_the_cluster_does():
    bytes_moved = {"sent": 1_000_000, "received": 234_567, "loaded": 5}
    detail = {"workers": 3, "workers_lost": 1, "bytes": bytes_moved}
    assert cluster_of_studio.summary([hc.RoundEnd("GBCRegressor", 0, 2, {}, detail=detail)]) == (
        "On 3 workers of the Dask cluster; the last round moved 1.23 MB. "
        "Lost on the way: 1 worker, whose sources moved to the others."
    )
    assert cluster_of_studio.summary([]) == cluster_of_studio.summary([hc.RoundEnd("GBCRegressor", 0, 2, {})]) == ""


def first_round(studio, run_id):
    """Wait until the run has done a round."""
    with studio.changed:
        assert studio.changed.wait_for(lambda: studio.events(run_id), PATIENCE)


@pytest.mark.slow
def test_runs_of_the_studio_train_on_the_cluster_stop_and_fail_alone(monkeypatch):
    data, _ = planted("regression")
    here = model("regression", random_state=0, schedule="parallel").fit(data)
    params = {"n_iterations": 7, "random_state": 0}
    with dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", **QUIET) as made:
        monkeypatch.setenv("HETCORE_DASK_ADDRESS", made.scheduler_address)
        studio = Manager(JobLimits(workers=1, memory=8 * GIB), compiled=False)
        try:
            done = studio.submit(TrainingTask("GBCRegressor", params, data))
            endless = TrainingTask("GBCRegressor", params | {"n_iterations": 10**6, "as_printed": True}, data)
            stopped, failed = studio.submit(endless), studio.submit(endless)
            assert studio.wait(done, timeout=PATIENCE).state == "finished"
            assert studio.events(done)[-1].detail["workers"] == 1
            summary = cluster_of_studio.summary(studio.events(done))
            assert summary.startswith("On 1 worker of the Dask cluster; the last")
            assert_array_equal(studio.result(done).predictions["prediction"], here.predict(data))
            first_round(studio, stopped)
            studio.order(stopped, "pause")
            assert studio.wait(stopped, ["paused"], PATIENCE).state == "paused"
            studio.stop(stopped)
            assert studio.wait(stopped, timeout=PATIENCE).state == "stopped"
            assert studio.result(stopped).history.height == len(studio.events(stopped))
            first_round(studio, failed)
            made.close()
            status = studio.wait(failed, timeout=PATIENCE)
            assert status.state == "failed" and "The Dask scheduler at tcp://" in status.message
            assert studio.result(done).model is not None and studio.status(done).state == "finished"
        finally:
            studio.close()


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_tables_are_written_once_by_what_is_in_them(task, tmp_path):
    data, _ = planted(task)
    columns = {name: source.frame.columns for name, source in data.sources.items()}
    for _ in range(2):
        shared = shared_tables.by_path(data, tmp_path)
        assert {name: source.frame.columns for name, source in data.sources.items()} == columns
        assert len(list(tmp_path.iterdir())) == len(data.sources)
    assert shared.digest() == data.digest() and not any(source.is_loaded for source in shared.sources.values())
    assert {name: source.kinds for name, source in shared.sources.items()} == {
        name: source.kinds for name, source in data.sources.items()
    }
    made = [model(task, True, random_state=0).fit(each) for each in (data, shared)]
    assert same(*made)


def test_tables_written_long_ago_make_room(tmp_path, monkeypatch):
    data, _ = planted("regression")
    monkeypatch.setattr(shared_tables, "SHARED_BYTES", 0)
    names = [*data.sources]
    shared_tables.by_path(data.select(sources=names[:1]), tmp_path)
    (first,) = tmp_path.iterdir()
    shared_tables.by_path(data.select(sources=names[1:2]), tmp_path)
    assert first.exists()  # a training may read it: it was written today
    os.utime(first, (0, 0))
    shared_tables.by_path(data.select(sources=names[1:2]), tmp_path)
    assert not first.exists() and len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_a_cluster_of_the_studio_reads_uploads_from_the_shared_folder(monkeypatch, tmp_path):
    data, _ = planted("regression")
    here = model("regression", True, random_state=0, schedule="parallel").fit(data)
    with dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", **QUIET) as made:
        monkeypatch.setenv("HETCORE_DASK_ADDRESS", made.scheduler_address)
        monkeypatch.setenv("HETCORE_SHARED", str(tmp_path / "tables"))
        there = model("regression", True, random_state=0)
        assert cluster_of_studio.fit(there, data, data.y) == "" and same(here, there)
        assert len(list((tmp_path / "tables").iterdir())) == len(data.sources)
        (tmp_path / "file").write_text("no folder")
        monkeypatch.setenv("HETCORE_SHARED", str(tmp_path / "file"))
        assert "so the tables were sent" in cluster_of_studio.fit(there, data, data.y)
