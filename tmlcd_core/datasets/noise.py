"""The noises that clips are mixed with: white, pink, brown, and the babble of a room full of voices."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.espeak import SAMPLE_RATE, Utterance, speak
from tmlcd_core.errors import ConfigError

NoiseKind = Literal["white", "pink", "brown", "babble"]
NOISE_KINDS: tuple[NoiseKind, ...] = get_args(NoiseKind)

SLOPES = {"white": 0.0, "pink": 0.5, "brown": 1.0}  # the amplitude falls as frequency ** -slope
LOWEST = 20.0  # Hz: flat below, where nobody hears it and 1/f would be all of it
VOICES_AT_ONCE = 8  # enough that no single one is understood

# Neutral talk, one line for each voice of the room; together about half a minute.
_TALK = (
    ("en-us", 35, "we could meet again on thursday after lunch if that suits everybody in the group"),
    ("en", 60, "the last train leaves a little before midnight and it is usually rather full"),
    ("en-gb-scotland", 25, "she said that the water had been warm enough for a swim all through september"),
    ("en-gb-x-rp", 75, "have you ever tried the soup they make here with beans and a lot of garlic"),
    ("en-us", 85, "my brother bought another bicycle although he hardly ever rides the old ones"),
    ("en-029", 45, "nobody knows how long the repairs will take but they have promised to hurry"),
    ("en-gb-x-gbclan", 55, "if you turn around slowly you can almost see the harbour behind those roofs"),
    ("en-gb-x-gbcwmd", 40, "they were talking about moving the whole office to the other side of the river"),
)


def noise(kind: NoiseKind, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """`samples` of noise at 22,050 Hz with a peak of 1.

    Examples
    --------
    >>> hiss = noise("pink", 220500, np.random.default_rng(0))
    >>> power = np.abs(np.fft.rfft(hiss)) ** 2  # pink: each octave carries the same power
    >>> round(float(power[5000:10000].sum() / power[50000:100000].sum()), 1)
    1.0
    """
    if kind not in NOISE_KINDS:
        raise ConfigError(f"no noise is called {kind!r}: take one of {', '.join(NOISE_KINDS)}")
    sound = _babble(samples, rng) if kind == "babble" else _coloured(SLOPES[kind], samples, rng)
    return sound / np.abs(sound).max()


def _coloured(slope: float, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    if not slope:
        return rng.standard_normal(samples)
    gains = _gains(slope, samples)
    spectrum = rng.standard_normal(2 * len(gains)).view(np.complex128)
    return np.fft.irfft(spectrum * gains, samples)


@lru_cache(maxsize=8)
def _gains(slope: float, samples: int) -> NDArray[np.float64]:
    frequency = np.fft.rfftfreq(samples, 1 / SAMPLE_RATE)
    gains = np.maximum(frequency, LOWEST) ** -slope
    gains[0] = 0.0
    return gains


def _babble(samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    talk = _talk()
    reach = np.arange(samples)
    sound = np.zeros(samples)
    for start in rng.integers(len(talk), size=VOICES_AT_ONCE):
        sound += talk[(start + reach) % len(talk)]
    return sound


@lru_cache(maxsize=1)
def _talk() -> NDArray[np.float64]:
    spoken = speak([Utterance(text, voice, pitch, 150) for voice, pitch, text in _TALK])
    return np.concatenate([line / np.abs(line).max() for line in (s.astype(np.float64) for s in spoken)])
