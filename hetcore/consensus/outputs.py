"""Labels as a view's learners see them: one score for numbers and for two classes, K for more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcore.targets import Scale

__all__ = ["Outputs"]

NARROW = 500.0  # range of scores whose exponentials are all normal numbers
FEWEST_CURVATURE = 0.1  # of the loss where a label is turned into a score: bounds it for classes that are sure


class Outputs(NamedTuple):
    """The loss of k scores a row.

    Attributes
    ----------
    is_classifier : bool
    prior : (k,) float64
        The constant score that minimises the loss: 0 for standardised numbers, log odds for two classes.
    """

    is_classifier: bool
    prior: NDArray[np.float64]

    @classmethod
    def of(cls, scale: Scale) -> Outputs:
        """Return the outputs of a problem's scale."""
        two = scale.is_classifier and scale.n_outputs == 2
        # a score of two classes is the difference of their raw scores
        prior = np.diff(scale.prior) if two else scale.prior
        return cls(scale.is_classifier, prior)

    @property
    def k(self) -> int:
        """Scores of a row."""
        return self.prior.size

    def codes(self, target: NDArray) -> NDArray[np.float64]:
        """Return the targets (n, k) of codes (n, K): of two classes, those of the second."""
        return target[:, -self.k :]

    def fitted(self, scores: NDArray) -> NDArray[np.float64]:
        """Return probabilities or standardised numbers (..., k)."""
        if not self.is_classifier:
            return scores
        # one score: expit is exact at both ends, where a softmax of two would round to 1
        return expit(scores) if self.k == 1 else _softmax(scores)[0]

    def loss(self, scores: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """Return each row's loss (...,): half the squared error, or the log loss."""
        if not self.is_classifier:
            return 0.5 * ((scores - codes) ** 2)[..., 0]
        if self.k == 1:
            # without overflow for large scores
            return (np.logaddexp(0.0, scores) - codes * scores)[..., 0]
        return _softmax(scores)[1] - np.einsum("...k,...k->...", codes, scores)

    def curvature(self, fitted: NDArray) -> NDArray[np.float64]:
        """Return the second derivatives (..., k) of the loss."""
        return fitted * (1.0 - fitted) if self.is_classifier else np.ones_like(fitted)

    def working(self, scores: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """Return the scores that labels stand for: a Newton step from `scores`; numbers are the labels themselves."""
        fitted = self.fitted(scores)
        # a class that is sure has no curvature, and its label would be infinitely far
        return scores + (codes - fitted) / np.maximum(self.curvature(fitted), FEWEST_CURVATURE)

    def widened(self, change: NDArray, n_outputs: int) -> NDArray[np.float64]:
        """Return a change of the k scores as one of the K raw scores, (n, K)."""
        if self.k == n_outputs:
            return change
        # halves, so that the two raw scores keep their sum
        return np.concatenate([-0.5 * change, 0.5 * change], axis=-1)


def _softmax(scores: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return probabilities (..., k) and the logarithms (...,) of what they were divided by."""
    top = np.asarray(scores.max(initial=0.0))
    if not top - scores.min(initial=0.0) < NARROW:  # else one number serves all rows, and is found far faster
        top = scores.max(axis=-1, keepdims=True)
    odds = scores - top
    np.exp(odds, out=odds)
    # a product with ones: faster than a sum over so short an axis
    total = odds @ np.ones((odds.shape[-1], 1))
    odds /= total
    return odds, (np.log(total) + top)[..., 0]
