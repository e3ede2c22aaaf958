"""Formula 1: every start of a driver in a race from 2014 to 2022, 3,707 of them.

Only what is known before the start is read. The standings after a race hold its result, so that `standings` are those
after the **previous** race of the season (no record for the first race and for newcomers). Times of qualifying are
given relative to the race's best. Pit stops, laps and times of the race are left out.

Graphs: `driver` and `constructor` link a start to the next three of the same driver or constructor (an open ring in
the order of time in place of cliques of two hundred); `teammates` links the two cars of a constructor in one race.
Starts of one race are not linked, since each place is taken once.

`formula1_place`: the place at the end, from 1. `formula1_points`: whether the driver got points (the first ten). That a
car does not finish at all can hardly be told beforehand, and is no problem here.
"""

from __future__ import annotations

import polars as pl

from datasets.suite._problem import SuiteProblem
from datasets.suite._reading import local, ring_edges
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

FIRST_YEAR, LAST_YEAR = 2014, 2022
NEXT_STARTS = 3
YEAR = 365.25


def _read(name: str) -> pl.DataFrame:
    path = local("wobetec/f1-data-until-2022-ergast", f"data/{name}.csv")
    return pl.read_csv(path, null_values="\\N", infer_schema_length=None)


def _starts() -> pl.DataFrame:
    """Return the starts in the order of time: the keys, the race's columns, grid, place and points."""
    races = _read("races").select("raceId", "year", "round", "circuitId", "date")
    races = races.filter(pl.col("year").is_between(FIRST_YEAR, LAST_YEAR))
    results = _read("results").select("raceId", "driverId", "constructorId", "grid", "positionOrder", "points")
    starts = results.join(races, on="raceId").sort("date", "positionOrder")
    starts = starts.unique(["raceId", "driverId"], keep="first", maintain_order=True)
    starts = starts.sort("date", "driverId")
    key = pl.format("{}-{}-{}", "year", pl.col("round").cast(pl.String).str.zfill(2), "driverId")
    return starts.with_columns(id=key, date=pl.col("date").str.to_date())


def _tables(starts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    circuits = _read("circuits").select("circuitId", "country", "lat", "lng", "alt", circuit="circuitRef")
    drivers = _read("drivers").select("driverId", "dob", "nationality", driver="driverRef")
    born = pl.col("dob").str.to_date()
    with_driver = starts.join(drivers, on="driverId", maintain_order="left")
    constructors = _read("constructors").select("constructorId", "nationality", constructor="constructorRef")
    return {
        "race": starts.join(circuits, on="circuitId", maintain_order="left").select(
            "id", "year", "round", "circuit", "country", "lat", "lng", "alt"
        ),
        "grid": starts.select("id", pl.when(pl.col("grid") > 0).then("grid").otherwise(25).alias("grid")),
        "driver": with_driver.select("id", "driver", "nationality", age=(pl.col("date") - born).dt.total_days() / YEAR),
        "constructor": starts.join(constructors, on="constructorId", maintain_order="left").select(
            "id", "constructor", "nationality"
        ),
        "qualifying": _qualifying(starts),
        "standings": _standings(starts),
    }


def _qualifying(starts: pl.DataFrame) -> pl.DataFrame:
    """Return the seconds behind the best of each part of qualifying, where there is a record."""
    parts = ("q1", "q2", "q3")
    table = _read("qualifying").select("raceId", "driverId", "position", *[_seconds(part) for part in parts])
    behind = [(pl.col(part) - pl.col(part).min().over("raceId")).alias(f"{part}_behind") for part in parts]
    table = table.with_columns(*behind).rename({"position": "qualified"})
    table = table.unique(["raceId", "driverId"], keep="first", maintain_order=True)
    found = starts.join(table, on=["raceId", "driverId"], maintain_order="left")
    return found.select("id", "qualified", *[f"{part}_behind" for part in parts])


def _seconds(column: str) -> pl.Expr:
    parts = pl.col(column).str.split_exact(":", 1)
    minutes = parts.struct.field("field_0").cast(pl.Float64, strict=False)
    return (60.0 * minutes + parts.struct.field("field_1").cast(pl.Float64, strict=False)).alias(column)


def _standings(starts: pl.DataFrame) -> pl.DataFrame:
    """Return the driver's and the constructor's standing after the previous race of the season."""
    races = _read("races").select("raceId", "year", after="round")
    keys = starts.select("id", "driverId", "constructorId", "year", after=pl.col("round") - 1)
    drivers = _standing("driver", "driverId").join(races, on="raceId").drop("raceId")
    constructors = _standing("constructor", "constructorId").join(races, on="raceId").drop("raceId")
    found = keys.join(drivers, on=["driverId", "year", "after"], maintain_order="left")
    found = found.join(constructors, on=["constructorId", "year", "after"], how="left", maintain_order="left")
    return found.drop("driverId", "constructorId", "year", "after")


def _standing(of: str, key: str) -> pl.DataFrame:
    columns = ("points", "position", "wins")
    return _read(f"{of}_standings").select("raceId", key, *[pl.col(each).alias(f"{of}_{each}") for each in columns])


def _graphs(starts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    ids = starts["id"].to_list()
    team = starts.select(pl.struct("raceId", "constructorId").rank("dense"))["raceId"].to_list()
    return {
        "driver": ring_edges(ids, starts["driverId"].to_list(), NEXT_STARTS),
        "constructor": ring_edges(ids, starts["constructorId"].to_list(), NEXT_STARTS),
        "teammates": ring_edges(ids, team, 1),
    }


def _data(y: pl.Expr, task: str) -> HetData:
    starts = _starts()
    return HetData(_tables(starts), _graphs(starts), starts.select("id", y=y), id_column="id", task=task)


def load_place() -> HetData:
    """Return the starts: 3,707 instances, 6 tables, 3 graphs, the place at the end."""
    return _data(pl.col("positionOrder").cast(pl.Float64), "regression")


def load_points() -> HetData:
    """Return the starts: 3,707 instances, 6 tables, 3 graphs, "points" or "none"."""
    return _data(pl.when(pl.col("points") > 0).then(pl.lit("points")).otherwise(pl.lit("none")), "classification")


PROBLEMS = (
    SuiteProblem(
        "formula1_place",
        "formula1",
        ("consensus", "collective", "noise"),
        task="regression",
        half="choosing",
        load=load_place,
        story="3,707 starts in Formula 1: tell the place at the end from what is known before the start.",
    ),
    SuiteProblem(
        "formula1_points",
        "formula1",
        ("consensus", "collective"),
        task="classification",
        half="choosing",
        load=load_points,
        story="3,707 starts in Formula 1: tell who gets points from what is known before the start.",
    ),
)
