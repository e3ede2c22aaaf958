"""The stack: a boosted learner a table, a linear one, one on neighbour columns, weighed out of fold.

References
----------
D. Wolpert, "Stacked generalization", Neural Networks 1992.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.baselines.neighbors import neighbor_columns
from hetcore.baselines.scoring import histogram_scores, linear_scores
from hetcore.data.splits import stratified
from hetcore.parameters import Seed, Whole, param

__all__ = ["Stack"]

Learner = Callable[[Labels], NDArray[np.float64]]


class Stack(TransductivePeer):
    """Stacked learners; logistic regression or ridge on top of their out-of-fold scores."""

    n_folds: int = param(3, Whole(2), "Folds.")
    n_iterations: int = param(60, Whole(1), "Trees of each boosted learner.")
    random_state: int | None = param(0, Seed(), "Seed.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        learners = self._learners(encoded)
        columns = self._side_by_side(learners, labels)
        if len(labels.rows) < 2 * self.n_folds:
            return np.mean([learner(labels) for learner in learners], axis=0)
        folds = stratified(labels.target, self.n_folds, np.random.default_rng(self.random_state))
        for fold in range(self.n_folds):
            out = labels.rows[folds == fold]
            columns[out] = self._side_by_side(learners, labels.kept(folds != fold))[out]
        return linear_scores(columns, labels)

    def _learners(self, encoded: Encoded) -> list[Learner]:
        """Return the learners: each takes labels and scores everyone."""

        def trees(columns: Callable[[Labels], object]) -> Learner:
            return lambda labels: histogram_scores(columns(labels), labels, self.random_state, self.n_iterations)

        found = [trees(lambda labels, table=table: table) for table in encoded.tables]
        found.append(lambda labels: linear_scores(encoded.linear, labels))
        if encoded.graphs:
            near = lambda labels: encoded.joined.beside(neighbor_columns(encoded, labels, 1, self.random_state))  # noqa: E731
            found.append(trees(near))
        elif len(encoded.tables) > 1:
            found.append(trees(lambda labels: encoded.joined))
        return found

    @staticmethod
    def _side_by_side(learners: list[Learner], labels: Labels) -> NDArray[np.float64]:
        """Return scores (n, k) of all learners; of classes log odds, of two only the second's."""
        scores = [learner(labels) for learner in learners]
        if not labels.n_classes:
            return np.column_stack(scores)
        shares = np.clip(np.hstack([each[:, 1:] if labels.n_classes == 2 else each for each in scores]), 1e-3, 1 - 1e-3)
        return np.log(shares / (1.0 - shares))
