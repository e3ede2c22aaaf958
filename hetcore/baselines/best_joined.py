"""What one would do without consensus: the best of four ordinary learners on the joined tables.

CatBoost, histogram boosting, a support vector machine and a linear model are cross-validated within the known labels;
the one with the lowest error is fitted to all of them. Labels to score by are read once it is chosen.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded
from hetcore.baselines.joined import JoinedCatBoost, JoinedHistogramBoosting, JoinedLinear, JoinedSupportVectors
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.data import HetData
from hetcore.data.splits import stratified
from hetcore.events import Callback, RoundEnd

__all__ = ["BestJoined", "best_joined"]

N_FOLDS = 3
QUICK_TREES = 200  # a third of the peer's of the open suite: a page waits for them, four times over
MOST_SUPPORT_VECTORS = 5000  # labelled rows; a kernel matrix of more takes longer than all the others together


@dataclass(frozen=True)
class BestJoined:
    """The best joined learner and its errors: error rates in [0, 1], or RMSE in the labels' unit.

    Attributes
    ----------
    name : str
    metric_name : str
        "error" or "RMSE".
    cross_validated : dict of str to float
        By learner, within the known labels; empty where there are too few to choose, and the first is taken.
    held_out : float
        On the labels to score by; NaN without any.
    losses : (m,) float64
        0 or 1, or the squared error, of each instance with such a label, in the order of the data.
    n_folds : int
    """

    name: str
    metric_name: str
    cross_validated: dict[str, float]
    held_out: float
    losses: NDArray[np.float64]
    n_folds: int


def learners(n_labels: int, seed: int | None = 0) -> dict[str, TransductivePeer]:
    """Return the learners by name; no support vector machine beyond 5,000 labels."""
    found = {
        "CatBoost": JoinedCatBoost(n_iterations=QUICK_TREES, random_state=seed),
        "HGB": JoinedHistogramBoosting(random_state=seed),
        "linear model": JoinedLinear(random_state=seed),
    }
    # a kernel matrix of more rows takes longer than the three others together
    return found | ({"SVM": JoinedSupportVectors(random_state=seed)} if n_labels <= MOST_SUPPORT_VECTORS else {})


def best_joined(
    data: HetData, y: Any = None, eval_y: Any = None, random_state: int | None = 0, callbacks: Iterable[Callback] = ()
) -> BestJoined | None:
    """Choose a learner within the labels, fit it to all of them, and score it.

    Parameters
    ----------
    data : HetData
    y, eval_y : (n,) array, optional
        Labels to learn from (those of the data unless given), and to score by; NaN or None where there is none.
    random_state : int or None, default=0
        Seed of the folds and the learners.
    callbacks : iterable of callable, default=()
        Called after each fit with a `RoundEnd` whose detail has the "learner"; one that returns True stops.

    Returns
    -------
    BestJoined, or None if it was stopped

    Raises
    ------
    DataError
        If no instance is labelled.
    """
    data = data if y is None else data.with_target(y, task=data.target_kind)
    encoded, labels = Encoded(data), Labels.of(data)
    # with a single label there is nothing to validate by
    tried, n_folds = learners(labels.rows.size, random_state), min(N_FOLDS, labels.rows.size)
    folds = stratified(labels.target, n_folds, np.random.default_rng(random_state))
    progress = _Progress(len(tried) * n_folds * (n_folds > 1) + 1, list(callbacks))
    losses: dict[str, list[float]] = {name: [] for name in tried}
    for name, fold in _turns(tried, n_folds):
        out = folds == fold
        losses[name] += _losses(_scores(tried[name], encoded, labels.kept(~out)), labels, labels.rows[out]).tolist()
        if progress.after(name):
            return None
    found = {name: _metric(np.array(each), labels) for name, each in losses.items() if each}
    # a tie goes to the first
    best = min(found, key=lambda name: found[name]) if found else next(iter(tried))
    scores = _scores(tried[best], encoded, labels)
    return (
        None
        if progress.after(best)
        else _compared(best, scores, data, labels=labels, eval_y=eval_y, found=found, n_folds=n_folds)
    )


def _turns(tried: Iterable[str], n_folds: int) -> Iterator[tuple[str, int]]:
    """Yield each learner with each fold; nothing where one label leaves none to learn from."""
    return ((name, fold) for name in tried for fold in range(n_folds if n_folds > 1 else 0))


class _Progress:
    """Tells the callbacks of each fit, and whether one of them wants to stop."""

    def __init__(self, total: int, callbacks: list[Callback]) -> None:
        self.total, self.callbacks, self.done, self.started = total, callbacks, 0, time.perf_counter()

    def after(self, name: str) -> bool:
        seconds = time.perf_counter() - self.started
        event = RoundEnd("best_joined", self.done, self.total, {}, detail={"learner": name}, seconds=seconds)
        self.done += 1
        return any([callback(event) for callback in self.callbacks])


def _scores(learner: TransductivePeer, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn of classes of a single row and of steps that were cut short
        # one class or one value: no learner is needed, and some raise
        return labels.always() if labels.constant else learner._scores(encoded, labels)


def _losses(scores: NDArray, labels: Labels, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 0 or 1, or the squared error, of some labelled rows."""
    truth = labels.target[np.searchsorted(labels.rows, rows)]
    predicted = scores[rows]
    return (predicted.argmax(axis=1) != truth).astype(float) if labels.n_classes else (predicted - truth) ** 2


def _metric(losses: NDArray, labels: Labels) -> float:
    return float(losses.mean() if labels.n_classes else np.sqrt(losses.mean()))


def _compared(
    name: str, scores: NDArray, data: HetData, labels: Labels, eval_y: Any, found: dict[str, float], n_folds: int
) -> BestJoined:
    """Score the chosen learner on the labels to score by; a class that the known labels lack is always missed."""
    metric_name = "error" if labels.n_classes else "RMSE"
    held = None if eval_y is None else data.with_target(eval_y, task=data.target_kind)
    # without labels to score by there is still a best learner
    rows = np.flatnonzero(held.labelled) if held is not None else np.empty(0, int)
    if not rows.size:
        losses = np.empty(0)
    elif labels.n_classes:
        classes = np.array(data.classes, dtype=str)
        losses = (classes[scores[rows].argmax(axis=1)] != held.y[rows].astype(str)).astype(float)
    else:
        losses = (scores[rows] - held.y[rows].astype(float)) ** 2
    return BestJoined(
        name=name,
        metric_name=metric_name,
        cross_validated=found,
        held_out=_metric(losses, labels) if rows.size else float("nan"),
        losses=losses,
        n_folds=n_folds,
    )
