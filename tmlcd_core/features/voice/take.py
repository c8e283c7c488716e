"""Takes: loading and validation of spoken words from a microphone, an upload or a file."""

from __future__ import annotations

import io
import math
import wave
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import AudioError
from tmlcd_core.features.audio import check_audio, read_sound
from tmlcd_core.features.voice.words import (
    LONG_WORD,
    VOICE_RATE,
    find_words,
    is_voiced,
    loudest,
    measure,
    separate_words,
)
from tmlcd_core.optional_packages import require

TakeSource = bytes | str | Path | tuple[ArrayLike, int]

LEAST_SECONDS = 0.1  # the shortest words of the Free Spoken Digit Dataset last 0.15 s
LONGEST_TAKE, LONGEST_CUT = 5.0, 30.0  # seconds of a recording of one word, and of one that is cut into words
KEPT_AROUND = 0.4  # seconds kept before and after the word of a recording longer than KEPT_WHOLE
KEPT_WHOLE = 2.0  # seconds
FULL_SCALE = 32_768  # takes have 16 bits, so that a saved and reopened take is identical
CLIPPED = 0.985  # of the recording's peak: a clipped sample, if the peak is at least CLIPPING_PEAK …
CLIPPING_PEAK = 0.9
CLIPPED_RUN, CLIPPED_RUNS = 3, 3  # … and this many samples in a row occur this often: an overdriven input
QUIET_PEAK = 0.01  # -40 dB: a microphone far away or turned down
FULL_REMARK = "the word fills the recording: leave some silence before and after it"


@dataclass(frozen=True, eq=False)
class Take:
    """One spoken word: its recording and its position in it.

    Parameters
    ----------
    samples
        Recording, float32 (n,), mono at VOICE_RATE, in 16-bit steps; if it was longer than two seconds, only the word
        and 0.4 s before and after it.
    start, stop
        Position of the word in the recording, in seconds.
    remarks
        Warnings, such as clipping.
    digest
        Digest of the samples: equal for equal recordings.

    Examples
    --------
    >>> time = np.arange(16_000) / 16_000
    >>> sound = 0.3 * np.sin(2 * np.pi * 440 * time) * ((time > 0.3) & (time < 0.7))
    >>> take = open_take((sound, 16_000))
    >>> round(take.start, 1), round(take.stop, 1)
    (0.3, 0.7)
    """

    samples: NDArray[np.float32]
    start: float
    stop: float
    remarks: tuple[str, ...]
    digest: str

    @property
    def seconds(self) -> float:
        """Length of the recording in seconds."""
        return len(self.samples) / VOICE_RATE

    @property
    def level(self) -> float:
        """Level of the word (root mean square) in decibels of full scale, at least -90."""
        word = self.samples[round(self.start * VOICE_RATE) : round(self.stop * VOICE_RATE)]
        return 10 * math.log10(max(float(np.mean(word.astype(np.float64) ** 2)), 1e-9))

    def wav(self) -> bytes:
        """Return the recording as a 16-bit WAV file; `open_take` restores the same take from it."""
        with wave.open(buffer := io.BytesIO(), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(VOICE_RATE)
            file.writeframes((self.samples * FULL_SCALE).astype("<i2").tobytes())
        return buffer.getvalue()


def open_take(source: TakeSource) -> Take:
    """Find the word in a recording and return it as a take; without a usable word, an AudioError names the problem.

    `source` is the bytes or the path of a wav, flac, ogg or mp3 file, or a tuple of samples and rate.
    """
    samples, remarks = _open(source, LONGEST_TAKE, "a recording that is cut into words may have 30 s")
    levels = measure(samples)
    words = find_words(levels)
    if words:
        return _take(samples, *loudest(levels, words), remarks)
    if is_voiced(samples):
        return _take(samples, 0.0, len(samples) / VOICE_RATE, (*remarks, FULL_REMARK))
    raise AudioError(_why_nothing(levels.decibels))


def whole_take(source: TakeSource) -> Take:
    """Return a recording as a take that is all word, such as a second of the room: no word is searched for."""
    samples, remarks = _open(source, LONGEST_TAKE, "record about a second")
    return restore_take(samples, 0.0, len(samples) / VOICE_RATE, remarks)


def cut_words(source: TakeSource) -> list[Take]:
    """Return the takes of a long recording of words with pauses, one per word, in their order."""
    samples, remarks = _open(source, LONGEST_CUT, "say fewer words at a time")
    levels = measure(samples)
    words = separate_words(levels)
    if not words:
        raise AudioError(_why_nothing(levels.decibels))
    borders = [0.0, *((a[1] + b[0]) / 2 for a, b in pairwise(words)), len(samples) / VOICE_RATE]
    takes = []
    for (start, stop), (left, right) in zip(words, pairwise(borders), strict=True):
        first = max(left, start - KEPT_AROUND)
        part = samples[round(first * VOICE_RATE) : round(min(right, stop + KEPT_AROUND) * VOICE_RATE)]
        takes.append(_take(part, start - first, stop - first, remarks))
    return takes


def restore_take(samples: NDArray[np.float32], start: float, stop: float, remarks: tuple[str, ...]) -> Take:
    """Return a take of stored parts, such as samples (n,) from a session file, without searching for the word."""
    samples = samples.astype(np.float32)
    samples.setflags(write=False)
    digest = sha256((samples * FULL_SCALE).astype("<i2").tobytes()).hexdigest()
    return Take(samples, float(start), float(stop), remarks, digest)


def _open(source: TakeSource, longest: float, advice: str) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """The recording, float32 (n,) at VOICE_RATE in 16-bit steps, and its remarks."""
    if isinstance(source, tuple):
        array, rate = source
        array = np.asarray(array)
        seconds, name = (len(array) / rate if array.ndim and rate > 0 else 0.0), ""
    else:
        array, rate, seconds, name = read_sound(source, longest + 0.1)
        name += ": "
    if seconds > longest + 0.05:
        raise AudioError(f"{name}{seconds:.1f} s is too long: a take has at most {longest:.0f} s; {advice}")
    try:
        mono = check_audio(array, rate)
    except AudioError as error:
        raise AudioError(f"{name}{error}") from error
    if len(mono) < LEAST_SECONDS * rate:
        raise AudioError(f"{name}{len(mono) / rate:.2f} s is too short for a word: record about a second")
    remarks = []
    peak = float(np.abs(mono).max())
    if _is_clipped(mono, peak):
        remarks.append("clipped: speak softer or move away from the microphone")
    elif peak < QUIET_PEAK:
        remarks.append("very soft: speak louder or move nearer to the microphone")
    if rate != VOICE_RATE:
        require("soxr")
        import soxr

        mono = soxr.resample(mono, rate, VOICE_RATE)
    return in_steps(mono), tuple(remarks)


def in_steps(samples: NDArray) -> NDArray[np.float32]:
    """Quantise samples (n,) to 16-bit steps, float32 (n,); a recording above full scale is scaled down."""
    peak = max(float(np.abs(samples).max()), 1.0)
    steps = np.rint(samples / peak * FULL_SCALE).clip(-FULL_SCALE, FULL_SCALE - 1)
    return (steps / FULL_SCALE).astype(np.float32)


def _take(samples: NDArray[np.float32], start: float, stop: float, remarks: tuple[str, ...]) -> Take:
    if stop - start > LONG_WORD:
        remarks = (*remarks, f"{stop - start:.1f} s is long for one word: pause between words")
    if len(samples) > KEPT_WHOLE * VOICE_RATE:
        first = max(0, round((start - KEPT_AROUND) * VOICE_RATE))
        samples = samples[first : round((stop + KEPT_AROUND) * VOICE_RATE)].copy()
        start, stop = start - first / VOICE_RATE, stop - first / VOICE_RATE
    return restore_take(samples, start, stop, remarks)


def _is_clipped(mono: NDArray[np.float32], peak: float) -> bool:
    if peak < CLIPPING_PEAK:
        return False
    flat = np.abs(mono) >= CLIPPED * peak
    runs = np.convolve(flat, np.ones(CLIPPED_RUN), "valid") >= CLIPPED_RUN
    return int(np.count_nonzero(np.diff(np.r_[False, runs].astype(np.int8)) == 1)) >= CLIPPED_RUNS


def _why_nothing(decibels: NDArray[np.float64]) -> str:
    if decibels.max() >= 15:
        return "only a click, no word: record again without touching the microphone"
    return "no word stands out of the background: speak louder or move nearer to the microphone"
