"""Effects that simulate drift in sound and images, each with a strength from 0 to 1."""

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
    """Effect on clips or images with a strength from 0 (unchanged) to 1 (full).

    The random generator of each sample is seeded by (seed, effect, index). So the result for a clip does not depend on
    its batch, and a stronger effect with the same seed has the same noise, only louder.

    Parameters
    ----------
    name
        Name in `EFFECTS`.
    kind
        Type of the media: "audio" or "image".
    explanation
        Help text for a page: the effect and its size at full strength.
    change
        Function (clip, strength, rate, rng) or (image, strength, rng) that returns the changed clip or image.

    Examples
    --------
    >>> clips = np.random.default_rng(0).normal(0, 0.1, (2, 22050)).astype(np.float32)
    >>> noisy = EFFECTS["white noise"](clips, 1.0)
    >>> round(float(10 * np.log10(clips.var() / (noisy - clips).var())), 1)
    -5.0
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
        """Return a changed copy of clips (n, samples) at `sample_rate` or of uint8 images (n, height, width, 3).

        `strength` is one number or shape (n,); `indices` are the numbers of the samples in their stream,
        by default 0 to n - 1.
        """
        media = np.asarray(media)
        self._check(media, sample_rate)
        seed = whole_number("seed", seed, 0)
        strengths = _strengths(strength, len(media))
        numbers = range(len(media)) if indices is None else indices
        if len(numbers) != len(media):
            raise ConfigError(f"{len(numbers)} indices for {len(media)} samples: pass one per sample")
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
            raise DataError(f"{self.name!r} got {media.dtype} of shape {media.shape}: pass {wanted}")


def _strengths(strength: ArrayLike, n: int) -> NDArray[np.float64]:
    values = np.asarray(strength, dtype=np.float64)
    if values.shape not in ((), (n,)):
        raise ConfigError(f"strengths of shape {values.shape} for {n} samples: pass one number, or one per sample")
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        raise ConfigError(f"strength={values[outside].flat[0]}: choose numbers from 0 (none) to 1 (full)")
    return np.broadcast_to(values, n)


def _listed(*effects: tuple[str, Literal["audio", "image"], str, Any]) -> dict[str, Effect]:
    return {name: Effect(name, kind, text, change) for name, kind, text, change in effects}


EFFECTS: dict[str, Effect] = _listed(
    (
        "white noise",
        "audio",
        "Hiss at all frequencies. At full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="white"),
    ),
    (
        "pink noise",
        "audio",
        "Noise like rain, falling by 3 dB per octave. At full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="pink"),
    ),
    (
        "brown noise",
        "audio",
        "Rumble, falling by 6 dB per octave. At full strength 5 dB louder than the word.",
        partial(audio.add_coloured, colour="brown"),
    ),
    (
        "babble",
        "audio",
        "Eight people talking at once. At full strength 5 dB louder than the word.",
        audio.add_babble,
    ),
    (
        "gain loss",
        "audio",
        "The microphone loses up to 40 dB. The features hardly change, because they are relative to the clip's peak.",
        audio.lose_gain,
    ),
    (
        "clipping",
        "audio",
        "An overdriven amplifier cuts off the peaks. At full strength at 3 % of their height.",
        audio.overload,
    ),
    (
        "muffled",
        "audio",
        "A cloth over the microphone removes high frequencies. At full strength all above 400 Hz.",
        audio.muffle,
    ),
    (
        "echo",
        "audio",
        "The word repeats every 0.15 s. At full strength with 80 % of its amplitude.",
        audio.echo,
    ),
    (
        "reverberation",
        "audio",
        "A large empty room reverberates for 0.8 s. At full strength 1.5 times as strong as the word itself.",
        audio.reverberate,
    ),
    (
        "faster speech",
        "audio",
        "The same voice speaks up to 1.6 times as fast, at the same pitch.",
        audio.speed_up,
    ),
    (
        "drop-outs",
        "audio",
        "A bad radio link loses packets of 20 ms. At full strength 7 of 10.",
        audio.drop_out,
    ),
    (
        "wrong sample rate",
        "audio",
        "Recorded at a higher rate than assumed: slower and lower. At full strength by one octave.",
        audio.mistake_rate,
    ),
    (
        "image noise",
        "image",
        "Sensor noise. At full strength with a standard deviation of 100 of 255 grey levels.",
        image.add_pixel_noise,
    ),
    (
        "blur",
        "image",
        "Out of focus. At full strength a Gaussian blur of 4 % of the shorter side.",
        image.blur,
    ),
    (
        "darkness",
        "image",
        "Less light. At full strength a tenth of the brightness.",
        image.darken,
    ),
    (
        "rotation",
        "image",
        "The camera tilts. At full strength by 45 degrees.",
        image.rotate,
    ),
    (
        "occlusion",
        "image",
        "A grey rectangle covers part of the image. At full strength 60 % of it.",
        image.occlude,
    ),
)
