"""Settings of an experiment: hidden labels and lost sources."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.data import splits
from hetcore.data.splits import label_split, non_overlapping, one_against_rest, target_split
from hetcore.errors import DataError, ParameterError


def with_labels(y, p: int = 1) -> hc.HetData:
    ids = [f"i{k}" for k in range(len(y))]
    sources = {f"s{k}": pl.DataFrame({"id": ids, "x": range(len(y))}) for k in range(p)}
    return hc.HetData(sources, target=pl.DataFrame({"id": ids, "y": y}))


CLASSES = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"] + [None] * 20


@pytest.mark.parametrize(("fraction", "sizes"), [(0.1, (6, 3, 1, 1)), (0.5, (30, 15, 5, 1)), (1.0, (60, 30, 9, 1))])
def test_each_class_keeps_its_share(fraction, sizes):
    data = with_labels(CLASSES)
    y = label_split(data, fraction, seed=1)
    assert y.dtype == object and y.shape == (data.n,)
    kept = [int((y == name).sum()) for name in "abcd"]
    assert np.abs(np.array(kept) - sizes).max() <= 1 and min(kept) >= 1
    known = np.not_equal(y, None)
    assert_array_equal(y[known], data.y[known])


def test_numbers_keep_their_distribution():
    rng = np.random.default_rng(0)
    data = with_labels(np.exp(3 * rng.normal(size=1000)))
    for seed in range(5):
        y = label_split(data, 0.1, seed=seed)
        known = ~np.isnan(y)
        assert known.sum() == 100
        assert_array_equal(y[known], data.y[known])
        tenth = np.searchsorted(np.quantile(data.y, np.arange(0.1, 1, 0.1)), y[known])
        assert_array_equal(np.bincount(tenth, minlength=10), 10)


def test_the_seed_decides_and_the_data_stay():
    data = with_labels(CLASSES)
    before = data.digest()
    assert label_split(data, 0.3, 1).tolist() == label_split(data, 0.3, 1).tolist()
    assert label_split(data, 0.3, 1).tolist() != label_split(data, 0.3, 2).tolist()
    assert data.with_target(data.y).digest() == before


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.integers(1, 60), st.floats(0.01, 1.0), st.integers(0, 5), st.booleans())
def test_the_number_kept_is_the_fraction(n, fraction, seed, stratify):
    data = with_labels(np.arange(n) * 1.0)
    assert (~np.isnan(label_split(data, fraction, seed, stratify))).sum() == max(1, round(fraction * n))


def test_every_choice_is_equally_likely_without_strata():
    data = with_labels(np.arange(10.0))
    hits = sum(~np.isnan(label_split(data, 0.5, seed, stratify=False)) for seed in range(400))
    assert hits.min() > 150 and hits.max() < 250


def test_what_can_not_be_split_is_refused():
    with pytest.raises(ParameterError, match="fraction=0 must be"):
        label_split(with_labels(CLASSES), 0)
    with pytest.raises(DataError, match="no label to split"):
        label_split(with_labels([None, None]), 0.5)
    with pytest.raises(ParameterError, match="fraction='a' must be"):
        label_split(with_labels(CLASSES), "a")


def test_what_is_no_seed_or_no_count_is_refused_in_a_sentence():
    data = with_labels(CLASSES)
    name, label = data.source_names[0], data.classes[0]
    for seed in (-1, 1.5, "a", None):
        for call in (
            lambda seed=seed: label_split(data, 0.5, seed),
            lambda seed=seed: non_overlapping(data, 0.5, seed),
            lambda seed=seed: splits.target_split(data, name, 1, seed),
            lambda seed=seed: splits.one_against_rest(data, label, seed),
        ):
            with pytest.raises(ParameterError, match=f"^seed={seed!r} must be a whole number"):
                call()
    with pytest.raises(ParameterError, match="count=1.5 must be a whole number"):
        splits.target_split(data, name, 1.5)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_a_share_of_the_instances_loses_half_of_the_sources(p):
    data = with_labels(np.arange(1000.0), p)
    changed = non_overlapping(data, 0.3, seed=2)
    left = changed.mask.sum(axis=0)
    assert set(left) <= {p, p - p // 2}
    assert (left < p).sum() == (300 if p > 1 else 0)
    assert_array_equal(changed.ids, data.ids)
    assert (changed.mask <= data.mask).all()
    if p > 1:
        lost = (~changed.mask).sum(axis=1)
        assert np.abs(lost - lost.mean()).max() < 5 * np.sqrt(lost.mean())
        assert changed.steps == ("non_overlapping(share=0.3, seed=2)",)


def test_half_is_of_the_sources_that_an_instance_has():
    one = pl.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    data = hc.HetData({"one": one, "two": one[:1], "three": one[:1]})
    changed = non_overlapping(data, 1.0, seed=0)
    assert changed.mask.sum(axis=0).tolist() == [2, 1]
    assert changed.source_names == ["one", "two", "three"]


def test_none_lose_anything_at_share_0_and_others_are_refused():
    data = with_labels(np.arange(10.0), 2)
    assert non_overlapping(data, 0.0).digest() == data.digest()
    with pytest.raises(ParameterError, match="share=2 must be in"):
        non_overlapping(data, 2)


# A target domain, one class -------------------------------------------------------------------------------------------


def domains(sizes=(12, 8)) -> hc.HetData:
    """Return two domains with classes a, b, c in turn; the last row of each has no label."""
    tables = {
        name: pl.DataFrame({"id": [f"{name}/{k}" for k in range(size)], "x": [float(k) for k in range(size)]})
        for name, size in zip(("shop", "desk"), sizes)
    }
    y = [None if k == size - 1 else "abc"[k % 3] for size in sizes for k in range(size)]
    return hc.HetData(tables, target=(pl.concat([table["id"] for table in tables.values()]), y))


def kept(data, y, name):
    return [str(label) for label in y[data.rows(name)] if label is not None]


def test_a_target_keeps_a_few_of_each_class_and_the_sources_all():
    data = domains()
    y = splits.target_split(data, "desk", 1, seed=0)
    assert sorted(kept(data, y, "desk")) == ["a", "b", "c"]
    assert y[data.rows("shop")].tolist() == data.y[data.rows("shop")].tolist()
    assert data.labelled.sum() == 18


def test_more_examples_take_in_the_fewer_and_one_of_each_class_is_kept_back():
    data = domains()
    found = [data.with_target(splits.target_split(data, "shop", count, seed=4)).labelled for count in (1, 2, 9)]
    assert (found[0] <= found[1]).all() and (found[1] <= found[2]).all()
    counts = [kept(data, splits.target_split(data, "shop", 9, seed=4), "shop").count(c) for c in "abc"]
    assert counts == [3, 3, 2]  # of 4, 4 and 3
    other = splits.target_split(data, "shop", 1, seed=5)
    assert any(other[k] != y for k, y in enumerate(splits.target_split(data, "shop", 1, seed=4)))


def test_a_class_stands_against_as_many_of_the_others_in_each_source():
    data = splits.one_against_rest(domains(), "a", seed=1)
    assert sorted(kept(data, data.y, "shop")) == ["a"] * 4 + ["not a"] * 4
    assert sorted(kept(data, data.y, "desk")) == ["a"] * 3 + ["not a"] * 3
    assert data.n - data.labelled.sum() == 2
    assert data.digest() == splits.one_against_rest(domains(), "a", seed=1).digest()
    assert data.ids.tolist() != splits.one_against_rest(domains(), "a", seed=2).ids.tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda data: splits.target_split(data, "desk", 0), "count=0 must be a whole number of at least 1"),
        (lambda data: splits.target_split(data, "chair", 1), "no source 'chair'"),
        (lambda data: splits.target_split(data.with_target(np.arange(data.n)), "desk", 1), "have no classes"),
        (lambda data: splits.one_against_rest(data, "z"), "'z' is not one of several classes"),
    ],
)
def test_what_cannot_be_a_target_is_refused(wrong, words):
    with pytest.raises((DataError, ParameterError), match=words):
        wrong(domains())


@pytest.mark.parametrize(
    ("split", "more"),
    [(label_split, [0.5]), (non_overlapping, []), (target_split, ["t", 1]), (one_against_rest, ["a"])],
)
def test_what_is_no_data_is_refused(split, more):
    with pytest.raises(DataError, match=f"{split.__name__} takes a HetData, not int"):
        split(3, *more)
