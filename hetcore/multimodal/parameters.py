"""What the parameters of the two learners and of BFV+DNN may be, where both have them."""

from __future__ import annotations

from typing import Any

from hetcore.checks import whole
from hetcore.parameters import Domain

__all__ = ["HIDDEN", "LEARNERS", "SOURCE", "at_least_one"]

LEARNERS = ("tree", "network", "cnn")


def at_least_one(value: Any) -> bool:
    """Return whether a value is a whole number of at least 1."""
    return whole(value) and value >= 1


HIDDEN = Domain(lambda v: len(v) > 0 and all(at_least_one(each) for each in v), "whole numbers, such as (100, 50)")
SOURCE = Domain(lambda v: v is None or isinstance(v, str), "the name of a source, or None")
