"""What nobody waits for: a process of its own that gives way to all others, and what the Consensus page asks of it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading

import psutil
import pytest

from studio.jobs import manager
from studio.jobs.worker import child_environment
from studio.views.consensus import without
from tests.consensus.test_hard_data import constant
from tests.jobs.running import LIMITS, PATIENCE, STUBS, ended, task, until_all_ready

pytestmark = pytest.mark.slow
halting = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a halted process may outlive the studio")
ORPHAN = """
import signal
from studio.jobs.worker import Worker
worker = Worker(4 << 30, (), "none", 11)
assert worker.warm_up(lambda phase: setattr(worker, "phase", phase))
worker.rest(True)
print(worker.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def studio():
    made = manager.background()
    yield made
    made.close()
    manager._made.pop("background", None)


def test_the_comparison_is_made_by_a_process_that_gives_way(studio):
    data = constant("classification")
    operations = [{"op": "labels", "fraction": 0.5, "seed": 0}]
    run = studio.run_task(without.TASK, {"data": data, "operations": operations}, "anna")
    status = studio.wait(run, timeout=400)
    assert status.state == "finished", status.message
    found = studio.result(run, "anna").value
    assert psutil.Process(studio.workers[0].pid).nice() == 19 and len(studio.workers) == 1
    assert set(found["cross_validated"]) == {"CatBoost", "HGB", "linear model", "SVM"}
    assert len(found["losses"]) == 10 and found["held_out"] == pytest.approx(found["losses"].mean())
    here = without.joined(data, operations)
    assert here["name"] == found["name"] and here["cross_validated"] == pytest.approx(found["cross_validated"])


def test_it_is_stopped_between_two_fits(studio):
    arguments = {"data": constant("classification"), "operations": []}
    run = studio.run_task(without.TASK, arguments, "anna")
    studio.stop(run, "anna")
    assert studio.wait(run, timeout=400).state == "stopped" and without.kept("") is None


@pytest.fixture
def halted(single):
    """A manager of what nobody waits for; of stubs, and no nicer than others, for a busy machine would let it wait."""
    made = single()
    until_all_ready(made)
    return made


@pytest.fixture
def trainings(halted, monkeypatch):
    """A manager of trainings that take all cores, one at a time."""
    monkeypatch.setattr(manager.limits, "THREADS", os.cpu_count())
    made = manager.Manager(LIMITS._replace(workers=1), STUBS, compiled=False, others=lambda: halted)
    yield made
    made.close()


@halting
def test_it_rests_while_a_training_takes_all_cores(halted, trainings, monkeypatch):
    monkeypatch.setattr(manager, "REST", PATIENCE)
    run = trainings.submit(task(), "anna", paused=True)
    os.waitid(os.P_PID, halted.workers[0].pid, os.WSTOPPED)
    trainings.order(run, "resume", "anna")
    assert ended(trainings, run).state == "finished"
    os.waitid(os.P_PID, halted.workers[0].pid, os.WCONTINUED)
    assert halted.workers[0].alive()


@halting
def test_it_rests_no_longer_than_a_while(halted, trainings, monkeypatch):
    class Timer(threading.Timer):
        """One whose time comes when told."""

        def start(self):
            """Wait to be told."""

    monkeypatch.setattr(manager.threading, "Timer", Timer)
    trainings.submit(task(), "anna", paused=True)
    os.waitid(os.P_PID, halted.workers[0].pid, os.WSTOPPED)
    assert trainings._waking.interval == manager.REST
    trainings._waking.function()
    os.waitid(os.P_PID, halted.workers[0].pid, os.WCONTINUED)


@halting
def test_a_halted_process_ends_with_a_studio_that_is_killed():
    command = [sys.executable, "-c", ORPHAN]
    with subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True) as parent:  # noqa: S603
        process = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    assert select.select([process], [], [], PATIENCE)[0]
    os.close(process)
