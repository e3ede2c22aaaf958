"""One table in two files, of any two formats: each value lands on its instance, whatever the ids look like.

Counting rows would not see a wrong join; here each value says whose it is.
"""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetcore.data.spelling import respelled
from studio import recipes, uploads
from studio.readers.upload_schema import Label
from tests.hostile.making import workbook

ODD = [
    "1", "01", "001", "1.0", "1.10", "1.1", "1E5", "100000", "3e2", "300", "-7", "+7", "7", "true", "2020-01-02", "NA",
    "null", "é", "e\u0301", "A", "a", "x y", "x  y", "a,b", "a;b", 'q"q', "12345678901234567890",
    "12345678901234567891", "9007199254740993", "9007199254740992", "0x10", "=1+1", "١", "1_000", "1,5",
]  # fmt: skip
"""Ids that readers take for something else, or for one another."""


def _delimited(delimiter):
    def write(frame):
        return frame.write_csv(separator=delimiter, quote_style="always").encode()

    return write


def _buffered(method):
    def write(frame):
        buffer = io.BytesIO()
        getattr(frame, method)(buffer)
        return buffer.getvalue()

    return write


def _excel(frame, numeric=False):
    def cell(at, value):
        # as a program writes what it takes for a number; other numbers would lose their form
        if numeric and str(value).lstrip("-").isdigit() and str(int(value)) == str(value) and abs(int(value)) < 2**53:
            return f'<c r="{at}"><v>{value}</v></c>'
        text = str(value).replace("&", "&amp;").replace("<", "&lt;")
        return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'

    rows = enumerate([frame.columns, *frame.rows()], 1)
    cells = "".join(f'<row r="{k}">{cell(f"A{k}", one)}{cell(f"B{k}", two)}</row>' for k, (one, two) in rows)
    return workbook(f"<sheetData>{cells}</sheetData>")


FORMATS = {
    "a.csv": _delimited(","),
    "b.csv": _delimited(";"),
    "c.tsv": _delimited("\t"),
    "d.json": lambda frame: json.dumps(frame.to_dicts()).encode(),
    "e.json": lambda frame: json.dumps(frame.to_dict(as_series=False)).encode(),
    "f.ndjson": lambda frame: "\n".join(json.dumps(row) for row in frame.to_dicts()).encode(),
    "g.parquet": _buffered("write_parquet"),
    "h.arrow": _buffered("write_ipc"),
    "i.xlsx": _excel,
    "j.xlsx": lambda frame: _excel(frame, numeric=True),
}


def joined(files, id_column):
    """Return the data of a table and of a file of labels, as a person who chooses the columns makes them."""
    given = [uploads.read(name, content, role) for name, (content, role) in files.items()]
    table, labels = files
    ids = {table: id_column, labels: id_column}
    recipe = recipes.recipe_of(given, ids, Label(labels, "y"), "regression", {})
    return recipes.build(recipe, lambda name: files[name][0])


def check(ids, table, labels, column, seed=0):
    """Write values and labels of ids into two files, in other orders and not of all, and see where each lands."""
    rng = np.random.default_rng(seed)
    value = {identifier: k + 0.25 for k, identifier in enumerate(ids)}
    left, right = rng.permutation(ids)[: len(ids) - 1].tolist(), rng.permutation(ids)[1:].tolist()
    first = pl.DataFrame({column: left, "x": [value[k] for k in left]})
    second = pl.DataFrame({column: right, "y": [value[k] for k in right]})
    files = {table: (FORMATS[table](first), "table"), f"labels_{labels}": (FORMATS[labels](second), "labels")}
    data = joined(files, column)
    assert set(data.ids) == {*left, *right}
    source = data.sources[recipes.source_names([table])[table]]
    assert dict(zip(source.ids, source.frame["x"])) == {k: value[k] for k in left}
    assert {k: y for k, y in zip(data.ids, data.y) if y == y} == {k: value[k] for k in right}


@pytest.mark.parametrize("column", ["id", "item"])
@pytest.mark.parametrize("table", FORMATS)
def test_odd_ids_meet_themselves_only_through_any_format(table, column):
    following = [*FORMATS, *FORMATS][list(FORMATS).index(table) + 1]
    check(ODD, table, following, column)


numberlike = st.from_regex(r"[+-]?[0-9]{1,3}(\.[0-9]{1,2})?([eE][0-9])?", fullmatch=True)


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.lists(numberlike | st.sampled_from(ODD), min_size=4, max_size=12, unique=True),
    st.sampled_from(sorted(FORMATS)), st.sampled_from(sorted(FORMATS)), st.integers(0, 99),
)  # fmt: skip
def test_ids_that_look_like_numbers_meet_themselves_only(ids, table, labels, seed):
    check(ids, table, labels, "item", seed)


@pytest.mark.parametrize("other", ["g.parquet", "h.arrow", "d.json"])
def test_numbers_meet_the_text_that_a_person_would_write(other):
    ids = [1, 20, 300, 2**53 - 1]
    text = pl.DataFrame({"item": [str(k) for k in ids], "x": ids})
    decimals = pl.Series([str(k) for k in ids]).cast(pl.Decimal(20, 0))
    for numbers in (pl.Series(ids), pl.Series(ids, dtype=pl.Float64), decimals):
        rows = pl.DataFrame({"item": numbers, "y": [float(k) for k in ids]})
        content = FORMATS[other](rows if other != "d.json" else rows.with_columns(pl.col("item").cast(pl.Int64)))
        data = joined({"a.csv": (FORMATS["a.csv"](text), "table"), f"labels_{other}": (content, "labels")}, "item")
        assert data.n == 4 and data.y.tolist() == [float(k) for k in ids]


def test_the_odd_ids_are_distinct_and_many_nearly_match():
    assert len(set(ODD)) == len(ODD) > 30
    assert respelled(pl.Series(ODD)).n_unique() < len(ODD) - 5
