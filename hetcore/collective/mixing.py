"""The convex mix of models that has the lowest out-of-fold loss, where it is clearly lower than that of the first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hetcore.targets import Scale

__all__ = ["guarded_weights", "mixing_weights"]

STEPS, STILL = 200, 1e-9
TEMPERATURE = 4.0  # of numbers: squared error of the best model, times which the pull to equal weights is; 1 at most
# standard errors by which a mix must beat the first model alone: where its residuals are alike along links, elsewhere
SURE, SURER = 1.0, 2.0


def mixing_weights(scores: NDArray[np.float64], target: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return w >= 0, sum 1, that minimise the mean loss of sum_c w_c scores_c, plus KL(w, equal weights) / m.

    By exponentiated gradient (Kivinen, Warmuth 1997, "Exponentiated gradient versus gradient descent for linear
    predictors") with backtracking; the second term keeps few labels from choosing one model alone. Of numbers it is
    four times what the best model errs by, squared, where that is below 1 (Leung, Barron 2006, "Information theory and
    mixing least-squares regressions"): beside a model that errs by next to nothing, others would else keep their part.

    Parameters
    ----------
    scores : (c, m, K) float64
        Out of fold, by model.
    target : (m, K) float64
    scale : Scale
    """
    c, m = scores.shape[:2]
    if not scale.is_classifier:
        # in units in which the pull is of weight 1, a step of one length does for any size of errors
        unit = np.sqrt(np.clip(TEMPERATURE * ((scores - target) ** 2).mean(axis=(1, 2)).min(), 1e-12, 1.0))
        scores, target = scores / unit, target / unit
    weights, rate = np.full(c, 1.0 / c), 1.0
    value = _value(weights, scores, target, scale)
    for _ in range(STEPS if c > 1 else 0):
        gradient = scale.fitted(np.tensordot(weights, scores, 1)) - target
        # the pull to equal weights weighs one row: of few rows the mix stays near the mean
        slope = np.einsum("mk,cmk->c", gradient, scores) / m + np.log(weights * c) / m
        moved, new = weights, np.inf
        while new > value and rate > 1e-6:
            # from the steepest down; a weight of 0 would never come back, for it is multiplied
            moved = np.maximum(weights * np.exp(rate * (slope.min() - slope)), 1e-12)  # factors are at most 1
            moved = moved / moved.sum()
            new = _value(moved, scores, target, scale)
            rate *= 0.5
        # no better by more than rounding
        if new > value - STILL:
            break
        # a step that worked may be longer the next time
        weights, value, rate = moved, new, rate * 3.0
    return weights


def guarded_weights(
    scores: NDArray[np.float64],
    target: NDArray[np.float64],
    scale: Scale,
    alike: Callable[[NDArray], bool],
    n_first: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the mix (c,), of the first models alone unless it clearly errs less than their own mix.

    Clearly is by two standard errors of the paired differences of the rows' losses, and by one where `alike` says of
    the scores (m, K) of the first models' mix that their residuals are alike along links, which speaks for the others
    too (the "one standard error rule": Breiman et al. 1984, section 3.4.3). It is asked only where that decides. The
    weights of the first models' own mix (n_first,) are returned too; the rest as in `mixing_weights`.
    """
    alone = mixing_weights(scores[:n_first], target, scale)
    if n_first == len(scores):
        return alone, alone
    weights, first = mixing_weights(scores, target, scale), np.tensordot(alone, scores[:n_first], 1)
    gain = scale.loss.value(first, target) - scale.loss.value(np.tensordot(weights, scores, 1), target)
    gain = gain.reshape(len(target))
    # paired, row by row: what both models miss alike does not count as a difference
    error = gain.std() / np.sqrt(gain.size)
    if not (gain.mean() > SURER * error or (gain.mean() > SURE * error and alike(first))):
        weights = np.concatenate([alone, np.zeros(len(scores) - n_first)])
    return weights, alone


def _value(weights: NDArray, scores: NDArray, target: NDArray, scale: Scale) -> float:
    pull = float(weights @ np.log(weights * weights.size)) / target.shape[0]
    return float(scale.loss.value(np.tensordot(weights, scores, 1), target).mean()) + pull
