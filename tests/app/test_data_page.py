"""The Data page, pages/1_Data.py: examples, files of the person, every bad file answered in one sentence, what if."""

from __future__ import annotations

import io
import re
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from studio.limits import MIB, UPLOADS
from tests.hostile.making import sheet, workbook
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
IDS = [f"p{i:02d}" for i in range(40)]
CSV = "text/csv"


def csv(**columns: list) -> bytes:
    """Return a table as CSV."""
    return pl.DataFrame(columns).write_csv().encode()


def parquet(**columns: list) -> bytes:
    """Return a table as Parquet."""
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


TOWNS = [("rome", "oslo")[7 * i % 11 % 2] for i in range(40)]
TABLE = csv(person=IDS, height=[150.5 + i for i in range(40)], town=TOWNS)
MARKS = csv(person=IDS[5:], maths=[i % 7 + 0.5 for i in range(35)], label=["good", "bad", "good", "fair", "bad"] * 7)
EDGES = csv(source=IDS[:-1], target=IDS[1:])


@pytest.fixture
def page() -> AppTest:
    """The page, opened on the opening example."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    return at.switch_page("pages/1_Data.py").run()


def plain(text: str) -> str:
    """Return Markdown without its escapes."""
    return re.sub(r"\\(.)", r"\1", text)


def upload(at: AppTest, **files: bytes) -> AppTest:
    """Upload files, named a_csv for a.csv."""
    named = [(name.replace("__", "."), content, CSV) for name, content in files.items()]
    return at.file_uploader[0].set_value(named).run()


def use(at: AppTest) -> AppTest:
    return press(at, "Use this data")


def press(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.button if button.label == label).click().run()


def choose(at: AppTest, label: str, value: str) -> AppTest:
    return next(box for box in at.selectbox if plain(box.label) == label).set_value(value).run()


def in_use(at: AppTest) -> str:
    """Return the title of the data in use."""
    return plain(at.header[-1].value)


def numbers(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def errors(at: AppTest) -> list[str]:
    assert not at.exception
    return [plain(error.value) for error in at.error]


def test_the_opening_example_is_in_use(page):
    assert errors(page) == []
    assert "Digit images" in in_use(page)
    assert "Train on it: Consensus" in [each.proto.label for each in page.get("page_link")]
    assert numbers(page)["Instances"] == "1,797"


def test_choosing_an_example_uses_it(page):
    page.radio[0].set_value("planted").run()
    assert errors(page) == []
    assert page.query_params["data"] == "planted"
    assert numbers(page)["Instances"] != "1,797"


def test_examples_are_found_by_a_word_and_say_what_has_to_be_downloaded(page, monkeypatch, tmp_path):
    monkeypatch.setenv("HETCORE_DATA", str(tmp_path))
    page.text_input(key="example_search").set_value("  FILMS ").run()
    assert 0 < len(page.radio[0].options) < 8
    captions = dict(zip(page.radio[0].options, page.radio[0].proto.captions))
    (revenue,) = [card for title, card in captions.items() if "revenue" in title.lower()]
    assert revenue.endswith(":material/cloud_download: download, 3 MB")
    page.text_input(key="example_search").set_value("nothing like it").run()
    assert errors(page) == [] and not page.radio
    page.text_input(key="example_search").set_value("digit").run()
    captions = dict(zip(page.radio[0].options, page.radio[0].proto.captions))
    card = captions["Digit images, seven views"]
    assert card.endswith(":material/check: ready")
    assert card.startswith("![5 tables, 2 graphs, 10 classes](data:image/svg+xml")


def test_an_example_of_no_such_name_is_answered_by_the_opening_one():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run().switch_page("pages/1_Data.py")
    at.query_params["data"] = "<b>nothing</b>"
    at.run()
    assert not at.exception
    assert "no example of the name" in at.warning[0].value
    assert numbers(at)["Instances"] == "1,797"


def test_two_tables_and_an_edge_list_are_used_together(page):
    upload(page, people__csv=TABLE, marks__csv=MARKS, friends__csv=EDGES)
    assert errors(page) == []
    roles = {box.key: box.value for box in page.selectbox}
    assert roles["role people.csv"] == "table" and roles["role friends.csv"] == "graph"
    assert roles["id people.csv"] == "person" and roles["label file"] == "marks.csv"
    use(page)
    assert errors(page) == []
    assert in_use(page) == "In use: Your data"
    assert numbers(page) == {"Instances": "40", "Tables": "2", "Graphs": "1", "Labels": "35"}
    joins = page.dataframe[-1].value.columns
    assert list(joins) == ["one", "other", "ids of one", "ids of the other", "in both", "more if spelled alike"]


def test_row_numbers_are_odd_ids_of_the_same_things_and_usual_ones_of_domains(page):
    tables = [{"id": list(range(8)), "x": [k / 7 for k in range(8)], "state": ["u", "v"] * 4} for _ in range(2)]
    upload(page, home__csv=csv(**tables[0]), near__csv=csv(**tables[1]))
    assert page.selectbox(key="label file").value == "" and page.selectbox(key="id home.csv").value == "id"
    numbered = "look like row numbers: choose other columns"
    assert not any(numbered in plain(each.value) for each in page.caption)
    page.selectbox(key="label file").set_value("home.csv").run()
    assert any(numbered in plain(each.value) for each in page.caption)


def test_a_table_with_a_column_of_domains_is_split_into_them(page):
    more = {"x": [k / 7 for k in range(24)], "z": [k % 5 + 0.5 for k in range(24)], "label": ["u", "v"] * 12}
    upload(page, shops__csv=csv(Domain=["north", "a/b", "north"] * 8, **more), north__csv=csv(person=IDS, x=IDS))
    press(page, "Split into domains: 'north', 'a/b'")
    assert errors(page) == []
    removed = [button.key.removeprefix("remove ") for button in page.button if button.label == "Remove"]
    assert len(removed) == 3 and removed[:2] == ["north.csv", "north.parquet"] and "shops.csv" not in removed
    page.button(key="remove north.csv").click().run()
    assert page.selectbox(key="label file").value == "" and not [b for b in page.button if "Split" in b.label]
    use(page)
    assert errors(page) == [] and numbers(page) == {"Instances": "24", "Tables": "2", "Graphs": "0", "Labels": "24"}
    assert "Train on it: Transfer" in [each.proto.label for each in page.get("page_link")]


def test_a_file_in_another_role_is_read_anew(page):
    upload(page, pairs__csv=csv(source=IDS[:-1], target=IDS[1:]), marks__csv=csv(person=IDS, x=list(range(40))))
    other = {"graph": "table", "table": "graph"}[page.selectbox(key="role pairs.csv").value]
    page.selectbox(key="role pairs.csv").set_value(other).run()
    assert errors(page) == []
    page.selectbox(key="role pairs.csv").set_value("graph").run()
    assert errors(page) == []
    use(page)
    assert errors(page) == [] and (numbers(page)["Tables"], numbers(page)["Graphs"]) == ("1", "1")


BAD_FILES = {
    "one column": (csv(person=IDS), "has one column"),
    "empty": (b"", "is empty"),
    "pdf": (b"%PDF-1.7\n" + bytes(range(256)) * 4, "PDF document"),
    "large": (b"a,b\n" + b"1,2\n" * (50 * MIB // 4), f"larger than {UPLOADS.file_bytes // MIB} MB"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_cannot_be_read_leaves_the_others(page, case):
    content, words = BAD_FILES[case]
    upload(page, people__csv=TABLE, bad__csv=content)
    (sentence,) = errors(page)
    assert "bad.csv" in sentence and words in sentence
    assert [box.key for box in page.selectbox if box.label == "Use as"] == ["role people.csv"]
    assert numbers(page)["Instances"] == "1,797"


def test_a_table_without_a_column_beside_the_ids_is_refused(page):
    upload(page, people__parquet=parquet(person=IDS))
    (sentence,) = errors(page)
    assert "has one column" in sentence and "at least one more" in sentence
    assert numbers(page)["Instances"] == "1,797"


TWICE = csv(person=IDS[:-1] + IDS[:1], height=list(range(40)))
ELSEWHERE = csv(person=[f"q{i}" for i in range(40)], height=[i + 0.5 for i in range(40)])
INFINITE = csv(person=IDS, height=["1.5"] * 39 + ["inf"])
ANONYMOUS = csv(source=IDS[:-1], target=["nobody", "no one", "neither", *IDS[4:]])
NO_LABEL = csv(person=IDS, label=pl.Series([None] * 40, dtype=pl.String))
ONE_CLASS = csv(person=IDS, label=["good"] * 40)
BAD_DATA = {
    "an id that comes again": (
        {"people__csv": csv(height=[1.5] * 40, town=["rome"] * 40)}, {"Id column of people.csv": "town"},
        "choose a column that differs",
    ),
    "repeated ids": ({"people__csv": TWICE}, {"Id column of people.csv": "person"}, "1 row with an id"),
    "no id in common": ({"people__csv": ELSEWHERE, "marks__csv": MARKS}, {}, "no id in common"),
    "labels all missing": ({"people__csv": TABLE, "labels__csv": NO_LABEL}, {}, "there is no label"),
    "one class": ({"people__csv": TABLE, "labels__csv": ONE_CLASS}, {}, "all labels are"),
    "infinite": ({"people__csv": INFINITE}, {}, "1 value infinite"),
    "unknown ids": ({"people__csv": TABLE, "friends__csv": ANONYMOUS}, {}, "3 ids that no source"),
    "no table": ({"friends__csv": EDGES}, {}, "no table to learn from"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_DATA)
def test_data_that_cannot_be_used_leave_those_in_use(page, case):
    files, choices, words = BAD_DATA[case]
    upload(page, **files)
    for label, value in choices.items():
        choose(page, label, value)
    assert errors(page) == []
    use(page)
    (sentence,) = errors(page)
    assert words in sentence, sentence
    assert "\n" not in sentence and len(sentence) < 300
    assert in_use(page) != "In use: Your data"
    assert numbers(page)["Instances"] == "1,797"


def test_a_column_that_gives_the_label_away_is_reported_and_left_out(page):
    train = csv(id=IDS, x=[i * i % 11 for i in range(40)], y=["a", "b"] * 20)
    labels = csv(id=IDS[:20], y=["a", "b"] * 10)
    use(upload(page, train__csv=train, labels__csv=labels))
    assert [plain(error.value) for error in page.error] == [
        "Source 'train': column 'y' equals the label in all 20 rows that have both: "
        "leave it out, or use it if it is known before the label."
    ]
    press(page, "Leave 1 column out and use the rest")
    assert not page.error
    used = page.session_state["uploaded"]
    assert used.data.sources["train"].columns == ["x"]
    assert used.recipe["sources"][0]["drop"] == ["y"]
    page.multiselect[0].set_value([]).run()
    use(page)
    assert len(page.error) == 1 and page.session_state["uploaded"] is used


@pytest.mark.slow
def test_a_graph_and_a_table_that_give_the_label_away_are_left_out_and_taken_back(page):
    labels = ["good", "bad", "bad", "good"] * 10
    marks = csv(person=IDS, label=labels)
    good, bad = ([i for i, label in zip(IDS, labels) if label == which] for which in ("good", "bad"))
    cliques = csv(source=[*good[:-1], *bad[:-1]], target=[*good[1:], *bad[1:]])
    after = csv(person=good, paid=[k * k % 7 + 0.5 for k in range(20)], day=[k * 5 % 9 + 0.5 for k in range(20)])
    use(upload(page, people__csv=TABLE, marks__csv=marks, friends__csv=cliques, after__csv=after))
    assert {text.split(":")[0] for text in errors(page)} == {"Graph 'friends'", "Source 'after'"}
    press(page, "Leave 1 table and 1 graph out and use the rest")
    assert errors(page) == []
    used = page.session_state["uploaded"]
    assert [part["name"] for part in used.recipe["sources"]] == ["people"] and "graphs" not in used.recipe
    assert used.data.graph_names == [] and set(used.data.y) == {"good", "bad"}
    left = {plain(each.label): each.value for each in page.multiselect if each.label.startswith("Left out")}
    assert left == {"Left out of friends.csv": ["friends.csv"], "Left out of after.csv": ["paid", "day"]}
    next(each for each in page.multiselect if each.value == ["friends.csv"]).set_value([]).run()
    use(page)
    assert [text.split(":")[0] for text in errors(page)] == ["Graph 'friends'"]


def test_of_ids_in_the_order_of_the_labels_there_is_nothing_to_leave_out(page):
    marks = csv(person=IDS, label=["bad"] * 20 + ["good"] * 20)
    use(upload(page, people__csv=csv(person=IDS, x=[k * k % 11 for k in range(40)]), marks__csv=marks))
    assert errors(page) == [] and not [button for button in page.button if button.key == "leave_out"]
    report = " ".join(plain(each.value) for each in page.markdown)
    assert "no method learns from: there is nothing to leave out; look for a column that counts rows" in report


def test_ids_that_nearly_match_are_reported_and_written_the_same_way(page):
    marks = csv(person=[i.upper() for i in IDS], label=["good", "bad", "Good", "fair"] * 10)
    use(upload(page, people__csv=TABLE, marks__csv=marks))
    assert len(page.error) == 1 and "Write ids and classes the same way" in {button.label for button in page.button}
    some = [i.upper() if k < 5 else i for k, i in enumerate(IDS)]
    mixed = csv(person=some, label=["good", "bad", "Good", "fair"] * 10)
    use(upload(page, people__csv=TABLE, marks__csv=mixed))
    message = " ".join(plain(error.value) for error in page.error)
    assert "5 ids written in several ways" in message and "1 class written in several ways" in message
    rewritten = "Written so everywhere, in predictions and files that you take away too: "
    rewritten += f"'{some[0]}' becomes '{IDS[0]}'."
    assert rewritten in [plain(each.value) for each in page.caption]
    press(page, "Write ids and classes the same way")
    assert rewritten in [plain(each.value) for each in page.caption]
    used = page.session_state["uploaded"]
    assert not page.error and used.data.n == 40 and used.recipe["spelling"] == ["case"]
    assert used.data.classes == ["bad", "fair", "good"]


def test_whether_the_day_comes_first_is_a_choice_where_both_may_be_meant(page):
    table = csv(person=IDS, since=[f"0{1 + k % 9}/0{1 + k % 7}/2020" for k in range(40)], label=["bad", "good"] * 20)
    upload(page, people__csv=table)
    choice = next(each for each in page.selectbox if each.label.startswith("Dates such as"))
    assert choice.value == "text" and any("say which" in plain(each.value) for each in page.caption)
    page = choice.set_value(True).run()
    assert not any("say which" in plain(each.value) for each in page.caption)
    use(page)
    used = page.session_state["uploaded"]
    assert used.recipe["sources"][0]["options"] == {"day_first": True}
    days = (date(2020, 1, 8) - date(1970, 1, 1)).days
    assert table.split()[8].split(b",")[1] == b"08/01/2020" and used.data.sources["people"].frame["since"][7] == days


def test_what_a_workbook_merges_and_sums_and_where_its_clocks_are_is_reported(page):
    """Merged cells, totals among the rows and several time zones: all were used without a word."""
    sales = [(f"s{k}", k * 37 % 50 + 20, f"2020-01-{k + 1:02} 10:00 {'EST' if k % 2 else 'CET'}") for k in range(8)]
    groups = [[*sales[at : at + 4], (name, sum(row[1] for row in sales[at : at + 4]), None)]
              for at, name in ((0, "Total north"), (4, "Total south"))]  # fmt: skip
    rows = [["id", "region", "sales", "at"]]
    rows += [[row[0], "north" if k == 0 else None, *row[1:]] for group in groups for k, row in enumerate(group)]
    book = workbook(sheet(rows, merged=["B2:B6", "B7:B11"]))
    labels = csv(id=[row[0] for row in sales], label=["a", "b"] * 4)
    press(use(upload(page, sales__xlsx=book, labels__csv=labels)), "Use them as they are")
    assert not page.exception
    captions = " ".join(plain(each.value) for each in page.caption)
    assert "8 cells merged with the cell above or beside" in captions and "of 2 time zones (CET, EST)" in captions
    report = " ".join(plain(each.value) for each in page.markdown)
    assert "2 rows among the others called a total" in report and "moments of 2 time zones" in report


def test_a_flaw_may_be_accepted(page):
    upload(page, people__csv=TABLE, friends__csv=ANONYMOUS)
    press(use(page), "Use them as they are")
    assert errors(page) == []
    assert numbers(page)["Instances"] == "43"


def test_of_repeated_ids_the_button_says_that_the_first_rows_are_used(page):
    upload(page, people__csv=csv(person=IDS + IDS[:3], height=[150.5 + i for i in range(43)], town=TOWNS + TOWNS[:3]))
    choose(page, "Id column of people.csv", "person")
    assert "or use the first row of each" in errors(use(page))[0]
    assert not any(button.label == "Use them as they are" for button in page.button)
    press(page, "Use them with the first row of each id")
    assert errors(page) == [] and numbers(page)["Instances"] == "40"


@pytest.mark.parametrize(("unseen", "used"), [(2, True), (20, False)])
def test_a_few_edges_to_unknown_ids_are_counted_and_many_are_asked_about(page, unseen, used):
    others = [f"x{k}" for k in range(unseen)]
    friends = csv(source=[*IDS, *IDS, *IDS[:unseen]], target=[*IDS[2:], *IDS[:2], *IDS[3:], *IDS[:3], *others])
    use(upload(page, people__csv=TABLE, marks__csv=MARKS, friends__csv=friends))
    assert (in_use(page) == "In use: Your data") == used and bool(errors(page)) != used
    words = " ".join(plain(each.value) for each in page.warning)
    message = "2 edges, 2.4% of all, lead to 2 ids that no source and no label has (for example 'x0'): kept"
    assert (message in words) == used


def test_an_error_of_a_file_ends_when_the_others_are_in_use(page):
    upload(page, people__csv=TABLE, marks__csv=MARKS, more__csv=b"")
    assert len(errors(page)) == 1
    assert errors(use(page)) == [] and in_use(page) == "In use: Your data"


def test_of_a_table_whose_one_column_is_taken_for_the_label_the_page_tells_that_it_is_labels_alone(page):
    upload(page, people__csv=TABLE, income__csv=csv(person=IDS[5:], income=[i % 7 + 0.5 for i in range(35)]))
    text = "Nothing of income.csv is learned from, for it is labels alone"
    assert any(text in plain(each.value) for each in page.caption)
    choose(page, "Labels in", "people.csv")
    assert not any(text in plain(each.value) for each in page.caption)


def test_files_that_are_put_together_otherwise_than_those_in_use_have_a_caption(page):
    upload(page, people__csv=TABLE, marks__csv=MARKS)

    def caption_shown() -> bool:
        return any("in use were put together otherwise" in plain(each.value) for each in page.caption)

    assert not caption_shown()  # of an example that is in use its name tells
    use(page)
    assert in_use(page) == "In use: Your data" and not caption_shown()
    choose(page, "Label", "maths")
    assert caption_shown() and "label" in page.session_state["uploaded"].recipe["target"]["column"]
    choose(page, "Label", "label")
    assert not caption_shown()


def test_data_in_use_stay_when_the_next_files_are_bad(page):
    use(upload(page, people__csv=TABLE, marks__csv=MARKS))
    upload(page, people__csv=TABLE, marks__csv=MARKS, more__csv=b"")
    assert len(errors(page)) == 1
    assert in_use(page) == "In use: Your data" and numbers(page)["Instances"] == "40"


def test_parquet_and_graphml_are_read_too(page):
    table = parquet(person=IDS, x=[0.5 * i for i in range(40)])
    nodes = "".join(f'<node id="{i}"/>' for i in IDS)
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in zip(IDS, IDS[1:]))
    graph = f'<graphml><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'.encode()
    use(upload(page, x__parquet=table, links__graphml=graph))
    assert errors(page) == []
    assert numbers(page) == {"Instances": "40", "Tables": "1", "Graphs": "1", "Labels": "0"}


def test_names_of_files_and_columns_are_shown_as_they_are(page):
    table = csv(**{"person": IDS, "<b>**x**</b>": list(range(40))})
    page.file_uploader[0].set_value([("../../<img src=x>_*a*.csv", table, CSV)]).run()
    use(page)
    assert errors(page) == []
    shown = " ".join(element.value for element in page.markdown)
    assert "\\<img src\\=x\\>" in shown and not re.search(r"(?<!\\)<", shown) and "/" not in shown


def test_what_if_operations_are_reported_and_undone(page):
    page.slider(key="what_if_sd").set_value(2.0).run()
    press(page, "Apply")
    assert errors(page) == []
    assert any("with noise of 2 sd in" in plain(element.value) for element in page.markdown)
    page.selectbox(key="what_if_action").set_value("Take a sample").run()
    press(page, "Apply")
    assert int(numbers(page)["Instances"].replace(",", "")) < 1000
    press(press(page, "Undo"), "Undo")
    assert numbers(page)["Instances"] == "1,797"
    assert not any("with noise of" in plain(element.value) for element in page.markdown)


def test_while_a_what_if_changes_them_nobody_reads_that_all_rows_are_used_as_given(page):
    def used_as_given():
        return [each.value for each in page.success if "used as given" in each.value]

    use(upload(page, people__csv=TABLE))
    assert used_as_given()
    press(page, "Apply")
    assert errors(page) == [] and not used_as_given()
    assert press(page, "Undo") and used_as_given()


def test_the_last_table_cannot_be_hidden(page):
    use(upload(page, people__csv=TABLE))
    page.selectbox(key="what_if_action").set_value("Hide a table").run()
    press(page, "Apply")
    (sentence,) = errors(page)
    assert "at least one" in sentence
    assert numbers(page)["Tables"] == "1"


def test_a_list_of_ids_is_taken_for_a_graph_and_its_first_row_can_be_switched(page):
    pairs = csv(a=IDS[:-1], b=IDS[1:])
    upload(page, people__csv=TABLE, pairs__csv=pairs)
    assert page.selectbox(key="role pairs.csv").value == "graph"
    first = page.selectbox(key="first row pairs.csv graph")
    assert first.value is True
    assert "pairs.csv** · 39 edges" in " ".join(each.value for each in page.markdown)
    first.set_value(False).run()
    assert "pairs.csv** · 40 edges" in " ".join(each.value for each in page.markdown)


def test_that_nothing_can_be_trained_is_reported_before_the_data_are_used(page):
    upload(page, people__csv=csv(person=IDS, height=[150.5 + i for i in range(40)]))
    assert any("nothing can be trained" in each.value for each in page.warning)
    use(page)
    assert any(each.value.startswith("Choose a label first") for each in page.caption)
    assert not [each for each in page.get("page_link") if each.proto.label.startswith("Train on it")]


def test_the_controls_of_what_ifs_keep_their_place_and_with_it_whom_the_keyboard_brought_there(page):
    def place(block, path=()):
        found = (place(each, (*path, k)) for k, each in getattr(block, "children", {}).items())
        return path if getattr(block, "key", None) == "what_if_apply" else next(filter(None, found), None)

    before = place(page.main)
    page.button(key="what_if_apply").click().run()
    assert place(page.main) == before != ()
    assert any("with noise" in each.value for each in page.markdown)


def _eight_graphs():
    import polars as pl

    from hetcore.data import HetData
    from studio.views.data import widgets

    ids = [f"i{k}" for k in range(6)]
    edges = pl.DataFrame({"source": ids[:-1], "target": ids[1:]})
    table, target = pl.DataFrame({"id": ids, "x": range(6)}), (ids, list("ababab"))
    widgets._graphs(HetData({"t": table}, {f"g{k}": edges for k in range(8)}, target=target))


def test_of_many_graphs_six_are_drawn_and_the_others_wait():
    page = AppTest.from_function(_eight_graphs, default_timeout=PATIENCE).run()
    assert not page.exception
    assert sum("Label autocorrelation" in each.value for each in page.caption) == 6
    assert [each.label for each in page.expander] == ["2 more graphs"]
    # as they stand on a phone
    assert [each.value.split(":")[0] for each in page.markdown] == [f"**Graph g{k}" for k in range(6)]
