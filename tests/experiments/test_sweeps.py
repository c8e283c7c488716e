"""Sweeps: equal results with processes and a Dask cluster, resumable, safe to interrupt."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments import Experiment, Results, grid, sweep
from tmlcd_core.experiments import sweep as sweep_function
from tmlcd_core.experiments.plugins import load_plugin
from tmlcd_core.learners import LEARNERS, IncrementalKNN
from tmlcd_core.streams import make_scenario

ROOT = Path(__file__).resolve().parents[2]
BASE = Experiment("digits", per_class=120, train=30, learners=["cit", "hybrid"])
TWO = grid(BASE, {"hybrid.threshold": [5.0, 25.0]})


def figures(results):
    """All results that do not depend on the time."""
    return [{k: v for k, v in row.items() if k != "microseconds"} for row in results.rows()]


def same(one, other):
    assert json.dumps(figures(one)) == json.dumps(figures(other))
    for experiment in one.experiments:
        for a, b in zip(one.runs(experiment), other.runs(experiment), strict=True):
            for name in a.learners:
                assert np.array_equal(a.learners[name].correct, b.learners[name].correct)
                assert np.array_equal(a.learners[name].sizes, b.learners[name].sizes)
                assert np.array_equal(a.learners[name].detections, b.learners[name].detections)


@pytest.fixture(scope="module")
def alone():
    return sweep(TWO, range(4), jobs=1)


def test_any_number_of_jobs_gives_the_same(alone, tmp_path):
    same(alone, sweep(TWO, range(4), folder=tmp_path, jobs=2))
    same(alone, Results.load(tmp_path))


def test_a_run_that_exists_is_not_run_again(alone, tmp_path, monkeypatch):
    sweep(TWO[:1], range(2), folder=tmp_path, jobs=1)
    module = sys.modules[sweep_function.__module__]
    ran = []
    original = module.run_task
    monkeypatch.setattr(module, "run_task", lambda *task: ran.append(task) or original(*task))
    same(alone, sweep(TWO, range(4), folder=tmp_path, jobs=1))
    assert len(ran) == 8 - 2
    sweep(TWO, range(4), folder=tmp_path, jobs=1)
    assert len(ran) == 6


def test_a_folder_keeps_what_it_was_asked_for_before(tmp_path):
    sweep(TWO[:1], [0, 1], folder=tmp_path, jobs=1)
    sweep(TWO[1:], [1, 2], folder=tmp_path, jobs=1)
    found = Results.load(tmp_path)
    assert [[run.seed for run in found.runs(e)] for e in TWO] == [[0, 1], [1, 2]]
    assert found.missing == 0


def test_damage_is_noticed(tmp_path):
    sweep(TWO[:1], [0, 1], folder=tmp_path, jobs=1)
    before = figures(Results.load(tmp_path))
    victim = next((tmp_path / "runs").iterdir())
    raw = bytearray(victim.read_bytes())
    raw[-70] ^= 1
    victim.write_bytes(raw)
    with pytest.raises(DataError, match="damaged"):
        Results.load(tmp_path)
    with pytest.warns(UserWarning, match="run is repeated"):
        sweep(TWO[:1], [0, 1], folder=tmp_path, jobs=1)
    assert figures(Results.load(tmp_path)) == before
    index = tmp_path / "sweep.json"
    whole = json.loads(index.read_text())
    index.write_text(json.dumps({**whole, "format": 99}))
    with pytest.raises(DataError, match=r"has format 99, .* use another folder"):
        Results.load(tmp_path)
    for text in (json.dumps(whole).replace("25.0", "26.0").replace("5.0", "6.0"), "{", "[]", '{"format": 2}'):
        index.write_text(text)
        with pytest.raises(DataError, match="damaged"):
            Results.load(tmp_path)
    with pytest.raises(DataError, match=r"no results: .*sweep\.json"):
        Results.load(tmp_path / "nowhere")


def test_curves(alone):
    experiment = TWO[0]
    curve = alone.accuracy(experiment, "cit")
    assert len(curve.mean) == 2 * 120
    runs = alone.runs(experiment)
    last = [run.learners["cit"].correct[-100:].mean() for run in runs]
    assert curve.mean[-1] == pytest.approx(np.mean(last))
    assert curve.std[-1] == pytest.approx(np.std(last))
    assert alone.sizes(experiment, "cit").mean[-1] == np.mean([run.learners["cit"].sizes[-1] for run in runs])
    summary = alone.summary(experiment)["cit"]
    assert summary["accuracy"].mean == pytest.approx(np.mean([m.accuracy for m in alone.metrics(experiment, "cit")]))
    with pytest.raises(DataError, match="no run of this experiment"):
        alone.accuracy(replace(experiment, data="points"), "cit")


@pytest.mark.parametrize(
    "experiment",
    [
        replace(BASE, extractor={"filters": (3, 51)}),
        replace(BASE, extractor={"filters": np.array([3, 51])}),
        replace(BASE, settings={"hybrid.max_size": np.int64(30), "hybrid.threshold": np.float32(26)}),
    ],
)
def test_an_experiment_is_found_again_in_its_folder(experiment, tmp_path):
    sweep([experiment], [0, 0], folder=tmp_path, jobs=1)
    assert len(sweep([experiment], [0, 1, 1], folder=tmp_path, jobs=1).runs(experiment)) == 2
    found = Results.load(tmp_path)
    assert found.experiments == [experiment]
    assert len(found.runs(experiment)) == 2


def test_a_folder_may_be_a_path(tmp_path):
    from PIL import Image

    for label in "ab":
        (tmp_path / label).mkdir()
        for i in range(3):
            Image.new("RGB", (8, 8), (80 * i, 100, 100 if label == "a" else 200)).save(tmp_path / label / f"{i}.png")
    scenario = make_scenario("none", 2, 2, 1)
    places = (tmp_path, str(tmp_path))
    one, other = (Experiment(place, scenario=scenario, learners=["cit"]) for place in places)
    assert one == other and one.key() == other.key()
    assert len(one.run().learners["cit"].correct) == 4
    assert one.feature_pool().count("a") == 3


def test_bad_requests(tmp_path):
    with pytest.raises(ConfigError, match="nothing to run"):
        sweep([], [0])
    with pytest.raises(ConfigError, match="jobs=0"):
        sweep([BASE], [0], jobs=0)
    with pytest.raises(ConfigError, match="seed=-1"):
        sweep([BASE], [-1])
    with pytest.raises(ConfigError, match="register_learner"):
        sweep([replace(BASE, settings={"hybrid.detector": GeneralizedCusum()})], [0], folder=tmp_path / "out")
    with pytest.raises(ConfigError, match=r"hybrid\.k='sqrt'; give a list"):
        grid(BASE, {"hybrid.k": "sqrt"})
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="folder cannot be written"):
        sweep([BASE], [0], folder=tmp_path / "file" / "folder")
    for bad in ({"filters": "a"}, {"filters": (0.5,)}, {"sample_rate": "a"}, {"hop": 0.5}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            replace(BASE, extractor=bad)
    with pytest.raises(DataError, match=r"digits has 1\d\d"):
        sweep([replace(BASE, scenario=make_scenario("none", 2, 1000))], [0])


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "tmlcd_core", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


RUN = ("run", "--data", "digits", "--learners", "cit,active,hybrid", "--json")


def test_command_gives_what_the_design_promises():
    process = command(*RUN, "--runs", "2", "--jobs", "1")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    found = json.loads(out)
    for name in ("cit", "active", "hybrid"):
        one = found["learners"][name]
        for key in ("accuracy_before", "accuracy_after", "accuracy", "final_size", "largest_size", "microseconds"):
            assert one[key]["mean"] is not None and one[key]["std"] is not None
        assert {"delay", "change_point_error", "false_alarms"} <= set(one)
        assert one["settings"]["k"] == "sqrt"
    assert found["runs"] == 2


def test_interrupt_leaves_whole_runs(tmp_path):
    """Ctrl-C in the middle: exit code 130, what is there loads, and the same command finishes the rest."""
    wanted = 30  # seconds of them: enough to be interrupted in the middle
    arguments = (*RUN, "--runs", str(wanted), "--jobs", "2", "--out", str(tmp_path))
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores Ctrl-C
    process = command(*arguments, start_new_session=True, preexec_fn=heard)
    while process.poll() is None and len(list((tmp_path / "runs").glob("*.run"))) < 3:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    half = Results.load(tmp_path)
    assert 3 <= wanted - half.missing < wanted
    assert not list(tmp_path.rglob(".writing-*"))
    process = command(*arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert json.loads(out)["runs"] == wanted
    assert Results.load(tmp_path).missing == 0


OWN = """
from tmlcd_core.learners import IncrementalKNN, LearnerEntry, register_learner

class Newest(IncrementalKNN):
    def __init__(self, max_size=20, k="sqrt"):
        super().__init__(max_size, k)

register_learner(LearnerEntry("newest", "kNN over the newest samples", Newest))
"""


def own_learner(folder):
    """Name of a learner from a file that no worker has."""
    (folder / "own.py").write_text(OWN)
    load_plugin(folder / "own.py")
    return "newest"


def test_dask_cluster_survives_a_dead_worker_and_knows_learners_of_ones_own(alone, tmp_path):
    """A real scheduler, two worker processes; one is killed while the sweep runs."""
    distributed = pytest.importorskip("distributed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    place = tmp_path / "scheduler.json"
    try:
        start("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        workers = [
            start(
                "dask_worker", "--scheduler-file", str(place), "--nthreads", "1", "--no-dashboard", "--no-nanny",
                "--name", name, "--memory-limit", "0",
            )
            for name in ("one", "two")
        ]  # fmt: skip
        address = None
        while address is None:  # the file is there before it is whole
            assert all(process.poll() is None for process in started)
            time.sleep(0.1)
            with contextlib.suppress(OSError, ValueError):
                address = json.loads(place.read_text())["address"]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        killed = []

        def progress(done, total, what):
            if what == "runs" and done == 2 and not killed:
                workers[0].kill()
                killed.append(workers[0].wait())

        found = sweep(TWO, range(4), folder=tmp_path / "out", dask=address, progress=progress)
        assert killed
        same(alone, found)
        same(alone, Results.load(tmp_path / "out"))
        own = replace(BASE, learners=["hybrid", own_learner(tmp_path), IncrementalKNN(max_size=30)])
        same(sweep([own], [0], jobs=1), sweep([own], [0], dask=address))
    finally:
        LEARNERS.pop("newest", None)
        for process in started:
            process.kill()
            process.wait()


def test_dask_without_a_scheduler():
    pytest.importorskip("distributed")
    with pytest.raises(ConfigError, match=r"Dask scheduler at 'tcp://127\.0\.0\.1:9'"):
        sweep([BASE], [0], dask="tcp://127.0.0.1:9")
