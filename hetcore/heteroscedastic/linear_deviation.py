r"""Linear regression with a linear model of ln sigma^2: weights that are learned, where HLR is given them.

    y = w.x + b + noise,  noise ~ N(0, sigma^2(x)),  ln sigma^2(x) = v.x + c
    minimise  sum_x [ln sigma^2(x) + (y - w.x - b)^2 / sigma^2(x)] / 2 + l2 |w|^2 / 2 + deviation_l2 |v|^2 / 2

    1  c <- ln of the labels' variance; v, w <- 0
    2  repeat until nothing moves:
    3      w, b <- least squares with weights 1 / sigma^2 (ridge), in closed form
    4      v, c <- a Fisher scoring step, halved until the objective does not rise

Each line solves or lowers the objective, so that it never rises. Columns are standardised first, and w, v given back
in their units.

This is (6) with Omega = ln and two lines; the paper has no such model. Its own linear model, HLR, is told how far each
label strays: `hetcore.heteroscedastic.hlr`.

Reference: Harvey, A. C. (1976). Estimating regression models with multiplicative heteroscedasticity. Econometrica 44.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hetcore.checks import validated
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
LEAST_SPREAD = 1e-10  # of the standard deviation of residuals, in that of the labels


@dataclass
class Rows:
    """Standardised columns with a last one of ones (n, d + 1), standardised labels, weights."""

    Z: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]


class Alternation:
    """The state of a fit; `round` is lines 3 and 4."""

    def __init__(self, train: Rows, held_out: Rows | None, params: dict[str, Any]) -> None:
        self.train, self.held_out, self.params = train, held_out, params
        width = train.Z.shape[1]
        self.w, self.v = np.zeros(width), np.zeros(width)
        self._settle()

    def _settle(self) -> None:
        """Set the constant of ln sigma^2 by the residuals, v zero."""
        residual = self.train.y - self.train.Z @ self.w
        # no residual left would make the logarithm minus infinity
        self.v[-1] = np.log(max(np.average(residual**2, weights=self.train.weights), LEAST_SPREAD**2))

    def round(self) -> bool:
        """Lines 3 and 4; returns whether nothing moved by more than `tol`."""
        before = self.objective()
        self._label_step()
        # as long as nothing but the constant is learned, it follows the residuals exactly
        if not self.v[:-1].any():
            self._settle()
        if self.params["deviation"] == "constant":
            return True
        self._deviation_step()
        return before - self.objective() <= self.params["tol"] * self.train.y.size

    def _label_step(self) -> None:
        Z, s = self.train.Z, self.train.Z @ self.v
        spread = LOSS.weight(s) if self.params["deviation"] == "learned" else np.ones_like(s)
        weights = self.train.weights * spread
        normal = (Z.T * weights) @ Z + self._ridge("l2")
        # least squares: columns that repeat each other make the normal matrix singular
        self.w = np.linalg.lstsq(normal, Z.T @ (weights * self.train.y), rcond=None)[0]

    def _deviation_step(self) -> None:
        Z, weights, start = self.train.Z, self.train.weights, self.objective()
        gradient = LOSS.gradients(Z @ self.w, Z @ self.v, self.train.y)
        slope = Z.T @ (weights * gradient[1]) + self._ridge("deviation_l2") @ self.v
        fisher = 0.5 * (Z.T * weights) @ Z + self._ridge("deviation_l2")
        step = np.linalg.lstsq(fisher, slope, rcond=None)[0]
        v = self.v
        # a Fisher step may overshoot far from the solution
        for _ in range(40):
            self.v = v - step
            # down to the least spread: labels on a line would drive it to minus infinity
            self.v[-1] = max(self.v[-1], 2.0 * np.log(LEAST_SPREAD))
            if self.objective() <= start:
                return
            step = 0.5 * step
        # no shorter step was better: rounding has the last word
        self.v = v

    def _ridge(self, name: str) -> NDArray:
        penalty = np.full(self.w.size, self.params[name])
        # the constants are not penalised
        penalty[-1] = 0.0
        return np.diag(penalty)

    def objective(self) -> float:
        """Return the objective."""
        w, v = self.w[:-1], self.v[:-1]
        penalties = self.params["l2"] * w @ w + self.params["deviation_l2"] * v @ v
        rows = LOSS.value(self.train.Z @ self.w, self.train.Z @ self.v, self.train.y)
        return float(self.train.weights @ rows + 0.5 * penalties)

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
class HeteroscedasticLinearRegression(IntervalMixin, RegressorMixin, RowsEstimator):
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
    deviation_l2: float = param(1.0, Interval(0), "Penalty of v, on standardised columns.")
    deviation: str = param("learned", OneOf("learned", "constant"), '"constant" is ridge regression, exactly.')
    tol: float = param(1e-8, Interval(0), "Fall of (4) a row at which the fit ends.")

    def _problem(self, X: Any, y: Any, sample_weight: Any, eval_set: Any) -> tuple[Rows, Rows | None]:
        X, y, weights = self._checked_rows(X, y, sample_weight)
        self._measure(X, y.astype(np.float64), weights)
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
        return self._rows(X, y.astype(np.float64), np.ones(len(X)))

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
