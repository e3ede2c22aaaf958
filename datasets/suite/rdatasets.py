"""Twenty-five tables that come with R packages, none of which had a part in any choice: the suite's outside part.

They were picked by their names and columns in one list of such tables, before any was fitted: 200 to 4,400 rows, a
target that other columns speak of, columns that fall into two to five tables by what they speak of. All 25 are kept,
whatever came out. Rows that share a key are linked: in the order of time with the next one where there is such an
order, else in a ring (`_reading.ring_edges`). Many are panels: the same state, firm or person year after year.

**Leaks** left out: parts and transforms of the target (reading and mathematics scores in `r_schools`, hours and wages
of who works in `r_work`, other poverty rates in `r_midwest`, city miles in `r_cars`, the chosen way's price and catch
in `r_fishing`, ranks in `r_firms`, times and outcomes in `r_cirrhosis` and `r_colon`), and rows' numbers.
**Sizes**: the first 2,500 rows, 1,600 and 1,500 of `r_wages` and `r_persons`. Money, salaries, staff and counts of
ticks are logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from datasets.suite._problem import CONSENSUS, GRAPH, SuiteProblem
from datasets.suite._reading import local, ring_edges
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

REPOSITORY = "vincentarelbundock/Rdatasets"
MOST_ROWS = 2_500
CLASSES, NUMBERS = "classification", "regression"


class Links(NamedTuple):
    """Rows of the same `key` are linked, in turn by `order` where there is one."""

    key: Sequence[str]
    order: Sequence[str] = ()


class Table(NamedTuple):
    """Where a table lies and what is used of it.

    Attributes
    ----------
    path : str
        "PACKAGE/NAME".
    target : str or polars.Expr
    sources : mapping of str to sequence of str
        Columns by table, names divided by spaces.
    story : str
    links : mapping of str to Links
    task : {"classification", "regression"}
    keep : polars.Expr, optional
        Which rows.
    most : int
        Rows, the first ones.
    """

    path: str
    target: str | pl.Expr
    sources: Mapping[str, str]
    story: str
    links: Mapping[str, Links] = {}
    task: str = NUMBERS
    keep: pl.Expr | None = None
    most: int = MOST_ROWS


TRAITS = {"agreeable": "A", "careful": "C", "outgoing": "E", "nervous": "N", "open": "O"}

TABLES = {
    "r_schools": Table(
        "Ecdat/Caschool", "testscr",
        {"school": "grspan enrltot teachers computer compstu expnstu str", "families": "calwpct mealpct avginc elpct"},
        "420 school districts of California: tell the test score from schools and families.",
        {"county": Links(["county"])},
    ),
    "r_crime": Table(
        "plm/Crime", "crmrte",
        {
            "law": "prbarr prbconv prbpris avgsen polpc",
            "place": "density taxpc region smsa pctmin mix pctymle year",
            "wages": "wcon wtuc wtrd wfir wser wmfg wfed wsta wloc",
        },
        "90 counties over seven years: tell crimes per person from law, place and wages.",
        {"county": Links(["county"], ["year"])},
    ),
    "r_unemployment": Table(
        "plm/Produc", "unemp",
        {"public": "pcap hwy water util", "economy": "pc gsp emp", "when": "year"},
        "48 states over 17 years: tell unemployment from public capital and the economy.",
        {"state": Links(["state"], ["year"])},
    ),
    "r_cigarettes": Table(
        "plm/Cigar", "sales",
        {"prices": "price pimin cpi", "people": "pop pop16 ndi year"},
        "46 states over 30 years: tell packs a head from prices and people.",
        {"state": Links(["state"], ["year"])},
    ),
    "r_firms": Table(
        "HSAUR/Forbes2000", pl.col("marketvalue").log(),
        {"books": "sales profits assets", "kind": "country category"},
        "2,000 firms: tell the logarithm of the market value from the books, country and branch.",
        {"branch": Links(["country", "category"])},
    ),
    "r_heights": Table(
        "HistData/GaltonFamilies", "childHeight",
        {"parents": "father mother", "child": "children childNum gender"},
        "934 children of Galton's families: tell a child's height from the parents'.",
        {"family": Links(["family"])},
    ),
    "r_pigs": Table(
        "geepack/dietox", "Weight",
        {"food": "Feed Time", "trial": "Evit Cu"},
        "861 weighings of 72 pigs: tell the weight from food and additives.",
        {"pig": Links(["Pig"], ["Time"]), "litter": Links(["Litter", "Time"], ["Pig"])},
    ),
    "r_cirrhosis": Table(
        "survival/pbc", (pl.col("status") == 2).cast(pl.String),
        {
            "clinic": "trt age sex ascites hepato spiders edema stage",
            "laboratory": "bili chol albumin copper alk.phos ast trig platelet protime",
        },
        "418 patients: tell who died from the clinic and the laboratory.",
        task=CLASSES,
    ),
    "r_colon": Table(
        "survival/colon", "status",
        {"person": "rx sex age", "tumour": "obstruct perfor adhere nodes differ extent surg node4"},
        "929 patients: tell who died from the person and the tumour.",
        task=CLASSES, keep=pl.col("etype") == 2,
    ),
    "r_midwest": Table(
        "ggplot2/midwest", "percbelowpoverty",
        {
            "land": "state area poptotal popdensity inmetro",
            "people": "percwhite percblack percamerindan percasian percother",
            "schools": "perchsd percollege percprof",
        },
        "437 counties of the Midwest: tell the share of poor from land, people and schools.",
        {"state": Links(["state"])},
    ),
    "r_fishing": Table(
        "Ecdat/Fishing", "mode",
        {
            "prices": "pbeach ppier pboat pcharter",
            "catches": "cbeach cpier cboat ccharter",
            "person": "income",
        },
        "1,182 anglers: tell beach, pier, boat or charter from prices, catches and income.",
        task=CLASSES,
    ),
    "r_work": Table(
        "Ecdat/Mroz", "work",
        {
            "wife": "agew educw experience child6 child618",
            "husband": "hoursh ageh educh wageh",
            "family": "income unemprate city educwm educwf",
        },
        "753 wives: tell who works from wife, husband and family.",
        task=CLASSES,
    ),
    "r_votes": Table(
        "pscl/vote92", "vote",
        {
            "person": "dem rep female",
            "views": "persfinance natlecon",
            "distances": "clintondis bushdis perotdis",
        },
        "909 voters of 1992: tell Clinton, Bush or Perot from person, views and distances.",
        task=CLASSES,
    ),
    "r_plebiscite": Table(
        "carData/Chile", "vote",
        {"person": "sex age education income", "place": "region population", "view": "statusquo"},
        "Chileans asked in 1988: tell yes, no, undecided or abstention from person, place and view.",
        task=CLASSES,
    ),
    "r_wages": Table(
        "plm/Males", "wage",
        {
            "person": "school ethn married health",
            "job": "exper union industry occupation",
            "place": "residence year",
        },
        "200 men over eight years: tell the logarithm of the wage from person, job and place.",
        {"person": Links(["nr"], ["year"])}, most=1_600,
    ),
    "r_brothers": Table(
        "Ecdat/Griliches", "lw80",
        {
            "place": "rns80 smsa80 mrt80",
            "mind": "med iq kww school80",
            "work": "year age80 expr80 tenure80",
        },
        "758 young men: tell the logarithm of the wage of 1980 from place, mind and work.",
    ),
    "r_persons": Table(
        "psych/bfi", "gender",
        {name: " ".join(f"{letter}{k}" for k in range(1, 6)) for name, letter in TRAITS.items()},
        "1,500 people: tell the sex from answers on five traits.",
        task=CLASSES, most=1_500,
    ),
    "r_baseball": Table(
        "vcd/Baseball", pl.col("sal87").log(),
        {
            "season": "atbat86 hits86 homer86 runs86 rbi86 walks86",
            "career": "years atbat hits homeruns runs rbi walks",
            "field": "league86 div86 posit86 outs86 assist86 error86",
        },
        "263 players: tell the logarithm of the salary from season, career and field.",
        {"team": Links(["team86"])},
    ),
    "r_glass": Table(
        "MASS/fgl", "type",
        {"light": "RI", "bases": "Na Mg Al Si", "traces": "K Ca Ba Fe"},
        "214 fragments of glass: tell six kinds from refraction and what is in them.",
        task=CLASSES,
    ),
    "r_traffic": Table(
        "Ecdat/Fatality", "mrall",
        {"law": "beertax mlda jaild comserd", "life": "vmiles unrate perinc year"},
        "48 states over seven years: tell traffic deaths from law and life.",
        {"state": Links(["state"], ["year"])},
    ),
    "r_staff": Table(
        "plm/EmplUK", pl.col("emp").log(),
        {"firm": "sector wage", "means": "capital output year"},
        "140 British firms over seven to nine years: tell the logarithm of the staff from wages and means.",
        {"firm": Links(["firm"], ["year"]), "sector": Links(["sector", "year"], ["firm"])},
    ),
    "r_ticks": Table(
        "lme4/grouseticks", pl.col("TICKS").log1p(),
        {"place": "HEIGHT", "when": "YEAR"},
        "403 grouse chicks: tell the logarithm of one and the ticks from height and year.",
        {"brood": Links(["BROOD"]), "location": Links(["LOCATION"])},
    ),
    "r_fries": Table(
        "reshape2/french_fries", "rancid",
        {"trial": "time treatment", "taste": "potato buttery grassy painty"},
        "695 tastings: tell how rancid fries are from trial and taste.",
        {"taster": Links(["subject", "treatment"], ["time", "rep"])},
    ),
    "r_towns": Table(
        "Ecdat/MCAS", "totsc4",
        {
            "money": "regday specneed bilingua occupday totday spc",
            "school": "speced tchratio avgsalary",
            "town": "lnchpct percap pctel",
        },
        "220 districts of Massachusetts: tell the score of fourth grades from money, school and town.",
    ),
    "r_cars": Table(
        "ggplot2/mpg", "hwy",
        {"engine": "displ cyl year", "car": "trans drv fl class"},
        "234 cars: tell the miles a gallon from engine and car.",
        {"maker": Links(["manufacturer"])},
    ),
}  # fmt: skip


def data_of(raw: pl.DataFrame, table: Table) -> HetData:
    """Return the data of a table as it lies in its file."""
    raw = raw.with_columns((pl.col(table.target) if isinstance(table.target, str) else table.target).alias("target_"))
    # An instance without the label can neither teach nor judge.
    kept = raw.filter(pl.col("target_").is_not_null() & (True if table.keep is None else table.keep)).head(table.most)
    # Numbered after the filter: the file's own numbers speak of its order.
    ids = [f"row-{row:04d}" for row in range(1, len(kept) + 1)]
    kept = kept.insert_column(0, pl.Series("id_", ids))
    sources = {
        name: kept.select(pl.col("id_").alias("id"), *columns.split()) for name, columns in table.sources.items()
    }
    graphs = {name: _edges(kept, links) for name, links in table.links.items()}
    # Classes are text, for a class named by a number is no quantity.
    y = kept["target_"].cast(pl.Float64 if table.task == NUMBERS else pl.String)
    labels = y.to_numpy() if table.task == NUMBERS else np.array(y.to_list(), object)
    return HetData(sources, graphs, (np.array(ids), labels), id_column="id", task=table.task)


def _edges(kept: pl.DataFrame, links: Links) -> pl.DataFrame:
    # In the order of time each row is linked with the next one, which is most like it.
    rows = kept.sort(links.order) if links.order else kept
    groups = rows.select(links.key).rows()
    return ring_edges(rows["id_"].to_list(), groups, **({"k": 1} if links.order else {"seed": 0}))


def load_table(name: str) -> HetData:
    """Return a problem's data."""
    # From one commit, so that every machine has the same rows.
    path = local(REPOSITORY, f"csv/{TABLES[name].path}.csv")
    return data_of(pl.read_csv(path, infer_schema_length=None, null_values=["NA", ""]), TABLES[name])


def _problem(name: str, table: Table) -> SuiteProblem:
    load: Callable[[], HetData] = partial(load_table, name)
    # Only what has links is a problem of collective inference too.
    kind = GRAPH if table.links else CONSENSUS
    return SuiteProblem(name, name, kind, task=table.task, half="outside", load=load, story=table.story)


PROBLEMS = tuple(_problem(name, table) for name, table in TABLES.items())
