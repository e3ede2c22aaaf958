"""A source: which rows are used, what types become, what is found, which kinds are guessed."""

from __future__ import annotations

import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from hetcore.data import Source
from hetcore.errors import DataError


def kinds_found(source: Source) -> dict[str, int]:
    return {finding.kind: finding.count for finding in source.findings}


def of(**columns) -> Source:
    frame = pl.DataFrame(columns)
    return Source([f"i{k}" for k in range(frame.height)], frame)


def test_repeated_and_missing_ids_are_dropped_and_counted():
    source = Source(["a", "b", "a", None, "", "a"], pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}))
    assert source.ids.tolist() == ["a", "b"]
    assert source.frame["x"].to_list() == [1.0, 2.0]
    assert kinds_found(source) == {"repeated_id": 2, "missing_id": 2}
    assert source.n_given == source.n_rows + 4
    repeated = next(f for f in source.findings if f.kind == "repeated_id")
    assert repeated.examples == ("a",) and "first of each id is kept" in str(repeated)


def test_arrays_lose_the_same_rows():
    source = Source(["a", "b", "a"], np.arange(12).reshape(3, 2, 2))
    assert_array_equal(source.array, np.arange(8).reshape(2, 2, 2))
    assert source.kinds == {"array": "array"} and source.n_columns == 4 and source.frame is None
    assert source.guess["array"] == ("array", "an array of 2x2 numbers in every row")


def test_ids_with_spaces_are_kept_and_reported():
    source = of(x=[1.0, 2.0])
    assert not source.findings
    spaced = Source([" a", "b"], pl.DataFrame({"x": [1, 2]}))
    assert spaced.ids.tolist() == [" a", "b"] and kinds_found(spaced)["spaced_id"] == 1


def test_infinite_and_too_large_values_become_missing():
    source = of(
        x=[1.0, float("inf"), -1e39, float("nan"), None], y=[1.0, 2.0, 3.0, 4.0, -float("inf")], z=[1, 2, 3, 4, 5]
    )
    assert source.frame["x"].to_list() == [1.0, None, None, None, None]
    assert source.frame["y"].to_list() == [1.0, 2.0, 3.0, 4.0, None]
    assert kinds_found(source) == {"infinite_value": 3}
    assert source.findings[0].examples == ("x", "y")


def test_infinite_values_in_arrays_become_missing_without_touching_what_was_given():
    given = np.array([[1.0, np.inf], [np.nan, 1e300]])
    source = Source(["a", "b"], given)
    assert_array_equal(source.array, [[1.0, np.nan], [np.nan, np.nan]])
    assert kinds_found(source) == {"infinite_value": 2} and given[0, 1] == np.inf
    assert source.missing_share == 0.75


def test_columns_that_say_nothing_are_reported_and_kept():
    source = of(a=[None, None], b=["u", "u"], c=[3, 3], d=[True, True], e=[1, 2], f=[1, None])
    assert kinds_found(source) == {"empty_column": 1, "constant_column": 3}
    assert source.columns == list("abcdef")
    assert source.missing == {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0, "f": 0.5}
    assert source.missing_share == 0.25


WORDS = [f"word{k} of a longer story" for k in range(30)]


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        ([1.5, 2.0, 3.0], "real", "numbers from 1.5 to 3"),
        ([1, 2, 3], "real", "whole numbers from 1 to 3"),
        ([1.5, 2.5], "real", "numbers from 1.5 to 2.5"),
        ([2.0, 1.0, None], "binary", "two values only: 1.0 and 2.0"),
        ([1, 0, None], "binary", "two values only: 0 and 1"),
        ([7, 7, 7], "real", "a number, 7 wherever it is given"),
        ([None, None], "real", "every value is missing"),
        ([True, None], "binary", "true or false"),
        (["yes", "no", None], "binary", "only 'no', 'yes'"),
        (["a", "b", "c"], "nominal", "3 different values in 3 rows"),
        (["1", " 2.5", "-3e2"], "real", "numbers written as text"),
        (["007", "1", "2"], "nominal", "3 different values in 3 rows"),
        (WORDS, "text", "words in a value on average"),
        ([f"a{k}|b{k}" for k in range(30)], "text", "100% of the values list words"),
        ([f"Name{k} Surname" for k in range(30)], "nominal", "30 different values"),
        (WORDS[:1] * 20 + WORDS[1:3] * 5, "nominal", "3 different values in 30 rows"),
        ([[1.0, 2.0], None], "array", "a list of numbers"),
        ([["a", "b"], ["c"], ["d"]], "nominal", "3 different values"),
    ],
)
def test_kinds_are_guessed_with_a_reason(values, kind, why):
    source = of(x=values)
    assert source.guess["x"][0] == kind == source.kinds["x"]
    assert why in source.guess["x"][1]


def test_exotic_types_become_plain():
    moment = datetime.datetime(1970, 1, 2, 12)
    source = of(
        date=[datetime.date(1970, 1, 3), None],
        moment=[moment, None],
        zoned=pl.Series([moment, None]).dt.replace_time_zone("UTC"),
        time=[datetime.time(0, 1), None],
        span=[datetime.timedelta(seconds=90), None],
        decimal=pl.Series(["1.25", None]).cast(pl.Decimal(10, 2)),
        huge=pl.Series([10**20, None], dtype=pl.Int128),
        category=pl.Series(["u", None], dtype=pl.Categorical),
        enum=pl.Series(["u", None], dtype=pl.Enum(["u"])),
        words=[["a", "b"], None],
    )
    first = source.frame.row(0)
    assert first[:7] == pytest.approx((2.0, 1.5, 1.5, 60.0, 90.0, 1.25, 1e20))
    assert first[7:] == ("u", "u", "a b")
    assert set(source.frame.row(1)) == {None}
    assert {dtype for dtype in source.frame.dtypes} == {pl.Float64, pl.String}


def test_what_holds_no_value_is_left_out_with_the_reason():
    source = of(x=[1, 2], s=[{"a": 1}, {"a": 2}], b=[b"1", b"2"], r=[[1], [1, 2]], n=[[[1]], [[2]]])
    assert source.columns == ["x"]
    left_out = {f.where: f.message for f in source.findings if f.kind == "unusable_column"}
    assert set(left_out) == {"column 's'", "column 'b'", "column 'r'", "column 'n'"}
    assert "Struct" in left_out["column 's'"] and "2 different lengths" in left_out["column 'r'"]


def test_lists_of_numbers_of_one_length_are_an_array_column():
    source = of(e=[[1, 2], [3, 4], None])
    assert source.frame["e"].dtype == pl.Array(pl.Int64, 2) and source.kinds == {"e": "array"}
    infinite = of(e=pl.Series([[1.0, float("inf")]], dtype=pl.Array(pl.Float64, 2)))
    assert kinds_found(infinite) == {"infinite_value": 1}


def test_kinds_can_be_changed_where_values_allow():
    source = of(code=[1, 2, 3], flag=["yes", "no", "no"], num=["1", "x", "2"])
    changed = source.with_kinds({"code": "nominal", "flag": "text", "num": "real"})
    assert changed.kinds == {"code": "nominal", "flag": "text", "num": "real"}
    assert source.kinds == {"code": "real", "flag": "binary", "num": "nominal"}
    assert changed.frame is source.frame
    assert [str(f) for f in changed.findings] == [
        "column 'num': 1 value that are not numbers: taken as missing (for example 'x')."
    ]
    assert Source(["a"], pl.DataFrame({"x": [1]}), kinds={"x": "nominal"}).kinds == {"x": "nominal"}


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"y": "real"}, "no column 'y' among 'x', 'e'"),
        (None, "kinds=None names no column: give {column: kind}"),
        ({"x": "number"}, "kind 'number' of column 'x' is not one of"),
        ({"x": "binary"}, "3 different values and a binary one has two"),
        ({"x": "real"}, "holds no number at all"),
        ({"x": "array"}, "can't be of kind 'array'"),
        ({"e": "real"}, "can't be of kind 'real'"),
    ],
)
def test_kinds_that_values_do_not_allow_are_refused(kinds, words):
    source = of(x=["u", "v", "w"], e=[[1], [2], [3]])
    with pytest.raises(DataError, match=words):
        source.with_kinds(kinds)


def test_an_array_keeps_its_kind():
    source = Source(["a"], np.zeros((1, 2)))
    assert source.with_kinds({"array": "array"}).kinds == {"array": "array"}
    with pytest.raises(DataError, match="An array can only be of kind 'array', not 'real'"):
        source.with_kinds({"array": "real"})


def test_small_arrays_and_text_become_tables():
    assert Source(["a", "b"], np.array([1.0, 2.0])).frame.shape == (2, 1)
    text = Source(["a", "b"], np.array([["u", "v"], ["w", "x"]]))
    assert text.frame.rows() == [("u", "v"), ("w", "x")]
    assert Source(["a", "b"], pl.Series("t", ["u", "v"])).columns == ["t"]
    assert Source(["a", "b"], np.array([True, False]).reshape(2, 1)).array.dtype == np.uint8


@pytest.mark.parametrize(
    ("ids", "data", "words"),
    [
        (["a"], pl.DataFrame({"x": [1, 2]}), "1 id for 2 rows"),
        ([], pl.DataFrame({"x": []}), "There is no row"),
        ([None, ""], pl.DataFrame({"x": [1, 2]}), "None of the 2 rows has an id"),
        (["a"], pl.DataFrame(), "The table has no column"),
        (["a"], pl.DataFrame({"s": [{"a": 1}]}), "None of the columns can be used: column 's': its type Struct"),
        (["a"], pl.LazyFrame({"x": [1]}), r"call .collect\(\) first"),
        (["a"], SimpleNamespace(columns=["x"], compute=None), r"call .compute\(\) first"),  # as tables of Dask
        (["a", "b"], pd.DataFrame({"x": [1, "b"]}), "Column 'x' of the pandas table can't be read"),
        (["a"], scipy.sparse.csr_array(np.eye(1)), r"call .toarray\(\) first"),
        (["a"], [[1, 2]], "of type list"),
        (["a"], np.array([[1j]]), "complex128"),
        (["a"], np.array(3), "shape"),
        (["a"], np.zeros((1, 0)), "shape"),
        (["a"], np.array([["2020-01-01"]], dtype="M8[D]"), "datetime64"),
        (["a", "b"], np.array([1, "x"], dtype=object), "mixes types"),
        (["a"], np.full((1, 1, 1), "x"), "text has one or two dimensions"),
    ],
)
def test_what_is_no_source_is_refused_in_words(ids, data, words):
    with pytest.raises(DataError, match=words):
        Source(ids, data)


def test_from_frame_names_the_columns_that_there_are():
    frame = pl.DataFrame({"id": ["a"], "x": [1]})
    assert Source.from_frame(frame, "id").columns == ["x"]
    with pytest.raises(DataError, match="no id column 'title': set id_column to one of the columns 'id', 'x'"):
        Source.from_frame(frame, "title")
    with pytest.raises(DataError, match="no column beside the id column 'id'"):
        Source.from_frame(frame.select("id"), "id")
    with pytest.raises(DataError, match="of type dict"):
        Source.from_frame({"id": ["a"]}, "id")


def test_values_are_read_only_and_those_of_an_array_that_can_be_written_are_copied():
    given = np.zeros((2, 3))
    source = Source(["a", "b"], given)
    assert not np.shares_memory(source.array, given) and given.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        source.array[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        source.ids[0] = "z"


def test_take_keeps_ids_values_and_kinds_together():
    source = of(x=[1.0, 2.0, 3.0], c=["u", "v", "w"]).with_kinds({"x": "nominal"})
    part = source.take(np.array([2, 0]))
    assert part.ids.tolist() == ["i2", "i0"] and part.frame["c"].to_list() == ["w", "u"]
    assert part.kinds == source.kinds and part.n_rows == 2


def test_printing_is_one_modest_line():
    text = repr(of(x=[1, 2], y=["<script>", "b"]))
    assert text == "Source(2 rows, 2 columns: 'x', 'y')"


def test_a_column_whose_name_is_a_pattern_is_left_out_and_reported():
    source = Source(["a", "b"], pl.DataFrame({"*": [1, 2], "^x.*$": ["u", "v"], "x": [1.5, 2.5], "^": [1, 0]}))
    assert source.columns == ["x", "^"]
    assert [(finding.kind, finding.where) for finding in source.findings][:2] == [
        ("unusable_column", "column '*'"),
        ("unusable_column", "column '^x.*$'"),
    ]


def test_a_column_that_is_not_there_is_refused_by_name():
    table = Source(["a", "b"], pl.DataFrame({"x": [1.0, 2.0]}))
    for ask in (lambda: table.column("zz"), lambda: table.read(["x", "zz"])):
        with pytest.raises(DataError, match="There is no column 'zz' among 'x': name one of them."):
            ask()
    with pytest.raises(DataError, match="columns='x' is no list of names"):
        table.read("x")
    with pytest.raises(DataError, match="The source is an array, without columns of a name"):
        Source(["a", "b"], np.ones((2, 3))).column("array")


@pytest.mark.parametrize("rows", [-1, True, [-1], [2], [True, False], [0.5], "a", None, [[0], [0, 1]]])
def test_what_is_no_row_number_takes_nothing(rows):
    with pytest.raises(DataError, match=r"must be row numbers in \[0, 1\]"):
        Source(["a", "b"], pl.DataFrame({"x": [1.0, 2.0]})).take(rows)
