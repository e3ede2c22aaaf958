"""What tests of jobs share: small limits, a clock of their own, and waits for what a run or a worker comes to."""

from __future__ import annotations

from collections.abc import Callable

from studio.jobs.manager import Manager, Status, TrainingTask
from studio.limits import GIB, JobLimits
from tests.jobs.studio_stubs import TinyData

STUBS = ("tests.jobs.studio_stubs",)
PATIENCE = 480.0  # a first start compiles the kernels, and a busy machine takes its time
# on a busy machine a worker may be slow to hear: only a test of one that never does cuts it off soon
LIMITS = JobLimits(workers=2, memory=4 * GIB, stop_grace=PATIENCE)


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def task(estimator: str = "TinyRegressor", **params: float) -> TrainingTask:
    """Return a training of a stub."""
    return TrainingTask(estimator, params, TinyData())


def until(studio: Manager, run_id: str, condition: Callable[[Status], bool]) -> Status:
    """Wait until the run's status fulfils the condition."""
    with studio.changed:
        assert studio.changed.wait_for(lambda: condition(studio.status(run_id)), PATIENCE), studio.status(run_id)
    return studio.status(run_id)


def ended(studio: Manager, run_id: str) -> Status:
    """Wait until the run has ended."""
    return until(studio, run_id, lambda status: not status.active)


def until_all_ready(studio: Manager) -> None:
    """Wait until every worker is idle and warm."""
    with studio.changed:
        assert studio.changed.wait_for(lambda: {worker.phase for worker in studio.workers} == {"ready"}, PATIENCE)
