"""What the boosted transfer classifiers share: states in step, events, votes, files; the box is in `tradaboost`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ParameterError
from hetcore.parameters import Declared, Domain, Flag, OneOf, Seed, Slider, Whole, param
from hetcore.schema import State as FileState
from hetcore.transfer.error_stumps import ErrorStumps
from hetcore.transfer.estimator import TransferEstimator, TransferProblem
from hetcore.transfer.files import VoteSums
from hetcore.transfer.learners import ForeignLearner, TreeLearner, TreeVotes
from hetcore.transfer.rounds import Boosting, RunningScores, TaskSelection, WeightUpdate
from hetcore.transfer.together import BothVotes
from hetcore.transfer.tree_rounds import boosting_of

__all__ = ["Cap", "Criterion", "Helps", "State", "TransferBoosting", "alpha_source", "learner_for"]


class Cap(Declared):
    """The parameter of the cap on alpha_t, beyond the papers."""

    cap_alpha: bool = param(
        True, Flag(), "Whether alpha_t is at most that of half a target row wrong; as printed it is not."
    )


class Helps(Cap):
    """Parameters of what keeps boosting alive, beyond the papers."""

    reset: bool = param(
        True, Flag(), "Whether the target's weights are set back once where no source helps; as printed they are not."
    )


class Criterion(Declared):
    """The parameter of what a tree of our own minimises."""

    criterion: str = param(
        "squared",
        OneOf("squared", "error"),
        "What a tree of our own minimises: the weighted squared error to the signs, which is the Gini index, or the "
        "weighted classification error, as printed (MultiSourceTrAdaBoost, step 5); the latter is for `max_depth=1`.",
    )

    @property
    def _criterion(self) -> str:
        return self.criterion


@dataclass
class State:
    """One boosting per class (one for two classes), in step."""

    problem: TransferProblem
    parts: list[Any]

    def round(self) -> bool:
        """Do one round of each; return whether all are done."""
        # a list: each class does its round, also where another one is done
        return all([part.round() for part in self.parts])


class TransferBoosting(TransferEstimator):
    """What the boosted transfer classifiers share."""

    _stored = TransferEstimator._stored | {"_votes": VoteSums()}
    _positional = ("estimator",)

    estimator: Any = param(
        None,
        Domain(lambda v: v is None or hasattr(v, "fit"), "a scikit-learn classifier, or None for trees of our own"),
        "The weak learner, which must take sample weights; by default a tree of our own, which allows missing values.",
    )
    n_iterations: int = param(100, Whole(1), "M, rounds at most.", Slider("Rounds M", 5, 200, 5))
    max_depth: int = param(
        1, Whole(1, 30, cure="1 is a stump"), "Depth of a tree of our own; 1 is a stump.", Slider("Depth", 1, 8, 1)
    )
    random_state: int | None = param(0, Seed(), "Seed of foreign estimators; trees of our own draw nothing.")

    _criterion = "squared"  # what a tree of our own minimises
    _soft = False  # whether a leaf says the mean sign of its rows
    _steepness = 2.0
    _late = False

    @property
    def _allows_missing(self) -> bool:
        return self.estimator is None

    def _start(self, problem: TransferProblem) -> State:
        self._learner = learner_for(problem.X, self, self._criterion)
        held_out = problem.X[:0] if problem.held_out is None else problem.held_out.X
        self._held_out_rows = self._learner.prepared(held_out)
        return State(problem, [self._part(problem, problem.signs(k)) for k in range(problem.n_problems)])

    def _part(self, problem: TransferProblem, signs: NDArray) -> Boosting:
        target, n_sources = problem.target, len(problem.names)
        sources = [problem.source(k) for k in range(1, n_sources + 1)]
        # without a source all rounds are on the target alone
        rows = [np.sort(np.append(target, source)) for source in self._grouped(sources)] or [target]
        running = RunningScores((len(target), self._n_held_out(problem)), self._late and n_sources > 0)
        weight_update = self._weight_update(len(target), len(signs) - len(target))
        return boosting_of(
            self._learner,
            signs=signs,
            domain=problem.domain,
            candidates=rows,
            weight_update=weight_update,
            running=running,
            held_out=self._held_out_rows,
            capped=self.cap_alpha,
            resets=self.reset,
        )

    def _grouped(self, sources: list[NDArray]) -> list[NDArray]:
        return sources

    def _n_held_out(self, problem: TransferProblem) -> int:
        return 0 if problem.held_out is None else len(problem.held_out.codes)

    def _weight_update(self, n_target: int, n_source: int) -> WeightUpdate:
        return WeightUpdate(alpha_source(self.source_rate, n_source, self.n_iterations))

    def _view(self, state: State) -> dict[str, Any]:
        problem, parts = state.problem, state.parts
        train = _beside([self._unit(part) * part.running.train for part in parts])
        held_out = None
        if problem.held_out is not None:
            held_out = _beside([self._unit(part) * part.running.held_out for part in parts])
        view = self._measured(problem, train, held_out)
        mass = _mean([part.masses(len(problem.names)) for part in parts])
        view["source_weights"] = dict(zip(problem.names, mass[1:].tolist()))
        view["detail"] |= {
            "epsilon": float(_mean([part.epsilon for part in parts])),
            "alpha": float(_mean([part.alpha for part in parts])),
            "target_mass": float(mass[0]),
        }
        return view

    def _finish(self, state: State) -> None:
        self._votes = [self._votes_of(part) for part in state.parts]
        self.source_weights_ = self._view(state)["source_weights"]
        del self._learner, self._held_out_rows

    def _votes_of(self, part: Boosting | TaskSelection) -> Any:
        votes = self._learner.new_votes()
        for model, scale in part.voters():
            votes.append(model, self._unit(part) * scale)
        return votes

    def _unit(self, part: Any) -> float:
        """Return what the sum of the votes is multiplied by."""
        return 1.0

    def _scores(self, X: NDArray) -> NDArray[np.float64]:
        return np.column_stack([votes.scores(X) for votes in self._votes])

    def _restored(self, sizes: dict[str, int]) -> str:
        for votes in self._votes:
            trees = votes.trees if isinstance(votes, BothVotes) else votes
            sizes_of_leaves = np.abs(trees.forest.to_arrays()["values"]) if isinstance(trees, TreeVotes) else np.ones(1)
            # a forged tree that says more than 1 would outvote all others
            if (sizes_of_leaves > 1.0 if self._soft else sizes_of_leaves != 1.0).any():
                return "The trees of the model file say something else than +1 or -1"
        return super()._restored(sizes)

    def _get_state(self) -> FileState:
        if self.estimator is not None:
            what = f"A model with estimator={type(self.estimator).__name__} can't be saved"
            raise ParameterError(f"{what}: only our own learners are plain numbers; fit with estimator=None to save.")
        return super()._get_state()


def learner_for(X: NDArray, model: TransferBoosting, criterion: str) -> TreeLearner | ForeignLearner:
    """Return the learner of a model over the training rows X (n, d): trees of our own unless it has an estimator.

    Raises
    ------
    ParameterError
        If trees deeper than stumps are to be of least classification error.
    """
    if model.estimator is not None:
        return ForeignLearner(X, model.estimator, model.random_state)
    if criterion == "squared":
        return TreeLearner(X, model.max_depth)
    if model.max_depth > 1:
        raise ParameterError(
            f"criterion='error' with max_depth={model.max_depth!r} can't be fitted: only the best stump is found "
            "exactly; give max_depth=1, or criterion='squared'."
        )
    return ErrorStumps(X)


def _beside(scores: list[NDArray]) -> NDArray[np.float64]:
    """Return the scores (n,) of each class side by side, (n, K); of one, as two classes have, without a copy."""
    return scores[0][:, None] if len(scores) == 1 else np.stack(scores, axis=1)


def _mean(values: list[Any]) -> Any:
    """Return the mean of numbers or arrays; of one, as two classes have, that one."""
    return values[0] if len(values) == 1 else np.mean(values, axis=0)


def alpha_source(rate: str, n_source: int, n_iterations: int) -> float:
    """Return alpha_S, 0 without sources.

    Raises
    ------
    ParameterError
        If alpha_S is imaginary: rate "ratio" and fewer source rows than rounds.
    """
    # no source: nothing to weigh
    if n_source == 0:
        return 0.0
    if rate == "hedge":
        return 0.5 * float(np.log1p(np.sqrt(2.0 * np.log(n_source) / n_iterations)))
    if rate == "auto":
        # more rounds than source rows: the printed rate is imaginary
        rates = ("hedge", "ratio") if n_source >= n_iterations else ("hedge",)
        return max(alpha_source(each, n_source, n_iterations) for each in rates)
    if n_source < n_iterations:
        raise ParameterError(
            f"n_iterations={n_iterations!r} must be at most the number of source rows, n_S={n_source}: alpha_S = "
            "ln(1 + sqrt(2 ln(n_S / M))) / 2 is imaginary for fewer; give fewer rounds, or source_rate='hedge'."
        )
    return 0.5 * float(np.log1p(np.sqrt(2.0 * np.log(n_source / n_iterations))))
