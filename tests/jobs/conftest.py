"""Managers of stub trainings: one of two workers for a file's tests, and others of one worker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.jobs.manager import Manager
from tests.jobs.running import LIMITS, STUBS


@pytest.fixture(scope="module")
def studio():
    """A manager with two workers."""
    made = Manager(LIMITS, STUBS, compiled=False)
    yield made
    made.close()


@pytest.fixture
def single():
    """Return a function that makes a manager with one worker and other limits."""
    made = []

    def make(clock: Callable[[], float] | None = None, modules: tuple[str, ...] = STUBS, **limits: float) -> Manager:
        options = {} if clock is None else {"clock": clock}
        made.append(Manager(LIMITS._replace(workers=1, **limits), modules, compiled=False, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
