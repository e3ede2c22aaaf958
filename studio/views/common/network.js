// The network, drawn by Plotly, a large one over WebGL; its colours are of the stage that the charts show. plotly(), the timeline and
// charts.js stand before this text.

let canvas = null;
function webgl() {
  if (canvas === null) {
    try { canvas = Boolean(document.createElement("canvas").getContext("webgl")); } catch { canvas = false; }
  }
  return canvas;
}

class NetworkChart extends EndedChart {
  take(data) {
    Object.assign(this, { data, byRound: Boolean(data.stages), count: data.stages?.count, word: "stage", ahead: 1, old: 0 });
    if (this.byRound) this.codes = bytes(data.stages.codes);
    else if (this.shown !== undefined) this.look = undefined;  // drawn in colours that are no more
  }

  shade(code) {  // 255: none
    const { palette, low, high } = this.data.stages;
    return code === 255 ? null : palette ? palette[code] : low + (high - low) * code / 254;
  }

  async colour(stage) {
    const { nodes } = this.data.stages;
    const coloured = this.figure.data.map((trace, k) => [trace, k]).filter(
      ([{ customdata, marker }]) => customdata && typeof marker.color === "object");
    const colours = coloured.map(([{ customdata }]) => [...this.rows(customdata)].map(
      row => this.shade(this.codes[(stage - 1) * nodes + row])));
    await window.Plotly.restyle(this.node, { "marker.color": colours }, coloured.map(([, k]) => k));
  }

  rows(packed) { return packed.bdata ? new Int32Array(bytes(packed.bdata).buffer) : packed; }

  async drawWhole(style) {
    const { node, data } = this, figure = this.figure = JSON.parse(data.figure);
    figure.layout.font = { color: style.color, family: style.fontFamily };
    figure.layout.uirevision = data.keeps;
    // react keeps the ranges that were fitted to a wide page
    if (this.fitted !== undefined && this.fitted !== this.narrow) window.Plotly.purge(node);
    this.fitted = this.narrow;
    const large = figure.data.some(({ type }) => type === "scattergl");
    if (large && !webgl()) for (const trace of figure.data) trace.type = "scatter";
    // a copy: Plotly unpacks arrays where they stand
    await window.Plotly.react(node, structuredClone(figure.data), figure.layout, data.config);
    node.dataset.version = data.version;
    node.dataset.nodes = data.nodes;
    node.removeAllListeners("plotly_click");
    node.on("plotly_click", event => {
      const hit = event.points.find(point => point.customdata !== undefined);
      if (hit) node.pick(Number(hit.customdata));
    });
  }
}

export default function (component) {
  mount(component, ".network-chart", NetworkChart).pick = place => component.setTriggerValue("node", place);
}
