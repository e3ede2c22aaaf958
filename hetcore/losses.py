r"""Losses of a raw score f against a label y: value, gradient and hessian by f, elementwise.

| loss | domain of y | L(f, y) | dL/df | d2L/df2 |
|---|---|---|---|---|
| `HalfSquared` | real | (f - y)^2 / 2 | f - y | 1 |
| `Logistic` | real; +1 and -1 for labels | log(1 + exp(-y f)) | -y s(-y f) | y^2 s(y f) s(-y f) |
| `Softmax` | (n, K) rows on the simplex | log sum_k exp f_k - y . f | p - y | p (1 - p), the diagonal |

with s the logistic function and p = softmax(f). `Logistic` takes a real y because the GBC paper's pull is L(f, E) with
a real consensus E; that is unbounded in f, which is what `Softmax` with a soft target y mends. Nothing overflows for
any finite score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.numerics import log_sum_exp, softmax

__all__ = ["HalfSquared", "Logistic", "Softmax"]


class HalfSquared:
    """Half the squared error, for numbers and for class codes."""

    def value(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the loss, the shape of f."""
        return 0.5 * (f - y) ** 2

    def gradient(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the first derivative by f."""
        return f - y

    def hessian(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the second derivative by f."""
        return np.ones(np.broadcast_shapes(np.shape(f), np.shape(y)))


class Logistic:
    """The logistic loss of the margin y f."""

    def value(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the loss, the shape of f."""
        margin = y * f
        return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))

    def gradient(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the first derivative by f."""
        margin = y * f
        small = np.exp(-np.abs(margin))  # numpy's exp takes a quarter of scipy's expit and a tenth of logaddexp
        return -y * np.where(margin > 0, small, 1.0) / (1.0 + small)

    def hessian(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the second derivative by f."""
        small = np.exp(-np.abs(y * f))
        return y**2 * (small / (1.0 + small) ** 2)


class Softmax:
    """Cross-entropy of softmax scores (n, K) against class shares (n, K); the value is (n,)."""

    def value(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the loss of each row, (n,)."""
        return log_sum_exp(f, axis=-1) - (y * f).sum(axis=-1)

    def gradient(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the first derivatives, (n, K)."""
        return softmax(f) - y

    def hessian(self, f: NDArray, y: NDArray) -> NDArray:
        """Return the diagonal of the second derivatives, (n, K)."""
        p = softmax(f)
        return p * (1.0 - p)
