"""Figures of data and rounds: an axis has no values that cannot be, and what sums to 1 stands in a chart of its own."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hetcore.data import HetData
from hetcore.events import RoundEnd
from hetcore.figures import basic
from studio.views.consensus import widgets


def _data(missing):
    ids = [f"i{k}" for k in range(10)]
    values = [None] * missing + [float(k) for k in range(10 - missing)]
    links = pl.DataFrame({"source": ids[:5], "target": ids[5:]})
    return HetData({"a": pl.DataFrame({"id": ids, "x": values})}, {"links": links}, (ids, np.arange(10.0)))


@pytest.mark.parametrize("missing, top", [(0, 1.0), (4, 42.0)])
def test_shares_of_missing_values_begin_at_none(missing, top):
    assert basic.missing(_data(missing))["layout"]["xaxis"]["range"] == [0, pytest.approx(top)]


def test_a_level_error_stands_on_an_axis_of_errors_that_there_can_be():
    draw = lambda values: basic.per_cent(basic.lines([1, 2], {"a": values}, "round", "error"))  # noqa: E731
    flat = draw([0.075, 0.075])
    assert flat["layout"]["yaxis"]["range"] == [0, 0.15] and draw([0.0, 0.0])["layout"]["yaxis"]["range"] == [0, 0.1]
    assert "range" not in draw([0.1, 0.2])["layout"]["yaxis"]
    basic.level(flat, "SVM", 0.3, (1, 2))
    assert flat["layout"]["yaxis"]["range"] == pytest.approx([0, 0.33])  # a line that comes later is in view


def test_weights_of_sources_and_of_graphs_have_a_chart_each():
    detail = {"metric": {"left_out": 0.1}, "metric_name": "error"}
    event = RoundEnd("GBC", 0, 1, {}, {"a": 1.0}, graph_weights={"links": 1.0}, detail=detail)
    drawn = widgets.figures_of([event], _data(0))
    names = {chart: [trace["name"] for trace in drawn[chart]["data"]] for chart in ("weights", "graph weights")}
    assert names == {"weights": ["a"], "graph weights": ["links"]}
