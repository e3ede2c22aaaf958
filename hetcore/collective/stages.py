"""The trees of the stages: grown on own and relational columns, laid out for the kernels of collective inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.kernels.collective import Stages
from hetcore.kernels.layout import NODE_DTYPE
from hetcore.targets import Scale
from hetcore.trees import TreeParams, grow, set_leaf_medians

__all__ = ["Grower", "Stack"]


@dataclass
class Stack:
    """The stages of one ensemble, as flat arrays; children are counted from their tree's own root.

    Attributes
    ----------
    n_own : int
        Columns d before the relational ones.
    nodes, cuts, values, starts, begins
        As in `hetcore.kernels.collective.Stages`.
    """

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
            cuts[at] = thresholds[place] if place < thresholds.size else np.inf
        return cuts

    def first(self, n_stages: int) -> Stack:
        """Return the first stages."""
        trees = int(self.begins[n_stages])
        size = int(self.starts[trees])
        flat = self.nodes[:size], self.cuts[:size], self.values[:size]
        return Stack(self.n_own, self.n_outputs, *flat, self.starts[: trees + 1], self.begins[: n_stages + 1])

    def ready(self, bins: NDArray[np.uint8], scale: Scale) -> Stages:
        """Return what the kernels take, over the own columns `bins` (n, d)."""
        center = scale.mean if scale.is_classifier else np.zeros(1)
        flat = self.nodes, self.cuts, self.values, self.starts, self.begins
        return Stages(bins, *flat, scale.prior, np.ascontiguousarray(center), scale.is_classifier)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the arrays that `from_arrays` takes."""
        names = ("nodes", "cuts", "values", "starts", "begins")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], n_own: int, n_columns: int, n_outputs: int) -> Stack:
        """Rebuild and check the stages.

        Raises
        ------
        ModelFileError
            If the arrays are not those of stages over `n_columns` columns.
        """
        begins, cuts, starts = arrays["begins"], arrays["cuts"], arrays["starts"]
        checked = {"nodes": arrays["nodes"], "values": arrays["values"], "starts": starts}
        Forest.from_arrays(checked | {"scales": np.ones(max(starts.size - 1, 0))}, n_columns)
        good = begins.dtype == np.int64 and begins.ndim == 1 and begins.size > 1 and begins[0] == 0
        good = good and begins[-1] == starts.size - 1 and (np.diff(begins) >= 0).all()
        good = good and cuts.dtype == np.float32 and cuts.shape == arrays["nodes"].shape
        relational = (arrays["nodes"]["left"] >= 0) & (arrays["nodes"]["feature"] >= n_own)
        if not good or arrays["values"].shape[1] != n_outputs or not (np.isnan(cuts) == ~relational).all():
            raise ModelFileError("The stages of the model file do not add up: save the model again.")
        return cls(n_own, n_outputs, arrays["nodes"], cuts, arrays["values"], starts, begins)


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
    """

    scale: Scale
    limits: TreeParams
    learning_rate: float
    median: bool
    subsample: float
    column_sample: float
    rng: np.random.Generator

    def stage(self, table: Any, target: NDArray, score: NDArray, rows: NDArray, n_trees: int) -> Forest:
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
        """
        binned, n_bins, columns = table
        score, forest = score.copy(), Forest(score.shape[1])
        for _ in range(n_trees):
            tree = self._tree(binned, n_bins, self._drawn(columns), target, score, self._drawn(rows, self.subsample))
            forest.append(tree, self.learning_rate)
            tree.add_to(score, binned, self.learning_rate)
        return forest

    def _tree(
        self, binned: NDArray, n_bins: NDArray, columns: NDArray, target: NDArray, score: NDArray, rows: NDArray
    ) -> Any:
        fitted = self.scale.fitted(score)
        curved = (fitted * (1.0 - fitted)).astype(np.float32) if self.scale.is_classifier else None
        tree = grow(binned, (fitted - target).astype(np.float32), curved, rows, columns, self.limits, n_bins)
        if self.median:
            set_leaf_medians(tree, binned, target - fitted, rows)
        return tree

    def _drawn(self, numbers: NDArray, share: float | None = None) -> NDArray[np.int32]:
        """Return a random share of rows, or of columns (at least three, where there are as many)."""
        least = 1 if share is not None else min(numbers.size, 3)
        count = max(least, int(np.ceil((self.column_sample if share is None else share) * numbers.size)))
        if count == numbers.size:
            return numbers
        return np.sort(self.rng.choice(numbers, count, replace=False)).astype(np.int32)
