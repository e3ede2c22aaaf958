"""Uploads: every hostile file is answered in one sentence, every good one is read without a silent change."""

from __future__ import annotations

import io
from datetime import date, datetime

import networkx as nx
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from hetcore.data import Graph
from hetcore.errors import DataError
from studio.uploads import Options, preview_graph, preview_table, read_graph, read_table
from tests import hostile

GUESS = Options()


def refused(name: str, content: bytes, want: str = "table") -> str:
    """Return the sentence with which a file is refused, after checking that it is one."""
    with pytest.raises(DataError) as caught:
        (preview_table if want == "table" else preview_graph)(name, content)
    sentence = str(caught.value)
    assert len(sentence) < 300
    assert "\n" not in sentence and "Traceback" not in sentence and "site-packages" not in sentence
    assert sentence.endswith((".", "…"))
    return sentence


# What is read ---------------------------------------------------------------------------------------------------------


def kinds(name: str, content: bytes, options: Options = GUESS) -> dict[str, list]:
    """Return the columns of an uploaded table as lists."""
    return read_table(name, content, options).to_dict(as_series=False)


GOOD = [
    ("commas", b"id,x\na,1\nb,2\n", {"id": ["a", "b"], "x": [1, 2]}, ["commas between columns"]),
    ("tabs", b"id\tx\na\t1\n", {"id": ["a"], "x": [1]}, ["tabs between columns"]),
    ("bars", b"id|x\na|1\n", {"id": ["a"], "x": [1]}, ["bars between columns"]),
    (
        "decimal commas",
        "id;größe\na;1,5\nb;2\n".encode("cp1252"),
        {"id": ["a", "b"], "größe": [1.5, 2.0]},
        ["semicolons between columns", "cp1252 (Western European)", "decimal comma"],
    ),
    ("byte order mark", b"\xef\xbb\xbfid,x\na,1\n", {"id": ["a"], "x": [1]}, ["UTF-8 with a byte order mark"]),
    ("utf-16", "id,x\nä,1\n".encode("utf-16"), {"id": ["ä"], "x": [1]}, ["UTF-16"]),
    ("utf-16 big", b"\xfe\xff" + "id,x\nä,1\n".encode("utf-16-be"), {"id": ["ä"], "x": [1]}, ["UTF-16"]),
    ("utf-16 without mark", "id,x\na,1\nb,22\n".encode("utf-16-le"), {"id": ["a", "b"], "x": [1, 22]}, ["UTF-16"]),
    ("carriage returns", b"id,x\ra,1\rb,2\r", {"id": ["a", "b"], "x": [1, 2]}, ["old Macintosh line ends"]),
    ("windows line ends", b"id,x\r\na,1\r\nb,2", {"id": ["a", "b"], "x": [1, 2]}, []),
    (
        "no header",
        b"a,1.5\nb,2.5\n",
        {"column_1": ["a", "b"], "column_2": [1.5, 2.5]},
        ["no header: columns are numbered"],
    ),
    ("all text", b"city,land\nRome,Italy\nOslo,Norway\n", {"city": ["Rome", "Oslo"], "land": ["Italy", "Norway"]}, []),
    ("years", b"id,2019,2020\na,1,2\nb,3,4\n", {"id": ["a", "b"], "2019": [1, 3], "2020": [2, 4]}, []),
    ("quotes", b'id,x\n"a,b","say ""hi"""\nc,\n', {"id": ["a,b", "c"], "x": ['say "hi"', None]}, []),
    ("row names", b"x,y\nr1,1,2\nr2,3,4\n", {"row": ["r1", "r2"], "x": [1, 3], "y": [2, 4]}, []),
    ("trailing", b"id,x\na,1,\nb,2,\n", {"id": ["a", "b"], "x": [1, 2]}, []),
    (
        "title",
        b"Export of today\n\nid,x\na,1\nb,2\n",
        {"id": ["a", "b"], "x": [1, 2]},
        ["2 lines above the table left out"],
    ),
    ("semicolon lists", b"id,tags\na,x;y\nb,z;w\n", {"id": ["a", "b"], "tags": ["x;y", "z;w"]}, []),
    ("truth", b"id,x\na,True\nb,false\nc,\n", {"id": ["a", "b", "c"], "x": [True, False, None]}, []),
    ("dates", b"id,x\na,2020-02-29\nb,\n", {"id": ["a", "b"], "x": [date(2020, 2, 29), None]}, []),
    ("moments", b"id,x\na,2020-02-29T12:30:00\n", {"id": ["a"], "x": [datetime(2020, 2, 29, 12, 30)]}, []),
    ("no date", b"id,x\na,2021-02-29\n", {"id": ["a"], "x": ["2021-02-29"]}, []),
    ("empty column", b"id,x\na,\nb,\n", {"id": ["a", "b"], "x": [None, None]}, []),
    ("spaces", b"id,x\n a , 1 \nb, 2\n", {"id": [" a ", "b"], "x": [1, 2]}, []),
    ("records", b'[{"id":"01","x":1},{"id":1,"y":2.50}]', {"id": ["01", "1"], "x": [1, None], "y": [None, 2.5]}, []),
    ("record lines", b'{"id":"a","x":1}\n\n{"id":"b","x":null}\n', {"id": ["a", "b"], "x": [1, None]}, []),
    ("one record", b'{"id":"a","x":1}', {"id": ["a"], "x": [1]}, ["one JSON record a line"]),
    (
        "late key",
        b'{"id":"a"}\n' * 300 + b'{"id":"b","z":7}\n',
        {"id": ["a"] * 300 + ["b"], "z": [None] * 300 + [7]},
        [],
    ),
    ("json columns", b'{"id": ["a", "b"], "x": [1, 2]}', {"id": ["a", "b"], "x": [1, 2]}, ["JSON columns by name"]),
]


@pytest.mark.parametrize(("label", "content", "expected", "guesses"), GOOD, ids=[case[0] for case in GOOD])
def test_good_tables_are_read_and_guesses_reported(label, content, expected, guesses):
    preview = preview_table("file.txt", content)
    assert preview.frame.to_dict(as_series=False) == expected
    assert set(guesses) <= set(preview.guesses)
    assert_frame_equal(read_table("file.txt", io.BytesIO(content)), preview.frame)


def test_ids_stay_exactly_as_uploaded():
    content = b"user_id,code,x\n001,1.10,1\n1,1.1,2\n01,01,3\n"
    assert kinds("a.csv", content) == {"user_id": ["001", "1", "01"], "code": ["1.10", "1.1", "01"], "x": [1, 2, 3]}


def test_columns_can_be_kept_as_text():
    assert kinds("a.csv", b"k,x\n1.10,1\n", Options(text_columns=("k",))) == {"k": ["1.10"], "x": [1]}


FINDINGS = [
    (b"id,x\na,001\nb,2\n", "leading_zeros", 1, ["001", "2"]),
    (b"id,x\na,12345678901234567890\nb,2\n", "long_number", 1, ["12345678901234567890", "2"]),
    (b"id,x\na,NA\nb,2\nc,?\n", "missing_word", 2, [None, 2, None]),
    (b"id,x\na,nan\nb,2\n", "missing_word", 1, [None, 2.0]),
    (b"id,x\na,NA\nb,2020-12-31\n", "missing_word", 1, [None, date(2020, 12, 31)]),
    (b"id,x\na,31/12/2020\nb,-\n", "missing_word", 1, [date(2020, 12, 31), None]),
    (b"id,x\na,red\nb,NA\nc,n/a\nd,none\n", "kept_word", 2, ["red", "NA", "n/a", "none"]),
    (b"id,x\na,1e400\nb,-inf\n", "infinite", 2, [float("inf"), float("-inf")]),
    (b'id,x\na,"1,234"\nb,"2,345"\n', "thousands", 2, ["1,234", "2,345"]),
    (b"id,x\n" + b"a,1\n" * 19 + b"a,one\n", "not_a_number", 1, ["1"] * 19 + ["one"]),
    (b'id,x\na,"1\n2"\n', "line_break", 1, ["1\n2"]),
]


@pytest.mark.parametrize(("content", "kind", "count", "cells"), FINDINGS, ids=[case[1] for case in FINDINGS])
def test_changes_and_near_misses_are_reported(content, kind, count, cells):
    preview = preview_table("a.csv", content)
    assert preview.frame["x"].to_list() == cells
    assert [(found.kind, found.count) for found in preview.findings] == [(kind, count)]


def test_a_word_for_a_missing_date_hides_neither_the_question_of_the_day_nor_its_answer():
    content = b"id,x\na,NA\nb,3/4/2015\n"
    assert [found.kind for found in preview_table("a.csv", content).findings] == ["ambiguous_date", "kept_word"]
    assert kinds("a.csv", content, Options(day_first=True))["x"] == [None, date(2015, 4, 3)]


def test_a_near_miss_names_the_row():
    found = preview_table("a.csv", b"id,x\n" + b"a,1\n" * 19 + b"a,one\n").findings[0]
    assert "'one' in row 20" in str(found)


def test_headers_are_made_usable_and_reported():
    preview = preview_table("a.csv", b"id,x,x,,x_2\na,1,2,3,4\n")
    assert preview.frame.columns == ["id", "x", "x_3", "column_4", "x_2"]
    assert {found.kind for found in preview.findings} == {"blank_header", "repeated_header"}


def test_rows_are_counted_from_the_top_of_the_file():
    assert "3 cells in row 4 where 2" in refused("a.csv", b"Title\nid,x\na,1\nb,2,3\nc,4\n")


def test_ragged_rows_are_refused_with_a_cure_that_a_person_has():
    # the Data page has no choice that leaves rows out
    assert "choose" not in refused("a.csv", b"id,x\na,1\nb,2,3\nc,4\n")


def test_ragged_rows_can_be_left_out_and_are_counted():
    preview = preview_table("a.csv", b"id,x\na,1\nb,2,3\nc\nd,4\n", Options(ragged="skip"))
    assert preview.frame["id"].to_list() == ["a", "d"]
    assert preview.findings[0].count == 2 and "row 3" in str(preview.findings[0])


OPTIONS = [
    (Options(delimiter=";"), b"id;x,y\na;1,2\n", {"id": ["a"], "x,y": [1.2]}),
    (Options(decimal=","), b"id;x\na;1\nb;2\n", {"id": ["a", "b"], "x": [1, 2]}),
    (Options(decimal="."), b"id;x\na;1,5\nb;2,5\n", {"id": ["a", "b"], "x": ["1,5", "2,5"]}),
    (Options(header=False), b"id,x\na,1\n", {"column_1": ["id", "a"], "column_2": ["x", "1"]}),
    (Options(header=True), b"1,2\n3,4\n", {"1": [3], "2": [4]}),
    (Options(encoding="latin-1"), b"id,x\n\x81,1\n", {"id": ["\x81"], "x": [1]}),
]


@pytest.mark.parametrize(("options", "content", "expected"), OPTIONS, ids=[str(k) for k in range(len(OPTIONS))])
def test_what_the_person_says_goes_before_guesses(options, content, expected):
    assert kinds("a.csv", content, options) == expected


def test_binary_tables_keep_their_types_and_categories_become_text():
    frame = pl.DataFrame(
        {
            "id": ["a", None],
            "kind": pl.Series(["u", "v"], dtype=pl.Categorical),
            "level": pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "hi"])),
            "x": pl.Series([1, None], dtype=pl.Int16),
            "day": [date(2020, 1, 1), None],
            "money": pl.Series(["1.50", "2.25"]).str.to_decimal(scale=2),
        }
    )
    for name, content in (
        ("a.parquet", hostile.parquet(frame)),
        ("a.arrow", hostile.arrow(frame)),
        ("b.csv", hostile.arrow(frame)),
    ):
        read = read_table(name, content)
        assert read.to_dict(as_series=False) == frame.with_columns(
            pl.col("kind", "level").cast(pl.String), pl.col("money").cast(pl.Float64)
        ).to_dict(as_series=False)
        assert read.schema["kind"] == pl.String and read.schema["x"] == pl.Int16


def test_a_small_workbook_is_read():
    text = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'
    rows = f"<row>{text.format('A1', 'id')}{text.format('B1', 'x')}</row>"
    rows += f'<row>{text.format("A2", "001")}<c r="B2"><v>2.5</v></c></row>'
    content = hostile.workbook(f"<sheetData>{rows}</sheetData>")
    preview = preview_table("a.xlsx", content)
    assert preview.frame.to_dict(as_series=False) == {"id": ["001"], "x": [2.5]}
    assert "XLSX" in preview.guesses and not preview.findings
    with pytest.raises(DataError, match="no sheet 'T': choose one of S"):
        preview_table("a.xlsx", content, Options(sheet="T"))


def test_errors_in_cells_of_a_workbook_are_reported():
    rows = '<row><c r="A1"><v>1</v></c><c r="B1" t="e"><v>#DIV/0!</v></c></row><row><c r="A2"><v>2</v></c></row>'
    rows += '<row><c r="A3"><v>3</v></c><c r="B3"><v>5</v></c></row>'
    preview = preview_table("a.xlsx", hostile.workbook(f"<sheetData>{rows}</sheetData>"))
    assert preview.frame.to_dict(as_series=False) == {"column_1": [1, 2, 3], "column_2": [None, None, 5]}
    assert [(found.kind, found.count) for found in preview.findings] == [("error_cell", 1)]


def test_a_file_is_read_from_its_beginning_and_not_beyond_the_limit(tmp_path):
    file = io.BytesIO(b"id,x\na,1\n")
    file.seek(5)
    assert read_table("a.csv", file).height == 1
    with open(tmp_path / "sparse", "w+b") as sparse:
        sparse.truncate(200 * 2**20)
        with pytest.raises(DataError, match="larger than 50 MB"):
            read_table("a.csv", sparse)


def test_names_are_shown_without_folders_and_control_characters():
    with pytest.raises(DataError) as caught:
        read_table("../../etc/\x1b[31m\u202e" + "n" * 300 + ".csv", b"")
    assert "/" not in str(caught.value) and "\x1b" not in str(caught.value) and "\u202e" not in str(caught.value)
    assert len(str(caught.value)) < 300


cells_of_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r\n"), max_size=8)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(cells_of_text.filter(str.strip), cells_of_text), min_size=1, max_size=8))
def test_text_comes_back_as_it_went_and_no_row_is_lost(rows):
    lines = [("id", "note"), *rows]
    text = "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) + "\n" for line in lines)
    read = read_table("a.csv", text.encode(), Options(text_columns=("note",)))
    assert read.rows() == [(identifier, note or None) for identifier, note in rows]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.binary(max_size=200), st.sampled_from(["a.csv", "a.json", "a.graphml", "a.gml", "a.mtx", "a.parquet", "a.xlsx"])
)
def test_any_bytes_are_read_or_refused_in_a_sentence(content, name):
    for read in (preview_table, preview_graph):
        try:
            assert read(name, content)[0].height > 0
        except DataError as error:
            assert name in str(error) and len(str(error)) < 300


# Graphs ---------------------------------------------------------------------------------------------------------------


def edges(name: str, content: bytes, options: Options = GUESS) -> list[tuple]:
    """Return the edges of an uploaded graph."""
    return preview_graph(name, content, options).edges.rows()


WEIGHTED = nx.Graph()
WEIGHTED.add_edge("007", "7", weight=2.5)
WEIGHTED.add_edge("7", "ä", weight=1.0)


def written(write: object) -> bytes:
    """Return what networkx writes of the graph."""
    buffer = io.BytesIO()
    write(WEIGHTED, buffer)
    return buffer.getvalue()


EDGES = [
    ("named", b"target,source,weight\nb,a,2\n", [("a", "b", 2.0)]),
    ("any names", b"film,actor\nF1,Ann\nF2,Bob\n", [("film", "actor"), ("F1", "Ann"), ("F2", "Bob")]),
    ("header-less", b"001,1\n1,2\n", [("001", "1"), ("1", "2")]),
    ("spaces and comments", b"# a graph\n% by hand\n1  2 0.5\n2 3   1\n", [("1", "2", 0.5), ("2", "3", 1.0)]),
    ("hashtags", b"#a,#b\n#b,#c\n", [("#a", "#b"), ("#b", "#c")]),
    ("tabs", b"from\tto\na\tb\n", [("a", "b")]),
    ("missing weight", b"source,target,weight\na,b,\nb,c,-1\n", [("a", "b", None), ("b", "c", -1.0)]),
    ("records", b'[{"source": "a", "target": 1}]', [("a", "1")]),
    ("parquet", hostile.parquet(pl.DataFrame({"source": [1, 2], "target": [2, 3]})), [("1", "2"), ("2", "3")]),
    ("graphml", written(nx.write_graphml), [("007", "7", 2.5), ("7", "ä", 1.0)]),
    ("gexf", written(nx.write_gexf), [("007", "7", 2.5), ("7", "ä", 1.0)]),
    ("gml", written(nx.write_gml), [("007", "7", 2.5), ("7", "ä", 1.0)]),
    (
        "node-link",
        b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b", "weight": 2}]}',
        [("a", "b", 2.0)],
    ),
    ("numbered", b'{"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": 0, "target": 1}]}', [("a", "b")]),
    ("matrix", b"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 2\n", [("2", "1"), ("3", "2")]),
    ("weights", b"%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 -1.5\n", [("2", "1", -1.5)]),
]


@pytest.mark.parametrize(("label", "content", "expected"), EDGES, ids=[case[0] for case in EDGES])
def test_good_graphs_are_read(label, content, expected):
    assert edges("graph.txt", content) == expected


def test_a_header_of_an_edge_list_can_be_set():
    assert edges("g.csv", b"film,actor\nF1,Ann\n", Options(header=True)) == [("F1", "Ann")]
    assert edges("g.csv", b"a,film,actor\n1,F1,Ann\n", Options(header=True, ends=("actor", "film"))) == [("Ann", "F1")]
    with pytest.raises(DataError, match="no column 'x'"):
        edges("g.csv", b"film,actor\nF1,Ann\n", Options(ends=("x", "actor")))


def test_nodes_can_be_named_by_label_or_id():
    content = b'graph [ node [ id 3 label "a" ] node [ id 4 label "b" ] edge [ source 3 target 4 ] ]'
    assert edges("g.gml", content) == [("a", "b")]
    assert edges("g.gml", content, Options(nodes_by="id")) == [("3", "4")]
    twice = content.replace(b'"b"', b'"a"')
    assert edges("g.gml", twice) == [("3", "4")]
    with pytest.raises(DataError, match="cannot be named by label"):
        edges("g.gml", twice, Options(nodes_by="label"))


def test_attributes_of_nodes_are_a_table_by_id():
    nodes = preview_graph("k.graphml", written_karate()).nodes
    assert nodes.columns == ["id", "club"] and nodes.height == 34
    assert nodes.row(0) == ("0", "Mr. Hi")


def written_karate() -> bytes:
    """Return the karate club as GraphML."""
    buffer = io.BytesIO()
    nx.write_graphml(nx.karate_club_graph(), buffer)
    return buffer.getvalue()


def test_a_graph_is_one_of_hetcore_and_says_what_it_merged():
    graph = read_graph("g.csv", b"source,target,weight\na,b,1\na,b,2\nb,b,1\nb,c,-1\nc,a,nan\n")
    assert isinstance(graph, Graph)
    assert graph.n_edges == 1 and graph.weights.tolist() == [3.0, 3.0]
    assert {found.kind for found in graph.findings} == {"self_loop", "bad_weight", "repeated_edge"}


def test_ends_that_are_no_nodes_and_direction_are_reported():
    content = hostile.graphml("<node id='a'/><edge source='a' target='b'/>").replace(b"undirected", b"directed")
    preview = preview_graph("g.graphml", content)
    assert preview.edges.rows() == [("a", "b")]
    assert {found.kind: found.count for found in preview.findings} == {"directed": 1, "unknown_node": 1}


def test_a_direction_of_a_recipe_that_is_no_truth_value_is_refused_with_the_file_that_it_is_of():
    with pytest.raises(DataError, match="links.csv.*: directed='no' is no truth value: give True or False"):
        read_graph("links.csv", b"source,target\na,b\n", Options(directed="no"))
