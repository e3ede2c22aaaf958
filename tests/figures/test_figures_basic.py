"""Figures of data and rounds: an axis has no values that cannot be, and what sums to 1 stands in a chart of its own."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hetcore.data import HetData
from hetcore.errors import DataError
from hetcore.events import RoundEnd
from hetcore.figures import basic
from hetcore.figures import noise as figures_noise
from studio.views.common import curves
from studio.views.consensus import instance_map, widgets, widgets_case, words
from studio.views.data import pictures

BARS = (Path(widgets.__file__).parents[1] / "common" / "bars.js").read_text(encoding="utf-8")


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


def _luminance(colour):
    """Relative luminance of WCAG 2.2."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


GREYS = (figures_noise.GREY, widgets_case.GREY, curves.GREY, pictures.GREY, instance_map.MUTE, words.MORE)
SHADES = [float(each) for each in re.findall(r'["x]"?: (\d+)', re.search(r"SHADES = {.*}", BARS)[0])]


@pytest.mark.parametrize(("page", "text"), [("#FFFFFF", "#2F2D2B"), ("#1A1A17", "#EDEBE8")])
def test_every_colour_stands_out_from_a_white_and_from_a_dark_page(page, text):
    sources = [*basic.COLOURS, *words.JOINED, words.MORE]
    shades = [_mixed(colour, text, share / 100) for colour in sources for share in SHADES]
    # a shade is mixed with the colour of words: seen through, #9A8420 had 1.4 on a dark page
    assert len(SHADES) == len(words.PATTERNS) - 1 and "%, currentColor)" in BARS and "fill-opacity" not in BARS
    for colour in [*sources, *GREYS, *shades]:
        low, high = sorted([_luminance(colour), _luminance(page)])
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def _mixed(colour, other, share):
    parts = ([int(each[at : at + 2], 16) for at in (1, 3, 5)] for each in (colour, other))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02X}" for a, b in zip(*parts))


def _lab(colour):
    """OKLab of Ottosson, in which near colours look alike."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = [[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]]
    opponents = [[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]
    return np.array(opponents) @ np.cbrt(np.array(cones) @ linear)


def test_no_two_of_ten_sources_look_alike():
    near = {(a, b): np.linalg.norm(_lab(a) - _lab(b)) for a, b in combinations(basic.COLOURS, 2)}
    assert min(near.values()) > 0.1, min(near, key=near.get)  # #0072B2 and #4477AA: .04


def test_classes_whose_hues_are_near_have_other_markers():
    looks = [basic.style(place) for place in range(10)]
    assert all(looks[k]["marker"] != looks[k + 5]["marker"] for k in range(5))
    assert len({(each["colour"], each["marker"]) for each in map(basic.style, range(20))}) == 20


def test_very_large_numbers_are_powers_of_ten_on_every_axis():
    drawn = lambda size: basic.lines([1, 2], {"a": [0.0, -size]}, "round", "RMSE")["layout"]["yaxis"]  # noqa: E731
    assert drawn(3e11)["tickformat"] == ".6~g" and "tickformat" not in drawn(3e8) and "tickformat" not in drawn(np.nan)
    assert basic.bars({"a": 3e11}, "adds")["layout"]["xaxis"]["tickformat"] == ".6~g"
    assert "tickformat" not in basic.bars({}, "adds")["layout"]["xaxis"]


def test_far_out_labels_are_in_the_end_bars_of_the_others():
    y = np.r_[np.linspace(-1.0, 1.0, 98), -1e3, 1e4]
    ids = [f"r{k}" for k in range(100)]
    data = HetData({"t": pl.DataFrame({"id": ids, "x": y})}, {}, (ids, y))
    figure = basic.labels(data)
    bars = figure["data"][0]
    assert bars["y"].sum() == 100 and np.sum(bars["y"] > 5) > 3 and np.ptp(bars["x"]) < 10
    assert figure["layout"]["xaxis"]["title"]["text"] == "label; the end bars reach -1,000 and 10,000"


def test_an_axis_of_labels_has_the_name_of_their_column():
    ids = [f"r{k}" for k in range(9)]
    table = pl.DataFrame({"id": ids, "x": range(9)})

    def drawn(name):
        data = HetData({"t": table}, {}, pl.DataFrame({"id": ids, name: np.arange(9.0)}))
        return basic.labels(data)["layout"]["xaxis"]["title"]["text"]

    assert drawn("price <b>") == "price <b>" and drawn("p" * 99) == "p" * 39 + "…"
    plain = curves.as_written(basic.lines([1], {}, "price <b>", "y"))["layout"]
    assert plain["xaxis"]["title"]["text"] == "price &lt;b>" and plain["height"] == 320
    nameless = HetData({"t": table}, {}, (ids, np.arange(9.0)))
    assert basic.label_title(nameless) == "label" and basic.label_title(nameless, "label's unit") == "label's unit"


def test_thousands_of_an_axis_are_written_out():
    layout = basic.lines([1, 2], {"a": [5e3, 2e5]}, "round", "RMSE")["layout"]
    assert all(layout[axis]["separatethousands"] and layout[axis]["minexponent"] == 9 for axis in ("xaxis", "yaxis"))


def test_an_axis_of_few_rounds_has_no_half_rounds():
    across = lambda x: basic.lines(x, {"a": x}, "round", "RMSE")["layout"]["xaxis"].get("dtick")  # noqa: E731
    assert across([1, 2, 3, 4]) == 1 and across(range(1, 9)) == 1
    assert across(range(1, 10)) is None and across([0.5, 1.5]) is None and across([]) is None
    assert basic.degrees(_data(0), "links")["layout"]["xaxis"]["dtick"] == 1  # nor is there half a neighbour


def test_coverage_is_of_all_instances_from_the_first_table_down():
    layout = basic.coverage(_data(0))["layout"]
    assert layout["xaxis"]["range"] == [0, 100] and layout["yaxis"]["autorange"] == "reversed"
    assert basic.overlap(_data(0))["data"][0]["y"] == ["all"]


def test_a_bar_of_instances_that_one_table_has_is_not_taken_for_all_of_that_table():
    ids = {"a": list("pqrst"), "b": list("stu")}
    tables = {name: pl.DataFrame({"id": each, "x": range(len(each))}) for name, each in ids.items()}
    bars = basic.overlap(HetData(tables, {}, (["p"], [1.0])))["data"][0]
    assert dict(zip(bars["y"], bars["x"])) == {"a only": 3, "all": 2, "b only": 1}


def test_long_names_beside_bars_are_cut_and_whole_over_them():
    name = "a table with a <b>long</b> name of 2024"
    ids = {name: list("pq"), "2024": list("pqr")}
    data = HetData({table: pl.DataFrame({"id": each, "x": range(len(each))}) for table, each in ids.items()})
    short = "a table with a <b>long</b…"
    whole = name.replace("<", "&lt;")
    for figure, over in ((basic.coverage(data), "text"), (basic.missing(data), "customdata")):
        axis = figure["layout"]["yaxis"]
        assert axis["type"] == "category" and axis["ticktext"] == [short, "2024"] and axis["tickvals"] == [0, 1]
        assert whole in np.ravel(figure["data"][0][over]) and over in figure["data"][0]["hovertemplate"]
        assert curves.as_written(figure)["layout"]["yaxis"]["ticktext"][0] == short.replace("<", "&lt;")


def test_numbers_over_bars_have_the_format_of_their_axis():
    counts, adds = basic.bars({"a": 1797.0}, "instances"), basic.bars({"a": -0.25}, "adds", horizontal=False)
    assert counts["layout"]["xaxis"]["hoverformat"] == ",d" and adds["layout"]["yaxis"]["hoverformat"] == ".3g"
    assert "%{x}" in counts["data"][0]["hovertemplate"] and "%{y}" in adds["data"][0]["hovertemplate"]


def test_a_logarithmic_axis_within_a_decade_has_marks_enough_to_tell_its_scale():
    def between(low, high):
        return [tick for tick in basic.decades([low, high])["tickvals"] if low <= tick <= high]

    assert between(1.3, 2.8) == [1.5, 2, 2.5]
    assert between(0.08, 2.0) == [0.1, 0.2, 0.5, 1, 2]
    assert between(1, 6) == [1, 2, 3, 4, 5]


def test_what_is_nothing_but_rounding_adds_nothing():
    bars = basic.contributions({"table": 0.575, "graph": -1.14e-19}, ["table", "graph"], "score")["data"][0]
    assert dict(zip(bars["y"], bars["x"])) == {"table": 0.575, "graph": 0.0}
    assert basic.without_rounding([0.0, 0.0]) == [0.0, 0.0] and basic.without_rounding([]) == []


@pytest.mark.parametrize("figure", [basic.coverage, basic.overlap, basic.labels, basic.missing])
def test_what_is_no_data_is_not_drawn(figure):
    with pytest.raises(DataError, match=f"{figure.__name__} takes a HetData, not int"):
        figure(3)
