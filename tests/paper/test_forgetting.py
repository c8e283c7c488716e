"""The study of forgetting: its experiments, its intervals, and a finding that says what the numbers support."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import bootstrap

from tmlcd_core import ConfigError, DataError, Experiment
from tmlcd_core.cli import main
from tmlcd_core.paper.forgetting import (
    KINDS,
    SPLIT,
    SPLIT_HEAD,
    STUDIED,
    Forgetting,
    ForgettingCase,
    forgetting_sentence,
    hurts_up_to,
    pays_from,
    split_rows,
    study_forgetting,
    title,
)
from tmlcd_core.paper.study import gain_of
from tmlcd_core.viz.forgetting import COLUMNS, ROWS, interactive_study, printed_study, study_in_words

ROOT = Path(__file__).resolve().parents[2]
RUNS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def small(folder):
    """Two runs on the digits with 2 and 10 classes."""
    return study_forgetting(["digits"], RUNS, folder, jobs=1, classes=(2, 10, 30))


def case(kind, affected, perfect, own=0.0, classes=5, data="speech"):
    """A case in which the two alarms gain so much in every run, give or take 0.001."""
    noise = np.array([-0.001, 0.0, 0.001, 0.0])
    level = {"cit": 0.8, "cit-bounded": 0.75, "hybrid": 0.75 + own, "hybrid-unbounded": 0.8, "known-change": 0.75}
    accuracy = {name: (np.full(4, value)).tolist() for name, value in level.items()}
    accuracy["known-change"] = (0.75 + perfect + noise).tolist()
    accuracy["hybrid"] = (0.75 + own + noise).tolist()
    return ForgettingCase(data, kind, classes, affected, 25.0, 500, accuracy, "/drift-lab")


def made_up(rotated, replaced=(-0.1, -0.1, -0.1, -0.1, 0.1)):
    """A study with these gains of the perfect alarm for 1, 2, … of 5 classes."""
    cases = [case("rotated", m, value) for m, value in enumerate(rotated, 1)]
    return Forgetting(4, (*cases, *(case("replaced", m, value) for m, value in enumerate(replaced, 1))))


def test_it_covers_every_share_that_the_data_allow(small):
    found = {(one.kind, one.classes, one.affected) for one in small.cases}
    rotated = {("rotated", 10, m) for m in (0, *range(2, 11))} | {("rotated", 2, 0), ("rotated", 2, 2)}
    replaced = {("replaced", 2, m) for m in (0, 1, 2)} | {("replaced", 10, 0)}  # ten digits: none left to appear
    assert found == rotated | replaced
    assert {len(values) for one in small.cases for values in one.accuracy.values()} == {RUNS}
    assert all(set(one.accuracy) == set(STUDIED) for one in small.cases)


def test_a_link_opens_the_experiment_that_was_measured(small):
    """CIT and Hybrid in the experiment of the link, seed by seed, against the accuracy in the study."""
    for one in [one for one in small.cases if one.affected in (1, 2, 7)]:
        for seed in range(RUNS):
            run = replace(Experiment.from_link(one.link), seed=seed).run()
            for name, learner in run.learners.items():
                assert learner.metrics.accuracy_500 == pytest.approx(one.accuracy[name][seed], abs=1e-6)
            assert len(run.learners["cit"].correct) - run.changes[0] >= one.samples


def test_bound_and_alarm_add_up(small):
    for one in small.cases:
        whole, bound, alarm = (one.differences(part) for part in ("hybrid", "bound", "alarm"))
        np.testing.assert_allclose(bound + alarm, whole, atol=1e-9)


def test_the_threshold_keeps_false_alarms_rare(small):
    for one in small.cases:
        if not one.affected:
            assert one.differences("alarm without bound").tolist() == [0.0] * RUNS, "no alarm, no difference"
        assert one.threshold == int(one.threshold) and one.threshold > 1


def test_finished_runs_are_not_repeated(small, folder, monkeypatch):
    monkeypatch.setattr(Experiment, "run", lambda *_: pytest.fail("a run was repeated"))
    assert study_forgetting(["digits"], RUNS, folder, jobs=1, classes=(2, 10)) == small


def test_a_folder_of_two_classes_has_what_it_allows(tmp_path):
    """Own data: only rotation is possible if no class is left to appear."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for label, level in (("dark", 60), ("light", 180)):
        (tmp_path / label).mkdir()
        for number in range(60):
            pixels = np.clip(rng.normal(level, 40, (16, 16, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / label / f"{number}.png")
    found = study_forgetting([str(tmp_path)], RUNS, jobs=1)
    assert [(one.kind, one.affected) for one in found.cases] == [("replaced", 0), ("rotated", 0), ("rotated", 2)]


def test_too_little_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="runs=1: the intervals need at least 2"):
        study_forgetting(["digits"], 1)
    with pytest.raises(DataError, match="digits has 10 classes; the study needs at least 20"):
        study_forgetting(["digits"], 2, classes=(20,))


# -- intervals and findings ------------------------------------------------------------------------------------------


def test_the_interval_is_scipys_percentile_bootstrap():
    values = np.random.default_rng(4).normal(0.02, 0.03, 20)
    found = gain_of(values)
    expected = bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1))
    low, high = expected.confidence_interval
    assert found.mean == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-3)
    assert gain_of(values - values.mean()).sign == 0 and gain_of(-np.abs(values)).sign == -1


@pytest.mark.parametrize(
    ("rotated", "always", "never"),
    [
        ((-0.1, -0.1, 0.1, 0.1, 0.1), 0.6, 0.4),
        ((-0.1, 0.1, -0.1, 0.1, 0.1), 0.8, 0.2),
        ((-0.1, 0.0, 0.0, 0.0, 0.1), 1.0, 0.8),
        ((-0.1,) * 5, None, 1.0),
        ((0.1,) * 5, 0.2, None),
        ((0.1, 0.1, 0.1, 0.1, -0.1), None, None),
    ],
)
def test_the_finding_follows_the_numbers(rotated, always, never):
    study = made_up(rotated)
    cases = study.of("rotated")
    assert (pays_from(cases), hurts_up_to(cases)) == (always, never)
    said = forgetting_sentence(study).partition("; where part of T became useless")[0]
    shares = re.findall(r"(\d+ %|all) on|up to (\d+ %|all)", said)
    percent = {0.2: "20 %", 0.4: "40 %", 0.6: "60 %", 0.8: "80 %", 1.0: "all"}
    assert {one for pair in shares for one in pair if one} == {percent[s] for s in (always, never) if s is not None}
    assert (f"{percent[always]} of T is wrong" in title(study)) if always else ("is wrong" not in title(study))


def test_the_sentence_counts_hybrids_own_alarms():
    cases = (case("rotated", 5, 0.1, own=0.05), case("rotated", 2, -0.1, own=-0.05), case("replaced", 1, 0.0, own=0.0))
    said = forgetting_sentence(Forgetting(4, (*cases, case("rotated", 0, -0.1, own=-0.1))))
    assert "clearly helped in 1 and clearly hurt in 1 of 3 cases" in said
    nothing = Forgetting(4, (case("rotated", 5, -0.1), case("replaced", 5, -0.1)))
    assert title(nothing) == "Forgetting clearly pays in none of the shares of T measured"


def test_the_split_names_the_papers_changes():
    rows = split_rows(made_up((-0.1, 0.02, 0.1, 0.1, 0.1)))
    assert [row[2] for row in rows] == ["two labels swapped", "one class changed", "all classes changed"]
    perfect = dict(zip(SPLIT_HEAD, rows[0], strict=True))["perfect alarm"]
    assert perfect.startswith("+0.020 [+0.0")


def test_a_result_survives_json_and_anything_else_is_refused(small):
    assert Forgetting.from_json(json.loads(json.dumps(small.to_json()))) == small
    with pytest.raises(DataError, match="run the command again"):
        Forgetting.from_json({"runs": 2, "cases": [{"data": "digits"}]})


# -- picture and command ---------------------------------------------------------------------------------------------


def test_the_picture_has_a_panel_for_each_kind_and_alarm_with_the_intervals(small):
    figure = interactive_study(small)
    assert {trace.xaxis for trace in figure.data} == {"x", "x2", "x3", "x4"}
    drawn = {(trace.yaxis, trace.name): trace for trace in figure.data}
    line = drawn["y", "digits, λ = 10"]  # the first panel: labels rotated, perfect alarm
    gains = [one.gain("perfect alarm") for one in small.of("rotated") if one.classes == 10]
    assert list(line.y) == [one.mean for one in gains]
    np.testing.assert_allclose(np.array(line.y) - line.error_y.arrayminus, [one.low for one in gains])
    np.testing.assert_allclose(np.array(line.y) + line.error_y.array, [one.high for one in gains])
    assert ("y2", "digits, λ = 10") not in drawn, "nothing can be replaced"
    assert len(figure.layout.shapes) == len(ROWS) * len(COLUMNS) == 4
    axes = printed_study(small).axes
    assert len(axes) == 4 and printed_study(small).get_suptitle() == title(small)
    assert study_in_words(small).startswith(title(small))


def test_the_command_writes_result_and_picture(tmp_path, capsys):
    asked = ["forgetting", "--data", "digits", "--classes", "2", "--runs", "2", "--out", str(tmp_path), "--jobs", "1"]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    stored = json.loads((tmp_path / "forgetting.json").read_text())
    assert stored["cases"] == found["cases"] and found["sentence"] == forgetting_sentence(Forgetting.from_json(stored))
    assert {path.suffix for path in tmp_path.glob("forgetting.*")} == {".json", ".html", ".png", ".svg"}
    assert main(asked) == 0
    assert found["sentence"] in capsys.readouterr().out
    assert main([*asked, "--runs", "1"]) == 2
    assert "at least 2 runs" in capsys.readouterr().err
    assert main(["forgetting", "--classes", "2,x"]) == 2
    assert "'2,x'; give numbers from 2 on" in capsys.readouterr().err


# -- the shipped result ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    return Forgetting.from_json(json.loads((ROOT / "data/paper/forgetting.json").read_text(encoding="utf-8")))


def test_the_shipped_study_is_whole(shipped):
    assert shipped.runs == 20 and {one.data for one in shipped.cases} == {"speech", "digits"}
    for data, numbers in (("speech", {2, 3, 5}), ("digits", {2, 3, 5, 10})):
        assert {one.classes for one in shipped.cases if one.data == data} == numbers
    assert all(len(values) == 20 for one in shipped.cases for values in one.accuracy.values())
    assert {part: len(names) for part, names in SPLIT.items()} == dict.fromkeys(SPLIT, 2)


def test_forgetting_gains_more_where_more_is_wrong(shipped):
    """The finding of the study in its own order: the gain of a perfect alarm rises with the share."""
    for kind in KINDS:
        for data, classes in {(one.data, one.classes) for one in shipped.of(kind)}:
            line = [one for one in shipped.of(kind) if (one.data, one.classes) == (data, classes) and one.affected]
            means = [one.gain("perfect alarm").mean for one in line]
            assert means == sorted(means), (kind, data, classes)


def test_a_shipped_number_comes_out_again(shipped):
    [one] = [c for c in shipped.cases if (c.data, c.kind, c.classes, c.affected) == ("digits", "rotated", 5, 4)]
    run = replace(Experiment.from_link(one.link), learners=STUDIED).run()
    found = {name: learner.metrics.accuracy_500 for name, learner in run.learners.items()}
    assert found == pytest.approx({name: values[0] for name, values in one.accuracy.items()}, abs=0.01)
