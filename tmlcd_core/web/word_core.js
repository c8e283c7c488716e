// The firmware that hears words, compiled to WebAssembly: sound goes in, words come out; answers and learning.

import { toInt16 } from "../viz/wav.js";

const BLOCK = 4096; // samples per call, as in words.c
const CODES = { static: 0, incremental: 1, cit: 2, hybrid: 3, active: 4 };
export const RATE = 16_000; // samples per second

// `model`: learner, settings, grid (null for features in float32), farthest, features, codes (classes of the samples in T),
// rows (T, and behind it the other takes with a word), background (features of the room) and the limit of their distance.
export class WordCore {
  constructor(module, model) {
    this.core = new WebAssembly.Instance(module).exports;
    this.model = model;
    this.reset();
  }

  // The state after the export: T as it was, the change test in its warm-up, the stream of sound at its start.
  reset() {
    const { core } = this;
    const { settings: s, grid, farthest, learner, rows, codes, features } = this.model;
    const known = core.words_set(
      CODES[learner], s.max_size, s.k === "sqrt" ? 0 : s.k, s.weights === "distance" ? 1 : 0, s.threshold, s.batch,
      s.warmup, 1, 0, s.margin,
    );
    if (!known) throw new Error("A setting of the learner is out of range");
    core.words_grid(...(grid ?? [0, 0, 0, 0]), farthest ?? Infinity);
    this.features = new Float32Array(core.memory.buffer, core.words_features(), features);
    this.sound = new Int16Array(core.memory.buffer, core.words_sound(), BLOCK);
    this.last = new DataView(core.memory.buffer, core.words_last(), 40);
    this.statistic = new Float64Array(core.memory.buffer, core.words_statistic(), 1);
    codes.forEach((code, i) => {
      this.features.set(rows.subarray(i * features, (i + 1) * features));
      core.words_hold(code);
    });
    for (let i = 0; i < rows.length; i += features) {
      this.features.set(rows.subarray(i, i + features));
      core.words_name();
    }
    this.size = codes.length;
  }

  // Begin a new stream of sound.
  listen() {
    this.core.words_listen();
  }

  // Words that end within the next samples (Int16Array): features, first sample and the one after the last, counted
  // from `listen`, and level above the background.
  hear(samples) {
    const found = [];
    for (let from = 0; from < samples.length; from += BLOCK) {
      const part = samples.subarray(from, from + BLOCK);
      this.sound.set(part);
      for (let taken = 0; taken < part.length; ) {
        taken = this.core.words_hear(taken, part.length);
        const stop = this.last.getUint32(4, true);
        if (stop)
          found.push({ x: this.features.slice(), start: this.last.getUint32(0, true), stop, decibels: this.last.getFloat32(8, true) });
      }
    }
    return found;
  }

  // Code of the class, whether the word is unknown, the distance to the nearest sample in T as a share of the limit, and
  // whether the sound is noise.
  predict(x) {
    this.features.set(x);
    this.core.words_predict();
    const unknown = this.last.getUint32(36, true) === 1;
    const distance = this.last.getFloat32(12, true);
    return { prediction: this.last.getInt32(16, true), unknown, distance, noise: this.isNoise(x, distance) };
  }

  // Whether features are nearer to the room than to every take with a word, and within the limit, as on the page Microphone.
  isNoise(x, distance) {
    const near = this.model.limit * Math.min(1, distance);
    return this.model.background.some((room) => Math.hypot(...room.map((value, i) => value - x[i])) < near);
  }

  // Test, then train.
  judge(x, code) {
    const before = this.times();
    this.features.set(x);
    this.core.words_observe(code);
    const step = {
      prediction: this.last.getInt32(16, true), time: this.last.getUint32(20, true), alarm: this.last.getUint32(28, true) === 1,
      change: this.last.getUint32(32, true), statistic: this.statistic[0],
    };
    this.size = this.last.getUint32(24, true);
    step.forgotten = step.alarm ? before.filter((time) => time < step.change).length - this.times().filter((time) => time < step.change).length : 0;
    return { ...step, size: this.size };
  }

  teach(x, code) {
    this.features.set(x);
    this.core.words_teach(code);
    this.size = this.last.getUint32(24, true);
  }

  times() {
    return Array.from({ length: this.size }, (_, i) => this.core.words_time(i));
  }

  // Classes of the samples in T, oldest first.
  labels() {
    return Array.from({ length: this.size }, (_, i) => this.core.words_label(i));
  }
}

// Sound of any rate to int16 at 16 kHz: band-limited interpolation of a stream, block by block.
export class Resampler {
  constructor(rate) {
    this.step = rate / RATE;
    this.width = Math.ceil(16 * Math.max(1, this.step)); // samples on either side
    this.cutoff = Math.min(1, 0.95 / this.step); // relative to half of the input's rate
    this.rest = new Float32Array(this.width);
    this.at = this.width; // place of the next output sample in `rest`
  }

  push(block) {
    const { step, width, cutoff } = this;
    if (step === 1) return toInt16(block);
    const all = new Float32Array(this.rest.length + block.length);
    all.set(this.rest);
    all.set(block, this.rest.length);
    const out = [];
    for (; this.at + width < all.length; this.at += step) {
      const first = Math.ceil(this.at - width);
      let sum = 0;
      for (let i = first; i <= this.at + width; i++) {
        const t = i - this.at;
        const angle = Math.PI * t * cutoff;
        const sinc = t === 0 ? cutoff : (cutoff * Math.sin(angle)) / angle;
        sum += (all[i] ?? 0) * sinc * (0.5 + 0.5 * Math.cos((Math.PI * t) / width));
      }
      out.push(sum);
    }
    const done = Math.max(0, Math.floor(this.at) - width);
    this.rest = all.slice(done);
    this.at -= done;
    return toInt16(out);
  }
}
