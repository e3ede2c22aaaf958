"""Laws of the data layer, over random tables and graphs: nothing is lost unsaid, order does not matter."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError

texts = st.one_of(st.sampled_from(["a", "b", "c", "001", "1", " a", "", "é"]), st.text(max_size=4))
ids = st.one_of(st.none(), texts)
numbers = st.one_of(st.none(), st.floats(width=64, allow_nan=True, allow_infinity=True), st.integers(-3, 3).map(float))
cells = st.fixed_dictionaries({"id": ids, "x": numbers, "c": st.one_of(st.none(), st.sampled_from("uvw"))})
SCHEMA = {"id": pl.String, "x": pl.Float64, "c": pl.String}


def has_id(row) -> bool:
    return row["id"] not in (None, "")


tables = st.lists(cells, min_size=1, max_size=25).filter(lambda rows: any(map(has_id, rows)))
edges = st.lists(st.tuples(ids, ids, numbers), max_size=25)


def frame(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def edge_frame(rows) -> pl.DataFrame:
    schema = {"source": pl.String, "target": pl.String, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def total(findings, *kinds: str) -> int:
    return sum(finding.count for finding in findings if finding.kind in kinds)


@pytest.mark.slow
@given(tables)
def test_rows_in_are_rows_used_and_rows_reported(rows):
    source = hc.Source.from_frame(frame(rows), "id")
    assert source.n_given == len(rows) == source.n_rows + total(source.findings, "missing_id", "repeated_id")


@given(edges)
def test_edges_in_are_edges_used_and_edges_reported(rows):
    graph = hc.Graph(edge_frame(rows))
    gone = ("missing_end", "self_loop", "bad_weight", "zero_weight", "repeated_edge", "both_directions")
    assert graph.n_given == len(rows) == graph.n_edges + total(graph.findings, *gone)


@pytest.mark.slow
@given(tables, edges)
def test_unknown_ids_of_edges_are_counted_whether_kept_or_dropped(rows, links):
    graph = hc.Graph(edge_frame(links))
    kept, dropped = (hc.HetData({"t": frame(rows)}, {"g": graph}, keep_graph_only=keep) for keep in (True, False))
    count = kept.report.count("unknown_id")
    assert count == dropped.report.count("unknown_id")
    assert kept.graphs["g"].n_edges == graph.n_edges
    assert dropped.graphs["g"].n_edges == graph.n_edges - count
    assert set(dropped.ids) == set(dropped.sources["t"].ids) <= set(kept.ids)


@given(tables)
def test_ids_are_byte_identical_and_the_first_row_of_each_is_kept(rows):
    data = hc.HetData({"t": frame(rows)})
    first = {row["id"]: row["x"] for row in reversed(rows) if has_id(row)}
    order = list(dict.fromkeys(row["id"] for row in rows if has_id(row)))
    assert [one.encode() for one in data.ids] == [one.encode() for one in order]
    for one, value in zip(data.ids, data.sources["t"].frame["x"]):
        assert value == first[one] if value is not None else not (abs(first[one] or np.inf) < 1e38)


OF_THE_ORDER = ("spaced_id", "total_row", "note_row")


@pytest.mark.slow
@given(tables, st.randoms(use_true_random=False))
def test_row_order_changes_nothing_but_order(rows, random):
    unique = list({row["id"]: row for row in rows if has_id(row)}.values())
    shuffled = random.sample(unique, len(unique))
    one, two = (hc.HetData({"t": frame(given)}) for given in (unique, shuffled))
    place = [one.position[one_id] for one_id in two.ids]
    assert one.sources["t"].guess == two.sources["t"].guess
    matrices = [SourceEncoder().fit(data.sources["t"]).transform(data.sources["t"]) for data in (one, two)]
    assert_array_equal(matrices[0][place], matrices[1])
    # a note stands last and a sum below its parts, so that these are of the order of the rows
    reports = [{str(f) for f in data.report if f.kind not in OF_THE_ORDER} for data in (one, two)]
    assert reports[0] == reports[1]


@given(edges, st.randoms(use_true_random=False))
def test_the_order_and_direction_of_edges_do_not_matter(rows, random):
    whole = [(a, b, round(w) if w is not None and abs(w) < 100 else w) for a, b, w in rows]
    single = list({frozenset(row[:2]): row for row in whole}.values())
    turned = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in random.sample(single, len(single))]
    known = pl.Series("id", sorted({one for row in single for one in row[:2] if one}), dtype=pl.String)
    one, two = (hc.Graph(edge_frame(given)).aligned(known) for given in (single, turned))
    assert one.digest() == two.digest()


@pytest.mark.slow
@given(tables, edges, st.integers(0, 3), st.floats(0.05, 1.0))
def test_what_if_never_changes_the_original(rows, links, seed, share):
    table, links = frame(rows), edge_frame(links)
    before = hc.HetData({"t": table, "u": table}, {"g": links}, table.select("id", "x")).digest()
    data = hc.HetData({"t": table, "u": table}, {"g": links}, table.select("id", "x"))
    changed = [data.select(sources=["u"], graphs=[]), data.with_noise("t", share * 3, seed), data.sample(share, seed)]
    changed += [data.with_graph_noise("g", share, seed, how) for how in ("rewire", "thin")]
    assert data.digest() == before
    again = hc.HetData(
        {name: hc.Source(s.ids, s.frame, s.kinds) for name, s in data.sources.items()},
        {"g": data.graphs["g"]},
        (data.ids, data.y),
    )
    assert again.digest() == before
    for one in changed:
        assert one.mask.shape == (len(one.sources), one.n) and len(one.y) == one.n
        for name, source in one.sources.items():
            assert_array_equal(one.ids[one.rows(name)], source.ids)


@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=6), st.sampled_from(["1", "2.5", "x y", "007"])), min_size=1, max_size=30
    )
)
def test_any_text_column_is_guessed_and_encoded(values):
    source = hc.Source([f"i{k}" for k in range(len(values))], pl.DataFrame({"t": values}, schema={"t": pl.String}))
    for kind in ("real", "binary", "nominal", "text"):
        try:
            changed = source.with_kinds({"t": kind})
        except DataError:
            continue
        encoder = SourceEncoder().fit(changed)
        matrix = encoder.transform(changed)
        assert matrix.shape == (len(values), len(encoder.feature_names)) and matrix.shape[1] >= 1
        assert not np.isinf(matrix).any()
        assert np.isnan(matrix[[value is None for value in values]]).all()
