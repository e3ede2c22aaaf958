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
async ([chart, bar, html, tools]) => {
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
    version: `${k} ${n}`, points: n, config: { displayModeBar: tools }, round, figure: JSON.stringify({
      data: [line(n, axis)], layout: { height: 320, xaxis: { title: { text: axis } }, yaxis: {} } }) } });
  const told = (k, n, figure, more) => charts({ parentElement: parent(k), data: {
    version: "told", points: n, config: {}, figure: JSON.stringify(figure), ...more } });
  window.tellNamed = (k, n) => told(k, n, {
    data: [{ ...line(n), name: "held out" }, { x: [1, n], y: [0.25, 0.25], name: "without" }],
    layout: { height: 320, xaxis: { title: { text: "round" } }, yaxis: { title: { text: "error" } } } });
  window.tellBars = (k, parts, lengths) => told(k, 3, {
    data: Object.entries(parts).map(
      ([name, x]) => ({ type: "bar", orientation: "h", name, x, y: ["a", "b"], marker: {} })),
    layout: { height: 200, xaxis: { title: { text: "adds" } }, yaxis: {} } }, { lengths });
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
    record: {}, total: 40, title: "GBC", message: "", picture: {}, palette: { colours: ["#000"], dashes: ["solid"] },
    titles: [["loss", "Loss"]] };
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


def _staged(page, tools):
    page.goto("about:blank")
    chart = LOAD_PLOTLY + widgets_timeline.CHARTS + widgets_timeline.CHART
    bar = widgets_timeline.CHARTS + widgets_timeline.BAR
    page.evaluate(STAGE, [chart, bar, widgets_timeline.HTML, tools])
    return page


@pytest.fixture(params=[False, True], ids=["lines", "plotly"])
def stage(page, request):
    """An empty page with the modules of charts and bar, and three charts; or with a Plotly that only takes time."""
    return _staged(page, request.param)


@pytest.fixture
def by_plotly(page):
    """The same with Plotly, as where its tools were asked for."""
    return _staged(page, tools=True)


@pytest.fixture
def by_lines(page):
    """The same without Plotly."""
    return _staged(page, tools=False)


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


def test_stage_0_is_the_first_round_and_other_axes_stay_whole(by_plotly):
    axes = [[0, "stage"], [1, "epoch of a network"], [2, "sweep"]]
    by_plotly.evaluate("() => window.tellBar('a', 12, true, false)")
    by_plotly.evaluate("axes => { for (const [k, axis] of axes) window.tellChart(k, 12, undefined, axis); }", axes)
    by_plotly.wait_for_function(EQUAL.replace("window.rounds()", "window.rounds().slice(0, 2)"), arg=12)
    by_plotly.get_by_label("Round that the charts show").fill("4")
    by_plotly.wait_for_function(EQUAL.replace("window.rounds()", "window.rounds().slice(0, 2)"), arg=4)
    expect(by_plotly.locator(".timeline output")).to_have_text("Round 4 of 12")  # where charts count in two ways
    assert by_plotly.evaluate("window.widths()") == [84, 94, False]  # stages 0 to 3, epochs 1 to 4, all sweeps


def test_the_bar_counts_stages_where_the_charts_do_and_a_chart_tells_its_round(stage):
    stage.evaluate("() => { window.tellBar('a', 12, true, false); window.tellChart(0, 12, undefined, 'stage'); }")
    expect(stage.locator(".timeline output")).to_have_text("Stage 11 of 11")
    stage.get_by_label("Round that the charts show").fill("4")
    expect(stage.locator(".timeline output")).to_have_text("Stage 3 of 11")
    expect(stage.get_by_label("by stage; in stage 3")).to_have_attribute("data-round", "4")


def test_plotly_shows_a_round_without_drawing_anew(by_plotly):
    _tell(by_plotly, fresh=False)
    by_plotly.wait_for_function(EQUAL, arg=12)
    drawn = by_plotly.evaluate("window.reacted")
    for wanted in (3, 9, 12):
        by_plotly.get_by_label("Round that the charts show").fill(str(wanted))
        by_plotly.wait_for_function(EQUAL, arg=wanted)
        assert by_plotly.evaluate("window.widths()") == [wanted < 12 and 10 * wanted + 4 + 50] * 3
    assert by_plotly.evaluate("window.reacted") == drawn


def test_a_round_is_shown_without_drawing_a_chart_anew(by_lines):
    by_lines.evaluate("() => { window.Plotly = undefined; }")
    _tell(by_lines, fresh=False)
    by_lines.wait_for_function(EQUAL, arg=12)
    line, clip = by_lines.locator(".line-chart path").first, by_lines.locator(".line-chart clipPath rect").first
    line.evaluate("node => { node.same = true; }")
    widths = []
    for wanted in (3, 9):
        by_lines.get_by_label("Round that the charts show").fill(str(wanted))
        by_lines.wait_for_function(EQUAL, arg=wanted)
        widths.append(float(clip.get_attribute("width")))
        expect(line).to_have_attribute("clip-path", re.compile("."))
    by_lines.get_by_label("Round that the charts show").fill("12")
    by_lines.wait_for_function(EQUAL, arg=12)
    expect(line).not_to_have_attribute("clip-path", re.compile("."))
    assert 50 < widths[0] < widths[1] < 350 and line.evaluate("node => node.same")


def test_lines_tell_the_values_of_a_round_and_of_what_is_pointed_at_and_are_pressed(by_lines):
    by_lines.evaluate("() => { window.tellBar('a', 12, true, false); window.tellNamed(0, 12); }")
    legend, lines = by_lines.locator("[id='0'] .line-legend li"), by_lines.locator("[id='0'] .line-chart")
    expect(legend).to_have_text(["held out0.0833", "without0.250"])
    by_lines.get_by_label("Round that the charts show").fill("4")
    expect(legend).to_have_text(["held out0.250", "without0.250"])
    expect(by_lines.get_by_label("error by round; in round 4: held out 0.250, without 0.250")).to_be_visible()
    box = lines.bounding_box()
    by_lines.mouse.move(box["x"] + 45, box["y"] + 90)
    expect(legend).to_have_text(["held out1", "without0.250"])  # what is hidden is not told, what is shown is
    by_lines.mouse.move(box["x"] + box["width"] - 5, box["y"] + 90)
    expect(legend).to_have_text(["held out0.250", "without0.250"])
    by_lines.mouse.move(0, 0)
    lines.click(position={"x": box["width"] - 12, "y": 90})
    expect(legend).to_have_text(["held out0.0833", "without0.250"])
    expect(by_lines.locator(".timeline")).to_have_attribute("data-round", "12")


def test_bars_are_made_of_parts_and_follow_the_round_where_they_have_lengths_of_rounds(by_lines):
    by_lines.evaluate("() => { window.Plotly = undefined; window.tellBar('a', 3, true, false); }")
    by_lines.evaluate("() => window.tellBars(0, { first: [1, 2], second: [3, 0] })")
    by_lines.evaluate("() => window.tellBars(1, { all: [1, -2] }, [[2, -1], [4, 0], [1, -2]])")
    by_lines.wait_for_function("() => document.querySelectorAll('.bars rect').length >= 6 && window.rounds()[1] === 3")
    bars = "[...document.querySelectorAll(`[id='${k}'] .bars > rect`)]"
    widths = f"k => {bars}.map(bar => Number(bar.getAttribute('width')))"
    one, two, three, none = by_lines.evaluate(widths, 0)
    assert two == pytest.approx(2 * one) and three == pytest.approx(3 * one) and none == 0
    expect(by_lines.locator("[id='0'] .line-legend li")).to_have_text(["first", "second"])
    by_lines.get_by_label("Round that the charts show").fill("2")
    expect(by_lines.get_by_label("adds by round; in round 2: a 4, b 0")).to_be_visible()
    four, none = by_lines.evaluate(widths, 1)
    by_lines.get_by_label("Round that the charts show").fill("1")
    by_lines.wait_for_function("() => window.rounds()[1] === 1")
    assert [four / 2, four / 4] == pytest.approx(by_lines.evaluate(widths, 1)) and none == 0
    below = by_lines.locator("[id='1'] .bars")  # with true minus signs, for a hyphen before a number reads like a dash
    expect(below.locator("text", has_text="−1").first).to_be_attached()
    assert "-" not in "".join(below.locator("text").all_text_contents())
    expect(by_lines.get_by_label("adds by round; in round 1: a 2, b −1")).to_be_visible()


def test_another_training_begins_anew_and_the_keyboard_moves_it(stage):
    _tell(stage, fresh=False)
    stage.wait_for_function(EQUAL, arg=12)
    stage.get_by_label("Round that the charts show").focus()
    stage.keyboard.press("ArrowLeft")
    stage.wait_for_function(EQUAL, arg=11)
    # one that goes on is followed from its first round; what has ended is the answer to a change, and shown at once
    stage.evaluate("window.shown.length = 0")
    _tell(stage, run="b", last=3, ended=False)
    stage.wait_for_function("() => window.shown.length")
    _tell(stage, run="b")
    stage.wait_for_function(AT_END, arg=12)
    assert [rounds for chart, rounds in stage.evaluate("window.shown") if chart == "1"][0] == 1
    stage.evaluate("window.shown.length = 0")
    _tell(stage, run="c")
    stage.wait_for_function(AT_END, arg=12)
    stage.wait_for_function(EQUAL, arg=12)
    assert all(rounds == 12 for _, rounds in stage.evaluate("window.shown"))


def test_the_notebooks_view_is_played_and_scrubbed_by_the_same_timeline(page):
    page.goto("about:blank")
    page.evaluate(NOTEBOOK, front.LIVE)
    page.wait_for_function(AT_END, arg=40)
    shown = [turn for turn in page.evaluate("window.shown") if turn]
    assert shown[0] == 1 and shown == sorted(shown) and len(set(shown)) >= 10
    page.get_by_label("Round that the charts show").fill("4")
    expect(page.get_by_role("img", name="Loss by round; in round 4: train 0.250")).to_be_visible()
    clip, line = page.locator(".line-chart clipPath rect"), page.locator(".line-chart path").first
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
    for part in ("parts", "prediction", "neighbours"):
        expect(page.locator(f".st-key-of-the-last-round-{part}")).to_have_attribute("data-late", "true")
    charts = page.locator(".live-chart[data-round]:visible")
    expect(charts.nth(2)).to_be_visible()
    expect(page.locator(".st-key-adds .live-chart")).to_have_attribute("aria-label", re.compile("in round 7: source"))
    for chart in charts.all():
        expect(chart).to_have_attribute("data-round", "7")
    page.wait_for_function("() => new URLSearchParams(location.search).get('round') === '7'")
    other = page.context.new_page()
    other.goto(f"{page.url}&instance=instance-100")
    trained(other)
    expect(other.locator(".timeline")).to_have_attribute("data-round", "7")
    expect(other.locator(".live-chart[data-round]:visible").first).to_have_attribute("data-round", "7")
    expect(other.get_by_role("combobox", name="Instance", exact=True)).to_have_value("instance-100")
    other.close()
    page.get_by_label("Round that the charts show").press("End")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('round')")
