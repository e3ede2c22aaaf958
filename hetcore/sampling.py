"""Parting rows into folds that are alike: one dealer, for cross-validation, cross-fitting and out-of-fold scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dealt_in_order", "stratified"]


def stratified(key: NDArray, n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a fold number for each row: rows are dealt in the order of a key, equal ones shuffled.

    So the folds have nearly the same share of each class, or the same spread of numbers, whatever the class sizes are.

    Parameters
    ----------
    key : (m,) array
        Classes or numbers.
    n_folds : int
    rng : numpy Generator

    Returns
    -------
    (m,) int64
        In 0..n_folds-1; sizes differ by at most 1.
    """
    return dealt_in_order(key, np.argsort(rng.random(len(key)), kind="stable"), n_folds)


def dealt_in_order(
    key: NDArray | None, order: NDArray[np.int64], n_folds: int, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Return a fold number for each row, where the order of rows with the same key is given.

    Parameters
    ----------
    key : (m,) array or None
        By which the rows are sorted first.
    order : (m,) int64
        0..m-1, shuffled.
    n_folds : int
    rng : numpy Generator, optional
        If given, the folds take turns in an order that is drawn anew each time; else 0, 1, ...

    Returns
    -------
    (m,) int64
    """
    sorted_rows = order if key is None else order[np.argsort(key[order], kind="stable")]
    if rng is None:
        turns = np.arange(order.size) % n_folds
    else:
        turns = np.concatenate([rng.permutation(n_folds) for _ in range(-(-order.size // n_folds))])[: order.size]
    fold = np.empty(order.size, np.int64)
    fold[sorted_rows] = turns
    return fold
