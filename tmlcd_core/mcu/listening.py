"""Python twin of the C word finder (frames.c, finder.c): levels of a stream of sound, and the words in it.

Every operation is that of the C code in float32 or integers, in the same order and without fused multiply-add: frames,
words and features of a stream equal those of the host build and of the board bit by bit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.features.voice.words import EDGES, VOICE_RATE
from tmlcd_core.mcu.sound import log2_of, real_spectrum

WINDOW, HOP, N_FFT = 400, 160, 512  # samples: windows of 25 ms every 10 ms
BANDS = 32  # mel bands of a frame
STEPS = 2  # per decibel: levels are bytes of half decibels
STEPS_PER_OCTAVE = np.float32(6.02059991)  # 20 log10(2)
RING = 192  # frames that the device keeps
ROUNDING = np.float32(12.5)  # power of a bin if the samples have only the rounding noise of int16
ENTER, STAY = 8 * STEPS, 3 * STEPS  # a word begins at the first level above the background and ends at the second …
RANGE = 52 * STEPS  # … or this far below its loudest frame
START = 20  # frames whose mean is the first background
SETTLED = 32  # quiet frames of which the background is about the mean
SHORTEST = 8  # frames of a sound that is no click
CLOSURE, ATTACK = 20, 6  # frames: longest pause in a word, and between a burst and its word
PAUSE = 25  # frames after a word, until it has ended
LONGEST = 140  # frames of a word
STEADY = 150  # frames of a sound that is the new background
LEAD, TAIL = 3, 2  # frames that belong to the word before its first and after its last loud frame
SINCE, QUIET = 6, 12  # the background in mel bands is that of this frame back, if as many were quiet
CENTRE = WINDOW // 2 - HOP // 2  # sample of the middle of two windows in a row, from the start of the second
SMEAR = (WINDOW + HOP) // 4  # samples by which they lengthen a word at either end, half of the most


class Spectrum(NamedTuple):
    """Constants of the frames of a front end.

    Parameters
    ----------
    window
        Hann window, float32 (400,).
    twiddle
        cos, -sin of 2 pi i / 512, float32 (256, 2).
    first, width
        First bin and number of bins of each mel band, int32 (32,).
    weights
        Weights of these bins, one band after the other, float32 (sum of width,).
    offset
        Level in half decibels of a mel power of 1.
    """

    window: NDArray[np.float32]
    twiddle: NDArray[np.float32]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weights: NDArray[np.float32]
    offset: int


class Frames(NamedTuple):
    """Frames of a stream of sound.

    Parameters
    ----------
    mel
        Levels in half decibels, uint8 (n, bands): of 32 mel bands, or of 255 single bins for the paper's filter.
    energy
        Sum of squares of the hop in the middle of the window, float32 (n,).
    bands
        Mean power in the bands of the word finder, float32 (n, 6).
    """

    mel: NDArray[np.uint8]
    energy: NDArray[np.float32]
    bands: NDArray[np.float32]


class Span(NamedTuple):
    """Word in a stream: first and last loud frame, the frame at which it ended, level in half decibels, background.

    `background` is the mean power of the background in each mel band, float32 (32,).
    """

    start: int
    stop: int
    end: int
    level: int
    background: NDArray[np.float32]

    @property
    def samples(self) -> tuple[int, int]:
        """First sample of the word, and the first after it."""
        return self.start * HOP + CENTRE + SMEAR, self.stop * HOP + CENTRE - SMEAR


def spectrum_of(filters: NDArray[np.float64], offset: int) -> Spectrum:
    """Return the `Spectrum` of mel filters (32, 257) with the level `offset` of a mel power of 1."""
    i = np.arange(WINDOW)
    angles = 2 * np.pi * np.arange(N_FFT // 2) / N_FFT
    inside = filters > 0
    first = inside.argmax(axis=1).astype(np.int32)
    count = inside.sum(axis=1).astype(np.int32)
    weights = np.concatenate([row[a : a + n] for row, a, n in zip(filters, first, count, strict=True)])
    return Spectrum(
        (0.5 - 0.5 * np.cos(2 * np.pi * i / WINDOW)).astype(np.float32),
        np.stack([np.cos(angles), -np.sin(angles)], axis=1).astype(np.float32),
        first,
        count,
        weights.astype(np.float32),
        offset,
    )


@lru_cache(maxsize=1)
def finder_edges() -> NDArray[np.int32]:
    """Return the bins at which the bands of the word finder begin and end, int32 (7,)."""
    return np.round(np.array(EDGES) * N_FFT / VOICE_RATE).astype(np.int32)


@lru_cache(maxsize=1)
def power_of_level() -> NDArray[np.float32]:
    """Return the power of each level in half decibels, float32 (256,)."""
    return (10 ** (np.arange(256) / (10 * STEPS))).astype(np.float32)


def frames_of(samples: NDArray[np.int16], spectrum: Spectrum, block: int = 4_096) -> Frames:
    """Return the `Frames` of samples (n,) at 16 kHz; the transforms are computed `block` frames at a time."""
    count = max(0, (len(samples) - WINDOW) // HOP + 1)
    mel = np.zeros((count, len(spectrum.first)), np.uint8)
    energy = np.zeros(count, np.float32)
    bands = np.zeros((count, len(EDGES) - 1), np.float32)
    if not count:
        return Frames(mel, energy, bands)
    views = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP]
    middle = slice((WINDOW - HOP) // 2, (WINDOW + HOP) // 2)
    for at in range(0, count, block):
        part = views[at : at + block]
        windows = np.zeros((len(part), N_FFT), np.float32)
        windows[:, :WINDOW] = part.astype(np.float32) * spectrum.window
        re, im = real_spectrum(windows, spectrum.twiddle)
        power = re * re + im * im
        mel_power = _mel(power, spectrum.first, spectrum.width, spectrum.weights)
        level = STEPS_PER_OCTAVE * log2_of(np.maximum(mel_power, np.float32(1e-10))) + np.float32(spectrum.offset)
        rounded = np.where(level > 0, level + np.float32(0.5), np.float32(0))
        mel[at : at + block] = np.minimum(rounded, np.float32(255)).astype(np.uint8)
        bands[at : at + block] = _bands(power, finder_edges())
        energy[at : at + block] = np.square(part[:, middle].astype(np.int64)).sum(axis=1).astype(np.float32)
    return Frames(mel, energy, bands)


@njit(cache=True)
def _mel(power: NDArray, first: NDArray, count: NDArray, weights: NDArray) -> NDArray:
    out = np.empty((len(power), len(first)), np.float32)
    for t in range(len(power)):
        at = 0
        for b in range(len(first)):
            total = np.float32(0)
            for i in range(count[b]):
                total += weights[at + i] * power[t, first[b] + i]
            at += count[b]
            out[t, b] = total
    return out


@njit(cache=True)
def _bands(power: NDArray, edges: NDArray) -> NDArray:
    out = np.empty((len(power), len(edges) - 1), np.float32)
    for t in range(len(power)):
        for b in range(len(edges) - 1):
            total = np.float32(0)
            for i in range(edges[b], edges[b + 1]):
                total += power[t, i]
            out[t, b] = total / np.float32(edges[b + 1] - edges[b])
    return out


def find_spans(frames: Frames) -> list[Span]:
    """Return the words of a stream from its start, in order."""
    found, backgrounds = _find(frames.bands, frames.mel, power_of_level())
    rows = zip(found.tolist(), backgrounds, strict=True)
    return [Span(start, stop, end, level, background) for (start, stop, end, level), background in rows]


@njit(cache=True)
def _log2(x: np.float32) -> np.float32:
    """tml_log2f of mathfn.c."""
    bits = np.array([x]).view(np.uint32)[0]
    exponent = np.int64(bits >> np.uint32(23)) - 127
    m = np.array([(bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F800000)], np.uint32).view(np.float32)[0]
    if m > np.float32(1.41421356):
        m *= np.float32(0.5)
        exponent += 1
    t = (m - np.float32(1)) / (m + np.float32(1))
    s = t * t
    series = np.float32(1) + s * (
        np.float32(0.33333333) + s * (np.float32(0.2) + s * (np.float32(0.14285714) + s * np.float32(0.11111111)))
    )
    return np.float32(exponent) + np.float32(2.88539008) * t * series


@njit(cache=True)
def _find(bands: NDArray, mel: NDArray, power: NDArray) -> tuple[NDArray, NDArray]:
    """Rows (start, stop, end, level) of the words, and the background in mel bands (32,) of each: finder.c."""
    n, width = bands.shape
    found, backgrounds = [], []
    floor, last = np.zeros(width, np.float32), np.zeros(width, np.float32)
    background = np.zeros(mel.shape[1], np.float32)
    learned = quiet = settled = 0  # frames of the first background; quiet frames in a row; frames of `background`
    in_run = in_word = has_burst = too_long = False
    run_start = run_peak = start = stop = peak = burst_start = burst_stop = 0
    for t in range(n):
        ratio = np.float32(0)
        smooth = np.empty(width, np.float32)
        for b in range(width):
            smooth[b] = np.float32(0.5) * (bands[t, b] + (last[b] if t > 0 else bands[t, b]))
            last[b] = bands[t, b]
        if learned < START:  # the first background
            learned += 1
            for b in range(width):
                floor[b] = smooth[b] if learned == 1 else floor[b] + (smooth[b] - floor[b]) / np.float32(learned)
            level = 0
        else:
            for b in range(width):
                least = floor[b] if floor[b] > ROUNDING else ROUNDING
                ratio += smooth[b] / least
            ratio /= np.float32(width)
            level = 0
            if ratio > np.float32(1):
                level = min(int(STEPS_PER_OCTAVE * _log2(ratio) + np.float32(0.5)), 255)
        if level < STAY and learned == START:
            for b in range(width):
                floor[b] += (smooth[b] - floor[b]) / np.float32(SETTLED)
        quiet = quiet + 1 if level < STAY else 0
        if quiet >= QUIET and t >= SINCE:
            settled = min(settled + 1, SETTLED)
            for b in range(mel.shape[1]):
                background[b] += (power[mel[t - SINCE, b]] - background[b]) / np.float32(settled)
        loudest = max(peak if in_word else 0, run_peak if in_run else 0)
        stay = max(STAY, loudest - RANGE)
        if level >= stay:
            if not in_run:
                in_run, run_start, run_peak = True, t, 0
            run_peak = max(run_peak, level)
            if t - run_start >= STEADY:  # no word is that long: the new background
                in_run = in_word = has_burst = too_long = False
                learned = quiet = settled = 0
        elif in_run:
            in_run = False
            if run_peak >= ENTER:
                joins = in_word and run_start - stop - 1 <= CLOSURE
                if joins:
                    stop, peak = t - 1, max(peak, run_peak)
                elif t - run_start >= SHORTEST:
                    near = has_burst and run_start - burst_stop - 1 <= ATTACK
                    in_word, too_long, stop, peak = True, False, t - 1, run_peak
                    start = burst_start if near else run_start
                    has_burst = False
                else:
                    has_burst, burst_start, burst_stop = True, run_start, t - 1
        if in_word and stop - start >= LONGEST:
            too_long = True
        goes_on = in_run and run_peak >= ENTER and run_start - stop - 1 <= CLOSURE
        if in_word and t - stop >= PAUSE and not goes_on:
            in_word = False
            if not too_long:
                found.append((start, stop, t, peak))
                backgrounds.append(background.copy())
    rows = np.empty((len(found), 4), np.int64)
    floors = np.empty((len(found), mel.shape[1]), np.float32)
    for i in range(len(found)):
        rows[i] = found[i]
        floors[i] = backgrounds[i]
    return rows, floors
