"""Settings of the C code that change at run time: learner, |T|, k, votes, h, n and ξ, against the Python learners."""

from __future__ import annotations

import re
from dataclasses import astuple

import numpy as np
import pytest

from tests.mcu.test_firmware import drifting, host_lines, lines_of
from tmlcd_core import ActiveTinyKNN, CondensingInTime, ConfigError, ExportError, HybridTinyKNN
from tmlcd_core.cli import main
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.live import LiveSettings
from tmlcd_core.live.state import LiveLearner
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.budget import BUDGET_LEARNERS
from tmlcd_core.mcu.device import HostLibrary, make
from tmlcd_core.mcu.keeping import SessionTakes

CODES = {"static": 0, "incremental": 1, "cit": 2, "hybrid": 3, "active": 4}
X, Y = drifting()
START = 40


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """One build for all settings: Active has the memory of every kNN learner, and room for 120 samples."""
    model = ActiveTinyKNN(window=50, condense=False).fit(X[:START], Y[:START])
    firmware = export_firmware(model, store="float32", capacity=120)
    assert firmware.configuration.samples == 120
    return HostLibrary(firmware.write(tmp_path_factory.mktemp("settings")))


SETTINGS = {
    "hybrid": (
        lambda: HybridTinyKNN(50, threshold=8, batch=20, warmup=40, condense=False),
        {"learner": 3, "down": 1, "threshold": 8, "batch": 20, "warmup": 40},
    ),
    "hybrid, larger T, k = 5, 1/d": (
        lambda: HybridTinyKNN(110, threshold=5, batch=30, warmup=70, k=5, weights="distance", condense=False),
        {"learner": 3, "down": 1, "threshold": 5, "batch": 30, "warmup": 70, "k": 5, "by_distance": 1, "max_size": 110},
    ),
    "active, condensing": (
        lambda: ActiveTinyKNN(window=80, threshold=8, batch=20, warmup=40, condense=True),
        {"threshold": 8, "batch": 20, "warmup": 40, "max_size": 80, "condense": 1},
    ),
    "active, all of W": (
        lambda: ActiveTinyKNN(window=45, threshold=12, batch=10, warmup=30, condense=False),
        {"threshold": 12, "batch": 10, "warmup": 30, "max_size": 45, "condense": 0},
    ),
    "cit": (lambda: CondensingInTime(max_size=60), {"learner": 2, "max_size": 60}),
    "incremental": (lambda: IncrementalKNN(max_size=70), {"learner": 1, "max_size": 70}),
    "static": (lambda: StaticKNN(k=3), {"learner": 0, "k": 3}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_at_run_time_decide_as_python_does(name, library):
    make, settings = SETTINGS[name]
    library.configure(**{"k": 0, "by_distance": 0, "learner": 4, "down": 0, "max_size": 50, "condense": 0} | settings)
    library.reset()
    model = make()
    condense, model.condense = model.condense, False
    model.fit(X[:START], Y[:START])
    model.condense = condense
    C = host_lines(library, X[START:], Y[START:], ("0", "1", "2"))
    assert lines_of(model, X[START:], Y[START:]) == C
    if name.startswith(("hybrid", "active")):
        assert sum("alarm" in line for line in C) >= 1


def test_the_settings_are_the_models_and_stay_over_a_reset(tmp_path):
    model = HybridTinyKNN(30, threshold=7.5, batch=11, warmup=22, k=4, weights="distance").fit(X[:60], Y[:60])
    library = HostLibrary(export_firmware(model).write(tmp_path))
    exported = {
        "threshold": 7.5, "learner": CODES["hybrid"], "max_size": 30, "k": 4, "by_distance": 1, "batch": 11,
        "warmup": 22, "down": 1, "condense": 1,
    }  # fmt: skip
    assert library.settings() == exported
    library.configure(threshold=3, k=0)
    library.reset()
    assert library.settings() == exported | {"threshold": 3, "k": 0}


def test_a_smaller_bound_removes_the_oldest_samples(library):
    library.configure(learner=1, max_size=100, k=1, by_distance=0)
    library.reset()
    for x, y in zip(X[:200], Y[:200], strict=True):
        library.observe(x, y)
    assert library.observe(X[200]).size == 100
    library.configure(max_size=10)
    assert library.observe(X[200]).size == 10
    nearest = [int(Y[190 + np.argmin(((X[190:200] - x) ** 2).sum(1))]) for x in X[300:360]]
    assert [library.predict(x) for x in X[300:360]] == nearest  # the ten newest are left
    library.configure(max_size=100)
    assert library.observe(X[201], int(Y[201])).size == 11


def test_a_change_of_the_batch_restarts_the_test_and_a_change_of_h_does_not(library):
    def alarms(**change):
        library.configure(learner=3, down=1, max_size=50, k=0, by_distance=0, threshold=1e9, batch=20, warmup=40)
        library.reset()
        for x, y in zip(X[START:400], Y[START:400], strict=True):
            library.observe(x, y)
        before = library.statistic()
        library.configure(**change)
        assert library.statistic() == (0.0 if "batch" in change else before)
        return [i for i in range(400, 500) if library.observe(X[i], Y[i]).alarm]

    assert alarms(threshold=1.0)
    assert alarms(batch=10) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"learner": 5}, {"learner": 99}, {"max_size": 0}, {"max_size": 121}, {"by_distance": 2}, {"batch": 0},
        {"batch": 65_536}, {"warmup": 0}, {"warmup": 65_536}, {"down": 2}, {"condense": 2}, {"threshold": -1.0},
        {"threshold": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_settings_out_of_range_change_nothing(bad, library):
    before = library.settings()
    with pytest.raises(ConfigError, match="refuses"):
        library.configure(**bad)
    assert library.settings() == before


def test_a_build_without_test_or_history_refuses_the_learners_that_need_them(tmp_path):
    library = HostLibrary(export_firmware(CondensingInTime(40).fit(X[:60], Y[:60])).write(tmp_path))
    for learner in ("hybrid", "active"):
        with pytest.raises(ConfigError):
            library.configure(learner=CODES[learner])
    library.configure(learner=CODES["incremental"])
    assert set(CODES) <= set(BUDGET_LEARNERS)


def test_taught_samples_are_stored_as_by_take_in(tmp_path):
    """Without prediction, test or time; refused if not finite or without a class."""
    test = {"threshold": 8, "batch": 20, "warmup": 40, "condense": False}
    for i, model in enumerate((HybridTinyKNN(50, **test), ActiveTinyKNN(window=200, **test))):
        model.fit(X[:START], Y[:START])
        firmware = export_firmware(model, store="float32")
        library = HostLibrary(firmware.write(tmp_path / str(i)))
        assert not library.teach(np.full(12, np.nan), 0) and not library.teach(X[0], -1) and not library.teach(X[0], 3)
        for at in range(START, 800, 95):
            assert all(library.teach(x, y) for x, y in zip(X[at : at + 15], Y[at : at + 15], strict=True))
            model.take_in(X[at : at + 15], Y[at : at + 15])
            part = slice(at + 15, at + 95)
            expected = lines_of(model, X[part], Y[part])
            assert host_lines(library, X[part], Y[part], firmware.classes) == expected


@pytest.mark.parametrize("name", ["hybrid", "active", "cit"])
def test_first_samples_are_kept_as_in_a_live_session(name, tmp_path):
    """The first labelled samples are stored though they were predicted correctly; others do not count."""
    keep, words = 40, [str(y) for y in Y]
    settings = LiveSettings(batch=10, warmup=keep, threshold=3.0, max_size=60, window=200)
    live = LiveLearner(settings.learner(name), [f"t{i}" for i in range(START)], X[:START], words[:START], keep)
    bound = 250 if name == "cit" else None
    firmware = export_firmware(live.learner, store="float32", max_size=bound, session=SessionTakes(keep=keep))
    library = HostLibrary(firmware.write(tmp_path))
    kept = alarms = unlabelled = 0
    for i in range(START, START + 300):
        if i % 7 == 0:
            library.observe(X[i])
            unlabelled += 1
            continue
        before = len(live.learner)
        verdict = live.judge(f"t{i}", X[i], words[i])
        step = library.observe(X[i], int(Y[i]))
        assert (str(step.prediction), step.size, bool(step.alarm)) == (
            verdict.prediction,
            verdict.stored,
            verdict.alarm,
        )
        kept += verdict.right and len(live.learner) > before
        alarms += verdict.alarm
    assert kept > (0 if name == "hybrid" else 10) and (alarms > 0) == (name != "cit") and unlabelled > 40
    with pytest.raises(ExportError, match="no first samples"):
        export_firmware(StaticKNN(k=3).fit(X[:9], Y[:9]), session=SessionTakes(keep=1))


def test_capacity_below_the_bound_is_refused():
    model = HybridTinyKNN(50).fit(X[:60], Y[:60])
    with pytest.raises(ConfigError, match="capacity=49 is below the bound 50"):
        export_firmware(model, capacity=49)
    assert astuple(export_firmware(model).configuration) == astuple(export_firmware(model, capacity=50).configuration)


# -- options of `export` -------------------------------------------------------------------------


OPTIONS = "--k 3 --votes distance --threshold 9.5 --batch 30 --warmup 70 --max-size 20"


@pytest.mark.parametrize(
    ("learner", "options", "expected"),
    [
        ("hybrid", OPTIONS, {"K": 3, "BY_DISTANCE": 1, "BATCH": 30, "WARMUP": 70, "MAX_SIZE": 20, "DOWN": 1}),
        ("active", OPTIONS, {"K": 3, "BY_DISTANCE": 1, "BATCH": 30, "WARMUP": 70, "MAX_SIZE": 20, "DOWN": 0}),
        ("cit", "--k auto --votes uniform --max-size 15", {"K": 0, "BY_DISTANCE": 0, "MAX_SIZE": 15}),
        ("tandem", "--threshold 9.5 --batch 30 --warmup 70", {"BATCH": 30, "WARMUP": 70, "DOWN": 1}),
    ],
)
def test_the_command_sets_the_learner_and_its_settings(learner, options, expected, tmp_path, capsys):
    out = tmp_path / "c"
    arguments = f"export --learner {learner} --train 20 --sample-rate 4410 --out {out} --json {options}"
    assert main(arguments.split()) == 0, capsys.readouterr().err
    config = dict(re.findall(r"#define TML_(\w+) (\S+)", (out / "config.h").read_text()))
    assert config["LEARNER"] == f"TML_{learner.upper()}"
    assert {name: int(config[name]) for name in expected} == expected
    if "threshold" in options:
        assert float.fromhex(config["THRESHOLD"]) == 9.5
    make(out, "check")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--k 0", "k"),
        ("--k five", "--k is 'five'"),
        ("--k ²", "--k is '²'"),
        ("--learner tandem --k 3", "The learner tandem has no --k"),
        ("--learner cit --threshold 3", "The learner cit has no --threshold"),
        ("--learner svm", "svm"),
        ("--threshold nan", "threshold"),
        ("--batch 0", "batch"),
        ("--batch 70000", "16 bits"),
        ("--model x.tmlcd --warmup 5", "--warmup does not go with --model"),
    ],
)
def test_bad_settings_are_one_line_and_exit_code_2(arguments, message, tmp_path, capsys):
    assert main(["export", "--train", "5", "--sample-rate", "4410", "--out", str(tmp_path), *arguments.split()]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and message in error
