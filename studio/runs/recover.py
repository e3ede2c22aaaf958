"""What can still be read of a damaged SQLite file of runs, and of a database whose file was deleted."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from pathlib import Path

import sqlalchemy as sa

from studio.runs.database import DamagedError, Database
from studio.runs.run import Run

__all__ = ["pad", "recover", "taken_over"]

_MOST_ROWS = 100_000
"""Numbers of rows that are tried one by one where the table cannot be read in one go."""


def recover(damaged: Path, target: Database) -> int:
    """Copy the runs whose checksums hold from a damaged SQLite file; return how many."""
    saved = 0
    try:
        # Read-only: a damaged file must stay as it is, for somebody may try other tools.
        connection = sqlite3.connect(f"file:{damaged}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    connection.row_factory = sqlite3.Row
    # Broken text fails its checksum later; here it must not stop the reading.
    connection.text_factory = lambda text: text.decode(errors="replace")
    for row in _rows(connection):
        run = Run.from_row(dict(row))
        if run is not None:
            blobs = _readable(connection, "SELECT kind, content FROM blobs WHERE run = ?", (run.id,))
            saved += _taken(target, run, {blob["kind"]: bytes(blob["content"]) for blob in blobs})
    connection.close()
    return saved


def pad(damaged: Path) -> None:
    """Bring a file whose end was cut off to the length that it announces: SQLite reads nothing of a shorter one."""
    with contextlib.suppress(OSError):
        with damaged.open("rb") as file:
            header = file.read(100)
        if len(header) == 100 and header.startswith(b"SQLite format 3"):
            # Fields of SQLite's header: 1 stands for a page of 65536 bytes, which two bytes cannot hold.
            page, pages = struct.unpack(">H", header[16:18])[0], struct.unpack(">I", header[28:32])[0]
            announced = (65536 if page == 1 else page) * pages
            # A header that is damaged itself may announce anything; no sparse file of terabytes is made.
            if damaged.stat().st_size < announced < 2**40:
                os.truncate(damaged, announced)


def taken_over(source: Database, target: Database) -> int:
    """Copy the runs of an open database, whose file may be gone, into another one; return how many."""
    saved = 0
    with contextlib.suppress(sa.exc.SQLAlchemyError, sqlite3.Error):
        for run in source.runs(None)[0]:
            # Run by run, so that one that cannot be read costs only itself.
            with contextlib.suppress(sa.exc.SQLAlchemyError, sqlite3.Error, DamagedError):
                target.put(run, {kind: source.blob(run, kind) for kind in run.blobs})
                saved += 1
    return saved


def _rows(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """Return the rows of runs; where damage is in the way, those that can be reached by their numbers."""
    try:
        # In one go first: one by one is slow, and only damage makes it needed.
        return connection.execute("SELECT * FROM runs").fetchall()
    except sqlite3.Error:
        pass
    last = _readable(connection, "SELECT max(rowid) AS last FROM runs", ())
    # Where even the largest number cannot be read, a thousand is tried.
    most = min(_MOST_ROWS, last[0]["last"] or 0) if last else 1000
    numbers = range(1, most + 1)
    return [row for k in numbers for row in _readable(connection, "SELECT * FROM runs WHERE rowid = ?", (k,))]


def _readable(connection: sqlite3.Connection, query: str, arguments: tuple[str | int, ...]) -> list[sqlite3.Row]:
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
