"""Recorded streams as experiments: one experiment in Python, link and command, without invented changes."""

import json
import math
import os
import shlex

import numpy as np
import pandas as pd
import pytest

from tests.support.tables import drifting_frame
from tmlcd_core import ConfigError, Experiment, HybridTinyKNN, prequential
from tmlcd_core.changes import agreements
from tmlcd_core.cli.command import main
from tmlcd_core.experiments import Results, evaluate, sweep
from tmlcd_core.streams.tables import TableRecording
from tmlcd_core.viz.lab import agreement_in_words, figures, run_of

NEED_A_CHANGE = ("accuracy_before", "accuracy_after", "accuracy_100", "accuracy_200", "accuracy_500", "recovery",
                 "unrecovered", "delay", "change_point_error", "missed", "false_alarms")  # fmt: skip


@pytest.fixture
def path(tmp_path):
    drifting_frame(1500).to_csv(tmp_path / "things.csv", index=False)
    return str(tmp_path / "things.csv")


def test_blocks_give_the_run_of_the_whole_stream(path, monkeypatch):
    monkeypatch.setattr("tmlcd_core.streams.tables.CHUNK", 130)
    for change in ({}, {"labels": 0.6, "label_delay": 9, "wrong_labels": 0.2, "seed": 4}):
        experiment = Experiment(path, label="class", learners=["cit", "active", "hybrid", "incremental"], **change)
        blocks, whole = experiment.run(), experiment.run_stream(experiment.stream())
        for name, one in blocks.learners.items():
            other = whole.learners[name]
            np.testing.assert_array_equal(one.trace.predictions, other.trace.predictions)
            np.testing.assert_array_equal(one.trace.statistic, other.trace.statistic)
            for field in ("correct", "sizes", "detections", "change_points"):
                np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_a_learner_that_needs_the_whole_stream_gets_it(path, monkeypatch):
    monkeypatch.setattr("tmlcd_core.streams.tables.CHUNK", 130)
    experiment = Experiment(path, label="class", samples=500, learners=["nn-fc1-static", "cit"])
    blocks, whole = experiment.run(), experiment.run_stream(experiment.stream())
    for name, one in blocks.learners.items():
        np.testing.assert_array_equal(one.trace.predictions, whole.learners[name].trace.predictions)


def test_a_frame_a_file_and_vectors_give_the_same_run(path):
    frame = pd.read_csv(path)
    by_frame = prequential(HybridTinyKNN(max_size=100), frame, label="class")
    by_file = prequential(HybridTinyKNN(max_size=100), path, label="class")
    blocks = list(TableRecording(frame, "class").blocks())
    vectors = np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    plain = prequential(HybridTinyKNN(max_size=100), vectors)
    experiment = Experiment(path, label="class", learners=["hybrid"]).run().learners["hybrid"]
    for one in (by_file, plain, experiment):
        np.testing.assert_array_equal(one.trace.predictions, by_frame.trace.predictions)
    assert by_frame.metrics.accuracy > 0.7 and len(by_frame.detections)


def test_metrics_that_need_a_change_are_absent(path):
    found = Experiment(path, label="class").run().learners
    for one in found.values():
        assert all(math.isnan(getattr(one.metrics, name)) for name in NEED_A_CHANGE)
        assert 0 < one.metrics.accuracy < 1 and one.metrics.final_size > 0
    assert found["hybrid"].metrics.alarms == len(found["hybrid"].detections) > 0
    assert math.isnan(found["cit"].metrics.alarms), "without a test"
    known = evaluate([1, 1, 0], [1, 1, 1], detections=[2], change_points=[2])
    assert (known.false_alarms, known.missed, known.alarms) == (1, 0, 1), "a stream known to have no change"


def test_charts_and_tables_show_no_true_change(path):
    experiment = Experiment(path, label="class")
    stream = experiment.stream()
    traces = {name: experiment.learner_run(name, stream).trace for name in experiment.learner_names}
    shown = run_of("t", stream, traces, 25.0)
    header, _ = shown.payload()
    assert header["changes"] == [] and [row["name"] for row in header["so_far"]] == ["alarms"]
    assert "True changes at sample: unknown." in shown.alt
    rows = figures({name: experiment.learner_run(name, stream).metrics for name in traces})[""]
    assert "alarms" in rows and not {"false alarms", "missed changes", "samples until recovered"} & set(rows)
    assert "Several learners raise an alarm near sample" in agreement_in_words(traces)


def test_alarms_near_each_other_are_groups():
    assert agreements({"a": [10, 500], "b": [60, 900], "c": [140, 905]}, within=100) == [
        (10, ("a", "b", "c")),
        (900, ("b", "c")),
    ]
    assert agreements({"a": [10, 20, 30], "b": []}) == []


def test_link_command_and_json_say_the_same_experiment(path):
    experiment = Experiment(path, label="class", scale="min-max", initial=80, samples=900, learners=["hybrid"])
    assert Experiment.from_link(experiment.link("http://127.0.0.1")) == experiment
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert eval(repr(experiment)) == experiment
    assert experiment.command() == (
        f"tmlcd run --table {path} --label class --scale min-max --initial 80 --samples 900 --learners hybrid --runs 1"
    )
    river = Experiment("river:Phishing")
    assert river.link() == "/drift-lab?data=river%3APhishing" and Experiment.from_link(river.link()) == river
    assert river.command() == "tmlcd run --data river:Phishing --runs 1"


def test_the_command_runs_the_experiment(path, capsys):
    experiment = Experiment(path, label="class", labels=0.8, label_delay=5, learners=["hybrid"])
    for arguments in (shlex.split(experiment.command())[1:], ["run", "--link", experiment.link()]):
        assert main([*arguments, "--json", "--jobs", "1"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["learners"]["hybrid"]["accuracy"]["mean"] == experiment.run().learners["hybrid"].metrics.accuracy
        assert found["learners"]["hybrid"]["recovery"]["mean"] is None
        assert found["runs"] == 1


def test_a_table_of_results_has_dashes_where_a_change_is_needed(path, capsys):
    assert main(["run", "--table", path, "--label", "class", "--learners", "hybrid"]) == 0
    head, names, row = capsys.readouterr().out.splitlines()
    assert "3 classes, 100 initial samples, stream of 1400 samples (changes unknown), 1 runs" in head
    cells = dict(zip(names.split("  "), row.split("  "), strict=False))
    assert cells["learner"].strip() == "hybrid" and " - " in row and "alarms" in names


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--table", "PATH"], "--table needs the name of its label column: add --label COLUMN"),
    (["--table", "PATH", "--label", "nobody"], "no column 'nobody' for the labels"),
    (["--table", "PATH", "--label", "class", "--drift", "noise"], "--drift does not apply to a recorded stream"),
    (["--table", "PATH", "--label", "class", "--initial", "1500"], "use fewer initial samples (--initial)"),
    (["--data", "PATH"], "is a table: name its label column"),
    (["--data", "points", "--initial", "50"], "--initial does not apply to a composed stream"),
    (["--data", "river:Elec2"], "download it once"),
    (["--table", "PATH", "--label", "class", "--scale", "log"], "scale='log' must be one of"),
])  # fmt: skip
def test_what_cannot_run_is_one_line(arguments, sentence, path, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["run", *(path if one == "PATH" else one for one in arguments)]) == 2
    told = capsys.readouterr().err
    assert sentence in told and told.count("\n") == 1 and told.startswith("error: ")


@pytest.mark.parametrize(("query", "sentence"), [
    ("data=table", "without table=PATH"),
    ("data=table&table=a.csv", "without label=COLUMN"),
    ("data=table-upload", "does not contain the uploaded table"),
])  # fmt: skip
def test_an_incomplete_link_is_a_sentence(query, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Experiment.from_link(f"/drift-lab?{query}")


def test_saved_runs_are_read_again_and_repeated_when_the_file_changes(path, tmp_path):
    experiment = Experiment(path, label="class", learners=["hybrid"])
    folder = tmp_path / "runs"
    first = sweep([experiment], folder=folder, jobs=1)
    [again] = Results.load(folder).runs(experiment)
    one = first.runs(experiment)[0].learners["hybrid"].metrics
    assert again.scenario.recorded == 100 and again.learners["hybrid"].metrics.alarms == one.alarms
    assert math.isnan(again.learners["hybrid"].metrics.false_alarms)
    os.utime(path, (1, 1))
    assert experiment.data_key() != first.asked[0].data_key


def test_a_run_reports_the_samples_that_it_has_read(path):
    calls = []
    Experiment(path, label="class", learners=["hybrid"]).run(progress=lambda *told: calls.append(told))
    assert calls[-1] == (1500, 1500, "samples")


def test_only_random_streams_are_repeated(path):
    assert not Experiment(path, label="class").is_random and not Experiment("river:Phishing").is_random
    assert Experiment("river:SEA").is_random and Experiment(path, label="class", labels=0.5).is_random


@pytest.mark.parametrize("stream", [5, None, object()])
def test_what_is_no_stream_is_a_sentence(stream):
    with pytest.raises(ConfigError, match="is not a table"):
        prequential(HybridTinyKNN(), stream)


def test_a_frame_needs_its_label(path):
    with pytest.raises(ConfigError, match="name its label column"):
        prequential(HybridTinyKNN(), pd.read_csv(path))


@pytest.mark.parametrize("delay", [0, 30])
def test_bytes_do_not_depend_on_blocks_or_late_labels(delay, path, monkeypatch):
    """Of all learners that can keep to a number of bytes, with one byte a feature too."""
    monkeypatch.setattr("tmlcd_core.streams.tables.CHUNK", 128)
    bounded = {"label": "class", "initial": 100, "label_delay": delay, "max_bytes": 3000}
    names = ("cit", "active", "hybrid", "window", "sam-knn", "tandem")
    for settings in ({}, {"storage": "uint8", "k": 5}):
        experiment = Experiment(path, learners=names, settings=settings, **bounded)
        whole, blocks = experiment.run_stream(experiment.stream()), experiment.run(keep_traces=False)
        for name in names:
            one, other = whole.learners[name], blocks.learners[name]
            assert one.memory == other.memory is not None
            assert one.metrics.mean_bytes == other.metrics.mean_bytes
            assert 1000 < one.metrics.peak_bytes == other.metrics.peak_bytes <= 3000
