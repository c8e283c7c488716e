"""Comparison of voice extractors: few-shot word accuracy on a folder of recordings, same voice and another voice."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.folder import FolderSource, printable
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take
from tmlcd_core.features.voice.cepstra import mfcc
from tmlcd_core.features.voice.extractors import trimmed
from tmlcd_core.features.voice.words import VOICE_RATE
from tmlcd_core.knn import TinyKNN
from tmlcd_core.live.settings import LiveSettings
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.sound import FULL_SCALE, as_int16
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

DRAWS = 20  # random draws of words and takes, per speaker
SPEAKERS = 20  # default maximum
MOST_SPOKEN = 60  # per word and speaker
SAID = ""  # key of the words that were said, beside the extractors' predictions
EVERYBODY = "all speakers"
UNNAMED = "one speaker"
DTW = "mfcc-dtw"  # second opinion: no vectors, but the nearest take by dynamic time warping of its MFCCs
COMPARED = (*VOICE_EXTRACTORS, DTW)
ON_CHIP = {f"{name}-chip": front_end for name, front_end in FRONT_ENDS.items()}  # as the board hears the takes


@dataclass(frozen=True)
class Scores:
    """Accuracy of one extractor over all speakers and draws."""

    accuracy: float  # mean over speakers of the mean over draws, 0..1
    sd: float  # standard deviation over all draws of all speakers
    speakers: dict[str, float]  # mean over draws, by speaker
    other_voice: float | None  # the same, tested with the takes of another speaker; None with one speaker
    n_features: int | None  # None without feature vectors
    different: int | None = None  # predictions that differ from those of the page's extractor, of a front end


@dataclass
class ExtractorComparison:
    """Result of `measure_speakers`."""

    shots: int
    classes: int
    draws: int  # per speaker
    seed: int
    takes: int = 0  # takes read
    tests: int = 0  # predictions of each extractor
    extractors: dict[str, Scores] = field(default_factory=dict)
    # Of a front end, each with its count, most frequent first: word said, prediction of the page and of the board.
    differing: dict[str, list[tuple[str, str, str, int]]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # deviations from the request
    skipped: dict[str, str] = field(default_factory=dict)  # file name to reason


def find_speakers(source: FolderSource) -> dict[str, dict[str, list[Path]]]:
    """Return the files by speaker and word.

    The speaker is read from file names `word_speaker_take` (Free Spoken Digit Dataset, AudioMNIST) or
    `speaker_nohash_take` (Speech Commands); all other files count as one speaker.
    """
    found: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for word in source.classes:
        for i in range(source.count(word)):
            path = source.file(word, i)
            found[_speaker(word, path)][word].append(path)
    return {speaker: dict(words) for speaker, words in sorted(found.items())}


def measure_speakers(
    folder: str | Path,
    shots: int = 5,
    classes: int = 3,
    draws: int = DRAWS,
    seed: int = 0,
    extractors: Sequence[str] = COMPARED,
    settings: LiveSettings | None = None,
    most_speakers: int = SPEAKERS,
    noise: float | None = None,
    people: Sequence[str] | None = None,
    progress: Progress = silent,
) -> ExtractorComparison:
    """Compare extractors: train on `shots` takes of each of `classes` words of a speaker, test on the other takes.

    Words and takes are drawn `draws` times per speaker, equally for all extractors, with the kNN of a live session.
    Each draw is also tested on the takes of the same words by another speaker, a different one each time. At most
    `most_speakers` speakers are used, with `people` only those named. Returns an `ExtractorComparison`.

    With `noise`, the takes of a speaker are first laid into a stream with noise of that level (`lay_out`), and page and
    board hear the same parts of it.
    """
    whole_number("shots", shots, 1, 1_000)
    whole_number("classes", classes, 2, 100)
    whole_number("draws", draws, 1, 10_000)
    whole_number("speakers", most_speakers, 1)
    settings = settings or LiveSettings()
    for name in extractors:
        if name not in COMPARED and name not in ON_CHIP:
            raise ConfigError(f"there is no extractor {name!r}; there are {', '.join((*COMPARED, *ON_CHIP))}")
    source = FolderSource(folder, progress)
    if source.kind != "audio":
        raise DataError(f"{printable(str(folder))!r} holds images; give a folder of recorded words")
    trial = ExtractorComparison(shots, classes, draws, seed)
    voices = {}
    named = {s: words for s, words in find_speakers(source).items() if people is None or s in people}
    for number, (speaker, words) in enumerate(_enough(named, trial, most_speakers).items()):
        takes = _open(words, trial)
        plans = _plans(takes, trial, np.random.default_rng([seed, number]))
        if plans:
            voices[speaker] = _Voice(takes, plans, noise)
            trial.tests += sum(len(plan.test) for plan in plans)
        else:
            trial.remarks.append(f"{speaker}: skipped, too few usable takes")
    if not voices:
        raise DataError(
            f"no speaker in {printable(str(folder))!r} has usable takes of {classes} words; check the folder"
        )
    told: dict[str, NDArray[np.str_]] = {}
    for number, name in enumerate(extractors):
        progress(number, len(extractors), name)
        trial.extractors[name], told[name], told[SAID] = _scores(name, voices, settings)
        page = ON_CHIP[name].page if name in ON_CHIP else ""
        if page in VOICE_EXTRACTORS and page in told:
            apart = np.flatnonzero(told[name] != told[page])
            said = Counter(zip(told[SAID][apart], told[page][apart], told[name][apart], strict=True))
            trial.extractors[name] = replace(trial.extractors[name], different=len(apart))
            trial.differing[name] = [(str(w), str(p), str(b), n) for (w, p, b), n in said.most_common()]
    progress(len(extractors), len(extractors), "extractors")
    return trial


class _Plan(NamedTuple):
    """One draw: rows of the takes to learn and to test."""

    learn: NDArray[np.intp]
    test: NDArray[np.intp]


class _Voice:
    """Takes of one speaker, their words (n,), the draws, and the parts of the stream that a board hears."""

    def __init__(self, takes: dict[str, list[Take]], plans: list[_Plan], noise: float | None) -> None:
        self.takes = [take for word in takes for take in takes[word]]
        sounds = [as_int16(take.samples) for take in self.takes]
        self.parts = lay_out(sounds) if noise is None else lay_out(sounds, noise)
        if noise is not None:
            self.takes = [open_take(((part / FULL_SCALE).astype(np.float32), VOICE_RATE)) for part in self.parts]
        self.words = np.array([word for word in takes for _ in takes[word]])
        self.plans = plans


def _scores(
    name: str, voices: dict[str, _Voice], settings: LiveSettings
) -> tuple[Scores, NDArray[np.str_], NDArray[np.str_]]:
    """Accuracy of one extractor for the speaker's own voice and, with two speakers or more, for another one.

    The second is the array of all predictions, the speaker's own voice first, and the third that of the words said.
    """
    knn = _dtw if name == DTW else partial(_knn, settings=settings)
    if name in ON_CHIP:
        features: Any = {s: ON_CHIP[name].hear_parts(voice.parts, voice.takes) for s, voice in voices.items()}
    else:
        read: Any = mfcc_sequences if name == DTW else VOICE_EXTRACTORS[name].transform
        features = {speaker: read(voice.takes) for speaker, voice in voices.items()}
    people = list(voices)
    own: dict[str, list[float]] = {}
    other: list[float] = []
    every: list[NDArray[np.str_]] = []
    said: list[NDArray[np.str_]] = []
    for number, (speaker, voice) in enumerate(voices.items()):
        own[speaker] = []
        for draw, plan in enumerate(voice.plans):
            X, words = _rows(features[speaker], plan.learn), voice.words[plan.learn]
            told = knn(X, words, _rows(features[speaker], plan.test))
            every.append(told)
            said.append(voice.words[plan.test])
            own[speaker].append(float(np.mean(told == voice.words[plan.test])))
            if len(people) > 1:
                stranger = people[(number + 1 + draw % (len(people) - 1)) % len(people)]
                rows = np.flatnonzero(np.isin(voices[stranger].words, words))
                if len(rows):
                    told = knn(X, words, _rows(features[stranger], rows))
                    every.append(told)
                    said.append(voices[stranger].words[rows])
                    other.append(float(np.mean(told == voices[stranger].words[rows])))
    means = {speaker: float(np.mean(found)) for speaker, found in own.items()}
    d = None if name == DTW else (ON_CHIP.get(name) or VOICE_EXTRACTORS[name]).n_features
    scores = Scores(
        float(np.mean(list(means.values()))),
        float(np.concatenate(list(own.values())).std()),
        means,
        float(np.mean(other)) if other else None,
        d,
    )
    return scores, np.concatenate(every), np.concatenate(said)


def _rows(features: Any, rows: NDArray[np.intp]) -> Any:
    return features[rows] if isinstance(features, np.ndarray) else [features[row] for row in rows]


def _knn(
    X: NDArray[np.float32], words: NDArray[np.str_], tested: NDArray[np.float32], settings: LiveSettings
) -> NDArray[np.str_]:
    return TinyKNN(k=settings.k, weights=settings.weights).fit(X, words).predict(tested)


def mfcc_sequences(takes: Sequence[Take]) -> list[NDArray[np.float32]]:
    """Return the MFCCs of each trimmed word, float32 (12, frames), of unit variance in each row."""
    return [mfcc(trimmed(take)) for take in takes]


def _dtw(
    known: list[NDArray[np.float32]], words: NDArray[np.str_], tested: list[NDArray[np.float32]]
) -> NDArray[np.str_]:
    """Word of the known take with the smallest cost of dynamic time warping per step of the path."""
    require("librosa")
    from librosa.sequence import dtw

    def cost(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
        total = dtw(a, b, metric="euclidean", backtrack=False)[-1, -1]
        return float(total) / (a.shape[1] + b.shape[1])

    return words[[int(np.argmin([cost(a, b) for a in known])) for b in tested]]


def _speaker(word: str, path: Path) -> str:
    parts = path.stem.split("_")
    if len(parts) >= 3 and "nohash" in parts:
        return printable("_".join(parts[: parts.index("nohash")]))
    if len(parts) == 3 and printable(parts[0]) == word and parts[2].isdigit():
        return printable(parts[1])
    return UNNAMED


def _enough(
    people: dict[str, dict[str, list[Path]]], trial: ExtractorComparison, most: int
) -> dict[str, dict[str, list[Path]]]:
    """Speakers with enough takes; if there are none, all speakers pooled as one."""
    full = {s: {w: f for w, f in words.items() if len(f) > trial.shots} for s, words in people.items()}
    full = {s: words for s, words in full.items() if len(words) >= trial.classes}
    some = {s: {w: f for w, f in words.items() if len(f) > 1} for s, words in people.items()}
    some = {s: words for s, words in some.items() if len(words) >= trial.classes}
    if full:
        chosen = full
        if len(full) < len(people):
            trial.remarks.append(
                f"{len(people) - len(full)} of {len(people)} speakers have fewer than {trial.shots + 1} takes of "
                f"{trial.classes} words: skipped"
            )
    elif some:
        chosen = some
        trial.remarks.append(
            f"no speaker has {trial.shots + 1} takes of {trial.classes} words: all takes but one are used for "
            f"training; {len(people) - len(some)} of {len(people)} speakers are skipped"
        )
    else:
        pooled: dict[str, list[Path]] = defaultdict(list)
        for words in people.values():
            for word, files in words.items():
                pooled[word] += files
        chosen = {EVERYBODY: {w: f for w, f in pooled.items() if len(f) > 1}}
        if len(chosen[EVERYBODY]) < trial.classes:
            raise DataError(f"fewer than {trial.classes} words have two takes or more: reduce --classes")
        trial.remarks.append(
            f"no speaker has two takes of {trial.classes} words: all {len(people)} speakers are pooled"
        )
    if len(chosen) > most:
        # Ordered by a digest of their names: a random sample that is the same on every machine.
        names = sorted(chosen, key=lambda s: blake2b(os.fsencode(s), digest_size=8).digest())[:most]
        trial.remarks.append(f"{most} of {len(chosen)} speakers used: increase --speakers for more")
        chosen = {name: chosen[name] for name in sorted(names)}
    return chosen


def _open(words: dict[str, list[Path]], trial: ExtractorComparison) -> dict[str, list[Take]]:
    takes: dict[str, list[Take]] = {}
    for word, files in words.items():
        takes[word] = []
        for path in sorted(files)[:MOST_SPOKEN]:
            try:
                takes[word].append(open_take(path))
            except DataError as error:
                trial.skipped[printable(path.name)] = printable(str(error).replace(str(path), path.name))
        trial.takes += len(takes[word])
    return takes


def _plans(takes: dict[str, list[Take]], trial: ExtractorComparison, rng: np.random.Generator) -> list[_Plan]:
    counts = {word: len(of) for word, of in takes.items()}
    starts = dict(zip(counts, np.cumsum([0, *counts.values()])[:-1].tolist(), strict=True))
    usable = [word for word, count in counts.items() if count > min(trial.shots, 1)]
    if len(usable) < trial.classes:
        return []
    plans = []
    for _ in range(trial.draws):
        learn: list[int] = []
        test: list[int] = []
        for word in sorted(rng.choice(usable, trial.classes, replace=False).tolist()):
            rows = (starts[word] + rng.permutation(counts[word])).tolist()
            shots = min(trial.shots, counts[word] - 1)
            learn += rows[:shots]
            test += rows[shots:]
        plans.append(_Plan(np.array(learn), np.array(test)))
    return plans


def reasons(skipped: dict[str, str]) -> dict[str, Any]:
    """Return the number of skipped files, and the five most frequent reasons with their counts."""
    found = Counter(reason.split(": ", 1)[-1] for reason in skipped.values())
    return {"count": len(skipped), "reasons": dict(found.most_common(5))}
