"""The trees of the stages: grown on own and relational columns, laid out for the kernels of collective inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.forest import Forest
from hetcore.kernels.collective_sweeps import REMAINDER, Stages
from hetcore.kernels.layout import NODE_DTYPE
from hetcore.schema import Array, Stored
from hetcore.targets import Scale
from hetcore.trees import TreeParams, grow, set_leaf_medians

__all__ = ["Grower", "Stack", "Table", "relational_columns"]

ROOTS = 2.0  # times the root of the columns, which a tree gets at least where there are very many


def relational_columns(
    features: Sequence[str], n_graphs: int, n_outputs: int, stage: int, params: Mapping[str, Any]
) -> NDArray[np.int64]:
    """Return which relational columns a stage may split by: see `hetcore.kernels.collective_columns.stage_columns`.

    Parameters
    ----------
    features : sequence of str
    n_graphs, n_outputs, stage : int
    params : mapping
        "as_printed", "counts" and, as printed, "first_rf2".
    """
    printed = params["as_printed"]
    # without a residual before there is nothing for Rf2 to sum up
    second = stage > 0 or (printed and params["first_rf2"] == "target")
    # at stage 1 the residual before is the target's own, which Rf1 has
    third, own = stage > (0 if printed else 1), printed or stage > 0
    there = ["rf1" in features, "rf2" in features and second, "rf3" in features and third]
    # counts are a column if any neighbour is seen at all
    block = np.repeat([*there, params["counts"] and not printed and any(there)], [n_outputs] * 3 + [1])
    rf4 = np.full(n_outputs, "rf4" in features and own)
    return np.flatnonzero(np.concatenate([np.tile(block, n_graphs), rf4]))


@dataclass
class Table:
    """Own columns of all instances, and room for the relational columns of a stage.

    Attributes
    ----------
    bins : (n, d) uint8
    n_bins : (d,) int32
    labelled : (m,) int64
        Rows with a label.
    binned : (d + R, m) uint8
        Of the labelled rows; the last R are written anew for every stage.
    """

    bins: NDArray[np.uint8]
    n_bins: NDArray[np.int32]
    labelled: NDArray[np.int64]
    binned: NDArray[np.uint8]

    @classmethod
    def of(cls, own: NDArray[np.uint8], n_bins: NDArray[np.int32], labelled: NDArray[np.int64], n_more: int) -> Table:
        """Return the table of own columns (d, n)."""
        binned = np.zeros((own.shape[0] + n_more, labelled.size), np.uint8)
        binned[: own.shape[0]] = own[:, labelled]
        # by instance for the kernels, which visit one at a time; by column for growing
        return cls(np.ascontiguousarray(own.T), n_bins, labelled, binned)

    @property
    def d(self) -> int:
        """Own columns."""
        return self.bins.shape[1]

    def fill(self, mapper: BinMapper, columns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Write the relational columns (m, R) and return all binned columns."""
        self.binned[self.d :] = mapper.transform(columns)
        return self.binned


@dataclass
class Stack(Stored):
    """The stages of one ensemble, as flat arrays; children are counted from their tree's own root.

    Attributes
    ----------
    n_own : int
        Columns d before the relational ones.
    nodes, cuts, values, starts, begins
        As in `hetcore.kernels.collective_sweeps.Stages`.
    """

    _stored = {
        "nodes": Array("N", NODE_DTYPE), "cuts": Array("N", np.float32, allows="inf nan"), "values": Array("N K"),
        "starts": Array("T", np.int64), "begins": Array("S", np.int64),
    }  # fmt: skip

    n_own: int
    n_outputs: int
    nodes: NDArray = field(default_factory=lambda: np.empty(0, NODE_DTYPE))
    cuts: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    values: NDArray[np.float64] | None = None
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    begins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def __post_init__(self) -> None:
        if self.values is None:
            self.values = np.empty((0, self.n_outputs))

    @property
    def n_stages(self) -> int:
        return self.begins.size - 1

    def append(self, forest: Forest, mapper: BinMapper) -> None:
        """Add a stage of scaled trees, whose relational columns were binned by `mapper`."""
        # scales are multiplied into the leaves: a sweep walks through the trees many times
        flat = forest.to_arrays()
        scales = np.repeat(flat["scales"], np.diff(flat["starts"]))
        self.nodes = np.concatenate([self.nodes, flat["nodes"]])
        self.cuts = np.concatenate([self.cuts, self._cuts(flat["nodes"], mapper)])
        self.values = np.concatenate([self.values, flat["values"] * scales[:, None]])
        self.starts = np.concatenate([self.starts, self.starts[-1] + flat["starts"][1:]])
        self.begins = np.append(self.begins, self.begins[-1] + len(forest))

    def _cuts(self, nodes: NDArray, mapper: BinMapper) -> NDArray[np.float32]:
        """Return the values of relational columns up to which rows go left, (n_nodes,); NaN elsewhere."""
        cuts = np.full(nodes.size, np.nan, np.float32)
        for at in np.flatnonzero((nodes["left"] >= 0) & (nodes["feature"] >= self.n_own)):
            thresholds = mapper.thresholds[nodes["feature"][at] - self.n_own]
            place = nodes["threshold_bin"][at]
            # a cut beyond the last threshold: all known values go left
            cuts[at] = thresholds[place] if place < thresholds.size else np.inf
        return cuts

    def first(self, n_stages: int) -> Stack:
        """Return the first stages."""
        trees = int(self.begins[n_stages])
        size = int(self.starts[trees])
        flat = self.nodes[:size], self.cuts[:size], self.values[:size]
        return Stack(self.n_own, self.n_outputs, *flat, self.starts[: trees + 1], self.begins[: n_stages + 1])

    def ready(
        self, bins: NDArray[np.uint8], scale: Scale, prior: NDArray[np.float64] | None = None, sends: int = REMAINDER
    ) -> Stages:
        """Return what the kernels take.

        Parameters
        ----------
        bins : (n, d) uint8
            The own columns.
        scale : Scale
        prior : (n, K) float64, optional
            Scores before the first stage; the scale's by default.
        sends : int
            As in `hetcore.kernels.collective_sweeps.Stages`.
        """
        center = np.ascontiguousarray(scale.mean) if scale.is_classifier else np.zeros(1)
        # without F_0 the prior is where all begin
        prior = np.tile(scale.prior, (len(bins), 1)) if prior is None else prior
        flat = self.nodes, self.cuts, self.values, self.starts, self.begins
        return Stages(bins, *flat, prior, center, scale.is_classifier, sends)

    def skip_stage(self) -> None:
        """Add a stage without a tree."""
        self.begins = np.append(self.begins, self.begins[-1])

    @classmethod
    def average(cls, stacks: Sequence[Stack]) -> Stack:
        """Return the stack whose stages are the means of those of several stacks."""
        nodes, cuts, values, sizes = [], [], [], []
        for stage in range(stacks[0].n_stages):
            for stack in stacks:
                trees = slice(stack.begins[stage], stack.begins[stage + 1])
                own = slice(stack.starts[trees.start], stack.starts[trees.stop])
                nodes.append(stack.nodes[own])
                cuts.append(stack.cuts[own])
                # each view's trees weigh the same
                values.append(stack.values[own] / len(stacks))
                sizes.append(np.diff(stack.starts[trees.start : trees.stop + 1]))
        mean = cls(stacks[0].n_own, stacks[0].n_outputs)
        if nodes:
            mean.nodes, mean.cuts, mean.values = np.concatenate(nodes), np.concatenate(cuts), np.concatenate(values)
            mean.starts = np.cumsum(np.concatenate([[0], *sizes]))
        # a stage's trees of all stacks follow one another
        mean.begins = sum(stack.begins for stack in stacks)
        return mean

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> Stack:
        return cls(sizes["d"], sizes["K"], **values)

    def _fault(self, sizes: dict[str, int]) -> str:
        trees = {"nodes": self.nodes, "values": self.values, "starts": self.starts}
        # the same checks as for a forest: nodes, children, depths
        Forest.from_arrays(trees | {"scales": np.ones(max(self.starts.size - 1, 0))}, 1 << 31)
        begins, relational = self.begins, (self.nodes["left"] >= 0) & (self.nodes["feature"] >= self.n_own)
        good = begins.size > 1 and begins[0] == 0 and begins[-1] == self.starts.size - 1
        # a cut is a number exactly where a tree splits by a relational column
        good = good and (np.diff(begins) >= 0).all() and (np.isnan(self.cuts) == ~relational).all()
        return "" if good else "The stages of the model file do not add up"


def share_of(size: int, share: float) -> int:
    """Return a share of some rows as their number, one at least."""
    return min(size, max(1, ceil(share * size)))


def columns_of(size: int, share: float, most: int | None) -> int:
    """Return how many columns a tree sees: a share, three at least, and a limit that grows with the root of all."""
    limit = size if most is None else min(size, max(most, round(ROOTS * sqrt(size))))
    return min(limit, max(min(size, 3), ceil(share * size)))


def _lowest(numbers: NDArray[np.int32], count: int, lots: NDArray) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return those of `numbers` (m,) with the `count` lowest of lots (T, m), tree by tree, and how many each has.

    All of them for each tree where there are no lots, (T, 0).
    """
    n_trees = len(lots)
    if not lots.size:
        return np.tile(numbers, n_trees), np.full(n_trees, numbers.size)
    # Not `hetcore.members.drawn`: of a million nodes, finding the count-th lot takes half the time of a choice that is
    # sorted, and the two draw different rows from one seed, so one of them for all would change fits.
    low = lots <= np.partition(lots, count - 1, axis=1)[:, count - 1 : count]
    # the method, which on a small table takes a fifth of the function's time, as `nonzero` does
    return numbers[low.nonzero()[1]], low.sum(axis=1)


@dataclass(frozen=True)
class Grower:
    """How the trees of a stage are grown.

    Attributes
    ----------
    scale : Scale
        Of the targets.
    limits : TreeParams
    learning_rate : float
    median : bool
        Leaves are medians of the residuals, or Newton steps.
    subsample, column_sample : float
        Shares in (0, 1] of the rows and columns that a tree sees.
    rng : Generator
    most_columns : int, optional
        Of a tree, or twice the root of their number where that is more.
    n_jobs : int, default=1
        Threads, each for some views.
    oblivious : bool, default=False
        All nodes of a level split alike, and `limits.l2` is above 0: see `hetcore.kernels.oblivious`. Of numbers, and
        by `hetcore.collective.view_trees.grow_views` alone.
    """

    scale: Scale
    limits: TreeParams
    learning_rate: float
    median: bool
    subsample: float
    column_sample: float
    rng: np.random.Generator
    most_columns: int | None = None
    n_jobs: int = 1
    oblivious: bool = False

    def stage(
        self, table: Any, target: NDArray, score: NDArray, rows: NDArray, n_trees: int, center: float = 0.0
    ) -> Forest:
        """Grow the trees of a stage.

        Parameters
        ----------
        table : (binned (D, m) uint8, n_bins (D,) int32, columns (c,) int32)
            All m labelled rows, and the columns to split by.
        target, score : (m, K) float64
            Targets, and scores before the stage.
        rows : (r,) int32
            Rows to grow on.
        n_trees : int
        center : float, default=0.0
            Taken from numbers before splits are searched.
        """
        binned, n_bins, columns = table
        # the caller's scores stay as they are
        score, forest = score.copy(), Forest(score.shape[1])
        for _ in range(n_trees if rows.size else 0):
            (chosen,), part, _ = self.drawn(columns, rows, 1)
            tree = self._tree((binned, n_bins, chosen), target, score, part, center)
            forest.append(tree, self.learning_rate)
            tree.add_to(score, binned, self.learning_rate)
        return forest

    def _tree(self, table: Any, target: NDArray, score: NDArray, rows: NDArray, center: float) -> Any:
        binned, n_bins, columns = table
        gradients, curved = self.derivatives(target, score, center)
        tree = grow(binned, gradients, curved, rows=rows, columns=columns, params=self.limits, n_bins=n_bins)
        if self.median:
            set_leaf_medians(tree, binned, target - self.scale.fitted(score), rows)
        return tree

    def derivatives(
        self, target: NDArray, score: NDArray, center: float = 0.0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Return gradients (..., m, K), and hessians where they are not 1, for scores (..., m, K)."""
        fitted = self.scale.fitted(score)
        curved = (fitted * (1.0 - fitted)).astype(np.float32) if self.scale.is_classifier else None
        # the centre is added again: only differences count, and float32 has more digits near 0
        return (fitted + center - target).astype(np.float32), curved

    def drawn(self, columns: NDArray, rows: NDArray, n_trees: int) -> tuple[NDArray, NDArray, NDArray[np.int64]]:
        """Return what the next trees see: columns (n_trees, c), rows, one tree's after another's, and their numbers."""
        counts = self._count(columns, None), self._count(rows, self.subsample)
        # a lot each where not all are seen, a tree's columns before its rows
        split = columns.size if counts[0] < columns.size else 0
        lots = self.rng.random((n_trees, split + (rows.size if counts[1] < rows.size else 0)))
        chosen, _ = _lowest(columns, counts[0], lots[:, :split])
        return chosen.reshape(n_trees, -1), *_lowest(rows, counts[1], lots[:, split:])

    def ahead(self, columns: NDArray, rows: NDArray, n_trees: int) -> Grower:
        """Return a grower that draws what this one would for so many trees, and leave this one after them."""
        there = replace(self, rng=deepcopy(self.rng))
        drawing = [each.size for each, share in ((columns, None), (rows, self.subsample)) if self._draws(each, share)]
        # a lot each, and a lot is one step of the stream
        self.rng.bit_generator.advance(n_trees * sum(drawing))
        return there

    def _count(self, numbers: NDArray, share: float | None) -> int:
        """Return how many rows, or columns, a tree sees."""
        if share is not None:
            return share_of(numbers.size, share)
        return columns_of(numbers.size, self.column_sample, self.most_columns)

    def _draws(self, numbers: NDArray, share: float | None) -> bool:
        """Return whether a tree sees less than all rows, or columns."""
        return self._count(numbers, share) < numbers.size
