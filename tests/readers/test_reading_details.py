"""What files say beside their cells is obeyed or told: separators, hidden sheets, turned pictures, default weights."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest
from PIL import Image

from hetcore.errors import DataError
from studio import uploads
from studio.readers.columns import end_columns
from studio.uploads import Options, preview_graph, preview_images, preview_table, read_table

ENDS = [
    (["from_film", "to_film"], ("from_film", "to_film")),
    (["from node", "to node", "w"], ("from node", "to node")),
    (["weight", "Source.id", "Target.id"], ("Source.id", "Target.id")),
    (["film_from", "film_to"], ("film_from", "film_to")),
    (["user1", "user2"], ("user1", "user2")),
    (["film_2", "film_1"], ("film_1", "film_2")),
    (["From", "To"], ("From", "To")),
    (["from_film", "to_actor"], None),
    (["x1", "y2"], None),
    (["film", "year"], None),
    (["tomato", "fromage"], None),
]


@pytest.mark.parametrize(("names", "ends"), ENDS, ids=[",".join(names) for names, _ in ENDS])
def test_columns_named_like_ends_of_edges_are_found(names, ends):
    assert end_columns(names) == ends


@pytest.mark.parametrize("header", [b"from_film,to_film\n", b"from node,to node\n", b"film_1,film_2\n"])
def test_an_edge_list_is_known_by_its_header_which_is_no_edge(header):
    content = header + b"alien,heat\nheat,jaws\n"
    upload = uploads.read("cast.csv", content)
    assert upload.role == "graph"
    assert upload.frame.rows() == [("alien", "heat"), ("heat", "jaws")]


def test_the_first_line_of_excel_names_the_delimiter_and_is_no_header():
    for mark in (b"sep=;\n", b"SEP=;\r\n", b'"sep=;"\n'):
        preview = preview_table("a.csv", mark + b"id;x\na;1,5\nb;2,5\n")
        assert preview.frame.rows() == [("a", 1.5), ("b", 2.5)] and preview.frame.columns == ["id", "x"]
        assert "a line sep= left out" in preview.guesses
    assert read_table("a.csv", b"sep=a,x\nb,1\n").columns == ["sep=a", "x"]


def workbook(*sheets: tuple[str, str, str]) -> bytes:
    """Return a workbook of sheets (name, state, value of the one cell below x)."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k}" state="{state}" r:id="r{k}"/>'
        for k, (name, state, _) in zip(numbers, sheets)
    )
    links = "".join(f'<Relationship Id="r{k}" Type="{rel}/worksheet" Target="worksheets/s{k}.xml"/>' for k in numbers)
    package = "http://schemas.openxmlformats.org/package/2006"
    office = f'<Relationship Id="r" Type="{rel}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">{office}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
    }
    for k, (_, _, value) in zip(numbers, sheets):
        cells = [("A1", "id"), ("B1", "x"), ("A2", "a"), ("B2", value)]
        text = "".join(f'<c r="{at}" t="inlineStr"><is><t>{cell}</t></is></c>' for at, cell in cells)
        rows = text.replace('<c r="A1"', '<row r="1"><c r="A1"').replace('<c r="A2"', '</row><row r="2"><c r="A2"')
        data = f'<worksheet xmlns="{main}"><sheetData>{rows}</row></sheetData></worksheet>'
        parts[f"xl/worksheets/s{k}.xml"] = data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_sheet_that_is_seen_goes_before_a_hidden_one_and_hidden_ones_are_named():
    content = workbook(("Secret", "hidden", "1"), ("Shown", "visible", "2"), ("Deep", "veryHidden", "3"))
    preview = preview_table("a.xlsx", content)
    assert preview.frame["x"].to_list() == [2]
    (found,) = [finding for finding in preview.findings if finding.kind == "hidden_sheet"]
    assert found.count == 2 and found.examples == ("Secret", "Deep") and "read" not in found.message
    preview_of = preview_table("a.xlsx", content, Options(sheet="Secret"))
    assert preview_of.frame["x"].to_list() == [1]
    assert preview.sheets == () and preview_of.sheets == ("Secret", "Shown")
    assert "of which one was read" in next(f.message for f in preview_of.findings if f.kind == "hidden_sheet")
    assert not [f for f in preview_table("b.xlsx", workbook(("One", "visible", "1"))).findings if "hidden" in f.kind]


def test_a_picture_is_turned_as_the_camera_was_held():
    picture, turned = Image.new("L", (4, 2), 0), io.BytesIO()
    picture.paste(255, (0, 0, 1, 2))  # the left edge
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees to the right
    picture.save(turned, "PNG", exif=exif)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.png", turned.getvalue())
    pixels = preview_images("p.zip", buffer.getvalue()).pixels[0, :, :, 0]
    assert pixels.shape == (4, 2)
    assert (pixels[0] == 255).all() and (pixels[1:] == 0).all()


def test_weights_that_graphml_leaves_to_its_default_are_taken_from_there():
    content = b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="w" for="edge" attr.name="weight" attr.type="double"><default>2.5</default></key>
      <key id="c" for="node" attr.name="colour" attr.type="string"><default>red</default></key>
      <graph edgedefault="undirected"><node id="a"/><node id="b"><data key="c">blue</data></node><node id="c"/>
      <edge source="a" target="b"/><edge source="b" target="c"><data key="w">7</data></edge></graph></graphml>"""
    preview = preview_graph("g.graphml", content)
    assert preview.edges.rows() == [("a", "b", 2.5), ("b", "c", 7.0)]
    assert preview.nodes.rows() == [("a", "red"), ("b", "blue"), ("c", "red")]
    assert not preview.findings


def test_chinese_text_of_older_programs_is_read_and_western_text_still_is():
    chinese = "id,城市\na,北京\nb,上海\n"
    preview = preview_table("a.csv", chinese.encode("gb18030"))
    assert preview.frame.columns == ["id", "城市"] and preview.frame["城市"].to_list() == ["北京", "上海"]
    assert "GB18030 (Chinese)" in preview.guesses
    for western in ("id,ville\na,Orléans\nb,Besançon\n", "id,x\na,Füße\nb,äö\n", "id,x\na,£5\nb,«à»\n"):
        read = preview_table("a.csv", western.encode("cp1252"))
        assert "cp1252 (Western European)" in read.guesses
        assert read.frame.row(0)[1] == western.splitlines()[1].split(",")[1]
    assert read_table("a.csv", chinese.encode("gb18030"), Options(encoding="gb18030")).height == 2


DRESSED = [
    ["$1", "2,50"], ["10%", "20 €"], ["10%", "20"], ["1,5", "2.5"], ["\u22121", "2"], ["(1.5)", "2"],
    ["1_000", "2_000"],
    ["1.5 \u20ac", "-\u20ac2"], ["1,234.5", "5.678,25"], ["1.234.567", "9.876.543"], ["1,234.5", "1,23"],
    ["1 000", "2 000"],
]  # fmt: skip


@pytest.mark.parametrize("cells", DRESSED, ids=" ".join)
def test_numbers_that_only_a_person_reads_stay_text_and_are_reported(cells):
    preview = preview_table("a.csv", "\n".join(["id;y", *(f"{k};{cell}" for k, cell in enumerate(cells))]).encode())
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == cells
    assert finding.kind in ("dressed_number", "not_a_number") and "kept as text" in finding.message


GROUPED = {
    ("1,234.5", "12", "-1,000,000.25"): [1234.5, 12.0, -1e6 - 0.25], ("1.234,5", "5.678,25"): [1234.5, 5678.25],
    ("1,234,567", "1,234"): [1234567, 1234],
    ("1'000", "22'000"): [1000, 22000], ("1\u00a0000,5", "2\u202f000"): [1000.5, 2000.0],
    ("1,683.50", "n/a", "950"): [1683.5, None, 950.0],
}  # fmt: skip


@pytest.mark.parametrize("cells", GROUPED, ids=" ".join)
def test_thousands_apart_that_can_be_read_in_one_way_are_numbers(cells):
    preview = preview_table("a.csv", "\n".join(["id;y", *(f"{k};{cell}" for k, cell in enumerate(cells))]).encode())
    assert preview.frame["y"].to_list() == GROUPED[cells]
    assert "thousands apart: read as" in str(preview.findings[0]) and preview.findings[0].kind == "grouped_number"


UNITS = {
    ("10%", "20 %", "n/a"): ([10, 20, None], "%"), ("$1", "-$2,50"): ([1.0, -2.5], "$"),
    ("90,78\u00a0€", "1.234,50 €"): ([90.78, 1234.5], "€"), ("5 EUR", "7 EUR"): ([5, 7], "EUR"),
}  # fmt: skip


@pytest.mark.parametrize("cells", UNITS, ids=" ".join)
def test_a_currency_or_per_cent_that_all_cells_have_is_read_away_and_reported(cells):
    preview = preview_table("a.csv", "\n".join(["id;y", *(f"{k};{cell}" for k, cell in enumerate(cells))]).encode())
    values, unit = UNITS[cells]
    assert preview.frame["y"].to_list() == values
    assert any(f"in {unit}: read as numbers without it" in str(each) for each in preview.findings)


@pytest.mark.parametrize("cells", [["05%", "10%"], ["1.2.3 %", "4.5.6 %"]])
def test_what_is_no_number_without_its_sign_stays_text(cells):
    preview = preview_table("a.csv", "\n".join(["id;y", *(f"{k};{cell}" for k, cell in enumerate(cells))]).encode())
    assert preview.frame["y"].to_list() == cells


@pytest.mark.parametrize("cells", [["1.10.2", "1.2.3"], ["2020-W05", "2020-W06"], ["1/2", "3/4"], ["12:30h", "x"]])
def test_text_with_digits_is_text_without_a_word(cells):
    preview = preview_table("a.csv", "\n".join(["id;y", *(f"{k};{cell}" for k, cell in enumerate(cells))]).encode())
    assert preview.frame["y"].to_list() == cells and not preview.findings


def test_dots_that_may_be_thousands_are_reported():
    preview = preview_table("a.csv", b"id;y;z\na;1.234;1.234\nb;5.678;5.6\n")
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == [1.234, 5.678]
    assert str(finding) == "column 'y': 2 cells may be thousands: read as decimals (for example '1.234', '5.678')."
    assert not preview_table("a.csv", b"id,y\na,1.234\nb,5.678\n").findings


def test_decimal_commas_that_may_be_thousands_are_reported():
    preview = preview_table("a.csv", b"id;y;z\na;1,234;1,234\nb;12,345;5,6\n")
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == [1.234, 12.345]
    assert str(finding) == "column 'y': 2 cells may be thousands: read as decimals (for example '1,234', '12,345')."


@pytest.mark.parametrize("others", [["999", "450"], ["7"] * 30])
def test_commas_and_dots_beside_whole_numbers_may_be_thousands_too(others):
    """1,234 beside 999 was read as 1.234 without a word."""
    table = "\n".join(f'{k}|"{cell}"' for k, cell in enumerate(["1,234", "12,000", *others])).encode()
    for mark, values in ((b",", ["1,234", "12,000", *others]), (b";", [1.234, 12.0, *map(float, others)])):
        preview = preview_table("a.csv", b"id|y\n".replace(b"|", mark) + table.replace(b"|", mark))
        (finding,) = preview.findings
        assert preview.frame["y"].to_list() == values and finding.kind == "thousands" and finding.count == 2
    dots = preview_table("a.csv", b"id;y\n" + table.replace(b"|", b";").replace(b",", b"."))
    assert [(each.kind, each.count) for each in dots.findings] == [("thousands", 2)]
    # one comma that no thousands have makes them all decimal, and so does a 0 before it
    for content in (b'id,y\na,"1,234"\nb,"-0,844"\n', b"id;y\na;1,234\nb;-0,844\n", b"id;y\na;1.234\nb;-0.844\n"):
        preview = preview_table("a.csv", content)
        assert preview.frame["y"].to_list() == [1.234, -0.844] and not preview.findings
    assert not preview_table("a.csv", b"id;y\na;1,234\nb;999\nc;2,5\n").findings
    assert not preview_table("a.csv", b"id;y\na;1\nb;999\nc;7\n").findings


@pytest.mark.parametrize(
    "cells",
    [["01/02/20", "13/02/20"], ["1.2.20", "13.2.20"], ["2020-01-02", "2020-13-02"], ["2020-01-02T10:00Z"] * 2],
)
def test_dates_that_stay_text_are_reported(cells):
    preview = preview_table("a.csv", "\n".join(["id,y", *(f"{k},{cell}" for k, cell in enumerate(cells))]).encode())
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == cells
    assert finding.kind == "text_date" and "write them as 2020-12-31" in finding.message


@pytest.mark.parametrize("cells", [["May 2023", "June 2023"], ["June 2023", "May 2023"]])
def test_may_is_the_long_name_of_a_month_too(cells):
    content = f"id,month,day\na,{cells[0]},1 {cells[0]}\nb,{cells[1]},1 {cells[1]}\n"
    frame = preview_table("a.csv", content.encode()).frame
    expected = [date(2023, 5 if cell.startswith("May") else 6, 1) for cell in cells]
    assert frame["month"].to_list() == frame["day"].to_list() == expected


@pytest.mark.parametrize("cells", [["0000-01-01", "0001-03-02"], ["Jan 0000", "Mar 0001"]])
def test_a_year_that_python_has_not_stays_text(cells):
    preview = preview_table("a.csv", f"id,y\na,{cells[0]}\nb,{cells[1]}\n".encode())
    assert preview.frame["y"].to_list() == cells


@pytest.mark.parametrize("cells", [["2023-01", "2022-12"], ["Jan 2023", "Dec 2022"], ["January 2023", "December 2022"]])
def test_months_are_read_as_their_first_days(cells):
    preview = preview_table("a.csv", f"id,y\na,{cells[0]}\nb,{cells[1]}\nc,\n".encode())
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == [date(2023, 1, 1), date(2022, 12, 1), None]
    assert (finding.kind, finding.count) == ("month", 2) and "its first day" in finding.message


def test_what_may_be_months_or_seasons_stays_text_and_is_reported():
    preview = preview_table("a.csv", b"id,y\na,2010-11\nb,2011-12\n")
    (finding,) = preview.findings
    assert preview.frame["y"].to_list() == ["2010-11", "2011-12"]
    assert finding.kind == "ambiguous_month" and "write months as 2010-11-01" in finding.message


@pytest.mark.parametrize("cells", ["2010-11 2012-13", "Model_2020 Model_2021", "4711-01 1001-03"])
def test_seasons_models_and_numbers_of_parts_are_no_months(cells):
    cells = [cell.replace("_", " ") for cell in cells.split(" ")]
    preview = preview_table("a.csv", f"id,y\na,{cells[0]}\nb,{cells[1]}\n".encode())
    assert preview.frame["y"].to_list() == cells and not preview.findings


@pytest.mark.parametrize("first, months", [(None, None), (True, [2, 2]), (False, [1, 11])])
def test_dates_of_either_order_are_text_until_one_is_chosen(first, months):
    content = b"id,y,sure\na,01/02/2020,01/13/2020\nb,11/02/2020,01/02/2020\n"
    preview = preview_table("a.csv", content, Options(day_first=first))
    assert preview.frame["sure"].to_list() == [date(2020, 1, 13), date(2020, 1, 2)]  # whatever is chosen of others
    if first is None:
        (finding,) = preview.findings
        assert finding.kind == "ambiguous_date" and "say which" in finding.message
        assert preview.frame["y"].to_list() == ["01/02/2020", "11/02/2020"]
    else:
        assert not preview.findings and preview.frame["y"].dt.month().to_list() == months


@pytest.mark.parametrize("content", [b",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n", b"0,1,0,0\n1,0,1,0\n0,1,0,1\n0,0,1,0\n"])
def test_a_matrix_of_links_is_no_list_of_edges(content):
    with pytest.raises(DataError, match="g.csv is a matrix of links: give a list of edges"):
        preview_graph("g.csv", content)
    edges = b"source,target,weight,year\n1,2,1,2020\n2,3,1,2021\n3,4,0,2021\n4,1,1,2022\n"
    assert preview_graph("g.csv", edges).edges.height == 4


DIRECTED = [
    b"Source,Target,Type\na,b,Directed\nb,c,Directed\n", b"source,target,directed\na,b,true\nb,c,false\n",
    b"from,to,weight\na,b,2\nb,a,3\nb,c,1\n",
]  # fmt: skip
UNDIRECTED = [
    b"Source,Target,Type\na,b,Undirected\nb,c,Undirected\n", b"source,target,directed\na,b,0\nb,c,0\n",
    b"from,to,weight\na,b,2\nb,a,2\nb,c,1\na,a,5\n", b"from,to\na,b\nb,a\n",
    b"source,target,kind\na,b,true\nb,c,false\n",
]  # fmt: skip


@pytest.mark.parametrize("content", DIRECTED + UNDIRECTED, ids=lambda content: content.decode().replace("\n", " "))
def test_a_list_of_edges_that_says_it_is_directed_is_reported_as_such(content):
    """The page then offers to keep which way edges lead, as for a directed GraphML."""
    kinds = [each.kind for each in preview_graph("g.csv", content).findings]
    assert ("directed" in kinds) == (content in DIRECTED)
