"""The study at equal bytes: the same streams and bytes for all, paired tests, and losses that are said."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import false_discovery_control, wilcoxon

from tmlcd_core import ConfigError, DataError, Experiment, Tandem
from tmlcd_core.cli import main
from tmlcd_core.experiments import prequential
from tmlcd_core.paper.equal_bytes import (
    BUDGETS,
    DATA,
    HEAD,
    NAMES,
    RIVER,
    SCENARIOS,
    TANDEM,
    WORDS,
    BytesCase,
    EqualBytes,
    _holm,
    hands,
    loss_rows,
    river_sentence,
    rows,
    sentence,
    study_equal_bytes,
)
from tmlcd_core.viz.equal_bytes import figure, in_words, learners

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def small(folder):
    """Two draws of points, without river."""
    return study_equal_bytes(["points"], 2, folder, jobs=1, river=False, classes=(3, 30))


@pytest.fixture(scope="module")
def shipped():
    return EqualBytes.from_json(json.loads((ROOT / "data/equal_bytes.json").read_text(encoding="utf-8")))


def test_every_learner_keeps_to_the_bytes_and_sees_the_same_streams(small):
    for case in small.cases:
        assert case.bytes <= (50 if case.budget == "50" else 100 * case.classes) * 16
        assert len(case.accuracy) == 2 and len(case.soon) == (0 if case.scenario == "none" else 2)
    of = {(c.budget, c.scenario, c.classes) for c in small.cases}
    assert of == {(b, s, n) for b in BUDGETS for s in SCENARIOS if s != "noise" for n in (3,)}
    assert len(small.cases) == len(of) * 10


def test_a_case_is_the_run_of_its_experiment(small):
    hand = next(hands(tuple("ABCDEFGHIJ"), 4))
    stream = Experiment("points", hand[:-1], new=hand[-1], drift="labels-swapped", per_class=400).stream()
    correct = prequential(Tandem(max_bytes=800), stream).correct
    [case] = [c for c in small.cases if (c.learner, c.budget, c.scenario, c.classes) == (TANDEM, "50", "swap", 3)]
    [change] = stream.changes
    assert case.accuracy[0] == pytest.approx(correct.mean(), abs=1e-5)
    assert case.soon[0] == pytest.approx(correct[change : change + 100].mean(), abs=1e-5)


def made_up(difference, draws=12):
    """A study in which Tandem is so much better than CIT in every scenario, give or take 0.001."""
    noise = 0.001 * np.cos(np.arange(draws))
    cases = []
    for budget in BUDGETS:
        for scenario in SCENARIOS:
            for name, level in ((TANDEM, 0.8 + difference), ("CIT", 0.8)):
                values = (level + noise * (name == TANDEM)).tolist()
                soon = [] if scenario == "none" else values
                cases.append(BytesCase("speech", budget, scenario, 3, name, 100, values, soon))
    return EqualBytes(draws, tuple(cases))


def test_pairs_are_draws_and_the_test_is_wilcoxons():
    study = made_up(0.002)
    [one] = study.comparisons("speech", "50")
    differences = study.differences("speech", "50", "CIT")
    assert one.pairs == len(differences) == 12, "scenarios of a draw are not independent"
    assert one.p == pytest.approx(wilcoxon(differences).pvalue)
    assert one.gain.mean == pytest.approx(differences.mean()) and one.gain.sign == 1


def test_a_loss_is_said():
    assert made_up(0.01).losses() == [] and "loses to no learner" in sentence(made_up(0.01))
    lost = made_up(-0.01)
    assert len(lost.losses()) == len(loss_rows(lost)) == 2 * (6 + 5)
    assert "highest accuracy in 0 of 2" in sentence(lost) and "the largest loss is 0.010 to CIT" in sentence(lost)


def test_holm_is_stricter_than_false_discovery_and_keeps_the_order():
    p = np.random.default_rng(0).random(20) ** 3
    corrected = np.array(_holm(p))
    assert (corrected >= p).all() and corrected.max() <= 1
    assert (np.diff(corrected[p.argsort()]) >= 0).all()
    assert (corrected >= false_discovery_control(p) - 1e-12).all()


def test_the_command_resumes_prints_tables_and_refuses(folder, small, capsys):
    options = ["equal-bytes", "--data", "points", "--no-river", "--classes", "3", "--out", str(folder), "--jobs", "1"]
    assert main([*options, "--runs", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    stored = EqualBytes.from_json(json.loads((folder / "equal_bytes.json").read_text(encoding="utf-8")))
    assert stored == small and told["sentence"] == sentence(small)
    assert [list(row.values()) for row in told["tables"][0]["rows"]] == rows(small, "points", "50")
    assert main([*options, "--runs", "1"]) == 2
    assert "at least 2 runs" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        study_equal_bytes(["points"], 1)
    with pytest.raises(DataError, match="run the command again"):
        EqualBytes.from_json({"runs": 2, "cases": [{"data": "x"}]})


def test_rivers_learners_run_and_their_memory_is_counted():
    stream = Experiment("points", 2, per_class=30, train=10, drift="none").stream()
    for name in RIVER:
        experiment = Experiment("points", 2, per_class=30, train=10, drift="none", learners=[name])
        run = experiment.run_stream(stream).learners[name]
        assert run.correct.mean() > 0.6 and run.metrics.peak_bytes > 1000


def test_the_shipped_study_is_complete(shipped):
    assert shipped.data == [*DATA, "voices"], "make equal-bytes VOICES=FOLDER"
    assert shipped.runs == 10
    for data in shipped.data:
        for budget in BUDGETS:
            names = {one.learner for one in shipped.comparisons(data, budget)}
            assert names >= {*NAMES.values(), *RIVER.values()} - {TANDEM}
            assert len([name for name in names if name.endswith("bytes, k = 5")]) == 4
            assert len(rows(shipped, data, budget)[0]) == len(HEAD)
    assert all(len(case.accuracy) == 10 for case in shipped.cases)
    assert len(set(WORDS)) == 15
    told = " ".join((ROOT / "docs/tandem.md").read_text(encoding="utf-8").split())
    assert sentence(shipped) in told and river_sentence(shipped) in told


def test_rivers_learners_are_compared_on_their_own_streams():
    ours = [BytesCase("d", "50", s, 3, TANDEM, 9, [0.9, 0.8], [0.9, 0.8]) for s in ("class change", "swap")]
    theirs = BytesCase("d", "", "class change", 3, "river: online softmax", 9, [0.8, 0.6], [0.8, 0.6])
    study = EqualBytes(2, (replace(ours[0], accuracy=[1.0, 0.9]), ours[1], theirs))
    np.testing.assert_allclose(study.differences("d", "50", "river: online softmax"), [0.2, 0.3])
    np.testing.assert_allclose(study.differences("d", "50", "river: online softmax", "soon"), [0.1, 0.2])
    assert study.differences("d", "50", "river: online softmax", scenario="swap").size == 0


def test_the_chart_shows_what_the_table_says(small):
    chart = figure(small, "points", "50")
    values = {row[0]: (row[2], row[3]) for row in rows(small, "points", "50")}
    for trace, column in zip(chart.data, (0, 1), strict=True):
        shown = {name.strip("</b>"): f"{x:.3f}" for name, x in zip(trace.y, trace.x, strict=True)}
        assert {name: f"{x}" for name, x in shown.items()} == {name: pair[column] for name, pair in values.items()}
    assert list(learners(small, "points", "50")) == [name.strip("</b>") for name in chart.data[0].y]
    assert values["Tandem"][0] in in_words(small, "points", "50")
