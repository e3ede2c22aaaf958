"""Bitcoin OTC: who trusts whom among traders (Kumar et al. 2016), as a signed, directed graph in time.

35,592 ratings from -10 to 10. The target would leak through the graph's weights if both held the same ratings, so each
user's received ratings are cut in two by time: the **earlier half** (rounded down) makes the graphs and tables, and the
target is the **mean of the later half**. Instances are the 3,431 users who received two ratings or more; ratings given
by others count in the tables but are no links. HetData's graphs have no sign: positive ratings make `trust`, negative
ones `distrust`, each weighted by the rating's size. Many users have few ratings: the noise of the target is uneven.
"""

from __future__ import annotations

import polars as pl

from datasets.suite._problem import SuiteProblem
from datasets.suite._reading import local
from hetcore.data import HetData

__all__ = ["PROBLEMS", "directed_ratings"]

REPOSITORY = "Tech-with-Vidhya/Bitcoin_Network_Analytics_using_Python_NetworkX_and_Gephi"
DAY = 86_400.0


def _ratings() -> pl.DataFrame:
    """Return all ratings: source, target (ids), rating, day (from the first one), early (whether a feature)."""
    table = pl.read_csv(
        local(REPOSITORY, "data/soc-sign-bitcoinotc.csv"), new_columns=["source", "target", "rating", "time"]
    )
    ids = [pl.format("user-{}", pl.col(end).cast(pl.String).str.zfill(4)).alias(end) for end in ("source", "target")]
    table = table.with_columns(*ids, day=(pl.col("time") - pl.col("time").min()) / DAY).sort("target", "time")
    order, number = pl.int_range(pl.len()).over("target"), pl.len().over("target")
    return table.with_columns(number=number, early=order < number // 2).drop("time")


def _target(ratings: pl.DataFrame) -> pl.DataFrame:
    later = ratings.filter(~pl.col("early") & (pl.col("number") >= 2))
    return later.group_by("target", maintain_order=True).agg(y=pl.col("rating").mean()).rename({"target": "id"})


def directed_ratings() -> pl.DataFrame:
    """Return the early ratings among the instances as given: `source` rated `target`, `weight` is -10 to 10."""
    ratings = _ratings()
    users = _target(ratings)["id"].to_list()
    both = pl.col("source").is_in(users) & pl.col("target").is_in(users)
    early = ratings.filter(pl.col("early") & both & (pl.col("source") != pl.col("target")))
    return early.select("source", "target", weight=pl.col("rating").cast(pl.Float64))


def load() -> HetData:
    """Return the users as HetData: 3,431 instances, 2 tables, 2 graphs, a number from -10 to 10."""
    ratings = _ratings()
    target = _target(ratings)
    early = ratings.filter(pl.col("early"))
    tables = {"received": _received(early), "given": _given(early)}
    tables = {name: target.select("id").join(table, on="id", maintain_order="left") for name, table in tables.items()}
    edges = directed_ratings()
    graphs = {
        "trust": edges.filter(pl.col("weight") > 0),
        "distrust": edges.filter(pl.col("weight") < 0).with_columns(pl.col("weight").abs()),
    }
    return HetData(tables, graphs, target, id_column="id", task="regression")


def _received(early: pl.DataFrame) -> pl.DataFrame:
    """Return when and how often a user was rated before the cut; what was said is in the graphs only."""
    return early.group_by(pl.col("target").alias("id"), maintain_order=True).agg(
        log_received=pl.len().cast(pl.Float64).log(),
        first_received=pl.col("day").min(),
        last_received=pl.col("day").max(),
    )


def _given(early: pl.DataFrame) -> pl.DataFrame:
    rating = pl.col("rating")
    return early.group_by(pl.col("source").alias("id"), maintain_order=True).agg(
        log_given=pl.len().cast(pl.Float64).log(),
        mean_given=rating.mean(),
        least_given=rating.min(),
        largest_given=rating.max(),
        negative_given=(rating < 0).mean(),
        ones_given=(rating == 1).mean(),
        first_given=pl.col("day").min(),
        last_given=pl.col("day").max(),
    )


PROBLEMS = (
    SuiteProblem(
        "bitcoin_otc",
        "bitcoin_otc",
        ("consensus", "collective", "noise"),
        task="regression",
        half="choosing",
        load=load,
        story="3,431 Bitcoin traders: tell the mean of later ratings received from earlier ratings given and received.",
    ),
)
