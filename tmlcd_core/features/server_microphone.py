"""Recording from the server's microphone with PortAudio."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.optional_packages import require

MAX_SECONDS = 30.0  # of one recording: the longest that is cut into words

_LOCK = threading.Lock()  # PortAudio has one default stream per process: a second recording would stop the first


def _sounddevice() -> Any:
    """Import sounddevice; an AudioError names what is missing."""
    try:
        require("sounddevice")
        import sounddevice
    except (ImportError, OSError) as error:  # OSError: the package is installed, but PortAudio is not
        raise AudioError(
            f"the server's microphone needs sounddevice and PortAudio (Debian: libportaudio2): {error}"
        ) from error
    return sounddevice


def input_device() -> str | None:
    """Return the name of the server's input device; None without a device, sounddevice or PortAudio."""
    try:
        sounddevice = _sounddevice()
    except AudioError:
        return None
    try:
        return str(sounddevice.query_devices(kind="input")["name"])
    except (sounddevice.PortAudioError, ValueError):
        return None


def record(seconds: float) -> tuple[NDArray[np.int16], int]:
    """Record from the server's input device; return the samples, int16 (length,), and their rate in Hz.

    Only one recording is possible at a time: a second one is an AudioError.
    """
    if not 0 < seconds <= MAX_SECONDS:
        raise ConfigError(f"seconds={seconds}: record up to {MAX_SECONDS:g} seconds")
    sounddevice = _sounddevice()
    if not _LOCK.acquire(blocking=False):
        raise AudioError("the server's microphone is in use by another visitor: wait a moment and try again")
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
