"""What the parameters of the two learners and of BFV+DNN must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hetcore.methods.base import Rule
from hetcore.methods.two_learner_step import STEPS

__all__ = ["LEARNERS", "RULES", "WHOLE", "at_least_one", "is_whole", "one_of"]

LEARNERS = ("tree", "network", "cnn")


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def at_least_one(value: Any) -> bool:
    """Return whether a value is a whole number of at least 1."""
    return is_whole(value) and value >= 1


def one_of(name: str, among: Sequence[str]) -> Rule:
    """Return the rule that a parameter is one of some words."""
    return name, lambda value: value in among, f"one of {', '.join(map(repr, among))}"


WHOLE = "a whole number, at least 1"
RULES = (
    ("order", lambda v: is_whole(v) and v in (1, 2), "1 (2WL) or 2 (2WL2O)"),
    ("step", lambda v: v in STEPS, f"one of {', '.join(map(repr, STEPS))}"),
    ("hessian", lambda v: v in ("printed", "exact"), "'printed' or 'exact'"),
    ("n_iterations", at_least_one, WHOLE),
    ("inner_iterations", at_least_one, WHOLE),
    ("learners", lambda v: v is None or isinstance(v, Mapping), "a dict of source to learner, or None"),
    ("learning_rate", lambda v: _is_number(v) and 0 < v <= 1, "in (0, 1]: 1 takes every step whole"),
    ("subsample", lambda v: _is_number(v) and 0 < v <= 1, "in (0, 1]: below 1, the rows left out choose the steps"),
    ("max_depth", lambda v: is_whole(v) and (v >= 1 or v == -1), "a whole number, at least 1, or -1 for no limit"),
    ("min_samples_leaf", at_least_one, WHOLE),
    ("hidden", lambda v: len(v) > 0 and all(at_least_one(each) for each in v), "whole numbers, such as (100, 50)"),
    ("epochs", at_least_one, WHOLE),
    ("random_state", lambda v: v is None or (is_whole(v) and v >= 0), "a whole number, at least 0, or None"),
)
