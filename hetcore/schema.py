"""What a model file must hold of a model: arrays by shape, type and range, plain values by domain; one loader for all.

    @dataclass(frozen=True)
    class Line(Stored):
        coef: NDArray = array("d K")
        spread: NDArray = array("d", low=0)
        width: float = value(Interval(0, ends="()"))

    @dataclass(frozen=True)
    class Lines(Stored):
        encoder: SourceEncoder = part(SourceEncoder, "d")     # arrays "encoder:...", plain values meta["encoder"]
        first: Line = part(Line, "d K")                       # of the encoder's d columns

    meta, arrays = line.to_state()                   # {"width": 0.5}, {"coef": ..., "spread": ...}
    Line.from_state(meta, arrays, K=2)               # every shape, type, range and domain checked

A letter in a shape stands for one size throughout; sizes that are known before are given. A part shares the letters
that are named with what holds it. All numbers are finite. What the fields of a class must be to each other is said by
its `_fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from hetcore.checks import finite
from hetcore.data.text import quoted
from hetcore.errors import ModelFileError, ParameterError
from hetcore.parameters import Domain

__all__ = [
    "IDS", "SHARES", "TEXTS", "Array", "ClassLabels", "Part", "Parts", "Schema", "State", "Stored", "Value", "agree",
    "array", "block", "checked", "declared", "part", "parted", "parts", "prefixed", "value",
]  # fmt: skip

KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}  # of class labels
Sizes = dict[str, int]
State = tuple[dict[str, Any], dict[str, NDArray]]


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
    key : str
        Its name in the file, where that is not the field's.
    optional : bool
        Whether it may be None, which a file does not hold.
    allows : str, such as "inf nan"
        Which numbers that are not finite may be in it; none unless said.
    """

    shape: str
    dtype: DTypeLike = np.float64
    low: float = -np.inf
    high: float = np.inf
    key: str = ""
    optional: bool = False
    allows: str = ""

    def put(self, name: str, given: NDArray | None, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add an array to what a file holds."""
        if given is not None:
            # C order, so that the same content gives the same bytes in a file
            arrays[self.key or name] = np.asarray(given, order="C")

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes) -> NDArray | None:
        """Return an array of a file."""
        if self.optional and (self.key or name) not in arrays:
            return None
        return self.read(arrays, self.key or name, sizes)

    def read(self, arrays: Mapping[str, NDArray], name: str, sizes: Sizes | None = None) -> NDArray:
        """Return an array of a model file, its sizes join those known; ModelFileError if it is not what it must be."""
        found, sizes = arrays.get(name), {} if sizes is None else sizes
        # the type must be the very one: a float32 read as float64 would predict other bits
        if found is None or found.dtype != self.dtype or not self._fits(found.shape, sizes):
            kind = f"{np.dtype(self.dtype).name} of shape ({', '.join(self.shape.split())})"
            raise ModelFileError(f"The model file lacks {quoted(name)}, or it is no {kind} that fits: save it again.")
        if found.dtype.kind == "f" and not self._plain(found).all():
            raise ModelFileError(f"The model file has values in {quoted(name)} that are not finite: save it again.")
        # records have no order; and a NaN that is allowed is in no range
        bounded = found.dtype.names is None and found.size and "nan" not in self.allows
        if bounded and not self.low <= found.min() <= found.max() <= self.high:
            span = f"{self.low:g} to {self.high:g}"
            raise ModelFileError(f"The model file has values in {quoted(name)} outside {span}: save it again.")
        return found

    def _plain(self, found: NDArray) -> NDArray[np.bool_]:
        """Return which numbers are finite, or of a kind that is allowed."""
        good = np.isfinite(found)
        good |= np.isinf(found) if "inf" in self.allows else False
        return good | np.isnan(found) if "nan" in self.allows else good

    def _fits(self, shape: tuple[int, ...], sizes: Sizes) -> bool:
        letters = self.shape.split()
        return len(shape) == len(letters) and all(
            # the first array with a letter sets its size, and all others must agree
            sizes.setdefault(letter, size) == size for letter, size in zip(letters, shape)
        )


@dataclass(frozen=True)
class Value:
    """A plain value of a domain; `make` builds what is kept from what JSON gives back, `plain` the other way.

    `absent` is taken for it in a file of an earlier version that lacks it.
    """

    domain: Domain
    make: Callable[[Any], Any] | None = None
    plain: Callable[[Any], Any] | None = None
    key: str = ""
    absent: Any = ...

    def put(self, name: str, given: Any, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add a value to what a file holds."""
        meta[self.key or name] = self.plain(given) if self.plain else given

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes) -> Any:
        """Return a value of a file; ModelFileError unless it is in its domain."""
        key = self.key or name
        # a value that came with a later version; a file that lacks it is not damaged
        if key not in meta and self.absent is not ...:
            return self.absent
        if key not in meta or meta[key] not in self.domain:
            found = f"{key}={meta.get(key)!r} of the model file"
            raise ModelFileError(f"{found} must be {self.domain.words}: save it again.")
        return self.make(meta[key]) if self.make else meta[key]


class ClassLabels:
    """Sorted labels of one kind, numbers or texts, with their dtype; two have one score, more one each."""

    def put(self, name: str, given: NDArray, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add labels to what a file holds; ParameterError if they are neither numbers nor texts."""
        kind, classes = given.dtype.kind, given.tolist()
        # labels of several kinds have no order, and JSON would change some
        if kind not in KINDS or not all(isinstance(each, KINDS[kind]) for each in classes):
            raise ParameterError("Classes that are neither numbers nor texts can't be saved: give labels of one kind.")
        meta |= {"classes": classes, "dtype": given.dtype.str if kind != "O" else "O"}

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> NDArray:
        """Return the labels of a file."""
        classes = meta["classes"]
        # files of HGBM had no dtype before
        dtype = np.dtype(meta["dtype"]) if "dtype" in meta else _plain_dtype(classes)
        kind = KINDS.get(dtype.kind)
        if kind is None or len(classes) < 2 or not all(isinstance(each, kind) for each in classes):
            raise ModelFileError("The classes of the model file are not labels of one kind: save it again.")
        # in order, for codes are places in them
        if sorted(set(classes)) != classes:
            raise ModelFileError("The classes of the model file are not in order: save the model again.")
        sizes |= {"C": len(classes), "K": 1 if len(classes) == 2 else len(classes)}
        return np.array(classes, dtype=dtype)


def _plain_dtype(classes: list[Any]) -> np.dtype:
    return np.array(classes).dtype if len(set(map(type, classes))) == 1 else np.dtype(object)


@dataclass(frozen=True)
class Part:
    """An object that is `Stored`.

    Attributes
    ----------
    kind : type, or dict of str to type
        With a dict, the plain value "kind" beside it says which of them.
    shares : str
        Letters that are the same in it as in what holds it, "d K"; "d=w": its d is the other's w.
    at : str, optional
        What its arrays' names begin with; the field's name unless given, nothing for "".
    optional, key
        As of `Array`.
    inline : bool
        Whether its plain values stand among those of what holds it.
    """

    kind: Any
    shares: str = ""
    at: str | None = None
    optional: bool = False
    inline: bool = False
    key: str = ""

    def put(self, name: str, given: Any, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add an object to what a file holds."""
        if given is None:
            return
        (plain, held), name = given.to_state(), self.key or name
        if isinstance(self.kind, dict):
            meta["kind"] = given.kind
        if self.inline:
            meta |= plain
        elif plain:
            # no empty entry: an object of arrays alone leaves no trace among plain values
            meta[name] = plain
        arrays |= prefixed(name if self.at is None else self.at, held)

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes) -> Any:
        """Return an object of a file."""
        name = self.key or name
        held, plain = block(arrays, name if self.at is None else self.at), meta if self.inline else meta.get(name)
        # absent is only what left neither values nor arrays
        if self.optional and not held and plain is None:
            return None
        return _shared(_kind_of(self.kind, meta), self.shares, {} if plain is None else plain, held, sizes)


@dataclass(frozen=True)
class Parts:
    """Objects that are `Stored`: a list, or a dict by name.

    Attributes
    ----------
    kind, shares, key
        As of `Part`.
    at : str
        What the arrays' names of the i-th begin with, "{0}" for i, "{1}" for its name.
    named : {"", "dict", "list"}
        "" for a list; "dict" and "list" for a dict whose plain values are kept by name, or in a list with their "name".
    count : str
        The letter of how many there are, for a list of which a file has nothing but arrays.
    """

    kind: Any
    shares: str = ""
    at: str = "{0}"
    named: str = ""
    key: str = ""
    count: str = ""

    def put(self, name: str, given: Any, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add objects to what a file holds."""
        name, states = self.key or name, [each.to_state() for each in (given.values() if self.named else given)]
        names = list(given) if self.named else [""] * len(states)
        for i, (_, held) in enumerate(states):
            arrays |= prefixed(self.at.format(i, names[i]), held)
        # a list of arrays alone is as long as a size says, and has no entry
        if self.count:
            return
        plain = [each for each, _ in states]
        if isinstance(self.kind, dict):
            plain = [{"kind": each.kind} | state for each, state in zip(given.values() if self.named else given, plain)]
        if self.named == "dict":
            meta[name] = dict(zip(given, plain))
        else:
            meta[name] = [{"name": n} | each for n, each in zip(given, plain)] if self.named else plain

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes) -> Any:
        """Return the objects of a file."""
        name = self.key or name
        kept = [{} for _ in range(sizes[self.count])] if self.count else meta.get(name)
        if not isinstance(kept, dict if self.named == "dict" else list):
            raise ModelFileError(f"The model file has no list {quoted(name)}: save the model again.")
        plain = list(kept.values()) if self.named == "dict" else kept
        names = list(kept) if self.named == "dict" else [each.get("name", "") for each in plain]
        made = [
            _shared(_kind_of(self.kind, each), self.shares, each, block(arrays, self.at.format(i, names[i])), sizes)
            for i, each in enumerate(plain)
        ]
        if not self.named:
            return made
        # a name twice would lose one of the two in the dict
        if not all(isinstance(each, str) for each in names) or len(set(names)) < len(names):
            raise ModelFileError(f"The names of {quoted(name)} in the model file are not distinct: save it again.")
        return dict(zip(names, made))


def _kind_of(kind: Any, meta: Mapping[str, Any]) -> Any:
    """Return a class, by the "kind" that a file names where there are several."""
    if not isinstance(kind, dict):
        return kind
    if meta.get("kind") not in list(kind):
        raise ModelFileError(f"The model file has a part of kind {quoted(meta.get('kind'))}, which is not known.")
    return kind[meta["kind"]]


def _shared(kind: Any, shares: str, plain: Any, held: dict[str, NDArray], sizes: Sizes) -> Any:
    """Return a part, whose sizes join those of what holds it."""
    if not isinstance(plain, dict):
        raise ModelFileError(f"The model file has {quoted(plain)} where a {kind.__name__} belongs: save it again.")
    # what the inner one calls d may be the outer one's w
    letters = dict((each.split("=") if "=" in each else (each, each)) for each in shares.split())
    own = {inner: sizes[outer] for inner, outer in letters.items() if outer in sizes}
    made = kind._read(plain, held, own)
    # sizes that the part found are known from here on, to what is read after it
    agree(sizes, **{outer: own[inner] for inner, outer in letters.items() if inner in own})
    return made


def agree(sizes: Sizes, **known: int) -> None:
    """Let sizes join those known; ModelFileError if one of them is another."""
    for letter, size in known.items():
        if sizes.setdefault(letter, size) != size:
            raise ModelFileError(f"The model file has parts of {size} and of {sizes[letter]} columns: save it again.")


Schema = dict[str, Array | Value | Part | Parts | Domain]
TEXTS = Domain(
    lambda v: isinstance(v, list) and all(isinstance(each, str) for each in v) and len(set(v)) == len(v),
    "a list of distinct texts",
)
SHARES = Domain(
    lambda v: isinstance(v, dict) and all(finite(each) and 0.0 <= each <= 1.0 + 1e-9 for each in v.values()),
    "shares from 0 to 1 by name",
)
IDS = Value(TEXTS, lambda ids: pl.Series("id", ids, dtype=pl.String), lambda ids: ids.to_list())


def array(shape: str, dtype: DTypeLike = np.float64, low: float = -np.inf, high: float = np.inf, **more: Any) -> Any:
    """Declare a field of a `Stored` class that is an array; see `Array`."""
    return field(metadata={"stored": Array(shape, dtype, low, high, **more)})


def value(domain: Domain, *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a field of a `Stored` class that is a plain value of a domain; see `Value`."""
    return field(default=default, metadata={"stored": Value(domain, **more)})


def declared(kind: Array | Value | Part | Parts) -> Any:
    """Declare a field of a `Stored` class by what is declared elsewhere."""
    return field(metadata={"stored": kind})


def part(kind: Any, shares: str = "", **more: Any) -> Any:
    """Declare a field of a `Stored` class that is stored itself; see `Part`."""
    return field(metadata={"stored": Part(kind, shares, **more)})


def parts(kind: Any, shares: str = "", **more: Any) -> Any:
    """Declare a field of a `Stored` class that is a list or a dict of what is stored itself; see `Parts`."""
    return field(metadata={"stored": Parts(kind, shares, **more)})


class Stored:
    """Base of what is kept of a model: a dataclass whose fields are declared, or a class that says `_stored`.

    `hetcore.data.SourceEncoder` is a part too by its `to_state` and `_read`, and has no need of this base.
    """

    _stored: Schema = {}

    @classmethod
    def _schema(cls) -> Schema:
        own = fields(cls) if is_dataclass(cls) else ()
        # what a class says in `_stored` first: its sizes are known to the fields that follow
        return cls._stored | {each.name: each.metadata["stored"] for each in own if "stored" in each.metadata}

    def _held(self) -> dict[str, Any]:
        """Return what is declared, by name."""
        return {name: getattr(self, name) for name in self._schema()}

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: Sizes) -> Self:
        """Return the object of the values of a file, which are as declared."""
        return cls(**values)

    def _fault(self, sizes: Sizes) -> str:
        """Return what is wrong between the values, for a sentence; "" if nothing is."""
        return ""

    def to_state(self) -> State:
        """Return plain values and arrays that `from_state` takes."""
        return parted(self._schema(), self._held())

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], **sizes: int) -> Self:
        """Rebuild from what a file holds, with the sizes that are known by letter.

        ModelFileError if an array or a value is missing or is not what it is declared to be.
        """
        return cls._read(meta, arrays, sizes)

    @classmethod
    def _read(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes) -> Self:
        made = cls._made(checked(cls._schema(), meta, arrays, sizes), sizes)
        if fault := made._fault(sizes):
            # between the values: each was checked for itself, and two that are fine alone may not fit each other
            raise ModelFileError(f"{fault}: save the model again.")
        return made


def parted(declared: Schema, values: Mapping[str, Any]) -> State:
    """Return the plain values and the arrays of declared values."""
    meta: dict[str, Any] = {}
    arrays: dict[str, NDArray] = {}
    for name, kind in declared.items():
        (Value(kind) if isinstance(kind, Domain) else kind).put(name, values[name], meta, arrays)
    return meta, arrays


def checked(
    declared: Schema, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: Sizes | None = None
) -> dict[str, Any]:
    """Return declared values by name; ModelFileError if one is missing or is not what it is declared to be."""
    sizes = {} if sizes is None else sizes
    return {
        name: (Value(kind) if isinstance(kind, Domain) else kind).get(name, meta, arrays, sizes)
        for name, kind in declared.items()
    }


def prefixed(key: str, arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return arrays under names that begin with "key:"; `block` takes them apart again."""
    return {f"{key}:{name}": each for name, each in arrays.items()} if key else dict(arrays)


def block(arrays: Mapping[str, NDArray], key: str) -> dict[str, NDArray]:
    """Return the arrays whose names begin with "key:", without it."""
    start = f"{key}:" if key else ""
    return {name.removeprefix(start): each for name, each in arrays.items() if name.startswith(start)}
