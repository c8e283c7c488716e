"""Odd takes: found by another computation, in sessions, and on recorded voices."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from tests.support.hummed_words import take_of
from tmlcd_core.features.voice import VOICE_EXTRACTORS
from tmlcd_core.live import LiveSession
from tmlcd_core.live.odd_takes import find_odd

VOICES = os.environ.get("TMLCD_VOICES", "")


def by_hand(X: np.ndarray, words: list[str]) -> dict[int, str]:
    left, found = list(range(len(X))), {}
    while True:
        ratios = {}
        for i in set(left):
            own = [math.dist(X[i], X[j]) for j in left if j != i and words[j] == words[i]]
            other = {j: math.dist(X[i], X[j]) for j in left if words[j] != words[i]}
            if own and other:
                ratios[i] = (min(own) / min(other.values()), words[min(other, key=other.get)])
        worst = max(ratios, key=lambda i: ratios[i][0], default=None)
        if worst is None or ratios[worst][0] <= 1:
            return found
        found[worst] = ratios[worst][1]
        left.remove(worst)


@pytest.mark.parametrize("seed", range(20))
def test_odd_takes_are_those_by_hand(seed):
    rng = np.random.default_rng(seed)
    words = rng.choice(["a", "b", "c"], rng.integers(1, 15)).tolist()
    X = rng.normal(size=(len(words), 3)).astype(np.float32) + 2 * np.array([[ord(word)] for word in words], np.float32)
    assert find_odd(X, words) == by_hand(X, words)


def test_a_take_taught_as_another_word_is_found_and_good_ones_are_not():
    rng = np.random.default_rng(0)
    session = LiveSession(["low", "rise", "fall"])
    assert session.odd_takes() == {}
    for word in session.words * 3:
        session.teach(word, take_of(word, rng))
    assert session.odd_takes() == {}
    wrong = session.teach("low", take_of("rise", rng))
    assert session.odd_takes() == {wrong: "rise"}
    session.relabel(wrong, "rise")
    assert session.odd_takes() == {}


@pytest.mark.skipif(not VOICES, reason="TMLCD_VOICES names no folder of recorded words of several people")
@pytest.mark.parametrize("extractor", ["word", "speech"])
@pytest.mark.parametrize("takes", [3, 5])
def test_wrongly_taught_takes_are_found_with_few_false_flags(extractor, takes):
    from tmlcd_core.live.drift_trials import read_voices

    rng = np.random.default_rng(0)
    found, false, good = [], 0, 0
    for own in read_voices(VOICES).values():
        X = {word: VOICE_EXTRACTORS[extractor].transform(sounds) for word, sounds in own.items()}
        for _ in range(20):
            words = [str(word) for word in rng.permutation(sorted(X))[:3]]
            T = np.concatenate([rng.permutation(X[word])[:takes] for word in words])
            labels = np.repeat(words, takes).tolist()
            wrong = int(rng.integers(len(labels)))
            labels[wrong] = str(rng.choice([word for word in words if word != labels[wrong]]))
            odd = find_odd(T, labels)
            found.append(wrong in odd)
            false += len(odd.keys() - {wrong})
            good += len(labels) - 1
    print(f"{extractor}, {takes} takes: {np.mean(found):.2%} of {len(found)} found, {false / good:.2%} false flags")
    assert np.mean(found) >= 0.95
    assert false / good <= 0.05
