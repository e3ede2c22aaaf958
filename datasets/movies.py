"""Movie ratings: what a film is known for before anybody has seen it, who made it, and how well it was liked.

Films of Box Office Mojo (1990 to 2020) with their IMDb rating. The rating comes from the IMDb table by IMDb id, and for
films that it lacks from the second IMDb table by exact title and year: 2,368 + 661 = 3,029 films.

No leakage: the tables hold only what is fixed before the first showing (plot outline, keywords, genres, rating of the
MPAA, minutes, date). Votes, reviews, likes, revenue, other scores and the budget's return are never read. The keywords
come from the table of IMDb ids alone, so that this source covers 2,361 of the films: a real block of missing records.
One film stands twice, under two IMDb ids ("Dora and the Lost City of Gold"): both are kept, told apart by the id.
"""

from __future__ import annotations

import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from datasets._links import shared_edges
from hetcore.data import HetData

__all__ = ["MOVIE_RATINGS", "frames", "load"]

FILMS = RemoteFile(
    "zsowen/Movie_Database",
    "3d8b14300f68730452f1404fd5f42837a1b62ecd",
    "Resources/Mojo_budget_update.csv",
    "23f1a2dfd999422dd5be7ec0c3b8853ae9e76dd9ee23005f6e2c5817636ed2b1",
)
RATED_BY_ID = RemoteFile(
    "cynricfu/MAGNN",
    "b8557f58ae04a7fe3e7a9fde64ea87c81b331efe",
    "data/raw/IMDB/movie_metadata.csv",
    "74e4a9af314eea255147a6d48a5678ad7d0be3cb8ba3fdb819ef6edddb36e2ca",
)
RATED_BY_TITLE = RemoteFile(
    "danielgrijalva/movie-stats",
    "7c6a562377ab5c91bb80c405be50a0494ae8e582",
    "movies.csv",
    "326de5c5a57e12ac241f23ffd06ab06eff576c99077e1992bc229ce9c806f732",
)
PEOPLE = {
    "director": ["director"],
    "writer": ["writer"],
    "actor": ["main_actor_1", "main_actor_2", "main_actor_3", "main_actor_4"],
    "producer": ["producer"],
    "composer": ["composer"],
    "cinematographer": ["cinematographer"],
}
GENRES = ["genre_1", "genre_2", "genre_3", "genre_4"]


def frames() -> Frames:
    """Return the six tables, the six graphs and the ratings (1 to 10) as polars frames.

    Tables: `plot` and `keywords` (text), `genre` (one 0/1 flag a genre), `mpaa` (nominal), `minutes` and `year` (year
    and month of the first showing, real). Two films are linked in a graph when they share a person; an edge's weight is
    the number of people shared (above 1 for actors only).
    """
    films = rated_films()
    genre = _genre_flags(films)
    return Frames(
        sources={
            "plot": films.select("id", plot="trivia"),
            "keywords": films.select("id", keywords=_listed("plot_keywords")).drop_nulls(),
            "genre": genre,
            "mpaa": films.select("id", "mpaa"),
            "minutes": films.select("id", minutes=_minutes("run_time")),
            "year": films.select("id", "year", month=_month("release_date")),
        },
        graphs={role: shared_edges(films, columns) for role, columns in PEOPLE.items()},
        target=films.select("id", y="rating"),
        kinds={
            "plot": {"plot": "text"},
            "keywords": {"keywords": "text"},
            "genre": dict.fromkeys(genre.columns[1:], "binary"),
            "mpaa": {"mpaa": "nominal"},
            "minutes": {"minutes": "real"},
            "year": {"year": "real", "month": "real"},
        },
    )


def rated_films() -> pl.DataFrame:
    """Return the rated films in the order of Box Office Mojo's file, with `id` ("Title (year)") and `rating`."""
    films = pl.read_csv(fetch(FILMS), infer_schema_length=None)
    films = films.join(_ratings_by_id(), on="movie_id", how="left", maintain_order="left")
    films = films.join(_ratings_by_title(), on=["title", "year"], how="left", maintain_order="left")
    films = films.with_columns(rating=pl.coalesce("rating_by_id", "rating_by_title"))
    return films.filter(pl.col("rating").is_not_null()).with_columns(id=_title_and_year())


def _ratings_by_id() -> pl.DataFrame:
    """Return rating and keywords, one row an IMDb id: 123 ids stand twice or more, and the first row is kept."""
    table = pl.read_csv(fetch(RATED_BY_ID), infer_schema_length=None)
    movie_id = pl.col("movie_imdb_link").str.extract(r"(tt\d+)")
    return table.select("plot_keywords", movie_id=movie_id, rating_by_id="imdb_score").unique("movie_id", keep="first")


def _ratings_by_title() -> pl.DataFrame:
    table = pl.read_csv(fetch(RATED_BY_TITLE), infer_schema_length=None)
    return table.select("year", title="name", rating_by_title="score").unique(["title", "year"], keep="first")


def _title_and_year() -> pl.Expr:
    name = pl.format("{} ({})", "title", "year")
    return pl.when(name.is_duplicated()).then(pl.format("{} [{}]", name, "movie_id")).otherwise(name)


def _listed(column: str) -> pl.Expr:
    return pl.col(column).str.replace_all("|", ", ", literal=True)


def _minutes(column: str) -> pl.Expr:
    hours = pl.col(column).str.extract(r"(\d+) hr").cast(pl.Float64).fill_null(0.0)
    minutes = pl.col(column).str.extract(r"(\d+) min").cast(pl.Float64).fill_null(0.0)
    return pl.when(pl.col(column).str.contains(r"\d")).then(60.0 * hours + minutes)


def _month(column: str) -> pl.Expr:
    names = ["January", "February", "March", "April", "May", "June", "July", "August"]
    names += ["September", "October", "November", "December"]
    month = pl.col(column).str.extract(r"^(\w+)")
    return month.replace_strict({name: float(number) for number, name in enumerate(names, 1)}, default=None)


def _genre_flags(films: pl.DataFrame) -> pl.DataFrame:
    named = films.with_columns(genres=pl.concat_list(GENRES).list.drop_nulls())
    levels = sorted(named["genres"].explode().drop_nulls().unique())
    return named.select("id", *[pl.col("genres").list.contains(level).cast(pl.Int8).alias(level) for level in levels])


def load() -> HetData:
    """Return the films as HetData: 3,029 instances, 6 tables, 6 graphs, the IMDb rating as target."""
    return assemble(frames())


MOVIE_RATINGS = Dataset(
    name="movie_ratings",
    title="Movie ratings",
    story="3,029 films: predict the IMDb rating from plot, keywords, genre, length, date and who made them.",
    task="regression",
    load=load,
    licence="None stated for the three files, scraped from IMDb and Box Office Mojo: downloaded, never copied.",
    citation="Box Office Mojo and IMDb, as collected in zsowen/Movie_Database, cynricfu/MAGNN and "
    "danielgrijalva/movie-stats on GitHub.",
    files=(FILMS, RATED_BY_ID, RATED_BY_TITLE),
)
