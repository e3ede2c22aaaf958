"""The protocol of weighted multi-source TrAdaBoost on Office-Caltech10: accuracy by the number of target positives.

Key of a cell: method, positives, run. 20 runs = 5 permutations x 4 targets, as the paper has them, each target being a
domain here and not a class of Caltech-256: one of the four classes that have 20 pictures in every domain is the
positive class (each target meets each class once, one of them twice), 10 positives and 10 negatives of the target are
drawn as the pool that training rows come from, n of each, nested; all other positives, and as many negatives, are the
test rows, so that accuracy by chance is 50%. Each source gives all its positives and as many negatives. M = 50, and
boosting is to the letter: no cap on alpha, no reset. Weak learners are stumps of least weighted classification error
(step 5 of Figure 3) or linear SVMs.

Multiplicative weighting as printed is MultiSourceTrAdaBoost to the last bit, whatever eta is: step 4 divides the common
factor away (tests/transfer/test_transfer.py holds it), so its cells are those.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hetcore as hc
from experiments.weak_svm import Products, WeakSVM
from hetcore.data.plain import Domains, domains

__all__ = ["METHODS", "run_cell"]

TARGETS = ("amazon", "caltech", "dslr", "webcam")
N_PERMUTATIONS, MOST_POSITIVES, FEWEST, M = 5, 10, 20, 50
MULTI_KT = {"C": "auto", "loss": "squared hinge"}
TASK = {"n_iterations": M, "cap_alpha": False, "criterion": "error"}
PLAIN = TASK | {"reset": False}
WHOLE: dict[str, Callable[[], Any]] = {
    "no transfer (SVM)": partial(hc.MultiKTClassifier, **MULTI_KT, transfer=False),
    "Multi-KT": partial(hc.MultiKTClassifier, **MULTI_KT),
    "TLDF": partial(hc.TransferForestClassifier, summed=True),
    "TransferClassifier": hc.TransferClassifier,
}
"""Methods without a weak learner, by name; the last is no method of the paper's."""
BOOSTED: dict[str, Callable[[Any], Any]] = {
    "MultiSourceTrAdaBoost": lambda weak: hc.MultiSourceTrAdaBoostClassifier(weak, **PLAIN),
    "TaskTrAdaBoost": lambda weak: hc.TaskTrAdaBoostClassifier(weak, **TASK),
    "WMS-Exponential": lambda weak: printed(weak, "linear"),
    "WMS-Squared Exponential": lambda weak: printed(weak, "squared"),
}
"""Methods that boost a weak learner, by name."""
SAME = {"WMS-Multiplicative": "MultiSourceTrAdaBoost", "WMS-Squared Multiplicative": "MultiSourceTrAdaBoost"}
WEAK = ("stumps", "SVMs")
METHODS = [*WHOLE, *(f"{name}, {weak}" for name in (*BOOSTED, *SAME) for weak in WEAK)]


def printed(weak: Any, eta: str) -> Any:
    """Return the weighted method as printed."""
    return hc.WeightedMultiSourceTrAdaBoostClassifier(weak, as_printed=True, max_depth=1, eta=eta, n_iterations=M)


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


def one_run(run: int, positives: int) -> Run:
    """Return a run, 0 to 19, with that many positives, and as many negatives, of the target."""
    permutation, place = divmod(run, len(TARGETS))
    d = stacked(TARGETS[place])
    # Fewer rows would leave a target without enough to be judged by.
    classes = classes_of(d)
    # Each target meets another class in the next permutation.
    truth = (d.y == classes[(permutation + place) % len(classes)]).astype(np.int64)
    rng = np.random.default_rng([permutation, place])
    train, test = [], []
    for k in (1, 2, 3, -1):
        own = d.sample_domain == k
        found, others = (rng.permutation(np.flatnonzero(own & (truth == label))) for label in (1, 0))
        # As many negatives: chance is one half in every run.
        others = others[: len(found)]
        # Drawn from one pool, so that the rows of fewer positives are among those of more.
        pool = MOST_POSITIVES if k < 0 else len(found)
        kept = positives if k < 0 else pool
        train += [found[:kept], others[:kept]]
        # Behind the pool, whatever is trained on: every number of positives has the same test rows.
        test += [found[pool:], others[pool:]]
    rows, out = np.concatenate(train), np.concatenate(test)
    return Run(d.X[rows], truth[rows], d.sample_domain[rows], d.X[out], truth[out])


def run_cell(method: str, positives: int, run: int) -> dict[str, Any]:
    """Fit, and return the accuracy on the test rows and the seconds of the fit."""
    name, _, weak = method.partition(", ")
    return dict(found(SAME.get(name, name), weak, positives, run))


@lru_cache(maxsize=64)
def found(name: str, weak: str, positives: int, run: int) -> dict[str, Any]:
    """Return what a cell comes to; the same for methods that are the same."""
    given, start = one_run(run, positives), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an SVM of two rows warns
        model, X, X_test = made(name, weak, given)
        model.fit(X, given.y, given.sample_domain)
    seconds = time.perf_counter() - start
    return {"accuracy": float((model.predict(X_test) == given.y_test).mean()), "seconds": round(seconds, 3)}


def made(name: str, weak: str, run: Run) -> tuple[Any, NDArray, NDArray]:
    """Return a method's model, and the training and test rows as it takes them: numbers of rows for weak SVMs."""
    if name in WHOLE:
        return WHOLE[name](), run.X, run.X_test
    if weak == "stumps":
        return BOOSTED[name](None), run.X, run.X_test
    # The learner looks products of rows up by number; 50 rounds would compute them 50 times.
    rows = np.arange(len(run.X) + len(run.X_test), dtype=np.float64)[:, None]
    learner = WeakSVM(Products(np.vstack([run.X, run.X_test])))
    return BOOSTED[name](learner), rows[: len(run.X)], rows[len(run.X) :]
