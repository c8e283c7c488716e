// Session file of the Microphone page: a zip, not compressed, of a JSON log, its digest and WAV files (live/file.py).

import { wavFile } from "../viz/wav.js";

const RATE = 16_000;

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n >>> 0;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// Fractional parts of roots of the first primes, in 32 bits.
const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
const fraction = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32) >>> 0;
const ROUND = primes.map((p) => fraction(Math.cbrt(p)));
const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));

// SHA-256 in hexadecimal; the browser's own exists only in secure contexts.
export function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  const w = new Uint32Array(64);
  const hash = Uint32Array.from(START);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [w[i - 15], w[i - 2]];
      w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i] += value));
  }
  return Array.from(hash, (value) => value.toString(16).padStart(8, "0")).join("");
}

const bytesOf = (samples) => new Uint8Array(samples.buffer.slice(samples.byteOffset, samples.byteOffset + samples.byteLength));
export const digestOf = (samples) => sha256(bytesOf(samples));

function zip(files) {
  const parts = [];
  const directory = [];
  let place = 0;
  for (const [name, content] of files) {
    const title = new TextEncoder().encode(name);
    const fields = (view, at) => {
      view.setUint16(at, 20, true); // version
      view.setUint16(at + 8, 0x21, true); // 1 January 1980, after 4 bytes of flags and method and 2 of the time
      view.setUint32(at + 10, crc32(content), true);
      view.setUint32(at + 14, content.length, true);
      view.setUint32(at + 18, content.length, true);
      view.setUint16(at + 22, title.length, true);
    };
    const head = new DataView(new ArrayBuffer(30));
    head.setUint32(0, 0x04034b50, true);
    fields(head, 4);
    const entry = new DataView(new ArrayBuffer(46));
    entry.setUint32(0, 0x02014b50, true);
    entry.setUint16(4, 20, true);
    fields(entry, 6);
    entry.setUint32(42, place, true);
    parts.push(new Uint8Array(head.buffer), title, content);
    directory.push(new Uint8Array(entry.buffer), title);
    place += 30 + title.length + content.length;
  }
  const end = new DataView(new ArrayBuffer(22));
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, place, true);
  const all = [...parts, ...directory, new Uint8Array(end.buffer)];
  const out = new Uint8Array(place + size + 22);
  let at = 0;
  for (const part of all) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

// Events of the takes that are kept. A word that has lost all takes that it was taught with gets its first answer from
// before any change of meaning instead; if there is none, answers cannot be replayed: then all such answers are taught.
export function keptEvents(log, kept) {
  const events = log.events.filter((event) => !event.take || kept.has(event.take));
  const first = events.findIndex((event) => event.do === "judge");
  if (first < 0) return events;
  const named = new Set(events.filter((event, i) => (event.do === "teach" ? i < first : event.do === "word" || event.kind === "new-word")).map(({ word }) => word));
  const lacking = log.words.filter((word) => !named.has(word));
  const drift = events.findIndex((event) => event.do === "drift");
  const before = events.slice(0, drift < 0 ? events.length : drift).filter(({ word }) => word);
  const asTaught = (event) => (event.do === "judge" ? { ...event, do: "teach" } : event);
  const instead = lacking.map((word) => before.find((event) => event.do === "judge" && event.word === word));
  if (instead.includes(undefined)) return before.map(asTaught);
  const moved = new Set(instead.map(({ take }) => take));
  return [...instead.map(asTaught), ...events.filter(({ take }) => !moved.has(take))];
}

// The file's bytes. `takes` by name: samples (Int16Array), start and stop in seconds, remarks.
export function sessionFile(log, takes) {
  const events = keptEvents(log, new Set(Object.keys(takes)));
  const used = new Set(events.map(({ take }) => take));
  const named = Object.entries(takes).filter(([name]) => used.has(name));
  const about = named.map(([name, { samples, start, stop, remarks }]) => [name, { start, stop, remarks, sha256: digestOf(samples) }]);
  const text = new TextEncoder().encode(JSON.stringify({ ...log, events, takes: Object.fromEntries(about) }));
  const digest = new TextEncoder().encode(sha256(text));
  const sounds = named.map(([name, { samples }]) => [`takes/${name}.wav`, wavFile(samples, RATE)]);
  return zip([["session.json", text], ["session.sha256", digest], ...sounds]);
}
