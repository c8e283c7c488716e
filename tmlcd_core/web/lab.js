// The Drift lab in one file: sliders, the learners as WebAssembly, and the player.

import { bytes, json, makePool } from "./data.js";
import { compile, hasTest, Learner, sampleBytes } from "./learners.js";
import { find, say, whole } from "./page.js";
import { playerRun } from "./player_run.js";
import { main as showPlayer } from "./player.js";
import { AFFECTS, compose } from "./stream.js";

const SLICE = 12; // ms of computing before the page may redraw
const WAIT = 60; // ms without a movement of a slider before the run starts

const page = json("page");
const experiment = structuredClone(page.experiment);
let pool;
let modules;
let turn = 0; // of the latest run: an older one stops
const learners = new Map();

function show(data) {
  showPlayer({ data, parentElement: find("player"), setStateValue: () => {} });
}

// ---------------------------------------------------------------- controls

function control(id, set, text) {
  const input = find(id);
  if (!input) return;
  const apply = () => {
    set(input);
    const output = find(`${id}-value`);
    if (output) output.textContent = text();
  };
  input.addEventListener("input", () => {
    apply();
    schedule();
  });
}

const bytesOf = (place) => Math.round(2 ** (Number(place) / 4));

function controls() {
  control("classes", (input) => (experiment.classes = Number(input.value)), () => experiment.classes);
  control("drift", (input) => {
    experiment.drift = input.value;
    experiment.affected = AFFECTS[input.value] === AFFECTS[page.experiment.drift] ? page.experiment.affected : 0;
  }, () => "");
  control("at", (input) => (experiment.at = Number(input.value) / 100), () => `${Math.round(100 * experiment.at)} %`);
  control("threshold", (input) => (experiment.settings.threshold = Number(input.value)), () => experiment.settings.threshold);
  control("seed", (input) => (experiment.seed = Math.max(0, Math.min(2 ** 32 - 1, Math.floor(Number(input.value)) || 0))), () => "");
  const limited = find("limited");
  const limit = () => {
    experiment.max_bytes = limited.checked ? bytesOf(find("bytes").value) : null;
    find("bytes").disabled = !limited.checked;
    const samples = Math.floor(experiment.max_bytes / sampleBytes(pool.features));
    find("bytes-value").textContent = limited.checked ? `${whole(experiment.max_bytes)} bytes, ${whole(samples)} samples` : "off";
  };
  find("bytes").disabled = !limited.checked;
  for (const id of ["limited", "bytes"]) {
    find(id).addEventListener("input", () => {
      limit();
      schedule();
    });
  }
  for (const input of document.querySelectorAll("input[name=learner]"))
    input.addEventListener("change", () => {
      experiment.learners = [...document.querySelectorAll("input[name=learner]:checked")].map((one) => one.value);
      schedule();
    });
  find("again").addEventListener("click", () => {
    experiment.seed = (experiment.seed + 1) % 2 ** 32;
    find("seed").value = experiment.seed;
    schedule();
  });
}

// ---------------------------------------------------------------- the run

let waiting;
function schedule() {
  turn++;
  clearTimeout(waiting);
  waiting = setTimeout(() => run(turn).catch((error) => say(error.message, true)), WAIT);
}

// The command that gives the same run.
function command() {
  const { classes, drift, at, over, seed, settings, max_bytes: limit, learners: names } = experiment;
  const words = [`tmlcd run --data ${page.data}`];
  if (!pool.recorded) words.push(`--classes ${classes} --drift ${drift} --at ${at}`, over ? `--over ${over}` : "");
  if (!pool.recorded) words.push(`--per-class ${experiment.per_class} --train ${experiment.train}`);
  if (experiment.words.length) words.push(`--words "${experiment.words.join(",")}"`);
  words.push(`--learners ${names.join(",")}`, ...Object.entries(settings).map(([name, value]) => `--set ${name}=${value}`));
  if (limit !== null) words.push(`--max-bytes ${limit}`);
  return [...words, `--seed ${seed} --runs 1`].filter((word) => word).join(" ");
}

async function run(mine) {
  if (!experiment.learners.length) throw new Error("Choose at least one learner.");
  const began = performance.now();
  const stream = compose(experiment, pool);
  const traces = [];
  let last = performance.now();
  for (const name of experiment.learners) {
    if (!learners.has(name)) learners.set(name, new Learner(modules, name));
    const learner = learners.get(name);
    for (const done of learner.run(stream, experiment)) {
      if (performance.now() - last < SLICE) continue;
      say(`${page.looks[name].name}: ${whole(done)} of ${whole(stream.labels.length - stream.initial)} samples …`);
      await new Promise((resume) => setTimeout(resume));
      if (mine !== turn) return;
      last = performance.now();
    }
    traces.push({ ...learner.trace, hasTest: hasTest(name) });
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(2);
  const title = pool.recorded ? page.title : `${page.drifts[experiment.drift]} (${stream.scenario.classes.join(", ")})`;
  const looks = experiment.learners.map((name) => page.looks[name]);
  const threshold = experiment.settings.threshold;
  show(playerRun(page.template, looks, traces, stream, { title, threshold, hints: page.hints, digest: `live ${mine}`, classLooks: page.class_looks }));
  find("title").textContent = title;
  find("command").textContent = command();
  const samples = whole(stream.labels.length - stream.initial);
  say(`${samples} samples, computed in this page in ${seconds} s.`);
  document.body.dataset.runs = Number(document.body.dataset.runs ?? 0) + 1;
  globalThis.lastRun = { experiment: structuredClone(experiment), stream, traces }; // for the tests and the curious
}

async function start() {
  const recorded = await bytes(find("run").textContent);
  show(recorded);
  if (!page.live) return say(page.reason);
  if (typeof WebAssembly !== "object") return say("This browser has no WebAssembly: the run above can be played, the sliders cannot compute another one.", true);
  modules = await compile(await bytes(find("learners").textContent), await bytes(find("tandem").textContent));
  pool = makePool(page.pool, await bytes(find("features").textContent));
  for (const part of document.querySelectorAll("fieldset")) part.disabled = false;
  find("more").open = innerWidth > 700 && self === top; // in a frame and on a phone the charts come first
  controls();
  find("command").textContent = command();
  say("Move a slider: the run is computed in this page.");
  document.body.dataset.ready = "true";
}

start().catch((error) => say(`This file cannot be shown (${error.message}). Download or export it again.`, true));
