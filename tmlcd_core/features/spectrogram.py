"""Spectrograms in decibels and in 256 levels, with the steps of librosa and the same bits on every processor.

A level is a step function of the decibels: a difference in the last bit may give another colour. So the frames are
windowed and transformed in double precision and rounded to single precision at the same points as in librosa. Window,
magnitude and logarithm are our own, because numpy's differ from processor to processor. They differ from numpy's by one
unit in the last place of the decibels, which changes about four colours in a million. numpy's FFT (pocketfft) has one
code for all x86-64 processors.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.errors import AudioError
from tmlcd_core.portable_loops import log10_of_bits
from tmlcd_core.portable_math import cos_of_turns

TOP_DB = 80.0  # dynamic range, default of librosa.amplitude_to_db
MIN_POWER = 1e-10  # smallest power in librosa.amplitude_to_db, 1e-5 squared
LEVELS = 256  # colours of viridis
# Clips transformed at a time: their spectra (0.7 MB in double precision) stay in the processor's cache.
BLOCK = 4


@lru_cache(maxsize=8)
def hann(n_fft: int) -> NDArray[np.float64]:
    """Return the periodic Hann window, float64 (n_fft,): 0.5 - 0.5 cos(2 pi i / n_fft)."""
    return 0.5 - 0.5 * cos_of_turns(np.arange(n_fft), n_fft)


def frame_count(samples: int, n_fft: int, hop: int) -> int:
    """Return the number of frames of a centred STFT."""
    return 1 + (samples + 2 * (n_fft // 2) - n_fft) // hop


class _Workspace(threading.local):
    """Buffers of one block, kept between calls: allocating new memory would take longer than the arithmetic."""

    key: tuple[int, ...] = ()

    def prepare(self, samples: int, n_fft: int, hop: int) -> None:
        if self.key == (samples, n_fft, hop):
            return
        frames, bins = frame_count(samples, n_fft, hop), n_fft // 2 + 1
        self.clips = np.empty((BLOCK, samples), np.float32)
        self.windowed = np.empty((BLOCK, frames, n_fft))
        self.spectrum = np.empty((BLOCK, frames, bins), np.complex128)
        self.power = np.empty((BLOCK, frames, bins), np.float32)
        self.key = (samples, n_fft, hop)


_workspace = _Workspace()


def decibels(clips: NDArray, n_fft: int, hop: int) -> NDArray[np.float32]:
    """Return |STFT| of clips (n, samples) in decibels below each clip's maximum, float32 (n, frames, bins).

    Values below -TOP_DB are set to it. Centred frames, zero padding and the Hann window are defaults of librosa.stft.
    """
    n, samples = clips.shape
    work, window = _workspace, hann(n_fft)
    work.prepare(samples, n_fft, hop)
    db = np.empty((n, *work.spectrum.shape[1:]), np.float32)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        power = work.power[:m]
        work.clips[:m] = clips[start : start + m]  # copies any memory layout: the kernel is compiled for one
        _window_frames(work.clips[:m], window, hop, work.windowed)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            np.fft.rfft(work.windowed[:m], out=work.spectrum[:m])
        _powers(work.spectrum[:m].view(np.float64), power)
        peak = power.max(axis=(1, 2), keepdims=True)
        if not np.isfinite(peak).all():
            worst = start + int(np.argmin(np.isfinite(peak)))
            raise AudioError(f"clip {worst} contains NaN, infinite or too large samples: scale them to -1..1")
        for part in (power, peak):
            np.maximum(part, np.float32(MIN_POWER), out=part)
        _decibels(power.view(np.int32), peak.view(np.int32), db[start : start + m])
    return db


def stretch(db: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Scale the decibels of each clip, (n, frames, bins), to 0..1 and quantise them to LEVELS colours.

    Returns the scaled values, float32, and the colour numbers, uint8, as in matplotlib (1 is the last colour). A clip
    of constant decibels, such as silence, becomes 0 everywhere.
    """
    plane, levels = np.empty_like(db), np.empty(db.shape, np.uint8)
    low, high = db.min(axis=(1, 2)), db.max(axis=(1, 2))
    _stretch(db, low, np.where(high > low, high - low, np.float32(1)), plane, levels)
    return plane, levels


# No fastmath in these functions: it would give other bits on other processors.
@njit(cache=True, nogil=True, error_model="numpy")
def _window_frames(clips: Any, window: Any, hop: int, out: Any) -> None:
    samples, n_fft = clips.shape[1], len(window)
    for i in range(len(clips)):
        clip = clips[i]
        for t in range(out.shape[1]):
            first = t * hop - n_fft // 2
            start, stop = max(0, -first), min(n_fft, samples - first)
            out[i, t, :start] = 0
            out[i, t, stop:] = 0
            # Indices from 0 into slices need no wrap-around of negative indices: 5 times as fast.
            frame, weight = out[i, t, start:stop], window[start:stop]
            sound = clip[first + start : first + stop]
            for k in range(len(frame)):
                frame[k] = sound[k] * weight[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _powers(spectrum: Any, power: Any) -> None:
    """|z|^2 of complex numbers stored as pairs of float64: z, |z| and the result are rounded to float32."""
    for i in range(len(power)):
        pairs, out = spectrum[i].ravel(), power[i].ravel()
        for k in range(len(out)):
            re, im = np.float64(np.float32(pairs[2 * k])), np.float64(np.float32(pairs[2 * k + 1]))
            magnitude = np.float32(np.sqrt(re * re + im * im))
            out[k] = magnitude * magnitude


@njit(cache=True, nogil=True, error_model="numpy")
def _decibels(power: Any, peak: Any, out: Any) -> None:
    """Decibels below the peak, at least -TOP_DB; the float32 powers are given as int32 bit patterns."""
    ten, lowest = np.float32(10), np.float32(-TOP_DB)
    for i in range(len(out)):
        source, target = power[i].ravel(), out[i].ravel()
        reference = ten * log10_of_bits(peak[i, 0, 0])
        for k in range(len(target)):
            target[k] = max(ten * log10_of_bits(source[k]) - reference, lowest)


@njit(cache=True, nogil=True, error_model="numpy")
def _stretch(db: Any, low: Any, span: Any, plane: Any, levels: Any) -> None:
    top = np.float32(LEVELS - 1)
    for i in range(len(db)):
        values, out, steps = db[i].ravel(), plane[i].ravel(), levels[i].ravel()
        for k in range(len(values)):
            out[k] = (values[k] - low[i]) / span[i]
            steps[k] = np.int32(min(out[k] * np.float32(LEVELS), top))
