"""Benchmark of one live answer after warm-up: opening the take, features, predictions of three learners."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take
from tmlcd_core.live import LiveSession, warm_up

RATE = 48_000  # Hz, what a browser records at
WORDS, TAKES, TURNS = 5, 10, 40
LIMIT = 60.0  # ms per answer


def recording(rng: np.random.Generator) -> np.ndarray:
    """Return one second of a harmonic tone in quiet noise, shape (RATE,)."""
    when = np.arange(RATE) / RATE
    start, pitch = rng.uniform(0.1, 0.4), rng.uniform(100, 200)
    voice = sum(np.sin(2 * np.pi * pitch * i * when) / i for i in range(1, 20))
    return 0.1 * voice * ((when > start) & (when < start + 0.4)) + rng.normal(0, 1e-3, RATE)


def median_ms(work: Callable[[int], Any]) -> float:
    """Return the median processor time of `work(turn)` in ms."""
    took = []
    for turn in range(TURNS):
        start = time.process_time()
        work(turn)
        took.append(time.process_time() - start)
    return float(np.median(took)) * 1e3


def main() -> None:
    """Print ms per stage for each voice extractor."""
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    warm_up()
    print(f"warm-up, once          {(time.perf_counter() - start) * 1e3:8.1f} ms")
    raw = [recording(rng) for _ in range(WORDS * TAKES + TURNS)]
    print(f"open 1 s at 48 kHz     {median_ms(lambda i: open_take((raw[i], RATE))):7.1f} ms")
    takes: list[Take] = [open_take((sound, RATE)) for sound in raw]
    for name, extractor in VOICE_EXTRACTORS.items():
        features = median_ms(lambda i, e=extractor: e.transform([takes[i]]))
        session = LiveSession([f"word {i}" for i in range(WORDS)], name)
        for i in range(WORDS * TAKES):
            session.teach(f"word {i % WORDS}", takes[i])
        session.say(takes[-1])
        answer = median_ms(lambda i, s=session: s.say(takes[WORDS * TAKES + i]) if i < TURNS - 1 else None)
        print(f"{name:<10} features {features:6.1f} ms, features and three predictions {answer:6.1f} ms, "
              f"{answer / LIMIT:.2f} of the limit")  # fmt: skip


if __name__ == "__main__":
    main()
