"""Word detection in a recording: levels in frequency bands relative to the background of the recording.

The background is estimated in each band from the quietest part of the recording, so a hum or a fan does not hide a
word in the other bands. A trimmed recording has no background: then all of it is the word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.spectrogram import hann

VOICE_RATE = 16_000  # Hz: telephone and laptop microphones carry speech up to 8 kHz at best
WINDOW, HOP, SMOOTH = 320, 80, 3  # samples, samples, frames: 20 ms every 5 ms, averaged over 3
FFT = 512
EDGES = (100, 300, 700, 1_500, 2_500, 4_000, 7_000)  # Hz: bands of about equal importance to speech, without hum
QUIET_SHARE, FEWEST_QUIET = 0.2, 20  # background: this share of the frames, the quietest, at least 100 ms
ENTER_DB, STAY_DB = 8.0, 3.0  # above the background: a word begins at the first level and ends at the second
ROUNDS = 2  # repetitions of the background estimate from the frames below STAY_DB …
MOST_RISE = 2.0  # … which may at most double it: the quietest frames slightly underestimate the background
VOICED_SHARE, VOICED_PERIOD = 0.6, 0.6  # voiced recording: share of frames, and correlation after one period
LOUD = 0.02  # root mean square, -34 dB: a softer steady sound is mains hum
RANGE_DB, TRIMMED_RANGE_DB = 55.0, 40.0  # levels further below the peak are not speech
TRIMMED_SECONDS = 0.75  # a shorter recording was probably trimmed and may begin with the word …
BELIEVED_DB = 35.0  # … unless its quietest part is this far below its peak
SMEAR = (WINDOW + (SMOOTH - 1) * HOP) / VOICE_RATE  # seconds by which window and average lengthen a click
CLICK_SECONDS = 0.04  # shorter sounds are clicks
CLOSURE_SECONDS = 0.2  # longest silence within a word, for example before the last sound of "eight"
ATTACK_SECONDS = 0.06  # longest gap between a short sound and the rest of its word
LEAST_SECONDS = 0.06  # shortest word, without SMEAR
LONG_WORD = 1.2  # seconds: longer is probably more than one word
LIFTS_DB = (0.0, 5.0, 10.0, 15.0, 20.0, 25.0)  # steps by which the background is raised until the words separate
EPSILON = 1e-12  # of power: avoids the logarithm of 0


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of a recording, one value per frame."""

    decibels: NDArray[np.float64]  # above the background, averaged over the bands
    spectra: NDArray[np.float64]  # power (frames, bins)
    spoken: NDArray[np.bool_]  # not background


def measure(samples: NDArray[np.float32]) -> Levels:
    """Return the levels of samples (n,) at VOICE_RATE."""
    spectra = power_frames(samples, WINDOW, HOP)
    edges = np.round(np.array(EDGES) * FFT / VOICE_RATE).astype(int)
    bands = np.add.reduceat(spectra, edges, axis=1)[:, :-1] / np.diff(edges) + EPSILON
    kernel = np.ones(SMOOTH) / SMOOTH
    bands = np.stack([np.convolve(np.pad(b, SMOOTH // 2, mode="edge"), kernel, "valid") for b in bands.T], axis=1)
    total = bands.mean(axis=1)
    peak = np.percentile(total, 95)  # robust against clicks, which are shorter than 5 % of the recording
    quiet = np.argsort(total, kind="stable")[: max(FEWEST_QUIET, round(QUIET_SHARE * len(total)))]
    seconds = len(samples) / VOICE_RATE
    loud = bands[total >= peak].mean(axis=0)
    if seconds < TRIMMED_SECONDS and total[quiet].mean() > peak * 10 ** (-BELIEVED_DB / 10):
        floor = np.full(bands.shape[1], loud.mean() * 10 ** (-TRIMMED_RANGE_DB / 10))
        decibels = 10 * np.log10((bands / floor).mean(axis=1))
        return Levels(decibels, spectra, decibels > STAY_DB)
    least = peak * 10 ** (-RANGE_DB / 10)
    floor = np.maximum(bands[quiet].mean(axis=0), least)
    highest = MOST_RISE * floor
    for _ in range(ROUNDS):
        decibels = 10 * np.log10((bands / floor).mean(axis=1))
        still = decibels < STAY_DB
        if still.sum() >= FEWEST_QUIET:
            floor = np.clip(bands[still].mean(axis=0), least, highest)
    decibels = 10 * np.log10((bands / floor).mean(axis=1))
    return Levels(decibels, spectra, decibels > STAY_DB)


def power_frames(samples: NDArray[np.float32], window: int, hop: int) -> NDArray[np.float64]:
    """Return power spectra, float64 (frames, FFT / 2 + 1), of windows centred at 0, hop, 2 hop, …"""
    padded = np.pad(samples.astype(np.float64), window // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    return np.abs(np.fft.rfft(frames * hann(window), FFT)) ** 2 / window


def find_words(levels: Levels) -> list[tuple[float, float]]:
    """Return start and end of each word in seconds, in order; clicks are ignored, short pauses in a word bridged."""
    runs = _runs(levels)
    long = [r for r in runs if _seconds(r) - SMEAR >= CLICK_SECONDS]
    words: list[list[tuple[int, int]]] = []
    for run in long:
        if words and _gap(words[-1][-1], run) <= CLOSURE_SECONDS:
            words[-1].append(run)
        else:
            words.append([run])
    spans = [(word[0][0], word[-1][1]) for word in words]
    # Keep a burst that belongs to a word: the release of a final stop, or the attack of an initial one.
    for burst in sorted(set(runs) - set(long)):
        for i, span in enumerate(spans):
            if 0 <= _gap(span, burst) <= CLOSURE_SECONDS:
                spans[i] = (span[0], burst[1])
                break
            if 0 <= _gap(burst, span) <= ATTACK_SECONDS:
                spans[i] = (burst[0], span[1])
                break
    length = len(levels.decibels) - 1
    found = []
    for first, last in spans:
        # A window detects a loud onset at its edge and a soft one at its middle: use the mean of both.
        start = 0.0 if first == 0 else (first * HOP + SMEAR * VOICE_RATE / 4) / VOICE_RATE
        stop = (last * HOP - (0 if last >= length else SMEAR * VOICE_RATE / 4)) / VOICE_RATE
        if stop - start >= LEAST_SECONDS:
            found.append((start, stop))
    return found


def separate_words(levels: Levels) -> list[tuple[float, float]]:
    """Return the words as `find_words`; raise the background if they run together, as in a reverberant room."""
    for lift in LIFTS_DB:
        decibels = levels.decibels - lift
        words = find_words(Levels(decibels, levels.spectra, decibels > STAY_DB))
        if words and max(stop - start for start, stop in words) <= LONG_WORD:
            return words
    return find_words(levels)


def loudest(levels: Levels, words: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the span of the word with the largest sum of decibels above the background over its frames."""

    def weight(span: tuple[float, float]) -> float:
        first, last = (round(t * VOICE_RATE / HOP) for t in span)
        return float(np.maximum(levels.decibels[first : last + 1], 0).sum())

    return max(words, key=weight)


def is_voiced(samples: NDArray[np.float32]) -> bool:
    """Return True if samples (n,) are one loud voiced sound from start to end, such as a trimmed vowel."""
    if np.sqrt(np.mean(np.square(samples, dtype=np.float64))) < LOUD:
        return False
    size, longest, shortest = 800, VOICE_RATE // 70, VOICE_RATE // 400  # 50 ms; periods of voices, 70 to 400 Hz
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    frames = frames - frames.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(frames, 2 * size)) ** 2
    correlation = np.fft.irfft(power)[:, :longest] / np.maximum((frames**2).sum(axis=1, keepdims=True), EPSILON)
    correlation /= 1 - np.arange(longest) / size  # fewer products at longer lags
    return float(np.mean(correlation[:, shortest:].max(axis=1) > VOICED_PERIOD)) > VOICED_SHARE


def _runs(levels: Levels) -> list[tuple[int, int]]:
    """First and last frame of each stretch above STAY_DB that reaches ENTER_DB."""
    edges = np.flatnonzero(np.diff(np.r_[False, levels.spoken, False].astype(np.int8)))
    pairs = [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [(a, b) for a, b in pairs if levels.decibels[a : b + 1].max() >= ENTER_DB]


def _seconds(run: tuple[int, int]) -> float:
    return (run[1] - run[0] + 1) * HOP / VOICE_RATE


def _gap(earlier: tuple[int, int], later: tuple[int, int]) -> float:
    return (later[0] - earlier[1] - 1) * HOP / VOICE_RATE
