"""Accuracy against the share of training labels that are flipped, and which rows were distrusted.

Key of a cell: data (a classification), method, share (of each class's training labels flipped), split. 80% of the rows
to train on; labels to test on are never flipped. CatBoost must be installed for its cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from experiments.heteroscedastic import METHODS as MAKERS
from experiments.heteroscedastic import chosen, divided, in_units, score, table, with_noise
from hetcore.heteroscedastic.hgbm_classes import HGBMClassifier

__all__ = ["METHODS", "run_cell"]

METHODS = (*MAKERS, "CatBoost")


def run_cell(data: str, method: str, share: float, split: int) -> dict[str, Any]:
    """Fit on 80% of the rows, a share of them with the wrong label.

    Returns
    -------
    dict
        "score", the accuracy on the others; "found", the average precision in [0, 1] of the least trusted rows being
        those that were flipped, where some were and the method weighs rows.
    """
    X, y = table(data)
    train, test = divided(y.size, 0.8, split)
    labels, flipped = with_noise(y[train], split, share)
    if method == "CatBoost":
        return {"score": score(_catboost(X[train], labels, X[test]), y[test])}
    setting = in_units(chosen(X[train], labels, method), labels)
    model = HGBMClassifier(**MAKERS[method] | setting).fit(X[train], labels)
    cell = {"score": score(model.predict(X[test]), y[test])}
    # Where all weights are equal there is no order to find anything by.
    if flipped.any() and np.ptp(model.instance_weights_) > 0:
        cell["found"] = float(average_precision_score(flipped, -model.instance_weights_))
    return cell


def _catboost(X: NDArray, y: NDArray, later: NDArray) -> NDArray:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(verbose=False, thread_count=1, random_seed=0, allow_writing_files=False)
    return model.fit(X, y).predict(later).ravel()
