"""Several boostings side by side: what their ensembles say is added up.

    F(x) = sum_p share_p tau_p F_p(x),    F_p(x) in [-1, 1] the mean vote of ensemble p

each of one kind of weak learner at one eta. share_p is how likely the target's left-out rows make it, tau_p its
steepness (`hetcore.transfer.left_out`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.transfer.learners import TreeVotes
from hetcore.transfer.linear_learner import LinearVotes
from hetcore.transfer.rounds import Boosting

__all__ = ["BothVotes", "Scores", "Together", "Vote"]


class Vote(NamedTuple):
    """One boosting's part of the vote.

    Attributes
    ----------
    learner : str
        Its weak learner's name.
    eta : float
    share : float
        Of the vote; the shares of all sum to 1.
    steepness : float
        tau.
    """

    learner: str
    eta: float
    share: float
    steepness: float


class Scores(NamedTuple):
    """Scores F of the target's training rows and of the held-out rows."""

    train: NDArray[np.float64]
    held_out: NDArray[np.float64]


@dataclass
class Together:
    """Boostings in step.

    Attributes
    ----------
    parts : list of Boosting
    given : list of Vote
        The share and steepness of each.
    """

    parts: list[Boosting]
    given: list[Vote]

    def round(self) -> bool:
        """Do one round of each; return whether all are done."""
        return all([part.round() for part in self.parts])

    @property
    def units(self) -> list[float]:
        """What the sum of the votes of each is multiplied by."""
        each = zip(self.parts, self.given)
        return [
            vote.share * vote.steepness / part.running.total if part.running.total > 0 else 0.0 for part, vote in each
        ]

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
    def shares(self) -> list[float]:
        """share_p, which sum to 1."""
        return [vote.share for vote in self.given]

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

    def votes(self) -> Any:
        """Return the models that vote, with their scales; of two learners those of each."""
        found = {}
        for unit, part in zip(self.units, self.parts):
            votes = found.setdefault(id(part.learner), part.learner.new_votes())
            for model, scale in part.voters():
                votes.append(model, unit * scale)
        each = sorted(found.values(), key=lambda votes: isinstance(votes, TreeVotes))
        return each[0] if len(each) == 1 else BothVotes(*each)


@dataclass
class BothVotes:
    """F(x) = what ridge machines say + what trees say."""

    linear: LinearVotes
    trees: TreeVotes

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return F (n,)."""
        return self.linear.scores(X) + self.trees.scores(X)
