"""What the Data page guesses of files: edges by ids, headers, labels, dates; and that a letter is no table."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from hetcore.errors import DataError
from studio import recipes, uploads
from studio.readers import upload_schema
from studio.uploads import read_table

IDS = [f"tt{i:04d}" for i in range(60)]
FILMS = "film,length,imdb_rating\n" + "".join(f"{name},{90 + i % 30},{5 + i % 40 / 10}\n" for i, name in enumerate(IDS))
PAIRS = "".join(f"{IDS[i]},{IDS[(7 * i + 1) % 60]}\n" for i in range(60))
LETTERS = (
    "Dear Anna,\nthank you for your letter of last week, it was good to hear from you.\nYours, Bob\n",
    "Dear Anna,\n\nthank you for the plums, which came today.\nWe are all well, and so is the cat.\n\nYours,\nBob\n",
    "Dear Sir,\nplease find my data,\nyours, Bob",
    "Hello,\nhere is what you asked for,\nlove, Eve\n",
)


def _read(name, text, role=None, header=None):
    return uploads.read(name, text.encode(), role, header)


@pytest.mark.parametrize("first, header", [("a,b\n", True), ("film_a,film_b\n", True), ("", False)])
def test_a_table_of_ids_of_another_table_is_a_graph_and_its_header_no_edge(first, header):
    films, pairs = _read("films.csv", FILMS), _read("pairs.csv", first + PAIRS)
    assert upload_schema.edge_lists([films, pairs]) == {"pairs.csv": header}
    graph = _read("pairs.csv", first + PAIRS, "graph", header)
    assert graph.frame.height == 60
    assert set(graph.frame["source"]) | set(graph.frame["target"]) <= set(IDS)


@pytest.mark.parametrize(("first", "header"), [
    ("citing,cited\n", {"cites.csv": True}), ("", {}), ("other,tt0001\n", {}), ("other,one\nother,tt0001\n", {}),
])  # fmt: skip
def test_a_first_row_of_a_graph_that_is_no_edge_among_ids_is_its_header(first, header):
    films, graph = _read("films.csv", FILMS), _read("cites.csv", first + PAIRS)
    assert graph.role == "graph" and upload_schema.edge_lists([films, graph]) == header


def test_ends_that_are_ids_but_for_spaces_and_leading_zeros_are_ends():
    films = _read("films.csv", "film,length\n" + "".join(f"{i},{90 + i % 7}\n" for i in range(60)))
    calls = "".join(f"{i:04d} ,{i * 7 % 60:04d} ,3\n" for i in range(60))
    pairs = _read("calls.csv", f"caller,called,minutes\n{calls}")
    assert upload_schema.edge_lists([films, pairs]) == {"calls.csv": True}


def test_a_table_whose_second_column_holds_other_things_stays_a_table():
    directors = "film,director\n" + "".join(f"{name},person {i % 9}\n" for i, name in enumerate(IDS))
    assert upload_schema.edge_lists([_read("films.csv", FILMS), _read("directors.csv", directors)]) == {}


def test_ends_of_edges_are_found_beyond_the_first_rows_and_in_tables_that_each_have_some_instances():
    ids = [f"C{k}" for k in range(5_000)]

    def table(name, some):
        return _read(name, f"id,{name[0]}\n" + "".join(f"{i},{k % 7}\n" for k, i in enumerate(some)))

    pairs = _read("calls.csv", "caller,called\n" + "".join(f"{a},{b}\n" for a, b in zip(ids, ids[::-1])))
    for several in ([table("whole.csv", ids)], [table("half.csv", ids[:3_000]), table("rest.csv", ids[2_500:])]):
        assert upload_schema.edge_lists([*several, pairs]) == {"calls.csv": True}
    assert upload_schema.edge_lists([table("half.csv", ids[:3_000]), pairs]) == {}


ROLES = [
    ("id,x1,x2,label\n", ("a,1,2,yes\n", "b,1,2,no\n"), "table"),
    ("id,f1,f2,stars\n", ("a,0.5,2.5,1\n", "b,1.5,0.5,2\n"), "table"),
    ("x1,x2,weight\n", ("1.5,2,1\n", "2.5,2,1\n"), "table"),
    ("f1,f2\n", ("1,2\n", "3,4\n"), "table"),
    ("id,u,v,label\n", ("a,0.5,-0.5,yes\n", "b,1.5,0.5,no\n"), "table"),
    ("user1,user2,since\n", ("7,8,2001\n", "7,9,2002\n", "8,9,2003\n"), "graph"),
    ("film1,film2\n", ("a,b\n", "b,c\n"), "graph"),
    ("id1,id2,label\n", ("1,2,x\n", "3,4,y\n"), "graph"),
    ("source,target,class\n", ("1.0,2.0,x\n", "3.0,4.0,y\n"), "graph"),
]


@pytest.mark.parametrize("header, rows, role", ROLES, ids=[header.strip() for header, _, _ in ROLES])
def test_two_columns_that_end_in_1_and_2_are_edges_by_what_the_table_holds(header, rows, role):
    assert _read("data.csv", header + "".join(rows)).role == role


def test_a_count_beside_whole_numbers_that_are_ids_is_no_edge():
    films = "film,length\n" + "".join(f"{i},{90 + i % 30}\n" for i in range(1, 60))
    prizes = "film,prizes\n" + "".join(f"{i},{1 + i % 9}\n" for i in range(1, 60))
    assert upload_schema.edge_lists([_read("films.csv", films), _read("prizes.csv", prizes)]) == {}


PATIENTS = "row,patient_id,age\n" + "".join(f"{k},P{k:03d},{20 + k % 50}\n" for k in range(1, 61))
LABS = "row;value;patient\n" + "".join(f"{k};{k % 7},5;p{7 * k % 61:03d}\n" for k in range(1, 51))


def _ids_of(files):
    return {name: column for name, (column, _) in upload_schema.guess_ids(files).items()}


def test_row_numbers_are_no_ids_where_files_share_another_column_however_it_is_written():
    files = [_read("patients.csv", PATIENTS), _read("labs.csv", LABS)]
    assert _ids_of(files) == {"patients.csv": "patient_id", "labs.csv": "patient"}
    assert upload_schema.row_numbers(files, _ids_of(files)) == ""
    sentence = upload_schema.row_numbers(files, dict.fromkeys(("patients.csv", "labs.csv"), "row"))
    assert sentence.startswith("The ids of 'patients.csv', 'labs.csv' look like row numbers: ")


def test_whole_numbers_from_one_are_ids_where_nothing_else_is_shared_and_a_graph_confirms_them():
    def film(name):
        return _read(f"{name}.csv", f"id,{name}\n" + "".join(f"{k},{name} {k // 2}\n" for k in range(1, 61)))

    films, edges = [film("title"), film("review")], _read("g.csv", "source,target\n1,2\n2,60\n", "graph")
    assert _ids_of(films) == {"title.csv": "id", "review.csv": "id"} == _ids_of([*films, edges])
    assert upload_schema.row_numbers(films, _ids_of(films)) != ""
    assert upload_schema.row_numbers([*films, edges], _ids_of(films)) == ""
    assert upload_schema.row_numbers(films[:1], {"title.csv": "id"}) == ""


def test_an_id_that_is_empty_once_and_there_twice_is_an_id_all_the_same():
    names = ["Zoe", "Jo", "Mia"]
    rows = [f"C{k:03d};{names[k % 3]};{k / 7:.3f}" for k in range(40)]
    people = _read("people.csv", "\n".join(["no;name;x", *rows[:20], ";;", *rows[20:], rows[3]]) + "\n")
    assert upload_schema.guess_ids([people])["people.csv"] == ("no", "different in nearly every row")
    visits = _read("visits.csv", "no,y\n" + "".join(f"C{k:03d},{k}.5\n" for k in range(5, 40)))
    found = upload_schema.guess_ids([people, visits])
    assert found["people.csv"] == ("no", "different in nearly every row, and shared with 1 other file")
    assert found["visits.csv"] == ("no", "different in every row, and shared with 1 other file")


def test_a_few_words_that_two_files_have_in_common_are_no_ids():
    first = _read("a.csv", "id,name\n" + "".join(f"{k},a{k}\n" for k in range(1, 61)))
    other = _read("b.csv", "id,word\n" + "".join(f"{k},{'b' if k > 1 else 'a'}{k}\n" for k in range(1, 61)))
    assert _ids_of([first, other]) == {"a.csv": "id", "b.csv": "id"}


def test_the_header_that_was_chosen_is_in_the_recipe_and_reads_the_same_edges():
    films, graph = _read("films.csv", FILMS), _read("pairs.csv", "a,b\n" + PAIRS, "graph", True)
    recipe = recipes.recipe_of([films, graph], {"films.csv": "film"}, None, None, {})
    assert recipe["graphs"] == [{"name": "pairs", "file": "pairs.csv", "options": {"header": True}}]
    files = {"films.csv": FILMS.encode(), "pairs.csv": ("a,b\n" + PAIRS).encode()}
    assert "a" not in set(recipes.build(recipe, files.__getitem__).ids)


def test_the_first_row_is_asked_of_text_and_not_of_other_formats():
    assert upload_schema.first_row(_read("pairs.csv", "a,b\n" + PAIRS)) is True
    assert upload_schema.first_row(_read("pairs.csv", PAIRS, "graph")) is False
    graphml = '<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/>'
    assert upload_schema.first_row(_read("g.graphml", graphml + "</graph></graphml>")) is None


@pytest.mark.parametrize(
    "header, column",
    [("film,length,imdb_rating", "imdb_rating"), ("film,class,length", "class"), ("film,length,genre", "genre"),
     ("film,y,label", "label"), ("film,y,length", "y")],
)
def test_a_label_is_guessed_by_its_last_word_or_by_few_values_at_the_end(header, column):
    rows = "".join(f"{name},{90.5 + i},{i % 4}\n" for i, name in enumerate(IDS))
    guess = upload_schema.guess_label([_read("films.csv", f"{header}\n{rows}")], {"films.csv": "film"})
    assert guess == ("films.csv", column)


def test_the_column_of_domains_is_guessed_to_be_no_label():
    rows = "".join(f"{name},{i % 4},{i % 3}\n" for i, name in enumerate(IDS))
    guess = upload_schema.guess_label([_read("films.csv", f"film,genre,domain\n{rows}")], {"films.csv": "film"})
    assert guess == ("films.csv", "genre")


def test_numbers_at_the_end_that_are_called_nothing_are_no_label():
    rows = "".join(f"{name},{i % 4},{90.5 + i}\n" for i, name in enumerate(IDS))
    assert upload_schema.guess_label([_read("films.csv", f"film,part,length\n{rows}")], {"films.csv": "film"}) is None


@pytest.mark.parametrize(("rows", "guess"), [(20, ("profit.csv", "profit")), (30, None)])
def test_the_one_column_of_fewer_ids_is_guessed_to_be_the_label(rows, guess):
    sizes = "".join(f"s{k},{k * 0.5}\n" for k in range(30))
    profits = "".join(f"s{k},{k * 1.5}\n" for k in range(rows))
    files = [_read("shops.csv", f"shop,size\n{sizes}"), _read("profit.csv", f"shop,profit\n{profits}")]
    found = upload_schema.guess_label(files, dict.fromkeys(("shops.csv", "profit.csv"), "shop"))
    assert (found and (found.file, found.column)) == guess


def test_the_one_column_beside_ids_is_guessed_before_the_last_of_several():
    shops = "shop,size,visits\n" + "".join(f"s{k},{k * 0.5},{k % 5}\n" for k in range(30))
    states = "shop,state\n" + "".join(f"s{k},{'gold' if k % 5 else 'tin'}\n" for k in range(30))
    files = [_read("shops.csv", shops), _read("states.csv", states)]
    found = upload_schema.guess_label(files, dict.fromkeys(("shops.csv", "states.csv"), "shop"))
    assert found == ("states.csv", "state")


def test_text_that_is_another_in_each_row_is_no_label():
    shops = "shop,size,visits\n" + "".join(f"s{k},{k * 0.5},{k + 0.5}\n" for k in range(30))
    reports = "shop,report\n" + "".join(f"s{k},inspected on day {k}\n" for k in range(25))
    files = [_read("shops.csv", shops), _read("reports.csv", reports)]
    assert upload_schema.guess_label(files, dict.fromkeys(("shops.csv", "reports.csv"), "shop")) is None
    notes = {name: "".join(f"{k}.5,{k % 2},{name} {k}\n" for k in range(9)) for name in "xy"}
    domains = [_read(f"{name}.csv", f"a,b,note\n{rows}") for name, rows in notes.items()]
    assert upload_schema.guess_label(domains, {}) == (upload_schema.EACH, "b")


@pytest.mark.parametrize(("values", "task"), [
    ([0.0, 1.0, None, 1.0], "classification"), ([0.5, 1.0, None, 1.0], "regression"),
    ([k + 0.0 for k in range(11)], "regression"),
])  # fmt: skip
def test_classes_that_a_missing_value_made_fractions_are_classes(values, task):
    assert upload_schema.guess_task(pl.Series(values))[0] == task


@pytest.mark.parametrize(("values", "task"), [([1, 2, 5, 5], "regression"), (["AA", "B", "B"], "classification")])
def test_ratings_are_numbers_though_they_are_few(values, task):
    assert upload_schema.guess_task(pl.Series("Rating", values))[0] == task
    assert upload_schema.guess_task(pl.Series("grade", values))[0] == "classification"


def test_a_list_of_ids_of_which_few_have_a_value_is_guessed_to_be_the_labels():
    sizes = "".join(f"s{k},{k * 0.5},{'NESW'[k % 4]}\n" for k in range(30))
    states = "".join(f"s{k},{'gold' if k % 5 else ''}\n" for k in range(30))
    files = [_read("shops.csv", f"shop,size,region\n{sizes}"), _read("states.csv", f"shop,state\n{states}")]
    found = upload_schema.guess_label(files, dict.fromkeys(("shops.csv", "states.csv"), "shop"))
    assert found == ("states.csv", "state")


@pytest.mark.parametrize(
    "written", ["17.03.2015", "17 Mar 2015", "17 March 2015", "March 17, 2015", "Mar 17, 2015", "17/3/2015",
                "3/17/2015", "2015/03/17", "2015-03-17"],
)  # fmt: skip
def test_dates_are_read_as_written_anywhere(written):
    table = read_table("days.csv", f"film;day\na;{written}\nb;{written}\n".encode())
    assert table["day"].to_list() == [datetime.date(2015, 3, 17)] * 2


def test_days_and_months_that_could_be_exchanged_stay_text():
    assert read_table("days.csv", b"film;day\na;3/4/2015\nb;5/6/2015\n")["day"].to_list() == ["3/4/2015", "5/6/2015"]


def test_a_date_is_recognised_as_one():
    days = "film,day\n" + "".join(f"{name},2015-01-{1 + i % 28:02d}\n" for i, name in enumerate(IDS))
    assert _read("days.csv", days).kinds["day"] == ("real", "dates from 2015-01-01 to 2015-01-28")


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("role", [None, "graph"])
def test_a_letter_is_no_table(letter, role):
    with pytest.raises(DataError, match="reads like a letter"):
        _read("letter.txt", letter, role)


def test_a_table_with_spaces_behind_commas_and_long_cells_is_one():
    text = "film, story\n" + "".join(f"{name}, a man and a dog go to sea\n" for name in IDS)
    assert read_table("stories.csv", text.encode()).height == 60


def test_short_tables_with_spaces_behind_commas_are_tables():
    assert read_table("a.csv", b"film, kind\nThe Long Goodbye, crime\nAlien, horror\n").height == 2
    assert read_table("a.csv", b"film,\nAlien, horror\nBrazil, satire\n").columns == ["film", "column_2"]


@pytest.mark.parametrize(("ending", "claimed"), [("xlsx", "workbook"), ("parquet", "Parquet file")])
def test_text_under_the_name_of_another_format_is_refused_for_what_it_is_not(ending, claimed):
    for text, fault in (("some words\nand more\n", "has one column"), (LETTERS[2], "reads like a letter")):
        with pytest.raises(DataError, match=f"^a.{ending} is no {claimed}, and as text it {fault}"):
            _read(f"a.{ending}", text)
    assert _read(f"a.{ending}", "id,x\na,1\nb,2\n").frame.height == 2


def test_rows_of_delimiters_alone_are_no_rows():
    content = b"id;x;word\n" + b"".join(b"r%d;%d;w\n" % (k, k) for k in range(19)) + b";;\n" + b"a;one;w\n ; ;\n;;\n"
    found = uploads.preview_table("a.csv", content)
    assert found.frame.height == 20 and found.frame["id"].null_count() == 0
    assert str(found.findings[-1]) == "3 rows without any value left out."
    assert "'one' in row 21" in str(found.findings[0])  # as the file counts
    with pytest.raises(DataError, match="header but no rows"):
        uploads.preview_table("a.csv", b"id;x\n;\n;\n")
