"""What goes on beside the caller: tasks of one fit on threads, and a second process that compiles.

Kernels and NumPy's loops run without the interpreter's lock. A thread that has nothing to do sleeps: beside busy
processes a fit with more threads than free cores costs no more.

What the first training of a consensus needs takes one process four seconds longer to compile than two. The second one
is started by the first fit that grows trees; or, where no kernel of any version was ever cached, as soon as a consensus
is asked for, while this process still imports numba. Neither numba nor NumPy is loaded here.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from multiprocessing import current_process
from pathlib import Path
from threading import Condition, Lock, Thread, local
from typing import Any

__all__ = ["PREPARING", "cache_root", "executor", "n_threads", "prepare_early", "run_each", "start_second"]

PREPARING: list[Thread] = []
"""Ends with the process that fills the cache beside this one: one, or none."""

MOST_THREADS = 1_024  # each has memory of its own, asked for or not

_LOCK = Lock()
_log = logging.getLogger("hetcore.kernels")


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: None is one, -1 one a core that this process may use."""
    if n_jobs != -1:
        return min(n_jobs or 1, MOST_THREADS)
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


def cache_root() -> Path:
    """Return the folder of the kernels of all versions and processors (it may not exist yet)."""
    import platformdirs

    root = os.environ.get("HETCORE_CACHE") or platformdirs.user_cache_dir("hetcore", appauthor=False)
    return Path(root).expanduser().absolute() / "kernels"


def prepare_early() -> None:
    """Let a second process `hetcore.kernels.warm.prepare` where nothing was ever compiled."""
    if PREPARING or "numba" in sys.modules or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    root = cache_root()
    try:
        # one that can't be made, or written, would keep nothing for this process
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        empty = not any(root.iterdir()) and os.access(root, os.W_OK)
    except OSError:
        return
    if empty:
        start_second(root)


def start_second(root: Path) -> None:
    """Start the second process, unless there is one, or it would have no core of its own."""
    with _LOCK:
        if PREPARING or not _may_start():
            return
        try:
            process = _second(root)
        except OSError as error:
            _log.info("Kernels are compiled in one process, for a second one cannot be started (%r).", error)
            return
        # somebody has to wait for it, or it would stay a zombie; a daemon, for this process may end first
        PREPARING.append(Thread(target=process.wait, name="hetcore-preparing", daemon=True))
        PREPARING[0].start()


def _may_start() -> bool:
    """Tell whether a second process can be started, finds a core of its own, and would not be one of many."""
    if os.environ.get("HETCORE_COMPILERS") == "1" or current_process().name != "MainProcess":
        return False
    # a program that embeds Python, or was made of it, would start itself
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
        return False
    return n_threads(-1) > 1


def _second(root: Path, module: str = "hetcore.kernels.warm") -> subprocess.Popen[bytes]:
    """Start a Python with the modules and the cache of this one, to which others come first."""
    start = f"import os, sys; sys.path[:] = {sys.path!r}; hasattr(os, 'nice') and os.nice(5)"
    # ended without tidying up: this process may be waiting
    code = f"{start}; from {module} import prepare; prepare(); os._exit(0)"
    return subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", code],
        env=os.environ | {"HETCORE_CACHE": str(root.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # a session of its own: Ctrl-C in a terminal is not meant for it
        start_new_session=True,
    )
