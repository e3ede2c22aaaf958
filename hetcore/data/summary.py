"""Views of a `HetData`: coverage, overlap of the sources, a summary, its digest, and how it prints."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetcore.data.fingerprint import hash_array, hash_column
from hetcore.data.markup import MOST_ROWS, bar, plain, stripes, table
from hetcore.data.spelling import id_joins
from hetcore.data.text import counted, listed

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["Views"]

PICTURE = 200
"""Instances of the coverage picture, at most."""


class Views:
    """The views of `HetData`."""

    def joins(self: HetData) -> pl.DataFrame:
        """Return how many ids each two of the sources, graphs and labels share, and how many nearly.

        Returns
        -------
        polars DataFrame, one row for each pair
            part, other, ids, other_ids, matched, nearly: see `hetcore.data.spelling.id_joins`. A graph's ids are those
            with a neighbour.
        """
        parts = {name: source.id_series for name, source in self.sources.items()}
        linked = {n: self.id_series.filter(pl.Series(graph.degree > 0)) for n, graph in self.graphs.items()}
        # a graph may be called as a source is
        parts |= {f"graph {name}" if name in parts else name: ids for name, ids in linked.items()}
        if self.labelled.any():
            parts["the labels"] = self.id_series.filter(pl.Series(self.labelled))
        return id_joins(parts)

    def coverage(self: HetData) -> pl.DataFrame:
        """Return what each source and graph covers.

        Returns
        -------
        polars DataFrame, one row per source and graph
            name; kind ("table", "array" or "graph"); instances (with a record, or with a neighbour); share of all
            instances in [0, 1]; only_here: instances that nothing else covers; columns (numbers per row of an array) or
            null; edges or null; missing_share of the cells in [0, 1] or null.
        """
        covered = self._covered
        alone = covered & (covered.sum(axis=0) == 1)
        names = [*self.sources, *self.graphs]
        sources, graphs = list(self.sources.values()), list(self.graphs.values())
        return pl.DataFrame(
            {
                "name": names,
                "kind": ["table" if s.array is None else "array" for s in sources] + ["graph"] * len(graphs),
                "instances": covered.sum(axis=1),
                "share": covered.mean(axis=1),
                "only_here": alone.sum(axis=1),
                "columns": [source.n_columns for source in sources] + [None] * len(graphs),
                "edges": [None] * len(sources) + [graph.n_edges for graph in graphs],
                "missing_share": [source.missing_share for source in sources] + [None] * len(graphs),
            },
            schema_overrides={"columns": pl.Int64, "edges": pl.Int64, "missing_share": pl.Float64},
        )

    @cached_property
    def _covered(self: HetData) -> np.ndarray:
        """Which source or graph says anything about which instance, (p + q, n) bool."""
        linked = [graph.degree > 0 for graph in self.graphs.values()]
        return np.vstack([self.mask, *linked])

    def overlap(self: HetData) -> pl.DataFrame:
        """Return each combination of sources that occurs, and how many instances have exactly it.

        Returns
        -------
        polars DataFrame, most frequent first
            sources (list of names, empty for instances without a record), n_sources, instances.
        """
        # packed to bytes: combinations of many sources are compared as a few numbers
        codes = np.packbits(self.mask, axis=0).T
        _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
        names = np.array(self.source_names, dtype=object)
        combinations = [names[self.mask[:, at]].tolist() for at in first]
        schema = {"sources": pl.List(pl.String), "n_sources": pl.Int64, "instances": pl.Int64}
        sizes = [len(combination) for combination in combinations]
        frame = pl.DataFrame({"sources": combinations, "n_sources": sizes, "instances": counts}, schema=schema)
        return frame.sort("instances", "n_sources", descending=True, maintain_order=True)

    def summary(self: HetData) -> str:
        """Return a few lines of text: sizes, labels, sources, graphs, number of findings."""
        lines = [f"{counted(self.n, 'instance')}, {self._label_words}"]
        for row in self.coverage().iter_rows(named=True):
            size = counted(row["edges"], "edge") if row["kind"] == "graph" else counted(row["columns"], "column")
            missing = f", {row['missing_share']:.0%} missing" if row["missing_share"] else ""
            covered = f"{counted(row['instances'], 'instance')} ({row['share']:.0%})"
            lines.append(f"{row['kind']} {row['name']!r}: {covered}, {size}{missing}")
        lines.append(f"{counted(len(self.report), 'finding')} in the report")
        return "\n".join([*lines, *(f"what-if: {step[:120]}" for step in self.steps)])

    @property
    def _label_words(self: HetData) -> str:
        count = int(self.labelled.sum())
        if count == 0:
            return "no labels"
        if self.target_kind == "classification":
            return f"{count:,} labelled, {counted(len(self.classes), 'class', 'classes')}: {listed(self.classes, 5)}"
        return f"{count:,} labelled with numbers from {np.nanmin(self.y):.6g} to {np.nanmax(self.y):.6g}"

    def digest(self: HetData) -> str:
        """Return the SHA-256 of the content (ids, sources, kinds, graphs, labels) in hexadecimal.

        Equal content has equal digests in every process; the way it was made (`steps`, `report`) does not count.
        """
        return self._digest

    @cached_property
    def _digest(self: HetData) -> str:
        sha = hashlib.sha256()
        hash_column(sha, self.id_series)
        for what, parts in (("Source", self.sources), ("Graph", self.graphs)):
            for name, part in parts.items():
                # what it is and its name too: the same content as another source is other data
                sha.update(f"{what}{name!r}{part.digest()}".encode())
        if self.y.dtype.kind == "f":
            hash_array(sha, self.y)
        else:
            hash_column(sha, pl.Series("y", self.y.tolist(), dtype=pl.String))
        sha.update(str(self.target_kind).encode())
        return sha.hexdigest()

    def __repr__(self: HetData) -> str:
        sources, graphs = listed(self.source_names), listed(self.graph_names)
        return f"HetData({counted(self.n, 'instance')}, {self._label_words}; sources {sources}; graphs {graphs})"

    def _repr_html_(self: HetData) -> str:
        findings = counted(len(self.report), "finding")
        words = f"{counted(self.n, 'instance')}, {self._label_words}, {findings} in the report"
        rows = [_row(each) for each in self.coverage().iter_rows(named=True)]
        return f"<div><p>{plain(words)}</p>{table(['', 'name', 'instances', 'size'], rows)}{self._picture}</div>"

    @property
    def _picture(self: HetData) -> str:
        """Which source has which instance: a row per source, instances sorted by the sources that have them."""
        mask = self.mask[:MOST_ROWS]
        # sorted, so that equal patterns lie together and the picture shows blocks
        order = np.lexsort(mask[::-1])[::-1]
        # evenly drawn, for the picture is as wide for a million instances
        places = np.unique(np.linspace(0, self.n - 1, min(self.n, PICTURE)).astype(int)) if self.n else []
        title = "Coverage: " + ", ".join(f"{name} {row.mean():.0%}" for name, row in zip(self.source_names, mask))
        return stripes(mask[:, order[places]].tolist(), title) if self.n else ""


def _row(part: dict[str, Any]) -> list[str]:
    """Return the cells of a source or a graph."""
    size = counted(part["edges"], "edge") if part["kind"] == "graph" else counted(part["columns"], "column")
    missing = f", {part['missing_share']:.0%} missing" if part["missing_share"] else ""
    covered = bar(part["share"], f"{part['instances']:,} ({part['share']:.0%})")
    return [plain(part["kind"]), plain(part["name"], 60), covered, plain(f"{size}{missing}")]
