// Recorder: listens all the time and sends each word to the server when it ends; or records when a button is pressed.
//
// `voice_activity.js` finds the words, `microphone.js` opens the microphone; Python joins the files. Time is
// counted in samples, not by the clock, so that a busy page does not shorten a take. A take stays in `outbox` and is
// resent until the server lists its id in `data.done`; the server processes each id once.
// Streamlit calls the default export again after every rerun and change of theme: `recorders` keeps the recorder.

const BEFORE = 0.25; // s kept before the voice starts, so that a soft onset is not cut
const WORD = 1.4; // s of a take that was started by hand
const LONG = 10; // s of a long take
const HINT = 6; // s without a voice before a hint is shown
const AGAIN = 5000; // ms without an answer before a take is resent; doubles with each attempt …
const LATEST = 20000; // … up to this limit, so that the take arrives soon after a server comes back
const MOST = 3; // takes waiting for the server
const CLIPPED = 0.99; // of full scale
const IDLE = "a, [role=radio][aria-checked=true]"; // elements on which the space bar has no effect
const LISTEN = 140; // frames of the level meter
const GLANCE = 12; // frames of a word between two questions for its votes so far …
const FIRST_GLANCE = 40; // … and before the first one, with the frames before the voice
const ROOM_FRAMES = 100; // of the room: sound without a word, from which the background class is learned …
const ROOM_EVERY = 5000; // … at most every so many ms
const FRESH = 2500; // ms that the bars show an answer; then they show the background again

const SAYS = {
  insecure: "The browser allows the microphone only over https or on this computer. Open the page that way, or use files "
    + "or ready-made clips.",
  NotAllowedError: "The browser blocked the microphone. Allow it next to the address of this page and press again, or use files "
    + "or ready-made clips.",
  NotFoundError: "No microphone found. Connect one and press again, or use files or ready-made clips.",
  NotReadableError: "Another program is using the microphone. Close it and press again.",
  silent: "The browser cannot start its audio system. Connect headphones or a loudspeaker and press again, or use files "
    + "or ready-made clips.",
  ended: "The microphone was disconnected. Connect it and press again. Your recordings are safe.",
  withdrawn: "The permission for the microphone was withdrawn. Allow it next to the address of this page and press again. "
    + "Your recordings are safe.",
  hidden: "The browser paused the microphone. Press again.",
};

const ICONS = {
  mic: "M12 14a3 3 0 0 0 3-3V5a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zm5-3a5 5 0 0 1-10 0H5a7 7 0 0 0 6 6.92V21h2v-3.08A7 7 0 0 0 19 11z",
  stop: "M7 7h10v10H7z",
};

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

// ---------------------------------------------------------------- the recorder

class Recorder {
  constructor(parent) {
    this.data = {};
    this.phase = "off"; // off, asking, room, ready, armed, recording
    this.fault = "";
    this.outbox = [];
    this.voice = new VoiceActivity();
    this.shown = { id: "", at: -FRESH, faded: true }; // the answer in the bars, and when it came
    this.votes = null; // for the word that is being said, until its answer is there
    this.asking = null; // the question for them that is under way
    this.reset();
    this.build(parent);
    this.onKey = (event) => this.key(event);
    this.onLeave = () => this.off();
    this.onHide = () => this.hide();
    document.addEventListener("keydown", this.onKey, true); // before the page: R would rerun it
    document.addEventListener("visibilitychange", this.onHide);
    window.addEventListener("pagehide", this.onLeave);
    this.painting = requestAnimationFrame(() => this.paint());
  }

  reset() {
    this.voice.reset();
    this.levels = []; // of the last frames, for the meter
    this.recent = []; // frames before the voice
    this.room = []; // frames without a word, the last ones of which may be the beginning of one
    this.roomAt = -ROOM_EVERY; // when the room was last sent
    this.frames = []; // frames of the take
    this.waited = 0; // frames since it was armed
    this.dead = true; // only zeros so far
    this.noise = false; // the last sound was no word
  }

  build(parent) {
    this.root = element("section", "recorder", { "aria-label": "Recorder", "data-phase": "off" });
    this.button = element("button", "main", { type: "button" });
    this.button.onclick = () => this.press();
    this.status = element("p", "status", { role: "status" });
    this.meter = element("canvas", "meter", { role: "img", "aria-label": "Microphone level" });
    this.pen = this.meter.getContext("2d");
    this.prompt = element("p", "prompt");
    this.bars = element("div", "bars", { role: "group", "aria-label": "Votes" });
    this.longButton = element("button", "small", { type: "button" });
    this.longButton.onclick = () => this.pressLong();
    const label = element("label", "free");
    this.free = element("input", "", { type: "checkbox" });
    this.free.checked = true;
    this.free.onchange = () => this.setFree();
    label.append(this.free, "Listen all the time");
    label.title = "Every word is a take. Without it, press the microphone before each word. "
      + "Somebody who talks nearby hides words or starts takes: ask for quiet, or press for each word.";
    this.offButton = element("button", "small", { type: "button" });
    this.offButton.textContent = "Switch off";
    this.offButton.onclick = () => this.off();
    this.tools = element("div", "tools");
    this.tools.append(label, this.offButton, this.longButton);
    const text = element("div", "text");
    text.append(this.prompt, this.meter, this.status);
    this.root.append(this.button, text, this.bars, this.tools);
    parent.appendChild(this.root);
  }

  destroy() {
    this.off();
    cancelAnimationFrame(this.painting);
    clearTimeout(this.resending);
    document.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener("visibilitychange", this.onHide);
    window.removeEventListener("pagehide", this.onLeave);
    this.root.remove();
  }

  update(data) {
    this.data = data;
    const done = new Set(data.done);
    const before = this.outbox.length;
    this.outbox = this.outbox.filter((take) => !done.has(take.id));
    if (this.outbox.length < before) {
      this.root.dataset.done = String(Number(this.root.dataset.done ?? 0) + before - this.outbox.length);
      this.root.dataset.answered = performance.now().toFixed(0);
      this.post();
    }
    if (this.outbox.length < before || data.answer !== this.shown.id) this.votes = null;
    if (data.answer !== this.shown.id) this.shown = { id: data.answer, at: performance.now(), faded: !data.answer };
    if (data.blocked && ["armed", "recording"].includes(this.phase)) this.to("ready");
    if (!data.blocked && this.listens && this.phase === "ready") this.arm();
    const style = getComputedStyle(this.root);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    this.ink = {
      text: read("--st-text-color", "#31333f"),
      accent: read("--st-primary-color", "#5b4bc4"),
      red: read("--st-red-text-color", "#bd4043"),
    };
    this.show();
  }

  get listens() {
    const most = this.data.word ? 1 : MOST; // a word that was asked for is answered before the next one is heard
    return this.free.checked && !this.paused && !document.hidden && this.outbox.length < most;
  }

  // -------------------------------------------------------------- input

  // Listening all the time: start and stop listening. Otherwise: start a take and stop it.
  press() {
    const listening = ["room", "armed", "recording"].includes(this.phase) && this.kind !== "long";
    if (this.phase === "off") {
      this.paused = false;
      this.on();
    } else if (this.free.checked && listening) {
      this.paused = true;
      this.to("ready");
    } else if (this.phase === "ready") {
      this.paused = false;
      this.arm();
    } else if (["room", "armed"].includes(this.phase)) this.begin("word");
    else if (this.phase === "recording") this.finish();
  }

  async pressLong() {
    if (this.phase === "off") await this.on(false);
    this.paused = true; // it does not listen on after a long take
    if (["ready", "armed", "room"].includes(this.phase) && this.mayRecord()) this.begin("long");
  }

  setFree() {
    this.paused = false;
    if (this.free.checked && this.phase === "ready") this.arm();
    else if (!this.free.checked && this.phase === "armed") this.to("ready");
    this.show();
  }

  // A tab in the background does not listen: what is said there is not meant for it.
  hide() {
    if (document.hidden && ["room", "armed", "recording"].includes(this.phase)) this.to("ready");
    else if (this.phase === "ready" && this.listens) this.arm();
  }

  // Space and R work inside the recorder, if the focus is on an element that contains it (a click on the background
  // focuses the whole page), and on elements where these keys have no effect.
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || ![" ", "r", "R"].includes(event.key)) return;
    const from = event.composedPath()[0];
    const inside = event.composedPath().includes(this.root);
    const focused = document.activeElement ?? document.body;
    if (!inside && !focused.contains(this.root.getRootNode().host ?? this.root) && !focused.matches(IDLE)) return;
    if (!inside && this.data.keys === false) return; // a notebook has its own keys
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
    const gone = (reason) => this.turn === turn && this.gone(SAYS[reason]);
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

  // The microphone has gone: the words of a long take so far are kept.
  gone(fault) {
    if (this.phase === "recording" && this.kind === "long") this.finish();
    this.off(fault);
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
    if (phase !== "recording" && this.outbox.length === 0) this.votes = this.asking = null; // no answer will come
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
    this.waited = 0;
    this.to(this.voice.learned ? "armed" : "room");
  }

  // A take of a `kind`: "voice" (it ends with the word), "word" (started by hand) or "long".
  begin(kind) {
    if (!this.mayRecord()) return this.to("ready");
    this.kind = kind;
    this.votes = this.asking = null;
    this.word = this.data.word; // the next word may be asked for before the server has this take
    this.frames = kind === "voice" ? this.recent.slice() : [];
    this.root.dataset.started = performance.now().toFixed(0);
    this.to("recording");
  }

  finish() {
    const { frames, kind, word } = this;
    this.frames = [];
    this.root.dataset.ended = performance.now().toFixed(0);
    const sound = (of) => base64(wav(of, this.microphone.rate));
    this.outbox.push({ id: crypto.randomUUID(), kind, word, wav: sound(frames), room: this.newRoom(sound) });
    if (this.outbox.length === 1) this.post();
    this.next();
  }

  // The last second without a word; "" if there is none, or one was sent a moment ago.
  newRoom(sound) {
    const now = performance.now();
    if (this.room.length < ROOM_FRAMES || now - this.roomAt < ROOM_EVERY) return "";
    this.roomAt = now;
    return sound(this.room.slice(0, ROOM_FRAMES));
  }

  // After a take or a sound that was no word.
  next() {
    this.kind = "";
    this.to("ready");
    if (this.listens) this.arm();
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
    const event = this.voice.push(frame);
    const peak = frame.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (peak > 0) this.dead = false;
    this.levels.push({ level: this.voice.now, peak, taken: this.phase === "recording" });
    if (this.levels.length > LISTEN) this.levels.shift();
    this.recent.push(frame);
    if (this.recent.length > BEFORE / FRAME) this.recent.shift();
    if (!this.voice.word) this.room.push(frame);
    if (event === "noise") this.room.push(...this.frames.slice(-ROOM_FRAMES)); // music, for example
    this.room.splice(0, this.room.length - ROOM_FRAMES - BEFORE / FRAME);
    if (event === "end" || event === "noise") this.noise = event === "noise";
    if (this.phase === "room" && this.voice.learned) this.arm();
    else if (this.phase === "armed") {
      this.waited += 1;
      if (event === "start") this.begin("voice");
      else if (this.waited % 50 === 0) this.show();
    } else if (this.phase === "recording") {
      this.frames.push(frame);
      const seconds = this.frames.length * FRAME;
      if (this.kind !== "voice") {
        if (seconds >= (this.kind === "long" ? LONG : WORD)) this.finish();
        else if (this.frames.length % 10 === 0) this.show();
      } else if (event === "end") this.finish();
      else if (event === "noise" || event === "click") this.next();
      else this.glance();
    }
  }

  // Ask for the votes for the word so far, one question at a time; without an answer the bars stay as they are.
  async glance() {
    const late = this.frames.length - FIRST_GLANCE;
    if (!this.data.hearing || this.asking || late < 0 || late % GLANCE) return;
    const asking = (this.asking = {});
    const began = performance.now();
    try {
      const answer = await fetch(this.data.hearing, { method: "POST", body: wav(this.frames, this.microphone.rate) });
      const votes = answer.status === 200 ? await answer.json() : null;
      if (this.asking !== asking) return; // another word has begun
      if (votes) {
        this.votes = votes;
        this.root.dataset.glances = String(Number(this.root.dataset.glances ?? 0) + 1);
        this.root.dataset.glanced = (performance.now() - began).toFixed(0); // ms
        this.showBars();
      }
    } catch {
      // no connection: the take itself is resent until it arrives
    }
    if (this.asking === asking) this.asking = null;
  }

  // -------------------------------------------------------------- screen

  show(notice = "") {
    const { phase, data } = this;
    const long = phase === "recording" && this.kind === "long";
    const left = Math.ceil((long ? LONG : WORD) - this.frames.length * FRAME);
    const free = this.free.checked && !long;
    const label = {
      off: free ? "Start listening (space)" : "Turn on the microphone (space)",
      asking: "Waiting for the browser",
      room: "Stop listening (space)",
      ready: free ? "Listen (space)" : "Record a word (space)",
      armed: free ? "Stop listening (space)" : "Record now (space)",
      recording: free ? "Stop listening (space)" : "Stop (space)",
    }[phase];
    let status = {
      off: "Press the microphone once and allow it.",
      asking: "The browser asks for permission to use the microphone: allow it.",
      room: "Quiet for a second, please: listening to the room.",
      ready: free ? "Not listening. Press the microphone to go on."
        : "Press the microphone or the space bar for the next word.",
      armed: "Listening: say one word.",
      recording: long ? `Recording, ${left} s left: repeat the word with one-second pauses.` : "Hearing a word …",
    }[phase];
    const heard = this.voice.learned && !this.voice.tooLoud;
    if (phase === "armed" && this.noise) status = "That sound was longer than a word. Say one word, then pause.";
    if (phase === "armed" && this.waited * FRAME >= HINT)
      status = this.dead ? "No sound: is the microphone muted?" : "Nothing heard yet: speak louder or come closer.";
    if (phase === "armed" && !heard && !this.dead)
      status = "It is too loud here: nothing is recorded. Come closer, or find a quieter place.";
    if (this.outbox.length && ["ready", "armed"].includes(phase)) status = "Processing your recording …";
    if (data.blocked) status = data.blocked;
    if (this.fault && phase === "off") status = this.fault;
    if (notice) status = notice;
    this.write(this.status, status);
    this.status.classList.toggle("fault", Boolean(this.fault) && phase === "off");
    this.write(this.prompt, data.prompt ?? "");
    this.button.disabled = Boolean(data.blocked) || phase === "asking";
    if (this.button.getAttribute("aria-label") !== label || !this.button.firstChild) {
      this.button.setAttribute("aria-label", label);
      this.button.title = label;
      this.button.replaceChildren(icon(["room", "armed", "recording"].includes(phase) ? "stop" : "mic"));
    }
    this.write(this.longButton, `Long take (${LONG} s)`);
    this.longButton.hidden = !data.long;
    this.longButton.disabled = Boolean(data.blocked) || ["asking", "recording"].includes(phase);
    this.offButton.hidden = phase === "off";
    this.root.dataset.waiting = String(this.outbox.length);
    this.showBars();
  }

  write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  // One bar per word with its share of the votes (while the word is said: so far), one of an unknown word, and one of
  // the background, which is full while nobody speaks.
  showBars() {
    const votes = this.data.bars ?? [];
    this.bars.hidden = votes.length === 0;
    if (votes.length === 0) return;
    const saying = this.votes !== null;
    const fresh = !this.shown.faded && this.phase !== "recording" && !saying;
    const quiet = ["armed", "room", "ready", "off"].includes(this.phase) && !fresh && !saying;
    const known = saying ? Object.values(this.votes).reduce((sum, share) => sum + share, 0) : 0;
    const last = votes.length - 1; // after the words: unknown, background
    const now = (word, place) => (place === last - 1 ? Math.max(0, 1 - known) : (this.votes[place === last ? "" : word] ?? 0));
    const rest = (place) => (quiet && place === last ? 1 : 0);
    const rows = votes.map(([word, share], place) => [word, saying ? now(word, place) : fresh ? share : rest(place)]);
    while (this.bars.children.length > rows.length) this.bars.lastChild.remove();
    while (this.bars.children.length < rows.length) {
      const row = element("div", "bar");
      row.append(element("span", "name"), element("i", "fill"), element("span", "share"));
      this.bars.append(row);
    }
    rows.forEach(([word, share], i) => {
      const [name, fill, number] = this.bars.children[i].children;
      this.write(name, word);
      this.write(number, `${Math.round(100 * share)} %`);
      fill.style.setProperty("--share", share.toFixed(3));
    });
  }

  paint() {
    this.painting = requestAnimationFrame(() => this.paint());
    if (!this.ink) return;
    if (!this.shown.faded && performance.now() - this.shown.at >= FRESH) {
      this.shown.faded = true;
      this.showBars();
    }
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
    const step = width / LISTEN;
    const shown = this.phase === "off" ? [] : this.levels;
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
