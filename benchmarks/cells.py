"""Cells of a table of results, kept line by line, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "finished", "run_cells"]

RESULTS = Path(__file__).parent.parent / "docs" / "results"

Cell = dict[str, Any]
Key = tuple[Any, ...]


def finished(path: Path, names: Iterable[str]) -> dict[Key, Cell]:
    """Return the finished cells of a file by their key, the values of `names`."""
    names = list(names)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    cells = [json.loads(line) for line in lines]
    return {tuple(cell[name] for name in names): cell for cell in cells}


def run_cells(path: Path, names: Iterable[str], keys: Iterable[Key], run: Callable[..., Cell]) -> Iterator[Cell]:
    """Run the cells that the file does not hold yet, appending each as it is done.

    Parameters
    ----------
    path : Path
        A file of JSON lines, made when it is missing; others may append to it meanwhile.
    names : iterable of str
        What the values of a key are called, such as ("data", "method", "split").
    keys : iterable of tuple
        One per cell, in the order in which they are run.
    run : callable
        Called with a key's values; returns what the cell came to, JSON-able.

    Yields
    ------
    dict
        Each newly finished cell: its key by name, and what `run` returned.
    """
    names = list(names)
    for key in keys:
        if key not in finished(path, names):
            cell = dict(zip(names, key)) | run(*key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(cell) + "\n")
            yield cell
