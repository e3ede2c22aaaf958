"""Tables as bytes in the Arrow IPC stream format: what the run store keeps and what a parser's child process sends."""

from __future__ import annotations

import io
from typing import Literal

import polars as pl

__all__ = ["from_stream", "to_stream"]


def to_stream(frame: pl.DataFrame, compression: Literal["uncompressed", "zstd"] = "uncompressed") -> bytes:
    """Return a table as bytes.

    A copy of the handle, not of the data, is written: Polars 2.1 holds the lock of a frame that it writes to a Python
    buffer while it waits for the interpreter's lock, and a thread that reads the same frame waits the other way round,
    which stops the whole process for ever.
    """
    buffer = io.BytesIO()
    frame.clone().write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


def from_stream(content: bytes) -> pl.DataFrame:
    """Return the table that `to_stream` wrote."""
    return pl.read_ipc_stream(io.BytesIO(content))
