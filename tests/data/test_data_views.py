"""Coverage, overlap, summary, digest and printing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import hetcore as hc


@pytest.fixture
def data() -> hc.HetData:
    return hc.HetData(
        {
            "one": pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, None, 3.0], "w": ["u", "v", "w"]}),
            "two": hc.Source(["c", "d"], np.array([[1.0, np.nan], [np.nan, np.nan]])),
        },
        {"g": pl.DataFrame({"source": ["a", "e"], "target": ["b", "a"]})},
        pl.DataFrame({"id": ["a", "f"], "y": ["yes", "no"]}),
    )


def test_coverage(data):
    rows = {row["name"]: row for row in data.coverage().iter_rows(named=True)}
    one = {
        "kind": "table",
        "instances": 3,
        "share": 0.5,
        "only_here": 0,
        "columns": 2,
        "edges": None,
        "missing_share": 1 / 6,
    }
    two = {
        "kind": "array",
        "instances": 2,
        "share": 2 / 6,
        "only_here": 1,
        "columns": 2,
        "edges": None,
        "missing_share": 0.75,
    }
    graph = {
        "kind": "graph",
        "instances": 3,
        "share": 0.5,
        "only_here": 1,
        "columns": None,
        "edges": 2,
        "missing_share": None,
    }
    for name, expected in {"one": one, "two": two, "g": graph}.items():
        assert rows[name] == pytest.approx({"name": name, **expected})


def test_coverage_without_graphs(data):
    frame = data.select(graphs=[]).coverage()
    assert frame["name"].to_list() == ["one", "two"] and frame["edges"].to_list() == [None, None]


def test_overlap_counts_every_instance_once(data):
    frame = data.overlap()
    rows = {tuple(row["sources"]): (row["n_sources"], row["instances"]) for row in frame.iter_rows(named=True)}
    assert rows == {("one",): (1, 2), ("one", "two"): (2, 1), ("two",): (1, 1), (): (0, 2)}
    assert frame["instances"].sum() == data.n
    assert frame["instances"].is_sorted(descending=True)


def test_overlap_of_many_sources():
    sources = {f"s{k}": pl.DataFrame({"id": ["a", f"b{k}"], "x": [1, 2]}) for k in range(70)}
    frame = hc.HetData(sources).overlap()
    assert frame.height == 71 and frame.filter(n_sources=70)["instances"].to_list() == [1]


def test_summary_and_repr(data):
    assert data.summary().splitlines() == [
        "6 instances, 2 labelled, 2 classes: 'no', 'yes'",
        "table 'one': 3 instances (50%), 2 columns, 17% missing",
        "array 'two': 2 instances (33%), 2 columns, 75% missing",
        "graph 'g': 3 instances (50%), 2 edges",
        "3 findings in the report",
    ]
    assert repr(data) == "HetData(6 instances, 2 labelled, 2 classes: 'no', 'yes'; sources 'one', 'two'; graphs 'g')"
    assert data.hide_labels(["a"]).summary().splitlines()[-1] == "what-if: hide_labels(['a'])"
    assert "2 labelled with numbers from 0 to 1.5" in repr(data.with_target([0.0, 1.5] + [None] * 4))
    assert "no labels" in repr(data.with_target(None))


def build(x=1.0, kind=None, label="yes", weight=1.0, name="one", word="v"):
    frame = pl.DataFrame({"id": ["a", "b"], "x": [x, 2.0], "w": ["u", word], "f": [True, None], "e": [[1.0], [2.0]]})
    edges = pl.DataFrame({"source": ["a"], "target": ["b"], "weight": [weight]})
    kinds = {name: kind} if kind else None
    return hc.HetData({name: frame}, {"g": edges}, pl.DataFrame({"id": ["a"], "y": [label]}), kinds=kinds)


@pytest.mark.parametrize(
    "other",
    [
        {"x": 1.5},
        {"x": None},
        {"kind": {"x": "nominal"}},
        {"label": "no"},
        {"label": 1.0},
        {"weight": 2.0},
        {"name": "two"},
        {"word": "V"},
        {"word": None},
    ],
)
def test_the_digest_is_of_all_content(other):
    assert build().digest() == build().digest()
    assert build(**other).digest() != build().digest()


def test_the_digest_tells_where_text_is_cut():
    one, two = ({"s": pl.DataFrame({"id": ["a", "b"], "t": text})} for text in (["xy", "z"], ["x", "yz"]))
    assert hc.HetData(one).digest() != hc.HetData(two).digest()


def test_the_digest_does_not_depend_on_memory_layout_or_missing_form():
    frame = pl.DataFrame({"x": [1.0, None, 3.0]})
    sliced = pl.concat(
        [pl.DataFrame({"x": [9.0]}), pl.DataFrame({"x": [1.0, float("nan")]}), pl.DataFrame({"x": [3.0]})]
    )[1:]
    assert hc.Source(["a", "b", "c"], frame).digest() == hc.Source(["a", "b", "c"], sliced).digest()
    matrix = np.arange(6.0).reshape(2, 3)
    assert hc.Source(["a", "b"], matrix).digest() == hc.Source(["a", "b"], np.asfortranarray(matrix)).digest()
    assert hc.Source(["a", "b"], matrix).digest() != hc.Source(["a", "b"], matrix.reshape(2, 3, 1)).digest()


@pytest.mark.slow
def test_the_digest_is_the_same_in_every_process():
    frame = "pl.DataFrame({'id': ['a'], 'x': [1.5], 't': ['é']})"
    code = f"import hetcore as hc, polars as pl; print(hc.HetData({{'s': {frame}}}).digest())"
    outputs = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        )
        outputs.add(run.stdout)
    assert outputs == {"442982a19c7ac716dd4a0fd87e3b00ef652fe955edd115606ae52686699660a0\n"}
