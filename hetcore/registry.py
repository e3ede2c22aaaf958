"""The methods by name. A method's own room says where it is; its class says what it needs.

A room's `__init__.py` names its methods, `METHODS = {"GBCRegressor": "gbc"}`, and imports none of them. The class is
written below `@estimator(MemoryNeed(...))`. Lazy import, model files, memory estimates and contract tests start here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, TypeVar

__all__ = ["METHODS", "MemoryNeed", "estimator", "find"]

ROOMS = ("collective", "consensus", "factorization", "heteroscedastic", "multimodal", "transfer")
METHODS: dict[str, str] = {
    # names alone: importing the rooms' modules would compile and load what nobody asked for
    name: f"hetcore.{room}.{module}"
    for room in ROOMS
    for name, module in import_module(f"hetcore.{room}").METHODS.items()
}
"""Name -> module of every method; what `estimator` decorates elsewhere is added when its module is imported."""
Class = TypeVar("Class", bound=type)


class MemoryNeed(NamedTuple):
    """Bytes that a training takes: of each cell, record, score (rows x outputs), link, and pair of rows.

    `python -m benchmarks.speed.memory` prints estimate and truth.
    """

    cell: float
    record: float = 0.0
    score: float = 0.0
    link: float = 0.0
    pair: float = 0.0


def estimator(memory: MemoryNeed) -> Callable[[Class], Class]:
    """Return a class decorator that registers a method.

    Parameters
    ----------
    memory : MemoryNeed
        What a training of it takes.
    """

    def registered(cls: Class) -> Class:
        # a method outside of the rooms, such as a test's, is known from its import on
        METHODS.setdefault(cls.__name__, cls.__module__)
        cls._memory = memory
        return cls

    return registered


def find(name: str) -> type:
    """Return the class of a method; KeyError for a name that is none's."""
    return getattr(import_module(METHODS[name]), name)
