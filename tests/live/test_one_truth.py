"""One session of taught words and the same takes: the page, the C code, the boards and the web page decide the same.

The page computes with floats and finds the word in a recording; C code, boards and web page have 8 bits and find it in
a stream. What runs the C code must agree on every take; how often the page differs is counted and bounded.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.bench_boards import host_lines
from tests.support.hummed_words import hum
from tests.support.node import NODE
from tests.web.test_words_page import lines_of
from tmlcd_core.features.voice import VOICE_RATE, open_take
from tmlcd_core.live import LiveSession, LiveSettings, SessionProject, session_project
from tmlcd_core.live.drift_trials import read_voices
from tmlcd_core.mcu import BOARDS
from tmlcd_core.mcu import listening as hearing
from tmlcd_core.mcu.board_twin import BoardLoop
from tmlcd_core.mcu.check import UNKNOWN
from tmlcd_core.mcu.device import EmulatedBoard, build_firmware, make
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.link import BoardLink, open_line
from tmlcd_core.mcu.qemu import EmulatedSerialBoard
from tmlcd_core.mcu.sound import FULL_SCALE, as_int16
from tmlcd_core.web.words_page import words_page

LEARNER = "hybrid"
F401, F767 = BOARDS["stm32f401"], BOARDS["stm32f767"]
NOT_HEARD = "(not heard)"


@dataclass(frozen=True)
class Decision:
    """Answer to a take, |T| after it, and at an alarm the take with which the change began (else -1)."""

    answer: str
    size: int
    change: int = -1


@dataclass(frozen=True)
class Stream:
    """Sound of takes one after the other; a label of None is not told."""

    parts: list[NDArray[np.int16]]
    labels: list[str | None]

    def first(self, count: int) -> Stream:
        return Stream(self.parts[:count], self.labels[:count])

    def records(self, classes: tuple[str, ...]) -> bytes:
        codes = [-1 if label is None else classes.index(label) for label in self.labels]
        return b"".join(
            np.array([code, len(part)], "<i4").tobytes() + part.astype("<i2").tobytes()
            for code, part in zip(codes, self.parts, strict=True)
        )


def on_page(session: LiveSession, stream: Stream) -> list[Decision]:
    """The session itself: each part of the stream is a recording."""
    found, said = [], []
    for part, label in zip(stream.parts, stream.labels, strict=True):
        answer = session.say(open_take(((part / FULL_SCALE).astype(np.float32), VOICE_RATE)))
        said.append(answer.id)
        told = UNKNOWN if answer.unknown else answer.ballots[LEARNER].prediction
        verdict = session.judge(answer.id, label).verdicts[LEARNER] if label is not None else None
        change = said.index(verdict.change_point) if verdict and verdict.change_point else -1
        found.append(Decision(told, len(session.stored(LEARNER)), change))
    return found


def takes_of_words(front_end: str, stream: Stream) -> list[int]:
    """The number of the take in which each word of the stream ends, by the Python twin of the word finder."""
    ends = np.cumsum([len(part) for part in stream.parts])
    frames = hearing.frames_of(np.concatenate(stream.parts), FRONT_ENDS[front_end].spectrum)
    return [int(np.searchsorted(ends, span.end * hearing.HOP + hearing.WINDOW)) for span in hearing.find_spans(frames)]


def of_lines(lines: list[str], places: list[int]) -> list[Decision]:
    """The lines of the host program and of the firmware; the time of a word becomes the number of its take."""
    found = []
    for line in lines:
        time, *name, size = line.partition(" alarm ")[0].split()
        change = int(line.partition(" alarm ")[2] or 0)
        assert int(time) == len(found) + 1
        found.append(Decision(" ".join(name), int(size), places[change - 1] if change else -1))
    return found


def in_web_page(text: str, stream: Stream, classes: tuple[str, ...], places: list[int], folder: Path) -> list[Decision]:
    words = [label or "" for label in stream.labels]  # no word: heard, not named
    lines = lines_of(text, stream.parts, words, folder)
    return [
        Decision(
            UNKNOWN if line["unknown"] else classes[line["told"]],
            line["size"],
            places[line["change"] - 1] if line["alarm"] else -1,
        )
        for line in lines
    ]


def on_serial_board(folder: Path, stream: Stream, classes: tuple[str, ...], places: list[int]) -> list[Decision]:
    """QEMU's STM32F405 over its serial line, beside its own Python twin."""
    codes = [-1 if label is None else classes.index(label) for label in stream.labels]
    with EmulatedSerialBoard(folder) as board:
        loop = BoardLoop(lambda: BoardLink(open_line(board.port), board.port, silence=60))
        heard = [one for part, code in zip(stream.parts, codes, strict=True) for one in loop.step(part, code)]
        loop.link.close()
    assert all(one.equal for one in heard)
    return [
        Decision(
            UNKNOWN if one.board.unknown else classes[one.board.prediction],
            one.board.size,
            places[one.board.change - 1] if one.board.change else -1,
        )
        for one in heard
    ]


def chips_decide(
    session: LiveSession, project: SessionProject, stream: Stream, folder: Path, on_boards: int
) -> list[Decision]:
    """What the C code decides, after host, M4, M7, serial board and WebAssembly have agreed on every word."""
    firmware = project.firmware
    front_end, classes = firmware.configuration.front_end, firmware.classes
    places = takes_of_words(front_end, stream)
    c = firmware.write(folder / "c")
    make(c, "check")
    host = of_lines(host_lines(c, stream.records(classes)), places)
    assert len(host) == len(places)
    few, expected = stream.first(on_boards), host[: sum(place < on_boards for place in places)]
    for board in (F401, F767):
        device = EmulatedBoard(build_firmware(c, board), board)
        assert of_lines(device.run(few.records(classes)).splitlines(), places) == expected
    if shutil.which("qemu-system-arm"):
        assert on_serial_board(c, few, classes, places) == expected
    if NODE is not None:
        assert in_web_page(words_page(session, F401, LEARNER, front_end), stream, classes, places, folder) == host
    return host


def compare_with_page(page: list[Decision], chip: list[Decision], places: list[int]) -> dict[str, int]:
    """The number of takes on which the page decides differently, by what differs."""
    of_take = dict(zip(places, chip, strict=True))
    found = dict.fromkeys(("answer", "unknown", "not heard", "|T|", "alarm"), 0)
    for number, one in enumerate(page):
        other = of_take.get(number, Decision(NOT_HEARD, one.size))
        found["not heard"] += other.answer == NOT_HEARD
        found["unknown"] += (one.answer == UNKNOWN) != (other.answer == UNKNOWN)
        found["answer"] += one.answer != other.answer
        found["|T|"] += one.size != other.size
        found["alarm"] += one.change != other.change
    return found


def run_everywhere(session: LiveSession, stream: Stream, folder: Path, on_boards: int) -> tuple[list, list, dict]:
    session = LiveSession.open(session.save())
    project = session_project(session, F401, LEARNER)
    assert project.firmware.configuration.front_end == session.extractor
    chip = chips_decide(session, project, stream, folder, on_boards)
    page = on_page(session, stream)
    return page, chip, compare_with_page(page, chip, takes_of_words(session.extractor, stream))


@pytest.mark.parametrize(("front_end", "takes", "on_boards"), [("word", 40, 8), ("speech", 16, 2)])
def test_page_c_code_boards_and_web_page_decide_the_same(front_end, takes, on_boards, tmp_path):
    """Three hummed words; two of them change places, and a fourth one is never named."""
    rng = np.random.default_rng(4)
    names = ["low", "rise", "fall"]
    settings = LiveSettings(batch=4, warmup=6, threshold=2.0)
    session = LiveSession(names, front_end, (LEARNER,), settings)
    for name in names:
        session.teach(name, open_take((hum(name, rng), VOICE_RATE)))
    sounds, labels = [], []
    for number in range(takes):
        word = "high" if number % 10 == 9 else str(rng.choice(names))
        swapped = {"low": "rise", "rise": "low"} if number >= takes // 2 else {}
        sounds.append(as_int16(open_take((hum(word, rng), VOICE_RATE)).samples))
        labels.append(None if word == "high" else swapped.get(word, word))
    page, chip, different = run_everywhere(session, Stream(lay_out(sounds), labels), tmp_path, on_boards)
    assert any(one.change >= 0 for one in chip) and any(one.change >= 0 for one in page)
    print(front_end, different)
    if front_end == "word":
        assert not any(different.values())
    else:  # the board's network has 8 bits: a take between two of these hummed words may be decided differently
        assert different["answer"] + different["unknown"] <= takes // 8


VOICES = os.environ.get("TMLCD_VOICES", "")
MOST_DIFFERENT = 0.05  # share of the takes with another answer


@pytest.mark.slow
@pytest.mark.timeout(3_000)
@pytest.mark.skipif(not VOICES, reason="TMLCD_VOICES names no folder of recorded words of several people")
@pytest.mark.parametrize(("front_end", "on_boards"), [("word", 20), ("speech", 8)])
@pytest.mark.parametrize("place", [0, -1])
def test_on_real_voices_they_decide_the_same_too(front_end, on_boards, place, tmp_path):
    """Five words of one speaker, one take each; two change places halfway, and a sixth word is never named."""
    voices = read_voices(VOICES)
    voice = voices[sorted(voices)[place]]
    *words, other = [str(word) for word in np.random.default_rng(0).permutation(sorted(voice))[:6]]
    session = LiveSession(words, front_end, (LEARNER,))
    for word in words:
        session.teach(word, voice[word][0])
    said = [(word, take) for word in words for take in voice[word][1:20]] + [(other, t) for t in voice[other][:8]]
    said = [said[i] for i in np.random.default_rng(1).permutation(len(said))]
    swapped = {words[0]: words[1], words[1]: words[0]}
    labels = [
        None if word == other else swapped.get(word, word) if number >= len(said) // 2 else word
        for number, (word, _) in enumerate(said)
    ]
    parts = lay_out([as_int16(take.samples) for _, take in said])
    page, chip, different = run_everywhere(session, Stream(parts, labels), tmp_path, on_boards)
    right = [
        np.mean([one.answer == label for one, label in zip(ones, labels, strict=True) if label])
        for ones in (page, chip)
        if len(ones) == len(labels)
    ]
    alarms = [sum(one.change >= 0 for one in ones) for ones in (page, chip)]
    print(f"{front_end}, {len(page)} takes: different {different}, right on page and chip {right}, alarms {alarms}")
    assert different["not heard"] == 0 and min(alarms) >= 1
    assert different["answer"] <= MOST_DIFFERENT * len(page)
