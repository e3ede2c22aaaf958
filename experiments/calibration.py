"""Calibration beside peers, by NLL and 90% intervals: the second protocol of `experiments.heteroscedastic`.

Key of a cell: data (a regression), method, split. The peers NGBoost and CatBoost must be installed for their cells.
"""

from __future__ import annotations

import warnings
from typing import Any

from experiments.heteroscedastic import PREDICTORS, calibration_cell

__all__ = ["METHODS", "run_cell"]

METHODS = tuple(PREDICTORS)


def run_cell(data: str, method: str, split: int) -> dict[str, Any]:
    """Fit on four fifths of the rows.

    Returns
    -------
    dict
        On the others: "nll", "coverage90" (share of labels within the 90% interval), "rmse"; "seconds" of the CPU.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        return calibration_cell(data, method, split)
