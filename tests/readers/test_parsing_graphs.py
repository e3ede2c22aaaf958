"""The readers of graphs and images at their edges, and what readers tell of a file."""

from __future__ import annotations

import io
import itertools
import zipfile

import numpy as np
import polars as pl
import pytest
from PIL import Image

from hetcore.errors import DataError
from studio.readers import (
    binary,
    columns,
    delimited,
    gml,
    graphs,
    matrix_market,
    xml_graphs,
)
from studio.readers import images as parsing_images
from studio.readers.columns import typed
from tests import hostile
from tests.readers.parsing import graph, table

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
    unused = [["unused_column", "", 2, "2 columns not used", ["x", "y"]]]
    assert [found for found in words["findings"] if found[0] == "unused_column"] == unused
    assert edges.rows() == [("a", "b", None), ("c", "d", 2.0)]
    words, (edges,) = graph(b"source,target\na,b\n")
    assert edges.columns == ["source", "target"] and words["findings"] == []


@pytest.mark.parametrize("weights", [pl.Series([1.5, None]), pl.Series([" 1.5 ", "nan"]), pl.Series(["1.5", ""])])
def test_missing_weights_stay_missing(weights):
    assert graphs._weights("g", weights).to_list() == [1.5, None]
    assert graphs._weights("g", weights[:0]).to_list() == []


@pytest.mark.parametrize(("given", "read", "kind"), [
    (("0,5", "12"), [0.5, 12.0], None), (("1.234", "59"), [1.234, 59.0], "thousands"),
    (("1.234,50", "2"), [1234.5, 2.0], "grouped_number"), (("n/a", "2"), [None, 2.0], "missing_word"),
    (("007", "2"), [7.0, 2.0], None),
])  # fmt: skip
def test_weights_are_numbers_as_those_of_tables_are_with_the_same_findings(given, read, kind):
    words, (edges,) = graph("source;target;weight\na;b;{}\nc;d;{}\n".format(*given).encode())
    assert edges["weight"].to_list() == read
    assert [found[0] for found in words["findings"]] == ([kind] if kind else [])


def test_ends_are_columns_that_name_the_same_things_where_a_date_or_a_number_stands_before_them():
    calls = "".join(f"2023-01-{k % 9 + 1:02d},k{k},k{(7 * k + 1) % 30},yes,{k}\n" for k in range(30))
    words, (edges,) = graph(f"date,caller,called,paid,minutes\n{calls}".encode())
    assert "edges from 'caller' to 'called'" in words["guesses"] and edges.row(0) == ("k0", "k1")
    loans = "".join(f"reader {k},book {k % 11},yes,yes,{k}\n" for k in range(30))
    assert "edges from 'who' to 'what'" in graph(f"who,what,paid,known,days\n{loans}".encode())[0]["guesses"]


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
