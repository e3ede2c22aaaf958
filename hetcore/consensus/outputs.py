"""Labels as learners see them: one score for numbers and for two classes, K for more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcore.targets import Scale

__all__ = ["Outputs", "stretch_of", "widened"]

NARROW = 500.0  # range of scores whose exponentials are all normal numbers
MOST_STRETCH = 3.0  # of the consensus, before views are pulled to it
SMOOTHING = 2.0  # labels of the prior's shares that are added to those seen, where a left-out loss is taken
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
        return self.fitted_with_loss(scores, codes)[1]

    def fitted_with_loss(self, scores: NDArray, codes: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `fitted` and `loss`, of several classes from the same exponentials."""
        if not self.is_classifier or self.k == 1:
            return self.fitted(scores), self.loss(scores, codes)
        fitted, log_total = _softmax(scores)
        return fitted, log_total - np.einsum("...k,...k->...", codes, scores)

    def label_smoothed(self, codes: NDArray) -> NDArray[np.float64]:
        """Return the targets (l, k) that left-out losses are taken of: of classes with label smoothing.

        Szegedy et al. 2016, "Rethinking the Inception architecture for computer vision", section 7. Ten labels that are
        told apart by luck have a loss that falls without end the surer one is of them. Of l labels
        2 / (l + 2) of each is dealt by the prior's shares of the classes, so that being sure of few costs something.
        """
        if not self.is_classifier:
            return codes
        dealt = SMOOTHING / (len(codes) + SMOOTHING)
        return (1.0 - dealt) * codes + dealt * self.fitted(self.prior)

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


def widened(margins: NDArray, scale: Scale) -> NDArray[np.float64]:
    """Return the scale's raw scores for margins: two classes have one margin, against 0."""
    return np.concatenate([np.zeros_like(margins), margins], axis=-1) if scale.n_outputs == 2 else margins


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


def stretch_of(outputs: Outputs, left_out: NDArray, codes: NDArray, predicted: NDArray) -> float:
    """Return by how much E of the pulled rows is to be stretched so that it is of the labels' size.

    Learners that are not done, or are held back by a penalty, say too little; pulled to that they would say less. The
    slope is that of the labels on the out-of-fold scores, less its standard error. Members say as much of a pulled row
    as of a labelled one that they have not seen; where they say more, the pull feeds on itself, and E is stretched by
    less.

    Parameters
    ----------
    outputs : Outputs
    left_out, codes : (l, k) float64
        Out-of-fold scores and targets of the labelled rows.
    predicted : (F, u, k) float64
        E of the pulled rows by fold.
    """
    change = left_out - outputs.prior
    fitted = outputs.fitted(left_out)
    # no change at all: nothing to stretch by
    curved = max(float((outputs.curvature(fitted) * change**2).sum()), 1e-12)
    # a Newton step less one standard error, so that a few labels do not stretch by chance
    step = float(((codes - fitted) * change).sum()) / curved - 1.0 / np.sqrt(curved)
    ratio = np.sqrt((change**2).mean() / max(float(((predicted - outputs.prior) ** 2).mean()), 1e-300))
    # never shrunk, for E of members is smaller than the labels; and not more than pulled rows bear
    return float(max(1.0, min(1.0 + step, MOST_STRETCH) * min(1.0, ratio)))
