// Lines over one axis, as the notebook's widget and the studio's pages draw them: SVG by hand, and a legend that tells
// the values of the round that is shown, or of the place that is pointed at. It stands after timeline.js.
//
// What is drawn: { width, height, em (pixels), byRound, titles: { x, y }, axes: { x, y }, lines, bands, levels }.
// An axis is { low, high } with, if need be, `log`, `percent`, `shares`, `whole` (numbers), `ticks` ([[value, text]]).
// A line is { name, x, y, colour } with `width`, `dash`, `opacity`, `mark` ([shape, radius]), `bare` (marks alone), `told`
// (in the legend), `still` (never clipped), `level` (one value everywhere), `ending` (a dot at its end), `about` (words
// over its marks). A band { x, y, fill } is a closed outline, in the legend with `name`; a level is { y, colour }.

const MOST_POINTS = 500;
const DASHES = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "11 4" };
const star = (x, y, r) => Array.from({ length: 10 }, (_, k) => {
  const far = k % 2 ? r * 0.45 : r, turn = (Math.PI * k) / 5;
  return `${k ? "L" : "M"}${(x + far * Math.sin(turn)).toFixed(1)} ${(y - far * Math.cos(turn)).toFixed(1)}`;
}).join("") + "z";
const MARKS = {
  circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (x, y, r) => `M${x - 0.86 * r} ${y - 0.86 * r}h${1.72 * r}v${1.72 * r}h${-1.72 * r}z`,
  diamond: (x, y, r) => `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
  "triangle-up": (x, y, r) => `M${x} ${y - 1.15 * r}l${1.15 * r} ${2 * r}h${-2.3 * r}z`,
  x: (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
  star,
};
const LINES_STYLE = `
.line-legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 14px; margin: 0; padding: 0; font-size: 0.75rem; }
.line-legend li { display: flex; gap: 5px; align-items: center; max-width: 100%; margin: 0; padding: 0; font-size: inherit; }
.line-legend svg { display: block; width: 24px; flex: none; }
.line-legend .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 16em; }
.line-legend b { font-variant-numeric: tabular-nums; }
.line-chart { display: block; width: 100%; margin-top: 4px; color: inherit; font-size: 0.75rem; cursor: crosshair; touch-action: pan-y; }
.line-chart text { fill: currentColor; opacity: 0.85; }`;

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);
const share = (value) => (value > 0 && value < 0.0005 ? "< 0.001" : value ? signed(value.toFixed(3)) : "0");

// At most 500 places of a line, first and last among them.
function thinned(length) {
  const most = Math.min(length, MOST_POINTS);
  return Array.from({ length: most }, (_, k) => (most < 2 ? 0 : Math.round((k * (length - 1)) / (most - 1))));
}

// Round numbers between two ends, about as many as are asked for.
function ticks(low, high, count = 4) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((each) => each >= raw * 0.999);
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let k = first; k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(6)));
  return found;
}

function powers(low, high) {  // of ten
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high));
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) => 10 ** (first + k));
}

// The least and the greatest of some values, with a share of room between them and the ends.
function ends(values, room = 0.06) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return { low: 0, high: 1 };
  const more = low === high ? Math.abs(low || 1) / 2 : room * (high - low);
  return { low: low - more, high: high + more };
}

// Where a value lies, in pixels, and what lies at a pixel.
class Axis {
  constructor(facts, from, to) {
    const of = facts.log ? Math.log10 : (value) => value, back = facts.log ? (value) => 10 ** value : (value) => value;
    const low = of(facts.low), size = of(facts.high) - low || 1;
    Object.assign(this, facts, { place: (value) => from + ((to - from) * (of(value) - low)) / size });
    this.value = (place) => back(low + (size * (place - from)) / (to - from));
  }

  marks(count) {
    const slack = 1e-6 * (this.high - this.low);
    if (this.ticks) return this.ticks.filter(([value]) => value >= this.low - slack && value <= this.high + slack);
    const found = this.log ? powers(this.low, this.high) : ticks(this.low, this.high, count);
    const kept = this.whole ? found.filter(Number.isInteger) : found;
    return kept.map((value) => [value, this.percent ? `${written(Number((100 * value).toFixed(3)))}%` : written(value)]);
  }

  told(value) {  // as a legend says it
    if (!known(value)) return "–";
    return this.percent ? `${signed((100 * value).toFixed(1))}%` : this.shares ? share(value) : shown(value);
  }
}

function words(text, attributes) {
  const node = draw("text", attributes);
  node.textContent = text;
  return node;
}

function titled(text) {  // shown by the browser over what it stands in
  const node = draw("title", {});
  node.textContent = text;
  return node;
}

class Lines {
  // `seek` is called with the x that was pressed.
  constructor(seek) {
    this.pointed = null;
    this.legend = make("ul", { class: "line-legend" });
    this.svg = draw("svg", { class: "line-chart" });
    const at = (event) => this.x.value(event.clientX - this.svg.getBoundingClientRect().left);
    this.svg.addEventListener("click", (event) => seek(at(event)));
    this.svg.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") this.point(at(event)); });
    this.svg.addEventListener("pointerleave", () => this.point(null));
  }

  // Draw all that there is.
  whole(content) {
    const { svg } = this, { width, height, em, titles = {}, axes } = content, bottom = height - (titles.x ? 2.9 : 1.7) * em;
    const y = new Axis(axes.y, bottom, 8), rows = y.marks(Math.max(Math.round(bottom / 42), 2));
    const left = (titles.y ? 2.2 : 0.3) * em + 0.62 * em * Math.max(2, ...rows.map(([, text]) => text.length));
    const x = new Axis(axes.x, left, width - 10), columns = x.marks(Math.max(Math.round((width - left) / 50), 2));
    Object.assign(this, { content, x, y, box: { left, right: width - 10, bottom } });
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.cross = draw("line", { y1: 8, y2: bottom, stroke: "currentColor", opacity: 0.5 });
    const still = content.lines.filter((line) => line.still), moving = content.lines.filter((line) => !line.still);
    this.moving = [...content.bands.map((band) => this.band(band)), ...moving.flatMap((line) => this.line(line))];
    svg.replaceChildren(
      ...this.grid(rows, columns, em), ...this.titles(titles, em), ...content.levels.map((level) => this.level(level)),
      ...still.flatMap((line) => this.line(line)), ...this.moving, this.cross);
    const bands = content.bands.filter((band) => band.name).map((band) => ({ ...band, colour: band.fill, width: 8 }));
    const lines = content.lines.filter((line) => line.told), looks = [...bands, ...lines].map((line) => this.lookOf(line));
    if (looks.join() !== this.looks?.join()) {  // to make them anew is a third of a drawing
      this.nodes = [...bands, ...lines].map((line) => this.entry(line));
      this.legend.replaceChildren(...this.nodes.map(({ node }) => node));
    }
    this.looks = looks;
    this.entries = lines.map((line, k) => [line, this.nodes[bands.length + k]]);
  }

  // Show what lies left of an x, where it hides something, and tell its values; return them by name.
  upTo(last, hides) {
    Object.assign(this, { last, hides });
    clipLines(this.svg, this.moving, this.x.place, hides ? last : Infinity);
    return this.tell();
  }

  // Values at the place that is pointed at, else at the round.
  point(value) {
    this.pointed = value;
    if (this.content) this.tell();
  }

  nearest(value) {  // of what is shown
    const all = this.content.lines.filter((line) => !line.still && !line.bare).flatMap((line) => line.x);
    const here = all.filter((x) => x <= this.last);
    return here.reduce((best, x) => (Math.abs(x - value) < Math.abs(best - value) ? x : best), Infinity);
  }

  tell() {
    const pointed = this.pointed === null ? null : this.nearest(this.pointed), { low, high } = this.x;
    const at = pointed ?? (this.content.byRound ? this.last : null);
    const there = at !== null && at >= low && at <= high && (pointed !== null || this.hides);
    this.cross.setAttribute("x1", there ? this.x.place(at) : -10);
    this.cross.setAttribute("x2", there ? this.x.place(at) : -10);
    const told = ({ level, x, y }) => {
      if (!y.some(known)) return "";  // an entry for lines that have none of their own
      if (level) return this.y.told(y[0]);
      return at === null ? "" : this.y.told(y[x.findLastIndex((each, k) => each <= at && known(y[k]))]);  // it may have ended
    };
    return this.entries.filter(([line]) => !line.bare).map(([line, entry]) => {
      entry.value.textContent = told(line);
      return `${line.name} ${told(line)}`.trim();
    });
  }

  *grid(rows, columns, em) {
    const { left, right, bottom } = this.box, faint = { stroke: "currentColor", opacity: 0.15 };
    for (const [value, text] of rows) {
      const y = this.y.place(value);
      yield draw("line", { x1: left, x2: right, y1: y, y2: y, ...faint });
      yield words(text, { x: left - 0.4 * em, y: y + 0.35 * em, "text-anchor": "end" });
    }
    for (const [value, text] of columns) {
      // within the chart: three digits at its right end would be cut off
      const x = Math.min(this.x.place(value), right + 10 - 0.3 * em * text.length);
      yield words(text, { x, y: bottom + 1.25 * em, "text-anchor": "middle" });
    }
  }

  *titles({ x, y }, em) {
    const { left, right, bottom } = this.box;
    if (x) yield words(x, { x: (left + right) / 2, y: bottom + 2.6 * em, "text-anchor": "middle" });
    const middle = bottom / 2;
    if (y) yield words(y, { x: em, y: middle, "text-anchor": "middle", transform: `rotate(-90 ${em} ${middle})` });
  }

  look({ colour, width = 2, dash = "solid", opacity = 1 }) {
    return { stroke: colour, "stroke-width": width, "stroke-dasharray": DASHES[dash] ?? dash, opacity, fill: "none" };
  }

  level({ y, ...look }) {
    const { box: { left, right } } = this, at = this.y.place(y);
    return draw("line", { x1: left, x2: right, y1: at, y2: at, ...this.look(look) });
  }

  band({ x, y, fill }) {
    const corners = x.map((each, k) => [each, y[k]]).filter(([, value]) => known(value));
    const path = corners.map(([each, value]) => `${this.x.place(each).toFixed(1)} ${this.y.place(value).toFixed(1)}`);
    return draw("path", { d: path.length ? `M${path.join("L")}z` : "", fill });
  }

  line(line) {
    const [shape, radius] = line.mark ?? ["circle", 3];
    let path = "", open = false;
    const marks = [];
    for (const k of thinned(line.x.length)) {
      const value = line.y[k], there = known(value) && !(this.y.log && value <= 0);
      if (there) {
        const at = [this.x.place(line.x[k]), this.y.place(value)].map((each) => Number(each.toFixed(1)));
        path += `${open ? "L" : "M"}${at.join(" ")}`;
        marks.push(MARKS[shape](...at, radius));
      }
      open = there;
    }
    const { colour, opacity = 1 } = line, d = line.mark ? marks.join("") : line.ending ? marks.slice(-1).join("") : "";
    const fill = shape === "x" ? "none" : colour, stroke = shape === "star" ? "white" : colour;
    const dots = draw("path", { d, fill, stroke, opacity });
    if (line.about) dots.append(titled(line.about));
    return [draw("path", { d: line.bare ? "" : path, "stroke-linejoin": "round", ...this.look(line) }), dots];
  }

  lookOf({ name, colour, width, dash, opacity, mark, bare }) { return [name, colour, width, dash, opacity, mark, bare].join(); }

  entry(line) {
    const mark = draw("svg", { width: 24, height: 10, "aria-hidden": "true" }), value = make("b");
    if (!line.bare) mark.append(draw("line", { x1: 0, x2: 24, y1: 5, y2: 5, ...this.look(line) }));
    if (line.mark) {
      const [shape, radius] = line.mark;
      mark.append(draw("path", { d: MARKS[shape](12, 5, Math.min(radius, 5)), fill: line.colour, stroke: line.colour }));
    }
    const label = make("span", { class: "name", title: line.name });
    label.textContent = line.name;
    return { node: make("li", {}, mark, label, value), value };
  }
}
