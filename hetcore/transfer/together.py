"""Boosting by two kinds of weak learner side by side: what an ensemble of each says is added up.

    F(x) = sum_l share_l tau_l F_l(x),    F_l(x) in [-1, 1] the mean vote of ensemble l

share_l is how likely the target's left-out rows make learner l, tau_l its steepness (`hetcore.transfer.left_out`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.transfer.learners import TreeVotes
from hetcore.transfer.linear_learner import LinearVotes
from hetcore.transfer.rounds import Boosting

__all__ = ["BothVotes", "Scores", "Together"]


class Scores(NamedTuple):
    """Scores F of the target's training rows and of the held-out rows."""

    train: NDArray[np.float64]
    held_out: NDArray[np.float64]


@dataclass
class Together:
    """The boosting of each learner, in step.

    Attributes
    ----------
    parts : list of Boosting
        Of ridge machines and of trees, in this order.
    shares, steepnesses : list of float
        share_l, which sum to 1, and tau_l.
    """

    parts: list[Boosting]
    shares: list[float]
    steepnesses: list[float]

    def round(self) -> bool:
        """Do one round of each; return whether all are done."""
        return all([part.round() for part in self.parts])

    @property
    def units(self) -> list[float]:
        """What the sum of the votes of each is multiplied by."""
        each = zip(self.parts, self.shares, self.steepnesses)
        return [share * tau / part.running.total if part.running.total > 0 else 0.0 for part, share, tau in each]

    @property
    def running(self) -> Scores:
        """F after the rounds so far."""
        each = list(zip(self.units, self.parts))
        train = sum(unit * part.running.train for unit, part in each)
        return Scores(train, sum(unit * part.running.held_out for unit, part in each))

    @property
    def models(self) -> list[Any]:
        """The learners of the part that has most."""
        return max((part.models for part in self.parts), key=len)

    @property
    def epsilon(self) -> float:
        """epsilon_t, the mean by shares."""
        return float(np.dot(self.shares, [part.epsilon for part in self.parts]))

    @property
    def alpha(self) -> float:
        """alpha_t, the mean by shares."""
        return float(np.dot(self.shares, [part.alpha for part in self.parts]))

    def masses(self, n_sources: int) -> NDArray[np.float64]:
        """Return the share of all weight of the target (first) and of each source, the mean by shares."""
        return np.dot(self.shares, [part.masses(n_sources) for part in self.parts])

    def votes(self) -> BothVotes:
        """Return the models that vote, with their scales."""
        found = [part.learner.new_votes() for part in self.parts]
        for votes, unit, part in zip(found, self.units, self.parts):
            for model, scale in part.voters():
                votes.append(model, unit * scale)
        return BothVotes(*found)


@dataclass
class BothVotes:
    """F(x) = what ridge machines say + what trees say."""

    linear: LinearVotes
    trees: TreeVotes

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return F (n,)."""
        return self.linear.scores(X) + self.trees.scores(X)
