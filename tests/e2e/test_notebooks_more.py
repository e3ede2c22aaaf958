"""The widget in Notebook 7, and in a light marimo: two at once, a page that is loaded again."""

from __future__ import annotations

from importlib import util

import pytest
from e2e_notebook import jupyterlab, marimo, notebook_of
from e2e_studio import TRAINING
from playwright.sync_api import Page, expect
from test_notebooks import COUNT, LIVE, USE, WATCH, ended, output, picture, press, run_cell

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytestmark = pytest.mark.notebook

INSIDE = """nodes => nodes.every(node => {
  const chart = node.closest("svg").getBoundingClientRect(), text = node.getBoundingClientRect();
  return text.left >= chart.left - 1 && text.right <= chart.right + 1;
})"""


@pytest.mark.skipif(util.find_spec("notebook") is None, reason="Notebook 7 is not installed")
def test_notebook_7_a_slider_a_training_watched_and_stopped_its_model_used(tmp_path, page):
    (tmp_path / "run.ipynb").write_bytes(notebook_of(WATCH, USE))
    with jupyterlab(tmp_path, module="notebook") as url:
        page.goto(f"{url}/notebooks/run.ipynb", timeout=TRAINING)
        expect(page.locator(".jp-CodeCell")).to_have_count(2, timeout=TRAINING)
        run_cell(page, 0)
        live = page.locator(LIVE)
        expect(live).to_be_visible(timeout=TRAINING)
        live.get_by_role("slider", name="Depth").press("ArrowLeft")
        live.evaluate(COUNT)
        press(page, "Train")
        ended(page, "finished")
        assert page.evaluate("rounds.size") >= 20
        run_cell(page, 1)
        expect(output(page, 1)).to_have_text("finished 40 (600,) 40\n", timeout=TRAINING)
        live.get_by_role("slider", name="Round that the charts show").press("Home")  # no cell takes its keys
        expect(live.get_by_role("img", name="Loss by round; in round 1:")).to_be_visible()
        picture(page, "notebook_7")
        press(page, "Train")
        press(page, "Stop training")
        ended(page, "stopped")
    assert page.foreign == []


TWO = """import marimo

app = marimo.App()


@app.cell
def _():
    import time

    import datasets
    import marimo as mo
    import numpy as np

    import hetcore as hc

    data = datasets.load("planted")
    X = np.random.default_rng(0).normal(size=(300, 3))
    pause = lambda event: time.sleep(0.2)
    return X, data, hc, mo, pause


@app.cell
def _(data, hc, mo, pause):
    one = mo.ui.anywidget(hc.watch(hc.GBCRegressor(n_iterations=40, as_printed=True), data, callbacks=[pause]))
    one
    return (one,)


@app.cell
def _(X, hc, mo):
    rounds = hc.HGBMRegressor(n_iterations=120, patience=200, random_state=0)
    two = mo.ui.anywidget(hc.watch(rounds, X, X[:, 0]))
    two
    return (two,)


@app.cell
def _(hc, data, mo):
    wrong = mo.ui.anywidget(hc.watch(hc.GBCRegressor(), hc.HetData(data.sources)))
    wrong
    return (wrong,)


if __name__ == "__main__":
    app.run()
"""


def all_cells(page: Page) -> None:
    for place in range(4):
        page.locator(".cm-content").nth(place).click(timeout=TRAINING)
        page.keyboard.press("Control+Enter")
    expect(page.locator(LIVE)).to_have_count(3, timeout=TRAINING)


def test_marimo_light_two_at_once_one_without_labels_and_reload(tmp_path, page):
    script = tmp_path / "run.py"
    script.write_text(TWO, encoding="utf-8")
    with marimo(tmp_path, script, "light") as url:
        page.goto(url, timeout=TRAINING)
        all_cells(page)
        expect(page.locator(LIVE).nth(2).get_by_role("alert")).to_have_text(
            "The data have no labels: give a target to HetData, or y to watch."
        )
        page.locator(LIVE).first.evaluate(COUNT)
        press(page, "Train")
        press(page, "Train", 1)  # beside it, at its own pace: the timeline shows the rounds one by one
        ended(page, "finished")
        ended(page, "finished", 1)
        assert page.evaluate("rounds.size") >= 20
        own = page.locator(LIVE).nth(1)
        expect(own.locator(".timeline")).to_have_attribute("data-playing", "false", timeout=TRAINING)
        assert int(own.locator(".timeline").get_attribute("data-states")) >= 20
        assert own.locator(".line-chart text").evaluate_all(INSIDE)
        assert page.locator(LIVE).first.evaluate("node => node.style.colorScheme") == "light"
        picture(page, "marimo_light")
        page.reload(timeout=TRAINING)
        expect(page.locator(LIVE)).to_have_count(3, timeout=TRAINING)
        expect(page.locator(LIVE).first).to_have_attribute("data-rounds", "40", timeout=TRAINING)
        expect(page.locator(LIVE).nth(1)).to_have_attribute("data-rounds", "120", timeout=TRAINING)
        picture(page, "marimo_reloaded")
    assert page.foreign == []
