"""The archive of a model file: a zip of stored (never compressed) members that shows any change.

`header.json` says the format, the class, its parameters, and the size and SHA-256 of every other member: `state.json`
and `arrays/0.npy`, `arrays/1.npy`, ... The zip's comment is the SHA-256 of all bytes before it, so the header and the
zip's own fields are covered too. The same content gives the same bytes. Reading checks sizes, counts and names before
it reads a member; as nothing is compressed, nothing can blow up. Arrays are written by numpy and read with nothing
taken on trust. What they must be is said by each model (`hetcore.schema`).
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import math
import re
import struct
import zipfile
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from hetcore.data.text import listed, quoted
from hetcore.errors import ModelFileError, ParameterError

__all__ = ["DISLIKES", "FORMAT", "MAX_BYTES", "array_bytes", "pack", "parsed_json", "read_array", "reason", "unpack"]

FORMAT = 2
"""Since 2, collective models see more than Rf1 to Rf4, and the ridge blend has a name of its own."""
MAX_BYTES = 1 << 30
MAX_HEADER_BYTES = 1 << 20
MAX_MEMBERS = 4096
SEAL = 64  # hexadecimal digits of a SHA-256
END = struct.Struct("<4s4H2LH")  # zip's end record: signature, disks (2), entries (2), directory size, offset, comment
HEADER = {"library": str, "format": int, "class": str, "parameters": dict, "members": dict}
# What parsing and validating code raises at input that it was not written for.
DISLIKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


def pack(facts: dict[str, Any], members: dict[str, bytes]) -> bytes:
    """Return the archive's bytes.

    Parameters
    ----------
    facts : dict
        "class" and "parameters", JSON-able.
    members : dict of str to bytes
        "state.json" and "arrays/0.npy", ...

    Raises
    ------
    ParameterError
        If it is larger than `unpack` would take.
    """
    listing = {name: {"size": len(data), "sha256": _sha(data)} for name, data in members.items()}
    header = {"library": "hetcore", "format": FORMAT, **facts, "members": listing}
    first = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    size = sum(map(len, members.values()))
    # the limits of reading hold for writing as well, so that no file is written that could not be opened again
    if len(first) > MAX_HEADER_BYTES or len(members) >= MAX_MEMBERS or size > MAX_BYTES - 2 * MAX_HEADER_BYTES:
        what = f"{len(members):,} members, {size:,} bytes and {len(first):,} bytes of parameters and checksums"
        raise ParameterError(f"The model is too large for a file, with {what}: use fewer rounds or shallower trees.")
    return _sealed({"header.json": first, **members})


def _sealed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    # no zip64: it has a second set of sizes, which could contradict the first
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
        # zeros as long as the sum: offsets are final before the sum, which is of all that stands before it
        archive.comment = b"0" * SEAL
        for name, data in members.items():
            member = zipfile.ZipInfo(name)
            member.create_system = 3  # or the bytes would tell the operating system
            archive.writestr(member, data)
    body = buffer.getvalue()[:-SEAL]
    return body + _sha(body).encode()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the header and the other members of an archive.

    Raises
    ------
    ModelFileError
        With the reason, for anything that is not an unchanged archive of a format known here.
    """
    _check_end(content)
    # not raised here: a file of a newer format is told as that even if something in it looks wrong to us
    sealed = _sha(content[:-SEAL]).encode() == content[-SEAL:]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_sizes(entries, len(content))
            header = _checked_header(archive.read("header.json"), sealed)
            _check_names([entry.filename for entry in entries], header["members"])
            members = {name: archive.read(name) for name in header["members"]}
    except ModelFileError:
        # ours says already what is wrong
        raise
    except (zipfile.BadZipFile, struct.error, *DISLIKES, NotImplementedError, OSError, EOFError) as error:
        raise ModelFileError(f"The file is damaged ({reason(error)}): get a fresh copy of it.") from None
    _check_sums(header["members"], members, sealed)
    return header, members


def _check_end(content: bytes) -> None:
    # Python's reader looks for the end record anywhere in the last 64 KB, and so would find a second one
    """Check what the first and last bytes say, before a zip reader sees the file."""
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"The file has over {MAX_BYTES:,} bytes: it is not loaded.")
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError(_not_ours(content))
    tail = content[-END.size - SEAL : -SEAL]
    if len(tail) < END.size or not tail.startswith(b"PK\x05\x06"):
        raise ModelFileError("The file is cut short, or a zip that hetcore did not write: get a fresh copy of it.")
    _, _, _, _, entries, directory, offset, comment = END.unpack(tail)
    start = len(content) - SEAL - END.size - directory
    if comment != SEAL or entries > MAX_MEMBERS or directory > 128 * MAX_MEMBERS or offset != start:
        raise ModelFileError("The file's directory is damaged or too long: get a fresh copy of it.")


def _not_ours(content: bytes) -> str:
    if not content:
        return "The file is empty: give a file that hetcore.save wrote."
    if content[:1] == b"\x80" or content.startswith((b"\x1f\x8b", b"x\x9c", b"BZh", b"(dp", b"cjoblib")):
        return "The file is a pickle or compressed: hetcore never opens pickles, they can run code; use hetcore.save."
    return "The file is not a model file of hetcore: give a file that hetcore.save wrote."


def _check_sizes(entries: list[zipfile.ZipInfo], size: int) -> None:
    # stored members can't grow when read: no zip bomb, whatever the sizes say
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size for entry in entries):
        raise ModelFileError("The file has compressed members, which model files never have: it is not loaded.")
    # members may overlap in a forged directory, and so claim the same bytes many times
    if sum(entry.file_size for entry in entries) > size:
        raise ModelFileError("The file's members claim more bytes than it has: it is not loaded.")
    if any(entry.filename == "header.json" and entry.file_size > MAX_HEADER_BYTES for entry in entries):
        raise ModelFileError(f"The header has over {MAX_HEADER_BYTES:,} bytes: it is not loaded.")


def _checked_header(data: bytes, sealed: bool) -> dict[str, Any]:
    header = parsed_json(data, "header.json")
    if header.get("library") != "hetcore" or type(header.get("format")) is not int or header["format"] < 1:
        raise ModelFileError("The header is not that of a model file of hetcore: give a file that hetcore.save wrote.")
    # an unsealed header that says "newer" is damage, not a version
    if header["format"] > FORMAT and sealed:
        newer = f"format {header['format']:,}, this hetcore reads up to {FORMAT}"
        raise ModelFileError(f"The file was saved by a newer hetcore ({newer}): update hetcore.")
    if set(header) != set(HEADER) or not all(isinstance(header[key], kind) for key, kind in HEADER.items()):
        raise ModelFileError(f"The header does not have exactly {listed(HEADER)}: get a fresh copy of the file.")
    return header


def _check_names(names: list[str], listing: dict[str, Any]) -> None:
    # numbered, so that no name in the archive is ever a path
    expected = {"header.json", "state.json", *(f"arrays/{i}.npy" for i in range(len(listing) - 1))}
    strange = sorted(set(names) - expected)
    if strange:
        raise ModelFileError(f"The file has members that no model file has ({listed(strange)}): it is not loaded.")
    if len(set(names)) < len(names):
        raise ModelFileError("The file has two members of the same name: it is not loaded.")
    if set(names) != expected or set(listing) != expected - {"header.json"}:
        raise ModelFileError("The file's members are not those that its header lists: get a fresh copy of it.")


def _check_sums(listing: dict[str, Any], members: dict[str, bytes], sealed: bool) -> None:
    for name, facts in listing.items():
        if facts != {"size": len(members[name]), "sha256": _sha(members[name])}:
            raise ModelFileError(f"The member {quoted(name)} was changed or damaged: get a fresh copy of the file.")
    if not sealed:
        raise ModelFileError("The header or the directory was changed or damaged: get a fresh copy of the file.")


def parsed_json(data: bytes, name: str) -> dict[str, Any]:
    """Return the JSON object in a member; raises ModelFileError if it is none, or repeats a key."""
    # Python's parser takes repeated keys and NaN, of which the checks would see only one and nothing
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique_pairs, parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(
            f"The member {quoted(name)} is not valid JSON ({reason(error)}): get a fresh copy of the file."
        ) from None
    if not isinstance(value, dict):
        raise ModelFileError(f"The member {quoted(name)} is not a JSON object: get a fresh copy of the file.")
    return value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def reason(error: Exception) -> str:
    """Return an error's type and text, in one line of at most 200 characters."""
    sentence = " ".join(f"{type(error).__name__}: {error}".split())
    return sentence if len(sentence) <= 200 else f"{sentence[:199]}…"


# Arrays ---------------------------------------------------------------------------------------------------------------
# numpy's own reader allocates whatever a header claims; here the claim must equal the bytes that follow it.

MAX_DIMENSIONS = 8
MAGIC = b"\x93NUMPY\x01\x00"
TYPE = r"'[<|][biuf][1248]'"
RECORD = rf"\[(?:\('\w{{1,64}}', {TYPE}\)(?:, )?){{1,64}}\]"
SHAPE = rf"\((?:\d{{1,15}},? ?){{0,{MAX_DIMENSIONS}}}\)"
NPY_HEADER = re.compile(
    rf"\{{'descr': ({TYPE}|{RECORD}), 'fortran_order': (True|False), 'shape': ({SHAPE}), \}} *\n", re.ASCII
)


def array_bytes(name: str, array: NDArray) -> bytes:
    """Return an array of booleans, integers, floats, or records of those, as `.npy` bytes.

    Raises
    ------
    ParameterError
        If the array is of another type or has too many dimensions.
    """
    array = np.asarray(array)
    buffer = io.BytesIO()
    try:
        # version 1 of the format, whose header the pattern above reads letter by letter
        npy_format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        # read back at once: a type that the reader refuses is told when saving, not when loading
        _read_header(buffer.getvalue())
    except ValueError:
        kind = f"type {array.dtype} and {array.ndim} dimensions"
        raise ParameterError(f"The array {quoted(name)} of {kind} can't be saved: keep it as plain numbers.") from None
    return buffer.getvalue()


def read_array(data: bytes) -> NDArray:
    """Return the array of `.npy` bytes, writable and contiguous.

    Raises
    ------
    ModelFileError
        If the header is not as `array_bytes` writes it, or claims another size than the data have.
    """
    dtype, shape, order, start = _read_header(data)
    if math.prod(shape) * dtype.itemsize != len(data) - start:
        claim = f"shape {shape} of {dtype} for {len(data) - start:,} bytes"
        raise ModelFileError(f"An array's header lies about its size ({claim}): get a fresh copy of the file.")
    # a copy of the bytes, for an array over `bytes` is read-only
    array = np.frombuffer(bytearray(data[start:]), dtype=dtype).reshape(shape, order=order)
    array = np.ascontiguousarray(array).reshape(shape)
    _check_booleans(array)
    return array


def _read_header(data: bytes) -> tuple[np.dtype, tuple[int, ...], Literal["C", "F"], int]:
    """Return type, shape, order and where the values start."""
    start = len(MAGIC) + 2
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = NPY_HEADER.fullmatch(data[start:end].decode("latin-1"))
    if not data.startswith(MAGIC) or header is None:
        raise ModelFileError("An array's header is not one that hetcore writes: get a fresh copy of the file.")
    try:
        dtype, shape = _dtype(header[1]), ast.literal_eval(header[3])
    except (SyntaxError, TypeError, ValueError) as error:
        raise ModelFileError(f"An array's header is not valid ({error}): get a fresh copy of the file.") from None
    return dtype, (shape,) if isinstance(shape, int) else shape, "F" if header[2] == "True" else "C", end


@lru_cache(64)
def _dtype(text: str) -> np.dtype:
    # many arrays of a file have one record, whose text takes longer to read than its values to write
    return np.dtype(ast.literal_eval(text))


def _check_booleans(array: NDArray) -> None:
    parts = [array] if array.dtype.fields is None else [array[name] for name in array.dtype.names]
    for part in parts:
        # a byte of 2 is neither false nor true, and comparisons and masks take it in different ways
        if part.dtype.kind == "b" and (part.view(np.uint8) > 1).any():
            raise ModelFileError("An array of booleans holds other values: get a fresh copy of the file.")
