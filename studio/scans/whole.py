"""A worker's data by path: scanned once, and again when a file has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hetcore.data import HetData
from hetcore.data.reading.parquet_files import ParquetTable
from studio.scans.allowed import required

__all__ = ["data_of"]

_kept: list[tuple[Any, HetData]] = []
"""The data scanned last, and what they were scanned from: only one, as their ids and labels are in memory."""


def data_of(scan: Mapping[str, Any], within: Sequence[str]) -> HetData:
    """Return the data of a scan, whose tables stay in their files.

    Parameters
    ----------
    scan : mapping
        See `studio.scans.parts.scan_of`.
    within : sequence of str
        Folders in which all files must lie, links resolved.

    Raises
    ------
    DataError
        As of `HetData.scan`.
    """
    files = _files(scan, required(within))
    if not _kept or _kept[0][0] != (files, scan):
        # Before the new ones are read, or both would be in memory.
        _kept.clear()
        _kept.append(((files, dict(scan)), _scanned(scan, within)))
    return _kept[0][1]


def _files(scan: Mapping[str, Any], within: Sequence[Path]) -> list[ParquetTable]:
    target = [scan["target"]["path"]] if scan["target"] else []
    return [ParquetTable.of(path, within, scan["id"]) for path in [*_paths(scan), *target]]


def _paths(scan: Mapping[str, Any]) -> list[str]:
    return [*scan["sources"].values(), *scan["graphs"].values()]


def _scanned(scan: Mapping[str, Any], within: Sequence[str]) -> HetData:
    target, key = scan["target"], scan["id"]
    labels = None
    if target is not None:
        table = ParquetTable.of(target["path"], required(within), key)
        labels = table.read([key, target["label"]])
    return HetData.scan(scan["sources"], scan["graphs"], labels, key, task=scan["task"], within=list(within))
