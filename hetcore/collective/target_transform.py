"""The unit in which a collective model learns: the target itself, or its logarithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.errors import DataError
from hetcore.metrics import known_targets

__all__ = ["TargetTransform"]


@dataclass
class TargetTransform:
    """How targets become what is learned, and back.

    Attributes
    ----------
    log : bool
        Whether logarithms are learned.
    smearing_factor : float
        What exponentials are multiplied by, so that they hit the mean (Duan's smearing); 1 without logarithms.
    """

    log: bool
    smearing_factor: float = 1.0

    def learned(self, data: HetData, y: Any, what: str) -> Any:
        """Return targets (n,) as they are learned; `y` as it is where nothing is to be done.

        Raises
        ------
        DataError
            If a target is not above 0 and logarithms are to be learned.
        """
        if not self.log or y is None:
            return y
        values = np.asarray(data.with_target(y, "regression").y, np.float64)
        known = known_targets(values)
        if (values[known] <= 0).any():
            least = values[known].min()
            raise DataError(
                f'{what} has {least:g}, but target_transform="log" needs numbers above 0: use None instead.'
            )
        return np.log(values, where=known, out=np.full(values.shape, np.nan))

    def back(self, values: NDArray) -> NDArray:
        """Return predictions in the target's own unit; class names as they are."""
        return np.exp(np.minimum(values, 700.0)) * self.smearing_factor if self.log else values

    def fit(self, target: NDArray, out_of_fold: NDArray) -> None:
        """Choose the smearing factor from targets and out-of-fold predictions (m,), both as learned."""
        if self.log:
            top = max(target.max(), out_of_fold.max())
            self.smearing_factor = float(np.exp(target - top).sum() / np.exp(out_of_fold - top).sum())
