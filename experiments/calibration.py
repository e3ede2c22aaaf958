"""Calibration beside peers: NLL, 90% intervals and RMSE of predictions that come with a deviation.

Key of a cell: data (a regression of the project, or a problem of the suite's use "noise"), method, split. Four fifths
of the rows to train on. Each predictor returns mean, standard deviation and how many of them an interval of 90% takes;
"CatBoost, squared error" has a mean alone. Peers have their default parameters, stopped by a tenth of the training rows
where they can. The peers NGBoost, CatBoost and LightGBM must be installed for their cells, and
PGBM in a Python of its own (`experiments.noise.pgbm_peer`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.heteroscedastic import divided, table
from experiments.noise import pgbm_peer
from hetcore import metrics
from hetcore.heteroscedastic.hgbm import HGBMRegressor

__all__ = ["METHODS", "PREDICTORS", "run_cell"]

Z90 = 1.6448536269514722
LEAST_SPREAD = 1e-3  # of a peer's deviation, in that of the labels: quantiles may cross
LEFT_OUT = 0.1  # of the training rows, by which peers stop
CALIBRATING = 0.2  # of the training rows, by which an interval is made to hold its share


class Prediction(NamedTuple):
    """Mean, deviation (None where there is none), how many deviations an interval of 90% takes to each side.

    `seconds` of the CPU are given where a fit ran elsewhere.
    """

    mean: NDArray
    deviation: NDArray | None
    width: float
    seconds: float | None = None


def _hgbm(X: NDArray, y: NDArray, later: NDArray) -> Prediction:
    model = HGBMRegressor().fit(X, y)
    mean, deviation = model.predict(later, return_std=True)
    low, high = model.predict_interval(later, 0.9)
    return Prediction(mean, deviation, float(((high - low) / (2.0 * deviation))[0]))


def _catboost(X: NDArray, y: NDArray, later: NDArray, stopped: bool = True) -> Prediction:
    from catboost import CatBoostRegressor, Pool

    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty", verbose=False, thread_count=1, random_seed=0, allow_writing_files=False
    )
    kept = int((1.0 - LEFT_OUT) * y.size) if stopped else y.size
    given = {"eval_set": Pool(X[kept:], y[kept:]), "early_stopping_rounds": 50} if stopped else {}
    predicted = model.fit(X[:kept], y[:kept], **given).predict(later)
    return Prediction(predicted[:, 0], np.sqrt(predicted[:, 1]), Z90)


def _squared(X: NDArray, y: NDArray, later: NDArray) -> Prediction:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(verbose=False, thread_count=1, random_seed=0, allow_writing_files=False)
    return Prediction(model.fit(X, y).predict(later), None, Z90)


def _ngboost(X: NDArray, y: NDArray, later: NDArray, stopped: bool = True) -> Prediction:
    from ngboost import NGBRegressor

    model, kept = NGBRegressor(verbose=False, random_state=0), int((1.0 - LEFT_OUT) * y.size) if stopped else y.size
    given = {"X_val": X[kept:], "Y_val": y[kept:], "early_stopping_rounds": 50} if stopped else {}
    predicted = model.fit(np.nan_to_num(X[:kept]), y[:kept], **given).pred_dist(np.nan_to_num(later))
    return Prediction(predicted.loc, predicted.scale, Z90)


def _quantiles(X: NDArray, y: NDArray, later: NDArray) -> Prediction:
    """Two LightGBM models, of the 5% and of the 95% quantile: mean and deviation are of the normal between them."""
    from lightgbm import LGBMRegressor

    ends = [
        LGBMRegressor(objective="quantile", alpha=alpha, n_jobs=1, verbose=-1, random_state=0).fit(X, y).predict(later)
        for alpha in (0.05, 0.95)
    ]
    deviation = np.maximum((ends[1] - ends[0]) / (2.0 * Z90), LEAST_SPREAD * y.std())
    return Prediction(0.5 * (ends[0] + ends[1]), deviation, Z90)


def _pgbm(X: NDArray, y: NDArray, later: NDArray) -> Prediction:
    mean, deviation, seconds = pgbm_peer.predicted(X, y, later)
    return Prediction(mean, np.maximum(deviation, LEAST_SPREAD * y.std()), Z90, seconds)


def _conformal(X: NDArray, y: NDArray, later: NDArray) -> Prediction:
    """Histogram boosting and one width for all, by residuals of a fifth of the training rows."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    kept = int((1.0 - CALIBRATING) * y.size)
    model = HistGradientBoostingRegressor(random_state=0).fit(X[:kept], y[:kept])
    residuals = np.abs(y[kept:] - model.predict(X[kept:]))
    deviation = float(np.sqrt((residuals**2).mean()))
    width = np.quantile(residuals, min(1.0, 0.9 * (1.0 + 1.0 / residuals.size)), method="higher") / deviation
    return Prediction(model.predict(later), np.full(len(later), deviation), float(width))


PREDICTORS: dict[str, Callable[[NDArray, NDArray, NDArray], Prediction]] = {
    "HGBM": _hgbm,
    "CatBoost, squared error": _squared,
    "CatBoost": lambda *rows: _catboost(*rows, stopped=False),
    "CatBoost, early stopping": _catboost,
    "NGBoost": lambda *rows: _ngboost(*rows, stopped=False),
    "NGBoost, early stopping": _ngboost,
    "LightGBM, two quantiles": _quantiles,
    "histogram boosting, conformal": _conformal,
    "PGBM, early stopping": _pgbm,
}
METHODS = tuple(PREDICTORS)


def run_cell(data: str, method: str, split: int) -> dict[str, Any]:
    """Fit on four fifths of the rows.

    Returns
    -------
    dict
        On the others: "rmse"; "nll" and "coverage90" (share of labels within the 90% interval) where there is a
        deviation; "seconds" of the CPU.
    """
    X, y = table(data)
    train, test = divided(y.size, 0.8, split)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        mean, deviation, width, elsewhere = PREDICTORS[method](X[train], y[train], X[test])
    seconds, residual = elsewhere or time.process_time() - start, y[test] - mean
    cell = {"rmse": metrics.rmse(y[test], mean), "seconds": seconds}
    if deviation is None:
        return cell
    covered = np.abs(residual) <= width * deviation
    return cell | {"nll": metrics.gaussian_nll(y[test], mean, deviation), "coverage90": float(covered.mean())}
