"""Rounds of transfer boosting for one class against the others, all weights as logarithms.

Adding alpha * |h - y| to a logarithm with h, y in {-1, +1} adds 2 alpha where h is wrong; a confidence-rated h in
[-1, 1] (Schapire, Singer 1999) adds its share of that. Rows weighed by e^-1000 stay apart from rows weighed by e^-2000:
a learner gets weights relative to the heaviest of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.numerics import log_sum_exp

__all__ = ["Boosting", "WeightUpdate", "TaskSelection", "RunningScores", "largest_alpha", "step_size"]


def step_size(error: float, most: float) -> float:
    """Return alpha_t = ln((1 - epsilon_t) / epsilon_t) / 2, at most `most`."""
    # no error: the logarithm would be infinite
    if error <= 0.0:
        return most
    return min(0.5 * float(np.log((1.0 - error) / error)), most)


def largest_alpha(n_target: int) -> float:
    """Return the alpha of half a row wrong in `n_target`: no error on few rows is no proof of a perfect rule."""
    # half a row wrong among the target's: no learner can be shown to be surer than that
    return 0.5 * float(np.log(max(2.0 * n_target - 1.0, 3.0)))


TIE_DIGITS = 12
"""Of errors that are compared: rows in another order are added up to others in the last digits."""


def helps(epsilon: float) -> bool:
    """Return whether an error is below one half by more than rounding."""
    # the tree of the round before, found again, errs in one half of the new weights: digits must not decide then
    return round(epsilon, TIE_DIGITS) < 0.5


LARGEST_UNCAPPED = 0.5 * float(np.log(1.0 / np.finfo(float).tiny))
"""alpha of the least positive error: what stands for infinity at epsilon_t = 0 where alpha is not capped."""


@dataclass(frozen=True)
class WeightUpdate:
    """How fast weights move.

    Attributes
    ----------
    alpha_source : float
        alpha_S.
    target_power, source_power : float
        eta in the exponents of (3) and (4); 1 without it.
    log_lift : float
        What the target's log weights gain in a round over the sources'; 0 without eta.
    """

    alpha_source: float = 0.0
    target_power: float = 1.0
    source_power: float = 1.0
    log_lift: float = 0.0


class RunningScores:
    """Running scores F of the target's training rows and of the held-out rows, over the rounds that vote.

    Parameters
    ----------
    sizes : (int, int)
        Numbers of rows.
    late : bool
        Whether only the later half of the rounds votes.
    """

    def __init__(self, sizes: tuple[int, int], late: bool) -> None:
        self.train, self.held_out = (np.zeros(size) for size in sizes)
        self.late, self.total = late, 0.0
        self.first, self._votes = 0, []

    def mean(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return F / sum of alpha of the training and of the held-out rows: in [-1, 1], 0 before any round."""
        # no vote yet: 0, not 0 / 0
        unit = 1.0 / self.total if self.total > 0 else 0.0
        return self.train * unit, self.held_out * unit

    def add(self, alpha: float, train: NDArray, held_out: NDArray) -> None:
        """Add the votes of one more round."""
        self._count((alpha, train, held_out), 1.0)
        if self.late:
            # signs, in a byte each: all rounds are kept until their vote ends
            self._votes.append((alpha, train.astype(np.int8), held_out.astype(np.int8)))
        while self.late and self.first < first_voter(len(self._votes)):
            self._count(self._votes[self.first], -1.0)
            self.first += 1

    def _count(self, votes: tuple[float, NDArray, NDArray], sign: float) -> None:
        alpha, train, held_out = votes
        self.total += sign * alpha
        self.train += sign * alpha * train
        self.held_out += sign * alpha * held_out


def first_voter(n_rounds: int) -> int:
    """Return the first round, from 0, of the later half: ceil(M / 2) of M, counted from 1."""
    # the later half, ceil(M / 2) to M, as Dai et al. vote
    return max(-(-n_rounds // 2) - 1, 0)


@dataclass
class Boosting:
    """The state of TrAdaBoost, MultiSourceTrAdaBoost and the weighted one for one class against the others.

    Attributes
    ----------
    learner : TreeLearner or ForeignLearner
    signs : (n,) float64
        +1 or -1.
    domain : (n,) int64
        0 for the target, k for source k, negative for a row that takes no part.
    candidates : list of (m,) int64
        The rows that each candidate of a round is fitted to.
    weight_update : WeightUpdate
    running : RunningScores or None
        None where nobody asks for scores, and the models alone are wanted.
    held_out : array
        The held-out rows as the learner takes them.
    capped : bool
        Whether alpha_t is at most `largest_alpha`.
    resets : bool
        Whether the target's weights are set back once where epsilon_t >= 1/2.
    share : float
        Of the target in the error by which a round chooses among its candidates, the sources' being the rest; 1 as
        printed.
    log_weights : (n,) float64
        Their exponentials sum to 1.
    """

    learner: Any
    signs: NDArray
    domain: NDArray
    candidates: list[NDArray]
    weight_update: WeightUpdate
    running: RunningScores | None
    held_out: Any
    capped: bool = True
    resets: bool = True
    share: float = 1.0
    log_weights: NDArray = field(init=False)
    models: list[tuple[Any, float]] = field(default_factory=list)
    epsilon: float = np.nan
    alpha: float = 0.0
    was_reset: bool = False
    done: bool = False

    def __post_init__(self) -> None:
        takes_part = self.domain >= 0
        self.target = np.flatnonzero(self.domain == 0)
        self.is_target, self.is_source = self.domain == 0, self.domain > 0
        self.sources = np.flatnonzero(self.is_source)
        self.start = -float(np.log(takes_part.sum()))
        # rows that are left out weigh nothing at all
        self.log_weights = np.where(takes_part, self.start, -np.inf)
        self.most = largest_alpha(len(self.target)) if self.capped else LARGEST_UNCAPPED
        self.was_reset = not self.resets

    def round(self) -> bool:
        """Do one round; return whether there is nothing left to do."""
        if self.done:
            return True
        model, self.epsilon = self._best()
        if not helps(self.epsilon):
            self.alpha, self.done = 0.0, self.was_reset
            # once: a second time the same weights would lead to the same end
            self._reset()
            # something must vote
            if self.done and not self.models:
                self._keep(model, self.most)
            return self.done
        self.alpha = step_size(self.epsilon, self.most)
        votes = self.learner.votes(model, np.arange(len(self.signs)))
        self._move(0.5 * np.abs(votes - self.signs))
        self._keep(model, self.alpha)
        return False

    def _keep(self, model: Any, alpha: float) -> None:
        self.models.append((model, alpha))
        if self.running is not None:
            held_out = self.learner.votes_of(model, self.held_out)
            self.running.add(alpha, self.learner.votes(model, self.target), held_out)

    def run(self, n_rounds: int) -> None:
        """Do rounds until `n_rounds` learners are there, or boosting ends by itself."""
        while len(self.models) < n_rounds and not self.round():
            continue

    def _best(self) -> tuple[Any, float]:
        """Return the candidate of least weighted error on the target (and the sources), and epsilon_t."""
        models = self.learner.fit_each([self._weighted(rows) for rows in self.candidates])
        errors = mixed = self.learner.errors(models, *self._weighted(self.target))
        if self.share < 1.0 and self.sources.size > 0:
            of_sources = self.learner.errors(models, *self._weighted(self.sources))
            mixed = self.share * errors + (1.0 - self.share) * of_sources
        # the first of equal ones; equal but for the order of a sum is a tie
        best = int(mixed.round(TIE_DIGITS).argmin())
        return models[best], float(errors[best])

    def _weighted(self, rows: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return rows (m,), their signs, and their weights relative to the heaviest."""
        logs = self.log_weights[rows]
        # all weights of a source may underflow otherwise
        return rows, self.signs[rows], np.exp(logs - logs.max())

    def _move(self, misses: NDArray[np.float64]) -> None:
        """Raise missed target rows, lower missed source rows, and let the weights sum to 1 again; misses in [0, 1]."""
        weight_update = self.weight_update
        up, down = (
            2.0 * self.alpha * weight_update.target_power,
            2.0 * weight_update.alpha_source * weight_update.source_power,
        )
        self.log_weights[self.is_target] += up * misses[self.is_target] + weight_update.log_lift
        self.log_weights[self.is_source] -= down * misses[self.is_source]
        # in logarithms throughout, for weights of 1e-300 and less must still be told apart
        self.log_weights -= log_sum_exp(self.log_weights)

    def _reset(self) -> None:
        """Give the target's rows the weight that they began with."""
        if not self.was_reset:
            self.log_weights[self.target] = self.start
            self.log_weights -= log_sum_exp(self.log_weights)
            self.was_reset = True

    def masses(self, n_sources: int) -> NDArray[np.float64]:
        """Return the share of all weight that the target (first) and each source hold; they sum to 1."""
        return np.bincount(self.domain, np.exp(self.log_weights), minlength=n_sources + 1)

    def voters(self) -> list[tuple[Any, float]]:
        """Return the models that vote, with their scales."""
        return self.models[self.running.first :]


@dataclass
class TaskSelection:
    """The second phase of TaskTrAdaBoost: AdaBoost on the target that picks from the sources' learners.

    Attributes
    ----------
    models : list
        H, the learners.
    predicted : (H, n_T) float64
        What each learner says of the target's rows.
    held_out_votes : (H, m) float64
    origin : (H,) int64
        The source of each learner, from 1; 0 for one of the target's own.
    signs : (n_T,) float64
    running : RunningScores
    capped : bool
        Whether alpha_t is at most `largest_alpha`.
    """

    models: list[Any]
    predicted: NDArray
    held_out_votes: NDArray
    origin: NDArray
    signs: NDArray
    running: RunningScores
    capped: bool = True
    chosen: list[tuple[int, float]] = field(default_factory=list)
    epsilon: float = np.nan
    alpha: float = 0.0
    done: bool = False

    def __post_init__(self) -> None:
        self.log_weights = np.full(len(self.signs), -np.log(len(self.signs)))
        self.most = largest_alpha(len(self.signs)) if self.capped else LARGEST_UNCAPPED
        self._wrong = (self.predicted != self.signs).astype(np.float64)
        self._shares = np.zeros(int(self.origin.max(initial=0)) + 1)

    def round(self) -> bool:
        """Do one round; return whether there is nothing left to do."""
        if self.done or not len(self.predicted):
            self.alpha, self.done = 0.0, True
            return True
        errors = self._wrong @ np.exp(self.log_weights)
        flipped = errors > 0.5  # h says the opposite of what is so: take -h
        errors = np.where(flipped, 1.0 - errors, errors)
        best = int(errors.round(TIE_DIGITS).argmin())
        self.epsilon = float(errors[best])
        if not helps(self.epsilon):
            self.alpha, self.done = 0.0, True
            return True
        self.alpha = step_size(self.epsilon, self.most)
        self._take(best, -1.0 if flipped[best] else 1.0)
        return False

    def _take(self, best: int, sign: float) -> None:
        votes = sign * self.predicted[best]
        self.log_weights[votes != self.signs] += 2.0 * self.alpha
        self.log_weights -= log_sum_exp(self.log_weights)
        self.chosen.append((best, sign * self.alpha))
        self._shares[self.origin[best]] += self.alpha
        self.running.add(self.alpha, votes, sign * self.held_out_votes[best])

    def masses(self, n_sources: int) -> NDArray[np.float64]:
        """Return the share of all alpha that learners of the target (first) and of each source hold."""
        mass = np.zeros(n_sources + 1)
        mass[: len(self._shares)] = self._shares
        return mass / mass.sum() if mass.sum() > 0 else np.append(0.0, np.full(n_sources, 1.0 / max(n_sources, 1)))

    def voters(self) -> list[tuple[Any, float]]:
        """Return the learners that were picked, with their scales, below 0 for -h."""
        return [(self.models[best], scale) for best, scale in self.chosen]
