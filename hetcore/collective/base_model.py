"""F_0 of the default: boosting in every view at once, as many trees as give the lowest out-of-fold loss, and lines.

Neighbours' columns are many, and where they say little they cost: where few labels are known, or where instances are
not alike along the links. So one boosted model sees own columns, one neighbours' known labels too, one neighbours'
features too, and F_0 is their convex mix of the lowest out-of-fold loss; or that of own columns alone, unless the mix
clearly errs less than it does. Neighbours then have no part in the stages either: the whole model is GB's.

Of numbers there are oblivious trees of own columns too, which see all of them: where one column alone tells the number,
a tree that draws half of the columns often lacks it, and a product of two columns gains nothing by the first of them,
which a search node by node passes by.

Trees follow a line in steps, so ridge regression of own columns, and of all columns, is mixed with them. Of classes it
is of the labels' codes, and a Newton step from the prior turns what it says into scores: the regression of c on x over
p (1 - p), stretched by what makes the labels left out likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.mixing import guarded_weights
from hetcore.collective.stages import Grower
from hetcore.collective.view_trees import grow_views
from hetcore.forest import Forest
from hetcore.linear_model import LinearModel, predicted_by_each
from hetcore.schema import Stored, part
from hetcore.targets import Scale

__all__ = ["BaseModel", "Columns", "Mix"]

EVERY = 5  # trees between two looks at the out-of-fold loss
LEAST = 0.02  # a smaller weight is none: its trees are not kept
STRETCHES = 2.0 ** np.arange(-2.0, 1.5, 0.5)  # of what a Newton step from the prior says of classes
FLATTEST = 1e-3  # curvature p (1 - p) of a class that a step divides by, at least


class Columns(NamedTuple):
    """Columns of the labelled rows, each row's as the view that hides its label has them.

    Attributes
    ----------
    values : (m, d) float32 or None
        None where no line is fitted.
    binned : (d, m) uint8
    n_bins : (d,) int32
    """

    values: NDArray[np.float32] | None
    binned: NDArray[np.uint8]
    n_bins: NDArray[np.int32]


@dataclass
class Mix(Stored):
    """What F_0 adds to the prior: trees, and lines of own and of all columns.

    Attributes
    ----------
    trees : Forest
    own_line, line : LinearModel or None
        Their shares multiplied in.
    """

    trees: Forest = part(Forest, "d", at="")
    own_line: LinearModel | None = part(LinearModel, optional=True)
    line: LinearModel | None = part(LinearModel, optional=True)

    @property
    def n_outputs(self) -> int:
        """Scores K of a row."""
        return self.trees.n_outputs

    def predict(self, values: NDArray | None, binned: NDArray[np.uint8], rows: Any = slice(None)) -> NDArray:
        """Return what is added at some rows of values (n, d), binned (d, n), (r, K)."""
        added = self.trees.predict(binned) if isinstance(rows, slice) else self.trees.predict(binned, rows)
        for line in (self.own_line, self.line):
            if line is not None:
                added += line.predict(values[rows])
        return added

    def add(self, member: _Member, k: int, weight: float) -> None:
        """Add a model's part of view k with a weight."""
        if member.forests:
            self.trees.extend(member.forests[k], weight)
        else:
            setattr(self, member.name, member.lines[k].times(weight))

    @classmethod
    def mean(cls, mixes: Sequence[Mix]) -> Mix:
        """Return the mean over views."""
        trees = Forest(mixes[0].n_outputs)
        for each in mixes:
            trees.extend(each.trees, 1.0 / len(mixes))
        lines = [[getattr(each, name) for each in mixes] for name in ("own_line", "line")]
        return cls(trees, *(None if each[0] is None else LinearModel.mean(each) for each in lines))

    def _fault(self, sizes: dict[str, int]) -> str:
        lines = [each for each in (self.own_line, self.line) if each is not None]
        fits = all(each.n_outputs == self.n_outputs and each.columns[-1] < sizes["d"] for each in lines)
        return "" if fits else "The lines of the model file are not of its columns and outputs"


class _Member(NamedTuple):
    """A model that is mixed, by view: trees, or lines, which are named as in `Mix`; and scores (m, K)."""

    scores: list[NDArray[np.float64]]
    forests: list[Forest] | None = None
    lines: list[LinearModel] | None = None
    name: str = ""


class BaseModel:
    """Boosted trees and lines of K + 1 views; view k > 0 never sees the labels of fold k.

    Parameters
    ----------
    growers : (Grower, Grower or None)
        Of the trees of each group, and of oblivious ones of the first group's columns.
    params : mapping
        "first_trees" at most, and "patience": trees without a lower out-of-fold loss after which it ends.
    fold : (m,) int64
        Of the labelled rows, from 1.
    alike : callable
        Takes out-of-fold scores (m, K) and says whether their residuals are alike along links.

    Attributes
    ----------
    mixes : list of Mix
        By view.
    scores : list of (m, K) float64
        Of the labelled rows, by view.
    first : Mix
        Of the first group's columns alone, the mean over the views.
    is_first_alone : bool
        Whether there were several groups, and the first alone has a weight.
    rng_of_first : Generator
        As it was when the first group's trees were grown: what GB, which has no other group, goes on with.
    """

    def __init__(
        self,
        growers: tuple[Grower, Grower | None],
        params: dict[str, Any],
        fold: NDArray[np.int64],
        alike: Callable[[NDArray], bool],
    ) -> None:
        (self.grower, self.oblivious), self.params, self.fold, self.alike = growers, params, fold, alike
        self.n_views = int(fold.max()) + 1
        # view 0 learns from all: no fold is 0
        self.seen = [np.flatnonzero(fold != k).astype(np.int32) for k in range(self.n_views)]

    def fit(
        self, columns: Columns, target: NDArray, scale: Scale, groups: Sequence[NDArray[np.int32]]
    ) -> BaseModel:
        """Grow the trees, and fit the lines.

        Parameters
        ----------
        columns : Columns
        target : (m, K) float64
        scale : Scale
        groups : sequence of (c,) int32
            Columns that one boosted model each may split by; those of the first are the first ones, of the last all.
        """
        own = [self._boosted(columns, groups[0], target, scale)]
        if self.oblivious:
            own.append(self._boosted(columns, groups[0], target, scale, self.oblivious))
        self.rng_of_first = deepcopy(self.grower.rng)
        own += self._lines("own_line", columns, groups[0], target, scale)
        models = own + [self._boosted(columns, group, target, scale) for group in groups[1:]]
        if len(groups) > 1:
            models += self._lines("line", columns, groups[-1], target, scale)
        out_of_fold = np.stack([self._out_of_fold(each.scores) for each in models])
        weights, alone = guarded_weights(out_of_fold, target, scale, self.alike, len(own))
        self.is_first_alone = len(groups) > 1 and not weights[len(own) :].any()
        self.first = Mix.mean(self._mixed(own, alone, target, scale)[0])
        self.mixes, self.scores = self._mixed(models, weights, target, scale)
        return self

    def _mixed(
        self, models: Sequence[_Member], weights: NDArray, target: NDArray, scale: Scale
    ) -> tuple[list[Mix], list[NDArray[np.float64]]]:
        """Return the mix of each view, and its scores of the labelled rows."""
        weights = np.where(weights < LEAST, 0.0, weights)
        weights = weights / weights.sum()
        mixes = [Mix(Forest(scale.n_outputs), None, None) for _ in range(self.n_views)]
        scores = [np.zeros_like(target) for _ in mixes]
        for weight, model in zip(weights, models):
            # a model of no weight is left out of the file
            for k in range(self.n_views if weight else 0):
                mixes[k].add(model, k, weight)
                scores[k] += weight * model.scores[k]
        return mixes, scores

    def _boosted(
        self,
        given: Columns,
        columns: NDArray[np.int32],
        target: NDArray,
        scale: Scale,
        grower: Grower | None = None,
    ) -> _Member:
        """Return the trees of every view, of `self.grower` by default."""
        table = given.binned, given.n_bins.astype(np.int32), columns
        forests = [Forest(scale.n_outputs) for _ in range(self.n_views)]
        scores = [np.tile(scale.prior, (len(target), 1)) for _ in forests]
        lowest, best, kept = np.inf, 0, scores
        for t in range(0, self.params["first_trees"], EVERY):
            count = min(EVERY, self.params["first_trees"] - t)
            more, added = grow_views(grower or self.grower, table, target, scores, self.seen, n_trees=count)
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
        return _Member(kept, forests=[forest.first(best) for forest in forests])

    def _lines(
        self, name: str, given: Columns, columns: NDArray[np.int32], target: NDArray, scale: Scale
    ) -> list[_Member]:
        """Return the lines of every view, none if they come no closer to labels left out than the prior."""
        if given.values is None:
            return []
        # not copied where they are the first ones
        first = columns.size == 0 or columns[-1] == columns.size - 1
        values, prior = given.values[:, : columns.size] if first else given.values[:, columns], scale.prior
        curvature = scale.loss.hessian(prior[None], scale.fitted(prior[None]))[0]
        # each class counts alike, whatever its share
        root = np.sqrt(np.maximum(curvature, FLATTEST))
        missed = (target - scale.fitted(prior)) / root
        lines = LinearModel.fit(values, missed, self.seen, n_jobs=self.grower.n_jobs)
        if lines is None:
            return []
        added = predicted_by_each(lines, values) / root
        stretch = self._stretch(added, target, scale) if scale.is_classifier else 1.0
        if not first:
            lines = [replace(each, columns=columns[each.columns].astype(np.int64)) for each in lines]
        return [_Member(list(prior + stretch * added), lines=[each.times(stretch / root) for each in lines], name=name)]

    def _stretch(self, added: NDArray[np.float64], target: NDArray, scale: Scale) -> float:
        """Return by how much to stretch what lines add (K + 1, m, K) for the lowest out-of-fold loss."""
        left_out = self._out_of_fold(added)
        losses = [float(scale.loss.value(scale.prior + each * left_out, target).mean()) for each in STRETCHES]
        return float(STRETCHES[np.argmin(losses)])

    def _out_of_fold(self, scores: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return scores (m, K), each by the view that never saw its label."""
        return np.stack(scores)[self.fold, np.arange(self.fold.size)]

    def average(self) -> Mix:
        """Return the mean over the views."""
        return Mix.mean(self.mixes)
