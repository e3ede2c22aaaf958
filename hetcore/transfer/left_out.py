r"""What the target's left-out rows say of boosting at each eta, of the target alone and of all domains pooled.

The target's labelled rows are dealt into folds, class by class. A candidate c, fitted without fold f, gives the rows of
f scores F in [-1, 1]; with p = logistic(2 tau F) (softmax for several classes)

    loss_c = min over tau of  - sum_i ln p_i(y_i) + (ln(tau / 1.5))^2                  [nats over the target's rows]

so that few rows leave the steepness tau where it is; a row's loss is the mean of two deals of the folds, of several
classes one deal. exp(-loss_c) is the likelihood that the left-out rows have under a candidate. With eta = "auto" all
eta of a path in [0, 10] and both weak learners vote, with the mean of two shares:

    of 200 Bayesian bootstraps of the rows (Rubin 1981), u_i their weights, those in which
        - sum_i u_i ln p_kli(y_i) - ln p^0_kl  is least                                                 one is best
    max over m on the simplex of  sum_i ln sum_kl m_kl p_kli(y_i) + 10 sum_kl p^0_kl ln m_kl            all are mixed
    p^0_kl ~ d_k exp(-b_l - 0.3 min(1, 10 / n) (ln(eta_k / eta_0))^2),    eta_0 = 0.15, n rows    before any row is seen

p^0 is worth ten rows in the mixture (`hetcore.transfer.shares.mixture`); d_k is the width of k's part of the path in
ln eta, b_l one nat for trees, which fit more, and none for ridge machines. Few rows tell neither one eta from the next
nor ridge machines from trees, and all together err less than what chance makes the best. Neighbours on the path miss
the same rows, so that less of a lead than its nats is chance: the bootstraps count that, likelihoods do not. `eta_` is
the mean of ln eta by the shares, taken to the nearest eta of the path. The loss that is shown of all together is by
shares in which a row's fold has no part. At an eta that is given each learner has its share of the vote,
exp(-loss_l - b_l) over their sum.

The eta of least loss jumps from end to end of a path that is flat but for noise, as few rows leave it; the shares then
stay in its middle, and move as far as the rows are sure. What else was tried: docs/trials.md.

`Search.guarded` takes the target alone or all domains pooled where they lose less than boosting by more than three
nats: what the best of four (two kinds, two learners) gains by chance about once in twenty times (Wilks 1938,
Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from hetcore.data.splits import stratified
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.rounds import Boosting
from hetcore.transfer.shares import mixture
from hetcore.transfer.together import Vote

__all__ = [
    "ANCHORS", "BOOSTED", "BOTH", "ETAS", "FIRST_ETA", "MARGIN", "Candidate", "Choice", "Evaluated", "Search",
    "anchor", "best_of_bootstraps", "folds_of", "log_loss", "masses_before", "mean_eta",
]  # fmt: skip

ETAS = (0.0, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FIRST_ETA = 0.15  # where few rows leave eta
PRIOR, PRIOR_ROWS, MARGIN = 0.3, 10.0, 3.0
BURDEN = {"tree": 1.0}  # b_l, in nats, of a learner that fits more than the others
LEAST_ETA = 0.01  # what eta = 0, which has no logarithm, counts as
STEEPNESSES, FIRST_STEEPNESS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0), 1.5
MOST_FOLDS, DEALS, BOOTSTRAPS = 5, 2, 200
BOOSTED, ANCHORS = "boosting", ("target only", "all pooled")
BOTH = "both"
LEAST_SHARE = 0.01  # of the vote: a learner that has less is left out


class Candidate(NamedTuple):
    """What is fitted: boosting at an eta, or one learner on the target or on all rows (eta is nan)."""

    kind: str
    learner: str
    eta: float = np.nan


class Evaluated(NamedTuple):
    """A candidate by the target's left-out rows.

    Attributes
    ----------
    candidate : Candidate
    loss : float
        Mean log loss in nats.
    error : float
        Share of wrong labels.
    steepness : float
        tau.
    total : float
        loss_c, the sum with the term of tau.
    """

    candidate: Candidate
    loss: float
    error: float
    steepness: float
    total: float


class Choice(NamedTuple):
    """What is fitted.

    Attributes
    ----------
    kind : str
        "boosting", "target only" or "all pooled".
    votes : list of Vote
        One where the kind is not "boosting".
    total : float
        loss_c of the vote, in nats.
    """

    kind: str
    votes: list[Vote]
    total: float = np.nan

    @property
    def learner(self) -> str:
        """Return the name of the one learner that votes, or "both"."""
        names = {vote.learner for vote in self.votes}
        return names.pop() if len(names) == 1 else BOTH


def masses_before(burdens: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return p^0 of each candidate of the path (E, L); they sum to 1.

    Parameters
    ----------
    burdens : (L,) float64
        b_l of each learner, in nats.
    n : int
        Rows of the target: the more, the less is known before they are seen.
    """
    logs = np.log(np.maximum(ETAS, LEAST_ETA))
    narrow = PRIOR * min(1.0, PRIOR_ROWS / n)
    # the path is no even grid: each eta stands for the part of it that is nearest
    masses = (np.gradient(logs) * np.exp(-narrow * (logs - np.log(FIRST_ETA)) ** 2))[:, None] * np.exp(-burdens)
    return masses / masses.sum()


def best_of_bootstraps(losses: NDArray[np.float64], given: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return in what share of Bayesian bootstraps of the rows each candidate loses least, (C,).

    Parameters
    ----------
    losses : (n, C) float64
        Of each row, in nats.
    given : (C,) float64
        Added to the sum over the rows, in nats.
    """
    # one seed: the same rows have the same shares
    weights = np.random.default_rng(0).dirichlet(np.ones(len(losses)), BOOTSTRAPS)
    best = (len(losses) * weights @ losses + given).argmin(axis=1)
    return np.bincount(best, minlength=losses.shape[1]) / BOOTSTRAPS


def mean_eta(masses: NDArray[np.float64]) -> float:
    """Return the eta of `ETAS` that is nearest to the mean of ln eta by masses (E,)."""
    logs = np.log(np.maximum(ETAS, LEAST_ETA))
    return ETAS[int(np.abs(logs - masses @ logs).argmin())]


def folds_of(codes: NDArray, most: int, seed: Any) -> NDArray[np.int64]:
    """Return the fold of each row (n,): rows of a class are dealt out in turn, at most `most` folds."""
    # no more folds than rows
    return stratified(codes, min(most, len(codes)), np.random.default_rng(seed))


def log_loss(scores: NDArray, codes: NDArray, steepness: float) -> NDArray[np.float64]:
    """Return the log loss in nats of each row of scores (n, 1 or K), (n,)."""
    if scores.shape[1] == 1:
        signs = np.where(codes == 1, 1.0, -1.0)
        return np.logaddexp(0.0, -2.0 * steepness * signs * scores[:, 0])
    return -log_softmax(2.0 * steepness * scores, axis=1)[np.arange(len(codes)), codes]


@dataclass
class Search:
    """Candidates of a problem, each judged once.

    Attributes
    ----------
    problem : TransferProblem
    learners : dict of str to learner
    boosting : callable
        (learner, k, domain, held-out rows as the learner takes them, their number, eta) to `Boosting` of class k.
    n_rounds : int
    seed : int or None
        Of the folds.
    scores : dict of Candidate to (D n, K) float64
        Of the left-out rows, D deals of the folds one after the other.
    """

    problem: TransferProblem
    learners: dict[str, Any]
    boosting: Callable[..., Boosting]
    n_rounds: int
    seed: int | None
    known: dict[Candidate, Evaluated] = field(default_factory=dict)
    scores: dict[Candidate, NDArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.target = self.problem.target
        own = self.problem.codes[self.target]
        self.signs = [self.problem.signs(k) for k in range(self.problem.n_problems)]
        # three folds of several classes: each fold is a fit of every class
        most, n_deals = (MOST_FOLDS, DEALS) if len(self.signs) == 1 else (3, 1)
        # rows left out one by one are so in any deal
        rng, n_deals = np.random.default_rng(self.seed), n_deals if len(own) > most else 1
        self.deals = [folds_of(own, most, rng) for _ in range(n_deals)]
        self.codes = np.tile(own, n_deals)

    @property
    def possible(self) -> bool:
        """Whether a row of the target can be left out."""
        return len(self.target) > 1

    def evaluated(self, candidate: Candidate) -> Evaluated:
        """Return what the left-out rows say of a candidate."""
        if candidate not in self.known:
            scores = self.scores[candidate] = self._scores(candidate)
            totals = [self._losses(scores, tau).sum() + np.log(tau / FIRST_STEEPNESS) ** 2 for tau in STEEPNESSES]
            tau = STEEPNESSES[int(np.argmin(totals))]
            loss = float(self._losses(scores, tau).mean())
            self.known[candidate] = Evaluated(candidate, loss, self._error(scores), tau, float(min(totals)))
        return self.known[candidate]

    def _losses(self, scores: NDArray, steepness: float) -> NDArray[np.float64]:
        """Return the log loss of each row of the target (n,), the mean over the deals."""
        return log_loss(scores, self.codes, steepness).reshape(-1, len(self.target)).mean(axis=0)

    def _error(self, scores: NDArray) -> float:
        guessed = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return float((guessed != self.codes).mean())

    def boosted(self, eta: float) -> Choice:
        """Return boosting at an eta, each learner with its share of the vote."""
        found = [self.evaluated(Candidate(BOOSTED, name, eta)) for name in self.learners]
        return self._together(found, softmax([-self._burdened(each) for each in found]), eta)

    def by_path(self) -> tuple[Choice, float]:
        """Return boosting at all eta of the path, each learner with its share of the vote at each, and the mean eta."""
        path = [[self.evaluated(Candidate(BOOSTED, name, eta)) for name in self.learners] for eta in ETAS]
        for eta in ETAS:
            self.boosted(eta)  # for the path that is drawn
        each = [found for at_eta in path for found in at_eta]
        losses = np.stack([self._losses(self.scores[found.candidate], found.steepness) for found in each], axis=1)
        masses = self._masses(losses)
        choice = self._together(each, masses, np.nan)
        scores = self._left_out_of_path(each, losses)
        of_all = next(candidate for candidate in self.known if np.isnan(candidate.eta))
        shown = {"loss": float(self._losses(scores, 1.0).mean()), "error": self._error(scores)}
        self.known[of_all] = self.known[of_all]._replace(**shown)
        return choice, mean_eta(masses.reshape(len(ETAS), -1).sum(axis=1))

    def _masses(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each candidate of the path (C,) by losses of rows (n, C)."""
        before = masses_before(np.array([BURDEN.get(name, 0.0) for name in self.learners]), len(losses)).ravel()
        mixed = mixture(np.exp(-losses), np.ones(len(losses)), PRIOR_ROWS * before)
        return 0.5 * (best_of_bootstraps(losses, -np.log(before)) + mixed)

    def _left_out_of_path(self, each: list[Evaluated], losses: NDArray) -> NDArray[np.float64]:
        """Return scores of the left-out rows (D n, K), each by shares in which its fold has no part."""
        taus = [found.steepness for found in each]
        scores = np.stack([tau * self.scores[found.candidate] for tau, found in zip(taus, each)])
        scores = scores.reshape(len(each), len(self.deals), len(self.target), -1)
        mixed = np.empty(scores.shape[1:])
        for deal, folds in enumerate(self.deals):
            for out in (folds == fold for fold in range(folds.max() + 1)):
                mixed[deal, out] = np.tensordot(self._masses(losses[~out]), scores[:, deal, out], 1)
        return mixed.reshape(-1, mixed.shape[-1])

    def _burdened(self, found: Evaluated) -> float:
        return found.total + BURDEN.get(found.candidate.learner, 0.0)

    def _together(self, found: list[Evaluated], shares: NDArray, eta: float) -> Choice:
        """Return a vote of those that have enough of it; what the left-out rows say of it is kept, at eta or nan."""
        kept = np.flatnonzero(shares >= min(LEAST_SHARE, shares.max()))
        shares, found = shares[kept] / shares[kept].sum(), [found[k] for k in kept]
        votes = [
            Vote(each.candidate.learner, each.candidate.eta, share, each.steepness)
            for share, each in zip(shares.tolist(), found)
        ]
        scores = sum(share * each.steepness * self.scores[each.candidate] for share, each in zip(shares, found))
        losses = self._losses(scores, 1.0)
        terms = [np.log(each.steepness / FIRST_STEEPNESS) ** 2 for each in found]
        choice = Choice(BOOSTED, votes, float(losses.sum() + shares @ terms))
        candidate = Candidate(BOOSTED, BOTH if len(self.learners) > 1 else choice.learner, eta)
        if candidate not in self.known:
            self.known[candidate] = Evaluated(candidate, float(losses.mean()), self._error(scores), 1.0, choice.total)
        return choice

    def _scores(self, candidate: Candidate) -> NDArray[np.float64]:
        scores = np.empty((len(self.deals), len(self.target), len(self.signs)))
        for own, folds in zip(scores, self.deals):
            for out in (folds == fold for fold in range(folds.max() + 1)):
                for k in range(len(self.signs)):
                    own[out, k] = self._left_out(candidate, k, self.target[out])
        return scores.reshape(-1, len(self.signs))

    def _left_out(self, candidate: Candidate, k: int, out: NDArray) -> NDArray[np.float64]:
        learner, domain = self.learners[candidate.learner], self.problem.domain.copy()
        # -1: takes part in nothing, as if the row were not there
        domain[out] = -1
        held_out = learner.taken(out)
        if candidate.kind != BOOSTED:
            return learner.votes_of(anchor(learner, candidate.kind, self.signs[k], domain), held_out)
        part = self.boosting(learner, k, domain, held_out, n_out=len(out), eta=candidate.eta)
        part.run(self.n_rounds)
        return part.running.mean()[1]

    def guarded(self, boosted: Choice) -> Choice:
        """Return that boosting; the target alone or all pooled where left-out rows lose three nats less by it."""
        anchors = [self.evaluated(Candidate(kind, name)) for kind in ANCHORS for name in self.learners]
        safest = min(anchors, key=lambda evaluated: evaluated.total)
        # clearly less, by what the best of four gains by chance
        if safest.total >= boosted.total - MARGIN:
            return boosted
        vote = Vote(safest.candidate.learner, np.nan, 1.0, safest.steepness)
        return Choice(safest.candidate.kind, [vote], safest.total)

    def path(self, choice: Choice) -> dict[str, list[Any]]:
        """Return what is known of every candidate: see `eta_path_` of the estimator; eta is None of all eta too."""
        rows = sorted(self.known.values(), key=lambda evaluated: tuple(map(str, evaluated.candidate[:2])))
        shares = {Candidate(choice.kind, vote.learner, vote.eta): vote.share for vote in choice.votes}
        return {
            "kind": [each.candidate.kind for each in rows],
            "learner": [each.candidate.learner for each in rows],
            "eta": [None if np.isnan(each.candidate.eta) else each.candidate.eta for each in rows],
            "loss": [each.loss for each in rows],
            "error": [each.error for each in rows],
            "share": [shares.get(each.candidate, 0.0) for each in rows],
        }


def anchor(learner: Any, kind: str, signs: NDArray, domain: NDArray) -> Any:
    """Return one learner fitted to the target's rows or to those of all domains, each row weighing 1."""
    rows = np.flatnonzero(domain == 0 if kind == ANCHORS[0] else domain >= 0)
    return learner.fit(rows, signs[rows], np.ones(len(rows)))
