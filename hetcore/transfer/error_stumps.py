"""The stump of least weighted classification error, which step 5 of MultiSourceTrAdaBoost asks for.

A stump that says +1 to the left of a threshold errs by (W - (2 L - T)) / 2, and its opposite by (W + (2 L - T)) / 2,
where L is the sum of weight * sign over the rows on the left, T over all rows and W the sum of weights. So the best one
has the largest |2 L - T|; a stump that says the same on both sides has |T|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.kernels.layout import ALL_KNOWN, MISSING_BIN, NODE_DTYPE
from hetcore.transfer.learners import TreeLearner
from hetcore.trees import Tree

__all__ = ["ErrorStumps"]

TIE_DIGITS = 12
"""Stumps whose shares of wrong weight agree in so many digits are equal: the first column and threshold is taken."""


class Sorted(NamedTuple):
    """Some training rows by column: their order by bin, missing ones last, their bins, and how many are there."""

    order: NDArray[np.int32]  # (d, m)
    bins: NDArray[np.uint8]  # (d, m)
    present: NDArray[np.int64]  # (d,)


class Split(NamedTuple):
    """A stump: 2 L - T as a share of all weight, column, bin of the last row on the left, side of missing rows."""

    lead: float
    column: int = 0
    threshold: int = 0
    missing_left: bool = False


class ErrorStumps(TreeLearner):
    """Stumps of least weighted error over columns binned once; they say +1 or -1.

    Parameters
    ----------
    X : (n, d) float64
        NaN is missing: such rows go to the side where they cost less.
    """

    def __init__(self, X: NDArray) -> None:
        super().__init__(X, 1)
        self._sorted: dict[bytes, Sorted] = {}

    def fit(self, rows: NDArray, signs: NDArray, weights: NDArray) -> Tree:
        """Return the stump of `rows` (m,) with their signs and weights (m,)."""
        signed = signs * (weights / weights.sum())
        total, split = float(signed.sum()), self._split(self._by_column(rows), signed)
        # no split parts the rows better than saying the same everywhere
        if abs(split.lead) <= round(abs(total), TIE_DIGITS):
            return _tree([], total)
        return _tree([split], total)

    def _by_column(self, rows: NDArray) -> Sorted:
        """Return rows in the order of each column, the same for every round."""
        # a round's candidates are the same rows in all rounds, and only their weights differ
        key = np.asarray(rows, np.int64).tobytes()
        if key not in self._sorted:
            bins = self.binned[:, rows]
            order = np.argsort(bins, axis=1, kind="stable").astype(np.int32)
            present = (bins != MISSING_BIN).sum(axis=1)
            self._sorted[key] = Sorted(order, np.take_along_axis(bins, order, axis=1), present)
        return self._sorted[key]

    def _split(self, given: Sorted, signed: NDArray) -> Split:
        left = np.cumsum(signed[given.order], axis=1)
        total, n = left[:, -1:], len(signed)
        found = [_best(given, 2.0 * left - total, missing_left=False)]
        if (given.present < n).any():
            # rows without a value come last, so that what is not among those with one is theirs
            some = np.take_along_axis(left, np.maximum(given.present - 1, 0)[:, None], axis=1)
            missing = total - np.where(given.present[:, None] > 0, some, 0.0)
            found.append(_best(given, 2.0 * (left + missing) - total, missing_left=True))
        # the first of equals
        return max(found, key=lambda split: abs(split.lead))


def _best(given: Sorted, leads: NDArray, missing_left: bool) -> Split:
    """Return the split of largest |lead| (d, m), each behind a row: only between bins, with rows on both sides."""
    apart = given.bins[:, :-1] != given.bins[:, 1:]
    if missing_left:
        # behind the last row with a value all rows are on the left
        apart = apart & (np.arange(apart.shape[1]) < given.present[:, None] - 1)
    if not apart.any():
        return Split(0.0)
    sizes = np.where(apart, np.round(np.abs(leads[:, :-1]), TIE_DIGITS), -1.0)
    column, place = np.unravel_index(int(sizes.argmax()), sizes.shape)
    lead = round(float(leads[column, place]), TIE_DIGITS)
    # the missing alone on the right: a value above all that were met is known too
    whole = place == given.present[column] - 1
    return Split(lead, int(column), ALL_KNOWN if whole else int(given.bins[column, place]), missing_left)


def _tree(splits: list[Split], total: float) -> Tree:
    """Return a stump, or a single leaf that says the sign of `total`."""
    nodes = np.zeros(1 + 2 * len(splits), NODE_DTYPE)
    nodes["left"] = nodes["right"] = -1
    values = np.full((len(nodes), 1), 1.0 if total > 0 else -1.0)
    for split in splits:
        root = nodes[:1]
        root["feature"], root["threshold_bin"], root["missing_left"] = split[1:]
        root["left"], root["right"] = 1, 2
        nodes["depth"][1:] = 1
        values[1, 0], values[2, 0] = np.sign(split.lead), -np.sign(split.lead)
    return Tree(nodes, values)
