"""The browser's microphone as a Streamlit component: `take = arrived("mic")`, then `recorder("mic")` draws it."""

import base64
import binascii
import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
MOST = 6 * 2**20  # characters; ten seconds at 192 kHz in base64 are 5.1 million, and any client can send anything
REMEMBERED = 16  # takes; the browser sends one again only until it is told that it has arrived
NAME = re.compile(r"[0-9a-f-]{36}")
_component = st.components.v2.component(
    "tmlcd_recorder",
    js=(HERE / "recorder.js").read_text(encoding="utf-8"),
    css=(HERE / "recorder.css").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Recording:
    """One take as the browser sent it; it is sent again until it is acknowledged."""

    id: str
    wav: bytes
    long: bool
    word: str  # that was asked for when it was recorded
    done: list[str]

    def acknowledge(self) -> None:
        """The take has been worked on: the recorder may forget it."""
        self.done.append(self.id)
        del self.done[:-REMEMBERED]


def recorder(
    key: str, *, prompt: str = "", word: str = "", blocked: str = "", hold: str = "", long: bool = False
) -> None:
    """Show the recorder, after `arrived` has taken in what it sent: it is told that this has come.

    `prompt` says what to say, and a take brings `word` back. With `blocked`, a sentence, nothing can be recorded; with
    `hold`, another, it does not listen by itself until that is over. `long` offers takes of ten seconds.
    """
    data = {"prompt": prompt, "word": word, "blocked": blocked, "hold": hold, "long": long, "done": _done(key)}
    _component(key=key, data=data, on_take_change=lambda: None)


def arrived(key: str) -> Recording | None:
    """The take that the recorder has sent, unless it was acknowledged before.

    Acknowledge it when the work is done, with no call to Streamlit in between: such a call may end the run.
    """
    done = _done(key)
    sent = getattr(st.session_state.get(key), "take", None)
    # What comes from a browser is checked: any client can send anything.
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str) or not NAME.fullmatch(sent["id"]):
        return None
    if sent["id"] in done:
        return None
    return Recording(sent["id"], _decoded(sent.get("wav")), sent.get("kind") == "long", str(sent.get("word", "")), done)


def _decoded(text: object) -> bytes:
    """The bytes of a base64 text; of anything else none, which the audio gate then complains about."""
    if not isinstance(text, str) or len(text) > MOST:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _done(key: str) -> list[str]:
    names: list[str] = st.session_state.setdefault(f"{key}:done", [])
    return names
