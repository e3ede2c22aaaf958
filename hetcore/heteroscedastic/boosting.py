r"""The rounds of heteroscedastic boosting: label forests and a deviation forest, each its own trees on shared bins.

    1  part the rows into `folds` parts, twice; member k learns from all parts but k      (folds = 1: from all rows)
    2  f_k <- the constant of least loss; d_k <- the constant of the link
    3  for t = 1..N, for each member k:
    4      w <- the rows' weights under d_k                                              instance weights
    5      f_k <- f_k + learning_rate * tree of (23), (24) on the gradient of w L(f_k, y)
    6    r <- what members that have not seen a row say of it                             left-out scores
    7    for each member k: d_k <- d_k + deviation_rate * tree on the gradient of the loss of r by d_k
    8  each forest ends, and goes back, when left-out rows have liked it no better for `patience` rounds
    9  the model is the mean of the members

With a `tail`, whatever follows labels (the start, lines, trees, shares, ends) counts rows by their own residual too,
as those say that have not seen them; the deviation does not, for strays are in what it tells.

There are two label forests (`blend`): one of the first folds, whose rows all count alike (plain boosting, to the last
bit), and one of the second folds, whose rows count by w. The share of each is `mixed_share`. The
deviation is of the second folds. Of numbers a third one, of folds of its own, starts from a line (`linear_model`); its
share is `likeliest_share`.

Line 6 is what makes sigma honest: residuals of rows that a model was trained on are too small, and the deviation would
learn how well trees remember. Constant deviation leaves lines 4, 6 and 7 out: every member is then least squares
boosting (or logistic boosting) of its rows, in one set of folds.

(23): a leaf is -G / (H + lambda). (24): a split gains [G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda)
- G^2 / (H + lambda)] / 2 - gamma; as printed it has the sign of a loss and adds gamma.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.heteroscedastic.forest_ensemble import (
    CVFolds,
    ForestEnsemble,
    Sample,
    Scores,
    TreeRules,
    likeliest_share,
    mixed_share,
    set_leaves,
)
from hetcore.heteroscedastic.likelihoods import StudentRows
from hetcore.heteroscedastic.objectives import Labels, Link, Numbers, Pair
from hetcore.kernels.threads import n_threads, run_each
from hetcore.linear_model import LinearModel, predicted_by_each
from hetcore.trees import BinMapper, TreeParams

__all__ = ["Z90", "Rounds"]

LINES = 5  # fits of a line with a tail, each by the trust that the one before has in rows
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
        # two rows a fold at least; of two or three rows too each needs a member that has not seen it
        self.n_members = min(params["folds"], max(n // 2, min(n, 2)))
        # rows that count alike need no multiplication by their weights, and give the bits of plain boosting
        self.even = bool((train.weights == 1.0).all())
        self.printed = params["as_printed"]
        self.rules = {"l2": self._rules("l2", 1.0), "deviation_l2": self._rules("deviation_l2", link.unit)}
        self.tail = StudentRows(params["tail"]) if params.get("tail") and not self.printed else None
        self.trust = np.ones(n)  # of each row, by its own residual: 1 without a tail
        self._start_halves()
        self.share, self.line_share, self.done = 0.0, 0.0, 0
        self._look()

    def _rules(self, penalty: str, unit: float) -> TreeRules:
        p = self.params
        sizes = p["max_depth"], p["max_leaf_nodes"], p["min_samples_leaf"]
        if penalty == "deviation_l2" and not p["as_printed"]:  # a spread asks for more rows than a mean
            most = MOST_DEVIATION_LEAVES if sizes[1] < 0 else min(sizes[1], MOST_DEVIATION_LEAVES)
            sizes = sizes[0], most, max(sizes[2], LEAST_DEVIATION_ROWS)
        # a penalty for each row is in the gradient already
        l2 = 0.0 if penalty == "deviation_l2" and self.link.row_penalty else p[penalty] / unit
        limits = TreeParams(*sizes, 0.0, l2, 2.0 * p["min_gain"] / unit)
        return TreeRules(limits, p["subsample"], p["column_sample"], n_threads(p["n_jobs"]))

    def _start_halves(self) -> None:
        """Lines 1 and 2."""
        p, link, base = self.params, self.link, self.train.base
        strata = base.codes if isinstance(base, Labels) else None
        # nothing to blend where rows count alike anyway
        blending = p["blend"] and self.n_members > 1 and link.learns and link.power > 0
        powers = (0.0, link.power) if blending else (link.power,)
        # folds of their own for each label forest, so that the two err in different places
        partitions = [CVFolds.of(self.train.weights.size, strata, self.n_members, self.rng) for _ in powers]
        n_validation = None if self.held_out is None else self.held_out.weights.size
        if self.tail is not None:
            squares = (base.y - np.median(base.y)) ** 2
            self.first_scale = self.tail.scale(squares, self.train.weights)
            self._judge_rows(squares)
        self.first = base.start(self.train.weights * self.trust) * (not self.printed)  # (17) is a sum from nothing
        given = n_validation, p["learning_rate"]
        streams = self.rng.spawn(4)  # so that no forest's samples hang on how many others there are
        self.labels = [ForestEnsemble.start(self.first, each, *given, power) for each, power in zip(partitions, powers)]
        self.deviation = ForestEnsemble.start(
            np.array([link.start]), partitions[-1], n_validation, p["deviation_rate"], 0.0
        )
        for ensemble, stream in zip((self.deviation, *self.labels), streams):
            ensemble.rng = stream
        # a constant deviation grows no tree
        self.deviation.open = link.learns
        # classes have no such parameter
        sloped = self.n_members > 1 and p.get("start", "constant") == "linear"
        self.line = self._start_line(given, streams[3]) if sloped else None

    def _start_line(self, given: tuple[int | None, float], stream: np.random.Generator) -> LinearModel | None:
        """Let one more label forest start from a line, if it comes closer to left-out rows than the constant."""
        train = self.train
        folds = CVFolds.of(train.weights.size, None, self.n_members, self.rng)
        n_jobs = self.rules["l2"].n_jobs
        for _ in range(1 if self.tail is None else LINES):
            missed, counts = (train.base.y - self.first)[:, None], train.weights * self.trust
            lines = LinearModel.fit(train.X, missed, folds.rows, counts, n_jobs)
            if lines is None:
                return None
            ensemble = ForestEnsemble.start(self.first, folds, *given, 0.0)
            ensemble.scores += predicted_by_each(lines, train.X, n_jobs)
            squares = (train.base.y - ensemble.out_of_fold()[:, 0]) ** 2
            self._judge_rows(squares)
        line = LinearModel.mean(lines)
        self.line_error = self.mean(squares, train)
        ensemble.rng = stream
        if self.held_out is not None:
            ensemble.validation += line.predict(self.held_out.X)
        self.labels.append(ensemble)
        return line

    def _judge_rows(self, squares: NDArray) -> None:
        """With a tail, let rows count by their own squared residuals (n,), of members that have not seen them."""
        if self.tail is not None:
            self.trust = self.tail.trust(squares, self.train.weights)

    @property
    def plain(self) -> list[ForestEnsemble]:
        """The label forests that start from the constant."""
        return self.labels if self.line is None else self.labels[:-1]

    @property
    def shares(self) -> list[float]:
        """Share of each label forest."""
        plain = self.plain_shares
        return plain if self.line is None else [*((1.0 - self.line_share) * each for each in plain), self.line_share]

    @property
    def plain_shares(self) -> list[float]:
        """Share of each that starts from the constant, in what these say together."""
        return [1.0] if len(self.plain) == 1 else [1.0 - self.share, self.share]

    def _mixed(self, each: list[NDArray]) -> NDArray:
        return each[0] if len(each) == 1 else sum(share * f for share, f in zip(self.shares, each))

    def _look(self) -> None:
        """Ask the members that have not seen a row for its scores, and mix the label forests by them."""
        self._each_label = each = [ensemble.out_of_fold() for ensemble in self.labels]
        plain = each[: len(self.plain)]
        if len(plain) == 2:
            target, curves = self.train.base.working(plain[0])
            # near the first forest's scores the loss is a weighted squared distance, whose best mix is closed
            self.share = mixed_share(*plain, target, (self.train.weights * self.trust)[:, None] * curves)
        if self.line is not None:
            self.line_share = 0.0
            mixed = self._mixed(each)[:, 0]
            # as the labels' trees count rows: a line may be far off where labels hardly stray
            spread = self.link.power * self.link.log_variance(self.deviation.out_of_fold()[:, 0])
            weights = self.train.weights * self.trust * np.exp(-spread)
            missed, even = self.train.base.y - mixed, 1.0 / len(each)
            self.line_share = likeliest_share(mixed, each[-1][:, 0], missed, weights, even)
        self._say(self._mixed(each))

    def _say(self, mixed: NDArray) -> None:
        """Note what is said of rows not seen: the label forests' mix, and the deviation."""
        each = self._each_label
        self.out_of_fold = Scores(mixed, self.deviation.out_of_fold()[:, 0])
        # weights and deviations are of the forest that counts rows by trust, not of the mix
        self.labels_out_of_fold = self.out_of_fold if self._numbers else Scores(each[-1], self.out_of_fold.d)

    def round(self) -> bool:
        """Lines 3 to 8; returns whether no forest has come closer to left-out rows for `patience` rounds."""
        before = self._deviation_gradients() if self.printed else None  # (20) is taken where both trees are nothing
        # neither looks at what the other says in this round; weighted rows take the longest, and so come first: what
        # is left of them at the end the other threads do
        growing = [partial(self._grow_labels, ensemble) for ensemble in self.labels[::-1] if ensemble.open]
        if self.deviation.open:
            growing.append(partial(self.deviation.draw_ahead, self.rules["deviation_l2"]))
        run_each(lambda grow: grow(), growing, self.rules["l2"].n_jobs)
        self._look()
        if self.deviation.open:
            self._grow_deviations(*(before or self._deviation_gradients()))
        if self.tail is not None:
            self._judge_rows((self.train.base.y - self.out_of_fold.f[:, 0]) ** 2)
        self.done += 1
        return self._judge()

    def _grow_labels(self, ensemble: ForestEnsemble) -> None:
        """Lines 4 and 5."""
        gradients, hessians = self.train.base.derivatives(ensemble.scores)
        counts = None if self.even and self.tail is None else self.train.weights * self.trust
        if self.link.learns and ensemble.power > 0:
            weights = self.link.weights(
                self.train.base, self.labels_out_of_fold.f, self.deviation.scores[:, :, 0], ensemble.power
            )
            if not self.printed:
                # relative to the rows that a member sees, so that l2 means the same whatever the deviations
                weights = weights / np.einsum("kn,kn->k", weights, ensemble.folds.inside)[:, None]
            ensemble.weights = weights
            counts = ensemble.weights * self.train.weights * self.trust
        if self.printed and self._numbers:  # the loss is (y - f)^2 there, not its half
            counts = 2.0 * (np.ones_like(self.train.weights) if counts is None else counts)
        grown = self._grown(ensemble, gradients, hessians, counts, "l2")
        # a leaf of one sure class has hardly a curvature, and its Newton step no bound
        if not (self._numbers or self.printed):
            np.clip(grown.values, -LEAF_LIMIT, LEAF_LIMIT, out=grown.values)
        ensemble.add(grown, self.held_out)

    def _deviation_gradients(self) -> Pair:
        """Line 6; member by member with threads, which gives the same numbers, for they are each row's alone."""
        base, seen = self.train.base, self.labels_out_of_fold.f
        scores, n_jobs = self.deviation.scores[:, :, 0], self.rules["l2"].n_jobs
        if n_jobs == 1:
            return self.link.deviation(base, seen, scores)
        each = run_each(lambda d: self.link.deviation(base, seen, d), list(scores), n_jobs)
        gradients, hessians = zip(*each)
        return np.stack(gradients), None if hessians[0] is None else np.stack(hessians)

    def _grow_deviations(self, gradients: NDArray, hessians: NDArray | None) -> None:
        """Line 7."""
        counts, deeper = None if self.even else self.train.weights, None if hessians is None else hessians[:, :, None]
        grown = self._grown(self.deviation, gradients[:, :, None], deeper, counts, "deviation_l2")
        grown.values[...] = self.link.leaf(grown.values)
        self.deviation.add(grown, self.held_out)

    def _grown(self, ensemble: ForestEnsemble, gradients: NDArray, hessians: Any, counts: Any, penalty: str) -> Any:
        """Grow a tree of each member; hessians of None are 1, counts (n,) or (M, n) of None too."""
        if counts is not None:
            # one count a row, whatever the number of outputs
            counts = np.broadcast_to(counts, gradients.shape[:2])[:, :, None]
            gradients, hessians = gradients * counts, counts if hessians is None else hessians * counts
        elif hessians is None:
            # no hessians: the kernels take each as 1
            hessians = gradients[:, :, :0]
        grown = ensemble.grow(gradients, hessians, self.train, self.mapper.n_bins, self.rules[penalty])
        if self.printed:
            # as printed to the letter: leaves of the float64 sums
            set_leaves(grown, gradients, hessians, self.rules[penalty].limits.l2)
        return grown

    def _judge(self) -> bool:
        """Line 8: forests of numbers or of rows that count alike by their own loss, the rest by the likelihood."""
        if self.line is None:
            self._say(self.out_of_fold.f)
        else:
            self._look()  # its share follows the deviation
        # one member alone has no left-out rows to be patient by
        patience = self.params["patience"] if self.n_members > 1 else None
        nll = self.nll(self.labels_out_of_fold, self.train, self.scale(self.labels_out_of_fold))
        back = [
            ensemble.check_patience(self.done, self._label_loss(ensemble, scores, nll), patience)
            for ensemble, scores in zip(self.labels, self._each_label)
        ]
        # a list, for each forest must keep or go back; and a forest that went back changes the mix
        if any([*back, self.deviation.check_patience(self.done, nll, patience)]):
            self._look()
        return not any(ensemble.open for ensemble in (*self.labels, self.deviation))

    @property
    def _numbers(self) -> bool:
        return isinstance(self.train.base, Numbers)

    def _label_loss(self, ensemble: ForestEnsemble, scores: NDArray, nll: float) -> float:
        own = self._numbers or ensemble.power == 0 or not self.link.learns
        if self.tail is not None:
            return self.mean(self.tail.loss((self.train.base.y - scores[:, 0]) ** 2, self.first_scale), self.train)
        return self.mean(self.train.base.loss(scores), self.train) if own else nll

    def finish(self) -> Scores:
        """Go back to the best rounds of every forest; returns the scores of each row by who has not seen it."""
        for ensemble in (*self.labels, self.deviation):
            ensemble.restore()
        self._look()
        return self.out_of_fold

    def disagreement(self) -> NDArray[np.float64]:
        """Return half the squared difference (n,) of the members, one of each label forest, that have not seen a row.

        It is the variance of one around what all have in common. Zeros where there is one label forest from a constant.
        """
        return 0.5 * self.difference() ** 2

    def difference(self) -> NDArray[np.float64]:
        """Return the difference (n,) of the members, one of each label forest, that have not seen a row, else zeros."""
        if len(self.plain) == 1 or not self._numbers:
            return np.zeros(self.train.weights.size)
        first, second = (ensemble.out_of_fold()[:, 0] for ensemble in self.plain)
        return first - second

    def members_variance(self) -> NDArray[np.float64]:
        """Return what the mean of all members lacks of the variance (n,) of those that have not seen a row.

        One member of each label forest has not seen it; of the variance of M members a Mth part is left.
        """
        # the difference of two label forests is twice the variance of one, by the chance of folds
        shares = self.shares[: len(self.plain)]
        apart = sum(share**2 for share in shares) * (1.0 - 1.0 / self.n_members) * self.disagreement()
        if self.line is None:
            return apart
        return apart + self.line_share**2 * (1.0 - 1.0 / self.n_members) * self._line_variance()

    def _line_variance(self) -> NDArray[np.float64]:
        """Return the variance (n,) of a member that starts from a line, of whose forest there is no second deal.

        A line hardly varies, its trees do as the other forests': of the part of the line's squared error that they took
        away, what is left is the members' own in the same part as of the others' squared error.
        """
        *others, missed = ((self.train.base.y - scores[:, 0]) ** 2 for scores in self._each_label)
        error = sum(self.mean(each, self.train) for each in others) / len(others)
        if error <= 0 or self.line_error <= 0:
            return np.zeros_like(missed)
        own = self.mean(self.disagreement(), self.train) / error
        return own * max(1.0 - self.mean(missed, self.train) / self.line_error, 0.0) * missed

    def row_weights(self) -> NDArray[np.float64]:
        """Return how much each row (n,) counts, mean 1: the mean over the members and, by share, the label forests."""
        each = [
            (ensemble.weights / ensemble.weights.mean(axis=1, keepdims=True)).mean(axis=0) for ensemble in self.labels
        ]
        weights = self._mixed(each)
        return weights if self.tail is None else weights * self.trust / np.mean(weights * self.trust)

    def mean(self, values: NDArray, sample: Sample) -> float:
        """Return the weighted mean of one value (n,) a row."""
        return float(sample.weights @ values) / float(sample.weights.sum())

    def scale(self, out_of_fold: Scores) -> float:
        """Return the factor of the variance by the residuals of left-out rows; for classes, of the share drawn blindly.

        A forest that counts all rows alike speaks of labels as they are recorded: blind draws are in it already.
        """
        if not self._numbers:
            # of classes, the blended forest's share of blind labels counts by its share
            return self.shares[-1] if out_of_fold is not self.labels_out_of_fold else 1.0
        y = self.train.base.y
        squares = (y - out_of_fold.f[:, 0]) ** 2
        # a perfect fit has no spread left, and its logarithm would be minus infinity; labels may have any unit
        return max(self.link.scale(squares, out_of_fold.d, self.train.weights), 1e-12 * (float(np.var(y)) or 1.0))

    def nll(self, scores: Scores, sample: Sample, scale: float) -> float:
        """Return the mean negative log likelihood of labels, of standardised numbers or of classes."""
        if self._numbers:
            q = np.log(scale) + self.link.log_variance(scores.d)
            rows = 0.5 * (q + 2.0 * sample.base.loss(scores.f) * np.exp(-q) + np.log(2.0 * np.pi))
        else:
            share = scale * self.link.share(scores.d)
            mixture = (1.0 - share) * sample.base.seen(scores.f) + share / sample.base.n_classes
            # a probability of 0 would end the curve
            rows = -np.log(np.maximum(mixture, 1e-12))
        return self.mean(rows, sample)

    def sets(self) -> dict[str, tuple[Scores, Sample]]:
        """Return the scores and rows that a round is reported on, by name."""
        each = self._mixed([ensemble.seen() for ensemble in self.labels])
        sets = {"train": (Scores(each, self.deviation.seen()[:, 0]), self.train)}
        if self.n_members > 1:
            sets["left_out"] = (self.out_of_fold, self.train)
        if self.held_out is not None:
            validation = Scores(
                self._mixed([ensemble.validation for ensemble in self.labels]), self.deviation.validation[:, 0]
            )
            sets["held_out"] = (validation, self.held_out)
        return sets
