"""Microphone recorder as a Streamlit component: `take = arrived("mic")`, then `recorder("mic")` draws it."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
MOST = 6 * 2**20  # characters of base64 per take; ten seconds at 192 kHz are 5.1 million
REMEMBERED = 16  # ids of takes; the browser resends a take until it is acknowledged
NAME = re.compile(r"[0-9a-f-]{36}")
FILES = ("voice_activity.js", "microphone.js", "recorder.js")  # one module: each uses the names of those before it
_component = st.components.v2.component(
    "tmlcd_recorder",
    js="\n".join((HERE / name).read_text(encoding="utf-8") for name in FILES),
    css=(HERE / "recorder.css").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Recording:
    """Take sent by the browser, which resends it until it is acknowledged."""

    id: str
    wav: bytes
    long: bool
    word: str  # the word that was asked for during the recording
    done: list[str]

    def acknowledge(self) -> None:
        """Mark the take as processed, so that the recorder stops resending it."""
        self.done.append(self.id)
        del self.done[:-REMEMBERED]


def recorder(
    key: str,
    *,
    prompt: str = "",
    word: str = "",
    blocked: str = "",
    long: bool = False,
    answer: str = "",
    bars: Sequence[tuple[str, float]] = (),
    hearing: str = "",
) -> None:
    """Show the recorder; call `arrived` first, so that it receives the acknowledgements.

    `prompt` tells the visitor what to say, and each take returns `word`. `blocked` is a message that disables
    recording. `long` offers takes of ten seconds. `bars` are the votes of the last answer, word and share 0..1, shown
    for a moment when the id `answer` changes. While a word is said, the sound so far is sent to the address `hearing`,
    which answers with the probability of each word; the bars show it.
    """
    data = {"prompt": prompt, "word": word, "blocked": blocked, "long": long, "answer": answer, "bars": list(bars)}
    _component(key=key, data=data | {"hearing": hearing, "done": _done(key)}, on_take_change=lambda: None)


def arrived(key: str) -> Recording | None:
    """Return the take sent by the recorder; None if there is none or it is already acknowledged.

    Acknowledge it directly after processing: a call to Streamlit in between may end the script run.
    """
    done = _done(key)
    sent = getattr(st.session_state.get(key), "take", None)
    # Validate the value: a client can send anything.
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str) or not NAME.fullmatch(sent["id"]):
        return None
    if sent["id"] in done:
        return None
    return Recording(sent["id"], _decoded(sent.get("wav")), sent.get("kind") == "long", str(sent.get("word", "")), done)


def _decoded(text: object) -> bytes:
    """Decode base64 text; b"" for anything else, which the audio gate then rejects."""
    if not isinstance(text, str) or len(text) > MOST:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _done(key: str) -> list[str]:
    names: list[str] = st.session_state.setdefault(f"{key}:done", [])
    return names
