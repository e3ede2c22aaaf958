"""What a problem of the suite is, and what the domains of a transfer problem are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from datasets._fetch import RemoteFile, are_here
from hetcore.data import HetData

__all__ = ["CONSENSUS", "GRAPH", "USES", "Domains", "SuiteProblem"]

USES = ("consensus", "collective", "transfer", "noise")
CONSENSUS = ("consensus",)
GRAPH = ("consensus", "collective")


class Domains(NamedTuple):
    """Labelled tables of several domains, one of them the target.

    Attributes
    ----------
    target : str
        The domain that is to be predicted; any other may take its place by `_replace(target=...)`.
    tables : dict of str to polars.DataFrame
        By domain, its rows: numbers and text (categories), null where missing; columns may differ between domains.
    labels : dict of str to ndarray (m,)
        By domain, one label a row: text (object) for classes, float64 for numbers; none missing.
    task : {"classification", "regression"}
        What the labels are.
    """

    target: str
    tables: dict[str, pl.DataFrame]
    labels: dict[str, np.ndarray]
    task: str


@dataclass(frozen=True)
class SuiteProblem:
    """A problem of the suite.

    Attributes
    ----------
    name : str
        The name that `load` takes.
    family : str
        The data set that it comes from; all problems of a family are in the same half.
    kind : tuple of str
        What it is used for, out of `USES`.
    task : {"classification", "regression"}
        What its labels are.
    half : {"choosing", "reporting", "outside"}
        Where it may be looked at: while methods and defaults are chosen, for the figures that are reported, or to see
        how a default that stands does elsewhere.
    load : callable
        Returns HetData, or Domains for a transfer problem; downloads the files on first use.
    story : str
        One line: what the instances are, what is predicted, from what.
    files : tuple of RemoteFile
        What is downloaded, of the problems that an experiment's page offers.
    """

    name: str
    family: str
    kind: tuple[str, ...]
    task: str
    half: str
    load: Callable[[], HetData | Domains] = field(repr=False)
    story: str
    files: tuple[RemoteFile, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its files, if they are known, were downloaded before."""
        return are_here(self.files)
