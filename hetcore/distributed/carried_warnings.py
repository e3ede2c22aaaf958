"""What tasks on a worker warn of, so that it can be said where it is read: at the client."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["Warned", "carried"]

Warned = list[tuple[type[Warning], str]]

_LOCK = threading.Lock()
_OPEN: dict[int, Warned] = {}  # by thread, for a worker has several, and filters are of the process
_FILTERS = ExitStack()


@contextmanager
def carried() -> Iterator[Warned]:
    """Collect what this thread warns of, every time, in place of showing it."""
    thread, found = threading.get_ident(), Warned()
    with _LOCK:
        if not _OPEN:
            _FILTERS.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always")
            warnings.showwarning = _keep
        _OPEN[thread] = found
    try:
        yield found
    finally:
        with _LOCK:
            del _OPEN[thread]
            if not _OPEN:
                _FILTERS.close()


def _keep(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
    """Keep a warning of a thread that collects; others wait for the end of these, and are of no task."""
    _OPEN.get(threading.get_ident(), []).append((category, str(message)))
