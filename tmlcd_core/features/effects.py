"""Drift at the source: a list of what can happen to sound and pictures, each with a strength from 0 to 1."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import audio_effects as audio
from tmlcd_core.features import image_effects as image
from tmlcd_core.features.audio import MAX_RATE
from tmlcd_core.validation import whole_number


@dataclass(frozen=True)
class Effect:
    """What happens to clips or images, from 0 (bit for bit as given) to 1 (fully).

    Randomness is drawn per sample from (seed, effect, index), so a clip sounds the same whatever batch it
    comes in, and a stronger effect of one seed is the same noise, louder.

    Parameters
    ----------
    name
        Under which `EFFECTS` lists it.
    kind
        What it works on.
    explanation
        One line for a page: what happens, and how much of it at full strength.
    change
        (clip, strength, rate, rng) or (image, strength, rng) to the changed one.

    Examples
    --------
    >>> clips = np.random.default_rng(0).normal(0, 0.1, (2, 22050)).astype(np.float32)
    >>> noisy = EFFECTS["white noise"](clips, snr_to_strength(10.0))
    >>> round(float(10 * np.log10(clips.var() / (noisy - clips).var())), 1)
    10.0
    """

    name: str
    kind: Literal["audio", "image"]
    explanation: str
    change: Callable[..., NDArray]

    def __call__(
        self,
        media: NDArray,
        strength: ArrayLike = 1.0,
        *,
        seed: int = 0,
        indices: Sequence[int] | None = None,
        sample_rate: int = 22_050,
    ) -> NDArray:
        """A changed copy of clips (n, samples) at `sample_rate`, or of uint8 images (n, height, width, 3).

        `strength` is one number or one per sample (see `ramp`); `indices` are the samples' numbers in their
        stream, 0 to n - 1 unless told.
        """
        media = np.asarray(media)
        self._check(media, sample_rate)
        seed = whole_number("seed", seed, 0)
        strengths = _strengths(strength, len(media))
        numbers = range(len(media)) if indices is None else indices
        if len(numbers) != len(media):
            raise ConfigError(f"{len(numbers)} indices for {len(media)} samples: give one each")
        changed = media.copy()
        for i in np.flatnonzero(strengths).tolist():
            rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), int(numbers[i])])
            if self.kind == "audio":
                changed[i] = self.change(media[i].astype(np.float64), strengths[i], sample_rate, rng)
            else:
                changed[i] = self.change(media[i], strengths[i], rng)
        return changed

    def _check(self, media: NDArray, sample_rate: int) -> None:
        if self.kind == "audio":
            fits, wanted = media.ndim == 2 and media.dtype.kind == "f", "floating-point clips (n, samples)"
            whole_number("sample_rate", sample_rate, 1_000, MAX_RATE)
        else:
            fits = media.ndim == 4 and media.dtype == np.uint8 and media.shape[-1] == 3
            wanted = "uint8 images (n, height, width, 3)"
        if not fits or 0 in media.shape[1:]:
            raise DataError(f"{self.name!r} got {media.dtype} of shape {media.shape}: give {wanted}")


def ramp(n: int, at: int, over: int = 0, full: float = 1.0, start: int = 0) -> NDArray[np.float64]:
    """Strength at the samples start, …, start + n - 1: 0 before `at`, then `full`, at once or gradually.

    With `over` > 0 it rises in equal steps and is full from sample at + over - 1 on.

    Examples
    --------
    >>> ramp(6, at=2, over=2).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    """
    if over < 0 or not 0 <= full <= 1:
        raise ConfigError(f"over={over}, full={full}: give over >= 0 samples and a strength from 0 to 1")
    since = np.arange(start, start + n) - at + 1
    return full * np.clip(since / max(over, 1), 0, 1)


def snr_to_strength(snr_db: float) -> float:
    """The strength at which a noise effect gives this signal-to-noise ratio; -5 dB is full strength."""
    if not snr_db >= audio.FULL_SNR_DB:
        raise ConfigError(f"snr_db={snr_db}: the noises go down to {audio.FULL_SNR_DB} dB")
    return float(10 ** ((audio.FULL_SNR_DB - snr_db) / 20))


def babble_from(pool: NDArray[np.float32]) -> Effect:
    """The babble effect mixed from these clips of speech (n, samples) instead of synthetic talkers."""
    if pool.ndim != 2 or 0 in pool.shape:
        raise DataError(f"a pool of shape {pool.shape}: give clips (n, samples)")
    plain = EFFECTS["babble"]
    return Effect(plain.name, plain.kind, plain.explanation, partial(audio.add_babble, pool=pool))


def _strengths(strength: ArrayLike, n: int) -> NDArray[np.float64]:
    values = np.asarray(strength, dtype=np.float64)
    if values.shape not in ((), (n,)):
        raise ConfigError(f"strengths of shape {values.shape} for {n} samples: give one number, or one each")
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        raise ConfigError(f"strength={values[outside].flat[0]}: give numbers from 0 (none) to 1 (full)")
    return np.broadcast_to(values, n)


def _listed(*effects: tuple[str, Literal["audio", "image"], str, Any]) -> dict[str, Effect]:
    return {name: Effect(name, kind, text, change) for name, kind, text, change in effects}


EFFECTS: dict[str, Effect] = _listed(
    (
        "white noise",
        "audio",
        "A hiss of all frequencies; at full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="white"),
    ),
    (
        "pink noise",
        "audio",
        "Noise like rain, 3 dB less per octave; at full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="pink"),
    ),
    (
        "brown noise",
        "audio",
        "A rumble, 6 dB less per octave; at full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="brown"),
    ),
    (
        "babble",
        "audio",
        "Eight people talking at once; at full strength 5 dB louder than the word.",
        audio.add_babble,
    ),
    (
        "gain loss",
        "audio",
        "A tired microphone, up to 40 dB softer; the features, relative to the clip's peak, hardly move.",
        audio.lose_gain,
    ),
    (
        "clipping",
        "audio",
        "An overdriven amplifier cuts the peaks off, at full strength at 3 % of their height.",
        audio.overload,
    ),
    (
        "muffled",
        "audio",
        "A cloth over the microphone: high frequencies go, at full strength all above 400 Hz.",
        audio.muffle,
    ),
    (
        "echo",
        "audio",
        "The word comes back every 0.15 s, at full strength with 80 % of its amplitude.",
        audio.echo,
    ),
    (
        "reverberation",
        "audio",
        "A large bare room rings for 0.8 s, at full strength 1.5 times as strong as the word itself.",
        audio.reverberate,
    ),
    (
        "faster speech",
        "audio",
        "The same voice speaks faster, up to 1.6 times, at the same pitch.",
        audio.speed_up,
    ),
    (
        "drop-outs",
        "audio",
        "A bad radio link loses packets of 20 ms, at full strength 7 of 10.",
        audio.drop_out,
    ),
    (
        "wrong sample rate",
        "audio",
        "The recorder runs faster than believed: slower and lower, at full strength by an octave.",
        audio.mistake_rate,
    ),
    (
        "image noise",
        "image",
        "A grainy sensor; at full strength a standard deviation of 100 of 255 grey levels.",
        image.add_noise,
    ),
    (
        "blur",
        "image",
        "Out of focus; at full strength a Gaussian of 4 % of the shorter side.",
        image.blur,
    ),
    (
        "darkness",
        "image",
        "The light goes down, at full strength to a tenth of the brightness.",
        image.darken,
    ),
    (
        "rotation",
        "image",
        "The camera tilts, at full strength by 45 degrees.",
        image.rotate,
    ),
    (
        "occlusion",
        "image",
        "Something grey stands in the way, at full strength before 60 % of the picture.",
        image.occlude,
    ),
)
