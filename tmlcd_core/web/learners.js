// The learners of the C core, compiled to WebAssembly, on a composed stream.

import { Membership } from "./membership.js";

const BLOCK = 64; // samples per call, as in learners.c
const MOST_SAMPLES = 65_535; // in T
const MOST_CLASSES = 64;
const FEWEST = 5; // samples that a memory in bytes must hold
const FEWEST_ROWS = 16; // of Tandem
const FEWEST_TANDEM = 50; // samples: its budget where the initial ones are fewer
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
  tandem: ["tandem", (n) => ({ ...TEST, max_size: Math.max(n, FEWEST_TANDEM) })],
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

// Modules by name from their bytes: `learners`, and `tandem`, whose memory is another one.
export async function compile(learners, tandem) {
  return { learners: await WebAssembly.compile(learners), tandem: await WebAssembly.compile(tandem) };
}

const TOO_LARGE = "This run needs more memory than this page can use. Use fewer samples or classes.";
const OUT_OF_RANGE = "A setting of this learner is out of range.";

export class Learner {
  constructor(modules, name) {
    this.name = name;
    [this.kind] = LEARNERS[name];
    this.core = new WebAssembly.Instance(modules[this.kind === "tandem" ? "tandem" : "learners"]).exports;
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
    const fill = (from, count) => {
      const input = new Float32Array(core.memory.buffer, core.tml_rows(), BLOCK * features);
      const label = new Int32Array(core.memory.buffer, core.tml_labels(), BLOCK);
      for (let i = 0; i < count; i++) {
        input.set(rows[from + i], i * features);
        label[i] = codes.get(labels[from + i]);
      }
    };
    const feed = (take) => {
      for (let from = 0; from < initial; from += BLOCK) {
        const count = Math.min(BLOCK, initial - from);
        fill(from, count);
        take(count);
      }
    };
    const settings = settingsOf(name, initial, experiment.settings);
    const first = sorted(labels.slice(0, initial)).map((label) => codes.get(label));
    if (this.kind === "tandem") this.#startTandem(settings, experiment.max_bytes, features, first, feed);
    else this.#start(settings, experiment.max_bytes, features, initial, n, feed);
    const trace = {
      classes, predictions: new Int32Array(n), correct: new Uint8Array(n), sizes: new Float32Array(n),
      statistic: new Float64Array(n), detections: [], changePoints: [],
      membership: this.kind === "tandem" ? null : this.#firstMembers(stream, codes),
      vote: { k: typeof settings.k === "number" ? settings.k : 0, by_distance: settings.weights === "distance" },
    };
    for (let from = 0; from < n; from += BLOCK) {
      const count = Math.min(BLOCK, n - from);
      fill(initial + from, count);
      for (let done = 0; done < count; ) {
        done = core.tml_run(done, count);
        if (this.kind === "active") this.#replaceMembers(trace.membership, from + done - 1, done - 1);
      }
      if (this.kind === "tandem" && core.tml_failed()) throw this.#tooSmall(features, first.length + 1);
      const { buffer } = core.memory;
      trace.predictions.set(new Int32Array(buffer, core.tml_predictions(), count), from);
      trace.sizes.set(new Uint32Array(buffer, core.tml_sizes(), count), from);
      trace.statistic.set(new Float64Array(buffer, core.tml_statistics(), count), from);
      new Uint32Array(buffer, core.tml_changes(), count).forEach((time, i) => {
        const code = codes.get(labels[initial + from + i]);
        trace.correct[from + i] = trace.predictions[from + i] === code ? 1 : 0;
        this.#followMembers(trace, from + i, code);
        if (!time) return;
        trace.detections.push(from + i);
        trace.changePoints.push(time - 1);
      });
      yield from + count;
    }
    this.trace = trace;
  }

  // The first T: samples of the initial training set, in its order.
  #firstMembers({ labels, rows, initial }, codes) {
    const { core } = this;
    const found = new Membership(labels.length - initial);
    for (let i = 0, j = 0; i < core.tml_stored(); i++, j++) {
      const row = new Float32Array(core.memory.buffer, core.tml_stored_row(i), rows[0].length);
      const isIt = (place) => codes.get(labels[place]) === core.tml_stored_label(i) && row.every((value, f) => value === rows[place][f]);
      while (!isIt(j)) j++;
      found.add(-1 - j, core.tml_stored_label(i), -1);
    }
    return found;
  }

  // Active's T after an alarm at `time`, if it was replaced: then all of it is from after the change.
  #replaceMembers(members, time, place) {
    const { core } = this;
    const change = new Uint32Array(core.memory.buffer, core.tml_changes(), BLOCK)[place];
    if (!change || core.tml_stored_time(0) < change) return;
    members.shrink(0, time);
    for (let i = 0; i < core.tml_stored(); i++) members.add(core.tml_stored_time(i) - 1, core.tml_stored_label(i), time);
  }

  #followMembers({ membership, correct, sizes }, time, code) {
    if (!["cit", "hybrid", "incremental"].includes(this.kind)) return;
    if (this.kind === "incremental" || !correct[time]) membership.add(time, code, time);
    membership.shrink(sizes[time], time);
  }

  // Learn the initial samples: T, condensed and cut to its bound.
  #start(settings, bytes, features, initial, n, feed) {
    const { core, kind } = this;
    const held = bytes === null ? null : samplesIn(bytes, features, kind === "active" ? 2 : 1);
    const growing = kind === "cit" || kind === "incremental" || kind === "hybrid";
    const most = growing ? initial + n : initial;
    const bound = held ?? settings.max_size ?? most; // of T after fit
    const size = kind === "active" ? (held ?? settings.window) : bound; // of T and W in the stream
    const capacity = Math.max(initial, size);
    if (capacity > MOST_SAMPLES || !core.tml_open(features, capacity)) throw new Error(TOO_LARGE);
    const k = settings.k === "sqrt" ? 0 : settings.k;
    const { threshold, batch, warmup } = { ...TEST, ...settings };
    const test = [threshold, batch, warmup, kind === "hybrid" ? 1 : 0];
    if (!core.tml_set(CODES[kind], Math.max(1, size), k, settings.weights === "distance" ? 1 : 0, ...test, settings.condense ? 1 : 0))
      throw new Error(OUT_OF_RANGE);
    feed((count) => core.tml_hold(count));
    core.tml_fit(settings.condense ? 1 : 0, bound, kind === "incremental" ? 0 : 1);
  }

  // Learn the initial samples, whose classes are `codes`: first their mean and range, then one after the other.
  #startTandem(settings, bytes, features, codes, feed) {
    const { core } = this;
    this.budget = bytes ?? settings.max_size * sampleBytes(features);
    if (this.budget < core.tml_needed(features, codes.length, FEWEST_ROWS)) throw this.#tooSmall(features, codes.length);
    if (!core.tml_open(features, this.budget, codes.length)) throw new Error(TOO_LARGE);
    if (!core.tml_set(settings.threshold, settings.batch, settings.warmup)) throw new Error(OUT_OF_RANGE);
    feed((count) => core.tml_hold(count));
    new Int32Array(core.memory.buffer, core.tml_labels(), BLOCK).set(codes);
    core.tml_fit(codes.length);
    feed((count) => core.tml_learn(count));
  }

  #tooSmall(features, classes) {
    const least = this.core.tml_needed(features, classes, FEWEST_ROWS);
    return new Error(`${this.budget} bytes are too small for Tandem with ${classes} classes of ${features} features. Use at least ${least} bytes.`);
  }
}
