r"""How far to go along each learner: the steps s = (eps, delta, ...) for R(f + sum_j s_j g_j).

R along the learners is a sum of exponentials of affine functions of s, so it is convex, and so is its logarithm:
`newton_step` finds the minimum exactly in a few evaluations. The others are the paper's: `bayes_step`, 10 random points
and 20 of a Gaussian process (section 4.2); `grid_step`, which section 3.2.1 names; `fixed_step`, 0.1 (section 4.3). The
paper prints no box for the search. It calls eps and delta learning rates, which in the boosting it compares with are in
(0, 1], so [0, 1] is the box here; `highest` is another one.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from hetcore.multimodal.risk import exponents
from hetcore.numerics import log_sum_exp

__all__ = [
    "MOST_RISE", "STEPS", "RiskAlongStep", "bayes_step", "bounded", "fixed_step", "grid_step", "held_back",
    "newton_step",
]  # fmt: skip

FIXED = 0.1
GRID = 9
N_RANDOM, N_GUIDED, N_CANDIDATES = 10, 20, 512
MOST_ROUNDS, TOLERANCE = 30, 1e-10
RIDGE = 1e-9
MOST_FALL, MOST_RISE = 30.0, 1.0  # of the exponents on average, and of the logarithm of the risk, in one round


class RiskAlongStep:
    """The risk of f + sum_j s_j g_j as a function of s.

    Parameters
    ----------
    scores : (n, K) float64
        f.
    moves : (p, n, K) float64
        The learners' outputs g_j.
    y : (n,) int
        Class codes.
    """

    def __init__(self, scores: NDArray, moves: NDArray, y: NDArray) -> None:
        n, K = scores.shape
        others = np.arange(K) != y[:, None]
        rows = np.arange(n)
        self.start = exponents(scores, y)[others]
        self.slopes = np.stack([(0.5 * (g - g[rows, y][:, None]))[others] for g in moves])
        self.log_n = np.log(n)

    def value(self, steps: NDArray) -> float:
        """Return the logarithm of the mean risk at steps (p,)."""
        return float(log_sum_exp(self.start + steps @ self.slopes) - self.log_n)

    def model(self, steps: NDArray) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the logarithm of the mean risk, and gradient (p,) and Hessian (p, p) of the risk over the risk."""
        at = self.start + steps @ self.slopes
        # less the largest exponent: the risk of a bad step is beyond float64
        top = at.max()
        share = np.exp(at - top)
        total = share.sum()
        share /= total
        weighted = self.slopes * share
        return float(top + np.log(total) - self.log_n), weighted.sum(axis=1), weighted @ self.slopes.T


def bounded(line: RiskAlongStep, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return steps (p,), halved until the mean risk of n rows is at least 1 / sqrt(n): what so few can show.

    Of rows that learners tell apart the least risk is at infinity, and no step is too long for it.
    """
    lowest = -0.5 * line.log_n
    if line.model(np.zeros_like(steps))[0] <= lowest:
        return np.zeros_like(steps)
    while line.model(steps)[0] < lowest:
        steps = 0.5 * steps
    return steps


def held_back(known: RiskAlongStep, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return steps (p,), halved until the known rows' risk does not grow, nor their exponents fall by more than 30.

    Rows that are left out and told apart but for one, which no learner moves, ask for steps of any length: what they
    say nothing of, the leaf of a tree where none of them is, would be moved by thousands.
    """
    while True:
        change = steps @ known.slopes
        # a risk rises by no more than the exponents do, so that it need not be summed
        rises = change.max() > MOST_RISE and known.value(steps) > known.value(np.zeros_like(steps)) + MOST_RISE
        if not rises and change.mean() >= -MOST_FALL:
            return steps
        steps = 0.5 * steps


def newton_step(line: RiskAlongStep, rng: np.random.Generator, highest: float = 1.0) -> NDArray[np.float64]:
    """Return the steps (p,) of least risk, by damped Newton from zero.

    A learner that separates all rows has its minimum at infinity: every Newton step then lowers the largest exponents
    by about one; `held_back` bounds what becomes of the others.
    """
    steps = np.zeros(len(line.slopes))
    value, gradient, hessian = line.model(steps)
    for _ in range(MOST_ROUNDS):
        # two learners that say the same have a singular hessian
        ridge = RIDGE * max(float(np.trace(hessian)) / len(steps), 1e-300)
        move = -np.linalg.lstsq(hessian + ridge * np.eye(len(steps)), gradient, rcond=None)[0]
        slope = float(gradient @ move)
        # no fall left that rounding would not swallow
        if slope > -TOLERANCE:
            break
        there = line.model(steps + move)  # a whole step is taken nearly always, and this is what the next round needs
        # the fall that Armijo's rule asks of a step
        if there[0] > value + 1e-4 * slope:
            size = _damped(line, steps, move, value, slope)
            if size == 0.0:
                break
            move = size * move
            there = line.model(steps + move)
        steps, (value, gradient, hessian) = steps + move, there
    return steps


def _damped(line: RiskAlongStep, steps: NDArray, move: NDArray, value: float, slope: float) -> float:
    """Return the largest of 1/2, 1/4, ... that lowers the risk enough, 0 if none does."""
    for halving in range(1, 40):
        size = 0.5**halving
        if line.value(steps + size * move) <= value + 1e-4 * size * slope:
            return size
    return 0.0


def fixed_step(line: RiskAlongStep, rng: np.random.Generator, highest: float = 1.0) -> NDArray[np.float64]:
    """Return 0.1 for every learner, (p,)."""
    return np.full(len(line.slopes), FIXED)


def grid_step(line: RiskAlongStep, rng: np.random.Generator, highest: float = 1.0) -> NDArray[np.float64]:
    """Return the best (p,) of a grid of 9 values in [0, highest] a learner, one learner at a time beyond two."""
    p, values = len(line.slopes), np.linspace(0.0, highest, GRID)
    # all pairs of two; of more, one learner after the other, for the number of points grows by powers
    if p <= 2:
        tried = [np.array(each) for each in itertools.product(values, repeat=p)]
        return tried[int(np.argmin([line.value(each) for each in tried]))]
    steps = np.zeros(p)
    for j in range(p):
        tried = [np.where(np.arange(p) == j, each, steps) for each in values]
        steps = tried[int(np.argmin([line.value(each) for each in tried]))]
    return steps


def bayes_step(line: RiskAlongStep, rng: np.random.Generator, highest: float = 1.0) -> NDArray[np.float64]:
    """Return the best (p,) of 10 random points in [0, highest]^p and 20 of largest expected improvement."""
    p = len(line.slopes)
    points = rng.uniform(0.0, highest, (N_RANDOM, p))
    values = np.array([line.value(point) for point in points])
    for _ in range(N_GUIDED):
        candidates = rng.uniform(0.0, highest, (N_CANDIDATES, p))
        point = candidates[int(np.argmax(_expected_improvement(points, values, candidates)))]
        points, values = np.vstack([points, point]), np.append(values, line.value(point))
    return points[int(np.argmin(values))]


def _expected_improvement(points: NDArray, values: NDArray, candidates: NDArray) -> NDArray[np.float64]:
    """Return the expected fall below the best value under a Gaussian process with a Matern kernel."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    process = GaussianProcessRegressor(Matern(nu=2.5), alpha=1e-6, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound is of no consequence here
        process.fit(points, values)
    mean, deviation = process.predict(candidates, return_std=True)[:2]
    # at a point that was tried the process is sure, and the quotient has no bound
    deviation = np.maximum(deviation, 1e-12)
    # how much lower than the best so far
    gap = values.min() - mean
    return gap * norm.cdf(gap / deviation) + deviation * norm.pdf(gap / deviation)


STEPS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "newton": newton_step,
    "bayes": bayes_step,
    "grid": grid_step,
    "fixed": fixed_step,
}
