// The live view of a training, for notebooks: anywidget's contract, render({ model, el }).
//
// Before this text stand the timeline and the lines that it shares with the studio (timeline.js, lines.js), and its charts
// (live_charts.js).
// The traits say what state the training is in; each round comes once, in a message { run, first, rows, sent }, and a
// view that lacks some asks for them. It loads nothing and asks no host. Text is set as text, never as markup.

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
.hetcore-live .buttons { display: flex; flex-wrap: wrap; gap: 6px; margin: 8px 0; }
.hetcore-live .buttons button { font: inherit; color: inherit; background: transparent; border: 1px solid currentColor;
  border-radius: 4px; padding: 4px 10px; min-height: 32px; cursor: pointer; }
.hetcore-live .buttons button.first { background: #0072B2; border-color: #0072B2; color: #fff; }
.hetcore-live button:disabled { opacity: .45; cursor: default; }
.hetcore-live :focus-visible { outline: 2px solid #D55E00; outline-offset: 2px; }
.hetcore-live .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr));
  gap: 10px 20px; }
.hetcore-live figure { margin: 0; min-width: 0; }
.hetcore-live figcaption { font-weight: 600; margin-top: 8px; }
.hetcore-live .line-legend, .hetcore-live .line-chart { font-size: 12px; }
.hetcore-live .line-legend .name { max-width: 12em; }
.hetcore-live svg.picture { display: block; width: 100%; color: inherit; }
.hetcore-live .timeline output { flex: 0 1 auto; }
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

const active = (state) => state === "training" || state === "paused";

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
    this.listen("comm_live_update", () => this.ask({ do: "rows", first: this.rows.length }));
    this.clock = setInterval(() => this.tick(), 1000);
    this.resized = new ResizeObserver(() => this.later());
    this.resized.observe(this.root);
    this.recall();
    this.later();
    this.send({ do: "rows", first: 0 });
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
      make("style", {}, LINES_STYLE + STYLE), head, this.bar, this.problem, this.controls, this.buttons, this.note, this.strip, this.figures,
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
    slider.addEventListener("input", () => { value.textContent = short(Number(slider.value)); });
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
    this.ask({ do: name });
  }

  // Send what the kernel answers, or else is gone.
  ask(content) {
    this.asked = Date.now();
    this.send(content);
  }

  send(content) {
    try {
      this.model.send(content);
    } catch {
      this.lose(); // in JupyterLab, where the kernel was restarted
    }
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
    if (message.first > this.rows.length) return this.send({ do: "rows", first: this.rows.length });
    message.rows.forEach((row, k) => { this.rows[message.first + k] = row; });
    if (message.rows.length === 1) this.arrived = [performance.now(), message.sent];
    this.later();
  }

  recall() {
    const { names, rows } = this.model.get("record");
    if (!rows || this.rows.length) return;
    for (const [place, values] of rows) this.rows[place] = Object.fromEntries(names.map((name, k) => [name, values[k]]));
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

  lose() {
    this.lost = LOST;
    this.later();
  }

  tick() {
    const now = Date.now();
    if (!this.asked && active(this.model.get("state")) && now - this.heard > SILENCE) {
      this.ask({ do: "rows", first: this.rows.length });
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
    const early = this.model.get("state") === "finished" && this.rows.length < total; // nothing was left to gain, or a callback ended it
    const rounds = this.rows.length ? ` · round ${this.rows.length}${total ? ` of ${early ? "at most " : ""}${total}` : ""}` : "";
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
    const last = this.rows[this.rows.length - 1] || {};
    for (const [name, { slider, value, box }] of this.sliders) {
      const auto = params[name] === "auto";
      box.checked = auto;
      slider.disabled = auto;
      // what "auto" chose, from where a person goes on by hand
      const chosen = trained[name] === "auto" ? last[`choice:${name}`] : null;
      const at = auto ? chosen : Number(params[name]);
      if (document.activeElement !== slider) slider.value = known(at) ? at : slider.min;
      value.textContent = known(at) ? short(at) : "";
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
    const found = this.groups().map(([group, names]) => [group, names, this.chart(group)]);
    const widths = found.map(([, , chart]) => chart.node.clientWidth || 300);  // all at once: to ask after a drawing costs a layout
    const titles = new Map(this.model.get("titles"));
    found.forEach(([group, names, chart], k) => chart.update(titles.get(group), names, rows, widths[k]));
    this.timeline.show();
  }

  chart(group) {
    if (!this.charts.has(group)) {
      const seek = (round) => this.timeline.seek(Math.max(1, Math.round(round)));
      this.charts.set(group, new Chart(group, this.model.get("palette"), seek));
      this.figures.append(this.charts.get(group).node);
    }
    const chart = this.charts.get(group);
    this.timeline.charts.add(chart); // again: a chart that was out of the page is forgotten
    return chart;
  }

  // The names of each group, in the order of their first round.
  groups() {
    const found = new Map(this.model.get("titles").map(([group]) => [group, []]));
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
