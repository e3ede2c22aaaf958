"""Jobs: a run goes through its states, obeys its buttons, and dies alone."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pytest

from hetcore.data import HetData
from studio.jobs.job import FunctionTask
from studio.jobs.manager import TrainingTask, UnknownRunError
from tests.jobs.running import PATIENCE, ended, task, until, until_all_ready
from tests.jobs.studio_stubs import TinyData


def test_a_run_sends_its_rounds_and_leaves_its_result(studio):
    run_id = studio.submit(task(n_iterations=4), "anna")
    status = ended(studio, run_id)
    assert (status.state, status.rounds, status.total, status.place, status.message) == ("finished", 4, 4, 0, "")
    assert [event.losses["train"] for event in studio.events(run_id)] == [1, 1 / 2, 1 / 3, 1 / 4]
    processor = [event.detail["processor"] for event in studio.events(run_id)]
    assert processor == sorted(processor) and processor[0] > 0
    assert [event.index for event in studio.events(run_id, since=2)] == [2, 3]
    result = studio.result(run_id)
    assert result.predictions["prediction"].to_list() == [2.5] * 6
    assert result.predictions.columns == ["id", "label", "prediction"]
    assert result.source_weights == {"a": 0.5, "b": 0.5}
    assert result.history.height == 4 and not result.stopped


def test_labels_and_held_out_labels_reach_the_fit(studio):
    y = np.array([1, 3, np.nan, np.nan, np.nan, np.nan])
    held_out = np.array([np.nan, np.nan, 5, np.nan, np.nan, np.nan])
    run_id = studio.submit(TrainingTask("TinyRegressor", {}, TinyData(), y=y, eval_y=held_out), "anna")
    assert ended(studio, run_id).state == "finished"
    predictions = studio.result(run_id).predictions
    assert predictions["prediction"].to_list() == [2.0] * 6
    assert predictions["label"].to_list() == [1, 3, None, None, None, None]
    assert predictions["held_out"].to_list() == [None, None, 5, None, None, None]
    assert studio.result(run_id).scores == {"metric": "RMSE", "train": 1.0, "held_out": 3.0}


def test_operations_change_the_data_of_the_run(studio):
    dropped = TrainingTask("TinyRegressor", {}, TinyData(), operations=[{"op": "drop_source", "name": "a"}])
    run_id = studio.submit(dropped, "anna")
    assert ended(studio, run_id).state == "finished"
    assert studio.result(run_id).source_weights == {"b": 1.0}


def test_real_data_travel(studio):
    table = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    data = HetData({"s": table}, {"g": pl.DataFrame({"source": ["a"], "target": ["b"]})}, (["a", "b"], [1.0, 2.0]))
    run_id = studio.submit(TrainingTask("TinyRegressor", {}, data), "anna")
    assert ended(studio, run_id).state == "finished"
    assert studio.result(run_id).predictions["label"].to_list() == [1.0, 2.0, None]


def test_stop_leaves_the_model_of_the_rounds_done(studio):
    run_id = studio.submit(task("EndlessRegressor"), "anna")
    until(studio, run_id, lambda status: status.rounds > 2)
    studio.stop(run_id)
    studio.stop(run_id)
    status = ended(studio, run_id)
    assert status.state == "stopped"
    result = studio.result(run_id)
    assert result.stopped and result.history.height == status.rounds == len(studio.events(run_id))
    studio.stop(run_id)
    studio.order(run_id, "resume")
    assert studio.status(run_id) == status


def test_a_run_can_be_stepped_from_the_start_paused_and_resumed(studio):
    run_id = studio.submit(task("EndlessRegressor"), "anna", paused=True)
    assert studio.wait(run_id, ["paused"], PATIENCE).rounds == 0
    for rounds in (1, 2):
        studio.order(run_id, "step")
        status = until(studio, run_id, lambda status, n=rounds: status.state == "paused" and status.rounds == n)
        assert status.seconds_left is None
    studio.order(run_id, "resume")
    until(studio, run_id, lambda status: status.state == "running" and status.rounds > 5)
    studio.order(run_id, "pause")
    rounds = until(studio, run_id, lambda status: status.state == "paused").rounds
    studio.order(run_id, "step")
    until(studio, run_id, lambda status: status.state == "paused" and status.rounds == rounds + 1)
    studio.stop(run_id)
    assert ended(studio, run_id).state == "stopped"
    assert studio.result(run_id).history.height == rounds + 1


def test_a_run_that_is_stopped_before_its_first_round_has_no_model(studio):
    run_id = studio.submit(task("EndlessRegressor"), "anna", paused=True)
    studio.wait(run_id, ["paused"], PATIENCE)
    studio.stop(run_id)
    assert ended(studio, run_id).state == "stopped"
    assert studio.result(run_id).model is None and studio.result(run_id).predictions is None


def test_a_run_that_does_not_hear_is_cut_off(studio, monkeypatch):
    monkeypatch.setattr(studio, "limits", studio.limits._replace(stop_grace=0.2))
    run_id = studio.submit(task("DeafRegressor"), "anna")
    until(studio, run_id, lambda status: status.rounds == 1)
    studio.stop(run_id)
    status = ended(studio, run_id)
    assert status.state == "stopped" and "no model was kept" in status.message
    assert studio.result(run_id) is None


def test_a_stop_is_reported_before_the_predictions_are_made_and_does_not_cut_them_off(studio, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    run_id = studio.submit(task("PonderingRegressor", gate=str(gate)), "anna")
    until(studio, run_id, lambda status: status.rounds > 0)
    studio.stop(run_id)
    until(studio, run_id, lambda status: status.state == "predicting")
    assert studio.status(run_id).active
    assert not studio.wait_ended([run_id], 0.0)  # it predicts still: nothing to wait for without patience
    worker = next(worker for worker in studio.workers if worker.phase == "working")
    studio._cut_off(worker, worker.job)  # its grace is over
    gate.write_text("predict")
    assert studio.wait_ended([run_id], PATIENCE)
    assert studio.status(run_id).state == "stopped"
    assert studio.result(run_id).predictions is not None


FAILURES = [
    ("BrokenRegressor", "RuntimeError: boom"),
    ("HungryRegressor", "more memory"),
    ("DyingRegressor", "ended by itself"),
    ("NoSuchRegressor", "'NoSuchRegressor' is not a method of hetcore"),
]


@pytest.mark.parametrize(("estimator", "sentence"), FAILURES, ids=[case[0] for case in FAILURES])
def test_what_goes_wrong_fails_the_run_in_a_sentence_and_the_next_run_works(studio, estimator, sentence):
    run_id = studio.submit(task(estimator), "anna")
    status = ended(studio, run_id)
    assert status.state == "failed" and sentence in status.message
    assert len(status.message) < 300 and "/srv" not in status.message and "\n" not in status.message
    assert studio.result(run_id) is None
    following = studio.submit(task(), "anna")
    assert ended(studio, following).state == "finished"


@pytest.mark.slow
def test_kill_9_fails_one_run_and_not_the_other(studio):
    first, second = (studio.submit(task("EndlessRegressor"), "anna") for _ in range(2))
    for run_id in (first, second):
        until(studio, run_id, lambda status: status.rounds > 0)
    victim = next(worker for worker in studio.workers if worker.job.run_id == first)
    os.kill(victim.pid, signal.SIGKILL)
    assert ended(studio, first).state == "failed"
    rounds = studio.status(second).rounds
    until(studio, second, lambda status: status.rounds > rounds)
    studio.stop(second)
    assert ended(studio, second).state == "stopped"
    until_all_ready(studio)
    third = studio.submit(task(), "anna")
    assert ended(studio, third).state == "finished"


def test_functions_run_as_jobs_if_they_are_allowed(studio):
    run_id = studio.run_task("tests.jobs.studio_stubs:double", {"value": 21}, "anna")
    assert ended(studio, run_id).state == "finished"
    assert studio.result(run_id).value == 42
    refused = studio.run_task("os:system", {"command": "true"}, "anna")
    assert "may not run as a job" in ended(studio, refused).message


def test_data_are_sent_once_and_the_next_run_goes_where_they_are(studio):
    until_all_ready(studio)
    data = TinyData(ballast=1000)
    pids = []
    for _ in range(3):
        run_id = studio.submit(FunctionTask("tests.jobs.studio_stubs:own_pid", {"data": data}), "anna")
        assert ended(studio, run_id).state == "finished"
        pids.append(studio.result(run_id).value)
        until_all_ready(studio)
    assert len(set(pids)) == 1


def test_data_that_cannot_travel_fail_the_run_in_words(studio):
    run_id = studio.submit(TrainingTask("TinyRegressor", {}, {"X": lambda: None}), "anna")
    status = ended(studio, run_id)
    assert status.state == "failed" and "local object" in status.message and len(status.message) < 300
    following = studio.submit(task(), "anna")
    assert ended(studio, following).state == "finished"


def test_a_run_keeps_its_task_and_not_its_data(studio):
    run_id = studio.submit(task(n_iterations=1), "anna")
    ended(studio, run_id)
    assert studio.task(run_id).estimator == "TinyRegressor" and studio.task(run_id).data is None
    function = studio.run_task("tests.jobs.studio_stubs:own_pid", {"data": TinyData()}, "anna")
    ended(studio, function)
    assert studio.task(function).kwargs == {"data": None}


def test_runs_of_others_are_unknown_and_ids_cannot_be_guessed(studio):
    run_ids = [studio.submit(task(n_iterations=1), "anna") for _ in range(3)]
    assert len(set(run_ids)) == 3 and all(len(run_id) >= 22 for run_id in run_ids)
    for look in (studio.status, studio.events, studio.result, studio.stop, studio.task):
        with pytest.raises(UnknownRunError, match="not known here"):
            look(run_ids[0], owner="ben")
        with pytest.raises(UnknownRunError):
            look("guess")
    with pytest.raises(UnknownRunError):
        studio.order(run_ids[0], "pause", "ben")
    assert studio.status(run_ids[0], owner="anna").run_id == run_ids[0]
    assert {status.run_id for status in studio.runs("anna")} >= set(run_ids)
    assert studio.runs("nobody") == []
    for run_id in run_ids:
        ended(studio, run_id)


def test_a_run_is_forgotten_by_its_owner_alone_and_ends_if_it_goes_on(studio):
    done, going = (studio.submit(task(name, **more), "anna") for name, more in
                   (("TinyRegressor", {"n_iterations": 1}), ("EndlessRegressor", {})))  # fmt: skip
    ended(studio, done)
    for run_id in (done, going):
        studio.forget(run_id, "bob")
        assert studio.status(run_id, "anna")
        studio.forget(run_id, "anna")
        with pytest.raises(UnknownRunError):
            studio.result(run_id)
    studio.forget(done, "anna")
    # the worker is free again
    assert ended(studio, studio.submit(task(n_iterations=1), "anna")).state == "finished"
