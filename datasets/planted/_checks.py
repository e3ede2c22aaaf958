"""Checks of what the makers of planted data are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hetcore.data.columns import finite, whole
from hetcore.data.noise import check_seed
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = ["check_counts", "check_least", "check_seed", "check_shares", "check_words", "numbers_each"]


def check_counts(**given: tuple[Any, int]) -> None:
    """Raise ParameterError unless each value is a whole number of at least its bound."""
    for name, (value, least) in given.items():
        if not (whole(value) and value >= least):
            raise ParameterError(f"{name}={shown(value)} must be at least {least}, a whole number: give such a one.")


def check_least(**given: tuple[Any, float]) -> None:
    """Raise ParameterError unless each value is a finite number of at least its bound."""
    for name, (value, least) in given.items():
        if not (finite(value) and value >= least):
            raise ParameterError(f"{name}={shown(value)} must be at least {least}, a finite number: give such a one.")


def check_shares(**shares: Any) -> None:
    """Raise ParameterError unless each value is a share."""
    for name, share in shares.items():
        if not (finite(share) and 0.0 <= share <= 1.0):
            raise ParameterError(f"{name}={shown(share)} must be a share in [0, 1]: give 0 for none and 1 for all.")


def check_words(**given: tuple[Any, Sequence[str]]) -> None:
    """Raise ParameterError unless each value is one of some texts."""
    for name, (value, known) in given.items():
        if not (isinstance(value, str) and value in known):
            raise ParameterError(f"{name}={shown(value)} is not known: give {' or '.join(map(repr, known))}.")


def numbers_each(name: str, given: Any, count: int, low: float, high: float) -> list[float]:
    """Return a number for each of `count`, from one for all or one each; raise ParameterError for others."""
    try:
        values = [given] * count if np.ndim(given) == 0 and not hasattr(given, "__next__") else list(given)
    except (TypeError, ValueError):
        values = []
    if len(values) != count or not all(finite(value) and low <= value <= high for value in values):
        bounds = f"at least {low:g}" if np.isinf(high) else f"in [{low:g}, {high:g}]"
        raise ParameterError(f"{name}={shown(given)} must be finite numbers {bounds}: give one for all, or {count}.")
    return [float(value) for value in values]
