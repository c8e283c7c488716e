"""Chart, table and sentence of the compared detectors."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from tmlcd_core.cli.command import plain
from tmlcd_core.detectors import benchmark
from tmlcd_core.viz import detectors

SHIPPED = json.loads((Path(__file__).resolve().parents[2] / "data/detectors.json").read_text("utf-8"))
KIND = SHIPPED["errors"][0]


def delay(kind, name, change="drop of 0.2, abrupt"):
    (one,) = [one for one in kind["detectors"] if one["detector"] == name]
    (found,) = [found for found in one["detections"] if found["name"] == change]
    return found["delay"]["value"]


def test_the_sentence_names_the_detector_with_the_shortest_delay():
    names = [one["detector"] for one in KIND["detectors"]]
    best = min(names, key=lambda name: delay(KIND, name))
    said = detectors.comparison_in_words(KIND, False, SHIPPED["rate"])
    assert said.startswith(f"At 1 % false alarms, {best} finds a drop of 0.2 (abrupt) soonest: after")
    assert f"CUSUM needs {delay(KIND, 'CUSUM'):.0f} and misses" in said


def test_a_detector_that_cannot_keep_the_rate_does_not_win():
    kind = deepcopy(KIND)
    names = [one["detector"] for one in kind["detectors"]]
    best = min(names, key=lambda name: delay(kind, name))
    for one in kind["detectors"]:
        if one["detector"] == best:
            one["calibrated"] = 0.2
    assert f", {best} finds" not in detectors.comparison_in_words(kind, False, 0.01)
    for one in kind["detectors"]:
        one["calibrated"] = 0.5
    assert detectors.comparison_in_words(kind, False, 0.01) == "No detector keeps the rate of 1 % false alarms."


@pytest.mark.parametrize("gradual", [False, True])
@pytest.mark.parametrize("number", range(len(SHIPPED["errors"])))
def test_every_interval_of_the_chart_holds_its_value(number, gradual):
    kind = SHIPPED["errors"][number]
    drawn = detectors.detector_figure(kind, gradual).data
    assert {line.name for line in drawn} == {one["detector"] for one in kind["detectors"]}
    for line in drawn:
        assert min(line.error_y.array) >= 0 <= min(line.error_y.arrayminus)
        assert list(line.x) == sorted(line.x)


def test_own_detectors_are_drawn_and_noted():
    own = benchmark.Detector("mine", lambda level: benchmark.DETECTORS["DDM"].make(level), 100, 0.5, "h")
    quiet = benchmark.bernoulli(0.8, streams=80, samples=300)
    changed = [benchmark.bernoulli(0.8, drop, 5, 300) for drop in (0.2, 0.5)]
    results = benchmark.compare([own], quiet, changed, rate=0.05)
    kind = plain({"name": "mine", "streams": 40, "samples": 300, "detectors": results})
    assert len(detectors.detector_figure(kind).data) == 2
    (row,) = detectors.table(kind)
    assert row["Detector"] == "mine" and row["Change point off by"] == "–" and row["Streams"] == "40"
    assert detectors.notes(kind)[-1] == "Calibrated on fewer streams, as a Python object: mine (40)."
    assert "mine finds" in detectors.comparison_in_words(kind, False, 0.05)


def test_the_notes_say_how_far_rates_differ_by_chance():
    kind = SHIPPED["errors"][0]
    shares = {one["detector"]: one["false_alarms"]["value"] for one in kind["detectors"] if not one["note"]}
    name = max(shares, key=lambda name: abs(shares[name] - 0.01))
    note = detectors.notes(kind)[0]
    assert f"{name} differs most: calibrated to 1.00 %, found {100 * shares[name]:.2f} %" in note
    assert "up to 0.28 points" in note and abs(shares[name] - 0.01) < 0.0028, "1.96 sqrt(2 · 0.01 · 0.99 / 10,000)"
