// Three small curves over the judged answers: accuracy, |T| and the statistic g of the change test.

const WIDE = 600;
const HIGH = 100;
const TAPS = 10; // answers in the moving average, as on the page Microphone
const FEWEST = 20; // answers across the width

function draw(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

function chart(id, values, top, { level, alarms, drifts, shown }) {
  const figure = document.getElementById(id);
  figure.querySelector("b").textContent = shown;
  figure.querySelector("svg")?.remove();
  const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": figure.textContent.trim() }, figure);
  const across = Math.max(FEWEST, values.length);
  const x = (i) => ((i + 0.5) * WIDE) / across;
  const y = (value) => HIGH - 4 - (Math.max(0, value) / top) * (HIGH - 8);
  for (const at of drifts) draw("line", { class: "drift", x1: x(at - 0.5), x2: x(at - 0.5), y1: 0, y2: HIGH }, svg);
  for (const at of alarms) draw("line", { class: "alarm", x1: x(at), x2: x(at), y1: 0, y2: HIGH }, svg);
  if (level !== undefined) draw("line", { class: "level", x1: 0, x2: WIDE, y1: y(level), y2: y(level) }, svg);
  const points = values.flatMap((value, i) => (Number.isFinite(value) ? [`${x(i).toFixed(1)},${y(value).toFixed(1)}`] : []));
  if (points.length) draw("polyline", { class: "curve", points: points.join(" ") }, svg);
}

// `answers`: right, size, statistic (NaN in the warm-up), alarm; `drifts`: number of answers at each change of meaning.
export function drawCharts(answers, drifts, { size, most, threshold, warmup, tested }) {
  const alarms = answers.flatMap(({ alarm }, i) => (alarm ? [i] : []));
  const mean = answers.map((_, i) => {
    const part = answers.slice(Math.max(0, i + 1 - TAPS), i + 1);
    return part.filter(({ right }) => right).length / part.length;
  });
  const common = { alarms, drifts };
  const last = mean.length ? `${Math.round(100 * mean.at(-1))} %` : "no answer judged yet";
  chart("accuracy", mean, 1, { ...common, shown: last });
  const sizes = answers.map((answer) => answer.size);
  chart("size", sizes, Math.min(most, 1.2 * Math.max(10, size, ...sizes)), { ...common, shown: String(size) });
  const g = answers.map(({ statistic }) => statistic);
  const now = g.at(-1);
  const waiting = Math.max(0, warmup - answers.length);
  const shown = !tested ? "this learner has no test" : answers.at(-1)?.alarm ? `${now.toFixed(1)}, alarm` : Number.isFinite(now) ? now.toFixed(1) : waiting ? `warm-up, ${waiting} more answers` : "learns the new accuracy";
  chart("statistic", g, Math.max(1.3 * threshold, ...g.filter(Number.isFinite)), { ...common, level: tested ? threshold : undefined, shown });
}
