"""The actor that holds sources on a worker of a Dask cluster: see `hetcore.distributed`."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from hetcore.consensus.printed.partial_sums import PartialSums, Span
from hetcore.consensus.table_views import TableView

__all__ = ["LearnerSource", "Step", "WorkerActor", "held_by", "size_of", "versions"]

SAME = ("hetcore", "polars")  # packages whose version decides over bits
NANNYS = "65536"  # MALLOC_TRIM_THRESHOLD_ that Dask starts workers with
LARGEST_KEPT = 32 << 20  # bytes of an array whose memory is kept: the most that glibc allows, and its own choice
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


class LearnerSource(NamedTuple):
    """What a learner is made from: its class, its rows (m,), and a `Source` or links.

    Of a source by path its path travels, and the worker reads the table.
    """

    kind: type
    rows: NDArray[np.int64]
    content: Any


class Step(NamedTuple):
    """A method of some learners: its name, arguments that are the same for all, and each one's own by number."""

    method: str
    shared: tuple
    own: Mapping[int, tuple]


class WorkerActor:
    """Has some of a fit's learners, by number, in one worker process.

    A fit on a cluster has one actor on each worker, so that what all sources are given alike travels once a worker.
    """

    def __init__(self) -> None:
        self._learners: dict[int, Any] = {}
        self._blas = ThreadpoolController()
        _keep_freed_memory()

    def take(self, sources: Mapping[int, LearnerSource], common: Any, steps: Sequence[Step]) -> None:
        """Load sources, and repeat the steps that they had taken elsewhere."""
        for number, (kind, rows, content) in sources.items():
            self._learners[number] = kind(rows, common, content)
        for step in steps:
            self.run(step)

    def versions(self) -> dict[str, str]:
        """Return what this worker has of what must be the same everywhere."""
        return versions()

    def run(self, step: Step) -> dict[int, Any]:
        """Return what the learners of a step return; the same bits as in the process of the fit."""
        name, shared, own = step
        with np.errstate(over="ignore", under="ignore"), self._blas.limit(limits=1, user_api="blas"):
            return {number: getattr(self._learners[number], name)(*shared, *mine) for number, mine in own.items()}

    def add_up(self, spans: Sequence[Span], weights: Mapping[int, NDArray]) -> dict[Span, NDArray]:
        """Return of subtrees, all of whose sources are here, the sum of w_i f_i (n, K)."""
        found = {}
        for span in spans:
            sums = PartialSums(span)
            for number in range(*span):
                sums.add((number, number + 1), self._learners[number].weighted(weights[number]))
            found[span] = sums.total
        return found


def _keep_freed_memory() -> None:
    """Have a worker keep what an array leaves behind for the next one, as any other process does.

    As Dask starts workers each array of 128 KiB or more has fresh pages, which take as long as what it is made for.
    """
    # another number is the user's own choice; other systems have other memory
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") != NANNYS or sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_KEPT)


def versions() -> dict[str, str]:
    """Return this process' versions of the packages that decide over bits."""
    return {name: import_module(name).__version__ for name in SAME}


def size_of(content: Any) -> int:
    """Return the bytes of the arrays in arguments or answers; what else there is, also a path, takes a few bytes.

    An array that is there more than once is pickled once.
    """
    return sum({id(each): _bytes_of(each) for each in _heavy(content)}.values())


def _heavy(content: Any) -> Iterator[Any]:
    """Yield the arrays and frames of arguments or answers."""
    if not getattr(content, "is_loaded", True):
        # of a part of a table by path which rows it has
        content = content.places
    if isinstance(content, np.ndarray | pl.DataFrame):
        yield content
    elif isinstance(content, Mapping | list | tuple):
        for each in content.values() if isinstance(content, Mapping) else content:
            yield from _heavy(each)
    elif isinstance(content, TableView):
        yield from _heavy((content.source, content.order))
    elif hasattr(content, "indptr"):
        yield from _heavy((content.indptr, content.indices, content.data))
    else:
        # of a source one of both is None
        held = (getattr(content, name, None) for name in ("frame", "array"))
        yield from (each for each in held if each is not None)


def _bytes_of(heavy: Any) -> int:
    return heavy.nbytes if isinstance(heavy, np.ndarray) else int(heavy.estimated_size())


def held_by(source: LearnerSource) -> int:
    """Return the bytes of what a worker holds for a source, in proportion to that of others: its table, read or not."""
    # what a view's learner is made from may be a table that it is to read
    content = getattr(source.content, "X", source.content)
    table = getattr(content, "source", content)
    return size_of(source) + getattr(table, "table_bytes", 0)
