"""Planted noise: every row has the deviation that the truth says, and it is the same data each time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datasets
from hetcore.data.plain import codes
from hetcore.errors import ParameterError

MAKERS = {
    "planted_noise": datasets.make_noisy,
    "planted_flips": datasets.make_flipped,
    "planted_ratings": datasets.make_ratings,
    "planted_sensors": datasets.make_sensors,
}
NUMBERS = [name for name in MAKERS if name != "planted_flips"]


def scores(name):
    data, truth = MAKERS[name]()
    return (data.y.astype(float) - truth.signal) / truth.deviation, truth


@pytest.mark.parametrize("name", NUMBERS)
def test_noise_has_the_planted_deviation_where_it_is_large_and_where_it_is_small(name):
    z, truth = scores(name)
    loud = truth.deviation > np.median(truth.deviation)
    for rows in (loud, ~loud):
        assert z[rows].std() == pytest.approx(1.0, abs=0.08) and abs(z[rows].mean()) < 0.1
    assert np.quantile(truth.deviation, 0.95) > 2.0 * np.quantile(truth.deviation, 0.05)


def test_labels_are_flipped_as_often_as_planted():
    data, truth = datasets.make_flipped(n=8000)
    wrong = data.y != truth.signal
    assert wrong.mean() == pytest.approx(0.15, abs=0.015)
    for chance in np.unique(truth.deviation):
        assert wrong[truth.deviation == chance].mean() == pytest.approx(chance, abs=0.02)


@pytest.mark.parametrize("name", MAKERS)
def test_an_entry_is_what_its_maker_makes_each_time(name):
    assert datasets.load(name).digest() == MAKERS[name]()[0].digest() != MAKERS[name](seed=1)[0].digest()
    known = datasets.planted_deviation(name)
    assert known.columns == ["id", "planted"] and known["id"].to_list() == datasets.load(name).ids.tolist()


def test_ratings_and_sensors_are_records_of_codes():
    found = codes(datasets.load("planted_ratings"), ("user", "item"))
    assert len({tuple(pair) for pair in found.X}) == len(found.X) == 15000
    found = codes(datasets.load("planted_sensors"), ("sensor", "time", "quantity"))
    assert len({tuple(cell) for cell in found.X}) == 24 * 96 * 2


def test_nothing_was_planted_in_other_data():
    assert datasets.planted_deviation("digits_views") is None


def test_no_spread_is_the_same_noise_everywhere():
    assert np.ptp(datasets.make_noisy(spread=0)[1].deviation) == 0


def test_deviation_rises_with_the_third_column():
    data, truth = datasets.make_noisy(n=500)
    order = data.sources["table"].frame["x_3"].arg_sort()
    assert pl.Series(truth.deviation)[order].is_sorted()


@pytest.mark.parametrize(
    ("maker", "given", "words"),
    [
        ("planted_noise", {"n": 3}, "n=3 must be at least 10"),
        ("planted_flips", {"flipped": 0.4}, "flipped=0.4 must be at most 0.25"),
        ("planted_ratings", {"density": 0}, "density=0 must be in"),
        ("planted_sensors", {"n_times": 1}, "n_times=1 must be at least 2"),
    ],
)
def test_what_makes_no_sense_is_refused(maker, given, words):
    with pytest.raises(ParameterError, match=words):
        MAKERS[maker](**given)
