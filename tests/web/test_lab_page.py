"""The Drift lab in one file: decisions of its WebAssembly against those of Python."""

import base64
import json
import random
import re
from dataclasses import replace

import numpy as np

from tests.support.node import needs_node, node
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import Experiment
from tmlcd_core.learners import CondensingInTime
from tmlcd_core.viz.lab import picture_of_experiment, run_of
from tmlcd_core.web.lab_page import LIVE, PLAIN, lab_page

pytestmark = needs_node

# Runs the page's own code on the data inside the page, for each change of its fields.
PROGRAM = """
import fs from "node:fs";
import { bytes, makePool } from "WEB/data.js";
import { compose } from "WEB/stream.js";
import { compile, hasTest, Learner } from "WEB/learners.js";
import { judge, soFar } from "WEB/judgement.js";
import { playerRun } from "WEB/player_run.js";
const { file, cases } = JSON.parse(fs.readFileSync(0, "utf8"));
const text = fs.readFileSync(file, "utf8");
const element = (id) => new RegExp(`<script type="[a-z/]+" id="${id}">([^<]*)</script>`).exec(text)[1];
const page = JSON.parse(element("page"));
const pool = makePool(page.pool, await bytes(element("features")));
const modules = await compile(await bytes(element("learners")), await bytes(element("tandem")));
const learners = new Map();
const answers = cases.map((changed) => {
  const experiment = { ...page.experiment, ...changed };
  try {
    const stream = compose(experiment, pool);
    const played = [];
    const traces = experiment.learners.map((name) => {
      if (!learners.has(name)) learners.set(name, new Learner(modules, name));
      const learner = learners.get(name);
      for (const _ of learner.run(stream, experiment));
      const { classes, predictions, sizes, statistic, detections, changePoints, correct } = learner.trace;
      played.push({ ...learner.trace, hasTest: hasTest(name) });
      const judged = judge(correct, detections, stream.changes, stream.ends);
      return {
        predictions: Array.from(predictions, (code) => classes[code]), sizes: [...sizes], detections, changePoints,
        statistic: [...statistic], rows: soFar([judged], [hasTest(name)], stream.changes, page.hints),
      };
    });
    const options = { title: "", threshold: 1, hints: page.hints, digest: "", classLooks: page.class_looks };
    const looks = experiment.learners.map((name) => page.looks[name] ?? {});
    const shown = Buffer.from(playerRun(page.template, looks, played, stream, options));
    return { labels: stream.labels.slice(stream.initial), traces, shown: shown.toString("base64") };
  } catch (error) {
    return { error: error.message };
  }
});
console.log(JSON.stringify(answers));
"""


def page_of(experiment, path):
    pool = experiment.feature_pool()
    stream = experiment.stream(pool)
    run = experiment.run_stream(stream)
    traces = {name: one.trace for name, one in run.learners.items()}
    tested = [name for name, one in run.learners.items() if one.has_test]
    path.write_text(lab_page(experiment, pool, stream, traces, tested, "A <run>"), encoding="utf-8")
    return pool, stream, run


def header_of(packed):
    """Header of a run for the player, with its arrays in place of their references."""
    start = 4 + int.from_bytes(packed[:4], "little")

    def filled(value):
        if isinstance(value, list):
            return [filled(one) for one in value]
        if isinstance(value, dict) and value.keys() == {"type", "offset", "size"}:
            return np.frombuffer(packed, f"<{value['type']}", value["size"], start + value["offset"]).tolist()
        return {key: filled(one) for key, one in value.items()} if isinstance(value, dict) else value

    return filled(json.loads(packed[4:start]))


def compare_shown(mine, shown):
    """Story, moments, texts and, in the plane, the picture with T of each learner at every time."""
    for name in ("story", "moments", "change_texts"):
        assert mine[name] == shown[name]
    assert [one["dropped"] for one in mine["learners"]] == [one["dropped"] for one in shown["learners"]]
    if shown["picture"] is None:
        assert mine["picture"] is None
        return
    for name in ("title", "regions", "initial", "classes", "x", "y", "label"):
        assert mine["picture"][name] == shown["picture"][name], name
    for found, wanted in zip(mine["picture"]["learners"], shown["picture"]["learners"], strict=True):
        assert found["said"] == wanted["said"]
        if wanted["T"]:
            assert (found["k"], found["by_distance"]) == (wanted["k"], wanted["by_distance"])
            parts = ("place", "label", "enters", "leaves")
            assert sorted(zip(*(found["T"][one] for one in parts), strict=True)) == sorted(
                zip(*(wanted["T"][one] for one in parts), strict=True)
            )


def compare(answer, run, stream, shown):
    """Every decision of every learner, the rows of the player's table, its story and its picture."""
    assert answer["labels"] == stream.y.tolist()
    compare_shown(header_of(base64.b64decode(answer["shown"])), header_of(shown.pack()))
    for number, (name, found) in enumerate(zip(run.learners, answer["traces"], strict=True)):
        trace = run.learners[name].trace
        assert found["predictions"] == trace.predictions.tolist(), name
        assert found["sizes"] == trace.sizes.tolist(), name
        assert found["detections"] == trace.detections.tolist(), name
        assert found["changePoints"] == trace.change_points.tolist(), name
        statistic = np.array([np.nan if g is None else g for g in found["statistic"]])
        np.testing.assert_allclose(statistic, trace.statistic, rtol=1e-9, atol=1e-9)
        mine = {row["name"]: row["cells"][0] for row in found["rows"]}
        for row in shown.so_far():
            cell = row["cells"][number]
            assert mine.get(row["name"]) == cell, (name, row["name"])


def check(experiment, cases, path):
    """Run the page on changed fields, and Python on the same; return how many of them ran."""
    pool, *_ = page_of(experiment, path)
    answers = node(PROGRAM, {"file": str(path), "cases": cases})
    done = 0
    for fields, answer in zip(cases, answers, strict=True):
        try:
            changed = replace(experiment, **fields)
            stream = changed.stream(pool)
            run = changed.run_stream(stream)
        except TmlcdError as error:
            assert "error" in answer, (fields, error)
            continue
        assert "error" not in answer, (fields, answer)
        threshold = fields.get("settings", {}).get("threshold", 25.0)
        tested = [name for name, one in run.learners.items() if one.has_test]
        traces = {name: one.trace for name, one in run.learners.items()}
        picture = picture_of_experiment(changed, stream, traces) if stream.X.shape[1] == 2 else None
        compare(answer, run, stream, run_of("", stream, traces, threshold, tested, picture))
        done += 1
    return done


def settings_of_sliders(rng, most_classes, each):
    learners = rng.sample(LIVE, rng.randint(1, 3))
    return {
        "classes": rng.randint(2, most_classes),
        "drift": rng.choice(PLAIN),
        "at": rng.randint(1, 99) / 100,
        "seed": rng.randint(0, 2**32 - 1),
        "learners": learners,
        "settings": {
            "threshold": rng.choice([1.0, 5.0, 25.0, 60.0]),
            "batch": rng.choice([10, 50]),
            "warmup": rng.choice([20, 100]),
            "k": rng.choice(["sqrt", 1, 5]),
            "weights": rng.choice(["uniform", "distance"]),
        },
        "max_bytes": rng.choice([None, None, 8 * each, 30 * each, 200 * each]),
    }


def test_100_random_settings_of_the_sliders_give_the_decisions_of_python(tmp_path):
    rng = random.Random(11)
    points = Experiment("points", classes=3, per_class=150, train=30)
    cases = [settings_of_sliders(rng, 9, 16) for _ in range(100)]
    assert check(points, cases, tmp_path / "points.html") > 85


def test_shipped_words_give_the_decisions_of_python(tmp_path):
    rng = random.Random(12)
    pack = Experiment("pack", classes=3, per_class=120, train=20)
    cases = [settings_of_sliders(rng, 3, 4 * 715 + 8) for _ in range(12)]
    assert check(pack, [{}, *cases], tmp_path / "pack.html") > 6


def test_own_features_give_the_run_of_python(tmp_path):
    digits = Experiment(
        "digits", classes=2, per_class=60, train=10, seed=3, learners=("hybrid", "cit", "active", "tandem")
    )
    _, stream, run = page_of(digits, tmp_path / "digits.html")
    (answer,) = node(PROGRAM, {"file": str(tmp_path / "digits.html"), "cases": [{}]})
    traces = {name: one.trace for name, one in run.learners.items()}
    compare(answer, run, stream, run_of("", stream, traces, 25.0, ["hybrid", "active", "tandem"]))


def test_long_stream_gives_the_decisions_of_python_on_every_line(tmp_path):
    long = Experiment(
        "points", classes=4, per_class=5000, drift="recurring", learners=("cit", "active", "hybrid", "tandem")
    )
    assert check(long, [{}, {"settings": {"weights": "distance"}}], tmp_path / "long.html") == 2


def test_page_says_why_its_sliders_are_off(tmp_path):
    for fields, reason in (
        ({"learners": (CondensingInTime(),)}, "none of these learners"),
        ({"labels": 0.5}, "missing, late or wrong labels"),
        ({"settings": {"likelihood": "binomial"}}, "no setting likelihood"),
        ({"data": "digits", "classes": 9, "learners": ("cit",)}, "MB, a page holds 12 MB"),
    ):
        experiment = Experiment(**{"data": "points", "classes": 2, "per_class": 90, "train": 5} | fields)
        page_of(experiment, tmp_path / "still.html")
        text = (tmp_path / "still.html").read_text("utf-8")
        assert reason in text and 'id="classes"' not in text


def test_page_asks_no_other_host_and_escapes_its_title(tmp_path):
    page_of(Experiment("points", classes=2, per_class=40, train=5), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "A &lt;run&gt;" in text and "<run>" not in text
    assert not re.search(r'(src|href|url)\s*[=(]\s*["\']?(https?:)?//', text)
    assert "default-src 'none'" in text and "unsafe-inline" not in text
