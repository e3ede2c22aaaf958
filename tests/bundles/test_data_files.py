"""Data as Parquet: what is read is what was written, to the last bit, and anything else is refused in a sentence."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from hetcore.bundles.data_files import data_files


def odd() -> hc.HetData:
    """Return data with everything that needs care: odd names, gaps, arrays, arcs, labels of unseen instances."""
    ids = ["b", "a", "", "c", "a"]
    frame = pl.DataFrame(
        {
            "id": [1.5, None, 3.0, float("nan"), 1.0],
            'źródło, "1"\n': ["x", None, "y", "x", "z"],
            "yes": [True, False, None, True, True],
            "vector": pl.Series([[1.0, 2.0], [3.0, 4.0], None, [5.0, 6.0], [7.0, 8.0]], dtype=pl.Array(pl.Float32, 2)),
            "date": pl.Series([0, 1, 2, 3, 4], dtype=pl.Int32).cast(pl.Date),
        }
    )
    images = np.random.default_rng(0).integers(0, 255, (3, 2, 2, 3)).astype(np.uint8)
    links = nx.DiGraph([("a", "b", {"weight": 0.1}), ("b", "c", {"weight": -2.0}), ("z", "a", {"weight": 1e-7})])
    graphs = {"plain": pl.DataFrame({"source": ["a", "c"], "target": ["q", "a"]})}
    graphs["arcs/../"] = hc.Graph(links, directed=True, signed=True)
    sources = {"table": hc.Source(ids, frame, {"yes": "nominal"}), "images": hc.Source(["c", "d", "a"], images)}
    return hc.HetData(sources, graphs, (["d", "b", "q"], ["1", "2", None]), spelling=["case"])


CASES = {
    "odd": odd,
    "no graphs, no labels": lambda: hc.HetData({"one": pl.DataFrame({"id": ["a", "b"], "x": [1, 2]})}),
    "regression": lambda: datasets.load("planted"),
    "what-ifs": lambda: (
        datasets.load("planted").sample(0.3, seed=1).with_noise("source_1", sd=1.0, seed=0).hide_labels([])
    ),
    "images": lambda: datasets.load("two_modalities"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_what_was_written(case, tmp_path):
    data = CASES[case]()
    hc.write_data(data, tmp_path / "new" / "folder")
    read = hc.read_data(tmp_path / "new" / "folder")
    assert read.digest() == data.digest() and read.ids.tolist() == data.ids.tolist()
    assert (read.mask == data.mask).all() and read.y.dtype == data.y.dtype and not read.y.flags.writeable
    assert [str(each) for each in read.report] == [str(each) for each in data.report]
    assert (read.steps, read.label_name, read.target_kind) == (data.steps, data.label_name, data.target_kind)
    for name, source in data.sources.items():
        assert (read.sources[name].kinds, read.sources[name].guess) == (source.kinds, source.guess)
        assert read.sources[name].findings == source.findings and read.sources[name].missing == source.missing
    for name, graph in data.graphs.items():
        assert read.graphs[name].findings == graph.findings and read.graphs[name].n_given == graph.n_given
        for direction in ("in", "out", "both"):
            one, other = graph.neighbors(direction), read.graphs[name].neighbors(direction)
            assert (one.data == other.data).all() and (one.indices == other.indices).all()
    assert hc.HetData(read.sources, read.graphs, (read.ids, read.y), task=read.target_kind).n == data.n


def test_equal_data_have_equal_files():
    assert data_files(odd()) == data_files(odd())


def written(folder):
    hc.write_data(odd(), folder)
    return folder


def facts_changed(**changes):
    def change(folder):
        facts = json.loads((folder / "data.json").read_text())
        facts["sources"][0] |= {name: value for name, value in changes.items() if name in facts["sources"][0]}
        facts |= {name: value for name, value in changes.items() if name in facts}
        (folder / "data.json").write_text(json.dumps(facts))

    return change


def other_labels(folder):
    path = folder / "instances.parquet"
    pl.read_parquet(path).with_columns(label=pl.lit("1")).write_parquet(path)


WRONG = {
    "no folder": (lambda folder: (folder / "data.json").unlink(), "holds no data that can be read"),
    "no JSON": (lambda folder: (folder / "data.json").write_text("{"), "holds no data that can be read"),
    "a list": (lambda folder: (folder / "data.json").write_text("[]"), "holds no data that can be read"),
    "a table gone": (lambda folder: (folder / "source-1.parquet").unlink(), "holds no data that can be read"),
    "no Parquet": (lambda folder: (folder / "graph-1.parquet").write_bytes(b"PAR1"), "holds no data that can be read"),
    "another format": (facts_changed(format=2), "format 2, not 1"),
    "another folder": (facts_changed(file="../source-1.parquet"), "holds no data that can be read"),
    "other kinds": (facts_changed(kinds={}), "are not those that were written together"),
    "other labels": (other_labels, "are not those that were written together"),
}


@pytest.mark.parametrize("case", WRONG)
def test_anything_else_is_refused_in_a_sentence(case, tmp_path):
    change, words = WRONG[case]
    change(written(tmp_path))
    with pytest.raises(hc.DataError, match=words) as caught:
        hc.read_data(tmp_path)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_path_that_is_no_folder_is_not_taken_for_damaged_data(tmp_path):
    with pytest.raises(hc.DataError, match=r"There is no folder .*nope.zip: correct the path\."):
        hc.read_data(tmp_path / "nope.zip")
    (tmp_path / "data.zip").write_bytes(b"PK")
    with pytest.raises(hc.DataError, match=r"data.zip is a file: give the folder of data that write_data wrote"):
        hc.read_data(str(tmp_path / "data.zip"))


def test_what_is_no_het_data_is_refused_and_leaves_no_folder(tmp_path):
    with pytest.raises(hc.DataError, match=r"^DataFrame is no HetData: build one from tables with hetcore.HetData\.$"):
        hc.write_data(pl.DataFrame({"id": ["a"]}), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("folder", [None, "", 3])
def test_what_is_no_folder_is_refused(folder):
    data = hc.HetData({"t": pl.DataFrame({"id": ["a"], "x": [1.0]})})
    for call in (lambda: hc.write_data(data, folder), lambda: hc.read_data(folder)):
        with pytest.raises(hc.ParameterError, match="is no path: give the text or Path of one"):
            call()
