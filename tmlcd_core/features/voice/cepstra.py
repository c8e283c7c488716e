"""Mel bands, cepstra and time normalisation of a spoken word."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice.words import FFT, VOICE_RATE, power_frames
from tmlcd_core.optional_packages import require

WINDOW, HOP = 400, 80  # samples: 25 ms, usual in speech recognition, every 5 ms
LOWEST_HZ, HIGHEST_HZ = 80.0, 7_600.0
EMPHASIS = 0.97  # coefficient of the first-order high-pass (pre-emphasis), which flattens the spectrum of voices
EPSILON = 1e-12  # of power


def mel_power(samples: NDArray[np.float32], bands: int, hop: int = HOP) -> NDArray[np.float64]:
    """Return the power in mel bands, float64 (frames, bands), of samples (n,) at VOICE_RATE."""
    raised = np.append(samples[:1], samples[1:] - np.float32(EMPHASIS) * samples[:-1])
    return power_frames(raised, WINDOW, hop) @ mel_filters(bands).T + EPSILON


@lru_cache(maxsize=8)
def mel_filters(bands: int) -> NDArray[np.float64]:
    """Return triangular filters of equal width on the mel scale, (bands, FFT / 2 + 1), each with sum 1."""
    low, high = (2595 * np.log10(1 + f / 700) for f in (LOWEST_HZ, HIGHEST_HZ))
    corners = 700 * (10 ** (np.linspace(low, high, bands + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(FFT, 1 / VOICE_RATE)
    left, centre, right = (corners[i : i + bands, None] for i in range(3))
    filters = np.maximum(0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    return filters / filters.sum(axis=1, keepdims=True)


@lru_cache(maxsize=8)
def cosines(count: int, bands: int) -> NDArray[np.float64]:
    """Return rows 1 to `count` of the orthonormal discrete cosine transform, (count, bands).

    Row 0, the loudness of the frame, is left out.
    """
    rows = np.arange(1, count + 1)[:, None] * (np.arange(bands) + 0.5) * np.pi / bands
    return np.sqrt(2 / bands) * np.cos(rows)


def smoothed(track: NDArray[np.float64], frames: int) -> NDArray[np.float64]:
    """Smooth a track (n, d) along time with a Hann window of `frames` frames, an odd number; return (n, d)."""
    window = np.hanning(frames + 2)[1:-1]
    padded = np.pad(track, ((frames // 2, frames // 2), (0, 0)), mode="edge")
    return np.tensordot(np.lib.stride_tricks.sliding_window_view(padded, frames, axis=0), window / window.sum(), 1)


def resampled(track: NDArray[np.float64], frames: int, by_change: float) -> NDArray[np.float64]:
    """Resample a track (n, d) to a fixed number of frames, so that slow and fast words become comparable.

    The frames are spaced evenly on a scale that mixes time and, with the share `by_change`, the change of the track:
    long vowels get shorter, quick transitions longer ("trace segmentation"). Returns (frames, d).

    >>> resampled(np.array([[0.0], [1.0], [2.0], [2.0], [2.0]]), 3, by_change=1.0).ravel().tolist()
    [0.0, 1.0, 2.0]

    References
    ----------
    Kuhn, Tomaschewski: Improvements in isolated word recognition, IEEE Trans. ASSP 31, 1983.
    """
    steps = np.sqrt((np.diff(track, axis=0) ** 2).sum(axis=1))
    even = np.full(len(steps), 1 / max(len(steps), 1))
    clock = (1 - by_change) * even + by_change * (steps / total if (total := steps.sum()) > 0 else even)
    places = np.interp(np.linspace(0, clock.sum(), frames), np.r_[0, np.cumsum(clock)], np.arange(len(track)))
    before = np.minimum(places.astype(int), max(len(track) - 2, 0))
    after = np.minimum(before + 1, len(track) - 1)
    share = (places - before)[:, None]
    return (1 - share) * track[before] + share * track[after]


def mfcc(samples: NDArray[np.float32], count: int = 12) -> NDArray[np.float32]:
    """Return mel-frequency cepstral coefficients 1 to `count`, (count, frames), every 10 ms, each of unit variance.

    `samples` is float32 (n,) at VOICE_RATE; coefficient 0, the loudness, is left out.
    """
    require("librosa")
    import librosa

    found = librosa.feature.mfcc(
        y=samples, sr=VOICE_RATE, n_mfcc=count + 1, n_fft=FFT, win_length=WINDOW, hop_length=2 * HOP
    )[1:]
    spread = found.std(axis=1, keepdims=True)
    return (found - found.mean(axis=1, keepdims=True)) / np.maximum(spread, 1e-6)
