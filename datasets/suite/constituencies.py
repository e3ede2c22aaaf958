"""The 650 constituencies of the British parliament: benefits, rural share, neighbours on a map of hexagons.

Tables: `electorate` (650), `benefits` (632, Great Britain), `rural` (533, England). Graph: two constituencies whose
hexagons touch on the map of equal hexagons (rows shifted as in "odd-r").

`uk_leave`: the estimated share of leave votes in the referendum of 2016 (632; a model's estimate by its source);
the election of 2017 is a table. `uk_turnout`: percent who voted in 2017 (650). `uk_party`: the party that won in 2017,
parties with fewer than ten seats joined to "other". Turnout and party have the leave share as a table. The results of
2015 and the parties at dissolution are left out: with them a seat's winner is a matter of copying.
"""

from __future__ import annotations

import json

import polars as pl

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import local
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

REPOSITORY = "odileeds/hexmaps"
BENEFITS = ["population", "area", "density", "esa", "jsa", "income_support", "total", "on_benefits", "per_area"]
MAIN_PARTIES = ("Con", "Lab", "SNP", "LD")


def _read(path: str, columns: list[str]) -> pl.DataFrame:
    return pl.read_csv(local(REPOSITORY, path), has_header=True, new_columns=columns)


def _hexagons() -> pl.DataFrame:
    hexes = json.loads(local(REPOSITORY, "maps/constituencies.hexjson").read_text(encoding="utf-8"))["hexes"]
    rows = [(key, each["q"], each["r"], each["a"], each["e"], each["p"]) for key, each in hexes.items()]
    return pl.DataFrame(rows, schema=["id", "q", "r", "area", "electors", "people"], orient="row")


def _touching(hexagons: pl.DataFrame) -> pl.DataFrame:
    """Link hexagons that touch; in "odd-r" rows with odd r are shifted by half a hexagon to the right."""
    place = {(q, r): key for key, q, r in hexagons.select("id", "q", "r").iter_rows()}
    pairs = []
    for (q, r), key in place.items():
        for step in ((q + 1, r), (q + r % 2 - 1, r + 1), (q + r % 2, r + 1)):
            if step in place:
                pairs.append((key, place[step]))
    return pl.DataFrame(pairs, schema=["source", "target"], orient="row")


def _election() -> pl.DataFrame:
    table = _read("ge2019/2017-results.csv", ["id", "party", "turnout", "majority"])
    small = ~pl.col("party").is_in(MAIN_PARTIES)
    return table.with_columns(pl.when(small).then(pl.lit("other")).otherwise("party").alias("party"))


def _data(target: pl.DataFrame, more: dict[str, pl.DataFrame], task: str) -> HetData:
    """Return the common tables with `more` over the constituencies of the target."""
    hexagons = _hexagons()
    tables = {
        "electorate": hexagons.select("id", "area", "electors", "people"),
        "benefits": _read("data/2017benefits.csv", ["id", *BENEFITS]),
        "rural": _read("data/2011rural.csv", ["id", "name", "rural"]).select("id", "rural"),
        **more,
    }
    ids = target["id"].to_list()
    tables = {name: table.filter(pl.col("id").is_in(ids)) for name, table in tables.items()}
    edges = _touching(hexagons).filter(pl.col("source").is_in(ids) & pl.col("target").is_in(ids))
    return HetData(tables, {"borders": edges}, target, id_column="id", task=task)


def _leave() -> pl.DataFrame:
    return _read("data/2016referendum-estimates.csv", ["id", "leave"])


def load_leave() -> HetData:
    """Return 632 constituencies, 4 tables, 1 graph, the leave share in [0, 1]."""
    return _data(_leave().rename({"leave": "y"}), {"election": _election()}, "regression")


def load_turnout() -> HetData:
    """Return 650 constituencies, 4 tables, 1 graph, the turnout in percent."""
    return _data(_election().select("id", y="turnout"), {"referendum": _leave()}, "regression")


def load_party() -> HetData:
    """Return 650 constituencies, 4 tables, 1 graph, the party that won."""
    return _data(_election().select("id", y="party"), {"referendum": _leave()}, "classification")


def _entry(name: str, task: str, load: object, what: str) -> SuiteProblem:
    story = f"The British constituencies: tell {what} from electorate, benefits, rural share and neighbours."
    return SuiteProblem(name, "uk_constituencies", GRAPH, task=task, half="choosing", load=load, story=story)


PROBLEMS = (
    _entry("uk_leave", "regression", load_leave, "the leave share of 2016"),
    _entry("uk_turnout", "regression", load_turnout, "the turnout of 2017"),
    _entry("uk_party", "classification", load_party, "the party that won in 2017"),
)
