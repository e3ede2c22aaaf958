"""Tables in a folder that the workers of a cluster see too, each written once by what is in it: a run names paths.

    by_path(data, folder)       # the same data, tables of numbers and text in Parquet files below the folder

A file's name is the digest of its table, so that the same upload is one file, whoever brings it, and no file is ever
written again. What was written longest ago goes once all take more than `limits.SHARED_BYTES`, but never within a day,
for a training may read it.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from hetcore.data import HetData, Source
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.data.reading.scanned_source import ScannedSource
from studio.limits import SHARED_BYTES

__all__ = ["by_path", "folder"]

DAY = 86_400.0


def folder() -> Path | None:
    """Return the folder of HETCORE_SHARED, None where it is not set."""
    text = os.environ.get("HETCORE_SHARED", "").strip()
    return Path(text) if text else None


def by_path(data: HetData, where: Path) -> HetData:
    """Return the same data with their tables in Parquet files; arrays, and tables that are in files, stay.

    Parameters
    ----------
    data : HetData
    where : Path
        A folder, made where it is not there.

    Raises
    ------
    OSError
        If the folder can't be written to.
    """
    where.mkdir(parents=True, exist_ok=True)
    sources = {
        name: _scanned(source, where) if source.is_loaded and source.array is None else source
        for name, source in data.sources.items()
    }
    _make_room(where)
    facts = {name: getattr(data, name) for name in ("y", "target_kind", "label_name", "report", "steps")}
    return HetData.of_parts(data.id_series, sources, data.graphs, **facts)


def _scanned(source: Source, where: Path) -> ScannedSource:
    path, key = where / f"{source.digest()}.parquet", "id"
    # A table may have a column of this name beside its ids.
    while key in source.columns:
        key += "_"
    if not path.exists():
        # A random name first: no reader meets half a file, and two trainings may write the same one.
        draft = where / f".{secrets.token_hex(8)}"
        source.frame.clone().insert_column(0, source.id_series.alias(key)).write_parquet(draft)
        os.replace(draft, path)
    scanned = ScannedSource(ParquetTable.of(path, [where], key), key)
    # Read to its end: that is how a source that is scanned comes to know of its rows.
    for _ in scanned.read_ids():
        pass
    scanned.read_columns(source.kinds)
    return scanned


def _make_room(where: Path) -> None:
    """Delete what was written longest ago, and not today, until the others are within the limit."""
    facts = {path: path.stat() for path in where.glob("*.parquet")}
    total, now = sum(each.st_size for each in facts.values()), time.time()
    for path, each in sorted(facts.items(), key=lambda item: item[1].st_mtime):
        if total <= SHARED_BYTES or now - each.st_mtime < DAY:
            return
        # Another studio may have deleted it.
        with suppress(OSError):
            path.unlink()
        total -= each.st_size
