"""Audio effects: functions from one clip, float64 (samples,), and a strength in 0..1 to the changed clip.

`Effect` calls them, so all have the same signature, even if they do not use the rate or the random generator.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.audio import fit_length
from tmlcd_core.features.noise import Colour, babble, coloured_noise

Clip = NDArray[np.float64]

FULL_SNR_DB = -5.0  # signal over noise at full strength
GAIN_LOSS_DB = 40.0
CLIPPED_AT = 0.03  # of the clip's peak
MUFFLED_HZ, MUFFLED_ORDER = 400.0, 6
ECHO_SECONDS, ECHO_GAIN, ECHOES = 0.15, 0.8, 4
REVERBERATION_SECONDS, REVERBERATION_GAIN = 0.8, 1.5  # time until -60 dB; gain relative to the direct sound
FASTER = 0.6  # speech up to 1.6 times as fast
PACKET_SECONDS, LOST = 0.02, 0.7  # as on a bad radio link
WRONG_RATE = 2.0  # recorded at up to twice the assumed rate


def add_noise(clip: Clip, strength: float, noise: Clip) -> Clip:
    """Return the clip with noise of unit power added, its amplitude proportional to the strength."""
    level = np.sqrt(np.mean(clip**2)) * 10 ** (-FULL_SNR_DB / 20)
    return clip + strength * level * noise


def add_coloured(clip: Clip, strength: float, rate: int, rng: np.random.Generator, colour: Colour) -> Clip:
    """Return the clip with white, pink or brown noise."""
    return add_noise(clip, strength, coloured_noise(colour, len(clip), rate, rng))


def add_babble(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with the babble of several synthetic talkers."""
    return add_noise(clip, strength, babble(len(clip), rate, rng))


def lose_gain(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with its level reduced by up to GAIN_LOSS_DB."""
    return clip * 10 ** (-GAIN_LOSS_DB * strength / 20)


def overload(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with its peaks clipped, at full strength to CLIPPED_AT of its maximum."""
    limit = np.abs(clip).max() * (1 - (1 - CLIPPED_AT) * strength)
    return np.clip(clip, -limit, limit)


def muffle(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip after a zero-phase Butterworth low-pass; its cut-off falls from half the rate to MUFFLED_HZ."""
    size = 2 * len(clip)  # zero padding, so that the end does not wrap around to the beginning
    highest = rate / 2
    cutoff = highest * (MUFFLED_HZ / highest) ** strength
    gain = 1 / np.sqrt(1 + (np.fft.rfftfreq(size, 1 / rate) / cutoff) ** (2 * MUFFLED_ORDER))
    return np.fft.irfft(np.fft.rfft(clip, size) * gain, size)[: len(clip)]


def echo(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with echoes every ECHO_SECONDS, each weaker than the one before."""
    out, delay = clip.copy(), round(ECHO_SECONDS * rate)
    for repeat in range(1, ECHOES + 1):
        late = repeat * delay
        out[late:] += (ECHO_GAIN * strength) ** repeat * clip[: max(0, len(clip) - late)]
    return out


def reverberate(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with the reverberation of a large room (convolution with its impulse response)."""
    room, size = _room(rate), len(clip) + round(REVERBERATION_SECONDS * rate)
    tail = np.fft.irfft(np.fft.rfft(clip, size) * np.fft.rfft(room, size), size)[: len(clip)]
    return clip + REVERBERATION_GAIN * strength * tail


@lru_cache(maxsize=4)
def _room(rate: int) -> Clip:
    """Impulse response of the room, the same for all clips: decaying noise of unit energy."""
    time = np.arange(round(REVERBERATION_SECONDS * rate)) / rate
    response = np.random.default_rng(0).standard_normal(len(time)) * 10 ** (-3 * time / REVERBERATION_SECONDS)
    return response / np.sqrt(np.sum(response**2))


def speed_up(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip faster at the same pitch (phase vocoder), with its start repeated to fill the length."""
    factor = 1 + FASTER * strength
    size = 1 << round(np.log2(0.05 * rate))  # windows of about 50 ms
    hop = size // 4
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    padded = np.pad(clip, (size // 2, size + hop))
    frames = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(padded, size)[::hop] * window)
    places = np.arange(0, len(frames) - 1, factor)
    before, share = places.astype(int), (places % 1)[:, None]
    magnitude = (1 - share) * np.abs(frames[before]) + share * np.abs(frames[before + 1])
    expected = 2 * np.pi * hop * np.arange(frames.shape[1]) / size
    step = np.angle(frames[before + 1]) - np.angle(frames[before]) - expected
    step = expected + step - 2 * np.pi * np.round(step / (2 * np.pi))
    phase = np.angle(frames[0]) + np.vstack([np.zeros_like(expected), np.cumsum(step, axis=0)[:-1]])
    pieces = np.fft.irfft(magnitude * np.exp(1j * phase), size) * window
    out, weight = np.zeros(len(pieces) * hop + size), np.zeros(len(pieces) * hop + size)
    for i, piece in enumerate(pieces):
        out[i * hop : i * hop + size] += piece
        weight[i * hop : i * hop + size] += window**2
    spoken = (out / np.maximum(weight, 1e-3))[size // 2 : size // 2 + round(len(clip) / factor)]
    return fit_length(spoken, len(clip))


def drop_out(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip with random packets of PACKET_SECONDS set to zero."""
    packet = round(PACKET_SECONDS * rate)
    lost = rng.random(-(-len(clip) // packet)) < LOST * strength
    return np.where(np.repeat(lost, packet)[: len(clip)], 0.0, clip)


def mistake_rate(clip: Clip, strength: float, rate: int, rng: np.random.Generator) -> Clip:
    """Return the clip stretched by up to WRONG_RATE (slower and lower) by band-limited interpolation, its end cut."""
    longer = round(len(clip) * (1 + (WRONG_RATE - 1) * strength))
    return np.fft.irfft(np.fft.rfft(clip), longer)[: len(clip)] * (longer / len(clip))
