"""Ids of several sources become places in one list, with few of them in memory at a time.

    1  a source's ids are read batch by batch, and each batch is written to one file for each partition, by a hash
    2  equal ids are in one partition: each partition is read alone, and says of each id where it appeared first
    3  first appearances in their order are the list, and an id's place is the rank of its first appearance

In memory are the ids of a batch, those of a partition, and at the end the list itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["IdPartitions", "RepeatedIdError"]

PER_PARTITION = 1 << 21  # ids that are joined at once, about
MOST_PARTITIONS = 256


class RepeatedIdError(Exception):
    """An id that a source has twice: the source's number, the id, and its second place among the source's ids."""


class IdPartitions:
    """Ids by hash, on disk.

    Parameters
    ----------
    folder : Path
        An empty folder for the partitions' files.
    total : int
        How many ids there are, about: partitions are as many as it takes.
    """

    def __init__(self, folder: Path, total: int) -> None:
        self._folder = folder
        self._count = min(MOST_PARTITIONS, 1 + total // PER_PARTITION)
        self._files: list[list[Path]] = [[] for _ in range(self._count)]
        self._starts = [0]
        self._repeats: list[bool] = []

    def open(self, repeats: bool = False) -> None:
        """Begin the next source; its ids may repeat if `repeats`."""
        self._starts.append(self._starts[-1])
        self._repeats.append(repeats)

    def add(self, ids: pl.Series) -> None:
        """Take the next ids (m,) of the source, none of them null."""
        end = self._starts[-1] + len(ids)
        frame = pl.DataFrame({"id": ids, "at": np.arange(self._starts[-1], end, dtype=np.int64)})
        # the hash is that of this process: partitions end with it
        parts = frame.with_columns(part=ids.hash(0) % self._count).partition_by("part", as_dict=True, include_key=False)
        for (part,), rows in parts.items():
            file = self._folder / f"{part}-{len(self._files[part])}.arrow"
            rows.write_ipc(file)
            self._files[part].append(file)
        self._starts[-1] = end

    def places(self) -> tuple[pl.Series, list[NDArray[np.int64]]]:
        """Return the distinct ids (n,) in order of first appearance, and each source's places in them.

        Raises
        ------
        RepeatedIdError
            If a source that must not repeats an id.
        """
        # on disk: 8 bytes for each id of each source
        first = np.memmap(self._folder / "first", np.int64, "w+", shape=(max(1, self._starts[-1]),))
        found = [pl.DataFrame(schema={"id": pl.String, "at": pl.Int64})]
        for files in self._files:
            if files:
                found.append(self._joined(files, first))
        ids = pl.concat(found).sort("at")
        order = ids["at"].to_numpy()
        spans = zip(self._starts, self._starts[1:])
        return ids["id"].alias("id"), [np.searchsorted(order, first[start:stop]) for start, stop in spans]

    def _joined(self, files: list[Path], first: NDArray[np.int64]) -> pl.DataFrame:
        """Note where the ids of a partition appeared first; return the distinct ones and where."""
        frame = pl.concat([pl.read_ipc(file) for file in files])
        earliest = frame.with_columns(first=pl.col("at").min().over("id"))
        self._check_once(earliest)
        first[earliest["at"].to_numpy()] = earliest["first"].to_numpy()
        return earliest.filter(pl.col("at") == pl.col("first")).select("id", "at")

    def _check_once(self, earliest: pl.DataFrame) -> None:
        own = np.searchsorted(np.array(self._starts[1:]), earliest["at"].to_numpy(), side="right")
        twice = pl.select(pl.struct(pl.Series("first", earliest["first"]), pl.Series("own", own)).is_first_distinct())
        once = twice.to_series().to_numpy() | np.array(self._repeats)[own]
        if not once.all():
            row = int(np.flatnonzero(~once)[0])
            at = int(earliest["at"][row])
            raise RepeatedIdError(int(own[row]), earliest["id"][row], at - self._starts[own[row]])
