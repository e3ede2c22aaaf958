"""MovieLens 100K (GroupLens): 100,000 ratings from 1 to 5 of 1,682 films by 943 users, at least 20 by each."""

from __future__ import annotations

import polars as pl

from datasets._dataset import Dataset
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["MOVIELENS_100K", "load", "ratings"]


def _file(name: str, sha256: str) -> RemoteFile:
    commit = "7af16a4ee23edcd7ce3cd9acc1f8961729bfabc2"
    return RemoteFile("Raffaello/scala-spark-movie-demo", commit, f"ml-100k/{name}", sha256)


RATINGS = _file("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490")
FILMS = _file("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701")


def ratings() -> pl.DataFrame:
    """Return a row per rating: user, item (text), rating; items are titles, with their number where two share one."""
    names = ["user", "number", "rating", "at"]
    table = pl.read_csv(fetch(RATINGS), separator="\t", has_header=False, new_columns=names)
    return table.join(_titles(), on="number", how="left", maintain_order="left").select(
        pl.col("user").cast(pl.String), "item", pl.col("rating").cast(pl.Float64)
    )


def _titles() -> pl.DataFrame:
    lines = [line.split("|") for line in fetch(FILMS).read_text("latin-1").splitlines()]
    titles = pl.DataFrame({"number": [int(line[0]) for line in lines], "item": [line[1] for line in lines]})
    numbered = pl.format("{} #{}", "item", "number")
    return titles.with_columns(pl.when(pl.col("item").is_duplicated()).then(numbered).otherwise("item").alias("item"))


def load() -> HetData:
    """Return the ratings as HetData: source "ratings" with the columns user and item; ids are record numbers."""
    table = ratings().with_row_index("id", offset=1).with_columns(pl.col("id").cast(pl.String))
    kinds = {"ratings": {"user": "nominal", "item": "nominal"}}
    target = table.select("id", pl.col("rating").alias("y"))
    return HetData({"ratings": table.select("id", "user", "item")}, target=target, id_column="id", kinds=kinds)


MOVIELENS_100K = Dataset(
    name="movielens_100k",
    title="MovieLens 100K",
    story="100,000 ratings of 1,682 films by 943 users: tell a user's rating of a film, and how far to trust it.",
    task="regression",
    load=load,
    licence="GroupLens: research use, no redistribution, acknowledgement in publications.",
    citation="Harper, F. M., Konstan, J. A. (2015). The MovieLens datasets: history and context. ACM Transactions on "
    "Interactive Intelligent Systems 5(4).",
    files=(RATINGS, FILMS),
)
