"""The declared shapes of the data sets are those of the data."""

import os
from pathlib import Path

import pytest

import datasets
from datasets.shapes import SHAPES, Shape, Table

REAL = Path(os.environ.get("HETCORE_DATA", Path(__file__).parents[3] / "shared" / "data"))
QUICK = ("planted", "planted_domains", "autocorrelated", "planted_flips", "two_modalities")


def marked(name):
    return name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)


def measured(data):
    def table(source):
        kinds = set(source.kinds.values())
        kind = {frozenset({"array"}): "image", frozenset({"text"}): "text"}.get(frozenset(kinds), "values")
        return Table(source.n_columns, round(source.n_rows / data.n, 2), kind)

    classes = len(data.classes) if data.target_kind == "classification" else 0
    return Shape(tuple(map(table, data.sources.values())), len(data.graphs), classes)


def test_every_data_set_has_a_shape():
    assert list(SHAPES) == datasets.names()


@pytest.mark.parametrize("name", [marked(name) for name in datasets.names()])
def test_a_shape_is_that_of_the_data(name, monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(REAL))
    if not datasets.info(name).is_here:
        pytest.skip(f"the files of {name} are not in {REAL}; set HETCORE_DATA")
    assert measured(datasets.load(name)) == SHAPES[name]
