"""Movie revenue: what a film took in at home, from what it is, and from the films that its producers made.

Films of Box Office Mojo up to 2015 that have domestic revenue and a named producer, and of these the largest component
of the network in which two films are linked when they share a producer: the kind of network of the paper on collective
inference with boosting. Revenue as listed there: dollars adjusted for ticket prices, here in millions.

No leakage: the tables hold what is fixed before the first showing (genres, rating, minutes, date, distributor, budget).
Revenue abroad and the films' ranks are never read. Some titles stand twice or more: those films are told apart by year,
and where that is the same too, by the line of the file.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import scipy

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from datasets._links import shared_edges
from hetcore.data import HetData

__all__ = ["MOVIE_REVENUE", "frames", "load"]

FILMS = RemoteFile(
    "csredino/Box-Office-Mojo-Scrapper",
    "cb35ecc6cb65579762f67d4969140dcc1737d5fe",
    "movie_data.csv",
    "636ce145cf9ecae341e89ae877fb4cae0181d8298ab8691c5f716983b0675f8f",
)
PRODUCERS = [f"producer{number}" for number in range(1, 7)]
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November")


def frames() -> Frames:
    """Return three tables, the producer graph and the revenue (millions of dollars) as polars frames.

    Tables: `genre` (one 0/1 flag a genre), `facts` (minutes, year, month, rating of the MPAA, distributor) and `budget`
    (millions of dollars, known for a part of the films). An edge's weight is the number of producers shared.
    """
    films, edges = _linked_films()
    flags = _genre_flags(films)
    facts = films.select("id", "minutes", "year", "month", "rating", "distributor")
    kinds = {"minutes": "real", "year": "real", "month": "real", "rating": "nominal", "distributor": "nominal"}
    return Frames(
        sources={"genre": flags, "facts": facts, "budget": films.select("id", "budget").drop_nulls()},
        graphs={"producer": edges},
        target=films.select("id", y="revenue"),
        kinds={
            "genre": dict.fromkeys(flags.columns[1:], "binary"),
            "facts": kinds,
            "budget": {"budget": "real"},
        },
    )


def _linked_films() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the films of the largest component, and their edges."""
    films = _films().filter(pl.col("revenue").is_not_null() & pl.any_horizontal(pl.col(PRODUCERS).is_not_null()))
    edges = shared_edges(films, PRODUCERS)
    kept = films.filter(_in_largest_component(films["id"], edges))
    return kept, edges.filter(pl.col("source").is_in(kept["id"].implode()))


def _in_largest_component(ids: pl.Series, edges: pl.DataFrame) -> pl.Series:
    place = {identifier: row for row, identifier in enumerate(ids)}
    ends = [edges[end].replace_strict(place, return_dtype=pl.Int64).to_numpy() for end in ("source", "target")]
    links = scipy.sparse.coo_array((np.ones(len(edges)), tuple(ends)), shape=(len(ids), len(ids)))
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(links, directed=False)
    return pl.Series(component == np.bincount(component).argmax())


def _films() -> pl.DataFrame:
    table = pl.read_csv(fetch(FILMS), infer_schema_length=None, null_values=["N/A"]).with_row_index("line", offset=2)
    month = pl.col("release").str.extract(r"^(\w+)")
    films = table.with_columns(
        title=pl.col("title").str.replace_all("<br/>", " ", literal=True).str.replace_all("</?[a-z]+>", ""),
        revenue=_millions("domestic"),
        budget=_millions("budget"),
        minutes=60.0 * _number("runtime", r"(\d+) hrs?") + _number("runtime", r"(\d+) min"),
        year=_number("release", r"(\d{4})$"),
        month=month.replace_strict({name: float(at) for at, name in enumerate((*MONTHS, "December"), 1)}, default=None),
    )
    return films.with_columns(id=_title_and_year())


def _millions(column: str) -> pl.Expr:
    """Read "$35,233,100" and "$7.5 million"."""
    number = pl.col(column).str.extract(r"^\$([\d,.]+)").str.replace_all(",", "", literal=True).cast(pl.Float64)
    return pl.when(pl.col(column).str.ends_with("million")).then(number).otherwise(number / 1e6)


def _number(column: str, pattern: str) -> pl.Expr:
    return pl.col(column).str.extract(pattern).cast(pl.Float64)


def _title_and_year() -> pl.Expr:
    name = (
        pl.when(pl.col("year").is_null())
        .then("title")
        .otherwise(pl.format("{} ({})", "title", pl.col("year").cast(pl.Int64)))
    )
    return pl.when(name.is_duplicated()).then(pl.format("{} [{}]", name, "line")).otherwise(name)


def _genre_flags(films: pl.DataFrame) -> pl.DataFrame:
    """Return one flag for each word between the slashes of "Comedy / Drama"; "Unknown" flags nothing."""
    named = films.with_columns(genres=pl.col("genre").str.split(" / "))
    levels = sorted(set(named["genres"].explode()) - {"Unknown", None})
    flags = [pl.col("genres").list.contains(level).fill_null(False).cast(pl.Int8).alias(level) for level in levels]
    return named.select("id", *flags)


def load() -> HetData:
    """Return the films as HetData: 3 tables, the producer graph, domestic revenue in millions of dollars as target."""
    return assemble(frames())


MOVIE_REVENUE = Dataset(
    name="movie_revenue",
    title="Movie revenue",
    story="3,486 films linked by shared producers: predict domestic revenue from genre, facts, budget and network.",
    task="regression",
    load=load,
    licence="None stated, scraped from Box Office Mojo: downloaded, never copied.",
    citation="Box Office Mojo, as collected in csredino/Box-Office-Mojo-Scrapper on GitHub.",
    files=(FILMS,),
)
