"""The suite's outside part: its tables become sources, links and labels as declared, and none shares a half.

The files are read where HETCORE_DATA holds them; else made-up tables of the same columns stand in.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from datasets import suite
from datasets.suite import _files, rdatasets

REAL = Path(os.environ.get("HETCORE_DATA", "")) / rdatasets.REPOSITORY
SIZES = {  # instances, tables, graphs, classes (0: numbers)
    "r_schools": (420, 2, 1, 0), "r_crime": (630, 3, 1, 0), "r_unemployment": (816, 3, 1, 0),
    "r_cigarettes": (1380, 2, 1, 0), "r_firms": (2000, 2, 1, 0), "r_heights": (934, 2, 1, 0), "r_pigs": (861, 2, 2, 0),
    "r_cirrhosis": (418, 2, 0, 2), "r_colon": (929, 2, 0, 2), "r_midwest": (437, 3, 1, 0), "r_fishing": (1182, 3, 0, 4),
    "r_work": (753, 3, 0, 2), "r_votes": (909, 3, 0, 3), "r_plebiscite": (2500, 3, 0, 4), "r_wages": (1600, 3, 1, 0),
    "r_brothers": (758, 3, 0, 0), "r_persons": (1500, 5, 0, 2), "r_baseball": (263, 3, 1, 0), "r_glass": (214, 3, 0, 6),
    "r_traffic": (336, 2, 1, 0), "r_staff": (1031, 2, 2, 0), "r_ticks": (403, 2, 2, 0), "r_fries": (695, 2, 1, 0),
    "r_towns": (220, 3, 0, 0), "r_cars": (234, 2, 1, 0),
}  # fmt: skip


def made_up(table: rdatasets.Table) -> pl.DataFrame:
    """Return 30 rows with every column that a table's declaration names."""
    names = {column for columns in table.sources.values() for column in columns.split()}
    names |= {column for links in table.links.values() for column in (*links.key, *links.order)}
    names |= {table.target} if isinstance(table.target, str) else set(table.target.meta.root_names())
    names |= set() if table.keep is None else set(table.keep.meta.root_names())
    keys = {column for links in table.links.values() for column in links.key}
    rng = np.random.default_rng(0)
    return pl.DataFrame({name: rng.integers(1, 4 if name in keys or name in ("etype", "status") else 90, 30) for name in
                         sorted(names)})  # fmt: skip


def test_the_outside_part_shares_no_family_with_a_half():
    outside = {each.family for use in suite.USES for each in suite.problems(use, "outside")}
    assert outside == set(SIZES) == {problem.name for problem in rdatasets.PROBLEMS}
    assert not outside & {each.family for use in suite.USES for half in suite.HALVES for each in
                          suite.problems(use, half)}  # fmt: skip
    assert {f"csv/{table.path}.csv" for table in rdatasets.TABLES.values()} == set(
        _files.FILES[rdatasets.REPOSITORY][1]
    )


@pytest.mark.parametrize("name", rdatasets.TABLES)
def test_no_table_holds_what_the_label_is_made_of(name):
    table = rdatasets.TABLES[name]
    made_of = {table.target} if isinstance(table.target, str) else set(table.target.meta.root_names())
    data = rdatasets.data_of(made_up(table), table)
    assert list(data.sources) == list(table.sources) and list(data.graphs) == list(table.links)
    assert not made_of & {column for source in data.sources.values() for column in source.columns}
    assert data.target_kind == table.task and data.labelled.all()


def test_rows_of_a_key_are_linked_in_the_order_of_time():
    table = rdatasets.TABLES["r_traffic"]
    raw = pl.DataFrame({"state": ["a", "b", "a", "a"], "year": [3, 1, 1, 2], "mrall": [1.0, 2.0, 3.0, 4.0]})
    for column in "beertax mlda jaild comserd vmiles unrate perinc".split():
        raw = raw.with_columns(pl.lit(1.0).alias(column))
    data = rdatasets.data_of(raw, table)
    edges = rdatasets._edges(raw.insert_column(0, pl.Series("id_", data.ids.tolist())), table.links["state"])
    assert set(edges.iter_rows()) == {("row-0003", "row-0004"), ("row-0004", "row-0001")}
    assert data.graphs["state"].n_edges == 2 and data.y.tolist() == [1.0, 2.0, 3.0, 4.0]


def needs(name):
    """Return a case that is skipped without its file: a folder alone may be what a failed download left."""
    file = REAL / f"csv/{rdatasets.TABLES[name].path}.csv"
    return pytest.param(name, marks=pytest.mark.skipif(not file.is_file(), reason=f"{file.name} is not in {REAL}"))


@pytest.mark.parametrize("name", [needs(name) for name in SIZES])
def test_a_table_has_its_known_size(name):
    data = suite.load(name)
    assert (data.n, len(data.sources), len(data.graphs), len(data.classes)) == SIZES[name]
    assert all(graph.n_edges > 0 for graph in data.graphs.values())
