r"""Factorization of ratings and of sensor tensors, with a learned deviation for every entry: MF, HMF, PTF, HTF.

A rating of item j by user i is  y_ij = f_ij + sigma_ij * noise:

    f_ij = mu + b_i + c_j + U_i . V_j                 (11), and for three modes  mu + b_i + c_j + d_k + sum_d U V W
    sigma_ij^2 = P_i . Q_j + Delta,  P, Q >= 0        (14), and for three modes  sum_d P Q R + Delta
    minimise  sum (y - f)^2 / (2 sigma^2) + ln(sigma^2) / 2 + lambda/2 |U, V, b|^2 + lambda' sum(P, Q)      (16)

`MatrixFactorization` and `TensorFactorization` are the same kernel with sigma = 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from hetcore.events import Callback

__all__ = ["HMF", "HTF", "MatrixFactorization", "TensorFactorization"]


class _Factorization(RegressorMixin, BaseEstimator):
    def fit(
        self, X: ArrayLike, y: ArrayLike, *, callbacks: Iterable[Callback] = (), eval_set: tuple | None = None
    ) -> Any:
        """Fit to the entries that were observed.

        Parameters
        ----------
        X : (n, 2) or (n, 3) array-like of int or str
            Codes, a column per mode: user and item, or three.
        y : (n,) array-like of float
            Values, such as ratings.
        callbacks : iterable of callable, default=()
            Each is called after every epoch with a `RoundEnd` and may return True to stop.
        eval_set : (X, y), optional
            Entries to score each epoch by ("held_out"), never trained on.

        Returns
        -------
        self

        Notes
        -----
        A `RoundEnd` has losses "train", "left_out" (the validation part, when there is one) and "held_out" (the
        eval_set): mean negative log-likelihood per entry where a deviation is learned, half the mean squared error
        where not. Its detail: "metric_name" = "RMSE"; "metric" = {"train", "left_out", "held_out"}; "sigma" =
        {"mean", "min", "max"} over the training entries, in the unit of y.
        """
        raise NotImplementedError

    def predict(self, X: ArrayLike, return_std: bool = False) -> NDArray | tuple[NDArray, NDArray]:
        """Predict entries; unseen codes get what is known of the others.

        Parameters
        ----------
        X : (n, 2) or (n, 3) array-like of int or str
        return_std : bool, default=False

        Returns
        -------
        y : (n,) float64
        std : (n,) float64
            Only with `return_std`: the standard deviation of the entry's noise, in the unit of y.
        """
        raise NotImplementedError

    def deviation_by(self, mode: int) -> dict[Any, float]:
        """Return the mean deviation sigma of the training entries of each code of a mode (0 users, 1 items, ...).

        Parameters
        ----------
        mode : int

        Returns
        -------
        dict
            Code -> mean sigma, in the unit of y, codes in order.
        """
        raise NotImplementedError


class MatrixFactorization(_Factorization):
    """Biased matrix factorization, every rating trusted alike."""

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 100, learning_rate: float = 0.05,
        regularisation: float = 0.1, validation_fraction: float = 0.1, patience: int = 5,
        as_printed: bool = False, random_state: int | None = None,
    ) -> None:  # fmt: skip
        self.n_factors, self.n_iterations, self.learning_rate = n_factors, n_iterations, learning_rate
        self.regularisation, self.validation_fraction, self.patience = regularisation, validation_fraction, patience
        self.as_printed, self.random_state = as_printed, random_state


class HMF(_Factorization):
    """Heteroscedastic matrix factorization: ratings are trusted by the deviation that is learned for them."""

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 100, learning_rate: float = 0.05,
        regularisation: float = 0.1, n_deviation_factors: int = 4, deviation_regularisation: float = 0.01,
        base_variance: float = 0.1, validation_fraction: float = 0.1, patience: int = 5,
        as_printed: bool = False, random_state: int | None = None,
    ) -> None:  # fmt: skip
        self.n_factors, self.n_iterations, self.learning_rate = n_factors, n_iterations, learning_rate
        self.regularisation, self.n_deviation_factors = regularisation, n_deviation_factors
        self.deviation_regularisation, self.base_variance = deviation_regularisation, base_variance
        self.validation_fraction, self.patience = validation_fraction, patience
        self.as_printed, self.random_state = as_printed, random_state


class TensorFactorization(MatrixFactorization):
    """PTF: three-mode PARAFAC with biases, every entry trusted alike. X has three columns."""


class HTF(HMF):
    """Heteroscedastic tensor factorization: `HMF` for three modes. X has three columns."""
