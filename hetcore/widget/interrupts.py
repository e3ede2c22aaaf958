"""Interrupting the kernel stops the trainings, whether a cell runs or not.

IPython ignores an interrupt while no cell runs, and raises KeyboardInterrupt in the cell while one does; both are
listened to. marimo has a handler of its own, which is called afterwards.
"""

from __future__ import annotations

import signal
import sys
import threading
import weakref
from typing import Any

from hetcore.widget.trainer import Trainer

__all__ = ["stop_on_interrupt"]

# Weak, so that a widget that is gone is not kept by being listened for.
TRAINERS: weakref.WeakSet[Trainer] = weakref.WeakSet()
_listening = threading.Event()


def stop_on_interrupt(trainer: Trainer) -> None:
    """Stop what a trainer does when the kernel is interrupted; in a script nothing changes."""
    TRAINERS.add(trainer)
    if not _listening.is_set():
        # Not imported: in a script there is none, and importing IPython takes long.
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        kernel = getattr(shell, "kernel", None)
        if hasattr(kernel, "saved_sigint_handler"):
            _listening.set()
            kernel.saved_sigint_handler = _handler(kernel.saved_sigint_handler)  # IPython's own, restored after a cell
            shell.events.register("post_run_cell", _after_cell)
        # Signals can be set in the main thread alone.
        elif "marimo" in sys.modules and threading.current_thread() is threading.main_thread():
            _listening.set()
            signal.signal(signal.SIGINT, _handler(signal.getsignal(signal.SIGINT)))


def _stop() -> None:
    # A list, for a widget may end meanwhile.
    for trainer in list(TRAINERS):
        trainer.order("stop")


def _handler(before: Any) -> Any:
    def stop_and_go_on(signum: int, frame: Any) -> None:
        _stop()
        if callable(before):
            before(signum, frame)

    return stop_and_go_on


def _after_cell(result: Any) -> None:
    # Only an interrupt: another error of a cell has nothing to do with a training.
    if isinstance(result.error_in_exec, KeyboardInterrupt):
        _stop()
