"""What the parameters of the two learners and of BFV+DNN must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetcore.checks import finite, whole
from hetcore.multimodal.line_search import STEPS

__all__ = ["LEARNERS", "RULES", "WHOLE", "at_least_one"]

LEARNERS = ("tree", "network", "cnn")


def at_least_one(value: Any) -> bool:
    """Return whether a value is a whole number of at least 1."""
    return whole(value) and value >= 1


WHOLE = "a whole number, at least 1"
RULES = (
    ("order", lambda v: whole(v) and v in (1, 2), "1 (2WL) or 2 (2WL2O)"),
    ("step", lambda v: v in STEPS, f"one of {', '.join(map(repr, STEPS))}"),
    ("hessian", lambda v: v in ("printed", "exact"), "'printed' or 'exact'"),
    ("n_iterations", at_least_one, WHOLE),
    ("inner_iterations", at_least_one, WHOLE),
    ("learners", lambda v: v is None or isinstance(v, Mapping), "a dict of source to learner, or None"),
    ("learning_rate", lambda v: finite(v) and 0 < v <= 1, "in (0, 1]: 1 takes every step whole"),
    ("subsample", lambda v: finite(v) and 0 < v <= 1, "in (0, 1]: below 1, the rows left out choose the steps"),
    ("max_depth", lambda v: whole(v) and (v >= 1 or v == -1), "a whole number, at least 1, or -1 for no limit"),
    ("min_samples_leaf", at_least_one, WHOLE),
    ("hidden", lambda v: len(v) > 0 and all(at_least_one(each) for each in v), "whole numbers, such as (100, 50)"),
    ("epochs", at_least_one, WHOLE),
    ("random_state", lambda v: v is None or (whole(v) and v >= 0), "a whole number, at least 0, or None"),
)
