"""Ids are text exactly as written in the file, also where the column was taken for numbers before it was chosen."""

from __future__ import annotations

import pytest

from studio import recipes, uploads
from studio.readers.upload_schema import Label

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
