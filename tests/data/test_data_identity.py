"""Ids are text exactly as given."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from hetcore.data.identity import as_ids, id_findings, positions, unique_ids
from hetcore.errors import DataError

STRANGE = [
    "001",
    "1",
    " a",
    "a ",
    "a",
    "A",
    "é",
    "e\u0301",
    "\u202eabc",
    "<b>x</b>",
    "x" * 10_000,
    "=1+1",
    "\x00",
    "🙂",
    "a\nb",
]


@pytest.mark.parametrize("form", [list, np.array, pl.Series, lambda x: np.array(x, dtype=object)])
def test_text_stays_byte_for_byte(form):
    given = [text for text in STRANGE if text != "\x00"]  # numpy's fixed-width text drops trailing NULs
    ids, _ = as_ids(form(given))
    assert ids.to_list() == given


def test_a_nul_and_categories_stay():
    assert as_ids(["\x00", "a\x00"])[0].to_list() == ["\x00", "a\x00"]
    ids, findings = as_ids(pl.Series(STRANGE, dtype=pl.Categorical))
    assert ids.to_list() == STRANGE and not findings
    assert as_ids(pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"])))[0].to_list() == ["b", "a"]


@pytest.mark.parametrize(
    ("given", "texts", "type_name"),
    [
        (pl.Series([1, None, 10**15]), ["1", None, "1000000000000000"], "Int64"),
        (pl.Series([1, 2], dtype=pl.UInt8), ["1", "2"], "UInt8"),
        (np.array([-3, 2**62]), ["-3", str(2**62)], "Int64"),
        ([1, "001", None], ["1", "001", None], "int"),
        ([10**30], [str(10**30)], "int"),
        (pl.Series([1.0, float("nan"), None, 2.0]), ["1", None, None, "2"], "Float64"),
        (pl.Series([1.0, 2.5]), ["1", "2.5"], "Float64"),
        ([1.0, 2.5, float("nan")], ["1", "2.5", None], "Float64"),
        (pl.Series([2.0**53 - 1, 1 - 2.0**53, -0.0]), [str(2**53 - 1), str(1 - 2**53), "0"], "Float64"),
        (pl.Series([0.1, 7.0], dtype=pl.Float32), ["0.1", "7"], "Float32"),
        ([1.0, "a", float("nan")], ["1", "a", None], "float"),
        (pl.Series([True, False]), ["true", "false"], "Boolean"),
        ([True], ["true"], "bool"),
        (pl.Series([datetime.date(2020, 1, 2)]), ["2020-01-02"], "Date"),
        (pl.Series(["1.50"]).cast(pl.Decimal(10, 2)), ["1.5"], "Decimal"),
    ],
)
def test_other_types_become_text_and_are_reported(given, texts, type_name):
    ids, findings = as_ids(given)
    assert ids.to_list() == texts
    assert [f.kind for f in findings] == ["id_converted"]
    assert f"of type {type_name}" in findings[0].message
    assert findings[0].count == sum(not isinstance(v, str) and v is not None and v == v for v in given)


def test_the_empty_text_and_a_column_of_nulls_are_missing_ids():
    assert as_ids(["", "a", None])[0].to_list() == [None, "a", None]
    ids, findings = as_ids(pl.Series([None, None]))
    assert ids.to_list() == [None, None] and ids.dtype == pl.String and not findings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pl.Series([[1], [2]]), "Ids of type List"),
        (pl.Series([{"a": 1}]), "Ids of type Struct"),
        (pl.Series([b"a"]), "Ids of type Binary"),
        (pl.Series([datetime.timedelta(1)]), "Ids of type Duration"),
        (np.zeros((2, 2)), "one-dimensional, not of shape"),
        ("abc", "not str"),
        ({"a": 1}, "not dict"),
        (3, "not int"),
        ([("a", "b")], "of type tuple is neither text nor number"),
        (["a", "\ud800"], "half a surrogate pair"),
        (pl.Series([1e39, 2.0]), r"1 of the ids, such as 1e\+39, are numbers of 2\^53 or more"),
        ([2.0**53, "a"], r"2\^53 or more"),
        (pl.Series([float("inf")]), "such as inf"),
    ],
)
def test_what_is_no_id_is_refused_in_words(given, words):
    with pytest.raises(DataError, match=words):
        as_ids(given)


def test_rows_without_an_id_are_named_from_1():
    (finding,) = id_findings(pl.Series(["a", None, None]), pl.Series([False, False, False]), noun="line")
    assert str(finding) == "2 lines without an id: dropped (for example 'row 2', 'row 3')."


def test_positions_and_unique_ids():
    a, b = pl.Series(["x", None, "y", "x"]), pl.Series(["z", "y"])
    universe = unique_ids(a, b)
    assert universe.to_list() == ["x", "y", "z"]
    assert_array_equal(positions(pl.Series(["z", "?", None, "x"]), universe), [2, -1, -1, 0])
    assert_array_equal(positions(universe, universe), [0, 1, 2])
    assert_array_equal(positions(universe.reverse(), universe), [2, 1, 0])
    assert_array_equal(positions(pl.Series(["x", None, "z"]), universe), [0, -1, 2])
    assert positions(pl.Series([], dtype=pl.String), universe).shape == (0,)
    assert unique_ids().to_list() == []
