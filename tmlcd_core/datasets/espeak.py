"""Speech synthesis with eSpeak NG in a separate process.

eSpeak NG is licensed under the GPL-3. It is used here as a data tool: this file runs itself as a child process, only
that process loads the library, and the two exchange text and samples through pipes. No other module uses eSpeak NG,
and it is loaded only when a word is synthesised.

The separate process also makes the sound reproducible: eSpeak keeps the state of its noise generator between calls, so
only the same calls in the same order in a new process give the same bytes. Each call of `speak` starts one process. It
is started by its path and not by `multiprocessing`, which would import the caller's main module again (with Streamlit:
the whole app).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the child process imports only the standard library: it starts in 20 ms
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_RATE = 22_050  # Hz, output of eSpeak NG
FASTEST = 450  # words per minute, limit of eSpeak NG
PATIENCE = 120.0  # s: all utterances of a word take less than one second
MOST = 3 * SAMPLE_RATE  # samples after which an utterance is cut off: a clip needs less, and long numbers are very long

# From espeak-ng's speak_lib.h.
_SYNCHRONOUS = 2  # audio output: the synthesis calls back before it returns
_UTF8 = 1  # flags: plain text; neither SSML (0x10) nor [[phonemes]] (0x100) are interpreted
_RATE, _PITCH = 1, 3  # parameters
_NO_EXIT = 0x8000  # a failed initialisation returns an error instead of ending the process


class Utterance(NamedTuple):
    """Text with an eSpeak voice, a pitch in 0..99 and a rate in words per minute."""

    text: str
    voice: str
    pitch: int
    rate: int


def speak(utterances: Sequence[Utterance]) -> list[NDArray[np.int16]]:
    """Synthesise utterances in a new process; return int16 samples (length,) at 22,050 Hz for each, reproducibly.

    An utterance longer than three seconds is cut off.

    Examples
    --------
    >>> once = speak([Utterance("six", "en-us", 50, 120), Utterance("six", "en-us", 50, 120)])
    >>> again = speak([Utterance("six", "en-us", 50, 120), Utterance("six", "en-us", 50, 120)])
    >>> [bool((a == b).all()) for a, b in zip(once, again)], round(len(once[0]) / SAMPLE_RATE, 1)
    ([True, True], 0.6)
    """
    import numpy as np

    from tmlcd_core.errors import DataError
    from tmlcd_core.optional_packages import require

    require("espeakng_loader")
    import espeakng_loader

    command = [sys.executable, "-I", "-S", os.path.abspath(__file__), espeakng_loader.get_library_path()]
    # eSpeak truncates long paths, so it gets its data folder as the working directory.
    folder = os.path.dirname(espeakng_loader.get_data_path())
    request = json.dumps(utterances).encode()
    try:
        # run() kills the child on any exception, a KeyboardInterrupt included.
        child = subprocess.run(command, input=request, capture_output=True, timeout=PATIENCE, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataError(f"eSpeak NG could not be run ({error}): install espeakng-loader again") from error
    if child.returncode:
        last = child.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise DataError(f"eSpeak NG ended with code {child.returncode}: {last or 'no message'}")
    spoken: list[NDArray[np.int16]] = []
    start = 0
    for _ in utterances:
        (size,) = struct.unpack_from("<I", child.stdout, start)
        spoken.append(np.frombuffer(child.stdout, "<i2", size // 2, start + 4))
        start += 4 + size
    return spoken


def _child(library: str) -> None:
    """Child process: read utterances from standard input, write the size in bytes and the samples of each."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    lib = ctypes.CDLL(library)
    unsigned, pointer = ctypes.c_uint, ctypes.c_void_p
    lib.espeak_Synth.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, unsigned, ctypes.c_int, unsigned, unsigned, pointer, pointer,
    ]  # fmt: skip
    callback_type = ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.c_int, pointer)
    pieces: list[bytes] = []

    def receive(samples: int | None, count: int, _events: int | None) -> int:
        if samples and count > 0:
            pieces.append(ctypes.string_at(samples, 2 * count))
        return int(sum(map(len, pieces)) > 2 * MOST)  # 1 stops the synthesis

    callback = callback_type(receive)  # kept in a variable, because ctypes keeps no reference
    rate = lib.espeak_Initialize(_SYNCHRONOUS, 0, b".", _NO_EXIT)
    if rate != SAMPLE_RATE:
        sys.exit(f"eSpeak NG gave {rate} instead of {SAMPLE_RATE} Hz with its data in {os.getcwd()}")
    lib.espeak_SetSynthCallback(callback)
    for text, voice, pitch, words_per_minute in json.load(sys.stdin.buffer):
        if lib.espeak_SetVoiceByName(voice.encode()):
            sys.exit(f"eSpeak NG has no voice {voice!r}")
        lib.espeak_SetParameter(_PITCH, pitch, 0)
        lib.espeak_SetParameter(_RATE, words_per_minute, 0)
        pieces.clear()
        encoded = text.encode() + b"\0"
        if lib.espeak_Synth(encoded, len(encoded), 0, 1, 0, _UTF8, None, None):
            sys.exit(f"eSpeak NG could not speak {text!r}")
        sound = b"".join(pieces)
        sys.stdout.buffer.write(struct.pack("<I", len(sound)) + sound)


if __name__ == "__main__":
    _child(*sys.argv[1:])
