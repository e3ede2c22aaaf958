r"""HLR: linear regression whose rows are weighted by how far their labels stray, (1) to (4).

    y_i = y*_i + eps_i,  E[eps_i] = 0                                                                              (1)
    w = argmin (1/N) sum_i (y_i - w.x_i)^2 / W_i                                                                   (2)
    W = argmin E[(w - w*)^2], solved by W_i = Var(eps_i)  (generalised Gauss-Markov)                               (3)
    W_i = Var(eps_i) = E[eps_i^2], taken to be the one eps_i^2 that was drawn                                      (4)

Even noise of one variance gives deviations that differ almost surely (Lemma 2.1), so that (4) weighs rows where plain
least squares does not. eps_i^2 is seldom known: the paper calls that unrealistic, and learns it in (5) to (10). Here it
is given to `fit`; without it every W_i is 1, and HLR is linear regression.

Departures: a deviation of 0 would divide by 0; it counts as 1e-8 of the largest. A column of ones joins x
(`fit_intercept`), as in the paper's Figure 2.

Reference: G.-H. Lee, S.-W. Yang, T.-H. Lin, S.-D. Lin, "Heteroscedastic learning and its realization on matrix
factorization and gradient boosting regression/classification", 2017, section 2; equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hetcore.base import RegressorScore
from hetcore.checks import check_aligned, validated
from hetcore.errors import DataError
from hetcore.events import Callback
from hetcore.heteroscedastic.rows import RowsEstimator
from hetcore.parameters import Flag, Interval, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Array

__all__ = ["HLR"]

LEAST_DEVIATION = 1e-8  # of the largest
VARIES = 1e-12  # of a column's mean: below it what varies is rounding


@dataclass
class Solution:
    """The state of a fit, whose single round solves (2); `validation` are the columns and labels of rows to score.

    `line` has the slopes and, last, the intercept.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    roots: NDArray[np.float64]  # of the rows' weights
    validation: tuple[NDArray, NDArray] | None
    with_intercept: bool
    line: NDArray[np.float64]

    def round(self) -> bool:
        """Solve (2); returns that nothing is left to do."""
        shares = self.roots**2 / (self.roots**2).sum() if self.with_intercept else np.zeros(len(self.y))
        # from the first label on: the mean of labels that are all one value is that value, to the bit
        first = float(self.y[0]) if self.with_intercept else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            centre, mean = shares @ self.X, first + float(shares @ (self.y - first))
        apart = self.X - centre
        # in one unit and about their means, for moments in milliseconds leave no room for what varies
        scale = np.abs(apart[self.roots > 0]).max(axis=0, initial=0.0)
        varies = scale > VARIES * np.abs(centre)
        scale = np.where(varies, scale, 1.0)
        # of the roots: least squares of weighted rows without squaring their condition
        columns = np.where(varies, apart / scale, 0.0) * self.roots[:, None]
        slopes = np.linalg.lstsq(columns, (self.y - mean) * self.roots, rcond=None)[0] / scale
        # what overflows here is refused by its errors
        with np.errstate(over="ignore", invalid="ignore"):
            self.line = np.append(slopes, mean - centre @ slopes)
        return True

    def _missed(self, X: NDArray, y: NDArray) -> NDArray[np.float64]:
        """Return the squared errors (m,) of some rows."""
        return (y - X @ self.line[:-1] - self.line[-1]) ** 2

    def squares(self) -> dict[str, float]:
        """Return mean squared errors, weighted on the training rows; raise DataError if they or the line overflow."""
        weights, found = self.roots**2, {}
        with np.errstate(over="ignore", invalid="ignore"):
            found["train"] = float(weights @ self._missed(self.X, self.y) / weights.sum())
            if self.validation is not None:
                found["held_out"] = float(self._missed(*self.validation).mean())
        if not np.isfinite([*found.values()]).all():
            raise DataError("The columns or labels are so large or small that an error overflows: rescale them.")
        return found


@estimator(MemoryNeed(cell=45))
class HLR(RegressorScore, RowsEstimator):
    """Heteroscedastic (weighted) linear regression as the paper has it, (1) to (4).

    Its only event (`RoundEnd`) has the losses "train", the weighted mean of squared errors, and "held_out" (with
    `eval_set`); its `detail` has "metric_name": "RMSE" and "metric", by the same sets of rows.

    Attributes
    ----------
    coef_ : (d,) float64
    intercept_ : float
        0 without `fit_intercept`.
    instance_weights_ : (n,) float64
        1 / W_i of each training row, by its sample weight; mean 1.
    n_iterations_ : int
        1.
    history_ : polars DataFrame
        Its single round.
    n_features_in_ : int
        Columns of X.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: sections 2.1 and 2.2, (1) to (4).
    """

    _stored = {
        "intercept": Interval(-np.inf),
        "n_iterations": Whole(1, 1),
        "n_features_in": Whole(1),
        "coef": Array("d"),
        "instance_weights": Array("n", low=0),
    }

    fit_intercept: bool = param(True, Flag(), "Whether a column of ones joins X.")

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        squared_errors: ArrayLike | None = None,
        callbacks: Iterable[Callback] = (),
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> HLR:
        """Solve (2).

        Parameters
        ----------
        X : (n, d) array-like
        y : (n,) array-like
        sample_weight : (n,) array-like, optional
            At least 0; multiplies 1 / W_i.
        squared_errors : (n,) array-like, optional
            eps_i^2 of (4), at least 0, in squared units of y; by default 1 for every row, which is linear regression.
        callbacks : iterable of callable, default=()
            Each is called with the `RoundEnd`.
        eval_set : (X, y), optional
            Rows to score ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If `squared_errors` or `eval_set` does not fit, or a weight is negative.
        """
        return self._fit(callbacks, X, y, sample_weight, squared_errors, eval_set=eval_set)

    def _problem(self, X: Any, y: Any, sample_weight: Any, squared_errors: Any, eval_set: Any) -> Solution:
        check_aligned(X, squared_errors=squared_errors)
        X, y, weights = self._checked_rows(X, y, sample_weight)
        # relative to the largest, for only ratios of weights count
        roots = np.sqrt(weights / weights.max()) / _deviations(squared_errors, y.size)
        rows, line = self._rows_to_score(eval_set), np.zeros(X.shape[1] + 1)
        return Solution(X, y, roots, validation=rows, with_intercept=self.fit_intercept, line=line)

    def _start(self, problem: Solution) -> Solution:
        return problem

    def _view(self, state: Solution) -> dict[str, Any]:
        losses = state.squares()
        metric = {name: float(np.sqrt(square)) for name, square in losses.items()}
        return {"losses": losses, "detail": {"metric_name": "RMSE", "metric": metric}}

    def _finish(self, state: Solution) -> None:
        self.coef_, self.intercept_ = state.line[:-1].copy(), float(state.line[-1])
        weights = state.roots**2
        self.instance_weights_ = weights / weights.mean()

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted label of each row.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        (n,) float64, in the labels' unit
        """
        check_is_fitted(self)
        return validated(self, X, dtype=np.float64, reset=False) @ self.coef_ + self.intercept_

    def _restored(self, sizes: dict[str, int]) -> str:
        return "" if sizes["d"] == self.n_features_in_ else "The line of the model file is none of its columns"


def _deviations(squared_errors: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return |eps_i|, relative to the largest."""
    if squared_errors is None:
        return np.ones(n)
    try:
        squares = np.asarray(squared_errors, np.float64)
    except (TypeError, ValueError):
        # words rather than NumPy's
        raise DataError("squared_errors has values that are no numbers: give each row's squared error.") from None
    if squares.shape != (n,):
        raise DataError(f"squared_errors has the shape {squares.shape} for {n} labels: give one for each row.")
    if not (np.isfinite(squares).all() and (squares >= 0).all()):
        raise DataError("squared_errors has values that are negative or not finite: give each row's squared error.")
    deviations = np.sqrt(squares)
    largest = float(deviations.max())
    # no deviation at all: all rows alike
    return np.maximum(deviations / largest, LEAST_DEVIATION) if largest > 0 else np.ones(n)
