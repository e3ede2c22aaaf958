"""The Papers page: a claim, a run that is kept, a verdict."""

from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import experiments
from experiments.runner import Outcome
from experiments.verdicts import Claim, Comparison
from studio.jobs import manager
from studio.views.common import widgets
from studio.views.papers import catalog
from studio.views.papers import widgets as papers
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The page, with three cells of figure 6 that are there already."""
    monkeypatch.setattr("experiments.cells.folder", lambda: tmp_path)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    return app.switch_page("pages/7_Papers.py")


def _fill(tmp_path, wrong=False, most=None):
    from experiments import cells

    found = experiments.info("gbc-figure-3")
    errors = {"GBC": 0.1, "as printed": 0.3 if wrong else 0.2, "SVM, joined": 0.25, "GBDT, joined": 0.28}
    for key in list(found.keys("page"))[:most]:
        cell = dict(zip(found.cells, key)) | {"seconds": 2.0}
        cell["error"] = errors[key[2]] * (1.0 + (0.9 - key[3]) / 2)
        cells.append(tmp_path / "consensus.jsonl", cell)


def _words(page):
    return " ".join(element.value for element in (*page.markdown, *page.caption, *page.subheader))


def test_each_choice_counts_and_an_address_that_comes_later_does(page, monkeypatch):
    page.run()
    parts = catalog.by_paper()[catalog.paper_of(catalog.first())]
    for place in (1, 2, 3):
        page.selectbox[1].select_index(place).run()
        assert page.selectbox[1].value == parts[place] and page.query_params["part"] == parts[place]
    page.selectbox[0].select_index(1).run()
    assert page.selectbox[1].value.startswith("mgb") and page.query_params["part"] == page.selectbox[1].value
    # back in the browser, once the address was taken over
    monkeypatch.setattr("studio.views.common.widgets_controls.SETTLED", -1.0)
    page.query_params["part"] = parts[2]
    page.run()
    assert (page.selectbox[0].value, page.selectbox[1].value) == (catalog.paper_of(parts[2]), parts[2])


def test_the_first_figure_says_what_is_claimed_and_has_not_run(page):
    page.run()
    assert not page.exception
    assert "The paper claims" in _words(page) and "Not run yet" in _words(page)
    assert page.button(key="run_paper").label == "Run"
    assert "fits to do" in _words(page)


def test_a_note_that_begins_with_a_letter_of_the_paper_keeps_it(page):
    page.run()
    page.selectbox[1].set_value("gbc-figure-7").run()
    assert "**Here.** λ0 and λ1 are chosen" in _words(page)


def test_what_is_running_is_not_called_not_run(page, monkeypatch):
    monkeypatch.setattr(catalog, "active", lambda run: True)
    page.run()
    assert not page.exception and "No verdict yet" in _words(page)


def test_the_page_opens_on_an_experiment_whose_data_are_here(page, tmp_path, monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(tmp_path / "nothing"))
    assert not catalog.is_here("gbc-figure-3") and catalog.is_here(catalog.first())
    page.run()
    assert not page.exception and catalog.first() in page.query_params["part"]
    assert "(needs a download)" in catalog.titled("gbc-figure-3")
    # of the suite, of the protocol, under another name
    for name in ("hgbm-uncertainty", "hgbm-classes", "wms-figure-4", "2wl-figure-3", "2wl-fair-fight"):
        assert not catalog.is_here(name), name
    assert catalog.is_here("mgb-planted") and catalog.is_here("hgbm-figure-2")


def test_the_code_of_a_run_imports_what_it_calls(page):
    page.run()
    there = {}
    exec(page.code[0].value.partition("\n")[0], there)
    assert there["experiments"].run is experiments.run and "experiments.run(" in page.code[0].value


@pytest.mark.parametrize("wrong, verdict", [(False, "Holds"), (True, "Doesn't hold here")])
def test_what_was_run_is_evaluated(page, tmp_path, wrong, verdict):
    _fill(tmp_path, wrong)
    page.query_params["part"] = "gbc-figure-3"
    page.run()
    assert not page.exception
    assert verdict in page.subheader[0].value
    assert "as printed − SVM, joined" in _words(page).replace("\\", "")
    assert page.button(key="run_paper").label == "Done" and page.button(key="run_paper").disabled
    assert {"Cells (CSV)", "Figure (HTML)"} <= {each.proto.label for each in page.get("download_button")}
    sentences = [each.value for each in page.markdown if "errs less than SVM" in each.value]
    sentences = [each for each in sentences if ":material/" in each]
    assert len(sentences) == 1 and f"**{verdict}:**" in sentences[0]
    assert ("**Why.**" in _words(page)) is wrong


@pytest.mark.parametrize(("most", "heading"), [(14, "Holds so far"), (16, "Holds, as far as it was judged")])
def test_a_verdict_on_some_of_the_fits_is_named_as_one(page, tmp_path, most, heading):
    _fill(tmp_path, most=most)
    page.query_params["part"] = "gbc-figure-3"
    page.run()
    assert not page.exception and page.subheader[0].value.endswith(f" {heading}")


@pytest.mark.parametrize("total", [1, 2])
def test_a_sentence_that_these_runs_do_not_judge_is_not_covered_by_the_word_for_the_others(monkeypatch, total):
    texts, facts = [], {"difference": -0.1, "standard_error": 0.01, "relative": -0.5}
    place = Comparison("GBC", "SVM", "less", "error", **facts, held=1, against=0, places=1)
    for name in ("markdown", "subheader", "caption"):
        monkeypatch.setattr(papers.st, name, lambda text, **_: texts.append(text))
    more = {"place": "", "number": "", "beside": "", "why": ""}
    first = Claim("It is less.", verdict="holds", comparisons=(place,), **more)
    other = Claim("It is least.", verdict="not run", comparisons=(), **more)
    done = {"cells": pl.DataFrame({"seconds": [1.0]}), "total": total, "seconds": 0.0}
    papers.verdict(Outcome(None, **done, figure=None, claims=(first, other)))
    assert texts[0].endswith("Holds, as far as it was judged" if total == 1 else "Holds so far")
    assert any("Not judged by these few runs:** It is least." in each for each in texts) is (total == 1)


def test_a_run_that_is_not_done_has_no_verdict_yet(page, tmp_path):
    _fill(tmp_path, most=3)
    page.query_params["part"] = "gbc-figure-3"
    page.run()
    assert not page.exception and "No verdict yet" in page.subheader[0].value and "3 of 16 fits so far" in _words(page)


def test_a_chart_waits_for_an_import_that_goes_on(monkeypatch):
    done = []
    monkeypatch.setattr(widgets, "import_module", done.append)
    monkeypatch.setattr(widgets, "chart_config", dict)
    monkeypatch.setattr(widgets.st, "plotly_chart", lambda *_, **__: done.append("drawn"))
    widgets.chart({}, "key")
    assert done == ["pandas", "drawn"]  # another thread may be in the midst of it, and Plotly would use what is there


def test_every_experiment_opens(page):
    for name in experiments.names():
        page.query_params["part"] = name
        page.run()
        assert not page.exception, name


@pytest.mark.slow
def test_run_starts_a_job_that_can_be_stopped(page):
    page.query_params["part"] = "gbc-figure-3"
    page.run()
    page.button(key="run_paper").click().run()
    run_id = page.session_state[catalog.STATE_KEY]["gbc-figure-3"]
    manager.manager().stop(run_id)
    assert manager.manager().wait(run_id, timeout=PATIENCE).state in ("stopped", "failed", "finished")
    page.run()
    assert not page.exception


def test_anew_forgets_what_was_there(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.cells.folder", lambda: tmp_path)
    _fill(tmp_path)
    assert experiments.outcome("gbc-figure-3").cells.height == 16
    catalog.forget("gbc-figure-3")
    assert experiments.outcome("gbc-figure-3").cells.height == 0


@pytest.mark.parametrize(
    "seconds, words",
    [
        (float("nan"), ""),
        (0.0, ""),
        (0.2, ", about 1 second"),
        (40, ", about 40 seconds"),
        (600, ", about 10 minutes"),
    ],
)
def test_estimates_in_words(seconds, words):
    assert catalog.about(seconds) == words


def test_a_link_to_no_figure_is_answered_until_another_is_chosen(page):
    page.query_params["part"] = "zzz"
    page.run()
    assert "There is no figure or table of the name" in page.warning[0].value
    assert catalog.first() in page.query_params["part"]
    assert not page.selectbox[1].select_index(1).run().exception and not page.warning
