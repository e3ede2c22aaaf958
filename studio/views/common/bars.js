// Horizontal bars, side by side or made of parts: a figure of `hetcore.figures` as SVG. lines.js stands before this text.

const BAR = 26, NAMES = 0.38;  // pixels for a name in letters of twelve, and the most of the width that names take

const SHADES = { "/": 70, x: 45, ".": 25 };  // per cent of the colour in bars of one colour, by Plotly's pattern

// Towards the colour of words: a shade stands out from a light and from a dark page more than the colour itself.
function shaded(colour, marker) {
  const share = SHADES[marker?.pattern?.shape] ?? 100;
  return { style: `fill: color-mix(in srgb, ${colour} ${share}%, currentColor)`, stroke: colour };
}

class Bars {
  constructor() {
    this.legend = make("ul", { class: "line-legend" });
    this.svg = draw("svg", { class: "line-chart bars", style: "cursor: default" });
  }

  height(names, em) { return (BAR * names * em) / 12 + 3.2 * em; }

  // Draw a figure, its x-axis from `low` to `high`.
  whole({ data, layout }, { low, high }, width, em) {
    const names = data[0]?.y ?? [], longest = Math.max(0, ...names.map((name) => name.length)), row = (BAR * em) / 12;
    const room = Math.min(NAMES * width, 0.55 * em * longest + em), bottom = row * names.length;
    const height = this.height(names.length, em);
    // room for what is written behind a bar: one that ends at its right end, or below zero, is named beyond it
    const told = [low, high, ...(data[0]?.x ?? [])].map((value) => 0.6 * em * shown(value).length + 6);
    this.x = new Axis({ low, high }, room, width - Math.max(4 * em, ...(data.length > 1 ? [] : told)));
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const marks = this.x.marks(Math.max(Math.round((width - room) / 90), 2));
    const grid = marks.flatMap(([value, text]) => {
      const x = this.x.place(value), line = { x1: x, x2: x, y1: 0, y2: bottom, stroke: "currentColor", opacity: value ? 0.15 : 0.5 };
      return [draw("line", line), words(text, { x, y: bottom + 1.3 * em, "text-anchor": "middle" })];
    });
    const most = Math.floor((room - em) / (0.5 * em));
    const named = names.map((name, k) => {
      const node = words(name.length > most ? `${name.slice(0, most - 1)}…` : name, { x: room - 0.6 * em, y: (k + 0.62) * row, "text-anchor": "end" });
      node.append(titled(name));
      return node;
    });
    this.told = data.length > 1 ? [] : names.map((_, k) => words("", { y: (k + 0.62) * row }));
    this.parts = data.map((trace) => names.map((name, k) => {
      const colour = [trace.marker?.color].flat(), fill = colour[k % colour.length];
      const bar = draw("rect", { y: (k + 0.12) * row, height: 0.76 * row, ...shaded(fill, trace.marker) });
      bar.append(titled(`${data.length > 1 ? `${trace.name}: ` : ""}${shown(trace.x[k])}`));
      return bar;
    }));
    const title = words(layout.xaxis.title?.text ?? "", { x: (room + width) / 2, y: bottom + 2.7 * em, "text-anchor": "middle" });
    this.svg.replaceChildren(...grid, ...this.parts.flat(), ...named, ...this.told, title);
    this.legend.replaceChildren(...(data.length > 1 ? data.map((trace) => this.entry(trace)) : []));
    this.lengths(data.map((trace) => trace.x));
  }

  // Give the bars these lengths: of each part, of each name.
  lengths(parts) {
    const from = parts[0]?.map(() => 0) ?? [];
    parts.forEach((lengths, part) => lengths.forEach((length, k) => {
      const ends = [this.x.place(from[k]), this.x.place(from[k] + length)].sort((a, b) => a - b), bar = this.parts[part][k];
      bar.setAttribute("x", ends[0]);
      bar.setAttribute("width", ends[1] - ends[0]);
      from[k] += length;
      if (!this.told.length) return;
      this.told[k].setAttribute("x", ends[1] + 4);
      this.told[k].textContent = shown(length);
      bar.querySelector("title").textContent = shown(length);
    }));
  }

  entry({ name, marker }) {
    const mark = draw("svg", { width: 24, height: 10, "aria-hidden": "true" }), label = make("span", { class: "name", title: name });
    mark.append(draw("rect", { x: 6, width: 12, height: 10, ...shaded(marker.color, marker) }));
    label.textContent = name;
    return make("li", {}, mark, label);
  }
}
