"""Small stand-ins that the worker processes of the tests import: data and estimators whose course is known by heart."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl

from hetcore.events import RoundEnd
from studio.jobs import worker_tasks


class TinyData:
    """The face of HetData that the worker uses, over plain ids and labels."""

    def __init__(self, n: int = 6, source_names: tuple[str, ...] = ("a", "b"), ballast: int = 0) -> None:
        self.ids = np.array([f"i{k}" for k in range(n)], dtype=object)
        self.y = np.arange(n, dtype=float)
        self.source_names = list(source_names)
        self.graph_names: list[str] = []
        self.sources: dict[str, object] = {}
        self.graphs: dict[str, object] = {}
        self.n, self.target_kind, self.classes = n, "regression", ()
        self.position = {identifier: k for k, identifier in enumerate(self.ids)}
        self.ballast = bytes(ballast)

    def select(self, sources: list[str], graphs: list[str] | None = None) -> TinyData:
        """Keep the named sources."""
        return TinyData(len(self.ids), tuple(sources))


class TinyRegressor:
    """Predicts the mean label; its loss after round k is 1 / (k + 1)."""

    def __init__(self, n_iterations: int = 5) -> None:
        self.n_iterations = n_iterations

    def fit(self, data, y=None, *, callbacks=(), eval_y=None):
        """Run the rounds, ask the callbacks after each."""
        losses = []
        self.mean_ = float(np.nanmean(data.y if y is None else y))
        for k in range(self.n_iterations):
            losses.append(1.0 / (k + 1))
            event = RoundEnd("TinyRegressor", k, self.n_iterations, {"train": losses[-1]})
            if any([callback(event) for callback in callbacks]):
                break
        self.history_ = pl.DataFrame({"iteration": range(len(losses)), "loss:train": losses})
        self.source_weights_ = dict.fromkeys(data.source_names, 1 / len(data.source_names))
        self.graph_weights_ = {}
        return self

    def predict(self, data):
        """Return the mean label for everyone."""
        return np.full(len(data.ids), self.mean_)


class EndlessRegressor(TinyRegressor):
    """Goes on until it is stopped."""

    def __init__(self) -> None:
        super().__init__(10**9)


class BrokenRegressor(TinyRegressor):
    """Raises in its second round, as a foreign library would."""

    def fit(self, data, y=None, *, callbacks=(), eval_y=None):
        """Raise."""
        raise RuntimeError("boom in /srv/secret/path/file.py")


class HungryRegressor(TinyRegressor):
    """Asks for more memory than there is."""

    def fit(self, data, y=None, *, callbacks=(), eval_y=None):
        """Allocate 8 TB."""
        np.ones(10**12)


class DyingRegressor(TinyRegressor):
    """Its process is killed from outside after its first round, as by the system when memory runs out."""

    def fit(self, data, y=None, *, callbacks=(), eval_y=None):
        """Send one event, then die."""
        callbacks[0](RoundEnd("DyingRegressor", 0, self.n_iterations, {"train": 1.0}))
        os.kill(os.getpid(), signal.SIGKILL)


class DeafRegressor(TinyRegressor):
    """Never ends its second round."""

    def fit(self, data, y=None, *, callbacks=(), eval_y=None):
        """Do one round, then wait for a signal that never comes."""
        for callback in callbacks:
            callback(RoundEnd("DeafRegressor", 0, self.n_iterations, {"train": 1.0}))
        signal.pause()


class PonderingRegressor(EndlessRegressor):
    """Predicts once something is written to its gate."""

    def __init__(self, gate=""):
        super().__init__()
        self.gate = gate

    def predict(self, data):
        """Wait at the gate."""
        with open(self.gate) as gate:
            gate.read()
        return super().predict(data)


def double(value: float) -> float:
    """Return twice the value."""
    return 2 * value


def own_pid(data: object) -> int:
    """Return the process that has the data."""
    return os.getpid()


for _estimator in (
    TinyRegressor,
    EndlessRegressor,
    BrokenRegressor,
    HungryRegressor,
    DyingRegressor,
    DeafRegressor,
    PonderingRegressor,
):
    worker_tasks.ESTIMATORS[_estimator.__name__] = _estimator
worker_tasks.FUNCTIONS |= {"tests.jobs.studio_stubs:double", "tests.jobs.studio_stubs:own_pid"}
