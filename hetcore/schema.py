"""What a model file must hold of a model: arrays by shape, type and range, plain values by domain; one loader for all.

    @dataclass(frozen=True)
    class Line(Stored):
        coef: NDArray = array("d K")
        spread: NDArray = array("d", low=0)
        width: float = value(Interval(0, ends="()"))

    meta, arrays = line.to_state()                   # {"width": 0.5}, {"coef": ..., "spread": ...}
    Line.from_state(meta, arrays, K=2)               # every shape, type, range and domain checked

A letter in a shape stands for one size throughout; sizes that are known before are given. All numbers are finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hetcore.data.text import quoted
from hetcore.errors import ModelFileError
from hetcore.parameters import Domain

__all__ = ["Array", "Schema", "Stored", "array", "block", "checked", "checked_value", "parted", "prefixed", "value"]

Sizes = dict[str, int]


@dataclass(frozen=True)
class Array:
    """What an array must be.

    Attributes
    ----------
    shape : str
        A letter for each axis, "m d"; "" is a number by itself.
    dtype : dtype
    low, high : float
        Between which all its numbers lie.
    """

    shape: str
    dtype: DTypeLike = np.float64
    low: float = -np.inf
    high: float = np.inf

    def read(self, arrays: Mapping[str, NDArray], name: str, sizes: Sizes | None = None) -> NDArray:
        """Return an array of a model file; its sizes join those known.

        Raises
        ------
        ModelFileError
            If it is not there, or is not what it must be.
        """
        found, sizes = arrays.get(name), {} if sizes is None else sizes
        if found is None or found.dtype != self.dtype or not self._fits(found.shape, sizes):
            kind = f"{np.dtype(self.dtype).name} of shape ({', '.join(self.shape.split())})"
            raise ModelFileError(f"The model file lacks {quoted(name)}, or it is no {kind} that fits: save it again.")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ModelFileError(f"The model file has values in {quoted(name)} that are not finite: save it again.")
        if found.dtype.names is None and found.size and not self.low <= found.min() <= found.max() <= self.high:
            span = f"{self.low:g} to {self.high:g}"
            raise ModelFileError(f"The model file has values in {quoted(name)} outside {span}: save it again.")
        return found

    def _fits(self, shape: tuple[int, ...], sizes: Sizes) -> bool:
        letters = self.shape.split()
        return len(shape) == len(letters) and all(
            sizes.setdefault(letter, size) == size for letter, size in zip(letters, shape)
        )


Schema = dict[str, Array | Domain]


def array(shape: str, dtype: DTypeLike = np.float64, low: float = -np.inf, high: float = np.inf) -> Any:
    """Declare a field of a `Stored` class that is an array; see `Array`."""
    return field(metadata={"stored": Array(shape, dtype, low, high)})


def value(domain: Domain) -> Any:
    """Declare a field of a `Stored` class that is a plain value of a domain."""
    return field(metadata={"stored": domain})


def checked_value(meta: Mapping[str, Any], name: str, domain: Domain) -> Any:
    """Return a plain value of a model file; ModelFileError unless it is in its domain."""
    if name not in meta or meta[name] not in domain:
        raise ModelFileError(f"{name}={meta.get(name)!r} of the model file must be {domain.words}: save it again.")
    return meta[name]


@dataclass(frozen=True)
class Stored:
    """Base of what is kept of a model: a frozen dataclass whose fields are declared by `array` and `value`."""

    @classmethod
    def _declared(cls) -> Schema:
        return {each.name: each.metadata["stored"] for each in fields(cls) if "stored" in each.metadata}

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return plain values and arrays that `from_state` takes."""
        return parted(self._declared(), {name: getattr(self, name) for name in self._declared()})

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], **sizes: int) -> Self:
        """Rebuild from what a file holds.

        Parameters
        ----------
        meta, arrays : mapping
        **sizes : int
            Sizes that are known, by letter.

        Raises
        ------
        ModelFileError
            If an array or a value is missing or is not what it is declared to be.
        """
        return cls(**checked(cls._declared(), meta, arrays, sizes))


def parted(declared: Schema, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the plain ones and the arrays among declared values."""
    meta = {name: values[name] for name, kind in declared.items() if not isinstance(kind, Array)}
    return meta, {name: values[name] for name, kind in declared.items() if isinstance(kind, Array)}


def checked(
    declared: Schema, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes | None = None
) -> dict[str, Any]:
    """Return declared values by name; ModelFileError if one is missing or is not what it is declared to be."""
    sizes = {} if sizes is None else sizes
    return {
        name: kind.read(arrays, name, sizes) if isinstance(kind, Array) else checked_value(meta, name, kind)
        for name, kind in declared.items()
    }


def prefixed(key: str, arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return arrays under names that begin with "key:"; `block` takes them apart again."""
    return {f"{key}:{name}": each for name, each in arrays.items()}


def block(arrays: Mapping[str, NDArray], key: str) -> dict[str, NDArray]:
    """Return the arrays whose names begin with "key:", without it."""
    return {name.removeprefix(f"{key}:"): each for name, each in arrays.items() if name.startswith(f"{key}:")}
