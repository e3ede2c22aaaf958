"""What gives the label away is said before training; what only looks so mostly is not."""

from __future__ import annotations

import math
import pickle
import tracemalloc

import numpy as np
import polars as pl
import pytest

from hetcore.data import Graph, HetData, Source
from hetcore.data.agreement import disorder, group_errors, is_monotone, is_one_to_one, log_chance, tells_one_class
from hetcore.data.leaks import find_leaks
from hetcore.data.report import LEAK
from tests.data.leak_cases import CASES, INNOCENT, LEAKS, found

KNOWN_ALARMS = {"a very good feature"}
"""Told by mistake in some draws: three errors in a hundred, beside the bound of two."""


@pytest.mark.parametrize("case", LEAKS, ids=lambda case: case.name)
def test_every_planted_leak_is_reported(case):
    findings = found(case)
    assert len(findings) == 1
    assert findings[0].message.endswith(("before the label", "draw samples at random"))


@pytest.mark.parametrize("case", INNOCENT, ids=lambda case: case.name)
def test_look_alikes_are_not_reported(case):
    assert [leak.message for leak in found(case)] == [] or case.name in KNOWN_ALARMS


def test_the_cases_are_as_many_as_they_say():
    assert len(LEAKS) >= 20 and len(INNOCENT) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_label_column_left_among_the_features_is_in_the_report():
    train = pl.DataFrame({"id": range(30), "x": np.arange(30) % 7, "y": ["a", "b"] * 15})
    labels = train.select("id", "y").head(15)
    (finding,) = HetData({"train": train}, target=labels).report.of("label_copy")
    assert str(finding) == (
        "source 'train': column 'y' equals the label in all 15 rows that have both: "
        "leave it out unless it is known before the label."
    )
    assert not HetData({"train": train.drop("y")}, target=labels).report.of("label_copy")


def test_labels_without_a_name_or_without_a_value_leak_nothing():
    train = pl.DataFrame({"id": range(30), "y": [0, 1] * 15})
    assert find_leaks(HetData({"t": train})) == []
    assert find_leaks(HetData({"t": train}, target=pl.DataFrame({"id": [0], "z": ["a"]}))) == []
    assert [leak.kind for leak in find_leaks(HetData({"t": train}, target=(train["id"], train["y"])))] == ["label_copy"]
    (shuffled,) = find_leaks(HetData({"t": train}, target=(train["id"].sample(30, shuffle=True, seed=0), train["y"])))
    assert shuffled.kind == "label_name"


def test_disorder_is_0_for_sorted_and_about_1_for_shuffled_labels():
    rng = np.random.default_rng(0)
    codes, column = np.arange(400) % 4, rng.random(400)
    X = np.stack([codes, column, np.where(column < 0.5, np.nan, codes), np.full(400, np.nan)], axis=1).astype(float)
    values = disorder(X[(mixed := rng.permutation(400))], codes[mixed], False)
    assert values[0] == values[2] == 0 and values[3] == 1
    assert values[1] == pytest.approx(1, abs=0.1)
    ranks = rng.permutation(400)
    assert disorder(np.stack([ranks, column], axis=1).astype(float), ranks, True) == pytest.approx([0, 1], abs=0.1)


def test_groups_vote_without_the_row_itself():
    codes = np.array([0, 0, 0, 1, 1, 1])
    assert group_errors(codes, codes) == 0
    assert group_errors(np.arange(6), codes) == 2 and group_errors(np.arange(6), codes, own=True) == 0
    assert group_errors(np.zeros(6, dtype=int), codes) == 2  # a tie has no winner
    assert group_errors(np.array([0, 0, 0, 0, 1, 1]), codes) == pytest.approx(1 / 3)


def test_one_to_one_monotone_and_their_chance():
    codes = np.array([0, 1, 2, 1, 0])
    assert is_one_to_one(np.array([5, 3, 9, 3, 5]), codes) and not is_one_to_one(np.array([5, 3, 3, 3, 5]), codes)
    assert [is_monotone(np.array(v), codes) for v in ([1, 2, 3, 2, 1], [3, 2, 1, 2, 3], [1, 3, 2, 3, 1])] == [1, -1, 0]
    assert np.exp(log_chance(np.array([0, 0, 1, 1]), False)) == pytest.approx(2 * 4 / 24)
    assert np.exp(log_chance(np.arange(4), True)) == pytest.approx(2 / 24)


def test_a_column_that_is_filled_for_one_class_alone_is_found():
    """A date of what followed, in text, of one value: it tells the class by where it stands alone."""
    ids, y = [f"i{k}" for k in range(60)], ["yes", "no", "no"] * 20
    day = ["2020" if label == "yes" else None for label in y]
    table = pl.DataFrame({"id": ids, "x": np.random.default_rng(0).random(60), "day": day})
    (leak,) = find_leaks(HetData({"t": table}, target=(ids, y)))
    assert leak.column == "day" and "predicts the label by its missing cells alone in 60 rows" in leak.message


def kinds(data):
    return [finding.kind for finding in data.report if finding.kind.startswith(LEAK)]


def test_what_ifs_report_the_leaks_of_their_own_labels_sources_and_graphs():
    """They kept the findings of the data before: of a label that was gone, and none of a source that was new."""
    rng = np.random.default_rng(0)
    ids, y = [f"i{k}" for k in rng.permutation(60)], np.array(["a", "b"])[rng.integers(2, size=60)]
    table = pl.DataFrame({"id": ids, "x": rng.random(60), "note": y})
    bare = HetData({"t": table})
    assert kinds(bare) == [] and kinds(bare.with_target(y)) == ["label_copy"]
    assert kinds(bare.with_target(pl.Series("x", y)).select()) == ["label_name", "label_copy"]
    data = HetData({"t": table}, target=(ids, y))
    assert kinds(data) == ["label_copy"] and kinds(data.with_target(rng.permutation(y))) == []
    assert kinds(data.with_target(None)) == [] and data.with_target(None).label_name == ""
    clean = HetData({"t": table.drop("note")}, target=(ids, y))
    assert kinds(clean) == [] and kinds(clean.with_source("u", Source(ids, pl.DataFrame({"o": y})))) == ["label_copy"]
    ends = [(ids[a], ids[b]) for a, b in rng.integers(60, size=(400, 2)) if a != b and y[a] == y[b]]
    graph = Graph(pl.DataFrame(ends, schema=["source", "target"], orient="row"))
    linked = clean.with_graph("g", graph)
    assert kinds(linked) == ["label_graph"] and kinds(linked.select(graphs=[])) == []
    assert kinds(HetData.of_parts(data.id_series, data.sources, {}, **facts(data))) == ["label_copy"]


def facts(data):
    return {name: getattr(data, name) for name in ("y", "target_kind", "label_name", "report", "steps")}


def test_a_what_if_seeks_leaks_only_when_they_are_asked_for(monkeypatch):
    ids = [f"i{k}" for k in range(30)]
    data = HetData({"t": pl.DataFrame({"id": ids, "y": ["a", "b", "b"] * 10})}, target=(ids, ["a", "b", "b"] * 10))
    calls = []
    monkeypatch.setattr("hetcore.data.hetdata.find_leaks", lambda data: calls.append(data) or find_leaks(data))
    changed = data.with_target(["b", "a", "a"] * 10)
    assert changed.report.of("infinite_label") == [] and calls == []
    assert len(changed.report) == len(list(changed.report)) == 1 and calls == [changed]
    assert list(pickle.loads(pickle.dumps(changed.report))) == list(changed.report)


def test_columns_that_tell_one_of_thousands_of_classes_take_no_matrix_of_rows_by_classes():
    codes = np.arange(4000) % 2000
    columns = np.stack([codes == 7, codes < 1000, codes == 1999], axis=1).astype(float)
    tracemalloc.start()
    found = tells_one_class(columns, codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found < 0).tolist() == [True, False, True]
    assert peak < 2_000_000  # 64,000,000 by all classes


def test_a_column_of_two_values_tells_one_class_only_where_every_row_agrees():
    codes = np.arange(40) % 4
    one, gaps = (codes == 2).astype(float), np.where(codes == 1, np.nan, codes == 2)
    slip, pair, three = np.where(np.arange(40) == 3, 1.0, one), (codes < 2).astype(float), np.minimum(codes, 2.0)
    found = tells_one_class(np.stack([one, 1 - one, gaps, slip, pair, three, np.full(40, np.nan)], axis=1), codes)
    assert (found[:3] < -10).all() and (found[3:] == 0).all()
    # 2 values, 4 classes, and C(40, 10) ways to choose its rows
    assert np.exp(found[0]) == pytest.approx(8 / math.comb(40, 10))


def test_a_table_of_one_class_is_reported_as_such():
    ids, y = [f"i{k}" for k in range(60)], ["yes", "no", "no"] * 20
    table = pl.DataFrame({"id": ids, "x": np.random.default_rng(0).random(60)})
    later = Source([i for i, label in zip(ids, y) if label == "yes"], np.ones((20, 2)))
    (finding,) = HetData({"t": table, "later": later}, target=(ids, y)).report.of("label_presence")
    assert str(finding) == (
        "source 'later': predicts the label by who has a record there alone in 60 rows: "
        "leave it out unless it is known before the label."
    )
