"""Python twin of the C front end `word` (word.c): cepstra of a word, in the device's float32 arithmetic.

The features are those of `WordVoice`, from frames every 10 ms with levels in half decibels instead of 5 ms and float64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.features.voice.cepstra import EMPHASIS, cosines, mel_filters
from tmlcd_core.features.voice.extractors import WordVoice
from tmlcd_core.mcu.listening import (
    BANDS,
    HOP,
    LEAD,
    LONGEST,
    N_FFT,
    TAIL,
    VOICE_RATE,
    Frames,
    Span,
    Spectrum,
    power_of_level,
    spectrum_of,
)
from tmlcd_core.mcu.sound import log2_of

COUNT, MOMENTS = WordVoice.count, WordVoice.moments
MOST = LONGEST + LEAD + TAIL  # frames of a word
DB_PER_OCTAVE = np.float32(3.01029996)
RANGE_DB = np.float32(WordVoice.range_db)
RESIDUE = np.float32(WordVoice.residue)
SIDE = 3  # frames before and after one over which it is smoothed
REACH = (WordVoice.smooth + 1) / 2 * 5 / 1000  # seconds after which the weights of the page's smoothing are 0


class WordTables(NamedTuple):
    """Constants of the front end: frames, weighted cosines float32 (12, 32), smoothing weights float32 (4,)."""

    spectrum: Spectrum
    cosines: NDArray[np.float32]
    smoothing: NDArray[np.float32]


@lru_cache(maxsize=1)
def word_tables() -> WordTables:
    """Return the `WordTables`; the pre-emphasis of the page is a factor of each bin's power."""
    angle = 2 * np.pi * np.arange(N_FFT // 2 + 1) / N_FFT
    emphasis = 1 + EMPHASIS**2 - 2 * EMPHASIS * np.cos(angle)
    weights = np.arange(1, COUNT + 1)[:, None] ** WordVoice.lifter
    taps = 0.5 + 0.5 * np.cos(np.pi * np.arange(SIDE + 1) * HOP / VOICE_RATE / REACH)
    taps /= taps[0] + 2 * taps[1:].sum()
    return WordTables(
        spectrum_of(mel_filters(BANDS) * emphasis, 0),
        (cosines(COUNT, BANDS) * weights).astype(np.float32),
        taps.astype(np.float32),
    )


def word_features(frames: Frames, span: Span) -> NDArray[np.float32]:
    """Return the features of a word of a stream, float32 (192,)."""
    first, last = max(span.start - LEAD, 0), span.stop + TAIL
    tables = word_tables()
    return _features(frames.mel[first : last + 1], span.background, power_of_level(), tables.cosines, tables.smoothing)


def _features(
    mel: NDArray[np.uint8], floor: NDArray, power: NDArray, cosine: NDArray, smoothing: NDArray
) -> NDArray[np.float32]:
    clean = np.maximum(np.maximum(power[mel] - floor, RESIDUE * floor), np.float32(1e-10))
    decibels = DB_PER_OCTAVE * log2_of(clean) - DB_PER_OCTAVE * log2_of(clean.max(keepdims=True))
    decibels = np.maximum(decibels, -RANGE_DB)
    return _cepstra(decibels, cosine, smoothing)


@njit(cache=True)
def _cepstra(decibels: NDArray, cosine: NDArray, smoothing: NDArray) -> NDArray:
    """Cepstra of decibels (n, 32), smoothed, at 16 points in time: float32 (192,)."""
    n, bands = decibels.shape
    raw = np.empty((n, COUNT), np.float32)
    for t in range(n):
        for c in range(COUNT):
            total = np.float32(0)
            for b in range(bands):
                total += cosine[c, b] * decibels[t, b]
            raw[t, c] = total
    track = np.empty((n, COUNT), np.float32)
    for t in range(n):
        for c in range(COUNT):
            total = smoothing[0] * raw[t, c]
            for i in range(1, SIDE + 1):
                total += smoothing[i] * (raw[max(t - i, 0), c] + raw[min(t + i, n - 1), c])
            track[t, c] = total
    steps = np.empty(n - 1, np.float32)
    length = np.float32(0)
    for t in range(n - 1):
        total = np.float32(0)
        for c in range(COUNT):
            difference = track[t + 1, c] - track[t, c]
            total += difference * difference
        steps[t] = np.float32(np.sqrt(np.float64(total)))
        length += steps[t]
    even = np.float32(0.5) / np.float32(n - 1)
    whole = np.float32(0)
    for t in range(n - 1):
        steps[t] = even + (np.float32(0.5) * (steps[t] / length) if length > 0 else even)
        whole += steps[t]
    out = np.empty(MOMENTS * COUNT, np.float32)
    at, passed = 0, np.float32(0)
    for m in range(MOMENTS):
        place = whole * (np.float32(m) / np.float32(MOMENTS - 1))
        while at < n - 2 and passed + steps[at] < place:
            passed += steps[at]
            at += 1
        share = min(max((place - passed) / steps[at], np.float32(0)), np.float32(1))
        for c in range(COUNT):
            out[m * COUNT + c] = (np.float32(1) - share) * track[at, c] + share * track[at + 1, c]
    return out
