"""Streams composed in JavaScript against those of `Experiment`, sample for sample."""

import random

import numpy as np

from tests.support.node import needs_node, node
from tmlcd_core.datasets import Dataset
from tmlcd_core.draws import Draws
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import Experiment
from tmlcd_core.streams import DRIFTS, DatasetPool
from tmlcd_core.streams.drifts import DRIFTS as KINDS

pytestmark = needs_node

PROGRAM = """
import fs from "node:fs";
import { Draws } from "WEB/draws.js";
import { compose } from "WEB/stream.js";
const { pools, cases, draws } = JSON.parse(fs.readFileSync(0, "utf8"));
const answers = cases.map(({ pool, experiment }) => {
  const made = pools[pool];
  made.rows = ({ word, effect, strength }) =>
    Array.from({ length: made.counts[word] }, (_, i) => `${word} ${i} ${effect} ${strength}`);
  try {
    const { labels, rows, changes, ends, initial } = compose(experiment, made);
    return { labels, rows, changes, ends, initial };
  } catch (error) {
    return { error: error.message };
  }
});
const drawn = draws.map(([seed, purpose, n]) => {
  const made = new Draws(seed, BigInt(purpose));
  return [Array.from(made.integers(n), String), Array.from(made.uniform(n)), made.permutation(n)];
});
console.log(JSON.stringify({ answers, drawn }));
"""


def small_pool(counts: dict[str, int]) -> DatasetPool:
    y = np.repeat(list(counts), list(counts.values()))
    index = np.concatenate([np.arange(n) for n in counts.values()])
    return DatasetPool(Dataset("small", np.zeros((len(y), 1), np.float32), y, index))


def random_case(rng: random.Random) -> tuple[dict[str, int], dict]:
    names = rng.sample(["yes", "no", "up", "stop", "left", "0", "1", "été"], rng.randint(3, 8))
    size = rng.choice([30, 400])
    counts = {name: rng.randint(size // 3, size) for name in names}
    classes = rng.randint(2, max(2, len(names) - 1))
    drift = rng.choice([name for name, kind in DRIFTS.items() if not kind.disturbs])
    words = rng.sample(names, rng.randint(0, len(names)))
    fresh = rng.choice([None, *[name for name in names if name not in words]])
    affected = rng.choice([0, 0, 1, 2, 3]) if KINDS[drift].affects else 0
    return counts, {
        "classes": classes,
        "words": words,
        "new": fresh,
        "drift": drift,
        "affected": affected,
        "at": round(rng.random(), 2),
        "over": rng.choice([0.0, 0.0, 0.3, 1.0]),
        "per_class": rng.choice([7, 60, 200]),
        "train": rng.choice([1, 5, 20]),
        "seed": rng.randint(0, 2**32 - 1),
    }


def test_draws_are_those_of_python():
    wanted = [(0, 1, 5), (1, 2, 100), (2**32 - 1, 3, 1000)]
    found = node(PROGRAM, {"pools": [], "cases": [], "draws": wanted})["drawn"]
    for (seed, purpose, n), (integers, uniform, permutation) in zip(wanted, found, strict=True):
        made = Draws(seed, purpose)
        assert [int(i) for i in integers] == made.integers(n).tolist()
        assert uniform == made.uniform(n).tolist()
        assert permutation == made.permutation(n).tolist()


def test_streams_are_those_of_python():
    rng = random.Random(7)
    pools, cases, expected = [], [], []
    for number in range(300):
        counts, fields = random_case(rng)
        pool = small_pool(counts)
        try:
            stream = Experiment("points", **fields).stream(pool)
            both = zip((*stream.origin0, *stream.origin), (*stream.index0, *stream.index), strict=True)
            rows = [f"{stream.origins[o].word} {i}  0" for o, i in both]
            answer = {
                "labels": [*stream.y0.tolist(), *stream.y.tolist()],
                "rows": rows,
                "changes": list(stream.changes),
                "ends": list(stream.ends),
                "initial": len(stream.y0),
            }
        except TmlcdError:
            answer = None
        pools.append({"classes": list(counts), "counts": counts, "step": 0, "preset": None})
        cases.append({"pool": number, "experiment": {**fields, "effect": "", "strength": 1.0}})
        expected.append(answer)
    found = node(PROGRAM, {"pools": pools, "cases": cases, "draws": []})["answers"]
    for case, want, got in zip(cases, expected, found, strict=True):
        assert ("error" in got) == (want is None), (case, got.get("error"), want and want["changes"])
        assert want is None or got == want, case
    assert sum(want is not None for want in expected) > 150
    assert sum(want is None for want in expected) > 10
