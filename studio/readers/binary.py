"""Parquet, Arrow and Feather: limits from the footer first, then plain types."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

from hetcore.data.report import Finding
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.readers.columns import column_names, refuse_size
from studio.readers.parsed import ParsedTable, nested_columns

__all__ = ["read_arrow", "read_parquet"]


def read_parquet(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read a Parquet file.

    Raises
    ------
    DataError
        If it is damaged, larger than the limits, or has fewer than two columns of plain values.
    """
    try:
        file = pa.parquet.ParquetFile(io.BytesIO(content))
        # From the footer, before a single row is unpacked.
        refuse_size(name, file.metadata.num_rows, file.metadata.num_columns, bool(options.get("edges")))
        plain, findings = _single_values(name, file.schema_arrow)
        # Texts stay numbers of words for now: a small file can hold one long word a million times.
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        file = pa.parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts)
        # Nested columns are not unpacked, unless a column "a.b" shares its name with a field of "a".
        packed = file.read([*dict.fromkeys(file.schema_arrow.names[k] for k in plain)], use_threads=False)
        packed = packed.select([k for k, kind in enumerate(packed.schema.types) if _plain(kind)])
        table = _unpacked(name, packed)
        table.validate(full=True)  # text that is no UTF-8 would end in a panic of polars
    except (pa.ArrowException, OSError) as error:
        raise _damaged(name, "Parquet", error) from None
    return _finished(name, table, "Parquet", findings)


def _unpacked(name: str, table: pa.Table) -> pa.Table:
    """Return the table with words in place of their numbers, unless that takes too much memory."""
    for k in _refuse_many_categories(name, table):
        table = table.set_column(k, table.schema.field(k).name, table.column(k).cast(pa.string()))
    return table


def _refuse_many_categories(name: str, table: pa.Table) -> list[int]:
    """Return which columns hold words by their numbers; raise DataError if in full they take too much memory."""
    kinds = table.schema.types
    packed = [k for k, kind in enumerate(kinds) if pa.types.is_dictionary(kind) and _is_text(kind.value_type)]
    size = sum(_characters(chunk) for k in packed for chunk in table.column(k).chunks)
    # A quarter, for the words are there packed, unpacked and as the frame that goes back, with room to work.
    if size > UPLOADS.parser_memory // 4:
        raise DataError(f"{name} unpacks to {size / 2**20:,.0f} MB of text: split it or leave columns out.")
    return packed


def _characters(categories: pa.DictionaryArray) -> int:
    # Large strings: the offsets of small ones end at two gigabytes.
    lengths = pa.compute.binary_length(categories.dictionary.cast(pa.large_string()))
    return pa.compute.sum(lengths.take(categories.indices)).as_py() or 0


def read_arrow(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedTable:
    """Read an Arrow file, Arrow stream or Feather file (version 2).

    Raises
    ------
    DataError
        If it is damaged, larger than the limits, or has fewer than two columns of plain values.
    """
    # A stream and a file differ by the mark at the beginning; endings of names are not kept to.
    opened = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
    try:
        reader = opened(pa.BufferReader(content))
        # Rows of a stream are known only as they come, columns are known now.
        refuse_size(name, 0, len(reader.schema.names))
        plain, findings = _single_values(name, reader.schema)
        table = pa.Table.from_batches(_batches(name, reader, bool(options.get("edges"))), schema=reader.schema)
        table = table.select(plain)
        table.validate(full=True)  # before the words are counted: a number may be beyond them
        _refuse_many_categories(name, table)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(name, "Arrow", error) from None
    return _finished(name, table, "Arrow", findings)


def _batches(name: str, reader: Any, edges: bool) -> list[pa.RecordBatch]:
    batches, rows = [], 0
    source = map(reader.get_batch, range(reader.num_record_batches)) if hasattr(reader, "get_batch") else reader
    for batch in source:
        rows += batch.num_rows
        refuse_size(name, rows, batch.num_columns, edges)
        batches.append(batch)
    return batches


def _damaged(name: str, what: str, error: Exception) -> DataError:
    # Damage and want of memory look alike from far, and need different cures.
    if isinstance(error, pa.ArrowMemoryError):
        return DataError(f"{name} unpacks to more memory than one upload may have: split it or leave columns out.")
    return DataError(f"{name} is a damaged or cut off {what} file: write it anew, or save the table as CSV.")


def _single_values(name: str, schema: pa.Schema) -> tuple[list[int], list[Finding]]:
    """Return which columns hold single values, and name the others; raise DataError if they leave no table."""
    plain = [k for k, kind in enumerate(schema.types) if _plain(kind)]
    others = {each.name: _kind_name(each.type) for each in schema if not _plain(each.type)}
    return plain, nested_columns(name, others, len(plain))


def _kind_name(kind: pa.DataType) -> str:
    return str(kind).partition("<")[0].removeprefix("large_")


def _is_text(kind: pa.DataType) -> bool:
    # By name, for older versions of pyarrow have no test for it.
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def _plain(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_number = pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner)
    return (
        _is_text(inner)
        or is_number
        or pa.types.is_boolean(inner)
        or pa.types.is_temporal(inner)
        or pa.types.is_null(inner)
    )


def _finished(name: str, table: pa.Table, what: str, left_out: list[Finding]) -> ParsedTable:
    names, findings = column_names(table.schema.names)
    if table.num_rows == 0:
        raise DataError(f"{name} has columns but no rows: choose a file with at least one row.")
    if len(names) < 2:
        raise DataError(f"{name} has one column, but an id column and at least one more are needed.")
    # Names first, for polars refuses a table in which two columns have one name.
    frame = pl.DataFrame(_narrow(table.rename_columns(names)))
    return ParsedTable(frame.with_columns(_simple_types(frame)), [what], left_out + findings)


def _narrow(table: pa.Table) -> pa.Table:
    """Return the table with numbers in place of decimals of more than 38 digits, which Polars does not have."""
    for k, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pa.float64()))
    return table


def _simple_types(frame: pl.DataFrame) -> list[pl.Expr]:
    """Return casts of categories to text and decimals to numbers; other types stay."""
    casts = []
    for name, kind in frame.schema.items():
        if kind in (pl.Categorical, pl.Enum):
            casts.append(pl.col(name).cast(pl.String))
        # None of hetcore's methods tells these kinds apart, and numbers of exact decimals gain nothing from being
        # exact.
        elif kind in (pl.Decimal, pl.Null, pl.Float16):
            casts.append(pl.col(name).cast(pl.Float64))
    return casts
