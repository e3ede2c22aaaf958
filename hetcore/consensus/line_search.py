"""The line search (4.8) of Algorithm 1: the step along a tree that minimises a source's objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.losses import HalfSquared, Logistic

__all__ = ["line_search"]

LONGEST_MOVE = 1e6  # of a score in one step: a logistic loss may fall for ever


def line_search(
    loss: HalfSquared | Logistic, f: NDArray, h: NDArray, targets: NDArray, weights: NDArray, steps: int = 50
) -> float:
    """Return the step rho that minimises sum_j weights_j L(f + rho h, targets_j), by safeguarded Newton (4.8).

    Parameters
    ----------
    loss : loss of `hetcore.losses`
        Convex; half the squared error is solved in one step.
    f, h : (m,) float64
        Scores, and the direction.
    targets, weights : (j, m) float64
    steps : int, default=50
        Most Newton steps.

    Returns
    -------
    float
        Never one that raises the objective; negative where -h is a descent direction.
    """
    counted = np.nonzero(weights)
    targets, weights, f, h = targets[counted], weights[counted], f[counted[1]], h[counted[1]]
    # the display's gradient is not that of the objective, so the search may have to go back
    if float((weights * loss.gradient(f, targets) * h).sum()) > 0:
        return -_descent(loss, f, -h, y=targets, weights=weights, steps=steps)
    return _descent(loss, f, h, y=targets, weights=weights, steps=steps)


def _descent(loss: HalfSquared | Logistic, f: NDArray, h: NDArray, y: NDArray, weights: NDArray, steps: int) -> float:
    """Return rho >= 0 for a direction that does not ascend; all arrays (m,), `weights` above 0."""
    # along an all-zero tree there is no longest move
    longest = LONGEST_MOVE / max(np.abs(h).max(initial=0.0), 1e-290)
    low, high, step = 0.0, longest, 0.0
    for _ in range(steps):
        at = f + step * h
        slope = float((weights * loss.gradient(at, y) * h).sum())
        curve = float((weights * loss.hessian(at, y) * h * h).sum())
        # the slope at `step` says on which side the minimum lies
        low, high = (step, high) if slope < 0 else (low, step)
        newton = step - slope / curve if curve > 0 else np.inf
        # no upper end known yet: double the step
        between = 0.5 * (low + high) if high < longest else min(2 * step + 1, high)
        nxt = newton if low <= newton <= high else between
        if abs(nxt - step) <= 1e-12 * nxt:
            break
        step = nxt
    before = (weights * loss.value(f, y)).sum()
    # a step that rounding made worse is not taken
    return float(step) if (weights * loss.value(f + step * h, y)).sum() <= before else 0.0
