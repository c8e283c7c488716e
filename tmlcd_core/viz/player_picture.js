// Picture of the player: T of each learner on shared axes, with the newest samples, errors and, for points in the
// plane, the decision regions of a kNN over T.

const GRID = 44; // cells of the decision regions along each axis
const SLOW = 8; // ms: regions that took longer are drawn less often
const FALL = 0.45; // s in which a sample drops in and a forgotten one fades
const RECENT = 1.2; // s for which a sample stays visible

// Class of each of the grid's cells (column by column from the left, each from the bottom) by k nearest neighbours.
// xs, ys, labels are T; k = 0 is the square root of |T|, rounded up; a tie goes to the smallest label.
function regions(xs, ys, labels, classes, bounds, k, byDistance, grid = GRID) {
  const n = xs.length;
  const cells = new Uint8Array(grid * grid);
  if (!n) return cells;
  const voters = Math.min(n, k || Math.ceil(Math.sqrt(n)));
  const near = new Float64Array(voters);
  const who = new Int32Array(voters);
  const votes = new Float64Array(classes);
  for (let column = 0; column < grid; column++) {
    const x = Math.fround(bounds.left + ((column + 0.5) / grid) * (bounds.right - bounds.left));
    for (let row = 0; row < grid; row++) {
      const y = Math.fround(bounds.bottom + ((row + 0.5) / grid) * (bounds.top - bounds.bottom));
      let size = 0;
      for (let i = 0; i < n; i++) {
        const dx = xs[i] - x;
        const dy = ys[i] - y;
        const d = dx * dx + dy * dy;
        if (size === voters && d >= near[size - 1]) continue;
        let place = size < voters ? size++ : size - 1;
        for (; place > 0 && near[place - 1] > d; place--) {
          near[place] = near[place - 1];
          who[place] = who[place - 1];
        }
        near[place] = d;
        who[place] = i;
      }
      votes.fill(0);
      const exact = byDistance && near[0] === 0;
      for (let j = 0; j < size; j++) {
        if (exact && near[j] > 0) break;
        votes[labels[who[j]]] += byDistance && !exact ? 1 / Math.sqrt(near[j]) : 1;
      }
      let best = 0;
      for (let c = 1; c < classes; c++) if (votes[c] > votes[best]) best = c;
      cells[column * grid + row] = best;
    }
  }
  return cells;
}

// Axes that hold nearly all samples: outliers would make the rest small.
function boundsOf(picture) {
  const span = (values, above) => {
    const sorted = Float32Array.from(values).sort();
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const [low, high] = picture.regions ? [at(0), at(1)] : [at(0.005), at(0.995)];
    const size = high - low || 1;
    return [low - 0.06 * size, high + above * size];
  };
  const [left, right] = span(picture.x, 0.06);
  const [bottom, top] = span(picture.y, 0.16); // above the samples stands the learner's name
  return { left, right, bottom, top };
}

const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function shape(c, kind, x, y, r) {
  if (kind === "circle") {
    c.moveTo(x + r, y);
    c.arc(x, y, r, 0, 7);
  } else if (kind === "square") c.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
  else if (kind === "diamond") {
    c.moveTo(x, y - 1.25 * r);
    c.lineTo(x + 1.25 * r, y);
    c.lineTo(x, y + 1.25 * r);
    c.lineTo(x - 1.25 * r, y);
    c.closePath();
  } else if (kind === "triangle-up") {
    c.moveTo(x, y - 1.2 * r);
    c.lineTo(x + 1.15 * r, y + 0.9 * r);
    c.lineTo(x - 1.15 * r, y + 0.9 * r);
    c.closePath();
  } else {
    const t = 0.42 * r;
    c.rect(x - 1.2 * r, y - t, 2.4 * r, 2 * t);
    c.rect(x - t, y - 1.2 * r, 2 * t, 2.4 * r);
  }
}

class Picture {
  constructor(run, l) {
    const { picture } = run;
    this.picture = picture;
    this.learner = run.learners[l];
    this.own = picture.learners[l];
    const { T } = this.own;
    // Times at which T changes: T differs between two samples only if one of them lies in between.
    this.events = T ? Int32Array.from([...T.enters, ...T.leaves]).sort() : new Int32Array(0);
    this.bounds = run.bounds;
    this.canvas = element("canvas", "plane", { role: "img" });
    this.layer = element("canvas");
    this.fields = element("canvas");
    this.fields.width = this.fields.height = GRID;
    this.version = this.fieldVersion = -1;
    this.cost = 0;
    this.last = 0;
  }

  // Number of changes of T up to sample i.
  versionAt(i) {
    let [low, high] = [0, this.events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events[middle] <= i) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  resize(width, height, ratio, ink) {
    Object.assign(this, { width, height, ratio, ink });
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.canvas.style.height = `${height}px`;
    this.version = this.fieldVersion = -1;
    const { left, right, bottom, top } = this.bounds;
    this.x = (value) => ((value - left) / (right - left)) * width;
    this.y = (value) => height - ((value - bottom) / (top - bottom)) * height;
    this.left = (x) => left + (x / width) * (right - left);
    this.bottom = (y) => bottom + ((height - y) / height) * (top - bottom);
    this.size = Math.max(2, Math.min(4, width / 70));
  }

  members(i) {
    const { T } = this.own;
    const held = [];
    if (T) for (let m = 0; m < T.place.length; m++) if (T.enters[m] <= i && i < T.leaves[m]) held.push(m);
    return held;
  }

  // Recompute the decision regions if T has changed; returns false if they are left for a later frame.
  paintFields(i, now, patient) {
    const { T, k, by_distance: byDistance } = this.own;
    if (!this.picture.regions || !T || this.fieldVersion === this.version) return true;
    if (patient && this.cost > SLOW && now - this.last < 30 * this.cost) return false;
    const began = performance.now();
    const held = this.members(i);
    const pick = (values) => Float32Array.from(held, (m) => values[T.place[m]]);
    const classes = this.picture.classes.length;
    const cells = regions(pick(this.picture.x), pick(this.picture.y), held.map((m) => T.label[m]), classes, this.bounds, k, byDistance);
    const image = new ImageData(GRID, GRID);
    const colours = this.picture.classes.map(({ colour }) => rgb(colour));
    for (let column = 0; column < GRID; column++)
      for (let row = 0; row < GRID; row++) {
        const at = 4 * ((GRID - 1 - row) * GRID + column);
        image.data.set([...colours[cells[column * GRID + row]], 62], at);
      }
    this.fields.getContext("2d").putImageData(image, 0, 0);
    this.fieldVersion = this.version;
    this.cost = performance.now() - began;
    this.last = now;
    return true;
  }

  paintLayer(i) {
    const c = this.layer.getContext("2d");
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.layer.width, this.layer.height);
    if (this.picture.regions && this.fieldVersion >= 0) c.drawImage(this.fields, 0, 0, this.layer.width, this.layer.height);
    c.scale(this.ratio, this.ratio);
    const { T } = this.own;
    if (!T) return;
    const held = this.members(i);
    this.picture.classes.forEach(({ colour, shape: kind }, code) => {
      c.beginPath();
      for (const m of held)
        if (T.label[m] === code) shape(c, kind, this.x(this.picture.x[T.place[m]]), this.y(this.picture.y[T.place[m]]), this.size);
      c.globalAlpha = 0.85;
      c.fillStyle = colour;
      c.fill();
      c.globalAlpha = 1;
      c.lineWidth = 0.8;
      c.strokeStyle = this.ink.paper;
      c.stroke();
    });
  }

  // `time` is the cursor with its fraction, `pace` the samples per second, `still` whether it stands.
  draw(time, i, pace, still, now, turn, chosen) {
    const version = this.versionAt(i);
    let stale = version !== this.version || this.layerField !== this.fieldVersion;
    this.version = version;
    const done = turn || still ? this.paintFields(i, now, !still) : this.fieldVersion === version || !this.picture.regions || !this.own.T;
    stale ||= this.layerField !== this.fieldVersion;
    if (stale) {
      this.paintLayer(i);
      this.layerField = this.fieldVersion;
    }
    const c = this.canvas.getContext("2d");
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.layer, 0, 0);
    c.scale(this.ratio, this.ratio);
    this.fading(c, time, pace);
    this.falling(c, time, i, pace);
    if (chosen !== null && chosen !== undefined) {
      const at = this.place(chosen);
      c.beginPath();
      c.arc(at.x, at.y, this.size + 4, 0, 7);
      c.lineWidth = 2;
      c.strokeStyle = this.ink.text;
      c.stroke();
    }
    return done;
  }

  // Samples that left T a moment ago grow pale.
  fading(c, time, pace) {
    const { T } = this.own;
    if (!T) return;
    const span = Math.max(8, FALL * 1.6 * pace);
    for (let m = 0; m < T.place.length; m++) {
      const age = time - T.leaves[m];
      if (age < 0 || age > span) continue;
      const { colour, shape: kind } = this.picture.classes[T.label[m]];
      const gone = age / span;
      c.globalAlpha = 0.9 * (1 - gone);
      c.beginPath();
      shape(c, kind, this.x(this.picture.x[T.place[m]]), this.y(this.picture.y[T.place[m]]), this.size * (1 + 1.2 * gone));
      c.lineWidth = 1.2;
      c.strokeStyle = colour;
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  // The newest samples drop in; a wrong prediction flashes.
  falling(c, time, i, pace) {
    const { picture } = this;
    const span = Math.max(3, Math.min(60, RECENT * pace));
    const drop = Math.max(1, Math.min(20, FALL * pace));
    for (let s = Math.max(0, Math.ceil(i - span)); s <= i; s++) {
      const age = time - s;
      const place = picture.initial + s;
      const { colour, shape: kind } = picture.classes[picture.label[place]];
      const fallen = Math.min(1, (age + 0.01) / drop);
      const fresh = 1 - Math.min(1, age / span);
      const x = this.x(picture.x[place]);
      const y = this.y(picture.y[place]) - (1 - fallen) * 18;
      const r = this.size * (1 + 0.9 * (1 - fallen));
      c.globalAlpha = 0.25 + 0.75 * fresh;
      c.beginPath();
      shape(c, kind, x, y, r);
      c.fillStyle = colour;
      c.fill();
      c.lineWidth = 1;
      c.strokeStyle = this.ink.text;
      c.stroke();
      if (this.own.said && this.own.said[s] !== picture.label[place]) {
        c.globalAlpha = fresh;
        c.beginPath();
        c.arc(x, y, r + 3 + 5 * (1 - fresh), 0, 7);
        c.lineWidth = 2.2;
        c.strokeStyle = this.ink.wrong;
        c.stroke();
      }
    }
    c.globalAlpha = 1;
  }

  place(at) {
    return { x: this.x(this.picture.x[at]), y: this.y(this.picture.y[at]) };
  }

  // Place (initial samples first) of the sample drawn nearest to a point of the canvas; null if none is near.
  nearest(x, y, i, pace) {
    const { T } = this.own;
    const shown = this.members(i).map((m) => T.place[m]);
    for (let s = Math.max(0, i - Math.round(RECENT * pace)); s <= i; s++) shown.push(this.picture.initial + s);
    let [best, least] = [null, 14 ** 2];
    for (const at of shown) {
      const p = this.place(at);
      const d = (p.x - x) ** 2 + (p.y - y) ** 2;
      if (d <= least) [best, least] = [at, d];
    }
    return best;
  }
}
