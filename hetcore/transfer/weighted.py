"""Weighted MultiSourceTrAdaBoost: the paper's algorithm, its four variants, and a default that chooses eta.

The algorithm and its letters are in the docstring of `hetcore.transfer.tradaboost`; `as_printed=True` is that box and
nothing else: hard votes of stumps of least weighted classification error (step 5 of Figure 3), or of `estimator`,
alpha_S by "ratio", eta "linear" for "auto", on both updates. The paper doesn't say what its weak learner is. Deeper
trees (`max_depth`) have least squared error as printed too: growing split by split finds no tree of least wrong weight.
The default departs from the box so that boosting has something to boost and eta something to weigh:

| printed | default |
|---|---|
| any weak learner, h = +1 or -1 | ridge regression and trees of depth 3, each with a share of the vote; h in [-1, 1] |
| candidates: the target with each source | with all sources too |
| the candidate of least error on the target | of least s (error on it) + (1 - s) (error on all sources), below |
| alpha_t = ln((1 - epsilon) / epsilon) / 2 | at most that of half a target row wrong |
| epsilon_t >= 1/2 is not said | the target's weights are set back once, at the second time boosting ends |
| alpha_S, imaginary for n_S < M | the larger of "ratio" and "hedge" |
| eta = 100 n_T / n_S or 100 n_T^2 / n_S | all eta of a path, see `hetcore.transfer.left_out` |
| sum of alpha_t h_t | tau times its mean, tau from the left-out rows; learners and eta add up by their shares |
| | a guard: target only, or all pooled, where these lose less on the left-out rows by more than three nats |

s = eta / (eta + 0.03): at eta = 0 the target counts for nothing but as one domain of many, neither in how weights move
nor in which source is listened to; from eta = 0.1 on it has three quarters of the choice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ParameterError
from hetcore.parameters import Domain, Flag, Interval, OneOf, Seed, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Value
from hetcore.transfer.boosting import Helps, State, TransferBoosting, alpha_source, learner_for
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.files import kind_of
from hetcore.transfer.learners import TreeLearner
from hetcore.transfer.left_out import ANCHORS, BOOSTED, FIRST_ETA, FIRST_STEEPNESS, Choice, Search, anchor
from hetcore.transfer.linear_learner import LinearLearner
from hetcore.transfer.ordering import by_content
from hetcore.transfer.rounds import Boosting, RunningScores, WeightUpdate
from hetcore.transfer.together import Together, Vote
from hetcore.transfer.tree_rounds import boosting_of

__all__ = ["WeightedMultiSourceTrAdaBoostClassifier", "eta_formulas"]

FORMULAS = ("auto", "linear", "squared")
EVEN = 0.03
"""The eta at which target and sources count alike in the choice of a round's candidate."""


@dataclass
class Anchor:
    """One learner on the target or on all rows, where the guard takes it in place of boosting; a single round."""

    kind: str
    model: Any
    domain: NDArray
    running: RunningScores
    epsilon: float = 0.0
    alpha: float = 1.0
    models: list[tuple[Any, float]] = field(default_factory=list)

    def round(self) -> bool:
        """There is nothing to do."""
        return True

    def masses(self, n_sources: int) -> NDArray[np.float64]:
        """Return the share of the rows that it is fitted to of the target (first) and of each source."""
        used = self.domain == 0 if self.kind == ANCHORS[0] else self.domain >= 0
        return np.bincount(self.domain[used], minlength=n_sources + 1) / used.sum()

    def voters(self) -> list[tuple[Any, float]]:
        """Return the learner, with its scale."""
        return [(self.model, 1.0)]


@estimator(MemoryNeed(cell=60, score=200))
class WeightedMultiSourceTrAdaBoostClassifier(Helps, TransferBoosting):
    """Weighted MultiSourceTrAdaBoost (Antunes et al. 2019): eta sets how much the target counts beside the sources.

    What the default does beyond the paper is in the docstring of the module. As printed, eta = 1 is
    `MultiSourceTrAdaBoostClassifier`.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    eta_ : float
        The eta of the fit; of "auto" the mean of those that vote, on the scale of logarithms.
    learner_ : str
        "linear", "tree", "both" (each with its share of the vote) or "estimator".
    chosen_ : str
        "boosting", or what the guard took in its place: "target only" or "all pooled".
    eta_path_ : dict of str to list
        What the left-out rows judged: "kind", "learner", "eta" (None where it has none), "loss" (log loss in nats),
        "error" and "share" (of the vote); empty where nothing was chosen by them.
    source_weights_ : dict of str to float
        Share of all weight that each source keeps after the last round.
    history_ : polars DataFrame
        One row per round.

    Notes
    -----
    A `RoundEnd` holds what `TrAdaBoostClassifier` says, and in its detail "eta", "learner", "chosen", "eta_path" (in
    the first round) and "eta_formula" = {"linear", "squared"}: what the formulas give for this target and these sources
    (0 without sources).

    References
    ----------
    Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: section 3.3.3, Figure 3,
    (3) and (4); section 4.1 for eta.
    """

    n_iterations = 20
    max_depth = 3
    random_state: int | None = param(
        0, Seed(), "Seed of the folds of the target's rows, and of foreign estimators; as printed of these alone."
    )

    learner: str = param(
        "auto",
        OneOf("auto", "linear", "tree"),
        "Where `estimator` is None: ridge regression, a tree of `max_depth`, or both, each with the share of the vote "
        'that the target\'s left-out rows give it. "linear" votes softly only.',
    )
    votes: str = param("soft", OneOf("soft", "hard"), "Whether learners of our own vote in [-1, 1], or +1 or -1.")
    eta: float | str = param(
        "auto",
        Interval(0).or_text(*FORMULAS),
        'All of a path, each by what the target\'s left-out rows say ("auto"; as printed "linear"), 100 n_T / n_S '
        '("linear"), 100 n_T^2 / n_S ("squared"), or a number.',
    )
    update: str = param(
        "exponential",
        OneOf("exponential", "multiplicative"),
        "Whether eta multiplies exponents of (3), (4), or weights.",
    )
    eta_on: str | None = param(
        None,
        OneOf(None, "target", "source", "both"),
        'Whose update has eta. By default "both" for update="exponential", as printed, and "target" for '
        '"multiplicative": there "both", as printed, does nothing, because step 4 divides the common factor away.',
    )
    guard: bool = param(
        True, Flag(), 'Whether "target only" or "all pooled" is taken where left-out target rows say so.'
    )
    as_printed: bool = param(False, Flag(), "Run the paper's algorithm to the letter; see its module.")
    source_rate: str = param(
        "auto",
        OneOf("auto", "ratio", "hedge"),
        "alpha_S, how fast wrong source rows lose weight: with 2 ln(n_S / M), as printed, imaginary for fewer source "
        "rows than rounds; with 2 ln(n_S) / M, as in TrAdaBoost; or the larger of both.",
    )

    _stored = TransferBoosting._stored | {
        "eta": Interval(0), "chosen": Value(OneOf(BOOSTED, *ANCHORS), absent=BOOSTED),
        "eta_path": Value(Domain(lambda v: isinstance(v, dict), "losses by eta"), absent={}),
    }  # fmt: skip

    @property
    def _soft(self) -> bool:
        return self.votes == "soft" and not self.as_printed and self.estimator is None

    @property
    def _criterion(self) -> str:
        # step 5 to the letter, which split by split no deeper tree is
        return "error" if self.as_printed and self.max_depth == 1 else "squared"

    @property
    def _helped(self) -> bool:
        return not self.as_printed

    def _start(self, problem: TransferProblem) -> State:
        problem = by_content(problem) if self._helped else problem
        learners = self._learners(problem)
        n_target = len(problem.target)
        self._formula = eta_formulas(n_target, len(problem.codes) - n_target)
        search = Search(problem, learners, partial(self._boosting, problem), self.n_iterations, self.random_state)
        self._choice = self._chosen(search)
        self.learner_, self.chosen_ = self._choice.learner, self._choice.kind
        self.eta_path_ = search.path(self._choice) if search.known else {}
        held_out = problem.X[:0] if problem.held_out is None else problem.held_out.X
        self._voting = {vote.learner: learners[vote.learner] for vote in self._choice.votes}
        self._learner = next(iter(self._voting.values()))
        self._held_out_rows = {name: learner.prepared(held_out) for name, learner in self._voting.items()}
        return State(problem, [self._final_part(problem, k) for k in range(problem.n_problems)])

    def _learners(self, problem: TransferProblem) -> dict[str, Any]:
        """Return the weak learners to choose from, by name."""
        if self.estimator is not None:
            return {"estimator": learner_for(problem.X, self, self._criterion)}
        if self.as_printed:
            return {"tree": learner_for(problem.X, self, self._criterion)}
        if self.learner == "linear" and not self._soft:
            raise ParameterError('learner="linear" votes softly only: leave votes="soft", or take learner="tree".')
        found = {}
        if self._soft and self.learner != "tree":
            signs = [problem.signs(k) for k in range(problem.n_problems)]
            found["linear"] = LinearLearner.by_sources(problem.X, signs, problem.domain)
        if not found or self.learner == "auto":
            found["tree"] = TreeLearner(problem.X, self.max_depth, self._soft)
        return found

    def _chosen(self, search: Search) -> Choice:
        """Return learners and kind, by the left-out rows where there is a row to leave out."""
        name, eta = next(iter(search.learners)), self._given_eta()
        validated = search.possible and self._helped
        if eta is None and validated and search.problem.names:
            boosted, self.eta_ = search.by_path()
        else:
            self.eta_ = FIRST_ETA if eta is None else eta
            if not validated:
                return Choice(BOOSTED, [Vote(name, self.eta_, 1.0, FIRST_STEEPNESS)])
            boosted = search.boosted(self.eta_)
        return search.guarded(boosted) if self.guard else boosted

    def _given_eta(self) -> float | None:
        """Return eta by the formulas or as given; None where the left-out rows are to choose."""
        if not isinstance(self.eta, str):
            return float(self.eta)
        if self.eta == "auto":
            return self._formula["linear"] if self.as_printed else None
        return self._formula[self.eta]

    def _final_part(self, problem: TransferProblem, k: int) -> Boosting | Together | Anchor:
        if self.chosen_ != BOOSTED:
            return self._anchor(problem, k)
        n_out, parts = self._n_held_out(problem), []
        for vote in self._choice.votes:
            learner, rows = self._voting[vote.learner], self._held_out_rows[vote.learner]
            boosting = partial(self._boosting, problem, learner, k, problem.domain)
            parts.append(boosting(held_out=rows, n_out=n_out, eta=vote.eta))
        return parts[0] if len(parts) == 1 else Together(parts, self._choice.votes)

    def _anchor(self, problem: TransferProblem, k: int) -> Anchor:
        (held_out,), learner = self._held_out_rows.values(), self._learner
        running = RunningScores((len(problem.target), self._n_held_out(problem)), False)
        model = anchor(learner, self.chosen_, problem.signs(k), problem.domain)
        votes = learner.votes(model, problem.target)
        running.add(1.0, votes, learner.votes_of(model, held_out))
        misses = 0.5 * np.abs(votes - problem.signs(k)[problem.target])
        return Anchor(self.chosen_, model, problem.domain, running, float(misses.mean()))

    def _boosting(
        self, problem: TransferProblem, learner: Any, k: int, domain: NDArray, held_out: Any, n_out: int, eta: float
    ) -> Boosting:
        """Return boosting of class k at an eta; rows of negative domain take no part."""
        target, sources = np.flatnonzero(domain == 0), np.flatnonzero(domain > 0)
        rows = [np.flatnonzero((domain == 0) | (domain == j)) for j in range(1, len(problem.names) + 1)]
        if self._helped and len(rows) > 1:
            rows.append(np.flatnonzero(domain >= 0))
        weight_update, running = self._weight_update_at(eta, len(sources)), RunningScores((len(target), n_out), False)
        capped, resets = self.cap_alpha and self._helped, self.reset and self._helped
        share = eta / (eta + EVEN) if self._helped and self.update == "exponential" and self.eta_on is None else 1.0
        return boosting_of(
            learner,
            signs=problem.signs(k),
            domain=domain,
            candidates=rows or [target],
            weight_update=weight_update,
            running=running,
            held_out=held_out,
            capped=capped,
            resets=resets,
            share=share,
        )

    def _weight_update_at(self, eta: float, n_source: int) -> WeightUpdate:
        if n_source == 0:
            return WeightUpdate()
        rate = alpha_source("ratio" if self.as_printed else self.source_rate, n_source, self.n_iterations)
        if self.update == "exponential":
            on = self.eta_on or "both"
            return WeightUpdate(rate, eta if on != "source" else 1.0, eta if on != "target" else 1.0)
        lift = np.log(max(eta, 1e-300))
        on = self.eta_on or ("target" if self._helped else "both")
        return WeightUpdate(rate, log_lift=float(lift * {"target": 1.0, "source": -1.0, "both": 0.0}[on]))

    def _unit(self, part: Boosting | Together | Anchor) -> float:
        """Return what F is multiplied by: as printed by 1, else so that it is tau times the mean vote."""
        if not self._helped or isinstance(part, Together) or part.running.total <= 0.0:
            return 1.0
        return self._choice.votes[0].steepness / part.running.total

    def _votes_of(self, part: Boosting | Together | Anchor) -> Any:
        return part.votes() if isinstance(part, Together) else super()._votes_of(part)

    def _view(self, state: State) -> dict[str, Any]:
        view = super()._view(state)
        view["detail"] |= {"eta": self.eta_, "eta_formula": dict(self._formula), "learner": self.learner_}
        view["detail"]["chosen"] = self.chosen_
        if len(getattr(state.parts[0], "models", ())) <= 1:
            view["detail"]["eta_path"] = self.eta_path_
        return view

    def _finish(self, state: State) -> None:
        super()._finish(state)
        del self._choice, self._formula, self._voting

    def _restored(self, sizes: dict[str, int]) -> str:
        self.learner_ = kind_of(self._votes[0])
        return super()._restored(sizes)


def eta_formulas(n_target: int, n_source: int) -> dict[str, float]:
    """Return eta by the paper's two formulas, 0 without sources."""
    share = 100.0 * n_target / n_source if n_source else 0.0
    return {"linear": share, "squared": share * n_target}
