"""What the parameters of the two learners and of BFV+DNN may be, and which of them the paper's steps have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hetcore.checks import whole
from hetcore.parameters import Domain, param
from hetcore.schema import TEXTS, Value

__all__ = ["AFTER", "CLASS_NAMES", "DEVICE", "HIDDEN", "LEARNERS", "PRINTED", "SOURCE", "as_printed"]

LEARNERS = ("tree", "linear", "network", "random_features", "cnn")
HIDDEN = Domain(lambda v: len(v) > 0 and all(whole(n) and n >= 1 for n in v), "whole numbers, such as (100, 50)")
AFTER = Domain(lambda v: all(whole(n) and n >= 1 for n in v), "whole numbers, such as (32,), or ()")
SOURCE = Domain(lambda v: v is None or isinstance(v, str), "the name of a source, or None")
DEVICE = param(
    "cpu",
    Domain(lambda v: isinstance(v, str), "the name of a device of PyTorch, such as 'cpu' or 'cuda'"),
    'Where PyTorch\'s networks train and predict: "cpu", on one thread, or a device that it sees, such as "cuda". '
    'Each rounds in its own way; a model read from a file predicts on "cpu".',
)
CLASS_NAMES = Value(
    Domain(lambda v: v in TEXTS and len(v) > 1, "two class names or more"), lambda v: np.array(v, object), list
)
PRINTED = {
    "learning_rate": 1.0, "subsample": 1.0, "first_scores": "zero", "hessian": "printed", "kept_step": "fitted",
    "scale_targets": False, "validation_fraction": 0.0, "min_samples_leaf": 1,
    "refit": False,
}  # fmt: skip
"""What Algorithms 1 and 2 do where the default does otherwise: each is a parameter, a help that can be had alone."""


def as_printed(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the paper's steps: `PRINTED`, and Bayesian optimisation in Newton's place."""
    # Newton's exact steps are ours: the paper searches
    step = "bayes" if params["step"] == "newton" else params["step"]
    return {**params, **PRINTED, "step": step}
