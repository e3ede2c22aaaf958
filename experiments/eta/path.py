"""The held-out error of the weighted method at fixed values of eta, without its guard, and of its own choice of eta.

Key of a cell: data (a key of `experiments.eta.domains.SETS`), labels (of the target), method (a value of eta, or
"auto": the default, guard and all), seed (of the draw).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import hetcore as hc
from experiments.eta.domains import drawn
from experiments.transfer import Run

__all__ = ["AUTO", "METHODS", "run_cell"]

AUTO = "auto"
METHODS = ("0", "0.03", "0.1", "0.5", "2", "10", AUTO)
cached = lru_cache(maxsize=2)(drawn)


def run_cell(data: str, labels: int, method: str, seed: int) -> dict[str, Any]:
    """Return the "error" on the target's other rows, and of "auto" the "eta" and what was "chosen"."""
    return found(cached(data, labels, seed), method)


def found(given: Run, method: str) -> dict[str, Any]:
    """Fit to a draw, and return what a cell comes to."""
    auto = method == AUTO
    model = hc.WeightedMultiSourceTrAdaBoostClassifier(eta=AUTO if auto else float(method), guard=auto)
    model.fit(given.X, given.y, given.sample_domain)
    error = float((model.predict(given.X_test) != given.y_test).mean())
    return {"error": error, "eta": model.eta_, "chosen": model.chosen_, "learner": model.learner_}
