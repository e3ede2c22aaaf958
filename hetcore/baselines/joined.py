"""Peers on the joined table: boosted trees, with neighbour columns or without, a linear model, a kernel machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded, TreeTable
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.baselines.neighbors import neighbor_columns
from hetcore.baselines.scoring import (
    CATBOOST_TREES,
    MACHINES,
    catboost_scores,
    histogram_scores,
    least,
    support_vector_scores,
    tuned_linear_scores,
)
from hetcore.parameters import Seed, Whole, param

__all__ = ["JoinedCatBoost", "JoinedHistogramBoosting", "JoinedLinear", "JoinedSupportVectors"]


class _JoinedTrees(TransductivePeer):
    """What the boosted trees share: the table."""

    hops: int = param(0, Whole(0, 2), "How far neighbour columns reach; 0 is the joined table alone.")
    random_state: int | None = param(0, Seed(), "Seed.")

    def _table(self, encoded: Encoded, labels: Labels) -> TreeTable:
        if not self.hops or not encoded.graphs:
            # without graphs hops see nothing
            return encoded.joined
        return encoded.joined.beside(neighbor_columns(encoded, labels, self.hops, self.random_state))


class JoinedCatBoost(_JoinedTrees):
    """CatBoost on the joined table and on what the neighbours are and how they are labelled."""

    n_iterations: int = param(CATBOOST_TREES, Whole(1), "Trees; half of them of more than ten classes.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return catboost_scores(self._table(encoded, labels), labels, self.random_state, self.n_iterations)


class JoinedHistogramBoosting(_JoinedTrees):
    """Histogram boosting of scikit-learn on the same columns as `JoinedCatBoost`."""

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return histogram_scores(self._table(encoded, labels), labels, self.random_state)


class JoinedLinear(TransductivePeer):
    """Logistic regression, or ridge for numbers, on the joined table; its penalty is chosen within the labels."""

    random_state: int | None = param(0, Seed(), "Seed of the folds.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return tuned_linear_scores(encoded.linear, labels, self.random_state)


class JoinedSupportVectors(TransductivePeer):
    """RBF support vector machine on the joined table; its cost and gamma are chosen within the labels."""

    random_state: int | None = param(0, Seed(), "Seed of the folds.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        machine = least(MACHINES, support_vector_scores, encoded.linear, labels, self.random_state)
        return support_vector_scores(encoded.linear, labels, machine)
