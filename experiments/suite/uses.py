"""What a cell of the suite does, by use: which labels are hidden, how a method is fitted, and what its error is.

A use with instances and graphs hides a stratified share of the labels and predicts it. A transfer problem keeps a
number of labels of the target, each class in its share and at least once; a method gets them and at most `MOST_SOURCE`
rows of the sources, plain rows with their domain, and predicts the target's other rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from experiments.consensus import fitted
from experiments.suite.libraries import LIBRARY_PEERS
from hetcore import metrics
from hetcore.baselines import PEERS
from hetcore.baselines.pooled import TRANSFER_PEERS
from hetcore.collective.mgb import GBRegressor, MGBClassifier, MGBRegressor, RGBRegressor
from hetcore.data import HetData, Source
from hetcore.data.encoding import SourceEncoder
from hetcore.data.splits import label_split

__all__ = ["USES", "Use", "measured"]

Factory = Callable[[str, int], Any]
MOST_SOURCE = 4000
TINY = 0.5  # an error rate of 0 counts as half a mistake, so that ratios exist


class Use(NamedTuple):
    """How the problems of one use are run.

    Attributes
    ----------
    shares : tuple of float
        Label shares, or numbers of labels, unless asked otherwise.
    unit : str
        Of the shares: "%" or " labels".
    methods, peers : mapping of str to callable
        The methods that are judged and those that they are judged by: each takes a task and a seed.
    run : callable
        Takes a problem's data, a task, a new model, a share and a split; returns the cell.
    """

    shares: tuple[float, ...]
    methods: Mapping[str, Factory]
    peers: Mapping[str, Factory]
    run: Callable[..., dict[str, Any]]
    unit: str = "%"

    def maker(self, name: str) -> Factory | None:
        """Return what makes a method or peer of this name; None if there is none."""
        return self.methods.get(name) or self.peers.get(name)


def measured(truth: NDArray, predicted: NDArray, task: str) -> dict[str, Any]:
    """Return the "error" (error rate or RMSE), what it counts as at least, "floor", and the number "hidden"."""
    metric = metrics.error_rate if task == "classification" else metrics.rmse
    floor = TINY / len(truth) if task == "classification" else 0.0
    return {"error": float(metric(truth, predicted)), "floor": floor, "hidden": len(truth)}


def _run_aligned(data: HetData, task: str, model: Any, share: float, split: int) -> dict[str, Any]:
    y = label_split(data, share / 100.0, split)
    # Only what had a label can be judged; rows without one are predicted all the same.
    hidden = data.labelled & ~data.with_target(y, task=data.target_kind).labelled
    began = time.process_time()
    # Fit and predict in one, for some peers put off their work until they are asked.
    predicted = _quiet(lambda: model.fit(data, y).predict(data)[hidden])
    seconds = time.process_time() - began
    return measured(data.y[hidden], predicted, task) | {"seconds": round(seconds, 3)}


def _run_domains(given: Any, task: str, model: Any, n_labels: float, split: int) -> dict[str, Any]:
    X, y, domain = _stacked(given)
    own, rng = np.flatnonzero(domain < 0), np.random.default_rng([1, split])
    known = np.zeros(len(y), bool)
    # A cap, or the largest sources would make some problems last for hours.
    known[rng.permutation(np.flatnonzero(domain > 0))[:MOST_SOURCE]] = True
    # Dealt as everywhere else: each class in its share and at least once.
    target = HetData({"t": pl.DataFrame({"id": own.astype(str), "x": own})}, None, (own.astype(str), y[own]), task=task)
    known[own] = target.with_target(label_split(target, n_labels / len(own), split), task=task).labelled
    hidden = ~known & (domain < 0)
    began = time.process_time()
    predicted = _quiet(lambda: model.fit(X[known], y[known], domain[known]).predict(X[hidden]))
    seconds = time.process_time() - began
    return measured(y[hidden], predicted, task) | {"seconds": round(seconds, 3)}


def _stacked(given: Any) -> tuple[NDArray[np.float64], NDArray, NDArray[np.int64]]:
    """Return X (n, d) encoded alike, labels (n,), and the domain of each row: k > 0, or -1 for the target."""
    names = [name for name in given.tables if name != given.target] + [given.target]
    frame = pl.concat([given.tables[name] for name in names], how="diagonal_relaxed")
    rows = Source([str(k) for k in range(len(frame))], frame)
    y = np.concatenate([given.labels[name] for name in names])
    numbers = [*range(1, len(names)), -1]
    domain = np.concatenate([np.full(len(given.tables[name]), k) for name, k in zip(names, numbers)])
    # Over all domains together: codes of a category must be the same in each.
    X = SourceEncoder().fit(rows).transform(rows).astype(np.float64)
    return X, y.astype(object if given.task == "classification" else np.float64), domain


def _quiet(compute: Callable[[], NDArray]) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        return compute()


def _by_task(numbers: Any, classes: Any, **params: Any) -> Factory:
    return lambda task, seed: (classes if task == "classification" else numbers)(**params, random_state=seed)


class TunedArm:
    """GBC as printed or tempered, lambda0, lambda1 and N by cross-validation within the labels; see `ARMS`.

    Parameters
    ----------
    arm : str
        A key of `experiments.consensus.ARMS`.
    seed : int
    """

    def __init__(self, arm: str, seed: int) -> None:
        self.arm, self.seed = arm, seed

    def fit(self, data: HetData, y: NDArray) -> TunedArm:
        """Fit to labels (n,)."""
        self.model, self.chosen = fitted(data, y, self.arm, self.seed)
        return self

    def predict(self, data: HetData) -> NDArray:
        """Predict each instance, (n,)."""
        return self.model.predict(data)


CONSENSUS: dict[str, Factory] = {
    "GBC": _by_task(hc.GBCRegressor, hc.GBCClassifier),
    "GBC, as printed": lambda task, seed: TunedArm("as printed", seed),
    "GBC, tempered": lambda task, seed: TunedArm("tempered", seed),
}
COLLECTIVE: dict[str, Factory] = {
    "MGB": _by_task(MGBRegressor, MGBClassifier),
    "RGB": lambda task, seed: RGBRegressor(random_state=seed),
    "GB": lambda task, seed: GBRegressor(random_state=seed),
}
TRANSFER: dict[str, Factory] = {"transfer blend": _by_task(hc.TransferRegressor, hc.TransferClassifier)}

USES = {
    "consensus": Use((10, 50, 90), CONSENSUS, PEERS, _run_aligned),
    "collective": Use((20, 40, 60, 80), COLLECTIVE, PEERS, _run_aligned),
    "transfer": Use((20, 100), TRANSFER, TRANSFER_PEERS | LIBRARY_PEERS, _run_domains, " labels"),
}
