"""A graph: three forms read alike, and everything dropped or merged is counted."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from hetcore.data import Graph
from hetcore.errors import DataError

EDGES = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [2.0, 0.5]})


def found(graph: Graph) -> dict[str, int]:
    return {finding.kind: finding.count for finding in graph.findings}


def edge_set(graph: Graph) -> set[tuple]:
    return {(*sorted((a, b)), w) for a, b, w in graph.to_frame().rows()}


def test_the_forms_give_the_same_graph():
    networkx = nx.Graph()
    networkx.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 0.5)])
    matrix = scipy.sparse.csr_matrix(np.array([[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]))
    graphs = [Graph(EDGES), Graph(networkx), Graph((["a", "b", "c"], matrix)), Graph((["a", "b", "c"], matrix.tocoo()))]
    graphs += [Graph([("a", "b", 2.0), ("b", "c", 0.5)]), Graph(list(networkx.edges(data="weight")))]
    for graph in graphs:
        assert graph.ids.tolist() == ["a", "b", "c"] and graph.n_edges == 2 and not graph.findings
        assert_array_equal(graph.indptr, [0, 1, 3, 4])
        assert_array_equal(graph.indices, [1, 0, 2, 1])
        assert_array_equal(graph.weights, np.array([2, 2, 0.5, 0.5], np.float32))
        assert_array_equal(graph.degree, [1, 2, 1])
    assert len({graph.digest() for graph in graphs}) == 1


def test_types_are_those_that_kernels_take():
    graph = Graph(EDGES)
    assert (graph.indptr.dtype, graph.indices.dtype, graph.weights.dtype) == (np.int32, np.int32, np.float32)
    assert all(array.flags.c_contiguous for array in (graph.indptr, graph.indices, graph.weights))


@pytest.mark.parametrize("columns", [["source", "target"], ["from", "to"]])
def test_edges_without_weights_weigh_one(columns):
    graph = Graph(pl.DataFrame({columns[0]: ["a"], columns[1]: ["b"]}))
    assert edge_set(graph) == {("a", "b", 1.0)}


def test_columns_beside_the_edge_list_are_reported_as_unused():
    graph = Graph(EDGES.with_columns(colour=pl.lit("red")))
    assert graph.n_edges == 2 and found(graph) == {"unused_column": 1}


def test_each_kind_of_bad_edge_is_counted_once():
    rows = [
        ("a", "b", 1.0),
        ("a", "a", 1.0),
        ("a", None, 1.0),
        ("", "b", 1.0),
        ("b", "c", -1.0),
        ("b", "d", float("nan")),
        ("b", "e", float("inf")),
        ("b", "f", None),
        ("b", "g", 1e300),
        ("b", "h", 0.0),
        ("b", "i", 1e-50),
        ("c", "c", -1.0),
        ("c", None, 0.0),
        (None, None, float("nan")),
        ("a", "b", 2.0),
        ("b", "a", 5.0),
    ]
    graph = Graph(pl.DataFrame(rows, schema=["source", "target", "weight"], orient="row"))
    expected = {
        "self_loop": 2,
        "missing_end": 4,
        "bad_weight": 5,
        "zero_weight": 2,
        "repeated_edge": 1,
        "both_directions": 1,
    }
    assert found(graph) == expected
    assert graph.n_given == graph.n_edges + sum(expected.values())
    assert edge_set(graph) == {("a", "b", 5.0)}
    bad = next(finding for finding in graph.findings if finding.kind == "bad_weight")
    assert bad.examples[0] == "b – c, weight -1"


def test_repeats_add_up_and_directions_take_the_larger():
    graph = Graph(
        pl.DataFrame({"source": ["a", "a", "b", "c"], "target": ["b", "b", "a", "b"], "weight": [1, 2, 2, 4]})
    )
    assert edge_set(graph) == {("a", "b", 3.0), ("b", "c", 4.0)}
    assert found(graph) == {"repeated_edge": 1, "both_directions": 1}
    assert graph.findings[0].examples == ("a – b",)
    assert "merged, the larger" in graph.findings[1].message
    # where each direction is kept, nothing is said to be merged
    both = Graph([("a", "b", 1.0), ("b", "a", 2.0)], directed=True)
    assert found(both) == {"both_directions": 1} and "merged" not in both.findings[0].message


def test_the_digest_is_of_ids_links_and_weights():
    others = [{"source": ["a", "b"], "target": ["b", "z"]}, {"source": ["a", "a"], "target": ["b", "c"]}]
    others = [pl.DataFrame({**other, "weight": [2.0, 0.5]}) for other in others]
    others.append(EDGES.with_columns(weight=pl.Series([2.0, 0.25])))
    assert len({Graph(edges).digest() for edges in [EDGES, *others]}) == 4


def test_weights_written_as_text_are_read():
    graph = Graph(pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [" 2.5", "much"]}))
    assert edge_set(graph) == {("a", "b", 2.5)} and found(graph) == {"bad_weight": 1}


@pytest.mark.parametrize("weight", ["2,5", "nan", None])
def test_a_weight_that_cannot_be_read_is_shown_as_it_stands(weight):
    graph = Graph(pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": ["1", weight]}))
    (finding,) = (each for each in graph.findings if each.kind == "bad_weight")
    assert finding.examples == (f"b – c, weight {'none' if weight is None else repr(weight)}",)


def test_networkx_weights_of_mixed_types():
    given = nx.DiGraph()
    given.add_edge(1, 2, weight=3)
    given.add_edge(2, 1, weight=1)
    given.add_edge(2, 3)
    given.add_edge(3, 4, weight="heavy")
    given.add_edge(4, 5, weight="2")
    graph = Graph(given)
    assert graph.ids.tolist() == ["1", "2", "3", "4", "5"]
    assert edge_set(graph) == {("1", "2", 3.0), ("2", "3", 1.0), ("4", "5", 2.0)}
    expected = {"id_converted": 5, "missing_weight": 1, "bad_weight": 1, "both_directions": 1, "directed": 5}
    assert found(graph) == expected


def test_networkx_parallel_edges_add_up_and_nodes_alike_as_text_merge():
    multi = nx.MultiGraph([("a", "b"), ("a", "b"), (1, "a"), ("1", "b")])
    graph = Graph(multi)
    assert graph.ids.tolist() == ["a", "b", "1"]
    assert edge_set(graph) == {("a", "b", 2.0), ("1", "a", 1.0), ("1", "b", 1.0)}
    assert found(graph)["merged_node"] == 1


def test_a_matrix_that_is_not_symmetric_is_reported():
    graph = Graph((["a", "b"], scipy.sparse.csr_array(np.array([[1, 2.0], [3.0, 0]]))))
    assert edge_set(graph) == {("a", "b", 3.0)}
    assert found(graph) == {"self_loop": 1, "uneven_edge": 1}


def test_ids_of_a_matrix_that_repeat_are_one_node():
    matrix = scipy.sparse.coo_array(np.array([[0, 0, 1.0], [0, 0, 1.0], [1.0, 1.0, 0]]))
    graph = Graph((["a", "a", "b"], matrix))
    assert graph.ids.tolist() == ["a", "b"] and edge_set(graph) == {("a", "b", 2.0)}
    assert found(graph)["merged_node"] == 1


def test_a_graph_without_an_edge_is_reported_to_have_none():
    empty = Graph(pl.DataFrame({"source": [], "target": []}, schema={"source": pl.String, "target": pl.String}))
    assert empty.n == 0 and empty.n_edges == 0 and found(empty) == {"no_edge": 0}
    listed = Graph([])
    assert listed.n == 0 and found(listed) == {"no_edge": 0}
    nodes = nx.empty_graph(3)
    assert Graph(nodes).n == 3 and Graph(nodes).degree.tolist() == [0, 0, 0]


def test_a_star_of_many_leaves():
    graph = Graph(pl.DataFrame({"source": ["hub"] * 50_000, "target": [f"l{k}" for k in range(50_000)]}))
    assert graph.n_edges == 50_000 and graph.degree.max() == 50_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([["a", "b"]], "can't be read from list"),
        ([("a", "b"), ("b", "c", 2.0)], r"The edges are of 2, 3 values: give \(source, target\) for each, or"),
        ([("a",)], "The edges are of 1 values"),
        (np.eye(2), "can't be read from ndarray"),
        ((["a"], np.eye(1)), r"can't be read from \(ids, ndarray\)"),
        (pl.DataFrame({"a": ["x"]}), "columns 'a', which do not say what links what"),
        (pl.DataFrame({"a": ["x"], "b": ["y"], "c": [1], "d": [2]}), "name the ends 'source' and 'target'"),
        (EDGES.with_columns(weight=pl.lit([1])), "weight column 'weight' of type List"),
        ((["a"], scipy.sparse.eye_array(2)), r"shape \(2, 2\) for 1 id: give one of 1 x 1"),
        ((["a", "b"], scipy.sparse.eye_array(2, dtype=complex)), "values of type complex128"),
        (nx.Graph([((1, 2), "a")]), "of type tuple is neither text nor number"),
    ],
)
def test_what_is_no_graph_is_refused_in_words(given, words):
    with pytest.raises(DataError, match=words):
        Graph(given)


def test_aligning_drops_unknown_nodes_and_shares_when_nothing_changes():
    graph = Graph(EDGES)
    part = graph.aligned(pl.Series("id", ["c", "x", "b"]))
    assert part.ids.tolist() == ["c", "x", "b"] and edge_set(part) == {("b", "c", 0.5)}
    assert edge_set(graph.aligned(pl.Series("id", ["b", "a"]))) == {("a", "b", 2.0)}
    same = graph.aligned(pl.Series("id", ["a", "b", "c"]))
    assert np.shares_memory(same.weights, graph.weights)


def test_edges_and_adjacency_agree():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 40, 300).astype(str), rng.integers(0, 40, 300).astype(str)
    graph = Graph(pl.DataFrame({"source": a, "target": b}))
    i, j, w = graph.edges()
    dense = np.zeros((graph.n, graph.n), np.float32)
    dense[i, j] = dense[j, i] = w
    assert_array_equal(graph.adjacency().toarray(), dense)
    assert (i < j).all() and graph.n_edges == len(i)
    assert edge_set(Graph(graph.to_frame())) == edge_set(graph)


def test_each_row_lists_its_neighbours_in_ascending_order():
    rng = np.random.default_rng(1)
    graph = Graph(pl.DataFrame({"source": rng.integers(0, 99, 900), "target": rng.integers(0, 99, 900)}))
    for node in range(graph.n):
        row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        assert (np.diff(row) > 0).all() and node not in row
