r"""What the target's left-out rows say of boosting at each eta, of the target alone and of all domains pooled.

The target's labelled rows are dealt into folds, class by class. A candidate c, fitted without fold f, gives the rows of
f scores F in [-1, 1]; with p = logistic(2 tau F) (softmax for several classes)

    loss_c = min over tau of  - sum_i ln p_i(y_i) + (ln(tau / 1.5))^2                  [nats over the target's rows]

so that few rows leave the steepness tau where it is. exp(-loss_c) is the likelihood that the left-out rows have under
a candidate, and eta is its posterior mean on the logarithmic scale, taken to the nearest eta of the path:

    ln eta = sum_k p_k ln eta_k,    p_k ~ d_k exp(-loss_k - (ln(eta_k / eta_0))^2 / 10)

d_k the width of k's part of the path in ln eta. The eta of least loss jumps from end to end of a path that is flat but
for noise, as few rows leave it; the mean then stays in its middle, and moves as far as the rows are sure. eta_0 =
n_T / 100 in [0.1, 2] grows with the target's rows as the paper's formulas do. What else was tried: docs/transfer.md.

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
from scipy.special import log_softmax

from hetcore.data.splits import stratified
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.rounds import Boosting

__all__ = [
    "ANCHORS", "BOOSTED", "ETAS", "Candidate", "Evaluated", "Search", "anchor", "first_eta", "folds_of", "log_loss",
    "posterior_eta",
]  # fmt: skip

ETAS = (0.0, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
PRIOR, MARGIN = 0.1, 3.0
LEAST_ETA = 0.01  # what eta = 0, which has no logarithm, counts as
STEEPNESSES, FIRST_STEEPNESS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), 1.5
MOST_FOLDS = 5
BOOSTED, ANCHORS = "boosting", ("target only", "all pooled")


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


def first_eta(n_target: int) -> float:
    """Return eta_0, where few rows leave eta: n_T / 100 in [0.1, 2]."""
    return float(np.clip(n_target / 100.0, 0.1, 2.0))


def posterior_eta(totals: NDArray[np.float64], middle: float) -> float:
    """Return the eta of `ETAS` that is nearest to the posterior mean in ln eta.

    Parameters
    ----------
    totals : (E,) float64
        loss_c at each eta of the path, in nats.
    middle : float
        eta_0, where the prior has its mean.
    """
    logs = np.log(np.maximum(ETAS, LEAST_ETA))
    penalised = totals + PRIOR * (logs - np.log(middle)) ** 2
    # the path is no even grid: each eta stands for the part of it that is nearest
    masses = np.gradient(logs) * np.exp(penalised.min() - penalised)
    mean = masses @ logs / masses.sum()
    return ETAS[int(np.abs(logs - mean).argmin())]


def folds_of(codes: NDArray, most: int, seed: int | None) -> NDArray[np.int64]:
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
    """

    problem: TransferProblem
    learners: dict[str, Any]
    boosting: Callable[..., Boosting]
    n_rounds: int
    seed: int | None
    known: dict[Candidate, Evaluated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.target = self.problem.target
        self.codes = self.problem.codes[self.target]
        self.signs = [self.problem.signs(k) for k in range(self.problem.n_problems)]
        # three folds of several classes: each fold is a fit of every class
        most = MOST_FOLDS if len(self.signs) == 1 else 3
        self.folds = folds_of(self.codes, most, self.seed)

    @property
    def possible(self) -> bool:
        """Whether a row of the target can be left out."""
        return len(self.target) > 1

    def evaluated(self, candidate: Candidate) -> Evaluated:
        """Return what the left-out rows say of a candidate."""
        if candidate not in self.known:
            scores = self._scores(candidate)
            totals = [
                log_loss(scores, self.codes, tau).sum() + np.log(tau / FIRST_STEEPNESS) ** 2 for tau in STEEPNESSES
            ]
            tau = STEEPNESSES[int(np.argmin(totals))]
            wrong = (scores[:, 0] > 0) != (self.codes == 1) if scores.shape[1] == 1 else scores.argmax(1) != self.codes
            loss = float(log_loss(scores, self.codes, tau).mean())
            self.known[candidate] = Evaluated(candidate, loss, float(wrong.mean()), tau, float(min(totals)))
        return self.known[candidate]

    def _scores(self, candidate: Candidate) -> NDArray[np.float64]:
        scores = np.empty((len(self.target), len(self.signs)))
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            for k in range(len(self.signs)):
                scores[out, k] = self._left_out(candidate, k, self.target[out])
        return scores

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

    def best_learner(self, eta: float) -> str:
        """Return the learner of least loss at an eta."""
        return min(self.learners, key=lambda name: self.evaluated(Candidate(BOOSTED, name, eta)).total)

    def best_eta(self, learner: str) -> float:
        """Return the eta of the path that the left-out rows choose: see `posterior_eta`."""
        totals = [self.evaluated(Candidate(BOOSTED, learner, eta)).total for eta in ETAS]
        return posterior_eta(np.array(totals), first_eta(len(self.target)))

    def guarded(self, learner: str, eta: float) -> Evaluated:
        """Return boosting at that eta, or the target alone or all pooled where the left-out rows lose less by it."""
        boosted = self.evaluated(Candidate(BOOSTED, learner, eta))
        anchors = [self.evaluated(Candidate(kind, name)) for kind in ANCHORS for name in self.learners]
        safest = min(anchors, key=lambda evaluated: evaluated.total)
        # clearly less, by what the best of four gains by chance
        return safest if safest.total < boosted.total - MARGIN else boosted

    def path(self) -> dict[str, list[Any]]:
        """Return every candidate that was judged: kind, learner, eta (None of an anchor), loss, error."""
        rows = sorted(self.known.values(), key=lambda evaluated: tuple(map(str, evaluated.candidate[:2])))
        return {
            "kind": [each.candidate.kind for each in rows],
            "learner": [each.candidate.learner for each in rows],
            "eta": [None if np.isnan(each.candidate.eta) else each.candidate.eta for each in rows],
            "loss": [each.loss for each in rows],
            "error": [each.error for each in rows],
        }


def anchor(learner: Any, kind: str, signs: NDArray, domain: NDArray) -> Any:
    """Return one learner fitted to the target's rows or to those of all domains, each row weighing 1."""
    rows = np.flatnonzero(domain == 0 if kind == ANCHORS[0] else domain >= 0)
    return learner.fit(rows, signs[rows], np.ones(len(rows)))
