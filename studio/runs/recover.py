"""What can still be read of a damaged SQLite file of runs."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from studio.runs.database import Database
from studio.runs.run import Run

__all__ = ["salvage"]


def salvage(damaged: Path, target: Database) -> int:
    """Copy the runs whose checksums hold from a damaged SQLite file; return how many."""
    saved = 0
    try:
        connection = sqlite3.connect(f"file:{damaged}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda text: text.decode(errors="replace")
    for row in _readable(connection, "SELECT * FROM runs", ()):
        run = Run.from_row(dict(row))
        if run is not None:
            blobs = _readable(connection, "SELECT kind, content FROM blobs WHERE run = ?", (run.id,))
            saved += _taken(target, run, {blob["kind"]: bytes(blob["content"]) for blob in blobs})
    connection.close()
    return saved


def _readable(connection: sqlite3.Connection, query: str, arguments: tuple[str, ...]) -> list[sqlite3.Row]:
    """Return the rows that come before the damage."""
    rows: list[sqlite3.Row] = []
    with contextlib.suppress(sqlite3.Error):
        rows.extend(connection.execute(query, arguments))
    return rows


def _taken(target: Database, run: Run, blobs: dict[str, bytes]) -> bool:
    try:
        target.add(run, blobs)
    except (sa.exc.SQLAlchemyError, sqlite3.Error):
        return False
    return True
