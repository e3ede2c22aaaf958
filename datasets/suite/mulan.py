"""Four of Mulan's multi-target sets, each with one target to tell; its columns make several tables.

| problem | rows | target | tables |
|---|---|---|---|
| mulan_water | 1,060 river samples | how common animal 49700 is, 0 to 5 | chemistry; plants, other animals for 70% |
| mulan_employment | 334 cities, 1997 | log of 1 + accountants | other occupations by group, each for 70% |
| mulan_tickets | 337 flights | the least price next day, $ | dates; today's prices by airline, each for 70% |
| mulan_issues | 1,137 reports to cities | log of 1 + views | days; where known source, kind, place; votes for 70% |

"For 70%" is `_reading.masked` with seeds 701 to 704 (the files are complete); the gaps of mulan_issues are the file's
own. The other targets are left out, but for water (species in the tables) and issues (votes). Counts of
mulan_employment enter as log(1 + count). enb is left out: it is the energy set of the UCI collection.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from datasets._links import nearest_edges, standardized
from datasets.suite._problem import CONSENSUS, GRAPH, SuiteProblem
from datasets.suite._reading import local, masked
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

ATTRIBUTE = re.compile(r"@attribute\s+(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE)
N_CHEMICALS, N_PLANTS = 16, 7
GROUPS = {
    "management": "1", "professions": "23", "sales": "4", "offices": "5", "services": "67", "crafts": "8",
    "production": "9",
}  # fmt: skip
AIRLINES = {
    "all": ("ALL",), "american": ("aAA",), "continental": ("aCO",), "delta": ("aDL",), "united": ("aUA",),
    "us_airways": ("aUS",), "others": ("aF9", "aFL", "aSY", "aMULT", "aOTHER"),
}  # fmt: skip
N_TARGETS = {"oes97": 16, "atp1d": 6}


def _arff(name: str) -> pl.DataFrame:
    """Return an ARFF table of numbers with tidy column names, null where the file has "?"."""
    lines = local("tsoumakas/mulan", f"data/multi-target/{name}.arff").read_text(encoding="latin-1").splitlines()
    found = [ATTRIBUTE.match(line) for line in lines]
    columns = [each.group(1).strip("\"'").replace("'", "") for each in found if each]
    begin = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [line.split(",") for line in lines[begin + 1 :] if line.strip() and not line.startswith("%")]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return table.with_columns(pl.all().str.strip_chars().cast(pl.Float64, strict=False))


def _with_ids(table: pl.DataFrame, what: str) -> pl.DataFrame:
    return table.insert_column(0, pl.Series("id", [f"{what}-{row:04d}" for row in range(1, len(table) + 1)]))


def load_water() -> HetData:
    """Return 1,060 samples, 3 tables, no graph, how common an animal is."""
    table = _with_ids(_arff("wq"), "sample")
    chemistry, species = table.columns[1 : N_CHEMICALS + 1], table.columns[N_CHEMICALS + 1 :]
    animals = [name for name in species[N_PLANTS:] if name != "49700"]
    others = masked({"plants": table.select("id", *species[:N_PLANTS]), "animals": table.select("id", *animals)}, 701)
    tables = {"chemistry": table.select("id", *chemistry), **others}
    return HetData(tables, {}, table.select("id", y="49700"), id_column="id", task="regression")


def load_employment() -> HetData:
    """Return 334 cities, 7 tables, no graph, the logarithm of the number of accountants."""
    table = _with_ids(_arff("oes97").with_columns(pl.all().log1p()), "city")
    columns = table.columns[1 : -N_TARGETS["oes97"]]
    groups = {name: [each for each in columns if each[0] in digits] for name, digits in GROUPS.items()}
    tables = masked({name: table.select("id", *each) for name, each in groups.items()}, 702)
    target = table.select("id", y="21114_Accountants_and_Auditors")
    return HetData(tables, {}, target, id_column="id", task="regression")


def load_tickets() -> HetData:
    """Return 337 flights, 8 tables, no graph, the least price of the next day in dollars."""
    table = _with_ids(_arff("atp1d"), "flight")
    columns = table.columns[1 : -N_TARGETS["atp1d"]]
    groups = {name: [each for each in columns if each.startswith(marks)] for name, marks in AIRLINES.items()}
    dates = [each for each in columns if not any(each in group for group in groups.values())]
    priced = masked({name: table.select("id", *each) for name, each in groups.items()}, 703)
    tables = {"dates": table.select("id", *dates), **priced}
    return HetData(tables, {}, table.select("id", y="LBL+ALLminpA+fut_001"), id_column="id", task="regression")


def load_issues() -> HetData:
    """Return 1,137 reports, 5 tables, 1 graph of near places, the logarithm of the number of views."""
    table = _with_ids(_arff("scpf"), "report")
    marks = {"source": "source=", "kind": "tag_type=", "place": ("latitude", "longitude", "city=", "distance")}
    tables = {"days": table.select("id", "daysUntilLastIssue")}
    for name, mark in marks.items():
        columns = [each for each in table.columns if each.startswith(mark)]
        tables[name] = table.select("id", *columns).drop_nulls()
    votes = table.select("id", "num_votes", "num_comments")
    tables["votes"] = votes.filter(np.random.default_rng(704).random(len(table)) < 0.7)
    place = tables["place"]
    near = nearest_edges(place["id"].to_numpy(), standardized(place.select("latitude", "longitude").to_numpy()), k=5)
    target = table.select("id", y=pl.col("num_views").log1p())
    return HetData(tables, {"near": near}, target, id_column="id", task="regression")


def _entry(name: str, kind: tuple[str, ...], load: object, story: str) -> SuiteProblem:
    return SuiteProblem(
        f"mulan_{name}", "mulan_multitarget", kind, task="regression", half="reporting", load=load, story=story
    )


PROBLEMS = (
    _entry(
        "water",
        (*CONSENSUS, "noise"),
        load_water,
        "1,060 samples of river water: tell how common an animal is from chemistry, plants and other animals.",
    ),
    _entry("employment", CONSENSUS, load_employment, "334 cities: tell the number of accountants from other work."),
    _entry("tickets", CONSENSUS, load_tickets, "337 flights: tell tomorrow's least price from today's by airline."),
    _entry("issues", GRAPH, load_issues, "1,137 reports to cities: tell their views from kind, place and votes."),
)
