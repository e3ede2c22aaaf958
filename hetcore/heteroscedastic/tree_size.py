"""How large trees of classes are, and what they see, by what left-out rows say.

Four leaves on half of the rows and two fifths of the columns are for few rows and noisy labels; other trees see more:

    1  boost with each of the sizes in turn, all rows alike, until left-out rows like it no better
    2  take the last one that lowered their loss

Sizes are `FEW`, then `MANY` with each of `LEAVES`. From `MANY_ROWS` rows on `FEW` is not tried. With fewer, a loss is
lower where it is so by more than its standard error, row by row: what is left out tells less there.

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, sections 7.10 and 10.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.forest_ensemble import Sample
from hetcore.heteroscedastic.objectives import Labels, Link
from hetcore.numerics import standard_error
from hetcore.trees import BinMapper

__all__ = ["FEW", "sized"]

LEAVES = (4, 8, 16, 32, 64)
MANY_ROWS = 1_000
FEW = {"max_leaf_nodes": LEAVES[0], "subsample": 0.5, "column_sample": 0.4}
MANY = {"subsample": 0.8, "column_sample": 0.7}
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
    sizes = [MANY | {"max_leaf_nodes": leaves} for leaves in LEAVES]
    if train.weights.size < MANY_ROWS:
        sizes.insert(0, FEW)
    settings = [params | {name: v for name, v in size.items() if params[name] == "auto"} for size in sizes]
    # sizes that differ in what is given are the same
    settings = [setting for k, setting in enumerate(settings) if setting not in settings[:k]]
    # nothing is left out by one member, nor as printed
    if params["max_leaf_nodes"] == "auto" and params["folds"] > 1 and not params["as_printed"]:
        return _best(_some(train, np.random.default_rng(params["random_state"])), settings, mapper)
    return settings[0]


def _best(train: Sample, settings: list[dict[str, Any]], mapper: BinMapper) -> dict[str, Any]:
    errors = 1.0 if train.weights.size < MANY_ROWS else 0.0  # standard errors
    best, losses = settings[0], _left_out_losses(train, settings[0], mapper)
    for further in settings[1:]:
        lower = losses - (now := _left_out_losses(train, further, mapper))
        if lower.mean() <= errors * standard_error(lower):
            break
        best, losses = further, now
    return best


def _left_out_losses(train: Sample, params: dict[str, Any], mapper: BinMapper) -> NDArray[np.float64]:
    """Return the loss of each row left out (n,) times its weight, by boosting that counts all rows alike."""
    state = Rounds(train, None, Link(), params | {"patience": params["patience"] or PATIENCE}, mapper)
    for _ in range(params["n_iterations"]):
        if state.round():
            break
    return train.weights * train.base.loss(state.finish().f)


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
