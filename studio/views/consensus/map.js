// The map of the instances: a point for each, chosen by drawing around it; its colour is of the round that the charts
// show. plotly(), the timeline and charts.js stand before this text.

class MapChart extends EndedChart {
  take(data) {
    if (this.version === data.version) return;
    Object.assign(this, { data, version: data.version, figure: JSON.parse(data.figure), byRound: Boolean(data.rounds) });
    Object.assign(this, { old: 0, look: undefined, count: data.rounds?.count, last: data.rounds?.count ?? Infinity });
    this.classes = this.byRound && data.rounds.low === undefined;
    if (!this.byRound) return;
    this.codes = bytes(data.rounds.codes);
    this.moving = this.figure.data.map((trace, k) => [trace, k]).filter(([trace]) => trace.hoverinfo !== "skip");
    const points = this.moving.flatMap(([{ x, y, text, customdata }]) => x.map(
      (each, k) => ({ x: each, y: y[k], text: text[k], row: customdata[k] })));
    this.points = points.sort((a, b) => a.row - b.row);  // as the codes are
  }

  async colour(at) {
    const { node } = this, { points } = this.data.rounds, places = this.moving.map(([, k]) => k);
    const codes = this.codes.subarray((at - 1) * points, at * points);
    if (this.classes) await window.Plotly.update(node, this.parted(codes, places), this.titled(at), places);
    else await window.Plotly.restyle(node, { "marker.color": this.numbers(codes) }, places);
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
    super.mark(round);
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
  mount(component, ".map-chart", MapChart).choose = rows => component.setStateValue("chosen", rows);
}
