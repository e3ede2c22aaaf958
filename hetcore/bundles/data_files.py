"""A `HetData` as files: Parquet for tables, arrays, links and labels, JSON for what holds them together.

    data.json                what each file is, kinds of columns, report, what-if steps, digest
    instances.parquet        id, label
    source-1.parquet         id, then the columns, or one column of the array's rows
    graph-1.parquet          source, target, weight: each edge once
    graph-1-arcs.parquet     source, target, weight: each arc of a directed or signed graph

Data that are read have the digest of those that were written, so a fit to them gives the same bits.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy

from hetcore.data import Finding, Graph, HetData, Report, Source
from hetcore.data.identity import positions
from hetcore.errors import DataError
from hetcore.model_files import as_path

__all__ = ["data_files", "parquet", "read_data", "write_data"]

FORMAT = 1
FACTS = "data.json"
INSTANCES = "instances.parquet"


def write_data(data: HetData, folder: str | os.PathLike[str]) -> None:
    """Write data as Parquet and JSON files, which `read_data` reads.

    Parameters
    ----------
    data : HetData
    folder : str or path
        Made if it is not there; files of these names in it are replaced.

    Raises
    ------
    DataError
        If the data are no HetData, or an array is of a type that Parquet does not hold.
    OSError
        If a file can't be written.

    Examples
    --------
    >>> data = HetData({"one": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})})
    >>> write_data(data, "two instances")
    >>> read_data("two instances").digest() == data.digest()
    True
    """
    if not isinstance(data, HetData):
        raise DataError(f"{type(data).__name__} is no HetData: build one from tables with hetcore.HetData.")
    # first: data that can't be written leave no folder behind
    folder = as_path(folder, "folder")
    files = data_files(data)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def data_files(data: HetData) -> dict[str, bytes]:
    """Return the content of the files of a data set by name; raises as `write_data` does."""
    sources = {name: f"source-{k}" for k, name in enumerate(data.sources, 1)}
    graphs = {name: f"graph-{k}" for k, name in enumerate(data.graphs, 1)}
    facts = {
        "format": FORMAT,
        "digest": data.digest(),
        "target_kind": data.target_kind,
        "label_name": data.label_name,
        "steps": list(data.steps),
        "report": _findings(data.report),
        "sources": [_source_facts(name, data.sources[name], stem) for name, stem in sources.items()],
        "graphs": [_graph_facts(name, data.graphs[name], stem) for name, stem in graphs.items()],
    }
    files = {FACTS: json.dumps(facts, ensure_ascii=False, indent=1).encode(), INSTANCES: parquet(_instances(data))}
    files |= {f"{stem}.parquet": parquet(_source_table(data.sources[name])) for name, stem in sources.items()}
    for name, stem in graphs.items():
        graph = data.graphs[name]
        files[f"{stem}.parquet"] = parquet(graph.to_frame())
        if graph.arcs is not None:
            files[f"{stem}-arcs.parquet"] = parquet(_arc_table(graph))
    return files


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a table as Parquet, values as they are."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _instances(data: HetData) -> pl.DataFrame:
    label = pl.Series(data.y) if data.y.dtype.kind == "f" else pl.Series(data.y.tolist(), dtype=pl.String)
    return pl.DataFrame([data.id_series.alias("id"), label.alias("label")])


def _findings(found: Any) -> list[dict[str, Any]]:
    return [dataclasses.asdict(each) for each in found]


def _source_facts(name: str, source: Source, stem: str) -> dict[str, Any]:
    shape = None if source.array is None else list(source.array.shape[1:])
    facts = {"name": name, "file": f"{stem}.parquet", "id_column": _id_column(source), "shape": shape}
    facts |= {"kinds": source.kinds, "guess": source.guess, "n_given": source.n_given}
    return facts | {"findings": _findings(source.findings)}


def _graph_facts(name: str, graph: Graph, stem: str) -> dict[str, Any]:
    arcs = None if graph.arcs is None else f"{stem}-arcs.parquet"
    facts = {"name": name, "file": f"{stem}.parquet", "arcs": arcs, "n_given": graph.n_given}
    return facts | {"findings": _findings(graph.findings)}


def _id_column(source: Source) -> str:
    """Return a name that no column of the source has."""
    name = "id"
    while name in source.columns:
        name += "_"
    return name


def _source_table(source: Source) -> pl.DataFrame:
    ids = source.id_series.alias(_id_column(source))
    if source.array is None:
        return pl.DataFrame([ids, *source.frame.iter_columns()])
    # One column of rows, for an image as a column a pixel would make thousands.
    rows = source.array.reshape(source.n_rows, -1)
    try:
        # Parquet has the machine's byte order alone.
        return pl.DataFrame([ids, pl.Series("array", np.ascontiguousarray(rows, rows.dtype.newbyteorder("=")))])
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise DataError(f"An array of type {rows.dtype} has no place in Parquet: make it float32 or float64.") from None


def _arc_table(graph: Graph) -> pl.DataFrame:
    flat = graph.arcs.tocoo()
    row, column = flat.coords
    return pl.DataFrame({"source": graph.id_series[row], "target": graph.id_series[column], "weight": flat.data})


# Reading --------------------------------------------------------------------------------------------------------------


def read_data(folder: str | os.PathLike[str]) -> HetData:
    """Read data that `write_data` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    HetData
        With the ids, values, links, labels, report and steps of the data that were written.

    Raises
    ------
    DataError
        If there is no such folder, it does not hold such data, or a file is not what was written.
    """
    folder = as_path(folder, "folder")
    if not folder.is_dir():
        raise DataError(
            f"{folder} is a file: give the folder of data that write_data wrote, unpacked."
            if folder.exists()
            else f"There is no folder {folder}: correct the path."
        )
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if facts["format"] != FORMAT:
            raise DataError(f"{folder} holds data of format {facts['format']}, not {FORMAT}: read it with its hetcore.")
        data = _data(folder, facts)
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, pl.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"{folder} holds no data that can be read ({reason}): write them again.") from None
    # The digest says that all files are there and belong together, whatever happened to the folder.
    if data.digest() != facts["digest"]:
        raise DataError(f"The files in {folder} are not those that were written together: write them again.")
    return data


def _data(folder: Path, facts: Mapping[str, Any]) -> HetData:
    instances = _table(folder, INSTANCES)
    ids, label = instances["id"], instances["label"]
    # Copied, for polars gives its own memory, which nobody may write to.
    y = np.array(label.to_list(), dtype=object) if label.dtype == pl.String else label.to_numpy().copy()
    return HetData.of_parts(
        ids,
        {each["name"]: _source(folder, each) for each in facts["sources"]},
        {each["name"]: _graph(folder, each, ids) for each in facts["graphs"]},
        y=y,
        target_kind=facts["target_kind"],
        label_name=facts["label_name"],
        report=Report(_read_findings(facts["report"])),
        steps=tuple(facts["steps"]),
    )


def _table(folder: Path, name: str) -> pl.DataFrame:
    # data.json may be from anybody: a name with folders would read elsewhere.
    if Path(name).name != name:
        raise ValueError(f"a file has the name {name!r}")
    return pl.read_parquet(folder / name)


def _read_findings(rows: list[dict[str, Any]]) -> tuple[Finding, ...]:
    return tuple(Finding(**row | {"examples": tuple(row["examples"])}) for row in rows)


def _source(folder: Path, facts: Mapping[str, Any]) -> Source:
    """Return a source as it was: its constructor would guess and check the kinds of the columns again."""
    table, source = _table(folder, facts["file"]), object.__new__(Source)
    source.id_series = table[facts["id_column"]].alias("id")
    source.frame, source.array = table.drop(facts["id_column"]), None
    if facts["shape"] is not None:
        values = table["array"].to_numpy().reshape(table.height, *facts["shape"])
        # As the constructor leaves it: nobody may change the data of a source.
        values.flags.writeable = False
        source.frame, source.array = None, values
    source.kinds, source.guess = facts["kinds"], {name: tuple(each) for name, each in facts["guess"].items()}
    source.n_given, source.findings = facts["n_given"], _read_findings(facts["findings"])
    return source


def _graph(folder: Path, facts: Mapping[str, Any], ids: pl.Series) -> Graph:
    edges = _table(folder, facts["file"])
    a, b = positions(edges["source"], ids), positions(edges["target"], ids)
    # In the order that was written: the order of edges decides the last bits of sums.
    graph = Graph(edges.clear()).with_edge_arrays(a, b, edges["weight"].to_numpy(), ids)
    graph.n_given, graph.findings = facts["n_given"], _read_findings(facts["findings"])
    if facts["arcs"] is not None:
        arcs = _table(folder, facts["arcs"])
        ends = positions(arcs["source"], ids), positions(arcs["target"], ids)
        graph.arcs = scipy.sparse.coo_array((arcs["weight"].to_numpy(), ends), shape=(len(ids),) * 2).tocsr()
    return graph
