"""New rows take the shape of the training data, differences are said, and the model predicts them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore import model_files
from hetcore.data import HetData
from hetcore.errors import DataError
from studio.views.consensus import new_rows, widgets_new_rows

N = 80


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    kinds = np.array(["comedy", "drama"])[rng.integers(0, 2, N)]
    ids, drama = [f"film {i:02d}" for i in range(N)], (kinds == "drama").astype(float)
    tongues = np.where(rng.random(N) < 0.8, np.where(kinds == "drama", "French", "English"), "Danish")
    money = pl.DataFrame({"id": ids, "budget": drama + rng.normal(0, 0.3, N), "screens": rng.integers(1, 90, N)})
    words = pl.DataFrame({"id": ids, "length": drama + rng.normal(0, 0.3, N), "tongue": tongues})
    data = HetData({"money": money, "words": words}, {}, (ids, kinds))
    model = hc.GBCClassifier(n_iterations=5, random_state=0).fit(data)
    return data, model, {"money.csv": money, "words.csv": words}


def test_the_training_rows_as_new_ones_are_predicted_as_before(trained):
    data, model, files = trained
    rows = new_rows.matched(data, files)
    assert rows.sources == {"money.csv": "money", "words.csv": "words"}
    assert rows.warnings == [f"{N} ids also in the training data: predicted from the new values alone."]
    found, warned = new_rows.predict(model_files.dumps(model), data, tuple(files.items()))
    assert warned == rows.warnings
    assert found["prediction"].to_list() == model.predict(data).tolist()
    assert found.columns == ["id", "prediction", "coverage", "sources", "p:comedy", "p:drama"]


def test_each_difference_is_a_sentence_and_the_rest_is_predicted(trained):
    data, model, _ = trained
    given = pl.DataFrame({"title": ["a", "b"], "budget": ["0.9", "much"], "tongue": ["x", "y"], "length": [9.0, 0.5]})
    rows = new_rows.matched(data, {"new.csv": given})
    assert rows.sources == {"new.csv": "words"}
    warned = " ".join(rows.warnings)
    assert "The model does not know 'budget' of new.csv" in warned
    assert "2 values of 'tongue' never seen, such as 'x'" in warned
    assert "1 value of 'length' outside" in warned
    assert "No file is of 'money'" in warned
    found, _ = new_rows.predict(model_files.dumps(model), data, [("new.csv", given)])
    assert found["id"].to_list() == ["a", "b"] and found["sources"].to_list() == [1, 1]
    assert set(found["prediction"]) <= {"comedy", "drama"}


def test_numbers_in_another_unit_come_before_all_other_sentences(trained):
    data, model, files = trained
    given = files["money.csv"].with_columns(pl.col("screens") * 1000, id=pl.format("new {}", "id")).head(2)
    rows = new_rows.matched(data, {"new.csv": given})
    assert rows.warnings[0].startswith("new.csv: the numbers of 'screens' are far from those of the training")
    assert "3 to 88 in training): give them in the unit that they had." in rows.warnings[0]
    assert new_rows.predict(model_files.dumps(model), data, [("new.csv", given)])[0].height == 2


def test_missing_columns_and_words_for_numbers_are_missing_values(trained):
    data, model, _ = trained
    given = [("new.csv", pl.DataFrame({"budget": ["0.9", "much", "1.1"]}))]
    found, differences = new_rows.predict(model_files.dumps(model), data, given)
    warned = " ".join(differences)
    assert "new.csv lacks 'screens': taken as missing." in warned and "no id column" in warned
    assert "1 value of 'budget' no number, such as 'much': taken as missing." in warned
    assert found["id"].to_list() == ["new 1", "new 2", "new 3"] and found["prediction"].null_count() == 0


def test_files_of_nothing_known_and_of_one_source_twice_are_refused(trained):
    data, _, files = trained
    with pytest.raises(DataError, match="has no column of the training data"):
        new_rows.matched(data, {"new.csv": pl.DataFrame({"colour": ["red"]})})
    with pytest.raises(DataError, match="Two of the files have .* 80 ids in common, such as 'film 00'"):
        new_rows.matched(data, {"a.csv": files["money.csv"], "b.csv": files["money.csv"]})
    with pytest.raises(DataError, match="no file to predict from"):
        new_rows.matched(data, {})


def test_rows_of_two_files_of_one_source_are_put_together(trained):
    data, model, files = trained
    money = files["money.csv"]
    given = {"may.csv": money.head(2), "june.csv": money.slice(2, 3).drop("screens").select("budget", "id")}
    found, differences = new_rows.predict(model_files.dumps(model), data, [*given.items()])
    assert sorted(found["id"]) == money["id"].head(5).to_list()
    assert "june.csv lacks 'screens': taken as missing." in differences
    rows = new_rows.matched(data, given)
    assert rows.sources == {"may.csv": "money", "june.csv": "money"}
    assert rows.data.sources["money"].frame["budget"].to_list() == money["budget"].head(5).to_list()


def test_two_files_that_may_be_of_either_of_two_alike_tables_are_not_put_together():
    ids = [f"s{k}" for k in range(20)]
    tables = {name: pl.DataFrame({"id": ids, "sold": range(20)}) for name in ("may", "june")}
    data = HetData(tables, {}, (ids, np.arange(20.0)))
    given = {name: table.with_columns(id=name + pl.col("id")) for name, table in zip(("a", "b"), tables.values())}
    with pytest.raises(DataError, match="may be of any of 'may', 'june': give each file the name of its table"):
        new_rows.matched(data, given)


def test_edges_among_new_rows_are_not_used_which_is_reported(trained):
    data, _, files = trained
    linked = HetData(
        {"money": files["money.csv"]}, {"cast": pl.DataFrame({"source": ["film 00"], "target": ["film 01"]})}
    )
    given = {"money.csv": files["money.csv"], "cast.csv": pl.DataFrame({"source": ["new"], "target": ["film 01"]})}
    assert "Edges of new instances are not used." in new_rows.matched(linked, given).warnings[0]


def test_a_file_of_nothing_known_takes_no_other_along(trained):
    data, model, files = trained
    given = [("odd.csv", pl.DataFrame({"colour": ["red"]})), ("money.csv", files["money.csv"])]
    found, warned = new_rows.predict(model_files.dumps(model), data, given)
    assert found.height == N and warned[0].startswith("odd.csv has no column of the training data")


def test_a_file_that_cannot_be_read_takes_no_other_along(trained, monkeypatch):
    data, _, files = trained
    asked = []

    def read(data, name, file, options):
        if name == "bad.pdf":
            raise DataError("bad.pdf is no table.")
        return {name: files[name]}

    monkeypatch.setattr(widgets_new_rows, "_tables_of", read)
    answer = lambda *given: asked.append(given[1]["files"]) or (("rows", []), "")  # noqa: E731
    monkeypatch.setattr(widgets_new_rows, "answer", answer)
    names = [SimpleNamespace(name=name) for name in ("bad.pdf", "money.csv")]
    assert widgets_new_rows._predicted(b"", data, {}, names, "me") == ("rows", [], ["bad.pdf is no table."])
    assert [name for name, _ in asked[0]] == ["money.csv"]
    assert widgets_new_rows._predicted(b"", data, {}, names[:1], "me") == (None, [], ["bad.pdf is no table."])
    assert len(asked) == 1


def test_moments_and_durations_are_the_numbers_of_the_training():
    days = pl.Series([k * 86_400_000 for k in range(N)])
    table = pl.DataFrame({"id": [f"i{k}" for k in range(N)], "at": days.cast(pl.Datetime("ms")), "day": range(N)})
    table = table.with_columns(pl.col("day").cast(pl.Date), took=days.cast(pl.Duration("ms")))
    trained = HetData({"t": table})
    for each in (table, table.with_columns(pl.col("at").cast(pl.Datetime("ns")))):
        rows = new_rows.matched(trained, {"t.parquet": each})
        for column in ("at", "day", "took"):
            assert rows.data.sources["t"].frame[column].equals(trained.sources["t"].frame[column])
        assert not [text for text in rows.warnings if "outside" in text]


def test_a_value_outside_the_training_has_a_note_as_of_new_rows(trained):
    data, *_ = trained
    notes = new_rows.unfamiliar(data, {"money": {"budget": "900", "screens": "5"}, "words": {"tongue": "French"}})
    assert len(notes) == 1 and notes[0].startswith("1 value of 'budget' outside") and "no row was trained" in notes[0]
    assert new_rows.unfamiliar(data, {"money": {"budget": "", "screens": None}}) == []


def test_new_rows_are_joined_as_the_training_rows_were(trained):
    """Ids of one spelling in training were two instances of one table each in new rows, without a word."""
    data, model, files = trained
    parts = [{"name": name, "file": f"{name}.csv", "id": "id"} for name in files]
    recipe = {"sources": parts, "spelling": ["zeros"]}
    joins = new_rows.joins_of(recipe)
    money = files["money.csv"].head(2).with_columns(pl.Series("id", ["007", "008"]), row=pl.Series([1, 2]))
    given = {"a.csv": money, "b.csv": files["words.csv"].head(2).with_columns(pl.Series("id", ["7", "9"]))}
    rows = new_rows.matched(data, given, joins)
    assert rows.data.ids.tolist() == ["7", "8", "9"]
    found, _ = new_rows.predict(model_files.dumps(model), data, tuple(given.items()), recipe)
    assert found["sources"].to_list() == [2, 1, 1]
    assert new_rows.joins_of({"example": "mfeat"}) == new_rows.Joins()
    # nothing was made the same in training: told, and the id column is the training's all the same
    apart = new_rows.matched(data, given, joins._replace(spelling=()))
    assert apart.data.ids.tolist() == ["007", "008", "7", "9"]
    expected = "1 id written in several ways, such as '007' beside '7': write them the same way"
    assert f"{expected}, or they are different ones." in apart.warnings


def test_rows_numbered_as_in_training_need_no_word(trained):
    data, _, files = trained
    given = {"a.csv": files["money.csv"].drop("id").head(2)}
    numbered = new_rows.joins_of({"sources": [{"name": "money", "id": ""}, {"name": "words", "id": "id"}]})
    rows = new_rows.matched(data, given, numbered)
    assert rows.data.ids.tolist() == ["new 1", "new 2"] and not any("numbered" in each for each in rows.warnings)
    joined = numbered._replace(id_columns={"money": "id", "words": "id"})
    assert "a.csv has no id column: its rows are numbered." in new_rows.matched(data, given, joined).warnings


def test_rows_of_two_files_whose_ids_come_again_are_not_joined_by_their_numbers(trained):
    data, _, files = trained
    joins = new_rows.Joins({"money": "id", "words": "id"})
    money = files["money.csv"].head(2).with_columns(pl.Series("id", ["a", "a"]))
    words = files["words.csv"].head(2).with_columns(pl.Series("id", ["a", None]))
    rows = new_rows.matched(data, {"a.csv": money, "b.csv": words}, joins)
    assert rows.data.ids.tolist() == ["a.csv 1", "a.csv 2", "b.csv 1", "b.csv 2"]
    assert "a.csv has ids in 'id' that are missing or come again: its rows are numbered." in rows.warnings
    assert not any("does not know" in sentence for sentence in rows.warnings)


def test_files_of_two_tables_with_the_same_columns_are_matched_by_their_names():
    ids = [f"s{k}" for k in range(20)]
    tables = {name: pl.DataFrame({"id": ids, "sold": range(20)}) for name in ("may", "june")}
    data = HetData(tables, {}, (ids, np.arange(20.0)))
    rows = new_rows.matched(data, {f"{name}.csv": table for name, table in reversed(tables.items())})
    assert rows.sources == {"june.csv": "june", "may.csv": "may"}


def test_text_for_a_date_is_named_as_no_date():
    days = pl.Series("day", [f"2020-01-{k:02d}" for k in range(1, 21)]).str.to_date()
    data = HetData({"sales": pl.DataFrame({"id": range(20), "day": days})}, {}, (list(range(20)), np.arange(20.0)))
    rows = new_rows.matched(data, {"a.csv": pl.DataFrame({"id": ["x"], "day": ["3/4/2020"]})})
    expected = "a.csv: 1 value of 'day' no date, such as '3/4/2020': taken as missing; write it as 2020-12-31."
    assert expected in rows.warnings


def test_a_file_of_a_table_that_was_switched_off_is_left_out(trained):
    """It counted as a table that the prediction rests on, which was of no table that the model knew."""
    data, _, files = trained
    model = hc.GBCClassifier(n_iterations=3, random_state=0).fit(data.select(sources=["money"]))
    found, warned = new_rows.predict(model_files.dumps(model), data, tuple(files.items()))
    assert "words.csv is of 'words', which the model was trained without: left out." in warned
    assert set(found["sources"]) == {1}
    (warned,) = new_rows.predict(model_files.dumps(model), data, [("money.csv", files["money.csv"])])[1]
    assert "also in the training data" in warned
    with pytest.raises(DataError, match="no file to predict from"):
        new_rows.predict(model_files.dumps(model), data, [("words.csv", files["words.csv"])])


def test_sheets_of_a_workbook_are_files_of_the_sources_they_are_of(trained):
    data, _, files = trained
    notes = pl.DataFrame({"who": ["me"], "said": ["nothing"]})
    sheets = {"notes": notes, "words": files["words.csv"], "money": files["money.csv"]}
    found = new_rows.with_sheets(data, "new.xlsx", sheets)
    assert list(found) == ["words of new.xlsx", "money of new.xlsx"]
    assert new_rows.matched(data, found).sources == {"words of new.xlsx": "words", "money of new.xlsx": "money"}
    # none: the first is what the sentence is of
    with pytest.raises(DataError, match="^notes of new.xlsx has no column of the training data"):
        new_rows.matched(data, new_rows.with_sheets(data, "new.xlsx", {"notes": notes, "more": notes}))
