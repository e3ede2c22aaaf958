"""Tables, columns and graphs of other libraries: the same data as those of polars, copied once at most."""

from __future__ import annotations

import sys
import tracemalloc
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy

import hetcore as hc
from hetcore.data import edges

IDS, X, WORDS = ["a", "b", "c"], [1.5, None, 3.0], ["u", None, "w"]
EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])


def plain() -> pl.DataFrame:
    return pl.DataFrame({"id": IDS, "x": X, "word": WORDS})


def pandas_frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"id": IDS, "x": X, "word": WORDS})


def indexed():
    return pandas_frame().set_index("id")


def arrow():
    return pytest.importorskip("pyarrow").table({"id": IDS, "x": X, "word": WORDS})


def over_polars():
    return pytest.importorskip("narwhals").from_native(plain())


def over_pandas():
    return pytest.importorskip("narwhals").from_native(pandas_frame())


class Capsule:
    """Speaks Arrow, and nothing else."""

    def __init__(self, held) -> None:
        self.held = held

    def __arrow_c_stream__(self, requested_schema=None):
        return self.held.__arrow_c_stream__(requested_schema)


MAKERS = {
    "pandas": pandas_frame, "pandas, ids as its index": indexed, "pyarrow": arrow, "narwhals over polars": over_polars,
    "narwhals over pandas": over_pandas, "a capsule": lambda: Capsule(plain()),
}  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
def test_a_table_is_the_same_as_of_polars(maker):
    table, target = MAKERS[maker](), plain().select("id", y="x")
    expected = hc.HetData({"one": plain()}, target=target).digest()
    assert hc.HetData({"one": table}, target=target).digest() == expected
    assert hc.Source.from_frame(table, "id").n_columns == 2


@pytest.mark.parametrize("maker", ["pandas", "pyarrow", "narwhals over pandas", "a capsule"])
def test_labels_and_columns_are_too(maker):
    table = MAKERS[maker]()
    columns = {"a capsule": lambda: (Capsule(plain()["id"]), Capsule(plain()["x"]))}
    ids, x = columns.get(maker, lambda: (table["id"], table["x"]))()
    data = hc.HetData({"one": plain()}, target=(ids, x))
    assert data.digest() == hc.HetData({"one": plain()}, target=plain().select("id", "x")).digest()
    assert hc.Source(ids, table).columns == ["id", "x", "word"]


def test_an_edge_list_of_pandas_is_one():
    pd = pytest.importorskip("pandas")
    given = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]}
    assert hc.Graph(pd.DataFrame(given)).digest() == hc.Graph(pl.DataFrame(given)).digest()


def test_ids_of_pandas_with_gaps_and_of_mixed_types_are_as_written():
    pd = pytest.importorskip("pandas")
    assert hc.Source(pd.Series([1, 2, None]), pd.Series([1.0, 2.0, 3.0], name="x")).ids.tolist() == ["1", "2"]
    assert hc.Source(pd.Series([1, "01", None]), pd.DataFrame({"x": [1, 2, 3]})).ids.tolist() == ["1", "01"]
    assert hc.Source(pd.array([7, 8], dtype="Int64").tolist(), pd.Series([1, 2])).ids.tolist() == ["7", "8"]


def test_ranges_of_pandas_cut_are_categories():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"id": IDS, "x": pd.cut([1.0, np.nan, 3.0], [0, 2, 4])})
    data = hc.HetData({"t": table}, target=pd.DataFrame({"id": IDS, "y": pd.cut([1.0, 3.0, np.nan], [0, 2, 4])}))
    assert data.sources["t"].frame["x"].cast(pl.String).to_list() == ["(0, 2]", None, "(2, 4]"]
    assert data.y.tolist() == ["(0, 2]", "(2, 4]", None]


def test_categories_of_numbers_are_classes_in_whichever_form():
    pd = pytest.importorskip("pandas")
    given = pd.Categorical([1, 2, None])
    for labels in (pd.Series(given), given, pd.CategoricalIndex(given)):
        data = hc.HetData({"t": plain()}, target=(IDS, labels))
        assert data.target_kind == "classification" and data.y.tolist() == ["1", "2", None]


def test_pandas_without_pyarrow(monkeypatch):
    table = pandas_frame()
    expected = hc.HetData({"one": plain()}).digest()

    def missing(*given, **more):
        raise ImportError("pyarrow")

    monkeypatch.setattr(pl, "from_pandas", missing)
    assert hc.HetData({"one": table}).digest() == hc.HetData({"one": table.set_index("id")}).digest() == expected
    with pytest.raises(hc.DataError, match="Column 'mixed' of the pandas table can't be read"):
        hc.HetData({"one": table.assign(mixed=[1, "u", 2.5])})


def test_numbers_that_speak_arrow_are_not_copied_and_the_source_shares_them():
    pa = pytest.importorskip("pyarrow")
    held = pa.array(np.arange(1000.0))
    source = hc.Source.from_frame(pa.table({"id": [str(k) for k in range(1000)], "x": held}), "id")
    assert source.frame["x"].to_arrow().buffers()[1].address == held.buffers()[1].address


def address(series: pl.Series) -> int:
    pytest.importorskip("pyarrow")
    return series.to_arrow().buffers()[1].address


@pytest.mark.parametrize("maker", ["polars", "narwhals over polars", "pandas", "pandas, ids as its index"])
def test_a_table_is_copied_once_at_most(maker, monkeypatch):
    made, read = [], pl.from_pandas
    monkeypatch.setattr(pl, "from_pandas", lambda *given, **more: made.append(read(*given, **more)) or made[-1])
    table = plain() if maker == "polars" else MAKERS[maker]()
    source = hc.HetData({"one": table}).sources["one"]
    native = table.to_native() if "narwhals" in maker else table
    assert len(made) == ("pandas" in maker)  # that copy, and no other
    assert address(source.frame["x"]) == address((made or [native])[0]["x"])


def test_an_array_of_numpy_is_shared_and_one_that_can_be_written_is_copied_once():
    values, ids = np.random.default_rng(0).normal(size=(50, 30, 20)), [str(k) for k in range(50)]
    hc.Source(ids, values)
    tracemalloc.start()
    source = hc.Source(ids, values)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert values.nbytes <= kept < 1.5 * values.nbytes and not np.shares_memory(source.array, values)
    values.flags.writeable = False
    assert np.shares_memory(hc.HetData({"one": hc.Source(ids, values)}).sources["one"].array, values)


@pytest.mark.parametrize("library", ["NumPy", "torch"])
def test_links_of_pyg_share_its_memory_until_the_graph_is_made_of_them(library):
    given = EDGES.copy() if library == "NumPy" else pytest.importorskip("torch").tensor(EDGES)
    links = edges._indexed(SimpleNamespace(edge_index=given, num_nodes=3))
    assert all(np.shares_memory(one, np.asarray(given)) for one in links.coords)


def large() -> dict[str, Any]:
    """Return 2,000 nodes and some 20,000 links as three libraries hold them, and as a table."""
    n = 2000
    ends = np.sort(np.random.default_rng(0).integers(0, n, (2, 20_000)), axis=0)
    ends = ends[:, ends[0] != ends[1]]
    weights, ids = np.ones(ends.shape[1], np.float32), [str(k) for k in range(n)]
    sparse = scipy.sparse.coo_array((weights, tuple(ends)), shape=(n, n))
    pyg = SimpleNamespace(edge_index=ends, edge_weight=weights, num_nodes=n)
    table = pl.DataFrame({"source": ends[0].astype(str), "target": ends[1].astype(str)})
    return {"scipy": (ids, sparse.tocsr()), "PyG": (ids, pyg), "networkx": nx.from_edgelist(ends.T), "table": table}


def test_a_graph_keeps_one_copy_of_its_links_and_nothing_of_what_was_given():
    for given in large().values():
        hc.Graph(given)
        tracemalloc.start()
        graph = hc.Graph(given)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        own = graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
        assert graph.n_edges > 19_000 and kept < 1.4 * own  # as much again would be a second copy


def graphs() -> dict[str, hc.Graph]:
    rows, columns = EDGES
    links = nx.Graph([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": 0.5})])
    weights = np.array([2.0, 2.0, 0.5, 0.5], np.float32)
    pyg = SimpleNamespace(edge_index=EDGES, edge_weight=weights, num_nodes=3)
    sparse = scipy.sparse.coo_array((weights, (rows, columns)), shape=(3, 3))
    made = {"networkx": links, "scipy": (IDS, sparse.tocsr()), "PyG": (IDS, pyg)}
    return {name: hc.Graph(each) for name, each in made.items()}


def test_graphs_of_three_libraries_are_one_graph():
    made = graphs()
    assert len({graph.digest() for graph in made.values()}) == 1
    assert all(graph.n_edges == 2 and not graph.findings for graph in made.values())


def test_a_graph_of_torch_without_ids_or_weights():
    torch = pytest.importorskip("torch")
    graph = hc.Graph(SimpleNamespace(edge_index=torch.tensor(EDGES), edge_weight=None, num_nodes=4))
    assert graph.ids.tolist() == ["0", "1", "2", "3"] and graph.n_edges == 2 and set(graph.weights) == {1.0}


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"edge_index": EDGES.T}, r"edge_index has shape \(4, 2\)"),
        ({"edge_index": EDGES * 0.5}, "of type float64|type float64"),
        ({"edge_weight": np.ones(3)}, r"edge_weight has shape \(3,\) for 4 edges"),
        ({"num_nodes": 2}, "names nodes beyond the 2"),
    ],
)
def test_a_graph_that_does_not_fit_together_is_refused(changes, words):
    given = {"edge_index": EDGES, "edge_weight": np.ones(4), "num_nodes": 3} | changes
    with pytest.raises(hc.DataError, match=words):
        hc.Graph(SimpleNamespace(**given))


def test_no_other_library_is_imported_for_it():
    assert "torch_geometric" not in sys.modules


def test_edge_attributes_of_one_number_are_weights_and_others_are_refused():
    weights = np.array([0.5, 2.0, 3.0, 4.0])
    wanted = hc.Graph(SimpleNamespace(edge_index=EDGES, edge_weight=weights, num_nodes=3)).edges()
    for given in (weights, weights[:, None]):
        graph = hc.Graph(SimpleNamespace(edge_index=EDGES, edge_attr=given, num_nodes=3))
        assert all(np.array_equal(a, b) for a, b in zip(graph.edges(), wanted))
    # a weight that is said to be one counts, whatever the attributes are
    both = SimpleNamespace(edge_index=EDGES, edge_weight=weights, edge_attr=np.ones((4, 2)), num_nodes=3)
    assert np.array_equal(hc.Graph(both).edges()[2], wanted[2])
    with pytest.raises(hc.DataError, match=r"edge_attr has shape \(4, 2\) and type float64 for 4 edges"):
        hc.Graph(SimpleNamespace(edge_index=EDGES, edge_attr=np.ones((4, 2)), num_nodes=3))


def test_a_directed_graph_of_networkx_is_reported_unless_its_direction_is_kept():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    (finding,) = hc.Graph(graph).findings
    assert finding.kind == "directed" and "whose edges count both ways" in finding.message
    assert not hc.Graph(graph, directed=True).findings and not hc.Graph(graph.to_undirected()).findings


def test_an_index_that_is_the_ids_in_another_order_is_refused_beside_a_list_of_ids_too():
    pd = pytest.importorskip("pandas")
    ids, values = ["a", "b", "c"], pd.Series([3.0, 1.0, 2.0], index=["c", "a", "b"])
    table = pl.DataFrame({"id": ids, "x": [1.0, 2.0, 3.0]})
    with pytest.raises(hc.DataError, match=r"labels is the ids in another order than ids: give y\.loc\[ids\]"):
        hc.HetData({"t": table}, target=(ids, values))
    with pytest.raises(hc.DataError, match=r"table is the ids in another order than ids: give table\.loc\[ids\]"):
        hc.Source(ids, values.to_frame("x"))
    assert hc.HetData({"t": table}, target=(ids, values.loc[ids])).y.tolist() == [1.0, 2.0, 3.0]


def test_labels_of_nobody_are_reported_of_data_that_were_written_too(tmp_path):
    data = hc.HetData({"t": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})}, target=(["a", "zz"], [1.0, 2.0]))
    hc.write_data(data, tmp_path / "data.zip")
    read = hc.read_data(tmp_path / "data.zip")
    assert read.report.count("unrecorded_label") == 1 and str(read.report) == str(data.report)
