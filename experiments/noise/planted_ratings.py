"""Ratings whose users stray by planted deviations: what it is worth to know whom to trust.

Key of a cell: data ("even", "uneven", "very uneven": how users' deviations differ), method (of
`experiments.factorization`), fraction (of the entries observed), split (seed of the ratings and of what is observed).
600 users, 400 items, factors of rank 5. A user's noise has the deviation `NOISE` exp(spread z - spread^2), z standard
normal, so that its mean square is the same whatever the spread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from experiments.factorization import MATRIX
from hetcore import metrics

__all__ = ["METHODS", "NOISE", "SPREADS", "planted_ratings", "run_cell"]

METHODS = tuple(MATRIX)
SPREADS = {"even": 0.0, "uneven": 0.5, "very uneven": 1.0}
SHAPE, RANK = (600, 400), 5
BIAS, FACTORS, NOISE = 0.4, 0.6, 0.8  # deviations of biases, of what factors say, of the noise


def planted_ratings(spread: float, split: int) -> tuple[NDArray, NDArray]:
    """Return the truth (600, 400), and the deviation (600,) of each user's ratings from it."""
    rng = np.random.default_rng((30, split))
    users, items = (rng.standard_normal((n, RANK)) / RANK**0.25 for n in SHAPE)
    biases = [rng.standard_normal(n) for n in SHAPE]
    truth = 3.0 + BIAS * (biases[0][:, None] + biases[1]) + FACTORS * users @ items.T
    return truth, NOISE * np.exp(spread * rng.standard_normal(SHAPE[0]) - spread**2)


def run_cell(data: str, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Train on a share of the noisy ratings and score the truth of the others.

    Returns
    -------
    dict
        "error", the RMSE; "found", Spearman's correlation of the users' learned and planted deviations, where the
        model learns any; "fit_seconds" of the CPU, all settings that were tried among them.
    """
    truth, deviation = planted_ratings(SPREADS[data], split)
    rng = np.random.default_rng((31, split))
    observed = rng.random(truth.shape) < fraction
    ratings = (truth + deviation[:, None] * rng.standard_normal(truth.shape))[observed]
    started = time.process_time()
    model = MATRIX[method](fraction).fit(np.argwhere(observed), ratings)
    cell = {"fit_seconds": time.process_time() - started}
    cell["error"] = metrics.rmse(truth[~observed], model.predict(np.argwhere(~observed)))
    if method.startswith("HMF") and SPREADS[data]:
        learned = model.deviation_by(0)
        cell["found"] = float(spearmanr(list(learned.values()), deviation[list(learned)]).statistic)
    return cell
