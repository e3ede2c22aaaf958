"""Five small maps of the PySAL project: houses in Baltimore, districts of Columbus, counties, communes around Tokyo.

| problem | areas | target | left out |
|---|---|---|---|
| spatial_baltimore | 211 houses sold in 1978 | price (1,000 $) | |
| spatial_columbus | 49 districts, 1980 | burglaries and thefts per 1,000 households | area, perimeter, codes |
| spatial_georgia | 159 counties, 1990 | percent with a bachelor's degree | |
| spatial_stlouis | 78 counties | homicides per 100,000, 1988-93 | the same period's counts and population |
| spatial_tokyo | 262 communes, 1990 | deaths of ages 25-64, percent of those expected | the counts themselves |

Columns are dealt to tables by what they speak of. Coordinates are a table of their own where the file has them;
borders are the file's where there are such, else the six nearest centres. All are tiny: a tenth of Columbus is five
districts, so that it takes part in the collective problems only.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from datasets._links import nearest_edges, standardized
from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import local
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

NEAREST = 6
PLACE = ["east", "north"]


def _path(name: str) -> object:
    return local("pysal/libpysal", f"libpysal/examples/{name}")


def _dbf(name: str) -> pl.DataFrame:
    """Return the numbers of a dBASE III table."""
    raw = _path(name).read_bytes()
    n, header, width = struct.unpack("<IHH", raw[4:12])
    table, start = {}, header + 1
    for place in range(32, header - 32, 32):
        column, length = raw[place : place + 11].split(b"\0")[0].decode(), raw[place + 16]
        table[column] = [float(raw[start + row * width : start + row * width + length]) for row in range(n)]
        start += length
    return pl.DataFrame(table)


def _gal(name: str, ids: Sequence[str]) -> pl.DataFrame:
    """Return the neighbours of a GAL file: a head, then by area "number count" and a line of neighbours, from 1."""
    lines = _path(name).read_text().splitlines()[1:]
    pairs = set()
    for head, neighbours in zip(lines[::2], lines[1::2]):
        area = int(head.split()[0])
        pairs |= {tuple(sorted((area, int(each)))) for each in neighbours.split()}
    return _pairs(sorted(pairs), ids)


def _gwt(name: str, ids: Sequence[str]) -> pl.DataFrame:
    """Return the neighbours of a GWT file: a head, then "from to weight", from 1."""
    lines = [line.split() for line in _path(name).read_text().splitlines()[1:]]
    return _pairs(sorted({tuple(sorted((int(line[0]), int(line[1])))) for line in lines if line}), ids)


def _pairs(pairs: list[tuple[int, int]], ids: Sequence[str]) -> pl.DataFrame:
    rows = [(ids[a - 1], ids[b - 1]) for a, b in pairs]
    return pl.DataFrame(rows, schema=["source", "target"], orient="row")


def _near(table: pl.DataFrame, ids: Sequence[str], x: str, y: str) -> pl.DataFrame:
    places = standardized(table.select(x, y).to_numpy().astype(np.float64))
    return nearest_edges(np.array(ids, dtype=object), places, NEAREST)


def _ids(what: str, n: int) -> list[str]:
    return [f"{what}-{row:03d}" for row in range(1, n + 1)]


def _data(
    table: pl.DataFrame, ids: list[str], groups: Mapping[str, Sequence[str]], graphs: Mapping, y: pl.Expr
) -> HetData:
    table = table.insert_column(0, pl.Series("id", ids))
    sources = {name: table.select("id", *columns) for name, columns in groups.items()}
    return HetData(sources, graphs, table.select("id", y=y.cast(pl.Float64)), id_column="id", task="regression")


def load_baltimore() -> HetData:
    """Return 211 houses, 3 tables, 2 graphs, the price."""
    table = _dbf("baltim/baltim.dbf").rename({"X": "east", "Y": "north"})
    ids = _ids("house", len(table))
    groups = {
        "rooms": ["NROOM", "NBATH", "NSTOR", "SQFT", "AGE"],
        "comfort": ["DWELL", "PATIO", "FIREPL", "AC", "BMENT", "GAR"],
        "lot": ["CITCOU", "LOTSZ", *PLACE],
    }
    graphs = {"borders": _gal("baltim/baltim_q.gal", ids), "nearest": _gwt("baltim/baltim_k4.gwt", ids)}
    return _data(table, ids, groups, graphs, pl.col("PRICE"))


def load_columbus() -> HetData:
    """Return 49 districts, 3 tables, 1 graph, the crimes."""
    table = _dbf("columbus/columbus.dbf").rename({"X": "east", "Y": "north"})
    ids = _ids("district", len(table))
    groups = {"wealth": ["INC", "HOVAL"], "houses": ["OPEN", "PLUMB"], "place": ["DISCBD", *PLACE]}
    return _data(table, ids, groups, {"borders": _gal("columbus/columbus.gal", ids)}, pl.col("CRIME"))


def load_georgia() -> HetData:
    """Return 159 counties, 3 tables, 1 graph, the share of bachelors."""
    table = pl.read_csv(_path("georgia/GData_utm.csv")).rename({"X": "east", "Y": "north"})
    ids = [f"county-{key}" for key in table["AreaKey"]]
    groups = {
        "people": ["TotPop90", "PctRural", "PctEld", "PctFB"],
        "means": ["PctPov", "PctBlack"],
        "place": PLACE,
    }
    return _data(table, ids, groups, {"nearest": _near(table, ids, *PLACE)}, pl.col("PctBach"))


def load_stlouis() -> HetData:
    """Return 78 counties, 3 tables, 1 graph, the homicides of 1988 to 1993."""
    table = pl.read_csv(_path("stl/stl_hom.csv"), infer_schema=False)
    columns = ["HR7984", "HR8488", "PE77", "PE82", "PE87", "RDAC80", "RDAC85", "RDAC90", "PO7984", "HR8893"]
    table = table.select("STATE_NAME", *[pl.col(name).str.strip_chars().cast(pl.Float64) for name in columns])
    ids = _ids("county", len(table))
    groups = {
        "earlier": ["HR7984", "HR8488"],
        "deprivation": ["RDAC80", "RDAC85", "RDAC90"],
        "police": ["PE77", "PE82", "PE87", "PO7984", "STATE_NAME"],
    }
    return _data(table, ids, groups, {"borders": _gal("stl/stl.gal", ids)}, pl.col("HR8893"))


def load_tokyo() -> HetData:
    """Return 262 communes, 3 tables, 1 graph, the deaths in percent of those expected."""
    text = _path("tokyo/Tokyomortality.csv").read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    table = pl.read_csv(text).rename({"X_CENTROID": "east", "Y_CENTROID": "north"})
    ids = [f"commune-{key:03d}" for key in table["IDnum0"]]
    groups = {"work": ["OCC_TEC", "UNEMP"], "homes": ["OWNH", "POP65"], "place": PLACE}
    graphs = {"nearest": _near(table, ids, *PLACE)}
    return _data(table, ids, groups, graphs, 100 * pl.col("db2564") / pl.col("eb2564"))


def _entry(name: str, load: object, story: str, kind: tuple[str, ...] = (*GRAPH, "noise")) -> SuiteProblem:
    return SuiteProblem(
        f"spatial_{name}", "spatial_small", kind, task="regression", half="reporting", load=load, story=story
    )


PROBLEMS = (
    _entry("baltimore", load_baltimore, "211 houses in Baltimore: tell the price from rooms, comfort and lot."),
    _entry("columbus", load_columbus, "49 districts of Columbus: tell crimes from wealth and houses.", ("collective",)),
    _entry("georgia", load_georgia, "159 counties of Georgia: tell the share with a bachelor's degree."),
    _entry("stlouis", load_stlouis, "78 counties around St. Louis: tell the homicides from those of earlier years."),
    _entry("tokyo", load_tokyo, "262 communes around Tokyo: tell the deaths of working age against those expected."),
)
