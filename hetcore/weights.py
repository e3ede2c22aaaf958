r"""Weights of sources: the self-normalised rule of GBC (eqs. 4.10, 4.11), its other readings, and the fitted one.

The paper prints w_i = exp(-l_i / z) "with z such that the weights sum to one": z is inside the exponent. So z is the
root of sum_i exp(-l_i / z) = 1. It exists and is unique for two or more positive losses, and has no scale: losses times
a constant give the same weights. Equal losses give 1/p; l = (1, 10) gives (0.835, 0.165).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from scipy.special import softmax

from hetcore.errors import ParameterError
from hetcore.kernels.simplex import log_temperature

__all__ = ["RULES", "fit_scales", "self_normalised", "weights_from_losses"]

RULES = ("entropy", "softmax", "equal")


def self_normalised(losses: ArrayLike) -> NDArray[np.float64]:
    """Return the weights of eq. (4.10), (p,), each in [0, 1], summing to one.

    Parameters
    ----------
    losses : (p,) array-like of float
        Not negative, finite. One loss gives weight 1; losses of zero share all the weight.

    Raises
    ------
    ParameterError
        If a loss is negative or not finite, or there is none.
    """
    losses = _checked(losses)
    largest = losses.max()
    # a source without any loss takes all: the root z does not exist, and this is what it goes to
    none = losses <= largest * 1e-300
    if losses.size == 1 or none.any():
        return none / none.sum() if none.any() else np.ones(1)
    # the rule has no scale, so that losses may as well be near 1, where exp neither over- nor underflows
    relative = losses / largest
    weights = np.exp(-relative * np.exp(-log_temperature(relative)))
    return weights / weights.sum()


def weights_from_losses(losses: ArrayLike, rule: str = "entropy") -> NDArray[np.float64]:
    """Return weights from losses by a rule: "entropy" (4.10), "softmax" (exp(-l) normalised) or "equal".

    Raises
    ------
    ParameterError
        If the rule is none of these, or a loss is negative or not finite.
    """
    losses = _checked(losses)
    if rule == "entropy":
        return self_normalised(losses)
    if rule == "softmax":
        return softmax(-losses)
    if rule == "equal":
        return np.full(losses.size, 1.0 / losses.size)
    raise ParameterError(f"weights={rule!r} is not one of {', '.join(map(repr, RULES))}: give one of these.")


def _checked(losses: ArrayLike) -> NDArray[np.float64]:
    losses = np.asarray(losses, np.float64)
    if losses.size == 0 or not np.isfinite(losses).all() or (losses < 0).any():
        raise ParameterError(f"losses={losses.tolist()!r} must be finite numbers, not negative: check the scores.")
    return losses


def fit_scales(scores: NDArray, target: NDArray, prior: NDArray, ridge: float = 1e-4) -> NDArray[np.float64]:
    """Return the scales b >= 0 that make prior + sum_i b_i scores_i fit best: a line search over all sources at once.

    The problem is convex. With one output the loss is squared, with more it is the cross-entropy of the softmax.

    Parameters
    ----------
    scores : (p, n, K) float64
        What each source says of each row; 0 where it says nothing.
    target : (n, K) float64
        Numbers, or class shares that sum to one.
    prior : (K,) float64
    ridge : float
        Weight of ridge * b^2 / 2 beside the mean loss, in units of the sources' mean squared score.

    Returns
    -------
    (p,) float64
    """
    p, n, K = scores.shape
    scales = np.zeros(p)
    size = np.sqrt((scores**2).sum(axis=(1, 2)) / max(n * K, 1))
    # a source that says nothing has no scale to fit, and would make the matrix singular
    alive = size > 1e-12
    if not alive.any():
        return scales
    # in units of its own size, so that the ridge weighs on all sources alike
    unit = scores[alive] / size[alive, None, None]
    fit = _fit_squared if K == 1 else _fit_softmax
    scales[alive] = fit(unit, target, prior, ridge) / size[alive]
    return scales


def _fit_squared(scores: NDArray, target: NDArray, prior: NDArray, ridge: float) -> NDArray:
    p, n, _ = scores.shape
    # the ridge as p further rows, so that the solver of non-negative least squares need not know of it
    matrix = np.vstack([scores[:, :, 0].T, np.sqrt(ridge * n) * np.eye(p)])
    return nnls(matrix, np.concatenate([(target - prior)[:, 0], np.zeros(p)]))[0]


def _fit_softmax(scores: NDArray, target: NDArray, prior: NDArray, ridge: float, steps: int = 50) -> NDArray:
    """Projected Newton: scales that the gradient holds at 0 stay, the others take a Newton step with backtracking."""
    # from the plain mean, which is near the answer where sources are about as good
    b = np.full(len(scores), 1.0 / len(scores))
    value, gradient, hessian = _softmax_model(b, scores, target, prior, ridge)
    for _ in range(steps):
        # one that is at 0 and would go below stays there in this step
        free = (b > 0) | (gradient < 0)
        if not free.any() or np.abs(np.where(free, gradient, 0.0) * np.maximum(b, 1e-3)).max() < 1e-9:
            break
        step = np.zeros_like(b)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        for halving in range(30):
            trial = np.maximum(b - step * 0.5**halving, 0.0)
            new = _softmax_model(trial, scores, target, prior, ridge)
            # a full step may overshoot where the softmax is flat; half of it again and again finds less loss
            if new[0] <= value:
                break
        else:
            break
        done = value - new[0] < 1e-10
        b, (value, gradient, hessian) = trial, new
        if done:
            break
    return b


def _softmax_model(
    b: NDArray, scores: NDArray, target: NDArray, prior: NDArray, ridge: float
) -> tuple[float, NDArray, NDArray]:
    """Return the mean loss, its gradient (p,) and hessian (p, p) by b."""
    p, n, K = scores.shape
    flat = scores.reshape(p, -1)
    raw = prior + (b @ flat).reshape(n, K)
    # less the largest, for exp of a large score is infinite; the shares stay the same
    top = raw.max(axis=1, keepdims=True)
    odds = np.exp(raw - top)
    total = odds.sum(axis=1, keepdims=True)
    share = odds / total
    value = (np.log(total) + top - (raw * target).sum(axis=1, keepdims=True)).mean() + 0.5 * ridge * (b @ b)
    gradient = flat @ (share - target).ravel() / n + ridge * b
    weighted = scores * share
    mean = weighted.sum(axis=2)
    # a little more than the ridge: it is singular where two sources say the same and the ridge is 0
    hessian = (weighted.reshape(p, -1) @ flat.T - mean @ mean.T) / n + (ridge + 1e-9) * np.eye(p)
    return float(value), gradient, hessian
