"""An order of rows by what they hold: methods that deal rows into folds by place deal the same in whatever order.

A row's key mixes its cells one after another (the finaliser of MurmurHash3), so that the order is as good as random;
rows of equal cells follow their domain and their label, and rows alike in all of it are the same row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hetcore.transfer.estimator import TransferProblem

__all__ = ["by_content", "numbered_by_content", "row_keys"]

MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
HALF_WORD = np.uint64(33)


def row_keys(X: NDArray) -> NDArray[np.uint64]:
    """Return a key for each row of X (n, d), the same for equal rows; missing cells are all alike, and 0 is -0."""
    # + 0.0 turns -0.0 into 0.0, and all NaN into one
    cells = np.where(np.isnan(X), np.nan, X + 0.0).astype(np.float64)
    keys = np.zeros(len(X), np.uint64)
    for column in np.ascontiguousarray(cells.T).view(np.uint64):
        keys = _mixed(keys ^ _mixed(column) + MIX[0])
    return keys


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in MIX:
        keys = (keys ^ (keys >> HALF_WORD)) * factor
    return keys ^ (keys >> HALF_WORD)


def by_content(problem: TransferProblem) -> TransferProblem:
    """Return the problem with its rows in the order of their keys, then of domain and label."""
    # by key last named, which lexsort takes first; ties by domain, then by label
    order = np.lexsort((problem.codes, problem.domain, row_keys(problem.X)))
    return replace(problem, X=problem.X[order], codes=problem.codes[order], domain=problem.domain[order])


def numbered_by_content(problem: TransferProblem) -> NDArray[np.int64]:
    """Return the domain of each row (n,), 0 for the target, sources numbered in the order of their least row keys."""
    keys = row_keys(problem.X)
    least = [keys[problem.domain == k].min(initial=np.iinfo(np.uint64).max) for k in range(1, len(problem.names) + 1)]
    ranks = np.concatenate([[0], 1 + np.argsort(np.argsort(least, kind="stable"), kind="stable")]).astype(np.int64)
    return ranks[problem.domain]
