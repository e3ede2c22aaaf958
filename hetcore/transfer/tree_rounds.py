"""Rounds of transfer boosting whose weak learners are trees of our own: all of a round in one call of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.growing import WRONG
from hetcore.kernels.boosted_votes import (
    ALPHA,
    DONE,
    EPSILON,
    N_KEPT,
    WAS_RESET,
    KeptVotes,
    VoteRule,
    VoteState,
    boost_votes,
)
from hetcore.kernels.layout import NODE_DTYPE
from hetcore.members import MemberGrower
from hetcore.transfer.learners import TreeLearner
from hetcore.transfer.rounds import Boosting
from hetcore.trees import Tree

__all__ = ["TreeBoosting", "boosting_of"]

_AT_ONCE = 1 << 18  # numbers that the trees of one call and their votes hold at most, but for a single tree


@dataclass
class TreeBoosting(Boosting):
    """What `Boosting` does, with trees of our own: the same trees and weights, but for the last digits of sums.

    Attributes
    ----------
    votes : list of (n,) float64
        What each model says of all rows, where there are no running scores.
    """

    votes: list[NDArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_bins, n = self.learner.mapper.n_bins, len(self.signs)
        self._grower = MemberGrower(self.learner.binned, n_bins, (1, 1), self.learner.params)
        columns = np.arange(len(n_bins), dtype=np.int32)
        self._grower.use([np.asarray(rows, np.int32) for rows in self.candidates], [columns] * len(self.candidates))
        given = np.zeros((2, len(self.candidates), n, 1), np.float32)
        counters = np.array([0, self.was_reset, 0, 0], np.int64)
        self._state = VoteState(self.log_weights, *given, np.zeros(2), counters)
        self._rule, self._grown = self._rule_of(), self._grower.empty(len(self.candidates))
        self._kept = self._room(1)

    def _rule_of(self) -> VoteRule:
        update = self.weight_update
        return VoteRule(
            signs=np.ascontiguousarray(self.signs, np.float64),
            domain=np.ascontiguousarray(self.domain, np.int64),
            soft=bool(self.learner.soft),
            share=float(self.share),
            most=float(self.most),
            up=2.0 * float(update.target_power),
            down=2.0 * float(update.alpha_source) * float(update.source_power),
            lift=float(update.log_lift),
            start=float(self.start),
        )

    def _room(self, n_trees: int) -> KeptVotes:
        """Return room for some trees, and for what they say of all rows."""
        capacity, n = self._grown.nodes.shape[1], len(self.signs)
        nodes, values = np.empty((n_trees, capacity), NODE_DTYPE), np.empty((n_trees, capacity, 1))
        return KeptVotes(nodes, values, np.empty(n_trees, np.int64), np.empty(n_trees), np.empty((n_trees, n)))

    def round(self) -> bool:
        """Do one round; return whether there is nothing left to do."""
        if not self.done:
            self._advance(self._kept, 1)
        return self.done

    def run(self, n_rounds: int) -> None:
        """Do rounds until `n_rounds` learners are there, or boosting ends by itself."""
        most = max(_AT_ONCE // (len(self.signs) + self._grown.nodes.shape[1]), 1)
        while len(self.models) < n_rounds and not self.done:
            room = min(n_rounds - len(self.models), most)
            # a round more, for one may set the weights back and keep nothing
            self._advance(self._room(room), room + 1)

    def _advance(self, kept: KeptVotes, n_rounds: int) -> None:
        problem, work, scratch, buffers, begins = self._grower.room
        room = problem, self._grower.parts, self.learner.params, work, scratch, buffers, begins
        wrong = boost_votes(*room, self._grown, self._rule, self._state, kept, n_rounds)
        if wrong:
            raise DataError(WRONG[wrong])
        counters = self._state.counters.tolist()
        self.epsilon, self.alpha = float(self._state.numbers[EPSILON]), float(self._state.numbers[ALPHA])
        self.was_reset, self.done = bool(counters[WAS_RESET]), bool(counters[DONE])
        for k in range(counters[N_KEPT]):
            size = kept.sizes[k]
            # copies: the room is the next round's
            self._count(Tree(kept.nodes[k, :size].copy(), kept.values[k, :size].copy()), kept, k)

    def _count(self, model: Tree, kept: KeptVotes, k: int) -> None:
        self.models.append((model, float(kept.alphas[k])))
        if self.running is None:
            self.votes.append(kept.votes[k])
            return
        held_out = self.learner.votes_of(model, self.held_out) if self.held_out.size else np.empty(0)
        self.running.add(self.models[-1][1], kept.votes[k, self.target], held_out)


def boosting_of(learner: Any, **given: Any) -> Boosting:
    """Return boosting with a learner: in the kernel where it grows trees of our own."""
    # that very class: stumps of least error are trees that the kernel doesn't grow
    return (TreeBoosting if type(learner) is TreeLearner else Boosting)(learner=learner, **given)
