"""How well a few takes of a person's words tell the others apart: extractors compared on recordings in a folder."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.folder import FolderSource, printable
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take
from tmlcd_core.knn import TinyKNN
from tmlcd_core.live.settings import LiveSettings
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

DRAWS = 20  # of words and takes, for each speaker
SPEAKERS = 20  # most that are measured, unless asked for more
MOST_TAKES = 60  # of one word of one speaker
EVERYBODY = "all speakers"
UNNAMED = "one speaker"


@dataclass(frozen=True)
class Scores:
    """One extractor over all speakers and draws."""

    accuracy: float  # mean over speakers of the mean over draws, 0..1
    sd: float  # standard deviation over all draws of all speakers
    speakers: dict[str, float]  # mean over the draws of each
    n_features: int


@dataclass
class ExtractorComparison:
    """What `measure_speakers` found."""

    shots: int
    classes: int
    draws: int  # for each speaker
    seed: int
    takes: int = 0  # opened
    tests: int = 0  # predictions of each extractor
    extractors: dict[str, Scores] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # what was not as asked
    skipped: dict[str, str] = field(default_factory=dict)  # file -> why it could not be used


def find_speakers(source: FolderSource) -> dict[str, dict[str, list[Path]]]:
    """Files by speaker and word.

    Names `word_speaker_take` (Free Spoken Digit Dataset, AudioMNIST) and `speaker_nohash_take` (Speech Commands) tell
    the speaker; files with other names are taken as one person's.
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
    extractors: Sequence[str] = tuple(VOICE_EXTRACTORS),
    settings: LiveSettings | None = None,
    most_speakers: int = SPEAKERS,
    progress: Progress = silent,
) -> ExtractorComparison:
    """Accuracy of each extractor: per speaker, `shots` takes of each of `classes` words to learn, the rest to tell.

    Words and takes are drawn `draws` times for each speaker, the same for all extractors; the kNN is that of a live
    session.
    """
    whole_number("shots", shots, 1, 1_000)
    whole_number("classes", classes, 2, 100)
    whole_number("draws", draws, 1, 10_000)
    whole_number("speakers", most_speakers, 1)
    settings = settings or LiveSettings()
    for name in extractors:
        if name not in VOICE_EXTRACTORS:
            raise ConfigError(f"there is no extractor {name!r}; there are {', '.join(VOICE_EXTRACTORS)}")
    source = FolderSource(folder, progress)
    if source.kind != "audio":
        raise DataError(f"{printable(str(folder))!r} holds images; give a folder of recorded words")
    trial = ExtractorComparison(shots, classes, draws, seed)
    people = _enough(find_speakers(source), trial, most_speakers)
    scores: dict[str, dict[str, list[float]]] = {name: {} for name in extractors}
    for number, (speaker, words) in enumerate(people.items()):
        progress(number, len(people), f"speaker {speaker}")
        takes = _open(words, trial)
        plans = _plans(takes, trial, np.random.default_rng([seed, number]))
        if not plans:
            trial.remarks.append(f"{speaker}: too few takes could be used; left out")
            continue
        every = [take for word in takes for take in takes[word]]
        for name in extractors:
            X = VOICE_EXTRACTORS[name].transform(every)
            scores[name][speaker] = [_accuracy(X, *plan, settings) for plan in plans]
        trial.tests += sum(len(plan[2]) for plan in plans)
    progress(len(people), len(people), "speakers")
    if not any(scores.values()):
        raise DataError(
            f"no speaker in {printable(str(folder))!r} has usable takes of {classes} words; check the folder"
        )
    for name, of in scores.items():
        means = {speaker: float(np.mean(found)) for speaker, found in of.items()}
        every_draw = np.concatenate([np.array(found) for found in of.values()])
        trial.extractors[name] = Scores(
            float(np.mean(list(means.values()))), float(every_draw.std()), means, VOICE_EXTRACTORS[name].n_features
        )
    return trial


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
    """The speakers to measure; where nobody said enough words twice, all of them as if they were one."""
    full = {s: {w: f for w, f in words.items() if len(f) > trial.shots} for s, words in people.items()}
    full = {s: words for s, words in full.items() if len(words) >= trial.classes}
    some = {s: {w: f for w, f in words.items() if len(f) > 1} for s, words in people.items()}
    some = {s: words for s, words in some.items() if len(words) >= trial.classes}
    if full:
        chosen = full
        if len(full) < len(people):
            trial.remarks.append(
                f"{len(people) - len(full)} of {len(people)} speakers have fewer than {trial.shots + 1} takes of "
                f"{trial.classes} words: left out"
            )
    elif some:
        chosen = some
        trial.remarks.append(
            f"no speaker has {trial.shots + 1} takes of {trial.classes} words: as many takes are learned as leave one "
            f"to tell, {len(people) - len(some)} of {len(people)} speakers are left out"
        )
    else:
        pooled: dict[str, list[Path]] = defaultdict(list)
        for words in people.values():
            for word, files in words.items():
                pooled[word] += files
        chosen = {EVERYBODY: {w: f for w, f in pooled.items() if len(f) > 1}}
        if len(chosen[EVERYBODY]) < trial.classes:
            raise DataError(f"fewer than {trial.classes} words have two takes or more: ask for fewer --classes")
        trial.remarks.append(f"no speaker said {trial.classes} words twice: all {len(people)} speakers are pooled")
    if len(chosen) > most:
        # By a digest of their names: a fair sample, the same on every machine.
        names = sorted(chosen, key=lambda s: blake2b(os.fsencode(s), digest_size=8).digest())[:most]
        trial.remarks.append(f"{most} of {len(chosen)} speakers measured: ask for more with --speakers")
        chosen = {name: chosen[name] for name in sorted(names)}
    return chosen


def _open(words: dict[str, list[Path]], trial: ExtractorComparison) -> dict[str, list[Take]]:
    takes: dict[str, list[Take]] = {}
    for word, files in words.items():
        takes[word] = []
        for path in sorted(files)[:MOST_TAKES]:
            try:
                takes[word].append(open_take(path))
            except DataError as error:
                trial.skipped[printable(path.name)] = printable(str(error).replace(str(path), path.name))
        trial.takes += len(takes[word])
    return takes


Plan = tuple[NDArray[np.intp], NDArray[np.str_], NDArray[np.intp], NDArray[np.str_]]  # rows and words to learn, to tell


def _plans(takes: dict[str, list[Take]], trial: ExtractorComparison, rng: np.random.Generator) -> list[Plan]:
    counts = {word: len(of) for word, of in takes.items()}
    starts = dict(zip(counts, np.cumsum([0, *counts.values()])[:-1].tolist(), strict=True))
    usable = [word for word, count in counts.items() if count > min(trial.shots, 1)]
    if len(usable) < trial.classes:
        return []
    plans: list[Plan] = []
    for _ in range(trial.draws):
        learn, tell = [], []
        for word in sorted(rng.choice(usable, trial.classes, replace=False).tolist()):
            rows = starts[word] + rng.permutation(counts[word])
            shots = min(trial.shots, counts[word] - 1)
            learn += [(row, word) for row in rows[:shots]]
            tell += [(row, word) for row in rows[shots:]]
        columns = [np.array(column) for pairs in (learn, tell) for column in zip(*pairs, strict=True)]
        plans.append((columns[0], columns[1], columns[2], columns[3]))
    return plans


def _accuracy(
    X: NDArray[np.float32],
    learn: NDArray[np.intp],
    words: NDArray[np.str_],
    tell: NDArray[np.intp],
    truth: NDArray[np.str_],
    settings: LiveSettings,
) -> float:
    knn = TinyKNN(k=settings.k, weights=settings.weights).fit(X[learn], words)
    return float(np.mean(knn.predict(X[tell]) == truth))


def reasons(skipped: dict[str, str]) -> dict[str, Any]:
    """How many files were skipped, and the commonest reasons."""
    found = Counter(reason.split(": ", 1)[-1] for reason in skipped.values())
    return {"count": len(skipped), "reasons": dict(found.most_common(5))}
