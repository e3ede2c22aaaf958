// The timeline of a training, which the notebook's widget and the studio's pages share: charts that show one round, and
// the bar that plays, steps and scrubs it. This text stands before the module of each; it knows neither of them, loads
// nothing and asks no host. Text is set as text, never as markup.

const ROOM = 50;  // pixels left of and above a chart's area that lines may reach into
const PATIENCE = 400;  // milliseconds that a chart has to bring what it draws of a new training, if it has something else
const SPEEDS = [[0, "Speed: by itself"], [1, "1 a second"], [3, "3 a second"], [10, "10 a second"], [30, "30 a second"]];
const BUTTONS = [
  ["first", "Replay from the first round", "M3 3h2v10H3zM13 3v10L6 8z"],
  ["back", "One round back", "M11 3v10L4 8zM11 3h2v10h-2z"],
  ["play", "Play the recording", "M5 3l8 5-8 5z"],
  ["forward", "One round on", "M5 3v10l7-5zM3 3h2v10H3z"],
];  // class, words and the path of the picture, 16 by 16
const PAUSE = "M5 3h3v10H5zM9 3h3v10H9z";
const BAR_STYLE = `
.timeline svg { display: block; width: 1rem; height: 1rem; margin: auto; fill: currentColor; }
.timeline { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.5rem; font: inherit; }
.timeline button, .timeline select { min-width: 2rem; min-height: 2rem; font: inherit; color: inherit; padding: 1px 6px;
  background: transparent; border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 0.5rem; cursor: pointer; }
.timeline select option { color: #222; background: #fff; }
.timeline input { flex: 1 1 10rem; min-width: 8rem; height: 2rem; accent-color: var(--st-primary-color, #0072B2); }
.timeline .ended { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.timeline output { flex: 1 0 50%; font-variant-numeric: tabular-nums; }
.timeline :focus-visible { outline: 2px solid var(--st-primary-color, #0072B2); outline-offset: 2px; }`;

// Nodes --------------------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  // on each of them: Jupyter's arrow keys are those of whatever has the focus, before its parents are asked
  if (["button", "input", "select"].includes(tag)) node.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function draw(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

const FAR = 1e9;  // from here on a power of ten is easier to read; the words of a page begin there too
const signed = (text) => text.replaceAll("-", "−");  // a hyphen before a number reads like a dash
const plainly = (value) => (Math.abs(value) >= 1000 ? value.toLocaleString("en-US") : String(value));  // 5,000
const written = (value) => signed(Math.abs(value) >= FAR ? value.toExponential() : plainly(value));
const short = (value) => written(Number(value.toPrecision(3)));

function shown(value) {  // with zeros at the end, which stand beside other numbers: 0.700 and 0.682
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) || Math.abs(value) >= 999.5 ? short(value) : signed(value.toPrecision(3));
}

function altText(title, word, round, values) {  // of a chart in a round, for whoever does not see it
  return `${title} by ${word}; in ${word} ${round}: ${values.join(", ")}`;
}

function isDark(node) {  // light letters stand on a dark page
  return getComputedStyle(node).color.match(/[\d.]+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0) > 382;
}

// Show of lines what lies left of an x, Infinity: all; `place` says where an x lies, in pixels. It costs a hundredth of
// drawing them anew.
function clipLines(svg, lines, place, last) {
  if (last === Infinity) return lines.forEach(line => line.removeAttribute("clip-path"));
  const end = place(last) + Math.min(4, (place(last + 1) - place(last)) / 2);  // a line's end has a little room
  if (!svg.clip?.isConnected) {
    // not by a counter: two modules on one page, or a page's and a notebook's, would count alike
    const clip = draw("clipPath", { id: `clip-${Math.random().toString(36).slice(2)}` });
    svg.clip = clip.appendChild(draw("rect", { x: -ROOM, y: -ROOM, height: 10000 }));
    svg.append(clip);
  }
  svg.clip.setAttribute("width", Math.max(end, 0) + ROOM);
  lines.forEach(line => line.setAttribute("clip-path", `url(#${svg.clip.parentNode.id})`));
}

// A chart ------------------------------------------------------------------------------------------------------------

// What the timeline asks of a chart; those of each page say how they draw.
class RoundChart {
  constructor(node) {
    Object.assign(this, { node, word: "round", ahead: 0, byRound: false, last: Infinity, upTo: undefined, old: 0 });
  }

  get there() { return this.node.isConnected && this.node.clientWidth > 0; }

  get known() { return this.upTo ?? this.last; }  // a method of few rounds has no more, and holds nobody back
}

// All of them --------------------------------------------------------------------------------------------------------

class Timeline {
  constructor() {
    Object.assign(this, { charts: new Set(), bar: null, run: null, round: Infinity, shown: undefined, playing: false });
    Object.assign(this, { speed: 0, states: 0, drawing: false, again: false, answering: false });
    this.about = { last: 0, total: 0, ended: true, texts: [] };
  }

  // Take what there is now, for the next show(); a new training is seen from its first round, one that was there before
  // as it ended, or at the round that is asked for.
  tell({ run, fresh, last, total, ended, texts = [], settled, at }) {
    const following = this.about.ended === false && this.playing;
    this.about = { last, total, ended, texts, settled };
    if (this.run !== run) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      // what a change comes to is waited for: one that has ended is shown as it ended; the first training is watched at
      // leisure
      const answering = this.run !== null, playing = fresh && !still && !(answering && ended);
      Object.assign(this, { run, answering, states: 0, shown: undefined, playing });
      this.round = this.playing ? 1 : at || Infinity;
      for (const chart of this.charts) chart.old = performance.now() + PATIENCE;  // what they show is of the one before
      setTimeout(() => this.show(), PATIENCE + 20);
    }
    if (this.playing || following) this.play();
  }

  // One update carries all charts: those of an earlier round than the others hold the others back, and what is asked for
  // while they are drawn comes after it.
  async show() {
    if (this.drawing) { this.again = true; return; }
    this.drawing = true;
    try {
      do {
        this.again = false;
        await this.showCharts();
        this.bar?.update();
      } while (this.again);
    } finally {
      this.drawing = false;  // also after an error: else nothing would be drawn ever again
    }
  }

  async showCharts() {
    for (const chart of this.charts) if (!chart.node.isConnected) this.charts.delete(chart);
    const charts = [...this.charts].filter(chart => chart.there && !(chart.old > performance.now()));
    const lasts = charts.filter(chart => chart.byRound).map(chart => chart.known);
    const reached = this.playing ? Math.min(this.shown ?? 0, this.round, this.about.last) : 0;  // nothing turns back
    const round = Math.max(Math.min(this.round, ...lasts), reached);
    await Promise.all(charts.map(chart => Promise.race([this.drawn(chart, round), patience()])));
    if (lasts.length) {
      this.states += round !== this.shown;
      this.shown = round;
    }
  }

  async drawn(chart, round) {
    try { await chart.draw(round); } catch (error) { console.error(error); }
  }

  get available() {
    const lasts = [...this.charts].filter(chart => chart.there && chart.byRound).map(chart => chart.known);
    return Math.max(1, Math.min(this.about.last, ...lasts));
  }

  get unit() {  // what the charts count: rounds from 1, or stages from 0
    const found = [...this.charts].filter(chart => chart.there && chart.byRound);
    return found.length && found.every(chart => chart.word === found[0].word) ? found[0] : { word: "round", ahead: 0 };
  }

  get pace() {  // rounds a second; by itself it takes a second and a half, or as long as the training
    return this.speed || (this.answering ? this.about.total / 0.2 : Math.max(20, this.about.total / 1.5));
  }

  goTo(round, playing = false) {
    this.answering = false;
    this.round = Math.max(1, Math.min(round, this.available));
    this.playing = playing;
    this.show();
    if (playing) this.play();
  }

  seek(round) {  // whoever goes to the end of a training that goes on follows it
    this.goTo(round);
    if (round >= this.about.last && !this.about.ended) this.round = Infinity;
  }

  toggle() {
    if (this.playing) { this.playing = false; this.bar?.update(); return; }
    this.goTo(this.shown >= this.available && this.about.ended ? 1 : this.shown, true);
  }

  play() {
    if (this.ticking) return;
    let before = performance.now(), exact = this.round;
    const tick = now => {
      if (!this.playing || !this.bar?.node.isConnected) { this.ticking = null; this.bar?.update(); return; }
      if (this.shown === undefined) before = now;  // nothing moves before the first round is there
      exact = Math.min(Math.abs(exact - this.round) > 1.5 ? this.round : exact, this.available);
      exact = Math.min(exact + this.pace * (now - before) / 1000, this.available);
      before = now;
      if (Math.floor(exact) > this.round) { this.round = Math.floor(exact); this.show(); }
      if (this.about.ended && this.round >= this.about.last) this.playing = false;
      this.ticking = requestAnimationFrame(tick);
    };
    this.ticking = requestAnimationFrame(tick);
  }
}

function patience() {  // a chart that goes away while it is drawn may never say that it is done
  return new Promise(done => setTimeout(done, 10 * PATIENCE));
}

// The bar ------------------------------------------------------------------------------------------------------------

class TimelineBar {
  constructor(node, timeline) {
    Object.assign(this, { node, timeline });
    const acts = {
      first: () => { timeline.states = 0; timeline.goTo(1, true); },
      back: () => timeline.goTo((timeline.shown ?? 1) - 1),
      play: () => timeline.toggle(),
      forward: () => timeline.goTo((timeline.shown ?? 0) + 1),
    };
    const buttons = BUTTONS.map(([kind, words, path]) => {
      const picture = draw("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
      picture.append(draw("path", { d: path }));
      const told = { type: "button", class: kind, "aria-label": words, title: words, onclick: acts[kind] };
      return make("button", told, picture);
    });
    this.button = buttons[2];
    this.slider = make("input", { type: "range", min: 1, max: 1, step: 1, "aria-label": "Round that the charts show" });
    this.slider.addEventListener("input", () => timeline.seek(Number(this.slider.value)));
    this.speed = make("select", { "aria-label": "Rounds a second" });
    this.speed.append(...SPEEDS.map(([value, words]) => make("option", { value }, words)));
    this.speed.addEventListener("change", () => { timeline.speed = Number(this.speed.value); });
    this.output = make("output", { "aria-live": "off" });
    this.ended = make("span", { class: "ended", role: "status" });
    for (const [name, value] of [["role", "group"], ["aria-label", "Timeline of the training"]]) node.setAttribute(name, value);
    node.replaceChildren(make("style", {}, BAR_STYLE), ...buttons, this.slider, this.speed, this.output, this.ended);
  }

  update() {
    const { about, playing, run, states, unit: { word, ahead }, shown: at } = this.timeline;
    const round = Math.min(at ?? (playing ? 1 : about.last), about.last);
    this.speed.value = String(this.timeline.speed);
    this.slider.max = Math.max(about.last, 1);
    this.slider.value = round;
    const words = `${word} ${round - ahead} of ${about.total - ahead}`, told = about.texts[round - 1];
    this.slider.setAttribute("aria-valuetext", words);
    this.output.textContent = `${words[0].toUpperCase()}${words.slice(1)}${told ? ` · ${told}` : ""}`;
    this.button.querySelector("path").setAttribute("d", playing ? PAUSE : BUTTONS[2][2]);
    this.button.setAttribute("aria-label", playing ? "Pause the recording" : BUTTONS[2][1]);
    Object.assign(this.node.dataset, { run, round, last: about.last, settled: about.settled, playing, states });
    this.showed?.(round, about);
  }

  // Whoever can't see that a training ended is told; true at that moment.
  sayEnded(settled) {
    const now = settled && this.timeline.busy;
    if (now) this.ended.textContent = "The training has ended.";
    if (!settled) this.ended.textContent = "";
    this.timeline.busy = !settled;
    return now;
  }
}

