"""What a fit of heteroscedastic boosting leaves: two forests, and a calibration of the spread by left-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.forest_ensemble import Judged
from hetcore.heteroscedastic.objectives import Labels, Link
from hetcore.schema import Array, block, prefixed
from hetcore.trees import BinMapper

__all__ = ["Calibration", "DeviationModel", "calibrate", "fitted_model", "spread_scores"]

SLOPE_PRIOR = 8.0  # rows that speak for leaving the spread of ln variance as it is
MOST_SCORES = 1000  # of |z| that are kept for intervals
NEWTON_STEPS = 50


class Calibration:
    """ln variance = centre + shift + slope (q - centre) where q is what the deviation scores say."""

    def __init__(self, centre: float = 0.0, shift: float = 0.0, slope: float = 1.0) -> None:
        self.centre, self.shift, self.slope = centre, shift, slope

    def __call__(self, q: NDArray) -> NDArray:
        """Return the calibrated ln variance, the shape of q."""
        return self.centre + self.shift + self.slope * (q - self.centre)


def calibrate(q: NDArray, squares: NDArray, weights: NDArray) -> Calibration:
    """Return the calibration of greatest likelihood; a prior worth 8 rows holds the slope at 1.

    The loss is convex in shift and slope (the exponential of an affine function), so damped Newton steps find it.

    Parameters
    ----------
    q : (n,) float64
        ln variance as the deviation scores say.
    squares : (n,) float64
        Squared residuals of rows left out.
    weights : (n,) float64
    """
    centre = float(np.average(q, weights=weights))
    slopes = np.column_stack([np.ones_like(q), q - centre])
    prior = np.diag([1e-9, SLOPE_PRIOR])

    def loss(theta: NDArray) -> float:
        line = np.clip(centre + slopes @ theta, -60.0, 60.0)
        rows = weights @ (line + squares * np.exp(-line))
        return float(0.5 * (rows + SLOPE_PRIOR * (theta[1] - 1.0) ** 2))

    theta = np.array([0.0, 1.0])
    for _ in range(NEWTON_STEPS):
        z = weights * squares * np.exp(-np.clip(centre + slopes @ theta, -60.0, 60.0))
        gradient = 0.5 * slopes.T @ (weights - z) + prior @ (theta - [0.0, 1.0])
        step = np.linalg.solve(0.5 * (slopes.T * z) @ slopes + prior + 1e-9 * np.eye(2), gradient)
        step *= min(1.0, 2.0 / (np.abs(step).max() + 1e-12))
        while loss(theta - step) > loss(theta) and np.abs(step).max() > 1e-9:
            step *= 0.5
        theta = theta - step
        if np.abs(step).max() < 1e-8:
            break
    return Calibration(centre, float(theta[0]), float(max(theta[1], 0.0)))


def spread_scores(z: NDArray) -> NDArray[np.float64]:
    """Return at most 1,000 quantiles of |z|, rising: what intervals are read from."""
    z = np.sort(np.abs(z))
    if z.size <= MOST_SCORES:
        return z
    return np.quantile(z, np.linspace(0.0, 1.0, MOST_SCORES))


class DeviationModel:
    """The mean of the members, as a label forest and a deviation forest.

    Parameters
    ----------
    mapper : BinMapper
    labels, deviations : Forest
        Of K outputs and of one.
    first : (K,) float64
        Label score before the first tree.
    link : Link
    scale : float
        Factor of the variance, in standardised units.
    calibration : Calibration
    unit : (float, float)
        Mean and deviation of the labels that are numbers; (0, 1) for classes.
    scores : (m,) float64
        Rising |z| of left-out rows.
    """

    def __init__(
        self,
        mapper: BinMapper,
        labels: Forest,
        deviations: Forest,
        first: NDArray[np.float64],
        link: Link,
        scale: float,
        calibration: Calibration,
        unit: tuple[float, float],
        scores: NDArray[np.float64],
    ) -> None:
        self.mapper, self.labels, self.deviations, self.first, self.link = mapper, labels, deviations, first, link
        self.scale, self.calibration, self.unit, self.scores = scale, calibration, unit, scores

    def raw(self, X: NDArray) -> Judged:
        """Return the scores of each row of X (n, d)."""
        binned = self.mapper.transform(X)
        f = self.first + self.labels.predict(binned)
        return Judged(f, self.link.start + self.deviations.predict(binned)[:, 0])

    def mean(self, scores: Judged) -> NDArray[np.float64]:
        """Return the predicted numbers (n,), in the labels' unit."""
        return self.unit[0] + self.unit[1] * scores.f[:, 0]

    def deviation(self, scores: Judged) -> NDArray[np.float64]:
        """Return the standard deviation (n,) of the numbers, in the labels' unit."""
        q = self.calibration(np.log(self.scale) + self.link.log_variance(scores.d))
        return self.unit[1] * np.exp(0.5 * q)

    def width(self, coverage: float) -> float:
        """Return how many standard deviations hold a share of the left-out rows, or of a normal distribution."""
        if not self.scores.size:
            return float(norm.ppf(0.5 + 0.5 * coverage))
        return float(np.quantile(self.scores, min(1.0, coverage * (1.0 + 1.0 / self.scores.size))))

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return a JSON-able dict and arrays that `from_state` takes."""
        line = self.calibration
        meta = {
            "scale": self.scale, "unit": list(self.unit), "calibration": [line.centre, line.shift, line.slope],
        }  # fmt: skip
        arrays = {"first": self.first, "scores": self.scores}
        for name, part in (("bins", self.mapper), ("labels", self.labels), ("deviations", self.deviations)):
            arrays |= prefixed(name, part.to_arrays())
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, NDArray], link: Link, n_outputs: int, of_classes: bool
    ) -> DeviationModel:
        """Rebuild a model, of classes or of numbers; ModelFileError at what can't be used."""
        mapper = BinMapper.from_arrays(block(arrays, "bins"))
        forests = [Forest.from_arrays(block(arrays, name), mapper.n_bins.size) for name in ("labels", "deviations")]
        first, scores = Array("K").read(arrays, "first", {"K": n_outputs}), Array("n", low=0).read(arrays, "scores")
        if [forest.n_outputs for forest in forests] != [n_outputs, 1]:
            raise ModelFileError("The forests of the model file are not those of its classes: save the model again.")
        if (np.diff(scores) < 0).any():
            raise ModelFileError("The scores of the model file do not rise from 0: save the model again.")
        numbers = [float(value) for value in (meta["scale"], *meta["unit"], *meta["calibration"])]
        scale, mean, deviation, centre, shift, slope = numbers
        spread = 0 <= scale <= 1 if of_classes else scale > 0  # of classes, a share of the labels: it may be none
        if not np.isfinite(numbers).all() or not spread or deviation <= 0 or slope < 0:
            raise ModelFileError("The spread of the model file is not a positive number: save the model again.")
        calibration = Calibration(centre, shift, slope)
        return cls(mapper, *forests, first, link, scale, calibration, (mean, deviation), scores)


def fitted_model(state: Rounds, unit: tuple[float, float], calibrated: bool) -> DeviationModel:
    """Return the model of the rounds that are kept.

    Parameters
    ----------
    state : Rounds
    unit : (float, float)
        Mean and deviation of the labels.
    calibrated : bool
        Whether left-out rows correct the spread.
    """
    kept = state.finish()
    scale, calibration, scores = state.scale(kept), Calibration(), np.zeros(0)
    if not isinstance(state.train.base, Labels):
        squares = 2.0 * state.train.base.loss(kept.f)
        q = np.log(scale) + state.link.log_variance(kept.d)
        if calibrated and state.n_members > 1:
            calibration = calibrate(q, squares, state.train.weights)
            scores = spread_scores(np.sqrt(squares * np.exp(-calibration(q))))
    labels, deviations = Forest(state.first.size), Forest(1)
    for half, share in zip(state.labels, state.shares):
        half.into(labels, share)
    state.deviation.into(deviations, 1.0)
    return DeviationModel(state.mapper, labels, deviations, state.first, state.link, scale, calibration, unit, scores)
