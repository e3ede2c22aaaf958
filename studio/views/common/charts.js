// The studio's charts, drawn by Plotly, and its timeline's bar. plotly() and the timeline that the studio shares with the
// notebook's widget (hetcore/widget/timeline.js) stand before this text. All modules of a page share
// window.studioTimeline.

// By the first word of the x-axis of charts that the bar moves: how far a round is ahead of it, as stage 0 is round 1.
const AXES = { round: 0, epoch: 0, stage: 1 };

function bytes(packed) { return Uint8Array.from(atob(packed), each => each.charCodeAt(0)); }

const NEAR = "200px";  // how far out of view a chart is drawn in each round all the same
const NARROW = 500;  // pixels below which a chart is drawn for a phone
const PLOT = 0.6;  // least share of a chart's own height that its lines and bars have, whatever its legend takes
const STEADY = 500;  // milliseconds in view after which a network or map is drawn during a training

function timeline() {
  return window.studioTimeline ??= new Timeline();
}

// A chart ------------------------------------------------------------------------------------------------------------

// Out of view it is drawn once a training has ended, not in each of its rounds: drawing is most of what a round costs.
class SeenChart extends RoundChart {
  get steady() { return 0; }

  get there() {
    const rounds = timeline().bar?.node.isConnected;  // without a bar there are none to wait for
    return Boolean(this.data && (this.near || this.due || !rounds) && super.there);  // its width last: it costs a layout
  }

  // Look whether it is in view, or nearly: until that is known it counts as such, unless drawing it takes long.
  watch() {
    if (this.near !== undefined) return;
    const t = timeline(), show = () => { t.charts.add(this); t.show(); };
    this.near = this.steady === 0;
    new ResizeObserver(show).observe(this.node);  // a chart in a closed tab is drawn when the tab opens
    const changed = entries => {
      clearTimeout(this.passing);
      if (!entries.at(-1).isIntersecting) this.near = false;
      else if (!this.near) this.passing = setTimeout(() => { this.near = true; show(); }, this.steady);
    };
    new IntersectionObserver(changed, { rootMargin: NEAR, scrollMargin: NEAR }).observe(this.node);
  }
}

class PlotlyChart extends SeenChart {
  room = 0;

  take(data) {
    this.upTo = data.round;  // rounds that there were when the figure was made
    if (this.taken === data.version) return;
    Object.assign(this, { taken: data.version, old: 0, data, figure: JSON.parse(data.figure), due: false });
    const lines = this.figure.data.filter(trace => moves(trace, this.figure.data));
    this.node.style.minHeight = `${this.height()}px`;
    this.title = this.figure.layout.yaxis?.title?.text ?? "";
    this.word = this.figure.layout.xaxis?.title?.text?.split(" ")[0];
    this.ahead = AXES[this.word];
    const rounds = lines.flatMap(trace => trace.x).filter(Number.isFinite).map(x => x + this.ahead);
    this.byRound = this.ahead !== undefined && rounds.length > 0;
    this.last = this.byRound ? Math.max(...rounds) : Infinity;
    if (this.byRound) holdAxes(this.figure);
    this.lengths = data.lengths;  // of bars, by round
    if (!this.lengths) return;
    const all = this.lengths.flat(), room = 0.05 * (Math.max(...all, 0) - Math.min(...all, 0) || 1);
    this.figure.layout.xaxis.range = [Math.min(...all, 0) - room, Math.max(...all, 0) + room];
    Object.assign(this, { byRound: true, last: this.lengths.length, word: "round", ahead: 0 });
  }

  height() { return this.figure.layout.height * rootSize() / 16 + this.room; }

  // On a phone, or in large type, a legend has many lines: the chart becomes higher by what they take.
  async makeRoom() {
    const has = this.node._fullLayout?._size?.h, before = this.room;
    if (!has) return;
    this.room = Math.max(Math.round(PLOT * (this.height() - before) + before - has), 0);
    if (this.room === before) return;
    this.node.style.minHeight = `${this.height()}px`;
    await window.Plotly.relayout(this.node, { height: this.height() });
  }

  traces(at) {  // bars have other lengths in each round
    return this.lengths ? [{ ...this.figure.data[0], x: this.lengths[at - 1] }] : this.figure.data;
  }

  // A chart is drawn once, whole; a round shows of it what lies left of a clip.
  async draw(round) {
    const { node } = this, at = this.byRound ? Math.min(round, this.last) : "all";
    const style = getComputedStyle(node.parentElement), size = 12 * rootSize() / 16;
    const look = `${this.taken} ${style.color} ${size} ${node.clientWidth < NARROW}`, key = `${look} ${at}`;
    if (this.drawn === key) return;
    const font = { color: style.color, family: style.fontFamily, size };
    // Half of a chart is Plotly's limit; past it a legend on a phone has a scroll bar and lies over the bars.
    const legend = { ...this.figure.layout.legend, maxheight: 0.8 };
    const layout = { ...this.figure.layout, height: this.height(), legend, font, uirevision: "keep" };
    const all = this.traces(at), last = this.byRound ? at - this.ahead : Infinity;
    const { version, points, config } = this.data;
    if (this.whole !== look || this.lengths) {
      await window.Plotly.react(node, all, layout, config);
      await this.makeRoom();
      this.whole = look;
      this.keepClipped();
    }
    if (!this.lengths && !this.clip(last)) {  // lines over two axes
      this.whole = null;
      await window.Plotly.react(node, all.map(trace => upTo(trace, last, all)), layout, config);
    }
    this.drawn = key;
    node.dataset.version = version;
    node.dataset.points = this.byRound && at < this.last ? Math.min(at, points) : points;
    if (this.byRound) this.say(at, last);
  }

  say(at, last) {
    this.node.dataset.round = at;
    const { data: [bars, ...others], layout } = this.figure;
    const named = [bars, ...others].filter(trace => trace.name && moves(trace, this.figure.data));
    const values = this.lengths
      ? bars.y.map((name, k) => `${name} ${shown(this.lengths[at - 1][k])}`)
      : named.map(trace => `${trace.name} ${shown(trace.y[trace.x.findLastIndex(x => x <= last)])}`);
    this.node.setAttribute("role", "group");
    const title = this.lengths ? layout.xaxis.title.text : this.title;
    this.node.setAttribute("aria-label", altText(title, this.word, last, values));
  }

  // Show the lines that move up to an x; return whether all that is hidden then is hidden.
  clip(last) {
    const whole = !this.byRound || last >= this.last - this.ahead;
    this.clippedAt = whole ? Infinity : last;
    const axes = this.node._fullLayout, axis = axes?.xaxis;
    if (!axis || axes.xaxis2 || axes.yaxis2) return whole;
    const all = this.figure.data;
    const lines = [...this.node.querySelectorAll(".cartesianlayer .trace")].filter(
      line => moves(all[line.__data__?.[0]?.trace?.index] ?? {}, all));
    if (!lines.length) return whole;
    this.clipTo(this.node.querySelector("svg.main-svg"), lines, x => axis.l2p(x), this.clippedAt);
    return true;
  }

  // Plotly draws lines again when a chart is zoomed, resized or its legend is pressed; nothing is told of what is hidden.
  keepClipped() {
    const { node } = this;
    if (this.kept || !node.on) return;
    this.kept = true;
    node.on("plotly_afterplot", () => this.clip(this.clippedAt ?? Infinity));
    node.on("plotly_beforehover", event => {
      const axis = node._fullLayout?.xaxis;
      if (!axis || !event || !Number.isFinite(this.clippedAt)) return true;
      const at = axis.p2l(event.clientX - node.getBoundingClientRect().left - axis._offset);
      if (at > this.clippedAt + 0.5) window.Plotly.Fx.unhover(node);
      return at <= this.clippedAt + 0.5;
    });
  }
}

// A chart of a training that has ended, coloured anew in each of its rounds: a map, a network. It says how it is drawn
// whole, and how coloured at a round.
class EndedChart extends SeenChart {
  get known() { return Infinity; }  // it holds no chart back

  get steady() { return STEADY; }  // what lies above goes and comes as a page is drawn, and drawing these takes a second

  async draw(round) {
    const { node, data, count } = this, style = getComputedStyle(node.parentElement);
    this.narrow = node.clientWidth < NARROW;  // what was fitted to a wide page is small on a narrow one
    const look = `${data.version} ${style.color} ${this.narrow}`;
    if (this.look !== look) {
      this.look = look;
      this.shown = undefined;
      await this.drawWhole(style);
    }
    if (!this.byRound || this.look !== look) return;
    const at = timeline().about.ended ? Math.min(Math.max(round, 1), count) : count;  // another training may go on
    if (this.shown === undefined ? at !== count : at !== this.shown) await this.colour(at);
    this.mark(at);
  }

  mark(round) {
    this.shown = round;
    this.node.dataset.round = round;
  }
}

// Draw a component's data on its node, again whenever its size changes, and return the node.
function mount({ data, parentElement }, selector, Kind) {
  const node = parentElement.querySelector(selector), t = timeline();
  watchColours();
  plotly(data.address).then(() => {
    const chart = node.chart ??= new Kind(node);
    if (chart.data?.version !== data.version) chart.due = false;
    chart.take(data);
    t.charts.add(chart);
    chart.watch();
    if (t.about.settled) drawRest();  // it came after the bar
    t.show();
  });
  return node;
}

// Lines of earlier trainings stay, and so do level lines from end to end beside longer ones.
function moves(trace, all) {
  const longest = Math.max(...all.map(each => Array.isArray(each.x) ? each.x.length : 0));
  return trace.meta !== "before" && Array.isArray(trace.x) && (trace.x.length > 2 || longest <= 2);
}

function holdAxes(figure) {  // the axes of the whole training, so that a line is seen to move
  const lines = figure.data.filter(trace => trace.meta === "before" || moves(trace, figure.data));  // no level lines
  const x = lines.flatMap(trace => trace.x ?? []).filter(Number.isFinite);
  figure.layout.xaxis = { ...figure.layout.xaxis, range: [Math.min(...x) - 0.5, Math.max(...x) + 0.5] };
  const log = figure.layout.yaxis?.type === "log";  // whose range is in powers of ten
  const values = figure.data.flatMap(trace => trace.y ?? []).map(value => log ? Math.log10(value) : value);
  const y = values.filter(Number.isFinite);
  if (figure.layout.yaxis?.range || !y.length || figure.data.some(trace => trace.stackgroup)) return;
  const low = Math.min(...y), high = Math.max(...y), room = 0.06 * (high - low || Math.abs(high) || 1);
  figure.layout.yaxis = { ...figure.layout.yaxis, range: [low - room, high + room] };
}

function upTo(trace, last, all) {
  if (!moves(trace, all)) return trace;
  const keep = values => Array.isArray(values) ? values.filter((_, k) => trace.x[k] <= last) : values;
  return { ...trace, x: keep(trace.x), y: keep(trace.y) };
}

function rootSize() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}

function watchColours() {  // light, dark, and the size of letters may change while a page is open
  const t = timeline(), app = document.querySelector("[data-testid='stApp']");
  if (t.colours || !app) return;
  t.colours = new MutationObserver(() => setTimeout(() => t.show(), 50));
  t.colours.observe(app, { attributes: true, attributeFilter: ["class"] });
}

// Once there is time, draw the charts that nobody sees: whoever scrolls, prints or copies the page finds them.
function drawRest() {
  const t = timeline(), rest = () => {
    t.charts.forEach(chart => { chart.due = true; });
    t.show();
  };
  clearTimeout(t.rest);
  t.rest = setTimeout(rest, 100);
}

function chartModule(component) {
  watchColours();
  const node = component.parentElement.querySelector(".live-chart"), t = timeline();
  const chart = node.chart ??= new PlotlyChart(node);
  plotly(component.data.address).then(() => {
    chart.take(component.data);
    t.charts.add(chart);
    chart.watch();
    if (t.about.settled) drawRest();  // it came after the bar
    t.show();
  });
}

// The bar ------------------------------------------------------------------------------------------------------------

// Whoever pressed a button by the keyboard is there again, which being disabled in the meantime has lost the focus. The
// menu's module knows what was pressed.
function focusAgain(tries) {
  const button = window.studioPressed && document.querySelector(`.${window.studioPressed} button`);
  if (!button || document.activeElement !== document.body) return;
  button.focus({ preventScroll: true });
  if (document.activeElement === document.body && tries) setTimeout(() => focusAgain(tries - 1), 150);
}

function markHeadline(round, { last }) {  // its numbers are those of the last round, and the page's style says so
  const head = document.querySelector(".st-key-headline");
  if (head) head.dataset.late = round < last;
}

function barModule(component) {
  const node = component.parentElement.querySelector(".timeline"), t = timeline();
  t.bar = node.bar ??= new TimelineBar(node, t);
  t.bar.showed = markHeadline;
  if (t.bar.sayEnded(component.data.settled)) focusAgain(20);
  t.tell(component.data);
  if (component.data.settled) drawRest();
  t.show();
}
