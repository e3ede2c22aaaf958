"""kill -9 in the middle: no finished run is lost, nothing is torn, and what was training trains again to the same bits.

More kills than here: `python -m benchmarks.reliability.kills`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys

import pytest

from datasets.planted.generator import make_heterogeneous
from studio.jobs import manager as jobs
from studio.jobs.worker import child_environment
from studio.limits import GIB, JobLimits
from tests.house.test_house import ROOT
from tests.jobs.running import PATIENCE

KILLS = 40
PARAMS = {"n_iterations": 8, "max_depth": 2}


@pytest.mark.slow
def test_kills_while_runs_are_stored_lose_and_tear_nothing(tmp_path):
    command = [sys.executable, "-m", "tests.jobs.kills", str(tmp_path), str(KILLS), "0"]
    done = subprocess.run(command, env=child_environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    output = json.loads(done.stdout)
    assert output["faults"] == [] and output["kills"] == KILLS
    assert output["acknowledged"] > KILLS / 2


@pytest.fixture(scope="module")
def manager():
    made = jobs.Manager(JobLimits(workers=1, memory=4 * GIB, idle_seconds=600.0), compiled=False)
    yield made
    made.close()


@pytest.mark.slow
def test_a_training_that_was_killed_trains_again_to_the_same_bits(manager):
    data, _ = make_heterogeneous(n=80, n_sources=2, n_features=3, labelled=0.5, task="classification", seed=0)
    task, rng = jobs.TrainingTask("GBCClassifier", PARAMS, data), random.Random(0)
    whole = trained(manager, task)
    states: list[str] = []
    # one that had ended before the kill shows nothing
    while states.count("failed") < 2:
        assert len(states) < 8, "each training ends before it can be killed"
        run = manager.submit(task)
        wait_for_rounds(manager, run, rng.randint(1, PARAMS["n_iterations"] - 1))
        os.kill(manager.workers[0].pid, signal.SIGKILL)
        status = manager.wait(run, timeout=PATIENCE)
        states.append(status.state)
        assert status.state in ("failed", "finished") and status.message.endswith("." * (status.state == "failed"))
    again = trained(manager, task)
    assert again.model == whole.model
    assert again.predictions.equals(whole.predictions)
    assert again.history.drop("seconds").equals(whole.history.drop("seconds"), null_equal=True)


def trained(manager, task):
    run = manager.submit(task)
    assert manager.wait(run, timeout=PATIENCE).state == "finished"
    return manager.result(run)


def wait_for_rounds(manager, run, rounds):
    with manager.changed:
        assert manager.changed.wait_for(
            lambda: manager.status(run).rounds >= rounds or not manager.status(run).active, PATIENCE
        )
