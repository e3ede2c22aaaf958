// The studio's charts and its timeline's bar. plotly(), the timeline and the lines that the studio shares with the
// notebook's widget (hetcore/widget/timeline.js, lines.js), bars.js and figures.js stand before this text. Lines and
// bars are SVG; heat maps are Plotly's, and so are lines and bars where tools were asked for, but for bars whose lengths
// are those of a round. All modules of a page share window.studioTimeline.

function bytes(packed) { return Uint8Array.from(atob(packed), each => each.charCodeAt(0)); }

const NEAR = "200px";  // how far out of view a chart is drawn in each round all the same
const NARROW = 500;  // pixels below which a chart is drawn for a phone
const PLOT = 0.6;  // least share of a chart's own height that its lines and bars have, whatever its legend takes
const LEGEND = 28;  // pixels of a chart's height that a legend of one line has
const EM = 0.75;  // a chart's letters, in those of the page
const STILL = 600;  // milliseconds after which a round that is looked at is told
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
    return Boolean(this.data && (this.near || this.due || !rounds) && this.node.isConnected && this.wide > 0);
  }

  get wide() { return this.width ?? this.node.clientWidth; }  // as it was told, for to ask costs a layout

  // Look whether it is in view, or nearly: until that is known it counts as such, unless drawing it takes long.
  watch() {
    if (this.near !== undefined) return;
    const t = timeline(), show = () => { t.charts.add(this); t.show(); };
    const sized = entries => { this.width = Math.round(entries.at(-1).contentRect.width); show(); };
    this.near = this.steady === 0;
    new ResizeObserver(sized).observe(this.node);  // a chart in a closed tab is drawn when the tab opens
    const changed = entries => {
      clearTimeout(this.passing);
      if (!entries.at(-1).isIntersecting) this.near = false;
      else if (!this.near) this.passing = setTimeout(() => { this.near = true; show(); }, this.steady);
    };
    new IntersectionObserver(changed, { rootMargin: NEAR, scrollMargin: NEAR }).observe(this.node);
  }
}

// A figure as `hetcore.figures` makes it.
class FigureChart extends SeenChart {
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
  }

  height() { return this.figure.layout.height * rootSize() / 16; }

  // Tell tests, and whoever does not see it, what is shown.
  say(at, values) {
    const { node, data: { version, points } } = this;
    node.dataset.version = version;
    node.dataset.points = this.byRound && at < this.last ? Math.min(at, points) : points;
    if (!this.byRound) return;
    node.dataset.round = at;
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", altText(this.title, this.word, at - this.ahead, values));
  }
}

class LinesChart extends FigureChart {
  constructor(node) {
    super(node);
    this.lines = new Lines(x => { if (this.byRound) timeline().seek(Math.max(1, Math.round(x) + this.ahead)); });
    hold(node, this.lines);
  }

  draw(round) {
    const { byRound } = this, at = byRound ? Math.min(round, this.last) : "all";
    const look = `${this.taken} ${rootSize()} ${this.wide}`, key = `${look} ${at}`;
    if (this.drawn === key) return;
    const size = { width: this.wide, height: this.height() - LEGEND, em: EM * rootSize() };
    if (this.whole !== look) this.lines.whole({ ...linesOf(this.figure), ...size, byRound });
    Object.assign(this, { whole: look, drawn: key });
    this.say(at, this.lines.upTo(byRound ? at - this.ahead : Infinity, at < this.last));
  }
}

// Bars, whose lengths may be those of a round.
class BarsChart extends FigureChart {
  constructor(node) {
    super(node);
    this.bars = new Bars();
    hold(node, this.bars);
  }

  height() { return this.bars.height((this.figure.data[0].y ?? []).length, EM * rootSize()); }

  take(data) {
    super.take(data);
    const parts = this.figure.data.map(({ x }) => x), { lengths } = data, sums = parts[0].map((_, k) => sum(parts, k));
    const range = lengths ? ends([0, ...lengths.flat()], 0.05) : { low: 0, high: Math.max(...sums, 0) * 1.02 || 1 };
    Object.assign(this, { lengths, range, byRound: Boolean(lengths), last: lengths?.length ?? Infinity, word: "round", ahead: 0 });
    this.title = this.figure.layout.xaxis.title.text;
  }

  draw(round) {
    const at = this.byRound ? Math.min(round, this.last) : "all", look = `${this.taken} ${rootSize()} ${this.wide}`;
    if (this.drawn === `${look} ${at}`) return;
    if (this.whole !== look) this.bars.whole(this.figure, this.range, this.wide, EM * rootSize());
    Object.assign(this, { whole: look, drawn: `${look} ${at}` });
    if (this.byRound) this.bars.lengths([this.lengths[at - 1]]);
    this.say(at, this.byRound && this.figure.data[0].y.map((name, k) => `${name} ${shown(this.lengths[at - 1][k])}`));
  }
}

// Plotly takes names, in a legend and along an axis, for markup.
function asWritten(trace) {
  const plain = value => Array.isArray(value) ? value.map(plain) : value?.replaceAll?.("<", "&lt;") ?? value;
  const names = ["name", "x", "y"].filter(key => key in trace).map(key => [key, plain(trace[key])]);
  return { ...trace, ...Object.fromEntries(names) };
}

class PlotlyChart extends FigureChart {
  room = 0;

  height() { return super.height() + this.room; }

  // On a phone, or in large type, a legend has many lines: the chart becomes higher by what they take.
  async makeRoom() {
    const has = this.node._fullLayout?._size?.h, before = this.room;
    if (!has) return;
    this.room = Math.max(Math.round(PLOT * (this.height() - before) + before - has), 0);
    if (this.room === before) return;
    this.node.style.minHeight = `${this.height()}px`;
    await window.Plotly.relayout(this.node, { height: this.height() });
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
    const all = this.figure.data.map(asWritten), last = this.byRound ? at - this.ahead : Infinity, { config } = this.data;
    if (this.whole !== look) {
      await window.Plotly.react(node, all, layout, config);
      await this.makeRoom();
      this.whole = look;
      this.keepClipped();
    }
    if (!this.clip(last)) {  // lines over two axes
      this.whole = null;
      await window.Plotly.react(node, all.map(trace => upTo(trace, last, all)), layout, config);
    }
    this.drawn = key;
    this.say(at, this.byRound && this.values(last));
  }

  values(last) {
    const named = this.figure.data.filter(trace => trace.name && moves(trace, this.figure.data));
    return named.map(({ name, x, y }) => `${name} ${shown(y[x.findLastIndex(each => each <= last)])}`);
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
    clipLines(this.node.querySelector("svg.main-svg"), lines, x => axis.l2p(x), this.clippedAt);
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

function hold(node, { legend, svg }) {
  svg.setAttribute("aria-hidden", "true");  // the node tells what it shows
  node.replaceChildren(make("style", {}, LINES_STYLE), legend, svg);
}

const sum = (parts, k) => parts.reduce((total, part) => total + part[k], 0);

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
  const node = parentElement.querySelector(selector);
  watchColours();
  plotly(data.address).then(() => {
    const chart = node.chart ??= new Kind(node);
    if (chart.data?.version !== data.version) chart.due = false;
    follow(chart, data);
  });
  return node;
}

// How a figure is drawn: Plotly can do all, and has tools.
function kindOf(data) {
  const figure = JSON.parse(data.figure), bars = ({ type, orientation }) => type === "bar" && orientation === "h";
  if (data.lengths) return BarsChart;
  if (data.config.displayModeBar) return PlotlyChart;
  return figure.data.length && figure.data.every(bars) ? BarsChart : isLines(figure) ? LinesChart : PlotlyChart;
}

let rootPixels;  // asked for once a frame

function rootSize() {
  if (rootPixels === undefined) requestAnimationFrame(() => { rootPixels = undefined; });
  return rootPixels ??= parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
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

function chartModule({ data, parentElement }) {
  watchColours();
  const node = parentElement.querySelector(".live-chart");
  const Kind = node.chart?.taken === data.version ? node.chart.constructor : kindOf(data);
  const taken = () => {
    if (!(node.chart instanceof Kind)) begin(node, Kind);
    follow(node.chart, data);
  };
  if (Kind === PlotlyChart) plotly(data.address).then(taken);
  else taken();
}

function begin(node, Kind) {  // its tools were asked for, or are no more
  if (node.chart) timeline().charts.delete(node.chart);
  if (node.chart instanceof PlotlyChart) window.Plotly.purge(node);
  node.replaceChildren();
  node.chart = new Kind(node);
}

function follow(chart, data) {
  const t = timeline();
  chart.take(data);
  t.charts.add(chart);
  chart.watch();
  if (t.about.settled) drawRest();  // it came after the bar
  t.show();
}

// The bar ------------------------------------------------------------------------------------------------------------

// Whoever pressed a button by the keyboard is there again, which being disabled in the meantime has lost the focus: for
// some seconds, for the page may draw the button once more. The menu's module knows what was pressed.
let waiting = 0;
document.addEventListener("pointerdown", () => clearTimeout(waiting), true);  // a hand on the mouse decides by itself

function focusAgain(tries) {
  const button = window.studioPressed && document.querySelector(`.${window.studioPressed} button`);
  const at = document.activeElement;
  clearTimeout(waiting);
  if (!button || !tries || (at !== document.body && at !== button)) return;
  button.focus({ preventScroll: true });
  waiting = setTimeout(() => focusAgain(tries - 1), 150);
}

function markLast(round, { last }) {  // what is of the last round while another is shown: the page's style says so
  const marked = document.querySelectorAll(".st-key-headline, [class*='st-key-of-the-last-round']");
  marked.forEach(node => { node.dataset.late = round < last; });
}

// Tell the page which round is looked at, once nobody moves it any more; the last one goes without saying, as 0.
function tellRound(t, component) {
  const { about, bar, playing, round } = t, at = about.ended && round < about.last ? round : 0;
  clearTimeout(bar.telling);
  if (playing || !about.settled || at === bar.told) return;
  bar.telling = setTimeout(() => {
    bar.told = at;
    component.setTriggerValue("round", String(at));
  }, STILL);
}

function barModule(component) {
  const node = component.parentElement.querySelector(".timeline"), t = timeline();
  t.bar = node.bar ??= new TimelineBar(node, t);
  t.bar.told ??= component.data.at ?? 0;
  if (t.run !== null && t.run !== component.data.run) t.bar.told = 0;
  t.bar.showed = (round, about) => { markLast(round, about); tellRound(t, component); };
  if (t.bar.sayEnded(component.data.settled)) focusAgain(40);
  t.tell(component.data);
  if (component.data.settled) drawRest();
  t.show();
}
