"""Where the finished cells of the tables of results are: `python -m experiments` puts them there."""

from __future__ import annotations

from pathlib import Path

from experiments.cells import read as finished

__all__ = ["RESULTS", "finished"]

RESULTS = Path(__file__).parents[2] / "docs" / "results"
