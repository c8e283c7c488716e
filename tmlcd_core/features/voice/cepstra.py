"""From a word to numbers that stay when it is said again: mel bands, their cepstra, a fixed number of frames."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice.words import FFT, VOICE_RATE, power_frames

WINDOW, HOP = 400, 80  # samples: 25 ms, as speech recognisers have it, every 5 ms
LOWEST_HZ, HIGHEST_HZ = 80.0, 7_600.0
EMPHASIS = 0.97  # of the first-order high-pass that evens the spectrum of voices out
EPSILON = 1e-12  # of power


def mel_power(samples: NDArray[np.float32], bands: int, hop: int = HOP) -> NDArray[np.float64]:
    """Power in mel bands (frames, bands) of a recording at VOICE_RATE."""
    raised = np.append(samples[:1], samples[1:] - np.float32(EMPHASIS) * samples[:-1])
    return power_frames(raised, WINDOW, hop) @ mel_filters(bands).T + EPSILON


@lru_cache(maxsize=8)
def mel_filters(bands: int) -> NDArray[np.float64]:
    """Triangles of equal width on the mel scale (bands, FFT / 2 + 1), each of unit sum."""
    low, high = (2595 * np.log10(1 + f / 700) for f in (LOWEST_HZ, HIGHEST_HZ))
    corners = 700 * (10 ** (np.linspace(low, high, bands + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(FFT, 1 / VOICE_RATE)
    left, centre, right = (corners[i : i + bands, None] for i in range(3))
    filters = np.maximum(0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    return filters / filters.sum(axis=1, keepdims=True)


@lru_cache(maxsize=8)
def cosines(count: int, bands: int) -> NDArray[np.float64]:
    """The orthonormal discrete cosine transform, rows 1 to `count`: without the loudness of the frame."""
    rows = np.arange(1, count + 1)[:, None] * (np.arange(bands) + 0.5) * np.pi / bands
    return np.sqrt(2 / bands) * np.cos(rows)


def at_times(track: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of a track (frames, d) at fractional places, interpolated."""
    before = np.clip(places.astype(int), 0, len(track) - 2) if len(track) > 1 else np.zeros(len(places), int)
    after = np.minimum(before + 1, len(track) - 1)
    share = (places - before)[:, None]
    return (1 - share) * track[before] + share * track[after]
