"""One part of a heteroscedastic model: the forest of labels or of deviations, of every member at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import varying_columns
from hetcore.data.splits import dealt_in_order
from hetcore.forest import Forest
from hetcore.heteroscedastic.objectives import Base
from hetcore.kernels.threads import run_each
from hetcore.members import Grown, MemberGrower, add_members, drawn_together, joined
from hetcore.trees import TreeParams

__all__ = ["CVFolds", "ForestEnsemble", "Scores", "Sample", "TreeRules", "likeliest_share", "mixed_share", "set_leaves"]

LEAST_FALL = 1e-4  # of the loss on left-out rows, relative to it, that counts as an improvement
LEAST_COLUMNS = 3  # that a tree may split by
EVEN_SHARE = 0.5  # of each of two label forests, before left-out rows say otherwise
EVEN_WORTH = 1.0  # how much that counts, in what all rows say
SHARE_DEVIATION = 0.15  # of the prior of another forest's share


class Sample(NamedTuple):
    """Rows that a fit is given: binned (d, n) uint8, labels, weights (n,), and as they are (n, d) for a line."""

    binned: NDArray[np.uint8]
    base: Base
    weights: NDArray[np.float64]
    X: NDArray[np.float32] | None = None


class Scores(NamedTuple):
    """Scores of a set of rows: f (n, K), d (n,)."""

    f: NDArray[np.float64]
    d: NDArray[np.float64]


Drawn = tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]]  # rows and columns of each member's next tree


class CVFolds(NamedTuple):
    """Rows parted into as many folds as there are members.

    Attributes
    ----------
    own : (n,) int64
        Where in an (M, n) array, taken as one row, the member stands that has not seen a row; with one member, that.
    rows : list of (m,) int32
        What each of the M members learns from: all parts but its own.
    inside : (M, n) float64
        1 / m at those rows, 0 at the others.
    """

    own: NDArray[np.int64]
    rows: list[NDArray[np.int32]]
    inside: NDArray[np.float64]

    @classmethod
    def of(cls, n: int, strata: NDArray | None, folds: int, rng: np.random.Generator) -> CVFolds:
        """Part n rows into folds, classes (n,) spread evenly over them."""
        fold = dealt_in_order(strata, rng.permutation(n), folds)
        seen = np.ones((1, n), bool) if folds == 1 else fold != np.arange(folds)[:, None]
        rows = [np.flatnonzero(own).astype(np.int32) for own in seen]
        # flat places of each row at the member that has not seen it
        return cls(fold * n + np.arange(n), rows, seen / seen.sum(axis=1, keepdims=True))


class TreeRules(NamedTuple):
    """How the trees of an ensemble grow: their limits, and the shares of rows and of columns that each may use."""

    limits: TreeParams
    row_share: float
    column_share: float
    n_jobs: int


@dataclass
class ForestEnsemble:
    """Scores and trees of every member, and where left-out rows liked them best.

    Attributes
    ----------
    folds : CVFolds
    scores : (M, n, K) float64
        What each of the M members says of each row, trained on or not.
    validation : (m, K) float64 or None
        What the mean of the members says of held-out rows.
    rate : float
        Shrinkage of each tree.
    power : float
        Of the rows' weights.
    trees : list of Grown
        One tree of each member a round.
    weights : (M, n) float64
        How much each row counted in each member's last tree.
    varying : (e,) int32
        The columns that trees may draw.
    rng : Generator
        Draws rows and columns of the trees.
    ready : tuple or None
        What was drawn ahead.
    """

    folds: CVFolds
    scores: NDArray[np.float64]
    validation: NDArray[np.float64] | None
    rate: float
    power: float
    trees: list[Grown]
    weights: NDArray[np.float64]
    open: bool = True
    best: int = 0
    loss: float = np.inf
    kept: tuple[NDArray[np.float64], ...] = ()
    grower: MemberGrower | None = None
    varying: NDArray[np.int32] | None = None
    rng: np.random.Generator | None = None
    ready: Drawn | None = None

    @classmethod
    def start(
        cls, first: NDArray, folds: CVFolds, n_validation: int | None, rate: float, power: float
    ) -> ForestEnsemble:
        """Return an ensemble that says `first` (K,) of all rows."""
        validation = None if n_validation is None else np.tile(first, (n_validation, 1))
        return cls(
            folds=folds,
            scores=np.tile(first, (*folds.inside.shape, 1)),
            validation=validation,
            rate=rate,
            power=power,
            trees=[],
            weights=np.ones(folds.inside.shape),
        )

    def grow(self, gradients: NDArray, hessians: NDArray, train: Sample, n_bins: NDArray, rules: TreeRules) -> Grown:
        """Grow a tree of each member on gradients (M, n, K) and hessians (M, n, P)."""
        drawing = rules.row_share < 1 or rules.column_share < 1
        if self.grower is None:
            # of the gradients, for a member's forest of deviations has another number of outputs
            shape = gradients.shape[2], hessians.shape[2]
            self.grower = MemberGrower(train.binned, n_bins, shape, rules.limits, rules.n_jobs)
            self.varying = varying_columns(train.binned, n_bins)  # others would only take their turn
        # without draws rows and columns are the same in every round
        if drawing or self.grower.parts is None:
            ready, self.ready = self.ready or self._drawn(rules), None
            self.grower.use(*ready)
        return self.grower.grow(self._rounded(gradients), self._rounded(hessians))

    def draw_ahead(self, rules: TreeRules) -> None:
        """Draw for the next trees, where threads have something else to grow meanwhile."""
        if rules.n_jobs > 1 and self.grower is not None and (rules.row_share < 1 or rules.column_share < 1):
            self.ready = self._drawn(rules)

    def _drawn(self, rules: TreeRules) -> Drawn:
        """Return the rows and the columns of each member's next tree; in one call, which costs more than the draws."""
        rows, columns = self.folds.rows, [self.varying] * len(self.folds.rows)
        counts = [*_counts(rows, rules.row_share, 1), *_counts(columns, rules.column_share, LEAST_COLUMNS)]
        chosen = _some([*rows, *columns], counts, self.rng)
        return chosen[: len(rows)], chosen[len(rows) :]

    def _rounded(self, values: NDArray) -> NDArray[np.float32]:
        """Return gradients or hessians (M, n, .) as trees take them, the members' side by side."""
        if self.grower.n_jobs == 1:
            # of counts that are the same for each member NumPy keeps an order that the kernels are not compiled for
            return values.astype(np.float32, order="C")
        rounded = np.empty(values.shape, np.float32)
        run_each(lambda k: np.copyto(rounded[k], values[k], "same_kind"), range(len(values)), self.grower.n_jobs)
        return rounded

    def add(self, grown: Grown, held_out: Sample | None) -> None:
        """Add the members' new trees to their scores."""
        # one thread adds all in one call
        each = [slice(k, k + 1) for k in range(len(self.scores))] if self.grower.n_jobs > 1 else [slice(None)]

        def add(k: slice) -> None:
            add_members(self.scores[k], grown.leaves[k], grown.values[k], self.rate)

        run_each(add, each, self.grower.n_jobs)
        # leaves of a round are of no use after it, and the largest part of what it made
        self.trees.append(grown._replace(leaves=grown.leaves[:, :0]))
        if held_out is not None:
            forest = Forest(self.scores.shape[2])
            forest.add(*joined(grown))
            for tree, _ in forest.trees():
                self.validation += tree.predict(held_out.binned) * (self.rate / len(self.scores))

    def out_of_fold(self) -> NDArray[np.float64]:
        """Return the scores (n, K) of each row by the member that has not seen it; with one member, by that one."""
        return self.scores.reshape(-1, self.scores.shape[2])[self.folds.own]

    def seen(self) -> NDArray[np.float64]:
        """Return the mean scores (n, K) of each row by the members that were trained on it."""
        left, others = self.out_of_fold(), len(self.scores) - 1
        # by those that saw it: what is called the training loss
        return (self.scores.sum(axis=0) - left) / others if others else left

    def check_patience(self, done: int, loss: float, patience: int | None) -> bool:
        """Keep the scores if the loss is the smallest so far; else after `patience` rounds close, and go back to those.

        Returns
        -------
        bool
            Whether the scores went back.
        """
        if not self.open:
            return False
        # so little better is by chance, and would keep a fit going for ever
        if patience is None or self.best == 0 or loss < self.loss - LEAST_FALL * abs(self.loss):
            self.best, self.loss = done, loss
            # copies only where somebody may go back to them
            self.kept = tuple(each.copy() for each in self._arrays()) if patience is not None else ()
        elif done - self.best >= patience:
            self.open = False
            self.restore()
        return not self.open

    def restore(self) -> None:
        """Go back to the scores that were kept."""
        for each, kept in zip(self._arrays(), self.kept):
            each[:] = kept

    def _arrays(self) -> tuple[NDArray[np.float64], ...]:
        return (self.scores, self.weights) if self.validation is None else (self.scores, self.weights, self.validation)

    def into(self, forest: Forest, share: float) -> None:
        """Append `share` times the mean of the members to a forest, in the order in which the trees grew."""
        for grown in self.trees[: self.best] if share > 0 else ():
            forest.add(*joined(grown), share * self.rate / len(self.scores))


def set_leaves(grown: Grown, gradients: NDArray, hessians: NDArray, l2: float) -> None:
    """Set the leaves of trees to (23) in float64: the sums by which they were grown are of rounded numbers.

    Parameters
    ----------
    grown : Grown
        Trees of M members that have seen all n rows; their values are changed.
    gradients, hessians : (M, n, K) and (M, n, K or 0) float64
        Hessians of width 0 are 1.
    l2 : float
        lambda.
    """
    for leaves, values, g, h in zip(grown.leaves, grown.values, gradients, hessians):
        for k in range(g.shape[1]):
            sums = np.bincount(leaves, g[:, k], len(values))
            curves = np.bincount(leaves, h[:, k] if h.shape[1] else None, len(values)) + l2
            # an empty leaf says nothing
            values[:, k] = np.divide(-sums, curves, out=np.zeros(len(values)), where=curves > 0)


def _counts(pools: list[NDArray[np.int32]], share: float, least: int) -> list[int]:
    """Return how many numbers of each pool a share of it is, `least` at least."""
    return [max(least, int(np.ceil(share * pool.size))) for pool in pools]


def _some(pools: list[NDArray[np.int32]], counts: list[int], rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """Return so many numbers of each pool."""
    # to draw all of one would change nothing but the generator, and with it every draw that follows
    part = [k for k, pool in enumerate(pools) if counts[k] < pool.size]
    drawn = drawn_together([pools[k] for k in part], [counts[k] for k in part], rng) if part else []
    return [*map((dict(enumerate(pools)) | dict(zip(part, drawn))).get, range(len(pools)))]


def mixed_share(alike: NDArray, weighed: NDArray, target: NDArray, weights: NDArray) -> float:
    """Return the share in [0, 1] of the scores `weighed` (n, K) in a mix with `alike` (n, K).

    Halfway between one half, which two forests deserve that know alike, and the share of least squared distance to
    `target` (n, K); weights (n, K). Both are what was said of rows not seen.
    """
    step = weighed - alike
    size = float(np.sum(weights * step**2))
    # two forests that say the same
    if size <= 0:
        return EVEN_SHARE
    best = float(np.sum(weights * (target - alike) * step)) / size
    return float(min(max((best + EVEN_WORTH * EVEN_SHARE) / (1.0 + EVEN_WORTH), 0.0), 1.0))


def likeliest_share(mixed: NDArray, other: NDArray, missed: NDArray, weights: NDArray, even: float) -> float:
    """Return the share in [0, 1] of another forest's scores (n,) in a mix with `mixed` (n,).

    The likeliest one: by a normal prior around `even`, and by that of least squares with its standard error, of
    residuals of unequal size. All are what was said of rows not seen.

    Parameters
    ----------
    mixed, other : (n,) float64
    missed : (n,) float64
        Labels less `mixed`.
    weights : (n,) float64
    even : float
        The share that forests deserve which know alike.

    References
    ----------
    White (1980), "A heteroskedasticity-consistent covariance matrix estimator".
    """
    step = other - mixed
    size = float(np.sum(weights * step**2))
    # two that say the same
    if size <= 0:
        return even
    best = float(np.sum(weights * missed * step)) / size
    rest = missed - min(max(best, 0.0), 1.0) * step
    variance = float(np.sum((weights * rest * step) ** 2)) / size**2
    share = (best * SHARE_DEVIATION**2 + even * variance) / (SHARE_DEVIATION**2 + variance)
    return min(max(share, 0.0), 1.0)
