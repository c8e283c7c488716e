"""The recorder's voice activity (JavaScript, in node): spoken words among silence, tones, music and people talking."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from tmlcd_core.datasets.speech import Recipe, SpeechSource

if shutil.which("node") is None:
    pytest.skip("*** NO NODE: the recorder's voice activity is not tested ***", allow_module_level=True)

RATE = 16_000
LEVEL = 0.08  # root mean square of the words
VOICES = os.environ.get("TMLCD_VOICES", "")
PAUSE = 0.22  # s, after which a word has ended
SCRIPT = """
const read = require("fs").readFileSync;
const VoiceActivity = new Function(read(process.argv[1], "utf8") + "; return VoiceActivity;")();
const bytes = read(0);
const samples = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const size = Math.round(Number(process.argv[2]) / 100);
const voice = new VoiceActivity();
const events = [];
let loud = 0;
for (let at = 0; at + size <= samples.length; at += size) {
  const event = voice.push(samples.subarray(at, at + size));
  if (event) events.push([event, at / size / 100]);
  if (voice.learned && voice.tooLoud) loud += size;
}
console.log(JSON.stringify({ events, loud: loud / samples.length }));
"""


def listen(samples: np.ndarray, rate: int = RATE) -> dict[str, Any]:
    """Events (name, second) and the share of the time that was too loud."""
    sound = np.ascontiguousarray(samples, np.float32).tobytes()
    command = ["node", "-e", SCRIPT, str(resources.files("tmlcd_core.viz") / "voice_activity.js"), str(rate)]
    return json.loads(subprocess.run(command, input=sound, capture_output=True, check=True).stdout)


def spans(found: dict[str, Any]) -> list[tuple[float, float]]:
    """Start and end of each word in seconds."""
    started, words = 0.0, []
    for event, second in found["events"]:
        if event == "start":
            started = second
        elif event == "end":
            words.append((started, second))
    return words


def at_level(samples: np.ndarray) -> np.ndarray:
    return samples / np.sqrt(np.mean(np.square(samples))) * LEVEL


def trimmed(clip: np.ndarray) -> np.ndarray:
    loud = np.flatnonzero(np.abs(clip) > 0.02 * np.abs(clip).max())
    return at_level(clip[loud[0] : loud[-1] + 1])


def computer_voices() -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Words of one eSpeak voice, and those of others who talk meanwhile."""
    people = []
    for number, pitch in enumerate((20, 40, 60, 75, 90, 99)):
        recipe = Recipe(voices=("en-us" if number % 2 else "en-gb-x-rp",), pitches=(pitch,), clean=1.0, level=0.0)
        source = SpeechSource(["yes", "no", "up", "down"], recipe=recipe)
        people.append([
            trimmed(soxr.resample(clip, 22_050, RATE))
            for word in source.classes
            for clip in source.media(word, [number, number + 10])
        ])  # fmt: skip
    return people[0], people[1:]


def real_voices() -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """The same of recorded people."""
    speakers: dict[str, list[Path]] = {}
    for path in sorted(Path(VOICES).glob("*_*_*.flac")):
        speakers.setdefault(path.stem.split("_")[1], []).append(path)
    people = [[at_level(soundfile.read(path)[0]) for path in paths[::10]] for paths in speakers.values()]
    return people[0], people[1:]


@pytest.fixture(scope="module", params=["eSpeak", "real"])
def voices(request: Any) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    if request.param == "real" and not VOICES:
        pytest.skip("*** TMLCD_VOICES is not set: not tested with real voices ***")
    return computer_voices() if request.param == "eSpeak" else real_voices()


def speech(words: Sequence[np.ndarray], seed: int = 0) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Two seconds of a quiet room, then the words with pauses; and their positions in seconds."""
    rng = np.random.default_rng(seed)
    parts, places, now = [np.zeros(2 * RATE)], [], 2.0
    for word in words:
        pause = np.zeros(round(rng.uniform(0.7, 1.3) * RATE))
        parts += [word, pause]
        places.append((now, now + len(word) / RATE))
        now += (len(word) + len(pause)) / RATE
    samples = np.concatenate(parts)
    return samples + rng.normal(0, 3e-4, len(samples)), places


def babble(people: Sequence[Sequence[np.ndarray]], length: int, decibels: float) -> np.ndarray:
    """Everybody talks without a pause, `decibels` below the level of the words."""
    rng = np.random.default_rng(1)
    total = np.zeros(length)
    for words in people:
        said = np.concatenate([words[i] for i in rng.integers(len(words), size=4 * length // RATE + 20)])
        total += np.resize(said, length)
    return at_level(total) * 10 ** (-decibels / 20)


def test_every_word_is_found_once_and_ends_with_its_pause(voices):
    samples, places = speech(voices[0])
    found = spans(listen(samples))
    assert len(found) == len(places)
    for (start, stop), (begin, end) in zip(found, places, strict=True):
        assert begin - 0.05 <= start <= begin + 0.25
        assert stop <= end + PAUSE + 0.08, "the answer would come late"


def test_babble_at_10_db_starts_nothing_and_hides_nothing(voices):
    samples, places = speech(voices[0])
    noise = babble(voices[1], len(samples), 10)
    assert spans(listen(noise)) == []
    found = spans(listen(samples + noise))
    hits = [[span for span in found if span[0] < end and span[1] > begin] for begin, end in places]
    assert sum(map(bool, hits)) >= 0.85 * len(places)
    assert len(found) <= len(places), "takes began without a word"


def test_one_person_20_db_below_starts_nothing_and_hides_nothing(voices):
    samples, places = speech(voices[0])
    pause = np.zeros(RATE // 5)
    talk = np.concatenate([part for word in voices[1][0] for part in (word, pause)])
    first = round((places[0][1] + 0.5) * RATE)  # before the first word there is nothing to compare with
    samples[first:] += 0.1 * np.resize(talk, len(samples) - first)
    found = spans(listen(samples))
    hits = [[span for span in found if span[0] < end and span[1] > begin] for begin, end in places]
    assert all(hits) and len(found) == len(places)


def test_a_much_softer_word_is_heard_after_some_seconds():
    words = computer_voices()[0]
    loud, places = speech(words[:3])
    soft, _ = speech([0.15 * words[3]])
    at_once = np.concatenate([loud, soft[2 * RATE :]])
    later = np.concatenate([loud, soft[: 2 * RATE], soft[: 2 * RATE], soft])
    assert len(spans(listen(at_once))) == len(places)
    assert len(spans(listen(later))) == len(places) + 1


def test_at_0_db_it_is_too_loud_and_nothing_is_recorded(voices):
    samples, _ = speech(voices[0])
    found = listen(samples + babble(voices[1], len(samples), 0))
    assert spans(found) == [] and found["loud"] > 0.8


def test_people_who_begin_to_talk_are_no_word(voices):
    quiet, _ = speech([])
    talk = babble(voices[1], 12 * RATE, 0)
    found = listen(np.concatenate([quiet, talk]))
    assert len(spans(found)) <= 1 and found["loud"] > 0.3


def test_a_tone_music_hum_and_silence_are_no_words():
    time = np.arange(8 * RATE) / RATE
    quiet = np.random.default_rng(0).normal(0, 3e-4, 3 * RATE)
    tone = 0.2 * np.sin(2 * np.pi * 440 * time)
    beat = 0.6 + 0.4 * np.sin(2 * np.pi * 2 * time) ** 2
    music = 0.1 * beat * sum(np.sin(2 * np.pi * f * time) for f in (262, 330, 392, 523))
    for sound in (tone, music, 0.3 * np.sin(2 * np.pi * 50 * time), np.zeros(8 * RATE)):
        assert spans(listen(np.concatenate([quiet, sound]))) == []


def test_a_click_is_no_word_and_a_word_after_it_is():
    samples, _ = speech(computer_voices()[0][:1])
    samples = np.concatenate([samples[: 2 * RATE], np.zeros(RATE), samples[2 * RATE :]])
    samples[round(2.2 * RATE) : round(2.2 * RATE) + 30] = 0.9
    assert len(spans(listen(samples))) == 1


def test_a_voice_in_the_first_second_does_not_become_the_room():
    words = computer_voices()[0]
    talk = np.concatenate([words[0], np.zeros(RATE // 2)])
    samples, places = speech(words[1:4])
    found = spans(listen(np.concatenate([talk, samples])))
    assert len(found) == len(places)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_the_rate_of_the_microphone_does_not_matter(rate):
    samples, places = speech(computer_voices()[0][:4])
    assert len(spans(listen(soxr.resample(samples, RATE, rate), rate))) == len(places)
