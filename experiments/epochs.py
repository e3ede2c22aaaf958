"""Learning curves of factorizations: RMSE on left-out ratings after each epoch, from one fit for all epochs.

Key of a cell: data ("movielens_100k"), method, epoch (from 1 on), split. 90% of the ratings to train on, no early
stopping. The fits of a split are kept in memory, so that its cells cost one fit a method. A rival
(`experiments.noise.recommenders`) has the first of its settings; what a pass of it is, its class says.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hetcore as hc
from experiments.factorization import WHOLE, load
from experiments.noise.autorec import AutoRec
from experiments.noise.llorma import LLORMA
from experiments.noise.rbm import RBM
from experiments.noise.recommenders import rmse
from experiments.noise.robust_factors import RBMF, RCF

__all__ = ["METHODS", "run_cell"]

EPOCHS = 60
CELLS = 8
"""Cells that share a fit, about: each is told to take its part of the time."""
PRINTED = {"as_printed": True, "n_iterations": EPOCHS, "n_factors": 20, "learning_rate": 0.03, **WHOLE}
PRINTED["regularisation"] = 12.0
DEVIATIONS = {"n_deviation_factors": 10, "deviation_learning_rate": 0.01, "base_variance": 0.3}
MAKERS = {
    "HMF, as printed": lambda: hc.HMF(**PRINTED, **DEVIATIONS),
    "biased MF, as printed": lambda: hc.MatrixFactorization(**PRINTED),
    "HMF": lambda: hc.HMF(n_iterations=EPOCHS, **WHOLE),
    "biased MF": lambda: hc.MatrixFactorization(n_iterations=EPOCHS, **WHOLE),
}
RIVALS = {"AutoRec": AutoRec, "RBM": RBM, "RCF": RCF, "RBMF": RBMF, "LLORMA": LLORMA}
METHODS = (*MAKERS, *RIVALS)


def run_cell(data: str, method: str, epoch: int, split: int) -> dict[str, Any]:
    """Return the RMSE on left-out ratings after an epoch: "error", and "train" on those that were trained on.

    As printed HMF also has the share of "zeros" among the factors of its deviation, P and Q.
    """
    curves, seconds = _curve(data, method, split)
    return {name: each[epoch - 1] for name, each in curves.items()} | {"seconds": round(seconds / CELLS, 3)}


# A split's fits at a time: each has the curves of all its epochs, which are its cells.
@lru_cache(maxsize=len(METHODS))
def _curve(data: str, method: str, split: int) -> tuple[dict[str, list[float]], float]:
    X, y = load(data)
    # The seeds of the factorizations' own protocol, so that a split is the same split in both.
    order = np.random.default_rng((20, split)).permutation(len(y))
    train, test = np.split(order, [int(round(0.9 * len(y)))])
    started = time.perf_counter()
    if method in RIVALS:
        return _curve_of_rival(RIVALS[method](), X, y, train, test), time.perf_counter() - started
    model, scores, zeros = MAKERS[method](), [], []
    view = model._view

    def watched(state: Any) -> dict[str, Any]:
        if state.has_deviation and model.as_printed:
            zeros.append(float((state.factors.deviations[:-1] == 0).mean()))  # the last row is of unseen codes
        return view(state)

    model._view = watched
    scored = (X[test], y[test])
    model.fit(X[train], y[train], eval_set=scored, callbacks=[lambda event: scores.append(event.detail["metric"])])
    curves = {name: [float(score[of]) for score in scores] for name, of in (("error", "held_out"), ("train", "train"))}
    return curves | ({"zeros": zeros} if zeros else {}), time.perf_counter() - started


def _curve_of_rival(rival: Any, X: NDArray, y: NDArray, train: NDArray, test: NDArray) -> dict[str, list[float]]:
    found = rival.curve(X[train], y[train], X[test], EPOCHS)
    pairs = [np.split(each, [train.size]) for each in found]
    errors, trained = [rmse(y[test], later) for _, later in pairs], [rmse(y[train], known) for known, _ in pairs]
    return {"error": errors, "train": trained}
