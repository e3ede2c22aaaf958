"""What one would use on a sensor tensor instead: Tucker decomposition, the nearest sensors, inverse distances.

Entries are (sensor, time, quantity) codes with a value, as for `HTF`; most cells of the tensor are not observed. Tucker
is tensorly's, an optional package: missing cells are filled with the last fit in each of its iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hetcore.base import RegressorScore
from hetcore.checks import whole
from hetcore.errors import ParameterError
from hetcore.factorization.codes import CodeBook, as_codes
from hetcore.factorization.estimator import entries_of
from hetcore.factorization.sgd import Entries
from hetcore.parameters import REQUIRED, Declared, Domain, Interval, Whole, param

__all__ = ["InverseDistance", "NearestSensors", "Tucker"]

RANKS = Domain(
    lambda v: len(v) == 3 and all(whole(each) and each >= 1 for each in v), "three whole numbers, each at least 1"
)
PLACES = Domain(lambda v: isinstance(v, Mapping), "a mapping of sensor codes to coordinates")


class _DenseRegressor(RegressorScore, Declared, BaseEstimator):
    """Fits a whole tensor from its observed cells and looks predictions up."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Fit to the observed entries.

        Parameters
        ----------
        X : (n, 3) array-like of int or str
            Codes, a column per mode.
        y : (n,) array-like of float

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If X has another shape, a code is missing, or a value is no finite number.
        """
        self._check_parameters()
        entries, book = entries_of(X, y, 3, None)
        self._book, self.n_features_in_ = book, 3
        tensor = np.full([codes.size for codes in book.codes], np.nan)
        tensor[tuple((entries.rows - book.offsets[:-1]).T)] = entries.values
        self._mean = float(entries.values.mean())
        self.tensor_ = self._filled(tensor, entries, book)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict entries; one with an unseen code gets the mean.

        Parameters
        ----------
        X : (n, 3) array-like of int or str

        Returns
        -------
        (n,) float64
        """
        check_is_fitted(self)
        rows = self._book.rows(as_codes(X, 3))
        known = (rows < self._book.n_rows).all(axis=1)
        out = np.full(len(rows), self._mean)
        out[known] = self.tensor_[tuple((rows[known] - self._book.offsets[:-1]).T)]
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tensor_")


class Tucker(_DenseRegressor):
    """Tucker decomposition of what the partially observed tensor is beside each sensor's means, by tensorly."""

    ranks: Sequence[int] = param((5, 5, 2), RANKS, "Of the core, per mode; a mode with fewer codes has their number.")
    n_iterations: int = param(100, Whole(1), "Of filling and fitting again.")

    def _filled(self, tensor: NDArray[np.float64], entries: Entries, book: CodeBook) -> NDArray[np.float64]:
        tucker, rebuilt = _tensorly()
        ranks = [min(rank, size, tensor.size // size) for rank, size in zip(self.ranks, tensor.shape)]
        mask, start = ~np.isnan(tensor), own_means(tensor)
        centred = np.where(mask, tensor - start, 0.0)
        if not centred.any():
            return start
        fit = tucker(centred, ranks, n_iter_max=self.n_iterations, init="svd", mask=mask, tol=1e-6)
        return start + rebuilt(fit)


def _tensorly() -> tuple[Any, Any]:
    try:
        from tensorly import tucker_to_tensor
        from tensorly.decomposition import tucker
    except ImportError:
        raise ParameterError("Tucker needs the package tensorly: install it with `pip install tensorly`.") from None
    return tucker, tucker_to_tensor


def own_means(tensor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each cell the mean of what its sensor showed of its quantity, else the quantity's mean, else of all.

    Parameters
    ----------
    tensor : (sensors, times, quantities) float64
        NaN where not observed; some cell was.
    """
    out = np.full(tensor.shape, np.nanmean(tensor))
    for axes in ((0, 1), (1,)):
        seen = (~np.isnan(tensor)).sum(axis=axes, keepdims=True)
        total = np.where(np.isnan(tensor), 0.0, tensor).sum(axis=axes, keepdims=True)
        out = np.where(seen > 0, total / np.maximum(seen, 1), out)
    return out


class _Spatial(_DenseRegressor):
    """What looks at a sensor's neighbours in space."""

    positions: Mapping[Any, Sequence[float]] = param(REQUIRED, PLACES, "Sensor code to its coordinates, in any unit.")

    def _filled(self, tensor: NDArray[np.float64], entries: Entries, book: CodeBook) -> NDArray[np.float64]:
        """Return the weighted mean of other sensors at the same time, else its own mean."""
        columns = tensor.reshape(len(tensor), -1)
        means = np.stack([self._mean_of(distances, columns, s) for s, distances in enumerate(self._distances(book))])
        return np.where(np.isnan(means), own_means(tensor).reshape(columns.shape), means).reshape(tensor.shape)

    def _distances(self, book: CodeBook) -> NDArray[np.float64]:
        sensors = book.codes[0].tolist()
        missing = [sensor for sensor in sensors if sensor not in self.positions]
        if missing:
            raise ParameterError(f"positions has no place of the sensor {missing[0]!r}: give one for each sensor.")
        places = np.array([self.positions[sensor] for sensor in sensors], np.float64)
        return np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))


class NearestSensors(_Spatial):
    """Spatial kNN: the mean of the k nearest other sensors that were observed at the same time."""

    n_neighbors: int = param(5, Whole(1), "k.")

    def _mean_of(self, distances: NDArray, columns: NDArray, sensor: int) -> NDArray[np.float64]:
        order = np.argsort(distances, kind="stable")
        others = columns[order[order != sensor]]
        seen = ~np.isnan(others)
        chosen = seen & (np.cumsum(seen, axis=0) <= self.n_neighbors)
        count = chosen.sum(axis=0)
        total = np.where(chosen, others, 0.0).sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


class InverseDistance(_Spatial):
    """IDW: the mean of all other sensors observed at the same time, weighted by distance to a negative power."""

    power: float = param(2.0, Interval(0, cure="2 is usual"), "The power.")

    def _mean_of(self, distances: NDArray, columns: NDArray, sensor: int) -> NDArray[np.float64]:
        others = np.maximum(np.delete(distances, sensor), 1e-9)
        weights = np.insert((others / others.min(initial=np.inf)) ** -self.power, sensor, 0.0)
        seen = ~np.isnan(columns)
        total = weights @ seen
        return np.where(total > 0, weights @ np.where(seen, columns, 0.0) / np.maximum(total, 1e-300), np.nan)
