"""`compare-extractors`: speakers of the files, training and test takes, and the accuracy of another kNN."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sklearn.neighbors import KNeighborsClassifier

from tests.support.hummed_words import RATE, TUNES, hum
from tmlcd_core import ConfigError, DataError
from tmlcd_core.cli import main
from tmlcd_core.datasets import FolderSource
from tmlcd_core.features.voice import VOICE_EXTRACTORS, open_take
from tmlcd_core.live import speakers
from tmlcd_core.live.speakers import find_speakers, measure_speakers

PEOPLE = {"ann": 1.0, "bob": 0.8}
QUICK = ("paper", "word")


def record(folder: Path, name: str, word: str, rng: np.random.Generator, shift: float = 1.0) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, hum(word, rng, shift), RATE)


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> Path:
    """Flat, as the Free Spoken Digit Dataset: two people, four words, eight takes."""
    folder, rng = tmp_path_factory.mktemp("digits"), np.random.default_rng(0)
    for person, shift in PEOPLE.items():
        for word in TUNES:
            for i in range(8):
                record(folder, f"{word}_{person}_{i}.wav", word, rng, shift)
    return folder


def test_the_speakers_of_every_layout_are_found(tmp_path):
    layouts = {
        "flat": ["7_jackson_32.wav", "7_theo_0.wav", "8_jackson_1.wav"],
        "mnist": ["01/7_01_0.wav", "02/7_02_0.wav", "01/8_01_1.wav"],
        "commands": ["yes/0a7c2a8d_nohash_0.wav", "yes/ffff0000_nohash_1.wav", "no/0a7c2a8d_nohash_0.wav"],
        "classes": ["yes/one.wav", "yes/two.wav", "no/three.wav"],
    }
    expected = {
        "flat": {"jackson": {"7": 1, "8": 1}, "theo": {"7": 1}},
        "mnist": {"01": {"7": 1, "8": 1}, "02": {"7": 1}},
        "commands": {"0a7c2a8d": {"no": 1, "yes": 1}, "ffff0000": {"yes": 1}},
        "classes": {"one speaker": {"no": 1, "yes": 2}},
    }
    for layout, names in layouts.items():
        for name in names:
            path = tmp_path / layout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"not looked at")
        found = find_speakers(FolderSource(tmp_path / layout))
        assert {s: {w: len(f) for w, f in sorted(words.items())} for s, words in found.items()} == expected[layout]


def test_the_command_reports_every_extractor_and_speaker(digits, capsys):
    assert (
        main(["compare-extractors", "--data", str(digits), "--shots", "5", "--classes", "3", "--draws", "4", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert set(found["extractors"]) == {*VOICE_EXTRACTORS, "mfcc-dtw"}
    assert found["speakers"] == ["ann", "bob"]
    assert found["takes"] == 64
    assert found["tests"] == 2 * 4 * 3 * 3  # speakers, draws, words, takes that are left
    best = found["extractors"][found["default"]]
    assert best["accuracy"] > 0.95
    assert best["accuracy"] == pytest.approx(np.mean(list(best["speakers"].values())))
    assert best["accuracy"] >= max(scores["accuracy"] for scores in found["extractors"].values()) - 0.05
    assert main(["compare-extractors", "--data", str(digits), "--draws", "2", "--extractors", "word"]) == 0
    text = capsys.readouterr().out
    assert "word *" in text and "ann" in text


def test_the_accuracy_is_that_of_another_knn_on_the_same_draws(digits, monkeypatch):
    plans = []
    inner = speakers._plans

    def spy(takes, trial, rng):
        made = inner(takes, trial, rng)
        plans.append((takes, made))
        return made

    monkeypatch.setattr(speakers, "_plans", spy)
    trial = measure_speakers(digits, 2, 4, 5, seed=3, extractors=["log-mel"])
    means = []
    for takes, made in plans:
        every = [take for of in takes.values() for take in of]
        names = [word for word, of in takes.items() for _ in of]
        X = VOICE_EXTRACTORS["log-mel"].transform(every)
        accuracies = []
        for learn, test in made:
            assert not set(learn) & set(test)  # no training take is tested
            words, truth = ([names[row] for row in rows] for rows in (learn, test))
            accuracies.append(KNeighborsClassifier(1).fit(X[learn], words).score(X[test], truth))
        means.append(np.mean(accuracies))
    assert trial.extractors["log-mel"].accuracy == pytest.approx(np.mean(means))


def test_another_voice_is_tested_with_the_takes_of_the_other_speaker(digits):
    found = measure_speakers(digits, 1, 4, 4, seed=0, extractors=["word", "mfcc-dtw"])
    people = find_speakers(FolderSource(digits))
    X, words = {}, {}
    for person, files in people.items():
        X[person] = VOICE_EXTRACTORS["word"].transform([open_take(path) for word in files for path in files[word]])
        words[person] = np.array([word for word in files for _ in files[word]])
    every = [  # any single take of each word as the training set, by scikit-learn
        KNeighborsClassifier(1).fit(X[one][rows], words[one][rows]).score(X[other], words[other])
        for one, other in (("ann", "bob"), ("bob", "ann"))
        for rows in ([8 * w + i for w in range(4)] for i in range(8))
    ]
    assert min(every) <= found.extractors["word"].other_voice <= max(every)
    assert found.extractors["mfcc-dtw"].accuracy > 0.9 and found.extractors["mfcc-dtw"].n_features is None


def test_the_same_seed_gives_the_same_figures(digits):
    one, two, other = (measure_speakers(digits, 1, 3, 3, seed, QUICK) for seed in (1, 1, 2))
    assert one.extractors == two.extractors
    assert one.extractors != other.extractors


def test_labels_without_meaning_are_told_at_chance(tmp_path):
    rng = np.random.default_rng(0)
    for word in ("a", "b", "c"):
        for i in range(15):
            record(tmp_path, f"{word}_x_{i}.wav", str(rng.choice(list(TUNES))), rng)
    trial = measure_speakers(tmp_path, 5, 3, 40, extractors=["word"])
    assert abs(trial.extractors["word"].accuracy - 1 / 3) < 0.12


def test_few_takes_are_used_as_they_are_and_told(tmp_path):
    """Speech Commands: one or two takes a speaker."""
    rng = np.random.default_rng(0)
    for word in ("low", "rise", "fall"):
        for person in ("aaaa", "bbbb", "cccc"):
            for i in range(3 if person == "aaaa" else 1):
                record(tmp_path, f"{word}/{person}_nohash_{i}.wav", word, rng)
    trial = measure_speakers(tmp_path, 5, 3, 3, extractors=["word"])
    assert list(trial.extractors["word"].speakers) == ["aaaa"]
    assert any("2 of 3 speakers are skipped" in remark for remark in trial.remarks)
    for path in tmp_path.rglob("aaaa*"):
        path.unlink()
    trial = measure_speakers(tmp_path, 5, 3, 3, extractors=["word"])
    assert list(trial.extractors["word"].speakers) == ["all speakers"]
    assert any("pooled" in remark for remark in trial.remarks)


def test_files_that_hold_no_word_are_left_out_and_counted(digits, tmp_path):
    for path in digits.glob("*_ann_*.wav"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "low_ann_90.wav").write_bytes(b"hello")
    soundfile.write(tmp_path / "low_ann_91.wav", np.zeros(RATE), RATE)
    trial = measure_speakers(tmp_path, 3, 3, 2, extractors=["word"])
    assert set(trial.skipped) == {"low_ann_90.wav", "low_ann_91.wav"}
    assert trial.takes == 32
    assert not any(str(tmp_path) in reason for reason in trial.skipped.values())


def test_more_speakers_than_asked_for_are_sampled(digits):
    trial = measure_speakers(digits, 3, 3, 1, extractors=["word"], most_speakers=1)
    assert len(trial.extractors["word"].speakers) == 1
    assert any("1 of 2 speakers" in remark for remark in trial.remarks)


@pytest.mark.parametrize(
    "arguments",
    ["--shots 0", "--classes 1", "--classes 9", "--draws 0", "--extractors x", "--k x", "--seed -1", "--speakers 0"],
)
def test_bad_arguments_are_one_line(digits, arguments, capsys):
    assert main(["compare-extractors", "--data", str(digits), *arguments.split()]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_folders_without_words_are_refused(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        measure_speakers(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no clips"):
        measure_speakers(tmp_path)
    with pytest.raises(ConfigError, match="no extractor"):
        measure_speakers(tmp_path, extractors=["x"])


def test_a_recording_trimmed_to_8_khz_is_told_as_well(tmp_path):
    """As the Free Spoken Digit Dataset has them: 8 kHz, no silence around the word."""
    import soxr

    rng = np.random.default_rng(0)
    for word in TUNES:
        for i in range(7):
            take = open_take((hum(word, rng), RATE))
            tight = take.samples[round(take.start * RATE) : round(take.stop * RATE)]
            soundfile.write(tmp_path / f"{word}_x_{i}.wav", soxr.resample(tight, RATE, 8_000), 8_000)
    assert measure_speakers(tmp_path, 5, 3, 6, extractors=["word"]).extractors["word"].accuracy > 0.95
