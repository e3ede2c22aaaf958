"""A tree grown from histograms that were made of several parts of the records, the same as `hetcore.trees.grow` makes.

    1  units of fixed point from the sums of |g| and of h over all records; each part writes its rows in these words
    2  each part: the root's histograms; their sum
    3  level by level: the best split of each node, chosen once; each part moves its rows and sends the histograms of
       the smaller child of each split node; the larger child's are the parent's minus those
    4  nodes are numbered as one process numbers them, which takes the smaller child first

Histograms are sums of whole numbers, so that their sum does not depend on the parts. A unit is the smallest power of
two that is safe: only where a sum is a rounding away from a power of two may one process find another one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.growing import WRONG, Pool
from hetcore.kernels.grower import partition, write_value
from hetcore.kernels.histogram import build_columns
from hetcore.kernels.layout import BIN, COLUMN, MISSING_LEFT, NODE_DTYPE, PackedLayout, TreeParams, make_scratch
from hetcore.kernels.packed_sums import choose_units, gather_packed, packed_count, write_words
from hetcore.kernels.splitting import UNKNOWN, scan_columns
from hetcore.trees import Tree

__all__ = ["Columns", "Histograms", "PartRows", "Split", "added_up", "grow_from_histograms", "layout_for"]

DEEPEST = 65535  # that a node's record can hold


def layout_for(sums: NDArray[np.float64], least: float, shape: tuple[int, int], count_bits: int) -> PackedLayout:
    """Return how gradients and hessians become whole numbers.

    Parameters
    ----------
    sums : (W,) float64
        Of their absolute values over all records, by word.
    least : float
        The least hessian, or 0.
    shape : (int, int)
        Gradients K and hessians P of a row.
    count_bits : int

    Raises
    ------
    DataError
        If a sum is not finite, or a hessian is negative.
    """
    layout = PackedLayout(np.empty(sums.size), *shape, count_bits)
    if wrong := choose_units(sums, least, layout):
        raise DataError(WRONG[wrong])
    return layout


class Columns(NamedTuple):
    """Columns that a tree may split by.

    Attributes
    ----------
    columns, n_bins : (c,) int32
        Which of the table's, and their bins.
    offsets : (c + 1,) int64
        Where each one's bins begin in a histogram, and where the last ones end.
    """

    columns: NDArray[np.int32]
    n_bins: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, n_bins: NDArray[np.int32], columns: NDArray[np.int32] | None = None) -> Columns:
        """Return some columns, or all, of a table whose bins are `n_bins` (d,)."""
        columns = np.arange(n_bins.size, dtype=np.int32) if columns is None else columns
        own = n_bins[columns]
        return cls(columns, own, np.concatenate([[0], np.cumsum(own + 1, dtype=np.int64)]))


class Split(NamedTuple):
    """A node that is split, by number, its children, and the child whose histograms are asked."""

    node: int
    feature: int
    threshold_bin: int
    missing_left: int
    left: int
    right: int
    wanted: int


class Histograms(NamedTuple):
    """The histograms of some nodes over the rows of a part.

    Attributes
    ----------
    n_nodes, n_bins : int
        A column's missing rows are a bin after its others.
    filled : (n_nodes n_bins / 8,) uint8
        Which bins hold rows, a bit each.
    words : (f, K + P) int64
        Of these.
    """

    n_nodes: int
    n_bins: int
    filled: NDArray[np.uint8]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, found: NDArray[np.int64], layout: PackedLayout) -> Histograms:
        """Return the histograms (nodes, bins, W) without what is empty: of a deep node nearly all of them."""
        used, flat = layout.n_outputs + layout.n_hessians, found.reshape(-1, found.shape[2])
        # the count is in the last word
        filled = flat[:, used - 1] & ((1 << layout.count_bits) - 1) != 0
        return cls(*found.shape[:2], np.packbits(filled), flat[filled, :used])


def added_up(parts: Sequence[Histograms], width: int) -> NDArray[np.int64]:
    """Return the histograms (nodes, bins, width) of the same nodes over all parts."""
    n_nodes, n_bins, *_ = parts[0]
    found = np.zeros((n_nodes * n_bins, width), np.int64)
    for part in parts:
        # whole numbers: any order has the same sum
        found[np.flatnonzero(np.unpackbits(part.filled, count=len(found))), : part.words.shape[1]] += part.words
    return found.reshape(n_nodes, n_bins, width)


class PartRows:
    """The rows of a part that a tree is grown on, by node, and their histograms.

    Parameters
    ----------
    binned : (d, m) uint8
    layout : PackedLayout
    columns : Columns
    """

    def __init__(self, binned: NDArray[np.uint8], layout: PackedLayout, columns: Columns) -> None:
        self._binned, self._layout, self._columns = binned, layout, columns
        self._width = layout.units.size
        self._scratch = make_scratch(self._width, layout.n_outputs)

    def start(
        self, gradients: NDArray[np.float32], hessians: NDArray[np.float32], rows: NDArray[np.uint32]
    ) -> Histograms:
        """Take gradients (m, K), hessians (m, P) and the rows to grow on; return the root's histograms."""
        self._words = np.empty((len(gradients), self._width), np.int64)
        write_words(gradients, hessians, rows, self._words, self._layout)
        self._rows = {0: rows}
        return self._histograms([0])

    def split(self, splits: Sequence[Split]) -> Histograms:
        """Move the rows of nodes to their children; return the wanted children's histograms."""
        for node, feature, threshold, missing_left, left, right, _ in splits:
            rows = self._rows.pop(node)
            n_left = partition(self._binned[feature], threshold, missing_left, rows, np.empty_like(rows))
            self._rows[left], self._rows[right] = rows[:n_left], rows[n_left:]
        return self._histograms([each.wanted for each in splits])

    def _histograms(self, nodes: Sequence[int]) -> Histograms:
        columns, n_bins, offsets = self._columns
        found, total = np.empty((len(nodes), offsets[-1], self._width), np.int64), np.empty(self._width, np.int64)
        for made, node in zip(found, nodes):
            rows = self._rows[node]
            ordered = np.empty((rows.size, self._width), np.int64)
            gather_packed(self._words, rows, ordered, total)
            build_columns(self._scratch, self._binned, columns, n_bins, rows=rows, ordered=ordered, out=made.ravel())
        return Histograms.of(found, self._layout)


@dataclass
class _Node:
    """A node of a tree under way: its depth, the sum of its rows' words, their number, its histograms and best split.

    `split` has its children, whose numbers are those of the search.
    """

    depth: int
    total: NDArray[np.int64]
    count: int
    histograms: NDArray[np.int64] | None = None
    gain: float = 0.0
    split: Split | None = None


class _Search:
    """The nodes of a tree under way, and their best splits."""

    def __init__(self, columns: Columns, layout: PackedLayout, params: TreeParams) -> None:
        self._columns, self._layout, self._params = columns, layout, params
        self._scratch = make_scratch(layout.units.size, layout.n_outputs)
        self.nodes: list[_Node] = []

    def add(self, depth: int, total: NDArray[np.int64], histograms: NDArray[np.int64] | None = None) -> int:
        """Note a node; return its number."""
        self.nodes.append(_Node(depth, total, int(packed_count(total, self._layout)), histograms))
        return len(self.nodes) - 1

    def add_root(self, histograms: NDArray[np.int64]) -> int:
        """Note the root, whose rows are in each column's bins; return its number."""
        return self.add(0, histograms[: self._columns.offsets[1]].sum(axis=0), histograms)

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
        column, threshold, side = int(best[COLUMN]), int(best[BIN]), int(best[MISSING_LEFT])
        own = node.histograms[self._columns.offsets[column] : self._columns.offsets[column + 1]]
        total = own[:-1][: threshold + 1].sum(axis=0) + (own[-1] if side == 1 else 0)
        left, right = self.add(node.depth + 1, total), self.add(node.depth + 1, node.total - total)
        # none missing in training: a later one goes with the majority
        side = int(2 * self.nodes[left].count > node.count) if side == UNKNOWN else side
        small, big = self.by_size(left, right)
        rule = {"feature": int(self._columns.columns[column]), "threshold_bin": threshold, "missing_left": side}
        node.split = Split(number, **rule, left=left, right=right, wanted=small)
        # the larger has more rows: if it may not split, neither may the smaller
        return node.split if self.may_split(big) else None

    def follow(self, split: Split, histograms: NDArray[np.int64]) -> list[int]:
        """Take the histograms of a split's wanted child, and return both children."""
        parent, (small, big) = self.nodes[split.node], self.by_size(split.left, split.right)
        self.nodes[small].histograms = histograms
        self.nodes[big].histograms = parent.histograms - histograms
        parent.histograms = None
        return [small, big]

    def by_size(self, left: int, right: int) -> tuple[int, int]:
        """Return the smaller child, and the larger."""
        return (right, left) if self.nodes[left].count > self.nodes[right].count else (left, right)

    def _best(self, node: _Node) -> NDArray[np.float64] | None:
        """Return the best split, which is the first among equals, and note its gain; None if there is none."""
        best, (_, _, offsets) = np.empty(4), self._columns
        given = self._layout, self._params, self._scratch, best
        node.gain = scan_columns(node.histograms, offsets, node.total, *given)
        return None if best[COLUMN] < 0 else best

    def tree(self, order: Sequence[int]) -> Tree:
        """Return the tree, of whose split nodes the children are numbered in an order."""
        records, values = np.zeros(len(self.nodes), NODE_DTYPE), np.zeros((len(self.nodes), self._layout.n_outputs))
        place = {0: 0}
        for number in order:
            split = self.nodes[number].split
            place |= {split.left: len(place), split.right: len(place) + 1}
        for number, at in place.items():
            node, split = self.nodes[number], self.nodes[number].split
            write_value(node.total, self._layout, self._params.l2, values[at])
            if split is None:
                records[at] = (-1, -1, -1, node.count, 0.0, 0, 0, node.depth)
            else:
                ends = split.feature, place[split.left], place[split.right], node.count
                records[at] = (*ends, node.gain, split.threshold_bin, split.missing_left, node.depth)
        return Tree(records, values)


class _Order:
    """The order in which `hetcore.kernels.grower` splits the nodes of a tree: one branch after the other.

    A node whose histograms it does not keep, of few rows or for want of room, has its children looked at in the other
    order.
    """

    def __init__(self, search: _Search, pool: Pool) -> None:
        self._search, self._free, self._least = search, pool.slots, pool.kept_rows
        self._kept: set[int] = set()
        self._waiting: list[int] = []

    def numbers(self) -> list[int]:
        """Return the nodes that are split."""
        found = []
        self._build(0)
        self._settle(0)
        while self._waiting:
            number = self._waiting.pop()
            found.append(number)
            self._split(number)
        return found

    def _split(self, number: int) -> None:
        split = self._search.nodes[number].split
        small, big = self._search.by_size(split.left, split.right)
        if not self._search.may_split(big):
            self._release(number)
            return
        self._build(small)
        if number in self._kept:
            self._kept = self._kept - {number} | {big}
            self._settle(big)
            self._settle(small)
        else:
            self._settle(small)
            self._build(big)
            self._settle(big)

    def _build(self, number: int) -> None:
        """Keep the histograms of a node that may be split, if there is room."""
        if self._free and self._search.may_split(number) and self._search.nodes[number].count >= self._least:
            self._free -= 1
            self._kept.add(number)

    def _settle(self, number: int) -> None:
        """Let a node wait that has a split."""
        node = self._search.nodes[number]
        if node.split is None or node.count < self._least:
            self._release(number)
        if node.split is not None:
            self._waiting.append(number)

    def _release(self, number: int) -> None:
        self._free += number in self._kept
        self._kept.discard(number)


def grow_from_histograms(
    columns: Columns, layout: PackedLayout, params: TreeParams, pool: Pool
) -> Generator[list[Split], NDArray[np.int64], Tree]:
    """Return a tree whose number of leaves has no limit.

    Yields nothing for the root's histograms, then the splits of each level for their wanted children's; is sent these
    (nodes, bins, W), added up over all parts.

    Parameters
    ----------
    columns : Columns
    layout : PackedLayout
    params : TreeParams
    pool : Pool
        That one process has.
    """
    search = _Search(columns, layout, params)
    (root,) = yield []
    level = [search.add_root(root)]
    while splits := [found for number in level if (found := search.split(number)) is not None]:
        histograms = yield splits
        level = [child for each in zip(splits, histograms) for child in search.follow(*each)]
    return search.tree(_Order(search, pool).numbers())
