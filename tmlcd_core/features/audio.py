"""The audio gate: the one way by which sound enters, from a file, an upload or a microphone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.features.opening import decoding, open_binary
from tmlcd_core.optional_packages import require

MIN_RATE, MAX_RATE = 4_000, 192_000  # Hz; resampling from an absurd rate would eat the memory
MAX_CHANNELS = 32  # libsndfile takes 1,024: a second of them would be 800 MB
MAX_VALUES = 16_000_000  # numbers read of one recording, over all channels: 30 s of stereo at 192 kHz are 11.5 million
BYTES_PER_VALUE = 12  # while a recording is decoded and checked
MIN_SECONDS = 0.02  # less holds no word, and repeating it would make a tone
MAX_PEAK = 16.0  # floating-point files may exceed 1; integers that nobody scaled exceed this
SILENCE = 1e-4  # -80 dB of full scale: nothing but the last bit of a 16-bit recorder moves
MARGIN = 0.05  # seconds read beyond the end, so that the resampler's edge falls outside the clip
FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF", "AU")


def load_clip(
    source: str | Path | bytes | BinaryIO, sample_rate: int = 22_050, seconds: float = 1.0
) -> NDArray[np.float32]:
    """One clip of exactly `seconds` at `sample_rate`, mono, from a wav, flac, ogg or mp3 of any usual kind.

    Only the part that is needed is read, however long the recording is: the beginning. A shorter one is
    repeated from its start.
    """
    _check_target(sample_rate, seconds)
    samples, rate, _, name = read_sound(source, seconds + MARGIN)
    try:
        return make_clip(samples, rate, sample_rate, seconds)
    except AudioError as error:
        raise AudioError(f"{name}: {error}") from error


def read_sound(source: str | Path | bytes | BinaryIO, seconds: float) -> tuple[NDArray[np.float32], int, float, str]:
    """At most the first `seconds` of a recording, decoded: samples (length, channels) that nobody has checked yet.

    With them come their rate, the length in seconds that the whole recording claims, and what to call it.
    """
    with _opened(source) as (sound, name):
        frames = _frames(sound, seconds, name)
        with decoding.take(BYTES_PER_VALUE * frames * sound.channels):
            samples = sound.read(frames, dtype="float32", always_2d=True)
        return samples, int(sound.samplerate), sound.frames / sound.samplerate, name


def sound_values(source: str | Path | bytes | BinaryIO, seconds: float = 1.0) -> int:
    """How many numbers `load_clip` would decode, over all channels, from the header: nothing is decoded."""
    with _opened(source) as (sound, name):
        return _frames(sound, seconds + MARGIN, name) * int(sound.channels)


@contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[tuple[Any, str]]:
    """A `soundfile.SoundFile` whose header has been checked, and what to call it; what fails is an `AudioError`."""
    require("soundfile")
    import soundfile

    with open_binary(source, AudioError) as (file, name):
        # Decoders of damaged files fail in many ways; whatever they raise, the file is to blame.
        try:
            with soundfile.SoundFile(file) as sound:
                _check_header(int(sound.samplerate), int(sound.channels), str(sound.format), name)
                yield sound, name
        except AudioError:
            raise
        except Exception as error:
            reason = getattr(error, "error_string", error)  # libsndfile's own, without the object's address
            raise AudioError(f"{name} cannot be decoded: give a wav, flac, ogg or mp3 ({reason})") from error


def make_clip(samples: ArrayLike, rate: int, sample_rate: int = 22_050, seconds: float = 1.0) -> NDArray[np.float32]:
    """The same from samples at hand, as a recorder gives them: (length,) or (length, channels) at `rate`.

    Examples
    --------
    >>> tone = np.sin(np.arange(16_000) * 0.2)
    >>> make_clip(tone, 16_000).shape
    (22050,)
    """
    _check_target(sample_rate, seconds)
    mono = check_audio(samples, rate)[: math.ceil((seconds + MARGIN) * rate)]
    if rate != sample_rate:
        require("soxr")
        import soxr

        mono = soxr.resample(mono, rate, sample_rate)
    return np.ascontiguousarray(fit_length(mono, round(seconds * sample_rate)), dtype=np.float32)


def check_audio(samples: ArrayLike, rate: int) -> NDArray[np.float32]:
    """The samples as one float32 channel, or an AudioError that says what is wrong with them.

    Channels are averaged; integers are scaled by their type's full range.
    """
    array = np.asarray(samples)
    if not MIN_RATE <= rate <= MAX_RATE:
        raise AudioError(f"a sample rate of {rate} Hz: record at {MIN_RATE} to {MAX_RATE} Hz")
    if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
        raise AudioError(f"samples of type {array.dtype} and shape {array.shape}: give numbers (length, channels)")
    if array.ndim == 2 and not 1 <= array.shape[1] <= MAX_CHANNELS:
        raise AudioError(f"{array.shape[1]} channels: give 1 to {MAX_CHANNELS}, as (length, channels)")
    if len(array) < MIN_SECONDS * rate:
        raise AudioError(f"{len(array)} samples are {len(array) / rate:.4f} s: give at least {MIN_SECONDS} s")
    if not np.isfinite(array).all():
        raise AudioError("the samples hold NaN or infinite values: export the recording again")
    mono = _full_scale(array)
    peak = float(np.abs(mono).max())
    if peak > MAX_PEAK:
        raise AudioError(f"a peak of {peak:.3g}: scale floating-point samples to -1..1")
    if mono.ndim == 2:
        mono = mono.mean(axis=1)
    if np.ptp(mono) <= 2 * SILENCE:
        raise AudioError(
            f"silent (nothing above {SILENCE:g} of full scale): check the microphone or choose another part"
        )
    return np.ascontiguousarray(mono, dtype=np.float32)


def fit_length(clips: NDArray, samples: int) -> NDArray:
    """Clips (…, length) repeated from their start, or cut at their end, to (…, samples)."""
    length = clips.shape[-1]
    if length < samples:
        return np.tile(clips, -(-samples // length))[..., :samples]
    return clips[..., :samples]


def _full_scale(array: NDArray) -> NDArray:
    if array.dtype.kind == "f":
        return array
    limits = np.iinfo(array.dtype)
    middle = 0.0 if limits.min < 0 else (limits.max + 1) / 2  # unsigned samples rest at the middle
    return (array.astype(np.float64) - middle) / ((limits.max + 1.0) / (1 if limits.min < 0 else 2))


def _check_header(rate: int, channels: int, kind: str, name: str) -> None:
    if kind not in FORMATS:
        raise AudioError(f"{name} is of format {kind}: give a wav, flac, ogg or mp3 file")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise AudioError(f"{name} has a sample rate of {rate} Hz: record at {MIN_RATE} to {MAX_RATE} Hz")
    if channels > MAX_CHANNELS:
        raise AudioError(f"{name} has {channels} channels: give at most {MAX_CHANNELS}")


def _frames(sound: Any, seconds: float, name: str) -> int:
    """Frames of the first `seconds` of an open `soundfile.SoundFile`."""
    frames = max(0, min(math.ceil(seconds * sound.samplerate), sound.frames))
    if frames * sound.channels > MAX_VALUES:
        raise AudioError(
            f"{name} has {sound.channels} channels at {sound.samplerate} Hz for {frames / sound.samplerate:.0f} s: "
            "give mono or stereo"
        )
    return frames


def _check_target(sample_rate: int, seconds: float) -> None:
    if not 1_000 <= sample_rate <= MAX_RATE:
        raise ConfigError(f"sample_rate={sample_rate}: ask for 1000 to {MAX_RATE} Hz")
    if not MIN_SECONDS <= seconds <= 60:
        raise ConfigError(f"seconds={seconds}: ask for {MIN_SECONDS} to 60 seconds")
