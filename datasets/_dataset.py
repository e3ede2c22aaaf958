"""What a data set of the registry is, and the frames from which its HetData is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from datasets._fetch import RemoteFile, are_here
from datasets._sizes import BYTES
from hetcore.data import HetData

__all__ = ["Dataset", "Frames", "assemble"]


class Frames(NamedTuple):
    """A heterogeneous data set as plain polars frames; ids are text.

    Attributes
    ----------
    sources : mapping of str to polars.DataFrame
        One table a source, with the id column `id`.
    graphs : mapping of str to polars.DataFrame
        One edge list a graph: `source`, `target` and, where edges differ, `weight`; each pair once.
    target : polars.DataFrame
        `id` and `y` (text labels, or numbers for a regression).
    kinds : mapping of str to mapping of str to str
        Column kinds ("real", "binary", "nominal", "text") by source, for all columns but the id.
    """

    sources: Mapping[str, pl.DataFrame]
    graphs: Mapping[str, pl.DataFrame]
    target: pl.DataFrame
    kinds: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Dataset:
    """A data set of the registry.

    Attributes
    ----------
    name : str
        The name that `datasets.load` takes.
    title : str
        The name that people read.
    story : str
        One line: what the instances are, what is predicted, from what.
    task : str
        "classification" or "regression".
    load : callable
        Returns the data as HetData; downloads the files on first use.
    licence : str
        What is known of the terms of use, in words.
    citation : str
        Whom to cite.
    files : tuple of RemoteFile
        What is downloaded; empty for a data set that is always there.
    """

    name: str
    title: str
    story: str
    task: str
    load: Callable[[], HetData] = field(repr=False)
    licence: str
    citation: str
    files: tuple[RemoteFile, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether it can be loaded without a network: its files, if it has some, were downloaded before."""
        return are_here(self.files)

    @property
    def size(self) -> int:
        """Bytes of its files, 0 without any."""
        return BYTES[self.name] if self.files else 0


def assemble(frames: Frames) -> HetData:
    """Return the HetData of some frames."""
    return HetData(frames.sources, frames.graphs, frames.target, id_column="id", kinds=frames.kinds)
