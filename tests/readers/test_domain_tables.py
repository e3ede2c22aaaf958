"""Several tables with the same columns and labels of their own: guessed, put together, printed as code."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data import plain
from hetcore.errors import DataError
from studio import recipes, uploads
from studio.readers import upload_problems, upload_schema
from studio.readers.domain_tables import ROW_ID, domain_column, domain_table, domains_within, own_labels
from studio.runs import export
from studio.runs.run import Run
from studio.views.data import choices
from tests.runs.test_export import executed

rng = np.random.default_rng(0)


def table(n: int, **more: list) -> bytes:
    """Return a domain as CSV: two numbers, and what is given."""
    return pl.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), **more}).write_csv().encode()


def test_domains_within_a_table_are_the_values_of_a_column_of_that_name():
    frame = pl.DataFrame({"x": [1, 2, 3], "Domain": ["b", "a", "b"]})
    found = domains_within(frame)
    assert list(found) == ["b", "a"] and found["b"].columns == ["x"] and found["b"]["x"].to_list() == [1, 3]
    for other in (["a"] * 3, ["a", None, "b"]):
        assert domain_column(frame.with_columns(Domain=pl.Series(other))) == ""
    assert domain_column(frame.drop("Domain")) == "" == domain_column(pl.DataFrame({"domain": range(21)}))


FILES = {
    "shop.csv": table(6, **{"class": ["cat", "dog"] * 3}),
    "desk.csv": table(4, **{"class": ["dog", "cat", "dog", ""]}),
}
NAMED = {
    "shop.csv": table(3, code=["a", "b", "c"], kind=["u", "v", "u"]),
    "desk.csv": table(3, code=["a", "b", "d"], kind=["v", "u", "v"]),
}


def given_by(files: dict[str, bytes]) -> list[uploads.Upload]:
    return [uploads.read(name, content) for name, content in files.items()]


def guessed(files: dict[str, bytes]) -> dict:
    """Return the recipe of what is guessed."""
    given = given_by(files)
    ids = {name: column for name, (column, _) in upload_schema.guess_ids(given).items()}
    return recipes.recipe_of(given, ids, upload_schema.guess_label(given, ids), "classification", {})


def test_a_coordinate_y_of_domains_is_no_label_beside_one():
    files = {name: table(2, y=[0.5, 1.5], label=["a", "b"]) for name in FILES}
    assert upload_schema.guess_label(given_by(files), {}) == (upload_schema.EACH, "label")


def test_tables_with_the_same_columns_are_domains_whose_rows_are_numbered():
    recipe = guessed(FILES)
    assert recipe["sources"][1] == {"name": "desk", "file": "desk.csv", "id": "", "label": "class"}
    assert "target" not in recipe
    data = recipes.build(recipe, FILES.__getitem__)
    assert data.ids.tolist() == [f"shop/{k}" for k in range(1, 7)] + [f"desk/{k}" for k in range(1, 5)]
    assert data.y.tolist() == ["cat", "dog"] * 3 + ["dog", "cat", "dog", None]
    assert not any(upload_problems.problems(data))
    found = plain.domains(data, "desk")
    assert found.feature_names == ["x", "z"] and found.sample_domain.tolist() == [1] * 6 + [-1] * 4


def test_the_rows_of_a_table_alone_without_ids_are_numbered():
    flowers = {"flowers.csv": b"petal,sepal,species\n" + b"1.4,5.1,lily\n1.4,5.1,rose\n1.3,4.9,lily\n" * 4}
    recipe = guessed(flowers)
    assert recipe["sources"] == [{"name": "flowers", "file": "flowers.csv", "id": "", "label": "species"}]
    data = recipes.build(recipe, flowers.__getitem__)
    assert data.ids.tolist() == [f"flowers/{k}" for k in range(1, 13)] and data.labelled.all()
    assert data.sources["flowers"].columns == ["petal", "sepal"] and not any(upload_problems.problems(data))
    chosen = choices.made(recipe, flowers).chosen
    assert chosen["label file"] == "flowers.csv" and chosen["label of flowers.csv"] == "species"
    ratings = {"ratings.csv": b"userId,movieId,rating\n" + b"1,7,4.5\n1,8,3.0\n2,7,2.5\n" * 4}
    assert recipes.build(guessed(ratings), ratings.__getitem__).n == 12
    unlabelled = recipes.recipe_of(given_by(flowers), {"flowers.csv": ""}, None, None, {})
    assert recipes.build(unlabelled, flowers.__getitem__).sources["flowers"].columns == ["petal", "sepal", "species"]


def test_tables_of_the_same_ids_that_are_taken_for_domains_have_a_sentence():
    """January and February of the same customers were customers of two kinds, without a word."""
    ids = {"shop.csv": "code", "desk.csv": "code"}
    sentence = upload_schema.ids_of_domains(given_by(NAMED), ids)
    assert sentence.startswith("'shop.csv', 'desk.csv' have the same ids, which are different things here")
    assert upload_schema.ids_of_domains(given_by(FILES), {"shop.csv": "", "desk.csv": ""}) == ""
    others = NAMED | {"desk.csv": table(3, code=["x", "y", "z"], kind=["v", "u", "v"])}
    assert upload_schema.ids_of_domains(given_by(others), ids) == ""


def test_tables_that_would_be_domains_but_for_their_labels_have_a_sentence_of_what_to_do():
    kinds = {"kind": ["u", "v", "u"], "y": [1, 2, 3]}
    files = given_by({"a.csv": table(3, **kinds), "b.csv": table(3, **kinds), "c.csv": table(3, kind=["u", "v", "u"])})
    sentence = upload_schema.nearly_domains(files)
    assert sentence.startswith("'c.csv' lacks 'y': add or rename columns until all have the same, empty where")
    assert upload_schema.domain_columns(files) == []
    assert upload_schema.nearly_domains(files[:2]) == upload_schema.nearly_domains(files[2:]) == ""
    # views of the same things share an id and a label at most
    views = {"d.csv": b"id,kind,x\n1,u,2\n2,v,3\n", "e.csv": b"id,kind,z\n1,u,2\n2,v,3\n"}
    assert upload_schema.nearly_domains(given_by(views)) == ""


def test_a_table_of_other_things_without_their_label_is_refused_with_the_way_to_domains():
    code = {name: [f"{name[0]}{k}" for k in range(6)] for name in ("shop", "desk")}
    files = {"shop.csv": table(6, code=code["shop"], kind=["u", "v"] * 3), "desk.csv": table(6, code=code["desk"])}
    assert upload_schema.nearly_domains(given_by(files)).startswith("'desk.csv' lacks 'kind': add or rename")
    (sentence,) = upload_problems.problems(recipes.build(guessed(files), files.__getitem__)).hard
    assert sentence.startswith("Source 'desk': no id in common") and "give all tables the same columns" in sentence


def test_domains_of_which_one_lacks_a_column_learn_from_the_others():
    names = {name: [f"{name[0]}{k}" for k in range(4)] for name in ("shop", "desk")}
    state = {"state of health": ["cat", "dog"] * 2}
    files = {
        "shop.csv": table(4, id=names["shop"], pulse=[1.5, 2.5, 0.5, 1.0], **state),
        "desk.csv": table(4, id=names["desk"], **state),
    }
    given = given_by(files)
    assert upload_schema.nearly_domains(given).startswith("'desk.csv' lacks 'pulse': Transfer learns from the columns")
    data = recipes.build(guessed(files), files.__getitem__)
    assert data.y.tolist() == ["cat", "dog"] * 4 and not any(upload_problems.problems(data))
    assert plain.domains(data, "shop").feature_names == ["x", "z"]
    # of the same things they are two views, whatever they lack
    views = files | {"desk.csv": table(4, id=names["shop"], **state)}
    assert upload_schema.domain_columns(given_by(views)) == []


def test_ids_of_a_domain_that_come_again_have_a_sentence():
    given = given_by(NAMED | {"desk.csv": table(3, code=["d", "d", "e"], kind=["v", "u", "v"])})
    ids = {name: column for name, (column, _) in upload_schema.guess_ids(given).items()}
    assert ids == {"shop.csv": "code", "desk.csv": ""}
    sentence = upload_schema.repeated_ids(given, ids)
    assert sentence.startswith("'desk.csv' has ids in 'code' that are missing or come again: rows are numbered")
    assert upload_schema.repeated_ids(given_by(FILES), dict.fromkeys(FILES, "")) == ""  # nothing seems to be an id
    assert upload_schema.repeated_ids(given_by(NAMED), dict.fromkeys(NAMED, "")) == ""  # numbered as was chosen


def test_alike_ids_in_two_domains_are_two_instances():
    data = recipes.build(guessed(NAMED), NAMED.__getitem__)
    assert data.ids.tolist() == ["shop/a", "shop/b", "shop/c", "desk/a", "desk/b", "desk/d"]
    assert data.y.tolist() == ["u", "v", "u", "v", "u", "v"]
    assert data.sources["shop"].columns == ["x", "z"]


def test_other_tables_are_guessed_as_before():
    other = {"a.csv": table(3, code=["a", "b", "c"], kind=["u", "v", "u"]), "b.csv": table(3, code=["a", "b", "c"])}
    given = given_by(other)
    ids = {name: column for name, (column, _) in upload_schema.guess_ids(given).items()}
    assert upload_schema.domain_columns(given) == [] and ids == {"a.csv": "code", "b.csv": "code"}
    labelled = {**FILES, "labels.csv": b"id,y\na,1\nb,2\n"}
    assert upload_schema.domain_columns(given_by(labelled)) == []


def test_the_person_may_say_that_one_file_has_the_labels():
    given = given_by(NAMED)
    recipe = recipes.recipe_of(
        given, {"shop.csv": "code", "desk.csv": "code"}, upload_schema.Label("shop.csv", "kind"), "classification", {}
    )
    data = recipes.build(recipe, NAMED.__getitem__)
    assert data.ids.tolist() == ["a", "b", "c", "d"] and data.y.tolist() == ["u", "v", "u", None]


def test_labels_of_different_types_are_read_as_text():
    one = domain_table(pl.DataFrame({"x": [1.0], "y": [1]}), "a")
    two = domain_table(pl.DataFrame({"x": [1.0], "y": ["one"]}), "b")
    ids, labels = own_labels({"a": (one, "y"), "b": (two, "y")})
    assert one.columns == [ROW_ID, "x", "y"]
    assert ids.to_list() == ["a/1", "b/1"] and labels.to_list() == ["1", "one"]


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(DataError, match="no id column 'code' in 'a'"):
        domain_table(pl.DataFrame({"x": [1.0]}), "a", "code")
    with pytest.raises(DataError, match="no label column 'y' in 'a'"):
        own_labels({"a": (domain_table(pl.DataFrame({"x": [1.0]}), "a"), "y")})
    given = given_by(NAMED)
    ids = {"shop.csv": "kind", "desk.csv": "code"}
    with pytest.raises(DataError, match="'kind' cannot be the id and the label of shop.csv"):
        recipes.recipe_of(given, ids, upload_schema.Label(upload_schema.EACH, "kind"), None, {})
    with pytest.raises(DataError, match="shop.csv has no id column ''"):
        recipes.recipe_of(given, dict.fromkeys(NAMED, ""), upload_schema.Label("shop.csv", "kind"), None, {})
    target = {"file": "shop.csv", "id": "code", "column": "kind"}
    with pytest.raises(DataError, match="not in both"):
        recipes.checked(guessed(NAMED) | {"target": target})


@pytest.mark.slow
def test_the_script_builds_the_same_domains(tmp_path):
    recipe = guessed(FILES)
    settings = {"data": recipe, "params": {"n_iterations": 2}}
    script = export.script_of_run(Run("anna", "Transfer", "TinyRegressor", "Your data", settings=settings))
    data = recipes.build(recipe, FILES.__getitem__)
    hc.write_data(data, tmp_path / "data")
    built = script[: script.index("model = ")] + "print(data.digest())\n"
    assert executed(built, tmp_path).strip() == data.digest()
