"""Tasks of one fit side by side on threads: kernels and NumPy's loops run without the interpreter's lock.

A thread that has nothing to do sleeps: beside busy processes a fit with more threads than free cores costs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from threading import Condition, local
from typing import Any

__all__ = ["executor", "n_threads", "run_each"]


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: None is one, -1 one a core that this process may use."""
    if n_jobs != -1:
        return n_jobs or 1
    # not before it is asked for: an import that most fits do without
    from joblib import cpu_count

    return cpu_count()


@cache
def executor(n_threads: int) -> ThreadPoolExecutor:
    """Return the threads that work beside the caller's, for the whole process."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="hetcore")


class _Shared:
    """Tasks that whoever is free takes one by one.

    Attributes
    ----------
    parent : _Shared or None
        What the task that shares these is one of.
    running : int
        How many threads are at it, `most` at a time.
    """

    def __init__(self, task: Callable[[Any], Any], items: Sequence[Any], most: int) -> None:
        self.task, self.items, self.most, self.parent = task, items, most, getattr(HERE, "now", None)
        self.results: list[Any] = [None] * len(items)
        # a counter's step can't be interrupted
        self.turn, self.left, self.running, self.error = count(), True, 0, None

    @property
    def open(self) -> bool:
        """Whether another thread may help."""
        return self.left and self.running < self.most

    def work(self) -> None:
        """Take items until there are none left; what one raises is kept, and nobody begins another."""
        with CHANGED:
            if not self.open:
                return
            self.running += 1
        outer, HERE.now = getattr(HERE, "now", None), self
        try:
            while self.left and (i := next(self.turn)) < len(self.items):
                self.results[i] = self.task(self.items[i])
        except BaseException as error:
            self.error = self.error or error
        finally:
            self.left, HERE.now = False, outer
            with CHANGED:
                self.running -= 1
                CHANGED.notify_all()

    def wait(self) -> None:
        """Wait until nobody is at it, and help meanwhile with what its tasks share themselves."""
        while (inner := self._inner()) is not None:
            inner.work()

    def _inner(self) -> _Shared | None:
        with CHANGED:
            while self.running:
                if inner := next((each for each in OFFERED if each.open and each.within(self)), None):
                    return inner
                CHANGED.wait()
        return None

    def within(self, other: _Shared) -> bool:
        """Return whether these are shared by a task of others, or by one of those."""
        parent = self.parent
        while parent not in (None, other):
            parent = parent.parent
        return parent is other


CHANGED = Condition()
OFFERED: list[_Shared] = []
"""What is shared now, under `CHANGED`."""
HERE = local()


def run_each(task: Callable[[Any], Any], items: Sequence[Any], n_jobs: int) -> list[Any]:
    """Return `task` of each item, in the order of the items.

    Tasks may run others: whoever has nothing left to do but wait helps with those.

    Parameters
    ----------
    task : callable
        Must not depend on the order in which items have their turn; then neither do the results.
    items : sequence
    n_jobs : int
        Threads, the caller's among them; 1 does one item after the other.

    Raises
    ------
    Exception
        What a task raises; items that have not begun by then are left out.
    """
    n_jobs = min(n_jobs, len(items))
    if n_jobs <= 1:
        return [task(item) for item in items]
    shared = _Shared(task, items, n_jobs)
    with CHANGED:
        OFFERED.append(shared)
        CHANGED.notify_all()
    others = [executor(n_jobs - 1).submit(shared.work) for _ in range(n_jobs - 1)]
    shared.work()
    # one that found no free thread has nothing left to do
    for other in others:
        other.cancel()
    try:
        shared.wait()
    finally:
        with CHANGED:
            OFFERED.remove(shared)
    if shared.error is not None:
        raise shared.error
    return shared.results
