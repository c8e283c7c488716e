// Streams with concept drift: the scenarios of tmlcd_core/streams, sample for sample.
//
// An experiment has the fields of tmlcd_core.Experiment that a page can change. A pool holds the features:
// { name, classes, counts: {class: number}, step, preset: {words, new} or null, rows(origin): Float32Array[] }.

import { CLASSES, Draws, MEDIA, ORDER } from "./draws.js";

const SHARE = 0.9; // of the samples of the largest classes; smaller classes are not drawn
const INITIAL = 5; // if a class is too small, 1 of INITIAL samples is used for initial training
const FEWEST = 2; // samples per class of a stream
const DRAWN = ""; // key of all classes that are drawn
export const AFFECTS = { "class-change": 1, recurring: 1, "labels-swapped": 2 }; // classes affected by default

const pairs = (values) => values.slice(1).map((value, i) => [values[i], value]);
const unique = (values) => [...new Set(values)];
const range = (n) => Array.from({ length: n }, (_, i) => i);

// Python's round: halves go to the even number.
function roundEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2) ? below + 1 : below;
}

// ---------------------------------------------------------------- drifts

// The drifts of each kind in the order of time; several in one list take place at the same time.
const PARTS = {
  "class-change": (details) => [classChange(details)],
  noise: (details) => [[noise(details)]],
  "class-added": ({ fresh }) => [[{ kind: "class-added", fresh }]],
  "class-removed": () => [[{ kind: "class-removed", old: null }]],
  "labels-swapped": ({ affected }) => [range(Math.max(1, affected - 1)).map((place) => swap(place))],
  recurring: (details) => [classChange(details), [{ kind: "return" }]],
  several: (details) => [classChange(details), [noise(details)], [swap(0)]],
  none: () => [],
};

function classChange({ fresh, affected }) {
  const others = range(Math.max(0, affected - 1)).map((i) => ({ kind: "class-change", old: null, fresh: null, place: i + 1 }));
  return [{ kind: "class-change", old: null, fresh, place: 0 }, ...others];
}

const noise = ({ effect, strength }) => ({ kind: "noise", effect, strength });
const swap = (place) => ({ kind: "labels-swapped", first: null, second: null, place });

const brings = (drift) => (drift.kind === "class-change" || drift.kind === "class-added" ? 1 : 0);
const isOpen = (scenario) => scenario.number !== null || scenario.drifts.some((drift) => Object.values(drift).includes(null));

function namesOf(scenario) {
  const found = [...scenario.classes];
  for (const { old, first, second, fresh } of scenario.drifts) found.push(...[old, first, second, fresh].filter((name) => name));
  return unique(found);
}

export const changesOf = (scenario) => unique(scenario.drifts.map((drift) => drift.at)).sort((a, b) => a - b);
const endsOf = (scenario) => changesOf(scenario).map((at) =>
  Math.max(...scenario.drifts.filter((drift) => drift.at === at).map((drift) => drift.at + drift.over)));

function makeScenario(experiment, words, details, perClass, train) {
  const { classes, drift } = experiment;
  const usual = AFFECTS[drift] ?? 0;
  if (details.affected && !(usual <= details.affected && details.affected <= classes))
    throw new Error(`This drift cannot affect ${details.affected} of ${classes} classes. Choose ${usual} to ${classes}.`);
  const parts = PARTS[drift](details);
  const length = perClass * classes;
  const first = Math.min(Math.max(1, roundEven(experiment.at * length)), length - 1);
  const bounds = range(parts.length + 1).map((i) => first + Math.floor(((length - first) * i) / Math.max(parts.length, 1)));
  const drifts = parts.flatMap((part, i) =>
    part.map((one) => ({ ...one, at: bounds[i], over: Math.trunc(experiment.over * (bounds[i + 1] - bounds[i])) })));
  return { number: classes, classes: words.slice(0, classes), drifts, length, train };
}

// ---------------------------------------------------------------- concepts: Map from label to origin

const origin = (word, effect = "", strength = 0) => ({ word, effect, strength });

function draw(spare) {
  if (!spare.length) throw new Error("This drift needs one more class than the data have. Use fewer classes or another drift.");
  return spare.shift();
}

function fromPlace(names, { kind, place }) {
  const last = names.length - (kind === "labels-swapped" ? 2 : 1);
  if (place > last) throw new Error(`This drift cannot change so many of ${names.length} classes.`);
  return names.slice(place);
}

// The drift with all class names filled in.
function completeDrift(drift, names, spare) {
  if (drift.kind === "class-change")
    return { ...drift, old: drift.old ?? fromPlace(names, drift)[0], fresh: drift.fresh ?? draw(spare) };
  if (drift.kind === "class-added") return { ...drift, fresh: drift.fresh ?? draw(spare) };
  if (drift.kind === "class-removed") return { ...drift, old: drift.old ?? names[0] };
  if (drift.kind === "labels-swapped") {
    const later = drift.first || drift.second ? names : fromPlace(names, drift);
    const first = drift.first ?? later.find((name) => name !== drift.second);
    return { ...drift, first, second: drift.second ?? later.find((name) => name !== first) };
  }
  return drift;
}

function refuseAgain(concept, word) {
  for (const [label, there] of concept)
    if (there.word === word) throw new Error(`The class “${word}” already has the label “${label}”. Choose another class.`);
}

function applyDrift(drift, concepts) {
  const concept = new Map(concepts.at(-1));
  if (drift.kind === "class-change") {
    refuseAgain(concept, drift.fresh);
    concept.set(drift.old, { ...concept.get(drift.old), word: drift.fresh });
  } else if (drift.kind === "class-added") {
    if (concept.has(drift.fresh)) throw new Error(`The class “${drift.fresh}” already exists. Choose another class.`);
    refuseAgain(concept, drift.fresh);
    concept.set(drift.fresh, { ...concept.values().next().value, word: drift.fresh });
  } else if (drift.kind === "class-removed") {
    if (concept.size < 3) throw new Error("“A class disappears” needs at least 3 classes.");
    concept.delete(drift.old);
  } else if (drift.kind === "labels-swapped") {
    const [one, other] = [concept.get(drift.first), concept.get(drift.second)];
    concept.set(drift.first, other).set(drift.second, one);
  } else if (drift.kind === "noise") {
    const on = drift.strength > 0;
    for (const [label, there] of concept)
      concept.set(label, origin(there.word, on ? drift.effect : "", on ? drift.strength : 0));
  } else return new Map(concepts[0]); // return to the first concept
  return concept;
}

export function conceptsOf(scenario) {
  const concepts = [new Map(scenario.classes.map((name) => [name, origin(name)]))];
  for (const drift of scenario.drifts) concepts.push(applyDrift(drift, concepts));
  return concepts;
}

// The scenario of one run: all open class names drawn from `drawnFrom`.
function complete(scenario, available, seed, drawnFrom = available) {
  const named = namesOf(scenario);
  const unknown = named.find((name) => !available.includes(name));
  if (unknown !== undefined) throw new Error(`There is no class “${unknown}”.`);
  const spare = new Draws(seed, CLASSES).shuffled(drawnFrom).filter((name) => !named.includes(name));
  let { classes } = scenario;
  if (scenario.number !== null) {
    const kept = [...classes];
    if (scenario.number - kept.length > spare.length)
      throw new Error(`The data have ${available.length} classes; this drift needs more. Use fewer classes.`);
    while (kept.length < scenario.number) kept.push(spare.shift());
    classes = kept.slice(0, scenario.number);
  }
  const concepts = [new Map(classes.map((name) => [name, origin(name)]))];
  const drifts = [];
  for (const drift of scenario.drifts) {
    drifts.push(completeDrift(drift, [...concepts.at(-1).keys()], spare));
    concepts.push(applyDrift(drifts.at(-1), concepts));
  }
  return { ...scenario, number: null, classes, drifts };
}

// ---------------------------------------------------------------- length of the stream

const size = (scenario) => scenario.number ?? scenario.classes.length;
const classesNeeded = (scenario) => size(scenario) + scenario.drifts.reduce((sum, drift) => sum + brings(drift), 0);

// Concepts that samples between `begin` and the next change may belong to.
function conceptsFrom(scenario, begin) {
  const started = range(scenario.drifts.length).map((i) => i + 1).filter((i) => scenario.drifts[i - 1].at <= begin);
  const newest = started.at(-1) ?? 0;
  const ramps = started.filter((i) => scenario.drifts[i - 1].at === begin);
  if (!ramps.some((i) => scenario.drifts[i - 1].over)) return [newest];
  return range(newest - ramps[0] + 2).map((i) => ramps[0] - 1 + i);
}

// Most samples that a run needs, over all seeds: Map from class (drawn ones: "") to number.
function samplesNeeded(scenario) {
  const named = namesOf(scenario);
  if (isOpen(scenario)) scenario = complete(scenario, unique([...named, ...range(classesNeeded(scenario)).map(String)]), 0);
  const concepts = conceptsOf(scenario);
  const needed = new Map();
  for (const word of namesOf(scenario)) {
    let total = concepts[0].has(word) ? scenario.train : 0;
    for (const [begin, end] of pairs([0, ...changesOf(scenario), scenario.length])) {
      const there = conceptsFrom(scenario, begin);
      const sizes = there.filter((i) => [...concepts[i].values()].some((o) => o.word === word)).map((i) => concepts[i].size);
      if (sizes.length) total += Math.ceil((end - begin) / Math.min(...sizes)) + there.length - 1;
    }
    const key = named.includes(word) ? word : DRAWN;
    needed.set(key, Math.max(total, needed.get(key) ?? 0));
  }
  return needed;
}

function fits(scenario, have) {
  const needed = samplesNeeded(scenario);
  return [...have].every(([word, n]) => needed.get(word) <= n);
}

function longest(isFitting, asked) {
  let [low, high] = [Math.min(asked, FEWEST), asked];
  if (!isFitting(low)) return null;
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2);
    [low, high] = isFitting(middle) ? [middle, high] : [low, middle - 1];
  }
  return low;
}

// The scenario of a run: classes drawn, as long as requested or as the data allow.
export function scenarioOf(experiment, pool) {
  const { seed } = experiment;
  const given = experiment.words.slice(0, experiment.classes);
  const preset = !given.length && pool.preset;
  const words = preset ? preset.words.slice(0, experiment.classes) : given;
  const fresh = experiment.new ?? experiment.words[experiment.classes] ?? (preset ? preset.new : null);
  const affected = experiment.affected === AFFECTS[experiment.drift] || !AFFECTS[experiment.drift] ? 0 : experiment.affected;
  const details = { fresh, affected, effect: experiment.effect, strength: experiment.strength };
  const make = (perClass, train) => makeScenario(experiment, words, details, perClass, train);
  const asked = [experiment.per_class, experiment.train];
  const scenario = make(...asked);
  complete(scenario, pool.classes, seed);
  const needed = samplesNeeded(scenario);
  const others = pool.classes.filter((word) => !needed.has(word)).map((word) => pool.counts[word]).sort((a, b) => b - a);
  const drawn = classesNeeded(scenario) - needed.size + (needed.has(DRAWN) ? 1 : 0);
  const have = new Map([...needed.keys()].filter((word) => word !== DRAWN).map((word) => [word, pool.counts[word]]));
  let eligible;
  if (drawn) {
    const enough = SHARE * Math.min(needed.get(DRAWN), others[drawn - 1]);
    eligible = pool.classes.filter((word) => !needed.has(word) && pool.counts[word] >= enough);
    have.set(DRAWN, Math.min(...eligible.map((word) => pool.counts[word])));
  }
  const ratio = (word) => (needed.get(word) ? have.get(word) / needed.get(word) : Infinity); // 0: a concept of no samples
  const tight = [...have.keys()].reduce((best, word) => (ratio(word) < ratio(best) ? word : best));
  if (have.get(tight) >= needed.get(tight)) return complete(scenario, pool.classes, seed, eligible);
  const train = Math.min(asked[1], Math.max(1, Math.floor(have.get(tight) / INITIAL)));
  const perClass = longest((n) => fits(make(n, train), have), asked[0]);
  if (perClass === null) throw new Error("The file has too few samples for this drift.");
  return complete(make(perClass, train), pool.classes, seed, eligible);
}

// ---------------------------------------------------------------- the samples

function orderLabels(scenario, seed) {
  const concepts = conceptsOf(scenario);
  const draws = new Draws(seed, ORDER);
  const { length } = scenario;
  const concept = new Int32Array(length);
  const fresh = new Map();
  scenario.drifts.forEach((drift, i) => {
    const chances = draws.uniform(length);
    const key = `${drift.at} ${drift.over}`; // simultaneous drifts are one change
    if (!fresh.has(key)) fresh.set(key, chances.map((u, t) => (t >= drift.at && u < Math.min(1, (t - drift.at + 1) / Math.max(drift.over, 1)) ? 1 : 0)));
    fresh.get(key).forEach((passed, t) => passed && (concept[t] = i + 1));
  });
  const labels = new Array(length);
  const bounds = unique([0, ...scenario.drifts.map((drift) => drift.at), length]).sort((a, b) => a - b);
  for (const [begin, end] of pairs(bounds)) {
    const there = concept.subarray(begin, end);
    for (const number of unique(there).sort((a, b) => a - b)) {
      const places = range(end - begin).filter((t) => there[t] === number);
      const names = [...concepts[number].keys()];
      const turn = draws.permutation(names.length);
      draws.permutation(places.length).forEach((from, t) => (labels[begin + places[t]] = names[turn[from % names.length]]));
    }
  }
  const first = draws.shuffled([...concepts[0].keys()].flatMap((name) => Array(scenario.train).fill(name)));
  const found = [...first.map((name) => concepts[0].get(name)), ...labels.map((name, t) => concepts[concept[t]].get(name))];
  return { labels: [...first, ...labels], found };
}

// The samples of a run: labels and feature rows, those of the initial training set first (`initial` of them).
export function compose(experiment, pool) {
  if (pool.recorded) return { ...pool.recorded, changes: [], ends: [] };
  const scenario = scenarioOf(experiment, pool);
  const { labels, found } = orderLabels(scenario, experiment.seed);
  const draws = new Draws(experiment.seed, MEDIA);
  const key = ({ word, effect, strength }) => JSON.stringify([word, effect, strength]);
  const places = new Map();
  const needed = new Map();
  found.forEach((one, t) => {
    if (!places.has(key(one))) places.set(key(one), []);
    places.get(key(one)).push(t);
    needed.set(one.word, (needed.get(one.word) ?? 0) + 1);
  });
  const rows = new Array(labels.length);
  const chosen = new Map();
  const used = new Map();
  for (const there of places.values()) {
    const one = found[there[0]];
    const features = pool.rows(one);
    const n = needed.get(one.word);
    const count = pool.step ? Math.min(pool.counts[one.word], Math.ceil(n / pool.step) * pool.step) : pool.counts[one.word];
    if (!features || features.length < count) throw new Error("This file does not hold the samples that these settings need.");
    if (!chosen.has(one.word)) chosen.set(one.word, draws.permutation(count));
    const begin = used.get(one.word) ?? 0;
    there.forEach((t, i) => (rows[t] = features[chosen.get(one.word)[begin + i]]));
    used.set(one.word, begin + there.length);
  }
  return { labels, rows, initial: labels.length - scenario.length, changes: changesOf(scenario), ends: endsOf(scenario), scenario };
}
