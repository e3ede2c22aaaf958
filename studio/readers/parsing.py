"""Reading one uploaded file, inside the sandbox: which format it is, the reader for it, and what goes back.

Nothing here is called in the studio's own process: see `studio.uploads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from hetcore.data.report import Finding
from hetcore.errors import DataError
from studio.messages import foreign
from studio.readers import binary, delimited, excel, gml, graphs, json_records, matrix_market, xml_graphs
from studio.readers.column_types import typed
from studio.readers.formats import recognised
from studio.readers.parsed import ParsedGraph, ParsedTable
from studio.streams import to_stream

__all__ = ["parse", "why_not"]

_TABLES: dict[str, Callable[..., ParsedTable]] = {
    "delimited": delimited.read,
    "json": json_records.read_records,
    "excel": excel.read,
    "parquet": binary.read_parquet,
    "arrow": binary.read_arrow,
}
_GRAPHS: dict[str, Callable[..., ParsedGraph]] = {
    "graphml": xml_graphs.read_graphml,
    "gexf": xml_graphs.read_gexf,
    "gml": gml.read_gml,
    "node-link": json_records.read_node_link,
    "matrix-market": matrix_market.read_matrix_market,
}


def parse(name: str, want: str, options: Mapping[str, Any], content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Read a file.

    Parameters
    ----------
    name : str
        Its name, for its ending and for sentences.
    want : str
        "table", "graph" or "images".
    options : mapping
        See `studio.uploads.Options`.
    content : bytes
        The file.

    Returns
    -------
    words : dict
        "guesses" (list of str) and "findings" (lists of a Finding's fields), JSON-able.
    blocks : list of bytes
        Arrow streams: the table; or the edges and, where the file has them, the nodes; or "id" and "pixels" of images,
        whose (height, width, channels) is "shape" in the words.

    Raises
    ------
    DataError
        If the file is not what is wanted.
    """
    if want == "images":
        return _images(name, content)
    file_format = recognised(name, want, content)
    if want == "table":
        table = typed(_TABLES[file_format](name, content, options), options)
        return _described(table.guesses, table.findings), [to_stream(table.frame)]
    graph = (
        _GRAPHS[file_format](name, content, options)
        if file_format in _GRAPHS
        else _edge_list(name, file_format, content, options)
    )
    frames = [graph.edges] if graph.nodes is None else [graph.edges, graph.nodes]
    return _described(graph.guesses, graph.findings), [to_stream(frame) for frame in frames]


def _images(name: str, content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    from studio.readers import images  # the imaging library is loaded for images only

    found = images.read(name, content)
    frame = pl.DataFrame({"id": found.ids, "pixels": found.pixels.reshape(len(found.ids), -1)})
    described = _described(found.guesses, found.findings) | {"shape": list(found.pixels.shape[1:])}
    return described, [to_stream(frame)]


def _edge_list(name: str, file_format: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    table = _TABLES[file_format](name, content, {**options, "edges": True})
    return graphs.edges_of_table(name, table, options)


def _described(guesses: list[str], findings: list[Finding]) -> dict[str, Any]:
    return {"guesses": guesses, "findings": [[f.kind, f.where, f.count, f.message, list(f.examples)] for f in findings]}


def why_not(name: str, error: BaseException) -> str:
    """Return the sentence for an error of a reader."""
    if isinstance(error, DataError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"{name} needs more memory than one upload may have: split it or leave columns out."
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply: export it as a plain table or edge list."
    reason = foreign(error, 120)
    return f"{name} could not be read ({reason}): it is damaged or not what its name says; save it anew as CSV."
