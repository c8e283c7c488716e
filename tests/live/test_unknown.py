"""Unknown words: the limit by an independent computation, files, and the rates on recorded voices."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from tests.support.hummed_words import take_of
from tmlcd_core.features.voice import VOICE_EXTRACTORS
from tmlcd_core.live import LiveSession
from tmlcd_core.live.unknown import LARGEST, SPREAD, WEIGHT, largest_distance

VOICES = os.environ.get("TMLCD_VOICES", "")


def taught(each: int, extractor: str = "word") -> tuple[LiveSession, np.random.Generator]:
    rng = np.random.default_rng(0)
    session = LiveSession(["low", "rise", "fall"], extractor)
    for word in session.words * each:
        session.teach(word, take_of(word, rng))
    return session, rng


def limit_by_hand(extractor: str, taught: list[tuple[str, np.ndarray]]) -> float:
    nearest = []
    for i, (word, x) in enumerate(taught):
        own = [math.dist(x, other) for j, (same, other) in enumerate(taught) if j != i and same == word]
        if own:
            nearest.append(min(own))
    return (WEIGHT * LARGEST[extractor] + SPREAD[extractor] * sum(nearest)) / (WEIGHT + len(nearest))


@pytest.mark.parametrize("extractor", ["word", "speech"])
@pytest.mark.parametrize("each", [1, 2, 5])
def test_a_take_is_unknown_beyond_the_limit_by_hand(extractor, each, monkeypatch):
    session, rng = taught(each, extractor)
    voice = VOICE_EXTRACTORS[extractor]
    vectors = [(word, voice.transform([session.takes[take]])[0]) for take, word in session.labels().items()]
    between = min(math.dist(a, b) for i, (one, a) in enumerate(vectors) for two, b in vectors[:i] if one != two)
    monkeypatch.setitem(LARGEST, extractor, between * 0.6)  # hummed words differ less than spoken ones
    limit = limit_by_hand(extractor, vectors)
    assert largest_distance(extractor, np.stack([x for _, x in vectors]), [word for word, _ in vectors]) == (
        pytest.approx(limit, rel=1e-5)
    )
    found = set()
    for word in ("low", "rise", "fall", "high", "high"):
        answer = session.say(take_of(word, rng))
        x = voice.transform([answer.take])[0]
        assert answer.unknown == (min(math.dist(x, other) for _, other in vectors) > limit)
        found.add(answer.unknown)
    assert found == {True, False}


def test_with_one_take_of_each_word_the_limit_is_the_measured_one():
    X = np.eye(3, 96, dtype=np.float32)
    assert largest_distance("speech", X, ["a", "b", "c"]) == pytest.approx(LARGEST["speech"])
    assert largest_distance("speech", X, ["a", "a", "c"]) > LARGEST["speech"], "takes of “a” are far apart"
    assert largest_distance("paper", X, ["a", "b", "c"]) == math.inf


def test_an_unknown_word_is_learned_only_when_it_is_named(monkeypatch):
    session, rng = taught(2)
    monkeypatch.setitem(LARGEST, "word", 1.0)
    monkeypatch.setitem(SPREAD, "word", 0.01)
    stored = {name: session.stored(name) for name in session.learners}
    answer = session.say(take_of("high", rng))
    assert answer.unknown
    assert {name: session.stored(name) for name in session.learners} == stored
    opened = LiveSession.open(session.save())
    assert opened.pending().unknown and opened.pending().ballots == answer.ballots
    opened.judge(answer.id, "fall")
    assert answer.id in opened.stored("hybrid")
    monkeypatch.setitem(LARGEST, "word", 200.0)
    assert not opened.say(take_of("high", rng)).unknown, "it was named"
    session.drop(answer.id)
    assert session.pending() is None and {name: session.stored(name) for name in session.learners} == stored


@pytest.mark.skipif(not VOICES, reason="TMLCD_VOICES names no folder of recorded words of several people")
@pytest.mark.parametrize("takes", [1, 3, 5])
def test_speech_refuses_few_taught_words_and_accepts_few_others(takes):
    """The half of the speakers that the limit was not chosen on, three words taught, the other words untaught."""
    from tmlcd_core.live.drift_trials import read_voices

    voices = read_voices(VOICES)
    rng = np.random.default_rng(1)
    refused, accepted = [], []
    for speaker in sorted(voices)[1::2]:
        X = {word: VOICE_EXTRACTORS["speech"].transform(own) for word, own in voices[speaker].items()}
        for _ in range(20):
            words = [str(word) for word in rng.permutation(sorted(X))]
            rows = {word: rng.permutation(len(X[word])) for word in words[:3]}
            T = np.concatenate([X[word][rows[word][:takes]] for word in words[:3]])
            limit = largest_distance("speech", T, np.repeat(words[:3], takes).tolist())

            def nearest(Q, T=T):
                return np.linalg.norm(Q[:, None] - T[None], axis=2).min(axis=1)

            refused += (nearest(np.concatenate([X[w][rows[w][takes:]] for w in words[:3]])) > limit).tolist()
            accepted += (nearest(np.concatenate([X[w] for w in words[3:]])) <= limit).tolist()
    print(f"{takes} takes: {np.mean(refused):.2%} of {len(refused)} refused, {np.mean(accepted):.2%} accepted")
    assert np.mean(refused) <= 0.05
    assert np.mean(accepted) <= 0.02
