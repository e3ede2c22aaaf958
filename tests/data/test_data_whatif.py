"""What-if questions give new data, share what did not change, and never touch the original."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.errors import DataError, ParameterError

N = 400


@pytest.fixture(scope="module")
def data() -> hc.HetData:
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k}" for k in range(N)])
    table = pl.DataFrame(
        {
            "id": ids,
            "real": rng.normal(5, 3, N),
            "whole": rng.integers(0, 1000, N),
            "flag": rng.random(N) < 0.3,
            "level": rng.choice(["u", "v", "w"], N),
            "words": [" ".join(rng.choice(["red", "green", "blue", "old", "new"], 6)) for _ in range(N)],
            "digits": pl.Series(rng.integers(0, 500, N)).cast(pl.String),
            "spread": rng.normal(size=(N, 3)),
        }
    )
    table = table.with_columns(pl.when(pl.arange(N) % 10 > 0).then(pl.col("real", "level", "words", "flag")))
    matrix = rng.normal(size=(N // 2, 4))
    matrix[0, 0] = np.nan
    edges = pl.DataFrame({"source": ids[rng.integers(0, N, 900)], "target": ids[rng.integers(0, N, 900)]})
    ring = pl.DataFrame({"source": ids, "target": np.roll(ids, 1)})
    return hc.HetData(
        {"table": table, "matrix": hc.Source(ids[::2], matrix)},
        {"edges": edges, "ring": ring},
        pl.DataFrame({"id": ids[:300], "y": rng.normal(size=300)}),
    )


CHANGES = {
    "select": lambda d: d.select(sources=["matrix"], graphs=["ring"]),
    "noise": lambda d: d.with_noise("table", sd=2.0, seed=1),
    "array noise": lambda d: d.with_noise("matrix", sd=2.0, seed=1),
    "rewire": lambda d: d.with_graph_noise("edges", 0.5, seed=1),
    "thin": lambda d: d.with_graph_noise("edges", 0.5, seed=1, how="thin"),
    "edges": lambda d: d.with_edges("ring", add=[("i0", "i5")], cut=[("i1", "i0")]),
    "sample": lambda d: d.sample(0.25, seed=1),
    "drop": lambda d: d.drop_instances(["i0", "i7"]),
    "hide source": lambda d: d.hide_source("table", ["i0", "i7"]),
    "hide labels": lambda d: d.hide_labels(["i0", "i7"]),
    "target": lambda d: d.with_target(np.arange(d.n)),
    "kinds": lambda d: d.with_kinds("table", {"whole": "nominal"}),
    "source": lambda d: d.with_source("copy", d.sources["table"]),
    "graph": lambda d: d.with_graph("copy", d.graphs["ring"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_new_content_and_leaves_the_original(data, change):
    def state():
        return read_again(data).digest(), data.mask.tobytes(), str(data.report), data.steps

    before = state()
    changed = CHANGES[change](data)
    assert state() == before and data.digest() == before[0]
    assert changed.digest() != data.digest()
    assert CHANGES[change](data).digest() == changed.digest()
    assert len(changed.steps) == 1
    assert changed.mask.shape == (len(changed.sources), changed.n)


def read_again(data: hc.HetData) -> hc.HetData:
    """Return the same content, with every digest computed anew."""
    sources = {
        name: hc.Source(s.ids, s.frame if s.array is None else s.array, s.kinds) for name, s in data.sources.items()
    }
    graphs = {name: graph.to_frame() for name, graph in data.graphs.items()}
    return hc.HetData(sources, graphs, (data.ids, data.y))


def test_select_keeps_instances_order_and_memory(data):
    chosen = data.select(sources=["matrix"])
    assert chosen.source_names == ["matrix"] and chosen.graph_names == ["edges", "ring"]
    assert chosen.n == data.n and chosen.y is data.y
    assert chosen.sources["matrix"] is data.sources["matrix"] and chosen.graphs["ring"] is data.graphs["ring"]
    assert_array_equal(chosen.mask, data.mask[1:])
    assert data.select(sources=["matrix", "table"], graphs=[]).source_names == ["matrix", "table"]
    assert data.select(sources="table").source_names == ["table"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sources": ["nope"]}, "no source 'nope' among 'table', 'matrix'"),
        ({"graphs": ["table"]}, "no graph 'table' among 'edges', 'ring'"),
        ({"sources": []}, "keep at least one"),
    ],
)
def test_select_refuses_unknown_names_and_nothing(data, arguments, words):
    with pytest.raises(DataError, match=words):
        data.select(**arguments)


def column(data: hc.HetData, name: str) -> pl.Series:
    return data.sources["table"].frame[name]


@pytest.mark.parametrize("sd", [0.5, 2.0])
@pytest.mark.parametrize("name", ["real", "whole", "digits"])
def test_noise_on_numbers_has_the_stated_size(data, name, sd):
    noisy = data.with_noise("table", sd=sd, seed=3)
    before, after = column(data, name).cast(pl.Float64), column(noisy, name)
    assert_array_equal(after.is_null(), before.is_null())
    difference = (after - before).drop_nulls()
    assert difference.std() == pytest.approx(sd * before.std(), rel=0.15)
    assert abs(difference.mean()) < 0.2 * sd * before.std()


@pytest.mark.parametrize("name", ["flag", "level"])
def test_noise_on_categories_redraws_the_stated_share(data, name):
    sd = 2.0
    before, after = column(data, name), column(data.with_noise("table", sd=sd, seed=3), name)
    assert_array_equal(after.is_null(), before.is_null())
    known = before.drop_nulls()
    same_by_chance = float((known.value_counts(normalize=True)["proportion"] ** 2).sum())
    lost = 1 - 1 / np.sqrt(1 + sd**2)
    changed = 1 - float((before == after).mean())
    assert changed == pytest.approx(lost * (1 - same_by_chance), abs=0.08)


def test_noise_on_text_exchanges_words_between_rows(data):
    before, after = column(data, "words"), column(data.with_noise("table", sd=1.0, seed=3), "words")
    assert_array_equal(after.is_null(), before.is_null())
    assert_array_equal(after.str.count_matches(r"\w+").drop_nulls(), before.str.count_matches(r"\w+").drop_nulls())
    words = lambda s: s.str.split(" ").explode(empty_as_null=True).drop_nulls().sort().to_list()  # noqa: E731
    assert words(after) == words(before) and (after != before).sum() > 100


def test_noise_on_arrays(data):
    before = data.sources["matrix"].array
    after = data.with_noise("matrix", sd=1.0, seed=3).sources["matrix"].array
    assert after.dtype == np.float32 and np.isnan(after[0, 0]) and np.isnan(after).sum() == 1
    difference = (after - before)[1:]
    assert_array_equal(np.abs(difference.std(axis=0) / before[1:].std(axis=0) - 1) < 0.2, True)
    lists = column(data.with_noise("table", sd=1.0), "spread")
    assert lists.dtype.shape == (3,) and np.corrcoef(lists.to_numpy().T, column(data, "spread").to_numpy().T).shape == (
        6,
        6,
    )


@pytest.mark.parametrize("sd", [0.5, 2.0])
def test_noise_on_arrays_is_in_units_of_each_position(sd):
    rng = np.random.default_rng(3)
    before = (rng.normal(size=(2000, 2, 2)) * [[1, 10], [100, 0]] + [[0, 1000], [5, 7]]).astype(np.float32)
    data = hc.HetData({"a": hc.Source(np.arange(2000), before)})
    difference = data.with_noise("a", sd=sd, seed=1).sources["a"].array - before
    np.testing.assert_allclose(difference.std(axis=0), sd * before.std(axis=0), rtol=0.1, atol=1e-6)
    np.testing.assert_allclose(difference.mean(axis=0) / [[1, 10], [100, 1]], 0, atol=0.15 * sd)


def test_no_noise_changes_nothing_and_seeds_differ(data):
    assert data.with_noise("table", sd=0.0).digest() == data.digest()
    one, two = data.with_noise("table", seed=1), data.with_noise("table", seed=2)
    for name in column(data, "real").to_frame().columns + ["level", "words", "whole"]:
        assert not column(one, name).equals(column(two, name))


def test_a_column_has_the_same_noise_whatever_stands_beside_it(data):
    alone = hc.Source(data.sources["table"].ids, data.sources["table"].frame.select("real"))
    noisy = hc.HetData({"table": alone}).with_noise("table", seed=4)
    assert column(noisy, "real").equals(column(data.with_noise("table", seed=4), "real"))


@pytest.mark.parametrize("sd", [-1.0, float("nan"), float("inf")])
def test_noise_that_is_no_size_is_refused(data, sd):
    with pytest.raises(ParameterError, match="must be finite and at least 0"):
        data.with_noise("table", sd=sd)
    with pytest.raises(DataError, match="no source 'nope'"):
        data.with_noise("nope")


def test_sampling_keeps_everything_of_the_instances_it_keeps(data):
    part = data.sample(0.25, seed=5)
    assert part.n == N // 4
    places = np.array([data.position[one] for one in part.ids])
    assert (np.diff(places) > 0).all()
    assert_array_equal(part.y, data.y[places])
    assert_array_equal(part.mask, data.mask[:, places])
    for name, source in part.sources.items():
        assert_array_equal(part.ids[part.rows(name)], source.ids)
    dense = data.graphs["edges"].adjacency().toarray()[np.ix_(places, places)]
    assert_array_equal(part.graphs["edges"].adjacency().toarray(), dense)
    full = {one: value for one, value in zip(data.sources["table"].ids, column(data, "whole"))}
    assert column(part, "whole").to_list() == [full[one] for one in part.sources["table"].ids]
    assert data.sample(1.0).digest() == data.digest() and data.sample(1e-9).n == 1


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, float("nan")])
def test_a_fraction_outside_0_1_is_refused(data, fraction):
    with pytest.raises(ParameterError, match="must be above 0 and at most 1"):
        data.sample(fraction)


def edge_keys(graph: hc.Graph) -> set[tuple[str, str]]:
    return {tuple(sorted(edge)) for edge in graph.to_frame().select("source", "target").rows()}


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rewiring_keeps_every_degree(data, share):
    before = data.graphs["edges"]
    after = data.with_graph_noise("edges", share, seed=2).graphs["edges"]
    assert after.n_edges >= 0.99 * before.n_edges
    assert np.abs(after.degree - before.degree).sum() <= 2 * (before.n_edges - after.n_edges)
    kept = len(edge_keys(before) & edge_keys(after)) / before.n_edges
    assert kept == pytest.approx(1 - share, abs=0.06)


def test_a_star_can_not_be_rewired_and_stays():
    leaves = [f"l{k}" for k in range(50)]
    star = hc.HetData(
        {"x": pl.DataFrame({"id": ["hub", *leaves], "x": range(51)})},
        {"s": pl.DataFrame({"a": ["hub"] * 50, "b": leaves})},
    )
    assert edge_keys(star.with_graph_noise("s", 1.0).graphs["s"]) == edge_keys(star.graphs["s"])


def test_thinning_removes_the_share(data):
    before = data.graphs["edges"]
    after = data.with_graph_noise("edges", 0.25, how="thin").graphs["edges"]
    assert after.n_edges == before.n_edges - round(0.25 * before.n_edges)
    assert edge_keys(after) < edge_keys(before)
    assert data.with_graph_noise("edges", 1.0, how="thin").graphs["edges"].n_edges == 0


def test_graph_noise_outside_its_domain_is_refused(data):
    with pytest.raises(ParameterError, match="share=1.5 must be in"):
        data.with_graph_noise("edges", 1.5)
    with pytest.raises(ParameterError, match="how='swap'"):
        data.with_graph_noise("edges", 0.5, how="swap")
    with pytest.raises(DataError, match="no graph 'table'"):
        data.with_graph_noise("table", 0.5)


def test_edges_are_added_and_cut(data):
    ring = data.graphs["ring"]
    changed = data.with_edges("ring", add=[("i5", "i0"), ("i0", "i1"), ("i0", "i5")], cut=[("i2", "i1")])
    assert edge_keys(changed.graphs["ring"]) == (edge_keys(ring) | {("i0", "i5")}) - {("i1", "i2")}
    for edges, words in [
        ([("i0", "i9")], "has not all of the edges"),
        ([("i0", "zz")], "'zz' are not in the data"),
        ([("i0", "i0")], "to itself"),
    ]:
        with pytest.raises(DataError, match=words):
            data.with_edges("ring", cut=edges)


def test_instances_are_dropped_by_id_or_mask(data):
    by_id = data.drop_instances(["i3", "i399"])
    gone = np.isin(data.ids.astype(str), ["i3", "i399"])
    assert by_id.n == N - 2 and by_id.digest() == data.drop_instances(gone).digest()
    assert by_id.digest() == data.drop_instances(pl.Series(["i3", "i399"])).digest()
    with pytest.raises(DataError, match="ids 'zz' are not in the data"):
        data.drop_instances(["zz"])
    with pytest.raises(DataError, match="keep at least one"):
        data.drop_instances(np.ones(N, dtype=bool))


def test_hiding_a_source_takes_only_its_records(data):
    hidden = data.hide_source("matrix", ["i0", "i1", "i2"])
    assert hidden.sources["matrix"].n_rows == data.sources["matrix"].n_rows - 2
    assert_array_equal(hidden.mask[0], data.mask[0])
    assert not hidden.mask[1, :3].any() and hidden.mask[1, 4]
    with pytest.raises(DataError, match="no record left"):
        data.hide_source("matrix", np.ones(N, dtype=bool))


def test_labels_are_hidden_and_replaced(data):
    assert not data.hide_labels(["i0"]).labelled[0] and data.hide_labels(["i0"]).labelled[1]
    classes = data.with_target(np.where(np.arange(N) % 2, "odd", None))
    assert classes.target_kind == "classification" and classes.classes == ["odd"]
    assert classes.hide_labels(["i1"]).y[1] is None
    assert data.with_target(None).target_kind is None
    assert data.with_target([1, None] * (N // 2)).labelled.sum() == N // 2
    assert data.with_target(np.arange(N), task="classification").y[3] == "3"
    assert classes.report.of("one_class")[0].where == "target"
    with pytest.raises(DataError, match="3 labels for 400 instances"):
        data.with_target([1, 2, 3])


def test_replacing_labels_does_not_keep_the_callers_array(data):
    y = np.zeros(N)
    changed = data.with_target(y)
    y[0] = 7
    assert changed.y[0] == 0 and y.flags.writeable


def test_sources_and_graphs_are_added_by_id(data):
    extra = hc.Source(["i5", "zz", "i1"], pl.DataFrame({"q": [1.0, 2.0, 3.0]}))
    changed = data.with_source("extra", extra)
    assert_array_equal(changed.rows("extra"), [5, 1])
    assert changed.report.of("unknown_id", "source 'extra'")[0].count == 1
    graph = hc.Graph(pl.DataFrame({"a": ["i0", "i1"], "b": ["i1", "zz"]}))
    assert edge_keys(data.with_graph("new", graph).graphs["new"]) == {("i0", "i1")}
    with pytest.raises(DataError, match="no id in common"):
        data.with_source("far", hc.Source(["p"], pl.DataFrame({"q": [1]})))
    with pytest.raises(DataError, match=r"Source 'b' is of type DataFrame: give hetcore\.Source\(ids, table"):
        data.with_source("b", pl.DataFrame({"id": ["i0"], "q": [1]}))
    with pytest.raises(DataError, match=r"Graph 'g' is of type list: give hetcore\.Graph\(edges\)"):
        data.with_graph("g", [("i0", "i1")])


def test_steps_are_the_calls_that_were_made(data):
    changed = (
        data.hide_labels(["i0", "i1"]).select(sources=["table"]).with_noise("table", sd=0.5, seed=3).sample(0.5, seed=1)
    )
    namespace = {"data": data}
    for step in changed.steps:
        namespace["data"] = eval(f"data.{step}", {}, namespace)
    assert namespace["data"].digest() == changed.digest()
    assert "<200 ids>" in data.drop_instances(np.arange(N) < 200).steps[0]


def test_a_single_id_is_one_instance_and_no_string_of_letters():
    data = hc.HetData({"t": pl.DataFrame({"id": ["ab", "b", "10"], "x": [1.0, 2.0, 3.0]})}, target=(
        ["ab", "b", "10"], [1.0, 2.0, 3.0]
    ))  # fmt: skip
    for ids in ("ab", ["ab"], {"ab"}, pl.Series(["ab"])):
        assert np.isnan(data.hide_labels(ids).y).tolist() == [True, False, False]
    assert np.isnan(data.hide_labels(10).y).tolist() == [False, False, True]
    with pytest.raises(hc.DataError, match="The ids 1 are not in the data"):
        data.hide_labels(1)


@pytest.mark.parametrize("edges", [[("i0", "i1", 5), ("i2", "i3", 7)], [("i0", "i1", 5)], ("i0", "i1"), ["ab"], [3]])
def test_an_edge_that_is_no_pair_of_ids_is_refused(data, edges):
    for given in ({"add": edges}, {"cut": edges}):
        with pytest.raises(DataError, match="is no pair: give a list of"):
            data.with_edges("ring", **given)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda d: d.sample("a"), "fraction='a' must be above 0"),
        (lambda d: d.sample(0.5, seed=-1), "seed=-1 must be a whole number of at least 0"),
        (lambda d: d.with_noise("table", "a"), "sd='a' must be finite"),
        (lambda d: d.with_noise("table", seed=0.5), "seed=0.5 must be a whole number"),
        (lambda d: d.with_graph_noise("ring", "a"), r"share='a' must be in \[0, 1\]"),
        (lambda d: d.with_noise("table", 1e308), r"sd=1e\+308 takes numbers beyond 3.4e\+38"),
        (lambda d: d.with_noise("matrix", 1e308), r"sd=1e\+308 takes numbers beyond 3.4e\+38"),
        (lambda d: d.with_label_noise(1.0, 1e308), r"sd=1e\+308 takes numbers beyond 1.8e\+308"),
        (lambda d: d.graphs["ring"].neighbors("sideways"), "direction='sideways' is not 'both', 'in' or 'out'"),
    ],
)
def test_arguments_outside_their_domain_are_refused(data, change, words):
    with pytest.raises(ParameterError, match=words):
        change(data)
