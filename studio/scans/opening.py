"""A worker opens data by path: statistics of all rows, and a sample that the pages work with.

    found = opened(scan, within)          # scan: see `studio.scans.parts.scan_of`
    found["recipe"], found["files"]       # of the sample, as of uploaded files; the recipe has the scan beside it

All rows are read in streaming, some row groups at a time. Missing values, least and greatest are exact. The others are
sketches, and shown as "about": different values by HyperLogLog (polars' approx_n_unique, some per cent off), and
instances, their coverage and quantiles from a coordinated sample: an instance is drawn where the hash of its id is
below a share of all hashes, so that the same instances are drawn in every table. A count from m drawn instances has a
standard error of sqrt((1 - share) / m) of itself, the rank of a quantile one of at most .5 / sqrt(m).

The hashes are those of polars, whose other versions draw another sample: a sample that was opened is kept.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hetcore.data.columns import PATTERN
from hetcore.data.identity import as_ids
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.data.text import quoted
from hetcore.errors import DataError
from studio.scans.allowed import required

__all__ = ["INSTANCES", "QUANTILES", "SUMMARY", "about", "opened"]

INSTANCES = 2_000
"""Of the sample that pages work with."""
ROWS, CELLS = 50_000, 4_000_000
"""Drawn of the longest table for coverage and quantiles, at most."""
FEWEST = 20
"""Records of each table in the sample, where it has so many: a table without any can't be shown."""
COLUMNS, PATTERNS, EDGES = 40, 12, 100_000
"""Columns of a table whose statistics are made, sets of tables whose instances are counted, edges of the sample."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SUMMARY = "summary.json"
SEED, HASHES = 7, 2**64
ID = "id"
"""What the id column is called in the frames here, and the label column beside it "label"."""
Frames = Mapping[str, pl.DataFrame]


def opened(scan: Mapping[str, Any], within: Sequence[str]) -> dict[str, Any]:
    """Return the recipe and the files of a sample, the statistics of all rows among them.

    Parameters
    ----------
    scan : mapping
        See `studio.scans.parts.scan_of`.
    within : sequence of str
        Folders in which all files must lie, links resolved.

    Raises
    ------
    DataError
        If a file can't be read or lies outside, or a table has no row or no id column.
    """
    allowed, key = required(within), scan["id"]
    tables = {name: ParquetTable.of(path, allowed, key) for name, path in scan["sources"].items()}
    graphs = {name: ParquetTable.of(path, allowed) for name, path in scan["graphs"].items()}
    share = _share(tables.values())
    drawn = {name: _drawn(name, table, key, share) for name, table in tables.items()}
    labels, n_labels = _labels(scan, share, allowed)
    chosen = _chosen({name: frame[key] for name, frame in drawn.items()}, labels)
    facts = {"share": share, "sources": {name: _statistics(tables[name], drawn[name], key) for name in tables}}
    facts |= _coverage({name: frame[key] for name, frame in drawn.items()}, share)
    facts |= {"graphs": {name: table.height for name, table in graphs.items()}, "labels": n_labels}
    frames = {name: frame.filter(pl.col(key).is_in(chosen.implode())) for name, frame in drawn.items()}
    edges = {name: _edges(table, chosen) for name, table in graphs.items()}
    recipe, files = _recipe(scan, frames, edges, labels.filter(pl.col(key).is_in(chosen.implode())))
    return {"recipe": recipe, "files": files | {SUMMARY: json.dumps(facts, default=str).encode()}}


def about(count: int) -> int:
    """Return a count that was estimated with the three digits that are worth showing; a small one is as it is."""
    return int(float(f"{count:.3g}"))


# What is drawn --------------------------------------------------------------------------------------------------------


def _share(tables: Any) -> float:
    """Return the share of all instances that is drawn."""
    return min(1.0, *(min(ROWS, CELLS // len(table.schema)) / max(table.height, 1) for table in tables))


def _as_ids(key: str) -> pl.Expr:
    """Return the ids as text, as the library reads them."""
    return pl.col(key).map_batches(lambda values: as_ids(values)[0], return_dtype=pl.String, is_elementwise=True)


def _is_drawn(key: str, share: float) -> pl.Expr:
    # Hashes are whole numbers below 2**64, of which the largest is no threshold that polars takes.
    below = pl.col(key).hash(SEED) < pl.lit(int(share * HASHES), dtype=pl.UInt64) if share < 1 else pl.lit(True)
    return pl.col(key).is_not_null() & below


def _drawn(name: str, table: ParquetTable, key: str, share: float) -> pl.DataFrame:
    """Return the records of the drawn instances, and the first ones of a table where these are too few."""
    if key not in table.schema:
        raise DataError(f"Source {quoted(name)}: there is no id column {quoted(key)}, choose one that all tables have.")
    found = table.collect(lambda rows: rows.with_columns(_as_ids(key)).filter(_is_drawn(key, share)))
    if found.height < FEWEST:
        first = table.read(list(table.schema), 0, min(table.height, FEWEST)).with_columns(_as_ids(key))
        found = pl.concat([found, first.filter(pl.col(key).is_not_null())])
    if found.is_empty():
        raise DataError(f"Source {quoted(name)}: there is no row with an id: give at least one record.")
    return found.unique(key, keep="first", maintain_order=True)


def _labels(scan: Mapping[str, Any], share: float, within: Sequence[Path]) -> tuple[pl.DataFrame, int]:
    """Return the labels of the drawn instances, and how many labels there are of all."""
    target, key = scan["target"], scan["id"]
    if target is None:
        return pl.DataFrame(schema={key: pl.String}), 0
    table, column = ParquetTable.of(target["path"], within, key), target["label"]
    n_labels = table.collect(lambda rows: rows.select(pl.col(column).is_not_null().sum())).item()
    wanted = table.collect(
        lambda rows: rows.select(_as_ids(key), column).filter(_is_drawn(key, share) & pl.col(column).is_not_null())
    )
    return wanted.unique(key, keep="first", maintain_order=True), int(n_labels)


def _chosen(drawn: Mapping[str, pl.Series], labels: pl.DataFrame) -> pl.Series:
    """Return the ids of the sample: half of them with a label where there are so many, and some of each table."""
    ids = pl.concat([each.alias(ID) for each in drawn.values()]).unique().to_frame()
    # In the order of another hash than the one they were drawn by: the first ones are again drawn at random.
    ids = ids.sort(pl.col(ID).hash(SEED + 1))[ID]
    known = ids.filter(ids.is_in(labels[:, 0].implode())).head(INSTANCES // 2)
    others = ids.filter(~ids.is_in(known.implode())).head(INSTANCES - len(known))
    few = [each.head(FEWEST).alias(ID) for each in drawn.values()]
    return pl.concat([known, others, *few]).unique(maintain_order=True)


def _edges(table: ParquetTable, chosen: pl.Series) -> pl.DataFrame:
    """Return edges between instances of the sample."""
    ends, ids = ("source", "target"), chosen.implode()
    named = table.collect(
        lambda rows: rows.with_columns(_as_ids(end) for end in ends).filter(pl.col(end).is_in(ids) for end in ends)
    )
    return named.head(EDGES)


# What is told ---------------------------------------------------------------------------------------------------------


def _statistics(table: ParquetTable, drawn: pl.DataFrame, key: str) -> dict[str, Any]:
    """Return the rows, columns and bytes of a table, and the statistics of its first columns."""
    # A name that stands for several columns would ask for those.
    named = [name for name in table.schema if name != key and not PATTERN.fullmatch(name)]
    flat = [name for name in named if not table.schema[name].is_nested()][:COLUMNS]
    size = sum(size for size, _ in table.stamps)
    facts = {"rows": table.height, "columns": len(table.schema) - 1, "bytes": size}
    # Not-a-number is how floats say missing, and is no greatest value either.
    values = [pl.col(name).fill_nan(None) if table.schema[name].is_float() else pl.col(name) for name in flat]
    asked = [ask(each).alias(f"{k} {j}") for j, each in enumerate(values) for k, ask in ASKED.items()]
    found = table.collect(lambda rows: rows.select(asked)).row(0, named=True) if flat else {}
    return facts | {"statistics": [_column(table, drawn, name, j, found) for j, name in enumerate(flat)]}


ASKED = {
    "missing": pl.Expr.null_count,
    "different": pl.Expr.approx_n_unique,
    "least": pl.Expr.min,
    "greatest": pl.Expr.max,
}


def _column(table: ParquetTable, drawn: pl.DataFrame, name: str, j: int, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column's statistics, JSON-able: least, greatest and quantiles of numbers only."""
    dtype = table.schema[name]
    missing = found[f"missing {j}"]
    # The sketch may be some per cent above what there is.
    different = min(found[f"different {j}"], table.height - missing)
    facts = {"column": name, "type": _in_words(dtype), "missing": missing, "different": about(different)}
    if not dtype.is_numeric():
        return facts
    values = drawn[name].fill_nan(None) if dtype.is_float() else drawn[name]
    quantiles = {f"{quantile:.0%}": values.quantile(quantile) for quantile in QUANTILES}
    return facts | {"least": found[f"least {j}"]} | quantiles | {"greatest": found[f"greatest {j}"]}


def _in_words(dtype: pl.DataType) -> str:
    """Return what a column holds, in words; polars' name of what has none."""
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "date or time"
    return {pl.Boolean: "true or false", pl.String: "text"}.get(dtype.base_type(), str(dtype))


def _coverage(drawn: Mapping[str, pl.Series], share: float) -> dict[str, Any]:
    """Return how many instances the tables have, its standard error, and how many each set of tables has."""
    frames = [
        pl.DataFrame({ID: ids, "place": pl.Series([place] * len(ids), dtype=pl.Int64)}).filter(_is_drawn(ID, share))
        for place, ids in enumerate(drawn.values())
    ]
    sets = pl.concat(frames).group_by(ID).agg(pl.col("place").sort())
    counted = sets.group_by("place").len().sort("len", "place", descending=[True, False]).head(PATTERNS)
    names, total = list(drawn), sets.height
    patterns = [{"sources": [names[k] for k in places], "share": count / total} for places, count in counted.rows()]
    error = ((1 - share) / max(total, 1)) ** 0.5
    return {"instances": round(total / share), "error": error, "drawn": total, "patterns": patterns}


# The sample -----------------------------------------------------------------------------------------------------------


def _recipe(
    scan: Mapping[str, Any], frames: Frames, edges: Frames, labels: pl.DataFrame
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return recipe and files of the sample, as `studio.recipes` has them of uploaded files."""
    key = scan["id"]
    files = {f"table-{k}.parquet": frame for k, frame in enumerate(frames.values())}
    # As written: "001" is another id than "1".
    sources = [
        {"name": name, "file": f"table-{k}.parquet", "id": key, "options": {"text_columns": [key]}}
        for k, name in enumerate(frames)
    ]
    # A graph none of whose edges is between instances of the sample can't be read.
    linked = {name: frame for name, frame in edges.items() if frame.height}
    files |= {f"graph-{k}.parquet": frame for k, frame in enumerate(linked.values())}
    ends = {"text_columns": ["source", "target"]}
    graphs = [{"name": name, "file": f"graph-{k}.parquet", "options": ends} for k, name in enumerate(linked)]
    recipe: dict[str, Any] = {"sources": sources, "graphs": graphs, "scan": dict(scan)}
    if scan["target"] is not None and labels.height:
        files["labels.parquet"] = labels
        written = {"id": key, "options": {"text_columns": [key]}}
        recipe["target"] = {"file": "labels.parquet", "column": scan["target"]["label"]} | written
        recipe["task"] = scan["task"]
    return recipe, {name: _parquet(frame) for name, frame in files.items()}


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
