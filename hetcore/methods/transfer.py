r"""Boosting for a target domain with few labels, helped by source domains: TrAdaBoost and its kin.

One round t of M, y and h in {-1, +1}, weights w over the target's rows T and the sources' rows S_1 .. S_N:

    1  candidates h_k: fitted to T and S_k under w                 (TrAdaBoost: one, fitted to T and all sources)
    2  epsilon_k = sum_T w |h_k - y| / (2 sum_T w); h_t = the one of least epsilon
    3  alpha_t = ln((1 - epsilon_t) / epsilon_t) / 2
    4  w_T *= exp(eta_T alpha_t |h_t - y|), w_S *= exp(-eta_S alpha_S |h_t - y|); all w divided by their sum    (3), (4)
    prediction: sign(sum_t alpha_t h_t)                            (TrAdaBoost: the later half of the rounds)

| letter | here |
|---|---|
| M | `n_iterations` |
| n_S, n_T (N_S, N_T) | rows of all sources, of the target |
| alpha_S | ln(1 + sqrt(2 ln(n_S) / M)) / 2 ("hedge"), or with ln(n_S / M) in place of ln(n_S) / M ("ratio") |
| eta | 100 n_T / n_S ("linear"), 100 n_T^2 / n_S ("squared"), or a number |
| epsilon_t, alpha_t | `detail["epsilon"]`, `detail["alpha"]` |

Departures: weights are kept as logarithms and never underflow. alpha_t is at most that of half a target row wrong,
ln(2 n_T - 1) / 2, so that epsilon_t = 0 does not let one round outvote all others. Where epsilon_t >= 1/2 no source
helps: the target's weights are set back once, at the second time the class is done; where no round helped at all, the
learner of the last one speaks. Without sources all are AdaBoost. More than two classes: one against the others, over
columns binned once.

Dai, W., Yang, Q., Xue, G.-R., Yu, Y. (2007). Boosting for transfer learning. ICML.
Yao, Y., Doretto, G. (2010). Boosting for transfer learning with multiple sources. CVPR.
Antunes, J., Bernardino, A., Smailagic, A., Siewiorek, D. (2019). Weighted Multisource Tradaboost. IbPRIA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ParameterError
from hetcore.methods.transfer_file import votes_from_state, votes_state
from hetcore.methods.transfer_frame import TransferEstimator, TransferProblem, is_finite, is_whole, one_of
from hetcore.methods.transfer_learners import learner_for
from hetcore.methods.transfer_rounds import Boosting, Pace, Selection, Watched

__all__ = [
    "MultiSourceTrAdaBoostClassifier",
    "TaskTrAdaBoostClassifier",
    "TrAdaBoostClassifier",
    "WeightedMultiSourceTrAdaBoostClassifier",
]

RULES = (
    ("n_iterations", lambda v: is_whole(v) and v >= 1, "a whole number, at least 1"),
    ("max_depth", lambda v: is_whole(v) and 1 <= v <= 30, "a whole number in [1, 30]: 1 is a stump"),
    ("estimator", lambda v: v is None or hasattr(v, "fit"), "a scikit-learn classifier, or None for trees of our own"),
)
RATES = one_of("source_rate", "ratio", "hedge")


@dataclass
class State:
    """One boosting per class (one for two classes), in step."""

    problem: TransferProblem
    parts: list[Any]

    def round(self) -> bool:
        """Do one round of each; return whether all are done."""
        return all([part.round() for part in self.parts])


class _TransferBoosting(TransferEstimator):
    """What the boosted transfer classifiers share."""

    _steepness = 2.0
    _late = False

    @property
    def _allows_missing(self) -> bool:
        return self.estimator is None

    def _start(self, problem: TransferProblem) -> State:
        self._learner = learner_for(problem.X, self.estimator, self.max_depth, self.random_state)
        held_out = problem.X[:0] if problem.held_out is None else problem.held_out.X
        self._held_out_rows = self._learner.prepared(held_out)
        return State(problem, [self._part(problem, problem.signs(k)) for k in range(problem.n_problems)])

    def _part(self, problem: TransferProblem, signs: NDArray) -> Boosting:
        target, n_sources = problem.target, len(problem.names)
        sources = [problem.source(k) for k in range(1, n_sources + 1)]
        rows = [np.sort(np.append(target, source)) for source in self._grouped(sources)] or [target]
        watched = Watched((len(target), self._n_held_out(problem)), self._late and n_sources > 0)
        pace = self._pace(len(target), len(signs) - len(target))
        return Boosting(self._learner, signs, problem.domain, rows, pace, watched, self._held_out_rows)

    def _grouped(self, sources: list[NDArray]) -> list[NDArray]:
        return sources

    def _n_held_out(self, problem: TransferProblem) -> int:
        return 0 if problem.held_out is None else len(problem.held_out.codes)

    def _pace(self, n_target: int, n_source: int) -> Pace:
        return Pace(alpha_source(self.source_rate, n_source, self.n_iterations))

    def _view(self, state: State) -> dict[str, Any]:
        problem, parts = state.problem, state.parts
        held_out = None if problem.held_out is None else np.column_stack([part.watched.held_out for part in parts])
        view = self._measured(problem, np.column_stack([part.watched.train for part in parts]), held_out)
        mass = np.mean([part.masses(len(problem.names)) for part in parts], axis=0)
        view["source_weights"] = dict(zip(problem.names, mass[1:].tolist()))
        view["detail"] |= {
            "epsilon": float(np.mean([part.epsilon for part in parts])),
            "alpha": float(np.mean([part.alpha for part in parts])),
            "target_mass": float(mass[0]),
        }
        return view

    def _finish(self, state: State) -> None:
        self._votes = [self._votes_of(part) for part in state.parts]
        self.source_weights_ = self._view(state)["source_weights"]
        del self._learner, self._held_out_rows

    def _votes_of(self, part: Boosting | Selection) -> Any:
        votes = self._learner.new_votes()
        for model, scale in part.voters():
            votes.append(model, scale)
        return votes

    def _scores(self, X: NDArray) -> NDArray[np.float64]:
        return np.column_stack([votes.scores(X) for votes in self._votes])

    def _get_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        return votes_state(self)

    def _set_state(self, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        votes_from_state(self, meta, arrays)


def alpha_source(rate: str, n_source: int, n_iterations: int) -> float:
    """Return alpha_S, 0 without sources.

    Raises
    ------
    ParameterError
        If alpha_S is imaginary: rate "ratio" and fewer source rows than rounds.
    """
    if n_source == 0:
        return 0.0
    if rate == "hedge":
        return 0.5 * float(np.log1p(np.sqrt(2.0 * np.log(n_source) / n_iterations)))
    if n_source < n_iterations:
        raise ParameterError(
            f"n_iterations={n_iterations!r} must be at most the number of source rows, n_S={n_source}: alpha_S = "
            "ln(1 + sqrt(2 ln(n_S / M))) / 2 is imaginary for fewer; give fewer rounds, or source_rate='hedge'."
        )
    return 0.5 * float(np.log1p(np.sqrt(2.0 * np.log(n_source / n_iterations))))


class TrAdaBoostClassifier(_TransferBoosting):
    """TrAdaBoost (Dai et al. 2007): source rows that the ensemble gets wrong lose weight, target rows gain it.

    The algorithm and its letters are in the docstring of the module. All sources count as one. Only the later half of
    the rounds votes, as its guarantee asks; without sources all rounds do, and the fit is AdaBoost.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        The weak learner, which must take sample weights; by default a tree of our own, which allows missing values.
    n_iterations : int, default=100
        M, rounds at most.
    max_depth : int, default=1
        Depth of a tree of our own; 1 is a stump.
    source_rate : {"hedge", "ratio"}, default="hedge"
        alpha_S, how fast wrong source rows lose weight: with 2 ln(n_S) / M as Dai et al. print it, or with
        2 ln(n_S / M), much faster, as Yao and Doretto do.
    vote : {"later half", "all"}, default="later half"
        Rounds that vote.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of foreign estimators; trees of our own draw nothing.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    source_weights_ : dict of str to float
        Share of all weight that each source keeps after the last round.
    history_ : polars DataFrame
        One row per round.

    Notes
    -----
    A `RoundEnd` has losses "train" (the target's rows) and "held_out" (of eval_set): log loss in nats;
    `source_weights`: the share of all weight that each source keeps, which with the target's sum to 1; detail:
    "metric_name" = "error", "metric" = {"train", "held_out"}: shares of wrong labels; "epsilon" = epsilon_t, "alpha" =
    alpha_t (0 in a round that did not help), "target_mass": the target's share of all weight. With more than two
    classes they are means over the classes.
    """

    _rules = (*RULES, RATES, one_of("vote", "later half", "all"))

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_iterations: int = 100,
        max_depth: int = 1,
        source_rate: str = "hedge",
        vote: str = "later half",
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator, self.n_iterations, self.max_depth = estimator, n_iterations, max_depth
        self.source_rate, self.vote = source_rate, vote
        self.domain_names, self.random_state = domain_names, random_state

    @property
    def _late(self) -> bool:
        return self.vote == "later half"

    def _grouped(self, sources: list[NDArray]) -> list[NDArray]:
        return [np.concatenate(sources)] if sources else []


class MultiSourceTrAdaBoostClassifier(_TransferBoosting):
    """MultiSourceTrAdaBoost (Yao and Doretto 2010): in each round the source speaks that helps the target most.

    The algorithm and its letters are in the docstring of the module.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        The weak learner, which must take sample weights; by default a tree of our own, which allows missing values.
    n_iterations : int, default=100
        M, rounds at most.
    max_depth : int, default=1
        Depth of a tree of our own; 1 is a stump.
    source_rate : {"ratio", "hedge"}, default="ratio"
        alpha_S, how fast wrong source rows lose weight: with 2 ln(n_S / M), as printed, imaginary for fewer source
        rows than rounds; or with 2 ln(n_S) / M, as in TrAdaBoost.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of foreign estimators; trees of our own draw nothing.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    source_weights_ : dict of str to float
        Share of all weight that each source keeps after the last round.
    history_ : polars DataFrame
        One row per round.

    Notes
    -----
    A `RoundEnd` holds what `TrAdaBoostClassifier` says.
    """

    _rules = (*RULES, RATES)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_iterations: int = 100,
        max_depth: int = 1,
        source_rate: str = "ratio",
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator, self.n_iterations, self.max_depth = estimator, n_iterations, max_depth
        self.source_rate, self.domain_names, self.random_state = source_rate, domain_names, random_state


class WeightedMultiSourceTrAdaBoostClassifier(_TransferBoosting):
    """Weighted MultiSourceTrAdaBoost (Antunes et al. 2019): eta sets how much the target counts beside the sources.

    The algorithm and its letters are in the docstring of the module. eta = 1 is `MultiSourceTrAdaBoostClassifier`.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        The weak learner, which must take sample weights; by default a tree of our own, which allows missing values.
    eta : {"linear", "squared"} or float, default="linear"
        100 n_T / n_S, 100 n_T^2 / n_S, or a number of at least 0.
    update : {"exponential", "multiplicative"}, default="exponential"
        Whether eta multiplies the exponents of (3) and (4), or the weights in each round.
    eta_on : {"target", "source", "both"}, optional
        Whose update has eta. By default "both" for update="exponential", as printed, and "target" for
        "multiplicative": there "both", as printed, does nothing, because step 4 divides the common factor away.
    n_iterations : int, default=100
        M, rounds at most.
    max_depth : int, default=1
        Depth of a tree of our own; 1 is a stump.
    source_rate : {"ratio", "hedge"}, default="ratio"
        alpha_S, how fast wrong source rows lose weight: with 2 ln(n_S / M), as printed, imaginary for fewer source
        rows than rounds; or with 2 ln(n_S) / M, as in TrAdaBoost.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of foreign estimators; trees of our own draw nothing.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    eta_ : float
        The eta of the fit.
    source_weights_ : dict of str to float
        Share of all weight that each source keeps after the last round.
    history_ : polars DataFrame
        One row per round.

    Notes
    -----
    A `RoundEnd` holds what `TrAdaBoostClassifier` says, and in its detail "eta" and "eta_formula" = {"linear",
    "squared"}: what the formulas give for this target and these sources (0 without sources).
    """

    _rules = (
        *RULES,
        RATES,
        ("eta", lambda v: v in ("linear", "squared") if isinstance(v, str) else is_finite(v) and v >= 0,
         "'linear', 'squared' or a finite number of at least 0"),
        one_of("update", "exponential", "multiplicative"),
        one_of("eta_on", None, "target", "source", "both"),
    )  # fmt: skip

    def __init__(
        self,
        estimator: Any = None,
        *,
        eta: str | float = "linear",
        update: str = "exponential",
        eta_on: str | None = None,
        n_iterations: int = 100,
        max_depth: int = 1,
        source_rate: str = "ratio",
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator, self.eta, self.update, self.eta_on = estimator, eta, update, eta_on
        self.n_iterations, self.max_depth, self.source_rate = n_iterations, max_depth, source_rate
        self.domain_names, self.random_state = domain_names, random_state

    def _pace(self, n_target: int, n_source: int) -> Pace:
        self._formula = eta_formulas(n_target, n_source)
        self.eta_ = float(self._formula[self.eta] if isinstance(self.eta, str) else self.eta)
        if n_source == 0:
            return Pace()
        rate = alpha_source(self.source_rate, n_source, self.n_iterations)
        if self.update == "exponential":
            on = self.eta_on or "both"
            powers = (self.eta_ if on != "source" else 1.0, self.eta_ if on != "target" else 1.0)
            return Pace(rate, *powers)
        lift = np.log(max(self.eta_, 1e-300))
        signs = {"target": 1.0, "source": -1.0, "both": 0.0}
        return Pace(rate, log_lift=float(lift * signs[self.eta_on or "target"]))

    def _view(self, state: State) -> dict[str, Any]:
        view = super()._view(state)
        view["detail"] |= {"eta": self.eta_, "eta_formula": dict(self._formula)}
        return view


def eta_formulas(n_target: int, n_source: int) -> dict[str, float]:
    """Return eta by the paper's two formulas, 0 without sources."""
    share = 100.0 * n_target / n_source if n_source else 0.0
    return {"linear": share, "squared": share * n_target}


class TaskTrAdaBoostClassifier(_TransferBoosting):
    """TaskTrAdaBoost (Yao and Doretto 2010): boost each source alone, then AdaBoost on the target picks among them all.

    Phase 1: AdaBoost on each source, M rounds; its learners of alpha_t > gamma form H. Phase 2, the rounds: of all h in
    H (and -h, where h is wrong more often than right) the one of least weighted error on the target joins the sum.
    Sources are never looked at again, so that phase 2 takes milliseconds. Without sources H comes from the target.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        The weak learner, which must take sample weights; by default a tree of our own, which allows missing values.
    n_iterations : int, default=100
        M, rounds of both phases at most.
    gamma : float, default=0.0
        A source's learner is kept when its alpha_t is above this; at least 0.
    max_depth : int, default=1
        Depth of a tree of our own; 1 is a stump.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of foreign estimators; trees of our own draw nothing.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    source_weights_ : dict of str to float
        Share of the sum of alpha_t that learners from each source hold.
    history_ : polars DataFrame
        One row per round of phase 2.

    Notes
    -----
    A `RoundEnd` holds what `TrAdaBoostClassifier` says, of the rounds of phase 2, but `source_weights` is the share of
    the sum of alpha_t so far that learners from each source hold, and "target_mass" that of the target's own.
    """

    _rules = (*RULES, ("gamma", lambda v: is_finite(v) and v >= 0, "a finite number of at least 0"))

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_iterations: int = 100,
        gamma: float = 0.0,
        max_depth: int = 1,
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator, self.n_iterations, self.gamma = estimator, n_iterations, gamma
        self.max_depth, self.domain_names, self.random_state = max_depth, domain_names, random_state

    def _part(self, problem: TransferProblem, signs: NDArray) -> Any:
        if not problem.names:
            return self._alone(problem, problem.target, signs, self._held_out_rows)
        models, origin, nothing = [], [], self._held_out_rows[..., :0] if self.estimator is None else problem.X[:0]
        for k in range(1, len(problem.names) + 1):
            part = self._alone(problem, problem.source(k), signs, nothing)
            while len(part.models) < self.n_iterations and not part.round():
                pass
            models += [model for model, alpha in part.models if alpha > self.gamma]
            origin += [k] * (len(models) - len(origin))
        return self._selection(problem, models, np.array(origin, np.int64), signs)

    def _alone(self, problem: TransferProblem, rows: NDArray, signs: NDArray, held_out: Any) -> Boosting:
        """Return AdaBoost on `rows`: boosting for which they are the target and nothing is a source."""
        domain = np.ones(len(signs), np.int64)
        domain[rows] = 0
        watched = Watched((len(rows), held_out.shape[1 if self.estimator is None else 0]), False)
        return Boosting(self._learner, signs, domain, [rows], Pace(), watched, held_out)

    def _selection(self, problem: TransferProblem, models: list, origin: NDArray, signs: NDArray) -> Selection:
        target, n_held_out = problem.target, self._n_held_out(problem)
        said, said_held_out = np.zeros((len(models), len(target))), np.zeros((len(models), n_held_out))
        for h, model in enumerate(models):
            said[h] = self._learner.votes(model, target)
            said_held_out[h] = self._learner.votes_of(model, self._held_out_rows)
        watched = Watched((len(target), n_held_out), False)
        return Selection(models, said, said_held_out, origin, signs[target], watched)
