"""Airports by activity (Ribeiro, Saverese, Figueiredo 2017): Brazil, Europe, USA; four classes, quartiles of activity.

There are no features of airports, only the flights between them. HetData needs a table: `structure` holds what the
graph itself tells of a node (logarithms of 1 + degree, 1 + mean degree of the neighbours, and the clustering
coefficient).
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import polars as pl

from datasets._fetch import RemoteFile, fetch
from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import classes, remote
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

QUARTILES = ("quartile 0", "quartile 1", "quartile 2", "quartile 3")
COLUMNS = (["node", "label"], ["source", "target"])
SIZES = {"brazil": 131, "europe": 399, "usa": 1_190}


def _loader(country: str) -> Callable[[], HetData]:
    def load() -> HetData:
        labels, edges = (_read(country, file, names) for file, names in zip(_files(country), COLUMNS))
        edges = edges.filter(pl.col("source") != pl.col("target"))
        target = pl.DataFrame({"id": labels["node"], "y": classes(labels["label"].to_numpy(), QUARTILES)})
        tables = {"structure": structure(target["id"].to_list(), edges)}
        return HetData(tables, {"flights": _once(edges)}, target, id_column="id", task="classification")

    return load


def _files(country: str) -> tuple[RemoteFile, RemoteFile]:
    """Return the files of the labels and of the links."""
    names = f"labels-{country}-airports.txt", f"{country}-airports.edgelist"
    return tuple(remote("leoribeiro/struc2vec", f"graph/{name}") for name in names)


def _read(country: str, file: RemoteFile, columns: list[str]) -> pl.DataFrame:
    table = pl.read_csv(fetch(file), separator=" ", has_header="label" in columns, new_columns=columns)
    ends = [name for name in columns if name != "label"]
    return table.with_columns(pl.format(f"{country}-{{}}", pl.col(name)).alias(name) for name in ends)


def _once(edges: pl.DataFrame) -> pl.DataFrame:
    ends = edges.select(source=pl.min_horizontal("source", "target"), target=pl.max_horizontal("source", "target"))
    return ends.unique(maintain_order=True)


def structure(ids: list[str], edges: pl.DataFrame) -> pl.DataFrame:
    """Return degree, mean degree of the neighbours and clustering coefficient of each node; no label is read.

    Parameters
    ----------
    ids : list of str
        The nodes.
    edges : polars.DataFrame
        `source`, `target`; a pair may stand twice.
    """
    graph = nx.Graph(edges.select("source", "target").iter_rows())
    graph.add_nodes_from(ids)
    near, clustering = nx.average_neighbor_degree(graph), nx.clustering(graph)
    return pl.DataFrame(
        {
            "id": ids,
            "log_degree": np.log1p([graph.degree[node] for node in ids]),
            "log_near_degree": np.log1p([near[node] for node in ids]),
            "clustering": [float(clustering[node]) for node in ids],
        }
    )


PROBLEMS = tuple(
    SuiteProblem(
        f"airports_{country}",
        "airports",
        GRAPH,
        task="classification",
        half="reporting",
        load=_loader(country),
        story=f"{n:,} airports ({country}): tell the quartile of activity from the flights between them.",
        files=_files(country),
    )
    for country, n in SIZES.items()
)
