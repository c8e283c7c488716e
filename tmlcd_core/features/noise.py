"""Background noise of unit power: white, pink and brown noise, and babble."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Colour = Literal["white", "pink", "brown"]
# The amplitude falls as 1 / this function of the frequency; square roots are the same on every processor, powers not.
FALL: dict[str, np.ufunc | Callable[..., NDArray]] = {"white": np.ones_like, "pink": np.sqrt, "brown": np.positive}
LOWEST_HZ = 20.0  # below it the spectrum is flat, so that brown noise has no large slow drift
TALKERS = 8  # at the same time
VOICES = 24  # synthetic voices to choose the talkers from


def coloured_noise(colour: Colour, samples: int, rate: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return Gaussian noise (samples,) of mean power 1 whose spectrum falls by 0, 3 or 6 dB per octave."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    frequency = np.maximum(np.fft.rfftfreq(samples, 1 / rate), LOWEST_HZ)
    return unit_power(np.fft.irfft(spectrum * (1 / FALL[colour](frequency)), samples))


def babble(samples: int, rate: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return babble (samples,) of mean power 1: TALKERS synthetic talkers at the same time."""
    clips = _synthetic_talkers(rate)
    chosen = clips[rng.integers(len(clips), size=TALKERS)]
    talkers = [np.roll(np.resize(clip, samples), rng.integers(samples)) for clip in chosen]
    return unit_power(np.sum([unit_power(talker) for talker in talkers], axis=0))


def unit_power(wave: NDArray) -> NDArray[np.float64]:
    """Return a wave (n,) scaled to a mean square of 1; silence is not changed."""
    wave = wave.astype(np.float64)
    power = np.mean(wave**2)
    return wave / np.sqrt(power) if power > 0 else wave


@lru_cache(maxsize=2)
def _synthetic_talkers(rate: int) -> NDArray[np.float32]:
    """One second of each synthetic voice, (VOICES, rate): harmonics with two formants, modulated like syllables."""
    rng, time = np.random.default_rng(0), np.arange(rate) / rate
    voices = np.zeros((VOICES, rate), np.float32)
    for voice in voices:
        pitch = rng.uniform(90, 230) * (1 + 0.1 * np.sin(2 * np.pi * (rng.uniform(1, 3) * time + rng.random())))
        phase = 2 * np.pi * np.cumsum(pitch) / rate
        formants = np.array([[500.0, 150.0], [1_500.0, 300.0]]) * rng.uniform(0.7, 1.4, (2, 1))  # Hz: centre, width
        for harmonic in range(1, int(min(4_000, rate / 2) / pitch.max()) + 1):
            centre, width = formants.T
            gain = np.exp(-(((harmonic * pitch.mean() - centre) / width) ** 2)).sum() + 0.05
            voice += gain / harmonic**0.5 * np.sin(harmonic * phase)
        voice *= 0.5 + 0.5 * np.sin(2 * np.pi * (rng.uniform(3, 5) * time + rng.random()))
    return voices
