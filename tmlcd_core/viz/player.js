// Player of a run: stacked canvas charts animated with requestAnimationFrame; the data arrive once, as bytes.
//
// Curves and axes are painted once into layers; a frame copies the part left of the cursor and adds the marks, so its
// cost does not depend on the number of samples. Screen, PNG and SVG use the same drawing code.
// Streamlit calls the default export again after every rerun and change of theme: `players` keeps the player.

const SPEEDS = [10, 25, 50, 100, 250, 500, 1000, 2500]; // samples per second
const RUN_SECONDS = 15; // the initial speed plays the whole run in about this time
const SEND_DELAY = 150; // ms without movement before the position is sent to the server
const TABLE_PERIOD = 100; // ms between two updates of the table while playing
const MAX_FRAME = 0.1; // s, longest time step: after a pause (hidden tab) the player does not jump
const JUMP = 50; // samples, Shift + arrow: the paper's batch n
const MARGIN = { left: 50, right: 12, top: 24, bottom: 8, ticks: 32 };
const HEIGHT = { stacked: 122, columns: 230, export: 210 }; // px of a chart without its time axis
const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  restart: "M6 5v14h2V5zm3.5 7L19 19V5z",
  back: "M15 5v14L6 12zM17 5h2v14h-2z",
  play: "M8 5v14l11-7z",
  pause: "M7 5h4v14H7zm6 0h4v14h-4z",
  forward: "M9 5v14l9-7zM5 5h2v14H5z",
  layout: "M4 5h4.5v14H4zm5.75 0h4.5v14h-4.5zm5.75 0H20v14h-4.5z",
};

const players = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  let player = players.get(parentElement);
  if (!player) {
    player = new Player(parentElement);
    players.set(parentElement, player);
  }
  player.send = (position) => setStateValue("position", position);
  player.update(data);
  return () => {
    player.destroy();
    players.delete(parentElement);
  };
}

export { decode, metrics }; // for the tests

// ---------------------------------------------------------------- data

function decode(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const run = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.slice(4 + size).buffer; // a copy begins at 0, so that float32 is aligned
  const array = (ref) => ref && new (ref.type === "f4" ? Float32Array : Uint8Array)(body, ref.offset, run.length);
  for (const panel of run.panels) {
    panel.curves = panel.curves.map(array);
    panel.deviation = panel.deviation.map(array);
  }
  for (const learner of run.learners) {
    const correct = array(learner.correct);
    if (!correct) continue;
    learner.hits = new Uint32Array(run.length + 1);
    for (let i = 0; i < run.length; i++) learner.hits[i + 1] = learner.hits[i] + correct[i];
  }
  return run;
}

const formats = Array.from({ length: 7 }, (_, digits) =>
  new Intl.NumberFormat("en-GB", {
    minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative",
    roundingMode: "halfEven", // as in Python: "Detailed results" shows the same digits
  }));
const number = (value, digits) => formats[Math.min(6, digits)].format(value);

// Rows of the table: values at sample i, and metrics of samples 0 to i.
function metrics(run, i) {
  const dash = "–";
  const rows = run.panels.map((panel, p) => ({
    group: "At the cursor",
    name: panel.short,
    hint: panel.title,
    cells: run.learners.map((_, l) => {
      const value = run.panels[p].curves[l]?.[i];
      return value === undefined || Number.isNaN(value) ? dash : number(value, panel.digits);
    }),
  }));
  const share = (hits, from, to) => (to > from ? number((hits[to] - hits[from]) / (to - from), 3) : dash);
  const soFar = (name, hint, cell) =>
    rows.push({ group: "So far", name, hint, cells: run.learners.map((learner) => cell(learner)) });
  const change = run.changes[0];
  if (run.learners.some((learner) => learner.hits)) {
    const accuracy = (from, to) => (learner) => (learner.hits ? share(learner.hits, from, to) : dash);
    soFar("accuracy", "Correct predictions / samples seen.", accuracy(0, i + 1));
    if (change !== undefined) {
      soFar("before change", "Accuracy before the first true change.", accuracy(0, Math.min(change, i + 1)));
      soFar("after change", "Accuracy since the first true change.", accuracy(change, i + 1));
    }
  }
  // The server evaluates alarms and changes; look up their texts.
  for (const { name, hint, cells } of run.so_far)
    rows.push({ group: "So far", name, hint, cells: cells.map((steps) => steps?.findLast(([from]) => from <= i)[1] ?? dash) });
  return rows;
}

// ---------------------------------------------------------------- pens: canvas and SVG with one interface

class CanvasPen {
  constructor(context, font) {
    this.context = context;
    this.font = font;
  }
  line(points, { stroke, width = 1, dash = [], alpha = 1 }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.lineJoin = "round";
    c.setLineDash(dash);
    c.beginPath();
    this.trace(points);
    c.stroke();
    c.restore();
  }
  area(points, { fill, alpha = 1 }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.fillStyle = fill;
    c.beginPath();
    this.trace(points);
    c.closePath();
    c.fill();
    c.restore();
  }
  trace(points) {
    let pen = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) pen = false;
      else if (pen) this.context.lineTo(points[i], points[i + 1]);
      else {
        this.context.moveTo(points[i], points[i + 1]);
        pen = true;
      }
    }
  }
  text(x, y, text, { fill, size = 12, align = "left", bold = false }) {
    const c = this.context;
    c.fillStyle = fill;
    c.font = `${bold ? 600 : 400} ${size}px ${this.font}`;
    c.textAlign = align;
    c.textBaseline = "alphabetic";
    c.fillText(text, x, y);
  }
  within(x, y, width, height, draw) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

class SvgPen {
  constructor(width, height, font) {
    this.svg = document.createElementNS(SVG, "svg");
    this.top = this.svg;
    this.add("title", {});
    this.set(this.svg, { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": font });
    this.clips = 0;
  }
  set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  add(tag, attributes) {
    return this.top.appendChild(this.set(document.createElementNS(SVG, tag), attributes));
  }
  path(points, close) {
    let d = "";
    let pen = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) pen = false;
      else {
        d += `${pen ? "L" : "M"}${points[i].toFixed(1)} ${points[i + 1].toFixed(1)}`;
        pen = true;
      }
    }
    return d + (close ? "Z" : "");
  }
  line(points, { stroke, width = 1, dash = [], alpha = 1 }) {
    this.add("path", {
      d: this.path(points), fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round",
      "stroke-dasharray": dash.join(" ") || "none", "stroke-opacity": alpha,
    });
  }
  area(points, { fill, alpha = 1 }) {
    this.add("path", { d: this.path(points, true), fill, "fill-opacity": alpha });
  }
  text(x, y, text, { fill, size = 12, align = "left", bold = false }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const weight = bold ? 600 : 400;
    this.add("text", { x, y, fill, "font-size": size, "text-anchor": anchor, "font-weight": weight }).textContent = text;
  }
  within(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    const clip = this.add("clipPath", { id });
    clip.appendChild(this.set(document.createElementNS(SVG, "rect"), { x, y, width, height }));
    const outer = this.top;
    this.top = this.add("g", { "clip-path": `url(#${id})` });
    draw();
    this.top = outer;
  }
}

// ---------------------------------------------------------------- drawing

function niceStep(span, count) {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
}

function ticks(low, high, count) {
  const step = niceStep(high - low, count);
  const values = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) values.push(v);
  return { values, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function rangeOf(panel, hidden) {
  let low = panel.low ?? Infinity;
  let high = panel.high ?? -Infinity;
  panel.curves.forEach((curve, l) => {
    if (!curve || hidden[l]) return;
    const spread = panel.deviation[l];
    for (let i = 0; i < curve.length; i++) {
      const d = spread ? spread[i] : 0;
      if (panel.low === null && curve[i] - d < low) low = curve[i] - d;
      if (panel.high === null && curve[i] + d > high) high = curve[i] + d;
    }
  });
  if (panel.threshold !== null && panel.high === null) high = Math.max(high, panel.threshold * 1.15);
  if (!Number.isFinite(low)) low = 0;
  if (!(high > low)) high = low + 1;
  const step = niceStep(high - low, 4);
  if (panel.high === null) high = Math.ceil(high / step - 1e-9) * step;
  if (panel.low === null) low = Math.floor(low / step + 1e-9) * step;
  return [low, high];
}

// Geometry and scales of one chart.
function geometry(run, panel, hidden, width, height, timeAxis) {
  const bottom = MARGIN.bottom + (timeAxis ? MARGIN.ticks : 0);
  const [low, high] = rangeOf(panel, hidden);
  const box = { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - bottom };
  return {
    box, low, high, timeAxis,
    x: (i) => box.x + ((i + 0.5) / run.length) * box.width,
    y: (v) => box.y + box.height * (1 - (v - low) / (high - low)),
    sample: (x) => Math.floor(((x - box.x) / box.width) * run.length),
  };
}

function drawAxes(pen, run, panel, g, ink) {
  const { box } = g;
  pen.text(2, 15, panel.title, { fill: ink.text, size: 13, bold: true });
  const vertical = ticks(g.low, g.high, Math.max(2, Math.ceil(box.height / 26)));
  for (const v of vertical.values) {
    const y = Math.round(g.y(v)) + 0.5;
    pen.line([box.x, y, box.x + box.width, y], { stroke: ink.text, alpha: 0.14 });
    pen.text(box.x - 6, y + 4, number(v, vertical.digits), { fill: ink.text, align: "right" });
  }
  const horizontal = ticks(0, run.length, Math.max(2, box.width / 80));
  for (const v of horizontal.values) {
    const x = Math.round(box.x + (v / run.length) * box.width) + 0.5;
    pen.line([x, box.y, x, box.y + box.height], { stroke: ink.text, alpha: 0.07 });
    const align = v === 0 ? "left" : x > box.x + box.width - 16 ? "right" : "center";
    if (g.timeAxis) pen.text(x, box.y + box.height + 16, number(v, 0), { fill: ink.text, align });
  }
  if (g.timeAxis)
    pen.text(box.x + box.width / 2, box.y + box.height + 31, run.x_label, { fill: ink.text, align: "center" });
  if (panel.threshold !== null) {
    const y = g.y(panel.threshold);
    pen.line([box.x, y, box.x + box.width, y], { stroke: ink.text, width: 1.5, dash: [2, 3] });
    pen.text(box.x + box.width - 2, y - 5, panel.threshold_label, { fill: ink.text, align: "right" });
  }
}

// At most four points per pixel column (first, minimum, maximum, last): looks like all samples at a fixed cost.
function polyline(values, g, length) {
  const points = [];
  const perColumn = Math.max(1, Math.floor(length / g.box.width));
  const put = (i) => points.push(g.x(i), g.y(values[i]));
  for (let start = 0; start < length; start += perColumn) {
    const last = Math.min(length, start + perColumn) - 1;
    let least = start;
    let greatest = start;
    let gap = false;
    for (let i = start; i <= last && !gap; i++) {
      const v = values[i];
      gap = v !== v; // nan
      if (v < values[least]) least = i;
      if (v > values[greatest]) greatest = i;
    }
    if (gap) for (let i = start; i <= last; i++) put(i);
    else {
      put(start);
      if (least !== greatest) {
        put(Math.min(least, greatest));
        put(Math.max(least, greatest));
      }
      if (last > start) put(last);
    }
  }
  return points;
}

function drawCurves(pen, run, panel, g, hidden) {
  const { box } = g;
  pen.within(box.x, box.y - 2, box.width, box.height + 4, () => {
    run.learners.forEach((learner, l) => {
      const curve = panel.curves[l];
      const spread = panel.deviation[l];
      if (!curve || hidden[l] || !spread) return;
      const edge = (sign) => polyline(curve.map((v, i) => v + sign * spread[i]), g, run.length);
      const lower = edge(-1);
      const points = edge(1);
      for (let i = lower.length - 2; i >= 0; i -= 2) points.push(lower[i], lower[i + 1]);
      pen.area(points.filter((_, i) => !Number.isNaN(points[i | 1])), { fill: learner.colour, alpha: 0.18 });
    });
    // Solid lines first: dashes on top show where two curves coincide.
    const order = run.learners.map((_, l) => l).sort((a, b) => run.learners[a].dash.length - run.learners[b].dash.length);
    for (const l of order) {
      const { colour, dash } = run.learners[l];
      if (panel.curves[l] && !hidden[l])
        pen.line(polyline(panel.curves[l], g, run.length), { stroke: colour, width: 2, dash });
    }
  });
}

function triangle(pen, x, y, colour) {
  pen.area([x - 5, y - 5, x + 5, y - 5, x, y + 4], { fill: colour });
}

function diamond(pen, x, y, colour, paper) {
  const points = [x, y - 5, x + 5, y, x, y + 5, x - 5, y];
  pen.area(points, { fill: paper });
  pen.line([...points, x, y - 5], { stroke: colour, width: 1.8 });
}

// True changes are always shown; an alarm and its estimated change point appear when it is raised.
function drawMarks(pen, run, panel, g, hidden, ink, cursor, label) {
  const { box } = g;
  const bottom = box.y + box.height;
  for (const change of run.changes) {
    const x = box.x + (change / run.length) * box.width;
    pen.line([x, box.y, x, bottom], { stroke: ink.text, width: 2.5, alpha: 0.55 });
    const right = x > box.x + box.width - 80;
    const free = x > 20 + 7 * panel.title.length; // to the right of the chart's title
    if (label && free && box.width > 480) pen.text(x + (right ? -5 : 5), box.y - 4, "true change", { fill: ink.text, align: right ? "right" : "left" });
  }
  let row = 0;
  run.learners.forEach((learner, l) => {
    if (!learner.alarms?.length || hidden[l]) return;
    const level = (row++ % 4) * 11;
    learner.alarms.forEach((alarm, n) => {
      if (alarm > cursor) return;
      const x = g.x(alarm);
      pen.line([x, box.y, x, bottom], { stroke: learner.colour, width: 1.2, alpha: 0.8 });
      triangle(pen, x, box.y + 6 + level, learner.colour);
      const point = learner.change_points[n];
      if (point === undefined) return;
      const xp = box.x + (point / run.length) * box.width;
      pen.line([xp, box.y, xp, bottom], { stroke: learner.colour, width: 1.2, dash: [3, 4], alpha: 0.8 });
      diamond(pen, xp, bottom - 7 - level, learner.colour, ink.paper);
    });
  });
}

function legendItems(run, hidden, ink) {
  const items = run.learners
    .filter((_, l) => !hidden[l])
    .map((learner) => ({
      name: learner.name,
      draw: (pen, x, y) => pen.line([x, y, x + 26, y], { stroke: learner.colour, width: 2.5, dash: learner.dash }),
    }));
  const key = run.learners.some((learner) => learner.alarms?.length)
    ? [["alarm", triangle], ["estimated change point", diamond]] : [];
  for (const [name, shape] of key)
    items.push({ name, draw: (pen, x, y) => shape(pen, x + 13, y, ink.text, ink.paper) });
  return items;
}

// ---------------------------------------------------------------- the player

const element = (tag, className, attributes = {}) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS(SVG, "path")).setAttribute("d", ICONS[name]);
  return svg;
}

class Player {
  constructor(parent) {
    this.run = null;
    this.time = 0; // samples, fractional while playing
    this.playing = false;
    this.hidden = new Set(); // names of hidden learners
    this.charts = [];
    this.frames = 0;
    this.columns = false;
    this.build(parent);
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.figure);
  }

  build(parent) {
    this.root = element("section", "player", { tabindex: "-1" });
    const button = (name, label, onclick, text) => {
      const node = element("button", "button", { type: "button", "aria-label": label, title: label, "data-action": name });
      node.append(text ?? icon(name));
      node.onclick = onclick;
      return node;
    };
    this.figure = element("div", "charts");
    this.playButton = button("play", "Play (space)", () => this.toggle());
    this.slider = element("input", "scrub", { type: "range", min: 0, step: 1, "aria-label": "Time in the run" });
    this.slider.oninput = () => this.seek(Number(this.slider.value));
    this.slider.onchange = () => this.report();
    this.clock = element("output", "clock", { "aria-hidden": "true" });
    this.speed = element("select", "speed", { "aria-label": "Speed in samples per second", title: "Speed" });
    this.speed.onchange = () => (this.speedChosen = true);
    for (const value of SPEEDS) {
      const option = element("option", "", { value });
      option.textContent = `${number(value, 0)}/s`;
      this.speed.append(option);
    }
    const controls = element("div", "controls", { role: "group", "aria-label": "Playback" });
    const buttons = element("div", "buttons");
    buttons.append(
      button("restart", "Back to the start (Home)", () => this.step(-Infinity)),
      button("back", "One sample back (left arrow)", () => this.step(-1)),
      this.playButton,
      button("forward", "One sample forward (right arrow)", () => this.step(1)),
    );
    this.layoutButton = button("layout", "Charts side by side", () => this.setColumns(!this.columns));
    const tools = element("div", "buttons");
    tools.append(
      this.speed,
      this.layoutButton,
      button("png", "Save the charts as PNG", () => this.savePng(), "PNG"),
      button("svg", "Save the charts as SVG", () => this.saveSvg(), "SVG"),
    );
    controls.append(buttons, this.slider, this.clock, tools);
    this.legend = element("div", "legend", { role: "group", "aria-label": "Curves shown" });
    this.table = element("table", "metrics");
    const side = element("div", "side", { tabindex: "0", role: "region", "aria-label": "Values at the cursor and so far" });
    side.append(this.table);
    const body = element("div", "body");
    body.append(this.figure, controls, side);
    this.live = element("div", "unseen", { "aria-live": "polite" });
    this.root.append(this.legend, body, this.live);
    this.root.addEventListener("keydown", (event) => this.key(event));
    parent.appendChild(this.root);
  }

  destroy() {
    this.pause(false);
    clearTimeout(this.sending);
    this.resizing.disconnect();
    this.root.remove();
  }

  // Apply new data or a new theme: redo only what changed and keep the time.
  update(bytes) {
    const began = performance.now();
    const run = decode(bytes);
    const first = this.run === null;
    const otherLength = first || run.length !== this.run.length;
    if (first || run.digest !== this.run.digest) {
      const atEnd = !first && !this.playing && this.time >= this.run.length - 1;
      this.run = run;
      if (first) this.time = Math.min(run.start ?? run.length - 1, run.length - 1);
      else this.time = atEnd ? run.length - 1 : Math.min(this.time, run.length - 1);
      if (otherLength && !this.speedChosen) this.setSpeed(run.speed ?? run.length / RUN_SECONDS);
      this.slider.max = run.length - 1;
      this.root.setAttribute("aria-label", run.title);
      this.buildCharts();
      this.buildLegend();
      this.buildTable();
      this.paper = null;
      // A run of another length moves the cursor: report the new position to the page.
      if (!this.playing && this.index !== (this.sent ?? run.start)) this.report();
    }
    const style = getComputedStyle(this.root);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    const ink = {
      text: read("--st-text-color", "#31333f"),
      paper: read("--st-background-color", "#ffffff"),
      font: read("--st-font", "sans-serif"),
    };
    if (!this.paper || JSON.stringify(ink) !== this.paper) {
      this.paper = JSON.stringify(ink);
      this.ink = ink;
      this.layers();
      this.draw(true);
      this.root.dataset.redrawMs = (performance.now() - began).toFixed(1);
      this.root.dataset.redrawn = performance.now().toFixed(1);
      this.root.dataset.redraws = Number(this.root.dataset.redraws ?? 0) + 1;
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (first && run.autoplay && !still) this.play();
  }

  buildCharts() {
    const same = this.charts.length === this.run.panels.length;
    if (!same) {
      this.figure.replaceChildren();
      this.charts = this.run.panels.map(() => {
        const canvas = element("canvas", "chart", { role: "img" });
        this.figure.append(canvas);
        this.scrubbing(canvas);
        const [axes, curves] = [element("canvas"), element("canvas")];
        return { canvas, context: canvas.getContext("2d"), axes, curves };
      });
    }
    this.charts.forEach((chart, p) => chart.canvas.setAttribute("aria-label", this.run.panels[p].alt));
  }

  buildLegend() {
    const names = this.run.learners.map((learner) => [learner.name, learner.colour, ...learner.dash].join());
    if (this.legendKey === names.join("|")) return;
    this.legendKey = names.join("|");
    this.legend.replaceChildren();
    for (const learner of this.run.learners) {
      const item = element("button", "item", { type: "button", title: "Hide or show this curve" });
      const show = () => item.setAttribute("aria-pressed", String(!this.hidden.has(learner.name)));
      const swatch = document.createElementNS(SVG, "svg");
      swatch.setAttribute("class", "swatch");
      swatch.setAttribute("aria-hidden", "true");
      const line = swatch.appendChild(document.createElementNS(SVG, "path"));
      const stroke = { d: "M0 6H30", stroke: learner.colour, "stroke-width": 3, "stroke-dasharray": learner.dash.join(" ") };
      for (const [name, value] of Object.entries(stroke)) line.setAttribute(name, value);
      item.append(swatch, learner.name);
      item.onclick = () => {
        if (!this.hidden.delete(learner.name)) this.hidden.add(learner.name);
        show();
        this.layers();
        this.draw(true);
      };
      show();
      this.legend.append(item);
    }
    const key = element("span", "key");
    key.textContent = "┃ true change   ▼ alarm   ◇ estimated change point";
    this.legend.append(key);
  }

  buildTable() {
    const head = element("thead");
    const row = head.appendChild(element("tr"));
    row.append(element("td"));
    for (const learner of this.run.learners) {
      const cell = element("th", "", { scope: "col", title: learner.name });
      cell.textContent = learner.short;
      cell.style.borderBottomColor = learner.colour;
      row.append(cell);
    }
    this.table.replaceChildren(head);
    this.cells = [];
    let group;
    for (const { group: name, name: label, hint, cells } of metrics(this.run, 0)) {
      if (name !== group) {
        group = name;
        const line = this.table.appendChild(element("tbody")).appendChild(element("tr"));
        const cell = line.appendChild(element("th", "group", { scope: "colgroup", colspan: cells.length + 1 }));
        cell.textContent = name;
      }
      const line = this.table.lastChild.appendChild(element("tr"));
      const title = line.appendChild(element("th", "", { scope: "row", title: hint }));
      title.textContent = label;
      this.cells.push(cells.map(() => line.appendChild(element("td"))));
    }
    this.body ??= this.table.parentElement.parentElement;
    this.body.classList.toggle("wide", this.run.learners.length > 4);
  }

  scrubbing(canvas) {
    const chart = () => this.charts.find((c) => c.canvas === canvas);
    const go = (event) => {
      const box = canvas.getBoundingClientRect(); // the presenter view enlarges the canvas by CSS
      this.seek(chart().g.sample(((event.clientX - box.left) * canvas.clientWidth) / box.width));
    };
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.resume = this.playing;
      this.pause(false);
      go(event);
    };
    canvas.onpointermove = (event) => canvas.hasPointerCapture(event.pointerId) && go(event);
    canvas.onpointerup = () => (this.resume ? this.play() : this.report());
    canvas.onpointercancel = () => this.report();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const control = event.composedPath()[0];
    if (control.tagName === "SELECT" || (control.tagName === "BUTTON" && [" ", "Enter"].includes(event.key))) return;
    const jump = event.shiftKey ? JUMP : 1;
    const action = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowLeft: () => this.step(-jump), ArrowRight: () => this.step(jump),
      PageUp: () => this.step(JUMP * 10), PageDown: () => this.step(-JUMP * 10),
      Home: () => this.step(-Infinity), End: () => this.step(Infinity),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // -------------------------------------------------------------- time

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing) return;
    if (this.time >= this.run.length - 1) this.time = 0;
    this.playing = true;
    this.last = null;
    this.showPlaying();
    this.request = requestAnimationFrame((now) => this.tick(now));
  }

  pause(report = true) {
    if (this.playing) {
      this.playing = false;
      cancelAnimationFrame(this.request);
      this.showPlaying();
      this.time = this.index;
      this.draw(true);
    }
    if (report && this.run) this.report();
  }

  tick(now) {
    const elapsed = this.last === null ? 0 : Math.min(MAX_FRAME, (now - this.last) / 1000);
    this.last = now;
    this.time += elapsed * Number(this.speed.value);
    if (this.time >= this.run.length - 1) {
      this.time = this.run.length - 1;
      return this.pause();
    }
    this.draw(now - (this.tabled ?? 0) > TABLE_PERIOD);
    this.request = requestAnimationFrame((later) => this.tick(later));
  }

  get index() {
    return Math.max(0, Math.min(this.run.length - 1, Math.floor(this.time)));
  }

  seek(sample) {
    this.time = Math.max(0, Math.min(this.run.length - 1, sample));
    this.draw(true);
  }

  step(samples) {
    this.pause(false);
    this.seek(this.index + samples);
    this.report();
  }

  setSpeed(wanted) {
    const distance = (value) => Math.abs(Math.log(value / wanted));
    this.speed.value = SPEEDS.reduce((best, value) => (distance(value) < distance(best) ? value : best));
  }

  report() {
    const { index, run } = this;
    this.live.textContent = `Sample ${index} of ${run.length}. ` + run.learners
      .map((learner, l) => `${learner.short}: ${this.values(l, index)}`).join("; ");
    clearTimeout(this.sending);
    this.sending = setTimeout(() => {
      if (!run.reports || this.sent === index) return;
      this.sent = index;
      this.send(index);
    }, SEND_DELAY);
  }

  values(l, i) {
    return this.run.panels
      .filter((panel) => panel.curves[l] && !Number.isNaN(panel.curves[l][i]))
      .map((panel) => `${panel.short} ${number(panel.curves[l][i], panel.digits)}`).join(", ");
  }

  showPlaying() {
    const label = this.playing ? "Pause (space)" : "Play (space)";
    this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
    this.root.dataset.playing = String(this.playing);
  }

  // -------------------------------------------------------------- screen

  setColumns(columns) {
    this.columns = columns;
    this.figure.classList.toggle("columns", columns);
    const label = columns ? "Charts one above the other" : "Charts side by side";
    this.layoutButton.setAttribute("aria-label", label);
    this.layoutButton.title = label;
    this.layoutButton.setAttribute("aria-pressed", String(columns));
    this.layers();
    this.draw(true);
  }

  // Device pixels per chart pixel: the presenter view enlarges the charts by CSS.
  density() {
    return devicePixelRatio * (this.root.currentCSSZoom ?? 1);
  }

  resize() {
    if (!this.run || !this.ink) return;
    const width = this.figure.clientWidth;
    if (width === this.width && this.density() === this.ratio) return;
    this.layers();
    this.draw(true);
  }

  layers() {
    const { run, ink } = this;
    if (!ink) return;
    this.width = this.figure.clientWidth;
    this.ratio = this.density();
    this.hide = run.learners.map((learner) => this.hidden.has(learner.name));
    // The presenter view enlarges the type, not the charts: all charts must fit a projector of 1280x720.
    const zoom = this.root.currentCSSZoom ?? 1;
    const height = Math.round((run.height ?? (this.columns ? HEIGHT.columns : HEIGHT.stacked)) / zoom);
    this.charts.forEach((chart, p) => {
      const timeAxis = this.columns || p === run.panels.length - 1;
      const h = height + (timeAxis ? MARGIN.ticks : 0);
      chart.canvas.style.height = `${h}px`;
      const w = chart.canvas.clientWidth;
      chart.g = geometry(run, run.panels[p], this.hide, w, h, timeAxis);
      const paint = (canvas, draw) => {
        this.fit(canvas, w, h);
        const context = canvas.getContext("2d");
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.clearRect(0, 0, canvas.width, canvas.height);
        context.scale(this.ratio, this.ratio);
        draw(new CanvasPen(context, ink.font));
      };
      paint(chart.axes, (pen) => drawAxes(pen, run, run.panels[p], chart.g, ink));
      paint(chart.curves, (pen) => drawCurves(pen, run, run.panels[p], chart.g, this.hide));
      this.fit(chart.canvas, w, h);
    });
  }

  fit(canvas, width, height) {
    const w = Math.max(1, Math.round(width * this.ratio));
    const h = Math.max(1, Math.round(height * this.ratio));
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
  }

  draw(table) {
    const { run, ink, index } = this;
    if (!ink || !this.width) return;
    if (this.ratio !== this.density()) this.layers();
    this.charts.forEach((chart, p) => {
      const { context, canvas, g } = chart;
      const x = g.x(index);
      const reach = Math.min(canvas.width, Math.ceil((x + 1) * this.ratio));
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(chart.axes, 0, 0);
      if (reach > 0) context.drawImage(chart.curves, 0, 0, reach, canvas.height, 0, 0, reach, canvas.height);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      const pen = new CanvasPen(context, ink.font);
      drawMarks(pen, run, run.panels[p], g, this.hide, ink, index, p === 0 || this.columns);
      pen.line([x, g.box.y, x, g.box.y + g.box.height], { stroke: ink.text, width: 1 });
      run.learners.forEach((learner, l) => {
        const value = run.panels[p].curves[l]?.[index];
        if (this.hide[l] || value === undefined || Number.isNaN(value)) return;
        context.beginPath();
        context.arc(x, g.y(Math.max(g.low, Math.min(g.high, value))), 4, 0, 7);
        context.fillStyle = learner.colour;
        context.fill();
        context.strokeStyle = ink.paper;
        context.lineWidth = 1.5;
        context.stroke();
      });
    });
    this.slider.value = index;
    this.slider.setAttribute("aria-valuetext", `sample ${index} of ${run.length}`);
    const clock = `${number(index, 0)} / ${number(run.length, 0)}`;
    if (this.clock.textContent !== clock) this.clock.textContent = clock;
    if (table) this.fillTable();
    this.frames += 1;
    Object.assign(this.root.dataset, { time: index, length: run.length, frames: this.frames, digest: run.digest });
  }

  fillTable() {
    this.tabled = performance.now();
    metrics(this.run, this.index).forEach(({ cells }, r) =>
      cells.forEach((text, l) => {
        const cell = this.cells[r][l];
        if (cell.textContent !== text) cell.textContent = text;
      }));
  }

  // -------------------------------------------------------------- files

  compose(makePen, width) {
    const { run, ink } = this;
    const hide = this.hide;
    const gap = 8;
    const heights = run.panels.map((_, p) => HEIGHT.export + (p === run.panels.length - 1 ? MARGIN.ticks : 0));
    const items = legendItems(run, hide, ink);
    const perRow = Math.max(1, Math.floor(width / 230));
    const legendHeight = 22 * Math.ceil(items.length / perRow);
    const height = 34 + legendHeight + heights.reduce((sum, h) => sum + h + gap, 0);
    const { pen, shift } = makePen(width, height);
    pen.area([0, 0, width, 0, width, height, 0, height], { fill: ink.paper });
    pen.text(2, 20, run.title, { fill: ink.text, size: 16, bold: true });
    items.forEach((item, n) => {
      const x = 4 + (n % perRow) * 230;
      const y = 40 + 22 * Math.floor(n / perRow);
      item.draw(pen, x, y);
      pen.text(x + 34, y + 4, item.name, { fill: ink.text });
    });
    let top = 34 + legendHeight;
    run.panels.forEach((panel, p) => {
      const g = geometry(run, panel, hide, width, heights[p], p === run.panels.length - 1);
      shift(top, () => {
        drawAxes(pen, run, panel, g, ink);
        pen.within(0, 0, g.x(this.index) + 1, heights[p], () => drawCurves(pen, run, panel, g, hide));
        drawMarks(pen, run, panel, g, hide, ink, this.index, p === 0);
      });
      top += heights[p] + gap;
    });
    return pen;
  }

  savePng() {
    const scale = 2;
    const canvas = element("canvas");
    this.compose((width, height) => {
      canvas.width = width * scale;
      canvas.height = height * scale;
      const context = canvas.getContext("2d");
      context.scale(scale, scale);
      const shift = (top, draw) => {
        context.save();
        context.translate(0, top);
        draw();
        context.restore();
      };
      return { pen: new CanvasPen(context, this.ink.font), shift };
    }, 960);
    canvas.toBlob((blob) => this.save(blob, "png"));
  }

  saveSvg() {
    const pen = this.compose((width, height) => {
      const svg = new SvgPen(width, height, this.ink.font);
      const shift = (top, draw) => {
        const outer = svg.top;
        svg.top = svg.add("g", { transform: `translate(0 ${top})` });
        draw();
        svg.top = outer;
      };
      return { pen: svg, shift };
    }, 960);
    pen.svg.querySelector("title").textContent = `${this.run.title}. ${this.run.alt}`;
    this.save(new Blob([new XMLSerializer().serializeToString(pen.svg)], { type: "image/svg+xml" }), "svg");
  }

  save(blob, kind) {
    const link = element("a", "", { download: `${this.run.file}.${kind}` });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}
