// The live view of a training, for notebooks: anywidget's contract, render({ model, el }).
//
// The timeline that it shares with the studio stands before this text (timeline.js). The traits say what state the
// training is in; each round comes once, in a message { run, first, rows, sent }, and a view that lacks some asks for
// them. It loads nothing and asks no host. Text is set as text, never as markup.

const STYLE = `
.hetcore-live { color: var(--jp-content-font-color1, var(--vscode-editor-foreground, inherit)); font-size: 14px;
  font-family: var(--jp-ui-font-family, inherit); line-height: 1.4; max-width: 1100px; padding: 4px; }
.hetcore-live * { box-sizing: border-box; }
.hetcore-live .head { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; }
.hetcore-live .head strong { font-size: 16px; }
.hetcore-live progress { width: 100%; height: 6px; accent-color: #0072B2; display: block; margin: 6px 0; }
.hetcore-live .problem { border-left: 4px solid #D55E00; padding: 4px 10px; margin: 6px 0; }
.hetcore-live .controls { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 210px), 1fr));
  gap: 6px 18px; border: 0; padding: 0; margin: 6px 0; }
.hetcore-live .control span { display: flex; justify-content: space-between; gap: 8px; }
.hetcore-live .control input[type=range] { width: 100%; accent-color: #0072B2; margin: 4px 0; }
.hetcore-live .buttons { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0; }
.hetcore-live .buttons button { font: inherit; color: inherit; background: transparent; border: 1px solid currentColor;
  border-radius: 4px; padding: 4px 14px; min-height: 32px; cursor: pointer; }
.hetcore-live .buttons button.first { background: #0072B2; border-color: #0072B2; color: #fff; }
.hetcore-live button:disabled { opacity: .45; cursor: default; }
.hetcore-live :focus-visible { outline: 2px solid #D55E00; outline-offset: 2px; }
.hetcore-live .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr));
  gap: 10px 20px; }
.hetcore-live figure { margin: 0; min-width: 0; }
.hetcore-live figcaption { font-weight: 600; margin-top: 8px; }
.hetcore-live ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0 14px; margin: 0; padding: 0; font-size: 12px; }
.hetcore-live li { display: flex; gap: 5px; align-items: center; max-width: 100%; margin: 0; }
.hetcore-live li .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 12em; }
.hetcore-live figure svg { display: block; width: 100%; color: inherit; }
.hetcore-live svg.chart { cursor: crosshair; touch-action: pan-y; }
.hetcore-live text { fill: currentColor; font-size: 11px; opacity: .8; }
.hetcore-live figure.last { order: 1; }
.hetcore-live figure select { font: inherit; color: inherit; background: transparent; padding: 2px 6px; border-radius: 4px; }
.hetcore-live select option { color: #222; background: #fff; }
.hetcore-live [hidden] { display: none !important; }`;

const WORDS = {
  idle: "Ready", training: "Training", paused: "Paused", stopped: "Stopped", finished: "Finished", failed: "Not trained",
};
const LOST = "No answer from the kernel: it was restarted, or another cell keeps it busy; run this cell again if it was.";
const SILENCE = 15000; // milliseconds without news of a training after which the kernel is asked
const ANSWER = 10000; // and after which it counts as gone
const MOST_POINTS = 500;
const PICTURE = 200;
const HEIGHT = 170, LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 20;

const active = (state) => state === "training" || state === "paused";
const share = (value) => (value === null || value === undefined ? "–" : String(Number(value.toFixed(3))));

// At most 500 places of a line, first and last among them.
function thinned(length) {
  const most = Math.min(length, MOST_POINTS);
  return Array.from({ length: most }, (_, k) => (most < 2 ? 0 : Math.round((k * (length - 1)) / (most - 1))));
}

// Round numbers between two ends, about four.
function ticks(low, high) {
  const raw = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(6)));
  return found;
}

// A chart ------------------------------------------------------------------------------------------------------------

class Chart extends RoundChart {
  constructor(group, palette, seek) {
    super(make("figure"));
    Object.assign(this, { group, palette, byRound: true });
    this.legend = make("ul");
    this.caption = make("figcaption");
    this.svg = draw("svg", { class: "chart", role: "img", height: HEIGHT });
    this.node.append(this.caption, this.legend, this.svg);
    this.entries = new Map();
    this.svg.addEventListener("pointerdown", (event) => {
      const box = this.svg.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      seek(Math.max(0, Math.min(1, share)));
    });
  }

  look(place) {
    const { colours, dashes } = this.palette;
    const turn = (Math.floor(place / colours.length) + place) % dashes.length;
    const dash = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "11 4" }[dashes[turn]];
    return { stroke: colours[place % colours.length], "stroke-width": 2, "stroke-dasharray": dash, fill: "none" };
  }

  // Draw all rounds that there are; which of them is shown is the timeline's to say.
  update(title, names, rows) {
    const width = this.svg.clientWidth || 300;
    const keys = names.map((name) => `${this.group}:${name}`);
    const [low, high] = this.range(keys, rows);
    const x = (round) => LEFT + ((width - LEFT - RIGHT) * (round - 1)) / Math.max(rows.length - 1, 1);
    const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - low);
    this.lines = keys.flatMap((key, place) => [...this.line(key, place, rows, x, y)]);
    this.mark = draw("line", { y1: TOP, y2: HEIGHT - BOTTOM, stroke: "currentColor", opacity: 0.5 });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren(...this.axes(low, high, x, y, width, rows.length), ...this.lines, this.mark);
    this.caption.textContent = title;
    Object.assign(this, { title, names, keys, rows, x, last: rows.length, old: 0 });
  }

  draw(round) {
    const at = Math.max(1, Math.min(round, this.last));
    this.clipTo(this.svg, this.lines, this.x, at < this.last ? at : Infinity);
    this.mark.setAttribute("x1", this.x(at));
    this.mark.setAttribute("x2", this.x(at));
    const values = this.names.map((name, place) => this.entry(name, place, this.rows[at - 1][this.keys[place]]));
    this.svg.setAttribute("aria-label", altText(this.title, this.word, at, values));
    this.node.dataset.round = at;
  }

  range(keys, rows) {
    if (this.group.endsWith("weight")) return [0, 1];
    let low = Infinity, high = -Infinity;
    for (const row of rows) {
      for (const key of keys) {
        const value = row[key];
        if (value === null || value === undefined) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (low > high) return [0, 1];
    return low === high ? [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2] : [low, high];
  }

  *axes(low, high, x, y, width, length) {
    for (const value of ticks(low, high)) {
      yield draw("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), stroke: "currentColor", opacity: 0.15 });
      const text = draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" });
      text.textContent = String(value);
      yield text;
    }
    for (const round of ticks(1, Math.max(length, 2)).filter((k) => Number.isInteger(k) && k >= 1)) {
      const text = draw("text", { x: x(round), y: HEIGHT - 5, "text-anchor": "middle" });
      text.textContent = String(round);
      yield text;
    }
  }

  *line(key, place, rows, x, y) {
    let path = "", open = false;
    for (const k of thinned(rows.length)) {
      const value = rows[k][key];
      const there = value !== null && value !== undefined;
      if (there) path += `${open ? "L" : "M"}${x(k + 1).toFixed(1)} ${y(value).toFixed(1)}`;
      open = there;
    }
    yield draw("path", { d: path, ...this.look(place) });
    const last = rows[rows.length - 1][key];
    if (last !== null && last !== undefined) {
      yield draw("circle", { cx: x(rows.length), cy: y(last), r: 3, fill: this.look(place).stroke });
    }
  }

  entry(name, place, value) {
    if (!this.entries.has(name)) {
      const mark = draw("svg", { width: 24, height: 8, style: "width:24px", "aria-hidden": "true" });
      mark.append(draw("line", { x1: 0, x2: 24, y1: 4, y2: 4, ...this.look(place) }));
      const label = make("span", { class: "name", title: name });
      label.textContent = name.replaceAll("_", " ");
      const number = make("b");
      this.legend.append(make("li", {}, mark, label, number));
      this.entries.set(name, number);
    }
    const said = this.group.endsWith("weight") ? share(value) : shown(value);
    this.entries.get(name).textContent = said;
    return `${name} ${said}`;
  }
}

// The picture of an ended training: its instances, coloured ------------------------------------------------------------

const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // viridis
const MUTE = "#8A8F98";
const SHAPES = [
  (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`,
  (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4 -4z`,
  (x, y) => `M${x} ${y - 4}l4 7h-8z`,
];

class Picture {
  constructor(palette) {
    this.palette = palette;
    this.by = make("select", { "aria-label": "Instances coloured by", onchange: () => this.update(this.content, true) });
    this.legend = make("ul");
    this.svg = draw("svg", { class: "picture", role: "img", height: PICTURE });
    const words = make("label", { title: "Alike ones lie side by side: two principal components of all tables" }, "Map of the instances by ", this.by);
    this.node = make("figure", { class: "last", hidden: true }, make("figcaption", {}, words), this.legend, this.svg);
  }

  update(content, changed) {
    const there = Boolean(content && content.places);
    this.node.hidden = !there;
    const width = this.svg.clientWidth || 300;
    if (!there || (this.content === content && this.width === width && !changed)) return;
    const names = Object.keys(content.colours);
    if (this.content !== content) {
      const before = this.by.value;
      this.by.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      this.by.value = names.includes(before) ? before : names[0];
    }
    Object.assign(this, { content, width });
    const colours = content.colours[this.by.value];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${PICTURE}`);
    this.svg.replaceChildren(...content.places.map((place, k) => this.point(place, colours, colours.values[k], width)));
    const said = this.entries(colours);
    this.svg.setAttribute("aria-label", `${content.places.length} instances by ${this.by.value}: ${said.join(", ")}`);
  }

  look(colours, value) {
    if (value === null || (colours.names && colours.names[value] === "not known")) return [MUTE, 0];
    if (colours.names) return [this.palette.colours[value % this.palette.colours.length], value % SHAPES.length];
    const share = Math.max(0, Math.min(1, (value - colours.low) / (colours.high - colours.low || 1))) * (SCALE.length - 1);
    const first = Math.min(Math.floor(share), SCALE.length - 2);
    const mixed = SCALE[first].map((each, k) => Math.round(each + (SCALE[first + 1][k] - each) * (share - first)));
    return [`rgb(${mixed.join(",")})`, 0];
  }

  point([right, up], colours, value, width) {
    const [fill, shape] = this.look(colours, value);
    const d = SHAPES[shape](10 + ((width - 20) * (right + 1)) / 2, 10 + ((PICTURE - 20) * (1 - up)) / 2);
    return draw("path", { d, fill, stroke: "currentColor", "stroke-width": 0.5, "stroke-opacity": 0.5 });
  }

  entries(colours) {
    const counts = (place) => colours.values.filter((value) => value === place).length;
    const known = colours.names
      ? colours.names.map((name, place) => [name, place, counts(place)])
      : [0, 0.5, 1].map((at) => colours.low + at * (colours.high - colours.low)).map((value) => [shown(value), value, ""]);
    this.legend.replaceChildren(...known.map(([name, value, count]) => {
      const [fill, shape] = this.look(colours, value);
      const mark = draw("svg", { width: 12, height: 12, style: "width:12px", "aria-hidden": "true" });
      mark.append(draw("path", { d: SHAPES[shape](6, 6), fill, stroke: "currentColor", "stroke-width": 0.5 }));
      const label = make("span", { class: "name", title: name });
      label.textContent = name;
      const number = make("b");
      number.textContent = count;
      return make("li", {}, mark, label, number);
    }));
    return known.map(([name, , count]) => `${name} ${count}`.trim());
  }
}

// The view -----------------------------------------------------------------------------------------------------------

class LiveView {
  constructor(model, el) {
    this.model = model;
    this.rows = [];
    this.run = model.get("run");
    this.fresh = false; // whether this page saw the training begin
    this.timeline = new Timeline();
    this.heard = Date.now();
    this.asked = 0;
    this.lost = "";
    this.charts = new Map();
    this.build(el);
    this.listeners = [];
    for (const name of ["state", "message", "title", "total", "trained", "params", "abilities", "controls", "picture"]) {
      this.listen(`change:${name}`, () => {
        this.hear();
        this.later();
      });
    }
    this.listen("change:record", () => this.recall());
    this.listen("change:ended", () => this.acknowledge());
    this.listen("msg:custom", (message) => this.receive(message));
    this.listen("comm_live_status_update", () => this.check());
    this.clock = setInterval(() => this.tick(), 1000);
    this.resized = new ResizeObserver(() => this.later());
    this.resized.observe(this.root);
    this.recall();
    this.later();
    model.send({ do: "rows", first: 0 });
  }

  listen(name, act) {
    this.model.on(name, act);
    this.listeners.push([name, act]);
  }

  close() {
    clearInterval(this.clock);
    this.resized.disconnect();
    for (const [name, act] of this.listeners) this.model.off(name, act);
    this.root.remove();
  }

  // Making the page

  build(el) {
    this.titled = make("strong");
    this.status = make("span", { role: "status", "aria-live": "polite" });
    this.bar = make("progress", { "aria-label": "Rounds done" });
    this.problem = make("div", { class: "problem", role: "alert", hidden: true });
    this.controls = make("fieldset", { class: "controls", "aria-label": "Parameters" });
    this.buttons = make("div", { class: "buttons" });
    this.note = make("div", { hidden: true });
    this.strip = make("div", { class: "timeline", hidden: true });
    this.timeline.bar = new TimelineBar(this.strip, this.timeline);
    this.figures = make("div", { class: "charts" });
    this.picture = new Picture(this.model.get("palette"));
    this.figures.append(this.picture.node);
    const head = make("div", { class: "head" }, this.titled, this.status);
    this.root = make(
      "section",
      { class: "hetcore-live", "aria-label": "Training", "data-lm-suppress-shortcuts": "true" },
      make("style", {}, STYLE), head, this.bar, this.problem, this.controls, this.buttons, this.note, this.strip, this.figures,
    );
    for (const name of ["keydown", "keyup"]) this.root.addEventListener(name, (event) => event.stopPropagation());
    this.root.times = [];
    el.append(this.root);
    this.sliders = new Map(this.model.get("controls").map((each) => [each.name, this.control(each)]));
    this.pressable = new Map(this.model.get("abilities").map((each) => [each, this.button(each)]));
  }

  control(facts) {
    const { name, label, help, low, high, step, auto } = facts;
    const value = make("output");
    const slider = make("input", { type: "range", min: low, max: high, step, title: help, "aria-label": label });
    slider.addEventListener("input", () => { value.textContent = shown(Number(slider.value)); });
    slider.addEventListener("change", () => this.set(name, Number(slider.value)));
    const box = make("input", { type: "checkbox", "aria-label": `${label}: auto` });
    box.addEventListener("change", () => this.set(name, box.checked ? "auto" : Number(slider.value)));
    const words = make("span", { title: help }, label, auto ? make("label", {}, value, " ", box, " auto") : value);
    this.controls.append(make("div", { class: "control" }, words, slider));
    return { slider, value, box };
  }

  button(name) {
    const words = { train: "Train", pause: "Pause", resume: "Resume", step: "One round", stop: "Stop training" };
    const node = make("button", { type: "button", class: name === "train" ? "first" : "", onclick: () => this.order(name) });
    node.textContent = words[name];
    this.buttons.append(node);
    return node;
  }

  // What the person does

  set(name, value) {
    this.model.set("params", { ...this.model.get("params"), [name]: value });
    this.model.save_changes();
    this.later();
  }

  order(name) {
    this.asked = Date.now();
    this.model.send({ do: name });
  }

  // What the kernel says

  receive(message) {
    if (!message || !Array.isArray(message.rows)) return;
    this.hear();
    if (message.run !== this.run) {
      this.run = message.run;
      this.rows = [];
      this.root.times = [];
      this.fresh = true;
    }
    if (message.first > this.rows.length) return this.model.send({ do: "rows", first: this.rows.length });
    message.rows.forEach((row, k) => { this.rows[message.first + k] = row; });
    if (message.rows.length === 1) this.arrived = [performance.now(), message.sent];
    this.later();
  }

  recall() {
    const record = this.model.get("record");
    if (!record.length || this.rows.length) return;
    for (const [place, row] of record) this.rows[place] = row;
    for (let k = 1; k < this.rows.length; k++) this.rows[k] = this.rows[k] || this.rows[k - 1];
    this.later();
  }

  acknowledge() {
    this.model.set("seen", this.model.get("ended")); // marimo runs the cells that use the widget again
    this.model.save_changes();
    this.later();
  }

  hear() {
    this.heard = Date.now();
    this.asked = 0;
    this.lost = "";
  }

  check() {
    if (this.model.comm_live === false) this.lose();
  }

  lose() {
    this.lost = LOST;
    this.later();
  }

  tick() {
    const now = Date.now();
    if (!this.asked && active(this.model.get("state")) && now - this.heard > SILENCE) {
      this.asked = now;
      this.model.send({ do: "rows", first: this.rows.length });
    }
    if (this.asked && now - this.asked > ANSWER) this.lose();
  }

  // Drawing, once a frame

  later() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.draw();
    });
  }

  draw() {
    const begun = performance.now();
    const state = this.lost ? "lost" : this.model.get("state");
    this.drawHead(state);
    this.drawControls(state);
    this.drawCharts(state);
    this.picture.update(this.model.get("picture"), false);
    this.root.style.colorScheme = isDark(this.root) ? "dark" : "light";
    this.measure(begun, state);
  }

  drawHead(state) {
    const total = this.model.get("total");
    const problem = this.lost || this.model.get("message");
    const rounds = this.rows.length ? ` · round ${this.rows.length}${total ? ` of ${total}` : ""}` : "";
    const waits = state === "training" && !this.rows.length ? " · the first round is on its way; the very first training compiles" : "";
    this.titled.textContent = this.model.get("title");
    this.status.textContent = (state === "lost" ? "Out of touch" : WORDS[state]) + rounds + waits;
    this.bar.hidden = !active(state);
    this.bar.max = Math.max(total, 1);
    if (this.rows.length) this.bar.value = this.rows.length;
    else this.bar.removeAttribute("value");
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
  }

  drawControls(state) {
    const params = this.model.get("params"), trained = this.model.get("trained");
    for (const [name, { slider, value, box }] of this.sliders) {
      const auto = params[name] === "auto";
      box.checked = auto;
      slider.disabled = auto;
      if (!auto && document.activeElement !== slider) slider.value = params[name];
      value.textContent = auto ? "" : shown(Number(params[name]));
    }
    const goes = active(state);
    const can = { train: !goes, pause: state === "training", resume: state === "paused", step: state !== "training", stop: goes };
    for (const [name, node] of this.pressable) node.disabled = !can[name] || state === "lost";
    if (this.pressable.has("resume")) {
      this.pressable.get("resume").hidden = state !== "paused";
      this.pressable.get("pause").hidden = state === "paused";
    }
    const changed = Object.keys(trained).some((name) => trained[name] !== params[name]);
    this.note.hidden = !(changed && this.rows.length);
    this.note.textContent = "What is shown was trained with other settings: press Train to follow the sliders.";
  }

  drawCharts(state) {
    const rows = this.rows, last = rows.length, ended = !active(state);
    this.strip.hidden = last < 2;
    this.figures.hidden = !last;
    if (!last) return;
    const total = ended ? last : Math.max(this.model.get("total"), last);
    this.timeline.bar.sayEnded(ended);
    this.timeline.tell({ run: this.run, fresh: this.fresh, last, total, ended, settled: ended });
    for (const [group, names] of this.groups()) this.chart(group).update(this.model.get("titles")[group], names, rows);
    this.timeline.show();
  }

  chart(group) {
    if (!this.charts.has(group)) {
      const seek = (share) => this.timeline.seek(1 + Math.round(share * (this.rows.length - 1)));
      this.charts.set(group, new Chart(group, this.model.get("palette"), seek));
      this.figures.append(this.charts.get(group).node);
    }
    const chart = this.charts.get(group);
    this.timeline.charts.add(chart); // again: a chart that was out of the page is forgotten
    return chart;
  }

  // The names of each group, in the order of their first round.
  groups() {
    const found = new Map(Object.keys(this.model.get("titles")).map((group) => [group, []]));
    for (const key of Object.keys({ ...this.rows[this.rows.length - 1], ...this.rows[0] })) {
      const cut = key.indexOf(":");
      if (cut > 0 && found.has(key.slice(0, cut))) found.get(key.slice(0, cut)).push(key.slice(cut + 1));
    }
    return [...found].filter(([, names]) => names.length);
  }

  // For whoever measures, in milliseconds: a drawing, from a message to its drawing, and from the round's end in the
  // kernel to its drawing; of the last training.
  measure(begun, state) {
    const now = performance.now();
    const data = this.root.dataset;
    data.state = state;
    data.run = this.run;
    data.rounds = this.rows.length;
    if (this.arrived) {
      this.root.times.push([now - begun, now - this.arrived[0], Date.now() - 1000 * this.arrived[1]]);
      this.arrived = null;
    }
  }
}

function render({ model, el }) {
  const view = new LiveView(model, el);
  return () => view.close();
}

export default { render };
