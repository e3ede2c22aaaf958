"""OpenFlights: airports with the routes between them; the altitude, or the rule of daylight-saving time.

Instances are the 3,214 airports of the file with a route to another. Tables: `service` (routes, airlines,
destinations, code shares), `fleet` (which of the 60 commonest types of plane come), `airlines` (which of the 100
commonest airlines come), and `position` (latitude and longitude) for a seeded 30% of airports only, because it gives
both targets away. Graph: two airports with a route between them, weighted by the number of airline routes.

`openflights_altitude`: the natural logarithm of 1 + feet above the sea (0 below it); the country is a table.
`openflights_dst`: the rule of daylight-saving time, Europe, US/Canada, South America, Australia, New Zealand or none;
airports of unknown rule (U) are left out, which leaves 2,264. Its `altitude` is a table, its country is left out.
Time zone and the airport's codes (whose letters tell the region) are left out of both.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import local
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

REPOSITORY = "jpatokal/openflights"
AIRPORT = (
    "airport name city country iata icao latitude longitude altitude utc_offset dst zone type source"
).split()  # fmt: skip
ROUTE = "airline airline_number from_code from to_code to codeshare stops planes".split()
RULES = {"E": "Europe", "A": "US and Canada", "S": "South America", "O": "Australia", "Z": "New Zealand", "N": "none"}
POSITIONED, SEED = 0.3, 401
N_PLANES, N_AIRLINES = 60, 100


def _read(name: str, columns: list[str]) -> pl.DataFrame:
    return pl.read_csv(
        local(REPOSITORY, f"data/{name}.dat"),
        has_header=False,
        null_values="\\N",
        new_columns=columns,
        infer_schema_length=None,
    )


def _airports_and_routes() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the airports with a route (id and columns) and the routes between them (from, to as ids)."""
    routes = _read("routes", ROUTE).drop_nulls(["from", "to"]).filter(pl.col("from") != pl.col("to"))
    airports = _read("airports", AIRPORT)
    known = airports["airport"].to_list()
    routes = routes.filter(pl.col("from").is_in(known) & pl.col("to").is_in(known))
    used = routes["from"].append(routes["to"]).unique().to_list()
    airports = airports.filter(pl.col("airport").is_in(used)).with_columns(id=_id("airport"))
    return airports, routes.with_columns(_id("from"), _id("to"))


def _id(column: str) -> pl.Expr:
    return pl.format("airport-{}", pl.col(column).cast(pl.String).str.zfill(5)).alias(column)


def _tables(airports: pl.DataFrame, routes: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return service, fleet, airlines and (for some) position of the given airports."""
    visits = pl.concat(
        [
            routes.select(id=end, other=pl.col(other), airline="airline", planes="planes", shared="codeshare")
            for end, other in (("from", "to"), ("to", "from"))
        ]
    )
    visits = visits.filter(pl.col("id").is_in(airports["id"].to_list()))
    planes = visits.with_columns(kind=pl.col("planes").str.split(" ")).explode("kind").drop_nulls("kind")
    positioned = np.random.default_rng(SEED).random(len(airports)) < POSITIONED
    return {
        "service": airports.select("id").join(_service(visits), on="id", maintain_order="left"),
        "fleet": _flags(airports, planes.select("id", value="kind"), "plane", N_PLANES),
        "airlines": _flags(airports, visits.select("id", value="airline"), "airline", N_AIRLINES),
        "position": airports.filter(pl.Series(positioned)).select("id", "latitude", "longitude"),
    }


def _service(visits: pl.DataFrame) -> pl.DataFrame:
    return visits.group_by("id").agg(
        log_routes=pl.len().cast(pl.Float64).log(),
        log_destinations=pl.col("other").n_unique().cast(pl.Float64).log(),
        log_airlines=pl.col("airline").n_unique().cast(pl.Float64).log(),
        codeshare=(pl.col("shared") == "Y").fill_null(False).mean(),
    )


def _flags(airports: pl.DataFrame, held: pl.DataFrame, prefix: str, most: int) -> pl.DataFrame:
    """Return one 0/1 column for each of the values that most airports have."""
    held = held.unique()
    common = held.group_by("value").len().sort(["len", "value"], descending=[True, False])["value"][:most].to_list()
    sets = held.group_by("id").agg("value")
    rows = airports.select("id").join(sets, on="id", how="left", maintain_order="left")
    flags = {f"{prefix}_{each}": pl.col("value").list.contains(each).fill_null(False).cast(pl.Int8) for each in common}
    return rows.select("id", **flags)


def _graph(airports: pl.DataFrame, routes: pl.DataFrame) -> pl.DataFrame:
    ends = routes.select(source=pl.min_horizontal("from", "to"), target=pl.max_horizontal("from", "to"))
    ids = airports["id"].to_list()
    ends = ends.filter(pl.col("source").is_in(ids) & pl.col("target").is_in(ids))
    return ends.group_by("source", "target", maintain_order=True).agg(weight=pl.len().cast(pl.Float64))


def load_altitude() -> HetData:
    """Return all airports with routes: 3,214 instances, 5 tables, 1 graph, the logarithm of the altitude."""
    airports, routes = _airports_and_routes()
    target = airports.select("id", y=pl.col("altitude").clip(0).cast(pl.Float64).log1p())
    tables = _tables(airports, routes) | {"country": airports.select("id", "country")}
    return HetData(tables, {"routes": _graph(airports, routes)}, target, id_column="id", task="regression")


def load_dst() -> HetData:
    """Return the airports of known daylight-saving rule: 2,264 instances, 5 tables, 1 graph, 6 classes."""
    airports, routes = _airports_and_routes()
    airports = airports.filter(pl.col("dst").is_in(list(RULES)))
    tables = _tables(airports, routes) | {"altitude": airports.select("id", "altitude")}
    target = airports.select("id", y=pl.col("dst").replace_strict(RULES))
    return HetData(tables, {"routes": _graph(airports, routes)}, target, id_column="id", task="classification")


PROBLEMS = (
    SuiteProblem(
        "openflights_altitude",
        "openflights",
        GRAPH,
        task="regression",
        half="choosing",
        load=load_altitude,
        story="Airports with routes: tell the altitude from service, planes, airlines and routes.",
    ),
    SuiteProblem(
        "openflights_dst",
        "openflights",
        GRAPH,
        task="classification",
        half="choosing",
        load=load_dst,
        story="Airports with routes: tell the rule of daylight-saving time from service, planes, airlines and routes.",
    ),
)
