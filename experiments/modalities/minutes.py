"""The protocol of the two-learner paper's Figures 3 to 5: held-out macro F1 after some minutes of the processor.

Key of a cell: data, method, minutes, run (seed); see `experiments.modalities.two_learner`. The fits of a run are kept
in memory, so that its cells cost one fit a method.
"""

from __future__ import annotations

from typing import Any

from experiments.modalities.two_learner import METHODS, after

__all__ = ["METHODS", "run_cell"]


def run_cell(data: str, method: str, minutes: float, run: int) -> dict[str, Any]:
    """Return what the round is worth that validation chooses among those that had ended, NaN if none had."""
    return after(minutes, data, method, run)
