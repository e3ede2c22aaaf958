"""Student's t of the rows that a model has not seen: rows far out are commoner than a normal density has them.

Mean and deviation stay the model's. Degrees of freedom nu and one factor c of the deviation are those of greatest
likelihood on z = residual / deviation of left-out rows,

    y = mean + c deviation t,    t of Student's t with nu degrees of freedom.

Reference: K. L. Lange, R. J. A. Little, J. M. G. Taylor, "Robust statistical modeling using the t distribution",
Journal of the American Statistical Association 84, 1989, pages 881-896.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

__all__ = ["log_density", "tails"]

DEGREES = (2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 1000.0)  # that are tried; the last is all but normal
LARGEST_FACTOR = 3.0  # of the logarithm of the deviation


def tails(z: NDArray) -> tuple[float, float]:
    """Return the degrees of freedom and the factor of the deviation of greatest likelihood of z (n,) or of its size."""

    def best_factor(degrees: float) -> tuple[float, float, float]:
        def loss(log_factor: float) -> float:
            return -float(stats.t.logpdf(z, degrees, scale=np.exp(log_factor)).sum())

        found = optimize.minimize_scalar(loss, bounds=(-LARGEST_FACTOR, LARGEST_FACTOR), method="bounded")
        return float(found.fun), degrees, float(np.exp(found.x))

    return min(map(best_factor, DEGREES))[1:]


def log_density(y: NDArray, mean: NDArray, deviation: NDArray, z: NDArray | None = None) -> NDArray[np.float64]:
    """Return the log density (n,) of labels y (n,), in 1 / their unit.

    Parameters
    ----------
    y, mean, deviation : (n,) float64
        Deviations above 0.
    z : (m,) float64, optional
        Of left-out rows, or its size: the density is Student's t by them; without any it is normal.
    """
    if z is None or not z.size:
        return stats.norm.logpdf(y, mean, deviation)
    degrees, factor = tails(z)
    return stats.t.logpdf(y, degrees, loc=mean, scale=factor * deviation)
