// Recorder: takes of one second from the browser's microphone, each sent to the server when it is complete.
//
// Time is counted in samples, not by the clock, so that a busy page does not shorten a take. A take stays in `outbox`
// and is resent until the server lists its id in `data.done`; the server processes each id once.
// Streamlit calls the default export again after every rerun and change of theme: `recorders` keeps the recorder.

const FRAME = 0.01; // s, resolution of the level and of a take's length
const BEFORE = 0.25; // s kept before the voice starts, so that a soft onset is not cut
const WORD = 1.4; // s of a take including BEFORE: a word of one second and room to align it
const LONG = 10; // s of a long take
const LOUD = 3.5; // times the noise floor (11 dB): speech
const RUMBLE = 200; // Hz: the voice detection ignores lower frequencies (hum, steps, constant offset)
const FAINT = 0.002; // of full scale (-54 dB): lowest level of speech, even in a quiet room
const ONSET = 3; // frames in a row above the threshold
const CALM = 12; // frames in a row below it before the next word may start
const LISTEN = 200; // frames of the noise floor, which is their 20th percentile
const SETTLE = 20; // frames ignored after switching on: hardware clicks, first estimate of the noise
const HINT = 6; // s without a voice before a hint is shown
const AGAIN = 5000; // ms without an answer before a take is resent; doubles with each attempt …
const LATEST = 20000; // … up to this limit, so that the take arrives soon after a server comes back
const MOST = 3; // takes waiting for the server
const CLIPPED = 0.99; // of full scale
const IDLE = "a, [role=radio][aria-checked=true]"; // elements on which the space bar has no effect
const BARS = 140; // of the level meter

const SAYS = {
  insecure: "The browser allows the microphone only over https or on this computer. Open the page that way, or use files "
    + "or ready-made clips.",
  NotAllowedError: "The browser blocked the microphone. Allow it next to the address of this page and press again, or use files "
    + "or ready-made clips.",
  NotFoundError: "No microphone found. Connect one and press again, or use files or ready-made clips.",
  NotReadableError: "Another program is using the microphone. Close it and press again.",
  ended: "The microphone was disconnected. Connect it and press again. Your recordings are safe.",
  hidden: "The browser paused the microphone. Press again.",
};

const ICONS = {
  mic: "M12 14a3 3 0 0 0 3-3V5a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zm5-3a5 5 0 0 1-10 0H5a7 7 0 0 0 6 6.92V21h2v-3.08A7 7 0 0 0 19 11z",
  stop: "M7 7h10v10H7z",
};

// Runs in an audio worklet, independent of a busy page: mixes to mono and splits samples into frames.
const TAP = `registerProcessor("tap", class extends AudioWorkletProcessor {
  constructor() { super(); this.frame = new Float32Array(Math.round(sampleRate * ${FRAME})); this.filled = 0; }
  process([channels]) {
    if (channels.length === 0) return true;
    for (let i = 0; i < channels[0].length; i++) {
      let sum = 0;
      for (const channel of channels) sum += channel[i];
      this.frame[this.filled++] = sum / channels.length;
      if (this.filled === this.frame.length) { this.port.postMessage(this.frame.slice()); this.filled = 0; }
    }
    return true;
  }
});`;

const recorders = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let recorder = recorders.get(parentElement);
  if (!recorder) {
    recorder = new Recorder(parentElement);
    recorders.set(parentElement, recorder);
  }
  recorder.send = (take) => setTriggerValue("take", take);
  recorder.update(data);
  return () => {
    recorder.destroy();
    recorders.delete(parentElement);
  };
}

function element(tag, name, attributes = {}) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS(space, "path")).setAttribute("d", ICONS[name]);
  return svg;
}

// ---------------------------------------------------------------- sound

// Open the microphone and pass its frames on; `close` releases it.
async function openMicrophone(onFrame, onEnd) {
  if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("no secure context", "insecure");
  const wishes = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const stream = await navigator.mediaDevices.getUserMedia({ audio: wishes });
  let context;
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    context?.close().catch(() => {});
  };
  try {
    context = new AudioContext();
    await context.resume();
    const source = context.createMediaStreamSource(stream);
    const tap = await makeTap(context, onFrame);
    const silence = new GainNode(context, { gain: 0 }); // a node runs only if it is connected to the destination
    source.connect(tap).connect(silence).connect(context.destination);
    for (const track of stream.getTracks()) track.onended = () => onEnd("ended");
    context.onstatechange = () => context.state === "interrupted" && onEnd("hidden");
    return { rate: context.sampleRate, close };
  } catch (fault) {
    close();
    throw fault;
  }
}

async function makeTap(context, onFrame) {
  const address = URL.createObjectURL(new Blob([TAP], { type: "text/javascript" }));
  try {
    await context.audioWorklet.addModule(address);
    const node = new AudioWorkletNode(context, "tap");
    node.port.onmessage = ({ data }) => onFrame(data);
    return node;
  } catch {
    // A proxy's Content-Security-Policy may forbid code from a blob; the older ScriptProcessorNode needs none.
    const node = context.createScriptProcessor(1024, 1, 1);
    const size = Math.round(context.sampleRate * FRAME);
    let rest = new Float32Array(0);
    node.onaudioprocess = ({ inputBuffer }) => {
      const fresh = inputBuffer.getChannelData(0);
      const all = new Float32Array(rest.length + fresh.length);
      all.set(rest);
      all.set(fresh, rest.length);
      let at = 0;
      for (; at + size <= all.length; at += size) onFrame(all.slice(at, at + size));
      rest = all.slice(at);
    };
    return node;
  } finally {
    URL.revokeObjectURL(address);
  }
}

function wav(frames, rate) {
  const length = frames.reduce((sum, frame) => sum + frame.length, 0);
  const bytes = new ArrayBuffer(44 + 2 * length);
  const view = new DataView(bytes);
  const text = (at, value) => [...value].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // mono
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * length, true);
  let at = 44;
  for (const frame of frames)
    for (const value of frame) {
      view.setInt16(at, Math.max(-32768, Math.min(32767, Math.round(value * 32768))), true);
      at += 2;
    }
  return new Uint8Array(bytes);
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

// ---------------------------------------------------------------- the recorder

class Recorder {
  constructor(parent) {
    this.data = {};
    this.phase = "off"; // off, asking, ready, armed, recording
    this.fault = "";
    this.outbox = [];
    this.reset();
    this.build(parent);
    this.onKey = (event) => this.key(event);
    this.onLeave = () => this.off();
    document.addEventListener("keydown", this.onKey, true); // before the page: R would rerun it
    window.addEventListener("pagehide", this.onLeave);
    this.painting = requestAnimationFrame(() => this.paint());
  }

  reset() {
    this.levels = []; // levels of the last frames, for the noise floor and the meter
    this.recent = []; // frames before the voice
    this.frames = []; // frames of the take
    this.last = this.once = this.twice = 0; // last sample: raw, and after each high-pass
    this.loud = 0;
    this.calm = 0;
    this.heard = 0; // frames since the microphone was switched on
    this.waited = 0; // frames since it was armed
    this.dead = true; // only zeros so far
  }

  build(parent) {
    this.root = element("section", "recorder", { "aria-label": "Recorder", "data-phase": "off" });
    this.button = element("button", "main", { type: "button" });
    this.button.onclick = () => this.press();
    this.status = element("p", "status", { role: "status" });
    this.meter = element("canvas", "meter", { role: "img", "aria-label": "Microphone level" });
    this.pen = this.meter.getContext("2d");
    this.prompt = element("p", "prompt");
    this.longButton = element("button", "small", { type: "button" });
    this.longButton.onclick = () => this.pressLong();
    const label = element("label", "free");
    this.free = element("input", "", { type: "checkbox" });
    this.free.onchange = () => this.setFree();
    label.append(this.free, "Hands-free");
    label.title = "Listens again after each answer";
    this.offButton = element("button", "small", { type: "button" });
    this.offButton.textContent = "Switch off";
    this.offButton.onclick = () => this.off();
    this.tools = element("div", "tools");
    this.tools.append(this.longButton, label, this.offButton);
    const text = element("div", "text");
    text.append(this.prompt, this.meter, this.status, this.tools);
    this.root.append(this.button, text);
    parent.appendChild(this.root);
  }

  destroy() {
    this.off();
    cancelAnimationFrame(this.painting);
    clearTimeout(this.resending);
    document.removeEventListener("keydown", this.onKey, true);
    window.removeEventListener("pagehide", this.onLeave);
    this.root.remove();
  }

  update(data) {
    const held = this.data.hold;
    this.data = data;
    const done = new Set(data.done);
    const before = this.outbox.length;
    this.outbox = this.outbox.filter((take) => !done.has(take.id));
    if (this.outbox.length < before) {
      this.root.dataset.done = String(Number(this.root.dataset.done ?? 0) + before - this.outbox.length);
      this.root.dataset.answered = performance.now().toFixed(0);
      this.post();
    }
    const again = this.outbox.length < before || (held && !data.hold);
    if (again && this.free.checked && this.phase === "ready" && this.outbox.length === 0 && !data.hold) this.arm();
    if (data.blocked && ["armed", "recording"].includes(this.phase)) this.to("ready");
    const style = getComputedStyle(this.root);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    this.ink = {
      text: read("--st-text-color", "#31333f"),
      accent: read("--st-primary-color", "#5b4bc4"),
      red: read("--st-red-text-color", "#bd4043"),
    };
    this.show();
  }

  // -------------------------------------------------------------- input

  press() {
    if (this.phase === "off") this.on();
    else if (this.phase === "ready") this.arm();
    else if (this.phase === "armed") this.begin("word", false);
    else if (this.phase === "recording") this.finish();
  }

  async pressLong() {
    if (this.phase === "off") await this.on(false);
    if (["ready", "armed"].includes(this.phase) && this.mayRecord()) this.begin("long", false);
  }

  setFree() {
    if (this.free.checked && this.phase === "ready") this.arm();
    else if (!this.free.checked && this.phase === "armed") this.to("ready");
    this.show();
  }

  // Space and R work inside the recorder, if the focus is on an element that contains it (a click on the background
  // focuses the whole page), and on elements where these keys have no effect.
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || ![" ", "r", "R"].includes(event.key)) return;
    const from = event.composedPath()[0];
    const inside = event.composedPath().includes(this.root);
    const focused = document.activeElement ?? document.body;
    if (!inside && !focused.contains(this.root.getRootNode().host ?? this.root) && !focused.matches(IDLE)) return;
    if (inside && event.key === " " && from !== this.root && from !== this.button) return;
    if (this.button.disabled) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.press();
  }

  // -------------------------------------------------------------- phases

  async on(arm = true) {
    this.fault = "";
    this.to("asking");
    const turn = (this.turn = {});
    const gone = (reason) => this.turn === turn && this.off(SAYS[reason]);
    try {
      const microphone = await openMicrophone((frame) => this.turn === turn && this.take(frame), gone);
      if (this.turn !== turn) return microphone.close();
      this.microphone = microphone;
      this.reset();
      if (arm) this.arm();
      else this.to("ready");
    } catch (fault) {
      if (this.turn !== turn) return;
      const name = fault.name === "SecurityError" ? "NotAllowedError" : fault.name;
      this.off(SAYS[name] ?? `This browser cannot record (${fault.name}). Use files or ready-made clips.`);
    }
  }

  off(fault = "") {
    this.turn = null;
    this.microphone?.close();
    this.microphone = null;
    this.frames = [];
    this.fault = fault;
    this.to("off");
  }

  to(phase) {
    this.phase = phase;
    this.root.dataset.phase = phase;
    this.show();
  }

  mayRecord() {
    if (this.data.blocked) return false;
    if (this.outbox.length < MOST) return true;
    this.show("Please wait: the last takes are still being processed. None is lost.");
    return false;
  }

  arm() {
    if (!this.mayRecord()) {
      if (this.phase !== "ready") this.to("ready");
      return;
    }
    this.loud = 0;
    this.calm = 0;
    this.waited = 0;
    this.to("armed");
  }

  begin(kind, voiced) {
    if (!this.mayRecord()) return;
    this.kind = kind;
    this.word = this.data.word; // the next word may be asked for before the server has this take
    this.frames = voiced ? this.recent.slice() : [];
    this.root.dataset.started = performance.now().toFixed(0);
    this.to("recording");
  }

  finish() {
    const { frames, kind, word } = this;
    this.frames = [];
    this.root.dataset.ended = performance.now().toFixed(0);
    this.outbox.push({ id: crypto.randomUUID(), kind, word, wav: base64(wav(frames, this.microphone.rate)) });
    this.to("ready");
    if (this.outbox.length === 1) this.post();
  }

  // One at a time: a take sent while the server is busy could be lost.
  post(patience = AGAIN) {
    clearTimeout(this.resending);
    if (this.outbox.length === 0) return;
    this.send(this.outbox[0]);
    this.resending = setTimeout(() => this.post(Math.min(2 * patience, LATEST)), patience);
  }

  // -------------------------------------------------------------- frames

  take(frame) {
    let sum = 0;
    let peak = 0;
    const keep = 1 / (1 + (2 * Math.PI * RUMBLE * FRAME) / frame.length); // coefficient of the two high-passes in series
    for (const value of frame) {
      const once = keep * (this.once + value - this.last);
      this.twice = keep * (this.twice + once - this.once);
      this.once = once;
      this.last = value;
      sum += this.twice * this.twice;
      peak = Math.max(peak, Math.abs(value));
    }
    const level = Math.sqrt(sum / frame.length);
    if (peak > 0) this.dead = false;
    this.heard += 1;
    this.levels.push({ level, peak, taken: this.phase === "recording" });
    if (this.levels.length > LISTEN) this.levels.shift();
    const threshold = this.threshold();
    const voice = level > threshold;
    if (this.phase === "recording") {
      this.frames.push(frame);
      const seconds = this.frames.length * FRAME;
      if (seconds >= (this.kind === "long" ? LONG : WORD)) this.finish();
      else if (this.frames.length % 10 === 0) this.show();
    } else if (this.phase === "armed") {
      this.waited += 1;
      if (!voice) this.calm += 1;
      else if (this.calm < CALM) this.calm = 0;
      this.loud = voice ? this.loud + 1 : 0;
      const settled = this.heard > SETTLE && this.calm >= CALM;
      if (settled && this.loud >= ONSET) {
        this.recent.push(frame);
        return this.begin("word", true);
      }
      if (this.waited * FRAME === HINT) this.show();
    }
    this.recent.push(frame);
    if (this.recent.length > BEFORE / FRAME) this.recent.shift();
  }

  threshold() {
    const sorted = this.levels.map(({ level }) => level).sort((a, b) => a - b);
    return Math.max(FAINT, LOUD * sorted[Math.floor(sorted.length / 5)]);
  }

  // -------------------------------------------------------------- screen

  show(notice = "") {
    const { phase, data } = this;
    const long = phase === "recording" && this.kind === "long";
    const left = Math.ceil((long ? LONG : WORD) - this.frames.length * FRAME);
    const waiting = this.outbox.length;
    const label = {
      off: "Turn on the microphone (space)",
      asking: "Waiting for the browser",
      ready: "Record a word (space)",
      armed: "Record now (space)",
      recording: "Stop (space)",
    }[phase];
    let status = {
      off: "Press the microphone or the space bar, then allow it in the browser.",
      asking: "The browser asks for permission to use the microphone: allow it.",
      ready: "Press the microphone or the space bar for the next word.",
      armed: "Listening: say one word. Recording starts and stops automatically.",
      recording: long ? `Recording, ${left} s left: repeat the word with one-second pauses.` : "Recording …",
    }[phase];
    if (phase === "armed" && this.waited * FRAME >= HINT)
      status = this.dead ? "No sound: is the microphone muted?"
        : "Nothing heard yet: speak louder, come closer, or press again to record now.";
    if (data.hold && phase === "ready" && this.free.checked) status = data.hold;
    if (waiting && phase === "ready") status = "Processing your recording …";
    if (data.blocked) status = data.blocked;
    if (this.fault && phase === "off") status = this.fault;
    if (notice) status = notice;
    if (this.status.textContent !== status) this.status.textContent = status;
    this.status.classList.toggle("fault", Boolean(this.fault) && phase === "off");
    const prompt = data.prompt ?? "";
    if (this.prompt.textContent !== prompt) this.prompt.textContent = prompt;
    this.button.disabled = Boolean(data.blocked) || phase === "asking";
    if (this.button.getAttribute("aria-label") !== label || !this.button.firstChild) {
      this.button.setAttribute("aria-label", label);
      this.button.title = label;
      this.button.replaceChildren(icon(phase === "recording" ? "stop" : "mic"));
    }
    const longLabel = `Long take (${LONG} s)`;
    if (this.longButton.textContent !== longLabel) this.longButton.textContent = longLabel;
    this.longButton.hidden = !data.long;
    this.longButton.disabled = Boolean(data.blocked) || ["asking", "recording"].includes(phase);
    this.offButton.hidden = phase === "off";
    this.root.dataset.waiting = String(waiting);
  }

  paint() {
    this.painting = requestAnimationFrame(() => this.paint());
    if (!this.ink) return;
    const ratio = devicePixelRatio;
    const [width, height] = [this.meter.clientWidth, this.meter.clientHeight];
    if (!width) return;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.meter.width !== w) this.meter.width = w;
    if (this.meter.height !== h) this.meter.height = h;
    const pen = this.pen;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const tall = (level) => Math.max(0.02, Math.min(1, 1 + Math.log10(Math.max(level, 1e-4)) / 3.2)) * (height - 2);
    const step = width / BARS;
    const shown = this.phase === "off" ? [] : this.levels.slice(-BARS);
    shown.forEach(({ level, peak, taken }, i) => {
      const bar = tall(level);
      pen.globalAlpha = taken ? 1 : 0.45;
      pen.fillStyle = peak > CLIPPED ? this.ink.red : taken ? this.ink.accent : this.ink.text;
      pen.fillRect(width - (shown.length - i) * step, (height - bar) / 2, Math.max(1, step - 1), bar);
    });
    pen.globalAlpha = 0.5;
    pen.fillStyle = this.ink.text;
    if (shown.length === 0) pen.fillRect(0, height / 2, width, 1);
  }
}
