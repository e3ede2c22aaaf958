r"""Weights of sources: the self-normalised rule of GBC (eqs. 4.10, 4.11), and its other readings.

The paper prints w_i = exp(-l_i / z) "with z such that the weights sum to one": z is inside the exponent. So z is the
root of sum_i exp(-l_i / z) = 1. It exists and is unique for two or more positive losses, and has no scale: losses times
a constant give the same weights. Equal losses give 1/p; l = (1, 10) gives (0.835, 0.165).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from hetcore.errors import ParameterError
from hetcore.kernels.simplex import log_temperature

__all__ = ["RULES", "self_normalised", "weights_from_losses"]

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
