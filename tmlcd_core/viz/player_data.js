// Data of the player: decodes the bytes of `PlayerRun.pack` (see viz/player.py) and looks up texts and numbers.

const ARRAYS = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };
const DASH = "–";

function decode(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const run = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.slice(4 + size).buffer; // a copy begins at 0, so that float32 is aligned
  const array = (ref) => ref && new ARRAYS[ref.type](body, ref.offset, ref.size);
  for (const panel of run.panels.flatMap((one) => (one.alternative ? [one, one.alternative] : [one]))) {
    panel.curves = panel.curves.map(array);
    panel.deviation = panel.deviation.map(array);
  }
  for (const learner of run.learners) {
    const correct = array(learner.correct);
    if (!correct) continue;
    learner.hits = new Uint32Array(run.length + 1);
    for (let i = 0; i < run.length; i++) learner.hits[i + 1] = learner.hits[i] + correct[i];
  }
  const picture = run.picture;
  if (picture) {
    for (const name of ["x", "y", "label"]) picture[name] = array(picture[name]);
    for (const one of picture.learners) {
      one.said = array(one.said);
      if (one.T) for (const name of Object.keys(one.T)) one.T[name] = array(one.T[name]);
    }
  }
  return run;
}

const formats = Array.from({ length: 7 }, (_, digits) =>
  new Intl.NumberFormat("en-GB", {
    minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative",
    roundingMode: "halfEven", // as in Python: "Detailed results" shows the same digits
  }));
const number = (value, digits) => formats[Math.min(6, digits)].format(value);

// Bytes for people: 980 B, 12.3 kB, 1.20 MB.
function inBytes(value) {
  if (value < 1000) return `${number(value, 0)} B`;
  return value < 1e6 ? `${number(value / 1000, value < 1e5 ? 1 : 0)} kB` : `${number(value / 1e6, 2)} MB`;
}

// Value of a panel's curve at sample i as text.
function valueText(panel, l, i) {
  const value = panel.curves[l]?.[i];
  if (value === undefined || Number.isNaN(value)) return DASH;
  return panel.unit === "bytes" ? inBytes(value) : number(value, panel.digits);
}

// Rows of the table: values at sample i, and metrics of samples 0 to i.
function metrics(run, i) {
  const rows = run.panels.flatMap((panel) => (panel.alternative ? [panel, panel.alternative] : [panel])).map((panel) => ({
    group: "At the cursor",
    name: panel.short,
    hint: panel.title,
    cells: run.learners.map((_, l) => valueText(panel, l, i)),
  }));
  const share = (hits, from, to) => (to > from ? number((hits[to] - hits[from]) / (to - from), 3) : DASH);
  const soFar = (name, hint, cell) =>
    rows.push({ group: "So far", name, hint, cells: run.learners.map((learner) => cell(learner)) });
  const change = run.changes[0];
  if (run.learners.some((learner) => learner.hits)) {
    const accuracy = (from, to) => (learner) => (learner.hits ? share(learner.hits, from, to) : DASH);
    soFar("accuracy", "Correct predictions / samples seen.", accuracy(0, i + 1));
    if (change !== undefined) {
      soFar("before change", "Accuracy before the first true change.", accuracy(0, Math.min(change, i + 1)));
      soFar("after change", "Accuracy since the first true change.", accuracy(change, i + 1));
    }
  }
  // The server evaluates alarms and changes; look up their texts.
  for (const { name, hint, cells } of run.so_far)
    rows.push({ group: "So far", name, hint, cells: cells.map((steps) => steps?.findLast(([from]) => from <= i)[1] ?? DASH) });
  return rows;
}

// The story at sample i: its first sentence, and for each learner what it did.
function storyAt(run, i) {
  const step = run.story.findLast(({ at }) => at <= i);
  if (!step) return { lead: "", clauses: [] };
  const quiet = run.known ? "Nothing has changed yet." : "The true changes of these data are unknown.";
  const stays = run.known && !run.changes.length ? "Nothing changes in this run." : quiet;
  return { lead: step.lead || stays, clauses: step.clauses };
}
