"""The learners of a view: boosted in rounds, on each fold's rest of the labelled rows, watched by the fold left out.

A learner holds one view's columns and answers in arrays over its rows, so that it may live in this process or on a
worker of a cluster. Each has a member for each fold, fitted to the labels of the other folds. A labelled row is scored
by the member that did not see it, any other row by the mean of all members. A learner's scores are those of its best
round: the one with the lowest loss of the labelled rows, so scored.

- Trees: five trees a member and round on a share of the rows and columns, leaves by a Newton step.
- Smooth (linear, or kernel ridge on landmarks): a ridge step on the residuals in each round, whose penalty falls from
  round to round; after t rounds the fit is about that of ridge regression with the penalty of round t, so that the best
  round chooses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.outputs import Outputs
from hetcore.forest import Forest
from hetcore.kernel_ridge import LandmarkFeatures
from hetcore.members import MemberGrower, add_members, trees_of
from hetcore.trees import TreeParams

__all__ = ["Advanced", "BoostRule", "SmoothLearner", "TreeLearner", "ViewContent", "ViewLearner"]

TREES = 5  # of a member in a round; of more than two classes fewer
TREES_OF_CLASSES = 3
MOST_COLUMNS = 120  # of a tree; of more than two classes fewer
MOST_COLUMNS_OF_CLASSES = 30
BINS, BINS_OF_CLASSES = 64, 32
LEAF_LIMIT = 4.0  # largest Newton step of a class score
PATIENCE = 10  # rounds without a lower loss after which a learner rests
FIRST_PENALTY, LAST_PENALTY = 3.0, 1e-5  # of a ridge step, over the largest eigenvalue
PENALTY_FALL = 0.73  # from round to round
FEWEST_CURVATURE = 0.05  # of the log loss, as a ridge step takes it
DIVERGED = 1e6  # score beyond which a learner, whose steps are too long, stays where it is
CONSTANT = 0.3  # the constant column of a smooth learner, where rows have length 1 on average


class BoostRule(NamedTuple):
    """How the learners of a fit are boosted; the parameters of the estimator of the same names."""

    outputs: Outputs
    n_folds: int
    learning_rate: float
    limits: TreeParams
    subsample: float
    column_sample: float
    lambda0: float


class ViewContent(NamedTuple):
    """What a learner is made from.

    Attributes
    ----------
    X : (m, d) array
    codes : (m, k) float64
        Targets of the labelled rows.
    fold : (m,) int64
        -1 for unlabelled rows.
    learner : str
    seed : int
    rule : BoostRule
    """

    X: NDArray
    codes: NDArray[np.float64]
    fold: NDArray[np.int64]
    learner: str
    seed: int
    rule: BoostRule


class Advanced(NamedTuple):
    """What a learner says after a round.

    Attributes
    ----------
    loss : float
        Mean loss of the labelled rows in this round, each scored by the member that did not see it; inf without any.
    best : int
        Best round so far.
    scores : (m, k) float64 or None
        The best round's scores, labelled rows by the member that did not see them; None if that is an old round.
    trained : (l, k) float64 or None
        The labelled rows' mean over all members.
    """

    loss: float
    best: int
    scores: NDArray[np.float64] | None
    trained: NDArray[np.float64] | None


class ViewLearner:
    """Base of the two kinds; see the module's docstring.

    Parameters
    ----------
    rows : (m,) int64
        Instances that the view covers.
    labelled : (n,) bool
    content : ViewContent
    """

    def __init__(self, rows: NDArray[np.int64], labelled: NDArray[np.bool_], content: ViewContent) -> None:
        self.rule, self.codes, self.fold = content.rule, content.codes, content.fold
        self.outputs = self.rule.outputs
        self.own = np.flatnonzero(self.fold >= 0)
        self.others = np.flatnonzero(self.fold < 0)
        folds = self.fold[self.own]
        self.training = [self.own[folds != k].astype(np.int32) for k in range(self.rule.n_folds)]
        self.scores = np.tile(self.outputs.prior, (self.rule.n_folds, len(self.fold), 1))
        self.round, self.best, self.lowest = 0, -1, np.inf
        self._kept = self.scores.copy()
        self._prepare(content)

    def advance(self, t: int, pull: NDArray[np.float64] | None = None) -> Advanced:
        """Do round t and tell what came of it.

        Parameters
        ----------
        t : int
        pull : (F, n_u, k) float64, optional
            Where lambda0 is above 0: what the consensus of each fold's members says of this view's unlabelled rows.
        """
        if self._able:
            self._step(pull)
        self.round = t + 1
        mean = self.scores.mean(axis=0)
        scores = mean.copy()
        scores[self.own] = self.scores[self.fold[self.own], self.own]
        loss = float(self.outputs.loss(scores[self.own], self.codes[self.own]).mean()) if self.own.size else np.inf
        if loss >= self.lowest and self.best >= 0:
            return Advanced(loss, self.best, None, None)
        self.best, self.lowest = t, loss
        self._kept = self.scores.copy()
        return Advanced(loss, t, scores, mean[self.own])

    def members(self) -> NDArray[np.float64]:
        """Return what each member says of the unlabelled rows (F, m_u, k) in the best round."""
        return self._kept[:, self.others]

    @property
    def _able(self) -> bool:
        return all(rows.size > 1 for rows in self.training) and float(np.abs(self.scores).max()) < DIVERGED

    def _pulled_weight(self) -> float:
        """Return the weight of an unlabelled row's pull where a label's is 1: both together weigh lambda0 : 1."""
        return self.rule.lambda0 * self.own.size / max(1, self.others.size)

    def _prepare(self, content: ViewContent) -> None:
        raise NotImplementedError

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        raise NotImplementedError

    def keep(self) -> dict[str, NDArray]:
        """Return the arrays that predict as in the best round."""
        raise NotImplementedError


class TreeLearner(ViewLearner):
    """Boosted trees."""

    def _prepare(self, content: ViewContent) -> None:
        several = self.outputs.k > 1
        self.rng = np.random.default_rng(content.seed)
        self.mapper = BinMapper(BINS_OF_CLASSES if several else BINS).fit(content.X, 0)
        self.binned = self.mapper.transform(content.X)
        self.varying = np.flatnonzero(self.mapper.n_bins > 1)
        if not self.varying.size:
            self.varying = np.arange(1)
        self.trees: list[list[Any]] = []
        shape = (self.outputs.k, self.outputs.k if self.outputs.is_classifier else 0)
        self.grower = MemberGrower(self.binned, self.mapper.n_bins, shape, self.rule.limits)

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        grown_now: list[list[Any]] = [[] for _ in self.training]
        for _ in range(TREES_OF_CLASSES if self.outputs.k > 1 else TREES):
            if not self._able:
                break
            grown = self._grown(pull)
            if self.outputs.is_classifier:
                np.clip(grown.values, -LEAF_LIMIT, LEAF_LIMIT, out=grown.values)
            add_members(self.scores, grown.leaves, grown.values, self.rule.learning_rate)
            for trees, tree in zip(grown_now, trees_of(grown)):
                tree.nodes, tree.values = tree.nodes.copy(), tree.values.copy()
                trees.append(tree)
        self.trees.append([tree for trees in grown_now for tree in trees])

    def _grown(self, pull: NDArray[np.float64] | None) -> Any:
        fitted = self.outputs.fitted(self.scores)
        gradients = (fitted - self.codes).astype(np.float32)
        classes = self.outputs.is_classifier
        hessians = (
            self.outputs.curvature(fitted).astype(np.float32) if classes else np.empty((*fitted.shape[:2], 0), "f4")
        )
        rows = [self._drawn(each) for each in self.training]
        if pull is not None and self.others.size:
            weight = np.float32(self.rule.lambda0)
            drawn = self._drawn(self.others, min(self.others.size, rows[0].size))
            spots = np.searchsorted(self.others, drawn)
            gradients[:, drawn] = weight * (fitted[:, drawn] - pull[:, spots])
            if classes:
                hessians[:, drawn] *= weight
            rows = [np.sort(np.concatenate([each, drawn])).astype(np.int32) for each in rows]
        self.grower.use(rows, [self._columns() for _ in rows])
        return self.grower.grow(np.ascontiguousarray(gradients), np.ascontiguousarray(hessians))

    def _drawn(self, rows: NDArray, size: int | None = None) -> NDArray[np.int32]:
        size = max(2, round(self.rule.subsample * rows.size)) if size is None else size
        return np.sort(self.rng.choice(rows, min(size, rows.size), replace=False)).astype(np.int32)

    def _columns(self) -> NDArray[np.int32]:
        d, most = self.varying.size, MOST_COLUMNS_OF_CLASSES if self.outputs.k > 1 else MOST_COLUMNS
        count = min(d, most, max(int(np.ceil(self.rule.column_sample * d)), 8))
        return np.sort(self.rng.choice(self.varying, count, replace=False)).astype(np.int32)

    def keep(self) -> dict[str, NDArray]:
        """Return bins and one forest, the mean of the members', up to the best round."""
        forest = Forest(self.outputs.k)
        for trees in self.trees[: self.best + 1]:
            for tree in trees:
                forest.append(tree, self.rule.learning_rate / self.rule.n_folds)
        return {**self.mapper.to_arrays(), **forest.to_arrays()}


class SmoothLearner(ViewLearner):
    """Ridge steps on columns, or on the features of a Gaussian kernel at landmarks."""

    def _prepare(self, content: ViewContent) -> None:
        self.landmarks = None
        rows = content.X
        if content.learner == "kernel":
            self.landmarks = LandmarkFeatures(rows, False, np.random.default_rng(0))
            rows = self.landmarks.values
        self.unit = 1.0 / max(np.sqrt((rows**2).sum(axis=1).mean()), 1e-12)
        self.features = np.column_stack([rows * self.unit, np.full(len(rows), CONSTANT)])
        self.weights = np.zeros((self.rule.n_folds, self.features.shape[1], self.outputs.k))
        self.history: list[NDArray] = []
        self.spectra = self._spectra()
        self.targets = np.where((self.fold >= 0)[:, None], self.codes, 0.0)
        self.seen = (self.fold >= 0) & (self.fold != np.arange(self.rule.n_folds)[:, None])
        self.largest = max(1e-9, float(np.mean([values.max() for values, _ in self.spectra])))
        known = self.codes[self.own]
        self.range = (known.min(), known.max()) if self.own.size and not self.outputs.is_classifier else None

    def _spectra(self) -> list[tuple[NDArray, NDArray]]:
        """Return the eigenvalues and -vectors of each member's Gram matrix: of all rows, less those of its fold."""
        parts = [self._gram(self.own[self.fold[self.own] == k]) for k in range(self.rule.n_folds)]
        whole = np.sum(parts, axis=0)
        if self.rule.lambda0:
            whole += self._pulled_weight() * self._gram(self.others)
        found = [np.linalg.eigh(whole - part) for part in parts]
        return [(np.maximum(values, 0.0), vectors) for values, vectors in found]

    def _gram(self, rows: NDArray) -> NDArray[np.float64]:
        held = self.features[rows]
        return held.T @ held

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        penalty = self.largest * max(FIRST_PENALTY * PENALTY_FALL**self.round, LAST_PENALTY)
        fitted = self.outputs.fitted(self.scores)
        residuals = (self.targets - fitted) * self.seen[:, :, None]
        if pull is not None and self.others.size:
            residuals[:, self.others] = self._pulled_weight() * (pull - fitted[:, self.others])
        slopes = self.features.T @ np.concatenate(list(residuals), axis=1)
        for k, slope in enumerate(np.split(slopes, len(residuals), axis=1)):
            size = max(FEWEST_CURVATURE, float(self.outputs.curvature(fitted[k, self.training[k]]).mean()))
            values, vectors = self.spectra[k]
            self.weights[k] += vectors @ ((vectors.T @ slope) / (size * (values + penalty))[:, None])
        flat = self.features @ np.concatenate(list(self.weights), axis=1)
        said = flat.reshape(len(flat), len(self.weights), -1).transpose(1, 0, 2)
        np.add(said, self.outputs.prior, out=self.scores)
        if self.range is not None:
            np.clip(self.scores, *self.range, out=self.scores)
        self.history.append(self.weights.copy())

    def keep(self) -> dict[str, NDArray]:
        """Return the members' coefficients of the best round, and what maps rows to features."""
        weights = self.history[self.best] if self.history else self.weights
        arrays = {"constant": CONSTANT * weights[:, -1], "range": np.array(self.range or (-np.inf, np.inf))}
        flat = np.concatenate(list(weights[:, :-1] * self.unit), axis=1)
        if self.landmarks is None:
            return arrays | {"coefficients": flat}
        scale = np.where(np.isfinite(self.landmarks.scale), self.landmarks.scale, 0.0)
        held = {"center": self.landmarks.center, "scale": scale, "landmarks": self.landmarks.landmarks}
        return arrays | held | {"dual": np.ascontiguousarray(self.landmarks.dual(flat))}


def predict_with(arrays: Mapping[str, NDArray], X: NDArray, outputs: Outputs) -> NDArray[np.float64]:
    """Return the mean (m, k) of the members' scores of rows X (m, d), less the prior, from what a learner kept."""
    from hetcore.kernel_ridge import SmoothPrediction

    if "nodes" in arrays:
        mapper = BinMapper.from_arrays({name: arrays[name] for name in ("thresholds", "n_bins")})
        return Forest.from_arrays(arrays, X.shape[1]).predict(mapper.transform(X))
    flat = SmoothPrediction(arrays).predict(X) if "dual" in arrays else X @ arrays["coefficients"]
    members = flat.reshape(len(X), -1, outputs.k) + arrays["constant"]
    low, high = arrays["range"]
    return np.clip(members, low - outputs.prior, high - outputs.prior).mean(axis=1)
