"""`live-drifts`: sessions with recorded voices, their alarms, and the shipped table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.support.hummed_words import RATE, TUNES, hum
from tmlcd_core.cli import main
from tmlcd_core.features.voice import VOICE_EXTRACTORS, open_take
from tmlcd_core.live import FAULTS, LIVE_DRIFTS, LiveSettings, drift_trials
from tmlcd_core.live.drift_trials import AFTER, BEFORE, TAUGHT, TRIED_DRIFTS, TRIED_EXTRACTORS, measure_drifts, varied
from tmlcd_core.live.expectations import drift_name, find_row, measured


@pytest.fixture(scope="module")
def voices(tmp_path_factory) -> Path:
    """Two people, four words, ten takes."""
    folder, rng = tmp_path_factory.mktemp("voices"), np.random.default_rng(0)
    for person, shift in (("ann", 1.0), ("bob", 0.8)):
        for word in TUNES:
            for i in range(10):
                soundfile.write(folder / f"{word}_{person}_{i}.wav", hum(word, rng, shift), RATE)
    return folder


def test_the_command_prints_and_writes_what_it_has_measured(voices, tmp_path, capsys):
    asked = ["live-drifts", "--data", str(voices), "--sessions", "2", "--drifts", "none,rotate", "--extractors", "word"]
    assert main([*asked, "--json", "--out", str(tmp_path / "table.json")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "table.json").read_text()) == found
    assert [(row["drift"], row["takes"]) for row in found["rows"]] == [
        (drift, takes) for drift in ("none", "rotate") for takes in TAUGHT
    ]
    rows = {(row["drift"], row["takes"]): row["learners"] for row in found["rows"]}
    quiet = rows["none", 5]["hybrid"]
    assert quiet.pop("accuracy") > 0.9
    assert quiet == {"alarms": 0, "soon": 0, "median": None, "most": None}
    assert rows["rotate", 5]["hybrid"]["alarms"] == 1 and rows["rotate", 5]["hybrid"]["most"] <= 25
    assert rows["rotate", 5]["cit"]["alarms"] == 0
    assert main(asked) == 0
    assert "rotate  word       5      hybrid   100%" in capsys.readouterr().out


def test_delay_and_accuracy_are_those_of_the_sessions(voices, monkeypatch):
    """Every session is looked at by itself: its log gives the alarms that the row counts."""
    sessions = []
    monkeypatch.setattr(
        drift_trials._Session, "curves", lambda self: sessions.append(self) or super(type(self), self).curves()
    )
    table = measure_drifts(voices, 2, drifts=["swap"], extractors=["word"])
    assert len(sessions) == 2 * len(TAUGHT)
    for row, own in zip(table.rows, (sessions[:2], sessions[2:4], sessions[4:]), strict=True):
        delays, last = [], []
        for session in own:
            assert session.judged == BEFORE + AFTER and session.settings == LiveSettings()
            assert [event["kind"] for event in session.events if event["do"] == "drift"] == ["swap"]
            fitted = session.settings.learner("active").fit(*_taught(session, row.takes))
            judged = [(event["take"], event["word"]) for event in session.events if event["do"] == "judge"]
            X = VOICE_EXTRACTORS["word"].transform([session.takes[take] for take, _ in judged])
            trace = fitted.run(X, [word for _, word in judged])
            delays += [t - BEFORE + 1 for t in trace.detections.tolist() if t >= BEFORE][:1]
            last.append(np.mean((trace.predictions == [word for _, word in judged])[-20:]))
        assert row.learners["active"].alarms == len(delays) / 2
        assert row.learners["active"].most == max(delays)
        assert row.learners["active"].accuracy == pytest.approx(np.mean(last), abs=1e-4)


def _taught(session, takes):
    lessons = [(event["take"], event["word"]) for event in session.events if event["do"] == "teach"]
    assert len(lessons) == 3 * takes
    turns = [lessons[i + takes * word] for i in range(takes) for word in range(3)]
    return VOICE_EXTRACTORS["word"].transform([session.takes[take] for take, _ in turns]), [word for _, word in turns]


def test_a_varied_take_is_another_recording_of_the_word_and_the_same_each_time():
    take = open_take((hum("rise", np.random.default_rng(0)), RATE))
    again = [varied(take, turn) for turn in (1, 2)]
    assert len({take.digest, *(other.digest for other in again)}) == 3
    assert varied.__wrapped__(take, 1).digest == again[0].digest
    for other in again:
        assert other.stop - other.start == pytest.approx(take.stop - take.start, rel=0.3)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--drifts", "flood"], "no drift 'flood'"),
        (["--extractors", "ear"], "no extractor 'ear'"),
        (["--sessions", "0"], "sessions"),
        (["--seed", "-1"], "--seed is -1"),
    ],
)
def test_bad_arguments_are_one_line(voices, wrong, sentence, capsys):
    assert main(["live-drifts", "--data", str(voices), *wrong]) == 2
    assert sentence in capsys.readouterr().err


def test_one_speaker_is_refused(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for word in TUNES:
        soundfile.write(tmp_path / f"{word}_ann_0.wav", hum(word, rng), RATE)
    assert main(["live-drifts", "--data", str(tmp_path)]) == 2
    assert "0 speakers with 4 words of 6 takes" in capsys.readouterr().err


def test_the_shipped_table_has_every_drift_of_the_page_and_its_figures_are_possible():
    kinds = {name.split(":")[0] for name in TRIED_DRIFTS} - {"none"}
    assert kinds == set(LIVE_DRIFTS) - {"end"}
    for name, what in TRIED_DRIFTS.items():
        assert what is None or drift_name({"do": "drift", **what}) == name
        assert what is None or what.get("effect", FAULTS[0]) in FAULTS
    rows = measured()["rows"]
    assert {(row["drift"], row["extractor"], row["takes"]) for row in rows} == {
        (drift, extractor, takes) for drift in TRIED_DRIFTS for extractor in TRIED_EXTRACTORS for takes in TAUGHT
    }
    for row in rows:
        for name, rates in row["learners"].items():
            assert 0 <= rates["soon"] <= rates["alarms"] <= 1 and 0 <= rates["accuracy"] <= 1
            assert (rates["median"] is None) == (rates["alarms"] == 0)
            assert name != "cit" or rates["alarms"] == 0


def test_the_measured_promises_hold():
    """Without a drift fewer false alarms than promised; after a swap of words taught five times, both alarm soon."""
    for extractor in TRIED_EXTRACTORS:
        for takes in TAUGHT:
            rates = find_row("none", extractor, takes)["learners"]
            assert max(rates[name]["alarms"] for name in ("active", "hybrid")) <= LiveSettings().false_alarms
        for drift in ("swap", "rotate"):
            rates = find_row(drift, extractor, 5)["learners"]
            assert min(rates[name]["soon"] for name in ("active", "hybrid")) >= 0.95
            assert rates["hybrid"]["accuracy"] > rates["cit"]["accuracy"]
