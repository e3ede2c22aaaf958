"""Save and load fitted models, without pickle.

A model file is a zip of stored (never compressed) members: `header.json` (format, class, parameters, and the size and
SHA-256 of every other member), `state.json`, and arrays as `arrays/0.npy`, `arrays/1.npy`, ... The zip's comment is the
SHA-256 of all bytes before it, so that any change is noticed, the header's and the zip's own included. The same model
gives the same bytes. Reading checks sizes, counts and names before it allocates anything, and a checksum is no proof of
good intent: the model's `_set_state` validates every value again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import stat
import struct
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data.words import listed, quoted
from hetcore.errors import ModelFileError, ParameterError
from hetcore.npy import array_bytes, read_array

__all__ = ["CLASSES", "FORMAT", "dumps", "load", "save"]

FORMAT = 1
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

CLASSES: dict[str, str] = {
    "GBCClassifier": "hetcore.methods.consensus",
    "GBCRegressor": "hetcore.methods.consensus",
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, all or nothing: a crash leaves the old file or the new one.

    Parameters
    ----------
    model : estimator
        Fitted, of a class in `CLASSES`.
    path : str or path
        Where to write; an existing file is replaced.

    Raises
    ------
    ParameterError
        If models of this class can't be saved, or a parameter is no plain value (number, text, list, dict, None).
    OSError
        If the file can't be written.
    """
    content, path = dumps(model), Path(path)
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def dumps(model: Any) -> bytes:
    """Return the bytes of a model file; raises as `save` does."""
    name = type(model).__name__
    if CLASSES.get(name) != type(model).__module__:
        raise ParameterError(f"A model of class {name} can't be saved: give one of {listed(CLASSES)}.")
    state, arrays = model._get_state()
    members = {"state.json": _json_bytes({"values": state, "arrays": list(arrays)}, "the state")}
    for i, (key, array) in enumerate(arrays.items()):
        members[f"arrays/{i}.npy"] = array_bytes(key, array)
    header = {"library": "hetcore", "format": FORMAT, "class": name, "parameters": _plain(model.get_params(deep=False))}
    header["members"] = {key: {"size": len(data), "sha256": _sha(data)} for key, data in members.items()}
    return _sealed({"header.json": _json_bytes(header, "the parameters"), **members})


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with numpy scalars as Python's."""
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in parameters.items()}
    for key, value in plain.items():
        _json_bytes(value, f"the parameter {key}={quoted(value)}")
    return plain


def _json_bytes(value: Any, what: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        cure = "use finite numbers, text, lists, dicts, true, false and None only"
        raise ParameterError(f"A model can't be saved with {what} ({error}): {cure}.") from None


def _sealed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
        archive.comment = b"0" * SEAL
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    body = buffer.getvalue()[:-SEAL]
    return body + _sha(body).encode()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def load(source: str | os.PathLike[str] | bytes) -> Any:
    """Read a model from a file or from its bytes.

    Parameters
    ----------
    source : str, path or bytes
        A file that `save` wrote, or its content.

    Returns
    -------
    estimator
        Fitted; it predicts what the saved model predicts, bit for bit.

    Raises
    ------
    ModelFileError
        With the reason, for anything that is not an unchanged model file of a format known here.
    FileNotFoundError
        If there is no such file.
    """
    content = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else _file_bytes(Path(source))
    _check_end(content)
    header, members = _read_members(content)
    return _model(header, _json(members["state.json"], "state.json"), members)


def _file_bytes(path: Path) -> bytes:
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise ModelFileError(f"{quoted(path.name)} is not a file: give a file that hetcore.save wrote.")
    if facts.st_size > MAX_BYTES:
        raise ModelFileError(
            f"The file has {facts.st_size:,} bytes, over the limit of {MAX_BYTES:,}: it is not loaded."
        )
    with open(path, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _read_members(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the header and the other members; nothing is read before sizes, counts and names are checked."""
    sealed = _sha(content[:-SEAL]).encode() == content[-SEAL:]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_sizes(entries, len(content))
            header = _checked_header(archive.read("header.json"), sealed)
            _check_names([entry.filename for entry in entries], header["members"])
            members = {name: archive.read(name) for name in header["members"]}
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, struct.error, *DISLIKES, NotImplementedError, OSError, EOFError) as error:
        raise ModelFileError(f"The file is damaged ({_reason(error)}): get a fresh copy of it.") from None
    _check_sums(header["members"], members, sealed)
    return header, members


def _check_end(content: bytes) -> None:
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
        return (
            "The file is a pickle or compressed: hetcore never opens pickles, as they can run code; use hetcore.save."
        )
    return "The file is not a model file of hetcore: give a file that hetcore.save wrote."


def _check_sizes(entries: list[zipfile.ZipInfo], size: int) -> None:
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size for entry in entries):
        raise ModelFileError("The file has compressed members, which model files never have: it is not loaded.")
    if sum(entry.file_size for entry in entries) > size:
        raise ModelFileError("The file's members claim more bytes than it has: it is not loaded.")
    if any(entry.filename == "header.json" and entry.file_size > MAX_HEADER_BYTES for entry in entries):
        raise ModelFileError(f"The header has over {MAX_HEADER_BYTES:,} bytes: it is not loaded.")


def _checked_header(data: bytes, sealed: bool) -> dict[str, Any]:
    header = _json(data, "header.json")
    if header.get("library") != "hetcore" or type(header.get("format")) is not int or header["format"] < 1:
        raise ModelFileError("The header is not that of a model file of hetcore: give a file that hetcore.save wrote.")
    if header["format"] > FORMAT and sealed:
        newer = f"format {header['format']:,}, this hetcore reads up to {FORMAT}"
        raise ModelFileError(f"The file was saved by a newer hetcore ({newer}): update hetcore.")
    if set(header) != set(HEADER) or not all(isinstance(header[key], kind) for key, kind in HEADER.items()):
        raise ModelFileError(f"The header does not have exactly {listed(HEADER)}: get a fresh copy of the file.")
    return header


def _check_names(names: list[str], listing: dict[str, Any]) -> None:
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


def _json(data: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique_pairs, parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(
            f"The member {quoted(name)} is not valid JSON ({error}): get a fresh copy of the file."
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


def _model(header: dict[str, Any], state: dict[str, Any], members: dict[str, bytes]) -> Any:
    """Build the model; whatever its class dislikes is the file's fault."""
    cls = _class(header["class"])
    try:
        keys = state["arrays"]
        arrays: dict[str, NDArray] = {key: read_array(members[f"arrays/{i}.npy"]) for i, key in enumerate(keys)}
        if len(arrays) != len(members) - 1:
            raise ModelFileError("The file's arrays are not those that its state names: get a fresh copy of it.")
        model = cls(**header["parameters"])
        model._set_state(state["values"], arrays)
    except ModelFileError:
        raise
    except DISLIKES as error:
        what = f"The file does not describe a {header['class']} ({_reason(error)})"
        raise ModelFileError(f"{what}: save the model again.") from None
    return model


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _class(name: str) -> type:
    if name not in CLASSES:
        raise ModelFileError(f"The file holds a {quoted(name)}, which is none of {listed(CLASSES)}: it is not loaded.")
    return getattr(import_module(CLASSES[name]), name)
