"""Experiments at equal memory: every learner stays within the same bytes, on the page, in links and commands."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

from tests.experiments.test_one_experiment import page_of
from tmlcd_core import ActiveTinyKNN, ConfigError, Experiment, HybridTinyKNN
from tmlcd_core.cli import main
from tmlcd_core.experiments import Results, sweep
from tmlcd_core.experiments.link import parameters_of
from tmlcd_core.learners import LEARNERS, SAMKNN, register_learner
from tmlcd_core.learners.registry import LearnerEntry, make_learner
from tmlcd_core.learners.trace import Memory
from tmlcd_core.viz.lab import figures

BOUNDED = ("cit", "active", "hybrid", "static", "condensed", "incremental", "window", "sam-knn")
SMALL = Experiment("points", 3, drift="labels-swapped", per_class=100, train=30, learners=BOUNDED, max_bytes=400)


@pytest.fixture(scope="module")
def stream():
    return SMALL.stream()


def sizes_and_bytes(model, stream):
    """Bytes of a learner after each sample, asked of the learner itself."""
    model.fit(stream.X0, stream.y0)
    found = [model.memory_bytes()]
    for x, y in zip(stream.X, stream.y, strict=True):
        model.observe(x, y)
        found.append(model.memory_bytes())
    return np.array(found)


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("storage", ["float32", "uint8"])
def test_no_learner_ever_holds_more_and_each_uses_its_bytes(name, storage, stream):
    if name == "sam-knn" and storage == "uint8":
        pytest.skip("its long-term memory holds cluster means")
    experiment = replace(SMALL, learners=[name], settings={} if name == "sam-knn" else {"storage": storage})
    found = sizes_and_bytes(experiment.learner(name, stream.scenario), stream)
    assert found.max() <= 400
    d = stream.X.shape[1]
    each = {"float32": 4 * (d + 2), "uint8": d + 5}[storage] if name != "sam-knn" else 4 * (d + 1)
    if name in ("window", "incremental", "sam-knn") or (name == "static" and storage == "float32"):
        assert found.max() > 400 - each, "not one sample more fits"
    metrics = experiment.run_stream(stream).learners[name].metrics
    assert metrics.peak_bytes == found[1:].max()
    assert metrics.mean_bytes == pytest.approx(found[1:].mean())


def test_active_shares_the_bytes_between_its_training_set_and_window(stream):
    d = stream.X.shape[1]
    model = ActiveTinyKNN(max_bytes=400, condense=False).fit(stream.X0, stream.y0)
    half = 400 // (2 * 4 * (d + 2))
    assert len(model) == model.bound_ == half
    counts = np.unique(model.labels_, return_counts=True)[1]
    assert counts.max() - counts.min() <= 1, "the start is cut evenly over the classes"
    model.run(stream.X, stream.y)
    assert model.window_bytes() == half * 4 * (d + 2) and model.memory_bytes() <= 400


def test_the_bytes_are_the_only_bound():
    """The paper's 100 λ samples or an own bound would leave memory unused."""
    scenario = SMALL.prepare(SMALL.feature_pool())
    X = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    y = np.arange(600) % 2
    for name in ("hybrid", "window", "active"):
        experiment = replace(SMALL, learners=[name], max_bytes=24 * 500)
        model = experiment.learner(name, scenario).fit(X, y)
        assert model.bound_ == (250 if name == "active" else 500)


def test_sam_knn_shrinks_its_smallest_memory_with_the_bytes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 2
    model = SAMKNN(max_bytes=20 * 30).fit(X, y)
    assert len(model) <= 30 and model.memory_bytes() <= 600
    with pytest.raises(ConfigError, match="at least 240 bytes"):
        SAMKNN(max_bytes=239).fit(X, y)
    assert not hasattr(SAMKNN(max_bytes=239), "classes_")


def test_too_few_bytes_are_refused_with_what_is_needed(stream, capsys):
    small = replace(SMALL, learners=["hybrid"], max_bytes=60)
    with pytest.raises(ConfigError, match=r"max_bytes=60 holds 3 samples of 16 bytes, fewer than 5") as caught:
        small.run_stream(stream)
    better = small.remedied(small.feature_pool(), caught.value)
    d = stream.X.shape[1]
    assert better.max_bytes == 5 * 4 * (d + 2)
    assert better.run_stream(stream).learners["hybrid"].metrics.peak_bytes <= better.max_bytes
    assert main(["run", "--data", "points", "--max-bytes", "79", "--runs", "1", "--jobs", "1"]) == 2
    assert "give at least" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="max_bytes=0"):
        replace(SMALL, max_bytes=0)


def test_learners_without_such_a_bound_are_named(capsys):
    with pytest.raises(ConfigError, match="the memory of svm, knn-adwin cannot be limited"):
        replace(SMALL, learners=["cit", "svm", "knn-adwin"])
    arguments = ["run", "--data", "points", "--learners", "hybrid,nn-fc1", "--max-bytes", "4000"]
    assert main(arguments) == 2
    assert "the memory of nn-fc1 cannot be limited" in capsys.readouterr().err
    assert {name for name, entry in LEARNERS.items() if "max_bytes" in entry.defaults()} == {
        *BOUNDED,
        "tandem",
        "cit-bounded",
        "hybrid-unbounded",
    }


class Constant:
    """A learner of one's own that takes the bytes and says what it holds."""

    def __init__(self, max_bytes=None):
        self.max_bytes = max_bytes

    def fit(self, X, y):
        self.label = y[0]
        return self

    def run(self, X, y):
        trace = HybridTinyKNN().fit(X[:2], y[:2]).run(X, y)
        return replace(trace, memory=Memory(0, 0, self.max_bytes))


def test_a_learner_that_accepts_max_bytes_gets_them(stream):
    register_learner(LearnerEntry("constant", "a test", Constant))
    try:
        assert make_learner("constant", 60, changed={"max_bytes": 77}).max_bytes == 77
        run = replace(SMALL, learners=["constant", HybridTinyKNN()]).run_stream(stream)
        assert run.learners["constant"].metrics.peak_bytes == 400
        assert run.learners["HybridTinyKNN"].metrics.peak_bytes <= 400
    finally:
        del LEARNERS["constant"]


def test_link_command_file_and_page_carry_the_bytes(capsys, tmp_path):
    experiment = Experiment("points", 3, per_class=100, train=20, max_bytes=800, settings={"storage": "uint8", "k": 5})
    assert parameters_of(experiment)["max_bytes"] == ["800"]
    assert Experiment.from_link(experiment.link()) == experiment
    assert Experiment.from_link(experiment.link().replace("max_bytes=800", "max_bytes=0")).max_bytes is None
    assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment
    assert eval(repr(experiment)) == experiment
    outcome = experiment.run()

    command = shlex.split(experiment.command())
    assert command[command.index("--max-bytes") + 1] == "800"
    assert main([*command[1:], "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["learners"]
    assert main([*command[1:], "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "mean bytes" in capsys.readouterr().out
    again = Results.load(tmp_path).summary(experiment)
    page = page_of(experiment.link())
    assert not page.exception and not page.error and not page.toast
    shown = page.session_state["lab good"]
    assert shown.experiment == experiment
    table = figures(shown.metrics)
    row = table[""].index("bytes of T and W, largest")
    assert [cells[row] for cells in table.values()][1:] == [
        f"{one.metrics.peak_bytes:,}" for one in outcome.learners.values()
    ]
    for name, one in outcome.learners.items():
        assert one.metrics.peak_bytes <= 800
        assert shown.metrics[name].peak_bytes == one.metrics.peak_bytes == told[name]["peak_bytes"]["mean"]
        assert again[name]["mean_bytes"].mean == one.metrics.mean_bytes
        assert told[name]["settings"]["max_bytes"] == 800


def test_without_the_bytes_nothing_changes():
    """Keys of runs, links and JSON are those of earlier versions; a grid may vary the bytes."""
    plain = replace(SMALL, max_bytes=None)
    assert "max_bytes" not in plain.to_json() and "max_bytes" not in plain.link() and plain.key() != SMALL.key()
    assert plain.stream_key() == SMALL.stream_key()
    results = sweep([replace(SMALL, learners=["hybrid"], max_bytes=n) for n in (200, 400)], jobs=1)
    assert len({experiment.max_bytes for experiment in results.experiments}) == 2


def test_the_page_offers_the_bytes_that_are_needed():
    page = page_of("/drift-lab?data=points&lambda=3&per_class=100&train=20&max_bytes=50")
    assert "holds" in page.error[0].value
    page = page.button(key="fix max_bytes").click().run()  # five samples of CIT
    assert page.session_state["max_bytes"] == 5 * 16
    page = page.button(key="fix max_bytes").click().run()  # Active needs as much again for its window
    assert not page.exception and not page.error
    assert page.session_state["lab good"].experiment.max_bytes == page.session_state["max_bytes"] == 2 * 5 * 16
