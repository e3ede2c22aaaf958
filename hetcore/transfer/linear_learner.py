r"""The linear weak learner of transfer boosting: weighted ridge regression on the signs, its answer cut to [-1, 1].

    v = argmin  sum_i u_i (y_i - v.z_i)^2 + (1 / C) |v|^2 (without the intercept),    h(x) = min(1, max(-1, v.z))

z are the standardised columns (missing: 0), cut to their leading principal components where they are more than
`MOST_COMPONENTS`, and a 1. u are the boosting weights scaled to the number of rows that they amount to,

    sum_i u_i = (sum_i w_i)^2 / sum_i w_i^2                                                    (Kish 1965)

so that a fit of which one row has all the weight is as strongly regularised as a fit to one row.

C is 0.1 for few columns. Of more, C has the least generalised cross-validation of ridge regression in the sources, each
by itself, for the rule of one may be the opposite of another's; the target's labels are not asked:

    sum over sources s and classes k of  n_s ln( n_s RSS_sk / (n_s - 1 - df_s)^2 )      (Golub, Heath, Wahba 1979)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from hetcore.schema import Stored, array
from hetcore.transfer.learners import WeakLearner, kish

__all__ = ["LinearLearner", "LinearVotes", "Projection", "TargetUnits"]

MOST_COMPONENTS = 200
MOST_PLAIN = 100  # columns that were never cut, also in files of before
MOST_VOTES = 100_000  # of models on rows that are held at once
LARGEST = 1e100  # of a cell: what is beyond becomes its end
FEWEST_CELLS = 8  # that tell a middle
FAR_APART, ENOUGH = 10.0, 30  # deviation over all rows in the target's, and cells that tell the target's
BY_CHANCE = 1e-3  # how likely fewer cells vary so little that they call for a larger ratio
COST, FEW_COLUMNS = 0.1, 30  # C, and of how many columns; see docs/transfer.md
COSTS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)  # of more


@dataclass(frozen=True)
class Projection(Stored):
    """From columns to z.

    Attributes
    ----------
    centre, scale : (d,) float64
        z = (x - centre) * scale, 0 where x is missing.
    axes : (d, m) float64
        Principal axes; the identity where there are few columns.
    """

    centre: NDArray[np.float64] = array("d")
    scale: NDArray[np.float64] = array("d", low=0)
    axes: NDArray[np.float64] = array("d m")

    @classmethod
    def of(cls, X: NDArray, most: int = MOST_COMPONENTS, domain: NDArray | None = None) -> Projection:
        """Return the projection of a table X (n, d), NaN where missing, to `most` components at most.

        With domain (n,), 0 for the target's rows, columns that are in other units somewhere count in `TargetUnits`.
        """
        return cls.with_held(X, most, domain)[0]

    @classmethod
    def with_held(cls, X: NDArray, most: int, domain: NDArray | None) -> tuple[Projection, NDArray[np.float64]]:
        """Return the projection `of` a table, and the table (n, d) with cells held as `TargetUnits` does."""
        given, X, known = X, np.clip(X, -LARGEST, LARGEST), np.isfinite(X)
        counts = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, X / counts, 0.0).sum(axis=0)
        # in units of the largest: squares of cells of 1e100 would overflow
        unit = np.abs(np.where(known, X - centre, 0.0)).max(axis=0, initial=0.0)
        small = np.where(known, X - centre, 0.0) / np.where(unit > 0, unit, 1.0)
        deviation = np.sqrt((small**2).sum(axis=0) / counts)
        # rounding of a constant column is no variation
        varies = unit > 1e-12 * np.abs(centre)
        deviation *= unit
        if domain is not None:
            units = TargetUnits.of(X, domain, np.where(varies, deviation, 0.0))
            centre, deviation = units.instead(centre, deviation)
            X, given = units.held(X), units.held(given)
        scale = np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
        plain = cls(centre, scale, np.eye(X.shape[1]))
        found = plain if X.shape[1] <= most else cls(centre, scale, principal_axes(plain(X)[:, :-1], most))
        return found, given

    @cached_property
    def rotates(self) -> bool:
        """Whether the axes are others than the columns."""
        return not np.array_equal(self.axes, np.eye(len(self.axes)))

    def __call__(self, X: NDArray) -> NDArray[np.float64]:
        """Return z (n, m + 1), last the 1."""
        Z = np.where(np.isnan(X), 0.0, (np.clip(X, -LARGEST, LARGEST) - self.centre) * self.scale)
        if self.rotates:
            Z = Z @ self.axes
        return np.column_stack([Z, np.ones(len(Z))])


class TargetUnits(NamedTuple):
    """Columns that vary much more over all rows than in the target, for one of its sources is in other units, or errs.

    They count in the target's units, or they would say nothing of the target, and no cell is further away than
    `FAR_APART` deviations or the target's own cells: one row of -999999 would outweigh all others. So would one of the
    target: where a cell is far from all others, its own domain's and the sources', it counts as missing.

    Attributes
    ----------
    apart : (d,) bool
    centre, deviation : (d,) float64
        Of the target; see `_within`.
    low, high : (d,) float64
        Between which cells are held; infinite where a column is in equal units.
    stray : (d,) bool
        Columns whose cells beyond are missing instead.
    """

    apart: NDArray[np.bool_]
    centre: NDArray[np.float64]
    deviation: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    stray: NDArray[np.bool_]

    @classmethod
    def of(cls, X: NDArray, domain: NDArray, deviation: NDArray) -> TargetUnits:
        """Return the units of a table X (n, d), NaN where missing.

        Parameters
        ----------
        X : (n, d) float64
        domain : (n,) int64
            0 for a row of the target.
        deviation : (d,) float64
            Over all rows; 0 for a column that does not vary.
        """
        centre, within, counts = _within(X, domain)
        # a target that does not vary has no unit
        apart = (within > 1e-12 * np.abs(centre)) & (deviation > FAR_APART * _by_chance(counts) * within)
        for j in np.flatnonzero(apart):
            apart[j] = not _rare(X[:, j], domain)
        own, far = X[domain == 0], FAR_APART * within
        low = np.where(apart, np.minimum(np.fmin.reduce(own, axis=0, initial=np.inf), centre - far), -np.inf)
        high = np.where(apart, np.maximum(np.fmax.reduce(own, axis=0, initial=-np.inf), centre + far), np.inf)
        stray = np.zeros(len(apart), bool)
        for j in np.flatnonzero(np.isfinite(own).sum(axis=0) >= FEWEST_CELLS):
            middle, spread = _in_the_middle(own[:, j], X[domain != 0, j])
            if spread > 0:
                apart[j], stray[j], centre[j], within[j] = True, True, middle, spread
                low[j], high[j] = middle - FAR_APART * spread, middle + FAR_APART * spread
        return cls(apart, centre, within, low=low, high=high, stray=stray)

    def instead(self, centre: NDArray, deviation: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centre and deviation (d,) over all rows, or of the target where it is in other units."""
        return np.where(self.apart, self.centre, centre), np.where(self.apart, self.deviation, deviation)

    def held(self, X: NDArray) -> NDArray[np.float64]:
        """Return training rows (n, d) with the cells that are too far away at their bounds."""
        if not self.apart.any():
            return X
        found = np.clip(X, self.low, self.high)
        found[self.stray & (found != X)] = np.nan
        return found


def _in_the_middle(own: NDArray, others: NDArray) -> tuple[float, float]:
    """Return median and spread of the target's cells where single ones are far off, which sources' are not; else 0."""
    own, others = own[np.isfinite(own)], others[np.isfinite(others)]
    middle = float(np.median(own))
    # of a normal distribution the deviation
    spread = 1.4826 * float(np.median(np.abs(own - middle)))
    least = max(spread, 1.4826 * float(np.median(np.abs(others - np.median(others)))) if others.size else 0.0)
    farthest = np.abs(own - middle).max()
    far = farthest > FAR_APART * np.sqrt(own.size) * least
    elsewhere = others.size and np.abs(others - middle).max() >= farthest
    return middle, spread if spread > 0 and far and not elsewhere else 0.0


def _rare(column: NDArray, domain: NDArray) -> bool:
    """Return whether a column is mostly one value in the target, and what else there is as far from it as elsewhere.

    A word that hardly any row of the target has varies little there: that is no other unit.
    """
    own = column[(domain == 0) & np.isfinite(column)]
    common = np.median(own) if own.size else np.nan
    if not 2 * np.count_nonzero(own == common) >= max(own.size, 2):
        return False
    far = [np.abs(each[np.isfinite(each) & (each != common)] - common) for each in (column, own)]
    # root mean squares, in units of the largest: squares of cells of 1e100 would overflow
    sizes = [each.max(initial=0.0) * np.sqrt(np.mean((each / each.max(initial=0.0)) ** 2)) for each in far if each.size]
    return len(sizes) == 2 and bool(sizes[0] <= FAR_APART * sizes[1])


def _by_chance(counts: NDArray) -> NDArray[np.float64]:
    """Return how many times larger the deviation may be than that of `counts` cells of a normal distribution (d,).

    sqrt(n / q), q the `BY_CHANCE` quantile of chi-squared with n - 1 degrees of freedom; 1 for `ENOUGH` cells.
    """
    few = np.clip(counts, 2, ENOUGH)
    return np.where(counts < ENOUGH, np.sqrt(few / (2.0 * gammaincinv((few - 1) / 2.0, BY_CHANCE))), 1.0)


def _within(X: NDArray, domain: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the mean, deviation and cells of each column (d,) in the domain whose units count.

    The deviation is 0 where none knows two cells.

    That is the target, or, while it knows few cells, whichever varies more: it, or the domain in the middle.
    """
    means, spreads, counts = [], [], []
    for k in np.unique(domain):
        own = X[domain == k]
        known = np.isfinite(own)
        counts.append(known.sum(axis=0))
        several = np.maximum(counts[-1], 1)
        means.append(np.where(known, own / several, 0.0).sum(axis=0))
        apart = np.where(known, own - means[-1], 0.0)
        unit = np.maximum(np.abs(apart).max(axis=0), 1e-300)
        spreads.append(unit * np.sqrt(((apart / unit) ** 2).sum(axis=0) / several))
    spread, columns = np.where(np.array(counts) > 1, spreads, 0.0), np.arange(X.shape[1])
    # of an even number the one that varies less
    place = np.argsort(spread, axis=0)[(len(spread) - 1) // 2]
    place[(counts[0] >= ENOUGH) | (spread[0] >= spread[place, columns])] = 0
    return np.array(means)[place, columns], spread[place, columns], np.array(counts)[place, columns]


def principal_axes(Z: NDArray, most: int) -> NDArray[np.float64]:
    """Return the leading principal axes of Z (n, d), at most `most`, by the smaller Gram matrix."""
    wide = Z.shape[1] > len(Z)
    # the smaller of the two matrices has the same directions
    values, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
    kept = slice(max(len(values) - most, 0), None)
    values, vectors = values[kept], vectors[:, kept]
    # directions of no size are rounding
    used = values > 1e-10 * max(values[-1], 1e-300)
    return Z.T @ (vectors[:, used] / np.sqrt(values[used])) if wide else vectors[:, used]


def least_gcv(Z: NDArray, signs: Sequence[NDArray], domain: NDArray) -> float:
    """Return the C of `COSTS` with the least generalised cross-validation in the sources; see the module."""
    totals, penalties = np.zeros(len(COSTS)), 1.0 / np.array(COSTS)
    for k in np.unique(domain[domain > 0]):
        own = domain == k
        n, centred = int(own.sum()), Z[own] - Z[own].mean(axis=0)
        sizes, axes = np.linalg.eigh(centred.T @ centred)
        sizes = np.maximum(sizes, 0.0)
        kept = sizes / (sizes + penalties[:, None])
        left = np.maximum(n - 1 - kept.sum(axis=1), 1e-9)
        for each in signs:
            y = each[own] - each[own].mean()
            # one class alone says nothing
            if not y.any():
                continue
            along = axes.T @ (centred.T @ y)
            # RSS = y'y - 2 b'Z'y + b'Z'Z b
            fitted = (along**2 / (sizes + penalties[:, None]) * (2.0 - kept)).sum(axis=1)
            totals += n * np.log(n * np.maximum(y @ y - fitted, 1e-9) / left**2)
    return COSTS[int(totals.argmin())]


class LinearLearner(WeakLearner):
    """Weighted ridge machines over columns that are standardised once, for every round, candidate and class.

    Parameters
    ----------
    X : (n, d) float64
    cost : float, default=COST
        C, above 0.
    domain : (n,) int64, optional
        See `Projection.of`.
    """

    def __init__(self, X: NDArray, cost: float = COST, domain: NDArray | None = None) -> None:
        self.projection, held = Projection.with_held(X, MOST_COMPONENTS, domain)
        self.Z = self.projection(held)
        self._penalise(cost)

    @classmethod
    def by_sources(cls, X: NDArray, signs: Sequence[NDArray], domain: NDArray) -> LinearLearner:
        """Return the learner of rows X (n, d) with the C that the sources say.

        Parameters
        ----------
        X : (n, d) float64
        signs : sequence of (n,) float64
            +1 or -1, for each class against the others.
        domain : (n,) int64
            Above 0 for a source's row.
        """
        learner = cls(X, domain=domain)
        if learner.Z.shape[1] - 1 > FEW_COLUMNS:
            learner._penalise(least_gcv(learner.Z[:, :-1], signs, domain))
        return learner

    def _penalise(self, cost: float) -> None:
        self._penalty = np.full(self.Z.shape[1], 1.0 / cost)
        # the intercept is not penalised, but for what keeps the system solvable
        self._penalty[-1] = 1e-9

    def new_votes(self) -> LinearVotes:
        """Return an empty sum of votes over tables like this one."""
        return LinearVotes(self.projection)

    def fit(self, rows: NDArray, signs: NDArray, weights: NDArray) -> NDArray[np.float64]:
        """Return v (m + 1,) fitted to `rows` with their signs and weights."""
        return self.fit_each([(rows, signs, weights)])[0]

    def fit_each(self, candidates: Sequence[tuple[NDArray, NDArray, NDArray]]) -> list[NDArray[np.float64]]:
        """Return v (m + 1,) of each candidate's rows, signs and weights."""
        d = self.Z.shape[1]
        systems, sides = np.empty((len(candidates), d, d)), np.empty((len(candidates), d, 1))
        for system, side, (rows, signs, weights) in zip(systems, sides, candidates):
            root = np.sqrt(kish(weights))
            scaled = self.Z[rows] * root[:, None]
            # of a matrix with itself: half of the sums
            system[:] = scaled.T @ scaled
            side[:, 0] = scaled.T @ (root * signs)
        systems[:, np.arange(d), np.arange(d)] += self._penalty
        return list(np.linalg.solve(systems, sides)[:, :, 0])

    def errors(
        self, models: Sequence[NDArray], rows: NDArray, signs: NDArray, weights: NDArray
    ) -> NDArray[np.float64]:
        """Return each model's weighted error on rows (m,), in [0, 1]."""
        Z, missed, together = self.Z[rows], [], max(1, MOST_VOTES // max(len(rows), 1))
        for first in range(0, len(models), together):
            votes = Z @ np.column_stack(models[first : first + together])
            # in place: what is held stays in the cache
            np.clip(votes, -1.0, 1.0, out=votes)
            votes -= signs[:, None]
            missed.append(weights @ np.abs(votes, out=votes))
        return 0.5 * np.concatenate(missed) / weights.sum()

    def votes(self, model: NDArray, rows: NDArray) -> NDArray[np.float64]:
        """Return h in [-1, 1] for each of `rows`."""
        return np.clip(self.Z[rows] @ model, -1.0, 1.0)

    def taken(self, rows: NDArray) -> NDArray[np.float64]:
        """Return training rows in the form that `votes_of` takes."""
        return self.Z[rows]

    def prepared(self, X: NDArray) -> NDArray[np.float64]:
        """Return another table in the form that `votes_of` takes."""
        return self.projection(X)

    def votes_of(self, model: NDArray, prepared: NDArray) -> NDArray[np.float64]:
        """Return h in [-1, 1] for each row of a prepared table."""
        return np.clip(prepared @ model, -1.0, 1.0)


@dataclass
class LinearVotes:
    """F(x) = sum over ridge machines of scale * h(x)."""

    projection: Projection
    models: list[NDArray] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.models)

    def append(self, model: NDArray, scale: float) -> None:
        """Add a machine."""
        self.models.append(model)
        self.scales.append(scale)

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return F (n,)."""
        if not self.models:
            return np.zeros(len(X))
        # all machines in one product
        return np.clip(self.projection(X) @ np.stack(self.models, axis=1), -1.0, 1.0) @ np.array(self.scales)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the machines as arrays; the projection is kept apart."""
        width = self.projection.axes.shape[1] + 1
        return {"machines": np.reshape(self.models, (-1, width)), "scales": np.array(self.scales, np.float64)}
