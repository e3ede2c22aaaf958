"""Arrays as `.npy` bytes: written by numpy, read with nothing taken on trust.

numpy's own reader allocates whatever a header claims; here the claim must equal the bytes that follow it.
"""

from __future__ import annotations

import ast
import io
import math
import re

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from hetcore.data.words import quoted
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
    """Return an array as `.npy` bytes.

    Raises
    ------
    ParameterError
        If the array holds objects or text.
    """
    array = np.asanyarray(array)
    if not _plain_type(array.dtype):
        cure = "keep text in the JSON part"
        raise ParameterError(
            f"The array {quoted(name)} of type {array.dtype} can't be saved, only numbers can: {cure}."
        )
    buffer = io.BytesIO()
    npy_format.write_array(buffer, np.asarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _plain_type(dtype: np.dtype) -> bool:
    """Tell whether a type is booleans, integers, floats of at most 64 bits, or a packed record of those."""
    if dtype.fields is None:
        return dtype.kind in "biuf" and dtype.itemsize <= 8
    types = [field[0] for field in dtype.fields.values()]
    packed = dtype.itemsize == sum(one.itemsize for one in types)
    return packed and all(one.fields is None and _plain_type(one) for one in types)


def read_array(data: bytes) -> NDArray:
    """Return the array of `.npy` bytes, writable and contiguous.

    Raises
    ------
    ModelFileError
        If the header is not as `array_bytes` writes it, or claims another size than the data have.
    """
    start = len(MAGIC) + 2
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = HEADER.fullmatch(data[start:end].decode("latin-1"))
    if not data.startswith(MAGIC) or header is None:
        raise ModelFileError("An array's header is not one that hetcore writes: get a fresh copy of the file.")
    dtype, shape = _type_and_shape(header[1], header[3])
    if math.prod(shape) * dtype.itemsize != len(data) - end:
        claim = f"shape {shape} of {dtype} for {len(data) - end:,} bytes"
        raise ModelFileError(f"An array's header lies about its size ({claim}): get a fresh copy of the file.")
    flat = (
        np.frombuffer(data, dtype=dtype, offset=end, count=math.prod(shape)) if len(data) > end else np.empty(0, dtype)
    )
    array = flat.reshape(shape, order="F" if header[2] == "True" else "C").copy()
    _check_booleans(array)
    return array


def _type_and_shape(dtype: str, shape: str) -> tuple[np.dtype, tuple[int, ...]]:
    try:
        sizes = ast.literal_eval(shape)
        return np.dtype(ast.literal_eval(dtype)), (sizes,) if isinstance(sizes, int) else sizes
    except (SyntaxError, TypeError, ValueError) as error:
        raise ModelFileError(f"An array's header is not valid ({error}): get a fresh copy of the file.") from None


def _check_booleans(array: NDArray) -> None:
    parts = [array] if array.dtype.fields is None else [array[name] for name in array.dtype.names]
    for part in parts:
        if part.dtype.kind == "b" and (part.view(np.uint8) > 1).any():
            raise ModelFileError("An array of booleans holds other values: get a fresh copy of the file.")
