"""One half of a heteroscedastic model: the forest of labels or of deviations, of every member at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.forest import Forest
from hetcore.methods.deviation_objectives import Base
from hetcore.trees import Tree

__all__ = ["Half", "Judged", "Sample", "blended", "deal"]

LEAST_FALL = 1e-5  # of the loss on left-out rows that counts as an improvement


class Sample(NamedTuple):
    """Rows that a fit is given: binned (d, n) uint8, labels, weights (n,)."""

    binned: NDArray[np.uint8]
    base: Base
    weights: NDArray[np.float64]


class Judged(NamedTuple):
    """Scores of a set of rows: f (n, K), d (n,)."""

    f: NDArray[np.float64]
    d: NDArray[np.float64]


@dataclass
class Half:
    """Scores and trees of every member, and where left-out rows liked them best.

    Attributes
    ----------
    scores : (M, n, K) float64
        What each of the M members says of each row, trained on or not.
    later : (m, K) float64 or None
        What the mean of the members says of held-out rows.
    rate : float
        Shrinkage of each tree.
    power : float
        Of the rows' weights.
    trees : list of list of Tree
        By member, one a round.
    weights : (M, n) float64
        How much each row counted in each member's last tree.
    """

    scores: NDArray[np.float64]
    later: NDArray[np.float64] | None
    rate: float
    power: float
    trees: list[list[Tree]]
    weights: NDArray[np.float64]
    open: bool = True
    best: int = 0
    loss: float = np.inf
    kept: tuple[NDArray[np.float64], ...] = ()

    @classmethod
    def start(cls, first: NDArray, shape: tuple[int, int], n_later: int | None, rate: float, power: float) -> Half:
        """Return a half that says `first` (K,) of all rows; shape is (M, n)."""
        later = None if n_later is None else np.tile(first, (n_later, 1))
        scores = np.tile(first, (*shape, 1))
        return cls(scores, later, rate, power, [[] for _ in range(shape[0])], np.ones(shape))

    def add(self, member: int, tree: Tree, binned: NDArray[np.uint8], held_out: Sample | None) -> None:
        """Add a member's new tree to its scores."""
        tree.add_to(self.scores[member], binned, self.rate)
        self.trees[member].append(tree)
        if held_out is not None:
            self.later += tree.predict(held_out.binned) * (self.rate / len(self.trees))

    def judged(self, fold: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores (n, K) of each row by the member that has not seen it; with one member, by that one."""
        return self.scores[fold, np.arange(fold.size)]

    def seen(self, fold: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean scores (n, K) of each row by the members that were trained on it."""
        left, others = self.judged(fold), len(self.trees) - 1
        return (self.scores.sum(axis=0) - left) / others if others else left

    def judge(self, done: int, loss: float, patience: int | None) -> None:
        """Keep the scores if the loss is the smallest so far; close, and go back to those, after `patience` rounds."""
        if not self.open:
            return
        if patience is None or loss < self.loss - LEAST_FALL:
            self.best, self.loss = done, loss
            self.kept = tuple(each.copy() for each in self._arrays()) if patience is not None else ()
        elif done - self.best >= patience:
            self.open = False
            self.restore()

    def restore(self) -> None:
        """Go back to the scores that were kept."""
        for each, kept in zip(self._arrays(), self.kept):
            each[:] = kept

    def _arrays(self) -> tuple[NDArray[np.float64], ...]:
        return (self.scores, self.weights) if self.later is None else (self.scores, self.weights, self.later)

    def into(self, forest: Forest, share: float) -> None:
        """Append `share` times the mean of the members to a forest, in the order in which the trees grew."""
        for trees in zip(*(trees[: self.best] for trees in self.trees), strict=True):
            for tree in trees:
                forest.append(tree, share * self.rate / len(self.trees))


def deal(n: int, strata: NDArray | None, folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the part (n,) of each row, parts of nearly equal size, each class spread evenly over them."""
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % folds
    return fold


def blended(alike: NDArray, weighed: NDArray, fold: NDArray[np.int64], y: NDArray, weights: NDArray) -> float:
    """Return the share in [0, 1] of `weighed` (M, n), scores by member, in a mix with `alike` (M, n).

    The share of least squared error on y (n,), each row judged by the member that has not seen it, less what the mean
    over the members takes from the error: their variance. Then it is shrunk to 0 as far as it may be chance: times
    1 - 1 / t^2 where that is positive, t being the share over its standard error.
    """
    own, apart = np.arange(fold.size), weighed - alike
    step, residual = apart[fold, own], y - alike[fold, own]
    together = ((alike - alike.mean(axis=0)) * (apart - apart.mean(axis=0))).mean(axis=0)
    slope = residual * step + together
    size = step**2 - apart.var(axis=0)
    total = float(np.sum(weights * size))
    if total <= 0:
        return 0.0
    share = float(np.sum(weights * slope)) / total
    error = float(np.sqrt(np.sum((weights * (slope - share * size)) ** 2))) / total
    sure = 1.0 - (error / share) ** 2 if share > 0 else 0.0
    return float(np.clip(share * max(sure, 0.0), 0.0, 1.0))
