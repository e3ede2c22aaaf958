"""Ids are text exactly as written in the file, also where the column was taken for numbers before it was chosen."""

from __future__ import annotations

import io

import polars as pl
import pytest

from hetcore.errors import DataError
from studio import recipes, uploads
from studio.readers.upload_schema import Label
from tests.hostile.making import workbook

LABELS = b"item,y\n100000,a\n300,b\n1E5,a\n3E2,b\n1.10,a\n1.1,b\n"


def built(files, ids, label):
    """Return the data and the recipe of files with the id columns that a person chose."""
    given = [uploads.read(name, content) for name, content in files.items()]
    recipe = recipes.recipe_of(given, ids, label, "classification", {})
    return recipes.build(recipe, files.__getitem__), recipe


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (["1E5", "3E2"], ["1E5", "3E2"]),
        (["1.10", "1.1"], ["1.10", "1.1"]),
        (["+7", "-0"], ["+7", "-0"]),
        (["1,50", "2,50"], ["1,50", "2,50"]),
        (["2020-01-02", "2020-01-03"], ["2020-01-02", "2020-01-03"]),
        (["TRUE", "false"], ["TRUE", "false"]),
    ],
)
def test_numbers_dates_and_truth_values_are_joined_as_text(cells, kept):
    table = "\n".join(["item;x", *(f"{cell};{k}" for k, cell in enumerate(cells))]).encode()
    labels = "\n".join(["item;y", *(f"{cell};{k}" for k, cell in enumerate(cells))]).encode()
    files = {"t.csv": table, "labels.csv": labels}
    data, recipe = built(files, {"t.csv": "item", "labels.csv": "item"}, Label("labels.csv", "y"))
    assert data.ids.tolist() == kept and data.labelled.all()
    assert [list(part["options"]["text_columns"]) for part in (*recipe["sources"], recipe["target"])] == [["item"]] * 2


def test_ids_that_are_equal_as_numbers_only_do_not_meet():
    files = {"t.csv": b"item,x\n1E5,0\n3E2,1\n1.10,2\n", "labels.csv": LABELS}
    data, _ = built(files, {"t.csv": "item", "labels.csv": "item"}, Label("labels.csv", "y"))
    assert data.n == 6
    assert {k: data.y[data.position[k]] for k in ("1E5", "3E2", "1.10")} == {"1E5": "a", "3E2": "b", "1.10": "a"}


def test_a_column_named_like_an_id_needs_no_word():
    files = {"t.csv": b"id,x\n1E5,0\n1.10,1\n", "labels.csv": b"id,y\n1E5,0\n1.10,1\n"}
    data, recipe = built(files, {"t.csv": "id", "labels.csv": "id"}, Label("labels.csv", "y"))
    assert data.ids.tolist() == ["1E5", "1.10"]
    assert "options" not in recipe["sources"][0] and "options" not in recipe["target"]


LONG = [1234567890123456789 + k for k in range(0, 400, 20)]
"""Twenty ids of which a float has three."""


def numeric_sheet(column, cells, attributes="", more=""):
    """Return a workbook whose ids are cells of numbers, as a program writes them that does not say text."""
    rows = "".join(
        f'<row r="{k}"><c r="A{k}"{attributes}><v>{cell}</v></c><c r="B{k}"><v>{k}</v></c></row>'
        for k, cell in enumerate(cells, 2)
    )
    names = "".join(_text(name) for name in (column, "x"))
    return workbook(f'<sheetData><row r="1">{names}</row>{rows}{more}</sheetData>')


def _text(value):
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


@pytest.mark.parametrize("column", ["id", "item"])
@pytest.mark.parametrize("attributes", ["", ' s="3"', ' t="n"'])
@pytest.mark.parametrize("form", ["{}", "{:.16E}"])
def test_ids_that_a_workbook_has_rounded_are_refused(column, attributes, form):
    """Its numbers are floats: seventeen of twenty ids were dropped as repeated, and the rest met other ids."""
    table = numeric_sheet(column, [form.format(k) for k in LONG], attributes)
    labels = f"{column},y\n".encode() + "".join(f"{k},{k % 3}\n" for k in LONG).encode()
    files = {"t.xlsx": table, "labels.csv": labels}
    with pytest.raises(DataError, match="20 of the ids, such as 1.23457e.18, are numbers of 2.53 or more"):
        built(files, dict.fromkeys(files, column), Label("labels.csv", "y"))


def test_long_numbers_of_a_workbook_are_numbers_where_they_are_no_ids():
    preview = uploads.preview_table("a.xlsx", numeric_sheet("moment", LONG))
    assert preview.frame["moment"].to_list() == [float(k) for k in LONG] and preview.findings == []
    whole = uploads.preview_table("a.xlsx", numeric_sheet("id", [2**53 - 1, 4111111111111111]))
    assert whole.frame["id"].to_list() == ["9007199254740991", "4111111111111111"] and whole.findings == []


def test_rounded_numbers_beside_text_are_reported():
    mixed = numeric_sheet("id", LONG[:2], more=f"<row>{_text('A-17') * 2}</row>")
    (finding,) = uploads.preview_table("a.xlsx", mixed).findings
    assert finding.kind == "rounded_id" and finding.count == 2 and finding.where == "column 'id'"
    # text that reads like the rounded number is exact
    assert not uploads.preview_table("a.xlsx", numeric_sheet("id", [7], more=f"<row>{_text(2**60) * 2}</row>")).findings


def test_ends_of_edges_are_read_as_ids_are():
    with pytest.raises(DataError, match=r"^a\.xlsx: 20 of the ids, such as 1.23457e.18, are numbers of 2.53 or more"):
        uploads.read_graph("a.xlsx", numeric_sheet("source", LONG))
    floats = pl.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.5]})
    buffer = io.BytesIO()
    floats.write_parquet(buffer)
    assert uploads.read_graph("a.parquet", buffer.getvalue()).ids.tolist() == ["1", "2", "3.5"]
