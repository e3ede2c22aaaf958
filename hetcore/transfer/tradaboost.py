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

Departures: step 1 asks for the candidate of least weighted classification error (step 5 of Figure 3 in Antunes et al.),
and trees of our own have least squared error to the signs; `criterion="error"` has the stump that is asked for. Weights
are kept as logarithms and never underflow. alpha_t is at most that of half a target row wrong, ln(2 n_T - 1) / 2, so
that epsilon_t = 0 does not let one round outvote all others. Where epsilon_t >= 1/2 no source helps: the target's
weights are set back once, at the second time the class is done; where no round helped at all, the learner of the last
one speaks. Without sources all are AdaBoost. More than two classes: one against the others, over columns binned once.

Dai, W., Yang, Q., Xue, G.-R., Yu, Y. (2007). Boosting for transfer learning. ICML.
Yao, Y., Doretto, G. (2010). Boosting for transfer learning with multiple sources. CVPR.
Antunes, J., Bernardino, A., Smailagic, A., Siewiorek, D. (2019). Weighted Multisource Tradaboost. IbPRIA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.parameters import Declared, Interval, OneOf, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.transfer.boosting import Cap, Criterion, Helps, TransferBoosting
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.rounds import Boosting, RunningScores, TaskSelection, WeightUpdate
from hetcore.transfer.tree_rounds import TreeBoosting, boosting_of

__all__ = [
    "MultiSourceTrAdaBoostClassifier",
    "TaskTrAdaBoostClassifier",
    "TrAdaBoostClassifier",
]


class SourceRate(Declared):
    """The parameter of alpha_S as the two papers print it."""

    source_rate: str = param(
        "hedge",
        OneOf("hedge", "ratio"),
        "alpha_S, how fast wrong source rows lose weight: with 2 ln(n_S) / M, as Dai et al. print it, or with "
        "2 ln(n_S / M), as Yao and Doretto do, much faster, and imaginary for fewer source rows than rounds.",
    )


@estimator(MemoryNeed(cell=35, score=200))
class TrAdaBoostClassifier(Helps, Criterion, TransferBoosting, SourceRate):
    """TrAdaBoost (Dai et al. 2007): source rows that the ensemble gets wrong lose weight, target rows gain it.

    The algorithm and its letters are in the docstring of the module. All sources count as one. Only the later half of
    the rounds votes, as its guarantee asks; without sources all rounds do, and the fit is AdaBoost.

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

    References
    ----------
    Dai, Yang, Xue, Yu, "Boosting for transfer learning", ICML 2007; Antunes, Bernardino, Smailagic, Siewiorek,
    "Weighted Multisource Tradaboost", IbPRIA 2019: section 3.3.
    """

    vote: str = param("later half", OneOf("later half", "all"), "Rounds that vote.")

    @property
    def _late(self) -> bool:
        return self.vote == "later half"

    def _grouped(self, sources: list[NDArray]) -> list[NDArray]:
        return [np.concatenate(sources)] if sources else []


@estimator(MemoryNeed(cell=35, score=200))
class MultiSourceTrAdaBoostClassifier(Helps, Criterion, TransferBoosting, SourceRate):
    """MultiSourceTrAdaBoost (Yao and Doretto 2010): in each round the source speaks that helps the target most.

    The algorithm and its letters are in the docstring of the module.

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

    References
    ----------
    Yao, Doretto, "Boosting for transfer learning with multiple sources", CVPR 2010: Algorithm 1; Antunes, Bernardino,
    Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: section 3.3.1, Figure 3.
    """

    source_rate = "ratio"


@estimator(MemoryNeed(cell=35, score=200))
class TaskTrAdaBoostClassifier(Cap, Criterion, TransferBoosting):
    """TaskTrAdaBoost (Yao and Doretto 2010): boost each source alone, then AdaBoost on the target picks among them all.

    Phase 1: AdaBoost on each source, M rounds; its learners of alpha_t > gamma form H. Phase 2, the rounds: of all h in
    H (and -h, where h is wrong more often than right) the one of least weighted error on the target joins the sum.
    Sources are never looked at again, so that phase 2 takes milliseconds. Without sources H comes from the target.

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

    References
    ----------
    Yao, Doretto, "Boosting for transfer learning with multiple sources", CVPR 2010; Antunes, Bernardino, Smailagic,
    Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: section 3.3.2.
    """

    gamma: float = param(0.0, Interval(0), "A source's learner is kept when its alpha_t is above this.")

    def _part(self, problem: TransferProblem, signs: NDArray) -> Any:
        if not problem.names:
            return self._alone(problem, problem.target, signs, self._held_out_rows)
        models, origin, votes = [], [], []
        for k in range(1, len(problem.names) + 1):
            part = self._alone(problem, problem.source(k), signs, None)
            part.run(self.n_iterations)
            kept = [h for h, (_, alpha) in enumerate(part.models) if alpha > self.gamma]
            models += [part.models[h][0] for h in kept]
            origin += [k] * len(kept)
            # what trees of our own say of all rows is known from their rounds
            votes += [part.votes[h][problem.target] for h in kept] if isinstance(part, TreeBoosting) else []
        return self._selection(problem, models, np.array(origin, np.int64), signs, votes)

    def _alone(self, problem: TransferProblem, rows: NDArray, signs: NDArray, held_out: Any) -> Boosting:
        """Return AdaBoost on `rows`: boosting for which they are the target and nothing is a source.

        Without held-out rows, None, nothing is scored.
        """
        domain = np.ones(len(signs), np.int64)
        domain[rows] = 0
        running = None if held_out is None else RunningScores((len(rows), self._n_held_out(problem)), False)
        return boosting_of(
            self._learner,
            signs=signs,
            domain=domain,
            candidates=[rows],
            weight_update=WeightUpdate(),
            running=running,
            held_out=held_out,
            capped=self.cap_alpha,
            resets=False,
        )

    def _selection(
        self, problem: TransferProblem, models: list, origin: NDArray, signs: NDArray, votes: list[NDArray]
    ) -> TaskSelection:
        """Return the second phase over some models, whose `votes` for the target's rows are perhaps known."""
        target, n_held_out = problem.target, self._n_held_out(problem)
        predicted, held_out_votes = np.zeros((len(models), len(target))), np.zeros((len(models), n_held_out))
        for h, model in enumerate(models):
            predicted[h] = votes[h] if votes else self._learner.votes(model, target)
            if n_held_out:
                held_out_votes[h] = self._learner.votes_of(model, self._held_out_rows)
        running = RunningScores((len(target), n_held_out), False)
        return TaskSelection(
            models=models,
            predicted=predicted,
            held_out_votes=held_out_votes,
            origin=origin,
            signs=signs[target],
            running=running,
            capped=self.cap_alpha,
        )
