"""What lies in a folder: tables, graphs and labels in Parquet, told from what their files say of themselves.

Each file `name.parquet`, and each folder that has such files in it, is one part. A part is guessed to be labels by its
name, a graph by its columns `source` and `target`, else a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.data.text import quoted
from hetcore.errors import DataError
from studio.scans.allowed import required

__all__ = ["MOST", "Part", "check_scan", "guess_id", "parts", "scan_of"]

MOST = 200
"""Parts of a folder at most."""
LABELS = ("label", "labels", "target", "targets", "y")
Part = Mapping[str, Any]
"""Of a part: its "name", "path", "role", "rows", "bytes" and "columns", whose types are by name."""


def parts(folder: str, within: Sequence[str]) -> list[dict[str, Any]]:
    """Return the parts of a folder; no row is read.

    Parameters
    ----------
    folder : str
    within : sequence of str
        Folders in which all files must lie, links resolved.

    Raises
    ------
    DataError
        If there is no part, there are too many, or one can't be read.
    """
    found = [each for each in sorted(Path(folder).iterdir()) if _is_part(each)]
    if not found:
        raise DataError(
            f"{quoted(folder, 100)} has no Parquet file, nor a folder of such files: choose another folder."
        )
    if len(found) > MOST:
        raise DataError(f"{quoted(folder, 100)} has {len(found):,} tables, at most {MOST} are opened: choose another.")
    return [_part(each, within) for each in found]


def _is_part(path: Path) -> bool:
    if path.name.startswith((".", "_")):
        return False
    return path.suffix == ".parquet" if path.is_file() else any(path.rglob("*.parquet"))


def _part(path: Path, within: Sequence[str]) -> dict[str, Any]:
    table = ParquetTable.of(path, required(within))
    columns = {name: str(dtype) for name, dtype in table.schema.items()}
    size = sum(size for size, _ in table.stamps)
    facts = {"name": path.stem if path.is_file() else path.name, "path": str(path), "rows": table.height, "bytes": size}
    return facts | {"columns": columns, "role": _role(facts["name"], columns)}


def _role(name: str, columns: Mapping[str, str]) -> str:
    if name.lower() in LABELS:
        return "labels"
    return "graph" if {"source", "target"} <= columns.keys() else "table"


def guess_id(found: Iterable[Part]) -> str:
    """Return the column that tables and labels share and that is most likely the id, empty if they share none."""
    tables = [list(part["columns"]) for part in found if part["role"] != "graph"]
    shared = [name for name in (tables[0] if tables else []) if all(name in columns for columns in tables)]
    named = [name for name in shared if name.lower() == "id" or name.lower().endswith(("_id", " id"))]
    return next(iter([*named, *shared]), "")


def scan_of(found: Iterable[Part], id_column: str, label: str, task: str | None) -> dict[str, Any]:
    """Return what is opened, JSON-able: paths by name, the id column, the label's file and column, the task.

    Raises
    ------
    DataError
        If there is no table, two parts have one name, there are labels twice, or a column is not there.
    """
    found = [part for part in found if part["role"] in ("table", "graph", "labels")]
    by_role = {role: [part for part in found if part["role"] == role] for role in ("table", "graph", "labels")}
    if not by_role["table"]:
        raise DataError("There is no table to learn from: use at least one part as a table.")
    if len(by_role["labels"]) > 1:
        raise DataError("Labels are in several parts: use one of them as labels.")
    for part in [*by_role["table"], *by_role["labels"]]:
        wanted = [id_column, label] if part["role"] == "labels" else [id_column]
        if missing := [name for name in wanted if name not in part["columns"]]:
            raise DataError(f"{part['name']} has no column {quoted(missing[0])}: choose another, or leave it out.")
    for part in by_role["graph"]:
        if not {"source", "target"} <= set(part["columns"]):
            raise DataError(f"{part['name']} is no graph without columns source and target: use it otherwise.")
    paths = {role: {part["name"]: part["path"] for part in group} for role, group in by_role.items()}
    if any(len(paths[role]) < len(group) for role, group in by_role.items()):
        raise DataError("Two parts have the same name: rename a file or a folder.")
    target = {"path": by_role["labels"][0]["path"], "label": label} if by_role["labels"] else None
    scan = {"sources": paths["table"], "graphs": paths["graph"], "target": target, "id": id_column}
    return scan | ({"task": task} if target else {"task": None})


def check_scan(scan: Any) -> None:
    """Refuse what is not as `scan_of` makes it: it may come from a file that was edited.

    Raises
    ------
    DataError
        If a part is missing or of another type.
    """
    fields = {"sources": dict, "graphs": dict, "target": dict | None, "id": str, "task": str | None}
    fits = isinstance(scan, dict) and scan.keys() == fields.keys()
    fits = fits and all(isinstance(scan[name], kind) for name, kind in fields.items())
    texts = [*_texts(scan["sources"]), *_texts(scan["graphs"]), *_texts(scan["target"] or {})] if fits else []
    target = {} if not fits or scan["target"] is None else scan["target"]
    if not (fits and scan["sources"] and all(isinstance(text, str) for text in texts)) or (
        target and target.keys() != {"path", "label"}
    ):
        raise DataError("The folder's tables are not named as in a recipe of data by path: open the folder again.")


def _texts(named: Mapping[Any, Any]) -> list[Any]:
    return [*named.keys(), *named.values()]
