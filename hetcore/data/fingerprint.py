"""SHA-256 of data: equal content gives equal digests, whatever the memory layout; and an outline that costs nothing."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["hash_array", "hash_column", "outline"]

SOME = 1000  # ids, and rows of an array, that an outline looks at


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


class Outline(NamedTuple):
    """What tells data apart: instances, checksums of some ids and of all labels, and what each part has."""

    n: int
    ids: tuple[int, int]
    sources: dict[str, Any]
    graphs: dict[str, int]
    steps: tuple[str, ...]
    labels: tuple[int, int]


def outline(data: Any, labels: Any = None, task: str | None = None) -> tuple[Any, ...] | None:
    """Return what tells most other data apart, in milliseconds: sizes, names, kinds, some ids or rows, all labels.

    Parameters
    ----------
    data : HetData or (m, d) array
        Of anything else nothing is returned.
    labels : (n,) array-like, optional
        In place of the labels of a HetData.
    task : str, optional
        As which a HetData reads labels.
    """
    if isinstance(data, np.ndarray) and data.ndim:
        return data.shape, _checksum(data[_some(len(data))].ravel()), None if labels is None else _checksum(labels)
    if not hasattr(data, "id_series"):
        return None
    labels = data.y if labels is None else data.with_target(labels, task).y
    sources = {name: (source.n_rows, tuple(source.kinds.items())) for name, source in data.sources.items()}
    graphs = {name: graph.n_edges for name, graph in data.graphs.items()}
    # labels are looked at themselves
    steps = tuple(step for step in data.steps if step != "with_target(y)")
    ids = _checksum(data.id_series[_some(data.n)])
    return Outline(data.n, ids, sources, graphs, steps=steps, labels=_checksum(labels))


def _some(n: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, min(n, SOME)).astype(np.int64)


def _checksum(values: Any) -> tuple[int, int]:
    """Return the size and a checksum of numbers or texts (n,); whole numbers and reals are alike."""
    array = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    plain = array.astype(float) if array.dtype.kind in "iufb" else "\0".join(map(str, array.tolist())).encode()
    return array.size, zlib.crc32(plain)
