"""Audio loading and validation: all sound from files, uploads and microphones passes here."""

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

MIN_RATE, MAX_RATE = 4_000, 192_000  # Hz; resampling from an extreme rate would take too much memory
MAX_CHANNELS = 32  # libsndfile allows 1,024: one second would take 800 MB
MAX_VALUES = 16_000_000  # numbers read of one recording, over all channels: 30 s of stereo at 192 kHz are 11.5 million
BYTES_PER_VALUE = 12  # while a recording is decoded and checked
MIN_SECONDS = 0.02  # too short for a word, and a repeated shorter clip would sound like a tone
MAX_PEAK = 16.0  # floating-point files may exceed 1; unscaled integers exceed this
SILENCE = 1e-4  # -80 dB of full scale: only the last bit of a 16-bit recording changes
MARGIN = 0.05  # seconds read beyond the end, so that the edge effect of the resampler lies outside the clip
FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF", "AU")


def load_clip(
    source: str | Path | bytes | BinaryIO, sample_rate: int = 22_050, seconds: float = 1.0
) -> NDArray[np.float32]:
    """Load the first `seconds` of a wav, flac, ogg or mp3 as mono float32 (seconds * sample_rate,).

    Only the part that is needed is read. A shorter recording is repeated from its start. `source` is a path, the bytes
    of a file or an open binary file.
    """
    _check_target(sample_rate, seconds)
    samples, rate, _, name = read_sound(source, seconds + MARGIN)
    try:
        return make_clip(samples, rate, sample_rate, seconds)
    except AudioError as error:
        raise AudioError(f"{name}: {error}") from error


def read_sound(source: str | Path | bytes | BinaryIO, seconds: float) -> tuple[NDArray[np.float32], int, float, str]:
    """Decode at most the first `seconds` of a recording, without checking the samples.

    Returns the samples, float32 (length, channels), their rate in Hz, the length of the whole recording in seconds
    according to its header, and its name for error messages.
    """
    with _opened(source) as (sound, name):
        frames = _frames(sound, seconds, name)
        with decoding.take(BYTES_PER_VALUE * frames * sound.channels):
            samples = sound.read(frames, dtype="float32", always_2d=True)
        return samples, int(sound.samplerate), sound.frames / sound.samplerate, name


def sound_values(source: str | Path | bytes | BinaryIO, seconds: float = 1.0) -> int:
    """Return how many values `load_clip` would decode over all channels, from the header, without decoding."""
    with _opened(source) as (sound, name):
        return _frames(sound, seconds + MARGIN, name) * int(sound.channels)


@contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[tuple[Any, str]]:
    """An open `soundfile.SoundFile` with a checked header, and its name; every failure is an `AudioError`."""
    require("soundfile")
    import soundfile

    with open_binary(source, AudioError) as (file, name):
        # Decoders raise many kinds of exceptions for damaged files: treat all of them as an error of the file.
        try:
            with soundfile.SoundFile(file) as sound:
                _check_header(int(sound.samplerate), int(sound.channels), str(sound.format), name)
                yield sound, name
        except AudioError:
            raise
        except Exception as error:
            reason = getattr(error, "error_string", error)  # libsndfile's message without the object's address
            raise AudioError(f"{name} cannot be decoded: use a wav, flac, ogg or mp3 ({reason})") from error


def make_clip(samples: ArrayLike, rate: int, sample_rate: int = 22_050, seconds: float = 1.0) -> NDArray[np.float32]:
    """Convert samples (length,) or (length, channels) at `rate` to a mono clip, float32 (seconds * sample_rate,).

    As in `load_clip`, a longer recording is cut and a shorter one repeated.

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
    """Check samples (length,) or (length, channels) at `rate` and return them as mono float32 (length,).

    Channels are averaged; integers are scaled by the full range of their type. Unusable samples are an AudioError.
    """
    array = np.asarray(samples)
    if not MIN_RATE <= rate <= MAX_RATE:
        raise AudioError(f"the sample rate is {rate} Hz: record at {MIN_RATE} to {MAX_RATE} Hz")
    if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
        raise AudioError(f"samples of type {array.dtype} and shape {array.shape}: use numbers (length, channels)")
    if array.ndim == 2 and not 1 <= array.shape[1] <= MAX_CHANNELS:
        raise AudioError(f"{array.shape[1]} channels: use 1 to {MAX_CHANNELS}, as (length, channels)")
    if len(array) < MIN_SECONDS * rate:
        raise AudioError(f"{len(array)} samples are {len(array) / rate:.4f} s: use at least {MIN_SECONDS} s")
    if not np.isfinite(array).all():
        raise AudioError("the samples contain NaN or infinite values: export the recording again")
    mono = _full_scale(array)
    peak = float(np.abs(mono).max())
    if peak > MAX_PEAK:
        raise AudioError(f"the peak is {peak:.3g}: scale floating-point samples to -1..1")
    if mono.ndim == 2:
        mono = mono.mean(axis=1)
    if np.ptp(mono) <= 2 * SILENCE:
        raise AudioError(
            f"silent (no sample above {SILENCE:g} of full scale): check the microphone or choose another part"
        )
    return np.ascontiguousarray(mono, dtype=np.float32)


def fit_length(clips: NDArray, samples: int) -> NDArray:
    """Repeat clips (…, length) from their start, or cut them at the end; return (…, samples)."""
    length = clips.shape[-1]
    if length < samples:
        return np.tile(clips, -(-samples // length))[..., :samples]
    return clips[..., :samples]


def _full_scale(array: NDArray) -> NDArray:
    if array.dtype.kind == "f":
        return array
    limits = np.iinfo(array.dtype)
    middle = 0.0 if limits.min < 0 else (limits.max + 1) / 2  # silence of unsigned samples is the middle of their range
    return (array.astype(np.float64) - middle) / ((limits.max + 1.0) / (1 if limits.min < 0 else 2))


def _check_header(rate: int, channels: int, kind: str, name: str) -> None:
    if kind not in FORMATS:
        raise AudioError(f"{name} is of format {kind}: use a wav, flac, ogg or mp3 file")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise AudioError(f"{name} has a sample rate of {rate} Hz: record at {MIN_RATE} to {MAX_RATE} Hz")
    if channels > MAX_CHANNELS:
        raise AudioError(f"{name} has {channels} channels: use at most {MAX_CHANNELS}")


def _frames(sound: Any, seconds: float, name: str) -> int:
    """Frames of the first `seconds` of an open `soundfile.SoundFile`."""
    frames = max(0, min(math.ceil(seconds * sound.samplerate), sound.frames))
    if frames * sound.channels > MAX_VALUES:
        raise AudioError(
            f"{name} has {sound.channels} channels at {sound.samplerate} Hz for {frames / sound.samplerate:.0f} s: "
            "use mono or stereo"
        )
    return frames


def _check_target(sample_rate: int, seconds: float) -> None:
    if not 1_000 <= sample_rate <= MAX_RATE:
        raise ConfigError(f"sample_rate={sample_rate}: choose 1000 to {MAX_RATE} Hz")
    if not MIN_SECONDS <= seconds <= 60:
        raise ConfigError(f"seconds={seconds}: choose {MIN_SECONDS} to 60 seconds")
