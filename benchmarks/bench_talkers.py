"""Benchmark of the recorder while another person talks: words found and answered, and takes that the talker starts.

It needs node and a folder of recorded words, WORD_SPEAKER_TAKE.flac, named by the environment variable TMLCD_VOICES.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from importlib import resources
from pathlib import Path

import numpy as np
import soundfile

from tmlcd_core.errors import TmlcdError
from tmlcd_core.features.voice import open_take
from tmlcd_core.live import LiveSession
from tmlcd_core.live.unknown import is_softer

RATE = 16_000  # Hz
LEVEL = 0.08  # root mean square of the words, in the middle: each person's recordings keep their differences
LEVELS = (None, 20, 10, 0)  # decibels of the talker below the words; None: nobody talks
WORDS, SAID = 3, 20  # words taught with one take each; words said
BEFORE = 0.25  # s that the recorder keeps before a word
SCRIPT = """
const read = require("fs").readFileSync;
const VoiceActivity = new Function(read(process.argv[1], "utf8") + "; return VoiceActivity;")();
const bytes = read(0);
const samples = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const voice = new VoiceActivity();
const spans = [];
let began = 0;
for (let at = 0; at + 160 <= samples.length; at += 160) {
  const event = voice.push(samples.subarray(at, at + 160));
  if (event === "start") began = at;
  if (event === "end") spans.push([began, at + 160]);
}
console.log(JSON.stringify(spans));
"""


def takes_of(samples: np.ndarray) -> list[tuple[int, int]]:
    """Return start and end of each take that the recorder would send, in samples."""
    sound = np.ascontiguousarray(samples, np.float32).tobytes()
    command = ["node", "-e", SCRIPT, str(resources.files("tmlcd_core.viz") / "voice_activity.js")]
    return json.loads(subprocess.run(command, input=sound, capture_output=True, check=True).stdout)


def read_words(paths: list[Path]) -> dict[Path, np.ndarray]:
    """Return the recorded words of one person, each of shape (n,), with LEVEL as the median of their levels."""
    words = {path: soundfile.read(path)[0] for path in paths}
    usual = np.median([np.sqrt(np.mean(np.square(samples))) for samples in words.values()])
    return {path: samples / usual * LEVEL for path, samples in words.items()}


def talk(words: list[np.ndarray], length: int, rng: np.random.Generator) -> np.ndarray:
    """Return one person's words with short pauses of 0.05 to 0.4 s, shape (length,)."""
    parts = [np.zeros(2 * RATE)]  # the recorder learns the room before
    while sum(map(len, parts)) < length:
        parts += [words[rng.integers(len(words))], np.zeros(round(rng.uniform(0.05, 0.4) * RATE))]
    return np.concatenate(parts)[:length]


def trial(voices: dict[str, list[Path]], speaker: str, other: str, decibels: float | None) -> Counter[str]:
    """Return counts of one session: what happened to the words of the speaker and to the takes of the talker."""
    rng = np.random.default_rng(int(speaker))
    words = [
        str(word) for word in rng.permutation(sorted({path.stem.split("_")[0] for path in voices[speaker]}))[:WORDS]
    ]
    own = {word: [path for path in voices[speaker] if path.stem.startswith(f"{word}_")] for word in words}
    sounds = read_words(voices[speaker])
    session = LiveSession(words, "speech")
    for word in words:
        session.teach(word, open_take((sounds[own[word][0]], RATE)))
    taught = list(session.takes.values())
    parts, places, now = [np.zeros(2 * RATE)], [], 2 * RATE
    for number in range(SAID):
        clip = sounds[own[words[number % WORDS]][1 + number // WORDS]]
        parts += [clip, np.zeros(round(rng.uniform(0.7, 1.3) * RATE))]
        places.append((now, now + len(clip), words[number % WORDS]))
        now += len(parts[-1]) + len(clip)
    samples = np.concatenate(parts) + rng.normal(0, 3e-4, now)
    if decibels is not None:
        samples += talk(list(read_words(voices[other]).values()), now, rng) * 10 ** (-decibels / 20)
    found: Counter[str] = Counter(said=SAID, seconds=now // RATE)
    answered = set()
    for start, stop in takes_of(samples):
        try:
            take = open_take((samples[max(0, start - round(BEFORE * RATE)) : stop], RATE))
            answer = session.hear(take)
            told = "unknown" if answer.unknown else answer.ballots["cit"].prediction
            learned = not answer.unknown and not is_softer(take, taught)
        except TmlcdError:
            told, learned = "unknown", False  # refused: no word in it
        meant = next(
            (place for place in places if start < place[1] and stop > place[0] and place not in answered), None
        )
        if meant is None:
            found["extra"] += 1
            found["extra, answered"] += told != "unknown"
            found["extra, learned"] += learned
        else:
            answered.add(meant)
            found["unknown" if told == "unknown" else "right" if told == meant[2] else "wrong"] += 1
            found["doubted"] += told != "unknown" and not learned
    return found


def main() -> None:
    """Print the rates for each level of the talker."""
    folder = os.environ.get("TMLCD_VOICES", "")
    if not folder or shutil.which("node") is None:
        print("skipped: set TMLCD_VOICES to a folder of recorded words, and install node", file=sys.stderr)
        return
    voices: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).glob("*_*_*.flac")):
        voices.setdefault(path.stem.split("_")[1], []).append(path)
    names = list(voices)
    print(
        "one person talks, below the words | right  unknown  wrong  not heard | answered, too soft to be learned "
        "| takes of the talker a minute (answered, learned)"
    )
    for decibels in LEVELS:
        total: Counter[str] = Counter()
        for place, speaker in enumerate(names):
            total += trial(voices, speaker, names[(place + 1) % len(names)], decibels)
        heard = [total[kind] / total["said"] for kind in ("right", "unknown", "wrong")]
        extra = [60 * total[kind] / total["seconds"] for kind in ("extra", "extra, answered", "extra, learned")]
        name = "nobody" if decibels is None else f"{decibels} dB"
        shares = "  ".join(f"{share:6.1%}" for share in (*heard, 1 - sum(heard)))
        doubted = total["doubted"] / total["said"]
        print(f"{name:<33} | {shares} | {doubted:6.1%} | {extra[0]:4.1f} ({extra[1]:.1f}, {extra[2]:.1f})", flush=True)


if __name__ == "__main__":
    main()
