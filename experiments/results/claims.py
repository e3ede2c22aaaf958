"""The first section of docs/results.md: a row for each sentence that a paper claims."""

from __future__ import annotations

from experiments import names, outcome, tables
from experiments.results.cells import RESULTS

__all__ = ["render"]


def render() -> str:
    """Return the section."""
    return tables.claimed([outcome(name, "full", RESULTS) for name in names()], "docs/results")
