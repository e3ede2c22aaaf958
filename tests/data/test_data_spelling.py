"""Ids and classes that differ in how they are written are said, and made the same where that is asked for."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.spelling import WAYS, respelled, ways_apart
from hetcore.errors import ParameterError

PAIRS = [
    ("\u00e9", "e\u0301", "unicode"),
    ("a\u200bb", "ab", "hidden"),
    ("a ", "a", "space"),
    ("new  york", "new york", "space"),
    ("Rome", "rome", "case"),
    ("1.10", "1.1", "number"),
    ("1E5", "100000", "number"),
    ("7.0", "7", "number"),
    ("007", "7", "zeros"),
]


@pytest.mark.parametrize(("one", "other", "way"), PAIRS)
def test_each_way_is_reported_and_made_the_same_by_itself(one, other, way):
    rest = [f"z{k}z" for k in range(5)]
    left = pl.DataFrame({"id": [one, *rest], "x": range(6)})
    right = pl.DataFrame({"id": [other, *rest], "y": range(6)})
    data = HetData({"left": left, "right": right})
    (finding,) = data.report.of("near_id")
    assert finding.count == 1 and f"spelling={[way]!r}" in finding.message
    assert data.n == 7
    (row,) = data.joins().rows(named=True)
    assert row == {"part": "left", "other": "right", "ids": 6, "other_ids": 6, "matched": 5, "nearly": 1}
    joined = HetData({"left": left, "right": right}, spelling=[way])
    assert joined.n == 6 and joined.mask.all() and not joined.report.of("near_id")


def test_texts_that_are_not_the_same_stay_apart():
    apart = ["a", "b", "a b", "ab", "10", "1", "1.01", "1e400", "9007199254740993", "9007199254740994.0", "-1", "0"]
    assert respelled(pl.Series(apart)).n_unique() == len(apart)
    assert respelled(pl.Series([None, "A"])).to_list() == [None, "a"]


def test_classes_graphs_and_labels_are_made_the_same_too():
    table = pl.DataFrame({"id": ["a", "b", "c", "d"], "x": [1, 2, 3, 4]})
    target = pl.DataFrame({"id": ["A", "B", "C", "D"], "y": ["\u00e9", "e\u0301", "x", "x "]})
    links = pl.DataFrame({"source": ["A ", "b"], "target": ["b", "C"]})
    apart = HetData({"t": table}, {"g": links}, target)
    assert apart.report.of("near_class")[0].count == 2 and len(apart.classes) == 4
    data = HetData({"t": table}, {"g": links}, target, spelling=WAYS)
    assert data.n == 4 and data.labelled.all() and data.classes == ["x", "\u00e9"]
    assert data.graphs["g"].n_edges == 2 and data.graphs["g"].degree.tolist() == [1, 2, 1, 0]
    assert not data.report.of("near_id") and not data.report.of("near_class")


def test_classes_are_made_the_same_where_the_first_has_no_label():
    table = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    data = HetData({"t": table}, target=(["a", "b", "c"], [None, "Yes", "yes"]), spelling=["case"])
    assert data.y.tolist() == [None, "yes", "yes"]


def test_a_graph_keeps_direction_and_sign():
    table = pl.DataFrame({"id": ["a", "b", "c", "z"], "x": [1, 2, 3, 4]})
    edges = [("A", "b", 1.0), ("a", "B", 2.0), ("B", "C", -2.0), ("z", "Z", 1.0)]
    links = hc.Graph(edges, directed=True, signed=True)
    graph = HetData({"t": table}, {"g": links}, spelling=["case"]).graphs["g"]
    assert graph.arcs.toarray().tolist() == [[0, 3, 0, 0], [0, 0, -2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert graph.neighbors("out").toarray().tolist() == graph.arcs.toarray().tolist()
    signed = HetData({"t": table}, {"g": hc.Graph([("A", "B", -2.0)], signed=True)}, spelling=["case"]).graphs["g"]
    assert signed.neighbors()[[0, 1], [1, 0]].tolist() == [-2.0, -2.0]


def test_rows_that_become_one_are_reported_as_repeated():
    data = HetData({"t": pl.DataFrame({"id": ["a", "A"], "x": [1, 2]})}, spelling=["case"])
    assert data.n == 1 and data.report.count("repeated_id") == 1
    assert data.sources["t"].n_given == 2


@pytest.mark.parametrize("given", ["case", ["case", "colour"]])
def test_other_ways_are_refused(given):
    with pytest.raises(ParameterError, match="give a list of some of them"):
        HetData({"t": pl.DataFrame({"id": ["a"], "x": [1]})}, spelling=given)


def test_joins_count_matches_as_sets_do():
    rng = np.random.default_rng(0)
    tables = {f"t{k}": [f"i{j}" for j in np.flatnonzero(rng.random(50) < 0.5)] for k in range(3)}
    frames = {name: pl.DataFrame({"id": ids, "x": range(len(ids))}) for name, ids in tables.items()}
    labels = pl.DataFrame({"id": [f"i{k}" for k in range(0, 50, 3)], "y": [float(k) for k in range(17)]})
    found = HetData(frames, target=labels).joins()
    parts = tables | {"the labels": labels["id"].to_list()}
    for row in found.rows(named=True):
        assert row["matched"] == len(set(parts[row["part"]]) & set(parts[row["other"]])) and row["nearly"] == 0
        assert (row["ids"], row["other_ids"]) == (len(parts[row["part"]]), len(parts[row["other"]]))
    assert found.height == 6


def test_columns_of_a_respelled_source_are_as_they_were_given():
    """Dates are days since 1970 once they are read: read again, they would be mere numbers."""
    days = [datetime.date(2015, 1, 1 + k) for k in range(6)]
    table = pl.DataFrame({"id": [f"0{k}" for k in range(6)], "day": days, "x": range(6), "gone": [None] * 6})
    plain, same = (HetData({"t": table}, spelling=ways).sources["t"] for ways in ([], ["zeros"]))
    assert same.id_series.to_list() == list("012345")
    assert same.moments == plain.moments == {"day"}
    assert (same.guess, same.kinds, same.findings) == (plain.guess, plain.kinds, plain.findings)


@pytest.mark.parametrize(
    ("texts", "ways"),
    [(["Ja", "ja ", "nein", "NEIN"], ["space", "case"]), (["007 ", "7"], ["space", "zeros"]), (["a", "a "], ["space"]),
     (["1.0", "1"], ["number"]), (["a", "b"], [])],
)  # fmt: skip
def test_the_ways_that_it_takes_are_named_at_once_and_no_others(texts, ways):
    """Classes apart in case alone and in both were asked about twice; a pair apart in two ways named all six."""
    assert ways_apart(pl.Series(texts)) == ways
