r"""The rounds of heteroscedastic boosting: a label forest and a deviation forest, each its own trees on shared bins.

    1  deal the rows into `folds` parts; member k learns from all parts but k           (folds = 1: from all rows)
    2  f_k <- the constant of least loss; d_k <- the constant of the link
    3  for t = 1..N, for each member k:
    4      w <- the rows' weights under d_k                                              instance weights
    5      f_k <- f_k + learning_rate * tree of (23), (24) on the gradient of w L(f_k, y)
    6    r <- what the member that has not seen a row says of it                         left-out scores
    7    for each member k: d_k <- d_k + deviation_rate * tree on the gradient of the loss of r by d_k
    8  each half ends, and goes back, when left-out rows have liked it no better for `patience` rounds
    9  the model is the mean of the members

For numbers there are two label forests, one whose rows all count alike (least squares boosting) and one whose rows
count by w; the share of each is the one of least squared error on left-out rows (`blend`).

Line 6 is what makes sigma honest: residuals of rows that a model was trained on are too small, and the deviation would
learn how well trees remember. Constant deviation leaves lines 4, 6 and 7 out: every member is then least squares
boosting (or logistic boosting) of its rows.

(23): a leaf is -G / (H + lambda). (24): a split gains [G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda)
- G^2 / (H + lambda)] / 2 - gamma; as printed it has the sign of a loss and adds gamma.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.methods.deviation_half import Half, Judged, Sample, blended, deal
from hetcore.methods.deviation_objectives import Labels, Link, Numbers, unit_mean
from hetcore.trees import BinMapper, Tree, TreeParams, grow

__all__ = ["Z90", "Rounds"]

LEAF_LIMIT = 4.0  # largest Newton step of a class score
Z90 = 1.6448536269514722


class Rounds:
    """The state of a fit; `round` is one pass of lines 3 to 8.

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
        self.train, self.held_out, self.link, self.params, self.mapper = train, held_out, link, params, mapper
        self.rng = np.random.default_rng(params["random_state"])
        n = train.weights.size
        self.n_members = max(1, min(params["folds"], n // 2))
        strata = train.base.codes if isinstance(train.base, Labels) else None
        self.fold = deal(n, strata, self.n_members, self.rng)
        parts = [np.arange(n) if self.n_members == 1 else np.flatnonzero(self.fold != k) for k in range(self.n_members)]
        self.rows = [part.astype(np.int32) for part in parts]
        self._start_halves()
        self.share, self.done = 1.0, 0
        self.limits = {name: self._limits(name) for name in ("l2", "deviation_l2")}

    def _start_halves(self) -> None:
        """Line 2; with `blend`, the first of two label forests counts all rows alike."""
        shape = self.n_members, self.train.weights.size
        n_later = None if self.held_out is None else self.held_out.weights.size
        first, rate = self.train.base.start(self.train.weights), self.params["learning_rate"]
        blending = self.params.get("blend", False) and self.n_members > 1 and self.link.learns and self.link.power > 0
        powers = (0.0, self.link.power) if blending else (self.link.power,)
        self.labels = [Half.start(first, shape, n_later, rate, power) for power in powers]
        start = np.array([self.link.start])
        self.deviation = Half.start(start, shape, n_later, self.params["deviation_rate"], 0.0)
        self.deviation.open = self.link.learns
        self.first = first

    def _limits(self, penalty: str) -> TreeParams:
        p = self.params
        gain = 2.0 * p["min_gain"]
        return TreeParams(p["max_depth"], p["max_leaf_nodes"], p["min_samples_leaf"], 0.0, p[penalty], gain)

    @property
    def shares(self) -> list[float]:
        """Share of each label forest."""
        return [1.0] if len(self.labels) == 1 else [1.0 - self.share, self.share]

    def _mixed(self, each: list[NDArray]) -> NDArray:
        return sum(share * f for share, f in zip(self.shares, each))

    def judged(self) -> Judged:
        """Return the scores of each row by the member that has not seen it; with one member, by that one."""
        return Judged(
            self._mixed([half.judged(self.fold) for half in self.labels]), self.deviation.judged(self.fold)[:, 0]
        )

    def seen(self) -> Judged:
        """Return the mean of the scores of each row by the members that were trained on it."""
        f = self._mixed([half.seen(self.fold) for half in self.labels])
        return Judged(f, self.deviation.seen(self.fold)[:, 0])

    def round(self) -> bool:
        """Lines 3 to 8; returns whether no half has come closer to left-out rows for `patience` rounds."""
        before = self.judged()
        for half in self.labels:
            for k in range(self.n_members if half.open else 0):
                self._grow_label(half, k, before.f)
        self._blend()
        if self.deviation.open:
            after = self.judged()
            for k in range(self.n_members):
                self._grow_deviation(k, after.f)
        self.done += 1
        return self._judge()

    def _grow_label(self, half: Half, k: int, judged: NDArray) -> None:
        """Lines 4 and 5."""
        base = self.train.base
        gradients, hessians = base.derivatives(half.scores[k])
        weights = self.link.weights(base, judged, self.deviation.scores[k, :, 0], half.power)
        half.weights[k] = unit_mean(weights, self.rows[k])
        counts = (half.weights[k] * self.train.weights)[:, None]
        tree = self._grown(k, gradients * counts, hessians * counts, "l2")
        if isinstance(base, Labels):
            tree.values = np.clip(tree.values, -LEAF_LIMIT, LEAF_LIMIT)
        half.add(k, tree, self.train.binned, self.held_out)

    def _blend(self) -> None:
        if len(self.labels) == 2:
            alike, weighed = (half.scores[:, :, 0] for half in self.labels)
            self.share = blended(alike, weighed, self.fold, self.train.base.y, self.train.weights)

    def _grow_deviation(self, k: int, judged: NDArray) -> None:
        """Lines 6 and 7."""
        gradient, hessian = self.link.deviation(self.train.base, judged, self.deviation.scores[k, :, 0])
        counts = self.train.weights
        tree = self._grown(k, gradient * counts, hessian * counts, "deviation_l2")
        tree.values = self.link.leaf(tree.values)
        self.deviation.add(k, tree, self.train.binned, self.held_out)

    def _grown(self, k: int, gradients: NDArray, hessians: NDArray, penalty: str) -> Tree:
        rows, columns = self._drawn(self.rows[k], "subsample"), None
        n_bins = self.mapper.n_bins
        if self.params["column_sample"] < 1:
            columns = self._drawn(np.arange(n_bins.size, dtype=np.int32), "column_sample")
        floats = gradients.astype(np.float32), hessians.astype(np.float32)
        return grow(self.train.binned, *floats, rows, columns, self.limits[penalty], n_bins, self.params["n_jobs"] or 1)

    def _drawn(self, numbers: NDArray[np.int32], share: str) -> NDArray[np.int32]:
        if self.params[share] >= 1:
            return numbers
        count = max(1, int(np.ceil(self.params[share] * numbers.size)))
        return np.sort(self.rng.choice(numbers, count, replace=False))

    def _judge(self) -> bool:
        """Line 8: forests of numbers by their squared error, others and the deviation by the likelihood."""
        judged, patience = self.judged(), self.params["patience"] if self.n_members > 1 else None
        nll = self.nll(judged, self.train, self.scale(judged))
        for half in self.labels:
            half.judge(self.done, self._label_loss(half) if self._numbers else nll, patience)
        self.deviation.judge(self.done, nll, patience)
        self._blend()
        return not any(half.open for half in (*self.labels, self.deviation))

    @property
    def _numbers(self) -> bool:
        return isinstance(self.train.base, Numbers)

    def _label_loss(self, half: Half) -> float:
        return float(np.average(self.train.base.loss(half.judged(self.fold)), weights=self.train.weights))

    def finish(self) -> Judged:
        """Go back to the best rounds of every half; returns the scores of each row by who has not seen it."""
        for half in (*self.labels, self.deviation):
            half.restore()
        self._blend()
        return self.judged()

    def row_weights(self) -> NDArray[np.float64]:
        """Return how much each row (n,) counts, mean 1: the mean over the members and, by share, the label forests."""
        each = [np.mean([unit_mean(weights) for weights in half.weights], axis=0) for half in self.labels]
        return self._mixed(each)

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
            later = Judged(self._mixed([half.later for half in self.labels]), self.deviation.later[:, 0])
            sets["held_out"] = (later, self.held_out)
        return sets
