"""Peers on the joined table: boosted trees, with neighbour columns or without, a linear model, a kernel machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded, TreeTable
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.baselines.neighbors import neighbor_columns
from hetcore.baselines.scoring import catboost_scores, histogram_scores, linear_scores, support_vector_scores
from hetcore.errors import ParameterError

__all__ = ["JoinedCatBoost", "JoinedHistogramBoosting", "JoinedLinear", "JoinedSupportVectors"]


class _JoinedTrees(TransductivePeer):
    """What the boosted trees share: the table."""

    def __init__(self, hops: int = 0, random_state: int | None = 0) -> None:
        self.hops, self.random_state = hops, random_state

    def _table(self, encoded: Encoded, labels: Labels) -> TreeTable:
        if self.hops not in (0, 1, 2):
            raise ParameterError(f"hops={self.hops!r} must be 0, 1 or 2: 0 leaves the graphs out.")
        if not self.hops or not encoded.graphs:
            # without graphs hops see nothing
            return encoded.joined
        return encoded.joined.beside(neighbor_columns(encoded, labels, self.hops, self.random_state))


class JoinedCatBoost(_JoinedTrees):
    """CatBoost on the joined table; parameters as in `JoinedHistogramBoosting`."""

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return catboost_scores(self._table(encoded, labels), labels, self.random_state)


class JoinedHistogramBoosting(_JoinedTrees):
    """scikit-learn's histogram boosting on the joined table and on what the neighbours are and how they are labelled.

    Parameters
    ----------
    hops : {0, 1, 2}, default=0
        How far neighbour columns reach; 0 is the joined table alone.
    random_state : int or None, default=0
        Seed.
    """

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return histogram_scores(self._table(encoded, labels), labels, self.random_state)


class JoinedLinear(TransductivePeer):
    """Logistic regression, or ridge for numbers, on the joined table."""

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return linear_scores(encoded.linear, labels)


class JoinedSupportVectors(TransductivePeer):
    """RBF support vector machine on the joined table, at C = 1; `JoinedSVM` chooses cost and width."""

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return support_vector_scores(encoded.linear, labels)
