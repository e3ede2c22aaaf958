"""What nobody waits for: a process of its own that gives way to all others, and what the Consensus page asks of it."""

from __future__ import annotations

import psutil
import pytest

from studio.jobs import manager
from studio.views.consensus import without
from tests.consensus.test_hard_data import constant

pytestmark = pytest.mark.slow


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
