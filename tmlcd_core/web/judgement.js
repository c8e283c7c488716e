// Alarms and recovery of a learner against the true changes: tmlcd_core/changes.py, and the texts of viz/player.py.

const TAPS = 100; // samples that the accuracy is averaged over
const RECOVERED = 0.95; // share of the accuracy before the change at which a learner counts as recovered
const UNKNOWN = "–";

// Moving average over the last `taps` samples; NaN while the window is not full.
export function accuracyCurve(correct, taps = TAPS) {
  const curve = new Float64Array(correct.length).fill(NaN);
  let hits = 0;
  for (let i = 0; i < correct.length; i++) {
    hits += correct[i] - (i >= taps ? correct[i - taps] : 0);
    if (i >= taps - 1) curve[i] = hits / taps;
  }
  return curve;
}

function first(curve, begin, stop, holds) {
  for (let i = begin; i < stop; i++) if (holds(curve[i])) return i;
  return null;
}

// What became of each true change; `correct` are 0 or 1, `ends` the samples from which only the new concept occurs.
export function judge(correct, alarms, changes, ends) {
  const curve = accuracyCurve(correct);
  const bounds = [0, ...changes, correct.length];
  const justified = new Set();
  const outcomes = [];
  let level = 0;
  changes.forEach((change, i) => {
    const [before, end, stop] = [bounds[i], ends[i], bounds[i + 2]];
    const found = alarms.filter((alarm) => change <= alarm && alarm < stop);
    for (const alarm of found) if (alarm === found[0] || alarm < end) justified.add(alarm);
    const alone = end + TAPS - 1;
    const hits = correct.slice(before, change).reduce((sum, hit) => sum + hit, 0);
    if (!outcomes.length || !isUnrecovered(outcomes.at(-1))) level = RECOVERED * (hits / (change - before));
    const fell = first(curve, change, stop, (value) => value < level);
    const back = fell === null ? null : first(curve, Math.max(fell, alone), stop, (value) => value >= level);
    outcomes.push({ change, end, stop, alone, delay: found.length ? found[0] - change : null, fell, back });
  });
  return { alarms, wrong: alarms.filter((alarm) => !justified.has(alarm)), outcomes };
}

// The judgement of the run up to and including `sample`.
export function until({ alarms, wrong, outcomes }, sample) {
  const known = (value) => (value !== null && value <= sample ? value : null);
  const upTo = (samples) => samples.filter((one) => one <= sample);
  return {
    alarms: upTo(alarms),
    wrong: upTo(wrong),
    outcomes: outcomes.filter((one) => one.change <= sample).map((one) => ({
      ...one,
      stop: Math.min(one.stop, sample + 1),
      delay: one.delay !== null && one.change + one.delay <= sample ? one.delay : null,
      fell: known(one.fell),
      back: known(one.back),
    })),
  };
}

export function eventsOf({ alarms, outcomes }) {
  const found = new Set([0, ...alarms]);
  for (const one of outcomes) for (const sample of [one.change, one.fell, one.back, one.alone, one.stop - 1]) found.add(sample);
  const last = outcomes.length ? outcomes.at(-1).stop : Infinity;
  return [...found].filter((sample) => sample !== null && sample < last).sort((a, b) => a - b);
}

const isUnrecovered = ({ fell, back }) => fell !== null && back === null;

function recoveryOf({ change, alone, stop, fell, back }) {
  if (fell === null) return alone < stop ? 0 : NaN;
  if (back === null) return NaN;
  return back - (fell <= alone ? change : fell) + 1;
}

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN);
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0, roundingMode: "halfEven" });
const text = (value) => (Number.isNaN(value) ? UNKNOWN : whole.format(value));

function recoveryText(outcomes, pending) {
  const recovery = mean(outcomes.map(recoveryOf).filter((samples) => !Number.isNaN(samples)));
  const never = outcomes.filter(isUnrecovered).length - pending;
  const parts = Number.isNaN(recovery) ? [] : [text(recovery)];
  if (never) parts.push(parts.length || pending || never > 1 ? `${never} never` : "never");
  if (pending) parts.push("not yet");
  return parts.join(", ") || UNKNOWN;
}

// A text that changes over time: pairs of the first sample at which it is valid, and the text.
function steps(judged, cell) {
  const found = [];
  for (const sample of eventsOf(judged)) {
    const known = until(judged, sample);
    const last = known.outcomes.length - 1;
    const open = last >= 0 && isUnrecovered(known.outcomes[last]) && judged.outcomes[last].stop > sample + 1;
    const shown = cell(known, open ? 1 : 0);
    if (!found.length || found.at(-1)[1] !== shown) found.push([sample, shown]);
  }
  return found;
}

// Rows of the player's table on alarms and changes. `judged` has one judgement per learner, `tested` whether it has a
// test, `hints` the help text of each row. `changes` is null if the changes are unknown.
export function soFar(judged, tested, changes, hints) {
  const rows = [];
  const add = (name, cell, shown) =>
    rows.push({ name, hint: hints[name], cells: judged.map((one, l) => (shown[l] ? steps(one, cell) : null)) });
  const any = tested.some((has) => has);
  if (any) add("alarms", (known) => text(known.alarms.length), tested);
  if (any && changes !== null) add("false alarms", (known) => text(known.wrong.length), tested);
  if (any && changes?.length) add("delay", (known) => text(mean(known.outcomes.map((one) => one.delay).filter((d) => d !== null))), tested);
  if (changes?.length) add("recovery", (known, open) => recoveryText(known.outcomes, open), judged.map(() => true));
  return rows;
}
