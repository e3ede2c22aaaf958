"""Blogs: political blogs of 2004 with their links (polblogs), and bloggers with keywords and friends (blogcatalog).

polblogs (Adamic and Glance 2005): 1,490 blogs, left (758) or right (732), 19,016 directed links; 266 blogs have none.
The tables hold what a link list and an address tell: numbers of links in and out, and the address's host, length and
signs. The directories that list a blog are left out: one of them lists the left only, and some were the source of the
label.

blogcatalog: 5,196 bloggers, keywords cut to the 1,000 commonest (`_reading.words`), 171,743 links, six classes;
whole.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import classes, loadmat, local, sparse_edges, words
from hetcore.data import HetData

__all__ = ["PROBLEMS", "directed_links"]

COMMON_HOSTS = ("blogspot.com", "typepad.com")


def _parsed() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the blogs (id, address, value) and the links (source, target) of the GML file."""
    text = local("mbernico/CS570", "data/polblogs.gml").read_text(encoding="utf-8")
    nodes = re.findall(r'node \[\s+id (\d+)\s+label "([^"]*)"\s+value (\d)', text)
    links = re.findall(r"edge \[\s+source (\d+)\s+target (\d+)\s+\]", text)
    names = {number: f"blog-{int(number):04d}" for number, _, _ in nodes}
    rows = [(names[number], address, int(value)) for number, address, value in nodes]
    ends = [(names[a], names[b]) for a, b in links]
    return (
        pl.DataFrame(rows, schema=["id", "address", "value"], orient="row"),
        pl.DataFrame(ends, schema=["source", "target"], orient="row"),
    )


def directed_links() -> pl.DataFrame:
    """Return polblogs' links as they were set: `source` links to `target`, `weight` is 1."""
    return _parsed()[1].unique(maintain_order=True).with_columns(weight=pl.lit(1.0))


def load_polblogs() -> HetData:
    """Return the political blogs as HetData: 1,490 instances, 2 tables, 1 graph, 2 classes."""
    nodes, links = _parsed()
    tables = {"links": _link_counts(nodes["id"], links), "address": _addresses(nodes)}
    sides = pl.DataFrame({"id": nodes["id"], "y": classes(nodes["value"].to_numpy(), ("left", "right"))})
    return HetData(tables, {"links": _once(links)}, sides, id_column="id", task="classification")


def _once(links: pl.DataFrame) -> pl.DataFrame:
    """Return undirected links, each pair once, without self-links."""
    ends = links.select(source=pl.min_horizontal("source", "target"), target=pl.max_horizontal("source", "target"))
    return ends.filter(pl.col("source") != pl.col("target")).unique(maintain_order=True)


def _link_counts(ids: pl.Series, links: pl.DataFrame) -> pl.DataFrame:
    counts = pl.DataFrame({"id": ids})
    for name, end in {"links_out": "source", "links_in": "target"}.items():
        number = links.group_by(pl.col(end).alias("id")).agg(pl.len().cast(pl.Float64).log1p().alias(name))
        counts = counts.join(number, on="id", how="left", maintain_order="left")
    return counts.with_columns(pl.exclude("id").fill_null(0.0))


def _addresses(nodes: pl.DataFrame) -> pl.DataFrame:
    address = pl.col("address").str.to_lowercase()
    site = address.str.split("/").list.first()
    host = site.str.extract(r"([^.]+\.[^.]+)$")
    return nodes.select(
        "id",
        host=pl.when(host.is_in(COMMON_HOSTS)).then(host).otherwise(pl.lit("own or rare")),
        ending=site.str.extract(r"\.([a-z]+)$").fill_null("none"),
        length=address.str.len_chars(),
        dots=address.str.count_matches(r"\."),
        digits=address.str.count_matches(r"\d"),
        hyphens=address.str.count_matches("-"),
        path=address.str.contains("/"),
    )


def load_blogcatalog() -> HetData:
    """Return the bloggers as HetData: 5,196 instances, 1 table of 1,000 words, 1 graph, 6 classes."""
    held = loadmat("xhuang31/AANE_MATLAB", "BlogCatalog.mat")
    ids = [f"blogger-{row:04d}" for row in range(1, len(held["Label"]) + 1)]
    table = words(held["Attributes"]).insert_column(0, pl.Series("id", ids))
    target = pl.DataFrame({"id": ids, "y": classes(np.asarray(held["Label"]), "class")})
    graphs = {"friends": sparse_edges(ids, held["Network"])}
    return HetData({"keywords": table}, graphs, target, id_column="id", task="classification")


PROBLEMS = (
    SuiteProblem(
        "polblogs",
        "polblogs",
        GRAPH,
        task="classification",
        half="choosing",
        load=load_polblogs,
        story="1,490 political blogs: left or right, from links, their numbers and the address.",
    ),
    SuiteProblem(
        "blogcatalog",
        "blogcatalog",
        GRAPH,
        task="classification",
        half="reporting",
        load=load_blogcatalog,
        story="5,196 bloggers: tell the interest, one of six, from keywords and friends.",
    ),
)
