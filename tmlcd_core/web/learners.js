// The learners of the C core, compiled to WebAssembly, on a composed stream.

const BLOCK = 64; // samples per call, as in learners.c
const MOST_SAMPLES = 65_535; // in T
const MOST_CLASSES = 64;
const FEWEST = 5; // samples that a memory in bytes must hold
const CODES = { static: 0, incremental: 1, cit: 2, hybrid: 3, active: 4 };
const VOTE = { k: "sqrt", weights: "uniform" };
const TEST = { threshold: 25, batch: 50, warmup: 100 };

// Learner by name: its code, and its settings for n initial samples (tmlcd_core/learners/registry.py).
export const LEARNERS = {
  cit: ["cit", () => ({ ...VOTE, condense: true, max_size: null })],
  active: ["active", (n) => ({ ...VOTE, ...TEST, condense: true, window: n })],
  hybrid: ["hybrid", (n) => ({ ...VOTE, ...TEST, condense: true, max_size: n })],
  static: ["static", () => ({ ...VOTE, condense: false })],
  incremental: ["incremental", () => ({ ...VOTE, condense: false, max_size: null })],
  window: ["incremental", (n) => ({ ...VOTE, condense: false, max_size: n })],
  condensed: ["static", () => ({ ...VOTE, condense: true })],
  "cit-bounded": ["cit", (n) => ({ ...VOTE, condense: true, max_size: n })],
  "hybrid-unbounded": ["hybrid", () => ({ ...VOTE, ...TEST, condense: true, max_size: null })],
};
export const hasTest = (name) => "threshold" in LEARNERS[name][1](1);

// Settings of a learner: its own, then those given for all learners, then those given for it alone.
function settingsOf(name, n, given) {
  const settings = LEARNERS[name][1](n);
  for (const key of Object.keys(settings)) settings[key] = given[`${name}.${key}`] ?? given[key] ?? settings[key];
  return settings;
}

// Bytes of one stored sample: features, label and time in 32 bits each.
export const sampleBytes = (features) => 4 * features + 8;

function samplesIn(bytes, features, queues) {
  const each = sampleBytes(features);
  const fitting = Math.floor(bytes / (each * queues));
  if (fitting < FEWEST) {
    const needed = FEWEST * each * queues;
    throw new Error(`${bytes} bytes hold ${fitting} samples of ${each} bytes, fewer than ${FEWEST}. Use at least ${needed} bytes.`);
  }
  return fitting;
}

// Sorted by code point, as in Python: a tie goes to the smallest label.
function sorted(names) {
  const points = (name) => Array.from(name, (letter) => letter.codePointAt(0));
  return [...new Set(names)].sort((a, b) => {
    const [one, other] = [points(a), points(b)];
    const place = one.findIndex((value, i) => value !== other[i]);
    return place < 0 ? one.length - other.length : one[place] - (other[place] ?? -1);
  });
}

export async function compile(bytes) {
  return WebAssembly.compile(bytes);
}

export class Learner {
  constructor(module, name) {
    this.name = name;
    this.core = new WebAssembly.Instance(module).exports;
  }

  // Run over a stream of `compose`: a generator that yields the number of samples done after each block of 64.
  // Afterwards `trace` has predictions (indices into `classes`), sizes, statistic, detections and changePoints.
  *run(stream, experiment) {
    const { core, name } = this;
    const { labels, rows, initial } = stream;
    const n = labels.length - initial;
    const features = rows[0].length;
    const classes = sorted(labels);
    if (classes.length > MOST_CLASSES) throw new Error(`This page can tell ${MOST_CLASSES} classes apart; the data have ${classes.length}.`);
    const codes = new Map(classes.map((label, code) => [label, code]));
    const [kind] = LEARNERS[name];
    const settings = settingsOf(name, initial, experiment.settings);
    const queues = kind === "active" ? 2 : 1;
    const held = experiment.max_bytes === null ? null : samplesIn(experiment.max_bytes, features, queues);
    const growing = kind === "cit" || kind === "incremental" || kind === "hybrid";
    const most = growing ? initial + n : initial;
    const bound = held ?? settings.max_size ?? most; // of T after fit
    const size = kind === "active" ? (held ?? settings.window) : bound; // of T and W in the stream
    const capacity = Math.max(initial, size);
    if (capacity > MOST_SAMPLES || !core.tml_open(features, capacity))
      throw new Error("This run needs more memory than this page can use. Use fewer samples or classes.");
    const k = settings.k === "sqrt" ? 0 : settings.k;
    const { threshold, batch, warmup } = { ...TEST, ...settings };
    const test = [threshold, batch, warmup, kind === "hybrid" ? 1 : 0];
    if (!core.tml_set(CODES[kind], Math.max(1, size), k, settings.weights === "distance" ? 1 : 0, ...test, settings.condense ? 1 : 0))
      throw new Error("A setting of this learner is out of range.");
    const fill = (from, count) => {
      const input = new Float32Array(core.memory.buffer, core.tml_rows(), BLOCK * features);
      const label = new Int32Array(core.memory.buffer, core.tml_labels(), BLOCK);
      for (let i = 0; i < count; i++) {
        input.set(rows[from + i], i * features);
        label[i] = codes.get(labels[from + i]);
      }
    };
    for (let from = 0; from < initial; from += BLOCK) {
      const count = Math.min(BLOCK, initial - from);
      fill(from, count);
      core.tml_hold(count);
    }
    core.tml_fit(settings.condense ? 1 : 0, bound, kind === "incremental" ? 0 : 1);
    const trace = {
      classes, predictions: new Int32Array(n), correct: new Uint8Array(n), sizes: new Float32Array(n),
      statistic: new Float64Array(n), detections: [], changePoints: [],
    };
    for (let from = 0; from < n; from += BLOCK) {
      const count = Math.min(BLOCK, n - from);
      fill(initial + from, count);
      core.tml_run(count);
      const { buffer } = core.memory;
      trace.predictions.set(new Int32Array(buffer, core.tml_predictions(), count), from);
      trace.sizes.set(new Uint32Array(buffer, core.tml_sizes(), count), from);
      trace.statistic.set(new Float64Array(buffer, core.tml_statistics(), count), from);
      new Uint32Array(buffer, core.tml_changes(), count).forEach((time, i) => {
        trace.correct[from + i] = trace.predictions[from + i] === codes.get(labels[initial + from + i]) ? 1 : 0;
        if (!time) return;
        trace.detections.push(from + i);
        trace.changePoints.push(time - 1);
      });
      yield from + count;
    }
    this.trace = trace;
  }
}
