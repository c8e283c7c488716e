"""Recorder in the browser, for the page Microphone and for notebooks: its script, and the takes that it sends."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

SCRIPTS = ("wav.js", "voice_activity.js", "microphone.js", "recorder.js")  # each uses the names of those before it
MOST = 6 * 2**20  # characters of base64 per take; ten seconds at 192 kHz are 5.1 million
REMEMBERED = 16  # ids of takes; the browser resends a take until it is acknowledged
NAME = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class SentTake:
    """Take sent by the recorder; b"" as `wav` if it cannot be decoded, which the audio gate then rejects."""

    id: str
    wav: bytes
    long: bool
    word: str  # the word that was asked for during the recording
    pressed: bool  # a button has started it, not a sound
    room: bytes  # a second of the room as WAV, if the recorder has heard a new one


def recorder_script() -> str:
    """Return the recorder as a JavaScript module; its default export is called with data and an element."""
    text = "\n".join(_resource(name) for name in SCRIPTS)
    return re.sub(r"^export (?=function|const)", "", text, flags=re.M)


def wav_script() -> str:
    """Return the JavaScript module that writes WAV files."""
    return _resource("wav.js")


def recorder_style() -> str:
    """Return the style sheet of the recorder."""
    return _resource("recorder.css")


def sent_take(sent: Any) -> SentTake | None:
    """Return the take in a value from the browser, None if there is none: a client can send anything.

    >>> sent_take({"id": "../x"}) is None, sent_take({"id": 36 * "0", "wav": "YWI="}).wav
    (True, b'ab')
    """
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str) or not NAME.fullmatch(sent["id"]):
        return None
    kind = sent.get("kind")
    return SentTake(
        sent["id"], _decoded(sent.get("wav")), kind == "long", str(sent.get("word", "")), kind != "voice",
        _decoded(sent.get("room")),
    )  # fmt: skip


def _decoded(text: object) -> bytes:
    if not isinstance(text, str) or len(text) > MOST:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
