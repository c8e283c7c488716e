"""Live drifts with recorded voices: sessions taught, judged and drifted as on the page, and their alarms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.folder import FolderSource, printable
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, VOICE_RATE, Take, VoiceExtractor, open_take
from tmlcd_core.live.drifts import COVERED, heard_through, in_force, sound_changes, spoken_for, word_to_ask
from tmlcd_core.live.expectations import CYCLE
from tmlcd_core.live.session import LiveSession
from tmlcd_core.live.speakers import find_speakers
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

WORDS = 3  # words taught in a session; the drifts may add one more
TAUGHT = (1, 3, 5)  # takes of each word
BEFORE, AFTER = 15, 60  # judged answers before and after the drift begins
LAST = 20  # answers at the end, for the accuracy
SOON = 25  # answers within which an alarm is early enough for a demonstration
FAULT_EFFECTS = ("wrong sample rate", "babble")  # at full strength
# By name in the table: the arguments of `begin_drift`; None for no drift.
TRIED_DRIFTS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "swap": {"kind": "swap"},
    "rotate": {"kind": "rotate"},
    "class-change": {"kind": "class-change"},
    "new-word": {"kind": "new-word"},
    "speaker": {"kind": "speaker"},
    "cover": {"kind": "cover"},
    **{f"fault: {effect}": {"kind": "fault", "effect": effect, "strength": 1.0} for effect in FAULT_EFFECTS},
}
TRIED_EXTRACTORS = ("word", "speech")  # extractors of the page's default
# Variation of a take that is used again. With these its distance to the original is that of two takes of a word.
SPEED, WARP = 0.1, 0.05  # speed and pitch, and uneven speed, as shares of the take
EQUALISER_HZ, EQUALISER_DB = (0, 300, 700, 1_500, 3_000, 5_000, 8_000), 4.0
NOISE_DB = -40.0  # relative to the peak
MOST_VARIED = 4_096  # varied takes in memory, since the sessions share them: 200 MB
MOST_QUANTILE = 0.8


@dataclass(frozen=True)
class LearnerRates:
    """Alarms and accuracy of one learner over all sessions of a row."""

    alarms: float  # share of sessions with an alarm after the drift began, 0..1
    soon: float  # share of sessions with an alarm within 25 answers
    median: int | None  # answers from the drift to the first alarm; None without alarms
    most: int | None  # 80 % of the alarms came within this many answers
    accuracy: float  # mean over the last LAST answers


@dataclass(frozen=True)
class DriftRow:
    """Result for one drift, extractor and number of taught takes."""

    drift: str
    extractor: str
    takes: int  # taught, of each word
    sessions: int
    learners: dict[str, LearnerRates]


@dataclass
class DriftTable:
    """Result of `measure_drifts`; the shipped table has the same fields."""

    sessions: int
    seed: int
    words: int = WORDS
    before: int = BEFORE
    after: int = AFTER
    speakers: int = 0
    rows: list[DriftRow] = field(default_factory=list)


def measure_drifts(
    folder: str | Path,
    sessions: int = 24,
    seed: int = 0,
    drifts: Sequence[str] = tuple(TRIED_DRIFTS),
    extractors: Sequence[str] = TRIED_EXTRACTORS,
    progress: Progress = silent,
) -> DriftTable:
    """Run live sessions with recorded voices for every drift, extractor and number of taught takes.

    Parameters
    ----------
    folder
        Recorded words of two speakers or more, as for `measure_speakers`: four words, more than TAUGHT takes each.
    sessions : int
        Sessions of each row; the speakers take turns, words and takes are drawn.
    seed : int
        Seed of the draws.
    drifts, extractors : sequence of str
        Names of TRIED_DRIFTS and of `VOICE_EXTRACTORS`.

    Returns
    -------
    DriftTable
        One row per drift, extractor and number of takes. A session is judged BEFORE answers, then drifts, then AFTER
        answers. When the takes of a word are used up, those that were not taught come again, varied.
    """
    whole_number("sessions", sessions, 1, 10_000)
    for name in drifts:
        if name not in TRIED_DRIFTS:
            raise ConfigError(f"there is no drift {name!r}; there are {', '.join(TRIED_DRIFTS)}")
    for name in extractors:
        if name not in VOICE_EXTRACTORS:
            raise ConfigError(f"there is no extractor {name!r}; there are {', '.join(VOICE_EXTRACTORS)}")
    voices = read_voices(folder, progress)
    table = DriftTable(sessions, seed, speakers=len(voices))
    work = [(drift, extractor, takes) for extractor in extractors for drift in drifts for takes in TAUGHT]
    known = {extractor: _KnownFeatures(VOICE_EXTRACTORS[extractor]) for extractor in extractors}
    for done, (drift, extractor, takes) in enumerate(work):
        progress(done, len(work), f"{drift}, {extractor}, {takes}")
        trials = [_trial(voices, drift, known[extractor], takes, [seed, number]) for number in range(sessions)]
        table.rows.append(_row(drift, extractor, takes, trials))
    progress(len(work), len(work), "drifts")
    return table


def read_voices(folder: str | Path, progress: Progress = silent) -> dict[str, dict[str, list[Take]]]:
    """Return the takes by speaker and word, of all speakers with enough of them; a `DataError` for fewer than two."""
    source = FolderSource(folder, progress)
    if source.kind != "audio":
        raise DataError(f"{printable(str(folder))!r} holds images; give a folder of recorded words")
    voices: dict[str, dict[str, list[Take]]] = {}
    for speaker, words in find_speakers(source).items():
        takes = {word: _open(files) for word, files in words.items()}
        enough = {word: own for word, own in takes.items() if len(own) > max(TAUGHT)}
        if len(enough) > WORDS:
            voices[speaker] = enough
    if len(voices) < 2:
        raise DataError(
            f"{printable(str(folder))!r} has {len(voices)} speakers with {WORDS + 1} words of {max(TAUGHT) + 1} takes: "
            "give recordings of two or more"
        )
    return voices


def _open(files: Sequence[Path]) -> list[Take]:
    takes = []
    for path in sorted(files):
        try:
            takes.append(open_take(path))
        except DataError:  # no word in it
            continue
    return takes


class _KnownFeatures(VoiceExtractor):
    """Extractor that computes each take once, since the sessions share their takes."""

    def __init__(self, voice: VoiceExtractor) -> None:
        self.voice, self.name, self.title, self.explain = voice, voice.name, voice.title, voice.explain
        self._X: dict[str, NDArray[np.float32]] = {}

    @property
    def n_features(self) -> int:
        return self.voice.n_features

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        for take in takes:
            if take.digest not in self._X:
                self._X[take.digest] = self.voice.transform([take])[0]
        return np.stack([self._X[take.digest] for take in takes])

    def picture(self, take: Take) -> NDArray[np.float32]:
        return self.voice.picture(take)


class _Session(LiveSession):
    """Live session whose features come from `known`."""

    known: VoiceExtractor

    @property
    def voice(self) -> VoiceExtractor:
        return self.known


def _trial(
    voices: dict[str, dict[str, list[Take]]], drift: str, known: _KnownFeatures, takes: int, seed: list[int]
) -> dict[str, tuple[int | None, float]]:
    """One session: by learner, the answers from the drift to its first alarm, and the accuracy at the end."""
    rng = np.random.default_rng(seed)
    speakers = list(voices)
    speaker = speakers[seed[-1] % len(speakers)]
    other = speakers[(seed[-1] + int(rng.integers(1, len(speakers)))) % len(speakers)]
    common = sorted(voices[speaker].keys() & voices[other].keys())
    names = [str(name) for name in rng.permutation(common if len(common) > WORDS else sorted(voices[speaker]))]
    words, spare = names[:WORDS], names[WORDS]
    session = _Session(words, known.name, seed=seed[-1])
    session.known = known
    own = {word: _in_order(voices[speaker][word], takes, rng) for word in (*words, spare)}
    strange = {word: _in_order(voices[other].get(word, []), 0, rng) for word in words}
    for word in words:
        for _ in range(takes):
            session.teach(word, next(own[word]))
    often: tuple[str, ...] = ()
    for number in range(BEFORE + AFTER):
        if number == BEFORE and (what := TRIED_DRIFTS[drift]) is not None:
            often = session.begin_drift(**what, **_names(what["kind"], words, spare)).often
        word = word_to_ask(session, often, BEFORE)
        source = strange if in_force(session.events, "speaker") else own
        for take in source[spoken_for(session, word)]:
            if in_force(session.events, "cover"):
                take = heard_through(take, *COVERED, number)
            answer = session.say(take)
            if not answer.unknown or sound_changes(session):
                session.judge(answer.id, word)
                break
            session.drop(answer.id)  # as on the page: an unknown word is not learned, the visitor says it again
    found = {}
    for name, curve in session.curves().items():
        alarms = [at - BEFORE + 1 for at in curve.alarms if at >= BEFORE]
        found[name] = (min(alarms, default=None), float(curve.correct[-LAST:].mean()))
    return found


def _names(kind: str, words: list[str], spare: str) -> dict[str, str]:
    """Words of a drift, by argument."""
    if kind in ("swap", "rotate"):
        return dict(zip(CYCLE[: 2 if kind == "swap" else 3], words, strict=False))
    return {"class-change": {"old": words[0], "new": spare}, "new-word": {"word": spare}}.get(kind, {})


def _in_order(takes: list[Take], taught: int, rng: np.random.Generator) -> Iterator[Take]:
    """Takes in random order; when they are used up, those after the first `taught` again, each time varied anew."""
    order = [takes[i] for i in rng.permutation(len(takes))]
    yield from order
    turn = 0
    while order:
        turn += 1
        for take in order[taught:]:
            yield varied(take, turn)


@lru_cache(maxsize=MOST_VARIED)
def varied(take: Take, turn: int) -> Take:
    """Return a take with another speed and timbre and some noise, drawn by `turn`, as if said again."""
    rng = np.random.default_rng([turn, int(take.digest[:8], 16)])
    count = len(take.samples)
    time = np.linspace(0, 1, round(count / (1 + rng.uniform(-SPEED, SPEED))))
    bends = [rng.uniform(-1, 1) * np.sin(np.pi * k * time) / k for k in (1, 2, 3)]
    places = np.clip(time + WARP * np.sum(bends, axis=0), 0, 1) * (count - 1)
    spectrum = np.fft.rfft(np.interp(places, np.arange(count), take.samples))
    decibels = rng.uniform(-EQUALISER_DB, EQUALISER_DB, len(EQUALISER_HZ))
    gains = np.interp(np.linspace(0, VOICE_RATE / 2, len(spectrum)), EQUALISER_HZ, decibels)
    samples = np.fft.irfft(spectrum * 10 ** (gains / 20), len(time))
    samples += rng.normal(0, np.abs(samples).max() * 10 ** (NOISE_DB / 20), len(samples))
    return open_take((samples / np.abs(samples).max() / 2, VOICE_RATE))


def _row(drift: str, extractor: str, takes: int, trials: list[dict[str, tuple[int | None, float]]]) -> DriftRow:
    learners = {}
    for name in trials[0]:
        delays = [trial[name][0] for trial in trials]
        caught = np.array([delay for delay in delays if delay is not None])
        learners[name] = LearnerRates(
            round(len(caught) / len(trials), 4),
            round(float(np.sum(caught <= SOON)) / len(trials), 4),
            int(np.quantile(caught, 0.5, method="higher")) if len(caught) else None,
            int(np.quantile(caught, MOST_QUANTILE, method="higher")) if len(caught) else None,
            round(float(np.mean([trial[name][1] for trial in trials])), 4),
        )
    return DriftRow(drift, extractor, takes, len(trials), learners)
