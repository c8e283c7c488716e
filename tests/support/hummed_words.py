"""Synthetic takes of four words: glides, each slightly different, for tests that need many takes."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from tmlcd_core.features.voice import Take, open_take

RATE = 16_000
TUNES = {"low": (200, 400), "rise": (400, 1_200), "fall": (1_500, 500), "high": (1_000, 3_000)}  # Hz, from … to


def hum(word: str, rng: np.random.Generator, shift: float = 1.0) -> np.ndarray:
    """Return a glide of a few harmonics within one second; `shift` changes the speaker."""
    seconds, start = rng.uniform(0.35, 0.45), rng.uniform(0.15, 0.35)
    time = np.arange(round(seconds * RATE)) / RATE
    a, b = (f * rng.uniform(0.95, 1.05) * shift for f in TUNES[word])
    phase = 2 * np.pi * (a * time + (b - a) * time**2 / (2 * seconds))
    sound = np.sin(phase) + 0.4 * np.sin(2 * phase) + 0.2 * np.sin(3 * phase)
    clip = rng.normal(0, 1e-3, RATE)
    first = round(start * RATE)
    clip[first : first + len(sound)] += rng.uniform(0.1, 0.3) * sound * np.hanning(len(sound)) ** 0.2
    return clip


def write_microphone(path: Path, word: str) -> Path:
    """Write what Chromium's fake microphone hears, at 48 kHz: quiet, a hummed word, quiet."""
    rng = np.random.default_rng(9)
    sound = np.concatenate([rng.normal(0, 1e-3, RATE), hum(word, rng), rng.normal(0, 1e-3, RATE)])
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(3 * RATE)
        fine = np.interp(np.arange(3 * len(sound)) / 3, np.arange(len(sound)), sound)
        file.writeframes((fine * 32_000).astype("<i2").tobytes())
    return path


def take_of(word: str, rng: np.random.Generator) -> Take:
    return open_take((hum(word, rng), RATE))
