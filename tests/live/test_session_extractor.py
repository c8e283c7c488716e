"""Extractor of a session: which one is the default, and that files, changes and exports name the one in use."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.hummed_words import take_of
from tmlcd_core import ConfigError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, default_voice, extractors, load_best_voice
from tmlcd_core.live import LiveSession, LiveSettings, session_project
from tmlcd_core.mcu import largest_store
from tmlcd_core.mcu.budget import board_bytes
from tmlcd_core.mcu.device import EmulatedBoard, build_firmware

ROOT = Path(__file__).resolve().parents[2]
FRESH = """
import json, sys
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.voice import default_voice, load_best_voice
first = TabState()
before = default_voice(), first.session.extractor, "torch" in sys.modules
load_best_voice()
first.use_best_voice()
print(json.dumps([before, [default_voice(), TabState().session.extractor, first.session.extractor]]))
"""


def taught(extractor: str) -> LiveSession:
    rng = np.random.default_rng(0)
    session = LiveSession(["low", "rise", "fall"], extractor)
    for word in session.words * 2:
        session.teach(word, take_of(word, rng))
    for word in session.words:
        session.judge(session.say(take_of(word, rng)).id, word)
    session.say(take_of("low", rng))
    return session


@pytest.fixture
def without_torch(monkeypatch):
    """A server without torch, though the network may be loaded already by another test."""
    found = extractors.missing_package
    monkeypatch.setattr(
        extractors, "missing_package", lambda m: "the package torch is not installed" if m == "torch" else found(m)
    )


def test_a_fresh_server_uses_word_without_torch_and_speech_once_the_network_is_loaded():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True, cwd=ROOT)
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert before == ["word", "word", False]
    assert after == ["speech", "speech", "speech"]


def test_the_network_is_loaded_after_the_learners(monkeypatch):
    from pages.shell.preload import preload
    from tmlcd_core.experiments import Experiment

    done = []
    monkeypatch.setattr(Experiment, "run", lambda self: done.append("learners"))
    monkeypatch.setattr("tmlcd_core.features.voice.load_best_voice", lambda: done.append("network"))
    preload()
    assert done == ["learners", "network"]


def test_without_torch_the_default_is_word_and_speech_is_refused(without_torch):
    load_best_voice()
    assert default_voice() == "word"
    session = taught("word")
    with pytest.raises(ConfigError, match="'speech' cannot be used here: the package torch is not installed"):
        session.change("speech")
    assert session.extractor == "word" and session.pending() is not None


@pytest.mark.parametrize("extractor", ["word", "speech"])
def test_an_opened_session_keeps_its_extractor_and_its_answer(extractor):
    session = taught(extractor)
    opened = LiveSession.open(session.save())
    assert (opened.extractor, opened.notice) == (extractor, "")
    assert opened.pending().ballots == session.pending().ballots


def test_a_file_with_speech_opens_without_torch_with_word_and_a_notice(request):
    session = taught("speech")
    saved = session.save()
    request.getfixturevalue("without_torch")
    opened = LiveSession.open(saved)
    assert opened.extractor == "word"
    assert "“Network trained on speech”" in opened.notice and "“Cepstra of the word”" in opened.notice
    assert {name: take.digest for name, take in opened.takes.items()} == {
        name: take.digest for name, take in session.takes.items()
    }
    assert opened.events == session.events
    assert opened.pending().ballots == taught("word").pending().ballots
    assert LiveSession.open(opened.save()).notice == ""


def test_another_extractor_computes_every_take_again_from_its_sound():
    session = taught("word")
    session.change("speech")
    for name in session.learners:
        sounds = [session.takes[take] for take in session.stored(name)]
        assert np.array_equal(session.model(name).samples_, VOICE_EXTRACTORS["speech"].transform(sounds))
    assert session.pending().ballots == taught("speech").pending().ballots


@pytest.mark.parametrize(
    ("extractor", "front_end"),
    [("word", "word"), ("speech", "speech"), ("log-mel", "word"), ("aligned", "filter"), ("paper", "clip")],
)
def test_the_exported_project_has_the_sessions_extractor_or_names_both(extractor, front_end):
    session = taught(extractor)
    project = session_project(session, "stm32h743", "cit", sample_rate=4_410)
    assert project.firmware.configuration.front_end == front_end
    title = VOICE_EXTRACTORS[extractor].title
    expected = {
        "word": f"The board hears words in a stream with the page's extractor, “{title}”",
        "speech": f"The board hears words in a stream with the page's extractor, “{title}”",
        "log-mel": f"The board uses “Cepstra of the word”, the page uses “{title}”: their accuracies differ",
        "aligned": f"The board hears words in a stream with the page's extractor, “{title}”",
        "paper": "The board uses the paper's filter, the page too",
    }[extractor]
    accuracies = f"{project.accuracy_board:.0%} on the board, {project.accuracy_page:.0%} on the page"
    for text in (project.remark, project.firmware.files["README.md"]):
        assert expected in text
        assert f"{accuracies}; {project.different} decided differently" in text
    firmware = project.firmware
    unknown = f"“Unknown”: {project.unknown_board} on the board, {project.unknown_page} on the page"
    assert (unknown in project.remark) == (firmware.farthest is not None)
    if front_end in ("clip", "filter"):
        assert firmware.farthest is None and project.unknown_board == project.unknown_page == 0
    elif front_end == extractor:  # the distance at which the page's probability of a known word is one half
        limit = np.sqrt(firmware.farthest) / firmware.scale
        assert limit == pytest.approx(session.farthest_known(), rel=0.01)


@pytest.mark.parametrize("extractor", ["word", "aligned"])
def test_the_firmware_with_a_microphone_fits_the_board_of_a_session(extractor, tmp_path):
    """T is as large as the board allows; the serial line and the microphone's buffers fit beside it."""
    session = taught(extractor)
    session.change(settings=LiveSettings(max_size=300))
    firmware = session_project(session, "stm32f401").firmware
    c, board = firmware.configuration, firmware.board
    assert c.samples == min(300, largest_store(c, replace(board, ram=board.ram - board_bytes(c, board))))
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board, serial=True, microphone=True), board)
    counted = firmware.budget.static + board_bytes(c, board)
    assert 0 <= device.static_bytes() - counted <= 24
