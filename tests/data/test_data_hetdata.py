"""HetData: one list of instances, labels, and findings for what does not fit."""

from __future__ import annotations

import json
import multiprocessing.reduction
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.errors import DataError, ParameterError

ONE = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
TWO = pl.DataFrame({"id": ["d", "b"], "z": ["u", "v"]})


def found(data: hc.HetData) -> dict[tuple[str, str], int]:
    return {(finding.where, finding.kind): finding.count for finding in data.report}


def test_instances_come_in_order_of_sources_then_target_then_graphs():
    data = hc.HetData(
        {"one": ONE, "two": TWO},
        {"g": pl.DataFrame({"source": ["z", "a"], "target": ["y", "t"]})},
        pl.DataFrame({"id": ["t", "b"], "y": [1.0, 2.0]}),
    )
    assert data.ids.tolist() == ["a", "b", "c", "d", "t", "z", "y"]
    assert data.n == 7 and data.position["t"] == 4
    assert_array_equal(data.mask, [[1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0]])
    assert_array_equal(data.rows("two"), [3, 1])
    assert data.rows("two").dtype == np.int64
    assert_array_equal(data.y, [np.nan, 2, np.nan, np.nan, 1, np.nan, np.nan])
    assert_array_equal(data.labelled, [False, True, False, False, True, False, False])
    assert data.graphs["g"].n == 7 and data.graphs["g"].ids.tolist() == data.ids.tolist()


def test_the_forms_of_the_contract():
    data = hc.HetData(
        sources={"genre": ONE.rename({"id": "title"}), "image": hc.Source(["a"], np.zeros((1, 2, 2)))},
        graphs={
            "actor": pl.DataFrame({"source": ["a"], "target": ["b"]}),
            "director": nx.Graph([("a", "c")]),
            "writer": (["b", "c"], scipy.sparse.csr_array(np.array([[0, 1], [1, 0]]))),
            "producer": hc.Graph(pl.DataFrame({"source": ["a"], "target": ["c"]})),
        },
        target=pl.DataFrame({"title": ["a"], "y": ["good"]}),
        id_column="title",
    )
    assert data.source_names == ["genre", "image"]
    assert {name: graph.n_edges for name, graph in data.graphs.items()} == dict.fromkeys(data.graph_names, 1)
    assert data.target_kind == "classification" and data.y.tolist() == ["good", None, None]
    assert data.classes == ["good"]


def test_001_is_not_1():
    data = hc.HetData(
        {"text": pl.DataFrame({"id": ["001", "1"], "x": [1, 2]}), "int": pl.DataFrame({"id": [1], "x": [3]})}
    )
    assert data.ids.tolist() == ["001", "1"]
    assert_array_equal(data.rows("int"), [1])
    assert ("source 'int'", "id_converted") in found(data)


def test_an_instance_known_only_to_a_graph_is_kept_and_reported():
    edges = pl.DataFrame({"source": ["a", "a"], "target": ["b", "new"]})
    data = hc.HetData({"one": ONE}, {"g": edges})
    assert "new" in data.position and data.graphs["g"].n_edges == 2
    assert not data.mask[:, data.position["new"]].any()
    assert found(data) == {("graph 'g'", "unknown_id"): 1}
    assert "kept as instances that only graphs know" in str(data.report)
    assert data.report.of("unknown_id")[0].examples == ("new",)


def test_unknown_ids_of_edges_can_be_dropped():
    edges = pl.DataFrame({"source": ["a", "a", "p"], "target": ["b", "new", "q"]})
    data = hc.HetData({"one": ONE}, {"g": edges}, keep_graph_only=False)
    assert data.ids.tolist() == ["a", "b", "c"] and data.graphs["g"].n_edges == 1
    assert found(data) == {("graph 'g'", "unknown_id"): 2}
    assert "these edges are dropped" in str(data.report)


def test_an_id_of_the_target_is_known_to_graphs():
    edges = pl.DataFrame({"source": ["a"], "target": ["t"]})
    data = hc.HetData({"one": ONE}, {"g": edges}, pl.DataFrame({"id": ["t"], "y": [None]}), keep_graph_only=False)
    assert data.graphs["g"].n_edges == 1 and ("graph 'g'", "unknown_id") not in found(data)


def test_a_word_is_no_answer_to_whether_ids_of_graphs_are_kept():
    for given in ({"directed": "no"}, {"signed": 1}):
        with pytest.raises(ParameterError, match=f"^{next(iter(given))}=.* is no truth value: give True or False"):
            hc.Graph([("a", "b")], **given)
    with pytest.raises(ParameterError, match=r"^keep_graph_only='no' is no truth value: give True or False\.$"):
        hc.HetData({"one": ONE}, keep_graph_only="no")


def test_nodes_without_an_edge_that_nothing_else_knows_are_left_out():
    graph = nx.Graph([("a", "b")])
    graph.add_nodes_from(["c", "lonely"])
    data = hc.HetData({"one": ONE}, {"g": graph})
    assert data.ids.tolist() == ["a", "b", "c"]
    assert found(data) == {("graph 'g'", "lonely_node"): 1}


def test_parts_without_a_common_id_are_reported():
    other = pl.DataFrame({"id": ["A", "B"], "x": [1.0, 2.5]})
    data = hc.HetData({"one": ONE, "two": TWO, "far": other}, {"g": nx.Graph([("p", "q")])})
    assert found(data) == {
        ("source 'far'", "no_common_id"): 2,
        ("graph 'g'", "no_common_id"): 2,
        ("graph 'g'", "unknown_id"): 1,
        ("ids", "near_id"): 2,
    }
    assert not found(hc.HetData({"one": ONE}))


def test_a_source_none_of_whose_instances_has_a_label_is_reported():
    data = hc.HetData({"one": ONE, "few": pl.DataFrame({"id": ["c"], "x": [1.0]})}, target=(["a", "b"], [1.0, 2.0]))
    assert found(data) == {("source 'few'", "unlabelled_source"): 1}
    assert "source 'few': none of its instances has a label, so that its weight tells nothing" in str(data.report)
    assert not found(hc.HetData(data.sources))


def test_labels_outside_the_sources_are_kept_and_reported():
    data = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": ["q", "r"], "y": [1.0, 2.0]}))
    assert data.n == 5
    assert found(data)[("target", "unrecorded_label")] == 2
    assert "2 of 2 labels for ids that no source has" in str(data.report)


@pytest.mark.parametrize(
    ("labels", "kind", "y"),
    [
        ([1.5, None, float("nan")], "regression", [1.5, np.nan, np.nan]),
        ([1, 2, None], "regression", [1.0, 2.0, np.nan]),
        (["x", None, "y"], "classification", ["x", None, "y"]),
        ([True, False, None], "classification", ["true", "false", None]),
        (pl.Series(["u", "v", None], dtype=pl.Categorical), "classification", ["u", "v", None]),
        (["1", "2", None], "classification", ["1", "2", None]),
        ([None, None, None], None, [np.nan] * 3),
    ],
)
def test_the_task_is_guessed_from_the_labels(labels, kind, y):
    data = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": ["a", "b", "c"], "y": labels}))
    assert data.target_kind == kind
    if kind == "classification":
        assert data.y.tolist() == y and data.y.dtype == object
    else:
        assert_array_equal(data.y, y)


def test_the_task_can_be_set():
    numbers = pl.DataFrame({"id": ["a", "b", "c"], "y": [3.0, 1.0, None]})
    assert hc.HetData({"one": ONE}, target=numbers, task="classification").y.tolist() == ["3", "1", None]
    texts = pl.DataFrame({"id": ["a", "b"], "y": ["3", " 1.5"]})
    assert_array_equal(hc.HetData({"one": ONE}, target=texts, task="regression").y, [3, 1.5, np.nan])
    for target in (numbers, None):
        with pytest.raises(ParameterError, match="task='ranking' is not one of"):
            hc.HetData({"one": ONE}, target=target, task="ranking")
    words = pl.DataFrame({"id": ["a", "b"], "y": ["3", "good"]})
    with pytest.raises(DataError, match="Target: 1 label such as 'good' can't be read as a number"):
        hc.HetData({"one": ONE}, target=words, task="regression")


def test_no_target():
    data = hc.HetData({"one": ONE})
    assert data.target_kind is None and np.isnan(data.y).all() and data.classes == [] and not data.labelled.any()


LETTERS = list("abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize(
    ("labels", "kind", "count"),
    [
        ([None] * 3, "no_label", 0),
        ([float("nan")] * 3, "no_label", 0),
        (["", None, None], "no_label", 0),
        (["", "x", "y"], "empty_label", 1),
        (["x", "x", None], "one_class", 2),
        ([2.0, 2.0, None], "one_value", 2),
        ([1.0, float("inf"), 2.0], "infinite_label", 1),
        (["1", "good", "2"], "mixed_labels", 3),
        (LETTERS, "many_classes", 26),
    ],
)
def test_labels_worth_a_look_are_reported(labels, kind, count):
    data = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": LETTERS[: len(labels)], "y": labels}, strict=False))
    assert found(data)[("target", kind)] == count


@pytest.mark.parametrize("labels", [["1", "2", "3"], ["good", "bad", None]])
def test_labels_of_one_sort_are_not_reported_as_mixed(labels):
    data = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": ["a", "b", "c"], "y": labels}))
    assert not found(data)


def test_the_id_column_of_the_target_may_stand_anywhere_or_come_first_by_any_name():
    for target in (pl.DataFrame({"y": ["u"], "id": ["a"]}), pl.DataFrame({"key": ["a"], "y": ["u"]})):
        assert hc.HetData({"one": ONE}, target=target).y.tolist() == ["u", None, None]


def test_infinite_labels_count_as_unlabelled():
    data = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": ["a", "b"], "y": [1.0, -float("inf")]}))
    assert_array_equal(data.y, [1.0, np.nan, np.nan])


def test_repeated_labels_keep_the_first_and_contradictions_are_reported():
    target = pl.DataFrame({"id": ["a", "a", "b", "b", None], "y": ["x", "y", "x", "x", "x"]})
    data = hc.HetData({"one": ONE}, target=target)
    assert data.y.tolist() == ["x", "x", None]
    report = found(data)
    assert report[("target", "repeated_id")] == 2 and report[("target", "missing_id")] == 1
    assert report[("target", "contradicting_label")] == 1
    assert data.report.of("contradicting_label")[0].examples == ("a",)


def test_a_target_of_arrays():
    data = hc.HetData({"one": ONE}, target=(["b", "a"], np.array([2, 1])))
    assert_array_equal(data.y, [1, 2, np.nan])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sources": {}}, "There is no source"),
        ({"sources": None}, "There is no source"),
        ({"sources": [ONE]}, "The sources are a list, not named: give sources={name: table}"),
        ({"sources": ONE}, "The sources are a DataFrame"),
        ({"sources": {"": ONE}}, "source name '' must be a text"),
        ({"sources": {1: ONE}}, "source name 1 must be a text"),
        ({"sources": {"one": ONE}, "id_column": "title"}, "Source 'one': There is no id column 'title'.*'id', 'x'"),
        ({"sources": {"one": ONE.select("id")}}, "Source 'one': There is no column beside"),
        ({"sources": {"one": ONE}, "kinds": {"two": {}}}, "kinds names the source 'two'"),
        ({"sources": {"one": ONE}, "kinds": ["one"]}, "kinds=.* names no source: give {source: {column: kind}}"),
        ({"sources": {"one": ONE}, "kinds": {"one": "real"}}, "Source 'one': kinds='real' names no column: give"),
        ({"sources": {"one": ONE}, "kinds": {"one": {"q": "real"}}}, "Source 'one': There is no column 'q'"),
        ({"sources": {"one": ONE}, "graphs": ONE}, "The graphs are a DataFrame, not named: give graphs={name: edges}"),
        ({"sources": {"one": ONE}, "graphs": [ONE]}, "The graphs are a list, not named"),
        ({"sources": {"one": ONE}, "graphs": {"g": 3}}, "Graph 'g': A graph can't be read from int"),
        ({"sources": {"one": ONE}, "target": ONE.with_columns(w=1)}, "Target: The labels come with the columns"),
        ({"sources": {"one": ONE}, "target": [1, 2]}, "Target: The labels can't be read from list"),
        ({"sources": {"one": ONE}, "target": (["a"], [1, 2])}, "Target: There are 1 ids for 2 labels"),
        ({"sources": {"one": ONE}, "target": (["a"], pl.Series([[1]]))}, "Target: Labels of type List"),
    ],
)
def test_data_that_cannot_be_used_are_refused_in_one_sentence(arguments, words):
    with pytest.raises(DataError, match=words):
        hc.HetData(**arguments)


def test_kinds_can_be_given():
    data = hc.HetData(
        {"one": ONE, "two": hc.Source(["a"], pl.DataFrame({"z": [1]}))},
        kinds={"one": {"x": "nominal"}, "two": {"z": "text"}},
    )
    assert data.sources["one"].kinds == {"x": "nominal"} and data.sources["two"].kinds == {"z": "text"}


def test_unknown_source_names_the_known():
    with pytest.raises(DataError, match="no source 'three' among 'one'"):
        hc.HetData({"one": ONE}).rows("three")


def test_shared_arrays_can_not_be_written():
    data = hc.HetData({"one": ONE}, target=ONE.rename({"x": "y"}))
    for array in (data.y, data.mask, data.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_report_is_one_line_per_finding_with_few_examples():
    frame = pl.DataFrame({"id": [f"i{k}" for k in range(9)] * 2, "x": range(18)})
    report = hc.HetData({"<b>": frame}).report
    assert str(report).splitlines() == [str(finding) for finding in report]
    (finding,) = report
    assert len(finding.examples) == 5 and finding.count == 9 and finding.where == "source '<b>'"
    assert report.to_frame()["examples"].to_list() == [["i0", "i1", "i2", "i3", "i4"]]
    assert report.count("repeated_id") == 9 and report.of("repeated_id", "elsewhere") == []
    assert str(hc.HetData({"one": ONE}).report) == "Nothing to report."


def test_long_and_hostile_names_stay_short_and_on_one_line():
    name = "<script>alert(1)</script>\n" + "x" * 1000
    data = hc.HetData({name: pl.DataFrame({"id": ["a" * 10_000] * 2, "\u202ex\n": [1, 2]})})
    text = str(data.report)
    assert len(text) < 400 and "\n" not in text and "\u202e" not in repr(data)
    html = data._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


@pytest.mark.parametrize("name", ["n", "value", "count", "at", "y", "source", "literal", "index"])
def test_a_column_may_have_any_name(name):
    words = ["red", "green", "blue", "red"]
    data = hc.HetData({"one": pl.DataFrame({"id": list("abcd"), name: words})}, target=(list("abcd"), words))
    assert data.sources["one"].kinds == {name: "nominal"}
    named = hc.HetData({"one": ONE}, target=pl.DataFrame({"id": list("abcd"), name: words}))
    assert named.classes == ["blue", "green", "red"]


@pytest.mark.parametrize("name", ["", 7, None])
def test_sources_and_graphs_have_names(name):
    edges = pl.DataFrame({"source": ["a"], "target": ["b"]})
    with pytest.raises(hc.DataError, match="The source name .* must be a text that is not empty: rename it"):
        hc.HetData({name: ONE})
    with pytest.raises(hc.DataError, match="The graph name .* must be a text that is not empty: rename it"):
        hc.HetData({"one": ONE}, {name: edges})
    data = hc.HetData({"one": ONE})
    with pytest.raises(hc.DataError, match="The graph name .* must be a text that is not empty: rename it"):
        data.with_graph(name, hc.Graph(edges))
    with pytest.raises(hc.DataError, match="The source name .* must be a text that is not empty: rename it"):
        data.with_source(name, data.sources["one"])


def test_data_can_be_sent_to_another_process():
    data = hc.HetData(
        {"one": ONE, "a": hc.Source(["a"], np.ones((1, 2)))}, {"g": nx.Graph([("a", "b")])}, ONE.rename({"x": "y"})
    )
    sent = bytes(multiprocessing.reduction.ForkingPickler.dumps(data))
    received = pickle.loads(sent)
    assert received.digest() == data.digest() and received.report.to_frame().equals(data.report.to_frame())
    assert received.with_noise("one").digest() == data.with_noise("one").digest()


def test_the_package_is_light_until_a_model_is_asked_for():
    heavy = "('numba', 'sklearn', 'catboost', 'scipy.sparse', 'tqdm')"
    code = "import sys, hetcore, json; light = not {'polars', 'numpy'} & set(sys.modules); hetcore.HetData"
    code += f"; print(json.dumps([light, [n for n in {heavy} if n in sys.modules]]))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == [True, []]
    assert hc.save.__module__ == "hetcore.model_files" and "GBCRegressor" in dir(hc)
    with pytest.raises(AttributeError, match="no attribute 'GBM'"):
        _ = hc.GBM


TABLE = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})


@pytest.mark.parametrize("wrong", [np.ones(2), ["a"], pd.DataFrame({"x": [1]}), pl.Series([1.0]), {"a"}, 3])
def test_what_is_no_name_is_refused_in_one_sentence(wrong):
    data = hc.HetData({"t": TABLE}, {"g": pl.DataFrame({"source": ["a"], "target": ["b"]})}, (["a", "b"], [1.0, 2.0]))
    for call in (
        lambda: hc.HetData({"t": TABLE}, id_column=wrong),
        lambda: hc.HetData({"t": TABLE}, task=wrong),
        lambda: hc.HetData({"t": TABLE}, kinds=wrong),
        lambda: hc.HetData({"t": TABLE}, kinds={"t": wrong}),
        lambda: hc.HetData({"t": TABLE}, kinds={"t": {"x": wrong}}),
        lambda: hc.HetData({"t": TABLE}, spelling=wrong),
        lambda: data.rows(wrong),
        lambda: data.with_noise(wrong),
        lambda: data.with_graph_noise("g", 0.5, how=wrong),
        lambda: data.select(wrong),
        lambda: data.with_edges("g", add=wrong),
        lambda: data.with_target(data.y, wrong),
        lambda: data.graphs["g"].neighbors(wrong),
    ):
        with pytest.raises((DataError, ParameterError)) as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", [0, "", [], False])
def test_kinds_that_are_none_are_not_taken_for_no_kinds(wrong):
    with pytest.raises(DataError, match="names no source"):
        hc.HetData({"t": TABLE}, kinds=wrong)


@pytest.mark.parametrize("wrong", [None, 3, "ab", pd.DataFrame({"x": [1, 2]}), {"a": 1}])
def test_labels_that_are_no_list_are_refused(wrong):
    for target in ((["a", "b"], wrong), (wrong, [1.0, 2.0])):
        with pytest.raises(DataError, match="Target: "):
            hc.HetData({"t": TABLE}, target=target)


def test_rows_of_several_lengths_are_no_ids():
    data = hc.HetData({"t": TABLE}, target=(["a", "b"], [1.0, 2.0]))
    for call in (data.drop_instances, data.hide_labels, lambda ids: data.hide_source("t", ids)):
        with pytest.raises(DataError):
            call([["a"], ["a", "b"]])
