"""Whether two models err differently on the same held-out instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from hetcore.numerics import standard_error

__all__ = ["STANDARD_ERRORS", "Paired", "against", "held_losses", "paired"]

STANDARD_ERRORS = 2.0
"""A difference is seen beyond this many."""


class Paired(NamedTuple):
    """A paired difference of mean losses.

    Attributes
    ----------
    difference, standard_error : float
        Ours - theirs, in the losses' unit; NaN where there is nothing to pair.
    """

    difference: float = float("nan")
    standard_error: float = float("nan")

    @property
    def less(self) -> bool | None:
        """Whether ours errs less, beyond two standard errors; None where that can't be seen."""
        # Not `<=`: an error of NaN must count as nothing seen.
        if not abs(self.difference) > STANDARD_ERRORS * self.standard_error:
            return None
        return self.difference < 0


def paired(ours: ArrayLike, theirs: ArrayLike) -> Paired:
    """Return the difference of losses (n,) of the same instances."""
    gaps = np.asarray(ours, float) - np.asarray(theirs, float)
    return Paired(float(gaps.mean()), float(standard_error(gaps))) if gaps.size else Paired()


def held_losses(predictions: pl.DataFrame | None) -> NDArray[np.float64] | None:
    """Return the loss of each instance whose label was hidden: squared error, or 1 where the class is wrong.

    None where no label was hidden.
    """
    if predictions is None or "held_out" not in predictions:
        return None
    rows = predictions.drop_nulls("held_out")
    if not rows.height:
        return None
    if rows["held_out"].dtype.is_numeric():
        return ((rows["prediction"] - rows["held_out"]) ** 2).to_numpy().astype(float)
    return (rows["prediction"] != rows["held_out"]).to_numpy().astype(float)


def against(results: Mapping[str, Any], base: str) -> dict[str, Paired]:
    """Return by label how each result's held-out losses differ from those of the one called `base`.

    Labels whose predictions are not there, or are of other instances, are left out.
    """
    losses = {label: held_losses(getattr(result, "predictions", None)) for label, result in results.items()}
    theirs = losses.pop(base, None)
    return {
        label: paired(ours, theirs)
        # Another number of rows means other rows, and no pairs.
        for label, ours in losses.items() if ours is not None and theirs is not None and ours.size == theirs.size
    }  # fmt: skip
