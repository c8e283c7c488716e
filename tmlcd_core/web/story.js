// What happened in a run, in words: tmlcd_core/viz/story.py, and the texts of the changes of viz/lab.py.

import { eventsOf, until } from "./judgement.js";
import { whole } from "./page.js";
import { changesOf, conceptsOf } from "./stream.js";

const joined = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : (parts[0] ?? ""));
const plural = (count) => (count > 1 ? "s" : "");

// What happened at each change of a scenario, in the past tense.
export function changeTexts(scenario) {
  const concepts = conceptsOf(scenario);
  return changesOf(scenario).map((change) => {
    const numbers = scenario.drifts.flatMap((drift, i) => (drift.at === change ? [i] : []));
    return changeText(concepts[numbers[0]], concepts[numbers.at(-1) + 1]);
  });
}

function changeText(before, after) {
  const named = (labels) => joined(labels.map((label) => `“${label}”`));
  const words = (concept, labels) => [...new Set(labels.map((label) => concept.get(label).word))].sort().join("\n");
  const labels = [...after.keys()];
  const other = labels.filter((label) => before.has(label) && after.get(label).word !== before.get(label).word);
  const parts = [];
  if (other.length && words(after, other) === words(before, other)) parts.push(`${named(other)} ${other.length === 2 ? "swapped" : "rotated"}`);
  else parts.push(...other.map((label) => `“${after.get(label).word}” replaced “${before.get(label).word}”`));
  const fresh = labels.filter((label) => !before.has(label));
  if (fresh.length) parts.push(`${named(fresh)} appeared`);
  const gone = [...before.keys()].filter((label) => !after.has(label));
  if (gone.length) parts.push(`${named(gone)} disappeared`);
  const effects = (concept) => new Set([...concept.values()].map(({ effect }) => effect));
  const known = effects(before);
  for (const effect of [...effects(after)].filter((one) => !known.has(one)).sort())
    parts.push(`${effect || "the noise"} ${effect ? "started" : "stopped"}`);
  return joined(parts);
}

function lead({ change, end }, text) {
  const told = text || "the world changed";
  return end <= change ? `At ${whole(change)} ${told}.` : `Between ${whole(change)} and ${whole(end)} ${told}, step by step.`;
}

// What one learner did about the last change. `dropped` has, by alarm, the samples that T lost and held.
function clause({ alarms, wrong, outcomes }, tested, over, dropped) {
  if (!outcomes.length) return alarms.length ? `raised ${alarms.length} false alarm${plural(alarms.length)}` : "";
  const { change, delay, back, fell, alone, stop } = outcomes.at(-1);
  const parts = [];
  if (delay !== null) {
    parts.push(`noticed after ${whole(delay)} samples`);
    const [lost, held] = dropped.get(change + delay) ?? [0, 0];
    if (lost) parts.push(`dropped ${whole(lost)} of ${whole(held)}`);
  } else if (tested && over) parts.push("did not notice");
  const later = wrong.filter((alarm) => alarm >= change).length;
  if (later) parts.push(`raised ${later} more alarm${plural(later)}`);
  const early = delay !== null && back !== null && back < change + delay;
  if (back !== null) parts.splice(early ? 0 : parts.length, 0, `was back at ${whole(back)}`);
  else if (fell !== null) parts.push(over ? "never recovered" : "has not recovered yet");
  else if (alone < stop) parts.push("did not fall");
  return joined(parts);
}

// The story in steps: a sentence and a clause for each learner, valid from sample `at` on.
export function storyOf(judged, tested, texts, dropped) {
  const samples = [...new Set(judged.flatMap(eventsOf))].sort((a, b) => a - b);
  const steps = [];
  for (const at of samples) {
    let sentence = "";
    const clauses = judged.map((one, l) => {
      const known = until(one, at);
      const last = known.outcomes.length - 1;
      if (last >= 0 && !sentence) sentence = lead(one.outcomes[last], texts[last]);
      return clause(known, tested[l], last >= 0 && one.outcomes[last].stop === at + 1, dropped[l]);
    });
    const before = steps.at(-1);
    if (!before || before.lead !== sentence || before.clauses.some((text, l) => text !== clauses[l])) steps.push({ at, lead: sentence, clauses });
  }
  return steps;
}

// The moments to jump to: every change, alarm and recovery, in the order of time.
export function momentsOf(judged, texts) {
  const found = [];
  judged.forEach(({ outcomes, alarms }, learner) => {
    outcomes.forEach(({ change, back }, i) => {
      if (learner === 0) found.push({ at: change, kind: "change", learner: null, text: texts[i] ?? "" });
      if (back !== null) found.push({ at: back, kind: "back", learner, text: "" });
    });
    found.push(...alarms.map((at) => ({ at, kind: "alarm", learner, text: "" })));
  });
  const place = ({ learner }) => (learner === null ? -1 : learner);
  return found.sort((a, b) => a.at - b.at || place(a) - place(b));
}
