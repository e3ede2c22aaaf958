"""How large trees of classes are, and what they see, by how many rows there are and what left-out rows say.

Four leaves on half of the rows are for few rows or noisy labels. From `MANY_ROWS` on a tree sees more, and its leaves
are chosen:

    1  boost with each of `LEAVES` in turn, all rows alike, until left-out rows like it no better
    2  take the last one that lowered their loss

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, sections 7.10 and 10.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.forest_ensemble import Sample
from hetcore.heteroscedastic.objectives import Labels, Link
from hetcore.trees import BinMapper

__all__ = ["FEW", "MANY_ROWS", "sized"]

LEAVES = (4, 8, 16, 32, 64)
MANY_ROWS = 1_000
FEW = {"max_leaf_nodes": LEAVES[0], "subsample": 0.5, "column_sample": 0.4}
MANY = {"max_leaf_nodes": LEAVES[0], "subsample": 0.8, "column_sample": 0.7}
ENOUGH = 10_000  # rows, by which leaves are compared
PATIENCE = 20  # rounds, where the fit itself has none


def sized(train: Sample, params: dict[str, Any], mapper: BinMapper) -> dict[str, Any]:
    """Return the parameters with numbers in place of "auto".

    Parameters
    ----------
    train : Sample
        Of classes.
    params : dict
        Of the estimator.
    mapper : BinMapper
    """
    many = train.weights.size >= MANY_ROWS
    usual = MANY if many else FEW
    sizes = params | {name: value for name, value in usual.items() if params[name] == "auto"}
    # nothing is left out by one member, nor as printed
    if params["max_leaf_nodes"] == "auto" and many and params["folds"] > 1 and not params["as_printed"]:
        few = _some(train, np.random.default_rng(params["random_state"]))
        sizes["max_leaf_nodes"] = _best_leaves(few, sizes, mapper)
    return sizes


def _best_leaves(train: Sample, params: dict[str, Any], mapper: BinMapper) -> int:
    best, least = LEAVES[0], np.inf
    for leaves in LEAVES:
        loss = _left_out_loss(train, params | {"max_leaf_nodes": leaves}, mapper)
        if loss >= least:
            break
        best, least = leaves, loss
    return best


def _left_out_loss(train: Sample, params: dict[str, Any], mapper: BinMapper) -> float:
    """Return the least mean loss of rows left out, of boosting that counts all rows alike."""
    state = Rounds(train, None, Link(), params | {"patience": params["patience"] or PATIENCE}, mapper)
    for _ in range(params["n_iterations"]):
        if state.round():
            break
    return state.labels[0].loss


def _some(train: Sample, rng: np.random.Generator) -> Sample:
    """Return `ENOUGH` rows at most, and at least one of each class."""
    if train.weights.size <= ENOUGH:
        return train
    order = rng.permutation(train.weights.size)
    _, first = np.unique(train.base.codes[order], return_index=True)
    rows: NDArray = np.union1d(order[:ENOUGH], order[first])
    base = Labels(train.base.codes[rows], train.base.n_classes, train.base.least_hessian)
    weights = train.weights[rows]
    return Sample(np.ascontiguousarray(train.binned[:, rows]), base, weights / weights.mean())
