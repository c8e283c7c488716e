"""Live answers with recorded voices: unknown words, calibration of "% sure", and odd takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.features.voice import VOICE_EXTRACTORS
from tmlcd_core.live.drift_trials import WORDS, read_voices
from tmlcd_core.live.odd_takes import find_odd
from tmlcd_core.live.state import closeness
from tmlcd_core.live.unknown import largest_distance, probability_known
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

ANSWERING = ("word", "speech")  # extractors with a limit for unknown words
ANSWER_TAKES = (1, 3, 5)  # taught of each word
BINS = 10  # of the confidence


@dataclass(frozen=True)
class AnswerRow:
    """Rates of one extractor and number of taught takes, 0..1."""

    extractor: str
    takes: int  # taught, of each word
    refused: float  # share of the taught words that are answered with "unknown"
    accepted: float  # share of the untaught words that are not
    calibration_error: float  # mean distance of the confidence to the share of right answers, over BINS bins
    odd_found: float | None  # share of the wrongly taught takes that are flagged; None with one take
    odd_false: float | None  # share of the other takes that are flagged


@dataclass
class AnswerTable:
    """Result of `measure_answers`."""

    draws: int
    seed: int
    speakers: list[str]
    words: int = WORDS
    rows: list[AnswerRow] = field(default_factory=list)


def measure_answers(
    folder: str | Path,
    draws: int = 20,
    seed: int = 0,
    extractors: Sequence[str] = ANSWERING,
    speakers: Sequence[str] = (),
    progress: Progress = silent,
) -> AnswerTable:
    """Measure unknown words, the calibration of "% sure" and odd takes, in the same voice.

    Parameters
    ----------
    folder
        Recorded words of two speakers or more, as for `measure_drifts`.
    draws, seed : int
        Random draws of words and takes per speaker, and their seed.
    extractors : sequence of str
        Names of ANSWERING.
    speakers : sequence of str
        Names of the speakers; all of them if empty.

    Returns
    -------
    AnswerTable
        One row per extractor and number of taught takes. Each draw teaches WORDS words; half of the tested takes are
        taught words, half (as far as there are enough) other words, for which no answer but "unknown" is right.
    """
    whole_number("draws", draws, 1, 10_000)
    for name in extractors:
        if name not in ANSWERING:
            raise ConfigError(f"there is no limit for unknown words with {name!r}; choose from {', '.join(ANSWERING)}")
    voices = read_voices(folder, progress)
    if missing := [name for name in speakers if name not in voices]:
        raise ConfigError(f"there is no speaker {missing[0]!r}; there are {', '.join(voices)}")
    chosen = list(speakers or voices)
    table = AnswerTable(draws, seed, chosen)
    for number, name in enumerate(extractors):
        features = []
        for place, speaker in enumerate(chosen):
            progress(number * len(chosen) + place, len(extractors) * len(chosen), f"{name}, {speaker}")
            features.append({w: VOICE_EXTRACTORS[name].transform(own) for w, own in voices[speaker].items()})
        table.rows += [_answer_row(name, takes, features, draws, seed) for takes in ANSWER_TAKES]
    progress(1, 1, "answers")
    return table


def _answer_row(
    extractor: str, takes: int, voices: list[dict[str, NDArray[np.float32]]], draws: int, seed: int
) -> AnswerRow:
    rng = np.random.default_rng([seed, takes])
    refused: list[bool] = []
    accepted: list[bool] = []
    sure: list[float] = []
    right: list[bool] = []
    found: list[bool] = []
    false: list[float] = []
    for X in voices:
        for _ in range(draws):
            names = [str(word) for word in rng.permutation(sorted(X))]
            words, others = names[:WORDS], names[WORDS:]
            rows = {word: rng.permutation(len(X[word])) for word in words}
            T = np.concatenate([X[word][rows[word][:takes]] for word in words])
            labels = np.repeat(words, takes)
            limit = largest_distance(extractor, T, labels.tolist())
            tests = [(x, word) for word in words for x in X[word][rows[word][takes:]]]
            strange = [(x, "") for word in others for x in X[word]]
            tests += [strange[i] for i in rng.permutation(len(strange))[: len(tests)]]
            for x, word in tests:
                near = np.linalg.norm(T - x, axis=1)
                known = probability_known(float(near.min()), limit)
                told = str(labels[near.argmin()])
                (refused if word else accepted).append((known < 0.5) == bool(word))
                sure.append(known * closeness(near, labels)[told])
                right.append(told == word)
            if takes > 1:
                wrong = int(rng.integers(len(labels)))
                mixed = labels.tolist()
                mixed[wrong] = str(rng.choice([word for word in words if word != labels[wrong]]))
                odd = find_odd(T, mixed)
                found.append(wrong in odd)
                false.append(len(odd.keys() - {wrong}) / (len(labels) - 1))
    return AnswerRow(
        extractor,
        takes,
        _share(refused),
        _share(accepted),
        calibration_error(np.array(sure), np.array(right)),
        _share(found) if found else None,
        _share(false) if false else None,
    )


def _share(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4)


def calibration_error(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error of confidences (n,) in 0..1, given which answers were right, (n,).

    It is the mean over all answers of the distance between mean confidence and share of right answers of their bin.

    >>> calibration_error(np.array([0.9, 0.9, 0.1, 0.1]), np.array([True, True, False, False]))
    0.1
    """
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    parts = [abs(sure[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return round(float(np.sum(parts)), 4)
