"""By how much the consensus is stretched before views are pulled to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.outputs import Outputs

__all__ = ["stretch_of"]

MOST_STRETCH = 3.0


def stretch_of(outputs: Outputs, left_out: NDArray, codes: NDArray, predicted: NDArray) -> float:
    """Return by how much E of the pulled rows is to be stretched so that it is of the labels' size.

    Learners that are not done, or are held back by a penalty, say too little; pulled to that they would say less. The
    slope is that of the labels on the out-of-fold scores, less its standard error. Members say as much of a pulled row
    as of a labelled one that they have not seen; where they say more, the pull feeds on itself, and E is stretched by
    less.

    Parameters
    ----------
    outputs : Outputs
    left_out, codes : (l, k) float64
        Out-of-fold scores and targets of the labelled rows.
    predicted : (F, u, k) float64
        E of the pulled rows by fold.
    """
    change = left_out - outputs.prior
    fitted = outputs.fitted(left_out)
    # no change at all: nothing to stretch by
    curved = max(float((outputs.curvature(fitted) * change**2).sum()), 1e-12)
    # a Newton step less one standard error, so that a few labels do not stretch by chance
    step = float(((codes - fitted) * change).sum()) / curved - 1.0 / np.sqrt(curved)
    ratio = np.sqrt((change**2).mean() / max(float(((predicted - outputs.prior) ** 2).mean()), 1e-300))
    # never shrunk, for E of members is smaller than the labels; and not more than pulled rows bear
    return float(max(1.0, min(1.0 + step, MOST_STRETCH) * min(1.0, ratio)))
