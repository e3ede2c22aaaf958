"""F_0 of the default: boosting in every view at once, as many trees as give the lowest out-of-fold loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.stages import Grower
from hetcore.forest import Forest
from hetcore.targets import Scale

__all__ = ["BaseModel"]

EVERY = 5  # trees between two looks at the out-of-fold loss


class BaseModel:
    """Boosted trees of K + 1 views; view k > 0 never sees the labels of fold k.

    Parameters
    ----------
    grower : Grower
    params : mapping
        "first_trees" at most, and "patience": trees without a lower out-of-fold loss after which it ends.
    fold : (m,) int64
        Of the labelled rows, from 1.

    Attributes
    ----------
    forests : list of Forest
        By view.
    scores : list of (m, K) float64
        Of the labelled rows, by view.
    """

    def __init__(self, grower: Grower, params: dict[str, Any], fold: NDArray[np.int64]) -> None:
        self.grower, self.params, self.fold = grower, params, fold
        self.n_views = int(fold.max()) + 1

    def fit(self, binned: NDArray[np.uint8], n_bins: NDArray[np.int32], target: NDArray, scale: Scale) -> BaseModel:
        """Grow the trees.

        Parameters
        ----------
        binned : (d, m) uint8
            Columns of the labelled rows.
        n_bins : (d,) int32
        target : (m, K) float64
        scale : Scale
        """
        self.forests = [Forest(scale.n_outputs) for _ in range(self.n_views)]
        self.scores = [np.tile(scale.prior, (len(target), 1)) for _ in self.forests]
        table = binned, n_bins.astype(np.int32), np.arange(binned.shape[0], dtype=np.int32)
        rows = [np.flatnonzero(self.fold != k).astype(np.int32) for k in range(self.n_views)]
        lowest, best, kept = np.inf, 0, self.scores
        for t in range(0, self.params["first_trees"], EVERY):
            count = min(EVERY, self.params["first_trees"] - t)
            for k, forest in enumerate(self.forests):
                self._add(k, forest, self.grower.stage(table, target, self.scores[k], rows[k], count), binned)
            loss = float(scale.loss.value(self.out_of_fold(), target).mean())
            if loss < lowest:
                lowest, best, kept = loss, t + count, [score.copy() for score in self.scores]
            elif t + count - best >= self.params["patience"]:
                break
        self.forests, self.scores = [forest.first(best) for forest in self.forests], kept
        return self

    def _add(self, k: int, forest: Forest, more: Forest, binned: NDArray[np.uint8]) -> None:
        self.scores[k] = self.scores[k] + more.predict(binned)
        forest.extend(more)

    def out_of_fold(self) -> NDArray[np.float64]:
        """Return scores (m, K), each by the view that never saw its label."""
        return np.stack(self.scores)[self.fold, np.arange(self.fold.size)]

    def average(self) -> Forest:
        """Return the mean of all views' trees."""
        mean = Forest(self.forests[0].n_outputs)
        for forest in self.forests:
            mean.extend(forest, 1.0 / self.n_views)
        return mean
