"""What gives the label away is asked before it is used: a table or a graph that does is named, with what to do."""

import numpy as np
import polars as pl

from hetcore.data import HetData, Source
from studio.readers.upload_problems import problems

IDS, Y = [f"i{k}" for k in range(60)], ["yes", "no", "no"] * 20
TABLE = pl.DataFrame({"id": IDS, "x": np.random.default_rng(0).random(60)})
CURE = "take it out, or use it if it is known before the label"


def test_a_table_of_one_class_is_asked_about():
    later = pl.DataFrame({"id": [i for i, label in zip(IDS, Y) if label == "yes"], "amount": range(20)})
    found = problems(HetData({"t": TABLE, "later": later}, target=(IDS, Y)))
    assert found.soft == [f"Source 'later': predicts the label by who has a record there alone in 60 rows: {CURE}."]
    assert found.hard == [] and found.leaks == {} and (found.tables, found.graphs) == (["later"], [])


def test_a_graph_whose_weights_tell_equal_labels_is_asked_about():
    pairs = {tuple(sorted(pair)) for pair in np.random.default_rng(1).integers(60, size=(300, 2)).tolist()}
    ends = [(IDS[a], IDS[b], 1.0 if Y[a] == Y[b] else 0.1) for a, b in sorted(pairs) if a != b]
    graph = pl.DataFrame(ends, schema=["source", "target", "weight"], orient="row")
    (sentence,) = problems(HetData({"t": TABLE}, {"g": graph}, target=(IDS, Y))).soft
    assert sentence.startswith("Graph 'g': the weights of ") and sentence.endswith(f"which join equal labels: {CURE}s.")


def test_tables_are_not_all_left_out():
    """Each tells one class by who has a record there: without both there is nothing to learn from."""
    parts = {name: pl.DataFrame({"id": [i for i, y in zip(IDS, Y) if y == name], "x": 0.5}) for name in ("yes", "no")}
    found = problems(HetData(parts, target=(IDS, Y)))
    assert len(found.soft) == 2 and found.tables == []


def test_images_of_other_names_have_no_id_column_to_choose():
    photos = Source(["photo1", "photo2"], np.zeros((2, 8, 8, 1), dtype=np.uint8))
    (sentence,) = problems(HetData({"t": TABLE, "photos": photos}, target=(IDS, Y))).hard
    assert sentence.startswith("Source 'photos': no id in common")
    assert sentence.endswith(": name its images by the ids of a table, or take it out.")


def test_a_graph_of_other_ids_may_be_a_table():
    graph = pl.DataFrame({"source": ["1", "2"], "target": ["2", "3"]})
    (sentence,) = problems(HetData({"t": TABLE}, {"g": graph}, target=(IDS, Y))).hard
    assert sentence.startswith("Graph 'g': no id in common") and "use it as a table" in sentence


def test_a_row_of_totals_and_a_class_for_each_row_are_asked_about():
    table = pl.DataFrame({"id": [*IDS, "Total"], "x": [*range(60), 1770], "z": [*range(60), 1770]})
    first, second = problems(HetData({"t": table}, target=(IDS, [f"seen {k}" for k in range(60)]))).soft
    assert first.startswith("Source 't': the last row, 'Total', is the sum of the others in 2 columns, for example")
    assert second.startswith("Target: 60 classes in 60 labels, for example 'seen 0': choose another label column")


def test_where_ids_meet_but_for_how_they_are_written_that_is_what_to_do():
    labels = [f"{name}.0" for name in range(60)], Y
    table = TABLE.with_columns(id=pl.Series([str(k) for k in range(60)]))
    (of_labels,) = problems(HetData({"t": table}, target=labels)).hard
    two = HetData({"t": table, "u": TABLE.with_columns(id=pl.Series(labels[0]))}, target=labels)
    (of_tables,) = problems(two).hard
    assert all(": write ids the same way, or choose another id column" in each for each in (of_labels, of_tables))
