"""Which ways of writing a problem down leave which method's predictions as they are, and how nearly.

Three kinds of laws, on the problems of `tests.contract.changed_problems`:

- `PLAIN`: with the method's defaults (few rounds). Equal to the last bit unless a tolerance is given.
- `UNDRAWN`: where nothing is drawn: no subsample, no folds, the paper's letter. Rows in another order are added up in
  another order, so equality is to 1e-6 of the largest prediction. Leaves of ten rows: no two columns part those alike.
- better than the prior: fewer wrong classes than the largest class has, or a smaller squared error than the mean.

What follows the order of rows by design, and has no law of rows: folds, subsamples and landmarks (defaults of GBC, GB,
HGBM, the feature networks), the order in which unknown neighbours are inferred (RGB, MGB), and where stochastic
gradient descent starts and which entry comes first (MF, TF, HMF, HTF: but names that sort alike change nothing). What
follows the order of sources: learners that are fitted one after the other (two learners), and which of two equally
good domains is taken (MultiSource, TaskTrAdaBoost, WeightedMultiSource, Transfer). Of columns: which of two equal
splits is taken (trees on the few rows of a domain, of two learners, and of classes as printed, whose first gradients
are three numbers: cuts of as many rows of each tie). One and two learners look at one and two of the sources, and are
no better than the prior on some problems whose signal is in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from tests.contract.changed_problems import planted
from tests.contract.random_cases import DOMAINS, ENTRIES, HETDATA, METHODS, ROWS

__all__ = ["broken_laws"]

PART_OF_THE_SOURCES = ("OneWeakLearnerClassifier", "TwoWeakLearnerClassifier")

BITS, SUMS = 0.0, 1e-6
GRAPHS = {"edges": BITS, "ids": BITS, "hidden": BITS, "empty": BITS}
DRAWN_BY_ROW = {"hidden": BITS, "empty": BITS}
PLAIN: dict[str, dict[str, float]] = {
    **{name: DRAWN_BY_ROW for name in ROWS},
    **dict.fromkeys(
        ("HLR", "HeteroscedasticLinearRegression"), {"rows": SUMS, "columns": SUMS, "hidden": BITS, "empty": SUMS}
    ),
    **{name: {"rows": SUMS, "hidden": BITS} for name in DOMAINS},
    "RidgeTransferClassifier": {"rows": SUMS, "columns": SUMS, "sources": SUMS, "hidden": BITS},
    "MultiKTClassifier": {"rows": SUMS, "columns": SUMS, "sources": SUMS, "hidden": BITS},
    "TargetSVM": {"rows": 1e-2, "columns": 1e-2, "sources": BITS, "hidden": BITS},  # to its solver's tolerance
    "TransferForestClassifier": {"rows": SUMS, "sources": SUMS, "hidden": BITS},
    "TrAdaBoostClassifier": {"rows": SUMS, "sources": SUMS, "hidden": BITS},
    **{name: {"names": BITS, "hidden": BITS} for name in ENTRIES},
    **{name: GRAPHS for name in HETDATA},
}
ORDER = {"rows": SUMS, "columns": SUMS, "sources": SUMS}
UNDRAWN: dict[str, dict[str, float]] = {
    "HGBMClassifier": {"rows": SUMS, "columns": SUMS},
    "HGBMRegressor": {"rows": SUMS, "columns": SUMS},
    **dict.fromkeys(("GBCRegressor", "GBRegressor"), ORDER),
    "GBCClassifier": {"rows": SUMS, "sources": SUMS},
    "OneWeakLearnerClassifier": {"rows": SUMS, "sources": SUMS},
    "TwoWeakLearnerClassifier": {"rows": SUMS},
    "RGBRegressor": {"columns": SUMS, "sources": SUMS},
    "MGBRegressor": {"columns": SUMS, "sources": SUMS},
}
LETTER = {
    "subsample": 1.0, "column_sample": 1.0, "folds": 1, "patience": None, "as_printed": True, "schedule": "parallel",
    "max_depth": 2, "min_samples_leaf": 10,
}  # fmt: skip
ROUNDS = {"HeteroscedasticLinearRegression": 20, **dict.fromkeys(ENTRIES, 20)}
"""To be better than the prior; 10 for the others."""


def _params(name: str, rounds: int, letter: bool = False) -> dict[str, Any]:
    declared = METHODS[name]._parameters
    wanted = {"n_iterations": rounds, "random_state": 0, **(LETTER if letter else {})}
    return {
        key: value for key, value in wanted.items() if key in declared and (value in declared[key].domain)
    }  # fmt: skip


def broken_laws(name: str, seed: int, only_plain: bool = False) -> Iterator[tuple[str, str]]:
    """Try a method on the planted problem of a seed; yield each law and what broke it, "" where it held.

    A refusal in words of the changed problem is "refused".
    """
    for kind, laws in (("plain", PLAIN[name]), ("undrawn", {} if only_plain else UNDRAWN.get(name, {}))):
        if laws:
            problem = planted(name, seed, **_params(name, 3, kind == "undrawn"))
            predicted = problem.predicted()
        for number, (change, tolerance) in enumerate(laws.items()):
            other = problem.changed(change, np.random.default_rng([seed, number]))
            try:
                yield f"{kind}: {change}", _difference(predicted, other.predicted(), tolerance)
            except DataError:
                yield f"{kind}: {change}", "refused"
    if not only_plain and name not in PART_OF_THE_SOURCES:
        yield "better than the prior", _no_better(name, seed)


def _difference(one: NDArray, other: NDArray, tolerance: float) -> str:
    most = float(np.abs(one - other).max()) / max(float(np.abs(one).max()), 1e-12)
    return "" if most <= tolerance else f"differs by {most:.1e}"


def _no_better(name: str, seed: int) -> str:
    problem = planted(name, seed, **_params(name, ROUNDS.get(name, 10)))
    predicted, truth = problem.predicted(), problem.truth
    if problem.is_classifier:
        wrong = np.mean(np.unique(truth)[predicted.argmax(axis=1)] != truth) if predicted.shape[1] > 1 else 1.0
        prior = 1.0 - np.unique(truth, return_counts=True)[1].max() / len(truth)
    else:
        wrong, prior = float(((predicted[:, 0] - truth) ** 2).mean()), float(truth.var())
    return "" if wrong < prior else f"{wrong:.3f}, prior {prior:.3f}"
