"""The line search (4.8) of Algorithm 1: the step along a tree that minimises a source's objective.

The search asks for sums over records at a step, one question after the other, so that records may be anywhere.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.printed.partial_sums import tree_sum
from hetcore.losses import HalfSquared, Logistic

__all__ = ["Along", "Asked", "line_search", "search"]

LONGEST_MOVE = 1e6  # of a score in one step: a logistic loss may fall for ever


class Asked(NamedTuple):
    """A question of the search: a method of `Along`, and the step."""

    method: str
    step: float


class Along:
    """A source's objective sum_j weights_j L(f + rho h, targets_j) for some of its records, block by block.

    Parameters
    ----------
    loss : loss of `hetcore.losses`
    f, h : (m,) float64
        Scores, and the direction.
    targets, weights : (j, m) float64
    blocks : sequence of slice or array of int
        The records of each block.
    """

    def __init__(
        self,
        loss: HalfSquared | Logistic,
        f: NDArray,
        h: NDArray,
        targets: NDArray,
        weights: NDArray,
        *,
        blocks: Sequence,
    ) -> None:
        self._loss = loss
        self._blocks = [_counted(f, h, targets, weights, some) for some in blocks]
        self.largest = max(float(np.abs(h).max(initial=0.0)) for _, h, _, _ in self._blocks)

    def slopes(self, step: float) -> NDArray[np.float64]:
        """Return first and second derivative by rho at a step, (blocks, 2)."""
        found = np.zeros((len(self._blocks), 2))
        for sums, (f, h, targets, weights) in zip(found, self._blocks):
            at = f + step * h
            sums[0] = (weights * self._loss.gradient(at, targets) * h).sum()
            sums[1] = (weights * self._loss.hessian(at, targets) * h * h).sum()
        return found

    def values(self, step: float) -> NDArray[np.float64]:
        """Return the objective without the step and with it, (blocks, 2)."""
        found = np.zeros((len(self._blocks), 2))
        for sums, (f, h, targets, weights) in zip(found, self._blocks):
            sums[0] = (weights * self._loss.value(f, targets)).sum()
            sums[1] = (weights * self._loss.value(f + step * h, targets)).sum()
        return found


def _counted(
    f: NDArray, h: NDArray, targets: NDArray, weights: NDArray, some: slice | NDArray[np.int64]
) -> tuple[NDArray, ...]:
    """Return f, h, targets and weights of the terms of some records that count, (t,) each."""
    # term by term: places in two dimensions take eight times as long
    targets, weights = ([each[some] for each in of] for of in (targets, weights))
    counted = [np.flatnonzero(each != 0) for each in weights]
    records = np.concatenate(counted)
    own = (np.concatenate([each.take(at) for each, at in zip(of, counted)]) for of in (targets, weights))
    return f[some].take(records), h[some].take(records), *own


def line_search(
    loss: HalfSquared | Logistic,
    f: NDArray,
    h: NDArray,
    targets: NDArray,
    weights: NDArray,
    *,
    blocks: Sequence = (slice(None),),
) -> float:
    """Return the step rho that minimises sum_j weights_j L(f + rho h, targets_j), by safeguarded Newton (4.8).

    Parameters
    ----------
    loss, f, h, targets, weights, blocks
        See `Along`; the loss is convex.

    Returns
    -------
    float
        Never one that raises the objective; negative where -h is a descent direction.
    """
    along = Along(loss, f, h, targets, weights, blocks=blocks)
    found = search(along.largest)
    asked = next(found)
    while True:
        try:
            asked = found.send(tree_sum(getattr(along, asked.method)(asked.step)))
        except StopIteration as ended:
            return ended.value


def search(largest: float, steps: int = 50) -> Generator[Asked, NDArray[np.float64], float]:
    """Return the step, given the sums over all records of what is asked.

    Parameters
    ----------
    largest : float
        Largest |h| of a record that counts.
    steps : int, default=50
        Most Newton steps; half the squared error is solved in one.
    """
    # along an all-zero tree there is no longest move
    longest = LONGEST_MOVE / max(largest, 1e-290)
    low, high, step, sign = 0.0, longest, 0.0, 1.0
    for count in range(steps):
        slope, curve = (yield Asked("slopes", sign * step)).tolist()
        # the display's gradient is not that of the objective, so the search may have to go back
        if count == 0 and slope > 0:
            sign = -1.0
        slope *= sign
        # the slope at `step` says on which side the minimum lies
        low, high = (step, high) if slope < 0 else (low, step)
        newton = step - slope / curve if curve > 0 else np.inf
        # no upper end known yet: double the step
        between = 0.5 * (low + high) if high < longest else min(2 * step + 1, high)
        nxt = newton if low <= newton <= high else between
        if abs(nxt - step) <= 1e-12 * nxt:
            break
        step = nxt
    before, after = (yield Asked("values", sign * step)).tolist()
    # a step that rounding made worse is not taken
    return sign * (float(step) if after <= before else 0.0)
