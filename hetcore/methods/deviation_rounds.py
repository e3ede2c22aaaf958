r"""The rounds of heteroscedastic boosting: a label forest and a deviation forest, each its own trees on shared bins.

    1  deal the rows into `folds` parts; member k learns from all parts but k           (folds = 1: from all rows)
    2  f_k <- the constant of least loss; d_k <- the constant of the link
    3  for t = 1..N, for each member k:
    4      w <- the rows' weights under d_k                                              instance weights
    5      f_k <- f_k + learning_rate * tree of (23), (24) on the gradient of w L(f_k, y)
    6    r <- what the member that has not seen a row says of it                         left-out scores
    7    for each member k: d_k <- d_k + deviation_rate * tree on the gradient of the loss of r by d_k
    8  keep the rounds up to the smallest loss on left-out rows; the model is the mean of the members

Line 6 is what makes sigma honest: residuals of rows that a model was trained on are too small, and the deviation would
learn how well trees remember. Constant deviation leaves lines 4, 6 and 7 out: every member is then least squares
boosting (or logistic boosting) of its rows.

(23): a leaf is -G / (H + lambda). (24): a split gains [G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda)
- G^2 / (H + lambda)] / 2 - gamma; as printed it has the sign of a loss and adds gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.methods.deviation_objectives import Base, Labels, Link, Numbers, unit_mean
from hetcore.trees import BinMapper, Tree, TreeParams, grow

__all__ = ["Z90", "Judged", "Rounds", "Sample", "deal"]

LEAF_LIMIT = 4.0  # largest Newton step of a class score
LEAST_FALL = 1e-5  # of the loss on left-out rows that counts as an improvement
Z90 = 1.6448536269514722


@dataclass
class Sample:
    """Rows that a fit is given: binned (d, n) uint8, labels, weights (n,)."""

    binned: NDArray[np.uint8]
    base: Base
    weights: NDArray[np.float64]


@dataclass
class Judged:
    """Scores of a set of rows: f (n, K), d (n,)."""

    f: NDArray[np.float64]
    d: NDArray[np.float64]


@dataclass
class Member:
    """One of the models: scores of every row (trained on or not), and the trees of each round."""

    rows: NDArray[np.int32]
    f: NDArray[np.float64]
    d: NDArray[np.float64]
    label_trees: list[Tree] = field(default_factory=list)
    deviation_trees: list[Tree] = field(default_factory=list)
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def deal(n: int, strata: NDArray | None, folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the part (n,) of each row, parts of nearly equal size, each class spread evenly over them."""
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % folds
    return fold


class Rounds:
    """The state of a fit; `round` is one pass of lines 3 to 7.

    Parameters
    ----------
    train : Sample
    held_out : Sample or None
        Rows to score each round by, never trained on.
    link : Link
    params : mapping
        The estimator's parameters.
    mapper : BinMapper
    """

    def __init__(
        self, train: Sample, held_out: Sample | None, link: Link, params: dict[str, Any], mapper: BinMapper
    ) -> None:
        self.train, self.held_out, self.link, self.params = train, held_out, link, params
        self.mapper, self.n_bins = mapper, mapper.n_bins
        self.rng = np.random.default_rng(params["random_state"])
        n = train.weights.size
        self.n_members = max(1, min(params["folds"], n // 2))
        strata = train.base.codes if isinstance(train.base, Labels) else None
        self.fold = deal(n, strata, self.n_members, self.rng)
        self.first = train.base.start(train.weights)
        self.f = np.tile(self.first, (self.n_members, n, 1))
        self.d = np.full((self.n_members, n), self.link.start)
        self.numbers = np.arange(n)
        self.members = [self._member(k) for k in range(self.n_members)]
        self.later = None if held_out is None else self._scores(held_out.weights.size)
        self.best, self.best_loss, self.done = 0, np.inf, 0
        self.kept: Judged = self.judged()
        self.kept_weights = np.ones(n)
        self.label_limits = self._limits("l2")
        self.deviation_limits = self._limits("deviation_l2")

    def _member(self, k: int) -> Member:
        rows = np.arange(self.fold.size) if self.n_members == 1 else np.flatnonzero(self.fold != k)
        return Member(rows.astype(np.int32), self.f[k], self.d[k])

    def _scores(self, n: int) -> Judged:
        return Judged(np.tile(self.first, (n, 1)), np.full(n, self.link.start))

    def _limits(self, penalty: str) -> TreeParams:
        p = self.params
        gain = 2.0 * p["min_gain"]
        return TreeParams(p["max_depth"], p["max_leaf_nodes"], p["min_samples_leaf"], 1e-9, p[penalty], gain)

    def judged(self) -> Judged:
        """Return the scores of each row by the member that has not seen it; with one member, by that one."""
        return Judged(self.f[self.fold, self.numbers], self.d[self.fold, self.numbers])

    def seen(self) -> Judged:
        """Return the mean of the scores of each row by the members that were trained on it."""
        left, others = self.judged(), self.n_members - 1
        if not others:
            return left
        return Judged((self.f.sum(axis=0) - left.f) / others, (self.d.sum(axis=0) - left.d) / others)

    def round(self) -> bool:
        """Lines 3 to 7; returns whether the left-out loss has not fallen for `patience` rounds."""
        before = self.judged()
        for member in self.members:
            self._grow_label(member, before.f)
        if self.link.learns:
            after = self.judged()
            for member in self.members:
                self._grow_deviation(member, after.f)
        self.done += 1
        return self._keep()

    def _grow_label(self, member: Member, judged: NDArray) -> None:
        base, params = self.train.base, self.params
        gradients, hessians = base.derivatives(member.f)
        weights = unit_mean(self.link.weights(base, judged if self.n_members > 1 else member.f, member.d), member.rows)
        member.weights = weights
        counts = (weights * self.train.weights)[:, None]
        tree = self._grown(member, gradients * counts, hessians * counts, self.label_limits)
        if isinstance(base, Labels):
            tree.values = np.clip(tree.values, -LEAF_LIMIT, LEAF_LIMIT)
        tree.add_to(member.f, self.train.binned, params["learning_rate"])
        member.label_trees.append(tree)
        self._score_later(tree, "f", params["learning_rate"])

    def _grow_deviation(self, member: Member, judged: NDArray) -> None:
        said = judged if self.n_members > 1 else member.f
        gradient, hessian = self.link.deviation(self.train.base, said, member.d)
        counts = self.train.weights
        tree = self._grown(member, gradient * counts, hessian * counts, self.deviation_limits)
        tree.values = self.link.leaf(tree.values)
        rate = self.params["deviation_rate"]
        tree.add_to(member.d, self.train.binned, rate)
        member.deviation_trees.append(tree)
        self._score_later(tree, "d", rate)

    def _grown(self, member: Member, gradients: NDArray, hessians: NDArray, limits: TreeParams) -> Tree:
        rows, columns = self._drawn(member.rows, "subsample"), None
        if self.params["column_sample"] < 1:
            columns = self._drawn(np.arange(self.n_bins.size, dtype=np.int32), "column_sample")
        jobs = self.params["n_jobs"] or 1
        floats = gradients.astype(np.float32), hessians.astype(np.float32)
        return grow(self.train.binned, *floats, rows, columns, limits, self.n_bins, jobs)

    def _drawn(self, numbers: NDArray[np.int32], share: str) -> NDArray[np.int32]:
        if self.params[share] >= 1:
            return numbers
        count = max(1, int(np.ceil(self.params[share] * numbers.size)))
        return np.sort(self.rng.choice(numbers, count, replace=False))

    def _score_later(self, tree: Tree, name: str, rate: float) -> None:
        if self.held_out is not None:
            values = tree.predict(self.held_out.binned) * (rate / self.n_members)
            scores = getattr(self.later, name)
            scores += values.reshape(scores.shape)

    def _keep(self) -> bool:
        judged = self.judged()
        loss = self.nll(judged, self.train, self.scale(judged))
        patience = self.params["patience"]
        choosing = self.n_members > 1 and patience is not None
        if not choosing or loss < self.best_loss - LEAST_FALL:
            self.best, self.best_loss, self.kept = self.done, loss, judged
            self.kept_weights = np.mean([unit_mean(member.weights) for member in self.members], axis=0)
        return choosing and self.done - self.best >= patience

    def scale(self, judged: Judged) -> float:
        """Return the factor of the variance by the residuals of left-out rows; 1 for classes."""
        if isinstance(self.train.base, Labels):
            return 1.0
        squares = (self.train.base.y - judged.f[:, 0]) ** 2
        return max(self.link.scale(squares, judged.d, self.train.weights), 1e-12)

    def nll(self, scores: Judged, sample: Sample, scale: float) -> float:
        """Return the mean negative log likelihood of labels, of standardised numbers or of classes."""
        if isinstance(sample.base, Numbers):
            q = np.log(scale) + self.link.log_variance(scores.d)
            rows = 0.5 * (q + 2.0 * sample.base.loss(scores.f) * np.exp(-q) + np.log(2.0 * np.pi))
        else:
            share = self.link.share(scores.d)
            mixture = (1.0 - share) * sample.base.seen(scores.f) + share / sample.base.n_classes
            rows = -np.log(np.maximum(mixture, 1e-12))
        return float(np.average(rows, weights=sample.weights))

    def sets(self) -> dict[str, tuple[Judged, Sample]]:
        """Return the scores and rows that a round is reported on, by name."""
        sets = {"train": (self.seen(), self.train)}
        if self.n_members > 1:
            sets["left_out"] = (self.judged(), self.train)
        if self.held_out is not None:
            sets["held_out"] = (self.later, self.held_out)
        return sets
