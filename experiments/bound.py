r"""Theorems 4.1 and 4.2 of GBC measured, where the best possible error is known.

Two classes, two sources: x_i = s a_i + normal noise, s = -1 or 1, beside columns of noise. The Bayes error on both is
L(f*) = Phi(-sqrt(a_1^2 + a_2^2)). With e_i = |L(f_i) - L(f*)|, the excess losses of the sources alone,

    4.1   L_GBC <= L(f*) + e_bayes + sqrt(2 e_1 e_2 / (e_1 + e_2)),   equal weights: sqrt((e_1 + e_2) / 2)
    4.2   L_GBC <= L(f*) + (2 + 3 sqrt(ln(2 / delta) / 2)) / sqrt(n) + 2 C R + the same last term,

the second with probability 1 - delta over n labels, delta = 0.05. e_bayes and the complexity 2 C R are not negative and
not known: they are left out, which makes both bounds harder to keep. L is the error rate, in 4.1 on new instances, in
4.2 on the unlabelled ones of the fit.

Key of a cell: theorem ("4.1" or "4.2"), method, level (4.1: the second source's a_2; 4.2: labelled instances), split.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

from hetcore.consensus.gbc import GBCClassifier
from hetcore.data import HetData

__all__ = ["METHODS", "bounds", "run_cell"]

STRENGTH = 1.2  # a_1
N_NOISE = 2
N_TRAINED, N_LABELLED, N_NEW = 600, 300, 4000
DELTA = 0.05
MAKERS: dict[str, dict[str, Any]] = {
    "equal weights": {"as_printed": True, "lambda0": 0.03, "lambda1": 0.0, "n_iterations": 20, "weights": "equal"},
    "learned weights": {"as_printed": True, "lambda0": 0.03, "lambda1": 0.0, "n_iterations": 20},
    "GBC": {},
}
METHODS = tuple(MAKERS)


class Errors(NamedTuple):
    """Error rates of the consensus and of the sources alone, the Bayes error, and the first source's weight."""

    consensus: float
    first: float
    second: float
    best: float
    weight: float


def bounds(first: float, second: float) -> tuple[float, float]:
    """Return the last terms of the theorems' bounds for excess losses: learned weights, equal weights."""
    total = first + second
    learned = np.sqrt(2.0 * first * second / total) if total > 0 else 0.0
    return float(learned), float(np.sqrt(total / 2.0))


def run_cell(theorem: str, method: str, level: float, split: int) -> dict[str, Any]:
    """Fit two sources.

    Returns
    -------
    dict
        "error"; "excess_first", "excess_second"; "bound" and "equal_bound", the right-hand sides with learned and with
        equal weights; "room", the method's own bound less its error; "weight" of the first source and "ideal", that of
        the proof, e_2 / (e_1 + e_2).
    """
    # The first theorem varies the second source's strength, the second how many labels there are.
    weak, n_labelled = (float(level), N_LABELLED) if theorem == "4.1" else (0.6, int(level))
    found = _fitted(theorem, method, weak, n_labelled, split)
    e1, e2 = abs(found.first - found.best), abs(found.second - found.best)
    learned, equal = bounds(e1, e2)
    # The second has a term of its own for few labels.
    rest = found.best
    if theorem == "4.2":
        rest += (2.0 + 3.0 * np.sqrt(np.log(2.0 / DELTA) / 2.0)) / np.sqrt(n_labelled)
    own = equal if method == "equal weights" else learned
    cell = {"error": found.consensus, "excess_first": e1, "excess_second": e2, "weight": found.weight}
    cell |= {"bound": rest + learned, "equal_bound": rest + equal, "room": rest + own - found.consensus}
    cell["gain"] = equal - learned
    return cell | {"ideal": e2 / (e1 + e2) if e1 + e2 > 0 else 0.5}


@lru_cache(maxsize=256)
def _fitted(theorem: str, method: str, weak: float, n_labelled: int, split: int) -> Errors:
    signs, tables = _drawn(weak, split)
    trained = np.arange(N_TRAINED)
    classes = np.where(signs > 0, "yes", "no").astype(object)
    known = np.where(trained < n_labelled, classes[:N_TRAINED], None)
    model = GBCClassifier(**MAKERS[method]).fit(_data(tables, trained, known))
    # New instances in the first, those without a label in the second: as the theorems are stated.
    rows = np.arange(N_TRAINED, len(signs)) if theorem == "4.1" else trained[n_labelled:]

    def error(names: list[str]) -> float:
        seen = _data({name: tables[name] for name in names}, rows, None)
        return float((model.predict(seen) != classes[rows]).mean())

    best = float(norm.cdf(-np.hypot(STRENGTH, weak)))
    weights = model.source_weights_
    return Errors(error(["first", "second"]), error(["first"]), error(["second"]), best, weights["first"])


def _drawn(weak: float, split: int) -> tuple[NDArray, dict[str, NDArray]]:
    rng = np.random.default_rng(split)
    n = N_TRAINED + N_NEW
    # One generator for signs and both sources, so that a split is the same whatever the strength.
    signs = rng.choice([-1.0, 1.0], n)
    tables = {}
    for name, strength in (("first", STRENGTH), ("second", weak)):
        X = rng.normal(size=(n, 1 + N_NOISE))
        X[:, 0] += strength * signs
        tables[name] = X
    return signs, tables


def _data(tables: dict[str, NDArray], rows: NDArray, y: NDArray | None) -> HetData:
    ids = rows.astype(str)
    frames = {
        name: pl.DataFrame({"id": ids} | {f"x{k}": X[rows, k] for k in range(X.shape[1])}) for name, X in tables.items()
    }
    target = None if y is None else pl.DataFrame({"id": ids, "y": y.tolist()})
    return HetData(frames, None, target)
