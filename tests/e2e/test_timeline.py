"""The timeline: charts that show one round together, played, stepped and scrubbed; without a studio, then in it."""

from __future__ import annotations

import re

import pytest
from e2e_studio import TRAINING, idle, trained

from hetcore.widget import front
from studio.views.common import widgets_timeline
from studio.views.common.widgets import LOAD_PLOTLY

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
STAGE = """
async ([chart, bar, html]) => {
  window.shown = [];
  window.reacted = 0;
  const slow = [60, 3, 20];  // milliseconds a chart takes to draw
  const svg = "<svg class='main-svg'><g class='cartesianlayer'><g class='trace'></g></g></svg>";
  window.Plotly = { react: (node, data) => new Promise(done => setTimeout(() => {
    window.reacted += 1;
    node.innerHTML = svg;
    node.querySelector(".trace").__data__ = [{ trace: { index: 0 } }];
    node._fullLayout = { xaxis: { l2p: x => 10 * x } };
    done();
  }, slow[Number(node.id)])) };
  new MutationObserver(seen => seen.forEach(({ target }) => target.dataset.round &&
    window.shown.push([target.id, Number(target.dataset.round)])))
    .observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-round"] });
  const load = source => import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const charts = (await load(chart)).default, bars = (await load(bar)).default;
  document.body.innerHTML = html + [0, 1, 2].map(
    k => `<div><div class="live-chart" id="${k}" style="width:300px;height:100px"></div></div>`).join("");
  const upTo = n => Array.from({ length: n }, (_, k) => k + 1);
  const line = (n, axis) => ({ x: upTo(n).map(x => x - (axis === "stage")), y: upTo(n).map(x => 1 / x) });
  const parent = k => document.getElementById(k).parentElement;
  window.tellChart = (k, n, round, axis = "round") => charts({ parentElement: parent(k), data: {
    version: `${k} ${n}`, points: n, config: {}, round,
    figure: JSON.stringify({ data: [line(n, axis)], layout: { xaxis: { title: { text: axis } }, yaxis: {} } }) } });
  window.tellBar = (run, last, ended, fresh) => bars({ parentElement: document.body, data: {
    run, last, total: 12, ended, fresh, texts: [] } });
  window.widths = () => [...document.querySelectorAll(".live-chart")].map(node =>
    node.querySelector(".trace").hasAttribute("clip-path") && Number(node.querySelector("rect").getAttribute("width")));
  window.rounds = () => [...document.querySelectorAll(".live-chart")].map(node => Number(node.dataset.round));
}
"""
NOTEBOOK = """
async source => {
  const { render } = (await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default;
  const on = {}, traits = { run: 0, state: "idle", controls: [], abilities: ["stop"], params: {}, trained: {},
    record: [], total: 40, title: "GBC", message: "", picture: {}, palette: { colours: ["#000"], dashes: ["solid"] },
    titles: { loss: "Loss" } };
  const model = { get: name => traits[name], set: () => {}, save_changes: () => {}, send: () => {}, off: () => {},
    on: (name, act) => { on[name] = act; } };
  window.shown = [];
  new MutationObserver(seen => seen.forEach(({ target }) => window.shown.push(Number(target.dataset.round))))
    .observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-round"] });
  render({ model, el: document.body });
  const rows = Array.from({ length: 40 }, (_, k) => ({ "loss:train": 1 / (k + 1) }));
  Object.assign(traits, { state: "finished", run: 1 });
  on["msg:custom"]({ run: 1, first: 0, rows });
}
"""
AT_END = (
    "last => { const bar = document.querySelector('.timeline').dataset;"
    " return bar.round == last && bar.playing == 'false'; }"
)
EQUAL = "wanted => window.rounds().every(round => round === wanted)"


@pytest.fixture
def stage(page):
    """An empty page with the modules of charts and bar, a Plotly that only takes time, and three charts."""
    page.goto("about:blank")
    chart = LOAD_PLOTLY + widgets_timeline.CHARTS + widgets_timeline.CHART
    bar = widgets_timeline.CHARTS + widgets_timeline.BAR
    page.evaluate(STAGE, [chart, bar, widgets_timeline.HTML])
    return page


def _tell(page, run="a", last=12, ended=True, fresh=True):
    page.evaluate("([run, last, ended, fresh]) => window.tellBar(run, last, ended, fresh)", [run, last, ended, fresh])
    page.evaluate("last => { for (const k of [0, 1, 2]) window.tellChart(k, last); }", last)


def test_a_training_that_is_over_when_it_is_first_seen_is_played_from_its_first_round(stage):
    _tell(stage)
    stage.wait_for_function(AT_END, arg=12)
    shown = stage.evaluate("window.shown")
    assert [rounds for chart, rounds in shown if chart == "0"][0] == 1
    by_chart = {k: [rounds for chart, rounds in shown if chart == k] for k in "012"}
    assert by_chart["0"] == by_chart["1"] == by_chart["2"] == sorted(by_chart["0"]), "no chart skips or repeats"
    assert len(by_chart["0"]) >= 3 and by_chart["0"][-1] == 12


def test_a_training_of_before_is_shown_as_it_ended(stage):
    _tell(stage, fresh=False)
    stage.wait_for_function(EQUAL, arg=12)
    assert {rounds for _, rounds in stage.evaluate("window.shown")} == {12}


def test_a_chart_of_an_earlier_round_holds_the_others_back(stage):
    _tell(stage, last=5, ended=False, fresh=False)
    stage.wait_for_function(EQUAL, arg=5)
    stage.evaluate("window.tellBar('a', 9, false, false); window.tellChart(0, 9); window.tellChart(1, 9);")
    stage.wait_for_timeout(200)
    assert stage.evaluate("window.rounds()") == [5, 5, 5]
    stage.evaluate("window.tellChart(2, 9)")
    stage.wait_for_function(EQUAL, arg=9)


def test_a_chart_that_comes_late_turns_no_playing_round_back(stage):
    stage.evaluate("window.tellBar('a', 9, false, true); window.tellChart(0, 9); window.tellChart(1, 9);")
    stage.wait_for_function("() => { const [a, b] = window.rounds(); return a === 9 && b === 9; }")
    stage.evaluate("window.tellChart(2, 5)")
    stage.wait_for_function("() => window.rounds()[2] === 5")
    assert stage.evaluate("window.rounds()") == [9, 9, 5]
    stage.evaluate("window.tellBar('a', 12, true, false); for (const k of [0, 1, 2]) window.tellChart(k, 12);")
    stage.wait_for_function(AT_END, arg=12)
    shown = [rounds for chart, rounds in stage.evaluate("window.shown") if chart == "1"]
    assert shown == sorted(shown)


def test_a_method_of_few_rounds_holds_nobody_back(stage):
    stage.evaluate("window.tellBar('a', 12, true, true)")
    stage.evaluate("window.tellChart(0, 12, 12); window.tellChart(1, 2, 12); window.tellChart(2, 12, 12);")
    stage.wait_for_function(AT_END, arg=12)
    assert stage.evaluate("window.rounds()") == [12, 2, 12]


def test_the_round_is_scrubbed_stepped_paused_and_replayed(stage):
    _tell(stage, fresh=False)
    stage.wait_for_function(EQUAL, arg=12)
    stage.get_by_label("Round that the charts show").fill("4")
    stage.wait_for_function(EQUAL, arg=4)
    for name, wanted in (("One round on", 5), ("One round back", 4), ("One round back", 3)):
        stage.get_by_role("button", name=name).click()
        stage.wait_for_function(EQUAL, arg=wanted)
    stage.get_by_label("Rounds a second").select_option("1")
    stage.get_by_role("button", name="Replay from the first round").click()
    stage.wait_for_function(EQUAL, arg=1)
    stage.get_by_role("button", name="Pause the recording").click()
    expect(stage.locator(".timeline")).to_have_attribute("data-playing", "false")
    stage.get_by_label("Rounds a second").select_option("30")
    stage.get_by_role("button", name="Play the recording").click()
    stage.wait_for_function(AT_END, arg=12)
    stage.wait_for_function(EQUAL, arg=12)


def test_stage_0_is_the_first_round_and_other_axes_stay_whole(stage):
    axes = [[0, "stage"], [1, "epoch of a network"], [2, "sweep"]]
    stage.evaluate("() => window.tellBar('a', 12, true, false)")
    stage.evaluate("axes => { for (const [k, axis] of axes) window.tellChart(k, 12, undefined, axis); }", axes)
    stage.wait_for_function(EQUAL.replace("window.rounds()", "window.rounds().slice(0, 2)"), arg=12)
    stage.get_by_label("Round that the charts show").fill("4")
    stage.wait_for_function(EQUAL.replace("window.rounds()", "window.rounds().slice(0, 2)"), arg=4)
    expect(stage.locator(".timeline output")).to_have_text("Round 4 of 12")  # where charts count in two ways
    assert stage.evaluate("window.widths()") == [84, 94, False]  # stages 0 to 3, epochs 1 to 4, all sweeps


def test_the_bar_counts_stages_where_the_charts_do_and_a_chart_tells_its_round(stage):
    stage.evaluate("() => { window.tellBar('a', 12, true, false); window.tellChart(0, 12, undefined, 'stage'); }")
    expect(stage.locator(".timeline output")).to_have_text("Stage 11 of 11")
    stage.get_by_label("Round that the charts show").fill("4")
    expect(stage.locator(".timeline output")).to_have_text("Stage 3 of 11")
    expect(stage.get_by_label("by stage; in stage 3")).to_have_attribute("data-round", "4")


def test_a_round_is_shown_without_drawing_a_chart_anew(stage):
    _tell(stage, fresh=False)
    stage.wait_for_function(EQUAL, arg=12)
    drawn = stage.evaluate("window.reacted")
    for wanted in (3, 9, 12):
        stage.get_by_label("Round that the charts show").fill(str(wanted))
        stage.wait_for_function(EQUAL, arg=wanted)
        assert stage.evaluate("window.widths()") == [wanted < 12 and 10 * wanted + 4 + 50] * 3
    assert stage.evaluate("window.reacted") == drawn


def test_another_training_begins_anew_and_the_keyboard_moves_it(stage):
    _tell(stage, fresh=False)
    stage.wait_for_function(EQUAL, arg=12)
    stage.get_by_label("Round that the charts show").focus()
    stage.keyboard.press("ArrowLeft")
    stage.wait_for_function(EQUAL, arg=11)
    stage.evaluate("window.shown.length = 0")
    _tell(stage, run="b")
    stage.wait_for_function(AT_END, arg=12)
    assert [rounds for chart, rounds in stage.evaluate("window.shown") if chart == "1"][0] == 1


def test_the_notebooks_view_is_played_and_scrubbed_by_the_same_timeline(page):
    page.goto("about:blank")
    page.evaluate(NOTEBOOK, front.LIVE)
    page.wait_for_function(AT_END, arg=40)
    shown = [turn for turn in page.evaluate("window.shown") if turn]
    assert shown[0] == 1 and shown == sorted(shown) and len(set(shown)) >= 10
    page.get_by_label("Round that the charts show").fill("4")
    expect(page.get_by_role("img", name="Loss by round; in round 4: train 0.25")).to_be_visible()
    clip, line = page.locator(".chart clipPath rect"), page.locator(".chart path").first
    expect(line).to_have_attribute("clip-path", re.compile("."))
    assert float(clip.get_attribute("width")) < 200
    page.get_by_role("button", name="One round on").click()
    expect(page.locator(".timeline output")).to_have_text("Round 5 of 40")
    page.get_by_role("button", name="Play the recording").click()
    page.wait_for_function(AT_END, arg=40)
    expect(line).not_to_have_attribute("clip-path", re.compile("."))


def test_the_first_training_of_a_fresh_browser_is_seen_from_its_first_round(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted&rounds=30")
    idle(page)
    page.evaluate(
        "() => { window.seen = []; new MutationObserver(() => { const bar = document.querySelector('.timeline');"
        " const round = bar && Number(bar.dataset.round); if (round && !window.seen.includes(round))"
        " window.seen.push(round); }).observe(document.body, {subtree: true, attributes: true, childList: true}); }"
    )
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    bar = page.locator(".timeline")
    expect(bar).to_have_attribute("data-playing", "false", timeout=TRAINING)
    seen = page.evaluate("window.seen")
    assert seen == sorted(seen) and seen[0] == 1 < seen[-1], seen  # how many between is the machine's
    page.get_by_label("Round that the charts show").fill("7")
    expect(bar).to_have_attribute("data-round", "7")
    expect(page.locator(".st-key-headline")).to_have_attribute("data-late", "true")
    charts = page.locator(".live-chart[data-round]:visible")
    expect(charts.nth(2)).to_be_visible()
    expect(page.locator(".st-key-adds .live-chart")).to_have_attribute("aria-label", re.compile("in round 7: source"))
    for chart in charts.all():
        expect(chart).to_have_attribute("data-round", "7")
