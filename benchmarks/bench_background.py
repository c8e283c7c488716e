"""Benchmark of the background class: noises and words as the recorder takes them, with and without the class.

It needs node and a folder of recorded words, WORD_SPEAKER_TAKE.flac, named by the environment variable TMLCD_VOICES;
the second half of the speakers is used. TMLCD_NOISES may name a folder of recorded noises, one subfolder for each kind.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from benchmarks.bench_talkers import BEFORE, RATE, takes_of
from tests.support.noises import NOISES, in_a_room
from tmlcd_core.errors import TmlcdError
from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take
from tmlcd_core.live import LiveSession
from tmlcd_core.live.background import Background
from tmlcd_core.live.drift_trials import read_voices

VOICE = VOICE_EXTRACTORS["speech"]
WORDS, EACH = 3, 25  # words taught with one take each; noises of each generated kind
SECONDS = 3.0  # of a recorded noise, at most
ROOM = 2.0  # s of the room before each noise; the recorder learns it
SOUNDS = (".wav", ".flac", ".ogg", ".oga")


def noises() -> Iterator[tuple[str, np.ndarray]]:
    """Yield kind and samples of each noise: generated ones, then those of TMLCD_NOISES."""
    for number, (kind, make) in enumerate(NOISES.items()):
        rng = np.random.default_rng(number)
        yield from ((kind, make(rng)) for _ in range(EACH))
    if folder := os.environ.get("TMLCD_NOISES", ""):
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in SOUNDS:
                rate = soundfile.info(path).samplerate
                samples, _ = soundfile.read(path, frames=round(SECONDS * rate), always_2d=True)
                mono = soxr.resample(samples.mean(axis=1), rate, RATE)
                if len(mono) and np.abs(mono).max() > 0:
                    yield f"recorded: {path.relative_to(folder).parts[0]}", mono


def heard(samples: np.ndarray) -> list[Take]:
    """Return the takes that the recorder would send and the finder would not refuse."""
    takes = []
    for start, stop in takes_of(samples):
        try:
            takes.append(open_take((samples[max(0, start - round(BEFORE * RATE)) : stop], RATE)))
        except TmlcdError:
            continue
    return takes


class Trial:
    """Sessions of several people, of WORDS words with one take each, that share a background class."""

    def __init__(self) -> None:
        voices = read_voices(os.environ["TMLCD_VOICES"])
        self.background = Background()
        self.sessions: list[tuple[LiveSession, NDArray[np.float32]]] = []
        self.taught: list[list[Take]] = []  # of each person: other takes of these words …
        self.untaught: list[list[Take]] = []  # … and takes of other words
        for number, speaker in enumerate(sorted(voices)[len(voices) // 2 :]):
            names = [str(word) for word in np.random.default_rng(number).permutation(sorted(voices[speaker]))]
            session = LiveSession(names[:WORDS], "speech")
            for word in session.words:
                session.teach(word, voices[speaker][word][0])
            self.sessions.append((session, VOICE.transform(list(session.takes.values()))))
            self.taught.append([take for word in names[:WORDS] for take in voices[speaker][word][1:]])
            self.untaught.append([take for word in names[WORDS:] for take in voices[speaker][word][:3]])

    def judge(self, take: Take, people: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether each session answers a take with a word by distance alone, with the class, calls it noise, and
        whether a first take would be stored: (sessions, 4)."""
        x = VOICE.transform([take])[0]
        rows = []
        for session, named in (self.sessions[i] for i in people):
            limit = session.farthest_known()
            word = float(np.linalg.norm(named - x, axis=1).min())
            room = self.background.distance(VOICE, x, named, limit)
            rows.append((word <= limit, word <= min(limit, room), room < min(word, limit), room >= limit))
        return np.array(rows)


def with_noise(take: Take, decibels: float, rng: np.random.Generator) -> np.ndarray:
    """Return the samples of a take with noise so many decibels below the word."""
    return take.samples + rng.normal(0, 10 ** ((take.level - decibels) / 20), len(take.samples))


def main() -> None:
    """Print a line for each kind of noise, and for words."""
    if not os.environ.get("TMLCD_VOICES") or shutil.which("node") is None:
        print("skipped: set TMLCD_VOICES to a folder of recorded words, and install node", file=sys.stderr)
        return
    trial = Trial()
    everybody = range(len(trial.sessions))
    total: dict[str, list[NDArray[np.bool_]]] = defaultdict(list)
    sounds: Counter[str] = Counter()
    rng = np.random.default_rng(0)
    for kind, sound in noises():
        sounds[kind] += 1
        clip = in_a_room(sound, rng, ROOM)
        trial.background.hear((clip[: round(ROOM * RATE / 2)], RATE))
        total[kind] += [trial.judge(take, everybody) for take in heard(clip)]
    for person in everybody:
        for name, takes in (("taught words", trial.taught[person]), ("other words", trial.untaught[person])):
            for take in takes:
                total[name].append(trial.judge(take, [person]))
                for decibels in (20, 10):
                    noisy = with_noise(take, decibels, rng)
                    try:
                        judged = trial.judge(open_take((noisy, RATE)), [person])
                    except TmlcdError:
                        judged = np.zeros((1, 4), bool)
                    total[f"{name}, noise at {decibels} dB"].append(judged)
    print("                              sounds takes | answered with a word: by distance, with the class | background "
          "| stored when taught first")  # fmt: skip
    for kind, rows in total.items():
        alone, both, noise, stored = np.concatenate(rows).mean(axis=0) if rows else np.full(4, np.nan)
        count = f"{sounds[kind] or len(rows):6} {len(rows):5}"
        print(f"{kind:<30}{count} | {alone:22.1%} {both:16.1%}        | {noise:10.1%} | {stored:10.1%}", flush=True)


if __name__ == "__main__":
    main()
