"""MatrixMarket: a header that is not believed, and a square sparse matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.decoding import as_utf8
from studio.readers.graphs import directed, limited
from studio.readers.parsed import ParsedGraph

__all__ = ["read_matrix_market"]


def read_matrix_market(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a square sparse matrix as a graph whose nodes are the numbers 1 to n.

    Raises
    ------
    DataError
        If the header does not fit what follows, or the matrix is dense, complex, not square, or too large.
    """
    text, guesses = as_utf8(name, content, options.get("encoding"))
    kind, symmetry, start = _matrix_header(name, text)
    numbers = _numbers(name, text[start:])
    if len(numbers) < 3:
        raise DataError(f'{name} has no size line "rows columns entries": export it anew as a coordinate matrix.')
    n, m, count = numbers[:3]
    width = 2 if kind == "pattern" else 3
    # Before anything is reshaped: the numbers in the header are the file's word.
    _check_matrix(name, n, m, count=count, given=len(numbers) - 3, width=width)
    cells = numbers[3:].reshape(int(count), width)
    ends = _matrix_ends(name, cells, int(n))
    edges = pl.DataFrame({"source": ends[:, 0].astype(str), "target": ends[:, 1].astype(str)})
    if width == 3:
        edges = edges.with_columns(pl.Series("weight", np.ascontiguousarray(cells[:, 2])))
    described = [f"{symmetry} {kind} matrix of {int(n):,} nodes, named 1 to {int(n):,}"]
    findings = directed(edges.height) if symmetry == "general" and _uneven(ends, int(n)) else []
    return ParsedGraph(limited(name, edges), guesses + described, findings)


def _uneven(ends: np.ndarray, n: int) -> bool:
    """Whether some entry has none on the other side of the diagonal."""
    # Pairs as one number each, so that they can be looked up; a set of tuples would take far more memory.
    there = ends[:, 0] * (n + 1) + ends[:, 1]
    return not np.isin(ends[:, 1] * (n + 1) + ends[:, 0], there).all()


def _matrix_header(name: str, text: bytes) -> tuple[str, str, int]:
    line, _, _ = text.partition(b"\n")
    fields = line.decode(errors="replace").lower().split()
    if len(fields) != 5 or fields[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(f"{name} does not begin with a MatrixMarket header line: export the matrix anew.")
    if (
        fields[2] != "coordinate"
        or fields[3] not in ("real", "integer", "pattern")
        or fields[4] not in ("general", "symmetric")
    ):
        raise DataError(
            f"{name} holds a matrix that is {shown(' '.join(fields[2:]))}: a graph is coordinate, real or pattern."
        )
    start = len(line) + 1
    # Comments and blank lines stand between the header and the sizes.
    while text[start : start + 1] in (b"%", b"\n", b"\r"):
        start = text.find(b"\n", start) + 1 or len(text)
    return fields[3], fields[4], start


def _numbers(name: str, text: bytes) -> np.ndarray:
    with warnings.catch_warnings():
        # NumPy only warns where the text ends early, and would return what came before.
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode(), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise DataError(
                f"{name} holds something other than numbers below its header: export the matrix anew."
            ) from None


def _check_matrix(name: str, n: float, m: float, count: float, given: int, width: int) -> None:
    if not (n == m >= 1 and n.is_integer()):
        raise DataError(f"{name} holds a matrix of {n:g} x {m:g}: a graph is a square matrix.")
    if n > UPLOADS.rows or count > UPLOADS.edges:
        raise DataError(
            f"{name} has {n:,.0f} nodes and {count:,.0f} entries, more than {UPLOADS.rows:,} and {UPLOADS.edges:,}: "
            "keep a part of the graph."
        )
    if count < 0 or count * width != given:
        raise DataError(
            f"{name} announces {count:,.0f} entries but holds {given / width:,.0f}: it is cut off or damaged."
        )


def _matrix_ends(name: str, cells: np.ndarray, n: int) -> np.ndarray:
    ends = cells[:, :2]
    wrong = np.flatnonzero(((ends < 1) | (ends > n) | (ends != np.floor(ends))).any(axis=1))
    if len(wrong):
        raise DataError(f"{name}: entry {wrong[0] + 1:,} is outside the {n:,} x {n:,} matrix: count from 1 to {n:,}.")
    return ends.astype(np.int64)
