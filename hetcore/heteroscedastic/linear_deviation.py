r"""Linear regression with a linear model of ln sigma^2: weights that are learned, where HLR is given them.

    y = w.x + b + noise,  noise ~ N(0, sigma^2(x)),  ln sigma^2(x) = v.x + c

    1  w0 <- least squares (ridge); e_i <- its residual of row i, were that row left out: r_i / (1 - leverage_i)
    2  repeat until ln sigma^2 stays where it is:
    3      v, c <- argmin sum_i [s_i + e_i^2 exp(-s_i)] / 2 + deviation_l2 |v|^2 / 2,  s_i = v.x_i + c: Newton, damped
    4      w1 <- least squares with weights 1 / sigma^2; its e, too
    5      w <- m w1 + (1 - m) w0 and e of it, with the m in [0, 1] of least sum of e^2

Residuals are those of left-out rows: a line's own are nearly 0 where there are about as many columns as rows, and a
deviation learned from them runs to 0 and takes the weights along. In lines 2 and 4 ln sigma^2 of a row is that of the
others, too (one Newton step without it). Line 5 is for labels that follow no line: weights fit some rows at the price
of all others. "auto" takes, in the first round, the largest penalty under which left-out rows are as likely as under
the best, within a standard error. Columns are standardised first, and w, v given back in their units.

Line 3 is (6) with Omega = ln and a line; the paper has no such model. Its own linear model, HLR, is told how far each
label strays: `hetcore.heteroscedastic.hlr`.

Reference: Harvey, A. C. (1976). Estimating regression models with multiplicative heteroscedasticity. Econometrica 44.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from hetcore.base import RegressorScore
from hetcore.checks import validated
from hetcore.data.columns import check_flags
from hetcore.errors import DataError
from hetcore.heteroscedastic.likelihoods import GaussianDeviation
from hetcore.heteroscedastic.rows import IntervalMixin, RowsEstimator, spread_event
from hetcore.numerics import mean_and_deviation, means_and_deviations
from hetcore.parameters import Interval, OneOf, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Array

__all__ = ["HeteroscedasticLinearRegression"]

LOSS = GaussianDeviation()
Z90 = 1.6448536269514722
FARTHEST = 1e50  # standard deviations: rows that count nothing may lie anywhere, and their squares overflow
MOST_LOG_VARIANCE = 200.0
LEAST_SPREAD = 1e-10  # of residuals, in standard deviations of the labels
SPAN = 2.0 * np.log(30.0)  # of ln sigma^2: sigma is at most 30 times that of least squares, or that much smaller
PENALTIES = (1e5, 1e3, 1e2, 30.0, 10.0, 3.0, 1.0, 0.3)  # that "auto" tries
FREEDOM = 0.1  # most degrees of freedom of v, by rows
LEAST_REST = 1e-9  # of 1 - leverage: less is rounding, or a row that alone decides a coefficient


@dataclass
class Rows:
    """Standardised columns with a last one of ones (n, d + 1), standardised labels, weights."""

    Z: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass
class Line:
    """A line (d + 1,) and how far the rows' labels (n,) are from that of the others."""

    w: NDArray[np.float64]
    left_out: NDArray[np.float64]

    def mixed(self, other: Line, share: float) -> Line:
        """Return the mean of two lines, `share` of the other."""
        return Line(*((1.0 - share) * a + share * b for a, b in ((self.w, other.w), (self.left_out, other.left_out))))


@dataclass
class Deviation:
    """v with c (d + 1,); ln sigma^2 of each row (n,) by the other rows, and the loss (n,) of line 3 under that."""

    v: NDArray[np.float64]
    left_out: NDArray[np.float64]
    losses: NDArray[np.float64]


class Point(NamedTuple):
    """A step of line 3: v with c (d + 1,), its loss, and ln sigma^2 and e^2 / sigma^2 of each row (n,) under it."""

    v: NDArray[np.float64]
    value: float
    s: NDArray[np.float64]
    ratio: NDArray[np.float64]


def _inverse(matrix: NDArray) -> NDArray[np.float64]:
    """Return the pseudo-inverse of a matrix without eigenvalues below 0: NumPy's bits in two thirds of its time."""
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.abs(values)
    # columns that repeat each other make it singular
    kept = sizes > len(matrix) * np.finfo(float).eps * sizes.max()
    inverses = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    # the largest first, as in NumPy's sum
    return vectors[:, ::-1] @ (inverses[::-1, None] * vectors.T[::-1])


def _leverages(Z: NDArray, inverse: NDArray) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", Z @ inverse, Z)


class Alternation:
    """The state of a fit; `round` is lines 3 to 5."""

    def __init__(self, train: Rows, held_out: Rows | None, params: dict[str, Any]) -> None:
        self.train, self.held_out, self.params = train, held_out, params
        self.weights = train.weights
        self.singles = np.minimum(train.weights, 1.0)
        self.plain = self.line = self.fitted(np.zeros(train.y.size))
        self.v = np.zeros(train.Z.shape[1])
        self.v[-1] = self.middle = np.log(np.average(self._squares(), weights=self.weights))
        self.log_variance = np.full(train.y.size, self.middle)
        self.penalties = self._worth_trying() if params["deviation_l2"] == "auto" else (params["deviation_l2"],)

    @property
    def w(self) -> NDArray[np.float64]:
        """w and b, (d + 1,)."""
        return self.line.w

    def round(self) -> bool:
        """Lines 3 to 5; returns whether ln sigma^2 moved by no more than `tol` anywhere."""
        if self.params["deviation"] == "constant":
            return True
        squares, before = self._squares(), self.log_variance
        tried = []
        for penalty in self.penalties:
            # from the last one on, whose solution is near
            tried.append(self.deviation(squares, penalty, tried[-1].v if tried else self.v))
        best = self._chosen(np.array([each.losses for each in tried]))
        self.penalties, self.v, self.log_variance = self.penalties[best : best + 1], tried[best].v, tried[best].left_out
        self.line = self._protected(self.fitted(self.log_variance - self.middle))
        moved = np.abs(self.log_variance - before).max(where=self.weights > 0, initial=0.0)
        return bool(moved <= self.params["tol"])

    def _worth_trying(self) -> tuple[float, ...]:
        """Return the penalties that leave v few degrees of freedom: with many, the left-out loss is a poor judge."""
        columns = self.train.Z[:, :-1]
        information = np.maximum(np.linalg.eigvalsh(0.5 * (columns.T * self.weights) @ columns), 0.0)
        most = FREEDOM * self.weights.sum()
        few = tuple(each for each in PENALTIES if (information / (information + each)).sum() <= most)
        return few or PENALTIES[:1]

    def _chosen(self, losses: NDArray) -> int:
        """Return the first of tried penalties, the largest, that is within a standard error of the best."""
        total = self.weights.sum()
        gaps = losses - losses[np.argmin(losses @ self.weights)]
        means = gaps @ self.weights / total
        errors = np.sqrt((gaps - means[:, None]) ** 2 @ self.weights) / total
        return int(np.argmax(means <= errors))

    def fitted(self, log_variance: NDArray) -> Line:
        """Return the least squares of rows that count 1 / sigma^2, in closed form (lines 1 and 4)."""
        Z, y, weights = self.train.Z, self.train.y, self.weights * np.exp(-log_variance)
        shares = weights / weights.sum()
        means, mean, roots = shares @ Z[:, :-1], shares @ y, np.sqrt(weights)
        # no normal matrix: where there are more columns than rows, 1 - leverage would be its rounding
        U, sizes, V = np.linalg.svd((Z[:, :-1] - means) * roots[:, None], full_matrices=False)
        # of a size whose square is below the smallest number nothing can be divided
        floor = max(sizes.max(initial=0.0) * max(Z.shape) * np.finfo(float).eps, np.sqrt(np.finfo(float).tiny))
        kept = sizes > floor
        U, sizes, V, l2 = U[:, kept], sizes[kept], V[kept], self.params["l2"]
        w = V.T @ (sizes / (sizes**2 + l2) * (U.T @ (roots * (y - mean))))
        line = np.append(w, mean - means @ w)
        rest = np.maximum(1.0 - shares - (U**2).sum(axis=1), 0.0) + U**2 @ (l2 / (sizes**2 + l2))
        # a row of weight 3 is three rows, of which one is left out
        rest = 1.0 - (1.0 - rest) / np.maximum(self.weights, 1.0)
        known = rest > LEAST_REST
        # without its row such a line is not known: as far off as the mean is
        return Line(line, np.where(known, (y - Z @ line) / np.where(known, rest, 1.0), y))

    def _protected(self, line: Line) -> Line:
        """Return line 5."""
        gap = self.plain.left_out - line.left_out
        above, below = self.weights @ (self.plain.left_out * gap), self.weights @ gap**2
        return self.plain.mixed(line, float(np.clip(above / below, 0.0, 1.0)) if below > 0 else 0.0)

    def deviation(self, squares: NDArray, penalty: float, start: NDArray) -> Deviation:
        """Return line 3: damped Newton from a start."""
        Z, weights, ridge = self.train.Z, self.weights, self._ridge(penalty)
        at = self._point(start, squares, ridge)
        for _ in range(50):
            # halfway to the expected information, for one row far out would make a step too small for all others
            hessian = 0.25 * (Z.T * (weights * (1.0 + at.ratio))) @ Z + ridge
            step = _inverse(hessian) @ (0.5 * Z.T @ (weights * (1.0 - at.ratio)) + ridge @ at.v)
            for halving in range(30):
                new = self._point(at.v - 0.5**halving * step, squares, ridge)
                if new.value < at.value:
                    break
            else:  # rounding has the last word
                break
            before, at = at.value, new
            if before - at.value <= 1e-7 * weights.sum():
                break
        return self._without_each_row(at, squares, ridge)

    def _without_each_row(self, at: Point, squares: NDArray, ridge: NDArray) -> Deviation:
        """Return a deviation with what it says of each row were that row not there: one Newton step from the whole."""
        Z, ratio = self.train.Z, at.ratio
        leverages = self.singles * _leverages(Z, _inverse(0.5 * (Z.T * (self.weights * ratio)) @ Z + ridge))
        step = 0.5 * leverages * (1.0 - ratio) / np.maximum(1.0 - 0.5 * leverages * ratio, 0.05)
        s = self._bounded(at.s + step)
        return Deviation(at.v, s, 0.5 * (s + squares * np.exp(-s)))

    def _point(self, v: NDArray, squares: NDArray, ridge: NDArray) -> Point:
        s = self._bounded(self.train.Z @ v)
        ratio = squares * np.exp(-s)
        return Point(v, float(0.5 * (self.weights @ (s + ratio) + v @ ridge @ v)), s, ratio)

    def _squares(self) -> NDArray[np.float64]:
        # no residual left would make the logarithm minus infinity
        return np.maximum(self.line.left_out**2, LEAST_SPREAD**2)

    def _bounded(self, s: NDArray) -> NDArray[np.float64]:
        return np.clip(s, self.middle - SPAN, self.middle + SPAN)

    def _ridge(self, penalty: float) -> NDArray[np.float64]:
        every = np.full(self.train.Z.shape[1], penalty)
        # the constants are not penalised
        every[-1] = 0.0
        return np.diag(every)

    def measured(self, rows: Rows) -> tuple[float, float, float, float]:
        """Return NLL, RMSE, share within 1.645 sigma and mean sigma of some rows, in standardised units."""
        f, s = rows.Z @ self.w, rows.Z @ self.v
        sigma = np.exp(0.5 * np.clip(s, -MOST_LOG_VARIANCE, MOST_LOG_VARIANCE))
        each = (
            LOSS.value(f, s, rows.y) + 0.5 * np.log(2.0 * np.pi),
            (rows.y - f) ** 2,
            np.abs(rows.y - f) <= Z90 * sigma,
            sigma,
        )
        nll, square, share, mean = (float(np.average(values, weights=rows.weights)) for values in each)
        return nll, float(np.sqrt(square)), share, mean


@estimator(MemoryNeed(cell=45))
class HeteroscedasticLinearRegression(IntervalMixin, RegressorScore, RowsEstimator):
    """Linear regression with a linear model of ln sigma^2, learned from the residuals.

    Each event (`RoundEnd`) is one pass over both halves. Its `losses` are mean negative log likelihoods of the
    standardised labels, "train" and "held_out" (with `eval_set`); its `detail` has "metric_name": "RMSE", and "metric",
    "coverage90" and "mean_sigma" by the same sets of rows, as `HGBMRegressor`.

    Attributes
    ----------
    coef_, deviation_coef_ : (d,) float64
        w, in the label's unit by the column's; v, in ln sigma^2 by the column's.
    intercept_, deviation_intercept_ : float
        b and c.
    instance_weights_ : (n,) float64
        1 / sigma^2 of each training row; mean 1.
    n_iterations_ : int
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET".
    n_features_in_ : int
        Columns of X.

    References
    ----------
    Harvey, "Estimating regression models with multiplicative heteroscedasticity", Econometrica 44, 1976; Lee, Yang,
    Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: section 2.3, (6) with Omega = ln.
    """

    _stored = {
        "intercept": Interval(-np.inf),
        "deviation_intercept": Interval(-np.inf),
        "n_iterations": Whole(1),
        "coef": Array("d"),
        "deviation_coef": Array("d"),
        "instance_weights": Array("n", low=0),
    }

    n_iterations: int = param(100, Whole(1), "Rounds at most.")
    l2: float = param(1e-3, Interval(0), "Penalty of w, on standardised columns and labels.")
    deviation_l2: float | str = param(
        "auto", Interval(0).or_text("auto"), 'Penalty of v, columns standardised; "auto": the most left-out rows bear.'
    )
    deviation: str = param("learned", OneOf("learned", "constant"), '"constant" is ridge regression, exactly.')
    tol: float = param(0.01, Interval(0), "Move of ln sigma^2 of a row at which the fit ends.")

    def _problem(self, X: Any, y: Any, sample_weight: Any, eval_set: Any) -> tuple[Rows, Rows | None]:
        X, y, weights = self._checked_rows(X, y, sample_weight)
        # weights are counts of rows; shares, which sum to less than there are rows, are taken for equal parts of these
        weights = weights * max(1.0, np.count_nonzero(weights) / weights.sum())
        self._measure(X, y, weights)
        return self._rows(X, y, weights), self._validation(eval_set)

    def _start(self, problem: tuple[Rows, Rows | None]) -> Alternation:
        return Alternation(*problem, self.get_params(deep=False))

    def _measure(self, X: NDArray, y: NDArray, weights: NDArray) -> None:
        """Learn means and deviations of columns and labels."""
        self._columns = means_and_deviations(X, weights)
        self._unit = mean_and_deviation(y, weights)

    def _rows(self, X: NDArray, y: NDArray, weights: NDArray) -> Rows:
        # a row of weight 0 may lie anywhere, and its square must not overflow
        columns = np.clip((X - self._columns[0]) / self._columns[1], -FARTHEST, FARTHEST)
        labels = np.clip((y - self._unit[0]) / self._unit[1], -FARTHEST, FARTHEST)
        return Rows(np.column_stack([columns, np.ones(len(X))]), labels, weights)

    def _validation(self, eval_set: tuple[ArrayLike, ArrayLike] | None) -> Rows | None:
        if (rows := self._rows_to_score(eval_set)) is None:
            return None
        X, y = rows
        return self._rows(X, y, np.ones(len(X)))

    def _view(self, state: Alternation) -> dict[str, Any]:
        sets = {"train": state.train} | ({} if state.held_out is None else {"held_out": state.held_out})
        return spread_event({name: state.measured(rows) for name, rows in sets.items()}, self._unit[1])

    def _finish(self, state: Alternation) -> None:
        (means, deviations), (mean, unit) = self._columns, self._unit
        with np.errstate(over="ignore", invalid="ignore"):  # said in words below
            self.coef_, self.deviation_coef_ = unit * state.w[:-1] / deviations, state.v[:-1] / deviations
            self.intercept_ = float(mean + unit * state.w[-1] - means @ self.coef_)
            self.deviation_intercept_ = float(state.v[-1] + 2.0 * np.log(unit) - means @ self.deviation_coef_)
        lines = *self.coef_, *self.deviation_coef_, self.intercept_, self.deviation_intercept_
        if not np.isfinite(lines).all():
            raise DataError("The columns or labels are so large or small that a coefficient overflows: rescale them.")
        weights = LOSS.weight(state.train.Z @ state.v)
        self.instance_weights_ = weights / weights.mean()

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict the label of each row.

        Parameters
        ----------
        X : (n, d) array-like
        return_std : bool, default=False
            Whether to return the standard deviation too (not the variance).

        Returns
        -------
        (n,) float64, in the labels' unit
        (n,) float64, in the labels' unit, with `return_std`
        """
        check_is_fitted(self)
        check_flags(return_std=return_std)
        X = validated(self, X, dtype=np.float64, reset=False)
        mean = X @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        log_variance = X @ self.deviation_coef_ + self.deviation_intercept_
        # beyond that a deviation is 0 or infinite anyway
        return mean, np.exp(0.5 * np.clip(log_variance, -MOST_LOG_VARIANCE, MOST_LOG_VARIANCE))

    def _width(self, coverage: float) -> float:
        return norm.ppf(0.5 + 0.5 * coverage)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _restored(self, sizes: dict[str, int]) -> str:
        self.n_features_in_ = sizes["d"]
        return "" if sizes["d"] else "The line of the model file has no columns"
