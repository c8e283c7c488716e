// A live session in one file: listen, answer, learn, swap two words, and hand the session back.

import { bytes, json } from "./data.js";
import { microphoneError, openMicrophone, playSound, readSound } from "./microphone.js";
import { find, say, whole } from "./page.js";
import { digestOf, keptEvents, sessionFile } from "./session_file.js";
import { drawCharts } from "./word_charts.js";
import { RATE, Resampler, WordCore } from "./word_core.js";

const BEFORE = 0.3 * RATE; // samples kept before a word, and after it
const AFTER = 0.25 * RATE;
const TAPE = 4 * RATE; // samples of the past that are kept
const MOST_TAKES = 300; // of a session file
const RUN = 40; // answers of a demonstration
const SHOWN = 10; // answers at its start and at its end
const PACE = 60; // ms between them
const page = json("page");

let core;
const takes = {}; // by name: samples, start, stop, remarks
let log; // of the session
let answers; // judged ones: right, size, statistic, alarm
let drifts; // number of answers at each change of meaning
let swapped; // two words, or null
let pending; // answer that waits for its word
let heard; // samples and words, for the board's table
let closeMicrophone = null;
let opening = false;
let unsaved = false; // recordings
let running = false; // a demonstration
let tape = new Int16Array(0); // the last samples
let tapeEnd = 0; // samples since `listen`

// ---------------------------------------------------------------- sounds inside the file

// A sound is unpacked when it is asked for: the first answer does not wait for the others.
function findSounds(body) {
  let from = 0;
  for (const [name, length] of Object.entries(page.sounds)) {
    const start = from;
    let samples;
    takes[name] = { ...page.log.takes[name] };
    Object.defineProperty(takes[name], "samples", { enumerable: true, get: () => (samples ??= unpackSound(body, start, length)) });
    from += length;
  }
}

function unpackSound(body, start, length) {
  const half = body.length / 2;
  const samples = new Int16Array(length);
  for (let i = 0, at = start, value = 0; i < length; i++, at++) {
    const folded = body[at] | (body[at + half] << 8);
    value = (value + ((folded >>> 1) ^ -(folded & 1))) & 0xffff;
    samples[i] = value;
  }
  return samples;
}

// Takes whose sound is in the file and whose word was said before any change of meaning: [name, word].
function material() {
  const end = page.log.events.findIndex(({ do: what }) => what === "drift");
  const events = end < 0 ? page.log.events : page.log.events.slice(0, end);
  return events.filter((event) => event.word && event.take in page.sounds).map((event) => [event.take, event.word]);
}

// Uniform numbers from 0 to 1, the same on every page.
let seed = 1;
const draw = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

// The take as if it were said again: up to 6 % faster or slower, up to 3 dB louder or softer.
function saidAgain(samples) {
  const gain = 10 ** (0.3 * (draw() - 0.5)) / 32_768;
  return new Resampler((0.94 + 0.12 * draw()) * RATE).push(Float32Array.from(samples, (value) => gain * value));
}

// A sound between quiet noise, as the front end expects it (lay_out in Python).
function between(samples) {
  const powers = [];
  for (let i = 0; i + 160 <= samples.length; i += 160) {
    let sum = 0;
    for (let j = i; j < i + 160; j++) sum += samples[j] ** 2;
    powers.push(sum / 160);
  }
  powers.sort((a, b) => a - b);
  const few = powers.slice(0, Math.max(1, Math.floor(powers.length / 10)));
  const quiet = few.reduce((a, b) => a + b, 0) / few.length;
  const level = quiet > powers.at(-1) * 10 ** -1.2 ? 1 : Math.max(1, Math.sqrt(quiet));
  const noise = (size) => {
    let sum = 0;
    for (let i = 0; i < 12; i++) sum += draw();
    return size * (sum - 6);
  };
  const [lead, tail] = [0.4 * RATE, 0.6 * RATE];
  return Int16Array.from({ length: lead + samples.length + tail }, (_, i) => {
    const inside = i >= lead && i < lead + samples.length;
    const value = inside ? samples[i - lead] + noise(1) : noise(level);
    return Math.max(-32_768, Math.min(32_767, Math.round(value)));
  });
}

// ---------------------------------------------------------------- hearing

function beginStream() {
  core.listen();
  tape = new Int16Array(0);
  tapeEnd = 0;
}

// Words in the next samples, each with its recording.
function hear(samples) {
  const found = core.hear(samples);
  const all = new Int16Array(tape.length + samples.length);
  all.set(tape);
  all.set(samples, tape.length);
  tapeEnd += samples.length;
  const first = tapeEnd - all.length;
  heard.samples += samples.length;
  heard.words += found.length;
  const words = found.map((word) => {
    const from = Math.max(first, word.start - BEFORE);
    const cut = all.slice(from - first, Math.min(tapeEnd, word.stop + AFTER) - first);
    return { ...word, take: { samples: cut, start: (word.start - from) / RATE, stop: (word.stop - from) / RATE, remarks: [] } };
  });
  tape = all.slice(Math.max(0, all.length - TAPE));
  return words;
}

function answerTo({ x, take, decibels }) {
  return { x, take, decibels, ...core.predict(x) };
}

function onWord(word) {
  const answer = answerTo(word);
  if (find("teaching").checked) return answer.noise ? tell("That was a noise, no word: nothing was stored.") : teach(word);
  pending = answer;
  showAnswer();
}

function onSound(samples) {
  if (running) return;
  let peak = 0;
  for (const value of samples) peak = Math.max(peak, Math.abs(value));
  find("level").firstElementChild.style.transform = `scaleX(${peak ? Math.max(0, 1 + Math.log10(peak / 32_768) / 3.5) : 0})`;
  for (const word of hear(samples)) onWord(word);
  showBoard();
}

// ---------------------------------------------------------------- learning

function code(word) {
  return page.words.indexOf(word);
}

// What a spoken word means now.
function meaning(word) {
  return swapped?.includes(word) ? swapped.find((other) => other !== word) : word;
}

// Add a recording to the session; null if it is there already or there are too many.
function admit(take) {
  if (!take || Object.keys(takes).length >= MOST_TAKES) return null;
  const digest = digestOf(take.samples);
  if (Object.values(takes).some((other) => other.sha256 === digest)) return null;
  const name = `t${++log.number}`;
  takes[name] = { ...take, sha256: digest };
  unsaved = true;
  return name;
}

function judge(word) {
  if (!pending) return null;
  const { x, take } = pending;
  pending = null;
  const step = core.judge(x, code(word));
  const right = step.prediction === code(word);
  answers.push({ right, size: step.size, statistic: step.statistic, alarm: step.alarm, forgotten: step.forgotten });
  const name = admit(take);
  if (name) log.events.push({ do: "say", take: name }, { do: "judge", take: name, word });
  showJudged(word, step, right);
  return step;
}

function teach({ x, take }) {
  const word = find("taught").value;
  core.teach(x, code(word));
  const name = admit(take);
  if (name) log.events.push({ do: "teach", take: name, word });
  pending = null;
  showText(word, `Stored as “${word}”.`, "");
  tell(`T holds ${core.size} takes.`);
  showAll();
}

function swap() {
  const chosen = [find("first").value, find("second").value];
  const event = swapped ? { do: "drift", kind: "end" } : { do: "drift", kind: "swap", first: chosen[0], second: chosen[1] };
  if (!swapped && chosen[0] === chosen[1]) return tell("Choose two different words.");
  swapped = swapped ? null : chosen;
  log.events.push(event);
  drifts.push(answers.length);
  showAll();
}

// ---------------------------------------------------------------- what one sees

function tell(text, alarm = false) {
  find("told").textContent = text;
  find("told").className = alarm ? "alarm" : "";
}

function showText(large, small, look) {
  const [b, note] = find("answer").children;
  b.textContent = large;
  note.textContent = small;
  find("answer").className = look;
}

function showAnswer() {
  const { prediction, unknown, distance, noise } = pending;
  const word = page.words[prediction];
  const near = page.farthest === null ? "" : `Distance to the nearest take with a word: ${Math.round(100 * distance)} % of the limit.`;
  if (noise) showText("Noise", "Background, not a word. If it was a word, choose which.", "unknown");
  else if (unknown) showText("Unknown word", `Nearest: “${word}”. ${near}`, "unknown");
  else showText(word, near, "");
  showButtons();
}

function showJudged(word, { prediction, alarm, forgotten, size }, right) {
  showText(page.words[prediction], right ? "Correct." : `Wrong: it was “${word}”. Learned.`, right ? "right" : "wrong");
  const kept = forgotten ? `${forgotten} old takes forgotten, ${size} kept.` : `Too few new takes to forget the old ones: ${size} kept.`;
  if (alarm) tell(`Alarm after ${answers.length} answers: the meaning has changed. ${kept}`, true);
  else if (answers.at(-2)?.alarm || !find("told").classList.contains("alarm")) tell(`T holds ${size} takes.`);
  showAll();
}

function showButtons() {
  for (const button of find("judge").children) {
    button.disabled = !pending;
    button.classList.toggle("guess", Boolean(pending) && !pending.unknown && !pending.noise && page.words[pending.prediction] === button.textContent);
  }
  find("question").textContent = pending ? "It was:" : "Say a word, then choose what it was:";
}

function showBoard() {
  const { board } = page;
  const used = core.size * board.each;
  const most = page.settings.max_size;
  const seconds = heard.samples / RATE;
  const total = seconds * board.second + heard.words * board.word;
  const rows = [
    ["RAM", `${whole(board.needed)} of ${whole(board.ram)} bytes`],
    ["Stored takes", `${core.size} of ${most}: ${whole(used)} of ${whole(most * board.each)} bytes`],
    ["Listening", `${whole(board.second)} instructions a second, ${((100 * board.second) / board.hertz).toFixed(1)} % of its time`],
    ["A word", `${whole(board.word)} instructions, ${((1000 * board.word) / board.hertz).toFixed(board.word < 1e7 ? 1 : 0)} ms`],
    ["So far", `${seconds.toFixed(0)} s of sound, ${heard.words} words: ${(total / 1e6).toFixed(0)} million instructions`],
  ];
  find("board").replaceChildren(
    ...rows.map((cells) => {
      const row = document.createElement("tr");
      for (const text of cells) row.append(Object.assign(document.createElement("td"), { textContent: text }));
      return row;
    }),
  );
}

function showAll() {
  showButtons();
  showBoard();
  document.body.dataset.answers = answers.length;
  document.body.dataset.alarms = answers.filter(({ alarm }) => alarm).length;
  const { max_size: most, threshold, warmup } = page.settings;
  drawCharts(answers, drifts, { size: core.size, most, threshold, warmup, tested: page.learner !== "cit" });
  find("swap").textContent = swapped ? "Meanings as at the start" : "Swap the two words";
  for (const id of ["first", "second"]) find(id).disabled = Boolean(swapped);
  find("meaning").textContent = swapped ? `“${swapped[0]}” now means “${swapped[1]}”, and “${swapped[1]}” means “${swapped[0]}”: say one, choose the other.` : "";
  const kept = keptEvents(log, new Set(Object.keys(takes)));
  const saved = new Set(kept.flatMap(({ take }) => take ?? [])).size;
  const asTaught = answers.length && !kept.some((event) => event.do === "judge");
  const some = page.lost ? ` ${page.lost} earlier takes have no sound in this file and are left out${asTaught ? "; of the others, those from before the swap are saved as taught takes" : ""}.` : "";
  find("saved").textContent = `The file is for the page Microphone of TML-CD Lab: ${saved} takes.${some}`;
}

// ---------------------------------------------------------------- actions

function stop() {
  closeMicrophone?.();
  closeMicrophone = null;
  find("level").firstElementChild.style.transform = "scaleX(0)";
  find("listen").textContent = "Listen";
}

async function listen() {
  if (opening) return;
  if (closeMicrophone) {
    stop();
    return say("The microphone is off. Press Listen to go on.");
  }
  opening = true;
  say("Opening the microphone …");
  try {
    beginStream();
    closeMicrophone = await openMicrophone(onSound, () => {
      stop();
      say("The microphone was taken away. Press Listen to try again.", true);
    });
    find("listen").textContent = "Stop";
    say("Listening. Wait half a second, then say a word.");
  } catch (error) {
    say(microphoneError(error), true);
  }
  opening = false;
}

async function openFile(input) {
  const [file] = input.files;
  if (!file) return;
  stop();
  try {
    const samples = await readSound(file);
    const words = hearAlone(samples);
    say(words.length ? `${file.name}: ${words.length} words.` : `${file.name}: no word found. It needs some quiet before and after a word.`, !words.length);
    for (const word of words) onWord(word);
  } catch (error) {
    say(error.message, true);
  }
  input.value = "";
}

// Words of a sound that is a stream of its own.
function hearAlone(samples) {
  beginStream();
  const words = hear(between(samples));
  beginStream();
  return words;
}

// Hear a sound of the file; returns its word as it was said, or null if none was found in it.
function hearInside(samples) {
  const words = hearAlone(samples);
  if (!words.length) return null;
  const longest = words.reduce((a, b) => (b.stop - b.start > a.stop - a.start ? b : a));
  pending = answerTo({ ...longest, take: null });
  return pending;
}

let turn = 0;
function play() {
  const [name, word] = material()[turn++ % material().length];
  setTimeout(() => playSound(takes[name].samples)); // after the answer: opening the loudspeaker takes a while
  say(hearInside(takes[name].samples) ? `Played: a take of “${word}”.` : `No word was found in the take ${name} of “${word}”.`);
  if (pending) showAnswer();
  showBoard();
}

async function runTakes() {
  if (running) return void (running = false);
  stop();
  running = true;
  find("run").textContent = "Stop";
  const before = answers.length;
  say("The takes inside this file, each time a little faster or slower, louder or softer; after each answer the page learns what it was.");
  for (let n = 0; n < RUN && running; n++) {
    const [name, word] = material()[turn++ % material().length];
    if (hearInside(saidAgain(takes[name].samples))) judge(meaning(word));
    await new Promise((resume) => setTimeout(resume, PACE));
  }
  running = false;
  find("run").textContent = `Answer ${RUN} takes`;
  sayAdapted(answers.slice(before));
}

// What a demonstration has shown: how many answers were right at its start and at its end, and what to try next.
function sayAdapted(told) {
  const right = (some) => `${some.filter((one) => one.right).length} of ${some.length}`;
  if (!told.length) return say("No word was found in the takes of this file.", true);
  const halves = told.length < 2 * SHOWN ? "" : `: ${right(told.slice(0, SHOWN))} at the start, ${right(told.slice(-SHOWN))} at the end`;
  const alarms = told.filter((one) => one.alarm);
  const forgotten = alarms.reduce((sum, one) => sum + one.forgotten, 0);
  const alarm = alarms.length ? ` The alarm went off ${alarms.length === 1 ? "once" : `${alarms.length} times`}: ${forgotten || "too few new takes to forget the"} old ${forgotten ? "takes forgotten" : "ones"}.` : "";
  const next = swapped ? "" : " Now swap two words and press again: it adapts.";
  say(`${right(told)} answers right${halves}.${alarm}${next}`);
}

function save() {
  const address = URL.createObjectURL(new Blob([sessionFile(log, takes)], { type: "application/zip" }));
  // A browser without downloads opens the file in another tab, so that this page stays.
  const link = Object.assign(document.createElement("a"), { href: address, download: "words.session.zip", target: "_blank" });
  link.click();
  unsaved = false;
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function reset() {
  core.reset();
  for (const name of Object.keys(takes)) if (!(name in page.sounds)) delete takes[name];
  unsaved = false;
  log = structuredClone(page.log);
  answers = [];
  drifts = [];
  swapped = null;
  pending = null;
  heard = { samples: 0, words: 0 };
  beginStream();
  showText("…", "The answer appears here.", "");
  tell("");
  showAll();
}

function options() {
  const shown = page.log.words; // in the order of the session; `page.words` has that of the learner's classes
  for (const id of ["first", "second", "taught"])
    find(id).replaceChildren(...shown.map((word) => new Option(word)));
  const played = [...new Set([...material().map(([, word]) => word), ...shown])]; // those that can be played first
  [find("first").value, find("second").value] = played;
  for (const word of shown) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: word });
    button.addEventListener("click", () => judge(word));
    find("judge").append(button);
  }
  const actions = { listen, play, run: runTakes, swap, save, reset };
  for (const [id, act] of Object.entries(actions)) find(id).addEventListener("click", () => act());
  find("file").addEventListener("change", ({ target }) => openFile(target));
  addEventListener("beforeunload", (event) => unsaved && event.preventDefault()); // the browser asks
  for (const id of ["play", "run"]) find(id).hidden = !material().length;
}

async function start() {
  if (typeof WebAssembly !== "object") return say("This browser has no WebAssembly, which this page needs. Use a current browser.", true);
  const types = { float32: Float32Array, int16: Int16Array, uint8: Uint8Array };
  const [body, program, sounds] = await Promise.all(["rows", "wasm", "takes"].map((id) => bytes(find(id).textContent)));
  const rows = Float32Array.from(new types[page.store](body.buffer, body.byteOffset, body.byteLength / types[page.store].BYTES_PER_ELEMENT));
  if (rows.length !== page.codes.length * page.features) throw new Error("its stored takes are incomplete");
  core = new WordCore(await WebAssembly.compile(program), { ...page, rows });
  findSounds(sounds);
  options();
  reset();
  find("voice").disabled = false;
  say("Press Listen and say a word, or play a take that is inside this file.");
  document.body.dataset.ready = "true";
  globalThis.words = { core, code, hear, answerTo, state: () => ({ answers, log, takes, pending }) }; // for the tests and the curious
}

start().catch((error) => say(`This file cannot be shown (${error.message}). Download or export it again.`, true));
