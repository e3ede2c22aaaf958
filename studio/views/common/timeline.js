// Charts of one page that show the same round of a training, and the bar that plays, steps and scrubs it.
// All modules of a page share window.studioTimeline; plotly() stands before this text.

// By the first word of the x-axis of charts that the bar moves: how far a round is ahead of it, as stage 0 is round 1.
const AXES = { round: 0, epoch: 0, stage: 1 };
const ROOM = 50;  // pixels left of and above a chart's area that lines may reach into
const PATIENCE = 400;  // milliseconds that a chart has to bring the figure of a new training, if it has another one

function timeline() {
  return window.studioTimeline ??= {
    charts: new Set(), bar: null, run: null, round: Infinity, playing: false, speed: 0, states: 0,
    about: { last: 0, total: 0, ended: true, texts: [] }, drawing: false, again: false, clips: 0,
  };
}

// A chart ------------------------------------------------------------------------------------------------------------

function takeFigure(node, data) {
  node.upTo = data.round;  // rounds that there were when the figure was made: a method of few rounds has no more
  if (node.taken === data.version) return;
  node.taken = data.version;
  node.old = 0;
  node.data = data;
  node.figure = JSON.parse(data.figure);
  const lines = node.figure.data.filter(trace => moves(trace, node.figure.data));
  node.ahead = AXES[node.figure.layout.xaxis?.title?.text?.split(" ")[0]];
  const rounds = lines.flatMap(trace => trace.x).filter(Number.isFinite).map(x => x + node.ahead);
  node.byRound = node.ahead !== undefined && rounds.length > 0;
  node.last = node.byRound ? Math.max(...rounds) : Infinity;
  if (node.byRound) holdAxes(node.figure);
}

// Lines of earlier trainings stay, and so do level lines from end to end beside longer ones.
function moves(trace, all) {
  const longest = Math.max(...all.map(each => Array.isArray(each.x) ? each.x.length : 0));
  return trace.meta !== "before" && Array.isArray(trace.x) && (trace.x.length > 2 || longest <= 2);
}

function known(node) {
  return node.upTo ?? node.last;
}

function holdAxes(figure) {  // the axes of the whole training, so that a line is seen to move
  const lines = figure.data.filter(trace => trace.meta === "before" || moves(trace, figure.data));  // no level lines
  const x = lines.flatMap(trace => trace.x ?? []).filter(Number.isFinite);
  figure.layout.xaxis = { ...figure.layout.xaxis, range: [Math.min(...x) - 0.5, Math.max(...x) + 0.5] };
  const log = figure.layout.yaxis?.type === "log";  // whose range is in powers of ten
  const values = figure.data.flatMap(trace => trace.y ?? []).map(value => log ? Math.log10(value) : value);
  const y = values.filter(Number.isFinite);
  if (figure.layout.yaxis?.range || !y.length || figure.data.some(trace => trace.stackgroup)) return;
  const low = Math.min(...y), high = Math.max(...y), room = 0.06 * (high - low || Math.abs(high) || 1);
  figure.layout.yaxis = { ...figure.layout.yaxis, range: [low - room, high + room] };
}

function upTo(trace, last, all) {
  if (!moves(trace, all)) return trace;
  const keep = values => Array.isArray(values) ? values.filter((_, k) => trace.x[k] <= last) : values;
  return { ...trace, x: keep(trace.x), y: keep(trace.y) };
}

// A chart is drawn once, whole; a round shows of it what lies left of a clip, which costs a hundredth of drawing anew.
async function drawChart(node, round) {
  const shown = node.byRound ? Math.min(round, node.last) : "all";
  const style = getComputedStyle(node.parentElement), size = 12 * rootSize() / 16;
  const look = `${node.taken} ${style.color} ${size}`, key = `${look} ${shown}`;
  if (node.drawn === key) return;
  const font = { color: style.color, family: style.fontFamily, size };
  const layout = { ...node.figure.layout, font, uirevision: "keep" };
  const all = node.figure.data, last = node.byRound ? shown - node.ahead : Infinity;
  const { version, points, config } = node.data;
  if (node.whole !== look) {
    await window.Plotly.react(node, all, layout, config);
    node.whole = look;
    keepClipped(node);
  }
  if (!clipTo(node, last)) {  // lines over two axes
    node.whole = null;
    await window.Plotly.react(node, all.map(trace => upTo(trace, last, all)), layout, config);
  }
  node.drawn = key;
  node.dataset.version = version;
  node.dataset.points = node.byRound && shown < node.last ? Math.min(shown, points) : points;
  if (node.byRound) node.dataset.round = shown;
}

// Show the lines that move up to an x; return whether all that is hidden then is hidden.
function clipTo(node, last) {
  const whole = !node.byRound || last >= node.last - node.ahead;
  node.clippedAt = whole ? Infinity : last;
  const axes = node._fullLayout, axis = axes?.xaxis;
  if (!axis || axes.xaxis2 || axes.yaxis2) return whole;
  const all = node.figure.data;
  const lines = [...node.querySelectorAll(".cartesianlayer .trace")].filter(
    line => moves(all[line.__data__?.[0]?.trace?.index] ?? {}, all));
  if (!lines.length) return whole;
  if (whole) {
    lines.forEach(line => line.removeAttribute("clip-path"));
    return true;
  }
  const end = axis.l2p(last) + Math.min(4, (axis.l2p(last + 1) - axis.l2p(last)) / 2);
  const rect = clipOf(node);
  rect.setAttribute("width", Math.max(end, 0) + ROOM);
  lines.forEach(line => line.setAttribute("clip-path", `url(#${rect.parentNode.id})`));
  return true;
}

function clipOf(node) {
  const id = node.clipId ??= `studio-clip-${timeline().clips++}`;
  let clip = document.getElementById(id);
  if (!clip) {
    const make = name => document.createElementNS("http://www.w3.org/2000/svg", name);
    clip = make("clipPath");
    clip.id = id;
    const rect = clip.appendChild(make("rect"));
    for (const [name, value] of [["x", -ROOM], ["y", -ROOM], ["height", 10000]]) rect.setAttribute(name, value);
    node.querySelector("svg.main-svg").append(clip);
  }
  return clip.firstChild;
}

// Plotly draws lines again when a chart is zoomed, resized or its legend is pressed; nothing is told of what is hidden.
function keepClipped(node) {
  if (node.clipped || !node.on) return;
  node.clipped = true;
  node.on("plotly_afterplot", () => clipTo(node, node.clippedAt ?? Infinity));
  node.on("plotly_beforehover", event => {
    const axis = node._fullLayout?.xaxis;
    if (!axis || !event || !Number.isFinite(node.clippedAt)) return true;
    const at = axis.p2l(event.clientX - node.getBoundingClientRect().left - axis._offset);
    if (at > node.clippedAt + 0.5) window.Plotly.Fx.unhover(node);
    return at <= node.clippedAt + 0.5;
  });
}

// All of them --------------------------------------------------------------------------------------------------------

// One update carries all charts: those of an earlier round than the others hold the others back, and what is asked for
// while they are drawn comes after it.
async function showRound() {
  const t = timeline();
  if (t.drawing) { t.again = true; return; }
  t.drawing = true;
  try {
    do {
      t.again = false;
      await showCharts(t);
      showBar();
    } while (t.again);
  } finally {
    t.drawing = false;  // also after an error: else nothing would be drawn ever again
  }
}

async function showCharts(t) {
  for (const node of t.charts) if (!node.isConnected) t.charts.delete(node);
  const charts = [...t.charts].filter(node => node.clientWidth && node.figure && !(node.old > performance.now()));
  const lasts = charts.filter(node => node.byRound).map(known);
  const reached = t.playing ? Math.min(t.shown ?? 0, t.round, t.about.last) : 0;  // a late chart turns nothing back
  const round = Math.max(Math.min(t.round, ...lasts), reached);
  await Promise.all(charts.map(node => Promise.race([drawChart(node, round).catch(console.error), patience()])));
  if (lasts.length) {
    t.states += round !== t.shown;
    t.shown = round;
  }
}

function patience() {  // a chart that goes away while it is drawn may never say that it is done
  return new Promise(done => setTimeout(done, 10 * PATIENCE));
}

function rootSize() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}

function watchColours() {  // light, dark, and the size of letters may change while a page is open
  const t = timeline(), app = document.querySelector("[data-testid='stApp']");
  if (t.colours || !app) return;
  t.colours = new MutationObserver(() => setTimeout(showRound, 50));
  t.colours.observe(app, { attributes: true, attributeFilter: ["class"] });
}

function chartModule(component) {
  watchColours();
  const node = component.parentElement.querySelector(".live-chart"), t = timeline();
  plotly(component.data.address).then(() => {
    takeFigure(node, component.data);
    t.charts.add(node);
    if (!node.watched) {  // a chart in a closed tab is drawn when the tab opens
      node.watched = new ResizeObserver(() => { t.charts.add(node); showRound(); });
      node.watched.observe(node);
    }
    showRound();
  });
}

// The bar ------------------------------------------------------------------------------------------------------------

function available() {
  const t = timeline();
  const lasts = [...t.charts].filter(node => node.isConnected && node.clientWidth && node.byRound).map(known);
  return Math.max(1, Math.min(t.about.last, ...lasts));
}

function goTo(round, playing = false) {
  const t = timeline();
  t.round = Math.max(1, Math.min(round, available()));
  t.playing = playing;
  showRound();
  if (playing) play();
}

function pace() {  // rounds a second; by itself it takes a second and a half, or as long as the training
  const t = timeline();
  return t.speed || Math.max(20, t.about.total / 1.5);
}

function play() {
  const t = timeline();
  if (t.ticking) return;
  let before = performance.now(), exact = t.round;
  const tick = now => {
    if (!t.playing || !t.bar?.isConnected) { t.ticking = null; showBar(); return; }
    if (t.shown === undefined) before = now;  // nothing moves before the first round is there
    exact = Math.min(Math.abs(exact - t.round) > 1.5 ? t.round : exact, available());
    exact = Math.min(exact + pace() * (now - before) / 1000, available());
    before = now;
    if (Math.floor(exact) > t.round) { t.round = Math.floor(exact); showRound(); }
    if (t.about.ended && t.round >= t.about.last) t.playing = false;
    t.ticking = requestAnimationFrame(tick);
  };
  t.ticking = requestAnimationFrame(tick);
}

function showBar() {
  const t = timeline(), bar = t.bar;
  if (!bar) return;
  const round = Math.min(t.shown ?? (t.playing ? 1 : t.about.last), t.about.last), slide = bar.querySelector("input");
  slide.max = Math.max(t.about.last, 1);
  slide.value = round;
  slide.setAttribute("aria-valuetext", `round ${round} of ${t.about.total}`);
  const told = t.about.texts[round - 1];
  bar.querySelector("output").textContent = `Round ${round} of ${t.about.total}${told ? ` · ${told}` : ""}`;
  const button = bar.querySelector(".play");
  button.querySelector("path").setAttribute("d", t.playing ? "M5 3h3v10H5zM9 3h3v10H9z" : "M5 3l8 5-8 5z");
  button.setAttribute("aria-label", t.playing ? "Pause the recording" : "Play the recording");
  const { last, settled } = t.about;
  Object.assign(bar.dataset, { run: t.run, round, last, settled, playing: t.playing, states: t.states });
  const head = document.querySelector(".st-key-headline");
  if (head) head.style.opacity = round < t.about.last ? 0.35 : 1;  // its numbers are those of the last round
}

function listen(bar) {
  const t = timeline(), on = (name, act) => bar.querySelector(name).addEventListener("click", act);
  on(".first", () => { t.states = 0; goTo(1, true); });
  on(".back", () => goTo((t.shown ?? 1) - 1));
  on(".forward", () => goTo((t.shown ?? 0) + 1));
  on(".play", () => {
    if (t.playing) { t.playing = false; showBar(); return; }
    goTo(t.shown >= available() && t.about.ended ? 1 : t.shown, true);
  });
  bar.querySelector("input").addEventListener("input", event => goTo(Number(event.target.value)));
  bar.querySelector("select").addEventListener("change", event => { t.speed = Number(event.target.value); });
}

// Whoever can't see that a training ended is told; whoever pressed a button by the keyboard is there again, which being
// disabled in the meantime has lost the focus. The menu's module knows what was pressed.
function sayEnded(bar, settled) {
  const t = timeline();
  if (settled && t.busy) {
    bar.querySelector(".ended").textContent = "The training has ended.";
    focusAgain(20);
  }
  if (!settled) bar.querySelector(".ended").textContent = "";
  t.busy = !settled;
}

function focusAgain(tries) {
  const button = window.studioPressed && document.querySelector(`.${window.studioPressed} button`);
  if (!button || document.activeElement !== document.body) return;
  button.focus({ preventScroll: true });
  if (document.activeElement === document.body && tries) setTimeout(() => focusAgain(tries - 1), 150);
}

function barModule(component) {
  const bar = component.parentElement.querySelector(".timeline"), t = timeline(), told = component.data;
  if (!bar.listens) { bar.listens = true; listen(bar); }
  t.bar = bar;
  bar.querySelector("select").value = String(t.speed);
  const following = t.about.ended === false && t.playing;
  const { last, total, ended, texts, settled } = told;
  t.about = { last, total, ended, texts, settled };
  sayEnded(bar, settled);
  if (t.run !== told.run) {  // a new training is seen from its first round; one that was there before, as it ended
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    Object.assign(t, { run: told.run, states: 0, shown: undefined, playing: told.fresh && !still });
    t.round = t.playing ? 1 : Infinity;
    for (const node of t.charts) node.old = performance.now() + PATIENCE;  // what they show is of the one before
    setTimeout(showRound, PATIENCE + 20);
  }
  if (t.playing || following) play();
  showRound();
}
