"""What a reader hands on."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from hetcore.data.report import Finding

__all__ = ["ParsedGraph", "ParsedTable"]


class ParsedTable(NamedTuple):
    """A table as read: text columns are still text, whatever they hold.

    Attributes
    ----------
    frame : polars.DataFrame
        Null where a cell is empty.
    guesses : list of str
        What was guessed about the file, a few words each.
    findings : list of Finding
        What was renamed, left out or is worth a look.
    delimiter : str
        What stands between columns, empty for formats that have no such thing.
    """

    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    delimiter: str = ""


class ParsedGraph(NamedTuple):
    """A graph as read: `edges` has "source", "target" (text) and perhaps "weight"; `nodes` has "id" and attributes."""

    edges: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    nodes: pl.DataFrame | None = None
