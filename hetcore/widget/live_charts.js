// What the notebook's live view draws: a chart of curves by round, and the picture of an ended training.
//
// Both are SVG of a few hundred points. They stand after timeline.js and lines.js and before the view (live.js).

const PICTURE = 200, HEIGHT = 170, EM = 12;

// A chart ------------------------------------------------------------------------------------------------------------

class Chart extends RoundChart {
  constructor(group, palette, seek) {
    super(make("figure"));
    Object.assign(this, { group, palette, byRound: true, lines: new Lines(seek) });
    this.caption = make("figcaption");
    this.lines.svg.setAttribute("role", "img");
    this.node.append(this.caption, this.lines.legend, this.lines.svg);
  }

  look(place) {
    const { colours, dashes } = this.palette;
    const turn = (Math.floor(place / colours.length) + place) % dashes.length;
    return { colour: colours[place % colours.length], dash: dashes[turn] };
  }

  // Draw all rounds that there are; which of them is shown is the timeline's to say.
  update(title, names, rows, width) {
    const x = rows.map((_, k) => k + 1), shares = this.group.endsWith("weight");
    const ours = ["loss", "metric"].includes(this.group); // tables and graphs have the names that they were given
    const lines = names.map((name, place) => {
      const y = rows.map((row) => row[`${this.group}:${name}`]);
      return { name: ours ? name.replaceAll("_", " ") : name, x, y, told: true, ending: true, ...this.look(place) };
    });
    const values = lines.flatMap((line) => line.y);
    const range = values.some((value) => value) ? ends(values, 0) : { low: 0, high: 1 };  // an error is not below 0
    const y = shares ? { low: 0, high: 1, shares } : range;
    const across = { low: 1, high: Math.max(rows.length, 2), whole: true };
    const axes = { x: across, y };
    this.lines.whole({ width, height: HEIGHT, em: EM, axes, lines, bands: [], levels: [], byRound: true });
    this.caption.textContent = title;
    Object.assign(this, { title, last: rows.length, old: 0 });
  }

  draw(round) {
    const at = Math.max(1, Math.min(round, this.last)), values = this.lines.upTo(at, at < this.last);
    this.lines.svg.setAttribute("aria-label", altText(this.title, this.word, at, values));
    this.node.dataset.round = at;
  }
}

// The picture of an ended training: its instances, coloured ------------------------------------------------------------

const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // viridis
const MUTE = "#8A8F98";
const SHAPES = ["circle", "square", "diamond", "triangle-up"];

class Picture {
  constructor(palette) {
    this.palette = palette;
    this.by = make("select", { "aria-label": "Instances coloured by", onchange: () => this.update(this.content, true) });
    this.legend = make("ul", { class: "line-legend" });
    this.svg = draw("svg", { class: "picture", role: "img", height: PICTURE });
    this.words = make("span");
    const title = "Alike ones lie side by side: two principal components of all tables. Of many instances a sample is drawn.";
    const words = make("label", { title }, this.words, this.by);
    this.node = make("figure", { class: "last", hidden: true }, make("figcaption", {}, words), this.legend, this.svg);
  }

  update(content, changed) {
    const there = Boolean(content && content.places);
    this.node.hidden = !there;
    const width = this.svg.clientWidth || 300;
    if (!there || (this.content === content && this.width === width && !changed)) return;
    const names = Object.keys(content.colours).sort().reverse(); // "prediction" first, in a saved notebook too
    if (this.content !== content) {
      const before = this.by.value;
      this.by.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      this.by.value = names.includes(before) ? before : names[0];
    }
    Object.assign(this, { content, width });
    this.words.textContent = `Map of ${content.places.length} instances at the end, by `;
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
    const d = MARKS[SHAPES[shape]](10 + ((width - 20) * (right + 1)) / 2, 10 + ((PICTURE - 20) * (1 - up)) / 2, 3.5);
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
      mark.append(draw("path", { d: MARKS[SHAPES[shape]](6, 6, 3.5), fill, stroke: "currentColor", "stroke-width": 0.5 }));
      const label = make("span", { class: "name", title: name });
      label.textContent = name;
      const number = make("b");
      number.textContent = count;
      return make("li", {}, mark, label, number);
    }));
    return known.map(([name, , count]) => `${name} ${count}`.trim());
  }
}
