// Player of a run: charts on canvas animated with requestAnimationFrame; the data arrive once, as bytes.
//
// Curves and axes are painted once into layers; a frame copies the part left of the cursor and adds the marks, so its
// cost does not depend on the number of samples. Screen, PNG and SVG use the same drawing code.
// Streamlit calls the default export again after every rerun and change of theme: `players` keeps the player.
// Outside Streamlit, call it with { data, parentElement } and, for reports, setStateValue and setTriggerValue.

const SPEEDS = [10, 25, 50, 100, 250, 500, 1000, 2500]; // samples per second
const RUN_SECONDS = 15; // the initial speed plays the whole run in about this time
const SEND_DELAY = 150; // ms without movement before the position is sent to the server
const LOOK_DELAY = 250; // ms over a sample before its picture is asked for
const TABLE_PERIOD = 100; // ms between two updates of texts and numbers while playing
const MAX_FRAME = 0.1; // s, longest time step: after a pause (hidden tab) the player does not jump
const JUMP = 50; // samples, Shift + arrow: the paper's batch n
const HEIGHT = { main: 280, strip: 74, compactStrip: 60, columns: 230, export: 210, exportStrip: 110, most: 560 }; // px, without a time axis
const MOST_CHIPS = 14;
const WRONG = "#D62728"; // rings around wrong predictions
const MEDIUM = "tmlcd-medium"; // event of the window with the picture and the sound of a sample

const ICONS = {
  restart: "M6 5v14h2V5zm3.5 7L19 19V5z",
  back: "M15 5v14L6 12zM17 5h2v14h-2z",
  play: "M8 5v14l11-7z",
  pause: "M7 5h4v14H7zm6 0h4v14h-4z",
  forward: "M9 5v14l9-7zM5 5h2v14H5z",
  layout: "M4 5h4.5v14H4zm5.75 0h4.5v14h-4.5zm5.75 0H20v14h-4.5z",
};

const players = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  let player = players.get(parentElement);
  if (!player) {
    player = new Player(parentElement);
    players.set(parentElement, player);
  }
  player.send = (position) => setStateValue?.("position", position);
  player.ask = (name, value) => setTriggerValue?.(name, value);
  player.update(data);
  return () => {
    player.destroy();
    players.delete(parentElement);
  };
}

export { decode, metrics, rangeOf, regions, storyAt, timeIn }; // for the tests

// Time of the cursor in a new run: at the drift that was asked for, unless the run does not have it.
function timeIn(run, time, changedAt) {
  return run.changes.includes(changedAt) ? changedAt : time;
}

const element = (tag, className, attributes = {}) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS(SVG, "path")).setAttribute("d", ICONS[name]);
  return svg;
}

function styledLine(colour, dash) {
  const swatch = document.createElementNS(SVG, "svg");
  swatch.setAttribute("class", "swatch");
  swatch.setAttribute("aria-hidden", "true");
  const line = swatch.appendChild(document.createElementNS(SVG, "path"));
  const stroke = { d: "M0 6H26", stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.join(" ") };
  for (const [name, value] of Object.entries(stroke)) line.setAttribute(name, value);
  return swatch;
}

function classMark({ name, colour, shape: kind }) {
  const item = element("span", "class");
  const canvas = element("canvas", "", { width: 24, height: 24, "aria-hidden": "true" });
  const c = canvas.getContext("2d");
  c.beginPath();
  if (kind === "ring") c.arc(12, 12, 9, 0, 7);
  else shape(c, kind, 12, 12, 8);
  c.fillStyle = c.strokeStyle = colour;
  c.lineWidth = 4;
  if (kind === "ring") c.stroke();
  else c.fill();
  item.append(canvas, name);
  return item;
}

class Player {
  constructor(parent) {
    this.run = null;
    this.time = 0; // samples, fractional while playing
    this.furthest = 0; // last sample that has been shown
    this.playing = false;
    this.hidden = new Set(); // names of hidden learners
    this.charts = [];
    this.pictures = [];
    this.frames = 0;
    this.columns = false;
    this.second = new Set(); // short names of the panels that show their alternative
    this.kept = null;
    this.chosen = null; // place of the sample under the pointer or tapped, in the picture
    this.media = new Map(); // place -> { picture, sound }
    this.build(parent);
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.figure);
    this.onResize = () => this.resize();
    this.onMedium = ({ detail }) => this.receive(detail);
    addEventListener("resize", this.onResize);
    addEventListener(MEDIUM, this.onMedium);
  }

  build(parent) {
    this.root = element("section", "player", { tabindex: "-1" });
    const button = (name, label, onclick, text) => {
      const node = element("button", "button", { type: "button", "aria-label": label, title: label, "data-action": name });
      node.append(text ?? icon(name));
      node.onclick = onclick;
      return node;
    };
    this.figure = element("div", "charts");
    this.playButton = button("play", "Play (space)", () => this.toggle());
    this.slider = element("input", "scrub", { type: "range", min: 0, step: 1, "aria-label": "Time in the run" });
    this.slider.oninput = () => this.seek(Number(this.slider.value));
    this.slider.onchange = () => this.report();
    this.clock = element("output", "clock", { "aria-hidden": "true" });
    this.speed = element("select", "speed", { "aria-label": "Speed in samples per second", title: "Speed" });
    this.speed.onchange = () => (this.speedChosen = true);
    for (const value of SPEEDS) {
      const option = element("option", "", { value });
      option.textContent = `${number(value, 0)}/s`;
      this.speed.append(option);
    }
    const controls = element("div", "controls", { role: "group", "aria-label": "Playback" });
    const buttons = element("div", "buttons");
    buttons.append(
      button("restart", "Back to the start (Home)", () => this.step(-Infinity)),
      button("back", "One sample back (left arrow)", () => this.step(-1)),
      this.playButton,
      button("forward", "One sample forward (right arrow)", () => this.step(1)),
    );
    this.layoutButton = button("layout", "Charts side by side", () => this.setColumns(!this.columns));
    this.keepButton = button("keep", "Keep this run: its curves stay, pale, behind those of the next run", () => this.keep(), "Keep this run");
    const tools = element("div", "buttons");
    tools.append(
      this.speed,
      this.layoutButton,
      button("png", "Save the charts as PNG", () => this.savePng(), "PNG"),
      button("svg", "Save the charts as SVG", () => this.saveSvg(), "SVG"),
    );
    controls.append(buttons, this.slider, this.clock, tools);
    this.story = element("p", "story");
    this.world = element("select", "world", { "aria-label": "Change the world now: a drift at the cursor", title: "Makes a drift happen at the cursor" });
    this.world.onchange = () => {
      const drift = this.world.value;
      this.world.value = "";
      if (!drift) return;
      clearTimeout(this.sending); // the position changes with the run
      this.changedAt = this.index + 1; // the new run goes on from here
      this.ask("world", { drift, at: this.changedAt });
    };
    this.chips = element("div", "chips", { role: "group", "aria-label": "Jump to" });
    this.actions = element("div", "actions");
    this.linkButton = button("link", "Copy the address of this run", () => this.copyLink(), "Copy link");
    this.addButton = button("add", "", () => this.ask("learner", this.run.tools.learner[0]), "");
    this.actions.append(this.chips, this.world, this.addButton, this.keepButton, this.linkButton);
    this.legend = element("div", "legend", { role: "group", "aria-label": "Learners: accuracy and memory at the cursor" });
    this.key = element("span", "key");
    this.gallery = element("div", "gallery");
    this.table = element("table", "metrics");
    this.more = element("details", "more");
    const summary = element("summary");
    summary.textContent = "All numbers at the cursor";
    const side = element("div", "side", { tabindex: "0", role: "region", "aria-label": "Values at the cursor and so far" });
    side.append(this.table);
    this.more.append(summary, side);
    this.more.ontoggle = () => this.fillTable();
    this.tip = element("div", "tip", { "aria-hidden": "true" });
    this.tip.hidden = true;
    this.body = element("div", "body");
    this.body.append(this.gallery, this.figure, controls);
    this.live = element("div", "unseen", { "aria-live": "polite" });
    this.root.append(this.story, this.legend, this.actions, this.body, this.more, this.tip, this.live);
    this.root.addEventListener("keydown", (event) => this.keydown(event));
    parent.appendChild(this.root);
  }

  destroy() {
    this.pause(false);
    clearTimeout(this.sending);
    clearTimeout(this.looking);
    cancelAnimationFrame(this.settling);
    this.resizing.disconnect();
    removeEventListener("resize", this.onResize);
    removeEventListener(MEDIUM, this.onMedium);
    this.root.remove();
  }

  // Apply new data or a new theme: redo only what changed and keep the time.
  update(bytes) {
    const began = performance.now();
    const run = decode(bytes);
    const first = this.run === null;
    const otherLength = first || run.length !== this.run.length;
    const other = first || run.digest !== this.run.digest;
    if (other) {
      const atEnd = !first && !this.playing && this.time >= this.run.length - 1;
      this.run = run;
      if (first) this.time = Math.min(run.start ?? run.length - 1, run.length - 1);
      else this.time = atEnd ? run.length - 1 : Math.min(timeIn(run, this.time, this.changedAt), run.length - 1);
      this.changedAt = null;
      this.furthest = this.index;
      if (otherLength && !this.speedChosen) this.setSpeed(run.speed ?? run.length / RUN_SECONDS);
      this.slider.max = run.length - 1;
      this.root.setAttribute("aria-label", run.title);
      this.chosen = null;
      this.media.clear();
      this.buildCharts();
      this.buildGallery();
      this.buildLegend();
      this.buildChips();
      this.buildTable();
      this.paper = null;
    } else for (const name of ["links", "tools", "reports"]) this.run[name] = run[name];
    this.buildWorld();
    const style = getComputedStyle(this.root);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    const ink = {
      text: read("--st-text-color", "#31333f"),
      paper: read("--st-background-color", "#ffffff"),
      font: read("--st-font", "sans-serif"),
      wrong: WRONG,
    };
    if (!this.paper || JSON.stringify(ink) !== this.paper) {
      this.paper = JSON.stringify(ink);
      this.ink = ink;
      this.tell();
      this.layers();
      this.draw(true);
      this.root.dataset.redrawMs = (performance.now() - began).toFixed(1);
      this.root.dataset.redrawn = performance.now().toFixed(1);
      this.root.dataset.redraws = Number(this.root.dataset.redraws ?? 0) + 1;
    }
    if (other && !this.playing) {
      // A run of another length moves the cursor: report the new position to the page.
      if (this.index !== (this.sent ?? run.start)) this.report();
      else if (!first) this.announce();
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (first && run.autoplay && !still) this.play();
  }

  // -------------------------------------------------------------- parts

  // The panel shown at place p: its alternative if the visitor has chosen that.
  panel(p) {
    const panel = this.run.panels[p];
    return panel.alternative && this.second.has(panel.short) ? panel.alternative : panel;
  }

  buildCharts() {
    const same = this.charts.length === this.run.panels.length;
    if (!same) {
      this.figure.replaceChildren();
      this.charts = this.run.panels.map((_, p) => {
        const place = element("div", "place");
        const canvas = element("canvas", "chart", { role: "img" });
        const other = element("button", "other", { type: "button" });
        other.onclick = () => this.switchPanel(p);
        place.append(canvas, other);
        this.figure.append(place);
        this.scrubbing(canvas);
        const [axes, curves] = [element("canvas"), element("canvas")];
        return { canvas, context: canvas.getContext("2d"), axes, curves, other };
      });
    }
    this.nameCharts();
  }

  nameCharts() {
    this.charts.forEach((chart, p) => {
      const { alternative, unit } = this.run.panels[p];
      chart.canvas.setAttribute("aria-label", this.panel(p).alt);
      if (!alternative) chart.other.remove();
      else chart.canvas.after(chart.other);
      if (alternative) chart.other.textContent = `in ${this.panel(p) === alternative ? unit : alternative.unit}`;
    });
  }

  switchPanel(p) {
    const { short } = this.run.panels[p];
    if (!this.second.delete(short)) this.second.add(short);
    this.nameCharts();
    this.layers();
    this.draw(true);
  }

  buildGallery() {
    const { run } = this;
    this.gallery.replaceChildren();
    this.pictures = [];
    this.body.classList.toggle("pictured", Boolean(run.picture));
    if (!run.picture) return;
    run.bounds = boundsOf(run.picture);
    const title = element("div", "title");
    const name = element("b");
    name.textContent = run.picture.title;
    title.append(name, ...run.picture.classes.map(classMark), classMark({ name: "wrong", colour: WRONG, shape: "ring" }));
    title.title = "Small: stored samples. Large: the newest samples. Ring: predicted wrongly.";
    const planes = element("div", "planes");
    run.learners.forEach((learner, l) => {
      const one = new Picture(run, l);
      const figure = element("figure");
      const caption = element("figcaption");
      const what = one.own.T ? "samples stored by" : "newest samples of"; // not every learner tells which samples it holds
      caption.textContent = one.own.T ? learner.short : `${learner.short}: newest samples`;
      caption.style.borderColor = learner.colour;
      one.figure = figure;
      one.canvas.setAttribute("aria-label", `${run.picture.title}: ${what} ${learner.name}.`);
      this.pointing(one);
      figure.append(one.canvas, caption);
      planes.append(figure);
      this.pictures.push(one);
    });
    planes.style.setProperty("--columns", run.learners.length < 3 ? 1 : run.learners.length > 6 ? 3 : 2);
    this.gallery.append(title, planes);
  }

  buildLegend() {
    const names = this.run.learners.map((learner) => [learner.name, learner.colour, ...learner.dash].join());
    if (this.legendKey === names.join("|")) return;
    this.legendKey = names.join("|");
    this.legend.replaceChildren();
    this.cards = this.run.learners.map((learner) => {
      const card = element("div", "card");
      card.style.setProperty("--learner", learner.colour);
      const item = element("button", "item", { type: "button", title: "Hide or show this curve" });
      const show = () => item.setAttribute("aria-pressed", String(!this.hidden.has(learner.name)));
      const [name, short] = [element("span", "name"), element("span", "short")];
      [name.textContent, short.textContent] = [learner.name, learner.short];
      item.append(styledLine(learner.colour, learner.dash), name, short);
      item.onclick = () => {
        if (!this.hidden.delete(learner.name)) this.hidden.add(learner.name);
        show();
        this.layers();
        this.draw(true);
      };
      show();
      const [value, memory, kept] = [element("span", "value"), element("a", "memory"), element("span", "kept")];
      const [score, unit] = [element("span", "score"), element("span", "unit")];
      unit.textContent = this.run.panels[0].short;
      score.append(value, unit);
      card.append(item, score, memory, kept);
      this.legend.append(card);
      return { value, memory, kept };
    });
  }

  buildChips() {
    const { run } = this;
    this.chips.replaceChildren();
    const many = run.moments.length > MOST_CHIPS;
    const first = new Set(); // one alarm and one recovery of each learner, if there are too many
    this.moments = run.moments.filter(({ kind, learner }) => {
      const known = first.has(`${kind} ${learner}`);
      first.add(`${kind} ${learner}`);
      return !many || kind === "change" || !known;
    }).slice(0, MOST_CHIPS).map((moment) => {
      const learner = run.learners[moment.learner];
      const chip = element("span", "chip");
      const jump = element("button", "jump", { type: "button", title: `Go to sample ${number(moment.at, 0)}` });
      const what = { change: "Change", alarm: `${learner?.short} alarm`, back: `${learner?.short} recovered` }[moment.kind];
      jump.textContent = `${what} ${number(moment.at, 0)}`;
      jump.onclick = () => this.step(moment.at - this.index);
      if (learner) chip.style.borderColor = learner.colour;
      chip.append(jump);
      const link = moment.kind === "alarm" && run.links?.alarm?.[learner.key];
      if (link) {
        const why = element("a", "why", { href: link.replace("{sample}", moment.at), title: "Look inside the test at this alarm" });
        why.textContent = "why?";
        chip.append(why);
      }
      this.chips.append(chip);
      return { ...moment, chip };
    });
  }

  buildWorld() {
    const offered = this.run.tools?.world ?? [];
    const key = JSON.stringify(offered);
    this.keepButton.hidden = !this.run.tools?.keep;
    this.linkButton.hidden = !this.run.tools?.link;
    this.world.hidden = !offered.length;
    const [, learner] = this.run.tools?.learner ?? [];
    this.addButton.hidden = !learner;
    this.addButton.textContent = `+ ${learner}`;
    this.addButton.title = `Compare with ${learner} too`;
    this.addButton.setAttribute("aria-label", this.addButton.title);
    if (this.worldKey === key) return;
    this.worldKey = key;
    this.world.replaceChildren();
    for (const [name, label] of [["", "Change the world now …"], ...offered]) {
      const option = element("option", "", { value: name });
      option.textContent = label;
      this.world.append(option);
    }
  }

  buildTable() {
    const head = element("thead");
    const row = head.appendChild(element("tr"));
    row.append(element("td"));
    for (const learner of this.run.learners) {
      const cell = element("th", "", { scope: "col", title: learner.name });
      cell.textContent = learner.short;
      cell.style.borderBottomColor = learner.colour;
      row.append(cell);
    }
    this.table.replaceChildren(head);
    this.cells = [];
    let group;
    for (const { group: name, name: label, hint, cells } of metrics(this.run, 0)) {
      if (name !== group) {
        group = name;
        const line = this.table.appendChild(element("tbody")).appendChild(element("tr"));
        const cell = line.appendChild(element("th", "group", { scope: "colgroup", colspan: cells.length + 1 }));
        cell.textContent = name;
      }
      const line = this.table.lastChild.appendChild(element("tr"));
      const title = line.appendChild(element("th", "", { scope: "row", title: hint }));
      title.textContent = label;
      this.cells.push(cells.map(() => line.appendChild(element("td"))));
    }
  }

  // -------------------------------------------------------------- pointer

  // Position of a pointer on a canvas in its own pixels: the presenter view enlarges it by CSS.
  at(canvas, event) {
    const box = canvas.getBoundingClientRect();
    const scale = canvas.clientWidth / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  }

  scrubbing(canvas) {
    const p = () => this.charts.findIndex((c) => c.canvas === canvas);
    const sample = (event) => this.charts[p()].g.sample(this.at(canvas, event).x);
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.resume = this.playing;
      this.pause(false);
      this.seek(sample(event));
    };
    canvas.onpointermove = (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.seek(sample(event));
      if (event.pointerType === "mouse") this.hover(p(), sample(event), event);
    };
    canvas.onpointerup = () => (this.resume ? this.play() : this.report());
    canvas.onpointercancel = () => this.report();
    canvas.onpointerleave = () => this.hover(null);
  }

  // Values at the sample under the pointer, left of the cursor.
  hover(p, sample, event) {
    const seen = p !== null && sample >= 0 && sample <= this.index;
    this.hovered = seen ? sample : null;
    if (!seen) this.tip.hidden = true;
    else {
      const panel = this.panel(p);
      const rows = this.run.learners.flatMap((learner, l) =>
        this.hide[l] || valueText(panel, l, sample) === DASH ? [] : [[learner.colour, learner.short, valueText(panel, l, sample)]]);
      this.showTip(event, `Sample ${number(sample, 0)}: ${panel.short}`, rows);
    }
    if (!this.playing) this.draw(false);
  }

  showTip(event, title, rows, medium) {
    const name = element("b");
    name.textContent = title;
    const lines = rows.map(([colour, text, value]) => {
      const line = element("div", "line");
      const mark = element("i");
      mark.style.background = colour;
      const number = element("span");
      number.textContent = value;
      line.append(mark, text, number);
      return line;
    });
    this.tip.replaceChildren(name, ...lines);
    if (medium) {
      const image = element("img", "", { alt: "" });
      image.src = medium;
      this.tip.append(image);
    }
    this.tip.hidden = false;
    const box = this.root.getBoundingClientRect();
    const zoom = box.width / this.root.offsetWidth || 1;
    const [x, y] = [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
    const right = x > this.root.offsetWidth - this.tip.offsetWidth - 30;
    this.tip.style.left = `${Math.max(0, right ? x - this.tip.offsetWidth - 14 : x + 14)}px`;
    this.tip.style.top = `${y + 14}px`;
  }

  pointing(one) {
    const find = (event) => {
      const { x, y } = this.at(one.canvas, event);
      return one.nearest(x, y, this.index, Number(this.speed.value));
    };
    one.canvas.onpointermove = (event) => {
      if (event.pointerType === "mouse") this.point(find(event), one, event, false);
    };
    one.canvas.onpointerleave = () => this.point(null);
    one.canvas.onclick = (event) => this.point(find(event), one, event, true);
  }

  // Show a sample of the picture; ask for its thumbnail, and with `loud` for its sound.
  point(place, one, event, loud) {
    const same = place === this.chosen;
    this.chosen = place;
    this.pointed = place === null ? null : { one, event, loud };
    clearTimeout(this.looking);
    if (place === null) this.tip.hidden = true;
    else {
      this.describe();
      const known = this.media.get(place);
      if (known && loud) this.sound(known);
      else if (!known && this.run.picture.can_play && (loud || !same))
        this.looking = setTimeout(() => this.ask("look", place), loud ? 0 : LOOK_DELAY);
    }
    if (!this.playing) this.draw(false);
  }

  describe() {
    const { one, event } = this.pointed;
    const { picture } = this.run;
    const sample = this.chosen - picture.initial;
    const label = picture.classes[picture.label[this.chosen]];
    const rows = [[label.colour, `“${label.name}”`, ""]];
    const said = sample >= 0 && one.own.said ? picture.classes[one.own.said[sample]] : null;
    if (said) rows.push([said.colour, `${one.learner.short} said “${said.name}”`, ""]);
    this.showTip(event, sample < 0 ? "Initial sample" : `Sample ${number(sample, 0)}`, rows, this.media.get(this.chosen)?.picture);
  }

  receive({ place, ...medium }) {
    if (this.media.has(place)) return; // a rerun of the page gives it again
    this.media.set(place, medium);
    this.root.dataset.media = this.media.size;
    if (place !== this.chosen || !this.pointed) return;
    this.describe();
    if (this.pointed.loud) this.sound(medium);
  }

  sound({ sound }) {
    if (!sound) return;
    this.audio?.pause();
    this.audio = new Audio(sound);
    this.audio.play().catch(() => {}); // a browser may refuse sound before the first click
    this.root.dataset.played = Number(this.root.dataset.played ?? 0) + 1;
  }

  keydown(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const control = event.composedPath()[0];
    if (["SELECT", "SUMMARY", "A"].includes(control.tagName) || (control.tagName === "BUTTON" && [" ", "Enter"].includes(event.key))) return;
    const jump = event.shiftKey ? JUMP : 1;
    const action = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowLeft: () => this.step(-jump), ArrowRight: () => this.step(jump),
      PageUp: () => this.step(JUMP * 10), PageDown: () => this.step(-JUMP * 10),
      Home: () => this.step(-Infinity), End: () => this.step(Infinity),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // -------------------------------------------------------------- time

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing) return;
    if (this.time >= this.run.length - 1) this.time = 0;
    this.playing = true;
    this.last = null;
    this.showPlaying();
    this.request = requestAnimationFrame((now) => this.tick(now));
  }

  pause(report = true) {
    if (this.playing) {
      this.playing = false;
      cancelAnimationFrame(this.request);
      this.showPlaying();
      this.time = this.index;
      this.draw(true);
    }
    if (report && this.run) this.report();
  }

  tick(now) {
    const elapsed = this.last === null ? 0 : Math.min(MAX_FRAME, (now - this.last) / 1000);
    this.last = now;
    this.time += elapsed * Number(this.speed.value);
    if (this.time >= this.run.length - 1) {
      this.time = this.run.length - 1;
      return this.pause();
    }
    this.draw(now - (this.tabled ?? 0) > TABLE_PERIOD);
    this.request = requestAnimationFrame((later) => this.tick(later));
  }

  get index() {
    return Math.max(0, Math.min(this.run.length - 1, Math.floor(this.time)));
  }

  seek(sample) {
    this.time = Math.max(0, Math.min(this.run.length - 1, sample));
    this.draw(true);
  }

  step(samples) {
    this.pause(false);
    this.seek(this.index + samples);
    this.report();
  }

  setSpeed(wanted) {
    const distance = (value) => Math.abs(Math.log(value / wanted));
    this.speed.value = SPEEDS.reduce((best, value) => (distance(value) < distance(best) ? value : best));
  }

  // The sample, the story and the values for a screen reader.
  announce() {
    const { index, run } = this;
    this.live.textContent = `Sample ${index} of ${run.length}. ${this.story.textContent} ` + run.learners
      .map((learner, l) => `${learner.short}: ${this.values(l, index)}`).join("; ");
  }

  report() {
    const { index, run } = this;
    this.announce();
    clearTimeout(this.sending);
    this.sending = setTimeout(() => {
      if (!run.reports || this.sent === index) return;
      this.sent = index;
      this.send(index);
    }, SEND_DELAY);
  }

  values(l, i) {
    return this.run.panels
      .filter((panel) => valueText(panel, l, i) !== DASH)
      .map((panel) => `${panel.short} ${valueText(panel, l, i)}`).join(", ");
  }

  showPlaying() {
    const label = this.playing ? "Pause (space)" : "Play (space)";
    this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
    this.root.dataset.playing = String(this.playing);
  }

  async copyLink() {
    const told = (text) => {
      this.linkButton.textContent = text;
      setTimeout(() => (this.linkButton.textContent = "Copy link"), 2000);
    };
    try {
      await navigator.clipboard.writeText(location.href); // only on localhost and https
      told("Copied");
    } catch {
      prompt("Copy this address:", location.href);
    }
  }

  // -------------------------------------------------------------- kept run

  keep() {
    this.kept = this.kept ? null : this.run;
    this.keepButton.textContent = this.kept ? "Drop the kept run" : "Keep this run";
    this.keepButton.setAttribute("aria-pressed", String(Boolean(this.kept)));
    this.layers();
    this.draw(true);
  }

  // Curves of the kept run for a panel of the shown one.
  keptCurves(panel) {
    if (!this.kept || this.kept.digest === this.run.digest) return [];
    const all = this.kept.panels.flatMap((one) => (one.alternative ? [one, one.alternative] : [one]));
    const same = all.find(({ short }) => short === panel.short);
    return this.kept.learners.flatMap((learner, l) =>
      same?.curves[l] && !this.hidden.has(learner.name) ? [{ learner, values: same.curves[l] }] : []);
  }

  keptText(learner, i) {
    const l = this.kept && this.kept.digest !== this.run.digest ? this.kept.learners.findIndex(({ key }) => key === learner.key) : -1;
    if (l < 0) return "";
    const at = Math.min(i, this.kept.length - 1);
    return `kept: ${this.kept.panels.slice(0, 2).map((panel) => valueText(panel, l, at)).join(" · ")}`;
  }

  // -------------------------------------------------------------- screen

  setColumns(columns) {
    this.columns = columns;
    this.figure.classList.toggle("columns", columns);
    this.body.classList.toggle("side-by-side", columns);
    const label = columns ? "Charts one above the other" : "Charts side by side";
    this.layoutButton.setAttribute("aria-label", label);
    this.layoutButton.title = label;
    this.layoutButton.setAttribute("aria-pressed", String(columns));
    this.layers();
    this.draw(true);
  }

  // Device pixels per chart pixel: the presenter view enlarges the charts by CSS.
  density() {
    return devicePixelRatio * (this.root.currentCSSZoom ?? 1);
  }

  resize() {
    if (!this.run || !this.ink) return;
    const same = this.figure.clientWidth === this.width && this.density() === this.ratio;
    if (same && innerHeight === this.screen) return;
    this.layers();
    this.draw(true);
  }

  // Height of each chart in px: the high ones get what the window leaves free, but at least HEIGHT.main.
  heights() {
    const { run } = this;
    this.reserveStory();
    if (run.height || this.columns) return run.panels.map(() => run.height ?? HEIGHT.columns);
    const strips = run.panels.filter(({ strip }) => strip).length;
    const high = run.panels.length - strips;
    if (!strips) return run.panels.map(() => Math.max(122, Math.round(HEIGHT.main / high)));
    const zoom = this.root.currentCSSZoom ?? 1;
    const presenting = zoom > 1;
    // A projector of 1280x720 shows all of the presenter's view: less of everything but the charts.
    const compact = presenting && innerHeight / zoom < 640;
    if (compact !== this.root.classList.contains("compact")) {
      this.root.classList.toggle("compact", compact);
      this.reserveStory();
    }
    const stripHeight = compact ? HEIGHT.compactStrip : HEIGHT.strip;
    // Distance from the top of the page to the charts, whatever is scrolled, and what stands below them.
    const host = this.root.getRootNode().host ?? this.root;
    const scrolled = host.closest?.("[data-testid=stMain]")?.scrollTop ?? scrollY;
    const above = (this.figure.getBoundingClientRect().top + scrolled) / zoom;
    const below = 52 + MARGIN.ticks;
    const free = (innerHeight / zoom - above - below - strips * stripHeight) / high;
    const main = Math.max(presenting ? 100 : HEIGHT.main, Math.min(free, presenting ? Infinity : HEIGHT.most));
    return run.panels.map(({ strip }) => Math.round(strip ? stripHeight : main));
  }

  layers() {
    const { run, ink } = this;
    if (!ink) return;
    this.ratio = this.density();
    this.screen = innerHeight;
    this.hide = run.learners.map((learner) => this.hidden.has(learner.name));
    const heights = this.heights();
    this.charts.forEach((chart, p) => {
      const panel = this.panel(p);
      const kept = this.keptCurves(panel);
      const timeAxis = this.columns || p === run.panels.length - 1;
      const h = heights[p] + (timeAxis ? MARGIN.ticks : 0);
      chart.canvas.style.height = `${h}px`;
      const w = chart.canvas.clientWidth;
      chart.g = geometry(run, panel, this.hide, w, h, timeAxis, kept);
      const paint = (canvas, draw) => {
        this.fit(canvas, w, h);
        const context = canvas.getContext("2d");
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.clearRect(0, 0, canvas.width, canvas.height);
        context.scale(this.ratio, this.ratio);
        draw(new CanvasPen(context, ink.font));
      };
      paint(chart.axes, (pen) => {
        drawAxes(pen, run, panel, chart.g, ink);
        drawKept(pen, run, chart.g, kept);
      });
      paint(chart.curves, (pen) => drawCurves(pen, run, panel, chart.g, this.hide));
      this.fit(chart.canvas, w, h);
    });
    this.placePictures();
    this.width = this.figure.clientWidth;
  }

  // The planes beside the charts are together as high as they; above them, they are nearly square.
  placePictures() {
    if (!this.pictures.length) return;
    const shown = this.pictures.filter((one) => {
      one.figure.hidden = this.hidden.has(one.learner.name);
      return !one.figure.hidden;
    });
    if (!shown.length) return;
    const columns = Math.min(shown.length, shown.length < 3 ? 1 : shown.length > 6 ? 3 : 2);
    const beside = this.gallery.offsetTop === this.figure.offsetTop && !this.columns;
    const across = beside ? columns : Math.min(shown.length, this.gallery.clientWidth < 560 ? 2 : 4);
    this.gallery.lastChild.style.setProperty("--columns", across);
    const rows = Math.ceil(shown.length / across);
    const width = shown[0].canvas.clientWidth;
    const room = this.figure.offsetHeight - (this.gallery.firstChild.offsetHeight + 4) - 4 * (rows - 1);
    const height = beside ? Math.max(90, Math.floor(room / rows)) : Math.round(0.85 * width);
    for (const one of shown) one.resize(width, height, this.ratio, this.ink);
  }

  fit(canvas, width, height) {
    const w = Math.max(1, Math.round(width * this.ratio));
    const h = Math.max(1, Math.round(height * this.ratio));
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
  }

  draw(texts) {
    const { run, ink, index } = this;
    if (!ink || !this.width) return;
    if (this.ratio !== this.density()) this.layers();
    this.furthest = Math.max(this.furthest, index);
    this.charts.forEach((chart, p) => {
      const { context, canvas, g } = chart;
      const panel = this.panel(p);
      const x = g.x(index);
      const reach = Math.min(canvas.width, Math.ceil((x + 1) * this.ratio));
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(chart.axes, 0, 0);
      if (reach > 0) context.drawImage(chart.curves, 0, 0, reach, canvas.height, 0, 0, reach, canvas.height);
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      const pen = new CanvasPen(context, ink.font);
      drawMarks(pen, run, panel, g, this.hide, ink, index, p === 0 || this.columns);
      pen.line([x, g.box.y, x, g.box.y + g.box.height], { stroke: ink.text, width: 1 });
      if (this.hovered !== null && this.hovered !== undefined) {
        const at = g.x(this.hovered);
        pen.line([at, g.box.y, at, g.box.y + g.box.height], { stroke: ink.text, width: 1, dash: [2, 2], alpha: 0.7 });
      }
      run.learners.forEach((learner, l) => {
        const value = panel.curves[l]?.[index];
        if (this.hide[l] || value === undefined || Number.isNaN(value)) return;
        context.beginPath();
        context.arc(x, g.y(Math.max(g.low, Math.min(g.high, value))), 4, 0, 7);
        context.fillStyle = learner.colour;
        context.fill();
        context.strokeStyle = ink.paper;
        context.lineWidth = 1.5;
        context.stroke();
      });
    });
    this.drawPictures();
    this.slider.value = index;
    this.slider.setAttribute("aria-valuetext", `sample ${index} of ${run.length}`);
    const clock = `${number(index, 0)} / ${number(run.length, 0)}`;
    if (this.clock.textContent !== clock) this.clock.textContent = clock;
    if (texts) this.tell();
    this.frames += 1;
    Object.assign(this.root.dataset, { time: index, length: run.length, frames: this.frames, digest: run.digest });
  }

  // One learner's decision regions per frame while playing; the rest follow in the next frames.
  drawPictures() {
    const now = performance.now();
    const pace = Number(this.speed.value);
    const shown = this.pictures.filter((one) => !one.figure.hidden && one.width);
    if (!shown.length) return;
    this.turn = ((this.turn ?? 0) + 1) % shown.length;
    shown.forEach((one, n) => one.draw(this.playing ? this.time : this.index, this.index, pace, !this.playing, now, n === this.turn, this.chosen));
  }

  storyParts({ lead, clauses }) {
    const parts = [lead];
    clauses.forEach((clause, l) => {
      const { short, colour, name } = this.run.learners[l];
      if (!clause || this.hidden.has(name)) return;
      const who = element("b");
      who.textContent = short;
      who.style.borderColor = colour;
      parts.push(" ", who, ` ${clause}.`);
    });
    return parts;
  }

  // Room for the longest sentence of the run: nothing below it moves while the run plays.
  reserveStory() {
    const { run, story } = this;
    if (story.hidden) return;
    const trial = element("div");
    trial.style.cssText = `position: absolute; visibility: hidden; width: ${story.clientWidth}px`;
    for (const { at } of run.story) {
      const text = element("p", "story");
      text.append(...this.storyParts(storyAt(run, at)));
      trial.append(text);
    }
    this.root.append(trial);
    story.style.minHeight = `${Math.max(0, ...[...trial.children].map((text) => text.clientHeight))}px`;
    trial.remove();
  }

  // Story, cards, chips and, if open, the table.
  tell() {
    const { run, index } = this;
    this.tabled = performance.now();
    const set = (node, text) => node.textContent !== text && (node.textContent = text);
    const story = storyAt(run, index);
    const key = JSON.stringify([run.digest, story, [...this.hidden]]);
    if (key !== this.storyKey) {
      this.storyKey = key;
      this.story.hidden = !story.lead;
      this.story.replaceChildren(...this.storyParts(story));
    }
    run.learners.forEach((learner, l) => {
      const { value, memory, kept } = this.cards[l];
      set(value, valueText(run.panels[0], l, index));
      const memories = run.panels.flatMap((one) => [one, one.alternative ?? []].flat()).filter(({ unit }) => unit);
      const second = memories.find(({ unit }) => unit === "samples");
      const compact = this.root.classList.contains("compact");
      const texts = memories.map((one) => [valueText(one, l, index), one === second && !compact ? " samples" : ""]);
      set(memory, texts.filter(([text]) => text !== DASH).map((text) => text.join("")).join(" · "));
      const link = run.links?.memory?.[learner.key];
      if (link) {
        memory.href = link.replace("{size}", Math.round(second.curves[l][index]));
        memory.title = "See what fits on an STM32 with so many samples";
      } else memory.removeAttribute("href");
      set(kept, this.keptText(learner, index));
    });
    for (const { at, kind, chip } of this.moments) {
      chip.style.visibility = kind !== "change" && at > this.furthest ? "hidden" : ""; // it keeps its place
      chip.classList.toggle("here", at === index);
    }
    this.fillTable();
  }

  fillTable() {
    if (!this.more.open) return;
    metrics(this.run, this.index).forEach(({ cells }, r) =>
      cells.forEach((text, l) => {
        const cell = this.cells[r][l];
        if (cell.textContent !== text) cell.textContent = text;
      }));
  }

  // -------------------------------------------------------------- files

  compose(makePen, width) {
    const { run, ink } = this;
    const hide = this.hide;
    const gap = 8;
    const some = run.panels.some(({ strip }) => strip);
    const heights = run.panels.map(({ strip }, p) =>
      (strip ? HEIGHT.exportStrip : some ? HEIGHT.main : HEIGHT.export) + (p === run.panels.length - 1 ? MARGIN.ticks : 0));
    const items = legendItems(run, hide, ink);
    const perRow = Math.max(1, Math.floor(width / 230));
    const legendHeight = 22 * Math.ceil(items.length / perRow);
    const height = 34 + legendHeight + heights.reduce((sum, h) => sum + h + gap, 0);
    const { pen, shift } = makePen(width, height);
    pen.area([0, 0, width, 0, width, height, 0, height], { fill: ink.paper });
    pen.text(2, 20, run.title, { fill: ink.text, size: 16, bold: true });
    items.forEach((item, n) => {
      const x = 4 + (n % perRow) * 230;
      const y = 40 + 22 * Math.floor(n / perRow);
      item.draw(pen, x, y);
      pen.text(x + 34, y + 4, item.name, { fill: ink.text });
    });
    let top = 34 + legendHeight;
    run.panels.forEach((_, p) => {
      const panel = this.panel(p);
      const kept = this.keptCurves(panel);
      const g = geometry(run, panel, hide, width, heights[p], p === run.panels.length - 1, kept);
      shift(top, () => {
        drawAxes(pen, run, panel, g, ink);
        drawKept(pen, run, g, kept);
        pen.within(0, 0, g.x(this.index) + 1, heights[p], () => drawCurves(pen, run, panel, g, hide));
        drawMarks(pen, run, panel, g, hide, ink, this.index, p === 0);
      });
      top += heights[p] + gap;
    });
    return pen;
  }

  savePng() {
    const scale = 2;
    const canvas = element("canvas");
    this.compose((width, height) => {
      canvas.width = width * scale;
      canvas.height = height * scale;
      const context = canvas.getContext("2d");
      context.scale(scale, scale);
      const shift = (top, draw) => {
        context.save();
        context.translate(0, top);
        draw();
        context.restore();
      };
      return { pen: new CanvasPen(context, this.ink.font), shift };
    }, 960);
    canvas.toBlob((blob) => this.save(blob, "png"));
  }

  saveSvg() {
    const pen = this.compose((width, height) => {
      const svg = new SvgPen(width, height, this.ink.font);
      const shift = (top, draw) => {
        const outer = svg.top;
        svg.top = svg.add("g", { transform: `translate(0 ${top})` });
        draw();
        svg.top = outer;
      };
      return { pen: svg, shift };
    }, 960);
    pen.svg.querySelector("title").textContent = `${this.run.title}. ${this.run.alt}`;
    this.save(new Blob([new XMLSerializer().serializeToString(pen.svg)], { type: "image/svg+xml" }), "svg");
  }

  save(blob, kind) {
    const link = element("a", "", { download: `${this.run.file}.${kind}` });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}
