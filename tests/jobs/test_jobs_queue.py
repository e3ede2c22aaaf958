"""Jobs wait their turn, are stopped and forgotten with time, and end with their processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from studio.jobs.manager import Manager, TrainingTask, manager
from studio.jobs.worker import Worker
from tests.jobs.running import LIMITS, PATIENCE, STUBS, Clock, ended, task, until, until_all_ready
from tests.jobs.studio_stubs import TinyData


@pytest.mark.slow
def test_the_end_is_reported_once_with_the_result_watched_or_not(single):
    studio, ends = single(), []
    first = studio.submit(task(n_iterations=2), "anna", on_end=lambda status, result: ends.append((status, result)))
    broken = studio.submit(task("BrokenRegressor"), "anna", on_end=lambda status, result: 1 / 0)
    running = studio.submit(task("EndlessRegressor"), "anna")
    waiting = studio.submit(task(), "anna", on_end=lambda status, result: ends.append((status, result)))
    until(studio, running, lambda status: status.rounds > 0)
    studio.stop(waiting)
    studio.stop(running)
    ended(studio, running)
    assert [(status.run_id, status.state) for status, _ in ends] == [(first, "finished"), (waiting, "stopped")]
    assert ends[0][1].history.height == 2 and ends[1][1] is None
    assert studio.status(broken).state == "failed"


@pytest.mark.slow
def test_a_worker_killed_while_idle_is_replaced(single):
    studio = single()
    until_all_ready(studio)
    os.kill(studio.workers[0].pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(studio.workers[0].pid)], timeout=PATIENCE)
    run_id = studio.submit(task(), "anna")
    assert ended(studio, run_id).state == "finished"


@pytest.mark.slow
def test_a_worker_that_dies_before_it_has_its_run_costs_nothing(single, monkeypatch):
    studio = single()
    until_all_ready(studio)
    send, asked = Worker.send, []

    def send_after_death(worker, *message):
        if message[0] == "run":
            asked.append(worker.pid)
            if len(asked) == 1:
                worker.kill()
        send(worker, *message)

    monkeypatch.setattr(Worker, "send", send_after_death)
    run_id = studio.submit(task(), "anna")
    assert ended(studio, run_id).state == "finished" and len(set(asked)) == 2
    monkeypatch.setattr(Worker, "send", lambda worker, *_: worker.kill())
    run_id = studio.submit(task(), "anna")
    assert "ended by itself" in ended(studio, run_id).message  # twice is enough


@pytest.mark.slow
def test_a_worker_forgets_the_oldest_data(single):
    studio = single(datasets=2)
    for size in (1, 2, 1, 3, 1):
        run_id = studio.submit(TrainingTask("TinyRegressor", {}, TinyData(ballast=size)), "anna")
        assert ended(studio, run_id).state == "finished"
    assert len(studio.workers[0].held) == 2


@pytest.mark.slow
def test_the_queue_shows_places_and_is_fair_between_owners(single):
    studio = single()
    running = studio.submit(task("EndlessRegressor"), "anna")
    until(studio, running, lambda status: status.rounds > 0)
    waiting = [studio.submit(task("EndlessRegressor"), owner) for owner in ("anna", "anna", "ben")]
    assert [studio.status(run_id).place for run_id in waiting] == [2, 3, 1]
    assert {studio.status(run_id).state for run_id in waiting} == {"queued"}
    order = []
    for run_id in (running, waiting[2], waiting[0], waiting[1]):
        until(studio, run_id, lambda status: status.rounds > 0)
        order.append([studio.status(other).state for other in waiting].count("running"))
        studio.stop(run_id)
        assert ended(studio, run_id).state == "stopped"
    assert order == [0, 1, 1, 1]


@pytest.mark.slow
def test_a_waiting_run_can_be_stopped(single):
    studio = single()
    running, waiting = (studio.submit(task("EndlessRegressor"), "anna") for _ in range(2))
    until(studio, running, lambda status: status.rounds > 0)
    studio.stop(waiting)
    assert studio.status(waiting).state == "stopped" and "before it began" in studio.status(waiting).message
    studio.stop(running)
    assert ended(studio, running).state == "stopped"


@pytest.mark.slow
def test_the_wait_for_a_process_shows(single):
    studio = single()
    first = studio.submit(task(), "anna")
    second = studio.submit(task(), "anna")
    assert studio.status(first).state in ("starting", "compiling", "running", "finished")
    assert studio.status(second).state in ("queued", "running", "finished")
    assert ended(studio, second).state == "finished"
    assert studio.readiness() == "ready"


def test_an_owner_cannot_fill_the_queue(single):
    studio = single(waiting=2)
    runs = [studio.submit(task("EndlessRegressor"), "anna") for _ in range(2)]
    with pytest.raises(ValueError, match="2 unfinished runs already: stop one"):
        studio.submit(task(), "anna")
    studio.submit(task("EndlessRegressor"), "ben")
    studio.stop(runs[1])
    studio.submit(task(), "anna")


def test_a_run_that_nobody_watches_stops(single):
    clock = Clock()
    studio = single(clock, idle_seconds=600.0)
    watched, alone = (studio.submit(task("EndlessRegressor"), "anna") for _ in range(2))
    until(studio, watched, lambda status: status.rounds > 0)
    clock.now += 400
    studio.status(watched)
    studio.status(alone, watch=False)
    studio.runs("anna")
    clock.now += 400
    studio.sweep()
    assert studio.status(watched, watch=False).active
    assert studio.status(alone, watch=False).state == "stopped"
    assert "Nobody watched this run for 10 minutes" in studio.status(alone, watch=False).message
    clock.now += 601
    studio.sweep()
    with studio.changed:
        assert studio.changed.wait_for(lambda: not studio.status(watched, watch=False).active, PATIENCE)
    assert "Nobody watched" in studio.status(watched).message
    assert studio.result(watched).stopped


def test_a_run_that_began_by_itself_gives_way_once_nobody_watches_it_and_others_wait(single):
    clock = Clock()
    studio = single(clock)
    left, seen = (studio.submit(task("EndlessRegressor"), "anna", gives_way=True) for _ in range(2))
    until(studio, left, lambda status: status.rounds > 0)
    clock.now += LIMITS.away_seconds + 1
    studio.status(seen)
    # one that is there until it is stopped: were it done before the sweep, nobody would wait any more
    waits = studio.submit(task("EndlessRegressor"), "ben")
    with studio.changed:
        assert studio.changed.wait_for(lambda: not studio.status(left, watch=False).active, PATIENCE)
    assert studio.status(seen).active
    clock.now += LIMITS.away_seconds + 1
    studio.sweep()
    with studio.changed:
        assert studio.changed.wait_for(lambda: not studio.status(seen, watch=False).active, PATIENCE)
    until(studio, waits, lambda status: status.rounds > 0)
    studio.stop(waits)
    assert ended(studio, waits).state == "stopped"


def test_a_run_that_was_asked_for_goes_on_unwatched_though_others_wait(single):
    clock = Clock()
    studio = single(clock)
    asked = studio.submit(task("EndlessRegressor"), "anna")
    until(studio, asked, lambda status: status.rounds > 0)
    clock.now += LIMITS.away_seconds + 1
    studio.submit(task(), "ben")
    studio.sweep()
    assert studio.status(asked).active and not studio.status(asked).stopping


def test_old_runs_are_forgotten(single):
    clock = Clock()
    studio = single(clock, kept_seconds=100.0, kept_runs=2)
    runs = []
    for _ in range(3):
        runs.append(studio.submit(task(n_iterations=1), "anna"))
        ended(studio, runs[-1])
        clock.now += 1
    studio.sweep()
    assert [run_id in {status.run_id for status in studio.runs("anna")} for run_id in runs] == [False, True, True]
    clock.now += 101
    studio.sweep()
    assert studio.runs("anna") == []


@pytest.mark.slow
def test_large_results_are_forgotten_before_there_are_many(single):
    clock, runs = Clock(), []
    studio = single(clock, kept_bytes=1)
    for _ in range(2):
        runs.append(studio.submit(task(n_iterations=1), "anna"))
        ended(studio, runs[-1])
        clock.now += 1
    assert studio.result(runs[1]).nbytes > 0
    studio.sweep()
    assert [status.run_id for status in studio.runs("anna")] == runs[1:]


@pytest.mark.slow
def test_a_pause_does_not_count_as_time(single):
    clock = Clock()
    studio = single(clock)
    run_id = studio.submit(task("EndlessRegressor"), "anna", paused=True)
    studio.wait(run_id, ["paused"], PATIENCE)
    clock.now += 50
    assert studio.status(run_id).seconds == 0
    studio.order(run_id, "step")
    until(studio, run_id, lambda status: status.state == "paused" and status.rounds == 1)
    assert studio.status(run_id).seconds == 0


@pytest.mark.slow
def test_a_worker_that_cannot_start_fails_runs_in_words(single):
    studio = single(modules=("no_such_module",))
    run_id = studio.submit(task(), "anna")
    assert "cannot start" in ended(studio, run_id).message


@pytest.mark.slow
def test_closing_ends_every_process():
    studio = Manager(LIMITS._replace(workers=1), STUBS)
    until_all_ready(studio)
    process = psutil.Process(studio.workers[0].pid)
    assert process.nice() == min(19, psutil.Process().nice() + 10)
    # Sessions share the processor first: without a niceness of its own session that of the process counts for nothing.
    group = Path(f"/proc/{process.pid}/autogroup")
    if group.exists() and "nice" in (text := group.read_text()):
        assert text.split()[-1] == "10"
    studio.close()
    assert not process.is_running()


def test_a_second_worker_starts_once_the_first_is_idle_or_has_more_than_it_can():
    """Beside the first training ever it would compile, and slow it."""
    studio = Manager(LIMITS, STUBS, compiled=False)
    until(studio, studio.submit(task("DeafRegressor"), "anna"), lambda status: status.rounds > 0)
    assert not studio.workers[1].alive()
    until(studio, studio.submit(task("DeafRegressor"), "anna"), lambda status: status.rounds > 0)
    assert studio.workers[1].alive()
    studio.close()


def test_a_worker_ends_with_the_studio():
    worker = Worker(LIMITS.memory, STUBS, kernels="none")
    worker.start()
    assert worker.receive() == ("phase", "compiling")
    worker._connection.close()
    assert worker._process.wait(PATIENCE) == 0


def test_there_is_one_manager(monkeypatch):
    from studio.jobs import manager as jobs

    made = Manager(LIMITS._replace(workers=1), STUBS, compiled=False)
    monkeypatch.setitem(jobs._made, "trainings", made)
    assert manager() is manager() is made
    made.close()
