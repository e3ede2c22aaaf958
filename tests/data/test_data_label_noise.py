"""Labels are corrupted for a stated share of the rows, the same rows for a larger share, and nothing else changes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.errors import DataError, ParameterError

N = 1000
IDS = [f"i{k}" for k in range(N)]
TABLE = pl.DataFrame({"id": IDS, "x": np.arange(N)})


@pytest.fixture(scope="module")
def classes() -> hc.HetData:
    y = np.random.default_rng(0).choice(["a", "b", "c"], N).astype(object)
    y[900:] = None
    return hc.HetData({"t": TABLE}, target=(IDS, y.tolist()))


@pytest.fixture(scope="module")
def numbers() -> hc.HetData:
    y = np.random.default_rng(0).normal(50.0, 7.0, N)
    y[900:] = np.nan
    return hc.HetData({"t": TABLE}, target=(IDS, y))


def test_a_share_of_the_labels_gets_another_class(classes):
    changed = classes.with_flipped_labels(0.2, seed=3)
    different = np.array([a != b for a, b in zip(classes.y, changed.y)])
    assert different.sum() == 180
    assert (changed.labelled == classes.labelled).all() and set(changed.classes) == {"a", "b", "c"}
    for name in "abc":  # both other classes, about as often
        others = changed.y[different & (classes.y == name)].tolist()
        assert min(others.count(other) for other in set("abc") - {name}) > 0.25 * len(others)


def test_a_share_of_the_numbers_gets_noise_of_the_stated_size(numbers):
    changed = numbers.with_label_noise(0.5, sd=0.5, seed=3)
    added = (changed.y - numbers.y)[:900]
    assert (added != 0).sum() == 450 and np.isnan(changed.y[900:]).all()
    assert added[added != 0].std() == pytest.approx(0.5 * numbers.y[:900].std(), rel=0.1)


def test_a_larger_share_corrupts_the_same_rows_and_more(classes, numbers):
    few, many = classes.with_flipped_labels(0.1, seed=1).y, classes.with_flipped_labels(0.3, seed=1).y
    hit = np.array([a != b for a, b in zip(classes.y, few)])
    assert hit.sum() == 90 and few[hit].tolist() == many[hit].tolist()
    few, many = (numbers.with_label_noise(share, sd=1.0, seed=1).y[:900] for share in (0.1, 0.3))
    hit = few != numbers.y[:900]
    assert np.array_equal(few[hit], many[hit])
    double = numbers.with_label_noise(0.1, sd=2.0, seed=1).y[:900]
    assert np.allclose(double - numbers.y[:900], 2.0 * (few - numbers.y[:900]))


def test_a_change_can_be_repeated_and_leaves_the_original(classes, numbers):
    for data, corrupt in ((classes, hc.HetData.with_flipped_labels), (numbers, hc.HetData.with_label_noise)):
        before = data.digest()
        assert corrupt(data, 0.3, seed=2).digest() == corrupt(data, 0.3, seed=2).digest() != before
        assert corrupt(data, 0.3, seed=2).digest() != corrupt(data, 0.3, seed=4).digest()
        assert data.digest() == before and corrupt(data, 0.0).digest() == before
        step = corrupt(data, 0.3, seed=2).steps[-1]
        assert eval(f"data.{step}", {"data": data}).digest() == corrupt(data, 0.3, seed=2).digest()  # noqa: S307


def test_what_can_not_be_corrupted_is_refused_in_words(classes, numbers):
    with pytest.raises(ParameterError, match=r"share=1.5 must be in \[0, 1\]"):
        classes.with_flipped_labels(1.5)
    with pytest.raises(ParameterError, match="sd=-1 must be finite and at least 0"):
        numbers.with_label_noise(0.5, sd=-1)
    with pytest.raises(DataError, match="no two classes"):
        numbers.with_flipped_labels(0.5)
    with pytest.raises(DataError, match="not numbers"):
        classes.with_label_noise(0.5)


def test_the_labels_of_one_source_are_corrupted_alone():
    tables = {"a": TABLE[:600], "b": TABLE[500:]}
    data = hc.HetData(tables, target=(IDS, ["u", "v"] * (N // 2)))
    changed = data.with_flipped_labels(0.5, seed=1, source="b")
    different = np.array([a != b for a, b in zip(data.y, changed.y)])
    assert different.sum() == 250 and not different[:500].any()
    assert "source='b'" in changed.steps[-1]
    with pytest.raises(DataError, match="no source 'c'"):
        data.with_flipped_labels(0.5, source="c")
