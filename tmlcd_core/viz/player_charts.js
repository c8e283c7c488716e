// Charts of the player: geometry, axes, curves, marks and kept runs, drawn with a pen.

const MARGIN = { left: 50, right: 12, top: 24, bottom: 8, ticks: 32 };

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

// `kept` are the curves of a kept run for the same panel: [{ learner, values }].
function rangeOf(panel, hidden, kept) {
  let low = panel.low ?? Infinity;
  let high = panel.high ?? -Infinity;
  let least = Infinity; // of the curves: a band of an accuracy does not go below 0
  const take = (curve, spread) => {
    for (let i = 0; i < curve.length; i++) {
      const d = spread ? spread[i] : 0;
      if (curve[i] < least) least = curve[i];
      if (panel.low === null && curve[i] - d < low) low = curve[i] - d;
      if (panel.high === null && curve[i] + d > high) high = curve[i] + d;
    }
  };
  panel.curves.forEach((curve, l) => curve && !hidden[l] && take(curve, panel.deviation[l]));
  for (const { values } of kept) take(values);
  if (panel.threshold !== null && panel.high === null) high = Math.max(high, panel.threshold * 1.15);
  if (!Number.isFinite(low) || (low < 0 && least >= 0)) low = 0;
  if (!(high > low)) high = low + 1;
  const step = niceStep(high - low, 4);
  if (panel.high === null) high = Math.ceil(high / step - 1e-9) * step;
  if (panel.low === null) low = Math.floor(low / step + 1e-9) * step;
  return [low, high];
}

// Geometry and scales of one chart.
function geometry(run, panel, hidden, width, height, timeAxis, kept = []) {
  const bottom = MARGIN.bottom + (timeAxis ? MARGIN.ticks : 0);
  const [low, high] = rangeOf(panel, hidden, kept);
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
  if (run.band && !panel.strip) pen.text(box.x + box.width, 15, run.band, { fill: ink.text, size: 12, align: "right" });
  const vertical = ticks(g.low, g.high, Math.max(2, Math.ceil(box.height / (box.height < 90 ? 30 : 40))));
  for (const v of vertical.values) {
    const y = Math.round(g.y(v)) + 0.5;
    pen.line([box.x, y, box.x + box.width, y], { stroke: ink.text, alpha: 0.14 });
    const text = panel.unit === "bytes" ? inBytes(v) : number(v, vertical.digits);
    pen.text(box.x - 6, y + 4, text, { fill: ink.text, align: "right", size: text.length > 6 ? 11 : 12 });
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

// Curves of a kept run: thin, pale and whole, whatever the cursor.
function drawKept(pen, run, g, kept) {
  const { box } = g;
  pen.within(box.x, box.y - 2, box.width, box.height + 4, () => {
    for (const { learner, values } of kept)
      pen.line(polyline(values, g, Math.min(values.length, run.length)), { stroke: learner.colour, width: 1, alpha: 0.45 });
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

// True changes are always shown, a gradual one as a ramp; an alarm, tied to its estimated change point, appears when
// it is raised.
function drawMarks(pen, run, panel, g, hidden, ink, cursor, label) {
  const { box } = g;
  const bottom = box.y + box.height;
  const rows = Math.min(4, run.learners.filter((learner, l) => learner.alarms?.length && !hidden[l]).length);
  run.changes.forEach((change, n) => {
    const x = box.x + (change / run.length) * box.width;
    const end = box.x + (Math.min(run.ends[n] ?? change, run.length) / run.length) * box.width;
    if (end > x + 1) {
      pen.area([x, bottom, end, box.y, end, bottom], { fill: ink.text, alpha: 0.1 });
      pen.line([x, bottom, end, box.y], { stroke: ink.text, width: 1, alpha: 0.5 });
    }
    pen.line([x, box.y, x, bottom], { stroke: ink.text, width: 2.5, alpha: 0.55 });
    if (!label) return;
    const text = run.change_texts[n] || "true change";
    const wide = 6.6 * text.length;
    const right = x + wide > box.x + box.width;
    const left = right ? x - 5 - wide : x + 5;
    const free = left > 20 + 7 * panel.title.length; // to the right of the chart's title
    if (free && !run.band && box.width > 300) pen.text(right ? x - 5 : x + 5, box.y - 4, text, { fill: ink.text, align: right ? "right" : "left" });
    else if (run.change_texts[n] && box.height > 100 && left > box.x)
      pen.text(right ? x - 6 : x + 6, bottom - 6 - 11 * rows, text, { fill: ink.text, align: right ? "right" : "left" });
  });
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
      const y = bottom - 7 - level;
      pen.line([xp, box.y, xp, bottom], { stroke: learner.colour, width: 1.2, dash: [3, 4], alpha: 0.8 });
      pen.line([xp, y, x, y], { stroke: learner.colour, width: 1.6 }); // ties the alarm to its change point
      diamond(pen, xp, y, learner.colour, ink.paper);
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
