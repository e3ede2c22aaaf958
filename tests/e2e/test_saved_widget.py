"""The widget of a saved notebook, and of a kernel that is gone, in a page of its own."""

from __future__ import annotations

import json

import pytest

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore.widget import front

pytest.importorskip("anywidget", reason="anywidget is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
SAVED = """
async ([source, traits]) => {
  const { render } = (await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default;
  window.on = {};
  const send = () => { if (window.gone) throw Error("Cannot send"); };
  render({ el: document.body, model: { get: name => traits[name], set: (name, value) => { traits[name] = value; },
    save_changes: () => {}, send, off: () => {}, on: (name, act) => { on[name] = act; } } });
}
"""


@pytest.fixture
def saved(page):
    """The view of an ended training as a saved notebook holds it: what is by name in the order of the alphabet."""
    planted, truth = make_heterogeneous(n=80, n_sources=2, n_graphs=2, n_noise_sources=0, labelled=0.6, seed=0)
    tables = dict(zip(("z_last", "a_first"), planted.sources.values()))
    data = hc.HetData(tables, planted.graphs).with_target(planted.y)
    widget = hc.watch(hc.GBCRegressor(n_iterations=3, lambda1="auto", random_state=0), data, eval_y=truth.y)
    widget.train()
    widget.wait(60)
    state = {name: value for name, value in widget.get_state().items() if name not in ("_esm", "layout")}
    page.goto("about:blank")
    page.evaluate(SAVED, [front.LIVE, json.loads(json.dumps(state, sort_keys=True))])
    expect(page.locator(".line-chart").first).to_be_visible()
    return page, widget


def test_a_saved_notebook_has_charts_lines_and_names_in_the_order_of_the_training(saved):
    page, _ = saved
    captions = page.locator(".charts figcaption:visible")
    expect(captions).to_contain_text(["Loss", "RMSE", "Source weights", "Graph weights"])
    names = page.locator(".charts figure", has_text="Loss").first.locator(".line-legend .name")
    expect(names).to_have_text(["train", "left out", "held out"])
    weights = page.locator(".charts figure", has_text="Source weights").locator(".line-legend .name")
    expect(weights).to_have_text(["z_last", "a_first"])  # as they are called, with the line between
    expect(page.get_by_label("Instances coloured by").locator("option").first).to_have_text("prediction")


def test_what_auto_chose_stands_at_its_control_and_a_person_goes_on_from_there(saved):
    page, widget = saved
    chosen = widget.history["choice:lambda1"][-1]
    slider = page.get_by_role("slider", name="λ1 · neighbours")
    expect(slider).to_have_value(f"{chosen:g}")
    page.get_by_role("checkbox", name="λ1 · neighbours: auto").click()
    expect(slider).to_be_enabled()
    expect(slider).to_have_value(f"{chosen:g}")


def test_a_kernel_that_does_not_answer_is_reported_at_once(saved):
    page, _ = saved
    page.evaluate("() => { window.gone = true; on.comm_live_update(); }")
    expect(page.get_by_role("alert")).to_contain_text("No answer from the kernel: it was restarted")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_disabled()
    expect(page.get_by_text("Out of touch · round 3 of 3")).to_be_visible()
