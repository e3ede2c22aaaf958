"""A workbook of several sheets on the Data page: one is chosen, others stand beside it, and a reload has the same."""

from __future__ import annotations

import secrets

from tests.app.test_own_data_again import _opened, _query
from tests.hostile.making import MAIN, sheet, workbook

IDS = [f"p{k:02d}" for k in range(40)]
NOTES = [["id", "note"], *([each, "seen"] for each in IDS)]
PEOPLE = [["id", "height", "label"], *([each, 150.5 + k, ("a", "b")[k % 2]] for k, each in enumerate(IDS))]
MARKS = [["id", "maths"], *([each, k % 7 + 0.5] for k, each in enumerate(IDS))]


def _book():
    others = {2: PEOPLE, 3: MARKS}
    extra = {
        f"xl/worksheets/sheet{k}.xml": f'<worksheet xmlns="{MAIN}">{sheet(rows)}</worksheet>'
        for k, rows in others.items()
    }
    return workbook(sheet(NOTES), sheets=3, extra=extra)


def _press(app, label):
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def _sheets(app):
    return {box.key: box.value for box in app.selectbox if box.label == "Sheet"}


def _read(app):
    return {part["name"]: part["options"] for part in app.session_state["uploaded"].recipe["sources"]}


def test_sheets_of_a_workbook_are_chosen_and_come_back_after_a_reload():
    """The first sheet alone was read, whatever the others held, and each other had to be a file of its own."""
    owner, name = secrets.token_hex(8), "class.xlsx"
    app = _opened(owner, "1_Data.py")
    app.file_uploader[0].set_value([(name, _book(), "application/octet-stream")]).run()
    assert not app.exception and _sheets(app) == {"sheet class.xlsx": "S"}
    app.selectbox(key=f"sheet {name}").set_value("T").run()
    _press(app, "Use U too")
    assert _sheets(app) == {"sheet class.xlsx": "T", "sheet class U.xlsx": "U"}
    assert [button.label for button in app.button if button.label.startswith("Use ")] == ["Use S too", "Use this data"]
    left = [each.value for each in app.caption if "left out" in each.value]
    assert len(left) == 2 and all("1 more sheet left out" in each and "S" in each for each in left)
    _press(app, "Use this data")
    now = app.session_state["uploaded"]
    assert _read(app) == {"class": {"sheet": "T"}, "class U": {"sheet": "U"}}
    assert now.recipe["target"]["options"] == {"sheet": "T"} and now.data.sources["class U"].columns == ["maths"]
    again = _opened(owner, "1_Data.py", **_query(app))
    assert not again.exception and again.session_state["uploaded"].recipe == now.recipe
    assert _sheets(again) == _sheets(app)
    assert not any("put together otherwise" in each.value for each in again.caption)
    _press(again, "Use this data")
    assert _read(again) == _read(app)


def test_another_sheet_of_the_same_columns_keeps_its_own_kinds_and_what_is_left_out():
    owner = secrets.token_hex(8)
    app = _opened(owner, "1_Data.py")
    app.file_uploader[0].set_value([("class.xlsx", _book(), "application/octet-stream")]).run()
    shown = [key for key in app.session_state["kind_bases"]]
    app.selectbox(key="sheet class.xlsx").set_value("U").run()
    (fresh,) = [key for key in app.session_state["kind_bases"] if key not in shown]
    assert app.session_state["kind_bases"][fresh]["column"].to_list() == ["id", "maths"]


def test_a_sheet_that_cannot_be_read_is_refused_and_another_may_be_chosen():
    words = f'<worksheet xmlns="{MAIN}">{sheet([["id", "x"]])}</worksheet>'
    book = workbook(sheet(PEOPLE), sheets=2, extra={"xl/worksheets/sheet2.xml": words})
    app = _opened(secrets.token_hex(8), "1_Data.py")
    app.file_uploader[0].set_value([("class.xlsx", book, "application/octet-stream")]).run()
    app.selectbox(key="sheet class.xlsx").set_value("T").run()
    assert not app.exception and len(app.error) == 1
    app.selectbox(key="sheet class.xlsx").set_value("S").run()
    assert not app.exception and not app.error
