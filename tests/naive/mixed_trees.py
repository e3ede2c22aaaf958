"""Twins of `hetcore.kernels.mixed_trees`: all splits of a node at once, from their counts, eq. (2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.kernels.layout import MISSING_BIN

N_SLOTS = 33  # bins of a column, the missing ones last
LEAST_GAIN = 1e-9


class Split(NamedTuple):
    """A split: bins up to `threshold` go left, missing ones if `missing_left`.

    Attributes
    ----------
    column, threshold, missing_left : int
    gain : float
        Mixed information gain, nats.
    owed : (p + 1,) float64
        What the target (first) and each source add to the gain, times the node's rows.
    """

    column: int
    threshold: int
    missing_left: int
    gain: float
    owed: NDArray[np.float64]

    def goes_left(self, bins: NDArray) -> NDArray[np.bool_]:
        """Return which rows go left, given their bins of the column."""
        return np.where(bins == MISSING_BIN, bool(self.missing_left), bins <= self.threshold)


def entropy(counts: NDArray) -> NDArray[np.float64]:
    """Return the entropy in nats of counts (..., K) over the last axis; 0 for none."""
    total = counts.sum(axis=-1, keepdims=True)
    # at most one row is counted as one: an empty side has no entropy, not 0 / 0
    share = counts / np.maximum(total, 1.0)
    # 0 ln 0 is 0
    return -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=-1)


class Splitter:
    """Find splits of a binned table.

    Parameters
    ----------
    binned : (d, n) uint8
        At most 32 bins a column.
    codes, domain : (n,) int64
        Class codes 0..K-1; 0 for the target, k for source k.
    n_classes : int
        K.
    gamma : float
        Share of the sources in the gain.
    summed : bool, default=False
        Whether p_k is 1 for each source, the plain sum of (2) as printed.
    """

    def __init__(
        self, binned: NDArray, codes: NDArray, domain: NDArray, n_classes: int, gamma: float, summed: bool = False
    ) -> None:
        self.binned, self.gamma, self.summed = binned, gamma, summed
        self.n_domains, self.n_classes = int(domain.max()) + 1, n_classes
        self._cell = domain * n_classes + codes

    def best(self, rows: NDArray, columns: NDArray) -> Split | None:
        """Return the split of largest gain among some columns, None where none gains."""
        counts = np.bincount(self._cell[rows], minlength=self.n_domains * self.n_classes)
        counts = counts.reshape(self.n_domains, self.n_classes).astype(np.float64)
        # each domain of one class, so that no split gains
        if len(rows) < 2 or (counts > 0).sum() == (counts.sum(axis=1) > 0).sum():
            return None
        left = self._left_counts(columns, rows)
        # missing to the right, then to the left as well, where there are any
        sides = [left, left + self._missing] if self._missing.any() else [left]
        gains = np.stack([self._gains(side, counts) for side in sides])
        shares = np.tensordot(self._mixture(counts), gains, axes=(0, 1))
        side, place, threshold = np.unravel_index(int(shares.argmax()), shares.shape)
        if shares[side, place, threshold] <= LEAST_GAIN:
            return None
        owed = self._mixture(counts) * gains[side, :, place, threshold] * len(rows)
        bins = self.binned[columns[place]][rows]
        # the missing alone on the right: whatever is known goes left
        if not ((bins > threshold) & (bins < MISSING_BIN)).any():
            return Split(int(columns[place]), MISSING_BIN - 1, int(side), float(shares[side, place, threshold]), owed)
        return Split(int(columns[place]), int(threshold), int(side), float(shares[side, place, threshold]), owed)

    def _left_counts(self, columns: NDArray, rows: NDArray) -> NDArray[np.float64]:
        """Return counts (D, columns, bins - 1, K) of the rows in bins up to each, missing ones apart."""
        # the missing bin is 255, and here the last slot
        bins = np.minimum(self.binned[np.ix_(columns, rows)], N_SLOTS - 1).astype(np.int64)
        width = self.n_domains * self.n_classes
        # one number for column, bin, domain and class: a single count has all histograms
        keys = (np.arange(len(columns))[:, None] * N_SLOTS + bins) * width + self._cell[rows]
        found = np.bincount(keys.ravel(), minlength=len(columns) * N_SLOTS * width)
        found = found.reshape(len(columns), N_SLOTS, self.n_domains, self.n_classes).astype(np.float64)
        found = found.transpose(2, 0, 1, 3)
        self._missing = found[:, :, -1:, :]
        return found[:, :, :-1, :].cumsum(axis=2)

    def _gains(self, left: NDArray, counts: NDArray) -> NDArray[np.float64]:
        """Return the information gain (D, columns, bins - 1) of each domain's rows."""
        whole = counts[:, None, None, :]
        right = whole - left
        n, n_left, n_right = (each.sum(axis=-1) for each in (whole, left, right))
        after = (n_left * entropy(left) + n_right * entropy(right)) / np.maximum(n, 1.0)
        return np.maximum(entropy(whole) - after, 0.0)

    def _mixture(self, counts: NDArray) -> NDArray[np.float64]:
        """Return 1 - gamma for the target and gamma p_k for source k, (D,)."""
        sizes = counts[1:].sum(axis=1)
        if self.summed:
            return np.append(1.0 - self.gamma, np.full(len(sizes), self.gamma))
        return np.append(1.0 - self.gamma, self.gamma * sizes / max(sizes.sum(), 1.0))


def grow_mixed(rule, drawn, found, work):
    """Grow a whole tree; there are columns enough."""
    K, columns = rule.n_classes, iter(drawn)
    splitter = Splitter(rule.binned, rule.cell % K, rule.cell // K, K, rule.gamma, rule.summed)
    records, waiting = [(-1, -1, -1, len(rule.cell), 0.0, 0, 0, 0)], [(0, np.arange(len(rule.cell)))]
    leaves = {}
    while waiting:
        node, rows = waiting.pop()
        depth = records[node][-1]
        split = splitter.best(rows, next(columns)) if depth < rule.max_depth else None
        if split is None:
            leaves[node] = rows
            continue
        work.owed[: len(split.owed)] += split.owed
        goes_left = split.goes_left(rule.binned[split.column, rows])
        left, right = len(records), len(records) + 1
        for child, side in ((left, rows[goes_left]), (right, rows[~goes_left])):
            records.append((-1, -1, -1, len(side), 0.0, 0, 0, depth + 1))
            waiting.append((child, side))
        of_split = split.column, left, right, len(rows), split.gain, split.threshold, split.missing_left, depth
        records[node] = of_split
    return records, leaves
