"""Data as given: masked cells stay hidden, later writes change nothing, no two ids or classes become one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.errors import DataError

TABLE = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})


def test_masked_labels_are_unlabelled():
    numbers = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    assert_array_equal(hc.HetData({"t": TABLE}, target=(["a", "b", "c"], numbers)).labelled, [True, False, True])
    words = np.ma.array(["u", "v", "w"], mask=[True, False, False])
    assert hc.HetData({"t": TABLE}, target=(["a", "b", "c"], words)).y.tolist() == [None, "v", "w"]


def test_masked_cells_are_missing():
    whole = hc.Source(["a", "b"], np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]))
    assert_array_equal(whole.array, [[1, np.nan], [3, 4]])
    assert whole.array.__class__ is np.ndarray
    assert hc.Source(["a", "b"], np.ma.array([1.0, 2.0], mask=[1, 0])).missing_share == 0.5
    assert hc.Source(np.ma.array(["a", "b"], mask=[1, 0]), np.ones((2, 2))).ids.tolist() == ["b"]


def test_writing_to_what_was_given_changes_no_data():
    array, table = np.ones((2, 2)), pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})
    sources = hc.Source(["a", "b"], array), hc.Source.from_frame(table, "id")
    array[0, 0] = 99.0
    table["x"].array._ndarray[0] = 99.0
    assert sources[0].array[0, 0] == 1.0 and sources[1].frame["x"].to_list() == [1.0, 2.0]


def test_an_array_that_nobody_may_write_is_shared():
    array = np.ones((2, 2))
    array.flags.writeable = False
    assert np.shares_memory(hc.Source(["a", "b"], array).array, array)


@pytest.mark.parametrize("value", [2.0**53, -(2.0**53)])
def test_a_float_that_stands_for_two_whole_numbers_is_no_id_and_no_class(value):
    with pytest.raises(DataError, match=r"numbers of 2\^53 or more"):
        hc.Source([value, 1.0], np.ones((2, 2)))
    with pytest.raises(DataError, match=r"numbers of 2\^53 or more"):
        hc.HetData({"t": TABLE}, target=(["a", "b"], np.array([value, 1.0])), task="classification")


def test_classes_that_are_large_whole_numbers_stay_two_beside_a_missing_one():
    data = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], [2**53 + 1, None, 2**53]), task="classification")
    assert data.y.tolist() == [str(2**53 + 1), None, str(2**53)]


def test_ids_of_32_bits_are_the_same_text_in_a_list_and_in_an_array():
    ids = np.array([0.1, 2.5], np.float32)
    assert hc.Source(list(ids), np.ones((2, 2))).ids.tolist() == hc.Source(ids, np.ones((2, 2))).ids.tolist()


def test_a_row_without_a_label_hides_no_label_of_a_later_row():
    for labels in ([None, "u", "v"], [np.nan, 1.0, 2.0]):
        data = hc.HetData({"t": TABLE}, target=(["a", "a", "b"], labels))
        assert data.y[:2].tolist() == labels[1:]
        assert not data.report.of("contradicting_label") and data.report.count("repeated_id") == 1


@pytest.mark.parametrize("table", [
    pd.DataFrame({"id": ["a", "b"], "x": [1j, 2.0]}),
    pa.table([["a", "b"], [1, 2], [3, 4]], names=["id", "x", "x"]),
    pa.table({"id": ["a", "b"], "x": pa.array([{"k": [1]}, {"k": [2]}]).cast(pa.struct([("k", pa.list_(pa.int8()))]))}),
])  # fmt: skip
def test_a_table_that_is_none_of_polars_is_refused_in_a_sentence(table):
    with pytest.raises(DataError, match=r"Source 't': .*(no table of polars|None of the columns can be used)"):
        hc.HetData({"t": table})
