"""The protocol of weighted multi-source TrAdaBoost on Office-Caltech10: accuracy by the number of target positives.

Key of a cell: target (domain), method, positives, permutation. 20 runs = 5 permutations x 4 targets: one of the four
classes that have 20 pictures in every domain is the positive class (each target meets each class once, one of them
twice), 10 positives and 10 negatives of the target are drawn as the pool that training rows come from, n of each,
nested; all other positives, and as many negatives, are the test rows, so that accuracy by chance is 50%. Each source
gives all its positives and as many negatives.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

import hetcore as hc
from hetcore.data.plain import Domains, domains

__all__ = ["METHODS", "run_cell"]

TARGETS = ("amazon", "caltech", "dslr", "webcam")
N_PERMUTATIONS, MOST_POSITIVES, FEWEST = 5, 10, 20


def svm() -> SVC:
    """Return the linear SVM that stands in for stumps as weak learner, regularised as its 800 columns need."""
    return SVC(kernel="linear", C=0.001)


TEMPERED = {
    "learner": "tree", "votes": "hard", "max_depth": 1, "n_iterations": 100, "guard": False, "source_rate": "ratio",
}  # fmt: skip
"""Hard votes of stumps with a cap on alpha and a reset."""


def weighted(estimator: Any = None, **params: Any) -> Any:
    """Return the weighted method without its choice of eta."""
    return hc.WeightedMultiSourceTrAdaBoostClassifier(estimator, **{**TEMPERED, "eta": "linear", **params})


METHODS = {
    "TransferClassifier": lambda: hc.TransferClassifier(),
    "no transfer (SVM)": lambda: hc.TargetSVM(),
    "TrAdaBoost": lambda: hc.TrAdaBoostClassifier(),
    "MultiSourceTrAdaBoost": lambda: hc.MultiSourceTrAdaBoostClassifier(),
    "TaskTrAdaBoost": lambda: hc.TaskTrAdaBoostClassifier(),
    "WMS, η linear": lambda: weighted(),
    "WMS, η squared": lambda: weighted(eta="squared"),
    "WMS, η linear, multiplicative": lambda: weighted(update="multiplicative"),
    "WMS, η squared, multiplicative": lambda: weighted(eta="squared", update="multiplicative"),
    "Multi-KT": lambda: hc.MultiKTClassifier(),
    "TLDF": lambda: hc.TransferForestClassifier(),
    "TrAdaBoost of SVMs": lambda: hc.TrAdaBoostClassifier(svm(), n_iterations=10),
    "MultiSourceTrAdaBoost of SVMs": lambda: hc.MultiSourceTrAdaBoostClassifier(svm(), n_iterations=10),
    "TaskTrAdaBoost of SVMs": lambda: hc.TaskTrAdaBoostClassifier(svm(), n_iterations=10),
    "WMS of SVMs, η linear": lambda: weighted(svm(), n_iterations=10),
    "WMS of SVMs, η linear, multiplicative": lambda: weighted(svm(), n_iterations=10, update="multiplicative"),
}


class Run(NamedTuple):
    """One run: training rows (target last), labels 0 and 1, domains, and the test rows."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    sample_domain: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@cache
def stacked(target: str) -> Domains:
    """Return the four domains with one of them as the target."""
    import datasets  # beside hetcore, not below it: only experiments need it

    return domains(datasets.load("office_caltech"), target)


def classes_of(d: Domains) -> list[str]:
    """Return the classes with 20 rows or more in every domain."""
    counts = [[(d.y[d.sample_domain == k] == c).sum() for k in (-1, 1, 2, 3)] for c in sorted(set(d.y))]
    return [c for c, found in zip(sorted(set(d.y)), counts) if min(found) >= FEWEST]


def one_run(target: str, permutation: int, positives: int) -> Run:
    """Return a run with that many positives, and as many negatives, of the target."""
    d, place = stacked(target), TARGETS.index(target)
    classes = classes_of(d)
    truth = (d.y == classes[(permutation + place) % len(classes)]).astype(np.int64)
    rng = np.random.default_rng([permutation, place])
    train, test = [], []
    for k in (1, 2, 3, -1):
        own = d.sample_domain == k
        found, others = (rng.permutation(np.flatnonzero(own & (truth == label))) for label in (1, 0))
        others = others[: len(found)]
        pool = MOST_POSITIVES if k < 0 else len(found)
        kept = positives if k < 0 else pool
        train += [found[:kept], others[:kept]]
        test += [found[pool:], others[pool:]]
    rows, out = np.concatenate(train), np.concatenate(test)
    return Run(d.X[rows], truth[rows], d.sample_domain[rows], d.X[out], truth[out])


def run_cell(target: str, method: str, positives: int, permutation: int) -> dict[str, Any]:
    """Fit, and return the accuracy on the test rows and the seconds of the fit."""
    run = one_run(target, permutation, positives)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an SVM of two rows warns
        model = METHODS[method]().fit(run.X, run.y, run.sample_domain)
    seconds = time.perf_counter() - start
    return {"accuracy": float((model.predict(run.X_test) == run.y_test).mean()), "seconds": round(seconds, 3)}
