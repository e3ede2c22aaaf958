"""Accuracy against the share of training labels that are flipped: Table 4's protocol at other shares.

Key of a cell: data (a classification), method, share (of the training labels flipped), split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.heteroscedastic import METHODS as MAKERS
from experiments.heteroscedastic import divided, table
from hetcore.heteroscedastic.hgbm_classes import HGBMClassifier

__all__ = ["METHODS", "run_cell"]

METHODS = tuple(MAKERS)


def run_cell(data: str, method: str, share: float, split: int) -> dict[str, Any]:
    """Fit on 70% of the rows, a share of them with the wrong label; return "score", the accuracy on the others."""
    X, y = table(data)
    train, test = divided(y.size, 0.7, split)
    model = HGBMClassifier(**MAKERS[method]).fit(X[train], flipped(y[train], share, split))
    return {"score": float((model.predict(X[test]) == y[test]).mean())}


def flipped(y: NDArray, share: float, split: int) -> NDArray:
    """Return labels of two classes of which a share is the other one."""
    rows = np.random.default_rng([split, 1]).permutation(y.size)[: int(share * y.size)]
    first, second = np.unique(y)
    y = y.copy()
    y[rows] = np.where(y[rows] == first, second, first)
    return y
