"""Protocols of heteroscedastic boosting: Table 4, and calibration beside peers.

Table 4 (key: data, noise, method, split): 70% of the rows to train on, clean or noisy. Noisy: a fifth of the training
rows have their label flipped, or N(0, 0.1 var(y)) added; test labels stay clean. GBM is HGBM with a constant deviation:
same trees, same members, same early stopping. Every method has its default parameters, chosen on splits from 1000 on.

Calibration (key: data, method, split; `experiments.calibration`): the five regressions, 80% to train on.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data.plain import plain_table
from hetcore.heteroscedastic.hgbm import HGBMRegressor
from hetcore.heteroscedastic.hgbm_classes import HGBMClassifier

__all__ = ["CLASSIFICATIONS", "METHODS", "NOISES", "PREDICTORS", "REGRESSIONS", "calibration_cell", "run_cell"]

REGRESSIONS = ("pyrim", "bodyfat", "housing", "abalone", "cpu_small")
CLASSIFICATIONS = ("thyroid", "heart", "breast_cancer", "diabetes", "german")
NOISES = ("clean", "noisy")
NOISY_SHARE, NOISE_VARIANCE = 0.2, 0.1
Z90 = 1.6448536269514722

Table = tuple[NDArray, NDArray]


@cache
def table(name: str) -> Table:
    """Return X and y of a data set."""
    import datasets  # beside hetcore, not below it: only experiments need it

    X, y, _ = plain_table(datasets.load(name))
    return X, y if y.dtype.kind == "f" else y.astype(str)


def divided(n: int, share: float, split: int) -> tuple[NDArray, NDArray]:
    """Return the training rows and the test rows of a split."""
    order = np.random.default_rng(split).permutation(n)
    return order[: int(share * n)], order[int(share * n) :]


def noisy(y: NDArray, variance: float, split: int) -> NDArray:
    """Return labels of which a fifth are flipped, or have Gaussian noise of a tenth of the variance."""
    rng = np.random.default_rng([split, 1])
    rows, y = rng.permutation(y.size)[: int(NOISY_SHARE * y.size)], y.copy()
    if y.dtype.kind == "f":
        y[rows] += rng.normal(0.0, np.sqrt(NOISE_VARIANCE * variance), rows.size)
    else:
        first, second = np.unique(y)
        y[rows] = np.where(y[rows] == first, second, first)
    return y


def boosting(y: NDArray, **params: Any) -> Any:
    """Return a regressor or a classifier, by the labels."""
    return (HGBMRegressor if y.dtype.kind == "f" else HGBMClassifier)(**params)


PLAIN = {"n_iterations": 100, "learning_rate": 0.1}
METHODS: dict[str, dict[str, Any]] = {
    "GBM": {"deviation": "constant"},
    "GBM, ten members": {"deviation": "constant", "folds": 10},
    "HGBM": {},
    "HGBM, as printed": {"as_printed": True, **PLAIN},
    "GBM, one model": {"deviation": "constant", "folds": 1, **PLAIN},
}


def run_cell(data: str, noise: str, method: str, split: int) -> dict[str, Any]:
    """Fit on (noisy) training rows; return the test MSE of numbers, or the accuracy of classes."""
    X, y = table(data)
    train, test = divided(y.size, 0.7, split)
    labels = noisy(y[train], float(y.var()) if y.dtype.kind == "f" else 0.0, split) if noise == "noisy" else y[train]
    start = time.process_time()
    model = boosting(y, **METHODS[method]).fit(X[train], labels)
    predicted, seconds = model.predict(X[test]), time.process_time() - start
    score = ((predicted - y[test]) ** 2).mean() if y.dtype.kind == "f" else (predicted == y[test]).mean()
    return {"score": float(score), "rounds": model.best_iteration_, "seconds": seconds}


def _hgbm(X: NDArray, y: NDArray, later: NDArray) -> tuple[NDArray, NDArray, float]:
    model = HGBMRegressor().fit(X, y)
    mean, deviation = model.predict(later, return_std=True)
    low, high = model.predict_interval(later, 0.9)
    return mean, deviation, float(((high - low) / (2.0 * deviation))[0])


def _catboost(X: NDArray, y: NDArray, later: NDArray, stopped: bool = False) -> tuple[NDArray, NDArray, float]:
    from catboost import CatBoostRegressor, Pool

    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty", verbose=False, thread_count=1, random_seed=0, allow_writing_files=False
    )
    kept = int(0.9 * y.size) if stopped else y.size
    given = {"eval_set": Pool(X[kept:], y[kept:]), "early_stopping_rounds": 50} if stopped else {}
    said = model.fit(X[:kept], y[:kept], **given).predict(later)
    return said[:, 0], np.sqrt(said[:, 1]), Z90


def _ngboost(X: NDArray, y: NDArray, later: NDArray, stopped: bool = False) -> tuple[NDArray, NDArray, float]:
    from ngboost import NGBRegressor

    model, kept = NGBRegressor(verbose=False, random_state=0), int(0.9 * y.size) if stopped else y.size
    given = {"X_val": X[kept:], "Y_val": y[kept:], "early_stopping_rounds": 50} if stopped else {}
    said = model.fit(X[:kept], y[:kept], **given).pred_dist(later)
    return said.loc, said.scale, Z90


PREDICTORS = {
    "HGBM": _hgbm,
    "CatBoost": _catboost,
    "CatBoost, early stopping": lambda *rows: _catboost(*rows, stopped=True),
    "NGBoost": _ngboost,
    "NGBoost, early stopping": lambda *rows: _ngboost(*rows, stopped=True),
}


def calibration_cell(data: str, method: str, split: int) -> dict[str, Any]:
    """Fit on four fifths of the rows; return NLL, share of labels within the 90% interval, RMSE and CPU seconds."""
    X, y = table(data)
    train, test = divided(y.size, 0.8, split)
    start = time.process_time()
    mean, deviation, width = PREDICTORS[method](X[train], y[train], X[test])
    seconds, residual = time.process_time() - start, y[test] - mean
    nll = 0.5 * np.log(2.0 * np.pi) + np.log(deviation) + 0.5 * (residual / deviation) ** 2
    return {
        "nll": float(nll.mean()),
        "coverage90": float((np.abs(residual) <= width * deviation).mean()),
        "rmse": float(np.sqrt((residual**2).mean())),
        "seconds": seconds,
    }
