"""Arrays as `.npy` bytes: written by numpy, read with nothing taken on trust.

numpy's own reader allocates whatever a header claims; here the claim must equal the bytes that follow it.
"""

from __future__ import annotations

import ast
import io
import math
import re
from typing import Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from hetcore.data.text import quoted
from hetcore.errors import ModelFileError, ParameterError

__all__ = ["array_bytes", "read_array"]

MAX_DIMENSIONS = 8
MAGIC = b"\x93NUMPY\x01\x00"
TYPE = r"'[<|][biuf][1248]'"
RECORD = rf"\[(?:\('\w{{1,64}}', {TYPE}\)(?:, )?){{1,64}}\]"
SHAPE = rf"\((?:\d{{1,15}},? ?){{0,{MAX_DIMENSIONS}}}\)"
HEADER = re.compile(
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
        npy_format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
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
    array = np.frombuffer(bytearray(data[start:]), dtype=dtype).reshape(shape, order=order)
    array = np.ascontiguousarray(array).reshape(shape)
    _check_booleans(array)
    return array


def _read_header(data: bytes) -> tuple[np.dtype, tuple[int, ...], Literal["C", "F"], int]:
    """Return type, shape, order and where the values start."""
    start = len(MAGIC) + 2
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = HEADER.fullmatch(data[start:end].decode("latin-1"))
    if not data.startswith(MAGIC) or header is None:
        raise ModelFileError("An array's header is not one that hetcore writes: get a fresh copy of the file.")
    try:
        dtype, shape = np.dtype(ast.literal_eval(header[1])), ast.literal_eval(header[3])
    except (SyntaxError, TypeError, ValueError) as error:
        raise ModelFileError(f"An array's header is not valid ({error}): get a fresh copy of the file.") from None
    return dtype, (shape,) if isinstance(shape, int) else shape, "F" if header[2] == "True" else "C", end


def _check_booleans(array: NDArray) -> None:
    parts = [array] if array.dtype.fields is None else [array[name] for name in array.dtype.names]
    for part in parts:
        if part.dtype.kind == "b" and (part.view(np.uint8) > 1).any():
            raise ModelFileError("An array of booleans holds other values: get a fresh copy of the file.")
