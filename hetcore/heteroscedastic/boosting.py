r"""The rounds of heteroscedastic boosting: label forests and a deviation forest, each its own trees on shared bins.

    1  deal the rows into `folds` parts, twice; member k learns from all parts but k      (folds = 1: from all rows)
    2  f_k <- the constant of least loss; d_k <- the constant of the link
    3  for t = 1..N, for each member k:
    4      w <- the rows' weights under d_k                                              instance weights
    5      f_k <- f_k + learning_rate * tree of (23), (24) on the gradient of w L(f_k, y)
    6    r <- what members that have not seen a row say of it                             left-out scores
    7    for each member k: d_k <- d_k + deviation_rate * tree on the gradient of the loss of r by d_k
    8  each half ends, and goes back, when left-out rows have liked it no better for `patience` rounds
    9  the model is the mean of the members

There are two label forests (`blend`): one of the first deal, whose rows all count alike (plain boosting, to the last
bit), and one of the second deal, whose rows count by w. The share of each is `deviation_half.mixed_share`. The
deviation is of the second deal.

Line 6 is what makes sigma honest: residuals of rows that a model was trained on are too small, and the deviation would
learn how well trees remember. Constant deviation leaves lines 4, 6 and 7 out: every member is then least squares
boosting (or logistic boosting) of its rows, in one deal.

(23): a leaf is -G / (H + lambda). (24): a split gains [G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda)
- G^2 / (H + lambda)] / 2 - gamma; as printed it has the sign of a loss and adds gamma.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.heteroscedastic.forest_ensemble import Deal, Half, Judged, Sample, TreeRules, mixed_share, set_leaves
from hetcore.heteroscedastic.objectives import Labels, Link, Numbers, Pair
from hetcore.trees import BinMapper, TreeParams

__all__ = ["Z90", "Rounds"]

LEAF_LIMIT = 4.0  # largest Newton step of a class score
MOST_DEVIATION_LEAVES = 8  # of a tree of the deviation
LEAST_DEVIATION_ROWS = 5  # of its leaves
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
        self.even = bool((train.weights == 1.0).all())
        self.printed = params["as_printed"]
        self.rules = {"l2": self._rules("l2", 1.0), "deviation_l2": self._rules("deviation_l2", link.unit)}
        self._start_halves()
        self.share, self.done = 0.0, 0
        self._look()

    def _rules(self, penalty: str, unit: float) -> TreeRules:
        p = self.params
        sizes = p["max_depth"], p["max_leaf_nodes"], p["min_samples_leaf"]
        if penalty == "deviation_l2" and not p["as_printed"]:  # a spread asks for more rows than a mean
            most = MOST_DEVIATION_LEAVES if sizes[1] < 0 else min(sizes[1], MOST_DEVIATION_LEAVES)
            sizes = sizes[0], most, max(sizes[2], LEAST_DEVIATION_ROWS)
        l2 = 0.0 if penalty == "deviation_l2" and self.link.row_penalty else p[penalty] / unit
        limits = TreeParams(*sizes, 0.0, l2, 2.0 * p["min_gain"] / unit)
        return TreeRules(limits, p["subsample"], p["column_sample"], p["n_jobs"] or 1)

    def _start_halves(self) -> None:
        """Lines 1 and 2."""
        p, link, base = self.params, self.link, self.train.base
        strata = base.codes if isinstance(base, Labels) else None
        blending = p["blend"] and self.n_members > 1 and link.learns and link.power > 0
        powers = (0.0, link.power) if blending else (link.power,)
        deals = [Deal.of(self.train.weights.size, strata, self.n_members, self.rng) for _ in powers]
        n_later = None if self.held_out is None else self.held_out.weights.size
        self.first = base.start(self.train.weights) * (not self.printed)  # (17) is a sum from nothing
        given = n_later, p["learning_rate"]
        streams = self.rng.spawn(3)  # so that no forest's samples hang on how many others there are
        self.labels = [Half.start(self.first, each, *given, power) for each, power in zip(deals, powers)]
        self.deviation = Half.start(np.array([link.start]), deals[-1], n_later, p["deviation_rate"], 0.0)
        for half, stream in zip((self.deviation, *self.labels), streams):
            half.rng = stream
        self.deviation.open = link.learns

    @property
    def shares(self) -> list[float]:
        """Share of each label forest."""
        return [1.0] if len(self.labels) == 1 else [1.0 - self.share, self.share]

    def _mixed(self, each: list[NDArray]) -> NDArray:
        return each[0] if len(each) == 1 else sum(share * f for share, f in zip(self.shares, each))

    def _look(self) -> None:
        """Ask the members that have not seen a row for its scores, and mix the label forests by them."""
        each = [half.judged() for half in self.labels]
        if len(each) == 2:
            target, curves = self.train.base.working(each[0])
            self.share = mixed_share(*each, target, self.train.weights[:, None] * curves)
        self.judged = Judged(self._mixed(each), self.deviation.judged()[:, 0])
        self.doubted = self.judged if self._numbers else Judged(each[-1], self.judged.d)

    def round(self) -> bool:
        """Lines 3 to 8; returns whether no half has come closer to left-out rows for `patience` rounds."""
        before = self._deviation_gradients() if self.printed else None  # (20) is taken where both trees are nothing
        for half in self.labels:
            if half.open:
                self._grow_labels(half)
        self._look()
        if self.deviation.open:
            self._grow_deviations(*(before or self._deviation_gradients()))
        self.done += 1
        return self._judge()

    def _grow_labels(self, half: Half) -> None:
        """Lines 4 and 5."""
        gradients, hessians = self.train.base.derivatives(half.scores)
        counts = None if self.even else self.train.weights
        if self.link.learns and half.power > 0:
            weights = self.link.weights(self.train.base, self.doubted.f, self.deviation.scores[:, :, 0], half.power)
            if not self.printed:
                weights = weights / np.einsum("kn,kn->k", weights, half.deal.inside)[:, None]
            half.weights = weights
            counts = half.weights * self.train.weights
        if self.printed and self._numbers:  # the loss is (y - f)^2 there, not its half
            counts = 2.0 * (np.ones_like(self.train.weights) if counts is None else counts)
        grown = self._grown(half, gradients, hessians, counts, "l2")
        if not (self._numbers or self.printed):
            np.clip(grown.values, -LEAF_LIMIT, LEAF_LIMIT, out=grown.values)
        half.add(grown, self.held_out)

    def _deviation_gradients(self) -> Pair:
        """Line 6."""
        return self.link.deviation(self.train.base, self.doubted.f, self.deviation.scores[:, :, 0])

    def _grow_deviations(self, gradients: NDArray, hessians: NDArray | None) -> None:
        """Line 7."""
        counts, deeper = None if self.even else self.train.weights, None if hessians is None else hessians[:, :, None]
        grown = self._grown(self.deviation, gradients[:, :, None], deeper, counts, "deviation_l2")
        grown.values[...] = self.link.leaf(grown.values)
        self.deviation.add(grown, self.held_out)

    def _grown(self, half: Half, gradients: NDArray, hessians: Any, counts: Any, penalty: str) -> Any:
        """Grow a tree of each member; hessians of None are 1, counts (n,) or (M, n) of None too."""
        if counts is not None:
            counts = np.broadcast_to(counts, gradients.shape[:2])[:, :, None]
            gradients, hessians = gradients * counts, counts if hessians is None else hessians * counts
        elif hessians is None:
            hessians = gradients[:, :, :0]
        grown = half.grow(gradients, hessians, self.train, self.mapper.n_bins, self.rules[penalty])
        if self.printed:
            set_leaves(grown, gradients, hessians, self.rules[penalty].limits.l2)
        return grown

    def _judge(self) -> bool:
        """Line 8: forests of numbers or of rows that count alike by their own loss, the rest by the likelihood."""
        self._look()
        patience = self.params["patience"] if self.n_members > 1 else None
        nll = self.nll(self.doubted, self.train, self.scale(self.doubted))
        back = [half.judge(self.done, self._label_loss(half, nll), patience) for half in self.labels]
        if any([*back, self.deviation.judge(self.done, nll, patience)]):
            self._look()
        return not any(half.open for half in (*self.labels, self.deviation))

    @property
    def _numbers(self) -> bool:
        return isinstance(self.train.base, Numbers)

    def _label_loss(self, half: Half, nll: float) -> float:
        own = self._numbers or half.power == 0 or not self.link.learns
        return self.mean(self.train.base.loss(half.judged()), self.train) if own else nll

    def finish(self) -> Judged:
        """Go back to the best rounds of every half; returns the scores of each row by who has not seen it."""
        for half in (*self.labels, self.deviation):
            half.restore()
        self._look()
        return self.judged

    def row_weights(self) -> NDArray[np.float64]:
        """Return how much each row (n,) counts, mean 1: the mean over the members and, by share, the label forests."""
        each = [(half.weights / half.weights.mean(axis=1, keepdims=True)).mean(axis=0) for half in self.labels]
        return self._mixed(each)

    def mean(self, values: NDArray, sample: Sample) -> float:
        """Return the weighted mean of one value (n,) a row."""
        return float(sample.weights @ values) / float(sample.weights.sum())

    def scale(self, judged: Judged) -> float:
        """Return the factor of the variance by the residuals of left-out rows; for classes, of the share drawn blindly.

        A forest that counts all rows alike speaks of labels as they are recorded: blind draws are in it already.
        """
        if not self._numbers:
            return self.shares[-1] if judged is not self.doubted else 1.0
        squares = (self.train.base.y - judged.f[:, 0]) ** 2
        return max(self.link.scale(squares, judged.d, self.train.weights), 1e-12)

    def nll(self, scores: Judged, sample: Sample, scale: float) -> float:
        """Return the mean negative log likelihood of labels, of standardised numbers or of classes."""
        if self._numbers:
            q = np.log(scale) + self.link.log_variance(scores.d)
            rows = 0.5 * (q + 2.0 * sample.base.loss(scores.f) * np.exp(-q) + np.log(2.0 * np.pi))
        else:
            share = scale * self.link.share(scores.d)
            mixture = (1.0 - share) * sample.base.seen(scores.f) + share / sample.base.n_classes
            rows = -np.log(np.maximum(mixture, 1e-12))
        return self.mean(rows, sample)

    def sets(self) -> dict[str, tuple[Judged, Sample]]:
        """Return the scores and rows that a round is reported on, by name."""
        each = self._mixed([half.seen() for half in self.labels])
        sets = {"train": (Judged(each, self.deviation.seen()[:, 0]), self.train)}
        if self.n_members > 1:
            sets["left_out"] = (self.judged, self.train)
        if self.held_out is not None:
            later = Judged(self._mixed([half.later for half in self.labels]), self.deviation.later[:, 0])
            sets["held_out"] = (later, self.held_out)
        return sets
