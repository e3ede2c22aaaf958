"""Model files taken apart, changed, and put together again, with or without the right checksums."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from hetcore import archive
from hetcore.archive import SEAL, array_bytes, read_array

Members = dict[str, bytes]


def resealed(body: bytes) -> bytes:
    """Return an archive without its seal with the right one."""
    return body + hashlib.sha256(body).hexdigest().encode()


def rebuilt(content: bytes, change: Callable[[Members], Any] = lambda members: None, recount: bool = True) -> bytes:
    """Take a model file apart, change its members, and put it together with right checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    if recount:
        header = json.loads(members["header.json"])
        others = {name: data for name, data in members.items() if name != "header.json"}
        sums = {name: {"size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for name, d in others.items()}
        members["header.json"] = json.dumps(header | {"members": sums}).encode()
    return archive._sealed(members)


def with_header(content: bytes, **values: Any) -> bytes:
    """Return the file with other values in its header."""

    def change(members: Members) -> None:
        members["header.json"] = json.dumps(json.loads(members["header.json"]) | values).encode()

    return rebuilt(content, change, recount=False)


def with_member(content: bytes, name: str, data: bytes) -> bytes:
    """Return the file with another member."""
    return rebuilt(content, lambda members: members.update({name: data}))


def scrambled(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with a few random changes: set, insert, delete or copy a stretch."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at, size = int(rng.integers(0, len(data))), int(rng.integers(1, 9))
        kind = rng.integers(0, 4)
        if kind == 0:
            data[at : at + size] = rng.bytes(len(data[at : at + size]))
        elif kind == 1:
            data[at:at] = rng.bytes(size)
        elif kind == 2:
            del data[at : at + size]
        else:
            start = int(rng.integers(0, len(data)))
            data[at : at + size] = data[start : start + size]
        if not data:
            break
    return bytes(data)


# What a hand that knows the format writes: every checksum is right, the values are not -------------------------------

_ODD = [
    *[None, True, -1, 0, 1, 2, 255, 2**31 - 1, 2**31, 2**63 - 1, 2**64, 10**400, -0.5, 1e-300, 1e300],
    *["", "a", "\u202e", [], {}, [[]], [1, "a"], {"a": 1}],
]


def forged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with one thing changed, and with right checksums."""
    kind = rng.integers(0, 5)
    if kind == 0:
        return resealed(scrambled(content[:-SEAL], rng))
    if kind == 1:
        return rebuilt(content, lambda members: _edit_json(members, "header.json", rng))
    if kind == 2:
        return rebuilt(content, lambda members: _edit_json(members, "state.json", rng))
    return rebuilt(content, lambda members: _edit_array(members, rng))


def _edit_json(members: Members, name: str, rng: np.random.Generator) -> None:
    value = json.loads(members[name])
    part = value["parameters"] if name == "header.json" else value
    _edit(part, rng)
    members[name] = json.dumps(value).encode()


def _edit(value: Any, rng: np.random.Generator) -> None:
    """Change one thing, anywhere inside a dict or a list."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = keys[rng.integers(len(keys))]
    inner = value[key]
    if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
        _edit(inner, rng)
    elif rng.random() < 0.15:
        del value[key]
    elif isinstance(value, list) and rng.random() < 0.2:
        value.insert(key, value[rng.integers(len(value))])
    else:
        value[key] = _ODD[rng.integers(len(_ODD))]


def _edit_array(members: Members, rng: np.random.Generator) -> None:
    names = [name for name in members if name.endswith(".npy")]
    if not names:
        return
    name = names[rng.integers(len(names))]
    array = read_array(members[name])
    edited = _values(array, rng) if rng.random() < 0.7 else _shape(array, rng)
    members[name] = array_bytes("a", edited)


def _values(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    array = array.copy()
    part = array if array.dtype.fields is None else array[list(array.dtype.names)[rng.integers(len(array.dtype))]]
    if part.size == 0:
        return array
    flat = part.reshape(-1)
    at = rng.integers(0, flat.size, int(rng.integers(1, 4)))
    flat[at] = _odd_number(part.dtype, flat, rng)
    if part.ndim and not np.shares_memory(flat, array):
        part[...] = flat.reshape(part.shape)
    return array


def _odd_number(kind: np.dtype, values: np.ndarray, rng: np.random.Generator) -> Any:
    if kind.kind == "f":
        return [np.nan, np.inf, -np.inf, 0.0, -1.0, 65_000.0, values[rng.integers(len(values))]][rng.integers(7)]
    if kind.kind == "b":
        return not values[0]
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.max, 0, 1, limits.max // 2, values[rng.integers(len(values))]])[
        rng.integers(6)
    ].astype(kind)


def _shape(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    kind = rng.integers(0, 6)
    if kind == 0:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
    if kind == 2:
        return array.reshape(-1)
    if kind == 3:
        return array[None]
    if kind == 4 and array.dtype.fields is None:
        with np.errstate(invalid="ignore", over="ignore"):
            return array.astype([np.float64, np.int64, np.int8, bool, np.float32][rng.integers(5)])
    return array[:0] if array.ndim else array
