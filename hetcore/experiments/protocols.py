"""What one cell of an experiment does, by protocol."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["PROTOCOLS", "Protocol"]


class Protocol(NamedTuple):
    """Where a protocol's function is, and the file of its finished cells.

    Attributes
    ----------
    module : str
        Whose `run_cell` takes a cell's key by name and returns what came out, JSON-able.
    file : str
        Name of the file of cells, without its ending.
    """

    module: str
    file: str

    def load(self) -> Callable[..., dict[str, Any]]:
        """Return the function."""
        return import_module(self.module).run_cell


PROTOCOLS = {
    "bound": Protocol("hetcore.experiments.bound", "bound"),
    "epochs": Protocol("hetcore.experiments.epochs", "epochs"),
    "flips": Protocol("hetcore.experiments.flips", "flips"),
    "linear": Protocol("hetcore.experiments.linear", "linear"),
    "planted": Protocol("hetcore.experiments.planted", "planted"),
    "consensus": Protocol("hetcore.experiments.consensus", "consensus"),
    "collective": Protocol("hetcore.experiments.collective", "collective"),
    "customers": Protocol("hetcore.experiments.customers", "customers"),
    "factorization": Protocol("hetcore.experiments.factorization", "factorization"),
    "heteroscedastic": Protocol("hetcore.experiments.heteroscedastic", "heteroscedastic"),
    "calibration": Protocol("hetcore.experiments.calibration", "deviation"),
    "transfer": Protocol("hetcore.experiments.transfer", "transfer"),
    "two_learner": Protocol("hetcore.experiments.two_learner", "two_learners"),
}
