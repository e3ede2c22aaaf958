"""Where the finished cells of the tables of results are: `python -m hetcore.experiments` puts them there."""

from __future__ import annotations

from pathlib import Path

from hetcore.experiments.cells import read as finished

__all__ = ["RESULTS", "finished"]

RESULTS = Path(__file__).parent.parent / "docs" / "results"
