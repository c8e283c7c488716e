"""The microphone of the machine that runs the program, through PortAudio, where there is one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.optional_packages import require

MAX_SECONDS = 30.0  # of one recording: the longest take that is cut into words

_LOCK = threading.Lock()  # PortAudio has one default stream a process: two visitors would stop each other's


def _sounddevice() -> Any:
    """The library, or an AudioError that says what is missing."""
    try:
        require("sounddevice")
        import sounddevice
    except (ImportError, OSError) as error:  # OSError: the package is there, PortAudio itself is not
        raise AudioError(
            f"the server's microphone needs sounddevice and PortAudio (Debian: libportaudio2): {error}"
        ) from error
    return sounddevice


def input_device() -> str | None:
    """The name of this machine's input device, or None where there is none or nothing to reach it with."""
    try:
        sounddevice = _sounddevice()
    except AudioError:
        return None
    try:
        return str(sounddevice.query_devices(kind="input")["name"])
    except (sounddevice.PortAudioError, ValueError):
        return None


def record(seconds: float) -> tuple[NDArray[np.int16], int]:
    """Record from this machine's input device, as it comes: samples (length,) and their rate.

    One recording at a time: a second one meanwhile is an AudioError, not a mixture.
    """
    if not 0 < seconds <= MAX_SECONDS:
        raise ConfigError(f"seconds={seconds}: record up to {MAX_SECONDS:g} seconds")
    sounddevice = _sounddevice()
    if not _LOCK.acquire(blocking=False):
        raise AudioError("the server's microphone is recording for somebody else: wait a moment and press again")
    try:
        rate = round(sounddevice.query_devices(kind="input")["default_samplerate"])
        samples = sounddevice.rec(round(seconds * rate), samplerate=rate, channels=1, dtype="int16", blocking=True)
    except (sounddevice.PortAudioError, ValueError) as error:
        raise AudioError(
            f"the server's microphone does not answer ({error}): plug one in and start the server again, "
            "or record in the browser"
        ) from error
    finally:
        _LOCK.release()
    return np.ascontiguousarray(samples[:, 0]), rate
