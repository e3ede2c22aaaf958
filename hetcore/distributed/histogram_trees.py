"""A tree grown from histograms that were made of several parts of the records, the same as `hetcore.trees.grow` makes.

    1  a unit of fixed point from sum |g| over all records; each part has its gradients in these words
    2  each part: the root's histograms; their sum
    3  level by level: the best split of each node, chosen once; each part moves its rows and sends the histograms of
       the smaller child of each split node; the larger child's are the parent's minus those
    4  nodes are numbered as one process numbers them, which takes the smaller child first

Histograms are sums of whole numbers, so that their sum does not depend on the parts. The unit is the smallest power of
two that is safe: only where sum |g| is a rounding away from a power of two may one process find another one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.growing import WRONG
from hetcore.kernels.grower import partition
from hetcore.kernels.histogram import build_group, store
from hetcore.kernels.layout import (
    BIN,
    COLUMN,
    GROUP,
    KEY,
    MISSING_LEFT,
    NODE_DTYPE,
    PackedLayout,
    TreeParams,
    make_scratch,
)
from hetcore.kernels.packed_sums import unit_for
from hetcore.kernels.splitting import UNKNOWN, node_terms, scan_column
from hetcore.trees import Tree

__all__ = ["FixedPoint", "PartRows", "Split", "grow_from_histograms"]


DEEPEST = 65535  # that a node's record can hold


class FixedPoint(NamedTuple):
    """How gradients become whole numbers: see `hetcore.kernels.layout`; one word a row, which counts too.

    Attributes
    ----------
    unit : float
        A power of two.
    count_bits : int
    """

    unit: float
    count_bits: int

    @classmethod
    def of(cls, absolute: float, count: int) -> FixedPoint:
        """Return the words for gradients whose absolute values have a sum, of `count` records.

        Raises
        ------
        DataError
            If the sum is not finite.
        """
        if not np.isfinite(absolute):
            raise DataError(WRONG[1])
        bits = int(count).bit_length()
        return cls(float(unit_for(float(absolute), 61 - bits)), bits)

    @property
    def layout(self) -> PackedLayout:
        return PackedLayout(np.array([self.unit]), 1, 0, self.count_bits)


class Split(NamedTuple):
    """A node that is split, by number, its children, and the child whose histograms are asked."""

    node: int
    feature: int
    threshold_bin: int
    missing_left: int
    left: int
    right: int
    wanted: int


class PartRows:
    """The rows of a part by node, and their histograms.

    Parameters
    ----------
    binned : (d, m) uint8
    n_bins : (d,) int32
    """

    def __init__(self, binned: NDArray[np.uint8], n_bins: NDArray[np.int32]) -> None:
        self._binned, self._n_bins, self._offsets = binned, n_bins, _offsets(n_bins)
        self._columns, self._scratch = np.arange(n_bins.size, dtype=np.int32), make_scratch(1, 1)

    def start(self, gradients: NDArray[np.float32], some: NDArray[np.bool_], given: FixedPoint) -> NDArray[np.int64]:
        """Take gradients (m,) and which rows to grow on (m,); return the root's histograms."""
        whole = np.rint(gradients.astype(np.float64) / given.unit).astype(np.int64)
        self._words = (whole << given.count_bits) + 1
        self._rows = {0: np.flatnonzero(some).astype(np.uint32)}
        return self._histograms(0)

    def split(self, splits: Sequence[Split]) -> list[NDArray[np.int64]]:
        """Move the rows of nodes to their children; return the histograms of the wanted children."""
        for node, feature, threshold, missing_left, left, right, _ in splits:
            rows = self._rows.pop(node)
            n_left = partition(self._binned[feature], threshold, missing_left, rows, np.empty_like(rows))
            self._rows[left], self._rows[right] = rows[:n_left], rows[n_left:]
        return [self._histograms(each.wanted) for each in splits]

    def _histograms(self, node: int) -> NDArray[np.int64]:
        """Return the histograms of a node, side by side, a column's missing rows after its bins."""
        rows, made = self._rows[node], np.empty(self._offsets[-1], np.int64)
        ordered, groups = self._words[rows][:, None], range(0, self._n_bins.size, GROUP)
        for columns, n_bins, at in ((self._columns[j : j + GROUP], self._n_bins[j : j + GROUP], j) for j in groups):
            build_group(self._scratch.histograms, self._binned, columns, n_bins, rows, ordered)
            for q in range(columns.size):
                store(self._scratch.flat[q], made[self._offsets[at + q] : self._offsets[at + q + 1]], 1)
        return made


@dataclass
class _Node:
    """A node of a tree under way: its depth, the sum of its rows' words, their number, its histograms and best split.

    `split` has its children, whose numbers are those of the search.
    """

    depth: int
    word: int
    count: int
    histograms: NDArray[np.int64] | None = None
    gain: float = 0.0
    split: Split | None = None


class _Search:
    """The nodes of a tree under way, and their best splits."""

    def __init__(self, n_bins: NDArray[np.int32], fixed_point: FixedPoint, params: TreeParams) -> None:
        self._n_bins, self._offsets, self._params = n_bins, _offsets(n_bins), params
        self._layout, self._scratch = fixed_point.layout, make_scratch(1, 1)
        self.nodes: list[_Node] = []

    def add(self, depth: int, word: int, histograms: NDArray[np.int64] | None = None) -> int:
        """Note a node; return its number."""
        count = word & ((1 << self._layout.count_bits) - 1)
        self.nodes.append(_Node(depth, word, count, histograms))
        return len(self.nodes) - 1

    def may_split(self, number: int) -> bool:
        """Tell whether the limits allow a split of a node."""
        node, params = self.nodes[number], self._params
        deep = node.depth == DEEPEST or 0 <= params.max_depth <= node.depth
        return not deep and node.count >= 2 * params.min_samples_leaf

    def split(self, number: int) -> Split | None:
        """Find a node's best split and make its children; return it where their histograms are to be known."""
        node = self.nodes[number]
        if not self.may_split(number) or (best := self._best(node)) is None:
            return None
        feature, threshold, side = int(best[COLUMN]), int(best[BIN]), int(best[MISSING_LEFT])
        own = self._of(node, feature)
        word = int(own[:-1][: threshold + 1].sum()) + (int(own[-1]) if side == 1 else 0)
        left, right = self.add(node.depth + 1, word), self.add(node.depth + 1, node.word - word)
        # none missing in training: a later one goes with the majority
        side = int(2 * self.nodes[left].count > node.count) if side == UNKNOWN else side
        small, big = self._by_size(left, right)
        rule = {"feature": feature, "threshold_bin": threshold, "missing_left": side}
        node.split = Split(number, **rule, left=left, right=right, wanted=small)
        # the larger has more rows: if it may not split, neither may the smaller
        return node.split if self.may_split(big) else None

    def follow(self, split: Split, histograms: NDArray[np.int64]) -> list[int]:
        """Take the histograms of a split's wanted child, and return both children."""
        parent, (small, big) = self.nodes[split.node], self._by_size(split.left, split.right)
        self.nodes[small].histograms = histograms
        self.nodes[big].histograms = parent.histograms - histograms
        parent.histograms = None
        return [small, big]

    def _by_size(self, left: int, right: int) -> tuple[int, int]:
        return (right, left) if self.nodes[left].count > self.nodes[right].count else (left, right)

    def _of(self, node: _Node, feature: int) -> NDArray[np.int64]:
        return node.histograms[self._offsets[feature] : self._offsets[feature + 1]]

    def _best(self, node: _Node) -> NDArray[np.float64] | None:
        """Return the best split, which is the first among equals, and note its gain; None if there is none."""
        layout, scratch = self._layout, self._scratch
        terms = node_terms(np.array([node.word]), layout, self._params, scratch.outputs[0])
        best = np.array([terms.floor, -1.0, 0.0, 0.0])
        for q in range(self._n_bins.size):
            own = self._of(node, q)[:, None]
            if scan_column(own[:-1], own[-1], terms, layout, scratch.outputs[0], scratch, best):
                best[COLUMN] = q
        node.gain = terms.scale * best[KEY] - terms.penalty
        return None if best[COLUMN] < 0 else best

    def tree(self) -> Tree:
        """Return the tree, its nodes numbered as `hetcore.kernels.grower` takes them, one branch after the other."""
        # a node of fewer rows is not kept there, so that its children are looked at in the other order
        kept_rows = int((1 + 1 / 8) * self._offsets[-1] / self._n_bins.size)
        records, values = np.zeros(len(self.nodes), NODE_DTYPE), np.zeros((len(self.nodes), 1))
        place, made, waiting = {0: 0}, 1, [0]
        while waiting:
            number = waiting.pop()
            node = self.nodes[number]
            weight = float(node.count)
            gradient = float(node.word >> self._layout.count_bits) * float(self._layout.units[0])
            values[place[number], 0] = -gradient / weight if weight > 0 else 0.0
            if node.split is None:
                records[place[number]] = (-1, -1, -1, node.count, 0.0, 0, 0, node.depth)
                continue
            split = node.split
            small, big = self._by_size(split.left, split.right)
            place |= {split.left: made, split.right: made + 1}
            ends = split.feature, made, made + 1, node.count
            records[place[number]] = (*ends, node.gain, split.threshold_bin, split.missing_left, node.depth)
            made += 2
            waiting += [big, small] if node.count >= kept_rows else [small, big]
        return Tree(records, values)


def grow_from_histograms(
    n_bins: NDArray[np.int32], fixed_point: FixedPoint, params: TreeParams
) -> Generator[list[Split], list[NDArray[np.int64]], Tree]:
    """Return a tree of one output, whose number of leaves has no limit.

    Yields nothing for the root's histograms, then the splits of each level for their wanted children's; is sent these,
    added up over all parts.

    Parameters
    ----------
    n_bins : (d,) int32
    fixed_point : FixedPoint
    params : TreeParams
    """
    search = _Search(n_bins, fixed_point, params)
    (root,) = yield []
    level = [search.add(0, int(root[: n_bins[0] + 1].sum()), root)]
    while splits := [found for number in level if (found := search.split(number)) is not None]:
        histograms = yield splits
        level = [child for each in zip(splits, histograms) for child in search.follow(*each)]
    return search.tree()


def _offsets(n_bins: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where each column's bins begin, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(n_bins + 1, dtype=np.int64)])
