"""What a fit of heteroscedastic boosting leaves: two forests, and a calibration of the spread by left-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student_t

from hetcore.checks import finite
from hetcore.forest import Forest
from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.disagreement import MEMBERS, Members, disagreement_share, effective_rows
from hetcore.heteroscedastic.forest_ensemble import Scores
from hetcore.heteroscedastic.objectives import Labels, Link
from hetcore.linear_model import LineForest
from hetcore.parameters import Domain, Interval
from hetcore.schema import Stored, array, part, value
from hetcore.trees import BinMapper

__all__ = ["Calibration", "DeviationModel", "calibrate", "chance_share", "fitted_model", "kept_share", "spread_scores"]

SLOPE_PRIOR = 8.0  # rows that speak for leaving the spread of ln variance as it is
MOST_SCORES = 1000  # of |z| that are kept for intervals
TRIMMED = 0.95  # of the rows, those of least |z|, say what share of the squares is the members' own
LEAST_SHARE = 0.25  # of a left-out row's square that the mean of the members keeps
BY_CHANCE, AS_ERRORS = 0.25, 0.5  # squared correlation of the forests' difference with the errors: all chance, none
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


def spread_scores(z: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Return at most 1,000 quantiles of |z|, rising, as many as rows (n,) of these weights tell: intervals' source."""
    order = np.argsort(np.abs(z), kind="stable")
    z, weights = np.abs(z)[order], weights[order]
    size = min(max(round(effective_rows(weights)), 2), MOST_SCORES)
    if size == z.size:
        return z
    # a row's place is the middle of its weight: of equal ones these are numpy's places
    place = np.cumsum(weights) - 0.5 * weights
    return np.interp(np.linspace(0.0, 1.0, size), (place - place[0]) / (place[-1] - place[0]), z)


def kept_share(squares: NDArray, variance: NDArray, weights: NDArray) -> float:
    """Return the share of a left-out row's squared residual that is left where all members are asked, in [0.25, 1].

    One member of each label forest has not seen a left-out row, and all have not seen a new one: what the members err
    apart from each other is nearly gone there. A ratio of sums over rows of moderate z, so that no row far out decides.

    Parameters
    ----------
    squares : (n,) float64
        z squared of left-out rows.
    variance : (n,) float64
        What the members' own errors are of it, on average (`Rounds.members_variance` in the unit of z squared).
    weights : (n,) float64
    """
    moderate = squares <= np.quantile(squares, TRIMMED)
    total = float((weights * squares)[moderate].sum())
    if total <= 0:
        return 1.0
    return float(np.clip(1.0 - (weights * variance)[moderate].sum() / total, LEAST_SHARE, 1.0))


def chance_share(errors: NDArray, difference: NDArray, weights: NDArray) -> float:
    """Return how much of the label forests' difference is by the chance of folds, in [0, 1].

    Members that differ by chance differ apart from what they err together. Where one forest is further behind than the
    other, as of labels without noise, they differ as they err, and of such errors the mean of all takes nothing away.

    Parameters
    ----------
    errors : (n,) float64
        z of left-out rows.
    difference : (n,) float64
        Of two members that have not seen the row, in the unit of z.
    weights : (n,) float64
    """
    moderate = np.abs(errors) <= np.quantile(np.abs(errors), TRIMMED)
    z, apart, weights = errors[moderate], difference[moderate], weights[moderate]
    sizes = float(weights @ z**2) * float(weights @ apart**2)
    if sizes <= 0:
        return 1.0
    return float(np.clip((AS_ERRORS - float(weights @ (z * apart)) ** 2 / sizes) / (AS_ERRORS - BY_CHANCE), 0.0, 1.0))


PAIR = Domain(lambda v: len(v) == 2 and finite(v[0]) and finite(v[1]) and v[1] > 0, "a mean and a deviation above 0")
LINE = Domain(lambda v: len(v) == 3 and all(map(finite, v)) and v[2] >= 0, "centre, shift and slope of a calibration")


@dataclass(frozen=True, kw_only=True)
class DeviationModel(Stored):
    """The mean of the members, as a label forest and a deviation forest.

    Attributes
    ----------
    first : (K,) float64
        Label score before the first tree.
    scores : (m,) float64
        Rising |z| of left-out rows by their weights, as small as the mean of all members would have them.
    mapper : BinMapper
    labels, deviations : Forest
        Of K outputs and of one.
    scale : float
        Factor of the variance, in standardised units.
    unit : (float, float)
        Mean and deviation of the labels that are numbers; (0, 1) for classes.
    calibration : Calibration
    disagreement : float
        Factor of what the members' disagreement adds to the variance, in standardised units; 0 for nothing.
    members : Members
        Where their trees stand among those of the labels; of no use without that factor.
    line : LineForest or None
        What has the rest of the labels.
    link : Link
        By the parameters of the model, which a file has beside it.
    """

    first: NDArray[np.float64] = array("K")
    scores: NDArray[np.float64] = array("m", low=0)
    mapper: BinMapper = part(BinMapper, "d", at="bins")
    labels: Forest = part(Forest, "d K")
    deviations: Forest = part(Forest, "d")
    scale: float = value(Interval(0), make=float)
    unit: tuple[float, float] = value(PAIR, make=tuple, plain=list)
    calibration: Calibration = value(LINE, make=lambda v: Calibration(*v), plain=lambda line: list(vars(line).values()))
    disagreement: float = value(Interval(0), default=0.0, make=float, absent=0.0)
    members: Members = value(MEMBERS, default=Members(), make=lambda v: Members(*v), plain=list, absent=Members())
    line: LineForest | None = part(LineForest, "d", optional=True)
    link: Link = None

    def _fault(self, sizes: dict[str, int]) -> str:
        if self.deviations.n_outputs != 1 or (self.disagreement and self.members.fault(self.labels)):
            return "The forests of the model file are not those of its classes or members"
        return "The scores of the model file do not rise from 0" if (np.diff(self.scores) < 0).any() else ""

    def raw(self, X: NDArray) -> Scores:
        """Return the scores of each row of X (n, d)."""
        binned = self.mapper.transform(X)
        return self._scores(X, binned, self.labels.predict(binned))

    def _scores(self, X: NDArray, binned: NDArray[np.uint8], labels: NDArray[np.float64]) -> Scores:
        if self.line is not None:
            labels = (1.0 - self.line.share) * labels + self.line.share * self.line.predict(X, binned)
        return Scores(self.first + labels, self.link.start + self.deviations.predict(binned)[:, 0])

    def mean(self, scores: Scores) -> NDArray[np.float64]:
        """Return the predicted numbers (n,), in the labels' unit."""
        return self.unit[0] + self.unit[1] * scores.f[:, 0]

    def spread(self, X: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the predicted numbers (n,) and their standard deviation, in the labels' unit."""
        binned = self.mapper.transform(X)
        if self.disagreement:
            label, apart = self.members.predict(self.labels, binned)
        else:
            label, apart = self.labels.predict(binned)[:, 0], None
        scores = self._scores(X, binned, label[:, None])
        variance = np.exp(self.calibration(np.log(self.scale) + self.link.log_variance(scores.d)))
        if apart is not None:
            variance += self.disagreement * apart
        return self.mean(scores), self.unit[1] * np.sqrt(variance)

    def width(self, coverage: float) -> float:
        """Return how many standard deviations hold a share of the left-out rows, or of a normal distribution.

        Of a share that is more than so few rows can tell, as many as Student's t has, or the farthest of them.
        """
        size, tail = self.scores.size, 0.5 + 0.5 * coverage
        if not size:
            return float(norm.ppf(tail))
        if (wanted := coverage * (1.0 + 1.0 / size)) > 1.0:
            return float(max(self.scores[-1], student_t.ppf(tail, max(size - 1, 1))))
        return float(np.quantile(self.scores, wanted))


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
    spread = _Spread(state.scale(kept))
    if calibrated and state.n_members > 1 and not isinstance(state.train.base, Labels):
        spread = _calibrated(state, kept, spread.scale)
    labels, deviations = Forest(state.first.size), Forest(1)
    for ensemble, share in zip(state.plain, state.plain_shares):
        ensemble.into(labels, share)
    state.deviation.into(deviations, 1.0)
    return DeviationModel(
        first=state.first, mapper=state.mapper, labels=labels, deviations=deviations, unit=unit, link=state.link,
        line=_line_of(state), **spread._asdict(),
    )  # fmt: skip


def _line_of(state: Rounds) -> LineForest | None:
    if state.line is None or not state.line_share:
        return None
    trees = Forest(1)
    state.labels[-1].into(trees, 1.0)
    return LineForest(state.line, trees, state.line_share)


class _Spread(NamedTuple):
    """The fields of a model that tell its spread."""

    scale: float
    calibration: Calibration = Calibration()
    scores: NDArray[np.float64] = np.zeros(0)
    disagreement: float = 0.0
    members: Members = Members()


def _calibrated(state: Rounds, kept: Scores, scale: float) -> _Spread:
    """Return the spread by rows that were left out, with what members disagree on."""
    weights, squares = state.train.weights, 2.0 * state.train.base.loss(kept.f)
    q = np.log(scale) + state.link.log_variance(kept.d)
    calibration = calibrate(q, squares, weights)
    variance, apart = np.exp(calibration(q)), state.disagreement()
    # by the deviation scores alone: a pair that disagrees has a large sigma by that, and would seem to err the less
    sigma, errors = np.sqrt(variance), state.train.base.y - kept.f[:, 0]
    chance = chance_share(errors / sigma, state.difference() / sigma, weights)
    share = kept_share(squares / variance, chance * state.members_variance() / variance, weights)
    members = Members()
    if len(state.plain) == 2 and 0 < state.share < 1:
        members = Members(state.n_members, state.n_members * state.plain[0].best, state.share)
    else:
        apart = np.zeros_like(apart)  # no two forests are in the model to disagree
    factor, added = disagreement_share(variance, apart, squares, weights)
    calibration.shift += np.log(factor)
    scores = spread_scores(np.sqrt(share * squares / (factor * variance + added * apart)), weights)
    return _Spread(scale, calibration, scores, added, members if added else Members())
