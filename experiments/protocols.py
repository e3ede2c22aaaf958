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
    "bound": Protocol("experiments.bound", "bound"),
    "epochs": Protocol("experiments.epochs", "epochs"),
    "flips": Protocol("experiments.flips", "flips"),
    "linear": Protocol("experiments.linear", "linear"),
    "source_counts": Protocol("experiments.source_counts", "source_counts"),
    "planted": Protocol("experiments.planted.ranks", "planted"),
    "planted_lambda": Protocol("experiments.planted.strengths", "planted_lambda"),
    "weight_movement": Protocol("experiments.planted.movement", "weight_movement"),
    "planted_ratings": Protocol("experiments.noise.planted_ratings", "planted_ratings"),
    "consensus": Protocol("experiments.consensus", "consensus"),
    "collective": Protocol("experiments.collective", "collective"),
    "customers": Protocol("experiments.customers", "customers"),
    "factorization": Protocol("experiments.factorization", "factorization"),
    "heteroscedastic": Protocol("experiments.heteroscedastic", "heteroscedastic"),
    "calibration": Protocol("experiments.calibration", "deviation"),
    "transfer": Protocol("experiments.transfer", "transfer"),
    "eta": Protocol("experiments.eta.path", "eta"),
    "fair_fight": Protocol("experiments.modalities.fair_fight", "fair_fight"),
    "two_learner": Protocol("experiments.modalities.two_learner", "structured_unstructured"),
    "two_learner_minutes": Protocol("experiments.modalities.minutes", "structured_unstructured_minutes"),
}
