"""What a training needs in memory, told before it begins, and the sentence that refuses one that can't fit.

    needs = bytes of the data + sum over the parts below, times a margin

| part | bytes |
|---|---|
| data | as sent (twice: as sent and as read), 8 a number, 60 a text |
| cells | of the encoded tables (float32, binned, copies): a number for each method |
| scores | rows x classes: a number for each method |
| links | of the graphs, both ways: a number for each method |
| kernel | of machines that hold a matrix of all pairs of target rows |
| left | of a consensus, to later ones in the same worker |

The numbers stand with each method (`hetcore.registry.MemoryNeed`); `python -m benchmarks.speed.memory` prints estimate
and truth.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import psutil

from hetcore.registry import METHODS, MemoryNeed, find
from studio.jobs.job import FunctionTask, TrainingTask
from studio.limits import GIB, RECALLED, JobLimits

__all__ = [
    "Shape", "free", "give_back", "need_of", "needed", "needed_by_path", "shape_of", "why_not", "why_not_by_path",
]  # fmt: skip

WIDTHS = {"nominal": 65, "text": 500}
"""Columns at most that one of this kind becomes."""
MARGIN = 1.2
LEFT = 3
"""A consensus leaves at most this part of what it takes to later ones (`hetcore.consensus.recall`)."""
MANY = 100
"""Classes beyond which the label is what takes the memory."""


class Shape(NamedTuple):
    """What a training is given.

    Attributes
    ----------
    payload : int
        Bytes of the data.
    rows, records, cells, links : int
        Rows that are predicted, rows of all tables, cells of the encoded tables, links counted at both ends.
    outputs : int
        Classes, 1 for a number.
    pairs : int
        Rows of which every pair has an entry in a kernel matrix.
    """

    payload: int
    rows: int
    records: int
    cells: int
    links: int
    outputs: int
    pairs: int


OTHERS = MemoryNeed(60, 400, 400, 6)
"""Of a class that is none of hetcore's methods."""
BY_PATH = {True: MemoryNeed(7, 90, 15), False: MemoryNeed(10, 115, 118)}
"""Of a consensus on data by path, as printed or not: address space of each cell, record, and score of a record."""
BLOCKS = 0.8
"""GiB of address space beside it: tables are read in blocks, by several threads."""
FIXED = 40 * 2**20
SMALL, AGAIN = 5_000, 2.5
"""Rows up to which a consensus may be several fits (`n_repeats`), and how many times one fit they take."""


def needed(task: TrainingTask) -> int:
    """Return the bytes that a training is likely to take beside its process, at most."""
    shape, need = shape_of(task), need_of(task.estimator)
    counts = (shape.cells, shape.records, shape.rows * shape.outputs, shape.links, shape.pairs**2)
    # Twice the payload: as it was sent, and as it was read, both are there while the training begins.
    fit = sum(each * count for each, count in zip(need, counts))
    recalls = task.estimator in METHODS and find(task.estimator).__module__.startswith("hetcore.consensus.")
    fit *= AGAIN if recalls and shape.rows <= SMALL else 1
    own = int(MARGIN * (FIXED + 2 * shape.payload + fit))
    # What earlier trainings left is in the same process, so it is part of what the limit must hold.
    return own + (min(RECALLED, own // LEFT) if recalls else 0)


def needed_by_path(tables: Iterable[tuple[int, int]], outputs: int, as_printed: bool) -> int:
    """Return the bytes of address space that a consensus on all rows of tables by path is likely to take.

    Parameters
    ----------
    tables : iterable of (int, int)
        Rows and columns of each.
    outputs : int
        Scores of a record: 1 for a number and for two classes.
    as_printed : bool
    """
    need = BY_PATH[as_printed]
    return int(BLOCKS * GIB + sum(m * (d * need.cell + need.record + outputs * need.score) for m, d in tables))


def need_of(name: str) -> MemoryNeed:
    """Return what a method of this name takes."""
    return find(name)._memory if name in METHODS else OTHERS


def shape_of(task: TrainingTask) -> Shape:
    """Return the shape of what is trained on, after the operations that make it smaller."""
    data = task.data
    if isinstance(data, Mapping):
        arrays = [value for value in data.values() if hasattr(value, "nbytes")]
        n = max((len(array) for array in arrays), default=0)
        return Shape(
            sum(a.nbytes for a in arrays), n, n, cells=sum(a.size for a in arrays), links=0, outputs=1, pairs=n
        )
    gone = {operation["name"] for operation in task.operations if operation["op"] in ("drop_source", "drop_graph")}
    # Samples multiply: half of a half is a quarter of the rows.
    share = 1.0
    for operation in task.operations:
        share *= operation["fraction"] if operation["op"] == "sample" else 1.0
    sources = {name: source for name, source in data.sources.items() if name not in gone}
    graphs = {name: graph for name, graph in data.graphs.items() if name not in gone}
    payload = sum(_bytes(source) for source in sources.values()) + sum(12 * len(g.indices) for g in graphs.values())
    stacked = task.form.get("form") == "domains"
    widths = {name: _width(source) for name, source in sources.items()}
    rows = sum(source.n_rows for source in sources.values()) if stacked else data.n
    # Codes are read by the columns that are named; other columns never become numbers.
    if task.form.get("form") == "codes":
        cells = data.n * len(task.form["columns"])
    elif task.form.get("form") == "table":
        cells = data.n * sum(widths.values())
    else:
        cells = sum(source.n_rows * widths[name] for name, source in sources.items())
    # Whichever domain is the target: no other has more pairs than the largest.
    pairs = max((source.n_rows for source in sources.values()), default=0) if stacked else rows
    outputs = len(data.classes) if data.target_kind == "classification" else 1
    links = sum(len(graph.indices) for graph in graphs.values())
    records = data.n if task.form else sum(source.n_rows for source in sources.values())
    scaled = (int(share * count) for count in (rows, max(rows, records), cells, links))
    return Shape(payload, *scaled, outputs, int(share * pairs))


def _width(source: Any) -> int:
    """Return the columns that a source becomes, at most."""
    if source.array is not None:
        # An array's width is its size a row, whatever shape a row has.
        return source.array[0].size
    # A column of n rows has at most n different values, and so becomes no more columns than that.
    return sum(min(WIDTHS.get(kind, 1), source.n_rows) for kind in source.kinds.values())


def _bytes(source: Any) -> int:
    if source.array is not None:
        return 30 * source.n_rows + source.array.nbytes
    # Of a table by path its rows and types tell enough: its frame would be the whole of it, read for this alone.
    return 30 * source.n_rows + (source.frame.estimated_size() if source.is_loaded else source.table_bytes)


def give_back() -> None:
    """Return freed memory to the system; glibc's allocator keeps what lies between blocks in use, thread by thread."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def free(job_limits: JobLimits) -> int:
    """Return the bytes that a training may take: what its process may have beside itself, and what the machine has."""
    # The limit of the process and the free memory both hold: the smaller decides.
    return max(0, min(job_limits.memory - PROCESS, psutil.virtual_memory().available))


PROCESS = 2 * GIB
"""Address space of a worker that has loaded and compiled everything."""


def why_not(task: TrainingTask | FunctionTask, job_limits: JobLimits) -> str:
    """Return why a training can't fit, with numbers; empty if it can, and for what is no training."""
    if not isinstance(task, TrainingTask):
        return ""
    need, there = needed(task), free(job_limits)
    if need <= there:
        return ""
    classes = shape_of(task).outputs
    # With few classes fewer of them help little, and it is the sources that make it large.
    cure = f"choose a label of fewer than its {classes:,} classes" if classes > MANY else "drop sources"
    return _too_large(need, there, f"{cure}, or sample the instances")


def why_not_by_path(tables: Iterable[tuple[int, int]], outputs: int, as_printed: bool, job_limits: JobLimits) -> str:
    """Return why all rows of tables by path can't be trained on here: see `needed_by_path`; empty if they can."""
    # Not what the machine has free: of address space about half is ever touched.
    need, there = needed_by_path(tables, outputs, as_printed), max(0, job_limits.memory - PROCESS)
    cure = "leave tables out, train on the sample, or give trainings more on the server (HETCORE_WORKER_GIB)"
    return "" if need <= there else _too_large(need, there, cure)


def _too_large(need: int, there: int, cure: str) -> str:
    return f"The training needs about {need / GIB:.1f} GB, {there / GIB:.1f} GB are free for a training: {cure}."
