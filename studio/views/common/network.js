// The network, drawn by Plotly over WebGL; its colours are of the stage that the charts show. plotly(), the timeline and
// charts.js stand before this text.

let canvas = null;
function webgl() {
  if (canvas === null) {
    try { canvas = Boolean(document.createElement("canvas").getContext("webgl")); } catch { canvas = false; }
  }
  return canvas;
}

function bytes(packed) { return Uint8Array.from(atob(packed), each => each.charCodeAt(0)); }

class NetworkChart extends RoundChart {
  get there() { return Boolean(super.there && this.data); }

  get known() { return Infinity; }  // of a training that has ended: it holds no chart back

  take(data) {
    Object.assign(this, { data, byRound: Boolean(data.stages), word: "stage", ahead: 1, old: 0 });
    if (this.byRound) this.codes = bytes(data.stages.codes);
  }

  colour(code) {  // 255: none
    const { palette, low, high } = this.data.stages;
    return code === 255 ? null : palette ? palette[code] : low + (high - low) * code / 254;
  }

  async draw(round) {
    const { node, data } = this, style = getComputedStyle(node.parentElement), look = `${data.version} ${style.color}`;
    if (this.look !== look) {
      this.look = look;
      this.stage = undefined;
      await this.drawWhole(style);
    }
    if (!this.byRound || this.look !== look) return;
    const count = data.stages.count;  // a training that goes on is another one than this network is of
    const stage = timeline().about.ended ? Math.min(Math.max(round, 1), count) : count;
    if (this.stage === undefined ? stage === count : stage === this.stage) return this.mark(stage);
    const coloured = this.figure.data.map((trace, k) => [trace, k]).filter(
      ([{ customdata, marker }]) => customdata && typeof marker.color === "object");
    const colours = coloured.map(([{ customdata }]) => [...this.rows(customdata)].map(
      row => this.colour(this.codes[(stage - 1) * data.stages.nodes + row])));
    await window.Plotly.restyle(node, { "marker.color": colours }, coloured.map(([, k]) => k));
    this.mark(stage);
  }

  mark(stage) {
    this.stage = stage;
    this.node.dataset.round = stage;
  }

  rows(packed) { return packed.bdata ? new Int32Array(bytes(packed.bdata).buffer) : packed; }

  async drawWhole(style) {
    const { node, data } = this, figure = this.figure = JSON.parse(data.figure);
    figure.layout.font = { color: style.color, family: style.fontFamily };
    figure.layout.uirevision = data.keeps;
    if (!webgl()) for (const trace of figure.data) if (trace.type === "scattergl") trace.type = "scatter";
    // a copy: Plotly unpacks arrays where they stand
    await window.Plotly.react(node, structuredClone(figure.data), figure.layout, data.config);
    node.dataset.version = data.version;
    node.dataset.nodes = data.nodes;
    node.dataset.drawn = webgl() ? "webgl" : "svg";
    node.removeAllListeners("plotly_click");
    node.on("plotly_click", event => {
      const hit = event.points.find(point => point.customdata !== undefined);
      if (hit) node.pick(Number(hit.customdata));
    });
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const node = parentElement.querySelector(".network-chart"), t = timeline();
  node.pick = place => setTriggerValue("node", place);
  watchColours();
  plotly(data.address).then(() => {
    const chart = node.chart ??= new NetworkChart(node);
    chart.take(data);
    t.charts.add(chart);
    if (!node.watched) {
      node.watched = new ResizeObserver(() => { t.charts.add(chart); t.show(); });
      node.watched.observe(node);
    }
    t.show();
  });
}
