// A run computed in the page as data of the player: the header of a run made by Python, with other curves.

import { accuracyCurve, judge, soFar } from "./judgement.js";
import { planePicture } from "./membership.js";
import { changeTexts, momentsOf, storyOf } from "./story.js";

const HIGHEST = 4; // maximum of the axis of g, in units of h
const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };

function pack(header, arrays) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = 4 + text.length + (-text.length & 3);
  const total = arrays.reduce((end, array) => Math.max(end, array.offset + array.values.byteLength), 0);
  const bytes = new Uint8Array(start + total).fill(32, 4, start);
  new DataView(bytes.buffer).setUint32(0, start - 4, true);
  bytes.set(text, 4);
  for (const { offset, values } of arrays)
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start + offset);
  return bytes;
}

// `looks` has name, short, colour and dash of each learner; `template` is the header of a run of the same panels.
export function playerRun(template, looks, traces, stream, { title, threshold, hints, digest, classLooks }) {
  const length = stream.labels.length - stream.initial;
  const arrays = [];
  let end = 0;
  const put = (values, type) => {
    const array = TYPES[type].from(values);
    arrays.push({ offset: end, values: array });
    const found = { type, offset: end, size: array.length };
    end += array.byteLength + (-array.byteLength & 3);
    return found;
  };
  const taps = Math.min(100, Math.max(10, Math.floor(length / 100) * 10));
  const tested = traces.map((trace) => trace.hasTest);
  const lines = [
    traces.map((trace) => accuracyCurve(trace.correct, taps)),
    traces.map((trace) => trace.sizes),
    traces.map((trace) => (trace.statistic.every(Number.isNaN) ? null : trace.statistic)),
  ];
  const highest = lines[2].reduce((most, line) => (line ? line.reduce((a, b) => (b > a ? b : a), most) : most), 0);
  const panels = template.panels.map((panel, p) => ({
    ...panel,
    title: p === 0 ? panel.title.replace(/\d+/, taps) : panel.title,
    alt: `${title}: ${panel.title}`,
    ...(p === 2 ? { threshold, threshold_label: `threshold h = ${threshold}`, high: highest > HIGHEST * threshold ? HIGHEST * threshold : null } : {}),
    curves: lines[p].map((line) => line && put(line, "f4")),
    deviation: traces.map(() => null),
    alternative: null,
  }));
  const judged = traces.map((trace) => judge(trace.correct, trace.detections, stream.changes, stream.ends));
  const texts = stream.scenario ? changeTexts(stream.scenario) : [];
  const dropped = traces.map(({ membership, detections }) => new Map(membership ? detections.map((at) => [at, membership.dropped(at)]) : []));
  const learners = traces.map((trace, l) => ({
    ...looks[l],
    alarms: tested[l] ? trace.detections : null,
    change_points: trace.changePoints,
    dropped: trace.detections.map((at) => dropped[l].get(at) ?? []),
    correct: put(trace.correct, "u1"),
  }));
  const header = {
    ...template, title, length, alt: title, digest, panels, learners,
    changes: stream.changes, ends: stream.ends, change_texts: texts,
    story: storyOf(judged, tested, texts, dropped),
    moments: momentsOf(judged, texts),
    picture: planePicture(stream, traces, classLooks, put),
    so_far: soFar(judged, tested, stream.scenario ? stream.changes : null, hints),
  };
  return pack(header, arrays);
}
