"""The learners of a view: boosted in rounds, on each fold's rest of the labelled rows, watched by the fold left out.

A learner holds one view's columns and answers in arrays over its rows, so that it may live in this process or on a
worker of a cluster. Each has a member for each fold, fitted to the labels of the other folds. A labelled row is scored
by the member that did not see it, any other row by the mean of all members. A learner's scores are those of its best
round: the one with the lowest loss of the labelled rows, so scored.

- Trees: five trees a member and round (two of more than two classes, of longer steps) on a share of the rows, oblivious
  ones on 2,000 at most, leaves by a Newton step.
  The first rounds take longer steps, so that a view shows early how far it gets.
- Smooth: ridge steps, see `hetcore.consensus.smooth_learner`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper, varying_columns
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.recall import MEMORY, key_of
from hetcore.consensus.table_views import TableView, Unseen, View
from hetcore.forest import Forest
from hetcore.kernels.members import farthest
from hetcore.kernels.threads import run_each
from hetcore.members import MemberGrower, ObliviousGrower, TreeDraws, joined
from hetcore.numerics import fits_double, product, row_blocks
from hetcore.trees import TreeParams

__all__ = ["Advanced", "BoostRule", "TreeLearner", "ViewContent", "ViewLearner", "ViewState"]

TREES = 5  # of a member in a round; of more than two classes fewer
TREES_OF_CLASSES, STEP_OF_CLASSES = 2, 1.5  # and their step, in learning rates
MOST_ROWS = 2_000  # of an oblivious tree, which takes several times as long on a row as another one
MOST_COLUMNS = 120  # of a tree; of more than two classes fewer
MOST_COLUMNS_OF_CLASSES = 30
SHALLOW_CELLS = 300_000  # labelled rows times columns up to which shallow trees see all columns
ROOTS = 2.0  # times the root of the columns, which a tree gets at least where there are very many
SHARED = 1_000_000  # labels x columns; below it handing trees to threads costs more than it brings
LEAF_LIMIT = 4.0  # largest Newton step of a class score
LONGER, LONGER_OF_CLASSES = 2.7, 5.3  # how much longer a tree's step is in the first round
LONGER_FALL = 0.75  # from round to round
DIVERGED = 1e6  # score beyond which a learner, whose steps are too long, stays where it is
HORIZON = 40  # rounds that a view is given to catch up
# rounds without a lower loss after which a learner rests
PATIENCE = {
    "trees": 4, "shallow trees": 4, "oblivious trees": 4, "deep trees": 4, "kernel": 3, "linear": 3, "ARD kernel": 3,
}  # fmt: skip
LITTLE_OF_VIEW = 0.001  # share by which a view's loss must fall within its patience


class BoostRule(NamedTuple):
    """How the learners of a fit are boosted; the parameters of the estimator of the same names.

    With `n_jobs` threads a view's members grow their trees side by side, with the same bits.
    """

    outputs: Outputs
    n_folds: int
    learning_rate: float
    limits: TreeParams
    subsample: float
    column_sample: float
    lambda0: float
    n_jobs: int = 1


class ViewContent(NamedTuple):
    """What a learner is made from.

    Attributes
    ----------
    X : (m, d) array or TableView
    codes : (m, k) float64
        Targets of the labelled rows.
    fold : (m,) int64
        -1 for unlabelled rows.
    learner : str
    seed : int
    rule : BoostRule
    pulled : (u,) int64
        Unlabelled rows that the consensus pulls.
    key, columns_key : str
        Digests of all this, and of what has to do with the columns alone, by which it is recalled; "" if it is not.
    unseen : Unseen, optional
        What members learn from in the place of columns of the labelled rows of X.
    """

    X: NDArray | TableView
    codes: NDArray[np.float64]
    fold: NDArray[np.int64]
    learner: str
    seed: int
    rule: BoostRule
    pulled: NDArray[np.int64]
    key: str = ""
    columns_key: str = ""
    unseen: Unseen | None = None


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


@dataclass
class ViewState:
    """What a fit knows of one view.

    Attributes
    ----------
    view : View
    rows : (m,) int64
    name : str
    losses : list of float
        By round.
    best : int
        Best round so far.
    scores, trained : (n, k) float64
        What the view says in its best round; labelled rows by the member that did not see them, or by all members.
    covers : (n,) bool
    settled : bool
    learner, number
        As an executor uses them.
    """

    view: View
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    trained: NDArray[np.float64]
    covers: NDArray[np.bool_]
    losses: list[float] = field(default_factory=list)
    best: int = -1
    settled: bool = False
    learner: Any = None
    number: int = -1

    @property
    def name(self) -> str:
        """The view's name."""
        return self.view.name

    def take(self, advanced: Advanced, labelled: NDArray[np.bool_]) -> bool:
        """Note what the learner said after a round; return whether that is another than before."""
        self.losses.append(advanced.loss)
        self.best = advanced.best
        if advanced.scores is not None:
            self.scores[self.rows] = self.trained[self.rows] = advanced.scores
            self.trained[self.rows[labelled[self.rows]]] = advanced.trained
        return advanced.scores is not None

    def settle(self, limit: float) -> None:
        """Rest once the loss no longer falls, or won't come down to a limit any more."""
        t = len(self.losses) - 1
        patience = PATIENCE[self.view.learner]
        if t >= patience:
            self.settled = min(self.losses[-patience:]) > (1.0 - LITTLE_OF_VIEW) * min(self.losses[:-patience])
        if t >= 2 and t % 2 == 0:
            self.settled |= self.losses[-1] - self._fall(t) > limit

    def _fall(self, t: int) -> float:
        """Return how much the loss still falls up to the horizon, if its falls go on shrinking as they do now."""
        step = 2 if t >= 4 else 1
        before, now = self.losses[-1 - 2 * step] - self.losses[-1 - step], self.losses[-1 - step] - self.losses[-1]
        if now <= 0:
            return 0.0
        shrinks = min(1.0, np.sqrt(now / before)) if before > 0 else 1.0  # the root: in doubt a view goes on
        return now * float((shrinks ** np.arange(1, 1 + max(0, HORIZON - t) // step)).sum())


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
        self.rule, self.codes, self.fold, self.pulled = content.rule, content.codes, content.fold, content.pulled
        self.outputs, self.pulls = self.rule.outputs, self.rule.lambda0 > 0
        self.own = np.flatnonzero(self.fold >= 0)
        self.others = np.flatnonzero(self.fold < 0)
        self.smoothed_codes = self.outputs.label_smoothed(self.codes[self.own])
        folds = self.fold[self.own]
        # each fold's member learns from all the others; by place among the labelled rows
        self.training = [np.flatnonzero(folds != k).astype(np.int32) for k in range(self.rule.n_folds)]
        self._taught = all(rows.size > 1 for rows in self.training)
        self.round, self.best, self.lowest = 0, -1, np.inf
        self._prepare(content)
        self._remember()

    def advance(self, t: int, pull: NDArray[np.float64] | None = None) -> Advanced:
        """Do round t and tell what came of it.

        Parameters
        ----------
        t : int
        pull : (F, u, k) float64, optional
            Where lambda0 is above 0: what the consensus of each fold's members says of the pulled rows.
        """
        if self._able:
            self._step(pull)
        predicted = self._of_labelled()
        left_out = self._left_out(predicted)
        loss, better = self._scored(t, left_out)
        # not better: nothing to send, which on a cluster would be most of the traffic
        if not better:
            return Advanced(loss, self.best, None, None)
        self._remember()
        return self._advanced(loss, left_out, self._mean_of_others(), self._mean_of_members(predicted))

    def _left_out(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is said of each labelled row (l, k) by the member that did not see it."""
        return predicted[self.fold[self.own], np.arange(self.own.size)]

    def _scored(self, t: int, left_out: NDArray[np.float64]) -> tuple[float, bool]:
        """Count round t; return its loss, and whether it is the best so far."""
        # counted even if it could not step, as rounds are the fit's
        self.round = t + 1
        loss = float(self.outputs.loss(left_out, self.smoothed_codes).mean()) if self.own.size else np.inf
        better = not (loss >= self.lowest and self.best >= 0)
        if better:
            self.best, self.lowest = t, loss
        return loss, better

    def _advanced(self, loss: float, left_out: NDArray, others: NDArray, trained: NDArray) -> Advanced:
        """Return what the learner says after its best round, of labelled and of other rows."""
        scores = np.empty((len(self.fold), self.outputs.k))
        scores[self.own], scores[self.others] = left_out, others
        return Advanced(loss, self.best, scores, trained)

    @property
    def _able(self) -> bool:
        # a member without two rows has no fold to learn from; one that diverged stays where it is
        return self._taught and self._far() < DIVERGED

    def _far(self) -> float:
        """Return the largest absolute score of a labelled row."""
        predicted = self._of_labelled()
        return float(max(predicted.max(initial=0.0), -predicted.min(initial=0.0)))

    def _pulled_weight(self) -> float:
        """Return the weight of a pulled row where a label's is 1.

        All together weigh lambda0 : 1; fewer unlabelled rows than labels weigh lambda0 each.
        """
        # few unlabelled rows must not weigh as much as all labels
        return self.rule.lambda0 * min(self.own.size, self.others.size) / max(1, self.pulled.size)

    def members(self) -> NDArray[np.float64]:
        """Return what each member says of the unlabelled rows (F, m_u, k) in the best round."""
        raise NotImplementedError

    def pulled_members(self) -> NDArray[np.float64]:
        """Return what each member says of the pulled rows (F, u, k) in the best round."""
        raise NotImplementedError

    def _of_labelled(self) -> NDArray[np.float64]:
        """Return what each member says of the labelled rows now, (F, l, k)."""
        raise NotImplementedError

    def _mean_of_others(self) -> NDArray[np.float64]:
        """Return the members' mean of the unlabelled rows now, (m_u, k)."""
        raise NotImplementedError

    def _mean_of_members(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean (m, k) of what members say (F, m, k)."""
        return predicted.mean(axis=0)

    def _remember(self) -> None:
        """Keep what the best round needs."""
        raise NotImplementedError

    def _prepare(self, content: ViewContent) -> None:
        raise NotImplementedError

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        raise NotImplementedError

    def keep(self) -> dict[str, NDArray]:
        """Return the arrays that predict as in the best round."""
        raise NotImplementedError


class Drawn(NamedTuple):
    """Rows and columns of the trees of a round, and where the stream of draws is after them."""

    rows: NDArray[np.int32]
    sizes: NDArray[np.int64]
    columns: NDArray[np.int32]
    state: Any


class TreeLearner(ViewLearner):
    """Boosted trees."""

    def _prepare(self, content: ViewContent) -> None:
        self._begin(content)
        # of the columns alone: another lambda0 leaves them as they are
        self.mapper, binned = MEMORY.recalled("bins", content.columns_key, lambda: _binned(content.X))
        self.varying = varying_columns(binned, self.mapper.n_bins)
        binned = self._arranged(binned, content.unseen)
        # nothing pulls in the first round: with another lambda0 it is the same
        alike = self.rule._replace(outputs=self.outputs.is_classifier, n_jobs=1, lambda0=0.0)
        shared = content.columns_key and self.pulled.size
        learned = self.outputs.prior, self.pulled, self.fold, self.codes
        key = content.columns_key, content.learner, content.seed, alike, *learned
        self.first_key = key_of(*key) if shared else ""
        jobs = self.rule.n_jobs if self.own.size * self.varying.size >= SHARED else 1
        kind = ObliviousGrower if self.oblivious else MemberGrower
        self.grower = kind(np.ascontiguousarray(binned), self.mapper.n_bins, self.shape, self.rule.limits, jobs)
        self.shares, self.ahead, self.draws = jobs > 1, None, self._draws()

    def _begin(self, content: ViewContent) -> None:
        """Take what does not depend on the columns."""
        self.rng, self.beside = np.random.default_rng(content.seed), np.random.default_rng(0)
        self.shallow, self.oblivious = (content.learner == f"{kind} trees" for kind in ("shallow", "oblivious"))
        self.shape = (self.outputs.k, self.outputs.k if self.outputs.is_classifier else 0)
        self.n_trees = TREES_OF_CLASSES if self.outputs.k > 1 else TREES
        # a leaf of one sure class has hardly a curvature, and its Newton step no bound
        self.limit = LEAF_LIMIT if self.outputs.is_classifier else np.inf
        self.trees: list[tuple[NDArray, ...]] = []  # nodes, values and sizes of a round's
        self.rates: list[float] = []

    def _arranged(self, binned: NDArray[np.uint8], unseen: Unseen | None = None) -> NDArray[np.uint8]:
        """Return bins (d, m) in the learner's order of rows, and take labels and scores in that order."""
        own = self.own.size
        # labelled rows first, then pulled ones: what a tree is grown on lies together, and is read without picking
        rest = np.setdiff1d(self.others, self.pulled, assume_unique=True)
        self.order = np.concatenate([self.own, self.pulled, rest])
        self.spots = np.argsort(self.order)[self.others] - own
        self.targets, binned = np.ascontiguousarray(self.codes[self.own]), np.take(binned, self.order, axis=1)
        if unseen is not None:
            # between the labelled and the pulled ones
            more = np.concatenate(self.training)
            self.targets = np.concatenate([self.targets, self.targets[more]])
            # other columns are what they are for all: their bins are known
            places, hidden = unseen.places, np.take(binned, more, axis=1)
            hidden[places] = self.mapper.of_columns(places).transform(unseen.values)
            binned = np.concatenate([binned[:, :own], hidden, binned[:, own:]], axis=1)
            ends = own + np.cumsum([part.size for part in self.training])
            self.training = [np.arange(end - part.size, end, dtype=np.int32) for end, part in zip(ends, self.training)]
        head = len(self.targets)
        self.scores = np.tile(self.outputs.prior, (self.rule.n_folds, binned.shape[1], 1))
        self.among = np.arange(head, head + self.pulled.size, dtype=np.int32)
        return binned

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        if self.round or pull is not None:
            self._boost(pull)
            return
        scores, trees, drawn_so_far = MEMORY.recalled("first round", self.first_key, self._first_round)
        # copied: the rounds that follow write into the scores
        self.scores, self.trees, self.rates = scores.copy(), [trees], [self._rate()]
        self.rng.bit_generator.state = drawn_so_far

    def _first_round(self) -> tuple[NDArray[np.float64], tuple[NDArray, ...], Any]:
        self._boost(None)
        return self.scores, self.trees[0], self.rng.bit_generator.state

    def _rate(self) -> float:
        longer, step = (LONGER_OF_CLASSES, STEP_OF_CLASSES) if self.outputs.k > 1 else (LONGER, 1.0)
        # longer at first: a view shows early how far it gets, and the end is as fine as the learning rate says
        return self.rule.learning_rate * step * max(1.0, longer * LONGER_FALL**self.round)

    def _boost(self, pull: NDArray[np.float64] | None) -> None:
        members, head, k, rate = len(self.training), len(self.targets), self.outputs.k, self._rate()
        n_trees = self.n_trees
        pull = np.ascontiguousarray(np.empty((members, 0, k)) if pull is None else pull)
        self._use_drawn(n_trees, pull.shape[1] > 0)
        # of the rows that a tree is grown on alone: the others are never touched, and cost nothing
        gradients = np.empty((members, head + pull.shape[1], k), np.float32)
        hessians = np.empty((*gradients.shape[:2], self.shape[1]), np.float32)
        learned = self.scores, self.targets, pull, self._weight, rate, self.limit
        slopes, grown = (gradients, hessians, np.empty((members, k))), self.grower.empty(members, n_trees)
        rounds = 0, n_trees, n_trees

        def ahead() -> None:
            # pulled from the second round on; drawn while others grow, for nothing else can be done meanwhile
            shares = self.pulls and self.pulled.size > 0
            self.ahead = (n_trees, shares), self._drawn(n_trees, shares)

        tasks = [lambda: self.grower.grow_rounds(learned, slopes, rounds, grown), *([ahead] if self.shares else [])]
        run_each(lambda task: task(), tasks, self.rule.n_jobs)
        self.rates.append(rate)
        self.trees.append(joined(grown))

    @property
    def _weight(self) -> np.float32:
        """The weight of a pulled row that a tree is grown on."""
        # above 1 it weighs more, below 1 fewer are drawn: of numbers a row counts as one in each leaf
        return np.float32(max(1.0, self.rule.lambda0))

    def _use_drawn(self, n_trees: int, shares: bool) -> None:
        """Let the grower use the rows and columns of a round, as drawn in the one before or now."""
        key, drawn = self.ahead or (None, None)
        drawn = drawn if key == (n_trees, shares) else self._drawn(n_trees, shares)
        # what was drawn in vain leaves the stream where it was
        self.ahead, self.rng.bit_generator.state = None, drawn.state
        self.grower.use_joined(drawn.rows, drawn.sizes, drawn.columns, len(self.training))

    def _drawn(self, n_trees: int, shares: bool) -> Drawn:
        """Draw the rows and columns of the trees of all members."""
        # of a stream beside the learner's: to make one takes longer than many a draw
        rng = self.beside
        rng.bit_generator.state = self.rng.bit_generator.state
        return Drawn(*self.draws.joined(rng, n_trees, shares), rng.bit_generator.state)

    def _draws(self) -> TreeDraws:
        """Return how the rows and columns of trees are drawn."""
        rule = self.rule
        # two rows at least, for a tree of one can't split
        most = MOST_ROWS if self.oblivious else len(self.targets)
        sizes = [min(max(2, round(rule.subsample * each.size)), most) for each in self.training]
        # lambda0 times as many as are labelled; no more than those, so that growing costs at most twice as much
        share, columns = min(1.0, rule.lambda0), {"columns": self.varying, "n_columns": self._n_columns()}
        return TreeDraws(self.training, sizes, self.among, share, **columns)

    def _n_columns(self) -> int:
        """Return how many columns a tree gets."""
        d, most = self.varying.size, MOST_COLUMNS_OF_CLASSES if self.outputs.k > 1 else MOST_COLUMNS
        most = max(most, round(ROOTS * np.sqrt(d)))
        # the one column of hundreds that tells most is in few trees' draw: trees of little depth can afford to look
        if self.shallow:
            most = max(most, SHALLOW_CELLS // max(self.own.size, 1))
        # eight at least: of a narrow table a share would leave a column or two
        return min(d, most, max(int(np.ceil(self.rule.column_sample * d)), 8))

    def keep(self) -> dict[str, NDArray]:
        """Return bins and one forest, the mean of the members', up to the best round."""
        forest = Forest(self.outputs.k)
        for trees, rate in zip(self.trees[: self.best + 1], self.rates):
            # the mean of the members
            forest.add(*trees, rate / self.rule.n_folds)
        return {**self.mapper.to_arrays(), **forest.to_arrays()}

    def members(self) -> NDArray[np.float64]:
        """Return what each member says of the unlabelled rows (F, m_u, k) in the best round."""
        return self._kept[:, self.spots]

    def pulled_members(self) -> NDArray[np.float64]:
        """Return what each member says of the pulled rows (F, u, k) in the best round."""
        return self._kept[:, : self.pulled.size]

    def _of_labelled(self) -> NDArray[np.float64]:
        return self.scores[:, : self.own.size]

    def _far(self) -> float:
        return farthest(self.scores, self.own.size)

    def _mean_of_others(self) -> NDArray[np.float64]:
        # `_remember` of this round has them
        return self._mean_of_members(self._kept)[self.spots]

    def _mean_of_members(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        # one member after the other: of a single row NumPy would add eight and more in another order, so that a row
        # which is alone in its range of instances would have other bits
        total = predicted[0].copy()
        for each in predicted[1:]:
            total += each
        return total / len(predicted)

    def _remember(self) -> None:
        self._kept = self.scores[:, len(self.targets) :].copy()


def _binned(X: NDArray | TableView) -> tuple[BinMapper, NDArray[np.uint8]]:
    if isinstance(X, TableView):
        return X.bins()
    mapper = BinMapper().fit(X, 0)
    return mapper, mapper.transform(X)


def predict_with(
    arrays: Mapping[str, NDArray], X: NDArray | TableView, outputs: Outputs, key: str = ""
) -> NDArray[np.float64]:
    """Return the mean (m, k) of the members' scores of rows X (m, d), less the prior, from what a learner kept.

    Rows with a key, a digest of them, are predicted once by the same arrays, and binned and compared with the same
    landmarks once, see `hetcore.consensus.recall`: another lambda0 leaves them, another lambda1 the prediction itself.
    """
    if not key or not MEMORY.room:
        return _predicted(arrays, X, outputs, "")
    own = key_of(key, outputs.is_classifier, outputs.prior, *(each for item in arrays.items() for each in item))
    return MEMORY.recalled("predicted", own, lambda: _predicted(arrays, X, outputs, key))


def _predicted(
    arrays: Mapping[str, NDArray], X: NDArray | TableView, outputs: Outputs, key: str
) -> NDArray[np.float64]:
    from hetcore.consensus.kernel_ridge import SmoothPrediction

    # what was kept says which kind it is
    if "nodes" in arrays:
        mapper = BinMapper.from_arrays({name: arrays[name] for name in ("thresholds", "n_bins")})
        # a fit has binned its own rows already
        known = MEMORY.get("bins", key) if key else None
        if known is not None:
            binned = known[1]
        else:
            binned = X.binned(mapper) if isinstance(X, TableView) else mapper.transform(X)
        return Forest.from_arrays(arrays, len(binned)).predict(binned)
    X = X.load() if isinstance(X, TableView) else X
    if "scales" in arrays:
        from hetcore.consensus.ard_kernel import ArdPrediction

        flat = ArdPrediction(arrays).predict(X)
    elif "dual" in arrays:
        smooth = SmoothPrediction(arrays)
        if fits_double(X.size):
            of_rows = key and key_of(key, smooth.landmarks)
            flat = MEMORY.recalled("compared", of_rows, lambda: smooth.compared(X)) @ smooth.dual
        else:
            flat = np.concatenate([smooth.predict(X[some]) for some in row_blocks(X)])
    else:
        flat = product(X, arrays["coefficients"])
    members = flat.reshape(len(X), -1, outputs.k) + arrays["constant"]
    low, high = arrays["range"]
    return np.clip(members, low - outputs.prior, high - outputs.prior).mean(axis=1)
