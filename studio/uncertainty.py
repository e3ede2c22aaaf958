"""What a trained model tells of its own doubts, row by row and on the whole, where it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from studio.forms import Arrays, known

__all__ = ["LEVELS", "achieved", "columns"]

LEVELS = tuple(round(0.05 * k, 2) for k in range(1, 20)) + (0.99,)
"""Nominal coverages that intervals are tried at."""
MOST_ROWS = 5000
BAND = 0.9
"""Coverage of the band that is drawn."""


def columns(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Return columns for the table of predictions.

    Parameters
    ----------
    model : estimator
        Fitted.
    arrays : Arrays
        What it was fitted on.

    Returns
    -------
    dict of str to (m,) list
        "weight": how much a row counted in training, None elsewhere; "low_90" and "high_90": the interval's ends;
        "deviation": the share of labels drawn blindly.
    """
    found: dict[str, Any] = {}
    weights = getattr(model, "instance_weights_", None)
    trained = known(arrays.y)
    # Weights are of the rows trained on; a model that kept others' weights is not taken at its word.
    if weights is not None and len(weights) == trained.sum():
        placed = np.full(len(trained), np.nan)
        placed[trained] = weights
        found["weight"] = [None if np.isnan(weight) else float(weight) for weight in placed]
    if hasattr(model, "predict_interval"):
        ends = model.predict_interval(arrays.X, BAND)
        found |= {name: end.tolist() for name, end in zip(("low_90", "high_90"), ends)}
    if hasattr(model, "predict_deviation"):
        found["deviation"] = np.asarray(model.predict_deviation(arrays.X), float).tolist()
    return found


def achieved(model: Any, arrays: Arrays) -> dict[str, list[float]] | None:
    """Return how many of the labels to score by lie in the model's intervals; None for one without intervals.

    Returns
    -------
    dict
        "nominal" and "achieved": shares in [0, 1].
    """
    if arrays.eval_set is None or not hasattr(model, "predict_interval"):
        return None
    # Enough rows for a share, and each level is a pass over all of them.
    X, y = (values[:MOST_ROWS] for values in arrays.eval_set)
    within = []
    for level in LEVELS:
        low, high = model.predict_interval(X, level)
        within.append(float(np.mean((low <= y) & (y <= high))))
    return {"nominal": list(LEVELS), "achieved": within}
