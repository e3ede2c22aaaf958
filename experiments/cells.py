"""Finished cells of a family of experiments: one JSON object a line while they are made, packed to Parquet afterwards.

`FAMILY.jsonl` is appended to, so that a run that was stopped goes on where it was and several may append at once.
`python -m experiments --pack` moves its cells to `FAMILY.parquet`; both are read, and a line counts before a row. In
Parquet a value that is a list or a mapping is JSON text, in a column whose name ends in ":json".
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import platformdirs
import polars as pl

__all__ = ["Cell", "Key", "append", "folder", "pack", "read", "rewrite"]

Cell = dict[str, Any]
Key = tuple[Any, ...]
NESTED = ":json"


def folder() -> Path:
    """Return where cells are kept unless told otherwise: "experiments" in HETCORE_HOME or the user's data folder."""
    home = os.environ.get("HETCORE_HOME") or platformdirs.user_data_dir("hetcore", appauthor=False)
    return Path(home).expanduser() / "experiments"


def read(path: Path, parts: Iterable[str]) -> dict[Key, Cell]:
    """Return the finished cells of a family by key.

    Parameters
    ----------
    path : Path
        The family's file of lines, which need not exist; its Parquet file lies beside it.
    parts : iterable of str
        Names of the values that make a key.

    Returns
    -------
    dict of tuple to dict
        A line that was torn is not there.
    """
    parts, found = list(parts), {}
    # Lines after rows: a cell that was run again counts as it came out last.
    for cell in [*_packed(path), *_lines(path)]:
        try:
            found[tuple(cell[part] for part in parts)] = cell
        # A line of another version, or of another family's key, is no cell of this one.
        except (KeyError, TypeError):
            continue
    return found


def _lines(path: Path) -> Iterable[Any]:
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        # The last line of a run that was killed may be half a one.
        except ValueError:
            continue


def _packed(path: Path) -> Iterable[Cell]:
    table = path.with_suffix(".parquet")
    for row in pl.read_parquet(table).iter_rows(named=True) if table.exists() else ():
        # A null is a value that was not finite; what a cell never had is left out, and both read alike.
        yield {
            name.removesuffix(NESTED): json.loads(value) if name.endswith(NESTED) else value
            for name, value in row.items()
            if value is not None or not name.endswith(NESTED)
        }


def append(path: Path, cell: Cell) -> None:
    """Add a finished cell in one write; numbers that are not finite become null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(_plain(cell), ensure_ascii=False) + "\n"
    # After half a line a new one begins, or the next cell would be lost with it.
    torn = path.exists() and path.stat().st_size and not path.read_bytes()[-1:] == b"\n"
    with path.open("a", encoding="utf-8") as file:
        # One write: several processes append at once, and lines must not mix.
        file.write(("\n" if torn else "") + line)


def rewrite(path: Path, cells: Iterable[Cell]) -> None:
    """Put these cells in the place of all that the family has, as Parquet; a file is replaced whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{_column(name, value): _cell(value) for name, value in _plain(cell).items()} for cell in cells]
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(draft, compression="zstd")
    # Parquet first and the lines away only then: whenever it stops, every cell is somewhere.
    os.replace(draft, path.with_suffix(".parquet"))
    path.unlink(missing_ok=True)


def pack(path: Path, parts: Iterable[str]) -> int:
    """Move the lines of a family to its Parquet file; return how many cells that holds now. Arguments as in `read`."""
    every = read(path, parts)
    if every:
        rewrite(path, every.values())
    return len(every)


def _column(name: str, value: Any) -> str:
    return name + NESTED if isinstance(value, dict | list) else name


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


# JSON has no NaN, and Python would write one that no other reader takes.
def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
