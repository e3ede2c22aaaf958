r"""Peers that spread along links: label propagation, SGC, Correct & Smooth. All graphs count as one.

With S = D^{-1/2} A D^{-1/2} and P = D^{-1} A:

- Label propagation [1]: F <- alpha S F + (1 - alpha) Y, 50 steps, each class's column of Y summing to one. Numbers
  spread as a sum and a mass, whose ratio is predicted.
- SGC [2]: the columns S~^2 X, S~ with self-loops, then logistic regression or ridge.
- Correct & Smooth [3]: the residuals of a base learner on the labelled rows spread, E <- alpha P E with the labelled
  rows held, and are added; then classes, labelled rows as they are known, are smoothed,
  G <- alpha S G + (1 - alpha) G_0.

References
----------
[1] D. Zhou, O. Bousquet, T. Lal, J. Weston, B. Schölkopf, "Learning with local and global consistency", NeurIPS 2003.
[2] F. Wu et al., "Simplifying graph convolutional networks", ICML 2019.
[3] Q. Huang, H. He, A. Singh, S.-N. Lim, A. Benson, "Combining label propagation and simple models out-performs graph
neural networks", ICLR 2021; J. Jia, A. Benson, "Residual correlation in graph neural network regression", KDD 2020.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded, averaging_operator, symmetric_operator
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.baselines.scoring import histogram_scores, tuned_linear_scores
from hetcore.data.splits import stratified
from hetcore.parameters import Interval, Seed, Whole, param

__all__ = ["CorrectAndSmooth", "LabelPropagation", "SimpleGraphConvolution"]


def _shares(scores: NDArray, prior: NDArray) -> NDArray[np.float64]:
    """Return rows (n, K) that sum to one; the prior where there is nothing."""
    # spreading by signed weights may leave shares below 0
    scores = np.maximum(scores, 0.0)
    total = scores.sum(axis=1, keepdims=True)
    # nothing came here: the prior
    return np.where(total > 1e-12, scores / np.where(total > 1e-12, total, 1.0), prior)


class LabelPropagation(TransductivePeer):
    """Label propagation over all graphs together."""

    needs_graph = True
    alpha: float = param(0.9, Interval(0, 1, "()"), "Share that a step takes from the neighbours.")
    n_steps: int = param(50, Whole(1), "Steps.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        operator = symmetric_operator(encoded.links)
        known = np.nan_to_num(labels.matrix)
        if labels.n_classes:
            # each class's labels sum to one, so that a frequent class does not win by its number
            spread = self._spread(operator, known / np.maximum(known.sum(axis=0), 1.0))
            return _shares(spread / np.maximum(spread.sum(axis=1, keepdims=True), 1e-300), labels.prior)
        there = ~np.isnan(labels.matrix)
        centred = np.where(there, labels.matrix - labels.prior, 0.0)
        # a sum and a mass: their quotient is a mean that weighs near ones more
        total, mass = self._spread(operator, np.hstack([centred, there])).T
        return labels.prior[0] + np.divide(total, mass, out=np.zeros(encoded.n), where=mass > 1e-12)

    def _spread(self, operator: scipy.sparse.csr_array, start: NDArray) -> NDArray[np.float64]:
        spread = start
        for _ in range(self.n_steps):
            spread = self.alpha * (operator @ spread) + (1.0 - self.alpha) * start
        return spread


class SimpleGraphConvolution(TransductivePeer):
    """SGC: columns smoothed along the links, then a linear model."""

    needs_graph = True
    n_steps: int = param(2, Whole(0), "Smoothing steps.")
    random_state: int | None = param(0, Seed(), "Seed of the folds that C is chosen by.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        operator, X = symmetric_operator(encoded.links, loops=1.0), encoded.linear
        for _ in range(self.n_steps):
            X = operator @ X
        return tuned_linear_scores(X, labels, self.random_state)


class CorrectAndSmooth(TransductivePeer):
    """Correct & Smooth over histogram boosting on the joined table.

    Residuals are those of three folds: on its own training rows a boosted learner has next to none.
    """

    needs_graph = True
    alpha: float = param(0.8, Interval(0, 1, "()"), "Share that a step takes from the neighbours.")
    n_steps: int = param(30, Whole(1), "Steps of either part.")
    random_state: int | None = param(0, Seed(), "Seed.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        rows, base = labels.rows, self._base(encoded, labels)
        folds = stratified(labels.target, 3, np.random.default_rng(self.random_state))
        residual = np.zeros_like(base)
        # two labels leave nothing to be residual of
        for fold in np.unique(folds) if len(rows) > 2 else ():
            out = rows[folds == fold]
            # residuals of rows that the base learner has not seen: of training rows they are too small
            residual[out] = (labels.matrix - self._base(encoded, labels.kept(folds != fold)))[out]
        corrected = base + self._spread_residual(encoded, residual, rows)
        if not labels.n_classes:
            return corrected[:, 0]
        corrected[rows] = labels.matrix[rows]
        return _shares(self._smoothed(encoded, corrected), labels.prior)

    def _base(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        return histogram_scores(encoded.joined, labels, self.random_state).reshape(encoded.n, -1)

    def _spread_residual(self, encoded: Encoded, residual: NDArray, rows: NDArray) -> NDArray[np.float64]:
        operator, spread = averaging_operator(encoded.links), residual.copy()
        for _ in range(self.n_steps):
            spread = self.alpha * (operator @ spread)
            # labelled rows are held at what is known of them
            spread[rows] = residual[rows]
        return spread

    def _smoothed(self, encoded: Encoded, start: NDArray) -> NDArray[np.float64]:
        operator, smooth = symmetric_operator(encoded.links), start
        for _ in range(self.n_steps):
            smooth = self.alpha * (operator @ smooth) + (1.0 - self.alpha) * start
        return smooth
