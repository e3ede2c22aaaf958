"""Data of a given size, for what a training needs in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

import hetcore as hc

__all__ = ["Size", "domains", "modalities", "ratings", "tables"]


class Size(NamedTuple):
    """Rows of each table, columns of each, classes (0: numbers), links of a node, tables; if columns are skewed."""

    n: int
    d: int
    n_classes: int = 0
    links: int = 0
    tables: int = 2
    skewed: bool = False


def _labels(n: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    if not n_classes:
        return rng.normal(size=n)
    return np.array([f"class {k}" for k in rng.integers(0, n_classes, n)])


def _columns(n: int, d: int, rng: np.random.Generator, skewed: bool = False) -> dict[str, np.ndarray]:
    drawn = rng.lognormal if skewed else rng.normal
    return {f"x{j}": drawn(size=n) for j in range(d)}


def tables(size: Size) -> hc.HetData:
    """Return tables and a graph about the same instances, 70% of them with a label."""
    rng, ids = np.random.default_rng(0), np.array([f"i{k}" for k in range(size.n)])
    columns = [_columns(size.n, size.d, rng, size.skewed) for _ in range(size.tables)]
    sources = {f"s{s}": pl.DataFrame({"id": ids} | each) for s, each in enumerate(columns)}
    ends = rng.integers(0, size.n, (2, size.n * size.links))
    graphs = {"g": pl.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})} if size.links else {}
    known = rng.random(size.n) < 0.7
    task = "classification" if size.n_classes else "regression"
    return hc.HetData(sources, graphs, (ids[known], _labels(size.n, size.n_classes, rng)[known]), task=task)


def domains(size: Size) -> hc.HetData:
    """Return tables with the same columns about other instances each."""
    rng, sources, every = np.random.default_rng(0), {}, []
    for s in range(size.tables):
        ids = np.array([f"s{s}/{k}" for k in range(size.n)])
        sources[f"s{s}"] = pl.DataFrame({"id": ids} | _columns(size.n, size.d, rng))
        every.append(ids)
    ids = np.concatenate(every)
    return hc.HetData(sources, target=(ids, _labels(len(ids), size.n_classes or 2, rng)), task="classification")


def ratings(size: Size) -> hc.HetData:
    """Return n records of codes in three columns, d of each, and their values."""
    rng, ids = np.random.default_rng(0), [str(k) for k in range(size.n)]
    codes = {name: rng.integers(0, size.d, size.n).astype(str) for name in ("user", "item", "mode3")}
    return hc.HetData({"r": pl.DataFrame({"id": ids} | codes)}, target=(ids, rng.normal(size=size.n)))


def modalities(size: Size) -> hc.HetData:
    """Return a table and arrays about the same instances."""
    rng, ids = np.random.default_rng(0), [f"i{k}" for k in range(size.n)]
    table = pl.DataFrame({"id": ids} | _columns(size.n, size.d, rng))
    arrays = hc.Source(ids, rng.normal(size=(size.n, size.d)).astype(np.float32))
    y = _labels(size.n, size.n_classes or 2, rng)
    return hc.HetData({"table": table, "array": arrays}, target=(ids, y), task="classification")
