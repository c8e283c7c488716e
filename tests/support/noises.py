"""Generated noises of a room: claps, doors, coughs, breath, chairs, hiss, knocking and typing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

RATE = 16_000


def coloured(seconds: float, low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Return noise between two frequencies in Hz, shape (n,)."""
    count = round(seconds * RATE)
    spectrum = np.fft.rfft(rng.normal(size=count))
    hertz = np.maximum(np.fft.rfftfreq(count, 1 / RATE), 1)
    return np.fft.irfft(spectrum / (1 + (low / hertz) ** 4) / (1 + (hertz / high) ** 4), count)


def burst(seconds: float, low: float, high: float, decay: float, rng: np.random.Generator) -> np.ndarray:
    """Return noise that begins at once and decays, with its time constant in seconds."""
    time = np.arange(round(seconds * RATE)) / RATE
    return coloured(seconds, low, high, rng) * (1 - np.exp(-time / 0.0005)) * np.exp(-time / decay)


def row(sounds: list[np.ndarray], gaps: list[float]) -> np.ndarray:
    """Return sounds with gaps of so many seconds after them."""
    return np.concatenate([
        part for sound, gap in zip(sounds, gaps, strict=True) for part in (sound, np.zeros(round(gap * RATE)))
    ])  # fmt: skip


def clap(rng: np.random.Generator) -> np.ndarray:
    hands = burst(0.4, 700, rng.uniform(2_500, 5_000), rng.uniform(0.01, 0.03), rng)
    return hands + 0.15 * burst(0.4, 500, 3_000, rng.uniform(0.06, 0.15), rng)


def door(rng: np.random.Generator) -> np.ndarray:
    slam = burst(1.0, 40, rng.uniform(250, 700), rng.uniform(0.05, 0.15), rng)
    return slam + 0.3 * burst(1.0, 300, 2_500, 0.03, rng) + 0.05 * burst(1.0, 150, 2_000, 0.25, rng)


def cough(rng: np.random.Generator) -> np.ndarray:
    parts = []
    for _ in range(rng.integers(1, 4)):
        time = np.arange(round(0.35 * RATE)) / RATE
        phase = 2 * np.pi * np.cumsum(rng.uniform(150, 350) * np.exp(-time * rng.uniform(1, 4))) / RATE
        voice = sum(np.sin(k * phase) / k for k in range(1, 15)) * np.exp(-time / 0.08)
        tail = 0.5 * burst(0.35, 300, 3_500, 0.1, rng) + 0.06 * rng.uniform() * voice
        parts.append(burst(0.35, 400, 4_500, 0.03, rng) + tail)
    return row(parts, rng.uniform(0.03, 0.2, len(parts)).tolist())


def breath(rng: np.random.Generator) -> np.ndarray:
    sound = coloured(rng.uniform(0.5, 1.2), rng.uniform(200, 800), rng.uniform(1_500, 4_500), rng)
    return sound * np.sin(np.pi * np.arange(len(sound)) / len(sound))


def chair(rng: np.random.Generator) -> np.ndarray:
    noise = coloured(rng.uniform(0.3, 1.1), 300, 3_000, rng)
    wandering = rng.uniform(80, 400) * (1 + 0.1 * np.cumsum(rng.normal(size=len(noise))) / np.sqrt(RATE))
    spectrum = np.fft.rfft(np.cumsum(wandering) / RATE % 1 - 0.5 + 0.3 * noise)
    hertz = np.fft.rfftfreq(len(noise), 1 / RATE)
    for resonance in rng.uniform(300, 4_000, 4):
        spectrum *= 1 + 4 * np.exp(-(((hertz - resonance) / 150) ** 2))
    return np.fft.irfft(spectrum, len(noise))


def hiss(rng: np.random.Generator) -> np.ndarray:
    return coloured(rng.uniform(0.3, 1.2), rng.uniform(100, 1_000), rng.uniform(2_000, 7_000), rng)


def knock(rng: np.random.Generator) -> np.ndarray:
    count = rng.integers(2, 5)
    knocks = [burst(0.1, rng.uniform(80, 200), rng.uniform(400, 1_500), 0.02, rng) for _ in range(count)]
    return row(knocks, rng.uniform(0.05, 0.2, count).tolist())


def typing(rng: np.random.Generator) -> np.ndarray:
    count = rng.integers(2, 12)
    keys = [burst(0.06, 800, rng.uniform(3_000, 7_000), rng.uniform(0.003, 0.012), rng) for _ in range(count)]
    return row(keys, rng.uniform(0.02, 0.15, count).tolist())


NOISES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    made.__name__: made for made in (clap, door, cough, breath, chair, hiss, knock, typing)
}


def in_a_room(sound: np.ndarray, rng: np.random.Generator, before: float = 0.5) -> np.ndarray:
    """Return a sound of a random level between silence in a room with faint noise, shape (n,)."""
    level = 10 ** (-rng.uniform(4, 20) / 20) / np.abs(sound).max()
    clip = np.concatenate([np.zeros(round(before * RATE)), level * sound, np.zeros(RATE // 2)])
    return clip + rng.normal(0, 10 ** (-rng.uniform(50, 66) / 20), len(clip))
