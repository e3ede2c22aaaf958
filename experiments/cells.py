"""Finished cells, one JSON object a line: a run that was stopped goes on where it was, several may append at once."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import platformdirs

__all__ = ["Cell", "Key", "append", "folder", "read", "rewrite"]

Cell = dict[str, Any]
Key = tuple[Any, ...]


def folder() -> Path:
    """Return where cells are kept unless told otherwise: "experiments" in HETCORE_HOME or the user's data folder."""
    home = os.environ.get("HETCORE_HOME") or platformdirs.user_data_dir("hetcore", appauthor=False)
    return Path(home).expanduser() / "experiments"


def read(path: Path, parts: Iterable[str]) -> dict[Key, Cell]:
    """Return the finished cells of a file by key, the values of `parts`; a line that was torn is not there."""
    parts, found = list(parts), {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            cell = json.loads(line)
            found[tuple(cell[part] for part in parts)] = cell
        except (ValueError, KeyError, TypeError):
            continue
    return found


def append(path: Path, cell: Cell) -> None:
    """Add a finished cell in one write; numbers that are not finite become null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(_plain(cell), ensure_ascii=False) + "\n"
    torn = path.exists() and path.stat().st_size and not path.read_bytes()[-1:] == b"\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + line)


def rewrite(path: Path, cells: Iterable[Cell]) -> None:
    """Put a file of these cells in the place of the old one, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text("".join(json.dumps(_plain(cell), ensure_ascii=False) + "\n" for cell in cells), "utf-8")
    os.replace(draft, path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
