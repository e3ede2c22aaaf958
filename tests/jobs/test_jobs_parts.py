"""What jobs are made of: the player, a job, data references, limits, the fair queue, workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.planted.generator import make_heterogeneous
from hetcore.errors import ParameterError
from hetcore.events import RoundEnd
from hetcore.player import Player
from studio.jobs.fair_queue import FairQueue
from studio.jobs.job import Job, TrainingTask
from studio.jobs.manager import Manager
from studio.jobs.packing import Packer
from studio.jobs.worker import Worker
from studio.jobs.worker_tasks import perform
from studio.limits import GIB, from_environment
from tests.jobs.running import LIMITS, STUBS, task
from tests.jobs.studio_stubs import TinyData


def test_the_player_counts_steps_and_ignores_them_while_running():
    sent = []
    player = Player(sent.append)
    player.order("step")  # while running: a pause
    player.order("step")
    player.order("step")
    assert player("first") is False and player("second") is False
    player.order("stop")
    assert player("third") is True
    assert sent == [("round", "first"), ("round", "second"), ("round", "third")]


def test_seconds_of_a_training_are_those_that_it_was_not_paused(monkeypatch):
    now, events = [0.0], []

    def send(message):
        if message[0] == "round":
            events.append(message[1])
            player.order("pause")
        elif message[0] == "paused":
            now[0] += 100.0
            player.order("resume")

    player = Player(send, paused=True)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    data = make_heterogeneous(n=40, n_sources=1, n_features=2, n_graphs=0, seed=0)[0]
    result = perform(TrainingTask("GBCRegressor", {"n_iterations": 3, "random_state": 0}, data), player)
    assert player.waited == now[0] == 400.0
    assert [event.seconds for event in events] == result.history["seconds"].to_list() == [0.0] * 3
    assert result.seconds == 0.0


def test_an_order_after_the_last_round_changes_nothing():
    sent = []
    player = Player(sent.append)
    player("only")
    player.end()
    player.order("stop")
    player.order("pause")
    assert not player.stopped and player.wait() is False and sent == [("round", "only"), ("predicting", None)]


def test_a_stopped_run_of_long_rounds_has_more_time():
    job = Job("run", "anna", task(), False, 100.0)
    job.leave_queue(100.0)
    assert job.seconds_per_round(140.0) == 0.0
    job.take_message("round", "event", 120.0)
    job.take_message("paused", None, 120.0)
    job.take_message("running", None, 200.0)
    job.take_message("round", "event", 220.0)
    assert job.seconds_per_round(220.0) == 20.0


def test_the_time_left_never_counts_up():
    job, remaining = Job("run", "anna", task(), False, 0.0), []
    job.leave_queue(0.0)
    ends = [1.0, 2.0, 6.0, 7.0, 20.0, 21.0]  # a slow third and a slower fifth round
    for second in range(24):
        for _ in [end for end in ends if end == second]:
            job.take_message("round", RoundEnd("TinyRegressor", len(job.events), 6, {"train": 1.0}), float(second))
        left = job.status(float(second), 0, "queued").seconds_left
        remaining += [] if left is None else [left]
    assert remaining[0] == 4.0 and remaining == sorted(remaining, reverse=True) and remaining[-1] == 0.0


def test_a_first_round_in_which_data_are_read_foretells_nothing():
    job = Job("run", "anna", task(), False, 0.0)
    job.leave_queue(0.0)
    job.take_message("round", RoundEnd("TinyRegressor", 0, 40, {"train": 1.0}), 3.6)
    assert job.status(3.6, 0, "queued").seconds_left is None
    job.take_message("round", RoundEnd("TinyRegressor", 1, 40, {"train": 1.0}), 3.7)
    assert job.status(3.7, 0, "queued").seconds_left == pytest.approx(3.8)


def test_a_pause_does_not_count_for_the_time_left():
    job = Job("run", "anna", task(), False, 0.0)
    job.leave_queue(0.0)
    job.take_message("round", RoundEnd("TinyRegressor", 0, 4, {"train": 1.0}), 2.0)
    job.take_message("round", RoundEnd("TinyRegressor", 1, 4, {"train": 1.0}), 10.0)
    job.take_message("paused", None, 10.0)
    assert job.status(50.0, 0, "queued").seconds_left is None
    job.take_message("running", None, 100.0)
    assert job.status(105.0, 0, "queued").seconds_left == 11.0  # of two more rounds of 8 seconds 5 are gone


def test_a_run_is_about_to_end_in_its_last_rounds_and_while_it_predicts():
    job, soon = Job("run", "anna", task(), False, 0.0), []
    job.leave_queue(0.0)
    for now in (1.0, 2.0, 3.0):  # of four rounds, one a second
        job.take_message("round", RoundEnd("TinyRegressor", len(job.events), 4, {"train": 1.0}), now)
        soon.append(job.ends_within(1.0, now))
    assert soon == [False, False, True]
    assert not job.ends_within(1.0, 4.5)  # later than foreseen, it may go on for long
    job.take_message("paused", None, 3.5)
    assert not job.ends_within(1.0, 3.5)
    job.take_message("predicting", None, 4.0)
    assert job.ends_within(0.0, 4.0)


def test_equal_data_have_one_digest_and_other_data_another():
    packer = Packer()
    digests = [packer.pack(data).digest for data in (TinyData(5), TinyData(5), TinyData(6))]
    assert digests[0] == digests[1] != digests[2]
    arrays = [packer.pack({"X": np.zeros(k)}).digest for k in (2, 2, 3)]
    assert arrays[0] == arrays[1] != arrays[2]


def test_the_same_object_is_pickled_once():
    class Counting(TinyData):
        pickled = 0

        def __reduce__(self):
            Counting.pickled += 1
            return TinyData, ()

    packer, data = Packer(), Counting()
    packer.pack(data).payload()
    second = packer.pack(data)
    assert Counting.pickled == 1
    assert second.payload()
    assert Counting.pickled == 2


def test_limits_come_from_the_machine_or_the_environment(monkeypatch):
    for name in ("HETCORE_WORKERS", "HETCORE_WORKER_GIB", "HETCORE_IDLE_MINUTES"):
        monkeypatch.delenv(name, raising=False)
    usual = from_environment()
    assert 1 <= usual.workers <= 4 and usual.memory >= 4 * GIB and usual.idle_seconds == 600
    monkeypatch.setenv("HETCORE_WORKERS", "3")
    monkeypatch.setenv("HETCORE_WORKER_GIB", "1.5")
    monkeypatch.setenv("HETCORE_IDLE_MINUTES", "2")
    settings = from_environment()
    assert (settings.workers, settings.memory, settings.idle_seconds) == (3, 1.5 * GIB, 120)
    monkeypatch.setenv("HETCORE_WORKERS", "many")
    with pytest.raises(ParameterError, match="HETCORE_WORKERS='many' must be a number"):
        from_environment()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["push a", "push b", "push c", "pop", "done"]), max_size=40))
def test_the_queue_loses_nobody_and_its_places_come_true(moves):
    queue, line, working, count = FairQueue(), {}, [], 0
    for move in moves:
        if move.startswith("push"):
            count += 1
            line[f"{count}"] = move[-1]
            queue.push(move[-1], f"{count}")
        elif move == "pop":
            first = next(queue.order(), None)
            assert queue.pop() == first
            if first is not None:
                working.append(line.pop(first))
        elif working:
            queue.done(working.pop())
        assert set(queue.order()) == set(line) and len(queue) == len(line)
        assert [queue.place(item) for item in queue.order()] == list(range(1, len(line) + 1))
    assert queue.place("gone") == 0 and not queue.remove("a", "gone")


def test_who_has_nothing_in_work_comes_first():
    queue = FairQueue()
    for owner, item in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3"), ("b", "b2")):
        queue.push(owner, item)
    assert list(queue.order()) == ["a1", "b1", "a2", "b2", "a3"]
    assert queue.pop() == "a1" and queue.pop() == "b1"
    queue.done("b")
    assert queue.pop() == "b2"
    assert queue.remove("a", "a2") and queue.pop() == "a3" and queue.pop() is None


def test_the_first_worker_is_soon_there_and_the_others_have_all_kernels(monkeypatch):
    asked = []

    class Asked(Worker):
        def __init__(self, memory, modules=(), kernels="all", niceness=10):
            asked.append(kernels)
            super().__init__(memory, modules, kernels)

        def start(self):
            raise OSError("no process is needed here")

    monkeypatch.setattr("studio.jobs.manager.Worker", Asked)
    for workers, compiled in ((2, True), (1, True), (2, False)):
        Manager(LIMITS._replace(workers=workers), STUBS, compiled=compiled).close()
    assert asked == ["core", "all", "all", "none", "none"]
