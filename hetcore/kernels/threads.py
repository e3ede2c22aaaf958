"""Tasks of one fit side by side on threads: kernels and NumPy's loops run without the interpreter's lock.

A thread that has nothing to do sleeps: beside busy processes a fit with more threads than free cores costs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
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


def run_each(task: Callable[[Any], Any], items: Sequence[Any], n_jobs: int) -> list[Any]:
    """Return `task` of each item, in the order of the items.

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
    results: list[Any] = [None] * len(items)
    # whoever is free takes the next: items differ in what they cost; a counter's step can't be interrupted
    turn = count()

    def work() -> None:
        while (i := next(turn)) < len(items):
            try:
                results[i] = task(items[i])
            except BaseException:
                # nobody begins another item
                for _ in items:
                    next(turn)
                raise

    others = [executor(n_jobs - 1).submit(work) for _ in range(n_jobs - 1)]
    try:
        work()
    finally:
        # one that found no free thread has nothing left to do, and must not be waited for
        running = [other for other in others if not other.cancel()]
        # an error of a thread is raised here, and not lost
        for other in running:
            other.result()
    return results
