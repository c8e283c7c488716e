"""Background class: a take that is nearer to the sound of the room than to every word is noise."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice import VOICE_RATE, Take, VoiceExtractor, restore_take, whole_take
from tmlcd_core.features.voice.take import TakeSource, in_steps

WITH_BACKGROUND = ("speech",)  # extractors in which noises lie near the room: `python -m benchmarks background`
ROOMS = 5  # seconds of the room that are remembered, the newest ones
FRAME = 320  # samples, 20 ms
EVEN = 2.0  # largest ratio of the level of the louder frames (90 % quantile) to the softer ones (10 %): 6 dB
QUIET_LEVEL = 0.003  # root mean square of the noise that stands for a room before one is heard


class Background:
    """Class of the sounds that are no words.

    It begins with quiet noise. `hear` adds a second of the room, so that the class follows the room. A second whose
    level goes up and down does not count: somebody spoke in it, perhaps the word that is taught next.

    Examples
    --------
    >>> time = np.arange(16_000) / 16_000
    >>> background = Background()
    >>> background.hear((0.01 * np.sin(2 * np.pi * 100 * time), 16_000))
    >>> len(background.rooms)
    2
    """

    def __init__(self) -> None:
        self.rooms: deque[Take] = deque([quiet_noise()])
        self._X: dict[tuple[str, str], NDArray[np.float32]] = {}  # features by extractor and digest

    def hear(self, source: TakeSource) -> None:
        """Add a second of the room if its level is even; an AudioError if it cannot be read."""
        room = whole_take(source)
        if not is_even(room):
            return
        if len(self.rooms) > ROOMS:
            del self.rooms[1]  # the oldest one that was heard
        self.rooms.append(room)

    def vectors(self, voice: VoiceExtractor) -> NDArray[np.float32]:
        """Return the features of the rooms, float32 (n, d); n is 0 for an extractor without a background class."""
        if voice.name not in WITH_BACKGROUND:
            return np.zeros((0, voice.n_features), np.float32)
        keys = [(voice.name, room.digest) for room in self.rooms]
        new = {key: room for key, room in zip(keys, self.rooms, strict=True) if key not in self._X}
        self._X = {key: self._X[key] for key in keys if key in self._X}
        self._X |= {key: voice.transform([room])[0] for key, room in new.items()}
        return np.stack([self._X[key] for key in keys])

    def distance(
        self, voice: VoiceExtractor, x: NDArray[np.float32], named: NDArray[np.float32], limit: float
    ) -> float:
        """Return the distance of x (d,) to the nearest room; infinite for an extractor without a background class.

        A room that is nearer than `limit` to one of the `named` takes (n, d) does not count.
        """
        rooms = self.vectors(voice)
        still = [np.linalg.norm(named - room, axis=1).min(initial=np.inf) > limit for room in rooms]
        return float(np.linalg.norm(rooms[np.array(still, bool)] - x, axis=1).min(initial=np.inf))


def is_even(room: Take) -> bool:
    """Return True if the level of a take goes up and down by less than EVEN.

    >>> is_even(quiet_noise())
    True
    """
    frames = room.samples[: len(room.samples) // FRAME * FRAME].reshape(-1, FRAME).astype(np.float64)
    soft, loud = np.quantile(np.sqrt(np.mean(np.square(frames), axis=1)), [0.1, 0.9])
    return bool(loud <= EVEN * soft)


@lru_cache(maxsize=1)
def quiet_noise() -> Take:
    """Return a second of white noise as a take."""
    noise = np.random.default_rng(0).normal(0, QUIET_LEVEL, VOICE_RATE)
    return restore_take(in_steps(noise), 0.0, 1.0, ())
