// What of a figure, as `hetcore.figures` makes it, moves with the rounds, and how lines.js takes it. They stand before
// charts.js and after lines.js.

// By the first word of the x-axis of charts that the bar moves: how far a round is ahead of it, as stage 0 is round 1.
const AXES = { round: 0, epoch: 0, stage: 1 };

// Whether all of a figure is lines, points and outlines over one pair of axes.
function isLines({ data, layout }) {
  const plain = ["lines", "markers", "lines+markers", undefined];
  const simple = trace => (trace.type ?? "scatter") === "scatter" && plain.includes(trace.mode) && !trace.stackgroup
    && [undefined, "toself"].includes(trace.fill) && !trace.xaxis && !trace.error_y
    && trace.x.every(each => each === null || Number.isFinite(each));
  const across = (layout.shapes ?? []).every(shape => shape.xref === "paper" && shape.y0 === shape.y1);
  return across && !layout.annotations && layout.yaxis.visible !== false && layout.xaxis.type !== "log"
    && data.every(simple);
}

// A figure of lines as lines.js takes it.
function linesOf({ data, layout }) {
  const lines = [], bands = [];
  for (const trace of data) {
    const { x, y, name, marker = {}, line = {}, mode = "lines", fill, fillcolor, opacity, showlegend } = trace;
    const told = Boolean(name) && showlegend !== false;
    if (fill) {
      bands.push({ x, y, fill: fillcolor, name: told && name });
      continue;
    }
    const bare = mode === "markers", still = !moves(trace, data) && !bare, level = still && y[0] === y[y.length - 1];
    const marked = mode.includes("markers") && trace.meta !== "before";
    const mark = marked ? [marker.symbol ?? "circle", (marker.size ?? 6) / 2] : null;
    const look = { colour: line.color ?? marker.color, width: line.width, dash: line.dash, opacity, mark, bare };
    lines.push({ x, y, name, told, still, level, ...look, about: bare && aboutPoint(trace) });
  }
  const levels = (layout.shapes ?? []).map(
    ({ y0, line: { color, width, dash } }) => ({ y: y0, colour: color, width, dash }));
  const xs = lines.flatMap(line => line.x), ys = [...lines, ...bands].flatMap(line => line.y);
  const axes = { x: axisOf(layout.xaxis, xs, 0.03), y: axisOf(layout.yaxis, [...ys, ...levels.map(({ y }) => y)], 0.06) };
  axes.x.whole = AXES[layout.xaxis.title?.text?.split(" ")[0]] !== undefined || layout.xaxis.dtick === 1;
  return { lines, bands, levels, axes, titles: { x: layout.xaxis.title?.text, y: layout.yaxis.title?.text } };
}

function axisOf({ type, range, tickvals, ticktext, tickformat, hoverformat }, values, room) {
  const log = type === "log", power = value => log ? 10 ** value : value, of = value => log ? Math.log10(value) : value;
  const { low, high } = range ? { low: range[0], high: range[1] } : ends(values.filter(known).map(of), room);
  const marks = tickvals?.map((value, k) => [value, ticktext?.[k] ?? String(value)]);
  return { low: power(low), high: power(high), log, ticks: marks, percent: tickformat?.endsWith("%"), shares: hoverformat === ".3f" };
}

function aboutPoint({ x, y, hovertemplate = "" }) {
  return hovertemplate.replace(/<extra>.*/, "").replace("%{x}", x[0]).replace(/%\{y[^}]*\}/, shown(y[0]));
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
  const { low, high } = ends(y);
  figure.layout.yaxis = { ...figure.layout.yaxis, range: [low, high] };
}

function upTo(trace, last, all) {
  if (!moves(trace, all)) return trace;
  const keep = values => Array.isArray(values) ? values.filter((_, k) => trace.x[k] <= last) : values;
  return { ...trace, x: keep(trace.x), y: keep(trace.y) };
}

