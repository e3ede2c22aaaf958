r"""Transfer Learning Decision Forest (TLDF): trees whose splits serve the target and the sources at once.

    for each tree, from the root down:
        draw ceil(sqrt(d)) columns; for every split (column, bin) of the node's rows
            gain = (1 - gamma) I(target rows) + gamma sum_k p_k I(rows of source k)                              (2)
        split by the largest gain, if it is above 0
    leaves with target rows: the classes' shares among those
    leaves without: the shares of the nearest leaf that has them                      (label propagation)
    prediction: the mean of the trees' shares

I is the information gain (entropy in nats) of the rows of one domain, p_k the share of source k among the node's source
rows, or 1 as printed (`summed=True`). The distance of leaves a and b is Mahalanobis,
((m_a - m_b)' (S_a^-1 + S_b^-1) (m_a - m_b) / 2)^(1/2), over the rows of all domains in them, m their mean and S their
covariance.

Departures: S is diagonal, with the variance of the whole table added in the weight of one row, since leaves have fewer
rows than columns. Splits are at bin borders (at most 32 bins a column). Missing values go left or right,
whichever gains more.

Goussies, N., Ubalde, S., Mejail, M. (2014). Transfer learning decision forests for gesture recognition. JMLR 15.
Equation number of Antunes et al. (2019), whose settings are the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.forest import Forest
from hetcore.growing import readable
from hetcore.kernels.mixed_trees import N_DRAWN, N_NODES, N_SLOTS, MixedRule, MixedWork, grow_mixed
from hetcore.numerics import power_of_two, to_float32
from hetcore.parameters import Flag, Interval, Seed, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Part
from hetcore.transfer.estimator import TransferEstimator, TransferProblem
from hetcore.trees import NODE_DTYPE, Tree

__all__ = ["TransferForestClassifier", "leaf_distances"]

N_BINS = 32
AT_ONCE = 64  # nodes that columns are drawn for


@dataclass
class State:
    """The trees so far; a round is one more.

    Attributes
    ----------
    problem : TransferProblem
    gamma : float
    max_depth : int
    rng : Generator
    summed : bool
    """

    problem: TransferProblem
    gamma: float
    max_depth: int
    rng: np.random.Generator
    summed: bool = False
    trees: list[Tree] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem, X = self.problem, to_float32(self.problem.X)
        self.mapper = BinMapper(N_BINS).fit(X)
        self.binned = self.mapper.transform(X)
        # no held-out rows: a table of none
        held_out = X[:0] if problem.held_out is None else to_float32(problem.held_out.X)
        self.held_out = self.mapper.transform(held_out)
        # each node that may be split looks at columns drawn for it
        self.n_drawn = int(np.ceil(np.sqrt(len(self.binned))))
        self.rule = self._rule()
        self.work = self._room()
        self.drawn = np.empty((0, self.n_drawn), np.int64)
        known = np.isfinite(problem.X)
        # cells of any size: squares of distances must not overflow
        unit = power_of_two(problem.X, axis=0)
        unit = np.where((unit > 1e-100) & (unit < 1e100), 1.0, unit)  # distances do not depend on it
        self.filled = np.where(known, problem.X, 0.0) / unit
        # a hair more: a constant column has no variance to divide by
        self.spread = self.filled.var(axis=0) + 1e-12
        self.scores = np.zeros((len(problem.target), len(problem.classes)))
        self.held_out_scores = np.zeros((self.held_out.shape[1], len(problem.classes)))
        self.propagated = 0.0

    def round(self) -> None:
        """Grow one more tree."""
        nodes, leaf = self._grown()
        tree = Tree(nodes, np.zeros((len(nodes), len(self.problem.classes))), leaf)
        self._fill_leaves(tree, leaf)
        self.trees.append(tree)
        self.scores += tree.predict(self.binned, self.problem.target)
        if self.held_out.shape[1]:
            self.held_out_scores += tree.predict(self.held_out)

    def _rule(self) -> MixedRule:
        problem, K = self.problem, len(self.problem.classes)
        cell = (problem.domain * K + problem.codes).astype(np.int64)
        n_domains = int(problem.domain.max()) + 1
        given = float(self.gamma), bool(self.summed), int(self.max_depth)
        return MixedRule(readable(self.binned), cell, n_domains, K, *given)

    def _room(self) -> MixedWork:
        n, cells, K = self.binned.shape[1], self.rule.n_domains * self.rule.n_classes, self.rule.n_classes
        return MixedWork(
            rows=np.empty(n, np.int64),
            buffer=np.empty(n, np.int64),
            nodes=np.empty(2 * n, NODE_DTYPE),
            spans=np.empty((2 * n, 2), np.int64),
            waiting=np.empty(2 * n, np.int64),
            state=np.zeros(3, np.int64),
            owed=np.zeros(len(self.problem.names) + 1),
            counts=np.empty(cells),
            left=np.empty(cells),
            right=np.empty(K),
            shares=np.empty(self.rule.n_domains),
            gains=np.empty(self.rule.n_domains),
            whole=np.empty((2, self.rule.n_domains)),
            slots=np.empty((self.n_drawn, N_SLOTS, cells)),
        )

    @property
    def owed(self) -> NDArray[np.float64]:
        """What the target (first) and each source add to the gains of all splits (p + 1,), times the nodes' rows."""
        return self.work.owed

    def _grown(self) -> tuple[NDArray, NDArray[np.int32]]:
        """Return the nodes of a tree and the leaf of each row."""
        work, found = self.work, np.empty(3, np.int64)
        # columns that are left are the next tree's, so that their number does not change what is drawn
        self.drawn, work.state[:] = self.drawn[work.state[N_DRAWN] :], 0
        while not grow_mixed(self.rule, self.drawn, found, work):
            self.drawn, work.state[N_DRAWN] = self._draw(), 0
        nodes = work.nodes[: work.state[N_NODES]].copy()
        leaf, leaves = np.empty(len(work.rows), np.int32), np.flatnonzero(nodes["left"] < 0)
        # the leaves' rows lie side by side
        leaves = leaves[np.argsort(work.spans[leaves, 0])]
        leaf[work.rows] = np.repeat(leaves, np.diff(work.spans[leaves], axis=1)[:, 0])
        return nodes, leaf

    def _draw(self) -> NDArray[np.int64]:
        """Return columns for some nodes."""
        return draws_without_repeats(self.rng, len(self.binned), self.n_drawn, AT_ONCE)

    def _fill_leaves(self, tree: Tree, leaf: NDArray[np.int32]) -> None:
        """Give each leaf the class shares of its target rows, or those of the nearest leaf that has some."""
        rows, K = self.problem.target, len(self.problem.classes)
        counts = np.zeros((len(tree.nodes), K))
        np.add.at(counts, (leaf[rows], self.problem.codes[rows]), 1.0)
        leaves = np.flatnonzero(tree.nodes["left"] < 0)
        has = counts[leaves].sum(axis=1) > 0
        reached, bare = leaves[has], leaves[~has]
        tree.values[reached] = counts[reached] / counts[reached].sum(axis=1, keepdims=True)
        # leaves without a target row
        if len(bare):
            mean, variance = self._gaussians(leaf, leaves)
            nearest = leaf_distances(mean[~has], variance[~has], mean[has], variance[has]).argmin(axis=1)
            tree.values[bare] = tree.values[reached[nearest]]
        self.propagated = len(bare) / len(leaves)

    def _gaussians(self, leaf: NDArray, leaves: NDArray) -> tuple[NDArray, NDArray]:
        """Return mean and variance (leaves, d) of the rows of each leaf."""
        place = np.searchsorted(leaves, leaf)
        count = np.bincount(place, minlength=len(leaves))[:, None]
        order = np.argsort(place, kind="stable")
        place, filled = place[order], self.filled[order]
        starts = np.searchsorted(place, np.arange(len(leaves)))
        mean = np.add.reduceat(filled, starts) / count
        square = np.add.reduceat((filled - mean[place]) ** 2, starts)
        # the table's variance in the weight of one row: a leaf of one row has none
        return mean, (square + self.spread) / (count + 1.0)


def draws_without_repeats(rng: np.random.Generator, n: int, count: int, times: int) -> NDArray[np.int64]:
    """Return `times` draws of `count` of n numbers without repeats (times, count), those of `rng.choice` in turn.

    A draw is Floyd's (one more number in turn, or the largest where that one is there already), then shuffled; all are
    made side by side here, in a tenth of the time.
    """
    found, rows = np.empty((times, count), np.int64), np.arange(times)
    ends, lasts = np.arange(n - count, n), np.arange(count - 1, 0, -1)
    numbers = rng.integers(0, np.tile(np.append(ends, lasts), (times, 1)), endpoint=True)
    for step, end in enumerate(ends):
        new = numbers[:, step]
        there = (found[:, :step] == new[:, None]).any(axis=1)
        found[:, step] = np.where(there, end, new)
    for step, last in enumerate(lasts):
        at = numbers[:, count + step]
        found[rows, at], found[:, last] = found[:, last].copy(), found[rows, at]
    return found


def leaf_distances(mean_a: NDArray, var_a: NDArray, mean_b: NDArray, var_b: NDArray) -> NDArray[np.float64]:
    """Return the Mahalanobis distance of each leaf of a (A, d) from each of b (B, d), symmetric, (A, B)."""
    # row by row: all pairs of leaves and columns at once would be large
    out = np.empty((len(mean_a), len(mean_b)))
    for i in range(len(mean_a)):
        gap = (mean_a[i] - mean_b) ** 2
        out[i] = np.sqrt(0.5 * (gap / var_a[i] + gap / var_b).sum(axis=1))
    return out


@estimator(MemoryNeed(cell=35, score=200))
class TransferForestClassifier(TransferEstimator):
    """Transfer Learning Decision Forest: the gain of a split is (1 - gamma) the target's + gamma the sources'.

    The algorithm is in the docstring of the module. Without sources gamma counts for nothing.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    source_weights_ : dict of str to float
        Share of the gain of all splits that is owed to each source; with the target's they sum to 1.
    history_ : polars DataFrame
        One row per tree.

    Notes
    -----
    A `RoundEnd` comes after every tree: losses "train" and "held_out" (of eval_set) in nats; `source_weights` as in
    `source_weights_`; detail: "metric_name" = "error", "metric" = {"train", "held_out"}; "target_mass": the target's
    share of the gain; "propagated": share of the tree's leaves that no target row is in.

    References
    ----------
    Goussies, Ubalde, Mejail, "Transfer learning decision forests for gesture recognition", JMLR 15, 2014; Antunes,
    Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: section 3.2, (2); section 4.1 for
    the settings.
    """

    _allows_missing = True
    _stored = TransferEstimator._stored | {
        "_mapper": Part(BinMapper, "d", at="bins"), "_forest": Part(Forest, "d K=C", at="trees"),
    }  # fmt: skip

    gamma: float = param(
        0.8, Interval(0, 1), "Share of the sources in the gain of a split; 0 looks at the target only."
    )
    summed: bool = param(
        False, Flag(), "Whether each source's gain counts in full, as (2) is printed, or by its share of the rows."
    )
    n_iterations: int = param(3, Whole(1), "Trees; a round is a tree.")
    max_depth: int = param(10, Whole(1, 30), "Depth of a tree.")
    random_state: int | None = param(0, Seed(), "Seed of the columns that a node looks at.")

    def _start(self, problem: TransferProblem) -> State:
        # without sources all of the gain is the target's
        gamma = float(self.gamma) if problem.names else 0.0
        return State(problem, gamma, self.max_depth, np.random.default_rng(self.random_state), self.summed)

    def _view(self, state: State) -> dict[str, Any]:
        n = len(state.trees)
        held_out = None if state.problem.held_out is None else self._raw(state.held_out_scores / n)
        view = self._measured(state.problem, self._raw(state.scores / n), held_out)
        total = state.owed.sum()
        share = state.owed / total if total > 0 else np.eye(len(state.owed))[0]
        view["source_weights"] = dict(zip(state.problem.names, share[1:].tolist()))
        view["detail"] |= {"target_mass": float(share[0]), "propagated": state.propagated}
        return view

    def _finish(self, state: State) -> None:
        self.source_weights_ = self._view(state)["source_weights"]
        self._mapper, self._forest = state.mapper, Forest(len(state.problem.classes))
        for tree in state.trees:
            self._forest.append(tree, 1.0 / len(state.trees))

    def _raw(self, shares: NDArray) -> NDArray[np.float64]:
        """Return shares (n, K) as scores: for two classes how far the second is above one half."""
        return shares[:, 1:] - 0.5 if shares.shape[1] == 2 else shares

    def _scores(self, X: NDArray) -> NDArray[np.float64]:
        return self._raw(self._forest.predict(self._mapper.transform(to_float32(X))))

    def _probabilities(self, scores: NDArray) -> NDArray[np.float64]:
        if scores.shape[1] == 1:
            scores = np.column_stack([0.5 - scores, 0.5 + scores])
        # means of shares may leave [0, 1] by rounding
        shares = np.clip(scores, 0.0, 1.0)
        return shares / shares.sum(axis=1, keepdims=True)

    def _restored(self, sizes: dict[str, int]) -> str:
        trees = self._forest.to_arrays()
        shares = trees["values"][trees["nodes"]["left"] < 0]
        fits = len(self._forest) > 0 and (trees["scales"] > 0).all() and (shares >= 0).all()
        if not fits or not np.allclose(shares.sum(axis=1), 1.0):
            return "The leaves of the model file are not shares of its classes"
        return super()._restored(sizes)
