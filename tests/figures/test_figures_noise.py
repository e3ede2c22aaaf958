"""Figures of doubt: what is drawn is what was given, thinned where there is much, and JSON takes it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest

from hetcore.figures import noise as figures

RNG = np.random.default_rng(0)
X = RNG.normal(size=3000)
SPREAD = np.exp(0.5 * X)
HALF = 1.645 * SPREAD
Y = SPREAD * RNG.normal(size=3000)
TITLES = ("x", "y")
ALL = {
    "band": lambda: figures.band(X, Y, 0 * Y, HALF, TITLES),
    "residuals": lambda: figures.residuals(X, Y, HALF, TITLES, 1),
    "cloud": lambda: figures.cloud(np.abs(Y), {"a": SPREAD, "b": 1 + 0 * SPREAD}, TITLES),
    "deviations": lambda: figures.deviations(SPREAD, Y, TITLES),
    "shares": lambda: figures.deviations(np.abs(X), X > 0, TITLES, squares=False),
    "calibration": lambda: figures.calibration([0.1, 0.9], {"a": [0.2, np.nan]}, TITLES),
    "histograms": lambda: figures.histograms({"a": X, "b": X[:9], "none": []}, *TITLES),
    "found": lambda: figures.found(X > 1, 0.16),
    "imputation": lambda: figures.imputation(
        np.arange(3000), (X, Y), (X, Y), prediction=Y, spread=SPREAD, titles=TITLES
    ),
    "levels": lambda: figures.levels({"a": ([0, 0.1], [0.3, 0.4], [0.01, 0.0])}, TITLES, ("b", "a")),
}


@pytest.mark.parametrize("name", ALL)
def test_a_figure_is_one_that_plotly_draws_and_is_thinned(name):
    figure = go.Figure(ALL[name]())
    assert figure.to_json() and len(figure.data) >= 1
    assert max(len(trace.x) for trace in figure.data if trace.x is not None) <= 3001
    clouds = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]
    assert all(len(trace.x) <= figures.MOST_DOTS for trace in clouds)


def test_a_band_holds_the_share_of_labels_that_are_drawn_inside():
    named = {trace["name"]: trace for trace in figures.band(X, Y, 0 * Y, HALF, TITLES)["data"] if "name" in trace}
    inside = np.abs(Y) <= HALF
    assert inside.mean() == pytest.approx(0.9, abs=0.02)
    assert len(named["outside"]["x"]) == (~inside).sum() and len(named["inside"]["x"]) == figures.MOST_DOTS
    low, high = figures.band(X, Y, 0 * Y, HALF, TITLES)["data"][:2]
    assert np.all(low["y"] < high["y"]) and np.all(np.diff(high["y"]) > 0)  # the spread grows with x


def test_far_out_labels_do_not_squeeze_the_band():
    far = np.r_[Y[:-2], -1e4, 1e5]
    for figure in (figures.band(X, far, 0 * Y, HALF, TITLES), figures.residuals(X, far, HALF, TITLES)):
        low, high = figure["layout"]["yaxis"]["range"]
        assert -100 < low < -np.median(HALF) and np.median(HALF) < high < 100
        assert max(trace["y"].max() for trace in figure["data"]) == 1e5  # a double click shows it
    assert "range" not in figures.band(X, Y, 0 * Y, HALF, TITLES)["layout"]["xaxis"]
    assert figures.cloud(np.abs(far), {"a": pl.Series(SPREAD)}, TITLES)["layout"]["xaxis"]["range"][1] < 100


def test_residuals_that_spread_as_predicted_lie_on_the_line():
    seen = figures.deviations(SPREAD, Y, TITLES)["data"][1]
    assert np.allclose(seen["x"], seen["y"], rtol=0.2) and len(seen["x"]) == 12


def test_rows_without_a_mistake_are_found_at_once():
    caught, best, chance = figures.found([True, True, False, False], 0.5)["data"]
    assert np.allclose(caught["y"], [0, 0.5, 1, 1, 1]) and np.allclose(best["y"], caught["y"])
    assert np.allclose(chance["y"], [0, 0.25, 0.5, 0.75, 1])


def test_the_legend_of_what_is_found_stays_off_the_curves():
    figure = figures.found([True, True, False, False], 0.5)
    top = figure["layout"]["yaxis"]["range"][1]
    assert figure["layout"]["legend"]["y"] * top > 1.03 and figure["layout"]["legend"]["yanchor"] == "bottom"
    # one line at 400 pixels: Plotly gives each entry the room of the longest
    assert max(len(trace["name"]) for trace in figure["data"]) <= 12


def test_a_histogram_tells_shares_of_each_group_over_the_same_bins():
    a, b = figures.histograms({"a": [0.0, 0.0, 1.0], "b": [1.0]}, *TITLES, bins=2)["data"]
    assert np.allclose(a["y"], [2 / 3, 1 / 3]) and np.allclose(b["y"], [0, 1]) and np.allclose(a["x"], b["x"])


def imputed(time):
    return figures.imputation(time, ([], []), ([], []), prediction=time, spread=time, titles=TITLES)


def test_years_have_no_comma_and_no_halves():
    def axis(time):
        return imputed(time)["layout"]["xaxis"]

    assert axis([2020, 2021, 2023])["dtick"] == 1 and axis([2020])["tickformat"] == ".10~g"
    assert "dtick" not in axis([0.0, 0.5]) and "dtick" not in axis([1900, 2020])


def test_a_single_reading_is_drawn_as_a_dot_with_its_band():
    one, more = (imputed(time)["data"] for time in ([2.0], [2.0, 3.0]))
    one, more = (next(each for each in traces if each.get("name") == "filled in") for traces in (one, more))
    assert one["mode"] == "markers" and one["error_y"]["array"] == [1.645 * 2.0]
    assert more["mode"] == "lines" and "error_y" not in more
