"""The widget in a real JupyterLab and a real marimo: a slider moved, a training watched and stopped, its model used."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from e2e_notebook import jupyterlab, marimo, notebook_of
from e2e_studio import PATIENCE, TRAINING
from playwright.sync_api import Page, expect

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytestmark = pytest.mark.notebook

PICTURES = os.environ.get("NOTEBOOK_PICTURES", "")  # a folder, for whoever wants to look
# A round waits, so that a page on a busy machine has time to draw it.
WATCH = """import time
import datasets
import hetcore as hc
data = datasets.load("planted")
widget = hc.watch(hc.GBCRegressor(n_iterations=40, as_printed=True), data, callbacks=[lambda event: time.sleep(0.2)])
widget"""
USE = "print(widget.state, widget.model_.n_iterations_, widget.model_.predict(data).shape, widget.history.height)"
FIT = """slowly = [lambda event: time.sleep(0.4), hc.LiveView()]
done = hc.GBCRegressor(n_iterations=40, as_printed=True).fit(data, callbacks=slowly)"""
COUNT = """node => {
  window.rounds = new Set();
  new MutationObserver(() => rounds.add(node.dataset.run + ' ' + node.dataset.rounds + ' ' +
    node.querySelector('.line-chart path').getAttribute('d').length)).observe(node, {attributes: true});
}"""
LIVE = ".hetcore-live"


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def note_times(live) -> None:
    """Write down how long drawings took, for whoever asked for pictures; no test depends on it."""
    times = live.evaluate("node => node.times")
    assert times and all(len(each) == 3 for each in times)
    if PICTURES:
        lines = [",".join(f"{value:.1f}" for value in each) for each in times]
        (Path(PICTURES) / "times.csv").write_text("\n".join(["draw,update,latency", *lines]))


def ended(page: Page, state: str, nth: int = 0) -> None:
    expect(page.locator(LIVE).nth(nth)).to_have_attribute("data-state", state, timeout=TRAINING)


def press(page: Page, name: str, nth: int = 0) -> None:
    page.locator(LIVE).nth(nth).get_by_role("button", name=name, exact=True).click()


def run_cell(page: Page, place: int) -> None:
    """Run a cell; a page that is still being put together may drop the key."""
    prompt = page.locator(".jp-CodeCell").nth(place).locator(".jp-InputPrompt")
    before = prompt.text_content(timeout=TRAINING)
    for _ in range(10):
        prompt.click()
        page.keyboard.press("Control+Enter")
        try:
            return expect(prompt).not_to_have_text(before, timeout=PATIENCE / 10)
        except AssertionError:
            continue
    pytest.fail("The cell did not run.")


def output(page: Page, place: int):
    return page.locator(".jp-CodeCell").nth(place).locator(".jp-OutputArea-output").last


def opened(page: Page, url: str) -> None:
    page.goto(f"{url}/lab/tree/run.ipynb", timeout=TRAINING)
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=TRAINING)


def test_jupyterlab_a_slider_a_training_watched_and_stopped_its_model_used(tmp_path, page):
    (tmp_path / "run.ipynb").write_bytes(notebook_of(WATCH, USE, FIT))
    with jupyterlab(tmp_path) as url:
        opened(page, url)
        run_cell(page, 0)
        live = page.locator(LIVE)
        expect(live).to_be_visible(timeout=TRAINING)
        live.get_by_role("slider", name="Depth").press("ArrowLeft")
        live.evaluate(COUNT)
        press(page, "Train")
        run_cell(page, 1)  # runs beside the training
        expect(output(page, 1)).to_be_visible(timeout=TRAINING)
        ended(page, "finished")
        assert page.evaluate("rounds.size") >= 20
        run_cell(page, 1)
        expect(output(page, 1)).to_have_text("finished 40 (600,) 40\n", timeout=TRAINING)
        live.get_by_role("slider", name="Round that the charts show").press("Home")
        expect(live.get_by_role("img", name="Loss by round; in round 1")).to_be_visible()
        unhindered = "nodes => nodes.every(node => node.hasAttribute('data-lm-suppress-shortcuts'))"
        assert live.locator("button, input, select").evaluate_all(unhindered)  # Notebook 7 takes their arrow keys else
        live.get_by_role("combobox", name="Instances coloured by").select_option("error")
        expect(live.get_by_role("img", name="500 instances by error")).to_be_visible()
        picture(page, "jupyter_light")

        live.get_by_role("slider", name="Rounds N").press("End")
        expect(live).to_contain_text("What is shown was trained with other settings")
        press(page, "Train")
        expect(live).to_have_attribute("data-rounds", re.compile(r"^([4-9]|\d\d+)$"), timeout=TRAINING)
        press(page, "Pause")
        ended(page, "paused")
        press(page, "One round")
        press(page, "Resume")
        press(page, "Stop training")
        ended(page, "stopped")
        run_cell(page, 1)
        expect(output(page, 1)).to_have_text(re.compile(r"stopped (\d+) \(600,\) \1"), timeout=TRAINING)
        note_times(live)

        run_cell(page, 2)  # a fit of one's own: its view moves while the cell runs
        own = page.locator(LIVE).nth(1)
        expect(own).to_have_attribute("data-rounds", re.compile(r"^([2-9]|\d\d)$"), timeout=TRAINING)
        own.evaluate(COUNT)
        expect(own).to_have_attribute("data-rounds", re.compile(r"^(3\d)$"), timeout=TRAINING)
        assert page.evaluate("rounds.size") >= 20
        expect(page.locator(".jp-CodeCell").nth(2).locator(".jp-InputPrompt")).to_have_text("[*]:")
        ended(page, "finished", 1)
    assert page.foreign == []


def test_jupyterlab_dark_two_at_once_interrupt_and_reload(tmp_path, page):
    second = "other = hc.watch(hc.GBCRegressor(n_iterations=5000, as_printed=True), data)\nother"
    (tmp_path / "run.ipynb").write_bytes(
        notebook_of(WATCH, second, "hc.watch(hc.GBCRegressor(), hc.HetData(data.sources))")
    )
    page.set_viewport_size({"width": 700, "height": 900})  # a notebook beside its file browser: 400 pixels
    with jupyterlab(tmp_path, "JupyterLab Dark") as url:
        opened(page, url)
        for place in range(3):
            run_cell(page, place)
        expect(page.locator(LIVE)).to_have_count(3, timeout=TRAINING)
        expect(page.locator(LIVE).nth(2).get_by_role("alert")).to_have_text(
            "The data have no labels: give a target to HetData, or y to watch."
        )
        press(page, "Train")
        press(page, "Train", 1)
        ended(page, "finished")
        assert page.locator(LIVE).first.evaluate("node => node.style.colorScheme") == "dark"
        page.locator(LIVE).first.scroll_into_view_if_needed()
        picture(page, "jupyter_dark")
        page.get_by_title("Interrupt the kernel").click()
        ended(page, "stopped", 1)
        unsaved = page.locator(".lm-TabBar-tab.jp-mod-dirty")
        expect(unsaved).to_have_count(1)
        page.keyboard.press("Control+s")
        expect(unsaved).to_have_count(0, timeout=TRAINING)
        page.reload(timeout=TRAINING)
        expect(page.locator(LIVE)).to_have_count(3, timeout=TRAINING)
        ended(page, "finished")
        expect(page.locator(LIVE).first).to_have_attribute("data-rounds", "40", timeout=TRAINING)
        expect(page.locator(LIVE).first.get_by_role("img", name="500 instances by prediction")).to_have_count(1)
    assert page.foreign == []


LARGE = """import datasets
import hetcore as hc
data, _ = datasets.make_heterogeneous(n=10_000, seed=0)
widget = hc.watch(hc.GBCRegressor(n_iterations=2000, as_printed=True, random_state=0), data)
widget"""


def test_jupyterlab_ten_thousand_instances_and_a_kernel_that_restarts_in_mid_training(tmp_path, page):
    (tmp_path / "run.ipynb").write_bytes(notebook_of(LARGE))
    with jupyterlab(tmp_path) as url:
        opened(page, url)
        run_cell(page, 0)
        live = page.locator(LIVE)
        expect(live).to_be_visible(timeout=TRAINING)
        press(page, "Train")
        expect(live).to_have_attribute("data-rounds", re.compile(r"^([2-9]\d|\d{3,})$"), timeout=TRAINING)
        note_times(live)
        page.get_by_title("Restart the kernel", exact=False).first.click()
        page.locator(".jp-Dialog .jp-mod-accept").click()
        expect(live.get_by_role("alert")).to_have_text(
            re.compile("^No answer from the kernel: it was restarted, or .*; run this cell again if it was.$"),
            timeout=TRAINING,
        )
    assert page.foreign == []


MARIMO = """import marimo

app = marimo.App()


@app.cell
def _():
    import time

    import datasets
    import marimo as mo

    import hetcore as hc

    data = datasets.load("planted")
    pause = lambda event: time.sleep(0.2)
    return data, hc, mo, pause


@app.cell
def _(data, hc, mo, pause):
    widget = mo.ui.anywidget(hc.watch(hc.GBCRegressor(n_iterations=40, as_printed=True), data, callbacks=[pause]))
    widget
    return (widget,)


@app.cell
def _(data, mo, widget):
    widget.value
    fitted = widget.model_
    text = "no model" if fitted is None else f"{widget.state} {fitted.n_iterations_} {fitted.predict(data).shape}"
    mo.md(f"depth {widget.params['max_depth']}, {text}")
    return


if __name__ == "__main__":
    app.run()
"""


def test_marimo_reacts_to_a_slider_and_to_the_end_of_a_training(tmp_path, page):
    script = tmp_path / "run.py"
    script.write_text(MARIMO, encoding="utf-8")
    with marimo(tmp_path, script) as url:
        page.goto(url, timeout=TRAINING)
        for place in range(3):
            page.locator(".cm-content").nth(place).click(timeout=TRAINING)
            page.keyboard.press("Control+Enter")
        live = page.locator(LIVE)
        expect(live).to_be_visible(timeout=TRAINING)
        expect(page.get_by_text("depth 5, no model")).to_be_visible(timeout=TRAINING)
        live.get_by_role("slider", name="Depth").press("ArrowLeft")
        expect(page.get_by_text("depth 4, no model")).to_be_visible(timeout=TRAINING)
        press(page, "Train")
        expect(page.get_by_text("depth 4, finished 40 (600,)")).to_be_visible(timeout=TRAINING)
        picture(page, "marimo_dark")
        live.get_by_role("slider", name="Rounds N").press("End")
        press(page, "Train")
        expect(live).to_have_attribute("data-rounds", re.compile(r"^([3-9]|\d\d+)$"), timeout=TRAINING)
        press(page, "Stop training")
        expect(page.get_by_text("depth 4, stopped")).to_be_visible(timeout=TRAINING)
    assert page.foreign == []
