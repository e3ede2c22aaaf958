"""Save and load fitted models, without pickle.

A model file is a sealed archive (`hetcore.archive`) of JSON and `.npy` arrays. A checksum is no proof of good intent,
so the model's `_set_state` validates every value again and raises ModelFileError at what it can't use.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.archive import DISLIKES, MAX_BYTES, array_bytes, pack, parsed_json, read_array, reason, unpack
from hetcore.data.text import listed, quoted, shown
from hetcore.errors import ModelFileError, ParameterError
from hetcore.parameters import Declared
from hetcore.registry import METHODS

__all__ = ["CLASSES", "as_path", "check_path", "dumps", "load", "save", "write_whole"]

CLASSES = METHODS
"""Name -> module of every class that can be saved."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, all or nothing: a crash leaves the old file or the new one.

    Parameters
    ----------
    model : estimator
        Fitted, of a class in `CLASSES`. The file has the parameters of the fit, whatever was set since then, but the
        `n_jobs` that is set.
    path : str or path
        Where to write; an existing file is replaced.

    Raises
    ------
    ParameterError
        If models of this class can't be saved, a parameter is no plain value (number, text, list, dict, None), or
        `path` is no path.
    NotFittedError
        If the model is not fitted.
    OSError
        If the file can't be written.
    """
    write_whole(as_path(path), dumps(model))


def as_path(path: Any, name: str = "path") -> Path:
    """Return a path; raise ParameterError, in the name of the parameter, for what is none."""
    # an empty text would be the folder that one is in
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ParameterError(f"{name}={shown(path)} is no path: give the text or Path of one.")
    return Path(path)


def check_path(path: Path) -> None:
    """Raise OSError, with the cure, where no file can be written at a path."""
    # said of the folder: else the sentence is of the draft, which nobody has heard of
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r}: make it, or give another path.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a file.")
    # a device, which the replace would turn into a file
    if path.exists() and not path.is_file():
        raise OSError(f"{str(path)!r} is no file: give the path of one.")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises as `check_path` does."""
    check_path(path)
    # a hidden draft beside it, on the same disk: only there a replace is one step
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        # "x": two writings of one file never have one draft
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            # before the rename, or a power cut could leave the new name with no content
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise type(error)(f"The file {str(path)!r} can't be written ({error.strerror}): give another path.") from None
    finally:
        # gone already if all went well
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Windows has no handle of a folder, and its rename is written through
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def dumps(model: Any) -> bytes:
    """Return the bytes of a model file; raises as `save` does."""
    name = type(model).__name__
    # by name and module: a subclass of the person's own would be loaded as ours
    if CLASSES.get(name) != type(model).__module__:
        raise ParameterError(f"A model of class {name} can't be saved: give one of {listed(CLASSES)}.")
    state, arrays = model._get_state()
    members = {"state.json": _json_bytes({"values": state, "arrays": list(arrays)}, "the state")}
    for i, (key, array) in enumerate(arrays.items()):
        members[f"arrays/{i}.npy"] = array_bytes(key, array)
    # the fit's, which say how its arrays are read; those set since then are of the next fit
    parameters = getattr(model, "_fit_params", None) or model.get_params(deep=False)
    facts = {"class": name, "parameters": _plain(parameters)}
    return pack(facts, members)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with numpy scalars as Python's."""
    # NumPy's numbers are no JSON; parameters that came from a search often are such
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in parameters.items()}
    for key, value in plain.items():
        # parameter by parameter, for a sentence that names the one at fault
        _json_bytes(value, f"the parameter {key}={quoted(value)}")
    return plain


def _json_bytes(value: Any, what: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        cure = "use finite numbers, text, lists, dicts, true, false and None only"
        raise ParameterError(f"A model can't be saved with {what} ({error}): {cure}.") from None


def load(source: str | os.PathLike[str] | bytes) -> Any:
    """Read a model from a file or from its bytes.

    Parameters
    ----------
    source : str, path or bytes
        A file that `save` wrote, or its content.

    Returns
    -------
    estimator
        Fitted; it predicts what the saved model predicts, bit for bit. A TransferClassifier of format 1 that is a ridge
        blend becomes a RidgeTransferClassifier.

    Raises
    ------
    ModelFileError
        With the reason, for anything that is not an unchanged model file of a format known here.
    FileNotFoundError
        If there is no such file.
    """
    if not isinstance(source, str | os.PathLike | bytes | bytearray | memoryview):
        raise ModelFileError(f"{type(source).__name__} is no model file: give its path or its bytes.")
    content = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else _file_bytes(Path(source))
    header, members = unpack(content)
    return _model(header, parsed_json(members["state.json"], "state.json"), members)


def _file_bytes(path: Path) -> bytes:
    facts = path.stat()
    # a folder or a pipe can't be read to its end
    if not stat.S_ISREG(facts.st_mode):
        raise ModelFileError(f"{quoted(path.name)} is not a file: give a file that hetcore.save wrote.")
    if facts.st_size > MAX_BYTES:
        raise ModelFileError(f"The file has over {MAX_BYTES:,} bytes: it is not loaded.")
    with open(path, "rb") as file:
        # one byte more than may be: a file can grow between the look and the reading
        return file.read(MAX_BYTES + 1)


def _model(header: dict[str, Any], state: dict[str, Any], members: dict[str, bytes]) -> Any:
    """Build the model; whatever its class dislikes is the file's fault."""
    cls = _class(header["class"])
    try:
        keys = state["arrays"]
        arrays: dict[str, NDArray] = {key: read_array(members[f"arrays/{i}.npy"]) for i, key in enumerate(keys)}
        if len(arrays) != len(members) - 1:
            raise ModelFileError("The file's arrays are not those that its state names: get a fresh copy of it.")
        parameters, values = header["parameters"], state["values"]
        older = getattr(cls, "_from_format_1", None)
        # only what has a translation is translated; files of most methods mean the same in both formats
        if header["format"] == 1 and older is not None:
            cls, parameters, values, arrays = older(parameters, values, arrays)
        retired = getattr(cls, "_retired", ())  # parameters that models of an earlier version had
        model = cls(**{name: _as_declared(cls, name, parameters[name]) for name in parameters if name not in retired})
        if isinstance(model, Declared):
            # parameters of a file are as little trusted as its arrays
            model._check_parameters()
        # the class says what each value must be; nothing in it is believed because the checksum fits
        model._set_state(values, arrays)
    except ModelFileError:
        raise
    except DISLIKES as error:
        what = f"The file does not describe a {header['class']} ({reason(error)})"
        raise ModelFileError(f"{what}: save the model again.") from None
    return model


def _as_declared(cls: type, name: str, value: Any) -> Any:
    """Return a parameter's value, a list as a tuple where its default is one: JSON has lists alone."""
    declared = getattr(cls, "_parameters", {}).get(name)
    is_tuple = declared is not None and isinstance(declared.default, tuple)
    return tuple(value) if is_tuple and isinstance(value, list) else value


def _class(name: str) -> type:
    if name not in CLASSES:
        raise ModelFileError(f"The file holds a {quoted(name)}, which is none of {listed(CLASSES)}: it is not loaded.")
    return getattr(import_module(CLASSES[name]), name)
