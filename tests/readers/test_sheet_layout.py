"""What a sheet shows beside its cells: titles, merged cells, hidden rows and columns, each left out or told."""

from __future__ import annotations

import pytest

from studio.uploads import Options, preview_graph, preview_table
from tests.hostile.making import MAIN, sheet, workbook

SALES = [["id", "region", "sales"], *([f"s{k}", "North" if k < 3 else "South", k + 0.5] for k in range(6))]


def read(*args, **more):
    return preview_table("a.xlsx", workbook(sheet(*args, **more)))


def test_merged_cells_are_reported_for_only_the_first_has_the_value():
    """Regions over three rows each: two of three rows had none, and nothing was said."""
    rows = [[*row[:1], row[1] if k in (1, 4) else None, row[2]] if k else row for k, row in enumerate(SALES)]
    preview = read(rows, merged=["B2:B4", "B5:B7"])
    assert preview.frame["region"].to_list() == ["North", None, None, "South", None, None]
    (finding,) = preview.findings
    assert finding.kind == "merged_cell" and finding.count == 4 and finding.examples == ("B2:B4", "B5:B7")
    assert "4 cells merged with the cell above or beside: taken as missing" in finding.message


def test_cells_merged_side_by_side_and_names_of_columns_too_are_reported():
    (finding,) = read([*SALES[:3], ["s2", "South", None]], merged=["B4:C4"]).findings
    assert finding.count == 1 and finding.examples == ("B4:C4",)
    blank, finding = read([["id", "sales", None], *SALES[1:]], merged=["B1:C1"]).findings
    assert blank.kind == "blank_header" and finding.examples == ("B1:C1",)


@pytest.mark.parametrize("merged", [["A1:C1"], ["A1:C2"], ["A1:B1", "A11:C11"], []])
def test_a_title_above_the_table_is_left_out_and_no_cell_of_the_table(merged):
    """The title was a record, the names of the columns another, and all numbers were text."""
    preview = read([["Sales of 2020"], [], *SALES], merged=merged)
    assert preview.frame.columns == SALES[0] and preview.frame["sales"].to_list() == [row[2] for row in SALES[1:]]
    assert preview.findings == [] and "1 line above the table left out" in preview.guesses


def test_a_number_or_a_name_that_stands_alone_above_is_of_the_table():
    assert read([[1, None], [2, None], [3, 5]]).frame.rows() == [(1, None), (2, None), (3, 5)]
    preview = read([["id", None], ["a", 1], ["b", 2]])
    assert preview.frame.columns == ["id", "column_2"] and preview.findings[0].kind == "blank_header"


def test_a_cover_before_the_table_is_left_out():
    """It was refused for having one column, with no word on the sheet behind it."""
    cover = f'<worksheet xmlns="{MAIN}">{sheet([["Sales of 2020"], ["by region"]])}</worksheet>'
    content = workbook(sheet(SALES), sheets=2, extra={"xl/worksheets/sheet1.xml": cover.encode()})
    preview = preview_table("a.xlsx", content)
    assert preview.frame.columns == SALES[0] and preview.frame.height == 6
    (finding,) = preview.findings
    assert finding.kind == "other_sheet" and "'T' was read" in finding.message


def test_cells_are_counted_by_their_rows_where_the_table_begins_below():
    rows = [["Sales"], [None, "of 2020"], [], *SALES]
    preview = read(rows, first=4, merged=["A4:C4", "B8:B10"])
    assert "2 lines above the table left out" in preview.guesses and preview.frame.height == 6
    (finding,) = preview.findings
    assert finding.count == 2 and finding.examples == ("B8:B10",)


def test_hidden_rows_and_columns_are_reported():
    (finding,) = read(SALES, hidden=[3, 5], columns=[(3, 3)]).findings
    assert finding.kind == "hidden_part" and finding.count == 3
    assert finding.message.startswith("2 hidden rows and 1 hidden column of the sheet read as the others are")
    # empty ones, and all columns to the right of the table, hide nothing
    assert not read(SALES, hidden=[9, 100], columns=[(4, 16384)]).findings


def test_what_another_sheet_hides_or_merges_is_not_reported():
    other = f'<worksheet xmlns="{MAIN}">{sheet(SALES, merged=["B2:B4"], hidden=[3])}</worksheet>'
    content = workbook(sheet(SALES), sheets=2, extra={"xl/worksheets/sheet2.xml": other})
    assert [each.kind for each in preview_table("a.xlsx", content).findings] == ["other_sheet"]
    kinds = [each.kind for each in preview_table("a.xlsx", content, Options(sheet="T")).findings]
    assert kinds == ["other_sheet", "merged_cell", "hidden_part"]


def test_sheets_that_may_be_chosen_have_a_table_and_are_seen():
    """The one that is read comes first; an empty sheet is not offered."""
    empty = f'<worksheet xmlns="{MAIN}"><sheetData/></worksheet>'
    book = workbook(sheet([["id", "x"], ["a", 1]]), sheets=4, extra={"xl/worksheets/sheet2.xml": empty})
    assert preview_table("a.xlsx", book).sheets == ("S", "U", "V")
    assert preview_table("a.xlsx", book, Options(sheet="V")).sheets == ("V", "S", "U")
    assert preview_graph("a.xlsx", book).sheets == ("S", "U", "V")
    assert preview_table("a.xlsx", workbook(sheet([["id", "x"], ["a", 1]]))).sheets == ()
