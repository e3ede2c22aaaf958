"""SHA-256 of data: equal content gives equal digests, whatever the memory layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["hash_array", "hash_column"]


def hash_array(sha: Any, array: NDArray) -> None:
    """Feed a numeric array: its type, its shape and its little-endian bytes in C order; all NaN are the same."""
    if array.dtype.kind == "f" and np.isnan(array).any():
        # there are many NaN, of the same meaning
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    # the machine's own byte order must not be in the digest
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    sha.update(f"{array.dtype.str}{array.shape}".encode())
    sha.update(memoryview(array).cast("B") if array.size else b"")


def hash_column(sha: Any, series: pl.Series) -> None:
    """Feed a column: its name, its type, where it is null, and its values."""
    sha.update(f"{series.name!r}{series.dtype}{len(series)}".encode())
    sha.update(np.packbits(series.is_null().to_numpy()).tobytes())
    if series.dtype == pl.String:
        # lengths beside the joined text: else "ab", "c" and "a", "bc" would be the same
        hash_array(sha, series.str.len_bytes().fill_null(0).to_numpy())
        sha.update((series.str.join("").item() or "").encode())
        return
    if series.dtype == pl.Array:
        # an empty array column has no element to explode
        flat = series.explode(empty_as_null=True) if len(series) else pl.Series([], dtype=pl.Float64)
        hash_column(sha, flat.alias("cell"))
        return
    hash_array(sha, series.cast(pl.UInt8).fill_null(0).to_numpy() if series.dtype == pl.Boolean else _filled(series))


def _filled(series: pl.Series) -> NDArray:
    return series.fill_null(0).to_numpy() if series.dtype.is_numeric() else np.array(series.to_list(), dtype="S")
