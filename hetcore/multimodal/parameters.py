"""What the parameters and the classes of the two learners and of BFV+DNN may be, where both have them."""

from __future__ import annotations

import numpy as np

from hetcore.checks import whole
from hetcore.parameters import Domain
from hetcore.schema import TEXTS, Value

__all__ = ["CLASS_NAMES", "HIDDEN", "LEARNERS", "SOURCE"]

LEARNERS = ("tree", "network", "cnn")
HIDDEN = Domain(lambda v: len(v) > 0 and all(whole(n) and n >= 1 for n in v), "whole numbers, such as (100, 50)")
SOURCE = Domain(lambda v: v is None or isinstance(v, str), "the name of a source, or None")
CLASS_NAMES = Value(
    Domain(lambda v: v in TEXTS and len(v) > 1, "two class names or more"), lambda v: np.array(v, object), list
)
