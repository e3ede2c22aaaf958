// The map of the instances: a point for each, chosen by drawing around it; its colour is of the round that the charts
// show. plotly(), the timeline and charts.js stand before this text.

function unpacked(codes) { return Uint8Array.from(atob(codes), each => each.charCodeAt(0)); }

class MapChart extends RoundChart {
  get there() { return Boolean(this.figure && super.there); }

  get known() { return Infinity; }  // of a training that has ended: it holds no chart back

  take(data) {
    if (this.version === data.version) return;
    Object.assign(this, { data, version: data.version, figure: JSON.parse(data.figure), byRound: Boolean(data.rounds) });
    Object.assign(this, { old: 0, look: undefined, last: data.rounds?.count ?? Infinity });
    this.classes = this.byRound && data.rounds.low === undefined;
    if (!this.byRound) return;
    this.codes = unpacked(data.rounds.codes);
    this.moving = this.figure.data.map((trace, k) => [trace, k]).filter(([trace]) => trace.hoverinfo !== "skip");
    const points = this.moving.flatMap(([{ x, y, text, customdata }]) => x.map(
      (each, k) => ({ x: each, y: y[k], text: text[k], row: customdata[k] })));
    this.points = points.sort((a, b) => a.row - b.row);  // as the codes are
  }

  async draw(round) {
    const { node, data } = this, style = getComputedStyle(node.parentElement), look = `${data.version} ${style.color}`;
    if (this.look !== look) {
      this.look = look;
      this.shown = undefined;
      await this.drawWhole(style);
    }
    if (!this.byRound || this.look !== look) return;
    const { count, points } = data.rounds;  // a training that goes on is another one than this map is of
    const at = timeline().about.ended ? Math.min(Math.max(round, 1), count) : count;
    if (this.shown === undefined ? at === count : at === this.shown) return this.mark(at);
    const codes = this.codes.subarray((at - 1) * points, at * points);
    const places = this.moving.map(([, k]) => k);
    if (this.classes) await window.Plotly.update(node, this.parted(codes, places), this.titled(at), places);
    else await window.Plotly.restyle(node, { "marker.color": this.numbers(codes) }, places);
    this.mark(at);
  }

  titled(at) { return { "legend.title.text": `Round ${at} ` }; }

  parted(codes, places) {  // each class has a trace, and takes what is of it
    const parts = places.map(place => this.points.filter((_, k) => codes[k] === place));
    const of = name => parts.map(part => part.map(point => point[name]));
    return { x: of("x"), y: of("y"), text: of("text"), customdata: of("row"), selectedpoints: parts.map(() => null) };
  }

  numbers(codes) {
    const { low, high } = this.data.rounds, at = new Map(this.points.map(({ row }, k) => [row, codes[k]]));
    const colour = code => code === 255 ? null : low + (high - low) * code / 254;
    return this.moving.map(([{ customdata, marker }]) => Array.isArray(marker.color)
      ? customdata.map(row => colour(at.get(row))) : marker.color);
  }

  mark(round) {
    this.shown = round;
    this.node.dataset.round = round;
    this.node.setAttribute("aria-label", `${this.data.alt}, round ${round} of ${this.data.rounds.count}`);
  }

  async drawWhole(style) {
    const { node, data } = this, size = 12 * rootSize() / 16;
    const layout = { ...this.figure.layout, uirevision: data.keeps };
    if (this.classes) layout.legend = { ...layout.legend, title: { text: this.titled(data.rounds.count)["legend.title.text"] } };
    layout.font = { color: style.color, family: style.fontFamily, size };
    await window.Plotly.react(node, structuredClone(this.figure.data), layout, data.config);
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", data.alt);
    node.dataset.version = data.version;
    delete node.dataset.round;
    for (const name of ["plotly_selected", "plotly_deselect", "plotly_click"]) node.removeAllListeners(name);
    const rows = event => event.points.map(({ customdata }) => customdata).filter(row => row !== undefined);
    node.on("plotly_selected", event => { if (event?.points?.length) node.choose(rows(event)); });
    node.on("plotly_click", event => node.choose(rows(event)));
    node.on("plotly_deselect", () => node.choose([]));
  }
}

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const node = parentElement.querySelector(".map-chart"), t = timeline();
  node.choose = rows => setStateValue("chosen", rows);
  watchColours();
  plotly(data.address).then(() => {
    const chart = node.chart ??= new MapChart(node);
    chart.take(data);
    t.charts.add(chart);
    if (!node.watched) {
      node.watched = new ResizeObserver(() => { t.charts.add(chart); t.show(); });
      node.watched.observe(node);
    }
    t.show();
  });
}
