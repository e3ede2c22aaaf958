"""The protocol of the two-learner tables: macro F1 on held-out rows.

Key of a cell: data, method, run (seed). Each run draws its own people (census) or places and its own third of held-out
rows, the same for every method. A fifth of the other rows is not trained on: it chooses the number of rounds or epochs,
for every method. Methods "step: NAME" are 2WL with whole steps on all rows, chosen in that way.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.splits import label_split
from hetcore.metrics import error_rate, macro_f1_of_codes

__all__ = ["BASELINE", "DATA", "METHODS", "PEOPLE", "STEPS", "run_cell"]

DATA = ("census_income_a", "census_income_b", "covertype_shapes", "two_modalities", "two_modalities, xor")
PEOPLE, PLACES = 8_000, 0.5  # drawn anew for each run; all 99,762 and 6,480 take hours on two cores
TRAINED, VALIDATED = 2 / 3, 0.2
NETWORK = {"unstructured": "network", "pictures": "cnn", "image": "cnn"}
ROUNDS = {"n_iterations": 20, "epochs": 3, "max_depth": 4, "inner_iterations": 2}
PICTURE_ROUNDS = {"n_iterations": 10, "epochs": 6}  # a convolutional network needs the passes
EPOCHS = 20
PRINTED = {"learning_rate": 1.0, "subsample": 1.0}
BASELINE = "two-branch network"


def load(name: str, run: int) -> HetData:
    """Return the data of a run."""
    import datasets  # beside hetcore, not below it: only experiments need it
    from datasets import census

    if name.startswith("census"):
        return census.load(name[-1], PEOPLE, seed=run)
    if name == "covertype_shapes":
        return datasets.load(name).sample(PLACES, seed=run)
    return datasets.make_two_modalities(rule="xor" if name.endswith("xor") else "pair", seed=run)[0]


def _rounds(data: HetData) -> dict[str, Any]:
    return ROUNDS | (PICTURE_ROUNDS if "pictures" in data.sources else {})


def _two(data: HetData, **params: Any) -> Any:
    learners = {name: NETWORK[name] for name in data.sources if name in NETWORK}
    return hc.TwoWeakLearnerClassifier(**(_rounds(data) | {"learners": learners} | params))


def _one(data: HetData, network: bool) -> Any:
    name = next(name for name in data.sources if (name in NETWORK) == network)
    learners = {name: NETWORK[name]} if network else None
    return hc.OneWeakLearnerClassifier(source=name, learners=learners, **_rounds(data))


def _network(data: HetData, features: str, fusion: str = "concatenation") -> Any:
    return hc.BoostedFeatureNetworkClassifier(features=features, fusion=fusion, network="torch", n_iterations=EPOCHS)


MAKERS = {
    BASELINE: lambda data: _network(data, "raw"),
    "BFV+DNN, concatenation": lambda data: _network(data, "boosted"),
    "BFV+DNN, product": lambda data: _network(data, "boosted", "product"),
    "2WL": lambda data: _two(data),
    "2WL2O": lambda data: _two(data, order=2),
    "2WL2O, exact Hessian": lambda data: _two(data, order=2, hessian="exact"),
    "2WL as printed (Bayes, whole steps)": lambda data: _two(data, step="bayes", **PRINTED),
    "2WL, Newton, whole steps": lambda data: _two(data, **PRINTED),
    "1WL, trees": lambda data: _one(data, False),
    "1WL, network": lambda data: _one(data, True),
}
STEPS = ("newton", "bayes", "grid", "fixed")
METHODS = (*MAKERS, *(f"step: {name}" for name in STEPS))


def run_cell(data: str, method: str, run: int) -> dict[str, Any]:
    """Fit to two thirds of the rows less a fifth, which chooses the round.

    Returns
    -------
    dict
        On the held-out rows after that round: "F1" (macro) and "error"; "round", "risk" and "held_out_risk" after the
        last round, "seconds", and "step_seconds", the median that choosing a round's steps took.
    """
    given = load(data, run)
    y = label_split(given, TRAINED, run)
    known = np.flatnonzero([label is not None for label in y])
    validated = np.random.default_rng(run).permutation(known)[: round(VALIDATED * len(known))]
    fitted = y.copy()
    fitted[validated] = None
    hidden = np.setdiff1d(np.flatnonzero(given.labelled), known)
    codes = np.searchsorted(given.classes, list(given.y))
    model, scores, events = make(method, given), [], []
    view = model._view
    model._view = lambda state: (scores.append(state.scores[np.r_[validated, hidden]]), view(state))[1]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks warn of their few passes
        model.fit(given, fitted, eval_y=given.y, callbacks=[events.append])
    seconds, n = time.perf_counter() - started, len(validated)
    best = int(np.argmax([macro_f1_of_codes(codes[validated], each[:n].argmax(axis=1)) for each in scores]))
    held = scores[best][n:]
    truth, predicted = codes[hidden], held.argmax(axis=1)
    cell = {"F1": macro_f1_of_codes(truth, predicted), "error": error_rate(truth, predicted), "round": best + 1}
    cell |= {"risk": events[-1].losses["train"], "held_out_risk": events[-1].losses["held_out"]}
    steps = sorted(event.detail["step_seconds"] for event in events if "step_seconds" in event.detail)
    return cell | {"seconds": round(seconds, 2)} | ({"step_seconds": steps[len(steps) // 2]} if steps else {})


def make(method: str, data: HetData) -> Any:
    """Return the estimator of a method; "step: NAME" is 2WL with whole steps, chosen that way."""
    if method.startswith("step: "):
        return _two(data, step=method.removeprefix("step: "), **PRINTED)
    return MAKERS[method](data)
