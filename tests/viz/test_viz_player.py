"""Bytes of the player, read by an independent decoder, and the palette under colour blindness."""

import itertools
import json
import re
import shutil
import struct
import subprocess
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.experiments.test_evaluation import random_run
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments import Experiment, evaluate, summarise
from tmlcd_core.learners import LEARNERS as REGISTERED
from tmlcd_core.learners import Trace
from tmlcd_core.metrics import accuracy_curve
from tmlcd_core.viz import showcase
from tmlcd_core.viz.lab import figures, picture_of, plane_figure, run_of, spreads
from tmlcd_core.viz.matplotlib_figures import Plane, planes
from tmlcd_core.viz.palette import COMPARED, LEARNER_STYLES, SPARE, styles
from tmlcd_core.viz.player import Panel, PlayerRun, number_text, player_script, readable, recovery_text

LIGHT, DARK = "#ffffff", "#171614"  # Streamlit's backgrounds


def decode(data: bytes) -> tuple[dict, bytes]:
    (size,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + size]), data[4 + size :]


def small_run(**more) -> PlayerRun:
    panel = Panel("Accuracy", "accuracy", {"cit": np.array([np.nan, 0.25, 1.0]), "mine": np.arange(3.0)})
    memory = Panel("Memory", "|T|", {"mine": np.array([1, 2, 3])}, deviation={"mine": np.ones(3)})
    correct = {"cit": np.array([True, False, True])}
    values = {
        "title": "A <b>run</b>",
        "panels": (panel, memory),
        "learners": ("cit", "mine"),
        "correct": correct,
    }
    return PlayerRun(**(values | more))


def test_arrays_come_back_where_the_header_says():
    header, body = decode(small_run(alarms={"mine": [np.int64(2)]}, change_points={"mine": [1]}).pack(start=1))
    at = header["panels"][0]["curves"][0]
    curve = np.frombuffer(body, "<f4", header["length"], at["offset"])
    np.testing.assert_array_equal(curve, np.array([np.nan, 0.25, 1.0], dtype="f4"))
    at = header["learners"][0]["correct"]
    assert list(np.frombuffer(body, np.uint8, 3, at["offset"])) == [1, 0, 1]
    assert header["panels"][1]["curves"][0] is None
    assert header["learners"][0]["alarms"] is None
    assert header["learners"][1]["alarms"] == [2]
    assert header["start"] == 1


def test_alarms_are_shown_without_a_statistic():
    """river's detectors have none, and their alarms count all the same."""
    none, nan = np.empty(0, np.int64), np.full(3, np.nan)
    alarmed = Trace(np.arange(3), np.ones(3, np.int32), nan, np.array([2]), np.array([1]), nan[:1])
    quiet = Trace(np.arange(3), np.ones(3, np.int32), nan, none, none, nan[:0])
    run = PlayerRun.from_traces("x", {"active": alarmed, "static": quiet}, np.arange(3), threshold=25.0)
    assert run.alarms == {"active": (2,)} and run.change_points == {"active": (1,)}
    assert run.panels[2].curves == {}


def test_a_chart_of_nothing_yet_is_no_warning():
    panel = Panel("g", "g", {"mine": np.full(3, np.nan)}, threshold=25.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert readable(panel) == panel


def test_more_classes_than_colours_in_the_plane():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 8
    assert len(planes([Plane("eight", X, y, lambda ground: np.zeros(len(ground), int))]).axes) == 1
    figure = plane_figure(X, y, np.arange(8), X[0], X[1:3], "Hybrid")
    looks = {trace.name: (trace.marker.color, trace.marker.symbol) for trace in figure.data[:8]}
    assert len(set(looks.values())) == 8
    other = plane_figure(X[y > 4], y[y > 4], np.arange(8), X[0], X[1:3], "Active")
    assert {trace.name: (trace.marker.color, trace.marker.symbol) for trace in other.data[:3]}.items() <= looks.items()


@given(arrays(np.float32, st.tuples(st.just(4), st.integers(1, 40)), elements=st.floats(width=32)))
def test_any_curves_survive_the_way_to_the_browser(values):
    names = ("hybrid", "a", "b", "c")
    run = PlayerRun("x", (Panel("p", "p", dict(zip(names, values, strict=True))),), names)
    header, body = decode(run.pack())
    for ref, expected in zip(header["panels"][0]["curves"], values, strict=True):
        assert ref["offset"] % 4 == 0
        np.testing.assert_array_equal(np.frombuffer(body, "<f4", header["length"], ref["offset"]), expected)


def test_equal_runs_have_equal_bytes_and_any_difference_another_digest():
    assert small_run().pack() == small_run().pack()
    digest = decode(small_run().pack())[0]["digest"]
    assert decode(small_run().pack(start=2, speed=10))[0]["digest"] == digest
    assert decode(small_run(changes=(1,)).pack())[0]["digest"] != digest
    assert decode(small_run(correct={"cit": np.array([1, 1, 1])}).pack())[0]["digest"] != digest


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.integers(1, 100))
def test_accuracy_curve_is_the_convolution_of_the_paper(correct, taps):
    curve = accuracy_curve(correct, taps)
    assert len(curve) == len(correct)
    assert np.isnan(curve[: taps - 1]).all()
    if len(correct) >= taps:
        expected = np.convolve(correct, np.full(taps, 1 / taps), mode="valid")
        np.testing.assert_allclose(curve[taps - 1 :], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"learners": ()}, "1 to 8"),
        ({"learners": tuple("abcdefghi")}, "1 to 8"),
        ({"learners": ("cit", "cit")}, "different"),
        ({"learners": ("cit",)}, "'mine'"),
        ({"correct": {"cit": np.ones(4)}}, "(4,)"),
        ({"panels": ()}, "correct"),
        ({"panels": (), "correct": {}}, "without samples"),
    ],
)
def test_what_cannot_be_played_is_named(more, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        small_run(**more).pack()


def test_the_shipped_run_of_home_is_what_the_learners_do_with_the_pack(tmp_path):
    computed = showcase.compute()
    with np.load(showcase.PLACE / showcase.FILE) as shipped:
        assert set(shipped.files) == set(computed)
        for name in shipped.files:
            message = f"{name}: run `python -m tmlcd_core data pack --out data/` after a change of the learners"
            if shipped[name].dtype.kind == "f":
                np.testing.assert_allclose(shipped[name], computed[name], rtol=1e-9, err_msg=message)
            else:
                np.testing.assert_array_equal(shipped[name], computed[name], err_msg=message)
    with pytest.raises(DataError, match="data pack"):
        showcase.load_showcase(tmp_path)


def test_what_is_shipped_stays_small():
    results = [*(showcase.PLACE / "paper").iterdir(), showcase.PLACE / "detectors.json"]
    pack = [path for path in showcase.PLACE.rglob("*") if path.is_file() and path not in results]
    assert sum(path.stat().st_size for path in pack) < 3_000_000  # as data/README.md says
    assert sum(path.stat().st_size for path in results) < 1_000_000


# ---------------------------------------------------------------- palette


def linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    high, low = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira and Fernandes (2009), severity 1.
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}


@pytest.mark.parametrize("matrix", BLINDNESS.values(), ids=BLINDNESS)
def test_the_papers_learners_stay_apart_for_every_eye(matrix):
    seen = [lab(matrix @ linear(look.colour)) for look in LEARNER_STYLES.values()]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15  # 2.3 is just noticeable


def test_every_colour_stands_out_from_both_backgrounds_and_no_two_share_dashes():
    looks = [(look.colour, look.dash) for look in (LEARNER_STYLES | COMPARED).values()] + list(SPARE)
    for colour, _ in looks:
        assert contrast(colour, LIGHT) >= 3
        assert contrast(colour, DARK) >= 3
    assert len({dash for _, dash in looks}) == len(looks) == len(REGISTERED) + len(SPARE)


def test_every_contestant_has_a_name_and_a_colour_of_its_own():
    looks = styles(REGISTERED)
    assert set(LEARNER_STYLES | COMPARED) == set(REGISTERED)
    for what in ("name", "short", "colour"):
        assert len({getattr(look, what) for look in looks.values()}) == len(REGISTERED)
    assert not {look.name for look in looks.values()} & set(REGISTERED), "a name, not the word of the command line"
    seen = [lab(linear(look.colour)) for look in looks.values()] + [lab(linear(colour)) for colour, _ in SPARE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def test_a_learner_looks_the_same_in_any_company():
    assert styles(["hybrid"])["hybrid"] == styles(["mine", "cit", "hybrid"])["hybrid"]
    looks = styles([*LEARNER_STYLES, "a", "b", "c", "d", "e"]).values()
    assert len({look.colour for look in looks}) == 9


# ---------------------------------------------------------------- the table, by the player's own script

TABLE = """
import { decode, metrics } from "./player.mjs";
import { readFileSync } from "node:fs";
const wanted = JSON.parse(readFileSync("wanted.json", "utf8"));
const tables = wanted.map(({ file, samples }) => {
  const run = decode(new Uint8Array(readFileSync(file)));
  return samples.map((i) => Object.fromEntries(
    metrics(run, i).filter((row) => row.group === "So far").map((row) => [row.name, row.cells])));
});
console.log(JSON.stringify(tables));
"""
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the player's script needs node")


def tables(folder, runs, samples):
    """The rows "So far" that the browser shows for each run at each of these samples."""
    (folder / "player.mjs").write_bytes(player_script().encode())
    (folder / "table.mjs").write_text(TABLE, encoding="utf-8")
    wanted = []
    for number, (run, places) in enumerate(zip(runs, samples, strict=True)):
        (folder / f"{number}").write_bytes(run.pack())
        wanted.append({"file": f"{number}", "samples": places})
    (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
    said = subprocess.run([NODE, "table.mjs"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(said.stdout)


def player_of(correct, alarms, changes, ends):
    """A run of one learner with a test and one without, which predict the same."""
    panel = Panel("Accuracy", "accuracy", {name: accuracy_curve(correct) for name in ("active", "static")})
    hits = {"active": correct, "static": correct}
    seen = {"active": alarms}
    return PlayerRun("x", (panel,), ("active", "static"), tuple(changes), seen, seen, hits, ends=tuple(ends))


@needs_node
def test_the_live_table_ends_with_the_figures_of_the_run(tmp_path):
    """Random alarms, changes and ramps: what the browser shows at the last sample is what `evaluate` says."""
    made = [random_run(seed) for seed in range(200)]
    shown = tables(tmp_path, [player_of(*run) for run in made], [[len(run[0]) - 1] for run in made])
    answers = set()
    for (correct, alarms, changes, ends), [table] in zip(made, shown, strict=True):
        sizes = np.ones(len(correct))
        tested = evaluate(correct, sizes, alarms, alarms, changes, ends)
        without = evaluate(correct, sizes, changes=changes, ends=ends, has_test=False)
        figured = figures({"active": tested, "static": without})
        names = {
            "accuracy": "accuracy",
            "before change": "accuracy before the change",
            "after change": "accuracy after the change",
            "false alarms": "false alarms",
            "delay": "samples until the alarm",
            "recovery": "samples until recovered",
        }
        assert set(table) - {"alarms"} == set(names if changes else ("accuracy", "false alarms"))
        expected = {name: dict(zip(figured[""], cells, strict=True)) for name, cells in figured.items()}
        for row in set(table) & set(names):
            assert table[row] == [expected[name].get(names[row], "–") for name in ("Active", "Static")], row
        assert table["alarms"] == [str(len(alarms)), "–"]
        answers |= set(table.get("recovery", ()))
    assert {"never", "0", "–"} < answers and any(text.isdigit() and int(text) > 99 for text in answers)


@needs_node
def test_the_live_table_tells_no_more_than_is_known(tmp_path):
    made = [random_run(seed) for seed in range(40)]
    places = [list(range(0, len(run[0]), 13)) for run in made]
    shown = tables(tmp_path, [player_of(*run) for run in made], places)
    pending = 0
    for (correct, alarms, changes, ends), samples, found in zip(made, places, shown, strict=True):
        for i, table in zip(samples, found, strict=True):
            begun = [change for change in changes if change <= i]
            until = [alarm for alarm in alarms if alarm <= i]
            known = evaluate(correct[: i + 1], np.ones(i + 1), until, until, begun, ends[: len(begun)])
            assert table["false alarms"][0] == str(known.false_alarms)
            assert table["alarms"][0] == str(len(until))
            if changes:
                assert table["delay"][0] == number_text(known.delay, 0)
                whole = recovery_text(known.recovery, known.unrecovered)
                waits = recovery_text(known.recovery, max(0, known.unrecovered - 1), min(1, known.unrecovered))
                over = i + 1 in changes or i + 1 == len(correct)
                assert table["recovery"][0] in ({whole} if over else {whole, waits})
                assert over or table["recovery"][0] != "never" or begun, "never is said at the end"
                pending += "not yet" in table["recovery"][0]
    assert pending > 20


def test_all_figures_say_never():
    never = evaluate(np.arange(600) < 300, np.ones(600), changes=[300])
    back = evaluate(np.abs(np.arange(600) - 330) > 30, np.ones(600), changes=[300])
    table = figures({"cit": never, "hybrid": back})
    row = table[""].index("samples until recovered")
    assert (table["CIT"][row], table["Hybrid"][row]) == ("never", "156")
    several = spreads({"cit": summarise([never, back, back]), "static": summarise([never, never])})
    row = several[""].index("samples until recovered")
    assert (several["CIT"][row], several["Static"][row]) == ("156 ± 0, 1 never", "never")


REGIONS = """
import { decode, regions } from "./player.mjs";
import { readFileSync, writeFileSync } from "node:fs";
const run = decode(new Uint8Array(readFileSync("run")));
const { picture } = run;
const bounds = JSON.parse(readFileSync("bounds.json", "utf8"));
const samples = JSON.parse(readFileSync("samples.json", "utf8"));
const found = samples.map((i) => picture.learners.map(({ T, k, by_distance }) => {
  const held = [...T.place.keys()].filter((m) => T.enters[m] <= i && i < T.leaves[m]);
  const pick = (values) => Float32Array.from(held, (m) => values[T.place[m]]);
  const labels = held.map((m) => T.label[m]);
  return [...regions(pick(picture.x), pick(picture.y), labels, picture.classes.length, bounds, k, by_distance, 12)];
}));
console.log(JSON.stringify(found));
"""


@needs_node
def test_the_decision_regions_of_the_browser_are_the_predictions_of_the_learner(tmp_path):
    names = ("cit", "hybrid", "static")
    settings = {"hybrid.k": 3, "static.weights": "distance"}
    experiment = Experiment(
        "points", 4, drift="labels-swapped", per_class=120, train=15, learners=names, settings=settings
    )
    stream = experiment.stream()
    traces = {name: experiment.learner_run(name, stream).trace for name in names}
    known = {name: experiment.learner_settings(name, stream.scenario) for name in names}
    picture = picture_of(stream, traces, known)
    assert picture.regions
    (tmp_path / "run").write_bytes(run_of("x", stream, traces, 25.0, picture=picture).pack())
    left, right, bottom, top = -6.0, 6.0, -6.0, 6.0
    bounds = {"left": left, "right": right, "bottom": bottom, "top": top}
    (tmp_path / "bounds.json").write_text(json.dumps(bounds))
    samples = [0, 239, 300, len(stream) - 1]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    (tmp_path / "player.mjs").write_bytes(player_script().encode())
    (tmp_path / "regions.mjs").write_text(REGIONS, encoding="utf-8")
    said = subprocess.run([NODE, "regions.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    centres = [(i + 0.5) / 12 for i in range(12)]
    grid = np.array([(left + x * (right - left), bottom + y * (top - bottom)) for x in centres for y in centres], "f4")
    classes = np.unique(np.concatenate([stream.y0, stream.y]))
    for i, found in zip(samples, json.loads(said.stdout), strict=True):
        for name, cells in zip(names, found, strict=True):
            model = experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0)
            model.run(stream.X[: i + 1], stream.y[: i + 1])
            assert classes[cells].tolist() == model.predict(grid).tolist(), (name, i)


CURSOR = """
import { timeIn } from "./player.mjs";
const run = { changes: [750, 900] };
console.log(JSON.stringify([750, 751, null, undefined].map((at) => timeIn(run, 100, at))));
"""


@needs_node
def test_the_cursor_goes_to_a_drift_that_was_asked_for_only_if_the_run_has_it(tmp_path):
    """A refused drift must not move the cursor of the next run."""
    (tmp_path / "player.mjs").write_bytes(player_script().encode())
    (tmp_path / "cursor.mjs").write_text(CURSOR, encoding="utf-8")
    said = subprocess.run([NODE, "cursor.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(said.stdout) == [750, 100, 100, 100]


AXIS = """
import { rangeOf } from "./player.mjs";
const panel = (curve, spread, high) => ({ low: null, high, threshold: null, curves: [curve], deviation: [spread] });
const shown = [panel([0.1, 0.9], [0.4, 0.1], 1), panel([0.8, 0.9], [0.05, 0.05], 1), panel([-2, 30], null, null)];
console.log(JSON.stringify(shown.map((one) => rangeOf(one, [false], [])[0])));
"""


@needs_node
def test_a_band_takes_the_axis_of_an_accuracy_never_below_zero(tmp_path):
    (tmp_path / "player.mjs").write_bytes(player_script().encode())
    (tmp_path / "axis.mjs").write_text(AXIS, encoding="utf-8")
    said = subprocess.run([NODE, "axis.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    accuracy, high, statistic = json.loads(said.stdout)
    assert accuracy == 0
    assert 0.7 <= high <= 0.75
    assert statistic <= -2
