"""The background class: noises are background, words are not, and the class follows the room."""

from __future__ import annotations

import math
import os
from contextlib import suppress

import numpy as np
import pytest

from tests.support.hummed_words import RATE
from tests.support.noises import NOISES, coloured, in_a_room
from tmlcd_core.datasets.espeak import SAMPLE_RATE, Utterance, speak
from tmlcd_core.errors import AudioError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take, whole_take
from tmlcd_core.live import LiveSession
from tmlcd_core.live.background import ROOMS, quiet_noise
from tmlcd_core.live.unknown import LARGEST

VOICES = os.environ.get("TMLCD_VOICES", "")
SPEECH = VOICE_EXTRACTORS["speech"]
WORDS = ("yes", "no", "up", "seven", "sheesh")


def spoken(speed: int) -> dict[str, Take]:
    pause = np.zeros(SAMPLE_RATE // 3)
    sounds = speak([Utterance(word, "en-us", 50, speed) for word in WORDS])
    rng = np.random.default_rng(speed)
    takes = {}
    for word, sound in zip(WORDS, sounds, strict=True):
        clip = np.concatenate([pause, sound / 32_768, pause])
        takes[word] = open_take((clip + rng.normal(0, 1e-3, len(clip)), SAMPLE_RATE))
    return takes


def taught(words: tuple[str, ...] = WORDS[:3], extractor: str = "speech") -> LiveSession:
    session, takes = LiveSession(words, extractor), spoken(140)
    for word in words:
        session.teach(word, takes[word])
    return session


def noises(kind: str, count: int, seed: int) -> list[Take]:
    """Takes of a kind of noise; a single key is too short for a take."""
    rng, takes = np.random.default_rng(seed), []
    while len(takes) < count:
        with suppress(AudioError):
            takes.append(open_take((in_a_room(NOISES[kind](rng), rng), RATE)))
    return takes


@pytest.mark.parametrize("kind", NOISES)
def test_a_noise_is_background_and_no_word(kind):
    session = taught()
    answers = [session.hear(take) for take in noises(kind, 5, seed=1)]
    assert all(answer.unknown for answer in answers)
    if kind != "chair":  # it squeaks: an unknown word
        assert sum(answer.noise for answer in answers) >= 3, "the others are unknown words"


def test_a_taught_word_is_known_and_another_word_is_unknown_but_no_noise():
    session = taught()
    for word, take in spoken(165).items():
        answer = session.hear(take)
        assert not answer.noise
        assert answer.unknown == (word not in session.words), word


def test_the_probability_of_a_known_word_by_hand():
    session = taught()
    session.hear_room((coloured(1.0, 100, 2_000, np.random.default_rng(3)), RATE))
    rooms = [SPEECH.transform([room])[0] for room in session.background.rooms]
    named = [SPEECH.transform([take])[0] for take in session.takes.values()]
    for take in (*spoken(165).values(), *noises("cough", 1, seed=2)):
        x = SPEECH.transform([take])[0]
        word, room = (min(math.dist(x, other) for other in others) for others in (named, rooms))
        answer = session.hear(take)
        assert answer.known == pytest.approx(1 / (1 + math.exp(12 * (word / min(room, LARGEST["speech"]) - 1))), 1e-3)
        assert answer.noise == (room < word and room < LARGEST["speech"])


def test_the_class_follows_the_room():
    """A loud tone is no noise at first; in a room with that tone it is."""
    session = taught()
    tone = np.sin(2 * np.pi * 1_000 * np.arange(RATE) / RATE) + np.sin(2 * np.pi * 2_300 * np.arange(RATE) / RATE)
    beep = open_take((np.concatenate([np.zeros(6_000), 0.2 * tone[:6_000], np.zeros(6_000)]), RATE))
    assert not session.hear(beep).noise
    for volume in np.linspace(0.01, 0.02, 2 * ROOMS):
        session.hear_room((volume * tone, RATE))
    assert session.hear(beep).noise
    assert len(session.background.rooms) == ROOMS + 1 and session.background.rooms[0] is quiet_noise()
    for volume in np.linspace(0.01, 0.02, ROOMS):
        session.hear_room((coloured(1.0, 100, 6_000, np.random.default_rng(0)) * volume, RATE))
    assert not session.hear(beep).noise, "the tone is over"


def test_a_second_in_which_somebody_spoke_is_no_room():
    session = LiveSession(["yes", "no"], "speech")
    rng = np.random.default_rng(0)
    for word in spoken(150).values():  # 12 dB above the noise: too soft for the recorder
        noise = rng.normal(0, 1, len(word.samples)) * 10 ** ((word.level - 12) / 20)
        session.hear_room((0.05 * (word.samples + noise), RATE))
    assert list(session.background.rooms) == [quiet_noise()]
    session.hear_room((0.01 * rng.normal(size=RATE), RATE))
    assert len(session.background.rooms) == 2


def test_a_room_that_sounds_like_a_taught_word_does_not_count():
    session = taught()
    vowel = sum(np.sin(2 * np.pi * 130 * k * np.arange(RATE) / RATE) / (1 + abs(k - 5)) for k in range(1, 25))
    take = open_take((np.concatenate([np.zeros(6_000), 0.1 * vowel[:6_000], np.zeros(6_000)]), RATE))
    session.teach("up", take)
    before = session.hear(take).known
    session.hear_room((0.01 * vowel, RATE))
    assert len(session.background.rooms) == 2
    assert session.hear(take).known == pytest.approx(before) and not session.hear(take).noise


def test_a_taught_noise_is_a_word():
    session = LiveSession(["yes", "clap"], "speech")
    clap = noises("clap", 1, seed=5)[0]
    session.teach("yes", spoken(140)["yes"])
    first = session.teach("clap", clap)
    assert session.is_noise(first), "compared with the other takes"
    answer = session.hear(clap)
    assert not answer.unknown and answer.ballots["cit"].prediction == "clap"


def test_only_extractors_with_a_background_class_find_noises():
    assert not taught(extractor="word").hear(noises("hiss", 1, seed=1)[0]).noise


@pytest.mark.parametrize("sound", [np.zeros(RATE), np.full(RATE, np.nan), np.zeros(0), np.zeros(6 * RATE)])
def test_an_empty_or_broken_room_is_refused_or_harmless(sound):
    session = taught()
    try:
        session.hear_room((sound, RATE))
    except AudioError:
        assert len(session.background.rooms) == 1
    assert session.hear(spoken(150)["yes"]).ballots["cit"].prediction == "yes"


def test_a_whole_take_is_all_word():
    take = whole_take((0.01 * np.sin(np.arange(8_000)), 8_000))
    assert (take.start, take.stop, len(take.samples)) == (0.0, 1.0, RATE)


@pytest.mark.skipif(not VOICES, reason="TMLCD_VOICES names no folder of recorded words of several people")
def test_no_word_of_people_is_noise():
    from tmlcd_core.live.drift_trials import read_voices

    room = SPEECH.transform([quiet_noise()])[0]
    for words in read_voices(VOICES).values():
        takes = [take for own in words.values() for take in own[::5]]
        assert np.linalg.norm(SPEECH.transform(takes) - room, axis=1).min() > LARGEST["speech"]
