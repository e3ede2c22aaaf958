// What the notebook's live view draws: a chart of curves by round, and the picture of an ended training.
//
// Both are SVG of a few hundred points. They stand between the timeline (timeline.js) and the view (live.js).

const MOST_POINTS = 500;
const PICTURE = 200;
const HEIGHT = 170, LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 20;

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
      // within the chart: three digits at its right end would be cut off
      const text = draw("text", { x: Math.min(x(round), width - 4 * String(round).length), y: HEIGHT - 5, "text-anchor": "middle" });
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
