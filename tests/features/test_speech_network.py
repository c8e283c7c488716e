"""The speech network equals the original network, and tells words apart for one voice and for another."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from docs.make_speech_network import CLIPS, REFERENCE, reference_clip
from tmlcd_core import optional_packages
from tmlcd_core.errors import MissingPackageError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, open_take, speech_network
from tmlcd_core.live.speakers import measure_speakers

VOICES = os.environ.get("TMLCD_VOICES", "")


@pytest.fixture(scope="module")
def frames():
    return np.stack([speech_network.mel_frames(reference_clip(number)) for number in range(CLIPS)])


def test_vectors_equal_the_original_network_within_1e_4_on_100_clips(frames):
    found = speech_network.vectors(frames)
    with np.load(REFERENCE) as reference:  # outputs of onnxruntime, window by window
        assert reference["first"].shape == (100, 96)
        np.testing.assert_allclose(found[:, 0], reference["first"], rtol=0, atol=1e-4)
        np.testing.assert_allclose(found.mean(axis=1), reference["mean"], rtol=0, atol=1e-4)


def test_one_pass_gives_the_vectors_of_separate_windows(frames):
    whole = speech_network.vectors(frames[:3])
    for i in range(whole.shape[1]):
        start = i * speech_network.WINDOW_HOP
        alone = speech_network.vectors(np.ascontiguousarray(frames[:3, start : start + speech_network.WINDOW]))
        np.testing.assert_allclose(alone[:, 0], whole[:, i], rtol=0, atol=1e-4)


def test_weights_are_those_that_the_description_names():
    layers = speech_network.load_speech_network().layers
    assert len(layers) == 20
    digest = sha256(b"".join(t.numpy().astype("<f4").tobytes() for pair in layers for t in pair)).hexdigest()
    described = Path(speech_network.__file__).with_name("SPEECH_NETWORK.md").read_text()
    assert re.search(r"`([0-9a-f]{64})`: all weights", described)[1] == digest


def test_a_word_is_96_numbers_of_unit_length_whatever_its_level_and_place():
    time = np.arange(16_000) / 16_000
    tone = np.sin(2 * np.pi * 300 * time * (1 + time)) * ((time > 0.3) & (time < 0.7))
    takes = [open_take((0.3 * tone, 16_000)), open_take((0.03 * np.roll(tone, 2_000), 16_000))]
    found = VOICE_EXTRACTORS["speech"].transform(takes)
    assert found.shape == (2, 96)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    assert found[0] @ found[1] > 0.97


@pytest.mark.parametrize("package", ["torch", "librosa"])
def test_a_missing_package_is_named_with_its_install_command(package, monkeypatch):
    take = open_take((np.sin(np.arange(16_000) * 0.2) * (np.arange(16_000) > 5_000), 16_000))
    found = optional_packages.missing_package
    monkeypatch.setattr(
        optional_packages, "missing_package", lambda m: "pip install " + m if m == package else found(m)
    )
    monkeypatch.setattr(speech_network.load_speech_network, "cache_clear", lambda: None, raising=False)
    with pytest.raises(MissingPackageError, match=f"pip install {package}"):
        VOICE_EXTRACTORS["speech"].transform([take])


@pytest.mark.skipif(not VOICES, reason="TMLCD_VOICES names no folder of recorded words of several people")
def test_one_take_a_word_is_enough_for_the_same_voice_and_for_another():
    found = measure_speakers(VOICES, shots=1, classes=10, draws=5, extractors=["word", "speech"]).extractors
    assert found["speech"].accuracy >= 0.99
    assert found["speech"].other_voice >= 0.97
    assert found["speech"].accuracy > found["word"].accuracy
