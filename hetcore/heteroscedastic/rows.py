"""What methods for plain rows share: arguments and checks of a fit, events of a spread, intervals of a prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from hetcore.base import Estimator
from hetcore.checks import as_numbers, check_aligned, check_coverage, check_weights, rows_to_score_by, validated
from hetcore.data.columns import unmasked
from hetcore.errors import DataError
from hetcore.events import Callback

__all__ = ["IntervalMixin", "RowsEstimator", "labels_of", "spread_event"]

LARGEST_WEIGHT = 1e290
"""Beyond it weights are taken as shares of the largest."""


class RowsEstimator(Estimator):
    """Base of the estimators that are fitted to X and y."""

    _x_checks: dict[str, Any] = {"dtype": np.float64}
    _y_checks: dict[str, Any] = {"y_numeric": True}

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Any:
        """Fit label and deviation.

        Parameters
        ----------
        X : (n, d) array-like
            Numbers; NaN is missing, which trees take and linear models refuse.
        y : (n,) array-like
            Numbers of a regressor, class labels of a classifier.
        sample_weight : (n,) array-like, optional
            At least 0; a row of weight 0 takes no part.
        callbacks : iterable of callable, default=()
            Each is called after every round with a `RoundEnd` and may return True to stop.
        eval_set : (X, y), optional
            Rows to score each round by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If a classifier's labels hold a single class, a weight is negative, or `eval_set` does not fit.
        """
        return self._fit(callbacks, X, y, sample_weight, eval_set=eval_set)

    def _checked_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray, NDArray, NDArray[np.float64]]:
        """Return X, y and the rows' weights, as scikit-learn checks them."""
        check_aligned(X, y=y, sample_weight=sample_weight)
        check_weights(sample_weight)
        X, y = validated(self, X, y, **self._x_checks, **self._y_checks)
        weights = _check_sample_weight(unmasked(sample_weight), X, dtype=np.float64, ensure_non_negative=True)
        # only their ratios count, and their sum must be a number
        return X, y, weights / weights.max() if weights.max() > LARGEST_WEIGHT else weights

    def _rows_to_score(self, eval_set: Any) -> tuple[NDArray, NDArray] | None:
        """Return X and y of an `eval_set`; None without one."""
        if eval_set is None:
            return None
        X, y = rows_to_score_by(self, eval_set, **self._x_checks)
        return X, as_numbers(y) if "y_numeric" in self._y_checks else y


class IntervalMixin:
    """Intervals of a model whose `predict(X, return_std=True)` gives a standard deviation; it writes `_width`."""

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[NDArray, NDArray]:
        """Return the ends of an interval that holds the label of a row with probability `coverage`.

        The mean, plus or minus as many standard deviations as hold that share of a normal distribution, or of rows that
        were left out where the model has any; of Student's t where these are too few to tell, as 20 are for 0.99.

        Parameters
        ----------
        X : (n, d) array-like
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        (n,) float64, (n,) float64, in the labels' unit

        Raises
        ------
        ParameterError
            If `coverage` is outside (0, 1).
        """
        check_coverage(coverage)
        mean, deviation = self.predict(X, return_std=True)
        half_width = self._width(coverage) * deviation
        return mean - half_width, mean + half_width


def labels_of(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return labels as n finite numbers.

    Raises
    ------
    DataError
        If they are none.
    """
    labels = as_numbers(y)
    if labels.shape != (n,):
        raise DataError(f"y has labels of shape {labels.shape} for {n} rows of X: give one for each.")
    if not np.isfinite(labels).all():
        raise DataError("y has labels that are missing or infinite: leave those rows out.")
    return labels


def spread_event(measured: Mapping[str, tuple[float, float, float, float]], unit: float) -> dict[str, Any]:
    """Return the fields of `RoundEnd` from NLL, RMSE, share within 1.645 sigma and mean sigma by set of rows.

    The last three are in standardised units, `unit` is that of the labels.
    """
    return {
        "losses": {name: nll for name, (nll, _, _, _) in measured.items()},
        "detail": {
            "metric_name": "RMSE",
            "metric": {name: unit * rmse for name, (_, rmse, _, _) in measured.items()},
            "coverage90": {name: share for name, (_, _, share, _) in measured.items()},
            "mean_sigma": {name: unit * sigma for name, (_, _, _, sigma) in measured.items()},
        },
    }
