"""What holds a source during a fit: a table's encoded, binned columns and smooth learner, a graph's links.

A holder takes arrays over all instances and answers in arrays over its own records, so that it may live in this process
or on a worker of a cluster (`hetcore.distributed`): what it is asked and what it answers is all that travels. It knows
labels, targets and links, but neither the other sources nor the sum of all.

Encoding, binning and landmark features depend on the table alone, so they are made once for each `Source` object and
serve every fit, class and what-if run that shares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.leaf_values import set_newton_leaves
from hetcore.consensus.neighbor_means import graph_columns, heard, mean_weight
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.kernel_ridge import LandmarkFeatures, Smoother
from hetcore.trees import TreeParams, grow

__all__ = ["GraphHolder", "Grown", "Holder", "Kept", "TableHolder", "TreeRule"]

MAX_BINS = 64
_PREPARED: WeakKeyDictionary[Source, dict[str, Any]] = WeakKeyDictionary()


class TreeRule(NamedTuple):
    """How the trees of a fit are grown."""

    limits: TreeParams
    l2: float
    is_classifier: bool


class Grown(NamedTuple):
    """A tree, and the leaf (m,) of each record of the source that it was grown on."""

    nodes: NDArray
    values: NDArray[np.float64]
    leaf: NDArray[np.integer]


class Kept(NamedTuple):
    """What remains of a holder for the model: what predicts new rows."""

    encoder: SourceEncoder | None
    mapper: BinMapper | None
    smooth: Mapping[str, NDArray] | None


def _prepared(source: Source) -> dict[str, Any]:
    made = _PREPARED.get(source)
    if made is None:
        encoder = SourceEncoder().fit(source)
        X = encoder.transform(source)
        mapper = BinMapper(MAX_BINS).fit(X, 0)
        made = {"encoder": encoder, "X": X, "mapper": mapper, "binned": mapper.transform(X)}
        _PREPARED[source] = made
    return made


def _landmarks(source: Source) -> list[LandmarkFeatures]:
    made = _prepared(source)
    if "features" not in made:
        made["features"] = [LandmarkFeatures(made["X"], each, np.random.default_rng(0)) for each in (False, True)]
        del made["X"]
    return made["features"]


class Holder:
    """Base of the two kinds.

    Parameters
    ----------
    rows : (m,) int64
        Instances that the source has, by record.
    labelled : (n,) bool

    Attributes
    ----------
    binned : (d, m) uint8 or None
        The columns that trees split by; None until there are any.
    mapper : BinMapper or None
    """

    def __init__(self, rows: NDArray[np.int64], labelled: NDArray[np.bool_]) -> None:
        self.rows, self.labelled = rows, labelled
        self.binned: NDArray[np.uint8] | None = None
        self.mapper: BinMapper | None = None
        self._own = np.flatnonzero(labelled[rows])
        self._spots: NDArray[np.int64] | None = None

    def width(self) -> int:
        """Return how many columns trees may split by."""
        return 0 if self.binned is None else len(self.binned)

    def grow(
        self, seen: NDArray[np.bool_], residual: NDArray, alone: bool, rule: TreeRule, columns: NDArray[np.int32]
    ) -> Grown:
        """Grow a tree with Newton leaves on the residuals of labelled instances.

        Parameters
        ----------
        seen : (l,) bool
            Which of the labelled instances take part: of this source's if `alone`, by record, else of all, in order.
        residual : (seen.sum(), K) float64
        alone : bool
        rule : TreeRule
        columns : (c,) int32
            Columns to split by.
        """
        if alone:
            records = self._own[seen]
        else:
            spots = self._labelled_spots()
            records = self._own[seen[spots]]
            residual = residual[(np.cumsum(seen) - 1)[spots[seen[spots]]]]
        records = records.astype(np.int32)
        gradients = np.zeros((self.rows.size, residual.shape[1]), np.float32)
        gradients[records] = -residual
        tree = grow(self.binned, gradients, None, records, columns, rule.limits, self.mapper.n_bins)
        set_newton_leaves(tree, records, residual, rule.l2, rule.is_classifier)
        return Grown(tree.nodes, tree.values, tree.apply(self.binned))

    def _labelled_spots(self) -> NDArray[np.int64]:
        """Return where among all labelled instances those of this source are; asked once."""
        if self._spots is None:
            self._spots = (np.cumsum(self.labelled) - 1)[self.rows[self._own]]
        return self._spots

    def keep(self) -> Kept:
        """Return what predicts."""
        return Kept(None, self.mapper, None)


class TableHolder(Holder):
    """A table: trees over its columns, and kernel ridge on them.

    Parameters
    ----------
    rows : (m,) int64
    labelled : (n,) bool
    source : Source
    """

    def __init__(self, rows: NDArray[np.int64], labelled: NDArray[np.bool_], source: Source) -> None:
        super().__init__(rows, labelled)
        self._source = source
        made = _prepared(source)
        self.encoder, self.mapper, self.binned = made["encoder"], made["mapper"], made["binned"]
        self.smoother: Smoother | None = None

    def smooth(self, centred: NDArray[np.float64], pull: NDArray[np.float64]) -> None:
        """Prepare the smooth learner for the labels' centred targets (n, K) and each instance's pull (n,)."""
        self._centred, self._pull = centred, pull
        self.smoother = self._smoother(self._own, centred[self.rows], (self.labelled + pull)[self.rows])

    def smoothed(self, known: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Return what the same smooth learner would say (m, K), had it been fitted to the labels of `known` alone.

        None, here and in `refit`, if the table has no labelled record.
        """
        known = known[self.rows]
        target = np.where(known[:, None], self._centred[self.rows], 0.0)
        smoother = self._smoother(np.flatnonzero(known), target, known.astype(np.float64), self.smoother)
        return None if smoother is None else smoother.fit(target)

    def _smoother(
        self, own: NDArray[np.int64], target: NDArray, weights: NDArray, like: Smoother | None = None
    ) -> Smoother | None:
        return Smoother(_landmarks(self._source), own, target[own], weights, like) if own.size else None

    def refit(self, consensus: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Fit the smooth learner to labels and consensus (n, K); return what it says (m, K), of labelled rows left out.

        The target is where the pulls of the objective (4.4) balance.
        """
        if self.smoother is None:
            return None
        rows, own = self.rows, self._own
        target = consensus[rows]
        pull = self._pull[rows[own], None]
        target[own] = (self._centred[rows[own]] + pull * target[own]) / (1.0 + pull)
        return self.smoother.fit(target)

    def grow_each(
        self, limits: TreeParams, slopes: list[tuple[NDArray[np.float64], NDArray[np.bool_]] | None]
    ) -> list[Grown | None]:
        """Grow one tree for each output on its gradients (m,) and records (m,); None where there is no slope.

        A leaf is the negative mean gradient of its records: splits are found in single precision, leaves are not.
        """
        return [each and self._grown(limits, *each) for each in slopes]

    def _grown(self, limits: TreeParams, gradients: NDArray[np.float64], records: NDArray[np.bool_]) -> Grown:
        rows = np.flatnonzero(records).astype(np.int32)
        tree = grow(self.binned, gradients.astype(np.float32), None, rows, None, limits, self.mapper.n_bins)
        leaf, n_nodes = tree.row_leaf[rows], tree.nodes.size
        counts = np.bincount(leaf, minlength=n_nodes)
        sums = np.bincount(leaf, gradients[rows], n_nodes)
        tree.values[:, 0] = np.where(counts > 0, -sums / np.maximum(counts, 1), tree.values[:, 0])
        return Grown(tree.nodes, tree.values, tree.apply(self.binned))

    def keep(self) -> Kept:
        """Return what predicts."""
        return Kept(self.encoder, self.mapper, self.smoother.to_arrays() if self.smoother is not None else None)


class GraphHolder(Holder):
    """A graph: what an instance's neighbours say on average, shrunk to 0 where few of them speak.

    An instance's own label never takes part, so what its neighbours say is as honest for labelled rows as for others.

    Parameters
    ----------
    rows : (m,) int64
        Instances with a link.
    labelled : (n,) bool
    links : (n, n) scipy sparse array
    """

    def __init__(self, rows: NDArray[np.int64], labelled: NDArray[np.bool_], links: Any) -> None:
        super().__init__(rows, labelled)
        self._links, self._unit = links, mean_weight(links)
        self._columns: NDArray[np.float32] | None = None

    def listen(self, told: NDArray, hears: NDArray[np.int64], voices: NDArray, shrinkage: float) -> NDArray[np.float64]:
        """Return what the neighbours say on average (m, K), each with its voice (n,).

        `told` is (s, n, K): different rows hear different things, and `hears` (n,) says which.
        """
        voice, score = heard(self._links, self._unit, told, voices, hears, shrinkage)
        self._columns = graph_columns(score[self.rows], voice[self.rows])
        return score[self.rows]

    def bin(self) -> int:
        """Fix the columns that trees split by, the averages and how many neighbours speak; return their number."""
        if self.rows.size:
            self.mapper = BinMapper(MAX_BINS).fit(self._columns, 0)
            self.binned = self.mapper.transform(self._columns)
        self._columns = None
        return self.width()
