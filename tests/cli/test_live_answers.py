"""`live-answers`: rates of unknown words, calibration and odd takes, on hummed words with a known result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.support.hummed_words import RATE, TUNES, hum
from tmlcd_core.cli import main
from tmlcd_core.live.answer_trials import BINS, calibration_error, measure_answers
from tmlcd_core.live.unknown import LARGEST


@pytest.fixture(scope="module")
def voices(tmp_path_factory) -> Path:
    """Two people, four words, seven takes."""
    folder, rng = tmp_path_factory.mktemp("voices"), np.random.default_rng(0)
    for person, shift in (("ann", 1.0), ("bob", 0.8)):
        for word in TUNES:
            for i in range(7):
                soundfile.write(folder / f"{word}_{person}_{i}.wav", hum(word, rng, shift), RATE)
    return folder


def test_the_command_prints_what_it_has_measured(voices, capsys):
    asked = ["live-answers", "--data", str(voices), "--draws", "2", "--extractors", "word"]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["speakers"] == ["ann", "bob"] and [row["takes"] for row in found["rows"]] == [1, 3, 5]
    assert found["rows"][2]["odd_found"] == 1 and found["rows"][2]["odd_false"] == 0, "hummed words are far apart"
    assert found["rows"][0]["odd_found"] is None
    assert main([*asked, "--speakers", "ann"]) == 0
    assert "1 speakers, 3 words taught" in capsys.readouterr().out
    assert main([*asked, "--speakers", "eve"]) == 2
    assert "there is no speaker 'eve'" in capsys.readouterr().err


def test_with_a_limit_of_nothing_or_everything_all_words_are_refused_or_accepted(voices, monkeypatch):
    monkeypatch.setitem(LARGEST, "word", 1e-3)
    first = measure_answers(voices, 1, extractors=["word"]).rows[0]
    assert (first.refused, first.accepted) == (1, 0)
    monkeypatch.setitem(LARGEST, "word", 1e9)
    first = measure_answers(voices, 1, extractors=["word"]).rows[0]
    assert (first.refused, first.accepted) == (0, 1)
    assert first.calibration_error > 0.1, "sure of everything, also of words that were not taught"


def test_calibration_error_is_that_of_a_plain_loop():
    rng = np.random.default_rng(0)
    sure = rng.random(500)
    right = rng.random(500) < sure**2
    total = 0.0
    for b in range(BINS):
        inside = [(s, r) for s, r in zip(sure, right, strict=True) if b / BINS <= s < (b + 1) / BINS]
        total += abs(sum(s for s, _ in inside) - sum(r for _, r in inside)) / len(sure)
    assert calibration_error(sure, right) == pytest.approx(total, abs=1e-4)
