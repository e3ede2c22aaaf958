"""What has a table during a fit as printed: its encoded, binned columns, its f_i, and lines 5 to 9 of Algorithm 1.

    5  z_i <- as displayed below (4.5), from labels, E and E~_i
    6  h <- regression tree on the columns to z_i
    7  rho <- argmin of the objective along h                                                           (4.4), (4.8)
    8  f_i <- f_i + rho h                                                                                     (4.9)
    -  sum_{x in T} L(f_i(x), y) of (4.10); of each graph sum_{a ~ b} L(f_i(a), f_i(b)) of (4.11)

What is asked with a step is E, the weights and who is left out; what comes back is trees and sums, of a size that does
not grow with the records. Sums over records are of blocks of instances, added up in a tree of one shape
(`hetcore.consensus.printed.partial_sums`), so that records may lie in several places
(`hetcore.distributed.row_shards`). Encoding and binning depend on the table alone, so they are made once for each
`Source` object and serve every fit, class and what-if run that shares it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.neighbor_columns import mean_over_graphs
from hetcore.consensus.outputs import widened
from hetcore.consensus.printed.line_search import line_search
from hetcore.consensus.printed.partial_sums import blocks_of, tree_sum
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.forest import Forest
from hetcore.losses import HalfSquared, Logistic
from hetcore.numerics import power_of_two
from hetcore.round_scores import distances
from hetcore.targets import Scale
from hetcore.trees import Tree, TreeParams, grow

__all__ = [
    "MAX_BINS", "SMALLEST", "Alone", "Cached", "Kept", "PrintedTask", "Stepped", "TableContent", "TableLearner",
    "TableRecords", "with_leaf_means",
]  # fmt: skip

MAX_BINS = 255  # every value its own, up to so many
SMALLEST = 1e-200  # gradient that is taken for zero


class PrintedTask(NamedTuple):
    """What all sources of a fit as printed share. K is 1 for numbers and two classes.

    Attributes
    ----------
    scale : Scale
    params : dict
        Of the estimator.
    sign : (n, K) float64
        Labels: numbers or +1, -1; 0 where unlabelled.
    labelled : (n,) bool
    start_value : (K,) float64
        The constant of line 1.
    links : list of (n, n) sparse
        By graph, rows that sum to 1; none where nothing is pulled to neighbours.
    edges : list of ((e,) int64, (e,) int64)
        By graph, both ends of each edge.
    truth : (n, K of the scale) float64
    validation : (n,) bool
        Rows whose `truth` a source's predictions are compared with.
    block : int
        Instances of a block, of whose records sums are taken one after the other.
    """

    scale: Scale
    params: Mapping[str, Any]
    sign: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    start_value: NDArray[np.float64]
    links: list[Any]
    edges: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    truth: NDArray[np.float64]
    validation: NDArray[np.bool_]
    block: int

    @property
    def loss(self) -> HalfSquared | Logistic:
        return Logistic() if self.scale.is_classifier else HalfSquared()

    @property
    def limits(self) -> TreeParams:
        """The limits of line 6's trees."""
        return TreeParams(self.params["max_depth"], -1, self.params["min_samples_leaf"])


class TableContent(NamedTuple):
    """What a learner is made from: its table, and the K forests that it has grown so far, which it goes on from."""

    source: Source
    forests: list[Forest]


class Stepped(NamedTuple):
    """What came of lines 5 to 8.

    Attributes
    ----------
    trees : list of (nodes, values) or None
        By output, the tree h to -z over its size; None where there is no slope.
    scales : list of float
        By output, what h is added with.
    steps : list of float
        By output, rho.
    losses : (K,) float64
        Of (4.10).
    edge_losses : (q, K) float64
        By graph, the sum over the edges with both ends in the table.
    """

    trees: list[tuple[NDArray, NDArray] | None]
    scales: list[float]
    steps: list[float]
    losses: NDArray[np.float64]
    edge_losses: NDArray[np.float64]


class Alone(NamedTuple):
    """What a table says alone: its metric, the sum of its distances to the ensemble, and of how many rows."""

    metric: float
    distance: float
    count: int


class Cached(NamedTuple):
    """In place of E: the one beside which a table was asked last what it says alone, and which it has kept."""


class Kept(NamedTuple):
    """What turns new rows of a table into what its trees split by."""

    encoder: SourceEncoder
    mapper: BinMapper


# weak: an example that nobody has open any more is let go
_PREPARED: WeakKeyDictionary[Source, tuple[Kept, NDArray[np.uint8]]] = WeakKeyDictionary()


def _prepared(source: Source) -> tuple[Kept, NDArray[np.uint8]]:
    if source in _PREPARED:
        return _PREPARED[source]
    encoder, mapper = SourceEncoder().fit(source), BinMapper(MAX_BINS)
    binned = mapper.fit_blocks(encoder.blocks(source), (len(encoder.feature_names), source.n_rows))
    made = Kept(encoder, mapper), binned
    # one whose table is not in memory is there to save memory
    if source.is_loaded:
        _PREPARED[source] = made
    return made


class TableRecords:
    """A source's records, some or all, with f_i: what lines 5 to 10 need beside the columns.

    Parameters
    ----------
    rows : (m,) int64
        Instance of each record, of the n of the task.
    task : PrintedTask
    """

    def __init__(self, rows: NDArray[np.int64], task: PrintedTask) -> None:
        self.rows, self.task, self.loss = rows, task, task.loss
        self.covers = np.zeros(len(task.labelled), bool)
        self.covers[rows] = True
        self.blocks = blocks_of(rows, len(task.labelled), task.block)
        self.f = np.tile(task.start_value, (rows.size, 1))

    def _follow(self, forests: Sequence[Forest], binned: NDArray[np.uint8]) -> None:
        """Add the trees that were grown so far."""
        for f, forest in zip(self.f.T, forests):
            for tree, scale in forest.trees():
                # in the order of the rounds, so that the sum has the bits that it had
                f += scale * tree.predict(binned)[:, 0]

    def terms(
        self, k: int, consensus: NDArray | Cached | None, graph_weights: NDArray, left_out: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Return targets (3, m) and their weights (3, m) in the objective: y, E and E~_i (4.4)."""
        rows, params = self.rows, self.task.params
        consensus = self._cached if isinstance(consensus, Cached) else consensus
        near, has = self.neighbours_say(k, graph_weights)
        mean = np.zeros(rows.size) if consensus is None else consensus[rows, k]
        targets = np.stack([self.task.sign[rows, k], mean, near[rows]])
        weights = self.of_terms(left_out, has).astype(np.float64)
        # the sums are of all rows, of which the unlabelled may be a thousand times as many as the labelled
        if params["relative_lambda"]:
            counts = self._counts(weights)
            weights *= np.where(counts > 0, counts[0] / np.maximum(counts, 1.0), 0.0)
        weights *= np.array([[1.0], [params["lambda0"]], [params["lambda1"]]])
        return targets, weights

    def of_terms(self, left_out: NDArray[np.bool_], has: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which records each of the three terms has, (3, m)."""
        labelled = self.task.labelled[self.rows]
        pulled = ~labelled if self.task.params["pull"] == "unlabelled" else np.ones(labelled.size, bool)
        return np.stack([labelled & ~left_out[self.rows], pulled, pulled & has[self.rows]])

    def _counts(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many records of the source each term has, (3, 1), given 0 or 1 by record."""
        return weights.sum(axis=1, keepdims=True)

    def neighbours_say(self, k: int, graph_weights: NDArray) -> tuple[NDArray, NDArray]:
        """Return E~_i (n,), and where there is one; nowhere if nothing is pulled to it."""
        task, n = self.task, len(self.covers)
        if not task.params["lambda1"]:
            return np.zeros(n), np.zeros(n, bool)
        values = np.zeros(n)
        values[self.rows] = self.f[:, k]
        if task.params["clamp_neighbors"] and task.links:
            values = np.where(task.labelled, task.sign[:, k], values)
            return mean_over_graphs(task.links, graph_weights[:, k], values, self.covers | task.labelled)
        return mean_over_graphs(task.links, graph_weights[:, k], values, self.covers)

    def slope(self, k: int, targets: NDArray, weights: NDArray, w: float) -> NDArray[np.float64]:
        """Line 5: return -z (m,)."""
        # displayed without 2 w_i before lambda1: 2 is left out of all, the loss being half the square
        before = np.array([[w], [w], [w if self.task.scale.is_classifier else 0.5]])  # displays below (4.5)
        found = np.empty(len(self.f))
        # some records at a time: what is made on the way stays small, and near the processor
        for first in range(0, len(found), self.task.block):
            some = slice(first, first + self.task.block)
            slopes = before * weights[:, some] * self.loss.gradient(self.f[some, k], targets[:, some])
            found[some] = slopes.sum(axis=0)
        return found

    def leaf_sums(
        self, leaf: NDArray[np.int32], gradients: NDArray, some: NDArray[np.bool_], n_nodes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the number of some records by leaf, (nodes,), and their gradients' sums, (blocks, nodes)."""
        sums = np.zeros((len(self.blocks), n_nodes))
        for found, block in zip(sums, self.blocks):
            few = some[block]
            found[:] = np.bincount(leaf[block][few], gradients[block][few], n_nodes)
        return np.bincount(leaf[some], minlength=n_nodes), sums

    def loss_sums(self, left_out: NDArray[np.bool_], left: bool) -> NDArray[np.float64]:
        """Return (4.10)'s sums over the labelled records, or those left out, and their number: (blocks, K + 1)."""
        own, found = self.task.labelled[self.rows], np.zeros((len(self.blocks), self.f.shape[1] + 1))
        some = left_out[self.rows] if left else own
        for sums, block in zip(found, self.blocks):
            few = some[block]
            sums[:-1] = self._losses_of(self.f[block][few], self.task.sign[self.rows[block][few]])
            sums[-1] = few.sum()
        return found

    def _losses_of(self, f: NDArray, y: NDArray) -> list[float]:
        # by columns: the loss is a call for each score, over contiguous numbers
        pairs = zip(np.ascontiguousarray(f.T), np.ascontiguousarray(y.T))
        return [float(self.loss.value(*each).sum()) for each in pairs]

    def losses(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (4.10)'s losses (K,) from sums and number (K + 1,); means if they are of rows left out."""
        task, found, count = self.task, sums[:-1], sums[-1]
        # a source without a label has the loss of a constant: an empty sum would make it the best of all
        if not count:
            y = task.sign[task.labelled]
            found, count = np.array(self._losses_of(np.tile(task.start_value, (len(y), 1)), y)), len(y)
        # left-out rows vary in number from round to round, and so would their sum
        return found / count if task.params["left_out_weights"] else found

    def edge_losses(self) -> NDArray[np.float64]:
        """Return (4.11)'s sums (q, K) over the edges with both ends in the table."""
        found = np.zeros((len(self.task.edges), self.f.shape[1]))
        if not self.task.edges:
            return found
        scattered = np.zeros((self.f.shape[1], len(self.covers)))
        scattered[:, self.rows] = self.f.T
        for sums, (a, b) in zip(found, self.task.edges):
            both = self.covers[a] & self.covers[b]
            # the usual case, all edges, without copying them
            one, other = (a, b) if both.all() else (a[both], b[both])
            sums[:] = [float(self.loss.value(f[one], f[other]).sum()) for f in scattered]
        return found

    def weighted(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return w_i f_i (n, K), 0 where the source has no record."""
        found = np.zeros((len(self.covers), self.f.shape[1]))
        found[self.rows] = weights * self.f
        return found

    def alone_sums(self, consensus: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what `alone` adds up beside E (n, K), (blocks, 4).

        Wrong classes, or squares over those of a unit; their number; the unit; the distances to the ensemble.
        """
        # a cluster's next step is beside the same E, which need not travel again
        self._cached = consensus
        scale, found = self.task.scale, np.zeros((len(self.blocks), 4))
        for sums, block in zip(found, self.blocks):
            rows, own = self.rows[block], widened(self.f[block], self.task.scale)
            some = self.task.validation[rows]
            one, truth = own[some], self.task.truth[rows[some]]
            unit = 1.0 if scale.is_classifier else float(power_of_two(one - truth))
            wrong = distances(scale, one, truth) if scale.is_classifier else ((one - truth)[:, 0] / unit) ** 2
            sums[:] = wrong.sum(), len(one), unit, distances(scale, own, widened(consensus[rows], scale)).sum()
        return found

    def alone(self, sums: NDArray[np.float64]) -> Alone:
        """Return what the source says alone from the sums of all blocks, (blocks, 4)."""
        # powers of two: no digit changes
        unit = sums[:, 2].max()
        wrong, count, _, distance = tree_sum(sums * (sums[:, 2:3] / unit) ** np.array([2, 0, 0, 0])).tolist()
        mean = wrong / count if count else float("nan")
        scale = self.task.scale
        found = mean if scale.is_classifier else float(np.sqrt(mean) * unit) * scale.deviation
        return Alone(found, distance, self.rows.size)


def with_leaf_means(values: NDArray[np.float64], counts: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
    """Put the negative means of leaves in the place of values (nodes, 1) as float32 gradients have them.

    Weights down to 1e-100 are in the sums (nodes,), which are of double precision.
    """
    values[:, 0] = np.where(counts > 0, -sums / np.maximum(counts, 1), values[:, 0])


class TableLearner(TableRecords):
    """A source's f_i, and its columns.

    Parameters
    ----------
    rows : (m,) int64
        Instances that the table has, by record.
    task : PrintedTask
    content : TableContent
    """

    summed = True  # an executor is asked for sums over such learners

    def __init__(self, rows: NDArray[np.int64], task: PrintedTask, content: TableContent) -> None:
        super().__init__(rows, task)
        self._kept, self.binned = _prepared(content.source)
        self._follow(content.forests, self.binned)

    def step(
        self,
        consensus: NDArray[np.float64] | Cached | None,
        graph_weights: NDArray[np.float64],
        left_out: NDArray[np.bool_],
        weights: NDArray[np.float64],
    ) -> Stepped:
        """Lines 5 to 8.

        Parameters
        ----------
        consensus : (n, K) float64, Cached or None
            E; None where nothing is pulled to it.
        graph_weights : (q, K) float64
        left_out : (n,) bool
            Labelled rows that train nothing in this round.
        weights : (K,) float64
            The source's own.
        """
        trees: list[tuple[NDArray, NDArray] | None] = []
        scales, steps = [], []
        for k, weight in enumerate(weights):
            terms = self.terms(k, consensus, graph_weights, left_out)
            slope = self.slope(k, *terms, weight)
            # its largest, so that float32 gradients have digits however small w_i is
            size, some = float(np.abs(slope).max(initial=0.0)), terms[1].any(axis=0)
            moves = size >= SMALLEST and some.any()
            tree, scale, step = self._moved(k, slope / size, some, *terms) if moves else (None, 0.0, 0.0)
            trees.append(tree)
            scales.append(scale)
            # of the slope, not of what was left of it by its size
            steps.append(step / size if moves else 0.0)
        losses = self.losses(tree_sum(self.loss_sums(left_out, bool(left_out[self.rows].any()))))
        return Stepped(trees, scales, steps, losses, self.edge_losses())

    def _moved(
        self, k: int, gradients: NDArray[np.float64], some: NDArray[np.bool_], targets: NDArray, weights: NDArray
    ) -> tuple[tuple[NDArray, NDArray], float, float]:
        """Lines 6 to 8; return the tree, what it is added with, and rho."""
        tree = self._grown(gradients, some)
        h = tree.predict(self.binned)[:, 0]
        step = line_search(self.loss, self.f[:, k], h, targets, weights, blocks=self.blocks)
        scale = self.task.params["shrinkage"] * step
        self.f[:, k] += scale * h
        return (tree.nodes, tree.values), scale, step

    def _grown(self, gradients: NDArray[np.float64], some: NDArray[np.bool_]) -> Tree:
        """Line 6: a leaf is the negative mean gradient of its records, summed in double precision as splits are not."""
        tree = grow(
            # float32 for the tree's shape; the leaves are summed anew below
            self.binned,
            gradients.astype(np.float32),
            None,
            rows=np.flatnonzero(some).astype(np.int32),
            columns=None,
            params=self.task.limits,
            n_bins=self._kept.mapper.n_bins,
        )
        counts, sums = self.leaf_sums(tree.row_leaf, gradients, some, tree.nodes.size)
        with_leaf_means(tree.values, counts, tree_sum(sums))
        return tree

    def alone_beside(self, consensus: NDArray[np.float64]) -> Alone:
        """Return what the source says alone, beside E (n, K)."""
        return self.alone(self.alone_sums(consensus))

    def keep(self) -> Kept:
        """Return what predicts."""
        return self._kept
