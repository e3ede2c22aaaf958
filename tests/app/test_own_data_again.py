"""One's own data after a reload, after a restart, and reopened from the Runs page: data, curves, model, what-ifs."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from studio import session
from studio.jobs import manager
from studio.runs import kept_files
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CHANGE = [{"op": "sample", "fraction": 0.9, "seed": 0}]


def _files():
    rng = np.random.default_rng(0)
    kinds = np.array(["comedy", "drama"])[rng.integers(0, 2, 60)]
    ids, drama = [f"film {i:02d}" for i in range(60)], (kinds == "drama").astype(float)
    money = pl.DataFrame({"film": ids, "budget": drama + rng.normal(0, 0.7, 60), "screens": rng.normal(size=60)})
    words = pl.DataFrame({"film": ids, "length": drama + rng.normal(0, 0.7, 60), "label": kinds})
    tables = {"money.csv": money, "words.csv": words}
    return [(name, table.write_csv().encode(), "text/csv") for name, table in tables.items()]


def _opened(owner, page, **query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["owner"] = owner
    app.run()
    app.switch_page(f"pages/{page}")
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def _query(app):
    return {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}


def _metrics(app):
    """Return the numbers of the run itself."""
    settings = {metric.label: metric.value for metric in app.metric}
    return {label: settings[label] for label in ("Error, held out", "Round", "Seconds")}


def _plain(text):
    return text.replace("\\", "")


def _story(app):
    return next(each.value for each in app.caption if "Your data" in each.value)


@pytest.fixture(scope="module")
def trained():
    """An owner who uploaded two tables, changed them, and trained on them; the address of the page after it."""
    owner = secrets.token_hex(8)
    app = _opened(owner, "1_Data.py")
    app.file_uploader[0].set_value(_files()).run()
    next(button for button in app.button if button.label == "Use this data").click().run()
    accept = [button for button in app.button if button.label == "Use them as they are"]
    if accept:
        accept[0].click().run()
    app.session_state["operations"] = CHANGE
    app.switch_page("pages/2_Consensus.py").run()
    app.slider(key="rounds").set_value(5).run()
    app.button(key="train").click().run()
    run = app.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    app.run()
    assert not app.exception and app.metric
    return owner, run, _query(app), _metrics(app)


def test_a_reload_brings_back_data_changes_and_curves(trained):
    owner, run, query, metrics = trained
    assert query["data"].startswith("own-") and query["run"] == run
    app = _opened(owner, "2_Consensus.py", **query)
    assert not app.exception and "2 tables about 60 instances, 60 with a label (label)." in _plain(_story(app))
    assert app.session_state["operations"] == CHANGE
    assert _metrics(app) == metrics


def test_after_a_restart_the_curves_come_from_the_store(trained):
    owner, run, query, metrics = trained
    manager.manager()._jobs._known.pop(run)  # as a new process, which knows of no run
    app = _opened(owner, "2_Consensus.py", **query)
    assert not app.exception and _metrics(app) == metrics
    assert app.slider(key="rounds").value == 5
    assert not any("trained with other settings" in each.value for each in app.info)


def test_another_person_gets_neither_data_nor_run(trained):
    _, run, query, _ = trained
    manager.manager()._jobs._known.pop(run, None)
    app = _opened(secrets.token_hex(8), "2_Consensus.py", **query)
    assert not app.exception and not app.metric
    assert "another person" in app.warning[0].value
    assert "run" not in _query(app)


def test_new_rows_are_predicted_by_the_model_that_came_back(trained):
    owner, run, query, _ = trained
    manager.manager()._jobs._known.pop(run, None)
    app = _opened(owner, "2_Consensus.py", **query)
    app.session_state["after"] = "New rows"
    app.run()
    # It says that some labels were kept from the model, for most would want one of all.
    assert app.slider(key="known").value == 80 and any("learned from 80% of the labels" in c.value for c in app.caption)
    new = b"film,length,colour\nnew one,1.1,red\nnew two,-0.4,blue\n"
    app.file_uploader[0].set_value([("new.csv", new, "text/csv")]).run()
    assert not app.exception and not app.error
    assert "does not know" in app.warning[0].value and "money" in app.warning[1].value
    assert list(app.dataframe[0].value["id"]) == ["new one", "new two"]
    assert list(app.dataframe[0].value["sources"]) == [1, 1]
    assert any(text.value.startswith("**2 predictions**: 2 from 1 table.") for text in app.markdown)
    # Another tab in between: Streamlit has forgotten the choice, not so the page.
    for tab in ("Map", "New rows"):
        app.session_state["after"] = tab
        app.run()
    assert any(text.value == "Given before: new.csv." for text in app.markdown)
    assert list(app.dataframe[0].value["id"]) == ["new one", "new two"]
    app.button(key="forget new rows").click().run()
    assert not app.dataframe and any(each.value.startswith("Upload rows with") for each in app.caption)


def test_reopen_brings_back_data_changes_settings_and_curves(trained):
    owner, run, _, metrics = trained
    app = _opened(owner, "9_Runs.py")
    assert not app.button(key="reopen").disabled
    app.button(key="reopen").click().run()
    assert not app.exception
    page = app.switch_page("pages/2_Consensus.py")  # AppTest does not follow switch_page
    page.query_params["data"], page.query_params["run"] = _query(app).get("data", ""), run
    page.run()
    assert not page.exception and "60 instances" in _plain(_story(page))
    assert _metrics(page) == metrics
    assert page.slider(key="rounds").value == 5 and page.session_state["operations"] == CHANGE


def test_kept_files_are_opened_again_and_forgotten_ones_are_gone_and_their_runs_say_so(trained):
    owner, _, query, _ = trained
    app = _opened(owner, "1_Data.py")
    assert app.selectbox(key="kept again").options[0].startswith("money.csv, words.csv")
    app.button(key="use kept").click().run()
    assert not app.exception and app.session_state["operations"] == [] and _query(app)["data"] == query["data"]
    assert app.session_state["uploaded"].data.n == 60 and set(app.session_state["files"]) == {"money.csv", "words.csv"}
    assert app.file_uploader[0].key == "uploader 1"  # a new one, which names no files of before
    assert "kept again" not in [box.key for box in app.selectbox]  # the only ones are in use
    app.button(key="forget files").click().run()
    assert not app.exception and kept_files.shared().count(owner) == 0
    app = _opened(owner, "9_Runs.py")
    assert app.button(key="reopen").disabled
    assert "no longer kept" in app.button(key="reopen").help


@pytest.mark.slow
def test_a_reload_shows_on_the_files_page_what_the_data_in_use_were_made_with():
    ids = [f"i{k:02d}" for k in range(40)]
    people = pl.DataFrame({"id": ids, "age": [k * k % 11 for k in range(40)], "churned": ["yes", "no"] * 20,
                           "spend": [k * 7 % 13 + 0.5 for k in range(40)]})  # fmt: skip
    people = people.with_columns(twice=2 * pl.col("spend"))
    calls = pl.DataFrame({"source": ids[:-1], "target": ids[1:], "weight": [1.0] * 39})
    mixed = pl.DataFrame({"id": [each.upper() if k < 5 else each for k, each in enumerate(ids)], "debt": range(40)})
    files = {"people.csv": people, "calls.csv": calls, "debts.csv": mixed}
    owner = secrets.token_hex(8)
    app = _opened(owner, "1_Data.py", open="files")
    given = [(name, each.write_csv().encode(), "text/csv") for name, each in files.items()]
    app.file_uploader[0].set_value(given).run()
    app.selectbox(key="label file").set_value("people.csv").run()
    app.selectbox(key="label of people.csv").set_value("spend").run()
    app.selectbox(key="task people.csv spend").set_value("regression").run()
    app.selectbox(key="lead calls.csv").set_value(True).run()
    for button in ("Use this data", "Write ids and classes the same way", "Leave 1 column out and use the rest"):
        next(each for each in app.button if each.label == button).click().run()
    used = app.session_state["uploaded"].recipe
    assert used["spelling"] == ["case"] and used["sources"][0]["drop"] == ["spend", "twice"]
    again = _opened(owner, "1_Data.py", **_query(app))
    assert not again.exception and again.get("tab_container")[0].proto.tab_container.default_tab_index == 1
    choices = {box.key: box.value for box in app.selectbox}
    assert {box.key: box.value for box in again.selectbox} == choices and choices["label of people.csv"] == "spend"
    assert [each.value for each in again.multiselect] == [each.value for each in app.multiselect] != []
    assert not any("put together otherwise" in each.value for each in again.caption)
    next(each for each in again.button if each.label == "Use this data").click().run()
    assert not again.error and again.session_state["uploaded"].recipe == used


def _uploading():
    import numpy as np
    import streamlit as st

    from hetcore.data import HetData, Source
    from studio import session
    from studio.views.common.widgets_controls import labels_known

    def own():
        ids = [f"i{k}" for k in range(6)]
        session.use_upload({}, {}, HetData({"a": Source(ids, np.eye(6))}, target=(ids, ["a", "b"] * 3)))

    # Of two pages, of which the one that is not shown has only what was kept of it.
    labels_known(40, "share")
    labels_known(30, "known") if "other" not in st.session_state else None
    st.button("own", key="own", on_click=own)
    st.button("example", key="example", on_click=session.use_example, args=("planted",))


def test_own_files_do_not_take_over_how_few_labels_of_an_example_were_known():
    app = AppTest.from_function(_uploading)
    app.run().slider(key="share").set_value(5).run()
    app.session_state["other"], app.session_state[session.CONTROLS] = True, {"known": 5, "l0": 0.7}
    app.run().button(key="own").click().run()
    assert not app.exception and app.slider(key="share").value == 80
    assert app.session_state[session.CONTROLS] == {"l0": 0.7}
    # Nor does the share of one's own stay for an example.
    assert app.button(key="example").click().run().slider(key="share").value == 40


def _kept_panel():
    import streamlit as st

    from studio.views.data.widgets_kept import kept_panel

    st.session_state.setdefault("owner", "nobody who keeps")
    kept_panel()


@pytest.mark.parametrize("kept", ["", "abc"])
def test_files_that_a_full_disk_could_not_keep_are_not_called_kept(kept):
    """The page said of them that a reload finds them again."""
    app = AppTest.from_function(_kept_panel, default_timeout=PATIENCE)
    app.session_state["uploaded"] = session.Current(None, "Your data", "", {}, kept=kept)
    app.run()
    assert not app.exception and ["a reload of the page loses them" in each.value for each in app.warning] == [True] * (
        not kept
    )
    assert any("find them again" in each.value for each in app.caption) == bool(kept)
