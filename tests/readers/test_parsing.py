"""The readers of uploads at their edges: what is just within a limit and what is just beyond, and exact words."""

from __future__ import annotations

import io
import zipfile
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

from hetcore.errors import DataError
from studio import messages, uploads
from studio.readers import (
    archives,
    binary,
    columns,
    decoding,
    delimited,
    excel,
    graphs,
    json_records,
    parsing,
)
from tests import hostile
from tests.readers.parsing import table

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


@pytest.mark.parametrize(("file", "write"), [("a.parquet", hostile.parquet), ("a.arrow", hostile.arrow)])
def test_columns_of_no_single_values_are_left_out_and_all_named(file, write):
    kinds = {"tags": pa.list_(pa.int64()), "at": pa.struct({"y": pa.int64()}), "raw": pa.binary()}
    cells = {"tags": [[1], []], "at": [{"y": 1}, None], "raw": [b"a", b"b"]}
    nested = {name: pa.array(cells[name], kind) for name, kind in kinds.items()}
    content = write(pa.table({"id": ["a", "b"], **nested, "at.y": ["u", "v"], "x": [1.5, 2.5]}))
    found = uploads.preview_table(file, content)
    assert found.frame.rows() == [("a", "u", 1.5), ("b", "v", 2.5)]
    assert [str(each) for each in found.findings] == [
        "3 columns left out that hold no single values: 'tags' (list), 'at' (struct), 'raw' (binary); "
        "unnest or decode before use."
    ]
    with pytest.raises(DataError, match=r"'tags' \(list\), 'at' \(struct\), 'raw' \(binary\) hold no single values"):
        uploads.preview_table(file, write(pa.table({"id": ["a", "b"], **nested})))


@pytest.mark.parametrize(
    "content",
    [
        b'[{"id": "a", "x": 1, "at": {"y": 1}}, {"id": "b", "tags": [], "x": 2, "at": "u"}]',
        b'{"id": "a", "x": 1, "at": {"y": 1}}\n{"id": "b", "tags": [], "x": 2, "at": null}',
        b'{"id": ["a", "b"], "x": [1, 2], "at": [null, {"y": 1}], "tags": [[], null]}',
    ],
    ids=["records", "lines", "columns"],
)
def test_fields_of_json_that_are_lists_or_objects_are_left_out_and_named(content):
    found = uploads.preview_table("a.json", content)
    assert found.frame.columns == ["id", "x"] and found.frame.rows() == [("a", 1), ("b", 2)]
    assert [str(each) for each in found.findings] == [
        "2 columns left out that hold no single values: 'at' (object), 'tags' (list); unnest or decode before use."
    ]


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
