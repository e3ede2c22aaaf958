"""The protocol of the two-learner paper's Tables 3 to 5 and Figures 3 to 5: the tracked metric on held-out rows.

Key of a cell: data (the paper's name, at its small preset: `datasets.structured_unstructured`), method, run (seed); the
figures have minutes too (`experiments.modalities.minutes`). A run trains on two thirds of the rows; 15% of those choose
the round, or the epoch, by the tracked metric, for every method, among the rounds that ended by then. That is macro F1,
for RW accuracy (Section 4.2), of the class with the largest score.

Settings are those of Tables 1 and 2 (`hetcore.multimodal.presets`) with at most `ROUNDS` rounds, where only CI-A and
CI-B have more (750 to 3,500), and fewer stages of the boosted feature vector, `STAGES`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hetcore as hc
from experiments.modalities.fair_fight import Run, load
from hetcore.metrics import error_rate, macro_f1_of_codes
from hetcore.multimodal import presets

__all__ = ["BASELINE", "METHODS", "after", "run_cell"]

STRUCTURED = {"CI-A": "structured", "CI-B": "structured", "CT": "terrain", "MI": "structured", "RW": "topics"}
LEARNER = {"CT": "cnn"}
"""Of the other modality, where it is no network; the paper has pretrained VGG16 and Resnet50."""
TRACKED_BY_ACCURACY = "RW"
ROUNDS, EPOCHS, STAGES = 200, 60, 200
BASELINE = "baseline"


class Point(NamedTuple):
    """A round: when it ended, the tracked metric on the rows that choose; that, F1 and error on the held-out rows."""

    seconds: float
    chosen_by: float
    tracked: float
    f1: float
    error: float


def _settings(name: str, run: Run, order: int, step: str) -> dict[str, Any]:
    printed = presets.two_weak_learners(name, order, step=step, random_state=run.seed)
    return printed | {"n_iterations": min(printed["n_iterations"], ROUNDS)}


def _two(name: str, run: Run, order: int, step: str) -> Any:
    # Trees on the table and a network on the other, as the paper pairs them.
    learners = {each: LEARNER.get(name, "network") for each in run.data.sources} | {STRUCTURED[name]: "tree"}
    return hc.TwoWeakLearnerClassifier(learners=learners, **_settings(name, run, order, step))


def _one(name: str, run: Run, structured: bool) -> Any:
    # Of two sources the one that is the table, or the one that is not.
    source = next(each for each in run.data.sources if (each == STRUCTURED[name]) == structured)
    learner = "tree" if structured else LEARNER.get(name, "network")
    return hc.OneWeakLearnerClassifier(source, learners={source: learner}, **_settings(name, run, 1, "bayes"))


def _network(name: str, run: Run, features: str) -> Any:
    how = presets.boosted_features(name, n_stages=STAGES, random_state=run.seed)
    return hc.BoostedFeatureNetworkClassifier(
        table=STRUCTURED[name], features=features, network="torch", n_iterations=EPOCHS, **how
    )


MAKERS: dict[str, Callable[[str, Run], Any]] = {
    BASELINE: lambda name, run: _network(name, run, "raw"),
    "BFV+DNN": lambda name, run: _network(name, run, "boosted"),
    "2WL": lambda name, run: _two(name, run, order=1, step="bayes"),
    "2WL_Fix": lambda name, run: _two(name, run, order=1, step="fixed"),
    "2WL2O": lambda name, run: _two(name, run, order=2, step="bayes"),
    "2WL2O_Fix": lambda name, run: _two(name, run, order=2, step="fixed"),
    "1WL_S": lambda name, run: _one(name, run, structured=True),
    "1WL_U": lambda name, run: _one(name, run, structured=False),
}
METHODS = tuple(MAKERS)


def run_cell(data: str, method: str, run: int) -> dict[str, Any]:
    """Return what the round that validation chooses is worth; see `after`."""
    return after(None, data, method, run)


def after(minutes: float | None, data: str, method: str, run: int) -> dict[str, Any]:
    """Return what the round that validation chooses is worth, among those that had ended after some minutes.

    Returns
    -------
    dict
        "tracked", "F1" (macro), "error" on the held-out rows, the "round", and the "seconds" of the whole fit; NaN
        where no round had ended.
    """
    points = _curve(data, method, run)
    # A round counts once it has ended: what was in work when the time ran out is lost.
    ended = [point for point in points if minutes is None or point.seconds <= 60 * minutes]
    if not ended:
        nothing = dict.fromkeys(("tracked", "F1", "error"), float("nan"))
        return nothing | {"round": 0, "seconds": points[-1].seconds}
    # The first of equal rounds, by the rows that choose, never by those that judge.
    best = int(np.argmax([point.chosen_by for point in ended]))
    found = {"tracked": ended[best].tracked, "F1": ended[best].f1, "error": ended[best].error}
    return found | {"round": best + 1, "seconds": round(points[-1].seconds, 2)}


def _tracked(data: str, run: Run, named: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    """Return the paper's metric of a data set on some rows; more is better."""
    if data == TRACKED_BY_ACCURACY:
        return 1.0 - error_rate(run.codes[rows], named[rows])
    return macro_f1_of_codes(run.codes[rows], named[rows])


@cache  # a few hundred numbers a fit, and cells of all data take turns
def _curve(data: str, method: str, seed: int) -> tuple[Point, ...]:
    """Fit once, and return what each round was worth."""
    run = load(data, seed)
    known = np.flatnonzero(run.data.labelled)
    # Rows of neither use; both choosing and fitting would flatter.
    hidden = np.setdiff1d(known, np.union1d(run.fitted, run.validated))
    model, points = MAKERS[method](data, run), []
    view, started = model._view, time.process_time()  # of the processor: a busy machine ages nothing

    def watched(state: Any) -> dict[str, Any]:
        seconds, named = time.process_time() - started, state.scores.argmax(axis=1)
        f1, error = macro_f1_of_codes(run.codes[hidden], named[hidden]), error_rate(run.codes[hidden], named[hidden])
        tracked = [_tracked(data, run, named, rows) for rows in (run.validated, hidden)]
        points.append(Point(seconds, *tracked, f1, error))
        return view(state)

    model._view = watched
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks warn of their few passes
        model.fit(run.data, run.labels(run.fitted))
    return tuple(points)
