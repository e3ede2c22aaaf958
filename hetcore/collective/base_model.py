"""F_0 of the default: boosting in every view at once, as many trees as give the lowest out-of-fold loss.

Neighbours' columns are many, and where they say little they cost: where few labels are known, or where instances are
not alike along the links. So one boosted model sees own columns, one neighbours' known labels too, one neighbours'
features too, and F_0 is their convex mix of the lowest out-of-fold loss; or the first alone, unless the mix clearly
errs less than it does. Neighbours then have no part in the stages either: the whole model is GB's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.mixing import guarded_weights
from hetcore.collective.stages import Grower
from hetcore.collective.view_trees import grow_views
from hetcore.forest import Forest
from hetcore.targets import Scale

__all__ = ["BaseModel"]

EVERY = 5  # trees between two looks at the out-of-fold loss
LEAST = 0.02  # a smaller weight is none: its trees are not kept


class BaseModel:
    """Boosted trees of K + 1 views; view k > 0 never sees the labels of fold k.

    Parameters
    ----------
    grower : Grower
    params : mapping
        "first_trees" at most, and "patience": trees without a lower out-of-fold loss after which it ends.
    fold : (m,) int64
        Of the labelled rows, from 1.
    alike : callable
        Takes out-of-fold scores (m, K) and says whether their residuals are alike along links.

    Attributes
    ----------
    forests : list of Forest
        By view.
    scores : list of (m, K) float64
        Of the labelled rows, by view.
    weights : (g,) float64
        Of the groups of columns.
    first : Forest
        Trees of the first group alone, the mean over the views.
    rng_of_first : Generator
        As it was when the first group's trees were grown: what GB, which has no other group, goes on with.
    """

    def __init__(
        self, grower: Grower, params: dict[str, Any], fold: NDArray[np.int64], alike: Callable[[NDArray], bool]
    ) -> None:
        self.grower, self.params, self.fold, self.alike = grower, params, fold, alike
        self.n_views = int(fold.max()) + 1

    def fit(
        self,
        binned: NDArray[np.uint8],
        n_bins: NDArray[np.int32],
        target: NDArray,
        scale: Scale,
        groups: Sequence[NDArray[np.int32]],
    ) -> BaseModel:
        """Grow the trees.

        Parameters
        ----------
        binned : (d, m) uint8
            Columns of the labelled rows.
        n_bins : (d,) int32
        target : (m, K) float64
        scale : Scale
        groups : sequence of (c,) int32
            Columns that one boosted model each may split by.
        """
        table = binned, n_bins.astype(np.int32)
        models = [self._boosted((*table, groups[0]), target, scale)]
        self.rng_of_first = deepcopy(self.grower.rng)
        models += [self._boosted((*table, columns), target, scale) for columns in groups[1:]]
        out_of_fold = np.stack([self._out_of_fold(scores) for _, scores in models])
        weights = guarded_weights(out_of_fold, target, scale, lambda: self.alike(out_of_fold[0]))
        weights[weights < LEAST] = 0.0
        self.weights = weights / weights.sum()
        self.first = _mean(models[0][0])
        self.forests = [Forest(scale.n_outputs) for _ in range(self.n_views)]
        self.scores = [np.zeros_like(target) for _ in self.forests]
        for weight, (forests, scores) in zip(self.weights, models):
            # a model of no weight is left out of the file
            for k in range(self.n_views if weight else 0):
                self.forests[k].extend(forests[k], weight)
                self.scores[k] += weight * scores[k]
        return self

    @property
    def is_first_alone(self) -> bool:
        """Whether there were several groups, and the first alone has a weight."""
        return self.weights.size > 1 and self.weights[0] == 1.0

    def _boosted(self, table: Any, target: NDArray, scale: Scale) -> tuple[list[Forest], list[NDArray]]:
        """Return the trees of every view, and the scores (m, K) that they give."""
        forests = [Forest(scale.n_outputs) for _ in range(self.n_views)]
        scores = [np.tile(scale.prior, (len(target), 1)) for _ in forests]
        # view 0 grows on all: no fold is 0
        rows = [np.flatnonzero(self.fold != k).astype(np.int32) for k in range(self.n_views)]
        lowest, best, kept = np.inf, 0, scores
        for t in range(0, self.params["first_trees"], EVERY):
            count = min(EVERY, self.params["first_trees"] - t)
            more, added = grow_views(self.grower, table, target, scores, rows, n_trees=count)
            scores = [before + each for before, each in zip(scores, added)]
            for forest, each in zip(forests, more):
                forest.extend(each)
            # of the mix of views as a label sees it: each by the view that it is hidden from
            loss = float(scale.loss.value(self._out_of_fold(scores), target).mean())
            if loss < lowest:
                # a list of the arrays: those that follow are new ones
                lowest, best, kept = loss, t + count, list(scores)
            # trees, not looks, since the lowest
            elif t + count - best >= self.params["patience"]:
                break
        return [forest.first(best) for forest in forests], kept

    def _out_of_fold(self, scores: list[NDArray]) -> NDArray[np.float64]:
        """Return scores (m, K), each by the view that never saw its label."""
        return np.stack(scores)[self.fold, np.arange(self.fold.size)]

    def average(self) -> Forest:
        """Return the mean of all views' trees."""
        return _mean(self.forests)


def _mean(forests: Sequence[Forest]) -> Forest:
    mean = Forest(forests[0].n_outputs)
    for forest in forests:
        mean.extend(forest, 1.0 / len(forests))
    return mean
