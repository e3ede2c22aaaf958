"""The readers of uploads at their edges: what is just within a limit and what is just beyond, and exact words."""

from __future__ import annotations

import io
import itertools
import zipfile
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

from hetcore.errors import DataError
from studio import messages, uploads
from studio.limits import UPLOADS
from studio.readers import (
    archives,
    binary,
    columns,
    decoding,
    delimited,
    excel,
    gml,
    graphs,
    json_records,
    matrix_market,
    parsing,
    xml_graphs,
)
from studio.readers import images as parsing_images
from studio.readers.columns import typed
from studio.streams import from_stream
from tests import hostile


def table(content, name="a.csv", **options):
    """Return the words and the frame of a table."""
    words, blocks = parsing.parse(name, "table", options, content)
    return words, from_stream(blocks[0])


def graph(content, name="g.csv", **options):
    """Return the words and the frames of a graph."""
    words, blocks = parsing.parse(name, "graph", options, content)
    return words, [from_stream(block) for block in blocks]


@pytest.fixture
def limited(monkeypatch):
    """Return a function that changes the limits that a reader knows."""

    def change(module, **limits):
        monkeypatch.setattr(module, "UPLOADS", UPLOADS._replace(**limits))

    return change


# Words ----------------------------------------------------------------------------------------------------------------

REFUSALS = [
    (DataError("As it is."), "As it is."),
    (MemoryError(), "a.csv needs more memory than one upload may have: split it or leave columns out."),
    (RecursionError(), "a.csv is nested too deeply: export it as a plain table or edge list."),
    (
        ValueError("x" * 200),
        f"a.csv could not be read (ValueError: {'x' * 108}): it is damaged or not what its name says; "
        "save it anew as CSV.",
    ),
]


@pytest.mark.parametrize(("error", "sentence"), REFUSALS)
def test_the_sentence_for_an_error_of_a_reader(error, sentence):
    assert parsing.why_not("a.csv", error) == sentence


@pytest.mark.parametrize(
    ("longest", "expected"), [(10, "0123456789"), (9, "012…6789"), (8, "012…6789"), (4, "0…89"), (60, "0123456789")]
)
def test_long_names_are_shortened_in_the_middle(longest, expected):
    assert messages.shown("0123456789", longest) == expected


def test_names_and_messages_are_shown_on_one_line():
    assert messages.shown("a\nb\x00") == "a\ufffdb\ufffd"
    assert messages.one_sentence(" a\n b") == "a" and messages.one_sentence("") == ""
    assert messages.one_sentence("a\x00b") == "a\ufffdb"
    assert messages.one_sentence("x" * 299) == "x" * 299
    assert messages.one_sentence("x" * 300) == "x" * 298 + "…"


def test_foreign_errors_keep_their_kind_and_lose_the_servers_paths():
    assert messages.foreign(ValueError()) == "ValueError"
    assert messages.foreign(ValueError("no /usr/lib/x/y.py.")) == "ValueError: no a file of the server"
    assert messages.foreign(ValueError("abc"), 13) == "ValueError: a"
    assert len(messages.foreign(ValueError("x" * 500))) == 200
    assert messages.explained(DataError("Ours.")) == "Ours."
    hint = "The computation stopped with an error of its own (KeyError: 'x'): try other settings, or report it."
    assert messages.explained(KeyError("x")) == hint


# Limits ---------------------------------------------------------------------------------------------------------------

SIZES = [
    ({"rows": 3}, (3, 1), (4, 1), "4 rows, more than 3"),
    ({"columns": 2}, (1, 2), (1, 3), "3 columns, more than 2"),
    ({"edges": 3}, (3, 1, True), (4, 1, True), "4 edges, more than 3"),
    ({}, (3, 2, False, 6), (7, 1, False, 6), "7 cells, more than 6"),
]


@pytest.mark.parametrize(("limits", "good", "bad", "message"), SIZES)
def test_tables_may_have_as_much_as_the_limits_and_no_more(limited, limits, good, bad, message):
    limited(columns, **limits)
    columns.refuse_size("a.csv", *good)
    with pytest.raises(DataError, match=message):
        columns.refuse_size("a.csv", *bad)


def test_graphs_may_have_as_many_edges_as_the_limit(limited):
    limited(graphs, edges=2)
    frame = pl.DataFrame({"source": ["a", "b"]})
    assert graphs.limited("g", frame) is frame
    with pytest.raises(DataError, match="has 3 edges, more than 2"):
        graphs.limited("g", pl.concat([frame, frame.head(1)]))


def test_zips_may_list_as_many_files_as_the_limit(limited):
    limited(archives, archive_members=2)
    archives.refuse_many_entries("a.zip", hostile.zipped(a=b"", b=b""), "zip less")
    with pytest.raises(DataError, match="holds 3 files, over 2: zip less"):
        archives.refuse_many_entries("a.zip", hostile.zipped(a=b"", b=b"", c=b""), "zip less")


def test_a_workbook_may_unpack_to_as_much_as_the_limits(limited):
    def checked(size, packed):
        excel._check_members("a.xlsx", [SimpleNamespace(file_size=size, flag_bits=0)], packed)

    limited(excel, unpacked_bytes=2**22, unpacked_ratio=3)
    checked(2**22, 2**22)
    checked(2**20 + 30, 10)
    for size, packed in ((2**22 + 1, 2**22), (2**20 + 31, 10)):
        with pytest.raises(DataError, match="unpacks to"):
            checked(size, packed)
    with pytest.raises(DataError, match="encrypted"):
        excel._check_members("a.xlsx", [SimpleNamespace(file_size=1, flag_bits=9)], 1)


def test_a_sheet_may_unpack_to_as_much_as_the_limit_and_has_no_entities(limited):
    def checked(content):
        with zipfile.ZipFile(io.BytesIO(hostile.zipped(a=content))) as archive:
            return excel._check_extent("a.xlsx", archive, archive.infolist()[0])

    limited(excel, unpacked_bytes=20)
    checked(b"x" * 20)
    with pytest.raises(DataError, match="more than it announces"):
        checked(b"x" * 21)
    for content in (b"<!DOCTYPE x>", b"<!ENTITY x>"):
        with pytest.raises(DataError, match="entities"):
            checked(content)


@pytest.mark.parametrize(("letters", "number"), [(b"A", 1), (b"z", 26), (b"AA", 27), (b"XFD", 16_384)])
def test_columns_of_a_workbook_are_counted(letters, number):
    assert excel._column_number(letters) == number


TEXTS = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_in_parquet_may_unpack_to_a_quarter_of_the_memory(limited, kind):
    content = hostile.parquet(pa.table({"id": pa.array(["aa", "bb"], kind), "x": [1.0, 2.0]}))
    limited(binary, parser_memory=16)
    assert binary.read_parquet("a", content, {}).frame["id"].to_list() == ["aa", "bb"]
    limited(binary, parser_memory=15)
    with pytest.raises(DataError, match="of text"):
        binary.read_parquet("a", content, {})
    limited(binary, parser_memory=0)
    empty = pa.table({"id": pa.array([None, None], kind), "x": [1.0, 2.0]})
    assert binary.read_parquet("a", hostile.parquet(empty), {}).frame.height == 2


def test_words_in_arrow_may_unpack_to_a_quarter_of_the_memory(limited):
    words = pa.array(["aa", None, "aa"]).dictionary_encode()
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, pa.schema({"id": words.type, "x": pa.int64()})) as file:
        file.write_table(pa.table({"id": words, "x": [1, 2, 3]}))
    limited(binary, parser_memory=16)
    assert binary.read_arrow("a", buffer.getvalue(), {}).frame.rows() == [("aa", 1), (None, 2), ("aa", 3)]
    limited(binary, parser_memory=15)
    with pytest.raises(DataError, match="of text"):
        binary.read_arrow("a", buffer.getvalue(), {})


def test_rows_of_arrow_batches_are_counted(limited):
    content = hostile.arrow(pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]}))
    limited(columns, rows=2)
    assert binary.read_arrow("a", content, {}).frame.height == 2
    limited(columns, rows=1)
    with pytest.raises(DataError, match="2 rows, more than 1"):
        binary.read_arrow("a", content, {})
    limited(columns, rows=1, edges=2)
    assert binary.read_arrow("a", content, {"edges": True}).frame.height == 2


def test_records_are_counted_before_they_are_all_there(limited, monkeypatch):
    asked = []
    monkeypatch.setattr(json_records, "refuse_size", lambda name, *size: asked.append(size))
    limited(json_records, cells=1, columns=3)
    json_records._table("a", [{"a": "1", "b": "2"}] * 4, [])
    assert [size[:2] for size in asked[:2]] == [(3, 2), (4, 2)]
    asked.clear()
    limited(json_records, columns=1)
    json_records._table("a", [{"a": "1"}, {"b": "2"}], [])
    assert (2, 2) in asked and (1, 1) not in asked


def test_lines_may_be_as_long_as_the_limit(limited):
    limited(decoding, line_bytes=5)  # with the end of the line
    for text in (b"abcd", b"abcd\n", b"a\nabcd\nb"):
        decoding._refuse_long_lines("a", text)
    for text, line in ((b"abcde\nb", 1), (b"a\nabcde", 2)):
        with pytest.raises(DataError, match=rf"\(line {line}\)"):
            decoding._refuse_long_lines("a", text)


def test_uploads_are_read_from_their_beginning_up_to_the_limit(limited):
    limited(uploads, file_bytes=3)
    file = io.BytesIO(b"abc")
    file.seek(2)
    assert uploads._content("a", file) == uploads._content("a", b"abc") == uploads._content("a", bytearray(b"abc"))
    asked = []
    stream = SimpleNamespace(seekable=lambda: False, seek=None, read=lambda n: asked.append(n) or b"ab")
    assert uploads._content("a", stream) == b"ab" and asked == [4]
    for content in (b"abcd", io.BytesIO(b"abcd")):
        with pytest.raises(DataError, match="a is larger than"):
            uploads._content("a", content)


# Text -----------------------------------------------------------------------------------------------------------------

UTF_16 = [
    (b"a\x00b\x00", "utf-16-le"),
    (b"\x00a\x00b", "utf-16-be"),
    (b"a\x00", None),
    (b"a\x00b\x00c", None),
    (b"a\x00" * 7 + b"aa" * 3, "utf-16-le"),
    (b"a\x00" * 6 + b"aa" * 4, None),
    (b"a\x00" * 9 + b"\x00\x00", "utf-16-le"),
    (b"a\x00" * 8 + b"\x00\x00" * 2, None),
    (b"\x00a" * 9 + b"\x00\x00", "utf-16-be"),
    (b"abcd", None),
]


@pytest.mark.parametrize(("content", "codec"), UTF_16)
def test_utf_16_is_recognised_by_its_nul_bytes(content, codec):
    assert decoding._utf16_without_mark(content) == codec


def test_a_euro_sign_of_cp1252_is_no_pickle():
    assert table(b"\x80,x\na,1\n")[1].columns == ["€", "x"]
    assert parsing.recognised("a.csv", "table", b"\x80,x\na,1\n") == "delimited"
    with pytest.raises(DataError, match="pickle"):
        parsing.recognised("a.csv", "table", b"\x80\x04\x95")


def test_more_than_half_of_the_strange_bytes_must_be_utf_8_for_a_mix():
    with pytest.raises(DataError, match=r"mixes encodings \(line 2 "):
        table("id,ä\n".encode() + b"\xe4,1\n")
    assert table("id,ä\n".encode() + b"\xe4\xe4,1\n")[1].columns[0] == "id"


# Tables ---------------------------------------------------------------------------------------------------------------


def test_repeated_names_are_numbered_from_two():
    assert columns.column_names(["x", "x", "x"])[0] == ["x", "x_2", "x_3"]
    assert columns.column_names(["x", "x", "x_2"])[0] == ["x", "x_3", "x_2"]
    names, found = columns.column_names([" a ", "", "*", "b" * 1001, "b" * 1000])
    assert names == ["a", "column_2", "*_", "b" * 1000 + "_2", "b" * 1000]
    assert [(each.kind, each.count, each.examples) for each in found] == [
        ("blank_header", 1, ("column_2",)),
        ("long_header", 1, ("column 4",)),
        ("pattern_header", 1, ("*",)),
    ]


@pytest.mark.parametrize("name", ["id", " ID ", "user_id", "UserId", "userIDs", "film-id", "name", "row", "key"])
def test_names_of_ids(name):
    assert columns.looks_like_id(name)


@pytest.mark.parametrize("name", ["paid", "x", "idx", "identity", "David"])
def test_names_of_no_ids(name):
    assert not columns.looks_like_id(name)


def test_types_are_those_of_the_cells():
    words, frame = table(b"id,n,f,e,w\na,1,1.5,,NA\nb,2,2,,3\n")
    assert dict(frame.schema) == {"id": pl.String, "n": pl.Int64, "f": pl.Float64, "e": pl.String, "w": pl.Int64}
    assert words["guesses"] == ["commas between columns"]
    words, frame = table(b"id;a;b\nr;1,5;2,5\ns;3;NA\n")
    assert frame.rows() == [("r", 1.5, 2.5), ("s", 3.0, None)]
    assert "decimal commas" in " ".join(words["guesses"]) or "decimal comma" in words["guesses"]


def test_truth_values_of_json():
    words, frame = table(b'[{"id":"a","x":true},{"id":"b","x":false}]', "a.json")
    assert frame["x"].to_list() == [True, False]
    words, frame = table(b'{"id":["a","b"],"x":[false,null]}', "a.json")
    assert frame["x"].to_list() == [False, None]


@pytest.mark.parametrize(("strange", "reported"), [(1, True), (2, False)])
def test_a_column_of_numbers_but_for_one_in_twenty_is_reported(strange, reported):
    content = b"id,x\n" + b"a,1\n" * (20 - strange) + b"a,one\n" * strange
    words, frame = table(content)
    assert frame.schema["x"] == pl.String
    assert [found[0] for found in words["findings"]] == (["not_a_number"] if reported else [])


def test_the_delimiter_is_what_cuts_most_lines_alike():
    assert delimited._consistency([["a", "b"], ["a", "b"], ["a"], ["a", "b"]]) == (0.75, 2)
    assert delimited._consistency([["a"], ["a", "b"], ["a", "b"]]) == (0.335, 2)
    assert delimited._consistency([["a", "b"], ["a", "b", "c"], ["a", "b", "c"]]) == (0.67, 3)
    assert delimited._consistency([["a"], ["b"]])[0] == 0.0
    assert delimited._usual_width([["a"], ["a", "b"], ["c", "d"]]) == 2
    assert delimited._usual_width([]) == 0


# Graphs ---------------------------------------------------------------------------------------------------------------


def test_the_line_of_wrong_gml_is_named():
    for content, line in ((b"\ngraph [ ] ]", 2), (b"graph [ ] ]", 1), (b"graph\n[\n\n ! ]", 2)):
        with pytest.raises(DataError, match=rf"no valid GML \(line {line}\)"):
            gml.read_gml("g.gml", content, {})


def test_a_matrix_is_symmetric_where_every_entry_has_another():
    pairs = list(itertools.product((1, 2, 3), repeat=2))
    for chosen in itertools.chain.from_iterable(itertools.combinations(pairs, k) for k in (1, 2, 3)):
        uneven = any((b, a) not in chosen for a, b in chosen)
        assert matrix_market._uneven(np.array(chosen), 3) == uneven


def test_a_matrix_of_one_node_is_a_graph():
    words, (edges,) = graph(b"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "g.mtx")
    assert edges.rows() == [("1", "1")]
    with pytest.raises(DataError, match="0 x 0"):
        graph(b"%%MatrixMarket matrix coordinate pattern general\n0 0 0\n", "g.mtx")


def test_matrices_may_be_as_large_as_the_limits(limited):
    limited(matrix_market, rows=2, edges=1)
    header = b"%%MatrixMarket matrix coordinate pattern general\n"
    assert graph(header + b"2 2 1\n1 2\n", "g.mtx")[1][0].height == 1
    for size in (b"3 3 1\n1 2\n", b"2 2 2\n1 2\n2 1\n"):
        with pytest.raises(DataError, match="more than 2 and 1"):
            graph(header + size, "g.mtx")


NODES = '<node id="1"><data key="k">A</data></node><node id="2"><data key="k">B</data></node>'
LABELS = '<key id="k" for="node" attr.name="label"/>'


@pytest.mark.parametrize(("nodes_by", "names"), [("label", ["A", "B"]), ("id", ["1", "2"])])
def test_nodes_of_graphml_are_named_as_asked(nodes_by, names):
    body = NODES + '<edge source="1" target="2" sourceport="p"/><edge source="2" target="1" targetport="p"/>'
    words, (edges, nodes) = graph(hostile.graphml(body, header=LABELS), "g.graphml", nodes_by=nodes_by)
    assert nodes["id"].to_list() == names
    assert edges.select("source", "target").rows() == [tuple(names), tuple(names[::-1])]
    assert [found[2] for found in words["findings"] if "port" in found[3]] == [2]


# Images ---------------------------------------------------------------------------------------------------------------


def photos(**images):
    """Return a zip of PNG images."""
    members = {}
    for name, image in images.items():
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        members[f"{name}.png"] = buffer.getvalue()
    return hostile.zipped(**members)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0, 255], [0, 255]), ([0, 256], [0, 0]), ([65_535, 257], [255, 1]), ([100_000, 0], [255, 0]), ([-9, 9], [0, 9])],
)
def test_deep_grey_is_brought_to_eight_bits(values, expected):
    image = Image.fromarray(np.array([values], np.int32))
    assert image.mode == "I"
    assert np.asarray(parsing_images._plain(image)).tolist() == [expected]


def test_what_is_transparent_is_white():
    clear = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    clear.putpixel((1, 0), (10, 20, 30, 255))
    assert np.asarray(parsing_images._plain(clear)).tolist() == [[[255, 255, 255], [10, 20, 30]]]
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([1, 2, 3] * 256)
    palette.info["transparency"] = 0
    assert np.asarray(parsing_images._plain(palette)).tolist() == [[[255, 255, 255]]]


def test_colours_that_are_all_grey_are_one_channel():
    grey = Image.new("RGB", (3, 3), (7, 7, 7))
    assert parsing_images.read("p.zip", photos(a=grey)).pixels.shape == (1, 3, 3, 1)
    grey.putpixel((1, 1), (7, 7, 8))
    assert parsing_images.read("p.zip", photos(a=grey)).pixels.shape == (1, 3, 3, 3)


def test_images_may_have_as_many_pixels_as_the_limit(limited):
    content = photos(a=Image.new("L", (5, 4)), b=Image.new("L", (4, 5)))
    limited(parsing_images, image_pixels=20)
    assert parsing_images.read("p.zip", content).pixels.shape[0] == 2
    limited(parsing_images, image_pixels=19)
    with pytest.raises(DataError, match="has 5 x 4 pixels"):
        parsing_images.read("p.zip", content)


def test_images_may_unpack_to_as_much_as_the_limits(limited):
    content = hostile.zipped(**{"a.png": b"x" * 100})
    for limits in ({"unpacked_bytes": 99}, {"unpacked_ratio": 0}):
        limited(parsing_images, **limits)
        with pytest.raises(DataError, match="unpack"):
            parsing_images.read("p.zip", content)
    limited(parsing_images, unpacked_bytes=100)
    with pytest.raises(DataError, match="damaged"):
        parsing_images.read("p.zip", content)


def test_large_images_are_brought_to_one_size():
    sizes = (parsing_images.LARGEST, parsing_images.LARGEST), (parsing_images.LARGEST + 1, 3)
    ours = [parsing_images._plain(Image.new("L", size)).size for size in sizes]
    assert ours == [sizes[0], (parsing_images.SIDE, parsing_images.SIDE)]


def test_typed_columns_keep_the_words_of_the_reader():
    parsed = delimited.read("a.csv", b"id,x\na,1\n", {})
    assert typed(parsed, {}).guesses == parsed.guesses


# What is told ---------------------------------------------------------------------------------------------------------


def test_what_an_edge_list_was_taken_for_is_reported():
    words, (edges,) = graph(b"source,target,weight,x,y\na,b,NA,1,2\nc,d,2,3,4\n")
    assert words["guesses"] == ["commas between columns", "edges from 'source' to 'target'", "weights in 'weight'"]
    unused = [["unused_column", "", 2, "2 columns are not used", ["x", "y"]]]
    assert [found for found in words["findings"] if found[0] == "unused_column"] == unused
    assert edges.rows() == [("a", "b", None), ("c", "d", 2.0)]
    words, (edges,) = graph(b"source,target\na,b\n")
    assert edges.columns == ["source", "target"] and words["findings"] == []


@pytest.mark.parametrize("weights", [pl.Series([1.5, None]), pl.Series([" 1.5 ", "nan"]), pl.Series(["1.5", ""])])
def test_missing_weights_stay_missing(weights):
    assert graphs._weights("g", weights).to_list() == [1.5, None]
    assert graphs._weights("g", weights[:0]).to_list() == []


def test_the_first_weight_that_is_no_number_is_named():
    with pytest.raises(DataError, match="the weight 'x' of edge 2 is no number"):
        graphs._weights("g", pl.Series(["1", "x", "y"]))


def test_graphs_of_nodes_tell_what_they_lack():
    edges = [("a", "b", "2"), *((f"{k}", "b", None) for k in range(7))]
    found = graphs.finished_graph("g", ["a", "b"], [{}, {}], edges, ["reported"])
    assert found.guesses == ["reported"]
    assert found.edges["weight"].to_list() == [2.0] + [1.0] * 7
    kinds = {each.kind: each for each in found.findings}
    assert kinds["missing_weight"].count == 7
    assert kinds["missing_weight"].examples == tuple(f"{k} – b" for k in range(5))
    assert kinds["unknown_node"].count == 7
    with pytest.raises(DataError, match="the node 'c' twice"):
        graphs.finished_graph("g", ["a", "c", "b", "c"], [{}] * 4, edges, [])
    assert graphs.finished_graph("g", ["a"], [{}], [], []).edges.rows() == []


def test_a_symmetric_matrix_has_no_direction_and_a_general_one_may():
    entries = b"2 2 1\n2 1\n"
    message = [
        [found[0] for found in graph(b"%%MatrixMarket matrix coordinate pattern " + kind, "g.mtx")[0]["findings"]]
        for kind in (b"symmetric\n" + entries, b"general\n" + entries, b"general\n2 2 2\n1 2\n2 1\n")
    ]
    assert message == [[], ["directed"], []]


@pytest.mark.parametrize(
    ("kind", "reported"), [("", []), (' edgedefault="undirected"', []), (' edgedefault="directed"', ["directed"])]
)
def test_graphml_has_a_direction_where_it_says_so(kind, reported):
    body = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
    content = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph{kind}>{body}</graph></graphml>'.encode()
    assert [found[0] for found in graph(content, "g.graphml")[0]["findings"]] == reported


def test_xml_may_be_as_deep_and_its_tags_as_long_as_the_limits(limited):
    content = hostile.graphml('<node id="a"/><node id="b"/><edge source="a" target="b"/>')
    longest = max(len(part) + 1 for part in content.split(b"<"))
    limited(xml_graphs, nesting=3, xml_token_bytes=longest)
    assert graph(content, "g.graphml")[1][0].height == 1
    limited(xml_graphs, nesting=2)
    with pytest.raises(DataError, match="nested more than 2 deep"):
        graph(content, "g.graphml")
    limited(xml_graphs, xml_token_bytes=longest - 1)
    with pytest.raises(DataError, match="a tag or text of"):
        graph(content, "g.graphml")


def test_gml_needs_ids_of_nodes_and_ends_of_edges():
    for body, message in (
        ('node [ id "" ]', "node 1 has no id"),
        ("node [ id [ x 1 ] ]", "node 1 has no id"),
        ("node [ id 1 ] edge [ source 1 ]", "edge 1 has no target"),
        ("node [ id 1 ] node [ id 1 ]", "the node '1' twice"),
    ):
        with pytest.raises(DataError, match=message):
            graph(f"graph [ {body} ]".encode(), "g.gml")
    words, (edges, nodes) = graph(b'graph [ node [ id 1 label "a" ] edge [ source 1 target 2 value 3 ] ]', "g.gml")
    assert edges.rows() == [("a", "2", 3.0)] and nodes["id"].to_list() == ["a"]


def test_other_files_of_a_zip_are_counted_and_some_named(limited):
    content = photos(a=Image.new("L", (2, 2)))
    with zipfile.ZipFile(buffer := io.BytesIO(content), "a") as archive:
        for k in range(7):
            archive.writestr(f"{k}.txt", b"")
    found = parsing_images.read("p.zip", buffer.getvalue()).findings
    assert [(each.kind, each.count, each.examples) for each in found] == [
        ("no_image", 7, tuple(f"{k}.txt" for k in range(5)))
    ]
    limited(parsing_images, archive_members=8)
    assert parsing_images.read("p.zip", buffer.getvalue()).ids == ["a"]
    limited(parsing_images, archive_members=7)
    with pytest.raises(DataError, match="holds 8 files, over 7"):
        parsing_images.read("p.zip", buffer.getvalue())
    assert parsing_images._short(ValueError()) == "ValueError" and parsing_images._short(ValueError("a\nb")) == "a"


def test_some_moments_do_not_make_a_column_of_moments():
    content = b"id,x,y\na,2020-01-01 10:00:00,2020-01-01\nb,soon,soon\n"
    assert table(content)[1].schema["x"] == table(content)[1].schema["y"] == pl.String
    frame = table(b"id,x\na,soon\nb,2020-01-01 10:00:00\n")[1]
    assert frame["x"].to_list() == ["soon", "2020-01-01 10:00:00"]


def test_columns_are_typed_in_parts_of_any_size(monkeypatch):
    content = b"id,a,b,c\nr,1,2.5,x\ns,,,\n"
    whole = table(content)[1]
    for cells in (1, 2, 4):
        monkeypatch.setattr("studio.readers.columns._CELLS", cells)
        assert table(content)[1].equals(whole) and table(content)[1].schema == whole.schema
    assert whole.rows() == [("r", 1, 2.5, "x"), ("s", None, None, None)]


def test_binary_columns_without_a_type_are_numbers():
    frame = binary.read_arrow("a", hostile.arrow(pl.DataFrame({"id": ["a"], "x": [None]})), {}).frame
    assert frame.schema["x"] == pl.Float64


def test_columns_of_arrow_are_counted_before_its_rows(limited):
    limited(columns, columns=1)
    with pytest.raises(DataError, match="has 2 columns, more than 1"):
        binary.read_arrow("a", hostile.arrow(pl.DataFrame({"id": [], "x": []})), {})


def test_the_line_of_a_nul_byte_is_named():
    for content, line in ((b"\nid,x\na\x00,1\n", 3), (b"id\x00,x\na,1\n", 1)):
        with pytest.raises(DataError, match=f"line {line}"):
            table(content)
