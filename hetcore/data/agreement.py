"""How well one column tells the label by itself: switches of the label along the sorted column, and groups of values.

Along a column that has nothing to do with the label, neighbouring rows have the same label as often as any two rows;
along a column that tells it, the label switches once for each class. The *disorder* of a column is the number of
switches beyond the least possible, divided by the number expected of a random order: 1 for no relation, 0 for a column
whose order tells the label. For numbers to predict, it is von Neumann's ratio of the label's ranks (J. von Neumann,
Distribution of the ratio of the mean square successive difference to the variance, 1941), halved, so that it has the
same two ends.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["disorder", "group_errors", "is_monotone", "is_one_to_one", "log_chance", "log_ways", "tells_one_class"]

SOME = 512
"""Rows of a first look."""


def disorder(X: NDArray[np.float64], codes: NDArray[np.int64], numeric: bool) -> NDArray[np.float64]:
    """Return the disorder of the labels along each column.

    Parameters
    ----------
    X : (m, d) float64
        Columns; NaN is missing and left out. Rows stand in an order that has nothing to do with the labels, so that
        rows of one value do not look sorted.
    codes : (m,) int64
        Labels as 0..k-1; for numbers to predict, their dense ranks.
    numeric : bool
        Whether the labels are numbers to predict.

    Returns
    -------
    ndarray of float64, (d,)
        At least 0; 1 for a column with fewer than three values.
    """
    order = np.argsort(X, axis=0, kind="stable")
    known = np.sort(~np.isnan(X), axis=0)[::-1]
    both, labels = known[1:], codes[order]
    pairs = both.sum(axis=0)
    if numeric:
        steps = (np.diff(labels.astype(np.float64), axis=0) ** 2 * both).sum(axis=0)
        # of two independent ranks: twice the variance
        expected = 2 * np.var(codes.astype(np.float64)) * pairs
    else:
        steps = ((labels[1:] != labels[:-1]) & both).sum(axis=0)
        # of two independent rows: that their classes differ
        expected = (1 - ((np.bincount(codes) / len(codes)) ** 2).sum()) * pairs
    least = len(np.unique(codes)) - 1  # one step from each class, or rank, to the next
    # too few pairs, or labels that are all the same, say nothing: no relation
    return np.where((pairs > 1) & (expected > 0), np.maximum(steps - least, 0) / np.maximum(expected, 1e-300), 1.0)


def group_errors(values: NDArray[np.int64], codes: NDArray[np.int64], own: bool = False) -> float:
    """Return the errors of the vote of the rows with the same value, divided by those of the largest class.

    Parameters
    ----------
    values : (m,) int64
        Values as 0..v-1.
    codes : (m,) int64
        Labels as 0..k-1.
    own : bool, default=False
        Whether a row has a vote on itself.
    """
    width = int(codes.max()) + 1
    pairs, counts = np.unique(values * width + codes, return_counts=True)
    groups = pairs // width
    largest = np.zeros(int(values.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, groups, counts)
    winners = np.bincount(groups, weights=counts == largest[groups], minlength=len(largest))
    # an own vote counts for nobody: a value that occurs once would predict itself
    others = (winners[groups] == 1) & (counts > 1)
    right = largest.sum() if own else counts[(counts == largest[groups]) & others].sum()
    constant = len(codes) - np.bincount(codes).max()
    return float((len(codes) - right) / constant) if constant else 1.0


def is_one_to_one(values: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
    # as many pairs as values and as labels
    """Tell whether each value has one label and each label one value, (m,) codes both."""
    pairs = np.unique(values * (int(codes.max()) + 1) + codes)
    return len(pairs) == len(np.unique(values)) == len(np.unique(codes))


def is_monotone(values: NDArray[np.int64], codes: NDArray[np.int64]) -> int:
    """Return 1 if the values rise with the labels, strictly and with equal ties, -1 if they fall, else 0."""
    if not is_one_to_one(values, codes):
        return 0
    _, first = np.unique(codes, return_index=True)
    steps = np.diff(values[first])
    return 1 if (steps > 0).all() else -1 if (steps < 0).all() else 0


def log_chance(codes: NDArray[np.int64], ordered: bool) -> float:
    """Return the logarithm of the chance that a shuffled copy of the labels agrees with them by itself.

    A column agrees if it is sorted by the labels, up or down (`ordered`), or any recoding of them: 2 or k! of the
    m! / Π m_c! orders, m_c rows having label c.
    """
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    same = math.log(2) if ordered else math.lgamma(len(counts) + 1)
    return same + sum(math.lgamma(count + 1) for count in counts) - math.lgamma(len(codes) + 1)


def log_ways(slips: int, n: int) -> float:
    """Return the logarithm of the number of ways to choose `slips` of n."""
    return math.lgamma(n + 1) - math.lgamma(slips + 1) - math.lgamma(n - slips + 1)


def tells_one_class(X: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for columns of two values, the logarithm of the chance that one tells a class from all others by itself.

    Parameters
    ----------
    X : (m, d) float64
        Columns; NaN is missing and left out.
    codes : (m,) int64
        Classes as 0..k-1.

    Returns
    -------
    ndarray of float64, (d,)
        0 for a column that has other than two values, or tells no class without any error.
    """
    k = int(codes.max()) + 1
    # a look at some rows first, which most columns do not pass; one that has a single value there may tell one later
    matched, one = _classes_matched(X[:SOME], codes[:SOME])
    passed = np.flatnonzero((matched >= 0).any(axis=0) | one)
    matched, _ = _classes_matched(X[:, passed], codes)
    found = np.zeros(X.shape[1])
    for column, labels in zip(passed, np.sort(matched, axis=0).T):
        its = codes[~np.isnan(X[:, column])]
        for count in [int((its == label).sum()) for label in labels if label >= 0]:
            if count < len(its):
                # either value may be the class's, and any class the one
                found[column] = math.log(2 * k) - log_ways(count, len(its))
    return found


def _classes_matched(X: NDArray[np.float64], codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return which class alone has the lesser value of a column of two, all of its rows, and which the greater, (2, d).

    -1 for none. Also which columns have one value or none, (d,).
    """
    low, high = X == np.nanmin(X, axis=0, initial=np.inf), X == np.nanmax(X, axis=0, initial=-np.inf)
    given = ~np.isnan(X)
    two = (low | high | ~given).all(axis=0)
    matched = np.full((2, X.shape[1]), -1)
    for classes, marks in zip(matched, (low, high)):
        # the class of the first row that has the value: by all classes this would be a matrix of rows by classes
        first = codes[marks.argmax(axis=0)] if len(codes) else classes
        whole = (((codes[:, None] == first) & given) == marks).all(axis=0)
        classes[:] = np.where(two & whole & marks.any(axis=0), first, -1)
    return matched, two & (low == high).all(axis=0)
