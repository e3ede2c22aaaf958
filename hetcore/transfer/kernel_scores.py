"""Scores that are sums of kernels over training rows: what remains of an SVM, an LS-SVM, Multi-KT and their blends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.parameters import Interval, OneOf, param
from hetcore.schema import Part, Stored, array, value
from hetcore.transfer.estimator import TransferEstimator, TransferProblem

__all__ = ["KernelEstimator", "KernelScores", "kernel_matrix", "kernel_width"]

LARGEST = 1e30  # of a cell; a kernel is a sum of its squares
BLOCK = 4096  # rows of a kernel matrix at once
KERNELS = ("linear", "rbf")


def kernel_width(X: NDArray, gamma: float | str) -> float:
    """Return gamma of exp(-gamma |a - b|^2): "scale" is 1 / (columns * variance of all cells), as scikit-learn's."""
    if not isinstance(gamma, str):
        return float(gamma)
    spread = X.var()
    # a table that does not vary has no width: any will do
    return float(1.0 / (X.shape[1] * spread)) if spread > 0 else 1.0


def kernel_matrix(A: NDArray, B: NDArray, kernel: str, gamma: float) -> NDArray[np.float64]:
    """Return the kernel of each row of A (m, d) with each of B (n, d): a.b, or exp(-gamma |a - b|^2), (m, n)."""
    products = A @ B.T
    if kernel == "linear":
        return products
    distances = (A**2).sum(axis=1)[:, None] - 2.0 * products + (B**2).sum(axis=1)
    # rounding can leave a distance a little below 0
    return np.exp(-gamma * np.maximum(distances, 0.0))


@dataclass(frozen=True)
class KernelScores(Stored):
    """f(x) = sum_i dual_i k(x, point_i) + intercept.

    Attributes
    ----------
    points : (m, d) float64
    dual : (m, K) float64
    intercept : (K,) float64
    kernel : {"linear", "rbf"}
    gamma : float
    """

    points: NDArray = array("m d")
    dual: NDArray = array("m K")
    intercept: NDArray = array("K")
    kernel: str = value(OneOf(*KERNELS))
    gamma: float = value(Interval(0, ends="()"))

    @classmethod
    def used(cls, points: NDArray, dual: NDArray, intercept: NDArray, kernel: str, gamma: float) -> KernelScores:
        """Return the scores with the points that have a part in them."""
        # points without a part in the answer need not be kept
        has_part = (dual != 0).any(axis=1)
        return cls(points[has_part], dual[has_part], intercept, kernel, gamma)

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return f (n, K) for X (n, d)."""
        out = np.empty((len(X), len(self.intercept)))
        # in blocks: the whole matrix of rows and points would not fit for large tables
        for start in range(0, len(X), BLOCK):
            rows = X[start : start + BLOCK]
            kernel = kernel_matrix(rows, self.points, self.kernel, self.gamma)
            out[start : start + BLOCK] = kernel @ self.dual + self.intercept
        return out


class KernelEstimator(TransferEstimator):
    """Base of the transfer classifiers whose model is a `KernelScores`, `_model`."""

    _grows_trees = False

    _stored = TransferEstimator._stored | {"_model": Part(KernelScores, "d K", key="model")}

    kernel: str = param("linear", OneOf(*KERNELS), "a.b, or exp(-gamma |a - b|^2).")
    gamma: float | str = param(
        "scale", Interval(0, ends="()").or_text("scale"), 'Of the RBF kernel; "scale" is 1 / (columns * variance).'
    )
    C: float = param(1.0, Interval(0, ends="()"), "Cost of errors.")

    def _check_cells(self, X: NDArray) -> None:
        super()._check_cells(X)
        # beside a missing cell a largest one would be none
        column = np.abs(np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)).max(axis=0)
        if column.max() > LARGEST:
            k = int(column.argmax())
            raise DataError(
                f"Column {k} of X has {column[k]:.3g}, and a kernel of numbers beyond {LARGEST:g} overflows: "
                "standardise the columns."
            )

    def _scored_view(self, problem: TransferProblem, model: KernelScores) -> dict[str, Any]:
        """Return losses and metric of a model for the target's rows and for the held-out rows."""
        held_out = None if problem.held_out is None else model.scores(self._seen(problem.held_out.X))
        return self._measured(problem, model.scores(self._seen(problem.X[problem.target])), held_out)

    def _seen(self, X: NDArray) -> NDArray[np.float64]:
        """Return X as the model takes it."""
        return X

    def _scores(self, X: NDArray) -> NDArray[np.float64]:
        return self._model.scores(self._seen(X))
