"""Bins: nearly equal counts, one for each of few values, missing apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from hetcore.binning import varying_columns
from hetcore.errors import DataError, ParameterError
from hetcore.trees import BinMapper


def test_few_values_have_a_bin_each_and_midpoints_between():
    X = np.array([[3], [1], [7], [1], [np.nan], [3]], np.float32)
    mapper = BinMapper().fit(X)
    np.testing.assert_array_equal(mapper.thresholds[0], [2.0, 5.0])
    np.testing.assert_array_equal(mapper.transform(X), [[1, 0, 2, 0, 255, 1]])
    assert mapper.n_bins.tolist() == [3]
    assert mapper.missing_bin == 255
    assert mapper.transform(X).flags.c_contiguous


def test_many_values_fill_the_bins_evenly():
    X = np.random.default_rng(0).lognormal(size=(10_000, 3)).astype(np.float32)
    binned = BinMapper().fit(X).transform(X)
    for column in binned:
        counts = np.bincount(column)
        assert len(counts) == 255
        assert counts.min() >= 38 and counts.max() <= 41


def test_a_heavy_value_takes_one_bin_and_leaves_the_others_to_the_rest():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(20_000) < 0.7, 0.0, rng.normal(size=20_000)).astype(np.float32)
    mapper = BinMapper(50).fit(column[:, None])
    counts = np.bincount(mapper.transform(column[:, None])[0])
    assert len(counts) >= 45
    assert np.sort(counts)[-2] < 200


@settings(max_examples=200, deadline=None)
@given(
    npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=60), elements=st.floats(width=32)),
    st.integers(2, 255),
)
def test_bins_are_sorted_like_the_values(X, max_bins):
    mapper = BinMapper(max_bins).fit(X)
    binned = mapper.transform(X)
    for f, column in enumerate(X.T):
        known = ~np.isnan(column)
        assert (binned[f][~known] == 255).all()
        assert (np.diff(mapper.thresholds[f]) > 0).all()
        np.testing.assert_array_equal(binned[f][known], np.searchsorted(mapper.thresholds[f], column[known]))
        assert mapper.n_bins[f] <= max_bins
        distinct = np.unique(column[known])
        if len(distinct) <= max_bins:
            assert mapper.n_bins[f] == max(len(distinct), 1)
            assert len(np.unique(binned[f][known])) == len(distinct)


def test_a_sample_of_many_rows_is_drawn_repeatably():
    X = np.random.default_rng(0).normal(size=(250_000, 1)).astype(np.float32)
    first, second, other = (BinMapper().fit(X, seed).thresholds[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    np.testing.assert_allclose(first, other, atol=0.3)


def test_edge_shapes():
    assert BinMapper().fit(np.empty((0, 2), np.float32)).n_bins.tolist() == [1, 1]
    assert BinMapper().fit(np.empty((5, 0), np.float32)).transform(np.empty((5, 0))).shape == (0, 5)
    assert BinMapper().fit(np.full((4, 1), np.nan)).transform(np.array([[np.nan], [1.0]])).tolist() == [[255, 0]]


def test_what_is_refused():
    for max_bins in (1, 256, -3):
        with pytest.raises(ParameterError, match=rf"max_bins={max_bins} must be in \[2, 255\]"):
            BinMapper(max_bins)
    with pytest.raises(DataError, match="X has 1 dimensions"):
        BinMapper().fit(np.ones(3))
    with pytest.raises(DataError, match="X has 3 columns, the bins 2"):
        BinMapper().fit(np.ones((4, 2))).transform(np.ones((4, 3)))


def test_columns_vary_by_values_or_by_missing_ones():
    X = np.array([[1, 5, np.nan, 5, 0], [2, 5, np.nan, np.nan, 0], [1, 5, np.nan, 5, 1]], np.float32)
    mapper = BinMapper().fit(X)
    varying = varying_columns(mapper.transform(X), mapper.n_bins)
    assert varying.tolist() == [0, 3, 4] and varying.dtype == np.int32
    assert varying_columns(mapper.transform(X)[1:3], mapper.n_bins[1:3]).tolist() == [0]


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_find_the_same_bins(n_jobs):
    X = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    X[::5, 2] = np.nan
    one, more = BinMapper(8).fit(X), BinMapper(8).fit(X, n_jobs=n_jobs)
    np.testing.assert_array_equal(one.to_arrays()["thresholds"], more.to_arrays()["thresholds"])
    np.testing.assert_array_equal(one.transform(X), more.transform(X, n_jobs))


def test_bins_of_some_columns_are_those_of_all():
    X = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    X[3, 1] = np.nan
    mapper = BinMapper().fit(X)
    some = mapper.transform(X, columns=np.array([1, 4]))
    np.testing.assert_array_equal(some[[1, 4]], mapper.transform(X)[[1, 4]])
    assert not some[[0, 2, 3, 5]].any()
